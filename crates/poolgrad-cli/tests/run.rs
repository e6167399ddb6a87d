//! `poolgrad run`. Oracle: the library called directly on the same numbers, and files read and written by `npyz` and
//! `safetensors`, which are other implementations of the formats.

mod support;

use std::error::Error;
use std::fs;

use npyz::Order;
use poolgrad::half::{bf16, f16};
use poolgrad::{AdaptiveAvgPool, AdaptiveMaxPool, MaxPool, Tensor};
use safetensors::tensor::TensorView;
use safetensors::{Dtype, SafeTensors};
use support::{listing, numbers, poolgrad, read_npy, write_npy};

type Result = std::result::Result<(), Box<dyn Error>>;

const SHAPE: [i64; 5] = [2, 3, 5, 7, 9];
const LEN: usize = 2 * 3 * 5 * 7 * 9;

fn shape() -> [u64; 5] {
    SHAPE.map(i64::unsigned_abs)
}

#[test]
fn max_there_and_back() -> Result {
    let folder = tempfile::tempdir()?;
    let path = |name: &str| folder.path().join(name);
    write_npy(&path("x.npy"), Order::C, &shape(), &numbers(LEN));
    let parameters = "--kernel-size 3,3,2 --stride 2 --padding 1,1,0 --dilation 1,2,1 --ceil-mode";
    let forward = "run max --input x.npy --output y.npy --indices-out i.npy";
    poolgrad(folder.path(), &format!("{forward} {parameters}")).passed();
    let gradient = "run max_grad --grad-output y.npy --indices i.npy --grad-input g.npy";
    let outcome = poolgrad(folder.path(), &format!("{gradient} --input-shape 2,3,5,7,9 {parameters}")).passed();
    assert!(outcome.stdout.contains("wrote grad_input to g.npy\n"), "{}", outcome.stdout);
    assert_eq!(outcome.stderr, "");

    let pool = MaxPool::new_3d([3, 3, 2]).stride(2).padding([1, 1, 0]).dilation([1, 2, 1]).ceil_mode(true);
    let (output, indices) = pool.forward(&Tensor::from_vec(numbers(LEN), SHAPE)?)?;
    let grad_input = pool.backward(&output, &indices, SHAPE)?;
    let (got, values) = read_npy::<f32>(&path("y.npy"));
    assert_eq!((&got, values.as_slice()), (output.shape(), output.as_slice().unwrap()));
    let (got, values) = read_npy::<i64>(&path("i.npy"));
    assert_eq!((&got, values.as_slice()), (indices.shape(), indices.as_slice().unwrap()));
    let (got, values) = read_npy::<f32>(&path("g.npy"));
    assert_eq!((&got, values.as_slice()), (grad_input.shape(), grad_input.as_slice().unwrap()));
    Ok(())
}

#[test]
fn adaptive_there_and_back_in_two_dimensions() -> Result {
    let folder = tempfile::tempdir()?;
    let path = |name: &str| folder.path().join(name);
    write_npy(&path("x.npy"), Order::C, &[6, 5, 63], &numbers(LEN));
    poolgrad(
        folder.path(),
        "run adaptive_max_2d --input x.npy --output-size 2,10 --output y.npy --indices-out i.npy --index-dtype i32",
    )
    .passed();
    // The output size is that of --grad-output, and the input's shape that of --input.
    poolgrad(
        folder.path(),
        "run adaptive-max-grad --dims 2 --grad-output y.npy --indices i.npy --input x.npy --grad-input g.npy",
    )
    .passed();
    let pool = AdaptiveMaxPool::new_2d([2, 10]);
    let (output, indices) = pool.forward(&Tensor::from_vec(numbers(LEN), [6, 5, 63])?)?;
    let grad_input = pool.backward(&output, &indices, [6, 5, 63])?;
    assert_eq!(read_npy::<f32>(&path("y.npy")).1, output.as_slice::<f32>().unwrap());
    let places: Vec<i64> = read_npy::<i32>(&path("i.npy")).1.into_iter().map(i64::from).collect();
    assert_eq!(places, indices.as_slice::<i64>().unwrap());
    assert_eq!(read_npy::<f32>(&path("g.npy")).1, grad_input.as_slice::<f32>().unwrap());
    Ok(())
}

#[test]
fn column_major_files_are_read_as_they_lie() -> Result {
    let folder = tempfile::tempdir()?;
    let path = |name: &str| folder.path().join(name);
    // npyz writes elements in the order in which they lie, so these are the numbers of a transposed tensor.
    let lying: Vec<f64> = numbers(LEN).into_iter().map(f64::from).collect();
    write_npy(&path("x.npy"), Order::Fortran, &shape(), &lying);
    poolgrad(folder.path(), "run adaptive_avg --input x.npy --output-size 2,3,4 --output y.npy").passed();
    let mut values = vec![0.0; LEN];
    let [n, c, d, h, w] = shape().map(|size| size as usize);
    for (place, value) in lying.into_iter().enumerate() {
        let (i_n, rest) = (place % n, place / n);
        let (i_c, rest) = (rest % c, rest / c);
        let (i_d, rest) = (rest % d, rest / d);
        values[(((i_n * c + i_c) * d + i_d) * h + rest % h) * w + rest / h] = value;
    }
    let output = AdaptiveAvgPool::new_3d([2, 3, 4]).forward(&Tensor::from_vec(values, SHAPE)?)?;
    assert_eq!(read_npy::<f64>(&path("y.npy")).1, output.as_slice::<f64>().unwrap());
    Ok(())
}

#[test]
fn safetensors_hold_several_tensors_of_any_type() -> Result {
    let folder = tempfile::tempdir()?;
    let path = |name: &str| folder.path().join(name);
    let values: Vec<bf16> = numbers(LEN).into_iter().map(bf16::from_f32).collect();
    let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    let sizes = shape().map(|size| size as usize).to_vec();
    // An odd number of bytes before it puts `x` where it cannot be read in place.
    let odd = TensorView::new(Dtype::U8, vec![3], &[1, 2, 3])?;
    let x = TensorView::new(Dtype::BF16, sizes, &bytes)?;
    for (file, tensors) in
        [("in.safetensors", vec![("x", x.clone())]), ("odd.safetensors", vec![("a", odd), ("x", x)])]
    {
        fs::write(path(file), safetensors::serialize(tensors, None)?)?;
    }
    for file in ["in.safetensors", "odd.safetensors"] {
        let files = "--output out.safetensors:y --indices-out out.safetensors --index-dtype i32";
        poolgrad(folder.path(), &format!("run max --input {file}:x --kernel-size 2,3,2 {files}")).passed();
        let written = fs::read(path("out.safetensors"))?;
        let written = SafeTensors::deserialize(&written)?;
        let pool = MaxPool::new_3d([2, 3, 2]);
        let (output, indices) = pool.forward(&Tensor::from_vec(values.clone(), SHAPE)?)?;
        let got = written.tensor("y")?;
        assert_eq!((got.dtype(), got.data()), (Dtype::BF16, output.as_bytes()));
        assert_eq!(got.shape(), [2, 3, 2, 2, 4]);
        let places: Vec<i32> = indices.as_slice::<i64>().unwrap().iter().map(|&place| place as i32).collect();
        let places: Vec<u8> = places.iter().flat_map(|place| place.to_le_bytes()).collect();
        let got = written.tensor("indices")?;
        assert_eq!((got.dtype(), got.data()), (Dtype::I32, places.as_slice()));
    }
    Ok(())
}

#[test]
fn values_are_converted_first() -> Result {
    let folder = tempfile::tempdir()?;
    let path = |name: &str| folder.path().join(name);
    write_npy(&path("x.npy"), Order::C, &shape(), &numbers(LEN));
    let run = "run adaptive_avg_3d --input x.npy --output-size 3 --dtype f16 --output y.npy";
    poolgrad(folder.path(), run).passed();
    let halves: Vec<f16> = numbers(LEN).into_iter().map(f16::from_f32).collect();
    let output = AdaptiveAvgPool::new_3d(3).forward(&Tensor::from_vec(halves, SHAPE)?)?;
    let (_, got) = read_npy::<npyz::half::f16>(&path("y.npy"));
    let got: Vec<u16> = got.into_iter().map(|value| value.to_bits()).collect();
    let wanted: Vec<u16> = output.as_slice::<f16>().unwrap().iter().map(|value| value.to_bits()).collect();
    assert_eq!(got, wanted);
    Ok(())
}

/// Oracle: by hand: one gradient for each plane, at its index.
#[test]
fn large_work_is_done_in_parts() -> Result {
    let folder = tempfile::tempdir()?;
    let path = |name: &str| folder.path().join(name);
    let (n_planes, volume) = (32, 100 * 100 * 100);
    let places: Vec<i64> = (0..n_planes).map(|plane| plane * 31_249).collect();
    let grads: Vec<f32> = (1..=n_planes).map(|plane| plane as f32).collect();
    write_npy(&path("g.npy"), Order::C, &[8, 4, 1, 1, 1], &grads);
    write_npy(&path("i.npy"), Order::C, &[8, 4, 1, 1, 1], &places);
    let run = "run adaptive_max_grad --grad-output g.npy --indices i.npy --input-shape 8,4,100,100,100 --grad-input x.npy";
    poolgrad(folder.path(), run).passed();
    let (_, got) = read_npy::<f32>(&path("x.npy"));
    assert_eq!(got.len(), 32 * volume);
    for (plane, values) in got.chunks(volume).enumerate() {
        let hit = values.iter().position(|&value| value != 0.0);
        assert_eq!(hit, Some(places[plane] as usize));
        assert_eq!(values.iter().sum::<f32>(), grads[plane]);
    }
    // The entry of the whole is named, not that of the part.
    let mut places = places;
    places[30] = 1_000_000;
    write_npy(&path("i.npy"), Order::C, &[8, 4, 1, 1, 1], &places);
    let message = poolgrad(folder.path(), run).failed(1);
    assert!(message.contains("got 1000000 at n = 7, c = 2,"), "{message}");
    Ok(())
}

/// Oracle: by hand.
#[test]
fn a_failure_leaves_every_file_as_it_was() -> Result {
    let folder = tempfile::tempdir()?;
    let path = |name: &str| folder.path().join(name);
    write_npy(&path("g.npy"), Order::C, &[1, 2, 2], &[1f32; 4]);
    write_npy(&path("i.npy"), Order::C, &[1, 2, 2], &[0i64, 1, -1, 4]);
    fs::write(path("out.npy"), "precious")?;
    let run = "run max_grad --grad-output g.npy --indices i.npy --input-shape 1,4,4 --kernel-size 2,2 --grad-input out.npy";
    let message = poolgrad(folder.path(), run).failed(1);
    assert_eq!(
        message,
        "--indices must be at least 0 and below 16, got -1 at n = 0, c = 0, output position [0, 1, 0]"
    );
    assert_eq!(fs::read(path("out.npy"))?, b"precious");
    assert_eq!(listing(folder.path()), ["g.npy", "i.npy", "out.npy"]);
    Ok(())
}

/// Oracle: the file itself: a run may replace its own input.
#[test]
fn an_input_may_be_overwritten() -> Result {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("x.npy");
    write_npy(&path, Order::C, &[1, 4], &[1f32, 5.0, 3.0, 2.0]);
    poolgrad(folder.path(), "run max --input x.npy --kernel-size 2 --output x.npy --dims 1").passed();
    assert_eq!(read_npy::<f32>(&path).1, [5.0, 3.0]);
    Ok(())
}

/// Oracle: the library's rule for empty batches.
#[test]
fn an_empty_batch_gives_an_empty_file() -> Result {
    let folder = tempfile::tempdir()?;
    write_npy::<f32>(&folder.path().join("x.npy"), Order::C, &[0, 3, 4, 4], &[]);
    poolgrad(folder.path(), "run adaptive_avg_2d --input x.npy --output-size 2 --output y.npy").passed();
    let (shape, values) = read_npy::<f32>(&folder.path().join("y.npy"));
    assert_eq!((shape.to_string().as_str(), values.len()), ("[0, 3, 2, 2]", 0));
    Ok(())
}

/// Oracle: JSON's own parser, and the numbers of bytes by hand.
#[test]
fn json_says_what_was_done() -> Result {
    let folder = tempfile::tempdir()?;
    write_npy(&folder.path().join("x.npy"), Order::C, &shape(), &numbers(LEN));
    let run = "run max --input x.npy --kernel-size 3,3,3 --output y.npy --threads 1 --json";
    let outcome = poolgrad(folder.path(), run).passed();
    let value: serde_json::Value = serde_json::from_str(&outcome.stdout)?;
    assert_eq!(value["operator"], "max");
    assert_eq!(value["threads"], 1);
    let n_outputs = 2 * 3 * 2 * 3;
    assert_eq!(value["bytes"], LEN * 4 + n_outputs * (4 + 8));
    assert_eq!(value["outputs"][0]["shape"], serde_json::json!([2, 3, 1, 2, 3]));
    assert_eq!(value["outputs"].as_array().map(Vec::len), Some(1));
    Ok(())
}

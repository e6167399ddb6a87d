//! The C interface gives the bits that the Rust interface gives, on the same inputs.

use std::fs;

use poolgrad::half::{bf16, f16};
use poolgrad::{AdaptiveAvgPool, AdaptiveMaxPool, DType, MaxPool, Pool, Sizes, Tensor};

use crate::support::{Mode, run, scratch};

/// A problem of the table in `operators.hpp`, restated.
struct Problem {
    name: &'static str,
    pooling: Pool,
    whole: Sizes,
    pooled: Sizes,
    indices: DType,
}

/// The tensors of one call with their places in the C signature.
#[derive(Default)]
struct Call {
    inputs: Vec<(usize, Tensor)>,
    outputs: Vec<(usize, Vec<u8>)>,
}

fn problems() -> Vec<Problem> {
    let adaptive_3d = Pool::AdaptiveMax(AdaptiveMaxPool::new_3d([2, 3, 4]));
    let adaptive_2d = Pool::AdaptiveMax(AdaptiveMaxPool::new_2d([2, 4]));
    let windows = Pool::Max(MaxPool::new_3d([2, 3, 2]).stride([2, 2, 1]).padding([0, 1, 0]));
    let average = Pool::AdaptiveAvg(AdaptiveAvgPool::new_3d([2, 3, 4]));
    let volumes = |name, pooling, pooled: [i64; 5]| Problem {
        name,
        pooling,
        whole: [2, 3, 4, 5, 6].into(),
        pooled: pooled.into(),
        indices: DType::I32,
    };
    let planes = |name| Problem {
        name,
        pooling: adaptive_2d,
        whole: [2, 3, 5, 6].into(),
        pooled: [2, 3, 2, 4].into(),
        indices: DType::I64,
    };
    vec![
        volumes("AdaptiveMaxPool3dBackward", adaptive_3d, [2, 3, 2, 3, 4]),
        volumes("MaxPool3dWithArgmaxBackward", windows, [2, 3, 2, 3, 5]),
        volumes("AdaptiveAvgPool3dBackward", average, [2, 3, 2, 3, 4]),
        planes("AdaptiveMaxPool2dBackward"),
        volumes("AdaptiveMaxPool3d", adaptive_3d, [2, 3, 2, 3, 4]),
        volumes("MaxPool3dWithArgmax", windows, [2, 3, 2, 3, 5]),
        volumes("AdaptiveAvgPool3d", average, [2, 3, 2, 3, 4]),
        planes("AdaptiveMaxPool2d"),
    ]
}

/// Numbers that look random and are the same in every run.
struct Noise(u64);

impl Noise {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 33
    }

    /// A tensor whose values do not add up exactly, so that another order of additions would show.
    fn values(&mut self, dtype: DType, shape: Sizes) -> Tensor {
        let mut tensor = Tensor::zeros(dtype, shape).expect("a small tensor");
        for place in tensor.as_mut_bytes().chunks_exact_mut(dtype.size()) {
            let value = (self.next() % 20_001) as f32 / 1000.0 - 10.0;
            match dtype {
                DType::F32 => place.copy_from_slice(&value.to_ne_bytes()),
                DType::F64 => place.copy_from_slice(&f64::from(value).to_ne_bytes()),
                DType::F16 => place.copy_from_slice(&f16::from_f32(value).to_ne_bytes()),
                DType::BF16 => place.copy_from_slice(&bf16::from_f32(value).to_ne_bytes()),
                _ => panic!("no values of type {dtype}"),
            }
        }
        tensor
    }

    /// Indices in planes of this many values.
    fn indices(&mut self, dtype: DType, shape: Sizes, n_values: i64) -> Tensor {
        let mut tensor = Tensor::zeros(dtype, shape).expect("a small tensor");
        for place in tensor.as_mut_bytes().chunks_exact_mut(dtype.size()) {
            let index = self.next() as i64 % n_values;
            place.copy_from_slice(&index_bytes(dtype, index));
        }
        tensor
    }
}

fn index_bytes(dtype: DType, index: i64) -> Vec<u8> {
    match dtype {
        DType::I64 => index.to_ne_bytes().to_vec(),
        _ => i32::try_from(index).expect("planes are small").to_ne_bytes().to_vec(),
    }
}

/// Makes the inputs, and the outputs by the Rust interface.
fn compute(problem: &Problem, dtype: DType) -> Call {
    let &Problem { name, pooling, whole, pooled, .. } = problem;
    let mut noise = Noise(u64::try_from(name.len()).expect("names are short"));
    let mut call = Call::default();
    if !name.ends_with("Backward") {
        let input = noise.values(dtype, whole);
        let (output, places) = match pooling {
            Pool::Max(pool) => pool.forward(&input).map(|(output, places)| (output, Some(places))),
            Pool::AdaptiveMax(pool) => pool.forward(&input).map(|(output, places)| (output, Some(places))),
            Pool::AdaptiveAvg(pool) => pool.forward(&input).map(|output| (output, None)),
            _ => panic!("no such pooling above"),
        }
        .expect("a good problem");
        call.inputs.push((0, input));
        call.outputs.push((1, output.as_bytes().to_vec()));
        if let Some(places) = places {
            // The Rust interface gives 64-bit indices; the operator's may be narrower.
            let places = places.as_slice::<i64>().expect("indices are 64-bit");
            call.outputs.push((2, places.iter().flat_map(|&place| index_bytes(problem.indices, place)).collect()));
        }
        return call;
    }
    let grad_output = noise.values(dtype, pooled);
    let places = noise.indices(problem.indices, pooled, whole[2..].iter().product());
    let (grad_input, place) = match pooling {
        Pool::Max(pool) => (pool.backward(&grad_output, &places, whole), 3),
        Pool::AdaptiveMax(pool) => (pool.backward(&grad_output, &places, whole), 3),
        Pool::AdaptiveAvg(pool) => (pool.backward(&grad_output, whole), 2),
        _ => panic!("no such pooling above"),
    };
    call.outputs.push((place, grad_input.expect("a good problem").as_bytes().to_vec()));
    call.inputs.push((0, grad_output));
    // What `self` holds must not matter.
    call.inputs.push((1, noise.values(dtype, whole)));
    if place == 3 {
        call.inputs.push((2, places));
    }
    call
}

// Oracle: the Rust interface, which has oracles of its own.
#[test]
fn both_interfaces_give_the_same_bits() {
    let folder = scratch().join("same-numbers");
    fs::create_dir_all(&folder).expect("a folder can be made");
    let path = folder.to_str().expect("paths are plain");
    for problem in problems() {
        for (dtype, number) in [(DType::F32, "0"), (DType::F16, "1"), (DType::BF16, "27"), (DType::F64, "11")] {
            let call = compute(&problem, dtype);
            for (place, input) in &call.inputs {
                fs::write(folder.join(place.to_string()), input.as_bytes()).expect("a file can be made");
            }
            // DOUBLE is more than devices of the default profile take.
            run("one_case.cpp", Mode::Plain, &[problem.name, number, path], &[("POOLGRAD_PROFILE", "permissive")])
                .expect("a plain run needs no checker")
                .assert_passed();
            for (place, want) in &call.outputs {
                let got = fs::read(folder.join(place.to_string())).expect("the program wrote it");
                assert!(&got == want, "{} {dtype}: output {place} differs", problem.name);
            }
        }
    }
}

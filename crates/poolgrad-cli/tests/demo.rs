//! The demo. Oracle: its own comparison with the reference, which the exit code and every row must report; and the
//! pictures' decoder.

mod support;

use std::collections::BTreeSet;
use std::fs;
use std::io::BufReader;
use std::path::Path;

use npyz::Order;
use support::{numbers, poolgrad, write_npy};

/// The size of a picture and its colours.
fn picture(path: &Path) -> ([u32; 2], BTreeSet<[u8; 3]>) {
    let decoder = png::Decoder::new(BufReader::new(fs::File::open(path).unwrap()));
    let mut reader = decoder.read_info().unwrap();
    let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
    let info = reader.next_frame(&mut pixels).unwrap();
    let colours = pixels.chunks_exact(3).map(|pixel| [pixel[0], pixel[1], pixel[2]]).collect();
    ([info.width, info.height], colours)
}

#[test]
fn a_bare_call_runs_the_demo() {
    let folder = tempfile::tempdir().unwrap();
    let outcome = poolgrad(folder.path(), "").passed();
    assert_eq!(outcome.stdout.matches(" right ").count(), 30, "{}", outcome.stdout);
    assert!(!outcome.stdout.contains("WRONG"));
    for name in ["max.png", "average.png"] {
        let (size, colours) = picture(&folder.path().join("poolgrad-demo").join(name));
        assert_eq!(size[0], 3 * 512 + 4 * 16, "{name}");
        // A picture of grey values, white paper, and the two ends of the gradient's scale.
        assert!(colours.len() > 100, "{name} has {} colours", colours.len());
        assert!(colours.iter().any(|[r, _, b]| r > b) && colours.iter().any(|[r, _, b]| r < b), "{name}");
    }
}

#[test]
fn results_come_as_json() {
    let folder = tempfile::tempdir().unwrap();
    let outcome = poolgrad(folder.path(), "demo --json --threads 1 --out p").passed();
    let value: serde_json::Value = serde_json::from_str(&outcome.stdout).unwrap();
    let rows = value["results"].as_array().unwrap();
    let column = |name: &str| rows.iter().map(|row| row[name].as_str().unwrap()).collect::<BTreeSet<_>>();
    assert_eq!(rows.len(), 30);
    assert_eq!(column("operator").len(), 5);
    assert_eq!(column("dtype"), BTreeSet::from(["bf16", "f16", "f32"]));
    assert_eq!(column("direction"), BTreeSet::from(["forward", "gradient"]));
    assert_eq!(column("verdict"), BTreeSet::from(["right"]));
    assert_eq!(value["pictures"].as_array().map(Vec::len), Some(2));
}

#[test]
fn any_volume_will_do() {
    let folder = tempfile::tempdir().unwrap();
    // From a single voxel to batches, also column-major.
    for shape in [[1, 1, 1, 1, 1], [3, 2, 5, 4, 3], [1, 1, 1, 40, 2]] {
        let len = shape.iter().product::<u64>() as usize;
        for order in [Order::C, Order::Fortran] {
            write_npy(&folder.path().join("v.npy"), order, &shape, &numbers(len));
            let outcome = poolgrad(folder.path(), "demo --input v.npy --out p").passed();
            assert_eq!(outcome.stdout.matches(" right ").count(), 30, "{}", outcome.stdout);
        }
    }
}

#[test]
fn what_is_no_volume_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("v.npy");
    let demo = || poolgrad(folder.path(), "demo --input v.npy").failed(1);
    write_npy(&path, Order::C, &[2, 3], &numbers(6));
    assert_eq!(
        demo(),
        "v.npy: expected a volume of [D, H, W], [C, D, H, W] or [N, C, D, H, W], found shape [2, 3]"
    );
    write_npy::<f32>(&path, Order::C, &[2, 0, 3], &[]);
    assert_eq!(
        demo(),
        "v.npy: expected 1 to 67108864 elements (larger files are for poolgrad run), found shape [2, 0, 3]"
    );
    write_npy(&path, Order::C, &[1, 1, 1], &[1i64]);
    assert_eq!(demo(), "v.npy: expected floating-point values, found i64");
    fs::write(&path, "").unwrap();
    assert_eq!(demo(), "v.npy: expected a NumPy array, found an empty file");
}

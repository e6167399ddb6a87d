//! Files that are not what they should be. Oracle: a table of files and the line that each must give.

mod support;

use std::fs;
use std::path::Path;

use npyz::Order;
use support::{listing, poolgrad, poolgrad_with, write_npy};

/// A `.npy` file of version 1 with this header and these elements.
fn npy(header: &str, data: &[u8]) -> Vec<u8> {
    let len = u16::try_from(header.len()).unwrap().to_le_bytes();
    [b"\x93NUMPY\x01\x00".as_slice(), &len, header.as_bytes(), data].concat()
}

/// A `.safetensors` file with this header and these elements.
fn safetensors(header: &str, data: &[u8]) -> Vec<u8> {
    let len = (header.len() as u64).to_le_bytes();
    [len.as_slice(), header.as_bytes(), data].concat()
}

#[track_caller]
fn refused(folder: &Path, file: &str, contents: &[u8], wanted: &str) {
    let name = file.split(':').next().unwrap();
    fs::write(folder.join(name), contents).unwrap();
    let run = ["run", "max_1d", "--kernel-size", "2", "--output", "y.npy", "--input", file];
    let message = poolgrad_with(folder, &run).failed(1);
    assert_eq!(message, format!("{file}: {wanted}"));
}

#[test]
fn wrong_npy_files_are_explained() {
    let folder = tempfile::tempdir().unwrap();
    let header =
        |descr: &str, shape: &str| format!("{{'descr': {descr}, 'fortran_order': False, 'shape': ({shape}), }}\n");
    let good = npy(&header("'<f4'", "2, 3"), &[0; 24]);
    let cases: [(&[u8], &str); 18] = [
        (b"", "expected a NumPy array, found an empty file"),
        (b"PK\x03\x04zip", "expected a NumPy array, found a file that begins with bytes 50 4b 03 04 7a 69"),
        (&good[..7], "the file ends inside its header: it is truncated"),
        (&good[..40], "the file ends inside its header: it is truncated"),
        (&good[..good.len() - 1], "expected 24 bytes for shape [2, 3] of f32, the file holds 23: it is truncated"),
        (
            &[good.as_slice(), &[0]].concat(),
            "expected 24 bytes for shape [2, 3] of f32, the file holds 25: it holds something else too",
        ),
        (b"\x93NUMPY\x09\x00\x00\x00", "expected .npy version 1, 2 or 3, found 9.0"),
        (b"\x93NUMPY\x02\x00\xff\xff\xff\xff{", "the file ends inside its header: it is truncated"),
        (
            &npy(&header("'>f4'", "2, 3"), &[0; 24]),
            "expected little-endian numbers, the file holds f32 with the other byte order (>): convert it with \
             array.astype(array.dtype.newbyteorder('='))",
        ),
        (
            &npy(&header("'<c8'", "2, 3"), &[0; 48]),
            "expected elements of type f2, f4, f8, i4 or i8, the file holds \"<c8\"",
        ),
        (
            &npy(&header("'|b1'", "2, 3"), &[0; 6]),
            "expected elements of type f2, f4, f8, i4 or i8, the file holds \"|b1\"",
        ),
        (&npy(&header("[('a', '<f4')]", "2, 3"), &[0; 24]), "expected an array of numbers, the file holds records"),
        (
            &npy(&header("'<f4'", "9223372036854775807, 3"), &[0; 24]),
            "shape [9223372036854775807, 3] is larger than any memory",
        ),
        (
            &npy(&header("'<f4'", "99999999999999999999"), &[]),
            "expected a size in the header, found \"999999999999\"",
        ),
        (
            &npy(&header("'<f4'", "1, 1, 1, 1, 1, 1, 1, 1, 1"), &[0; 4]),
            "expected at most 8 axes, the file holds more",
        ),
        (&npy(&header("'<f4'", "-2, 3"), &[]), "expected a size in the header, found \"-2, 3), }\\n\""),
        (&npy("{'descr': '<f4'}", &[]), "expected an entry \"fortran_order\" in the header, found none"),
        (&npy("\u{0}\u{0}", &[]), "expected '{' in the header, found \"\\0\\0\""),
    ];
    for (contents, wanted) in cases {
        refused(folder.path(), "x.npy", contents, wanted);
    }
    assert_eq!(listing(folder.path()), ["x.npy"], "a failure leaves nothing behind");
}

#[test]
fn wrong_safetensors_files_are_explained() {
    let folder = tempfile::tempdir().unwrap();
    let entry = r#"{"x": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}}"#;
    let with = |from: &str, to: &str| safetensors(&entry.replace(from, to), &[0; 24]);
    let good = with("", "");
    let two = r#"{"a": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]},
                  "b": {"dtype": "F32", "shape": [1], "data_offsets": [4, 8]}}"#;
    let cases: [(&str, &[u8], &str); 14] = [
        ("x.safetensors", b"", "expected safetensors, found an empty file"),
        (
            "x.safetensors",
            b"\x93NUMPY\x01\x00\x76\x00{",
            "expected safetensors, found a file that begins with bytes 93 4e 55 4d 50 59",
        ),
        ("x.safetensors", &good[..30], "the file ends inside its header: it is truncated"),
        (
            "x.safetensors",
            &good[..good.len() - 4],
            "expected 24 bytes of tensors, the file holds 20: it is truncated",
        ),
        (
            "x.safetensors",
            &[&good[..], &[0; 4]].concat(),
            "expected 24 bytes of tensors, the file holds 28: it holds something else too",
        ),
        ("x.safetensors:y", &good, "expected a tensor of this name, the file holds: x"),
        (
            "x.safetensors",
            &safetensors(two, &[0; 8]),
            "expected one tensor, the file holds 2: add :NAME, one of a, b",
        ),
        ("x.safetensors", &safetensors("{}", &[]), "expected a tensor, the file holds none"),
        (
            "x.safetensors",
            &with("F32", "I8"),
            "expected elements of type F16, BF16, F32, F64, I32 or I64, the file holds I8",
        ),
        (
            "x.safetensors",
            &with("[2, 3]", "[2, 4]"),
            "expected 32 bytes for shape [2, 4] of f32, the file holds 24",
        ),
        (
            "x.safetensors",
            &with("[2, 3]", "[4611686018427387904, 4]"),
            "shape [4611686018427387904, 4] is larger than any memory",
        ),
        ("x.safetensors", &with("[2, 3]", "[-2, 3]"), "shape [-2, 3] is larger than any memory"),
        ("x.safetensors", &with("[2, 3]", "[1, 1, 1, 1, 1, 1, 1, 1, 1]"), "at most 8 axes are supported, got 9"),
        (
            "x.safetensors",
            &with("[0, 24]", "[24, 0]"),
            "expected data_offsets of two numbers for each tensor, the header holds something else",
        ),
    ];
    for (file, contents, wanted) in cases {
        refused(folder.path(), file, contents, wanted);
    }
    // How deep a header may nest is the JSON parser's to say; that it does not overflow the stack is ours.
    let deep = safetensors(&("{\"x\": ".to_owned() + &"[".repeat(100_000)), &[]);
    fs::write(folder.path().join("x.safetensors"), deep).unwrap();
    let run = "run max_1d --kernel-size 2 --output y.npy --input x.safetensors";
    let message = poolgrad(folder.path(), run).failed(1);
    assert!(message.starts_with("x.safetensors: expected a header that is a JSON object"), "{message}");
}

#[cfg(unix)]
#[test]
fn what_is_no_file_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("d.npy")).unwrap();
    std::os::unix::fs::symlink("/dev/zero", folder.path().join("z.npy")).unwrap();
    for file in ["d.npy", "z.npy"] {
        let run = format!("run max_1d --kernel-size 2 --output y.npy --input {file}");
        let message = poolgrad(folder.path(), &run).failed(1);
        assert_eq!(message, format!("{file}: expected a regular file, found a folder, pipe or device"));
    }
    let run = "run max_1d --kernel-size 2 --output y.npy --input none.npy";
    let message = poolgrad(folder.path(), run).failed(1);
    assert!(message.starts_with("none.npy: No such file"), "{message}");
    // A name may hold anything; the message stays on one line.
    let run = ["run", "max_1d", "--kernel-size", "2", "--output", "y.npy", "--input", "a\nb\u{1b}.npy"];
    let message = poolgrad_with(folder.path(), &run).failed(1);
    assert!(message.starts_with("a\\nb\\u{1b}.npy: No such file"), "{message}");
}

#[test]
fn places_that_cannot_be_written_are_refused_before_the_work() {
    let folder = tempfile::tempdir().unwrap();
    write_npy(&folder.path().join("x.npy"), Order::C, &[1, 4], &[1f32; 4]);
    fs::create_dir(folder.path().join("d.npy")).unwrap();
    let run = "run max_1d --kernel-size 2 --input x.npy";
    let cases = [
        ("--output no/y.npy", "no/y.npy: there is no folder no; make it first"),
        ("--output d.npy", "d.npy: expected a file to write, found a folder"),
        (
            "--output y.npy --indices-out y.npy",
            "y.npy: output goes there already; indices needs a place of its own",
        ),
        (
            "--output y.safetensors:a --indices-out y.safetensors:a",
            "y.safetensors:a: output goes there already; indices needs a place of its own",
        ),
        (
            "--output y.npy --dtype bf16",
            "y.npy: the .npy format has no bf16; write output to a .safetensors file, or choose --dtype f32",
        ),
    ];
    for (places, wanted) in cases {
        assert_eq!(poolgrad(folder.path(), &format!("{run} {places}")).failed(2), wanted);
    }
    assert_eq!(listing(folder.path()), ["d.npy", "x.npy"]);
}

//! What the tests of the binary share: running it in a folder of its own, and files made by other implementations.
#![allow(dead_code, reason = "each test file uses its own part")]

use std::fs;
use std::path::Path;
use std::process::Command;

use npyz::WriterBuilder;
use poolgrad::Sizes;

/// What a run of the binary left behind.
pub(crate) struct Outcome {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Outcome {
    /// The outcome, which must be a success.
    #[track_caller]
    pub(crate) fn passed(self) -> Self {
        assert_eq!(self.code, Some(0), "{}{}", self.stdout, self.stderr);
        self
    }

    /// The one line of a failure with exit code `code`, without `error: `.
    #[track_caller]
    pub(crate) fn failed(self, code: i32) -> String {
        assert_eq!(self.code, Some(code), "{}{}", self.stdout, self.stderr);
        let line = self.stderr.strip_suffix('\n').expect("an error ends its line");
        assert!(!line.contains('\n'), "one line, not: {line}");
        line.strip_prefix("error: ").expect("an error says so").to_owned()
    }
}

/// Runs the binary in `folder` with arguments that are separated by spaces.
pub(crate) fn poolgrad(folder: &Path, arguments: &str) -> Outcome {
    poolgrad_with(folder, &arguments.split_whitespace().collect::<Vec<_>>())
}

/// Runs the binary in `folder`.
pub(crate) fn poolgrad_with(folder: &Path, arguments: &[&str]) -> Outcome {
    let output = Command::new(env!("CARGO_BIN_EXE_poolgrad"))
        .args(arguments)
        .current_dir(folder)
        .env_remove("POOLGRAD_VERBOSE")
        .output()
        .expect("the binary runs");
    Outcome {
        code: output.status.code(),
        stdout: String::from_utf8(output.stdout).expect("text"),
        stderr: String::from_utf8(output.stderr).expect("text"),
    }
}

/// Writes a `.npy` file with `npyz`.
pub(crate) fn write_npy<T: npyz::AutoSerialize + Clone>(
    path: &Path,
    order: npyz::Order,
    shape: &[u64],
    values: &[T],
) {
    let mut file = Vec::new();
    let options = npyz::WriteOptions::new().default_dtype().order(order).shape(shape);
    let mut writer = options.writer(&mut file).begin_nd().expect("a header");
    writer.extend(values.iter().cloned()).expect("elements");
    writer.finish().expect("an end");
    fs::write(path, file).expect("a file");
}

/// The shape and elements of a `.npy` file, read with `npyz`.
pub(crate) fn read_npy<T: npyz::Deserialize>(path: &Path) -> (Sizes, Vec<T>) {
    let file = fs::read(path).expect("a file");
    let file = npyz::NpyFile::new(file.as_slice()).expect("a header");
    assert_eq!(file.order(), npyz::Order::C);
    let shape: Vec<i64> = file.shape().iter().map(|&size| size as i64).collect();
    let shape = Sizes::try_from(shape.as_slice()).expect("few axes");
    (shape, file.into_vec().expect("elements of this type"))
}

/// Repeatable numbers with few ties.
pub(crate) fn numbers(len: usize) -> Vec<f32> {
    let mut random = poolgrad_check::Random::new(5);
    (0..len).map(|_| random.signed_unit() as f32).collect()
}

/// The names of the files in `folder`, in order.
pub(crate) fn listing(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).expect("a folder");
    let name = |entry: std::io::Result<fs::DirEntry>| entry.expect("an entry").file_name();
    let mut names: Vec<_> = entries.map(|entry| name(entry).into_string().expect("text")).collect();
    names.sort();
    names
}

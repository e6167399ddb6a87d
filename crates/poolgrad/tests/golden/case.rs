//! One golden file: its tensors as [`Tensor`]s, and its metadata as the parameters of a pooling.

use std::collections::HashMap;
use std::path::PathBuf;

use poolgrad::{AdaptiveAvgPool, AdaptiveMaxPool, DType, Direction, MaxPool, Sizes, Spec, Tensor};
use safetensors::{Dtype, SafeTensors};

/// The folder of the golden files.
fn folder() -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "tests", "golden"].iter().collect()
}

/// The names of all golden files, sorted, without their ending.
pub(crate) fn names_in_folder() -> Vec<String> {
    let files = std::fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path());
    let golden = files.filter(|path| path.extension().is_some_and(|ending| ending == "safetensors"));
    let mut names: Vec<String> =
        golden.map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned()).collect();
    names.sort();
    names
}

/// A golden file.
pub(crate) struct Case {
    pub(crate) name: String,
    metadata: HashMap<String, String>,
    tensors: HashMap<String, Tensor>,
}

impl Case {
    /// Reads the file called `name`.
    pub(crate) fn read(name: &str) -> Self {
        let path = folder().join(format!("{name}.safetensors"));
        let bytes = std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let (_, header) = SafeTensors::read_metadata(&bytes).unwrap();
        let file = SafeTensors::deserialize(&bytes).unwrap();
        let tensors = file.iter().map(|(key, view)| {
            let dtype = match view.dtype() {
                Dtype::F32 => DType::F32,
                Dtype::F64 => DType::F64,
                Dtype::F16 => DType::F16,
                Dtype::BF16 => DType::BF16,
                Dtype::I64 => DType::I64,
                other => panic!("{name}: {key} is of type {other:?}"),
            };
            let shape: Vec<i64> = view.shape().iter().map(|&size| size as i64).collect();
            let mut tensor = Tensor::zeros(dtype, Sizes::try_from(shape.as_slice()).unwrap()).unwrap();
            let elements = tensor.as_mut_bytes().chunks_mut(dtype.size());
            for (element, bytes) in elements.zip(view.data().chunks(dtype.size())) {
                element.copy_from_slice(bytes);
                // Files are little-endian.
                if cfg!(target_endian = "big") {
                    element.reverse();
                }
            }
            (key.to_owned(), tensor)
        });
        Self { name: name.into(), tensors: tensors.collect(), metadata: header.metadata().clone().unwrap() }
    }

    /// A tensor of the file: in a case's `dtype`, the one that plays `role`.
    pub(crate) fn tensor(&self, dtype: DType, role: &str) -> Tensor {
        let key = format!("{dtype}.{role}");
        let found = self.tensors.get(&key).cloned();
        found.unwrap_or_else(|| panic!("{}: no tensor {key}", self.name))
    }

    fn text(&self, key: &str) -> &str {
        let found = self.metadata.get(key);
        found.unwrap_or_else(|| panic!("{}: no metadata {key}", self.name))
    }

    /// The operator's name.
    pub(crate) fn operator(&self) -> &str {
        self.text("operator")
    }

    /// The number of spatial axes.
    pub(crate) fn n_spatial(&self) -> usize {
        self.text("n_spatial").parse().unwrap()
    }

    /// The element types that the case was computed in.
    pub(crate) fn dtypes(&self) -> Vec<DType> {
        self.text("dtypes").split(' ').map(|name| DType::from_name(name).unwrap()).collect()
    }

    /// A parameter that is a number or a list of numbers.
    pub(crate) fn sizes(&self, key: &str) -> Sizes {
        let list = self.text(key).trim_start_matches('[').trim_end_matches(']');
        let values: Vec<i64> = list.split(',').map(|value| value.trim().parse().unwrap()).collect();
        Sizes::try_from(values.as_slice()).unwrap()
    }

    /// The case's max pooling.
    pub(crate) fn max_pool(&self) -> MaxPool {
        MaxPool::new(self.n_spatial(), self.sizes("kernel_size"))
            .stride(self.sizes("stride"))
            .padding(self.sizes("padding"))
            .dilation(self.sizes("dilation"))
            .ceil_mode(self.text("ceil_mode") == "true")
    }

    /// The case's pooling, forward.
    pub(crate) fn spec(&self) -> Spec {
        let output_size = || self.sizes("output_size");
        match self.operator() {
            "max" => self.max_pool().spec(Direction::Forward),
            "adaptive_max" => AdaptiveMaxPool::new(self.n_spatial(), output_size()).spec(Direction::Forward),
            "adaptive_avg" => AdaptiveAvgPool::new(self.n_spatial(), output_size()).spec(Direction::Forward),
            other => panic!("{}: unknown operator {other}", self.name),
        }
    }
}

/// The elements of a tensor as `f64`, which holds each of them exactly (indices of these small cases included).
pub(crate) fn values(tensor: &Tensor) -> Vec<f64> {
    use poolgrad::half::{bf16, f16};
    fn all<T: poolgrad::Element>(tensor: &Tensor, widen: impl Fn(T) -> f64) -> Vec<f64> {
        tensor.as_slice::<T>().unwrap().iter().map(|&value| widen(value)).collect()
    }
    match tensor.dtype() {
        DType::F32 => all::<f32>(tensor, f64::from),
        DType::F64 => all::<f64>(tensor, |value| value),
        DType::F16 => all::<f16>(tensor, f64::from),
        DType::BF16 => all::<bf16>(tensor, f64::from),
        DType::I32 => all::<i32>(tensor, f64::from),
        DType::I64 => all::<i64>(tensor, |value| value as f64),
        other => panic!("unknown element type {other}"),
    }
}

/// `indices`, which are `i64`, as `i32`.
pub(crate) fn as_i32(indices: &Tensor) -> Tensor {
    let values = indices.as_slice::<i64>().unwrap().iter();
    Tensor::from_vec(values.map(|&index| i32::try_from(index).unwrap()).collect(), *indices.shape()).unwrap()
}

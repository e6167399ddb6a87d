//! The volume that the demo works on: the built-in brain scan, or the user's own.

use poolgrad::{DType, Layout, Sizes, Tensor};

use crate::failure::Failure;
use crate::formats::{Location, Source, converted};

/// A brain scan; where it comes from stands in `data/README.md`.
static BRAIN: &[u8] = include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../data/brain_epi_f16.npy"));

/// The most elements of a volume: the reference holds each number several times in f64.
const MOST_ELEMENTS: i64 = 1 << 26;

/// Numbers of shape `[1, C, D, H, W]`.
pub(super) struct Volume {
    pub(super) shape: [i64; 5],
    values: Vec<f64>,
}

impl Volume {
    /// The volume at `location`, or the built-in one.
    ///
    /// # Errors
    /// If the file holds no tensor of floating-point values with 3 to 5 axes.
    pub(super) fn open(location: Option<&Location>) -> Result<Self, Failure> {
        let source = match location {
            Some(location) => Source::open(location)?,
            None => Source::embedded(BRAIN)?,
        };
        let refuse = |wanted: &str, found: String| {
            let name = location.map_or_else(|| "the built-in volume".into(), Location::to_string);
            Err(Failure::work(format!("{name}: expected {wanted}, found {found}")))
        };
        let (dtype, layout) = (source.desc().dtype, source.desc().layout);
        if !dtype.is_float() {
            return refuse("floating-point values", dtype.to_string());
        }
        let shape = match layout.shape()[..] {
            [d, h, w] => [1, 1, d, h, w],
            [c, d, h, w] => [1, c, d, h, w],
            // Batch entries are pooled as channels are: each plane for itself.
            [n, c, d, h, w] => [1, n * c, d, h, w],
            _ => {
                return refuse(
                    "a volume of [D, H, W], [C, D, H, W] or [N, C, D, H, W]",
                    format!("shape {}", layout.shape()),
                );
            }
        };
        if layout.is_empty() || MOST_ELEMENTS < layout.n_elements() {
            return refuse(
                &format!("1 to {MOST_ELEMENTS} elements (larger files are for poolgrad run)"),
                format!("shape {}", layout.shape()),
            );
        }
        Ok(Self { shape, values: row_major(&layout, &source.values()?) })
    }

    /// The volume in type `dtype`.
    pub(super) fn tensor(&self, dtype: DType) -> Result<Tensor, Failure> {
        converted(self.values.iter().copied(), dtype, Sizes::from(self.shape))
    }
}

/// `values`, which lie as `layout` says, in row-major order.
fn row_major(layout: &Layout, values: &[f64]) -> Vec<f64> {
    if layout.is_contiguous() {
        return values.to_vec();
    }
    let (shape, strides) = (layout.shape(), layout.strides());
    let place = |flat: i64| {
        let mut rest = flat;
        let mut place = 0;
        for axis in (0..shape.len()).rev() {
            place += rest % shape[axis] * strides[axis];
            rest /= shape[axis];
        }
        // Files hold positive strides only.
        values[place.unsigned_abs() as usize]
    };
    (0..layout.n_elements()).map(place).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    // Oracle: by hand.
    #[test]
    fn column_major_values_are_put_in_order() {
        let layout = Layout::strided([2, 3], [1, 2]).unwrap();
        assert_eq!(row_major(&layout, &[0.0, 3.0, 1.0, 4.0, 2.0, 5.0]), [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]);
    }

    // Oracle: data/README.md.
    #[test]
    fn the_built_in_volume_is_the_brain() {
        let brain = Volume::open(None).unwrap();
        assert_eq!(brain.shape, [1, 2, 24, 96, 128]);
        assert!(brain.values.iter().all(|value| value.fract() == 0.0));
        assert!(brain.values.iter().any(|&value| value > 100.0));
    }
}

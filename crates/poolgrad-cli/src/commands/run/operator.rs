//! The operators by name: a family, a direction, and perhaps the number of spatial axes.

use std::str::FromStr;

use poolgrad::Direction;

use crate::failure::Failure;

/// A kind of pooling, without its parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Family {
    Max,
    AdaptiveMax,
    AdaptiveAvg,
}

/// What an operator's name says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Operator {
    pub(super) family: Family,
    pub(super) direction: Direction,
    /// The number of spatial axes, where the name says it.
    pub(super) n_spatial: Option<usize>,
}

impl Operator {
    /// Whether there are indices beside the values.
    pub(super) fn has_indices(&self) -> bool {
        self.family != Family::AdaptiveAvg
    }
}

impl FromStr for Operator {
    type Err = Failure;

    /// Reads `adaptive_max_grad`, `adaptive_max_3d_grad`, `adaptive-max-grad-3d` and the like.
    fn from_str(text: &str) -> Result<Self, Failure> {
        let name = text.replace('-', "_");
        let (name, after) = without_dimension(&name);
        let (name, direction) = match name.strip_suffix("_grad") {
            Some(name) => (name, Direction::Gradient),
            None => (name, Direction::Forward),
        };
        let (name, before) = without_dimension(name);
        let family = match name {
            "max" => Some(Family::Max),
            "adaptive_max" => Some(Family::AdaptiveMax),
            "adaptive_avg" => Some(Family::AdaptiveAvg),
            _ => None,
        };
        match family {
            Some(family) if before.is_none() || after.is_none() => {
                Ok(Self { family, direction, n_spatial: before.or(after) })
            }
            _ => Err(Failure::usage(format!(
                "there is no operator {text:?}; there are max, adaptive_max, adaptive_avg and their gradients max_grad, \
                 adaptive_max_grad, adaptive_avg_grad (see poolgrad run --help)"
            ))),
        }
    }
}

/// A name without `_1d`, `_2d` or `_3d` at its end, and the number that stood there.
fn without_dimension(name: &str) -> (&str, Option<usize>) {
    for (suffix, n_spatial) in [("_1d", 1), ("_2d", 2), ("_3d", 3)] {
        if let Some(name) = name.strip_suffix(suffix) {
            return (name, Some(n_spatial));
        }
    }
    (name, None)
}

#[cfg(test)]
mod tests {
    use super::*;

    // Oracle: by hand.
    #[test]
    fn names_are_read_or_refused() {
        let read = |name: &str| {
            let operator = name.parse::<Operator>().ok()?;
            Some((operator.family, operator.direction, operator.n_spatial))
        };
        use Direction::{Forward, Gradient};
        use Family::{AdaptiveAvg, AdaptiveMax, Max};
        assert_eq!(read("max"), Some((Max, Forward, None)));
        assert_eq!(read("max_3d_grad"), Some((Max, Gradient, Some(3))));
        assert_eq!(read("adaptive-avg-grad-2d"), Some((AdaptiveAvg, Gradient, Some(2))));
        assert_eq!(read("adaptive_max_1d"), Some((AdaptiveMax, Forward, Some(1))));
        for wrong in ["", "_grad", "avg", "max_4d", "max_2d_grad_3d", "max_grad_grad", "Max"] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
    }
}

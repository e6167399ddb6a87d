//! Windows, straight from their definitions.
//!
//! Everything is in `i128`, so that no parameter that fits an `i64` overflows.

use std::fmt;

use poolgrad::{Pool, Sizes, Spec};

/// Why a pooling of an input produces no output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoOutput {
    /// A parameter list has neither one value nor one for each spatial axis.
    WrongLength,
    /// A size or a parameter is out of its range.
    OutOfRange {
        /// The spatial axis.
        axis: usize,
    },
    /// No window fits on an axis.
    NoWindow {
        /// The spatial axis.
        axis: usize,
    },
    /// A window has no element inside the input.
    EmptyWindow {
        /// The spatial axis.
        axis: usize,
        /// The output position.
        output: usize,
    },
}

impl fmt::Display for NoOutput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::WrongLength => f.write_str("a parameter list must have 1 value or one for each spatial axis"),
            Self::OutOfRange { axis } => {
                write!(f, "a size or parameter of spatial axis {axis} is out of its range")
            }
            Self::NoWindow { axis } => write!(f, "no window fits on spatial axis {axis}"),
            Self::EmptyWindow { axis, output } => {
                write!(f, "the window of output {output} on spatial axis {axis} has no element")
            }
        }
    }
}

impl std::error::Error for NoOutput {}

/// One axis: the windows along it, before they are listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Axis {
    /// Windows of `k` elements, `d` apart, each `s` behind the one before, the first starting at `-p`.
    Fixed { k: i128, s: i128, p: i128, d: i128, ceil: bool },
    /// `out` windows that divide the input evenly.
    Adaptive { out: i128 },
}

impl Axis {
    fn of(pool: &Pool, axis: usize) -> Result<Axis, NoOutput> {
        let value = |list: &Sizes, n_spatial: usize| match list.len() {
            1 => Ok(i128::from(list[0])),
            len if len == n_spatial => Ok(i128::from(list[axis])),
            _ => Err(NoOutput::WrongLength),
        };
        match pool {
            Pool::Max(pool) => {
                let n_spatial = pool.n_spatial;
                let stride = if pool.stride.is_empty() { &pool.kernel_size } else { &pool.stride };
                Ok(Axis::Fixed {
                    k: value(&pool.kernel_size, n_spatial)?,
                    s: value(stride, n_spatial)?,
                    p: value(&pool.padding, n_spatial)?,
                    d: value(&pool.dilation, n_spatial)?,
                    ceil: pool.ceil_mode,
                })
            }
            Pool::AdaptiveMax(pool) => value(&pool.output_size, pool.n_spatial).map(|out| Axis::Adaptive { out }),
            Pool::AdaptiveAvg(pool) => value(&pool.output_size, pool.n_spatial).map(|out| Axis::Adaptive { out }),
            other => unreachable!("no definition of {other:?} is known here"),
        }
    }

    /// The number of windows over `input` elements; `None` if a value is out of its range.
    fn n_windows(self, input: i128) -> Option<i128> {
        match self {
            Axis::Adaptive { out } => (input >= 1 && out >= 1).then_some(out),
            Axis::Fixed { k, s, p, d, ceil } => {
                if input < 1 || k < 1 || s < 1 || d < 1 || p < 0 || k / 2 < p {
                    return None;
                }
                let num = input + 2 * p - d * (k - 1) - 1;
                if !ceil {
                    return Some(num.div_euclid(s) + 1);
                }
                // The ceiling of a quotient is the negated floor of its negation.
                let out = -((-num).div_euclid(s)) + 1;
                // The last window must start inside the input or the padding before it.
                Some(if (out - 1) * s >= input + p { out - 1 } else { out })
            }
        }
    }

    /// The input positions that window `o` covers.
    fn window(self, o: i128, input: i128) -> Vec<usize> {
        let inside = |positions: &mut dyn Iterator<Item = i128>| {
            positions.filter(|i| (0..input).contains(i)).map(|i| i as usize).collect()
        };
        match self {
            Axis::Fixed { k, s, p, d, .. } => inside(&mut (0..k).map(|j| o * s - p + j * d)),
            Axis::Adaptive { out } => {
                let start = (o * input).div_euclid(out);
                let end = -(-((o + 1) * input)).div_euclid(out);
                inside(&mut (start..end))
            }
        }
    }
}

/// The spatial sizes that a pooling makes of an input with the spatial sizes `input`.
///
/// # Errors
/// [`NoOutput`] if there is none.
pub fn output_sizes(spec: &Spec, input: &[i64]) -> Result<Sizes, NoOutput> {
    let mut sizes = Vec::new();
    for (axis, &size) in input.iter().enumerate() {
        let windows = Axis::of(&spec.pool, axis)?.n_windows(i128::from(size));
        let windows = windows.ok_or(NoOutput::OutOfRange { axis })?;
        if windows < 1 {
            return Err(NoOutput::NoWindow { axis });
        }
        sizes.push(i64::try_from(windows).map_err(|_| NoOutput::OutOfRange { axis })?);
    }
    Ok(crate::sizes(&sizes))
}

/// For each of D, H and W, the input positions that each output position covers.
pub(crate) type Windows = [Vec<Vec<usize>>; 3];

/// The windows of a pooling over an input of spatial sizes `[D, H, W]`, where axes that it does not have are 1.
///
/// # Errors
/// [`NoOutput`] if there is no output, or a window has no element.
pub(crate) fn windows(spec: &Spec, input: [usize; 3]) -> Result<Windows, NoOutput> {
    let missing = 3 - spec.n_spatial();
    let mut windows: Windows = [vec![vec![0]], vec![vec![0]], vec![vec![0]]];
    let spatial: Vec<i64> = input[missing..].iter().map(|&size| size as i64).collect();
    let output = output_sizes(spec, &spatial)?;
    for axis in 0..spec.n_spatial() {
        let along = Axis::of(&spec.pool, axis)?;
        windows[missing + axis] =
            (0..output[axis]).map(|o| along.window(i128::from(o), i128::from(spatial[axis]))).collect();
        if let Some(output) = windows[missing + axis].iter().position(Vec::is_empty) {
            return Err(NoOutput::EmptyWindow { axis, output });
        }
    }
    Ok(windows)
}

/// [`windows`] of a pooling that is known to have an output.
pub(super) fn known_windows(spec: &Spec, input: [usize; 3]) -> Windows {
    windows(spec, input).unwrap_or_else(|problem| panic!("{}: {problem}", spec.name()))
}

/// Calls `visit` with each output's number in its plane and the flat offsets of its window, both in row-major order.
pub(super) fn for_each_window(windows: &Windows, input: [usize; 3], mut visit: impl FnMut(usize, &[usize])) {
    let [_, height, width] = input;
    let mut output = 0;
    let mut flats = Vec::new();
    for depths in &windows[0] {
        for heights in &windows[1] {
            for widths in &windows[2] {
                flats.clear();
                for d in depths {
                    for h in heights {
                        for w in widths {
                            flats.push((d * height + h) * width + w);
                        }
                    }
                }
                visit(output, &flats);
                output += 1;
            }
        }
    }
}

/// The output's shape `[N, C, D, H, W]` for windows over an input of shape `input_shape`.
pub(super) fn output_shape(windows: &Windows, input_shape: [usize; 5]) -> [usize; 5] {
    let [n, c, ..] = input_shape;
    let [d, h, w] = windows;
    [n, c, d.len(), h.len(), w.len()]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Problem;

    fn windows_of(line: &str) -> Result<Vec<Vec<usize>>, NoOutput> {
        let problem: Problem = line.parse().unwrap();
        let [.., w] = windows(&problem.spec, [1, 1, problem.input[0] as usize])?;
        Ok(w)
    }

    /// Oracle: windows drawn on paper.
    #[test]
    fn windows_are_those_of_the_definitions() {
        let cases: [(&str, &[&[usize]]); 9] = [
            ("max c1 in5 k2", &[&[0, 1], &[2, 3]]),
            ("max c1 in5 k2 ceil", &[&[0, 1], &[2, 3], &[4]]),
            ("max c1 in5 k3 s2 p1", &[&[0, 1], &[1, 2, 3], &[3, 4]]),
            ("max c1 in5 k2 s3 d2", &[&[0, 2]]),
            ("max c1 in5 k2 s3 d2 ceil", &[&[0, 2], &[3]]),
            // A third window would start at 4, which is not below 3 + 1: it is dropped.
            ("max c1 in3 k2 s2 p1 ceil", &[&[0], &[1, 2]]),
            ("max c1 in2 k3 s2 ceil", &[&[0, 1]]),
            ("adaptive_max c1 in5 out2", &[&[0, 1, 2], &[2, 3, 4]]),
            ("adaptive_avg c1 in2 out3", &[&[0], &[0, 1], &[1]]),
        ];
        for (line, want) in cases {
            assert_eq!(windows_of(line).unwrap(), want, "{line}");
        }
    }

    /// Oracle: the rules of the contract, sections 1.2 and 1.3.
    #[test]
    fn what_has_no_output_is_refused() {
        let cases = [
            ("max c1 in2 k3", NoOutput::NoWindow { axis: 0 }),
            ("max c1 in4 k2 p2", NoOutput::OutOfRange { axis: 0 }),
            ("max c1 in4 k0", NoOutput::OutOfRange { axis: 0 }),
            ("max c1 in0 k1", NoOutput::OutOfRange { axis: 0 }),
            ("adaptive_avg c1 in4 out0", NoOutput::OutOfRange { axis: 0 }),
            ("max c1 in4 k2 p1 d5", NoOutput::EmptyWindow { axis: 0, output: 0 }),
            ("max c1 in9 k9223372036854775807 d9223372036854775807", NoOutput::NoWindow { axis: 0 }),
        ];
        for (line, want) in cases {
            assert_eq!(windows_of(line), Err(want), "{line}");
        }
    }
}

//! The windows along one axis. Fixed and adaptive pooling differ in the constructor and nowhere else.
//!
//! Windows are computed where they are needed instead of being kept in tables: a table for a very wide axis would be
//! larger than the cache that it is meant to spare.

use std::ops::Range;

/// The windows of all output positions along one axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct AxisWindows {
    input: usize,
    output: usize,
    rule: Rule,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rule {
    /// Taps at `o·stride - padding + j·dilation` for `j < kernel_size`, those inside the input.
    Fixed { kernel_size: i64, stride: i64, padding: i64, dilation: i64 },
    /// Everything in `floor(o·I / O)..ceil((o + 1)·I / O)`.
    Adaptive,
}

/// The taps of one window: `first`, `first + step`, …, `count` of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Window {
    pub(crate) first: usize,
    pub(crate) count: usize,
    pub(crate) step: usize,
}

impl Window {
    /// The last tap.
    #[inline(always)]
    pub(crate) fn last(&self) -> usize {
        self.first + (self.count - 1) * self.step
    }
}

impl AxisWindows {
    /// Windows of `kernel_size` elements; the plan has checked that none is empty and that no sum overflows.
    pub(crate) fn fixed(sizes: (usize, usize), taps: FixedTaps) -> Self {
        let FixedTaps { kernel_size, stride, padding, dilation } = taps;
        Self { input: sizes.0, output: sizes.1, rule: Rule::Fixed { kernel_size, stride, padding, dilation } }
    }

    /// Windows that divide the input evenly among the outputs.
    pub(crate) fn adaptive(input: usize, output: usize) -> Self {
        Self { input, output, rule: Rule::Adaptive }
    }

    /// The size of the input along this axis.
    pub(crate) fn input(&self) -> usize {
        self.input
    }

    /// The size of the output along this axis.
    pub(crate) fn output(&self) -> usize {
        self.output
    }

    /// Whether windows follow from the sizes alone, and have no gaps.
    pub(crate) fn is_adaptive(&self) -> bool {
        self.rule == Rule::Adaptive
    }

    /// The taps of fixed windows; `None` where windows follow from the sizes alone.
    pub(crate) fn taps(&self) -> Option<FixedTaps> {
        match self.rule {
            Rule::Fixed { kernel_size, stride, padding, dilation } => {
                Some(FixedTaps { kernel_size, stride, padding, dilation })
            }
            Rule::Adaptive => None,
        }
    }

    /// Whether no input lies in two windows.
    pub(crate) fn are_disjoint(&self) -> bool {
        match self.rule {
            Rule::Fixed { kernel_size, stride, dilation, .. } => dilation * (kernel_size - 1) < stride,
            Rule::Adaptive => self.input.is_multiple_of(self.output),
        }
    }

    /// Whether no input lies between two windows.
    pub(crate) fn covers_all(&self) -> bool {
        match self.rule {
            Rule::Fixed { kernel_size, stride, dilation, .. } => stride <= dilation * (kernel_size - 1) + 1,
            Rule::Adaptive => true,
        }
    }

    /// The size of windows that begin with the first input, touch, and are all whole; less than one lies behind the last.
    pub(crate) fn tiling(&self) -> Option<usize> {
        let size = match self.rule {
            Rule::Fixed { kernel_size, stride, padding, dilation } => {
                (kernel_size == stride && padding == 0 && dilation == 1).then_some(kernel_size as usize)?
            }
            Rule::Adaptive if self.are_disjoint() => self.input.checked_div(self.output)?,
            Rule::Adaptive => return None,
        };
        size.checked_mul(self.output).is_some_and(|covered| covered <= self.input).then_some(size)
    }

    /// The window of output position `o`.
    #[inline(always)]
    pub(crate) fn window(&self, o: usize) -> Window {
        match self.rule {
            Rule::Fixed { kernel_size, stride, padding, dilation } => {
                let start = o as i64 * stride - padding;
                // The taps before the input, and those from its end on, are padding. Windows are computed for every
                // output, and divisions would be most of the cost, so they are kept for dilated ones.
                let taps_in = |len: i64| if dilation == 1 { len } else { (len + dilation - 1) / dilation };
                let before = if start < 0 { taps_in(-start) } else { 0 };
                let behind = taps_in(self.input as i64 - start);
                let count = kernel_size.min(behind) - before;
                Window {
                    first: (start + before * dilation) as usize,
                    count: count.max(0) as usize,
                    step: dilation as usize,
                }
            }
            Rule::Adaptive => {
                let first = scale_floor(o, self.input, self.output);
                Window { first, count: scale_ceil(o + 1, self.input, self.output) - first, step: 1 }
            }
        }
    }

    /// The windows of `o` and of all positions after it, without a division for each.
    #[inline(always)]
    pub(crate) fn windows_from(&self, o: usize) -> WindowsFrom {
        let start = match self.rule {
            Rule::Fixed { .. } => (0, 0),
            Rule::Adaptive => {
                let product = o as u128 * self.input as u128;
                (scale_floor(o, self.input, self.output), (product % self.output as u128) as usize)
            }
        };
        let step = (self.input / self.output, self.input % self.output);
        WindowsFrom { axis: *self, o, start, step }
    }

    /// The inputs from where window `o` starts to where it ends, padding left out. Unlike first and last taps, which
    /// padding and dilation together can make go back, both ends ascend with `o`.
    #[inline(always)]
    pub(crate) fn cover(&self, o: usize) -> Range<usize> {
        match self.rule {
            Rule::Fixed { kernel_size, stride, padding, dilation } => {
                let start = o as i64 * stride - padding;
                let end = start + dilation * (kernel_size - 1) + 1;
                start.max(0) as usize..end.min(self.input as i64) as usize
            }
            Rule::Adaptive => {
                let Window { first, count, .. } = self.window(o);
                first..first + count
            }
        }
    }

    /// The most inputs that any `n` consecutive windows cover.
    pub(crate) fn most_covered(&self, n: usize) -> usize {
        let most = match self.rule {
            Rule::Fixed { kernel_size, stride, dilation, .. } => {
                let strides = (n as u128 - 1) * stride as u128;
                usize::try_from(strides + (dilation * (kernel_size - 1) + 1) as u128).unwrap_or(usize::MAX)
            }
            // One more than their share, where that of a window is no whole number.
            Rule::Adaptive => scale_ceil(n.min(self.output), self.input, self.output)
                .saturating_add(usize::from(!self.input.is_multiple_of(self.output))),
        };
        most.min(self.input)
    }

    /// The inputs that a window covers in the mean, rounded up; of fixed ones with what is padding.
    pub(crate) fn mean_covered(&self) -> usize {
        self.all_covered().div_ceil(self.output.max(1))
    }

    /// The inputs that each window covers, all added up; of fixed ones with what is padding.
    pub(crate) fn all_covered(&self) -> usize {
        match self.rule {
            Rule::Fixed { .. } => self.output.saturating_mul(self.most_covered(1)),
            // Two neighbours share an input unless their border lies between two.
            Rule::Adaptive => {
                let shared = self.output.saturating_sub(gcd(self.input, self.output));
                self.input.saturating_add(shared)
            }
        }
    }

    /// At least the number of windows that any one input lies in.
    pub(crate) fn most_sharing(&self) -> usize {
        match self.rule {
            Rule::Fixed { kernel_size, stride, dilation, .. } => {
                (dilation * (kernel_size - 1) / stride + 1) as usize
            }
            // One more than its share of the outputs, where that is no whole number.
            Rule::Adaptive => {
                scale_ceil(1, self.output, self.input) + usize::from(!self.output.is_multiple_of(self.input))
            }
        }
    }

    /// At least the number of windows that reach into any `n` consecutive inputs, where [`AxisWindows::reaching`] counts them.
    pub(crate) fn most_reaching(&self, n: usize) -> usize {
        let most = match self.rule {
            Rule::Fixed { kernel_size, stride, dilation, .. } => {
                let reach = (n.saturating_sub(1) as u128) + (dilation * (kernel_size - 1)) as u128;
                usize::try_from(reach / stride as u128 + 1).unwrap_or(usize::MAX)
            }
            Rule::Adaptive => scale_ceil(n.min(self.input), self.output, self.input).saturating_add(1),
        };
        most.min(self.output)
    }

    /// The output positions whose windows reach into `inputs`, and possibly a few at the ends that step over it.
    pub(crate) fn reaching(&self, inputs: Range<usize>) -> Range<usize> {
        match self.rule {
            Rule::Fixed { kernel_size, stride, padding, dilation } => {
                let extent = dilation * (kernel_size - 1) + 1;
                let (start, end) = (inputs.start as i64 + padding, inputs.end as i64 + padding);
                // The window of `o` covers `o·stride..o·stride + extent` of the padded axis.
                let first = if start < extent { 0 } else { (start - extent) / stride + 1 };
                let last = (end + stride - 1) / stride;
                let clamp = |o: i64| (o as usize).min(self.output);
                clamp(first)..clamp(last)
            }
            Rule::Adaptive => {
                scale_floor(inputs.start, self.output, self.input)..scale_ceil(inputs.end, self.output, self.input)
            }
        }
    }
}

/// Windows in ascending order, as [`AxisWindows::windows_from`] gives them.
pub(crate) struct WindowsFrom {
    axis: AxisWindows,
    /// The position of the next window.
    o: usize,
    /// Where it starts, if it is adaptive: the quotient and the remainder of `o·I / O`.
    start: (usize, usize),
    /// The quotient and the remainder of `I / O`.
    step: (usize, usize),
}

impl WindowsFrom {
    /// The next window; there must be one.
    #[inline(always)]
    pub(crate) fn next(&mut self) -> Window {
        let AxisWindows { output, rule, .. } = self.axis;
        self.o += 1;
        if let Rule::Fixed { .. } = rule {
            return self.axis.window(self.o - 1);
        }
        let first = self.start.0;
        self.start = (first + self.step.0, self.start.1 + self.step.1);
        if self.start.1 >= output {
            self.start = (self.start.0 + 1, self.start.1 - output);
        }
        Window { first, count: self.start.0 + usize::from(self.start.1 > 0) - first, step: 1 }
    }
}

/// The parameters of fixed windows along one axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FixedTaps {
    pub(crate) kernel_size: i64,
    pub(crate) stride: i64,
    pub(crate) padding: i64,
    pub(crate) dilation: i64,
}

/// The greatest common divisor.
fn gcd(a: usize, b: usize) -> usize {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// `floor(o·numerator / denominator)` for `o <= denominator`, without overflow.
#[inline(always)]
fn scale_floor(o: usize, numerator: usize, denominator: usize) -> usize {
    match o.checked_mul(numerator) {
        Some(product) => product / denominator,
        None => (o as u128 * numerator as u128 / denominator as u128) as usize,
    }
}

/// `ceil(o·numerator / denominator)` for `o <= denominator`, without overflow.
#[inline(always)]
fn scale_ceil(o: usize, numerator: usize, denominator: usize) -> usize {
    match o.checked_mul(numerator) {
        Some(product) => product.div_ceil(denominator),
        None => (o as u128 * numerator as u128).div_ceil(denominator as u128) as usize,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fixed(input: usize, output: usize, [kernel_size, stride, padding, dilation]: [i64; 4]) -> AxisWindows {
        AxisWindows::fixed((input, output), FixedTaps { kernel_size, stride, padding, dilation })
    }

    /// Windows as the definition has them, and every law that the other functions promise about them.
    fn check(windows: AxisWindows, definition: impl Fn(usize) -> Vec<usize>) {
        let all: Vec<Vec<usize>> = (0..windows.output()).map(definition).collect();
        for (o, want) in all.iter().enumerate() {
            let window = windows.window(o);
            let taps: Vec<_> = (0..window.count).map(|j| window.first + j * window.step).collect();
            assert_eq!(&taps, want, "window {o} of {windows:?}");
            assert_eq!(want.last(), Some(&window.last()));
            let mut from = windows.windows_from(o);
            (o..all.len()).for_each(|o| assert_eq!(from.next(), windows.window(o), "window {o} of {windows:?}"));
        }
        let mut taps: Vec<usize> = all.iter().flatten().copied().collect();
        taps.sort_unstable();
        let n_taps = taps.len();
        let (mean, counted) = (n_taps.div_ceil(all.len().max(1)), windows.mean_covered());
        assert!(mean == counted || (mean < counted && !windows.is_adaptive()), "{counted} of {windows:?}");
        taps.dedup();
        assert!(!windows.are_disjoint() || taps.len() == n_taps, "{windows:?}");
        if let Some(size) = windows.tiling() {
            assert!((0..all.len()).all(|o| all[o].iter().copied().eq(o * size..(o + 1) * size)), "{windows:?}");
        }
        for n in 1..=all.len() {
            let covered = |first: usize| windows.cover(first + n - 1).end - windows.cover(first).start;
            let most = (0..=all.len() - n).map(covered).max().unwrap();
            assert!(most <= windows.most_covered(n), "{n} windows of {windows:?}");
        }
        for i in 0..windows.input() {
            let sharing = all.iter().filter(|taps| taps.contains(&i)).count();
            assert!(sharing <= windows.most_sharing(), "{sharing} windows of {windows:?} share {i}");
        }
        for start in 0..windows.input() {
            for end in start + 1..=windows.input() {
                let reaching = windows.reaching(start..end);
                assert!(reaching.len() <= windows.most_reaching(end - start), "{start}..{end} of {windows:?}");
                for (o, taps) in all.iter().enumerate() {
                    let reaches = taps.iter().any(|i| (start..end).contains(i));
                    assert!(!reaches || reaching.contains(&o), "{o} reaches {start}..{end} of {windows:?}");
                }
            }
        }
    }

    #[test]
    fn fixed_windows_follow_the_definition() {
        for input in 1..12i64 {
            for (k, s, p, d) in
                [(1, 1, 0, 1), (2, 2, 0, 1), (3, 1, 1, 1), (3, 2, 1, 1), (2, 3, 1, 1), (3, 2, 1, 2), (5, 4, 2, 1)]
            {
                let extent = d * (k - 1) + 1;
                let output = (input + 2 * p - extent) / s + 1;
                if input + 2 * p < extent {
                    continue;
                }
                check(fixed(input as usize, output as usize, [k, s, p, d]), |o| {
                    let taps = (0..k).map(|j| o as i64 * s - p + j * d);
                    taps.filter(|i| (0..input).contains(i)).map(|i| i as usize).collect()
                });
            }
        }
    }

    #[test]
    fn adaptive_windows_follow_the_definition() {
        for input in 1..14usize {
            for output in 1..14 {
                check(AxisWindows::adaptive(input, output), |o| {
                    (o * input / output..((o + 1) * input).div_ceil(output)).collect()
                });
            }
        }
    }

    #[test]
    fn windows_that_touch_are_disjoint() {
        assert!(fixed(8, 4, [2, 2, 0, 1]).are_disjoint() && fixed(9, 3, [2, 3, 0, 1]).are_disjoint());
        assert!(!fixed(9, 4, [3, 2, 1, 1]).are_disjoint() && !fixed(9, 4, [2, 2, 0, 2]).are_disjoint());
        assert!(AxisWindows::adaptive(8, 4).are_disjoint() && AxisWindows::adaptive(8, 1).are_disjoint());
        assert!(!AxisWindows::adaptive(8, 3).are_disjoint() && !AxisWindows::adaptive(3, 6).are_disjoint());
    }

    #[test]
    fn windows_that_touch_have_a_size() {
        assert_eq!(fixed(9, 4, [2, 2, 0, 1]).tiling(), Some(2), "one input lies behind them");
        assert_eq!(fixed(8, 1, [3, 7, 0, 1]).tiling(), None, "more lies behind it than a window");
        assert_eq!(AxisWindows::adaptive(12, 4).tiling(), Some(3));
        for gaps_padding_or_dilation in [[2, 3, 0, 1], [2, 2, 1, 1], [2, 2, 0, 2], [3, 2, 0, 1]] {
            assert_eq!(fixed(9, 3, gaps_padding_or_dilation).tiling(), None);
        }
        assert_eq!(fixed(9, 5, [2, 2, 0, 1]).tiling(), None, "the last one is cut");
        assert_eq!(AxisWindows::adaptive(13, 4).tiling(), None);
        assert_eq!(AxisWindows::adaptive(0, 0).tiling(), None);
        assert_eq!(fixed(usize::MAX >> 1, 1 << 62, [2, 2, 0, 1]).tiling(), None);
    }

    #[test]
    fn adaptive_windows_of_huge_axes_do_not_overflow() {
        let (input, output) = (1usize << 60, (1usize << 59) - 1);
        let windows = AxisWindows::adaptive(input, output);
        let last = windows.window(output - 1);
        assert_eq!(last.last(), input - 1);
        assert_eq!(windows.window(0), Window { first: 0, count: 3, step: 1 });
        let mut from = windows.windows_from(output - 2);
        assert_eq!([from.next(), from.next()], [windows.window(output - 2), windows.window(output - 1)]);
        assert_eq!(windows.reaching(input - 1..input).end, output);
    }
}

//! Compensated sums, and the magnitudes that error bounds are relative to.

use super::Grid;

/// Sums, with what is needed to bound the error of another way of forming them.
#[derive(Clone, Debug, PartialEq)]
pub struct Sums {
    /// The sums.
    pub values: Grid,
    /// For each, the sum of the absolute values of its terms.
    pub magnitude: Grid,
    /// The most terms that any of them has.
    pub n_terms: usize,
}

/// A running sum that carries the rounding error of every addition along (Neumaier's variant of Kahan's method).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sum {
    total: f64,
    error: f64,
    magnitude: f64,
    n_terms: usize,
}

impl Sum {
    pub(super) fn add(&mut self, term: f64) {
        let total = self.total + term;
        self.error +=
            if self.total.abs() >= term.abs() { (self.total - total) + term } else { (term - total) + self.total };
        self.total = total;
        self.magnitude += term.abs();
        self.n_terms += 1;
    }

    /// The sum. The error of a sum that is not finite is meaningless and left out.
    pub(super) fn value(&self) -> f64 {
        if self.total.is_finite() { self.total + self.error } else { self.total }
    }

    pub(super) fn magnitude(&self) -> f64 {
        self.magnitude
    }
}

/// The sums as grids, each divided by the divisor beside it.
pub(super) fn finish(shape: [usize; 5], sums: impl Iterator<Item = (Sum, f64)>) -> Sums {
    let mut finished = Sums {
        values: Grid { shape, values: Vec::new() },
        magnitude: Grid { shape, values: Vec::new() },
        n_terms: 0,
    };
    for (sum, divisor) in sums {
        finished.values.values.push(sum.value() / divisor);
        finished.magnitude.values.push(sum.magnitude() / divisor);
        finished.n_terms = finished.n_terms.max(sum.n_terms);
    }
    finished
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Oracle: sums whose exact value is known, and IEEE rules.
    #[test]
    fn small_terms_are_not_lost() {
        let sum = |terms: &[f64]| {
            let mut sum = Sum::default();
            terms.iter().for_each(|&term| sum.add(term));
            sum.value()
        };
        assert_eq!(sum(&[1e100, 1.0, -1e100]), 1.0);
        assert_eq!(sum(&[1.0, 1e-17, 1e-17, -1.0]), 2e-17);
        assert_eq!(sum(&[1.0, f64::INFINITY]), f64::INFINITY);
        assert!(sum(&[f64::INFINITY, f64::NEG_INFINITY]).is_nan());
    }
}

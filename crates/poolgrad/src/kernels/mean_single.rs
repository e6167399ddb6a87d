//! Means of single channels, from sums of columns.

use super::windows::Columns;
use crate::dtype::Accumulator;

/// Puts the means of a row of outputs, from the sums of its columns over `n_rows` rows, into `means`. The windows along W are those
/// of `axis`, which overlap or all have as many columns.
#[inline(always)]
pub(super) fn put_means<A: Accumulator>(
    n_rows: u64,
    columns: &[A],
    means: &mut [A],
    (axis, are_disjoint): (&Columns<'_>, bool),
) {
    if are_disjoint {
        return put_equal_means(n_rows, columns, means);
    }
    let count = |n_columns: usize| A::from_count(n_rows * n_columns as u64);
    // The first window is as narrow as any, and none has more than one column more.
    let least = axis.window(0).count;
    let counts = [count(least), count(least + 1)];
    match (axis.table(0..means.len()), least) {
        (Some(table), 1) => put_few::<_, 1>(table, columns, means, counts),
        (Some(table), 2) => put_few::<_, 2>(table, columns, means, counts),
        (Some(table), 3) => put_few::<_, 3>(table, columns, means, counts),
        (Some(table), 4) => put_few::<_, 4>(table, columns, means, counts),
        (Some(table), 5) => put_few::<_, 5>(table, columns, means, counts),
        (Some(table), 6) => put_few::<_, 6>(table, columns, means, counts),
        (Some(table), 7) => put_few::<_, 7>(table, columns, means, counts),
        (Some(table), 8) => put_few::<_, 8>(table, columns, means, counts),
        _ => {
            for (ow, mean) in means.iter_mut().enumerate() {
                let window = axis.window(ow);
                *mean = sum(&columns[window.first..=window.last()]) / count(window.count);
            }
        }
    }
}

/// The sum of some columns, from +0.0.
#[inline(always)]
fn sum<A: Accumulator>(columns: &[A]) -> A {
    columns.iter().fold(A::ZERO, |sum, &column| sum + column)
}

/// The means of windows of `N` columns, or one more: all of them are read the same way, as a loop that ends sooner for one output
/// than for the next would be mispredicted. No sum is a negative zero, so that adding nothing changes none.
#[inline(always)]
fn put_few<A: Accumulator, const N: usize>(
    (first, last): (&[u32], &[u32]),
    columns: &[A],
    means: &mut [A],
    counts: [A; 2],
) {
    for ((mean, &first), &last) in means.iter_mut().zip(first).zip(last) {
        let (first, last) = (first as usize, last as usize);
        let has_more = last - first == N;
        let more = if has_more { columns[last] } else { A::ZERO };
        *mean = (sum(&columns[first..][..N]) + more) / counts[usize::from(has_more)];
    }
}

/// The means of windows that do not overlap, which all have as many columns.
#[inline(always)]
pub(super) fn put_equal_means<A: Accumulator>(n_rows: u64, columns: &[A], means: &mut [A]) {
    let size = columns.len() / means.len();
    match size {
        2 => sum_up::<_, 2>(columns, means),
        3 => sum_up::<_, 3>(columns, means),
        4 => sum_up::<_, 4>(columns, means),
        _ => means.iter_mut().zip(columns.chunks_exact(size)).for_each(|(mean, columns)| *mean = sum(columns)),
    }
    let count = A::from_count(n_rows * size as u64);
    means.iter_mut().for_each(|mean| *mean = *mean / count);
}

/// The sums of `N` columns each.
#[inline(always)]
fn sum_up<A: Accumulator, const N: usize>(columns: &[A], sums: &mut [A]) {
    for (to, columns) in sums.iter_mut().zip(columns.as_chunks::<N>().0) {
        *to = sum(columns);
    }
}

//! The problem lists themselves: readable, distinct, in the form the language prints, and with something of everything.

use std::collections::{BTreeSet, HashSet};

use poolgrad::DType;
use poolgrad_check::{Fill, MemoryLayout, Problem, lists};

/// The problems of a list, as they are written.
fn lines(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'))
}

/// Asserts that lines are distinct and as the language prints them; returns how many they are. Oracle: its own printer.
fn assert_in_form<'l>(lines: impl Iterator<Item = &'l str>) -> usize {
    let mut seen = HashSet::new();
    for line in lines {
        let problem: Problem = line.parse().unwrap_or_else(|error| panic!("{line}: {error}"));
        assert_eq!(problem.to_string(), line);
        assert!(seen.insert(line), "{line} stands twice");
        assert!(problem.output_shape().is_ok(), "{line} has no output");
    }
    seen.len()
}

#[test]
fn lines_are_distinct_and_print_as_they_stand() {
    let n_lines = assert_in_form(lists::List::ALL.iter().flat_map(|list| lines(list.text)));
    assert!(n_lines >= 300, "only {n_lines} problems");
    assert_eq!(lists::all().map(|all| all.len()), Ok(n_lines));
}

/// What is timed is no list of what is checked, but is written in the same way.
#[test]
fn lines_that_are_timed_are_distinct_and_print_as_they_stand() {
    for text in [include_str!("../../../problems/bench.txt"), include_str!("../../../problems/others.txt")] {
        let n_lines = assert_in_form(lines(text));
        assert!(n_lines >= 90, "only {n_lines} problems");
    }
}

/// Oracle: the tables of the language; each value must occur with each operator.
#[test]
fn every_operator_meets_every_value() {
    let problems = lists::all().unwrap();
    let names: BTreeSet<_> = problems.iter().map(|problem| problem.spec.name()).collect();
    assert_eq!(names.len(), 6);
    for name in names {
        let of_operator: Vec<_> = problems.iter().filter(|problem| problem.spec.name() == name).collect();
        let has = |what: &str, matches: &dyn Fn(&Problem) -> bool| {
            assert!(of_operator.iter().any(|problem| matches(problem)), "{name} has no problem with {what}");
        };
        for dtype in DType::FLOATS {
            has(dtype.name(), &|problem| problem.dtype == dtype);
        }
        for (layout_name, layout) in MemoryLayout::ALL {
            has(layout_name, &|problem| problem.layout == layout);
        }
        for n_spatial in 1..=3 {
            has("each number of axes", &|problem| problem.spec.n_spatial() == n_spatial);
        }
        has("no batch axis", &|problem| problem.batch.is_none());
        if of_operator[0].has_indices() {
            has("i32", &|problem| problem.index_dtype == DType::I32);
            has("i64", &|problem| problem.index_dtype == DType::I64);
        }
        let reads_indices = of_operator[0].reads_indices();
        for (fill_name, fill) in Fill::ALL {
            if reads_indices || !matches!(fill, Fill::Far | Fill::Same) {
                has(fill_name, &|problem| problem.fill == fill);
            }
        }
    }
}

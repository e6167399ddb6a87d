//! Indices outside their plane, as a program of the vendor's published form meets them.

use crate::support::{Ended, Mode, run};

const SOURCE: &str = "index_out_of_plane.cpp";

fn try_index(index: &str, environment: &[(&str, &str)]) -> Ended {
    run(SOURCE, Mode::Plain, &[index], environment).expect("a plain run needs no checker")
}

/// What the program prints for these four gradients.
fn results(values: [&str; 4]) -> String {
    values.iter().enumerate().map(|(i, value)| format!("result[{i}] is: {value}\n")).collect()
}

// Oracle: the decision that such a launch fails with 507035 and says where the index stands and what is allowed.
#[test]
fn an_index_outside_is_a_failure_that_explains_itself() {
    for index in ["6", "4", "-1", "9223372036854775807", "-9223372036854775808"] {
        let ended = try_index(index, &[]);
        assert_eq!(ended.status, Some(1), "{ended}");
        assert_eq!(ended.output, "aclrtSynchronizeStream failed. ERROR: 507035\n", "{ended}");
        // One line, with code, function, tensor, value, and the range 0 to 3 or [0, 4).
        assert_eq!(ended.errors.lines().count(), 1, "{ended}");
        for part in ["507035", "aclnnAdaptiveMaxPool2dBackward", "indices", index, "0", "4"] {
            assert!(ended.errors.contains(part), "no {part:?}: {ended}");
        }
    }
}

// Oracle: by hand; nothing is added anywhere.
#[test]
fn a_dropped_index_leaves_zeros() {
    for mode in [Mode::Plain, Mode::AddressSanitizer, Mode::Valgrind] {
        let Some(ended) = run(SOURCE, mode, &["6"], &[("POOLGRAD_INDEX_POLICY", "drop")]) else {
            continue;
        };
        assert_eq!(ended.status, Some(0), "{ended}");
        assert_eq!(ended.output, results(["0.000000"; 4]), "{ended}");
    }
}

#[test]
fn a_valid_index_gets_the_gradient() {
    for policy in ["strict", "drop"] {
        let ended = try_index("2", &[("POOLGRAD_INDEX_POLICY", policy)]);
        assert_eq!(ended.status, Some(0), "{ended}");
        assert_eq!(ended.output, results(["0.000000", "0.000000", "0.475700", "0.000000"]), "{ended}");
        assert_eq!(ended.errors, "", "{ended}");
    }
}

// A program that gives up at once, leaving everything it made: still no memory error.
#[test]
fn giving_up_is_no_memory_error() {
    if let Some(ended) = run(SOURCE, Mode::Valgrind, &["6"], &[]) {
        assert_eq!(ended.status, Some(1), "{ended}");
    }
}

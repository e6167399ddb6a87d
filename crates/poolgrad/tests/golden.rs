//! Small problems against the answers of PyTorch, from the files in `golden/` that `golden/make.py` made.
//!
//! The oracle is PyTorch. What has to agree, and how closely:
//!
//! * outputs and indices of max poolings, in every element type: bit for bit;
//! * gradients of max poolings in `f32` and `f64`: bit for bit, since both sides add in ascending order of output
//!   position; in `f16` and `bf16`: bit for bit with PyTorch's `f32` gradient rounded once;
//! * averages, whose order of additions PyTorch does not share: within [`Bound`](compare::Bound).
//!
//! "Bit for bit" reads all NaN as one: IEEE 754 does not say which payload an addition keeps.

#[path = "golden/case.rs"]
mod case;
#[path = "golden/compare.rs"]
mod compare;

use case::{Case, values};
use compare::{Bound, assert_near, assert_same, rounded_once};
use poolgrad::{DType, Spec, Tensor};

/// The cases of one operator: all of them, so that a file that is lost or unknown is noticed.
struct Operator {
    name: &'static str,
    cases: &'static [&'static str],
}

const ADAPTIVE: &[&str] = &[
    "1d_larger",
    "1d_uneven",
    "2d_divides",
    "2d_larger",
    "2d_one",
    "2d_special",
    "2d_ties",
    "2d_unbatched",
    "2d_uneven",
    "3d_divides",
    "3d_larger",
    "3d_one",
    "3d_special",
    "3d_ties",
    "3d_unbatched",
    "3d_uneven",
];

const OPERATORS: &[Operator] = &[
    Operator { name: "adaptive_avg", cases: ADAPTIVE },
    Operator { name: "adaptive_max", cases: ADAPTIVE },
    Operator {
        name: "max",
        cases: &[
            "1d_overlap",
            "1d_special",
            "1d_touching",
            "2d_ceil",
            "2d_ceil_dropped",
            "2d_dilation",
            "2d_gaps",
            "2d_overlap",
            "2d_special",
            "2d_ties",
            "2d_touching",
            "2d_unbatched",
            "3d_ceil",
            "3d_dilation",
            "3d_gaps",
            "3d_overlap",
            "3d_special",
            "3d_ties",
            "3d_touching",
            "3d_unbatched",
        ],
    },
];

/// Runs `check` on every case of an operator in every element type, and asserts how many pairs that were.
fn check_operator(name: &str, n_pairs: usize, check: impl Fn(&Case, DType)) {
    let operator = OPERATORS.iter().find(|operator| operator.name == name).unwrap();
    let mut n_checked = 0;
    for what in operator.cases {
        let case = Case::read(&format!("{name}_{what}"));
        assert_eq!(case.operator(), name, "{}", case.name);
        for dtype in case.dtypes() {
            check(&case, dtype);
            n_checked += 1;
        }
    }
    assert_eq!(n_checked, n_pairs, "pairs of case and element type of {name}");
}

/// The most terms that one element of a max gradient sums: how often one index comes up in one plane.
fn most_hits(indices: &Tensor, n_spatial: usize) -> usize {
    let shape = indices.shape();
    let plane_len: i64 = shape[shape.len() - n_spatial..].iter().product();
    let hits = |plane: &[f64]| plane.iter().map(|index| plane.iter().filter(|other| *other == index).count()).max();
    let all = values(indices);
    all.chunks(plane_len as usize).filter_map(hits).max().unwrap_or(0)
}

/// The most elements of size-`from` axes that one element of size-`to` axes has to do with, in adaptive pooling.
fn most_windows(from: &[i64], to: &[i64]) -> usize {
    let per_axis = from.iter().zip(to).map(|(from, to)| from.unsigned_abs().div_ceil(to.unsigned_abs()) + 1);
    per_axis.product::<u64>() as usize
}

/// Checks output, indices and gradient of a max pooling, given the two ways to run it.
fn check_max(
    case: &Case,
    dtype: DType,
    forward: impl Fn(&Tensor) -> (Tensor, Tensor),
    backward: impl Fn(&Tensor, &Tensor) -> Tensor,
) {
    let what = |role: &str| format!("{role} of {} in {dtype}", case.name);
    let get = |role: &str| case.tensor(dtype, role);
    let (output, indices) = forward(&get("input"));
    assert_same(&output, &get("output"), &what("output"));
    assert_same(&indices, &get("indices"), &what("indices"));

    let grad_input = backward(&get("grad_output"), &get("indices"));
    if let DType::F32 | DType::F64 = dtype {
        assert_same(&grad_input, &get("grad_input"), &what("grad_input"));
    } else {
        let want = rounded_once(&get("grad_input_f32"), dtype);
        assert_same(&grad_input, &want, &what("grad_input, rounded once,"));
        // What PyTorch gives for half types itself: some of its kernels round after each addition.
        let bound = Bound::new(dtype, most_hits(&get("indices"), case.n_spatial()));
        let magnitude = get("grad_input_magnitude");
        assert_near(&grad_input, &get("grad_input"), &magnitude, |m| bound.at(m), &what("grad_input"));
    }
    let from_i32 = backward(&get("grad_output"), &case::as_i32(&get("indices")));
    assert_same(&from_i32, &grad_input, &what("grad_input by i32 indices"));
}

/// Checks a result of an average pooling that was formed from `n_terms` terms at most.
fn check_average(case: &Case, dtype: DType, role: &str, n_terms: usize, got: &Tensor) {
    let what = format!("{role} of {} in {dtype}", case.name);
    let magnitude = case.tensor(dtype, &format!("{role}_magnitude"));
    let bound = Bound::new(dtype, n_terms);
    assert_eq!(got.dtype(), dtype, "element type of {what}");
    assert_near(got, &case.tensor(dtype, role), &magnitude, |m| bound.at(m), &what);
    if let DType::F16 | DType::BF16 = dtype {
        // Sums are formed in f32, so that against PyTorch's f32 answer there is one rounding to the half type.
        let want = case.tensor(dtype, &format!("{role}_f32"));
        let (sums, rounding) = (Bound::new(DType::F32, n_terms), Bound::new(dtype, 0));
        let bound = |m: f64| sums.at(m) + 0.5 * (rounding.epsilon * (m + sums.at(m)) + rounding.smallest);
        assert_near(got, &want, &magnitude, bound, &format!("{what}, rounded once,"));
    }
}

#[test]
fn max_agrees_with_pytorch() {
    check_operator("max", 80, |case, dtype| {
        let pool = case.max_pool();
        let input_shape = *case.tensor(dtype, "input").shape();
        check_max(
            case,
            dtype,
            |input| pool.forward(input).unwrap(),
            |grad_output, indices| pool.backward(grad_output, indices, input_shape).unwrap(),
        );
    });
}

#[test]
fn adaptive_max_agrees_with_pytorch() {
    check_operator("adaptive_max", 64, |case, dtype| {
        let pool = poolgrad::AdaptiveMaxPool::new(case.n_spatial(), case.sizes("output_size"));
        let input_shape = *case.tensor(dtype, "input").shape();
        check_max(
            case,
            dtype,
            |input| pool.forward(input).unwrap(),
            |grad_output, indices| pool.backward(grad_output, indices, input_shape).unwrap(),
        );
    });
}

#[test]
fn adaptive_avg_agrees_with_pytorch() {
    check_operator("adaptive_avg", 64, |case, dtype| {
        let pool = poolgrad::AdaptiveAvgPool::new(case.n_spatial(), case.sizes("output_size"));
        let (input, grad_output) = (case.tensor(dtype, "input"), case.tensor(dtype, "grad_output"));
        let spatial = |tensor: &Tensor| tensor.shape()[tensor.shape().len() - case.n_spatial()..].to_vec();
        let (large, small) = (spatial(&input), spatial(&grad_output));

        let output = pool.forward(&input).unwrap();
        check_average(case, dtype, "output", most_windows(&large, &small), &output);
        let grad_input = pool.backward(&grad_output, *input.shape()).unwrap();
        check_average(case, dtype, "grad_input", most_windows(&small, &large), &grad_input);
    });
}

// The oracle here is the shape that PyTorch gave the output.
#[test]
fn output_shapes_agree_with_pytorch() {
    for operator in OPERATORS {
        for what in operator.cases {
            let case = Case::read(&format!("{}_{what}", operator.name));
            let spec: Spec = case.spec();
            let shape = spec.output_shape(*case.tensor(DType::F32, "input").shape()).unwrap();
            assert_eq!(shape, *case.tensor(DType::F32, "output").shape(), "{}", case.name);
        }
    }
}

// The oracle here is the list above: no file may be lost, and none may lie there unread.
#[test]
fn the_folder_holds_exactly_the_known_cases() {
    let mut known: Vec<String> = OPERATORS
        .iter()
        .flat_map(|operator| operator.cases.iter().map(|what| format!("{}_{what}", operator.name)))
        .collect();
    known.sort();
    assert_eq!(case::names_in_folder(), known);
}

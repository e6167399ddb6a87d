//! Adaptive max pooling: `aclnnAdaptiveMaxPool2d`, `…3d` and their gradients.

use poolgrad::{AdaptiveMaxPool, Argument, Direction, Operands, Sizes};

use super::checks::{
    at_least, countable, index_types_3d, length_in, not_empty, public_format, rank, same_format, same_rank,
    same_shape, same_type, type_in, value_types,
};
use super::{Arg, ListArg, Request, backwards, gradient, invalid, sizes, spatial};
use crate::fault::Outcome;
use crate::objects::tensor::{DataType, Format};
use crate::settings::Profile;

/// The arguments of a gradient, in the order of its signature.
pub(crate) type GradArgs<'a> = [Arg<'a>; 4];
/// `self`, `outputOut` and `indicesOut` of a forward operator.
pub(crate) type ForwardArgs<'a> = [Arg<'a>; 3];

fn grad_spelling(argument: Argument) -> &'static str {
    match argument {
        Argument::GradOutput => "gradOutput",
        Argument::GradInput => "gradInput",
        Argument::OutputSize => "the spatial size of gradOutput",
        other => other.name(),
    }
}

fn forward_spelling(argument: Argument) -> &'static str {
    match argument {
        Argument::Input => "self",
        Argument::Output => "outputOut",
        Argument::Indices => "indicesOut",
        Argument::OutputSize => "outputSize",
        other => other.name(),
    }
}

/// The checks of both gradients that the contract puts first, then the request.
fn grad(args: &GradArgs<'_>, n_spatial: usize, profile: Profile) -> Outcome<Request> {
    let [grad_output, self_arg, indices, grad_input] = args;
    same_type(grad_output, self_arg)?;
    same_type(grad_input, self_arg)?;
    type_in(self_arg, value_types(profile))?;
    type_in(indices, &[DataType::INT32, DataType::INT64])?;
    for arg in [self_arg, indices, grad_input] {
        same_rank(arg, grad_output)?;
    }
    same_shape(indices, grad_output)?;
    same_shape(grad_input, self_arg)?;
    for arg in [self_arg, indices, grad_input] {
        same_format(arg, grad_output)?;
    }
    public_format(grad_output)?;
    rank(self_arg, n_spatial)?;
    countable(self_arg, n_spatial, profile)?;
    let pool = |size: Sizes| AdaptiveMaxPool::new(n_spatial, size).spec(Direction::Gradient);
    Ok(Request {
        spec: backwards(pool, grad_output.view, n_spatial)?,
        operands: gradient(grad_output, Some(indices), grad_input)?,
        is_empty: grad_output.view.is_empty() || self_arg.view.is_empty(),
        spelling: grad_spelling,
    })
}

/// `aclnnAdaptiveMaxPool2dBackward`: either type of indices on every platform.
pub(crate) fn adaptive_max_2d_grad(args: &GradArgs<'_>, profile: Profile) -> Outcome<Request> {
    grad(args, 2, profile)
}

/// `aclnnAdaptiveMaxPool3dBackward`.
pub(crate) fn adaptive_max_3d_grad(args: &GradArgs<'_>, profile: Profile) -> Outcome<Request> {
    let request = grad(args, 3, profile)?;
    type_in(&args[2], index_types_3d(profile))?;
    Ok(request)
}

/// `aclnnAdaptiveMaxPool2d`: indices are INT64 on every platform, and format NHWC means what it says.
pub(crate) fn adaptive_max_2d(
    args: &ForwardArgs<'_>,
    output_size: &ListArg<'_>,
    profile: Profile,
) -> Outcome<Request> {
    const TYPES: [DataType; 4] = [DataType::FLOAT, DataType::DOUBLE, DataType::FLOAT16, DataType::BF16];
    let [self_arg, output, indices] = args;
    type_in(self_arg, &TYPES)?;
    type_in(output, &TYPES)?;
    same_type(self_arg, output)?;
    let index_types = [DataType::INT64, DataType::INT32];
    type_in(indices, if profile == Profile::Permissive { &index_types } else { &index_types[..1] })?;
    rank(self_arg, 2)?;
    same_rank(output, indices)?;
    same_shape(indices, output)?;
    not_empty(self_arg, 1)?;
    length_in(output_size, &[2])?;
    at_least(output_size, 1)?;
    let is_channels_last = self_arg.view.format == Format::NHWC && self_arg.view.dims().len() == 4;
    let desc = |arg: &Arg<'_>| {
        if is_channels_last && arg.view.dims().len() == 4 { arg.desc_channels_last() } else { arg.desc() }
    };
    Ok(Request {
        spec: AdaptiveMaxPool::new_2d(sizes(output_size)?).spec(Direction::Forward),
        operands: Operands::PoolWithIndices {
            input: desc(self_arg)?,
            output: desc(output)?,
            indices: desc(indices)?,
        },
        is_empty: self_arg.view.is_empty(),
        spelling: forward_spelling,
    })
}

/// `aclnnAdaptiveMaxPool3d`.
pub(crate) fn adaptive_max_3d(
    args: &ForwardArgs<'_>,
    output_size: &ListArg<'_>,
    profile: Profile,
) -> Outcome<Request> {
    let [self_arg, output, indices] = args;
    rank(self_arg, 3)?;
    same_rank(output, self_arg)?;
    same_rank(indices, self_arg)?;
    type_in(self_arg, value_types(profile))?;
    type_in(output, value_types(profile))?;
    type_in(indices, index_types_3d(profile))?;
    let format = self_arg.view.format;
    let is_known = matches!(format, Format::NCDHW | Format::NCHW) || format == Format::ND && profile != Profile::A2;
    if !is_known && profile != Profile::Permissive {
        let text = format!("{} must have format NCDHW or NCHW, got {}", self_arg.name, format.name());
        return Err(invalid(text));
    }
    public_format(self_arg)?;
    same_format(output, self_arg)?;
    let lengths: &[usize] = if profile == Profile::A2 { &[3] } else { &[0, 1, 3] };
    length_in(output_size, lengths)?;
    same_type(output, self_arg)?;
    not_empty(self_arg, 1)?;
    countable(self_arg, 3, profile)?;
    at_least(output_size, 1)?;
    let size = match output_size.values {
        // On 950 an empty list means the size of the input.
        [] => Sizes::try_from(spatial(self_arg.view, 3)).map_err(|problem| invalid(problem.to_string()))?,
        _ => sizes(output_size)?,
    };
    let (input, output, indices) = (self_arg.desc()?, output.desc()?, indices.desc()?);
    Ok(Request {
        spec: AdaptiveMaxPool::new_3d(size).spec(Direction::Forward),
        operands: Operands::PoolWithIndices { input, output, indices },
        // An empty batch is for the core to check like any other.
        is_empty: false,
        spelling: forward_spelling,
    })
}

/// Oracle: the contract's tables of cases (sections 2.6 and 3.5 of the gradients, 1 and 2 of the forward operators).
#[cfg(test)]
mod tests {
    use super::super::testing::{Fate, arg, fate, list, view};
    use super::*;
    use crate::codes::NN_PARAM_INVALID;
    use Fate::{Idle, Refused, Runs};

    const F32: DataType = DataType::FLOAT;
    const I32: DataType = DataType::INT32;
    const I64: DataType = DataType::INT64;
    const NO: Fate = Refused(NN_PARAM_INVALID);

    /// A gradient of these shapes: of the pooled tensors, of `indices` if it is another, and of the input.
    struct Grad<'a> {
        pooled: &'a [i64],
        indices: &'a [i64],
        input: &'a [i64],
        types: [DataType; 2],
        formats: [Format; 2],
    }

    const PLAIN: Grad<'static> = Grad {
        pooled: &[2, 3, 1, 1, 1],
        indices: &[2, 3, 1, 1, 1],
        input: &[2, 3, 2, 2, 2],
        types: [F32, I32],
        formats: [Format::NCDHW; 2],
    };

    fn try_grad(n_spatial: usize, profile: Profile, grad: &Grad<'_>, text: &str) -> Fate {
        let [value, index] = grad.types;
        let grad_output = view(grad.pooled, value, grad.formats[0]);
        let indices = view(grad.indices, index, grad.formats[1]);
        let input = view(grad.input, F32, grad.formats[0]);
        let args = [
            arg("gradOutput", &grad_output),
            arg("self", &input),
            arg("indices", &indices),
            arg("gradInput", &input),
        ];
        let lower = if n_spatial == 3 { adaptive_max_3d_grad } else { adaptive_max_2d_grad };
        fate(lower(&args, profile), text)
    }

    #[test]
    fn gradients_in_three_dimensions() {
        let cases: [(Grad<'_>, Fate, &str); 10] = [
            (PLAIN, Runs, ""),
            (Grad { pooled: &[2, 1, 1, 1], indices: &[2, 1, 1, 1], input: &[2, 2, 2, 2], ..PLAIN }, Runs, ""),
            (Grad { types: [I32, I32], ..PLAIN }, NO, "gradOutput must have the type of self"),
            (Grad { pooled: &[2, 1, 1], indices: &[2, 1, 1], input: &[2, 2, 2], ..PLAIN }, NO, "4 or 5 axes"),
            (Grad { indices: &[2, 3, 2, 1, 1], ..PLAIN }, NO, "indices must have the shape of gradOutput"),
            (
                Grad { input: &[2, 3, 10_000, 10_000, 1000], ..PLAIN },
                NO,
                "D*H*W of self must be at most 2147483647",
            ),
            (Grad { types: [F32, I64], ..PLAIN }, NO, "indices must have type INT32, got INT64"),
            (
                Grad { formats: [Format::NCDHW, Format::ND], ..PLAIN },
                NO,
                "indices must have the format of gradOutput",
            ),
            (Grad { formats: [Format(33); 2], ..PLAIN }, NO, "without blocks"),
            (Grad { pooled: &[2, 3, 0, 1, 1], indices: &[2, 3, 0, 1, 1], ..PLAIN }, Idle, ""),
        ];
        for (grad, wanted, text) in &cases {
            assert_eq!(try_grad(3, Profile::A2, grad, text), *wanted, "{text}");
        }
        assert_eq!(try_grad(3, Profile::A950, &Grad { types: [F32, I64], ..PLAIN }, ""), Runs);
        let other_c = Grad { pooled: &[2, 2, 1, 1, 1], indices: &[2, 2, 1, 1, 1], ..PLAIN };
        assert_eq!(try_grad(3, Profile::A2, &other_c, "gradOutput must have the size of gradInput on axis 1"), NO);
    }

    #[test]
    fn gradients_in_two_dimensions() {
        let flat = Grad {
            pooled: &[2, 3, 1, 1],
            indices: &[2, 3, 1, 1],
            input: &[2, 3, 2, 2],
            formats: [Format::NCHW; 2],
            ..PLAIN
        };
        assert_eq!(try_grad(2, Profile::A2, &flat, ""), Runs);
        assert_eq!(try_grad(2, Profile::A2, &Grad { types: [F32, I64], ..flat }, ""), Runs);
        let unbatched = Grad { pooled: &[2, 1, 1], indices: &[2, 1, 1], input: &[2, 2, 2], ..flat };
        assert_eq!(try_grad(2, Profile::A2, &unbatched, ""), Runs);
        let large = Grad { input: &[2, 3, 100_000_000, 1000], ..flat };
        assert_eq!(try_grad(2, Profile::A2, &large, "H*W of self"), NO);
    }

    #[test]
    fn forward_in_two_dimensions() {
        let run = |dims: &[i64], pooled: &[i64], format, size: &[i64], types: [DataType; 2], text: &str| {
            let (input, output) = (view(dims, F32, format), view(pooled, types[0], format));
            let indices = view(pooled, types[1], format);
            let args = [arg("self", &input), arg("outputOut", &output), arg("indicesOut", &indices)];
            fate(adaptive_max_2d(&args, &list("outputSize", size), Profile::A2), text)
        };
        let (nchw, types) = (Format::NCHW, [F32, I64]);
        assert_eq!(run(&[1, 1, 5, 5], &[1, 1, 2, 2], nchw, &[2, 2], types, ""), Runs);
        assert_eq!(run(&[1, 5, 5, 1], &[1, 2, 2, 1], Format::NHWC, &[2, 2], types, ""), Runs);
        assert_eq!(run(&[0, 1, 5, 5], &[1, 1, 2, 2], nchw, &[2, 2], types, ""), Idle);
        assert_eq!(
            run(&[1, 1, 5, 5], &[1, 1, 2, 2], nchw, &[2, 2], [F32, I32], "indicesOut must have type INT64"),
            NO
        );
        assert_eq!(run(&[1, 1, 5, 5], &[1, 1, 2, 2], nchw, &[2, 2, 2], types, "outputSize must have 2 values"), NO);
        assert_eq!(
            run(&[1, 1, 5, 5], &[1, 1, 2, 2], nchw, &[2, -2], types, "outputSize[1] must be at least 1"),
            NO
        );
        assert_eq!(
            run(&[1, 1, 5, 5], &[1, 1, 2, 3], nchw, &[2, 2], types, "outputOut must have size 2 on axis 3"),
            NO
        );
        assert_eq!(
            run(&[1, 1, 5, 5], &[1, 1, 2, 2], nchw, &[2, 2], [DataType::FLOAT16, I64], "type of outputOut"),
            NO
        );
        assert_eq!(run(&[1, 1, 5, -1], &[1, 1, 2, 2], nchw, &[2, 2], types, "at least 1, got -1 on axis 3"), NO);
    }

    #[test]
    fn forward_in_three_dimensions() {
        let run = |profile, dims: &[i64], pooled: &[i64], format, size: &[i64], text: &str| {
            let (input, output) = (view(dims, F32, format), view(pooled, F32, format));
            let indices = view(pooled, I32, Format::ND);
            let args = [arg("self", &input), arg("outputOut", &output), arg("indicesOut", &indices)];
            fate(adaptive_max_3d(&args, &list("outputSize", size), profile), text)
        };
        let (input, pooled) = ([1, 2, 4, 5, 6], [1, 2, 2, 2, 3]);
        assert_eq!(run(Profile::A2, &input, &pooled, Format::NCDHW, &[2, 2, 3], ""), Runs);
        assert_eq!(run(Profile::A2, &input, &pooled, Format::ND, &[2, 2, 3], "NCDHW or NCHW, got ND"), NO);
        assert_eq!(run(Profile::A950, &input, &pooled, Format::ND, &[2, 2, 3], ""), Runs);
        assert_eq!(run(Profile::A2, &input, &input, Format::NCDHW, &[], "outputSize must have 3 values"), NO);
        assert_eq!(run(Profile::A950, &input, &input, Format::NCDHW, &[], ""), Runs);
        assert_eq!(run(Profile::A2, &[0, 2, 4, 5, 6], &[0, 2, 2, 2, 3], Format::NCDHW, &[2, 2, 3], ""), Idle);
        assert_eq!(run(Profile::A2, &[1, 0, 4, 5, 6], &[1, 0, 2, 2, 3], Format::NCDHW, &[2, 2, 3], "axis 1"), NO);
        let wrong = "outputOut must have size 2 on axis 2";
        assert_eq!(run(Profile::A2, &input, &[1, 2, 3, 2, 3], Format::NCDHW, &[2, 2, 3], wrong), NO);
    }
}

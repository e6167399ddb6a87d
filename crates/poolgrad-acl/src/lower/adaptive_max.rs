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
    let is_channels_last = self_arg.view.format == Format::NHWC && self_arg.view.dims.len() == 4;
    let desc = |arg: &Arg<'_>| {
        if is_channels_last && arg.view.dims.len() == 4 { arg.desc_channels_last() } else { arg.desc() }
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

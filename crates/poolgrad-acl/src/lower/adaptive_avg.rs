//! Adaptive average pooling: `aclnnAdaptiveAvgPool3d` and its gradient.

use poolgrad::{AdaptiveAvgPool, Argument, Direction, Operands, Sizes};

use super::checks::{
    at_least, length_in, not_empty, public_format, rank, same_format, same_rank, same_shape, same_type, type_in,
    value_types,
};
use super::{Arg, ListArg, Request, backwards, gradient, invalid, sizes, spatial};
use crate::fault::Outcome;
use crate::objects::tensor::{DataType, Format};
use crate::settings::Profile;

fn grad_spelling(argument: Argument) -> &'static str {
    match argument {
        Argument::GradOutput => "gradOutput",
        Argument::GradInput => "out",
        Argument::OutputSize => "the spatial size of gradOutput",
        other => other.name(),
    }
}

fn forward_spelling(argument: Argument) -> &'static str {
    match argument {
        Argument::Input => "self",
        Argument::Output => "out",
        Argument::OutputSize => "outputSize",
        other => other.name(),
    }
}

/// From which axis on a size may not be zero: A2 takes no empty tensor, the others an empty batch.
fn first_full_axis(profile: Profile) -> usize {
    usize::from(profile != Profile::A2)
}

/// `aclnnAdaptiveAvgPool3dBackward` of `gradOutput`, `self` and `out`.
pub(crate) fn adaptive_avg_grad(args: &[Arg<'_>; 3], profile: Profile) -> Outcome<Request> {
    let [grad_output, self_arg, out] = args;
    rank(self_arg, 3)?;
    same_rank(grad_output, self_arg)?;
    same_rank(out, self_arg)?;
    not_empty(self_arg, first_full_axis(profile))?;
    same_shape(out, self_arg)?;
    not_empty(grad_output, self_arg.view.dims.len() - 3)?;
    let is_all_one = spatial(grad_output.view, 3).iter().all(|&size| size == 1);
    let with_double = [DataType::FLOAT, DataType::DOUBLE, DataType::FLOAT16, DataType::BF16];
    let types = if is_all_one { &with_double } else { value_types(profile) };
    type_in(grad_output, types)?;
    type_in(self_arg, types)?;
    same_type(grad_output, self_arg)?;
    same_type(out, self_arg)?;
    same_format(grad_output, self_arg)?;
    same_format(out, self_arg)?;
    public_format(grad_output)?;
    let pool = |size: Sizes| AdaptiveAvgPool::new_3d(size).spec(Direction::Gradient);
    Ok(Request {
        spec: backwards(pool, grad_output.view, 3)?,
        operands: gradient(grad_output, None, out)?,
        is_empty: self_arg.view.is_empty() || grad_output.view.is_empty(),
        spelling: grad_spelling,
    })
}

/// `aclnnAdaptiveAvgPool3d` of `self` and `out`.
pub(crate) fn adaptive_avg(args: &[Arg<'_>; 2], output_size: &ListArg<'_>, profile: Profile) -> Outcome<Request> {
    let [self_arg, out] = args;
    type_in(self_arg, value_types(profile))?;
    rank(self_arg, 3)?;
    same_rank(out, self_arg)?;
    not_empty(self_arg, first_full_axis(profile))?;
    not_empty(out, out.view.dims.len() - 3)?;
    same_type(out, self_arg)?;
    same_format(out, self_arg)?;
    public_format(self_arg)?;
    let is_known = matches!(self_arg.view.format, Format::NCDHW | Format::NCHW | Format::ND);
    if profile == Profile::A950 && !is_known {
        let text = format!("self must have format NCDHW, NCHW or ND, got {}", self_arg.view.format.name());
        return Err(invalid(text));
    }
    length_in(output_size, &[3])?;
    at_least(output_size, 1)?;
    Ok(Request {
        spec: AdaptiveAvgPool::new_3d(sizes(output_size)?).spec(Direction::Forward),
        operands: Operands::Pool { input: self_arg.desc()?, output: out.desc()? },
        // An empty batch is for the core to check like any other.
        is_empty: false,
        spelling: forward_spelling,
    })
}

//! Max pooling with a fixed window: `aclnnMaxPool3dWithArgmax` and its gradient.

use poolgrad::{Argument, Direction, MaxPool, Operands, Spec};

use super::checks::{
    countable, index_types_3d, length_in, public_format, rank, same_format, same_shape, same_type, type_in,
    value_types,
};
use super::{Arg, ListArg, Request, gradient, invalid, sizes};
use crate::fault::Outcome;
use crate::objects::tensor::Format;
use crate::settings::Profile;

/// The parameters of both operators, in the order of their signatures.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Parameters<'a> {
    pub(crate) kernel_size: ListArg<'a>,
    pub(crate) stride: ListArg<'a>,
    pub(crate) padding: ListArg<'a>,
    pub(crate) dilation: ListArg<'a>,
    pub(crate) ceil_mode: bool,
}

fn grad_spelling(argument: Argument) -> &'static str {
    match argument {
        Argument::GradOutput => "gradOutput",
        Argument::GradInput => "gradInput",
        Argument::KernelSize => "kernelSize",
        other => other.name(),
    }
}

fn forward_spelling(argument: Argument) -> &'static str {
    match argument {
        Argument::Input => "self",
        Argument::Output => "out",
        Argument::KernelSize => "kernelSize",
        other => other.name(),
    }
}

impl Parameters<'_> {
    /// The spec, with the lengths checked; the core checks the values.
    fn spec(&self, direction: Direction) -> Outcome<Spec> {
        length_in(&self.kernel_size, &[1, 3])?;
        length_in(&self.stride, &[0, 1, 3])?;
        length_in(&self.padding, &[1, 3])?;
        length_in(&self.dilation, &[1, 3])?;
        let pool = MaxPool::new_3d(sizes(&self.kernel_size)?)
            .stride(sizes(&self.stride)?)
            .padding(sizes(&self.padding)?)
            .dilation(sizes(&self.dilation)?)
            .ceil_mode(self.ceil_mode);
        Ok(pool.spec(direction))
    }
}

/// `aclnnMaxPool3dWithArgmaxBackward` of `gradOutput`, `self`, `indices` and `gradInput`.
pub(crate) fn max_with_argmax_grad(
    args: &[Arg<'_>; 4],
    parameters: &Parameters<'_>,
    profile: Profile,
) -> Outcome<Request> {
    let [grad_output, self_arg, indices, grad_input] = args;
    type_in(self_arg, value_types(profile))?;
    type_in(indices, index_types_3d(profile))?;
    same_type(grad_output, self_arg)?;
    same_type(grad_input, self_arg)?;
    same_format(grad_output, self_arg)?;
    same_format(grad_input, self_arg)?;
    for arg in [self_arg, grad_input, grad_output, indices] {
        public_format(arg)?;
    }
    for arg in [grad_output, grad_input, indices, self_arg] {
        rank(arg, 3)?;
    }
    let spec = parameters.spec(Direction::Gradient)?;
    countable(self_arg, 3, profile)?;
    same_shape(indices, grad_output)?;
    same_shape(grad_input, self_arg)?;
    Ok(Request {
        spec,
        operands: gradient(grad_output, Some(indices), grad_input)?,
        is_empty: grad_output.view.is_empty() || self_arg.view.is_empty(),
        spelling: grad_spelling,
    })
}

/// `aclnnMaxPool3dWithArgmax` of `self`, `out` and `indices`.
pub(crate) fn max_with_argmax(
    args: &[Arg<'_>; 3],
    parameters: &Parameters<'_>,
    profile: Profile,
) -> Outcome<Request> {
    let [self_arg, out, indices] = args;
    type_in(self_arg, value_types(profile))?;
    type_in(indices, index_types_3d(profile))?;
    same_type(out, self_arg)?;
    same_format(out, self_arg)?;
    same_format(indices, self_arg)?;
    public_format(self_arg)?;
    rank(self_arg, 3)?;
    let format = self_arg.view.format;
    let is_known = matches!(format, Format::NDHWC | Format::NCDHW | Format::NCHW | Format::ND);
    if profile == Profile::A950 && !is_known {
        let text = format!("self must have format NDHWC, NCDHW, NCHW or ND, got {}", format.name());
        return Err(invalid(text));
    }
    let spec = parameters.spec(Direction::Forward)?;
    if profile == Profile::A2 && parameters.dilation.values.iter().any(|&step| step != 1) {
        return Err(invalid(format!("dilation must be 1, got {:?}", parameters.dilation.values)));
    }
    countable(self_arg, 3, profile)?;
    // On 950 the format NDHWC says that the channels are last; on A2 formats are only compared.
    let is_channels_last = format == Format::NDHWC && profile != Profile::A2;
    let desc = |arg: &Arg<'_>| {
        if is_channels_last && arg.view.dims.len() == 5 { arg.desc_channels_last() } else { arg.desc() }
    };
    let (input, output, index_desc) = (desc(self_arg)?, desc(out)?, desc(indices)?);
    let operands = Operands::PoolWithIndices { input, output, indices: index_desc };
    let is_empty = self_arg.view.is_empty() || out.view.is_empty();
    Ok(Request { spec, operands, is_empty, spelling: forward_spelling })
}

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
        if is_channels_last && arg.view.dims().len() == 5 { arg.desc_channels_last() } else { arg.desc() }
    };
    let (input, output, index_desc) = (desc(self_arg)?, desc(out)?, desc(indices)?);
    let operands = Operands::PoolWithIndices { input, output, indices: index_desc };
    let is_empty = self_arg.view.is_empty() || out.view.is_empty();
    Ok(Request { spec, operands, is_empty, spelling: forward_spelling })
}

/// Oracle: the contract's tables of cases (section 1.8 of the gradients, section 13 of the forward operators).
#[cfg(test)]
mod tests {
    use super::super::testing::{Fate, arg, fate, list, view};
    use super::*;
    use crate::codes::NN_PARAM_INVALID;
    use crate::objects::tensor::DataType;

    const F32: DataType = DataType::FLOAT;
    const I32: DataType = DataType::INT32;
    const NO: Fate = Fate::Refused(NN_PARAM_INVALID);

    fn parameters<'a>(lists: [&'a [i64]; 4], ceil_mode: bool) -> Parameters<'a> {
        Parameters {
            kernel_size: list("kernelSize", lists[0]),
            stride: list("stride", lists[1]),
            padding: list("padding", lists[2]),
            dilation: list("dilation", lists[3]),
            ceil_mode,
        }
    }

    fn try_grad(pooled: &[i64], dims: &[i64], lists: [&[i64]; 4], text: &str) -> Fate {
        let (grad_output, indices) = (view(pooled, F32, Format::ND), view(pooled, I32, Format::NCHW));
        let input = view(dims, F32, Format::ND);
        let args = [
            arg("gradOutput", &grad_output),
            arg("self", &input),
            arg("indices", &indices),
            arg("gradInput", &input),
        ];
        fate(max_with_argmax_grad(&args, &parameters(lists, false), Profile::A2), text)
    }

    #[test]
    fn gradients() {
        let (pooled, dims) = ([2, 3, 1, 1, 1], [2, 3, 2, 2, 2]);
        let run = |lists, text| try_grad(&pooled, &dims, lists, text);
        assert_eq!(run([&[2], &[2], &[0], &[1]], ""), Fate::Runs);
        assert_eq!(run([&[2, 2, 2], &[], &[0, 0, 0], &[1, 1, 1]], ""), Fate::Runs);
        assert_eq!(run([&[0], &[2], &[0], &[1]], "kernelSize[0] must be at least 1, got 0"), NO);
        assert_eq!(run([&[2], &[2], &[-1], &[1]], "padding[0] must be at least 0, got -1"), NO);
        assert_eq!(run([&[2], &[2], &[0], &[0]], "dilation[0] must be at least 1, got 0"), NO);
        assert_eq!(run([&[2], &[0], &[0], &[1]], "stride[0] must be at least 1, got 0"), NO);
        assert_eq!(run([&[2, 2], &[2], &[0], &[1]], "kernelSize must have 1 or 3 values, got 2"), NO);
        assert_eq!(run([&[2], &[2, 2], &[0], &[1]], "stride must have 0 or 1 or 3 values, got 2"), NO);
        assert_eq!(run([&[2], &[2], &[], &[1]], "padding must have 1 or 3 values, got 0"), NO);
        assert_eq!(run([&[2], &[2], &[2], &[1]], "padding[0] must be at most half of kernelSize"), NO);
        assert_eq!(run([&[2], &[1], &[1], &[1]], "gradOutput must have size 3 on axis 2"), NO);
        assert_eq!(try_grad(&[2, 1, 1, 1], &[2, 2, 2, 2], [&[2], &[1], &[0], &[1]], ""), Fate::Runs);
        assert_eq!(try_grad(&[2, 3, 1, 1, 1], &[2, 3, 3, 3, 3], [&[2], &[1], &[0], &[2]], ""), Fate::Runs);
        assert_eq!(try_grad(&[2, 1, 1, 1], &dims, [&[2], &[2], &[0], &[1]], "as many axes"), NO);
    }

    #[test]
    fn an_empty_tensor_needs_right_parameters_all_the_same() {
        let (pooled, dims) = ([2, 0, 1, 1, 1], [2, 0, 2, 2, 2]);
        assert_eq!(try_grad(&pooled, &dims, [&[2], &[2], &[0], &[1]], ""), Fate::Idle);
        assert_eq!(try_grad(&pooled, &dims, [&[0], &[2], &[0], &[1]], "kernelSize[0]"), NO);
        assert_eq!(try_grad(&[2, 3, 0, 1, 1], &[2, 3, 2, 2, 2], [&[2], &[2], &[0], &[1]], ""), Fate::Idle);
        assert_eq!(try_grad(&[2, 3, 0, 1, 1], &[2, 3, 2, 2, 2], [&[2], &[2], &[2], &[1]], "padding[0]"), NO);
    }

    #[test]
    fn forward() {
        let run = |profile, pooled: &[i64], formats: [Format; 2], lists, text| {
            let (input, out) = (view(&[1, 2, 4, 4, 4], F32, formats[0]), view(pooled, F32, formats[1]));
            let indices = view(pooled, I32, formats[1]);
            let args = [arg("self", &input), arg("out", &out), arg("indices", &indices)];
            fate(max_with_argmax(&args, &parameters(lists, false), profile), text)
        };
        let (same, lists, pooled) = ([Format::NCDHW; 2], [&[2][..], &[2], &[0], &[1]], [1, 2, 2, 2, 2]);
        assert_eq!(run(Profile::A2, &pooled, same, lists, ""), Fate::Runs);
        assert_eq!(
            run(Profile::A2, &pooled, [Format(47), Format::ND], lists, "out must have the format of self"),
            NO
        );
        assert_eq!(
            run(Profile::A2, &pooled, same, [&[2], &[2], &[2, 2, 2], &[1]], "padding[0] must be at most"),
            NO
        );
        assert_eq!(run(Profile::A2, &[1, 2, 2, 2, 3], same, lists, "out must have size 2 on axis 4"), NO);
        let dilated = [&[2][..], &[2], &[0], &[2]];
        assert_eq!(run(Profile::A2, &[1, 2, 1, 1, 1], same, dilated, "dilation must be 1"), NO);
        assert_eq!(run(Profile::A950, &[1, 2, 1, 1, 1], same, dilated, ""), Fate::Runs);
        // [N, D, H, W, C] on 950, where the format says what it means.
        assert_eq!(run(Profile::A950, &[1, 1, 2, 2, 4], [Format::NDHWC; 2], lists, ""), Fate::Runs);
        assert_eq!(
            run(Profile::A2, &[1, 1, 2, 2, 4], [Format::NDHWC; 2], lists, "out must have size 2 on axis 4"),
            NO
        );
    }
}

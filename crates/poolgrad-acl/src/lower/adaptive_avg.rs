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
    not_empty(grad_output, self_arg.view.dims().len() - 3)?;
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
    not_empty(out, out.view.dims().len() - 3)?;
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

/// Oracle: the contract's tables of cases (section 4.5 of the gradients, section 4 of the forward operators).
#[cfg(test)]
mod tests {
    use super::super::testing::{Fate, arg, fate, list, view};
    use super::*;
    use crate::codes::NN_PARAM_INVALID;

    const F32: DataType = DataType::FLOAT;
    const NO: Fate = Fate::Refused(NN_PARAM_INVALID);

    fn try_grad(profile: Profile, pooled: &[i64], dims: &[i64], types: [DataType; 2], text: &str) -> Fate {
        let grad_output = view(pooled, types[0], Format::ND);
        let (input, out) = (view(dims, types[1], Format::ND), view(dims, types[1], Format::ND));
        let args = [arg("gradOutput", &grad_output), arg("self", &input), arg("out", &out)];
        fate(adaptive_avg_grad(&args, profile), text)
    }

    #[test]
    fn gradients() {
        let run =
            |pooled: &[i64], dims: &[i64], dtype, text: &str| try_grad(Profile::A2, pooled, dims, [dtype; 2], text);
        let cube = [2, 2, 2, 2, 2];
        let ones = [2, 2, 1, 1, 1];
        for dtype in [F32, DataType::FLOAT16, DataType::BF16, DataType::DOUBLE] {
            assert_eq!(run(&ones, &cube, dtype, ""), Fate::Runs);
        }
        assert_eq!(run(&[2, 2, 1, 2, 1], &cube, F32, ""), Fate::Runs);
        assert_eq!(run(&[2, 1, 2, 1], &[2, 2, 2, 2], F32, ""), Fate::Runs);
        assert_eq!(run(&[2, 2, 1, 2, 1], &cube, DataType::DOUBLE, "gradOutput must have type"), NO);
        assert_eq!(run(&ones, &cube, DataType::INT32, "gradOutput must have type"), NO);
        assert_eq!(run(&ones, &cube, DataType(16), "got COMPLEX64"), NO);
        assert_eq!(run(&[4, 4, 0, 0, 1], &[4, 4, 2, 2, 2], F32, "got 0 on axis 2"), NO);
        assert_eq!(run(&ones, &[2, 2, 2, 2, -1], F32, "got -1 on axis 4"), NO);
        assert_eq!(run(&[3, 1, 1, 1], &[2, 2, 2, 2], F32, "gradOutput must have the size of out on axis 0"), NO);
        assert_eq!(run(&[2, 1, 1, 1], &cube, F32, "gradOutput must have as many axes as self, 5, got 4"), NO);
        assert_eq!(run(&[1; 6], &[1; 6], F32, "4 or 5 axes"), NO);
        assert_eq!(run(&[0, 2, 1, 1, 1], &[0, 2, 2, 2, 2], F32, "got 0 on axis 0"), NO);
        let types = [F32, DataType::FLOAT16];
        assert_eq!(try_grad(Profile::A2, &ones, &cube, types, "type of self, FLOAT16, got FLOAT"), NO);
        assert_eq!(try_grad(Profile::A950, &[0, 2, 1, 1, 1], &[0, 2, 2, 2, 2], [F32; 2], ""), Fate::Idle);
        let doubles = [DataType::DOUBLE; 2];
        assert_eq!(try_grad(Profile::Permissive, &[2, 2, 1, 2, 1], &cube, doubles, ""), Fate::Runs);
    }

    #[test]
    fn forward() {
        let run = |pooled: &[i64], formats: [Format; 2], size: &[i64], text: &str| {
            let (input, out) = (view(&[1, 2, 4, 5, 6], F32, formats[0]), view(pooled, F32, formats[1]));
            fate(
                adaptive_avg(&[arg("self", &input), arg("out", &out)], &list("outputSize", size), Profile::A2),
                text,
            )
        };
        let (same, pooled) = ([Format::NCDHW; 2], [1, 2, 2, 3, 2]);
        assert_eq!(run(&pooled, same, &[2, 3, 2], ""), Fate::Runs);
        assert_eq!(run(&pooled, [Format::NCDHW, Format::ND], &[2, 3, 2], "out must have the format of self"), NO);
        assert_eq!(
            run(&pooled, same, &[2, 2, 2], "out must have size 2 on axis 3, as the windows produce, got 3"),
            NO
        );
        assert_eq!(run(&pooled, same, &[2, 3], "outputSize must have 3 values"), NO);
        assert_eq!(run(&[1, 3, 2, 3, 2], same, &[2, 3, 2], "out must have the size of self on axis 1"), NO);
    }
}

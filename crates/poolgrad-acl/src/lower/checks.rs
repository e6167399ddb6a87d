//! The checks that several operators share; each names the argument as the vendor does.

use super::{Arg, ListArg, invalid};
use crate::fault::Outcome;
use crate::objects::tensor::{DataType, View};
use crate::settings::Profile;

/// The types of values that the profile takes.
pub(super) fn value_types(profile: Profile) -> &'static [DataType] {
    const ALL: [DataType; 4] = [DataType::FLOAT, DataType::FLOAT16, DataType::BF16, DataType::DOUBLE];
    match profile {
        Profile::A2 | Profile::A950 => &ALL[..3],
        Profile::Permissive => &ALL,
    }
}

/// The types of indices that the 3-D operators take.
pub(super) fn index_types_3d(profile: Profile) -> &'static [DataType] {
    const ALL: [DataType; 2] = [DataType::INT32, DataType::INT64];
    match profile {
        Profile::A2 => &ALL[..1],
        Profile::A950 | Profile::Permissive => &ALL,
    }
}

pub(super) fn type_in(arg: &Arg<'_>, wanted: &[DataType]) -> Outcome {
    if wanted.contains(&arg.view.dtype) {
        return Ok(());
    }
    let wanted: Vec<_> = wanted.iter().map(|dtype| dtype.name()).collect();
    Err(invalid(format!("{} must have type {}, got {}", arg.name, wanted.join(" or "), arg.view.dtype.name())))
}

pub(super) fn same_type(arg: &Arg<'_>, other: &Arg<'_>) -> Outcome {
    let (got, wanted) = (arg.view.dtype, other.view.dtype);
    if got == wanted {
        return Ok(());
    }
    let text = format!("{} must have the type of {}, {}, got {}", arg.name, other.name, wanted.name(), got.name());
    Err(invalid(text))
}

pub(super) fn same_format(arg: &Arg<'_>, other: &Arg<'_>) -> Outcome {
    let (got, wanted) = (arg.view.format, other.view.format);
    if got == wanted {
        return Ok(());
    }
    let text =
        format!("{} must have the format of {}, {}, got {}", arg.name, other.name, wanted.name(), got.name());
    Err(invalid(text))
}

pub(super) fn public_format(arg: &Arg<'_>) -> Outcome {
    if !arg.view.format.is_private() {
        return Ok(());
    }
    Err(invalid(format!("{} must have a format without blocks, got {}", arg.name, arg.view.format.name())))
}

/// Whether the rank is that of `n_spatial` axes with C, or with N and C.
pub(super) fn rank(arg: &Arg<'_>, n_spatial: usize) -> Outcome {
    let got = arg.view.dims.len();
    if got == n_spatial + 1 || got == n_spatial + 2 {
        return Ok(());
    }
    Err(invalid(format!("{} must have {} or {} axes, got {got}", arg.name, n_spatial + 1, n_spatial + 2)))
}

pub(super) fn same_rank(arg: &Arg<'_>, other: &Arg<'_>) -> Outcome {
    let (got, wanted) = (arg.view.dims.len(), other.view.dims.len());
    if got == wanted {
        return Ok(());
    }
    Err(invalid(format!("{} must have as many axes as {}, {wanted}, got {got}", arg.name, other.name)))
}

pub(super) fn same_shape(arg: &Arg<'_>, other: &Arg<'_>) -> Outcome {
    let (got, wanted) = (&arg.view.dims, &other.view.dims);
    if got == wanted {
        return Ok(());
    }
    Err(invalid(format!("{} must have the shape of {}, {wanted:?}, got {got:?}", arg.name, other.name)))
}

/// Whether every size from axis `from` on is at least 1.
pub(super) fn not_empty(arg: &Arg<'_>, from: usize) -> Outcome {
    match arg.view.dims.iter().enumerate().skip(from).find(|(_, size)| **size < 1) {
        None => Ok(()),
        Some((axis, got)) => {
            Err(invalid(format!("{} must have sizes of at least 1, got {got} on axis {axis}", arg.name)))
        }
    }
}

/// The elements of one volume, as far as an `i64` goes.
fn volume(view: &View, n_spatial: usize) -> i64 {
    let from = view.dims.len().saturating_sub(n_spatial);
    view.dims[from..].iter().fold(1i64, |volume, &size| volume.saturating_mul(size))
}

/// Whether 32-bit indices count a volume; A2 asks for it whatever the type of the indices.
pub(super) fn countable(arg: &Arg<'_>, n_spatial: usize, profile: Profile) -> Outcome {
    let (got, most) = (volume(arg.view, n_spatial), i64::from(i32::MAX));
    if profile != Profile::A2 || got <= most {
        return Ok(());
    }
    let axes = if n_spatial == 3 { "D*H*W" } else { "H*W" };
    Err(invalid(format!("{axes} of {} must be at most {most}, got {got}", arg.name)))
}

pub(super) fn length_in(list: &ListArg<'_>, wanted: &[usize]) -> Outcome {
    let got = list.values.len();
    if wanted.contains(&got) {
        return Ok(());
    }
    let wanted: Vec<_> = wanted.iter().map(usize::to_string).collect();
    Err(invalid(format!("{} must have {} values, got {got}", list.name, wanted.join(" or "))))
}

pub(super) fn at_least(list: &ListArg<'_>, least: i64) -> Outcome {
    match list.values.iter().enumerate().find(|(_, value)| **value < least) {
        None => Ok(()),
        Some((at, got)) => Err(invalid(format!("{}[{at}] must be at least {least}, got {got}", list.name))),
    }
}

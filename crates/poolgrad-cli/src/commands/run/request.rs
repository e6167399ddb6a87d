//! What the command line asks for: options that fit the operator, tensors that are opened, and the specification.

use poolgrad::{AdaptiveAvgPool, AdaptiveMaxPool, DType, Direction, MaxPool, PlanOptions, Pool, Sizes, Spec};

use super::operator::{Family, Operator};
use crate::cli::Run;
use crate::failure::Failure;
use crate::formats::{Location, Source};

/// An operation on files that are open.
#[derive(Debug)]
pub(super) struct Request<'a> {
    pub(super) spec: Spec,
    pub(super) operands: Operands<'a>,
    pub(super) options: PlanOptions,
}

/// The tensors of a request: those to read, and where the others go.
#[derive(Debug)]
pub(super) enum Operands<'a> {
    Forward {
        input: Source,
        output: &'a Location,
        /// The type of the indices, and where they go if anywhere; absent for averages.
        indices: Option<(DType, Option<&'a Location>)>,
    },
    Gradient {
        grad_output: Source,
        /// Absent for averages.
        indices: Option<Box<Source>>,
        input_shape: Sizes,
        grad_input: &'a Location,
    },
}

impl<'a> Request<'a> {
    pub(super) fn new(operator: &Operator, arguments: &'a Run) -> Result<Self, Failure> {
        refuse_strangers(operator, arguments)?;
        let operands = match operator.direction {
            Direction::Forward => forward(operator, arguments)?,
            Direction::Gradient => gradient(operator, arguments)?,
        };
        // The tensor whose shape the pooling is about, and the pooled one where it is at hand.
        let (shape, flag, pooled) = match &operands {
            Operands::Forward { input, .. } => (*input.desc().shape(), "--input", None),
            Operands::Gradient { input_shape, grad_output, .. } => {
                (*input_shape, "--input-shape", Some(*grad_output.desc().shape()))
            }
        };
        let n_spatial = n_spatial(operator, arguments, &shape, flag)?;
        let pool = pool(operator.family, n_spatial, arguments, pooled)?;
        let mut options = PlanOptions::default();
        if let Some(threads) = arguments.threads {
            options = options.threads(threads);
        }
        if let Some(isa) = arguments.isa {
            options = options.isa(isa);
        }
        Ok(Self { spec: Spec { pool, direction: operator.direction }, operands, options })
    }
}

fn forward<'a>(operator: &Operator, arguments: &'a Run) -> Result<Operands<'a>, Failure> {
    let input = required(arguments, "--input", arguments.input.as_ref())?;
    let output = required(arguments, "--output", arguments.output.as_ref())?;
    let indices = (arguments.index_dtype.unwrap_or(DType::I64), arguments.indices_out.as_ref());
    Ok(Operands::Forward {
        input: values(input, arguments.dtype)?,
        output,
        indices: operator.has_indices().then_some(indices),
    })
}

fn gradient<'a>(operator: &Operator, arguments: &'a Run) -> Result<Operands<'a>, Failure> {
    let grad_output = required(arguments, "--grad-output", arguments.grad_output.as_ref())?;
    let indices = if operator.has_indices() {
        let location = required(arguments, "--indices", arguments.indices.as_ref())?;
        Some(Box::new(Source::open(location)?))
    } else {
        None
    };
    let input_shape = match (arguments.input_shape, &arguments.input) {
        (Some(_), Some(_)) => {
            return Err(Failure::usage("--input and --input-shape say the same thing; leave one out"));
        }
        (Some(shape), None) => shape,
        (None, Some(location)) => *Source::open(location)?.desc().shape(),
        (None, None) => required(arguments, "--input-shape", None)?,
    };
    let grad_input = required(arguments, "--grad-input", arguments.grad_input.as_ref())?;
    Ok(Operands::Gradient { grad_output: values(grad_output, arguments.dtype)?, indices, input_shape, grad_input })
}

/// A tensor of values, in the type that was asked for.
fn values(location: &Location, dtype: Option<DType>) -> Result<Source, Failure> {
    let source = Source::open(location)?;
    match dtype {
        // Indices in place of values are the library's to refuse, by name.
        Some(dtype) if source.desc().dtype.is_float() => source.converted(dtype),
        _ => Ok(source),
    }
}

/// The value of an option that the operator cannot do without.
fn required<T>(arguments: &Run, flag: &'static str, value: Option<T>) -> Result<T, Failure> {
    value.ok_or_else(|| {
        Failure::usage(format!("{} needs {flag}; poolgrad run --help has an example", arguments.operator))
    })
}

/// Options that the operator does not take are mistakes, and are said rather than ignored.
fn refuse_strangers(operator: &Operator, arguments: &Run) -> Result<(), Failure> {
    let forward = operator.direction == Direction::Forward;
    let (windows, indices) = (operator.family == Family::Max, operator.has_indices());
    let taken = [
        (arguments.grad_output.is_some(), "--grad-output", !forward),
        (arguments.indices.is_some(), "--indices", !forward && indices),
        (arguments.input_shape.is_some(), "--input-shape", !forward),
        (arguments.output.is_some(), "--output", forward),
        (arguments.indices_out.is_some(), "--indices-out", forward && indices),
        (arguments.index_dtype.is_some(), "--index-dtype", forward && indices),
        (arguments.grad_input.is_some(), "--grad-input", !forward),
        (arguments.kernel_size.is_some(), "--kernel-size", windows),
        (arguments.stride.is_some(), "--stride", windows),
        (arguments.padding.is_some(), "--padding", windows),
        (arguments.dilation.is_some(), "--dilation", windows),
        (arguments.ceil_mode, "--ceil-mode", windows),
        (arguments.output_size.is_some(), "--output-size", !windows),
    ];
    for (given, flag, belongs) in taken {
        if given && !belongs {
            return Err(Failure::usage(format!(
                "{} does not take {flag}; poolgrad run --help lists what belongs to which operator",
                arguments.operator
            )));
        }
    }
    Ok(())
}

/// The number of spatial axes: said, or seen from a list of sizes or from a rank that leaves no choice.
fn n_spatial(operator: &Operator, arguments: &Run, shape: &Sizes, flag: &str) -> Result<usize, Failure> {
    match (operator.n_spatial, arguments.dims.map(usize::from)) {
        (Some(named), Some(dims)) if named != dims => {
            return Err(Failure::usage(format!(
                "{} has {named} spatial axes, --dims says {dims}; leave one out",
                arguments.operator
            )));
        }
        (Some(n_spatial), _) | (None, Some(n_spatial)) => return Ok(n_spatial),
        (None, None) => (),
    }
    let lists =
        [arguments.kernel_size, arguments.stride, arguments.padding, arguments.dilation, arguments.output_size];
    if let Some(list) = lists.into_iter().flatten().find(|list| (2..=3).contains(&list.len())) {
        return Ok(list.len());
    }
    match shape.len() {
        5 => Ok(3),
        2 => Ok(1),
        3 | 4 => Err(Failure::usage(format!(
            "{flag} of shape {shape} is with or without a batch axis; say --dims {} or --dims {}",
            shape.len() - 2,
            shape.len() - 1
        ))),
        rank => Err(Failure::work(format!(
            "{flag} must have 2 to 5 axes (N, C and up to three spatial ones), got {rank}"
        ))),
    }
}

/// The pooling with the parameters that were given.
fn pool(family: Family, n_spatial: usize, arguments: &Run, pooled: Option<Sizes>) -> Result<Pool, Failure> {
    let from_pooled = || {
        let shape = pooled?;
        let spatial = shape.get(shape.len().checked_sub(n_spatial)?..)?;
        Sizes::try_from(spatial).ok()
    };
    let output_size = || {
        arguments.output_size.or_else(from_pooled).ok_or_else(|| {
            Failure::usage(format!("{} needs --output-size, the spatial size of the output", arguments.operator))
        })
    };
    Ok(match family {
        Family::Max => {
            let kernel_size = arguments.kernel_size.ok_or_else(|| {
                Failure::usage(format!("{} needs --kernel-size, the size of the window", arguments.operator))
            })?;
            let pool = MaxPool::new(n_spatial, kernel_size)
                .stride(arguments.stride.unwrap_or_default())
                .padding(arguments.padding.unwrap_or_else(|| Sizes::from(0)))
                .dilation(arguments.dilation.unwrap_or_else(|| Sizes::from(1)))
                .ceil_mode(arguments.ceil_mode);
            Pool::Max(pool)
        }
        Family::AdaptiveMax => Pool::AdaptiveMax(AdaptiveMaxPool::new(n_spatial, output_size()?)),
        Family::AdaptiveAvg => Pool::AdaptiveAvg(AdaptiveAvgPool::new(n_spatial, output_size()?)),
    })
}

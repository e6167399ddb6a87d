//! Every variant of the error type, reached through the public API. Oracle: a table by hand.

use std::collections::BTreeSet;

use poolgrad::{
    AdaptiveAvgPool, AdaptiveMaxPool, Argument, DType, Direction, Error, Layout, LayoutError, MAX_AXES, MaxPool,
    Operands, Plan, PlanOptions, Sizes, Spec, Tensor, TensorDesc, TensorView, TensorViewMut,
};

fn desc(dtype: DType, shape: impl Into<Sizes>) -> TensorDesc {
    TensorDesc::contiguous(dtype, shape).unwrap()
}

fn f32(shape: impl Into<Sizes>) -> TensorDesc {
    desc(DType::F32, shape)
}

fn i64(shape: impl Into<Sizes>) -> TensorDesc {
    desc(DType::I64, shape)
}

fn i32(shape: impl Into<Sizes>) -> TensorDesc {
    desc(DType::I32, shape)
}

fn strided(dtype: DType, shape: impl Into<Sizes>, strides: impl Into<Sizes>) -> TensorDesc {
    TensorDesc { dtype, layout: Layout::strided(shape, strides).unwrap() }
}

fn scatter(grad_output: TensorDesc, indices: TensorDesc, grad_input: TensorDesc) -> Operands<TensorDesc> {
    Operands::Scatter { grad_output, indices, grad_input }
}

fn max_grad(pool: MaxPool) -> Spec {
    pool.spec(Direction::Gradient)
}

/// The gradient of a 2 x 2 max pooling of one channel of 4 x 4.
fn good() -> (Spec, Operands<TensorDesc>) {
    (max_grad(MaxPool::new_2d(2)), scatter(f32([1, 2, 2]), i64([1, 2, 2]), f32([1, 4, 4])))
}

/// Plans whose error is known: the operation, its operands, the error, and its text.
fn refused() -> Vec<(Spec, Operands<TensorDesc>, Error, &'static str)> {
    use Argument::{
        Dilation, GradInput, GradOutput, Indices, Input, KernelSize, Output, OutputSize, Padding, Stride,
    };
    let (good_spec, good_operands) = good();
    let adaptive_max = |size: i64| AdaptiveMaxPool::new_2d(size).spec(Direction::Gradient);
    let avg = AdaptiveAvgPool::new_2d(2).spec(Direction::Gradient);
    let huge = 1i64 << 60;
    let spread = |grad_output, grad_input| Operands::Spread { grad_output, grad_input };
    vec![
        (
            avg,
            good_operands,
            Error::WrongOperands {
                wanted: "the gradient of average pooling takes grad_output and grad_input",
                got: "grad_output, indices and grad_input",
            },
            "the gradient of average pooling takes grad_output and grad_input, got grad_output, indices and grad_input",
        ),
        (
            max_grad(MaxPool::new(4, 2)),
            good_operands,
            Error::WrongDimensionality { got: 4 },
            "pooling is 1-D, 2-D or 3-D, got 4 spatial axes",
        ),
        (
            good_spec,
            scatter(i32([1, 2, 2]), i64([1, 2, 2]), f32([1, 4, 4])),
            Error::WrongDType { argument: GradOutput, wanted: &DType::FLOATS, got: DType::I32 },
            "grad_output must have element type f32 or f64 or f16 or bf16, got i32",
        ),
        (
            good_spec,
            scatter(f32([1, 2, 2]), f32([1, 2, 2]), f32([1, 4, 4])),
            Error::WrongDType { argument: Indices, wanted: &DType::INDICES, got: DType::F32 },
            "indices must have element type i32 or i64, got f32",
        ),
        (
            good_spec,
            scatter(f32([1, 2, 2]), i64([1, 2, 2]), desc(DType::BF16, [1, 4, 4])),
            Error::DTypesDiffer { argument: GradInput, got: DType::BF16, other: GradOutput, wanted: DType::F32 },
            "grad_input must have the element type of grad_output, which is f32, got bf16",
        ),
        (
            good_spec,
            scatter(f32([2, 2]), i64([1, 2, 2]), f32([1, 4, 4])),
            Error::WrongRank { argument: GradOutput, wanted: 3, got: 2 },
            "grad_output must have 3 axes (C and the spatial ones) or 4 (with N before them), got 2",
        ),
        (
            good_spec,
            scatter(f32([1, 2, 2]), i64([1, 2, 2]), f32([1, 1, 4, 4])),
            Error::RanksDiffer { argument: GradInput, got: 4, other: GradOutput, wanted: 3 },
            "grad_input must have as many axes as grad_output, 3, got 4",
        ),
        (
            max_grad(MaxPool::new_2d(2).stride([1, 1, 1])),
            good_operands,
            Error::WrongLength { argument: Stride, wanted: 2, got: 3 },
            "stride must have 1 value or 2, one for each spatial axis, got 3",
        ),
        (
            max_grad(MaxPool::new_2d(Sizes::default())),
            good_operands,
            Error::WrongLength { argument: KernelSize, wanted: 2, got: 0 },
            "kernel_size must have 1 value or 2, one for each spatial axis, got 0",
        ),
        (
            max_grad(MaxPool::new_2d([2, 0])),
            good_operands,
            Error::TooSmall { argument: KernelSize, axis: 1, least: 1, got: 0 },
            "kernel_size[1] must be at least 1, got 0",
        ),
        (
            max_grad(MaxPool::new_2d(2).padding(-1)),
            good_operands,
            Error::TooSmall { argument: Padding, axis: 0, least: 0, got: -1 },
            "padding[0] must be at least 0, got -1",
        ),
        (
            max_grad(MaxPool::new_2d(2).dilation([1, 0])),
            good_operands,
            Error::TooSmall { argument: Dilation, axis: 1, least: 1, got: 0 },
            "dilation[1] must be at least 1, got 0",
        ),
        (
            adaptive_max(0),
            good_operands,
            Error::TooSmall { argument: OutputSize, axis: 0, least: 1, got: 0 },
            "output_size[0] must be at least 1, got 0",
        ),
        (
            max_grad(MaxPool::new_2d(i64::MAX)),
            good_operands,
            Error::TooLarge { argument: KernelSize, axis: 0, most: 1 << 59, got: i64::MAX },
            "kernel_size[0] must be at most 576460752303423488, got 9223372036854775807",
        ),
        (
            adaptive_max(2),
            scatter(
                strided(DType::F32, [1, 2, 2], [0, 0, 0]),
                strided(DType::I64, [1, 2, 2], [0, 0, 0]),
                strided(DType::F32, [1, huge, 1], [0, 0, 0]),
            ),
            Error::TooLarge { argument: GradInput, axis: 1, most: 1 << 59, got: huge },
            "grad_input[1] must be at most 576460752303423488, got 1152921504606846976",
        ),
        (
            max_grad(MaxPool::new_2d(3).padding([1, 2])),
            good_operands,
            Error::PaddingTooLarge { axis: 1, most: 1, got: 2 },
            "padding[1] must be at most half of kernel_size, which is 1, got 2",
        ),
        (
            good_spec,
            scatter(f32([1, 2, 2]), i64([1, 2, 2]), f32([1, 4, 0])),
            Error::EmptyAxis { argument: GradInput, axis: 2 },
            "grad_input must have spatial sizes of at least 1, got 0 on axis 2",
        ),
        (
            max_grad(MaxPool::new_2d(7)),
            good_operands,
            Error::NoWindow { axis: 0, padded: 4, extent: 7 },
            "no window fits on spatial axis 0: the padded size is 4 and a window extends over 7",
        ),
        (
            max_grad(MaxPool::new_2d([2, 3]).dilation([1, 1 << 59])),
            good_operands,
            Error::NoWindow { axis: 1, padded: 4, extent: (1 << 60) + 1 },
            "no window fits on spatial axis 1: the padded size is 4 and a window extends over 1152921504606846977",
        ),
        (
            MaxPool::new_1d(4).stride(7).padding(2).dilation(3).ceil_mode(true).spec(Direction::Forward),
            Operands::Pool { input: f32([1, 1]), output: f32([1, 1]) },
            Error::EmptyWindow { axis: 0, output: 0 },
            "the window of output 0 on spatial axis 0 has no element: dilation steps over the whole input",
        ),
        (
            good_spec,
            scatter(f32([1, 2, 3]), i64([1, 2, 3]), f32([1, 4, 4])),
            Error::WrongSize { argument: GradOutput, axis: 2, wanted: 2, got: 3 },
            "grad_output must have size 2 on axis 2, as the windows produce, got 3",
        ),
        (
            good_spec,
            scatter(f32([5, 2, 2]), i64([5, 2, 2]), f32([1, 4, 4])),
            Error::SizesDiffer { argument: GradOutput, axis: 0, got: 5, other: GradInput, wanted: 1 },
            "grad_output must have the size of grad_input on axis 0, which is 1, got 5",
        ),
        (
            good_spec,
            scatter(f32([1, 2, 2]), i64([1, 2, 1]), f32([1, 4, 4])),
            Error::SizesDiffer { argument: Indices, axis: 2, got: 1, other: GradOutput, wanted: 2 },
            "indices must have the size of grad_output on axis 2, which is 2, got 1",
        ),
        (
            adaptive_max(1),
            scatter(f32([1, 1, 1]), i32([1, 1, 1]), f32([1, 1 << 16, 1 << 16])),
            Error::VolumeTooLarge { volume: 1 << 32, dtype: DType::I32 },
            "indices of type i32 cannot count the 4294967296 elements of a volume; use i64",
        ),
        (
            avg,
            spread(f32([1, 2, 2]), strided(DType::F32, [1, 4, 4], [16, 2, 1])),
            Error::Overlap {
                argument: GradInput,
                layout: Box::new(Layout::strided([1, 4, 4], [16, 2, 1]).unwrap()),
            },
            "grad_input is written, so no two of its elements may share a place, got [1, 4, 4] with strides [16, 2, 1]",
        ),
        (
            MaxPool::new_2d(2).spec(Direction::Forward),
            Operands::PoolWithIndices {
                input: f32([1, 4, 4]),
                output: f32([1, 2, 2]),
                indices: strided(DType::I64, [1, 2, 2], [0, 0, 0]),
            },
            Error::Overlap { argument: Indices, layout: Box::new(Layout::strided([1, 2, 2], [0, 0, 0]).unwrap()) },
            "indices is written, so no two of its elements may share a place, got [1, 2, 2] with strides [0, 0, 0]",
        ),
        (
            MaxPool::new_2d(2).spec(Direction::Forward),
            Operands::Pool { input: f32([1, 4, 4]), output: desc(DType::F16, [1, 2, 2]) },
            Error::DTypesDiffer { argument: Output, got: DType::F16, other: Input, wanted: DType::F32 },
            "output must have the element type of input, which is f32, got f16",
        ),
    ]
}

#[test]
fn plans_refuse_what_breaks_a_rule() {
    for (spec, operands, error, text) in refused() {
        let got = Plan::new(&spec, &operands).map(|_| ()).unwrap_err();
        assert_eq!(got, error, "{text}");
        assert_eq!(got.to_string(), text);
    }
}

/// Runs the good problem on tensors of the caller's making.
fn execute(
    shapes: (TensorView<'_>, TensorView<'_>, TensorViewMut<'_>),
    workspace: impl FnOnce(usize) -> usize,
) -> Result<(), Error> {
    let (spec, operands) = good();
    let plan = Plan::new(&spec, &operands).unwrap();
    let (grad_output, indices, grad_input) = shapes;
    let mut workspace = vec![0; workspace(plan.workspace_bytes())];
    plan.execute(Operands::Scatter { grad_output, indices, grad_input }, &mut workspace)
}

#[test]
fn execution_refuses_what_was_not_planned() {
    let (grad_output, indices) = ([1.0f32; 4], [0i64, 2, 8, 10]);
    let mut grad_input = [0.0f32; 16];
    let gradient = TensorView::new(&grad_output, [1, 2, 2]).unwrap();
    let index = TensorView::new(&indices, [1, 2, 2]).unwrap();

    let other = TensorView::new(&grad_output, [2, 2, 1]).unwrap();
    let error =
        execute((other, index, TensorViewMut::new(&mut grad_input, [1, 4, 4]).unwrap()), |n| n).unwrap_err();
    let (wanted, got) = (Box::new(f32([1, 2, 2])), Box::new(f32([2, 2, 1])));
    assert_eq!(error, Error::NotAsPlanned { argument: Argument::GradOutput, wanted, got });
    assert_eq!(error.to_string(), "grad_output must be as planned, f32 [1, 2, 2], got f32 [2, 2, 1]");

    let swapped = TensorView::strided(&grad_output, Layout::strided([1, 2, 2], [4, 1, 2]).unwrap(), 0).unwrap();
    let error =
        execute((swapped, index, TensorViewMut::new(&mut grad_input, [1, 4, 4]).unwrap()), |n| n).unwrap_err();
    assert_eq!(
        error.to_string(),
        "grad_output must be as planned, f32 [1, 2, 2], got f32 [1, 2, 2] with strides [4, 1, 2]"
    );

    let needed = Plan::new(&good().0, &good().1).unwrap().workspace_bytes();
    let view = TensorViewMut::new(&mut grad_input, [1, 4, 4]).unwrap();
    let error = execute((gradient, index, view), |needed| needed - 1).unwrap_err();
    assert_eq!(error, Error::WorkspaceTooSmall { wanted: needed, got: needed - 1 });
    assert_eq!(error.to_string(), format!("the workspace must have at least {needed} bytes, got {}", needed - 1));

    let (spec, operands) = good();
    let plan = Plan::new(&spec, &operands).unwrap();
    let view = TensorViewMut::new(&mut grad_input, [1, 4, 4]).unwrap();
    let error = plan.run(Operands::Spread { grad_output: gradient, grad_input: view }).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the plan takes grad_output, indices and grad_input, got grad_output and grad_input"
    );
}

#[test]
fn misaligned_memory_is_refused() {
    let (spec, operands) = good();
    let plan = Plan::new(&spec, &operands).unwrap();
    let (bytes, indices) = ([0u32; 5], [0i64; 4]);
    let mut grad_input = [0.0f32; 16];
    let odd = bytes.as_ptr().cast::<u8>().wrapping_add(1).cast();
    let layout = Layout::contiguous([1, 2, 2]).unwrap();
    // SAFETY: 16 bytes from the second of 20 are initialised, live and unwritten; misalignment is what is tested.
    let grad_output = unsafe { TensorView::from_raw_parts(odd, DType::F32, layout) };
    let error = plan
        .run(Operands::Scatter {
            grad_output,
            indices: TensorView::new(&indices, [1, 2, 2]).unwrap(),
            grad_input: TensorViewMut::new(&mut grad_input, [1, 4, 4]).unwrap(),
        })
        .unwrap_err();
    assert_eq!(error, Error::Misaligned { argument: Argument::GradOutput, wanted: 4 });
    assert_eq!(error.to_string(), "the memory of grad_output must be aligned to 4 bytes");
}

#[test]
fn outputs_that_share_memory_are_refused() {
    let spec = AdaptiveAvgPool::new_1d(4).spec(Direction::Gradient);
    let layout = Layout::strided([3, 4], [8, 1]).unwrap();
    let desc = TensorDesc { dtype: DType::F32, layout };
    let plan = Plan::new(&spec, &Operands::Spread { grad_output: desc, grad_input: desc }).unwrap();
    let mut buffer: Vec<f32> = (0..24).map(|i| i as f32).collect();
    let origin = buffer.as_mut_ptr();
    let run = |grad_input: usize| {
        // SAFETY: both are inside the buffer, which nobody else uses; that the plan refuses them where they share
        // elements, before it touches any, is what is tested.
        let grad_output = unsafe { TensorView::from_raw_parts(origin.cast(), DType::F32, layout) };
        let origin = origin.wrapping_add(grad_input).cast();
        // SAFETY: as above.
        let grad_input = unsafe { TensorViewMut::from_raw_parts(origin, DType::F32, layout) };
        plan.run(Operands::Spread { grad_output, grad_input })
    };
    assert_eq!(run(4), Ok(()), "interleaved halves of one buffer are two tensors");
    let error = run(3).unwrap_err();
    assert_eq!(error, Error::Aliased { argument: Argument::GradInput, other: Argument::GradOutput });
    assert_eq!(error.to_string(), "grad_input is written, so it must not share memory with grad_output");
    assert!(buffer.chunks(8).all(|row| row[..4] == row[4..]), "windows of one element pass gradients on");
}

#[test]
fn absurd_numbers_of_threads_are_limited() {
    let operands = scatter(f32([1, 500, 500]), i64([1, 500, 500]), f32([1, 1000, 1000]));
    let plan = Plan::with_options(&good().0, &operands, &PlanOptions::default().threads(usize::MAX)).unwrap();
    assert!(plan.explain().threads <= 1024 && plan.workspace_bytes() < 1 << 30, "{}", plan.explain());
}

/// Choosing a kernel weighs sizes against each other, and must not go wrong where they are as large as they may be.
#[test]
fn outputs_of_any_size_can_be_planned() {
    let input = [1, 1, 2, 3, 4];
    for output in [[1 << 59, 1, 1], [1 << 29, 1 << 30, 1], [1, 1, 1 << 59]] {
        let shape = [1, 1, output[0], output[1], output[2]];
        let repeated = |dtype| strided(dtype, shape, [0; 5]);
        let (average, max) = (AdaptiveAvgPool::new_3d(output), AdaptiveMaxPool::new_3d(output));
        let pooled = Operands::Pool { input: f32(input), output: f32(shape) };
        let found = Operands::PoolWithIndices { input: f32(input), output: f32(shape), indices: i64(shape) };
        let spread = Operands::Spread { grad_output: repeated(DType::F32), grad_input: f32(input) };
        let scattered = scatter(repeated(DType::F32), repeated(DType::I64), f32(input));
        for (spec, operands) in [
            (average.spec(Direction::Forward), pooled),
            (average.spec(Direction::Gradient), spread),
            (max.spec(Direction::Forward), found),
            (max.spec(Direction::Gradient), scattered),
        ] {
            for threads in [1, 16] {
                let planned = Plan::with_options(&spec, &operands, &PlanOptions::default().threads(threads));
                planned.unwrap_or_else(|error| panic!("{spec:?} to {output:?}: {error}"));
            }
        }
    }
}

#[test]
fn unknown_kernels_are_refused() {
    let (spec, operands) = good();
    let error = Plan::with_options(&spec, &operands, &PlanOptions::default().kernel("magic")).unwrap_err();
    let wanted = Plan::kernels(&spec, &operands, &PlanOptions::default()).unwrap();
    assert_eq!(error.to_string(), format!("the kernel must be one of {}, got magic", wanted.join(", ")));
    assert_eq!(error, Error::NoSuchKernel { wanted, got: "magic".into() });
}

#[test]
fn the_first_bad_index_is_named() {
    let grad_output = Tensor::zeros(DType::F32, [2, 3, 2, 2, 2]).unwrap();
    for (value, at, n, c, position) in [
        (64, 47, 1, 2, [1, 1, 1]),
        (-1, 0, 0, 0, [0, 0, 0]),
        (i64::MIN, 13, 0, 1, [1, 0, 1]),
        (i64::MAX, 30, 1, 0, [1, 1, 0]),
    ] {
        let mut indices = vec![5i64; 48];
        indices[at] = value;
        let indices = Tensor::from_vec(indices, [2, 3, 2, 2, 2]).unwrap();
        let error = MaxPool::new_3d(2).backward(&grad_output, &indices, [2, 3, 4, 4, 4]).unwrap_err();
        assert_eq!(error, Error::IndexOutOfRange { n, c, position, value, volume: 64 });
        let [d, h, w] = position;
        assert_eq!(
            error.to_string(),
            format!(
                "indices must be at least 0 and below 64, got {value} at n = {n}, c = {c}, output position [{d}, {h}, {w}]"
            )
        );
    }
}

/// The first offender in row-major order is reported for every kernel and thread count, also when there are many.
#[test]
fn the_first_of_many_bad_indices_is_named_whoever_meets_it() {
    let shape = [1, 2, 20, 30, 40];
    let spec = max_grad(MaxPool::new_3d(2));
    let output = [1, 2, 10, 15, 20];
    let operands = scatter(f32(output), i32(output), f32(shape));
    let grad_output = Tensor::zeros(DType::F32, output).unwrap();
    let mut indices = Tensor::zeros(DType::I32, output).unwrap();
    let first = 1234;
    for (at, index) in indices.as_mut_slice::<i32>().unwrap().iter_mut().enumerate() {
        *index = if at >= first && at % 7 == first % 7 { 24000 + at as i32 } else { 3 };
    }
    for threads in [1, 2, 3, 7] {
        let options = PlanOptions::default().threads(threads).tile_elements(4000);
        for kernel in Plan::kernels(&spec, &operands, &options).unwrap() {
            let plan = Plan::with_options(&spec, &operands, &options.clone().kernel(kernel)).unwrap();
            let mut grad_input = Tensor::zeros(DType::F32, shape).unwrap();
            let (grad_output, indices) = (grad_output.view(), indices.view());
            let operands = Operands::Scatter { grad_output, indices, grad_input: grad_input.view_mut() };
            let error = plan.run(operands).unwrap_err();
            let wanted = Error::IndexOutOfRange {
                n: 0,
                c: 0,
                position: [4, 1, 14],
                value: 24000 + first as i64,
                volume: 24000,
            };
            assert_eq!(error, wanted, "{kernel} on {threads} threads");
        }
    }
}

#[test]
fn tensors_that_do_not_fit_their_buffer_are_refused() {
    let data = [0.0f32; 12];
    let named = |problem: LayoutError| problem.of(Argument::GradOutput);
    let error = named(TensorView::new(&data, [3, 5]).unwrap_err());
    assert_eq!(error.to_string(), "grad_output: elements lie at 0..=14 of a buffer that holds 12");
    assert_eq!(
        Error::from(Layout::strided([2, 2], [1]).unwrap_err()).to_string(),
        "a stride is needed for each of the 2 axes, got 1"
    );
    assert_eq!(
        Sizes::try_from([1i64; MAX_AXES + 1].as_slice()).unwrap_err().to_string(),
        "at most 8 axes are supported, got 9"
    );
    assert_eq!(
        Layout::contiguous([2, -3]).unwrap_err().to_string(),
        "the size of axis 1 must be at least 0, got -3"
    );
    assert_eq!(
        Layout::contiguous([1 << 40, 1 << 40]).unwrap_err().to_string(),
        "shape [1099511627776, 1099511627776] with these strides is larger than the address space"
    );
    assert_eq!(
        Tensor::zeros(DType::F64, [1 << 50]).unwrap_err().to_string(),
        "there is no memory for a tensor of 9007199254740992 bytes"
    );
}

/// The errors that the tests above reach, by name of variant, against those that the source declares.
#[test]
fn every_variant_is_in_a_table_above() {
    let source = include_str!("../src/error.rs");
    let declared = source.split("pub enum Error {").nth(1).unwrap().split("\n}\n").next().unwrap();
    let declared: BTreeSet<&str> =
        declared.lines().filter_map(|line| line.strip_prefix("    ")?.strip_suffix(" {")).collect();
    assert!(declared.len() > 20, "{declared:?}");
    let name = |error: &Error| format!("{error:?}").split([' ', '{', '(']).next().unwrap().to_string();
    let mut reached: BTreeSet<String> = refused().iter().map(|(.., error, _)| name(error)).collect();
    for elsewhere in
        ["Layout", "NotAsPlanned", "Misaligned", "Aliased", "WorkspaceTooSmall", "NoSuchKernel", "IndexOutOfRange"]
    {
        reached.insert(elsewhere.into());
    }
    assert_eq!(declared, reached.iter().map(String::as_str).collect());
}

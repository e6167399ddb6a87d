//! Gradients of maxima that begin on a cache line and beside one, in memory whose other elements are the caller's.

use poolgrad::{Element, Isa, Layout, Operands, Plan, PlanOptions, Spec, TensorView, TensorViewMut};

/// The elements before and behind the output, more than fill a line.
const AROUND: usize = 64;

/// Streams the gradient at each level, by some numbers of threads and to memory that begins so many elements behind a line, and
/// asserts that it is `sums` as they lie in memory, and that nothing around it was written.
pub(crate) fn check<T: Element + PartialEq>(
    spec: &Spec,
    (grad_output, indices): (TensorView<'_>, TensorView<'_>),
    (layout, sums): (Layout, &[T]),
    (options, untouched): (&PlanOptions, T),
) {
    for (behind_line, threads) in [(0, 1), (0, 3), (3, 1), (16, 3)] {
        let mut memory = vec![untouched; 2 * AROUND + behind_line + sums.len() + AROUND];
        let skew = memory.as_ptr().addr() % 64 / size_of::<T>();
        let start = AROUND + (64 / size_of::<T>() - skew) + behind_line;
        let part = start..start + sums.len();
        for isa in Isa::available() {
            memory.fill(untouched);
            let grad_input = TensorViewMut::strided(&mut memory[part.clone()], layout, 0).unwrap();
            let operands = Operands::Scatter {
                grad_output: *grad_output.desc(),
                indices: *indices.desc(),
                grad_input: *grad_input.desc(),
            };
            let options = options.clone().threads(threads).streaming(true).isa(isa);
            let plan = Plan::with_options(spec, &operands, &options).unwrap();
            plan.run(Operands::Scatter { grad_output, indices, grad_input }).unwrap();
            assert!(memory[part.clone()] == *sums, "{layout:?} {behind_line}: {}", plan.explain());
            let mut around = memory[..part.start].iter().chain(&memory[part.end..]);
            assert!(around.all(|value| *value == untouched), "{layout:?} {behind_line}: {}", plan.explain());
        }
    }
}

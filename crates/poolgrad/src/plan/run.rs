//! Executing a plan: from views to typed tensors to the chosen kernel.

use super::options::BadIndices;
use super::select::Kernel;
use super::{Plan, TypedTask};
use crate::dtype::{Element, Float, Index};
use crate::error::Error;
use crate::exec::{Crew, TileKernel, run_tiles};
use crate::kernels::{Buckets, Mean, Scatter, Spread, WindowsMax, find_bad_index};
use crate::spec::Operands;
use crate::tensor::raw::{Source, Target};
use crate::tensor::{TensorView, TensorViewMut};

/// A plan with its tensors and workspace, which have been compared with what was planned.
pub(super) struct Run<'p, 'a> {
    pub(super) plan: &'p Plan,
    pub(super) operands: Operands<TensorView<'a>, TensorViewMut<'a>>,
    pub(super) workspace: &'p mut [u8],
}

impl TypedTask for Run<'_, '_> {
    type Output = Result<(), Error>;

    fn run<T: Float, I: Index>(self) -> Result<(), Error> {
        let Self { plan, operands, workspace } = self;
        let choice = &plan.choice;
        let (scratch, shared) = workspace.split_at_mut(choice.n_workers * choice.bytes_per_worker);
        let mut crew = Crew {
            isa: choice.isa,
            n_workers: choice.n_workers,
            scratch,
            bytes_per_worker: choice.bytes_per_worker,
        };
        let geometry = plan.checked.geometry;
        let flat_len = choice.partition.flat_len();
        match operands {
            Operands::Pool { input, output } if choice.kernel == Kernel::MeanRows => {
                plan.fill::<T, T>(&Mean::new(plan.source(&input), geometry), (output, None), &mut crew);
            }
            Operands::Pool { input, output } => {
                plan.fill::<T, I>(&WindowsMax::new(plan.source(&input), geometry), (output, None), &mut crew);
            }
            Operands::PoolWithIndices { input, output, indices } => {
                let kernel = WindowsMax::new(plan.source(&input), geometry);
                plan.fill::<T, I>(&kernel, (output, Some(indices)), &mut crew);
            }
            Operands::Spread { grad_output, grad_input } => {
                let kernel = Spread::new(plan.source(&grad_output), geometry, flat_len);
                plan.fill::<T, T>(&kernel, (grad_input, None), &mut crew);
            }
            Operands::Scatter { grad_output, indices, grad_input } => {
                let sources = (plan.source::<T>(&grad_output), plan.source::<I>(&indices));
                return plan.scatter(sources, grad_input, &mut crew, shared);
            }
        }
        Ok(())
    }
}

impl Plan {
    fn source<'a, E: Element>(&self, view: &TensorView<'a>) -> Source<'a, E> {
        Source::new(view, self.checked.n_spatial)
    }

    /// Fills the outputs, tile by tile, with a kernel that cannot fail.
    fn fill<T: Float, U: Element>(
        &self,
        kernel: &impl TileKernel<T, U>,
        (first, second): (TensorViewMut<'_>, Option<TensorViewMut<'_>>),
        crew: &mut Crew<'_>,
    ) {
        let (partition, streaming) = (self.choice.partition, self.choice.streaming);
        let target = Target::<T, U>::new((first, second), self.checked.n_spatial, partition, streaming);
        run_tiles(kernel, &target, usize::MAX, crew);
    }

    /// The gradient of a max pooling: one pass where every index is found where it is looked for; otherwise the
    /// first bad index is reported, or the outputs are sorted first.
    fn scatter<T: Float, I: Index>(
        &self,
        (grad_output, indices): (Source<'_, T>, Source<'_, I>),
        mut grad_input: TensorViewMut<'_>,
        crew: &mut Crew<'_>,
        shared: &mut [u8],
    ) -> Result<(), Error> {
        let (choice, geometry) = (&self.choice, self.checked.geometry);
        if choice.kernel != Kernel::ScatterBuckets {
            let kernel = Scatter::new(grad_output, indices, geometry, choice.partition.flat_len());
            self.fill::<T, I>(&kernel, (grad_input.reborrow(), None), crew);
            let is_dropping = choice.bad_indices == BadIndices::Drop;
            // A tile of whole planes finds every index that points into the volume, so those it has not found are to
            // be dropped; a smaller one may just not be where an index points.
            if kernel.added_all() || is_dropping && choice.kernel == Kernel::ScatterPlanes {
                return Ok(());
            }
        }
        let bad = match choice.bad_indices {
            BadIndices::Refuse => find_bad_index(&indices, &geometry, crew),
            BadIndices::Drop => None,
        };
        if let Some((plane, flat)) = bad {
            let [_, n_h, n_w] = geometry.output();
            return Err(Error::IndexOutOfRange {
                n: plane / geometry.c,
                c: plane % geometry.c,
                position: [flat / (n_h * n_w), flat / n_w % n_h, flat % n_w],
                value: indices.row(plane, flat..flat + 1).load(&mut [])[0].value(),
                volume: geometry.input_len(),
            });
        }
        let buckets = Buckets::new(&geometry, choice.partition, choice.n_workers);
        let target = Target::new((grad_input, None), self.checked.n_spatial, buckets.partition(), choice.streaming);
        buckets.run((&grad_output, &indices), &target, crew, shared);
        Ok(())
    }
}

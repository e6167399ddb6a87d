//! Executing a plan: from views to typed tensors to the chosen kernel.

use super::options::BadIndices;
use super::select::{Choice, Kernel, Way};
use super::{Plan, TypedTask};
use crate::dtype::{Element, Float, Index, Summed};
use crate::error::Error;
use crate::exec::stream::LINE;
use crate::exec::{Crew, TileKernel, run_tiles};
use crate::kernels::{
    Buckets, ChannelsMax, Expand, Gather, Mean, Outputs, Planes, Spread, SpreadPlanes, Summing, Sweep, WindowsMax,
};
use crate::spec::Operands;
use crate::tensor::raw::{Cut, Source, Target};
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
        let mut crew = Crew {
            isa: choice.isa,
            n_workers: choice.n_workers,
            scratch: workspace,
            bytes_per_worker: choice.bytes_per_worker,
        };
        let geometry = plan.checked.geometry;
        match operands {
            Operands::Pool { input, output } if choice.way.kernel == Kernel::MeanRows => {
                plan.fill::<T, T>(
                    &Mean::new(plan.source(&input, choice.way.width), geometry, choice.way.from_memory),
                    (output, None),
                    &mut crew,
                );
            }
            Operands::Pool { input, output } => plan.find_maxima::<T, I>(&input, (output, None), &mut crew),
            Operands::PoolWithIndices { input, output, indices } => {
                plan.find_maxima::<T, I>(&input, (output, Some(indices)), &mut crew);
            }
            Operands::Spread { grad_output, grad_input } => {
                let Way { partition, width, spread, .. } = choice.way;
                let source = plan.source(&grad_output, width);
                let outputs = (grad_input, None);
                match spread {
                    Some(shape) => {
                        plan.fill::<T, T>(&SpreadPlanes::new(source, geometry, shape), outputs, &mut crew)
                    }
                    None => {
                        plan.fill::<T, T>(&Spread::new(source, geometry, (partition, width)), outputs, &mut crew)
                    }
                }
            }
            Operands::Scatter { grad_output, indices, mut grad_input } => {
                let Choice { way, beside_lines, far, bad_indices, .. } = choice;
                let begins_on_a_line = grad_input.placed().begins_at_multiple_of(LINE);
                let way = beside_lines.as_ref().filter(|_| !begins_on_a_line).unwrap_or(way);
                let inputs = (&grad_output, &indices);
                let found_all = match (way.gather, way.summing) {
                    (Some(shape), _) => {
                        let kernel = Gather::new(plan.outputs::<T, I>(inputs, way.width), shape);
                        let target = plan.target(way, (grad_input.reborrow(), None));
                        run_tiles(&kernel, &target, usize::MAX, &mut crew);
                        kernel.found_all()
                    }
                    (None, Summing::Once | Summing::First) => {
                        let outputs = plan.outputs::<T::Once, I>(inputs, way.width);
                        plan.scatter(way, &outputs, grad_input.reborrow(), &mut crew)
                    }
                    (None, _) => {
                        let outputs = plan.outputs::<T, I>(inputs, way.width);
                        plan.scatter(way, &outputs, grad_input.reborrow(), &mut crew)
                    }
                };
                // What is not found where this way looks for it may lie elsewhere in the volume.
                let found_all = found_all
                    || !way.finds_far_indices() && {
                        let outputs = plan.outputs::<T, I>(inputs, far.width);
                        plan.scatter(far, &outputs, grad_input, &mut crew)
                    };
                if !found_all && *bad_indices == BadIndices::Refuse {
                    plan.check_indices(&plan.outputs::<T, I>(inputs, 1), &mut crew)?;
                }
            }
        }
        Ok(())
    }
}

impl Plan {
    fn source<'a, E: Element>(&self, view: &TensorView<'a>, width: usize) -> Source<'a, E> {
        Source::new(view, self.checked.n_spatial, width)
    }

    fn outputs<'a, T: Element, I: Element>(
        &self,
        (grad_output, indices): (&TensorView<'a>, &TensorView<'a>),
        width: usize,
    ) -> Outputs<'a, T, I> {
        Outputs { grad_output: self.source(grad_output, width), indices: self.source(indices, width) }
    }

    /// Fills the outputs, tile by tile, with a kernel that cannot fail.
    fn fill<T: Float, U: Element>(
        &self,
        kernel: &impl TileKernel<T, U>,
        (first, second): (TensorViewMut<'_>, Option<TensorViewMut<'_>>),
        crew: &mut Crew<'_>,
    ) {
        let target = self.target::<T, U>(&self.choice.way, (first, second));
        run_tiles(kernel, &target, usize::MAX, crew);
    }

    fn target<'a, T: Element, U: Element>(
        &self,
        way: &Way,
        outputs: (TensorViewMut<'a>, Option<TensorViewMut<'a>>),
    ) -> Target<'a, T, U> {
        let cut = Cut { width: way.width, partition: way.partition, n_workers: self.choice.n_workers };
        Target::new(outputs, self.checked.n_spatial, cut, way.streaming)
    }

    /// The maxima of windows, and where they lie if that is wanted.
    fn find_maxima<T: Float, I: Index>(
        &self,
        input: &TensorView<'_>,
        outputs: (TensorViewMut<'_>, Option<TensorViewMut<'_>>),
        crew: &mut Crew<'_>,
    ) {
        let (Way { kernel, width, from_memory, .. }, geometry) = (self.choice.way, self.checked.geometry);
        let source = self.source(input, width);
        match kernel {
            Kernel::MaxChannels => {
                self.fill::<T, I>(&ChannelsMax::new(source, geometry, from_memory), outputs, crew)
            }
            _ => self.fill::<T, I>(&WindowsMax::new(source, geometry), outputs, crew),
        }
    }

    /// The gradient of a max pooling; whether every index was found where this way looks for it.
    fn scatter<T: Summed, I: Index>(
        &self,
        way: &Way,
        outputs: &Outputs<'_, T, I>,
        grad_input: TensorViewMut<'_>,
        crew: &mut Crew<'_>,
    ) -> bool {
        let geometry = self.checked.geometry;
        let n_outputs = geometry.n_planes() as u64 * geometry.output_len() as u64;
        let n_added = match way.kernel {
            Kernel::ScatterPlanes => {
                let kernel = Planes::new(*outputs, way.planes(&geometry));
                run_tiles(&kernel, &self.target(way, (grad_input, None)), usize::MAX, crew);
                kernel.n_added()
            }
            Kernel::ExpandRows => {
                let kernel = Expand::new(*outputs, way.expand.expect("the kernel was accepted"));
                run_tiles(&kernel, &self.target(way, (grad_input, None)), usize::MAX, crew);
                return kernel.found_all();
            }
            Kernel::ScatterSweep => {
                let kernel = Sweep::new(*outputs, way.sweep);
                run_tiles(&kernel, &self.target(way, (grad_input, None)), usize::MAX, crew);
                kernel.n_added()
            }
            _ => {
                let buckets = Buckets::new(&geometry, way.partition, self.choice.n_workers);
                let target = self.target(&Way { partition: buckets.partition(), ..*way }, (grad_input, None));
                let (mut crew, shared) = crew.with_scratch(buckets.bytes::<T, I>());
                buckets.run(outputs, &target, &mut crew, shared)
            }
        };
        n_added == n_outputs
    }

    /// Reports the first index that does not point into the volume.
    fn check_indices<T: Float, I: Index>(
        &self,
        outputs: &Outputs<'_, T, I>,
        crew: &mut Crew<'_>,
    ) -> Result<(), Error> {
        let geometry = self.checked.geometry;
        let Some((plane, flat)) = outputs.find_bad_index(&geometry, crew) else { return Ok(()) };
        let [_, n_h, n_w] = geometry.output();
        Err(Error::IndexOutOfRange {
            n: plane / geometry.c,
            c: plane % geometry.c,
            position: [flat / (n_h * n_w), flat / n_w % n_h, flat % n_w],
            value: outputs.indices.row(plane, flat..flat + 1).load(&mut [])[0].value(),
            volume: geometry.input_len(),
        })
    }
}

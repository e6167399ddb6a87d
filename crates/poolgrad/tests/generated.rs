//! Generated problems in generated layouts, run in generated ways.
//!
//! Oracle: the f64 reference of `poolgrad-check`, and its replay of the documented orders of addition.

mod generate;

use generate::{any_arrangement, problem_of};
use poolgrad::{Isa, PlanOptions};
use poolgrad_check::{Call, Case, Random};
use proptest::prelude::*;

fn options() -> impl Strategy<Value = PlanOptions> {
    let tile_elements = prop_oneof![Just(None), (1usize..200).prop_map(Some)];
    (1usize..5, tile_elements, any::<bool>(), prop::sample::select(Isa::available())).prop_map(
        |(threads, tile_elements, streaming, isa)| {
            let options = PlanOptions::default().threads(threads).streaming(streaming).isa(isa);
            match tile_elements {
                Some(tile_elements) => options.tile_elements(tile_elements),
                None => options,
            }
        },
    )
}

proptest! {
    // A case that fails is printed; it belongs into the problem lists, not into a file of seeds.
    #![proptest_config(ProptestConfig { cases: 4000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_kernel_agrees_with_the_reference(
        problem in problem_of(1..=3),
        options in options(),
        seed in any::<u64>(),
    ) {
        let mut random = Random::new(seed);
        let call = Call::arranged(&problem, |shape, _| any_arrangement(shape, &mut random)).expect("a call");
        let case = Case::of(call);
        for kernel in case.call().kernels(&options).expect("kernels") {
            let outcome = case.call().execute(&options.clone().kernel(kernel));
            let outcome = outcome.unwrap_or_else(|failure| panic!("{failure}"));
            case.check(&outcome).unwrap_or_else(|failure| panic!("{failure}"));
        }
    }
}

//! The same bits, however a problem is run: ISA level, threads, tiles, stores, repetition.
//!
//! Oracle: the library itself, on one thread with its own choice of tiles.

use poolgrad::{Isa, PlanOptions};
use poolgrad_check::{Call, Case, Outcome, Problem, lists, on_all_processors};
use rayon::{ThreadPool, ThreadPoolBuilder};

/// Without threads all numbers are one.
const THREADS: &[usize] = if cfg!(feature = "rayon") { &[1, 2, 3, 7] } else { &[1, 3] };

fn pools() -> Vec<ThreadPool> {
    let pool = |&threads: &usize| ThreadPoolBuilder::new().num_threads(threads).build().expect("a thread pool");
    THREADS.iter().map(pool).collect()
}

/// Tile sizes that cut rows, planes and nothing; tiny ones only where they do not make millions of tiles.
fn tile_sizes(call: &Call) -> Vec<Option<usize>> {
    let n_elements: i64 = call.problem().input_shape().iter().product();
    let mut sizes = vec![None, Some(1000)];
    if n_elements < 20_000 {
        sizes.extend([Some(1), Some(33)]);
    }
    sizes
}

fn with_tiles(options: PlanOptions, size: Option<usize>) -> PlanOptions {
    match size {
        Some(size) => options.tile_elements(size),
        None => options,
    }
}

/// Runs a problem on every pool, tile size and ISA level, with the preferred kernel and the last one.
fn run_in_every_way(problem: &Problem, pools: &[ThreadPool]) {
    let case = Case::new(problem).unwrap_or_else(|failure| panic!("{failure}"));
    let call = case.call();
    let run = |options: &PlanOptions| call.execute(options).unwrap_or_else(|failure| panic!("{failure}"));
    let first = run(&PlanOptions::default().threads(1));
    for (pool, &threads) in pools.iter().zip(THREADS) {
        for size in tile_sizes(call) {
            let options = with_tiles(PlanOptions::default().threads(threads), size);
            for (i, isa) in Isa::available().into_iter().enumerate() {
                let options = options.clone().isa(isa);
                // Which kernels there are depends on the level.
                let kernels = call.kernels(&options).unwrap_or_else(|failure| panic!("{failure}"));
                let options = options.kernel(kernels[kernels.len() - 1 - i % kernels.len()]);
                let outcome = pool.install(|| run(&options));
                assert!(outcome.explanation.threads <= threads, "{problem}: {}", outcome.explanation);
                case.check_same(&outcome, &first).unwrap_or_else(|failure| panic!("{failure}"));
            }
        }
        // The pool's own number of threads, with nothing asked for.
        let outcome = pool.install(|| run(&PlanOptions::default()));
        case.check_same(&outcome, &first).unwrap_or_else(|failure| panic!("{failure}"));
    }
}

#[test]
fn threads_tiles_and_isa_levels_do_not_change_a_bit() {
    let pools = pools();
    let problems = lists::all().expect("lists of problems");
    on_all_processors(&problems, |problem| run_in_every_way(problem, &pools));
}

fn run(case: &Case, options: &PlanOptions) -> Outcome {
    case.call().execute(options).unwrap_or_else(|failure| panic!("{failure}"))
}

/// A problem and its outcome on one thread, which is right.
fn checked(line: &str) -> (Case, Outcome) {
    let case = Case::new(&line.parse().expect("a problem")).unwrap_or_else(|failure| panic!("{failure}"));
    let outcome = run(&case, &PlanOptions::default().threads(1));
    case.check(&outcome).unwrap_or_else(|failure| panic!("{failure}"));
    (case, outcome)
}

/// Tiles that begin and end anywhere in a row, also in the middle of a window.
#[test]
fn tiles_of_every_size_give_the_same_bits() {
    for line in [
        "adaptive_avg_grad c2 in36 out9",
        "adaptive_avg_grad c2 in3x56 out2x7 f16",
        "adaptive_avg_grad c3 in50 out7 bf16",
        "adaptive_avg_grad n1c3 in3x40 out2x5 ndhwc",
        "adaptive_avg c2 in3x36 out2x9",
        "adaptive_max c2 in3x36 out2x9 f16",
        "adaptive_max_grad c2 in3x36 out2x9",
        "max_grad c2 in3x41 k2x4 s1x3 bf16",
    ] {
        let (case, first) = checked(line);
        for size in 1..=60 {
            let options = PlanOptions::default().threads(1).tile_elements(size);
            for kernel in case.call().kernels(&options).unwrap_or_else(|failure| panic!("{failure}")) {
                let outcome = run(&case, &options.clone().kernel(kernel));
                case.check_same(&outcome, &first).unwrap_or_else(|failure| panic!("tiles of {size}: {failure}"));
            }
        }
    }
}

/// Threads race for tiles, so a result that depended on who comes first would show in some of many runs.
#[test]
fn repetition_does_not_change_a_bit() {
    let pools = pools();
    for line in [
        "max_grad n1c1 in24x40x50 k3 s2 p1 same",
        "max_grad n1c1 in24x40x50 k3 s2 p1 far",
        "max_grad n3c2 in10x20x30 k3 s1 p1 f16 i32 ties",
        "adaptive_max_grad n1c2 in24x40x50 out7x9x11 bf16 far",
        "adaptive_avg_grad n1c1 in24x40x50 out7x9x11 transposed",
        "adaptive_avg n1c2 in24x40x50 out7x9x11 ndhwc",
        "max n1c2 in24x40x50 k3 s2 p1 special",
    ] {
        let (case, first) = checked(line);
        for (pool, &threads) in pools.iter().zip(THREADS) {
            for repetition in 0..20 {
                let options = PlanOptions::default().threads(threads).tile_elements(100 + 37 * (repetition % 3));
                let outcome = pool.install(|| run(&case, &options));
                case.check_same(&outcome, &first).unwrap_or_else(|failure| panic!("{failure}"));
            }
        }
    }
}

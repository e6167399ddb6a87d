//! `Plan::execute` allocates nothing, but for a task that is handed to a pool from outside. Oracle: an allocator that counts.
//!
//! One test in a program of its own, so that no other test allocates meanwhile.

use std::alloc::{GlobalAlloc, Layout as Block, System};
use std::sync::atomic::{AtomicUsize, Ordering};

use poolgrad::{AdaptiveAvgPool, DType, Direction, MaxPool, Operands, Plan, PlanOptions, Tensor};

struct Counting;

static ALLOCATIONS: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call is passed on to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, block: Block) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller's promise is passed on.
        unsafe { System.alloc(block) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, block: Block) {
        // SAFETY: the caller's promise is passed on.
        unsafe { System.dealloc(pointer, block) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// The least allocations of several calls: a pool's threads allocate now and then on their own account, when they
/// start or first steal work, but a call that allocates does so every time.
fn allocations(mut call: impl FnMut()) -> usize {
    let one = |_| {
        let before = ALLOCATIONS.load(Ordering::Relaxed);
        call();
        ALLOCATIONS.load(Ordering::Relaxed) - before
    };
    (0..8).map(one).min().unwrap_or(0)
}

#[test]
fn execution_allocates_nothing() {
    let shape = [2, 3, 24, 30, 40];
    let input = Tensor::zeros(DType::F32, shape).unwrap();
    let pool = MaxPool::new_3d(3).stride(2).padding(1);
    let (output, indices) = pool.forward(&input).unwrap();
    // Far from their windows, so that they take another way.
    let far_indices =
        Tensor::from_vec(vec![28_799_i64; indices.as_slice::<i64>().unwrap().len()], *indices.shape()).unwrap();
    let avg = AdaptiveAvgPool::new_3d([5, 6, 7]);
    let averaged = avg.forward(&input).unwrap();
    let mut grad_input = Tensor::zeros(DType::F32, shape).unwrap();
    for threads in [1, 4] {
        let options = PlanOptions::default().threads(threads).tile_elements(6000);
        let spec = pool.spec(Direction::Gradient);
        let operands = Operands::Scatter {
            grad_output: *output.view().desc(),
            indices: *indices.view().desc(),
            grad_input: *grad_input.view().desc(),
        };
        for (indices, is_far) in [(&indices, false), (&far_indices, true)] {
            for kernel in Plan::kernels(&spec, &operands, &options).unwrap() {
                let plan = Plan::with_options(&spec, &operands, &options.clone().kernel(kernel)).unwrap();
                let mut workspace = vec![0; plan.workspace_bytes()];
                let mut call = || {
                    let (grad_output, indices) = (output.view(), indices.view());
                    let operands = Operands::Scatter { grad_output, indices, grad_input: grad_input.view_mut() };
                    plan.execute(operands, &mut workspace).unwrap();
                };
                assert_eq!(in_pool(&mut call), 0, "{}", plan.explain());
                if threads == 1 || !(is_far || kernel == "scatter:buckets") {
                    // One set of workers, and one task for all of them but the caller.
                    let n_tasks = usize::from(threads > 1 && cfg!(feature = "rayon"));
                    assert_eq!(allocations(&mut call), n_tasks, "from outside: {}", plan.explain());
                }
            }
        }
        let spec = avg.spec(Direction::Gradient);
        let operands =
            Operands::Spread { grad_output: *averaged.view().desc(), grad_input: *grad_input.view().desc() };
        let plan = Plan::with_options(&spec, &operands, &options).unwrap();
        let mut workspace = vec![0; plan.workspace_bytes()];
        let mut call = || {
            let operands = Operands::Spread { grad_output: averaged.view(), grad_input: grad_input.view_mut() };
            plan.execute(operands, &mut workspace).unwrap();
        };
        assert_eq!(in_pool(&mut call), 0, "{}", plan.explain());
    }
}

/// Counts on a thread of the pool: handing work in from outside makes the pool's own queue grow now and then.
#[cfg(feature = "rayon")]
fn in_pool(call: &mut (impl FnMut() + Send)) -> usize {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    pool.install(|| allocations(call))
}

#[cfg(not(feature = "rayon"))]
fn in_pool(call: &mut impl FnMut()) -> usize {
    allocations(call)
}

"""Times PyTorch's own gradients with `poolgrad.torch.enable()`, without it, and the Rust core, in one process.

Three sides take turns on the same tensors: PyTorch's operator; the same call of the same operator while poolgrad is
enabled; and the core through its C-callable crate, planned before, as in peers.py. All write into existing memory. The
last column says how much of the core's speed is left to a Python program: the core's time by that of the enabled call.
With `--allocate`, PyTorch and the enabled call make their result anew, as autograd does.

    pip install .
    cargo build --release -p poolgrad-peers
    python benches/peers/enabled.py --threads 2
"""

import argparse
import json
import math
import os
import statistics
import sys
import time
from pathlib import Path

import peers

# Where a result is made anew by each call, the allocator needs some calls until it finds a place for it that was used
# before; until then every page of it is new, which takes longer than to compute it.
ALLOCATING_CALLS_FIRST = 25


def main():
    arguments = parse_arguments()
    os.environ["RAYON_NUM_THREADS"] = str(arguments.threads)
    import poolgrad.torch
    import torch

    torch.set_num_threads(arguments.threads)
    library = peers.load(arguments.library)
    problems = list(peers.read_problems(arguments))
    if not problems:
        sys.exit("error: no problem is left; see --only and --problems")
    rows = []
    for line in problems:
        rows.append(compare(torch, poolgrad.torch, library, line, arguments))
        if not arguments.json:
            print_row(rows[-1], first=len(rows) == 1)
    means = {dtype: mean([row for row in rows if row["dtype"] == dtype]) for dtype in dict.fromkeys(
        row["dtype"] for row in rows)}
    if arguments.json:
        print(json.dumps({"threads": arguments.threads, "torch": torch.__version__, "results": rows, "means": means},
                         indent=2))
        return
    print()
    for dtype, of in means.items():
        print(f"geometric mean, {dtype}: {of['enabled']:.2f} times as fast as PyTorch with enable(), "
              f"{of['core']:.2f} by the core: {of['share']:.0%} of it")


def parse_arguments():
    parser = argparse.ArgumentParser(description="Time PyTorch's gradients with and without poolgrad.torch.enable().")
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1, help="threads of each side")
    parser.add_argument("--problems", type=Path, default=peers.ROOT / "problems" / "bench.txt",
                        help="a list of problems")
    parser.add_argument("--only", action="append", default=[], metavar="WORD",
                        help="keep the problems that have this word; may be repeated")
    parser.add_argument("--library", type=Path, help="the shared library [default: that of cargo build --release]")
    parser.add_argument("--allocate", action="store_true", help="let operators allocate their result")
    parser.add_argument("--best", action="store_true",
                        help="the shortest time instead of the median: for a machine that is not quiet")
    parser.add_argument("--quick", action="store_true", help="few runs: a look rather than a measurement")
    parser.add_argument("--json", action="store_true", help="print the results as JSON")
    return parser.parse_args()


def compare(torch, layer, library, line, arguments):
    problem = peers.Problem(line)
    torch.manual_seed(1)
    dtype = peers.torch_dtype(torch, problem.dtype)
    values = peers.arranged(torch, problem, torch.randn(problem.input_shape).to(dtype))
    output, their_indices = peers.forward(torch, problem, values)
    grad_output = peers.arranged(torch, problem, (torch.rand(output.shape) + 0.5).to(dtype))
    del output
    indices = None if their_indices is None else peers.arranged(torch, problem, their_indices)
    memory = peers.memory_for_torch(torch, problem, grad_output, values, their_indices)
    theirs, enabled, core = memory, torch.empty_like(memory), torch.empty_like(memory)
    sides = {
        "torch": call(torch, problem, grad_output, values, their_indices, theirs, arguments.allocate),
        "enabled": call(torch, problem, grad_output, values, their_indices, enabled, arguments.allocate),
        "core": peers.Peer(library, line, grad_output, indices, core),
    }
    layer.reset_stats()
    with layer.enabled():
        enabled = sides["enabled"]()
    if list(layer.stats().values()) != [(1, 0)]:
        sys.exit(f"error: {line}: the call was not taken by poolgrad")
    sides["core"]()
    if not peers.same_bits(torch, enabled, core):
        sys.exit(f"error: {line}: the enabled operator and the core give different gradients")
    typical = min if arguments.best else statistics.median
    times = measure(sides, layer, arguments.allocate, arguments.quick, typical)
    return {
        "problem": line,
        "dtype": problem.dtype,
        **{f"{name}_ms": milliseconds for name, milliseconds in times.items()},
        "ratio": times["torch"] / times["enabled"],
        "core_ratio": times["torch"] / times["core"],
        "share": times["core"] / times["enabled"],
    }


def call(torch, problem, grad_output, values, indices, memory, allocate):
    """A call of PyTorch's operator."""
    if not allocate:
        return peers.backward(torch, problem, grad_output, values, indices, memory)
    packet, _, parameters = peers.operator(torch, problem)
    if problem.operator == "adaptive_avg_grad" and len(problem.input) == 3:
        packet = torch.ops.aten._adaptive_avg_pool3d_backward
    tensors = [tensor for tensor in (grad_output, values, *parameters, indices) if tensor is not None]
    return lambda: packet(*tensors)


def measure(sides, layer, allocate, quick, typical):
    """The typical time of each side in milliseconds; poolgrad is enabled in the turns of one of them only."""
    samples = {name: [] for name in sides}
    for _ in range(2 if quick else peers.ROUNDS):
        for name, side in sides.items():
            time.sleep(peers.PAUSE_SECONDS)
            if name == "enabled":
                layer.enable()
            for _ in range(ALLOCATING_CALLS_FIRST if allocate else 0):
                side()
            n_calls = max(1, math.ceil(peers.SAMPLE_SECONDS / max(peers.timed(side, 1), 1e-9)))
            start, n_samples = time.perf_counter(), 0
            while n_samples < 3 or (not quick and time.perf_counter() - start < peers.SECONDS_PER_ROUND):
                samples[name].append(peers.timed(side, n_calls))
                n_samples += 1
            layer.disable()
    return {name: typical(times) * 1e3 for name, times in samples.items()}


def mean(rows):
    """The geometric means of the ratios."""
    names = {"enabled": "ratio", "core": "core_ratio", "share": "share"}
    return {key: math.exp(statistics.fmean(math.log(row[name]) for row in rows)) for key, name in names.items()}


def print_row(row, first):
    if first:
        print(f"{'problem':<62} {'PyTorch':>9} {'enabled':>9} {'core':>9}   {'ratio':>6} {'core':>6}  share")
    print(f"{row['problem']:<62} {row['torch_ms']:>9.3f} {row['enabled_ms']:>9.3f} {row['core_ms']:>9.3f}   "
          f"{row['ratio']:>6.2f} {row['core_ratio']:>6.2f}  {row['share']:>5.0%}", flush=True)


if __name__ == "__main__":
    main()

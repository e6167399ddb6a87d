"""Times the gradients of poolgrad beside those of PyTorch, on the same tensors in one process.

Both sides write into existing memory, read the same int64 indices and use the same number of threads; poolgrad is
timed once more with int32 indices. Results are compared before anything is timed: README.md says how.

    cargo build --release -p poolgrad-peers
    python benches/peers/peers.py --threads 2
"""

import argparse
import ctypes
import json
import math
import os
import statistics
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

# The runs of a problem are spread over rounds in which each side has its turn, so that a busy machine disturbs all.
ROUNDS = 5
SECONDS_PER_ROUND = 0.06
# Threads of PyTorch wait awake for a while after each call. Until they sleep, and the system has noticed, one of ours may share
# a processor with one of them while another is idle: that took up to 20 ms.
PAUSE_SECONDS = 0.03
# Shorter calls are made several times in a row.
SAMPLE_SECONDS = 50e-6
# Calls that the library repeats by itself: how long they take together, and how long they are made.
SAMPLE_SECONDS_WITHIN = 1e-3
SECONDS_WITHIN = 0.3
# The least size of a grad_input that counts for the means.
MEAN_FROM_BYTES = 1 << 20


def main():
    arguments = parse_arguments()
    # rayon reads this when the first call starts its pool; without it the two sides could differ.
    os.environ["RAYON_NUM_THREADS"] = str(arguments.threads)
    import torch

    torch.set_num_threads(arguments.threads)
    library = load(arguments.library)
    problems = list(read_problems(arguments))
    if not problems:
        sys.exit("error: no problem is left; see --only and --problems")
    time_onednn = onednn(arguments)
    rows = []
    for line in problems:
        row = compare(torch, library, line, arguments, time_onednn)
        rows.append(row)
        if not arguments.json:
            print_row(row, first=len(rows) == 1)
    if arguments.json:
        print(json.dumps({"threads": arguments.threads, "torch": torch.__version__, "results": rows,
                          "means": means(rows)}, indent=2))
    else:
        print()
        for dtype, (int64, int32) in means(rows).items():
            print(f"geometric mean, {dtype}: {int64:.2f} times as fast as PyTorch, {int32:.2f} with int32 indices")


def parse_arguments():
    parser = argparse.ArgumentParser(description="Time poolgrad's gradients beside PyTorch's.")
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1, help="threads of each side")
    parser.add_argument("--problems", type=Path, default=ROOT / "problems" / "bench.txt", help="a list of problems")
    parser.add_argument("--only", action="append", default=[], metavar="WORD",
                        help="keep the problems that have this word; may be repeated")
    parser.add_argument("--library", type=Path, help="the shared library [default: that of cargo build --release]")
    parser.add_argument("--onednn", type=Path, metavar="PROGRAM",
                        help="the program made of onednn.c, to time oneDNN too")
    parser.add_argument("--quick", action="store_true", help="few runs: a look rather than a measurement")
    parser.add_argument("--json", action="store_true", help="print the results as JSON")
    return parser.parse_args()


# ---- problems ----

def read_problems(arguments):
    """The lines of gradients that PyTorch can compute, each once: every line is timed with both types of indices."""
    seen = set()
    for line in arguments.problems.read_text().splitlines():
        words = line.partition("#")[0].split()
        if not words or not words[0].endswith("_grad") or "far" in words:
            continue
        words = [word for word in words if word not in ("i32", "i64")]
        problem = " ".join(words)
        if problem not in seen and all(word in words for word in arguments.only):
            seen.add(problem)
            yield problem


class Problem:
    """The parameters that a line holds, as Python values."""

    def __init__(self, line):
        words = line.split()
        self.operator, self.dtype, self.channels_last = words[0], "f32", False
        values = {"k": None, "s": None, "p": [0], "d": [1], "out": None}
        self.batch, self.ceil_mode = None, False
        for word in words[1:]:
            if word in ("f32", "f64", "f16", "bf16"):
                self.dtype = word
            elif word == "ndhwc":
                self.channels_last = True
            elif word == "ceil":
                self.ceil_mode = True
            elif word.startswith("in"):
                self.input = sizes(word[2:])
            elif word.startswith("out"):
                values["out"] = sizes(word[3:])
            elif word[0] in "nc" and word[1:].replace("c", "").isdigit():
                batch, _, channels = word.rpartition("c")
                self.batch, self.channels = (int(batch[1:]) if batch else None), int(channels)
            elif word[0] in "kspd" and word[1].isdigit():
                values[word[0]] = sizes(word[1:])
            elif word not in ("ncdhw", "random"):
                raise SystemExit(f"error: {line}: this script does not know the word {word}")
        n_axes = len(self.input)
        wide = {name: v * n_axes if v is not None and len(v) == 1 else v for name, v in values.items()}
        self.kernel_size, self.output_size = wide["k"], wide["out"]
        self.stride = wide["s"] or wide["k"]
        self.padding, self.dilation = wide["p"], wide["d"]
        self.input_shape = ([] if self.batch is None else [self.batch]) + [self.channels] + self.input


def sizes(text):
    return [int(part) for part in text.split("x")]


# ---- poolgrad ----

class Tensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("dtype", ctypes.c_char_p),
        ("n_axes", ctypes.c_size_t),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
    ]


def load(path):
    names = ["libpoolgrad_peers.so", "libpoolgrad_peers.dylib", "poolgrad_peers.dll"]
    folder = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "release"
    found = [path] if path else [folder / name for name in names if (folder / name).exists()]
    if not found:
        sys.exit("error: the library is missing; run `cargo build --release -p poolgrad-peers` first")
    library = ctypes.CDLL(str(found[0]))
    tensor = ctypes.POINTER(Tensor)
    library.poolgrad_peer_new.argtypes = [ctypes.c_char_p, tensor, tensor, tensor, ctypes.c_size_t]
    library.poolgrad_peer_new.restype = ctypes.c_void_p
    library.poolgrad_peer_run.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
    library.poolgrad_peer_free.argtypes = [ctypes.c_void_p]
    library.poolgrad_peer_describe.argtypes = [ctypes.c_void_p]
    library.poolgrad_peer_describe.restype = ctypes.c_char_p
    library.poolgrad_peer_error.restype = ctypes.c_char_p
    return library


class Peer:
    """A planned call of poolgrad on PyTorch's memory."""

    def __init__(self, library, line, grad_output, indices, grad_input):
        # What is described has to live as long as the plan.
        self.library, self.tensors = library, (grad_output, indices, grad_input)
        described = [describe(tensor) for tensor in self.tensors]
        self.peer = library.poolgrad_peer_new(line.encode(), *described, 0)
        if not self.peer:
            sys.exit(f"error: {line}: {library.poolgrad_peer_error().decode()}")

    def __call__(self, n_calls=1):
        if self.library.poolgrad_peer_run(self.peer, n_calls):
            sys.exit(f"error: {self.library.poolgrad_peer_error().decode()}")

    def kernel(self):
        text = self.library.poolgrad_peer_describe(self.peer).decode()
        return text.partition("kernel ")[2].partition(",")[0]

    def __del__(self):
        self.library.poolgrad_peer_free(self.peer)


NAMES = {"float32": "f32", "float64": "f64", "float16": "f16", "bfloat16": "bf16", "int32": "i32", "int64": "i64"}


def describe(tensor):
    if tensor is None:
        return None
    axes = ctypes.c_int64 * tensor.dim()
    dtype = NAMES[str(tensor.dtype).removeprefix("torch.")].encode()
    return ctypes.byref(Tensor(tensor.data_ptr(), dtype, tensor.dim(), axes(*tensor.shape), axes(*tensor.stride())))


# ---- PyTorch ----

def torch_dtype(torch, name):
    return {"f32": torch.float32, "f64": torch.float64, "f16": torch.float16, "bf16": torch.bfloat16}[name]


def arranged(torch, problem, tensor):
    """The same values in the layout of the problem."""
    if not problem.channels_last:
        return tensor.contiguous()
    axis = 0 if problem.batch is None else 1
    return tensor.movedim(axis, -1).contiguous().movedim(-1, axis)


def forward(torch, problem, values):
    functions, n_axes = torch.nn.functional, len(problem.input)
    if problem.operator == "max_grad":
        return getattr(functions, f"max_pool{n_axes}d")(
            values, problem.kernel_size, problem.stride, problem.padding, problem.dilation, problem.ceil_mode, True)
    if problem.operator == "adaptive_max_grad":
        return getattr(functions, f"adaptive_max_pool{n_axes}d")(values, problem.output_size, True)
    return getattr(functions, f"adaptive_avg_pool{n_axes}d")(values, problem.output_size), None


def operator(torch, problem):
    """PyTorch's operator for the gradient, the name of its output, and the parameters behind the tensors."""
    n_axes, aten = len(problem.input), torch.ops.aten
    if problem.operator == "max_grad":
        parameters = (problem.kernel_size, problem.stride, problem.padding, problem.dilation, problem.ceil_mode)
        return getattr(aten, f"max_pool{n_axes}d_with_indices_backward"), "grad_input", parameters
    if problem.operator == "adaptive_max_grad":
        return getattr(aten, f"adaptive_max_pool{n_axes}d_backward"), "grad_input", ()
    if n_axes == 3:
        return aten.adaptive_avg_pool3d_backward, "grad_input", ()
    return aten._adaptive_avg_pool2d_backward, "out", ()


def backward(torch, problem, grad_output, values, indices, grad_input):
    """A call that writes PyTorch's gradient into `grad_input`."""
    packet, name, parameters = operator(torch, problem)
    into = getattr(packet, name)
    tensors = (grad_output, values, *parameters) if indices is None else (grad_output, values, *parameters, indices)
    return lambda: into(*tensors, **{name: grad_input})


def memory_for_torch(torch, problem, grad_output, values, indices):
    """An uninitialised tensor for PyTorch's gradient, in the layout in which PyTorch itself would allocate it.

    Some of its operators have no channels-last form: they copy their inputs, and write into memory of other strides as
    if it were contiguous.
    """
    if len(problem.input) == 3 and problem.operator == "adaptive_avg_grad":
        # The operator with an output has no twin that allocates under the same name.
        allocated = torch.ops.aten._adaptive_avg_pool3d_backward(grad_output, values)
    else:
        packet, _, parameters = operator(torch, problem)
        allocated = packet(*(t for t in (grad_output, values, *parameters, indices) if t is not None))
    return torch.empty_strided(allocated.shape, allocated.stride(), dtype=allocated.dtype)


# ---- comparison ----

def compare(torch, library, line, arguments, time_onednn):
    problem = Problem(line)
    torch.manual_seed(1)
    dtype = torch_dtype(torch, problem.dtype)
    values = arranged(torch, problem, torch.randn(problem.input_shape).to(dtype))
    # No gradient is zero: some memory writes zeros faster than other data.
    output, indices = forward(torch, problem, values)
    grad_output = arranged(torch, problem, (torch.rand(output.shape) + 0.5).to(dtype))
    del output
    # PyTorch gets its own indices as its forward operator wrote them: some of its gradients misread other strides.
    their_indices = indices
    indices = None if indices is None else arranged(torch, problem, indices)
    indices32 = None if indices is None else arranged(torch, problem, indices.to(torch.int32))
    theirs = memory_for_torch(torch, problem, grad_output, values, their_indices).fill_(math.nan)
    ours, ours32 = (torch.empty_like(values).fill_(math.nan) for _ in range(2))
    peers = backward(torch, problem, grad_output, values, their_indices, theirs)
    with_int64 = Peer(library, line, grad_output, indices, ours)
    sides = {"torch": peers, "poolgrad": with_int64}
    if indices32 is not None:
        sides["poolgrad_int32"] = Peer(library, f"{line} i32", grad_output, indices32, ours32)
    for side in sides.values():
        side()
    check(torch, problem, line, grad_output, values, indices, ours)
    if indices32 is not None and not same_bits(torch, ours, ours32):
        sys.exit(f"error: {line}: int32 and int64 indices give different gradients")
    agreement = agree(torch, problem, line, ours, theirs)
    times = measure(sides, arguments.quick)
    int64, int32 = times["poolgrad"], times.get("poolgrad_int32", times["poolgrad"])
    beside_onednn = time_onednn(problem) if time_onednn else {}
    if beside_onednn:
        least_read = sides.get("poolgrad_int32", with_int64)
        beside_onednn["poolgrad_within_ms"] = measure_within(least_read, arguments.quick)
    return {
        "problem": line,
        "dtype": problem.dtype,
        "torch_ms": times["torch"],
        "poolgrad_ms": int64,
        "poolgrad_int32_ms": int32 if indices32 is not None else None,
        "ratio": times["torch"] / int64,
        "ratio_int32": times["torch"] / int32,
        "kernel": with_int64.kernel(),
        "agreement": agreement,
        "grad_input_bytes": ours.nelement() * ours.element_size(),
        **beside_onednn,
    }


def same_bits(torch, one, other):
    return torch.equal(one.contiguous().view(torch.uint8), other.contiguous().view(torch.uint8))


def check(torch, problem, line, grad_output, values, indices, ours):
    """Compares our gradient with PyTorch's in a type that is wide enough, element by element."""
    def exact(dtype, change=lambda gradient: gradient):
        wide = torch.empty(problem.input_shape, dtype=dtype)
        gradient = change(grad_output.to(dtype)).contiguous()
        plain = None if indices is None else indices.contiguous()
        backward(torch, problem, gradient, values.to(dtype).contiguous(), plain, wide)()
        return wide

    if problem.operator != "adaptive_avg_grad":
        # PyTorch adds f32 and f64 in our order; the half types are our f32 sums, rounded once.
        wide = exact(torch.float64 if problem.dtype == "f64" else torch.float32)
        if not same_bits(torch, ours, wide.to(ours.dtype)):
            sys.exit(f"error: {line}: the gradient is not PyTorch's, rounded once")
        return
    # Each element is the sum of at most 8 shares, and every share and sum is rounded.
    wide, magnitude = exact(torch.float64), exact(torch.float64, torch.abs)
    sums = torch.finfo(torch.float64 if problem.dtype == "f64" else torch.float32).eps * 10 * magnitude
    rounding = torch.finfo(ours.dtype).eps * wide.abs() + torch.finfo(ours.dtype).smallest_normal
    if not ((ours.to(torch.float64) - wide).abs() <= sums + rounding).all():
        sys.exit(f"error: {line}: the gradient is not PyTorch's in f64, within the bound of rounding")


def agree(torch, problem, line, ours, theirs):
    """How far PyTorch's gradient in the same type is from ours; in the half types it rounds every sum."""
    if same_bits(torch, ours, theirs):
        return "same bits"
    difference = (ours.to(torch.float64) - theirs.to(torch.float64)).abs().max().item()
    if problem.dtype in ("f32", "f64"):
        if problem.operator != "adaptive_avg_grad":
            sys.exit(f"error: {line}: the gradient is not PyTorch's, which adds in the same order")
        if difference > 1e-5:
            sys.exit(f"error: {line}: the gradient is {difference:.1e} away from PyTorch's")
    return f"within {difference:.1e}"


def measure(sides, quick):
    """The median time of each side in milliseconds."""
    samples = {name: [] for name in sides}
    for _ in range(2 if quick else ROUNDS):
        for name, side in sides.items():
            time.sleep(PAUSE_SECONDS)
            # The side before has left its own data in the cache: the first call does not count.
            n_calls = max(1, math.ceil(SAMPLE_SECONDS / max(timed(side, 1), 1e-9)))
            start, n_samples = time.perf_counter(), 0
            while n_samples < 3 or (not quick and time.perf_counter() - start < SECONDS_PER_ROUND):
                samples[name].append(timed(side, n_calls))
                n_samples += 1
    return {name: statistics.median(times) * 1e3 for name, times in samples.items()}


def timed(side, n_calls):
    start = time.perf_counter()
    for _ in range(n_calls):
        side()
    return (time.perf_counter() - start) / n_calls


def measure_within(peer, quick):
    """The median time in milliseconds of calls that the library repeats by itself, without Python in between.

    oneDNN is timed by a program of C++.
    """
    n_calls = max(1, math.ceil(SAMPLE_SECONDS_WITHIN / max(timed(peer, 1), 1e-9)))
    samples, begin = [], time.perf_counter()
    while len(samples) < 3 or (not quick and time.perf_counter() - begin < SECONDS_WITHIN):
        start = time.perf_counter()
        peer(n_calls)
        samples.append((time.perf_counter() - start) / n_calls)
    return statistics.median(samples) * 1e3


def onednn(arguments):
    """A function that gives oneDNN's time for a problem, or None without its program."""
    if arguments.onednn is None:
        return None
    import onednn

    return onednn.timer(arguments.onednn, arguments.threads, arguments.quick)


# ---- results ----

def means(rows):
    """The geometric means of the ratios, with int64 and with int32 indices, for each type.

    Small problems are left out: there a call's own cost decides, and the ratios are of another kind.
    """
    def mean(name, dtype):
        return math.exp(statistics.fmean(math.log(row[name]) for row in large if row["dtype"] == dtype))

    large = [row for row in rows if row["grad_input_bytes"] >= MEAN_FROM_BYTES]
    dtypes = dict.fromkeys(row["dtype"] for row in large)
    return {dtype: (mean("ratio", dtype), mean("ratio_int32", dtype)) for dtype in dtypes}


def print_row(row, first):
    if first:
        print(f"{'problem':<62} {'PyTorch':>9} {'poolgrad':>9} {'int32':>9}   {'ratio':>6} {'int32':>6}  agreement")
    int32 = row["poolgrad_int32_ms"]
    int32 = "" if int32 is None else f"{int32:.3f}"
    more = ""
    if "onednn_ms" in row:
        times = f"{row['onednn_ms']:.4f} ms ({row['onednn_layout']}) to {row['poolgrad_within_ms']:.4f} ms"
        more = f", oneDNN {times}: {row['onednn_ms'] / row['poolgrad_within_ms']:.2f}"
    print(f"{row['problem']:<62} {row['torch_ms']:>9.3f} {row['poolgrad_ms']:>9.3f} {int32:>9}   "
          f"{row['ratio']:>6.2f} {row['ratio_int32']:>6.2f}  {row['agreement']}{more}", flush=True)


if __name__ == "__main__":
    main()

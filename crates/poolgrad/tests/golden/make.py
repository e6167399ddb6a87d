#!/usr/bin/env python3
"""Makes the golden files beside this script: what PyTorch answers to small pooling problems.

Each file is one case, computed in every element type. For an element type T of `f32`, `f64`, `f16` and `bf16` it holds

    T.input, T.grad_output      what was given
    T.output, T.grad_input      what PyTorch answered in T
    T.indices                   where the maxima lie (max poolings; i64)
    T.grad_input_f32            the answer in f32 to the same numbers, widened (f16 and bf16)
    T.output_f32                the same for the output (f16 and bf16, averages)
    T.grad_input_magnitude      the answer in f64 to |grad_output|, as f32: what error bounds are relative to
    T.output_magnitude          the answer in f64 to |input|, as f32 (averages)

and, as metadata, the operator, its parameters, the seed, and the versions of everything that took part.

Usage, with `torch`, `numpy` and `safetensors` installed:

    python make.py            # write all files
    python make.py --check    # write nothing; fail if a file would change
    python make.py --list     # print the names of the cases
"""

from __future__ import annotations

import argparse
import json
import pathlib
import platform
import sys
import zlib
from dataclasses import dataclass, field

import numpy
import safetensors
import safetensors.torch
import torch
import torch.nn.functional as F

DTYPES = {"f32": torch.float32, "f64": torch.float64, "f16": torch.float16, "bf16": torch.bfloat16}
HALVES = ("f16", "bf16")

# What PyTorch cannot do on the CPU, as {(function name, element type): reason}. Such a pair is left out of its file,
# and the file's metadata says so. Nothing needed leaving out with PyTorch 2.15; a pair that raises without standing
# here stops the script.
UNSUPPORTED: dict[tuple[str, str], str] = {}


@dataclass(frozen=True)
class Case:
    """One problem: an operator, its parameters, the shape of the input, and how numbers are drawn."""

    name: str
    input_shape: tuple[int, ...]
    parameters: dict
    fill: str = "normal"

    @property
    def operator(self) -> str:
        """`max`, `adaptive_max` or `adaptive_avg`."""
        return self.name[: self.name.index("d_") - 2]

    @property
    def n_spatial(self) -> int:
        """The number of spatial axes, from the name: `max_2d_ties` has two."""
        return int(self.name[self.name.index("d_") - 1])

    @property
    def function_name(self) -> str:
        """The function of `torch.nn.functional` that answers."""
        return f"{self.operator}_pool{self.n_spatial}d"

    @property
    def is_average(self) -> bool:
        """Whether the operator is an average."""
        return self.operator == "adaptive_avg"

    def forward(self, input: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor | None]:
        """The output, and for a max pooling the indices."""
        function = getattr(F, self.function_name)
        if self.is_average:
            return function(input, **self.parameters), None
        return function(input, **self.parameters, return_indices=True)


def window(kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False) -> dict:
    """The parameters of a max pooling; no stride means the kernel size."""
    return {
        "kernel_size": kernel_size,
        "stride": kernel_size if stride is None else stride,
        "padding": padding,
        "dilation": dilation,
        "ceil_mode": ceil_mode,
    }


def to(*output_size) -> dict:
    """The parameters of an adaptive pooling."""
    return {"output_size": output_size}


# Names are OPERATOR_AXES_WHAT. Sizes differ from axis to axis, so that swapped axes show.
MAX_CASES = [
    Case("max_1d_touching", (2, 3, 17), window(2)),
    Case("max_1d_overlap", (2, 2, 19), window(5, 2, 2)),
    Case("max_1d_special", (3, 19), window(3, 1, 1), "special"),
    Case("max_2d_touching", (2, 2, 8, 6), window((4, 3))),
    Case("max_2d_overlap", (2, 2, 7, 9), window(3, 1, 1)),
    Case("max_2d_ceil", (1, 2, 8, 10), window(3, 2, 1, 1, True)),
    # Along W the last window would start in the right padding, and is dropped.
    Case("max_2d_ceil_dropped", (1, 2, 6, 5), window((3, 2), (2, 2), (1, 1), 1, True)),
    Case("max_2d_dilation", (1, 2, 11, 13), window(3, 2, 1, 2)),
    Case("max_2d_gaps", (1, 3, 11, 13), window(2, (4, 3))),
    Case("max_2d_ties", (1, 2, 9, 8), window(3, 2, 1), "ties"),
    Case("max_2d_special", (2, 2, 8, 9), window(3, 2, 1), "special"),
    Case("max_2d_unbatched", (3, 7, 9), window((3, 2), (2, 1), (1, 0))),
    Case("max_3d_touching", (2, 2, 4, 6, 5), window((2, 3, 5))),
    Case("max_3d_overlap", (1, 2, 4, 5, 6), window(3, 1, 1)),
    Case("max_3d_ceil", (1, 2, 5, 6, 8), window((2, 3, 3), 2, 1, 1, True)),
    Case("max_3d_dilation", (1, 1, 7, 8, 9), window((2, 3, 3), (1, 2, 2), (1, 1, 0), (3, 2, 3))),
    Case("max_3d_gaps", (1, 2, 7, 5, 8), window((1, 2, 2), (3, 3, 5))),
    Case("max_3d_ties", (1, 2, 4, 5, 7), window(3, (1, 2, 2), 1), "ties"),
    Case("max_3d_special", (1, 3, 4, 5, 6), window((2, 3, 2), (1, 2, 2), (1, 1, 0)), "special"),
    Case("max_3d_unbatched", (2, 5, 4, 7), window((3, 2, 3), (2, 2, 1), (0, 1, 1))),
]
ADAPTIVE_CASES = [
    ("1d_uneven", (2, 3, 13), to(5), "normal"),
    ("1d_larger", (1, 2, 5), to(9), "normal"),
    ("2d_divides", (2, 2, 8, 9), to(4, 3), "normal"),
    ("2d_uneven", (2, 2, 7, 11), to(4, 5), "normal"),
    ("2d_larger", (1, 2, 3, 4), to(7, 4), "normal"),
    ("2d_one", (2, 3, 5, 7), to(1, 1), "normal"),
    ("2d_ties", (1, 2, 7, 9), to(3, 4), "ties"),
    ("2d_special", (1, 4, 7, 8), to(3, 5), "special"),
    ("2d_unbatched", (3, 6, 7), to(4, 3), "normal"),
    ("3d_divides", (1, 2, 4, 6, 8), to(2, 3, 4), "normal"),
    ("3d_uneven", (1, 2, 5, 7, 6), to(3, 4, 5), "normal"),
    ("3d_larger", (1, 2, 2, 3, 4), to(5, 3, 6), "normal"),
    ("3d_one", (2, 2, 3, 4, 5), to(1, 1, 1), "normal"),
    ("3d_ties", (1, 2, 4, 5, 7), to(3, 3, 2), "ties"),
    ("3d_special", (1, 3, 4, 5, 6), to(3, 2, 4), "special"),
    ("3d_unbatched", (2, 4, 5, 7), to(3, 5, 2), "normal"),
]
CASES = MAX_CASES + [
    Case(f"{operator}_{what}", shape, parameters, fill)
    for operator in ("adaptive_max", "adaptive_avg")
    for what, shape, parameters, fill in ADAPTIVE_CASES
]


@dataclass
class Draw:
    """Draws numbers for a case; the same for the same seed on every machine."""

    case: Case
    seed: int
    random: numpy.random.Generator = field(init=False)

    def __post_init__(self):
        self.random = numpy.random.Generator(numpy.random.PCG64(self.seed))

    def tensor(self, shape, dtype: torch.dtype) -> torch.Tensor:
        """Numbers of the case's kind, rounded to `dtype`."""
        if self.case.fill == "ties":
            values = self.random.integers(-2, 3, size=shape).astype("f8")
            # Zeros of both signs tie as well.
            values[self.random.random(shape) < 0.05] = -0.0
        else:
            # Scales far apart, so that sums depend on the order of their terms.
            scale = numpy.exp2(self.random.integers(-6, 7, size=shape).astype("f8"))
            values = self.random.standard_normal(shape) * scale
        tensor = torch.tensor(values, dtype=torch.float64).to(dtype)
        if self.case.fill == "special":
            self.add_specials(tensor)
        return tensor

    def add_specials(self, tensor: torch.Tensor):
        """Writes NaN, infinities, negative zeros and subnormal numbers over a third of `tensor`."""
        limits = torch.finfo(tensor.dtype)
        specials = [float("nan"), float("inf"), float("-inf"), -0.0, limits.smallest_normal / 2]
        if not self.case.is_average:
            # Two of these have no sum, so an average of them would depend on the order.
            specials.append(limits.max)
        flat = tensor.view(-1)
        chosen = self.random.permutation(len(flat))[: len(flat) // 3]
        for place, which in zip(chosen, self.random.integers(0, len(specials), size=len(chosen))):
            flat[int(place)] = specials[int(which)]
        # Windows of nothing but negative infinity, where padding must not win, and of several NaN.
        flat[: len(flat) // 8] = float("-inf")
        flat[-3:] = float("nan")


def answer(case: Case, input: torch.Tensor, grad_output: torch.Tensor) -> dict[str, torch.Tensor]:
    """PyTorch's output, indices and gradient, in the type of `input`."""
    input = input.clone().requires_grad_()
    output, indices = case.forward(input)
    output.backward(grad_output)
    tensors = {"output": output.detach(), "grad_input": input.grad}
    if indices is not None:
        tensors["indices"] = indices
    return tensors


def tensors_of(case: Case, draw: Draw, dtype: torch.dtype) -> dict[str, torch.Tensor]:
    """Everything that a file holds for one element type."""
    input = draw.tensor(case.input_shape, dtype)
    grad_output = draw.tensor(case.forward(input)[0].shape, dtype)
    tensors = {"input": input, "grad_output": grad_output, **answer(case, input, grad_output)}
    is_half = dtype in (torch.float16, torch.bfloat16)
    if is_half:
        wide = answer(case, input.float(), grad_output.float())
        tensors["grad_input_f32"] = wide["grad_input"]
        if case.is_average:
            tensors["output_f32"] = wide["output"]
        else:
            # Widening changes no comparison, so the places have to be the same.
            assert torch.equal(wide["indices"], tensors["indices"]), case.name
    if is_half or case.is_average:
        # A max pooling has to send |grad_output| to the places that `input` chose.
        source = input.double().abs() if case.is_average else input.double()
        magnitude = answer(case, source, grad_output.double().abs())
        tensors["grad_input_magnitude"] = magnitude["grad_input"].float()
        if case.is_average:
            tensors["output_magnitude"] = magnitude["output"].float()
    return tensors


def file_of(case: Case) -> bytes:
    """The golden file of a case."""
    seed = zlib.crc32(case.name.encode())
    tensors, left_out = {}, {}
    for name, dtype in DTYPES.items():
        reason = UNSUPPORTED.get((case.function_name, name))
        if reason is not None:
            left_out[name] = reason
            continue
        for role, tensor in tensors_of(case, Draw(case, seed), dtype).items():
            tensors[f"{name}.{role}"] = tensor.contiguous()
    metadata = {
        "operator": case.operator,
        "n_spatial": str(case.n_spatial),
        **{name: json.dumps(value) for name, value in case.parameters.items()},
        "fill": case.fill,
        "function": f"torch.nn.functional.{case.function_name}",
        "dtypes": " ".join(name for name in DTYPES if name not in left_out),
        "dtypes_left_out": json.dumps(left_out),
        "seed": str(seed),
        "torch": torch.__version__,
        "numpy": numpy.__version__,
        "safetensors": safetensors.__version__,
        "python": platform.python_version(),
        "made_by": "crates/poolgrad/tests/golden/make.py",
    }
    return ordered(safetensors.torch.save(tensors, metadata=metadata))


def ordered(file: bytes) -> bytes:
    """The same file with the names in its header sorted, so that the same answers give the same bytes."""
    length = int.from_bytes(file[:8], "little")
    header = json.dumps(json.loads(file[8 : 8 + length]), sort_keys=True, separators=(",", ":")).encode()
    header += b" " * (-len(header) % 8)
    return len(header).to_bytes(8, "little") + header + file[8 + length :]


def main() -> int:
    parser = argparse.ArgumentParser(description="Make golden files of pooling gradients with PyTorch.")
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path(__file__).parent, help="folder of the files")
    mode = parser.add_mutually_exclusive_group()
    mode.add_argument("--check", action="store_true", help="write nothing; fail if a file would change")
    mode.add_argument("--list", action="store_true", help="print the names of the cases")
    arguments = parser.parse_args()
    if arguments.list:
        print("\n".join(case.name for case in CASES))
        return 0

    # One thread and no alternative kernels: the plain path is what the files record.
    torch.set_num_threads(1)
    total, changed = 0, []
    for case in CASES:
        path = arguments.out / f"{case.name}.safetensors"
        file = file_of(case)
        total += len(file)
        if not path.is_file() or path.read_bytes() != file:
            changed.append(path.name)
            if not arguments.check:
                path.write_bytes(file)
    verb = "would change" if arguments.check else "written"
    print(f"{len(CASES)} cases, {total} bytes, {len(changed)} {verb}", *changed, sep="\n  ")
    return 1 if arguments.check and changed else 0


if __name__ == "__main__":
    sys.exit(main())

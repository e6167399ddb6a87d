"""The compiled half of the package: tensors of any array library in, pooling and its gradients out.

Arrays are written in place. The length of `kernel_size` or `output_size` is the number of spatial axes; other
parameters may be ints. `poolgrad` wraps these functions; for callers in a hurry they are public too.
"""

from collections.abc import Sequence
from typing import Any, Literal, TypedDict, final

__version__: str

_Numbers = int | Sequence[int]
_Operation = Literal[
    "max_pool",
    "max_pool_backward",
    "adaptive_max_pool",
    "adaptive_max_pool_backward",
    "adaptive_avg_pool",
    "adaptive_avg_pool_backward",
]

class _Info(TypedDict):
    version: str
    isa: str
    isa_levels: list[str]
    threads: int

def max_pool(
    input: Any,
    out: Any,
    indices_out: Any | None,
    kernel_size: _Numbers,
    stride: _Numbers | None,
    padding: _Numbers,
    dilation: _Numbers,
    ceil_mode: bool,
    threads: int | None = None,
) -> None: ...
def max_pool_backward(
    grad_output: Any,
    indices: Any,
    grad_input: Any,
    kernel_size: _Numbers,
    stride: _Numbers | None,
    padding: _Numbers,
    dilation: _Numbers,
    ceil_mode: bool,
    threads: int | None = None,
) -> None: ...
def adaptive_max_pool(
    input: Any, out: Any, indices_out: Any | None, output_size: _Numbers, threads: int | None = None
) -> None: ...
def adaptive_max_pool_backward(
    grad_output: Any, indices: Any, grad_input: Any, n_spatial: int, threads: int | None = None
) -> None: ...
def adaptive_avg_pool(input: Any, out: Any, output_size: _Numbers, threads: int | None = None) -> None: ...
def adaptive_avg_pool_backward(
    grad_output: Any, grad_input: Any, n_spatial: int, threads: int | None = None
) -> None: ...
def max_pool_shape(
    input_shape: Sequence[int],
    kernel_size: _Numbers,
    stride: _Numbers | None,
    padding: _Numbers,
    dilation: _Numbers,
    ceil_mode: bool,
) -> tuple[int, ...]: ...
def adaptive_pool_shape(input_shape: Sequence[int], output_size: _Numbers) -> tuple[int, ...]: ...
def describe(array: Any) -> tuple[tuple[int, ...], tuple[int, ...], str]: ...
def info() -> _Info: ...
def plan(
    operation: _Operation,
    *arrays: Any,
    kernel_size: _Numbers | None = None,
    stride: _Numbers | None = None,
    padding: _Numbers | None = None,
    dilation: _Numbers | None = None,
    ceil_mode: bool = False,
    output_size: _Numbers | None = None,
    n_spatial: int | None = None,
    threads: int | None = None,
    isa: str | None = None,
    kernel: str | None = None,
    bad_indices: Literal["refuse", "drop"] = "refuse",
) -> Plan: ...

@final
class Plan:
    def run(self, *arrays: Any) -> None: ...
    def explain(self) -> str: ...
    @property
    def operation(self) -> _Operation: ...
    @property
    def kernel(self) -> str: ...
    @property
    def isa(self) -> str: ...
    @property
    def threads(self) -> int: ...
    @property
    def tiles(self) -> int: ...
    @property
    def workspace_bytes(self) -> int: ...

"""What the kernels have in common: when a call is taken, and what is done about one that is not."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

Kernel = Callable[..., Any]

#: Whether a forward kernel should compute a tensor: the tensor, its format, and `kernel_size` or `output_size`.
Worth = Callable[[Tensor, torch.memory_format, Sequence[int]], bool]

#: What the compiled module raises for arguments that it does not take. `IndexError` is not among them.
REFUSALS = (ValueError, TypeError, BufferError, OverflowError)

#: Types in which PyTorch pools and this library does too.
FLOATS = frozenset((torch.float32, torch.float64, torch.float16, torch.bfloat16))

int64 = torch.int64
n_threads = torch.get_num_threads

#: Whether a tensor shares its memory until someone writes. To export such memory copies it, and PyTorch promises that
#: an operator leaves its inputs shared, so calls with one are passed on.
is_copy_on_write: Callable[[Tensor], bool] = torch._C._is_cow_tensor  # type: ignore[attr-defined]


def takes_input(self: Tensor) -> bool:
    """Whether a forward kernel can compute an output of `self`, as far as that alone decides it."""
    return self.dtype in FLOATS and self.numel() > 0 and not is_copy_on_write(self)


def without_overrides(kernel: Kernel) -> Kernel:
    """Runs `kernel` so that subclasses of `Tensor` and function modes do not see the calls it makes itself.

    PyTorch's own kernels are not seen either. The dispatcher calls them with subclasses when autograd has kept some.
    """

    def guarded(*arguments: Any, **keywords: Any) -> Any:
        with torch._C.DisableTorchFunction():
            return kernel(*arguments, **keywords)

    return guarded


def refuse_bad_indices(indices: Tensor, self: Tensor, n_axes: int, least: int) -> None:
    """Raises `IndexError` for indices that PyTorch's own kernel would write through, outside of `grad_input`."""
    if indices.dtype is not int64 or indices.numel() == 0 or self.dim() <= n_axes:
        return
    volume = self.shape[-n_axes:].numel()
    low, high = (int(bound) for bound in torch.aminmax(indices))
    if low < least or high >= volume:
        wrong = low if low < least else high
        raise IndexError(f"indices must point into a volume of {volume} elements, got {wrong}")

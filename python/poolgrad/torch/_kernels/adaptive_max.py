"""CPU kernels for adaptive max pooling, with the signatures of PyTorch's operators."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from torch import Tensor
from torch.overrides import has_torch_function_variadic

from ... import _core
from .._layout import FormatRule, empty, empty_as
from .._operator import Operator
from .common import (
    REFUSALS,
    Kernel,
    Worth,
    int64,
    is_copy_on_write,
    n_threads,
    refuse_bad_indices,
    takes_input,
    without_overrides,
)


def adaptive_max_pool(format_of: FormatRule, operator: Operator, worth: Worth) -> Kernel:
    """`adaptive_max_pool{2,3}d`."""
    n_axes, pass_on, core = operator.n_axes, operator.pass_on, _core.adaptive_max_pool

    def kernel(self: Tensor, output_size: Sequence[int]) -> Any:
        if has_torch_function_variadic(self):
            return guarded(self, output_size)
        format = format_of(self)
        if len(output_size) == n_axes and takes_input(self) and worth(self, format, output_size):
            try:
                shape = [*self.shape[:-n_axes], *output_size]
                output, indices = empty(shape, format, self), empty(shape, format, self, int64)
                core(self, output, indices, output_size, n_threads())
            except (*REFUSALS, RuntimeError):
                # PyTorch raises RuntimeError for negative sizes of a tensor.
                pass
            else:
                operator.n_taken += 1
                return output, indices
        return pass_on(self, output_size)

    guarded = without_overrides(kernel)
    return kernel


def adaptive_max_pool_out(format_of: FormatRule, operator: Operator, worth: Worth) -> Kernel:
    """`adaptive_max_pool{2,3}d.out`."""
    n_axes, pass_on, core = operator.n_axes, operator.pass_on, _core.adaptive_max_pool

    def kernel(self: Tensor, output_size: Sequence[int], *, out: Tensor, indices: Tensor) -> Any:
        if has_torch_function_variadic(self, out, indices):
            return guarded(self, output_size, out=out, indices=indices)
        if (
            len(output_size) == n_axes
            and indices.dtype is int64
            and takes_input(self)
            and worth(self, format_of(self), output_size)
        ):
            try:
                core(self, out, indices, output_size, n_threads())
            except REFUSALS:
                pass
            else:
                operator.n_taken += 1
                return out, indices
        return pass_on(self, output_size, out=out, indices=indices)

    guarded = without_overrides(kernel)
    return kernel


def adaptive_max_pool_backward(format_of: FormatRule, operator: Operator) -> Kernel:
    """`adaptive_max_pool{2,3}d_backward`."""
    n_axes, pass_on, core = operator.n_axes, operator.pass_on, _core.adaptive_max_pool_backward

    def kernel(grad_output: Tensor, self: Tensor, indices: Tensor) -> Any:
        if has_torch_function_variadic(grad_output, self, indices):
            return guarded(grad_output, self, indices)
        if (
            indices.dtype is int64
            and grad_output.numel()
            and not is_copy_on_write(grad_output)
            and not is_copy_on_write(indices)
        ):
            try:
                grad_input = empty_as(self, format_of(self))
                core(grad_output, indices, grad_input, n_axes, n_threads())
            except REFUSALS:
                pass
            else:
                operator.n_taken += 1
                return grad_input
        refuse_bad_indices(indices, self, n_axes, 0)
        return pass_on(grad_output, self, indices)

    guarded = without_overrides(kernel)
    return kernel


def adaptive_max_pool_backward_out(operator: Operator) -> Kernel:
    """`adaptive_max_pool{2,3}d_backward.grad_input`."""
    n_axes, pass_on, core = operator.n_axes, operator.pass_on, _core.adaptive_max_pool_backward

    def kernel(grad_output: Tensor, self: Tensor, indices: Tensor, *, grad_input: Tensor) -> Any:
        if has_torch_function_variadic(grad_output, self, indices, grad_input):
            return guarded(grad_output, self, indices, grad_input=grad_input)
        if (
            indices.dtype is int64
            and grad_output.numel()
            and grad_input.shape == self.shape
            and grad_input.dtype is self.dtype
            and not is_copy_on_write(grad_output)
            and not is_copy_on_write(indices)
        ):
            try:
                core(grad_output, indices, grad_input, n_axes, n_threads())
            except REFUSALS:
                pass
            else:
                operator.n_taken += 1
                return grad_input
        refuse_bad_indices(indices, self, n_axes, 0)
        return pass_on(grad_output, self, indices, grad_input=grad_input)

    guarded = without_overrides(kernel)
    return kernel

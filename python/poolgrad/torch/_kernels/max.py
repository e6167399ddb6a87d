"""CPU kernels for max pooling with fixed windows, with the signatures of PyTorch's operators."""

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


def max_pool(format_of: FormatRule, operator: Operator, worth: Worth) -> Kernel:
    """`max_pool{2,3}d_with_indices`."""
    n_axes, pass_on, core, shape_of = operator.n_axes, operator.pass_on, _core.max_pool, _core.max_pool_shape
    zeros, ones = [0] * n_axes, [1] * n_axes

    def kernel(
        self: Tensor,
        kernel_size: Sequence[int],
        stride: Sequence[int] = (),
        padding: Sequence[int] = zeros,
        dilation: Sequence[int] = ones,
        ceil_mode: bool = False,
    ) -> Any:
        if has_torch_function_variadic(self):
            return guarded(self, kernel_size, stride, padding, dilation, ceil_mode)
        format = format_of(self)
        if len(kernel_size) == n_axes and takes_input(self) and worth(self, format, kernel_size):
            try:
                shape = shape_of(self.shape, kernel_size, stride, padding, dilation, ceil_mode)
                output, indices = empty(shape, format, self), empty(shape, format, self, int64)
                core(self, output, indices, kernel_size, stride, padding, dilation, ceil_mode, n_threads())
            except REFUSALS:
                pass
            else:
                operator.n_taken += 1
                return output, indices
        return pass_on(self, kernel_size, stride, padding, dilation, ceil_mode)

    guarded = without_overrides(kernel)
    return kernel


def max_pool_out(format_of: FormatRule, operator: Operator, worth: Worth) -> Kernel:
    """`max_pool{2,3}d_with_indices.out`."""
    n_axes, pass_on, core = operator.n_axes, operator.pass_on, _core.max_pool
    zeros, ones = [0] * n_axes, [1] * n_axes

    def kernel(
        self: Tensor,
        kernel_size: Sequence[int],
        stride: Sequence[int] = (),
        padding: Sequence[int] = zeros,
        dilation: Sequence[int] = ones,
        ceil_mode: bool = False,
        *,
        out: Tensor,
        indices: Tensor,
    ) -> Any:
        if has_torch_function_variadic(self, out, indices):
            return guarded(self, kernel_size, stride, padding, dilation, ceil_mode, out=out, indices=indices)
        if (
            len(kernel_size) == n_axes
            and indices.dtype is int64
            and takes_input(self)
            and worth(self, format_of(self), kernel_size)
        ):
            try:
                core(self, out, indices, kernel_size, stride, padding, dilation, ceil_mode, n_threads())
            except REFUSALS:
                pass
            else:
                operator.n_taken += 1
                return out, indices
        return pass_on(self, kernel_size, stride, padding, dilation, ceil_mode, out=out, indices=indices)

    guarded = without_overrides(kernel)
    return kernel


def max_pool_backward(format_of: FormatRule, operator: Operator) -> Kernel:
    """`max_pool{2,3}d_with_indices_backward`."""
    n_axes, pass_on, core = operator.n_axes, operator.pass_on, _core.max_pool_backward

    def kernel(
        grad_output: Tensor,
        self: Tensor,
        kernel_size: Sequence[int],
        stride: Sequence[int],
        padding: Sequence[int],
        dilation: Sequence[int],
        ceil_mode: bool,
        indices: Tensor,
    ) -> Any:
        if has_torch_function_variadic(grad_output, self, indices):
            return guarded(grad_output, self, kernel_size, stride, padding, dilation, ceil_mode, indices)
        if (
            len(kernel_size) == n_axes
            and indices.dtype is int64
            and grad_output.numel()
            and not is_copy_on_write(grad_output)
            and not is_copy_on_write(indices)
        ):
            try:
                grad_input = empty_as(self, format_of(self))
                core(grad_output, indices, grad_input, kernel_size, stride, padding, dilation, ceil_mode, n_threads())
            except REFUSALS:
                pass
            else:
                operator.n_taken += 1
                return grad_input
        # -1 is what PyTorch's forward operator writes for a window without an element.
        refuse_bad_indices(indices, self, n_axes, -1)
        return pass_on(grad_output, self, kernel_size, stride, padding, dilation, ceil_mode, indices)

    guarded = without_overrides(kernel)
    return kernel


def max_pool_backward_out(operator: Operator) -> Kernel:
    """`max_pool{2,3}d_with_indices_backward.grad_input`."""
    n_axes, pass_on, core = operator.n_axes, operator.pass_on, _core.max_pool_backward

    def kernel(
        grad_output: Tensor,
        self: Tensor,
        kernel_size: Sequence[int],
        stride: Sequence[int],
        padding: Sequence[int],
        dilation: Sequence[int],
        ceil_mode: bool,
        indices: Tensor,
        *,
        grad_input: Tensor,
    ) -> Any:
        if has_torch_function_variadic(grad_output, self, indices, grad_input):
            return guarded(
                grad_output, self, kernel_size, stride, padding, dilation, ceil_mode, indices, grad_input=grad_input
            )
        if (
            len(kernel_size) == n_axes
            and indices.dtype is int64
            and grad_output.numel()
            and grad_input.shape == self.shape
            and grad_input.dtype is self.dtype
            and not is_copy_on_write(grad_output)
            and not is_copy_on_write(indices)
        ):
            try:
                core(grad_output, indices, grad_input, kernel_size, stride, padding, dilation, ceil_mode, n_threads())
            except REFUSALS:
                pass
            else:
                operator.n_taken += 1
                return grad_input
        refuse_bad_indices(indices, self, n_axes, -1)
        return pass_on(
            grad_output, self, kernel_size, stride, padding, dilation, ceil_mode, indices, grad_input=grad_input
        )

    guarded = without_overrides(kernel)
    return kernel

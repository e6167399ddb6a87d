"""CPU kernels for adaptive average pooling, with the signatures of PyTorch's operators."""

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
    is_copy_on_write,
    n_threads,
    takes_input,
    without_overrides,
)


def adaptive_avg_pool(format_of: FormatRule, operator: Operator, worth: Worth) -> Kernel:
    """`_adaptive_avg_pool{2,3}d`."""
    n_axes, pass_on, core = operator.n_axes, operator.pass_on, _core.adaptive_avg_pool

    def kernel(self: Tensor, output_size: Sequence[int]) -> Any:
        if has_torch_function_variadic(self):
            return guarded(self, output_size)
        format = format_of(self)
        if len(output_size) == n_axes and takes_input(self) and worth(self, format, output_size):
            try:
                output = empty([*self.shape[:-n_axes], *output_size], format, self)
                core(self, output, output_size, n_threads())
            except (*REFUSALS, RuntimeError):
                # PyTorch raises RuntimeError for negative sizes of a tensor.
                pass
            else:
                operator.n_taken += 1
                return output
        return pass_on(self, output_size)

    guarded = without_overrides(kernel)
    return kernel


def adaptive_avg_pool_out(format_of: FormatRule, operator: Operator, worth: Worth) -> Kernel:
    """`adaptive_avg_pool{2,3}d.out`."""
    n_axes, pass_on, core = operator.n_axes, operator.pass_on, _core.adaptive_avg_pool

    def kernel(self: Tensor, output_size: Sequence[int], *, out: Tensor) -> Any:
        if has_torch_function_variadic(self, out):
            return guarded(self, output_size, out=out)
        if len(output_size) == n_axes and takes_input(self) and worth(self, format_of(self), output_size):
            try:
                core(self, out, output_size, n_threads())
            except REFUSALS:
                pass
            else:
                operator.n_taken += 1
                return out
        return pass_on(self, output_size, out=out)

    guarded = without_overrides(kernel)
    return kernel


def adaptive_avg_pool_backward(format_of: FormatRule, operator: Operator) -> Kernel:
    """`_adaptive_avg_pool{2,3}d_backward`."""
    n_axes, pass_on, core = operator.n_axes, operator.pass_on, _core.adaptive_avg_pool_backward

    def kernel(grad_output: Tensor, self: Tensor) -> Any:
        if has_torch_function_variadic(grad_output, self):
            return guarded(grad_output, self)
        if grad_output.numel() and not is_copy_on_write(grad_output):
            try:
                grad_input = empty_as(self, format_of(self))
                core(grad_output, grad_input, n_axes, n_threads())
            except REFUSALS:
                pass
            else:
                operator.n_taken += 1
                return grad_input
        return pass_on(grad_output, self)

    guarded = without_overrides(kernel)
    return kernel


def adaptive_avg_pool_backward_out(operator: Operator) -> Kernel:
    """`adaptive_avg_pool3d_backward.grad_input`."""
    n_axes, pass_on, core = operator.n_axes, operator.pass_on, _core.adaptive_avg_pool_backward

    def kernel(grad_output: Tensor, self: Tensor, *, grad_input: Tensor) -> Any:
        if has_torch_function_variadic(grad_output, self, grad_input):
            return guarded(grad_output, self, grad_input=grad_input)
        if (
            grad_output.numel()
            and grad_input.shape == self.shape
            and grad_input.dtype is self.dtype
            and not is_copy_on_write(grad_output)
        ):
            try:
                core(grad_output, grad_input, n_axes, n_threads())
            except REFUSALS:
                pass
            else:
                operator.n_taken += 1
                return grad_input
        return pass_on(grad_output, self, grad_input=grad_input)

    guarded = without_overrides(kernel)
    return kernel

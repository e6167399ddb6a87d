"""The operators `torch.ops.poolgrad.*`: pooling and its gradients as PyTorch operators of this library's own.

Each has a CPU kernel, a fake kernel for `torch.compile` and `torch.export`, a formula for autograd and a rule for
`vmap`. For each number of spatial axes, 1 to 3, there are

* `max_pool{n}d` and `adaptive_max_pool{n}d`, which give output and indices, and `adaptive_avg_pool{n}d`;
* their gradients, named `..._backward`, which take the sizes of the input rather than the input: autograd keeps the
  indices, and nothing else.

Gradients of max poolings can be differentiated again, any number of times: they are linear, and their own gradient
fetches from where the indices point.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from .. import _core
from ._kernels.common import n_threads
from ._layout import CONTIGUOUS, by_strides_2d, by_strides_3d, empty
from ._sizes import max_pool_size

_WINDOW = "SymInt[] kernel_size, SymInt[] stride, SymInt[] padding, SymInt[] dilation, bool ceil_mode"

#: The registrations live as long as this.
library: Any = torch.library.Library("poolgrad", "DEF")  # type: ignore[no-untyped-call]


def _format(tensor: Tensor, n_axes: int) -> torch.memory_format:
    """The memory format of what is made from `tensor`."""
    if n_axes == 1 or tensor.dim() != n_axes + 2:
        return CONTIGUOUS
    return by_strides_2d(tensor) if n_axes == 2 else by_strides_3d(tensor)


def _define(name: str, signature: str, compute: Callable[..., Any], fake: Callable[..., Any]) -> None:
    library.define(f"{name}{signature}", tags=(torch.Tag.pt2_compliant_tag,))
    library.impl(name, compute, "CPU")
    torch.library.register_fake(f"poolgrad::{name}", fake, lib=library)


def _check(input: Tensor, name: str, sizes: Sequence[int], n_axes: int) -> None:
    """Raises for what the compiled module would take for a pooling over another number of axes."""
    if len(sizes) != n_axes:
        raise ValueError(f"{name} must have {n_axes} numbers, got {len(sizes)}")
    if input.dim() not in (n_axes + 1, n_axes + 2):
        raise ValueError(f"input must have {n_axes + 1} or {n_axes + 2} axes, got {input.dim()}")


def _empty_max(input: Tensor, size: Sequence[int], index_dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    """Output and indices of a max pooling to `size`."""
    n_axes = len(size)
    shape, format = [*input.shape[:-n_axes], *size], _format(input, n_axes)
    return empty(shape, format, input), empty(shape, format, input, index_dtype)


def _empty_grad_input(grad_output: Tensor, input_size: Sequence[int], n_axes: int) -> Tensor:
    return empty(input_size, _format(grad_output, n_axes), grad_output)


# ---- vmap ----


def _vmap_rule(n_axes: int, n_tensors: int, size_argument: int | None = None) -> Callable[..., Any]:
    """Poolings treat every plane by itself, so a dimension that is mapped over becomes part of N."""

    def rule(operator: Any) -> Callable[..., Any]:
        def batched(info: Any, in_dims: Any, *arguments: Any) -> Any:
            batch = info.batch_size
            folded: list[Any] = list(arguments)
            n_leading = 0
            for i in range(n_tensors):
                tensor, axis = arguments[i], in_dims[i]
                tensor = tensor.expand(batch, *tensor.shape) if axis is None else tensor.movedim(axis, 0)
                n_leading = tensor.dim() - n_axes
                folded[i] = tensor.reshape(-1, *tensor.shape[-n_axes - 1 :]) if n_leading == 3 else tensor
            if size_argument is not None:
                size = arguments[size_argument]
                folded[size_argument] = [batch * size[0], *size[1:]] if n_leading == 3 else [batch, *size]
            results = operator(*folded)

            def unfold(result: Tensor) -> Tensor:
                return result.view(batch, -1, *result.shape[1:]) if n_leading == 3 else result

            if isinstance(results, tuple):
                return tuple(unfold(result) for result in results), (0,) * len(results)
            return unfold(results), 0

        return batched

    return rule


# ---- registration ----


def _fetch(tensor: Tensor, indices: Tensor, n_axes: int) -> Tensor:
    """The elements of `tensor`, of the input's sizes, that `indices` point to."""
    places = indices.reshape(*indices.shape[:-n_axes], -1).long()
    return tensor.reshape(*tensor.shape[:-n_axes], -1).gather(-1, places).view(indices.shape)


def _register_max_pool(n: int) -> None:
    name = f"max_pool{n}d"

    def forward(
        input: Tensor,
        kernel_size: Sequence[int],
        stride: Sequence[int],
        padding: Sequence[int],
        dilation: Sequence[int],
        ceil_mode: bool,
        index_dtype: torch.dtype,
    ) -> tuple[Tensor, Tensor]:
        _check(input, "kernel_size", kernel_size, n)
        shape = _core.max_pool_shape(input.shape, kernel_size, stride, padding, dilation, ceil_mode)
        output, indices = _empty_max(input, shape[-n:], index_dtype)
        _core.max_pool(input, output, indices, kernel_size, stride, padding, dilation, ceil_mode, n_threads())
        return output, indices

    def fake_forward(
        input: Tensor,
        kernel_size: Sequence[int],
        stride: Sequence[int],
        padding: Sequence[int],
        dilation: Sequence[int],
        ceil_mode: bool,
        index_dtype: torch.dtype,
    ) -> tuple[Tensor, Tensor]:
        _check(input, "kernel_size", kernel_size, n)
        size = max_pool_size(input.shape[-n:], kernel_size, stride, padding, dilation, ceil_mode)
        return _empty_max(input, size, index_dtype)

    def backward(grad_output: Tensor, indices: Tensor, input_size: Sequence[int], *window: Any) -> Tensor:
        grad_input = _empty_grad_input(grad_output, input_size, n)
        kernel_size, stride, padding, dilation, ceil_mode = window
        _core.max_pool_backward(
            grad_output, indices, grad_input, kernel_size, stride, padding, dilation, ceil_mode, n_threads()
        )
        return grad_input

    def fake_backward(grad_output: Tensor, indices: Tensor, input_size: Sequence[int], *window: Any) -> Tensor:
        return _empty_grad_input(grad_output, input_size, n)

    _define(
        name,
        f"(Tensor input, {_WINDOW}, ScalarType index_dtype) -> (Tensor output, Tensor indices)",
        forward,
        fake_forward,
    )
    signature = f"(Tensor grad_output, Tensor indices, SymInt[] input_size, {_WINDOW}) -> Tensor"
    _define(f"{name}_backward", signature, backward, fake_backward)
    _differentiate_max(name, n, n_parameters=5)


def _register_adaptive_max_pool(n: int) -> None:
    name = f"adaptive_max_pool{n}d"

    def forward(input: Tensor, output_size: Sequence[int], index_dtype: torch.dtype) -> tuple[Tensor, Tensor]:
        output, indices = fake_forward(input, output_size, index_dtype)
        _core.adaptive_max_pool(input, output, indices, output_size, n_threads())
        return output, indices

    def fake_forward(input: Tensor, output_size: Sequence[int], index_dtype: torch.dtype) -> tuple[Tensor, Tensor]:
        _check(input, "output_size", output_size, n)
        return _empty_max(input, output_size, index_dtype)

    def backward(grad_output: Tensor, indices: Tensor, input_size: Sequence[int]) -> Tensor:
        grad_input = _empty_grad_input(grad_output, input_size, n)
        _core.adaptive_max_pool_backward(grad_output, indices, grad_input, n, n_threads())
        return grad_input

    def fake_backward(grad_output: Tensor, indices: Tensor, input_size: Sequence[int]) -> Tensor:
        return _empty_grad_input(grad_output, input_size, n)

    signature = "(Tensor input, SymInt[] output_size, ScalarType index_dtype) -> (Tensor output, Tensor indices)"
    _define(name, signature, forward, fake_forward)
    signature = "(Tensor grad_output, Tensor indices, SymInt[] input_size) -> Tensor"
    _define(f"{name}_backward", signature, backward, fake_backward)
    _differentiate_max(name, n, n_parameters=1)


def _differentiate_max(name: str, n: int, n_parameters: int) -> None:
    """Autograd and vmap for a max pooling of `n_parameters` parameters beside the index type."""
    qualified = f"poolgrad::{name}"
    forward_operator = getattr(torch.ops.poolgrad, name)
    backward_operator = getattr(torch.ops.poolgrad, f"{name}_backward")

    def keep(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor]) -> None:
        input, *parameters, _ = inputs
        ctx.save_for_backward(output[1])
        ctx.input_size, ctx.parameters = input.shape, parameters
        ctx.mark_non_differentiable(output[1])

    def gradient(ctx: Any, grad_output: Tensor, _grad_indices: Any) -> tuple[Any, ...]:
        (indices,) = ctx.saved_tensors
        window = ctx.parameters if name.startswith("max") else []
        return (backward_operator(grad_output, indices, ctx.input_size, *window), *[None] * (n_parameters + 1))

    def keep_indices(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        ctx.save_for_backward(inputs[1])
        ctx.n_inputs = len(inputs)

    def second_gradient(ctx: Any, grad_grad_input: Tensor) -> tuple[Any, ...]:
        (indices,) = ctx.saved_tensors
        return (_fetch(grad_grad_input, indices, n), *[None] * (ctx.n_inputs - 1))

    torch.library.register_autograd(qualified, gradient, setup_context=keep, lib=library)
    torch.library.register_autograd(f"{qualified}_backward", second_gradient, setup_context=keep_indices, lib=library)
    torch.library.register_vmap(qualified, _vmap_rule(n, 1)(forward_operator), lib=library)
    torch.library.register_vmap(f"{qualified}_backward", _vmap_rule(n, 2, 2)(backward_operator), lib=library)


def _register_adaptive_avg_pool(n: int) -> None:
    name = f"adaptive_avg_pool{n}d"
    qualified = f"poolgrad::{name}"

    def fake_forward(input: Tensor, output_size: Sequence[int]) -> Tensor:
        _check(input, "output_size", output_size, n)
        return empty([*input.shape[:-n], *output_size], _format(input, n), input)

    def forward(input: Tensor, output_size: Sequence[int]) -> Tensor:
        output = fake_forward(input, output_size)
        _core.adaptive_avg_pool(input, output, output_size, n_threads())
        return output

    def fake_backward(grad_output: Tensor, input_size: Sequence[int]) -> Tensor:
        return _empty_grad_input(grad_output, input_size, n)

    def backward(grad_output: Tensor, input_size: Sequence[int]) -> Tensor:
        grad_input = fake_backward(grad_output, input_size)
        _core.adaptive_avg_pool_backward(grad_output, grad_input, n, n_threads())
        return grad_input

    _define(name, "(Tensor input, SymInt[] output_size) -> Tensor", forward, fake_forward)
    _define(f"{name}_backward", "(Tensor grad_output, SymInt[] input_size) -> Tensor", backward, fake_backward)
    forward_operator = getattr(torch.ops.poolgrad, name)
    backward_operator = getattr(torch.ops.poolgrad, f"{name}_backward")

    def keep_input_size(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        ctx.input_size = inputs[0].shape

    def gradient(ctx: Any, grad_output: Tensor) -> tuple[Any, ...]:
        return backward_operator(grad_output, ctx.input_size), None

    def keep_output_size(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        ctx.output_size = inputs[0].shape[-n:]

    def second_gradient(ctx: Any, grad_grad_input: Tensor) -> tuple[Any, ...]:
        return forward_operator(grad_grad_input, ctx.output_size), None

    torch.library.register_autograd(qualified, gradient, setup_context=keep_input_size, lib=library)
    torch.library.register_autograd(
        f"{qualified}_backward", second_gradient, setup_context=keep_output_size, lib=library
    )
    torch.library.register_vmap(qualified, _vmap_rule(n, 1)(forward_operator), lib=library)
    torch.library.register_vmap(f"{qualified}_backward", _vmap_rule(n, 1, 1)(backward_operator), lib=library)


for _n in (1, 2, 3):
    _register_max_pool(_n)
    _register_adaptive_max_pool(_n)
    _register_adaptive_avg_pool(_n)

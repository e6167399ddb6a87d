"""Pooling functions as in `torch.nn.functional`, computed by this library whether or not `enable` was called.

They take CPU tensors of `float32`, `float64`, `float16` and `bfloat16` with any strides, batched or not, can be
differentiated any number of times, and work under `torch.compile(fullgraph=True)`, `torch.export` and `torch.vmap`;
`torch.func.grad` and its kin do not know operators that are registered from Python: under `enable` they take PyTorch's
functions. Parameters are as in PyTorch: one number, or one for each axis. Unlike PyTorch, autograd keeps no input: a
max pooling keeps its indices, in 32 bits where that is enough and nobody asked for them; an average pooling keeps
nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import torch
from torch import Tensor

from . import _library as _library  # Registers the operators.

Sizes = int | Sequence[int]
MaybeSizes = int | None | Sequence[int | None]
Pooled = Tensor | tuple[Tensor, Tensor]


def _per_axis(name: str, value: Any, n_axes: int) -> list[int]:
    """One number for each axis."""
    if isinstance(value, (tuple, list, torch.Size)):
        if len(value) == n_axes:
            return list(value)
        if len(value) == 1:
            return [value[0]] * n_axes
        raise ValueError(f"{name} must be an int or {n_axes} ints, got {len(value)}")
    return [value] * n_axes


def _output_size(input: Tensor, value: MaybeSizes, n_axes: int) -> list[int]:
    """The output size, None standing for the input's."""
    sizes = cast("list[int | None]", _per_axis("output_size", value, n_axes))
    return [input.shape[axis - n_axes] if size is None else size for axis, size in enumerate(sizes)]


def _index_dtype(input: Tensor, n_axes: int, return_indices: bool) -> torch.dtype:
    if return_indices or input.shape[-n_axes:].numel() > torch.iinfo(torch.int32).max:
        return torch.int64
    return torch.int32


def _max_pool(
    n: int,
    input: Tensor,
    kernel_size: Sizes,
    stride: Sizes | None,
    padding: Sizes,
    dilation: Sizes,
    ceil_mode: bool,
    return_indices: bool,
) -> Pooled:
    window = _per_axis("kernel_size", kernel_size, n)
    # PyTorch takes an empty stride for none.
    step = window if stride is None or (not isinstance(stride, int) and not stride) else _per_axis("stride", stride, n)
    border, spread = _per_axis("padding", padding, n), _per_axis("dilation", dilation, n)
    operator = getattr(torch.ops.poolgrad, f"max_pool{n}d")
    output, indices = operator(input, window, step, border, spread, ceil_mode, _index_dtype(input, n, return_indices))
    return (output, indices) if return_indices else output


def _adaptive_max_pool(n: int, input: Tensor, output_size: MaybeSizes, return_indices: bool) -> Pooled:
    operator = getattr(torch.ops.poolgrad, f"adaptive_max_pool{n}d")
    sizes = _output_size(input, output_size, n)
    output, indices = operator(input, sizes, _index_dtype(input, n, return_indices))
    return (output, indices) if return_indices else output


def max_pool1d(
    input: Tensor,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Sizes = 0,
    dilation: Sizes = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Pooled:
    """The largest element of each window along W, of `[N, C, W]` or `[C, W]`; see `max_pool3d`.

    >>> import torch, poolgrad.torch.functional as F
    >>> F.max_pool1d(torch.tensor([[1.0, 5.0, 2.0, 3.0]]), 2)
    tensor([[5., 3.]])
    """
    return _max_pool(1, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices)


def max_pool2d(
    input: Tensor,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Sizes = 0,
    dilation: Sizes = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Pooled:
    """The largest element of each window of `[N, C, H, W]` or `[C, H, W]`; see `max_pool3d`.

    >>> import torch, poolgrad.torch.functional as F
    >>> F.max_pool2d(torch.tensor([[[1.0, 5.0], [2.0, 3.0]]]), 2)
    tensor([[[5.]]])
    """
    return _max_pool(2, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices)


def max_pool3d(
    input: Tensor,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Sizes = 0,
    dilation: Sizes = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Pooled:
    """The largest element of each window, and where it lies if `return_indices`.

    Along each axis, output position `o` sees `o stride - padding + j dilation` for `0 <= j < kernel_size`, where that
    lies in the input. Indices are offsets `d H W + h W + w` in the input's volume, in `int64`.

    `input` has shape `[N, C, D, H, W]` or `[C, D, H, W]`.

    Raises `ValueError` and `TypeError` for arguments that make no pooling.

    >>> import torch, poolgrad.torch.functional as F
    >>> input = torch.arange(16.0).view(1, 1, 2, 2, 4).requires_grad_()
    >>> output, indices = F.max_pool3d(input, 2, return_indices=True)
    >>> indices.flatten().tolist()
    [13, 15]
    >>> output.sum().backward()
    >>> input.grad.flatten().tolist()[12:]
    [0.0, 1.0, 0.0, 1.0]

    Source: `torch.nn.functional.max_pool3d`.
    """
    return _max_pool(3, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices)


def adaptive_max_pool1d(input: Tensor, output_size: MaybeSizes, return_indices: bool = False) -> Pooled:
    """The largest elements of `output_size` windows along W; see `adaptive_max_pool3d`.

    >>> import torch, poolgrad.torch.functional as F
    >>> F.adaptive_max_pool1d(torch.tensor([[1.0, 5.0, 7.0, 0.0, 3.0]]), 2)
    tensor([[7., 7.]])
    """
    return _adaptive_max_pool(1, input, output_size, return_indices)


def adaptive_max_pool2d(input: Tensor, output_size: MaybeSizes, return_indices: bool = False) -> Pooled:
    """The largest element of each of `output_size` windows over H and W; see `adaptive_max_pool3d`.

    >>> import torch, poolgrad.torch.functional as F
    >>> F.adaptive_max_pool2d(torch.tensor([[[1.0, 5.0], [2.0, 3.0]]]), (1, None))
    tensor([[[2., 5.]]])
    """
    return _adaptive_max_pool(2, input, output_size, return_indices)


def adaptive_max_pool3d(input: Tensor, output_size: MaybeSizes, return_indices: bool = False) -> Pooled:
    """The largest element of each window, and where it lies if `return_indices`; windows divide the input evenly.

    Along an axis of size `I`, output position `o` of `O` sees `floor(o I / O) <= i < ceil((o + 1) I / O)`. None in
    `output_size` stands for the input's size.

    `input` has shape `[N, C, D, H, W]` or `[C, D, H, W]`.

    Raises `ValueError` and `TypeError` for arguments that make no pooling.

    >>> import torch, poolgrad.torch.functional as F
    >>> F.adaptive_max_pool3d(torch.arange(12.0).view(1, 3, 2, 2), 1).item()
    11.0

    Source: `torch.nn.functional.adaptive_max_pool3d`.
    """
    return _adaptive_max_pool(3, input, output_size, return_indices)


def _adaptive_avg_pool(n: int, input: Tensor, output_size: MaybeSizes) -> Tensor:
    operator = getattr(torch.ops.poolgrad, f"adaptive_avg_pool{n}d")
    return cast(Tensor, operator(input, _output_size(input, output_size, n)))


def adaptive_avg_pool1d(input: Tensor, output_size: MaybeSizes) -> Tensor:
    """The means of `output_size` windows along W; see `adaptive_avg_pool3d`.

    >>> import torch, poolgrad.torch.functional as F
    >>> F.adaptive_avg_pool1d(torch.tensor([[1.0, 5.0, 3.0]]), 2)
    tensor([[3., 4.]])
    """
    return _adaptive_avg_pool(1, input, output_size)


def adaptive_avg_pool2d(input: Tensor, output_size: MaybeSizes) -> Tensor:
    """The mean of each of `output_size` windows over H and W; see `adaptive_avg_pool3d`.

    >>> import torch, poolgrad.torch.functional as F
    >>> F.adaptive_avg_pool2d(torch.tensor([[[1.0, 5.0], [2.0, 4.0]]]), 1)
    tensor([[[3.]]])
    """
    return _adaptive_avg_pool(2, input, output_size)


def adaptive_avg_pool3d(input: Tensor, output_size: MaybeSizes) -> Tensor:
    """The mean of each window; windows are those of `adaptive_max_pool3d`.

    `input` has shape `[N, C, D, H, W]` or `[C, D, H, W]`. Sums are formed in `float32` (`float64` for `float64`) and
    rounded once.

    Raises `ValueError` and `TypeError` for arguments that make no pooling.

    >>> import torch, poolgrad.torch.functional as F
    >>> F.adaptive_avg_pool3d(torch.arange(8.0).view(1, 2, 2, 2), (2, 1, 1)).flatten()
    tensor([1.5000, 5.5000])

    Source: `torch.nn.functional.adaptive_avg_pool3d`.
    """
    return _adaptive_avg_pool(3, input, output_size)

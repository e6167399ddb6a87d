"""The memory format that PyTorch gives the output of each pooling operator.

PyTorch's operators choose it by the strides of their input, each in its own way, and code that follows (a `view`, a
channels-last convolution) relies on it. So the kernels here allocate exactly what PyTorch would have allocated. The
rules were read off PyTorch's behaviour; a test compares them with it on random strides.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

CONTIGUOUS = torch.contiguous_format
CHANNELS_LAST = torch.channels_last
CHANNELS_LAST_3D = torch.channels_last_3d

FormatRule = Callable[[Tensor], torch.memory_format]


def _looks_channels_last(tensor: Tensor, order: tuple[int, ...]) -> bool:
    """Whether strides do not fall along `order`, which goes from the fastest axis, C, to the slowest, N.

    Where sizes of 1 leave it open, the answer is no, as it is in PyTorch.
    """
    sizes, strides = tensor.shape, tensor.stride()
    channel_stride = strides[1]
    if channel_stride == 0:
        return False
    least = 0
    for axis in order:
        size, stride = sizes[axis], strides[axis]
        if size == 0 or stride < least or (axis == 0 and least == channel_stride):
            return False
        least = stride * size
    return True


def by_strides_2d(tensor: Tensor) -> torch.memory_format:
    """The format of every output of a 2-D pooling of `tensor`, of shape `[N, C, H, W]` or `[C, H, W]`."""
    if not tensor.is_contiguous(memory_format=CHANNELS_LAST) and tensor.is_contiguous():
        return CONTIGUOUS
    if tensor.dim() == 4 and _looks_channels_last(tensor, (1, 3, 2, 0)):
        return CHANNELS_LAST
    return CONTIGUOUS


def by_strides_3d(tensor: Tensor) -> torch.memory_format:
    """The format of every output of a 3-D max pooling of `tensor`, of shape `[N, C, D, H, W]` or `[C, D, H, W]`."""
    if tensor.dim() == 4:
        tensor = tensor.unsqueeze(0)
        is_channels_last = not tensor.is_contiguous() and tensor.is_contiguous(memory_format=CHANNELS_LAST_3D)
    elif not tensor.is_contiguous(memory_format=CHANNELS_LAST_3D) and tensor.is_contiguous():
        return CONTIGUOUS
    else:
        is_channels_last = tensor.dim() == 5 and _looks_channels_last(tensor, (1, 4, 3, 2, 0))
    return CHANNELS_LAST_3D if is_channels_last else CONTIGUOUS


def always_contiguous(_tensor: Tensor) -> torch.memory_format:
    """The format of every output of a 3-D adaptive pooling."""
    return CONTIGUOUS


def empty(shape: Sequence[int], format: torch.memory_format, like: Tensor, dtype: torch.dtype | None = None) -> Tensor:
    """An uninitialised tensor on the device of `like`, of its element type unless `dtype` is another."""
    dtype = like.dtype if dtype is None else dtype
    if format is CHANNELS_LAST_3D and len(shape) == 4:
        # PyTorch has no name for the channels-last order of a tensor without a batch.
        channels, _, height, width = shape
        strides = (1, channels * width * height, channels * width, channels)
        return torch.empty_strided(shape, strides, dtype=dtype, device=like.device)
    return torch.empty(shape, dtype=dtype, device=like.device, memory_format=format)


def empty_as(tensor: Tensor, format: torch.memory_format) -> Tensor:
    """An uninitialised tensor of the shape and the element type of `tensor`."""
    if format is CHANNELS_LAST_3D and tensor.dim() == 4:
        return empty(tensor.shape, format, tensor)
    return torch.empty_like(tensor, memory_format=format)

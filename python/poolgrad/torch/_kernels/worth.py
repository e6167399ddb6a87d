"""Which forward poolings this library computes when it may choose: those in which it was measured to be faster.

The measurements are in docs/python-torch.md. A call that is left to PyTorch still costs the way through a kernel
written in Python.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from .._layout import CONTIGUOUS

#: In fewer elements than this, the cost of a call decides, and PyTorch's is smaller.
_LEAST_ELEMENTS = 32 << 10

#: The same of averages in two axes, of which PyTorch adds up the channels of a pixel at once.
_LEAST_CHANNELS_LAST = 512 << 10


def always(_self: Tensor, _format: torch.memory_format, _sizes: Sequence[int]) -> bool:
    """All."""
    return True


def max_pool2d(self: Tensor, format: torch.memory_format, _sizes: Sequence[int]) -> bool:
    """All but channels-last ones in 32 and 64 bits, in which PyTorch compares the channels of a pixel at once, too."""
    return self.numel() >= _LEAST_ELEMENTS and (format is CONTIGUOUS or self.element_size() == 2)


def max_pool3d(self: Tensor, format: torch.memory_format, kernel_size: Sequence[int]) -> bool:
    """All but channels-last ones with windows of up to 2·2·2 elements."""
    return self.numel() >= _LEAST_ELEMENTS and (format is CONTIGUOUS or math.prod(kernel_size) > 8)


def adaptive_max_pool2d(self: Tensor, format: torch.memory_format, output_size: Sequence[int]) -> bool:
    """All but channels-last ones to a single column."""
    return self.numel() >= _LEAST_ELEMENTS and (format is CONTIGUOUS or output_size[-1] > 1)


def adaptive_avg_pool2d(self: Tensor, format: torch.memory_format, _output_size: Sequence[int]) -> bool:
    """All, channels-last ones from more elements on."""
    return self.numel() >= (_LEAST_ELEMENTS if format is CONTIGUOUS else _LEAST_CHANNELS_LAST)


def adaptive_max_pool3d(self: Tensor, _format: torch.memory_format, output_size: Sequence[int]) -> bool:
    """All but the maxima of whole rows that are contiguous in memory."""
    return self.numel() >= _LEAST_ELEMENTS and (output_size[-1] > 1 or not self.is_contiguous())


def adaptive_avg_pool3d(self: Tensor, _format: torch.memory_format, _output_size: Sequence[int]) -> bool:
    """All."""
    return self.numel() >= _LEAST_ELEMENTS

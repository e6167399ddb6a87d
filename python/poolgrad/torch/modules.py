"""Modules as in `torch.nn`, computed by this library whether or not `enable` was called.

They are subclasses of PyTorch's: constructed, printed and saved in the same way, and an instance of either where code
asks for PyTorch's. `poolgrad.torch.functional` says what they compute and on which tensors.
"""

from __future__ import annotations

from typing import Any

from torch import Tensor, nn

from . import functional


class MaxPool1d(nn.MaxPool1d):
    """`functional.max_pool1d` as a module."""

    def forward(self, input: Tensor) -> Any:
        """`functional.max_pool1d` with this module's parameters."""
        return functional.max_pool1d(
            input, self.kernel_size, self.stride, self.padding, self.dilation, self.ceil_mode, self.return_indices
        )


class MaxPool2d(nn.MaxPool2d):
    """`functional.max_pool2d` as a module.

    >>> from poolgrad.torch import MaxPool2d
    >>> MaxPool2d(3, stride=2, padding=1)
    MaxPool2d(kernel_size=3, stride=2, padding=1, dilation=1, ceil_mode=False)
    """

    def forward(self, input: Tensor) -> Any:
        """`functional.max_pool2d` with this module's parameters."""
        return functional.max_pool2d(
            input, self.kernel_size, self.stride, self.padding, self.dilation, self.ceil_mode, self.return_indices
        )


class MaxPool3d(nn.MaxPool3d):
    """`functional.max_pool3d` as a module.

    >>> import torch
    >>> from poolgrad.torch import MaxPool3d
    >>> MaxPool3d(2)(torch.arange(8.0).view(1, 2, 2, 2))
    tensor([[[[7.]]]])
    """

    def forward(self, input: Tensor) -> Any:
        """`functional.max_pool3d` with this module's parameters."""
        return functional.max_pool3d(
            input, self.kernel_size, self.stride, self.padding, self.dilation, self.ceil_mode, self.return_indices
        )


class AdaptiveMaxPool1d(nn.AdaptiveMaxPool1d):
    """`functional.adaptive_max_pool1d` as a module."""

    def forward(self, input: Tensor) -> Any:
        """`functional.adaptive_max_pool1d` with this module's parameters."""
        return functional.adaptive_max_pool1d(input, self.output_size, self.return_indices)


class AdaptiveMaxPool2d(nn.AdaptiveMaxPool2d):
    """`functional.adaptive_max_pool2d` as a module."""

    def forward(self, input: Tensor) -> Any:
        """`functional.adaptive_max_pool2d` with this module's parameters."""
        return functional.adaptive_max_pool2d(input, self.output_size, self.return_indices)


class AdaptiveMaxPool3d(nn.AdaptiveMaxPool3d):
    """`functional.adaptive_max_pool3d` as a module."""

    def forward(self, input: Tensor) -> Any:
        """`functional.adaptive_max_pool3d` with this module's parameters."""
        return functional.adaptive_max_pool3d(input, self.output_size, self.return_indices)


class AdaptiveAvgPool1d(nn.AdaptiveAvgPool1d):
    """`functional.adaptive_avg_pool1d` as a module."""

    def forward(self, input: Tensor) -> Tensor:
        """`functional.adaptive_avg_pool1d` with this module's parameters."""
        return functional.adaptive_avg_pool1d(input, self.output_size)


class AdaptiveAvgPool2d(nn.AdaptiveAvgPool2d):
    """`functional.adaptive_avg_pool2d` as a module."""

    def forward(self, input: Tensor) -> Tensor:
        """`functional.adaptive_avg_pool2d` with this module's parameters."""
        return functional.adaptive_avg_pool2d(input, self.output_size)


class AdaptiveAvgPool3d(nn.AdaptiveAvgPool3d):
    """`functional.adaptive_avg_pool3d` as a module."""

    def forward(self, input: Tensor) -> Tensor:
        """`functional.adaptive_avg_pool3d` with this module's parameters."""
        return functional.adaptive_avg_pool3d(input, self.output_size)

"""For PyTorch: existing models sped up by `enable`, and pooling functions and modules of this library's own.

>>> import poolgrad.torch
>>> poolgrad.torch.enable()     # CPU pooling gradients of the whole process
>>> poolgrad.torch.disable()
"""

try:
    import torch as _torch
except ImportError as error:
    raise ImportError("poolgrad.torch needs PyTorch: pip install 'poolgrad[torch]'") from error

if not hasattr(_torch.library, "get_kernel"):
    raise ImportError(
        f"poolgrad.torch needs a PyTorch that has torch.library.get_kernel, as 2.15 does, got {_torch.__version__}"
    )

from . import functional
from ._replacement import disable, enable, enabled, is_enabled, reset_stats, stats
from .modules import (
    AdaptiveAvgPool1d,
    AdaptiveAvgPool2d,
    AdaptiveAvgPool3d,
    AdaptiveMaxPool1d,
    AdaptiveMaxPool2d,
    AdaptiveMaxPool3d,
    MaxPool1d,
    MaxPool2d,
    MaxPool3d,
)

__all__ = [
    "AdaptiveAvgPool1d",
    "AdaptiveAvgPool2d",
    "AdaptiveAvgPool3d",
    "AdaptiveMaxPool1d",
    "AdaptiveMaxPool2d",
    "AdaptiveMaxPool3d",
    "MaxPool1d",
    "MaxPool2d",
    "MaxPool3d",
    "disable",
    "enable",
    "enabled",
    "functional",
    "is_enabled",
    "reset_stats",
    "stats",
]

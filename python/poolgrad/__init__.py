"""Pooling and its gradients for NumPy, PyTorch and any DLPack array: fast, deterministic, bounds-checked."""

from poolgrad._core import __version__

__all__ = ["__version__"]

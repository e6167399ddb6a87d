"""Pooling and its gradients for NumPy, PyTorch and any DLPack array: fast, deterministic, bounds-checked.

Functions are named and shaped as PyTorch's, and take arrays of any library where they lie, with any strides:

>>> import numpy as np, poolgrad
>>> input = np.arange(16, dtype=np.float32).reshape(1, 1, 4, 4)
>>> output, indices = poolgrad.max_pool2d(input, 2, return_indices=True)
>>> poolgrad.max_pool2d_with_indices_backward(np.ones_like(output), input, 2, 2, 0, 1, False, indices)
array([[[[0., 0., 0., 0.],
         [0., 1., 0., 1.],
         [0., 0., 0., 0.],
         [0., 1., 0., 1.]]]], dtype=float32)

Results are of the kind of array that came in, and the same bits for every thread count, instruction set and memory
layout. Arguments that make no sense are a `TypeError` or a `ValueError` that names them; an index that points outside
its volume is an `IndexError` that says where it stands. None of these functions records a gradient: see
`poolgrad.torch`.

While a call computes, other threads run. As everywhere, nobody may write an array meanwhile that the call reads, nor
touch one that it writes.
"""

from poolgrad._adaptive import (
    adaptive_avg_pool1d,
    adaptive_avg_pool1d_backward,
    adaptive_avg_pool2d,
    adaptive_avg_pool2d_backward,
    adaptive_avg_pool3d,
    adaptive_avg_pool3d_backward,
    adaptive_max_pool1d,
    adaptive_max_pool1d_backward,
    adaptive_max_pool2d,
    adaptive_max_pool2d_backward,
    adaptive_max_pool3d,
    adaptive_max_pool3d_backward,
)
from poolgrad._core import Plan, __version__, info, plan
from poolgrad._max import (
    max_pool1d,
    max_pool1d_with_indices_backward,
    max_pool2d,
    max_pool2d_with_indices_backward,
    max_pool3d,
    max_pool3d_with_indices_backward,
)

__all__ = [
    "Plan",
    "__version__",
    "adaptive_avg_pool1d",
    "adaptive_avg_pool1d_backward",
    "adaptive_avg_pool2d",
    "adaptive_avg_pool2d_backward",
    "adaptive_avg_pool3d",
    "adaptive_avg_pool3d_backward",
    "adaptive_max_pool1d",
    "adaptive_max_pool1d_backward",
    "adaptive_max_pool2d",
    "adaptive_max_pool2d_backward",
    "adaptive_max_pool3d",
    "adaptive_max_pool3d_backward",
    "info",
    "max_pool1d",
    "max_pool1d_with_indices_backward",
    "max_pool2d",
    "max_pool2d_with_indices_backward",
    "max_pool3d",
    "max_pool3d_with_indices_backward",
    "plan",
]

"""The oracle of these tests: pooling and its gradients by their definitions, in float64, one window after the other.

It shares nothing with the library. Arrays are `[N, C, ...]` or `[C, ...]` with one to three spatial axes.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence

import numpy as np

# For each spatial axis, the positions that each output position sees.
Windows = list[list[list[int]]]


def fixed_windows(sizes: Sequence[int], parameters: Sequence[Sequence[int]], ceil_mode: bool) -> Windows:
    """The windows of max pooling, by `kernel_size`, `stride`, `padding`, `dilation`."""
    windows: Windows = []
    for size, window, step, border, dilation in zip(sizes, *parameters):
        span = size + 2 * border - dilation * (window - 1) - 1
        n_outputs = (math.ceil(span / step) if ceil_mode else span // step) + 1
        if ceil_mode and (n_outputs - 1) * step >= size + border:
            n_outputs -= 1
        starts = (o * step - border for o in range(n_outputs))
        windows.append([[i for j in range(window) if 0 <= (i := s + j * dilation) < size] for s in starts])
    return windows


def adaptive_windows(sizes: Sequence[int], output_size: Sequence[int]) -> Windows:
    """The windows of adaptive pooling."""
    return [
        [list(range(o * size // wanted, -(-(o + 1) * size // wanted))) for o in range(wanted)]
        for size, wanted in zip(sizes, output_size)
    ]


def _each(windows: Windows) -> Iterator[tuple[tuple[int, ...], list[tuple[int, ...]]]]:
    """Each output position with the input positions it sees, both in row-major order."""
    for output in itertools.product(*(range(len(axis)) for axis in windows)):
        yield output, list(itertools.product(*(axis[o] for axis, o in zip(windows, output))))


def _planes(shape: Sequence[int], windows: Windows) -> Iterator[tuple[int, ...]]:
    return itertools.product(*(range(size) for size in shape[: len(shape) - len(windows)]))


def max_pool(input: np.ndarray, windows: Windows) -> tuple[np.ndarray, np.ndarray]:
    """The maxima and their places: the first maximum wins, and the last NaN beats all."""
    shape = (*input.shape[: input.ndim - len(windows)], *(len(axis) for axis in windows))
    output, indices = np.empty(shape, input.dtype), np.empty(shape, np.int64)
    sizes = input.shape[input.ndim - len(windows) :]
    for plane in _planes(shape, windows):
        for place, seen in _each(windows):
            best = None
            for position in seen:
                value = float(input[plane + position])
                if best is None or value > float(input[plane + best]) or math.isnan(value):
                    best = position
            assert best is not None, "a window sees something"
            output[plane + place] = input[plane + best]
            indices[plane + place] = np.ravel_multi_index(best, sizes)
    return output, indices


def avg_pool(input: np.ndarray, windows: Windows) -> np.ndarray:
    """The means, in float64."""
    shape = (*input.shape[: input.ndim - len(windows)], *(len(axis) for axis in windows))
    output = np.empty(shape, np.float64)
    for plane in _planes(shape, windows):
        for place, seen in _each(windows):
            output[plane + place] = math.fsum(float(input[plane + position]) for position in seen) / len(seen)
    return output


def scatter(grad_output: np.ndarray, indices: np.ndarray, input_shape: Sequence[int], n_spatial: int) -> np.ndarray:
    """The gradient of a max pooling, in float64."""
    planes, spatial = tuple(input_shape[:-n_spatial]), tuple(input_shape[-n_spatial:])
    grad_input = np.zeros((*planes, math.prod(spatial)), np.float64)
    for place in np.ndindex(grad_output.shape):
        grad_input[place[: len(planes)]][int(indices[place])] += float(grad_output[place])
    return grad_input.reshape(planes + spatial)


def spread(grad_output: np.ndarray, input_shape: Sequence[int], windows: Windows) -> np.ndarray:
    """The gradient of an average pooling, in float64."""
    grad_input = np.zeros(tuple(input_shape), np.float64)
    for plane in _planes(grad_output.shape, windows):
        for place, seen in _each(windows):
            share = float(grad_output[plane + place]) / len(seen)
            for position in seen:
                grad_input[plane + position] += share
    return grad_input

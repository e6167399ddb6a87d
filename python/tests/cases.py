"""Problems for the tests: shapes, parameters, element types, and arrays of one content in many layouts."""

from __future__ import annotations

import dataclasses
import itertools
import math
from typing import Any

import ml_dtypes
import numpy as np
from hypothesis import strategies as st

FLOATS: dict[str, Any] = {
    "float32": np.float32,
    "float64": np.float64,
    "float16": np.float16,
    "bfloat16": ml_dtypes.bfloat16,
}
# How far an average may be from the reference, for values around one: sums in float32 and one rounding.
TOLERANCE = {"float32": 1e-5, "float64": 1e-13, "float16": 1e-3, "bfloat16": 8e-3}

LAYOUTS = ["plain", "channels_last", "reversed_axes", "stepped", "backwards", "inner"]


def laid_out(values: np.ndarray, layout: str) -> np.ndarray:
    """An array of the same values that lies in memory in another way, with memory around it that is not its own."""
    if layout == "plain":
        return np.ascontiguousarray(values)
    if layout == "channels_last":
        # The axis in front of the spatial ones is the channels, with or without a batch.
        channel = 0 if values.ndim % 2 == 0 else 1
        return np.moveaxis(np.ascontiguousarray(np.moveaxis(values, channel, -1)), -1, channel)
    if layout == "reversed_axes":
        return np.asfortranarray(values)
    if layout == "backwards":
        flip = (slice(None, None, -1),) * values.ndim
        return np.ascontiguousarray(values[flip])[flip]
    if layout == "stepped":
        room = np.full([2 * size + 1 for size in values.shape], 77, values.dtype)
        view = room[tuple(slice(1, 2 * size + 1, 2) for size in values.shape)]
    elif layout == "inner":
        room = np.full([size + 3 for size in values.shape], 77, values.dtype)
        view = room[tuple(slice(2, 2 + size) for size in values.shape)]
    else:
        raise ValueError(layout)
    view[...] = values
    return view


def surroundings(view: np.ndarray) -> np.ndarray:
    """The memory around an array made by `laid_out`, without its own."""
    room = view
    while isinstance(room.base, np.ndarray):
        room = room.base
    # All rooms are dense, so an element's place in memory is its number among the room's elements in memory order.
    mask = np.zeros(room.size, bool)
    offset = view.__array_interface__["data"][0] - room.__array_interface__["data"][0]
    for place in np.ndindex(view.shape):
        mask[(offset + sum(i * step for i, step in zip(place, view.strides))) // view.itemsize] = True
    return room.ravel(order="K")[~mask]


@dataclasses.dataclass(frozen=True)
class Case:
    """A pooling of some input."""

    shape: tuple[int, ...]
    n_spatial: int
    dtype: str
    seed: int
    layouts: tuple[str, str, str]
    index_type: str

    @property
    def sizes(self) -> tuple[int, ...]:
        return self.shape[len(self.shape) - self.n_spatial :]

    def values(self, shape: tuple[int, ...]) -> np.ndarray:
        """Small whole numbers, whose sums are exact in every element type."""
        random = np.random.default_rng(self.seed)
        return random.integers(-5, 6, shape).astype(FLOATS[self.dtype])


@st.composite
def cases(draw: st.DrawFn, n_spatial: int | None = None) -> Case:
    n_spatial = draw(st.integers(1, 3)) if n_spatial is None else n_spatial
    most = {1: 12, 2: 7, 3: 5}[n_spatial]
    planes = draw(st.lists(st.integers(0, 3), min_size=1, max_size=2))
    sizes = draw(st.lists(st.integers(1, most), min_size=n_spatial, max_size=n_spatial))
    layout = st.sampled_from(LAYOUTS)
    return Case(
        shape=(*planes, *sizes),
        n_spatial=n_spatial,
        dtype=draw(st.sampled_from(sorted(FLOATS))),
        seed=draw(st.integers(0, 2**16)),
        layouts=(draw(layout), draw(layout), draw(layout)),
        index_type=draw(st.sampled_from(["int32", "int64"])),
    )


@st.composite
def max_parameters(draw: st.DrawFn, sizes: tuple[int, ...]) -> tuple[list[list[int]], bool]:
    """`kernel_size`, `stride`, `padding` and `dilation` that fit, and `ceil_mode`."""
    axes = []
    ceil_mode = draw(st.booleans())
    for size in sizes:
        window, dilation = draw(st.integers(1, 4)), draw(st.integers(1, 2))
        border = draw(st.integers(0, window // 2))
        while size + 2 * border < dilation * (window - 1) + 1:
            window, dilation, border = window - 1, 1, min(border, (window - 1) // 2)
        axes.append([window, draw(st.integers(1, 4)), border, dilation])
    parameters = [list(column) for column in zip(*axes)]
    if any(_sees_nothing(size, axis, ceil_mode) for size, axis in zip(sizes, axes)):
        # A window may step over everything; the library refuses it, which is tested elsewhere.
        parameters[3] = [1] * len(sizes)
    return parameters, ceil_mode


def _sees_nothing(size: int, axis: list[int], ceil_mode: bool) -> bool:
    window, step, border, dilation = axis
    span = size + 2 * border - dilation * (window - 1) - 1
    n_outputs = (math.ceil(span / step) if ceil_mode else span // step) + 1
    if ceil_mode and (n_outputs - 1) * step >= size + border:
        n_outputs -= 1
    return any(not any(0 <= o * step - border + j * dilation < size for j in range(window)) for o in range(n_outputs))


def every_layout() -> list[tuple[str, str]]:
    """Each pair of layouts."""
    return list(itertools.product(LAYOUTS, LAYOUTS))

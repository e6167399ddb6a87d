"""The spatial sizes that a max pooling makes of its input's, which may be symbols.

When `torch.compile` and `torch.export` trace a model, sizes are expressions that the compiled module cannot read.
"""

from __future__ import annotations

from collections.abc import Sequence


def max_pool_size(
    input_size: Sequence[int],
    kernel_size: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    ceil_mode: bool,
) -> list[int]:
    """`floor((input + 2 padding - dilation (kernel_size - 1) - 1) / stride) + 1` for each axis.

    With `ceil` for `floor` in ceil mode, less one if the last window would then start behind the input and its left
    padding. An empty `stride` means `kernel_size`; a parameter may hold one number for all axes. What else
    is legal is decided by the plan, when the model runs.

    Raises `ValueError` for parameters that no pooling has, and where there is no window.
    """
    sizes = []
    for axis, (size, window) in enumerate(zip(input_size, kernel_size)):
        step = _of_axis("stride", stride, axis) if stride else window
        border, spread = _of_axis("padding", padding, axis), _of_axis("dilation", dilation, axis)
        for name, least, got in (("kernel_size", 1, window), ("stride", 1, step), ("dilation", 1, spread)):
            if got < least:
                raise ValueError(f"{name}[{axis}] must be at least {least}, got {got}")
        if not 0 <= 2 * border <= window:
            raise ValueError(f"padding[{axis}] must be from 0 to half of kernel_size, which is {window}, got {border}")
        room = size + 2 * border - spread * (window - 1) - 1
        n_windows = (room + step - 1 if ceil_mode else room) // step + 1
        if ceil_mode and (n_windows - 1) * step >= size + border:
            n_windows -= 1
        if n_windows < 1:
            extent = spread * (window - 1) + 1
            raise ValueError(
                f"a window of {extent} elements does not fit the input's axis {axis} of {size} and its padding"
            )
        sizes.append(n_windows)
    return sizes


def _of_axis(name: str, parameter: Sequence[int], axis: int) -> int:
    if len(parameter) == 1:
        return parameter[0]
    if axis < len(parameter):
        return parameter[axis]
    raise ValueError(f"{name} has {len(parameter)} numbers, too few for axis {axis}")

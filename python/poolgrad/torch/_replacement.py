"""Replacing PyTorch's CPU kernels in its dispatcher, and putting them back.

The dispatcher belongs to the whole process, so there is one state, guarded by a lock: what `enable` asked for, and the
`enabled` blocks that are open. Kernels are registered while at least one of them stands.
"""

from __future__ import annotations

import os
import threading
import time
import warnings
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, Literal

import torch

from ._kernels import adaptive_avg, adaptive_max, max, worth
from ._kernels.common import Kernel, Worth
from ._layout import always_contiguous, by_strides_2d, by_strides_3d
from ._operator import Operator

#: Which forward operators are replaced; gradients always are.
Forward = Literal["auto", "always", "never"]


class _Replacement:
    """A kernel of this library for an operator of PyTorch, for each choice of `forward` that replaces the operator."""

    def __init__(self, name: str, n_axes: int, make: Callable[..., Kernel], auto: Worth) -> None:
        self.operator = Operator(name, n_axes)
        self.kernels = {
            "always": make(self.operator, worth=worth.always),
            "auto": make(self.operator, worth=auto),
        }


class _Gradient(_Replacement):
    """A kernel that replaces its operator whatever `forward` is."""

    def __init__(self, name: str, n_axes: int, make: Callable[[Operator], Kernel]) -> None:
        self.operator = Operator(name, n_axes)
        self.kernels = dict.fromkeys(("auto", "always", "never"), make(self.operator))


def _replacements() -> Iterator[_Replacement]:
    for n_axes in (2, 3):
        is_2d = n_axes == 2
        by_strides = by_strides_2d if is_2d else by_strides_3d
        adaptive_format = by_strides_2d if is_2d else always_contiguous

        auto: Worth
        name, auto = f"max_pool{n_axes}d_with_indices", worth.max_pool2d if is_2d else worth.max_pool3d
        yield _Replacement(name, n_axes, partial(max.max_pool, by_strides), auto)
        yield _Replacement(f"{name}.out", n_axes, partial(max.max_pool_out, by_strides), auto)
        yield _Gradient(f"{name}_backward", n_axes, partial(max.max_pool_backward, by_strides))
        yield _Gradient(f"{name}_backward.grad_input", n_axes, max.max_pool_backward_out)

        name, family = f"adaptive_max_pool{n_axes}d", adaptive_max
        auto = worth.adaptive_max_pool2d if is_2d else worth.adaptive_max_pool3d
        yield _Replacement(name, n_axes, partial(family.adaptive_max_pool, adaptive_format), auto)
        yield _Replacement(f"{name}.out", n_axes, partial(family.adaptive_max_pool_out, adaptive_format), auto)
        yield _Gradient(f"{name}_backward", n_axes, partial(family.adaptive_max_pool_backward, adaptive_format))
        yield _Gradient(f"{name}_backward.grad_input", n_axes, family.adaptive_max_pool_backward_out)

        name = f"adaptive_avg_pool{n_axes}d"
        auto = worth.adaptive_avg_pool2d if is_2d else worth.adaptive_avg_pool3d
        yield _Replacement(f"_{name}", n_axes, partial(adaptive_avg.adaptive_avg_pool, adaptive_format), auto)
        yield _Replacement(f"{name}.out", n_axes, partial(adaptive_avg.adaptive_avg_pool_out, adaptive_format), auto)
        backward = partial(adaptive_avg.adaptive_avg_pool_backward, adaptive_format)
        yield _Gradient(f"_{name}_backward", n_axes, backward)
    # Its 2-D twin allocates through the operator above.
    yield _Gradient("adaptive_avg_pool3d_backward.grad_input", 3, adaptive_avg.adaptive_avg_pool_backward_out)


#: How long kernels are kept alive after they were unregistered, in seconds. Another thread may have found one in the
#: dispatcher and be waiting for the interpreter, which the thread that unregisters holds.
_GRACE_SECONDS = 10.0


class _Registration:
    """The kernels of one choice of `forward` in the dispatcher, for as long as this object lives."""

    def __init__(self, forward: Forward, replacements: Sequence[_Replacement]) -> None:
        self.forward = forward
        library: Any = torch.library.Library("aten", "IMPL")  # type: ignore[no-untyped-call]
        #: What keeps the kernels alive, even when they are registered no longer.
        self.handles: list[Any] = []
        with warnings.catch_warnings():
            # PyTorch 2.11 warns of what is done here on purpose, and refuses to do it twice unless it is told to.
            warnings.filterwarnings("ignore", r"\s*(Warning only once.*)?\s*Overriding a previously registered kernel")
            for replacement in replacements:
                if forward in replacement.kernels:
                    name = replacement.operator.name
                    library.impl(name, replacement.kernels[forward], "CPU", allow_override=True)
                    self.handles.append(torch.library.get_kernel(f"aten::{name}", "CPU"))
        self.library = library


class _State:
    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.replacements = list(_replacements())
        #: What `enable` asked for.
        self.asked: Forward | None = None
        #: What open blocks ask for, the latest last.
        self.blocks: list[tuple[object, Forward]] = []
        self.registration: _Registration | None = None
        self.retired: deque[tuple[float, list[Any]]] = deque()

    def update(self) -> None:
        """Makes the dispatcher what is asked for now."""
        wanted = self.blocks[-1][1] if self.blocks else self.asked
        previous = self.registration
        if wanted == (previous.forward if previous else None):
            return
        if previous is None:
            for replacement in self.replacements:
                replacement.operator.remember_original()
        # The new kernels come first, so that no call in between finds PyTorch's.
        self.registration = _Registration(wanted, self.replacements) if wanted is not None else None
        now = time.monotonic()
        if previous is not None:
            self.retired.append((now, previous.handles))
        while self.retired and now - self.retired[0][0] > _GRACE_SECONDS:
            self.retired.popleft()

    def after_fork(self) -> None:
        """The thread that held the lock, if any did, is not in the child."""
        self.lock = threading.RLock()


_state = _State()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_state.after_fork)


def enable(forward: Forward = "auto") -> None:
    """Replaces PyTorch's CPU pooling gradients, and forward operators as `forward` says, in the whole process.

    From now on `torch.nn.functional.max_pool2d` and `max_pool3d`, adaptive max pooling and adaptive average pooling,
    1-D twins included, compute their gradients on the CPU with this library: in `float32`, `float64`, `float16` and
    `bfloat16`, for every memory layout, with `torch.get_num_threads()` threads. Everything else is left to PyTorch:
    other devices and types, empty tensors, and arguments that PyTorch refuses.

    `forward` is `"auto"` to replace the forward operators that are faster here, `"always"` for all, `"never"` for none.
    Calling it again changes that; it does not have to be undone as often. Best called before other threads compute.

    An index outside its volume raises `IndexError`, where PyTorch writes outside of its tensor.

    Raises `ValueError` for another `forward`.

    >>> import torch, poolgrad.torch
    >>> poolgrad.torch.enable()
    >>> input = torch.arange(8.0).view(1, 2, 2, 2).requires_grad_()
    >>> torch.nn.functional.max_pool3d(input, 2).sum().backward()
    >>> input.grad.flatten().tolist()
    [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0]
    >>> poolgrad.torch.disable()
    """
    _check(forward)
    with _state.lock:
        _state.asked = forward
        _state.update()


def disable() -> None:
    """Undoes `enable`: PyTorch's own kernels are back, unless a block of `enabled` is open.

    >>> import poolgrad.torch
    >>> poolgrad.torch.disable()
    >>> poolgrad.torch.is_enabled()
    False
    """
    with _state.lock:
        _state.asked = None
        _state.update()


@contextmanager
def enabled(forward: Forward = "auto") -> Iterator[None]:
    """`enable` for the length of a `with` block, or of a function that it decorates.

    Blocks may be nested, and open in several threads at once; the latest decides on `forward`, for the whole process.

    Raises `ValueError` as `enable` does.

    >>> import torch, poolgrad.torch
    >>> with poolgrad.torch.enabled(forward="never"):
    ...     poolgrad.torch.is_enabled()
    True
    >>> poolgrad.torch.is_enabled()
    False
    """
    _check(forward)
    block = (object(), forward)
    with _state.lock:
        _state.blocks.append(block)
        _state.update()
    try:
        yield
    finally:
        with _state.lock:
            _state.blocks.remove(block)
            _state.update()


def is_enabled() -> bool:
    """Whether PyTorch's CPU pooling gradients are replaced."""
    return _state.registration is not None


def stats() -> dict[str, tuple[int, int]]:
    """For each operator that was called while it was replaced, how many calls were taken, and left to PyTorch.

    >>> import torch, poolgrad.torch
    >>> poolgrad.torch.reset_stats()
    >>> with poolgrad.torch.enabled(forward="always"):
    ...     _ = torch.nn.functional.adaptive_avg_pool2d(torch.rand(1, 4, 4), 2)
    >>> poolgrad.torch.stats()
    {'_adaptive_avg_pool2d': (1, 0)}
    """
    operators = (replacement.operator for replacement in _state.replacements)
    return {o.name: (o.n_taken, o.n_passed_on) for o in operators if o.n_taken or o.n_passed_on}


def reset_stats() -> None:
    """Sets the counts of `stats` to zero."""
    for replacement in _state.replacements:
        replacement.operator.n_taken = replacement.operator.n_passed_on = 0


def _check(forward: object) -> None:
    if forward not in ("auto", "always", "never"):
        raise ValueError(f'forward must be "auto", "always" or "never", got {forward!r}')

"""One operator of PyTorch: its name, PyTorch's own CPU kernel, and how often either kernel ran."""

from __future__ import annotations

from typing import Any

import torch

_CPU = torch._C.DispatchKeySet(torch._C.DispatchKey.CPU)


class Operator:
    """An operator whose CPU kernel is replaced.

    The counts are plain numbers that threads add to under the interpreter's lock.
    """

    def __init__(self, name: str, n_axes: int) -> None:
        self.name = name
        #: The number of spatial axes.
        self.n_axes = n_axes
        #: Calls that this library computed.
        self.n_taken = 0
        #: Calls that it left to PyTorch.
        self.n_passed_on = 0
        self._original: Any = None

    def remember_original(self) -> None:
        """Takes hold of the kernel that is registered now."""
        self._original = torch.library.get_kernel(f"aten::{self.name}", "CPU")

    def pass_on(self, *arguments: Any, **keywords: Any) -> Any:
        """Calls PyTorch's own kernel."""
        self.n_passed_on += 1
        return self._original.call_boxed(_CPU, *arguments, **keywords)

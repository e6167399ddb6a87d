"""The package where PyTorch is not installed, or is another than the layer for it can use.

Oracle: the messages.
"""

from __future__ import annotations

import subprocess
import sys

import pytest


@pytest.mark.parametrize(
    ("torch", "message"),
    [
        ("None", "poolgrad.torch needs PyTorch: pip install 'poolgrad[torch]'"),
        ("types.SimpleNamespace(library=None, __version__='2.1')", "torch.library.get_kernel, as 2.15 does, got 2.1"),
    ],
)
def test_the_layer_for_pytorch_says_what_it_needs(torch: str, message: str) -> None:
    program = f"import sys, types, poolgrad; sys.modules['torch'] = {torch}; import poolgrad.torch"
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=False)
    assert run.returncode == 1
    assert run.stderr.rstrip().splitlines()[-1].startswith("ImportError: ")
    assert message in run.stderr

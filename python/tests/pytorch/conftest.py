"""Every test of the PyTorch layer leaves PyTorch as it found it."""

import pathlib

import pytest

try:
    import torch
except ImportError:
    torch = None

HERE = pathlib.Path(__file__).parent


def pytest_collection_modifyitems(items):
    """PyTorch's forward-mode derivatives still use a part of PyTorch that PyTorch deprecates."""
    for item in (item for item in items if item.path.parent == HERE):
        item.add_marker(pytest.mark.filterwarnings("ignore:.torch.jit:FutureWarning"))
        item.add_marker(pytest.mark.filterwarnings("ignore:.torch.jit:DeprecationWarning"))


if torch is not None:
    import poolgrad.torch

    @pytest.fixture(autouse=True)
    def untouched_pytorch():
        """Each test starts with PyTorch's own kernels, and must put them back."""
        torch.manual_seed(0)
        poolgrad.torch.reset_stats()
        yield
        assert not poolgrad.torch.is_enabled(), "the test left PyTorch's kernels replaced"

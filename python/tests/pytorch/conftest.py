"""Every test of the PyTorch layer leaves PyTorch as it found it."""

import pytest

try:
    import torch
except ImportError:
    torch = None

if torch is not None:
    import poolgrad.torch

    @pytest.fixture(autouse=True)
    def untouched_pytorch():
        """Each test starts with PyTorch's own kernels, and must put them back."""
        torch.manual_seed(0)
        poolgrad.torch.reset_stats()
        yield
        assert not poolgrad.torch.is_enabled(), "the test left PyTorch's kernels replaced"
        torch.set_num_threads(torch.get_num_threads())

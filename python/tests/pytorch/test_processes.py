"""Threads and processes under `enable`.

Oracle: the same call with one thread in this process.
"""

import os
import subprocess
import sys
import threading

import pytest
from torch_support import poolgrad, taken, torch

functional = torch.nn.functional
BACKWARD = "max_pool3d_with_indices_backward"
#: Large enough that the core gives it to several threads.
SHAPE = (2, 8, 16, 48, 48)


def gradient(input):
    input = input.detach().requires_grad_()
    functional.max_pool3d(input, 3, 2, 1).square().sum().backward()
    return input.grad


@pytest.fixture
def input():
    return torch.randn(SHAPE)


def test_any_number_of_threads_gives_the_same_bits(input):
    wanted = gradient(input)
    before = torch.get_num_threads()
    try:
        with poolgrad.torch.enabled():
            for n_threads in (1, 2, 3, 8):
                torch.set_num_threads(n_threads)
                assert torch.equal(gradient(input), wanted)
    finally:
        torch.set_num_threads(before)
    assert taken(BACKWARD) == 4


def test_calls_from_many_threads(input):
    wanted = gradient(input)
    results = []
    with poolgrad.torch.enabled("always"):
        threads = [threading.Thread(target=lambda: results.append(gradient(input))) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(results) == 6
    assert all(torch.equal(result, wanted) for result in results)


def in_fresh_process(program, timeout=300):
    """Runs a program, which prints "equal" if all is well."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=timeout, env=environment
    )
    assert (done.returncode, done.stdout.split()) == (0, ["equal"]), done.stderr


SETUP = f"""
import os, sys, torch, poolgrad.torch
functional = torch.nn.functional
torch.manual_seed(0)
input = torch.randn({SHAPE})
def gradient(input):
    input = input.detach().requires_grad_()
    torch.autograd.grad(functional.max_pool3d(input, 3, 2, 1).square().sum(), input)
    return torch.autograd.grad(functional.max_pool3d(input, 3, 2, 1).square().sum(), input)[0]
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_forked_child_computes():
    """The parent's worker threads do not exist in the child. PyTorch itself must not have started its own before."""
    in_fresh_process(
        SETUP
        + """
torch.set_num_threads(1)
wanted = gradient(input)
poolgrad.torch.enable()
backward = torch.ops.aten.max_pool3d_with_indices_backward
output, indices = torch.ops.aten.max_pool3d_with_indices(input, [3] * 3, [2] * 3, [1] * 3)
from poolgrad import _core
grad_input = torch.empty_like(input)
# Two threads in the parent, whatever PyTorch has, so that its pool has started.
_core.max_pool_backward(output, indices, grad_input, [3] * 3, [2] * 3, [1] * 3, [1] * 3, False, 2)
child = os.fork()
if child == 0:
    again = torch.empty_like(input)
    _core.max_pool_backward(output, indices, again, [3] * 3, [2] * 3, [1] * 3, [1] * 3, False, 2)
    os._exit(0 if torch.equal(again, grad_input) and torch.equal(gradient(input), wanted) else 1)
import signal
signal.alarm(200)
print("equal" if os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0 else "different")
"""
    )


def test_workers_of_a_data_loader():
    in_fresh_process(
        SETUP
        + """
wanted = gradient(input[:1])
poolgrad.torch.enable("always")
gradient(input)
class Pooled(torch.utils.data.Dataset):
    def __len__(self):
        return 4
    def __getitem__(self, i):
        result = gradient(input[:1])
        taken = poolgrad.torch.stats()["max_pool3d_with_indices_backward"][0]
        assert taken > 0
        return result
loader = torch.utils.data.DataLoader(Pooled(), batch_size=None, num_workers=2, timeout=200)
print("equal" if all(torch.equal(result, wanted) for result in loader) else "different")
"""
    )


def test_a_spawned_process_starts_with_pytorchs_kernels():
    in_fresh_process(
        """
import multiprocessing, torch, poolgrad.torch
def work():
    raise SystemExit(0 if not poolgrad.torch.is_enabled() else 1)
poolgrad.torch.enable()
child = multiprocessing.get_context("spawn").Process(target=poolgrad.torch.is_enabled)
child.start(); child.join(200)
print("equal" if child.exitcode == 0 else "different")
"""
    )

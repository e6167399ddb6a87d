"""The process around a call: threads, forks, references and memory."""

from __future__ import annotations

import gc
import multiprocessing
import os
import signal
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import poolgrad
import pytest
from poolgrad import _core

# Large enough for several threads, and to let the interpreter go.
LARGE = (4, 16, 64, 64)


def large() -> np.ndarray:
    return np.random.default_rng(0).standard_normal(LARGE).astype(np.float32)


# Oracle: the same call in one thread.
def test_many_threads_get_the_same_result() -> None:
    inputs = [large() + i for i in range(8)]
    wanted = [poolgrad.max_pool2d(input, 3, 2, 1, threads=1, return_indices=True) for input in inputs]
    failures: list[Any] = []

    def work(i: int) -> None:
        try:
            for _ in range(10):
                output, indices = poolgrad.max_pool2d(inputs[i], 3, 2, 1, return_indices=True)
                np.testing.assert_array_equal(output, wanted[i][0])
                np.testing.assert_array_equal(indices, wanted[i][1])
                small = poolgrad.max_pool2d(inputs[i][:1, :1, :8, :8], 2)
                assert small.shape == (1, 1, 4, 4)
        except BaseException as failure:
            failures.append(failure)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert not failures


def ticks_during(call: Callable[[], None]) -> int:
    """How often another thread ran in the midst of a call: the most of several calls."""
    times: list[float] = []
    stop = threading.Event()

    def tick() -> None:
        while not stop.is_set():
            times.append(time.perf_counter())
            time.sleep(0.0002)

    thread = threading.Thread(target=tick)
    thread.start()
    spans = []
    try:
        for _ in range(10):
            start = time.perf_counter()
            call()
            spans.append((start, time.perf_counter()))
    finally:
        stop.set()
        thread.join()
    return max(sum(start + 0.0005 < at < end - 0.0005 for at in times) for start, end in spans)


# Oracle: the clock of another thread.
def test_other_threads_run_during_a_call() -> None:
    input = np.random.default_rng(0).standard_normal((8, 64, 128, 128)).astype(np.float32)
    output = np.empty((8, 64, 126, 126), np.float32)
    assert ticks_during(lambda: _core.max_pool(input, output, None, (3, 3), 1, 0, 1, False, 1)) > 0


# Oracle: the clock of another thread; here few elements are seen by large windows.
def test_other_threads_run_during_a_call_with_large_windows() -> None:
    input = np.random.default_rng(0).standard_normal((1, 64, 64, 4)).astype(np.float32)
    output = np.empty((1, 33, 33, 4), np.float32)
    assert input.size < 32 << 10
    assert ticks_during(lambda: _core.max_pool(input, output, None, (32, 32, 1), 1, 0, 1, False)) > 0


# Oracle: bits; the library promises the same ones for every number of threads.
@pytest.mark.parametrize("threads", [1, 2, 3, 64, 10**6, 2**62])
def test_the_number_of_threads_changes_nothing(threads: int) -> None:
    input = large()
    wanted = poolgrad.adaptive_avg_pool2d(input, 7)
    np.testing.assert_array_equal(poolgrad.adaptive_avg_pool2d(input, 7, threads=threads), wanted)


def test_threads_is_a_limit() -> None:
    input, output = large(), np.empty((4, 16, 32, 32), np.float32)
    for threads in (1, 2, 5):
        plan = poolgrad.plan("max_pool", input, output, kernel_size=(2, 2), threads=threads)
        assert 1 <= plan.threads <= threads
    small = poolgrad.plan("max_pool", input[:1, :1], output[:1, :1], kernel_size=(2, 2), threads=64)
    assert small.threads == 1


# Oracle: the limits themselves, on a pool that is larger than this machine.
def test_threads_is_a_limit_on_a_large_pool() -> None:
    program = """
import numpy as np, poolgrad
input, output = np.zeros((4, 16, 64, 64), np.float32), np.empty((4, 16, 32, 32), np.float32)
print(*(poolgrad.plan("max_pool", input, output, kernel_size=(2, 2), threads=n).threads for n in (0, 1, 2, 3, 9)))
"""
    environment = os.environ | {"RAYON_NUM_THREADS": "5"}
    environment.pop("POOLGRAD_NUM_THREADS", None)
    command = [sys.executable, "-c", program]
    run = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True, env=environment)
    assert run.stdout.split() == ["5", "1", "2", "3", "5"]


def _in_child(connection: Any) -> None:
    output = poolgrad.max_pool2d(large(), 3, 2, 1)
    plan = poolgrad.plan("max_pool", large(), output, kernel_size=(3, 3), stride=2, padding=1)
    connection.send((float(output.sum()), plan.threads))
    connection.close()


# Oracle: the parent's own result, and a limit of time: the child of a fork has none of the parent's threads.
@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_computes() -> None:
    wanted = float(poolgrad.max_pool2d(large(), 3, 2, 1).sum())
    context = multiprocessing.get_context("fork")
    for _ in range(3):
        here, there = context.Pipe()
        child = context.Process(target=_in_child, args=(there,))
        child.start()
        try:
            assert here.poll(60), "the child hangs"
            total, threads = here.recv()
            child.join(60)
        finally:
            # Python waits for its children when it ends.
            child.kill()
        assert total == wanted
        assert threads == poolgrad.info()["threads"]


# Oracle: exit status 0 within a minute, from a child of a child, and while a call is running.
PROGRAMS = {
    "a fork of a fork": """
        for _ in range(2):
            compute()
            child = os.fork()
            if child:
                _, status = os.waitpid(child, 0)
                os._exit(os.waitstatus_to_exitcode(status))
        compute()
        os._exit(0)
    """,
    "a fork during a call": """
        thread = threading.Thread(target=lambda: [compute() for _ in range(50)])
        thread.start()
        time.sleep(0.02)
        child = os.fork()
        if child == 0:
            compute()
            os._exit(0)
        _, status = os.waitpid(child, 0)
        thread.join()
        assert status == 0
    """,
    "the end while a call runs": """
        def forever():
            while True:
                compute()
        for _ in range(3):
            threading.Thread(target=forever, daemon=True).start()
        time.sleep(0.1)
    """,
    "the end of a thread": """
        for _ in range(20):
            thread = threading.Thread(target=compute)
            thread.start()
            thread.join()
    """,
}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_end(name: str) -> None:
    head = """
        import os, threading, time, warnings
        import numpy as np, poolgrad
        warnings.simplefilter("ignore")
        input = np.random.default_rng(0).standard_normal((4, 16, 64, 64))
        def compute():
            output, indices = poolgrad.max_pool2d(input, 3, 2, 1, return_indices=True)
            poolgrad.max_pool2d_with_indices_backward(output, input, 3, 2, 1, 1, False, indices)
    """
    program = textwrap.dedent(head) + textwrap.dedent(PROGRAMS[name])
    # A session of its own, so that the forks of one that hangs can be ended with it.
    with tempfile.TemporaryFile("w+") as said:
        child = subprocess.Popen([sys.executable, "-c", program], stderr=said, start_new_session=True)
        try:
            status = child.wait(60)
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)
            child.wait()
            pytest.fail("the program hangs")
        said.seek(0)
        assert status == 0, said.read()


# Oracle: the counts before.
def test_no_references_are_kept() -> None:
    input = np.random.default_rng(0).standard_normal((2, 3, 6, 6))
    output, indices = poolgrad.max_pool2d(input, 2, return_indices=True)
    grad_input = np.empty_like(input)
    bad = np.full_like(indices, -1)
    arguments = [input, output, indices, grad_input, bad, (2, 2), input.dtype, indices.dtype]

    def calls() -> None:
        poolgrad.max_pool2d(input, arguments[5], out=output, indices_out=indices)
        poolgrad.max_pool2d_with_indices_backward(
            output, input, arguments[5], 2, 0, 1, False, indices, grad_input=grad_input
        )
        poolgrad.adaptive_avg_pool2d(input, 3, out=output)
        _core.describe(input)
        for wrong in (lambda: poolgrad.max_pool2d(input, 2, out=input), lambda: poolgrad.max_pool2d(input, 2.5)):
            with pytest.raises((TypeError, ValueError)):
                wrong()
        with pytest.raises(IndexError):
            poolgrad.max_pool2d_with_indices_backward(output, input, 2, 2, 0, 1, False, bad, grad_input=grad_input)

    calls()
    gc.collect()
    before = [sys.getrefcount(argument) for argument in arguments]
    for _ in range(200):
        calls()
    gc.collect()
    assert [sys.getrefcount(argument) for argument in arguments] == before


# Oracle: what tracemalloc counts for Python, and the system for the process.
def test_memory_does_not_grow() -> None:
    input = np.random.default_rng(0).standard_normal((2, 3, 16, 16)).astype(np.float32)

    def calls(n_calls: int) -> None:
        for i in range(n_calls):
            # Ever new shapes, so that plans are made and forgotten.
            part = input[:, :, : 4 + i % 12, : 4 + i // 12 % 12]
            output, indices = poolgrad.max_pool2d(part, 2, 1, return_indices=True)
            poolgrad.max_pool2d_with_indices_backward(output, part, 2, 1, 0, 1, False, indices)
            poolgrad.adaptive_avg_pool2d_backward(output, part)

    calls(300)
    gc.collect()
    tracemalloc.start()
    before, resident = tracemalloc.take_snapshot(), _resident()
    calls(3000)
    gc.collect()
    after = tracemalloc.take_snapshot()
    tracemalloc.stop()
    growth = sum(entry.size_diff for entry in after.compare_to(before, "filename") if "tracemalloc" not in str(entry))
    assert growth < 64 << 10
    assert _resident() - resident < 16 << 20


def _resident() -> int:
    """The bytes of the process that are in memory; 0 where the system does not say."""
    try:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0


# Oracle: the values of before; the array is freed as soon as the call is over.
def test_the_arrays_live_as_long_as_the_call() -> None:
    results = [poolgrad.max_pool2d(large(), 2, out=np.empty((4, 16, 32, 32), np.float32)) for _ in range(5)]
    for result in results:
        np.testing.assert_array_equal(result, poolgrad.max_pool2d(large(), 2))

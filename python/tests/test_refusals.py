"""What is refused, and the words: each message names the argument as the function spells it.

Oracle for all: the exception's type and the part of its message that says what is wrong, written by hand.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import poolgrad
import pytest
from poolgrad import _core

INPUT = np.zeros((1, 2, 4, 4), np.float32)
OUTPUT = np.zeros((1, 2, 2, 2), np.float32)
INDICES = np.zeros((1, 2, 2, 2), np.int64)


def read_only(array: np.ndarray) -> np.ndarray:
    array = array.copy()
    array.flags.writeable = False
    return array


def misaligned(array: np.ndarray) -> np.ndarray:
    raw = np.zeros(array.nbytes + 1, np.uint8)
    return raw[1:].view(array.dtype).reshape(array.shape)


def field(array: np.ndarray) -> np.ndarray:
    """A field of records, whose strides are no multiples of its own size."""
    return np.zeros(array.shape, [("value", array.dtype), ("more", np.uint8)])["value"]


def backward(grad_output: Any = OUTPUT, indices: Any = INDICES, **options: Any) -> Any:
    return poolgrad.max_pool2d_with_indices_backward(
        grad_output, options.pop("input", INPUT), 2, 2, 0, 1, False, indices, **options
    )


def forward(input: Any = INPUT, kernel_size: Any = 2, *args: Any, **options: Any) -> Any:
    return poolgrad.max_pool2d(input, kernel_size, *args, **options)


ARRAYS = "must be a NumPy array, a PyTorch tensor or another array with __dlpack__, got <class"
FLOATS = "must have element type float32, float64, float16 or bfloat16, got"

REFUSALS: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    "a list": (lambda: forward([[1.0]]), TypeError, f"input {ARRAYS} 'list'>"),
    "nothing": (lambda: forward(None), TypeError, f"input {ARRAYS} 'NoneType'>"),
    "a list to write": (lambda: forward(out=[1.0]), TypeError, f"out {ARRAYS} 'list'>"),
    "no indices": (
        lambda: _core.max_pool_backward(OUTPUT, None, INPUT, (2, 2), (2, 2), 0, 1, False),
        TypeError,
        f"indices {ARRAYS} 'NoneType'>",
    ),
    "a number": (lambda: poolgrad.adaptive_avg_pool2d_backward(3.0, (1, 1)), TypeError, f"grad_output {ARRAYS}"),
    "ints": (lambda: forward(INPUT.astype(np.int32)), TypeError, "input must have element type float32 or float64"),
    "bytes": (lambda: forward(INPUT.astype(np.uint8)), TypeError, f"input {FLOATS} uint8"),
    "bools": (lambda: forward(INPUT.astype(bool)), TypeError, f"input {FLOATS} bool"),
    "complex": (lambda: forward(INPUT.astype(complex)), TypeError, f"input {FLOATS} complex128"),
    "objects": (lambda: forward(INPUT.astype(object)), TypeError, f"input {FLOATS} object"),
    "strings": (lambda: forward(INPUT.astype("U3")), TypeError, f"input {FLOATS} <U3"),
    "times": (lambda: forward(INPUT.astype("M8[s]")), TypeError, f"input {FLOATS} datetime64[s]"),
    "records": (lambda: forward(np.zeros(INPUT.shape, "f4,i4")), TypeError, f"input {FLOATS} [("),
    "raw bytes": (lambda: forward(INPUT.view("V4")), TypeError, f"input {FLOATS} |V4"),
    "two raw bytes": (lambda: forward(np.zeros(INPUT.shape, "V2")), TypeError, f"input {FLOATS} |V2"),
    "another narrow float": (
        lambda: forward(INPUT.astype(ml_dtypes.float8_e5m2)),
        TypeError,
        f"input {FLOATS} float8_e5m2",
    ),
    "other byte order": (
        lambda: forward(INPUT.astype(">f4")),
        ValueError,
        "input must be in this machine's byte order",
    ),
    "other byte order to write": (
        lambda: forward(out=OUTPUT.astype(">f4")),
        ValueError,
        "out must be in this machine's byte order",
    ),
    "a masked array": (lambda: forward(np.ma.masked_array(INPUT)), TypeError, "input must not be a masked array"),
    "read-only out": (lambda: forward(out=read_only(OUTPUT)), ValueError, "out is written, but it is read-only"),
    "read-only indices_out": (
        lambda: forward(indices_out=read_only(INDICES)),
        ValueError,
        "indices_out is written, but it is read-only",
    ),
    "read-only grad_input": (
        lambda: backward(grad_input=read_only(INPUT)),
        ValueError,
        "grad_input is written, but it is read-only",
    ),
    "out that repeats itself": (
        lambda: forward(out=np.lib.stride_tricks.as_strided(OUTPUT, strides=(0, 0, 8, 4), writeable=True)),
        ValueError,
        "out is written, so no two of its elements may share a place",
    ),
    "out in the input": (
        lambda: forward(INPUT, 1, out=INPUT),
        ValueError,
        "out is written, so it must not share memory with input",
    ),
    "grad_input in grad_output": (
        lambda: (lambda x: backward(x[:, :, :2, :2], grad_input=x))(INPUT.copy()),
        ValueError,
        "grad_input is written, so it must not share memory with grad_output",
    ),
    "out and indices_out in one": (
        lambda: (lambda x: forward(out=x[..., :1].view("f4")[..., 0], indices_out=x[..., 0]))(
            np.zeros((1, 2, 2, 2, 1), np.int64)
        ),
        ValueError,
        "indices_out is written, so it must not share memory with out",
    ),
    "misaligned": (lambda: forward(misaligned(INPUT)), ValueError, "the memory of input must be aligned to 4 bytes"),
    "odd strides": (
        lambda: forward(field(INPUT)),
        ValueError,
        "input must have strides that are multiples of its element's 4 bytes, got",
    ),
    "too few axes": (lambda: forward(INPUT[0, 0]), ValueError, "input must have 3 axes"),
    "too many axes": (lambda: forward(np.zeros((1,) * 6)), ValueError, "input must have 3 axes"),
    "far too many axes": (lambda: forward(np.zeros((1,) * 12)), ValueError, "input must have at most 5 axes, got 12"),
    "no axes": (lambda: forward(np.float32(1.0)), ValueError, "input must have 3 axes"),
    "an empty volume": (
        lambda: forward(np.zeros((1, 0, 4))),
        ValueError,
        "input must have spatial sizes of at least 1",
    ),
    "a long kernel_size": (lambda: forward(INPUT, (2, 2, 2)), ValueError, "kernel_size must have 1 value or 2"),
    "an empty kernel_size": (lambda: forward(INPUT, ()), ValueError, "kernel_size must have 1 value or 2"),
    "a long stride": (lambda: forward(INPUT, 2, (1, 1, 1)), ValueError, "stride must have 1 value or 2"),
    "a very long stride": (lambda: forward(INPUT, 2, (1,) * 99), ValueError, "stride must have at most 3 numbers"),
    "a float": (
        lambda: forward(INPUT, 2.0),
        TypeError,
        "kernel_size[0] must be an int or a tuple of ints, got <class 'float'>",
    ),
    "a bool": (
        lambda: forward(INPUT, 2, True),
        TypeError,
        "stride must be an int or a tuple of ints, got <class 'bool'>",
    ),
    "a string": (lambda: forward(INPUT, 2, padding="same"), TypeError, "padding must be an int or a tuple of ints"),
    "None within": (lambda: forward(INPUT, (2, None)), TypeError, "kernel_size[1] must be an int or a tuple of ints"),
    "a huge int": (lambda: forward(INPUT, 2**80), ValueError, "kernel_size[0] must fit 64 bits, got 12089"),
    "a large int": (lambda: forward(INPUT, 2**62), ValueError, "kernel_size[0] must be at most"),
    "a large stride": (lambda: forward(INPUT, 2, 2**63 - 1, padding=2**62), ValueError, "stride[0] must be at most"),
    "zero": (lambda: forward(INPUT, 0), ValueError, "kernel_size[0] must be at least 1, got 0"),
    "a negative stride": (lambda: forward(INPUT, 2, -1), ValueError, "stride[0] must be at least 1, got -1"),
    "zero stride": (lambda: forward(INPUT, 2, 0), ValueError, "stride[0] must be at least 1, got 0"),
    "negative padding": (lambda: forward(INPUT, 2, padding=-1), ValueError, "padding[0] must be at least 0, got -1"),
    "too much padding": (lambda: forward(INPUT, 3, padding=2), ValueError, "padding[0] must be at most half of"),
    "zero dilation": (lambda: forward(INPUT, 2, dilation=0), ValueError, "dilation[0] must be at least 1, got 0"),
    "no window": (lambda: forward(INPUT, 5), ValueError, "no window fits on spatial axis 0"),
    "negative output_size": (
        lambda: poolgrad.adaptive_avg_pool2d(INPUT, -2),
        ValueError,
        "output_size[0] must be at least 1, got -2",
    ),
    "long output_size": (
        lambda: poolgrad.adaptive_avg_pool2d(INPUT, (1, 2, 3)),
        ValueError,
        "output_size must have 1 value or 2",
    ),
    "a huge output_size": (lambda: poolgrad.adaptive_avg_pool2d(INPUT, 10**9), MemoryError, "Unable to allocate"),
    "an index type": (
        lambda: forward(return_indices=True, index_dtype=np.int8),
        ValueError,
        "index_dtype must be int32 or int64, got",
    ),
    "negative threads": (lambda: forward(threads=-1), ValueError, "threads must be at least 0, got -1"),
    "a wrong out": (lambda: forward(out=OUTPUT[..., :1]), ValueError, "out must have size 2 on axis 3"),
    "out of another type": (
        lambda: forward(out=OUTPUT.astype("f8")),
        TypeError,
        "out must have the element type of input, which is float32, got float64",
    ),
    "float indices": (
        lambda: backward(indices=INDICES.astype("f4")),
        TypeError,
        "indices must have element type int32 or int64, got float32",
    ),
    "unsigned indices": (
        lambda: backward(indices=INDICES.astype("u8")),
        TypeError,
        "indices must have element type int32 or int64, got uint64",
    ),
    "few indices": (lambda: backward(indices=INDICES[:, :1]), ValueError, "indices must have the size of grad_output"),
    "a negative input shape": (lambda: backward(input=(1, 2, -4, 4)), ValueError, "input: the size of axis 2 must be"),
    "a huge input shape": (lambda: backward(input=(1, 2, 2**62, 4)), ValueError, "larger than the address space"),
    "another input shape": (lambda: backward(input=(1, 2, 9, 9)), ValueError, "grad_output must have size 4 on axis 2"),
    "n_spatial": (
        lambda: _core.adaptive_avg_pool_backward(OUTPUT, INPUT, 4),
        ValueError,
        "n_spatial must be 1, 2 or 3, got 4",
    ),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_refusal(name: str) -> None:
    call, exception, message = REFUSALS[name]
    with pytest.raises(exception, match=re.escape(message)):
        call()


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
@pytest.mark.parametrize("bad", [-1, 16, 2**31 - 1, -(2**31)])
def test_a_bad_index_is_told_with_its_place(dtype: Any, bad: int) -> None:
    indices = np.zeros((3, 2, 2, 2), dtype)
    indices[2, 1, 0, 1] = bad
    message = f"indices must be at least 0 and below 16, got {bad} at n = 2, c = 1, output position [0, 0, 1]"
    with pytest.raises(IndexError, match=re.escape(message)):
        backward(np.zeros((3, 2, 2, 2)), indices, input=(3, 2, 4, 4))
    with pytest.raises(IndexError, match=re.escape(message)):
        poolgrad.adaptive_max_pool2d_backward(np.zeros((3, 2, 2, 2)), (3, 2, 4, 4), indices)


# Oracle: the memory around grad_input, which stays as it was.
@pytest.mark.parametrize("bad", [-1, 16, 2**40, -(2**63)])
def test_a_bad_index_touches_nothing_else(bad: int) -> None:
    room = np.full((2, 16 + 64), 7.0)
    grad_input = room[:, 32:48]
    indices = np.full((2, 4), bad)
    with pytest.raises(IndexError):
        poolgrad.adaptive_max_pool1d_backward(np.ones((2, 4)), grad_input, indices, grad_input=grad_input)
    assert (room[:, :32] == 7.0).all()
    assert (room[:, 48:] == 7.0).all()


def test_a_size_that_changes_its_mind_is_read_once() -> None:
    class Shrinking:
        def __init__(self, numbers: list[Any]) -> None:
            self.numbers = numbers

        def __index__(self) -> int:
            self.numbers.clear()
            return 2

    numbers: list[Any] = []
    numbers.extend([Shrinking(numbers), 2])
    with pytest.raises(ValueError, match="stride must have 1 value or 2"):
        forward(INPUT, 2, padding=[0, 0], stride=[*numbers, Shrinking(numbers)])
    assert forward(INPUT, 2, numbers).shape in {(1, 2, 2, 2)}


def test_an_exception_of_the_callers_passes_through() -> None:
    class Broken:
        def __index__(self) -> int:
            raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        forward(INPUT, 2, Broken())


# Oracle: PyO3's documented refusal; the package holds state that belongs to one interpreter.
@pytest.mark.skipif(sys.version_info < (3, 12), reason="before Python 3.12 all interpreters share one lock")
def test_other_interpreters_are_refused_in_words() -> None:
    module = "_interpreters" if sys.version_info >= (3, 13) else "_xxsubinterpreters"
    run_in = "exec" if sys.version_info >= (3, 13) else "run_string"
    program = f"""
import {module} as interpreters, poolgrad
other = interpreters.create()
print(interpreters.{run_in}(other, "import poolgrad"))
"""
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)
    assert "ImportError" in run.stdout + run.stderr

"""Arrays of libraries that are neither NumPy nor PyTorch: whatever has `__dlpack__`."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import poolgrad
import pytest
from poolgrad import _core


class Foreign:
    """An array of some library: NumPy's memory, and nothing of NumPy's to recognise it by."""

    def __init__(self, array: np.ndarray, versioned: bool = True) -> None:
        self.array, self.versioned, self.calls = array, versioned, 0

    def __dlpack__(self, **options: Any) -> Any:
        self.calls += 1
        if not self.versioned:
            if options:
                raise TypeError("__dlpack__() got an unexpected keyword argument 'max_version'")
            return self.array.__dlpack__()
        return self.array.__dlpack__(**options)


class Standard(Foreign):
    """The same with the array API standard's namespace."""

    def __array_namespace__(self) -> Any:
        return Namespace


class Namespace:
    @staticmethod
    def from_dlpack(array: np.ndarray) -> Standard:
        return Standard(array)


# Oracle for all: the same call on NumPy's arrays.
@pytest.mark.parametrize("versioned", [True, False])
def test_any_library_is_read_and_written_in_place(versioned: bool) -> None:
    random = np.random.default_rng(0)
    input = random.standard_normal((2, 3, 7, 8)).astype(np.float32)[:, ::-1, 1:, ::2]
    wanted, places = poolgrad.max_pool2d(input, 2, return_indices=True)
    output, indices = np.empty_like(wanted), np.empty_like(places)
    foreign = [Foreign(array, versioned) for array in (input, output, indices)]
    _core.max_pool(*foreign, (2, 2), None, 0, 1, False)
    np.testing.assert_array_equal(output, wanted)
    np.testing.assert_array_equal(indices, places)
    grad_input = np.empty_like(input)
    arguments = (2, 2, 0, 1, False, Foreign(indices, versioned))
    poolgrad.max_pool2d_with_indices_backward(
        Foreign(output, versioned), (2, 3, 6, 4), *arguments, grad_input=Foreign(grad_input, versioned)
    )
    wanted = poolgrad.max_pool2d_with_indices_backward(output, input, *arguments[:-1], indices)
    np.testing.assert_array_equal(grad_input, wanted)


def test_results_are_numpy_arrays_where_the_library_has_no_namespace() -> None:
    input = np.asfortranarray(np.random.default_rng(0).standard_normal((3, 6, 8)))
    result = poolgrad.max_pool2d(Foreign(input), 2)
    assert type(result) is np.ndarray
    assert result.flags.f_contiguous
    np.testing.assert_array_equal(result, poolgrad.max_pool2d(input, 2))


def test_results_are_the_librarys_where_it_has_one() -> None:
    input = np.random.default_rng(0).standard_normal((3, 6, 8))
    output, indices = poolgrad.max_pool2d(Standard(input), 2, return_indices=True)
    assert type(output) is type(indices) is Standard
    np.testing.assert_array_equal(output.array, poolgrad.max_pool2d(input, 2))
    average = poolgrad.adaptive_avg_pool2d(Standard(input), (None, 2))
    np.testing.assert_array_equal(average.array, poolgrad.adaptive_avg_pool2d(input, (6, 2)))
    slope = poolgrad.adaptive_avg_pool2d_backward(average, Standard(input))
    np.testing.assert_array_equal(slope.array, poolgrad.adaptive_avg_pool2d_backward(average.array, input))


def test_a_read_only_array_is_read_but_not_written() -> None:
    array = np.ones((1, 4))
    array.flags.writeable = False
    assert poolgrad.max_pool1d(Foreign(array), 2).shape == (1, 2)
    with pytest.raises(ValueError, match="out is written, but it is read-only"):
        poolgrad.max_pool1d(np.ones((1, 8)), 2, out=Foreign(array))


def test_a_library_that_refuses_is_quoted() -> None:
    class Refusing:
        shape = (1, 4)

        def __dlpack__(self, **options: Any) -> Any:
            raise BufferError("this tensor is on the moon\nand its trace is long")

    with pytest.raises(
        TypeError, match=r"input cannot be read: BufferError: .*moon$|input cannot be read: this.*moon$"
    ):
        poolgrad.max_pool1d(Refusing(), 2)


@pytest.mark.parametrize("result", [None, 3, object()])
def test_what_is_no_capsule_is_refused(result: Any) -> None:
    class Wrong:
        shape = (1, 4)

        def __dlpack__(self, **options: Any) -> Any:
            return result

    with pytest.raises(ValueError, match="input has a __dlpack__ that returns no DLPack capsule"):
        poolgrad.max_pool1d(Wrong(), 2)


# ---- tensors that no library at hand makes, written byte by byte ----


class DlTensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.c_void_p),
        ("strides", ctypes.c_void_p),
        ("byte_offset", ctypes.c_uint64),
    ]


class Managed(ctypes.Structure):
    _fields_ = [
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("owner", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("tensor", DlTensor),
    ]


capsule_of = ctypes.pythonapi.PyCapsule_New
capsule_of.restype = ctypes.py_object
capsule_of.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]


class Handmade:
    """`[C, W] = [1, 4]` float32 values 1, 2, 3, 4, with any field of the structure changed."""

    def __init__(self, major: int = 1, flags: int = 0, **fields: Any) -> None:
        self.values = (ctypes.c_float * 5)(9, 1, 2, 3, 4)
        self.sizes, self.steps = (ctypes.c_int64 * 2)(1, 4), (ctypes.c_int64 * 2)(4, 1)
        given = {
            "data": ctypes.addressof(self.values),
            "device": 1,
            "ndim": 2,
            "code": 2,
            "bits": 32,
            "lanes": 1,
            "shape": ctypes.addressof(self.sizes),
            "strides": ctypes.addressof(self.steps),
            "byte_offset": 4,
        }
        self.managed = Managed(major=major, flags=flags, tensor=DlTensor(**given | fields))

    def __dlpack__(self, **options: Any) -> Any:
        return capsule_of(ctypes.addressof(self.managed), b"dltensor_versioned", None)


def test_offset_and_missing_strides_are_understood() -> None:
    assert poolgrad.max_pool1d(Handmade(), 2).tolist() == [[2.0, 4.0]]
    assert poolgrad.max_pool1d(Handmade(strides=None), 2).tolist() == [[2.0, 4.0]]
    # Memory pinned for CUDA is the processor's as well.
    assert poolgrad.max_pool1d(Handmade(device=3), 2).tolist() == [[2.0, 4.0]]


@pytest.mark.parametrize(
    ("fields", "exception", "message"),
    [
        ({"device": 2}, ValueError, "input must be in the processor's memory, got a tensor on a CUDA device"),
        ({"device": 77}, ValueError, "got a tensor on DLPack device type 77"),
        ({"major": 2}, ValueError, "input comes in DLPack 2.0, and this library reads 1"),
        ({"ndim": -1}, ValueError, "input must have at most 5 axes, got -1"),
        ({"ndim": 99}, ValueError, "input must have at most 5 axes, got 99"),
        ({"shape": None}, ValueError, "input has axes without sizes"),
        ({"data": None}, ValueError, "input has no memory"),
        ({"lanes": 2}, TypeError, "got float32x2"),
        ({"code": 5, "bits": 64}, TypeError, "got complex64"),
        ({"code": 6, "bits": 8}, TypeError, "got bool"),
        ({"code": 0, "bits": 16}, TypeError, "got int16"),
        ({"code": 1, "bits": 32}, TypeError, "got uint32"),
        ({"code": 10, "bits": 8}, TypeError, "got a narrow float of bits: 8"),
    ],
)
def test_odd_tensors_are_refused(fields: dict[str, Any], exception: type[Exception], message: str) -> None:
    with pytest.raises(exception, match=message):
        poolgrad.max_pool1d(Handmade(**fields), 2)


def test_a_copy_is_no_place_to_write_to() -> None:
    for flags in (1, 2):
        with pytest.raises(ValueError, match="out is written, but it is read-only"):
            poolgrad.max_pool1d(np.ones((1, 8), np.float32), 2, out=Handmade(flags=flags))

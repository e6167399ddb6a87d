"""Arrays of any library: what kind one is, and new ones of the same kind.

Results come back as what came in: NumPy arrays for NumPy arrays, PyTorch tensors for PyTorch tensors. For an array of
any other library that speaks DLPack the result is made by NumPy and handed to that library's ``from_dlpack``, which is
found through the array API standard's ``__array_namespace__``; where there is none, it stays a NumPy array.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal, cast

from poolgrad import _core

if TYPE_CHECKING:
    import numpy as np

IndexType = Literal["int32", "int64"]


def torch_of(array: object) -> Any | None:
    """PyTorch, if `array` is one of its tensors."""
    # Whoever has a tensor has imported the library, so nothing is imported here.
    torch = sys.modules.get("torch")
    tensor = getattr(torch, "Tensor", None)
    return torch if tensor is not None and isinstance(array, tensor) else None


def numpy_of(array: object) -> Any | None:
    """NumPy, if `array` is one of its arrays."""
    numpy = sys.modules.get("numpy")
    ndarray = getattr(numpy, "ndarray", None)
    return numpy if ndarray is not None and isinstance(array, ndarray) else None


def check(array: object, name: str) -> None:
    """Refuses what looks like an array and means something else.

    Raises:
        TypeError: for a masked array, whose mask would be lost.
        ValueError: for a tensor whose gradient would be lost.
    """
    torch = torch_of(array)
    if torch is not None:
        if cast(Any, array).requires_grad and torch.is_grad_enabled():
            raise ValueError(
                f"{name} requires a gradient, which is not recorded here: use poolgrad.torch, or pass {name}.detach()"
            )
        return
    masked = getattr(sys.modules.get("numpy.ma"), "MaskedArray", None)
    if masked is not None and isinstance(array, masked):
        raise TypeError(f"{name} must not be a masked array: its mask would be lost, so fill it first")


def shape_of(array: object, name: str) -> tuple[int, ...]:
    """The shape of an array.

    Raises:
        TypeError: for what is no array.
    """
    shape = getattr(array, "shape", None)
    if isinstance(shape, tuple):
        return shape
    if hasattr(array, "__dlpack__"):
        return _core.describe(array)[0]
    raise TypeError(
        f"{name} must be a NumPy array, a PyTorch tensor or another array with __dlpack__, got {type(array)}"
    )


def input_shape(input: object) -> tuple[int, ...]:
    """The shape that the argument `input` of a gradient has, or is."""
    if isinstance(input, (tuple, list)):
        return tuple(input)
    return shape_of(input, "input")


def empty_like(array: Any, shape: tuple[int, ...], index_type: IndexType | None = None, order_of: object = None) -> Any:
    """A new array of this shape, of the kind, element type and device of `array`; indices are of `index_type`.

    Its axes follow each other in memory as those of `order_of`, or of `array`, do: channels-last stays channels-last.
    """
    torch = torch_of(array)
    if torch is not None:
        dtype = array.dtype if index_type is None else getattr(torch, index_type)
        model = array if torch_of(order_of) is None else cast(Any, order_of)
        order = None if model.is_contiguous() else _order(model.stride(), len(shape))
        if order is None:
            return torch.empty(shape, dtype=dtype, device=array.device)
        return torch.empty_permuted(shape, order, dtype=dtype, device=array.device)
    numpy = numpy_of(array)
    if numpy is not None:
        model = array if numpy_of(order_of) is None else order_of
        return numpy.empty_like(model, dtype=index_type or array.dtype, order="K", subok=False, shape=shape)
    return _empty_foreign(array, shape, index_type)


def _empty_foreign(array: object, shape: tuple[int, ...], index_type: IndexType | None) -> np.ndarray[Any, Any]:
    import numpy as np

    _, strides, dtype = _core.describe(array)
    order = _order(strides, len(shape)) or list(range(len(shape)))
    result = np.empty([shape[axis] for axis in order], index_type or _numpy_type(dtype))
    return result.transpose(np.argsort(order))


def _numpy_type(name: str) -> Any:
    if name == "bfloat16":
        import ml_dtypes

        return ml_dtypes.bfloat16
    return name


def _order(strides: tuple[int, ...], n_axes: int) -> list[int] | None:
    """The axes from the outermost in memory to the innermost, where there is such an order."""
    if len(strides) != n_axes or 0 in strides:
        return None
    return sorted(range(n_axes), key=lambda axis: -abs(strides[axis]))


def index_type_of(index_dtype: object) -> IndexType:
    """The index type that a caller named: ``"int32"``, or NumPy's or PyTorch's type of that name.

    Raises:
        ValueError: for any other.
    """
    name = getattr(index_dtype, "__name__", None) or str(index_dtype)
    name = name.removeprefix("torch.")
    if name not in ("int32", "int64"):
        raise ValueError(f"index_dtype must be int32 or int64, got {index_dtype!r}")
    return cast(IndexType, name)


def finisher(array: Any) -> Callable[[Any], Any]:
    """What makes a result for a caller who passed `array`: most often nothing has to be done."""
    if torch_of(array) is not None or numpy_of(array) is not None or not hasattr(array, "__array_namespace__"):
        return lambda result: result
    namespace = array.__array_namespace__()

    def finish(result: np.ndarray[Any, Any]) -> Any:
        return namespace.from_dlpack(result) if result.dtype.isbuiltin else result

    return finish


def numbers(value: int | Sequence[int], n_spatial: int, name: str) -> tuple[int, ...]:
    """A parameter as one number for each spatial axis.

    Raises:
        ValueError: for a list of another length.
    """
    if not isinstance(value, (tuple, list)):
        return (cast(int, value),) * n_spatial
    if len(value) == n_spatial:
        return tuple(value)
    if len(value) == 1:
        return tuple(value) * n_spatial
    raise ValueError(f"{name} must have 1 value or {n_spatial}, one for each spatial axis, got {len(value)}")

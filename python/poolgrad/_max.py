"""Max pooling in one, two and three dimensions, and its gradient."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from poolgrad import _core
from poolgrad._arrays import IndexType, check, empty_like, finisher, index_type_of, input_shape, numbers, shape_of


def max_pool1d(
    input: Any,
    kernel_size: int | Sequence[int],
    stride: int | Sequence[int] | None = None,
    padding: int | Sequence[int] = 0,
    dilation: int | Sequence[int] = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
    *,
    out: Any = None,
    indices_out: Any = None,
    index_dtype: IndexType | Any = "int64",
    threads: int = 0,
) -> Any:
    """The maximum of each window over W.

    Parameters and result are those of ``torch.nn.functional.max_pool1d``; the formulas are those of
    `poolgrad.max_pool3d`.

    Args:
        input: `[N, C, W]` or `[C, W]`, of element type float32, float64, float16 or bfloat16, with any strides.
        kernel_size: the number of elements of a window, at least 1.
        stride: the step from one window to the next, at least 1; `kernel_size` if it is None.
        padding: the border on both sides that counts as minus infinity, at most half of `kernel_size`.
        dilation: the step between the elements of a window, at least 1.
        ceil_mode: whether a last window that is cut off by the border counts.
        return_indices: whether to return, besides the maxima, where they lie: offsets in the volume of one channel.
        out: an array to write the maxima into, instead of a new one.
        indices_out: an array of int32 or int64 to write the indices into; implies `return_indices`.
        index_dtype: int32 or int64, the type of new indices.
        threads: the most threads that may work on the call; 0 leaves it to the library.

    Returns:
        The maxima, or the pair of the maxima and their indices, in the memory order of `input`.

    Raises:
        TypeError: if an argument is no array, or has another element type.
        ValueError: if a shape or a parameter breaks a rule, or an output cannot be written.

    Examples:
        >>> input = np.array([[1.0, 5.0, 2.0, 0.0, 3.0]])
        >>> poolgrad.max_pool1d(input, 2)
        array([[5., 2.]])
        >>> poolgrad.max_pool1d(input, 3, stride=2, return_indices=True)
        (array([[5., 3.]]), array([[1, 4]]))
    """
    parameters = (numbers(kernel_size, 1, "kernel_size"), stride, padding, dilation, ceil_mode)
    indices_type = index_type_of(index_dtype) if return_indices and indices_out is None else None
    return _max_pool(input, parameters, (out, indices_out), indices_type, threads)


def max_pool2d(
    input: Any,
    kernel_size: int | Sequence[int],
    stride: int | Sequence[int] | None = None,
    padding: int | Sequence[int] = 0,
    dilation: int | Sequence[int] = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
    *,
    out: Any = None,
    indices_out: Any = None,
    index_dtype: IndexType | Any = "int64",
    threads: int = 0,
) -> Any:
    """The maximum of each window over H and W.

    Parameters and result are those of ``torch.nn.functional.max_pool2d``; the formulas are those of
    `poolgrad.max_pool3d`.

    Args:
        input: `[N, C, H, W]` or `[C, H, W]`, of element type float32, float64, float16 or bfloat16, with any strides.
        kernel_size: the number of elements of a window, at least 1.
        stride: the step from one window to the next, at least 1; `kernel_size` if it is None.
        padding: the border on both sides that counts as minus infinity, at most half of `kernel_size`.
        dilation: the step between the elements of a window, at least 1.
        ceil_mode: whether a last window that is cut off by the border counts.
        return_indices: whether to return, besides the maxima, where they lie: offsets in the volume of one channel.
        out: an array to write the maxima into, instead of a new one.
        indices_out: an array of int32 or int64 to write the indices into; implies `return_indices`.
        index_dtype: int32 or int64, the type of new indices.
        threads: the most threads that may work on the call; 0 leaves it to the library.

    Returns:
        The maxima, or the pair of the maxima and their indices, in the memory order of `input`.

    Raises:
        TypeError: if an argument is no array, or has another element type.
        ValueError: if a shape or a parameter breaks a rule, or an output cannot be written.

    Examples:
        >>> input = np.arange(16, dtype=np.float32).reshape(1, 4, 4)
        >>> poolgrad.max_pool2d(input, 2)
        array([[[ 5.,  7.],
                [13., 15.]]], dtype=float32)
        >>> output, indices = poolgrad.max_pool2d(input, 3, stride=2, padding=1, return_indices=True)
        >>> indices
        array([[[ 5,  7],
                [13, 15]]])
    """
    parameters = (numbers(kernel_size, 2, "kernel_size"), stride, padding, dilation, ceil_mode)
    indices_type = index_type_of(index_dtype) if return_indices and indices_out is None else None
    return _max_pool(input, parameters, (out, indices_out), indices_type, threads)


def max_pool3d(
    input: Any,
    kernel_size: int | Sequence[int],
    stride: int | Sequence[int] | None = None,
    padding: int | Sequence[int] = 0,
    dilation: int | Sequence[int] = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
    *,
    out: Any = None,
    indices_out: Any = None,
    index_dtype: IndexType | Any = "int64",
    threads: int = 0,
) -> Any:
    """The maximum of each window over D, H and W.

    For each spatial axis, output position `o` sees the input positions ``o * stride - padding + j * dilation`` for
    ``0 <= j < kernel_size`` that lie inside the input, and the size of the output is

        floor((input + 2 * padding - dilation * (kernel_size - 1) - 1) / stride) + 1

    with ceil for floor in ceil mode, less one if the last window would then start behind the input and its left
    padding. In a window the first maximum in row-major order wins; a NaN beats every number, and the last NaN wins.

    Source: ``torch.nn.MaxPool3d``; CANN's ``aclnnMaxPool3dWithArgmax``.

    Args:
        input: `[N, C, D, H, W]` or `[C, D, H, W]`, of element type float32, float64, float16 or bfloat16, with any
            strides.
        kernel_size: the number of elements of a window, at least 1.
        stride: the step from one window to the next, at least 1; `kernel_size` if it is None.
        padding: the border on both sides that counts as minus infinity, at most half of `kernel_size`.
        dilation: the step between the elements of a window, at least 1.
        ceil_mode: whether a last window that is cut off by the border counts.
        return_indices: whether to return, besides the maxima, where they lie: offsets in the volume of one channel.
        out: an array to write the maxima into, instead of a new one.
        indices_out: an array of int32 or int64 to write the indices into; implies `return_indices`.
        index_dtype: int32 or int64, the type of new indices.
        threads: the most threads that may work on the call; 0 leaves it to the library.

    Returns:
        The maxima, or the pair of the maxima and their indices, in the memory order of `input`.

    Raises:
        TypeError: if an argument is no array, or has another element type.
        ValueError: if a shape or a parameter breaks a rule, or an output cannot be written.

    Examples:
        >>> input = np.arange(32, dtype=np.float16).reshape(1, 2, 4, 4)
        >>> output, indices = poolgrad.max_pool3d(input, (2, 2, 4), return_indices=True)
        >>> output.ravel(), indices.ravel()
        (array([23., 31.], dtype=float16), array([23, 31]))
    """
    parameters = (numbers(kernel_size, 3, "kernel_size"), stride, padding, dilation, ceil_mode)
    indices_type = index_type_of(index_dtype) if return_indices and indices_out is None else None
    return _max_pool(input, parameters, (out, indices_out), indices_type, threads)


def max_pool1d_with_indices_backward(
    grad_output: Any,
    input: Any,
    kernel_size: int | Sequence[int],
    stride: int | Sequence[int] | None,
    padding: int | Sequence[int],
    dilation: int | Sequence[int],
    ceil_mode: bool,
    indices: Any,
    *,
    grad_input: Any = None,
    threads: int = 0,
) -> Any:
    """The gradient of `max_pool1d`: each of `grad_output` added where its index points.

    Names and order of the arguments are those of PyTorch's operator. An index may point anywhere in its volume.

    Args:
        grad_output: the gradient of the output, in the output's shape.
        input: what was pooled, `[N, C, W]` or `[C, W]`, or its shape; nothing but shape and
            memory order are looked at.
        kernel_size, stride, padding, dilation, ceil_mode: as for `max_pool1d`.
        indices: the indices that `max_pool1d` returned, int32 or int64.
        grad_input: an array to write the gradient into, instead of a new one.
        threads: the most threads that may work on the call; 0 leaves it to the library.

    Returns:
        The gradient of the input: sums in float32 (float64 for float64), in ascending order of output position, rounded
        once.

    Raises:
        IndexError: if an index points outside its volume; the message says which.
        TypeError, ValueError: as for `max_pool1d`.

    Examples:
        >>> grad_output, indices = np.array([[10.0, 20.0]]), np.array([[1, 3]])
        >>> poolgrad.max_pool1d_with_indices_backward(grad_output, (1, 4), 2, 2, 0, 1, False, indices)
        array([[ 0., 10.,  0., 20.]])
    """
    parameters = (numbers(kernel_size, 1, "kernel_size"), stride, padding, dilation, ceil_mode)
    return _max_pool_backward((grad_output, indices, grad_input), input, parameters, threads)


def max_pool2d_with_indices_backward(
    grad_output: Any,
    input: Any,
    kernel_size: int | Sequence[int],
    stride: int | Sequence[int] | None,
    padding: int | Sequence[int],
    dilation: int | Sequence[int],
    ceil_mode: bool,
    indices: Any,
    *,
    grad_input: Any = None,
    threads: int = 0,
) -> Any:
    """The gradient of `max_pool2d`: each of `grad_output` added where its index points.

    Names and order of the arguments are those of PyTorch's operator. An index may point anywhere in its volume.

    Args:
        grad_output: the gradient of the output, in the output's shape.
        input: what was pooled, `[N, C, H, W]` or `[C, H, W]`, or its shape; nothing but shape and
            memory order are looked at.
        kernel_size, stride, padding, dilation, ceil_mode: as for `max_pool2d`.
        indices: the indices that `max_pool2d` returned, int32 or int64.
        grad_input: an array to write the gradient into, instead of a new one.
        threads: the most threads that may work on the call; 0 leaves it to the library.

    Returns:
        The gradient of the input: sums in float32 (float64 for float64), in ascending order of output position, rounded
        once.

    Raises:
        IndexError: if an index points outside its volume; the message says which.
        TypeError, ValueError: as for `max_pool2d`.

    Examples:
        >>> grad_output, indices = np.ones((1, 1, 2)), np.array([[[1, 6]]])
        >>> poolgrad.max_pool2d_with_indices_backward(grad_output, (1, 2, 4), 2, 2, 0, 1, False, indices)
        array([[[0., 1., 0., 0.],
                [0., 0., 1., 0.]]])
    """
    parameters = (numbers(kernel_size, 2, "kernel_size"), stride, padding, dilation, ceil_mode)
    return _max_pool_backward((grad_output, indices, grad_input), input, parameters, threads)


def max_pool3d_with_indices_backward(
    grad_output: Any,
    input: Any,
    kernel_size: int | Sequence[int],
    stride: int | Sequence[int] | None,
    padding: int | Sequence[int],
    dilation: int | Sequence[int],
    ceil_mode: bool,
    indices: Any,
    *,
    grad_input: Any = None,
    threads: int = 0,
) -> Any:
    """The gradient of `max_pool3d`: each of `grad_output` added where its index points.

    Names and order of the arguments are those of PyTorch's operator. An index may point anywhere in its volume.

    Args:
        grad_output: the gradient of the output, in the output's shape.
        input: what was pooled, `[N, C, D, H, W]` or `[C, D, H, W]`, or its shape; nothing but shape and
            memory order are looked at.
        kernel_size, stride, padding, dilation, ceil_mode: as for `max_pool3d`.
        indices: the indices that `max_pool3d` returned, int32 or int64.
        grad_input: an array to write the gradient into, instead of a new one.
        threads: the most threads that may work on the call; 0 leaves it to the library.

    Returns:
        The gradient of the input: sums in float32 (float64 for float64), in ascending order of output position, rounded
        once.

    Raises:
        IndexError: if an index points outside its volume; the message says which.
        TypeError, ValueError: as for `max_pool3d`.

    Examples:
        >>> input = np.random.default_rng(0).standard_normal((2, 8, 6, 6, 6), np.float32)
        >>> output, indices = poolgrad.max_pool3d(input, 3, 2, 1, return_indices=True)
        >>> grad_output = np.ones_like(output)
        >>> grad_input = poolgrad.max_pool3d_with_indices_backward(
        ...     grad_output, input, 3, 2, 1, 1, False, indices
        ... )
        >>> float(grad_input.sum()) == output.size
        True
    """
    parameters = (numbers(kernel_size, 3, "kernel_size"), stride, padding, dilation, ceil_mode)
    return _max_pool_backward((grad_output, indices, grad_input), input, parameters, threads)


_Parameters = tuple[tuple[int, ...], "int | Sequence[int] | None", "int | Sequence[int]", "int | Sequence[int]", bool]


def _max_pool(
    input: Any, parameters: _Parameters, outputs: tuple[Any, Any], index_type: IndexType | None, threads: int
) -> Any:
    output, indices = outputs
    check(input, "input")
    if output is None or index_type is not None:
        shape = _core.max_pool_shape(shape_of(input, "input"), *parameters)
        output = empty_like(input, shape) if output is None else output
        indices = empty_like(input, shape, index_type) if index_type is not None else indices
    _core.max_pool(input, output, indices, *parameters, threads)
    finish = finisher(input)
    if indices is None:
        return outputs[0] if outputs[0] is not None else finish(output)
    return (
        outputs[0] if outputs[0] is not None else finish(output),
        outputs[1] if outputs[1] is not None else finish(indices),
    )


def _max_pool_backward(tensors: tuple[Any, Any, Any], input: Any, parameters: _Parameters, threads: int) -> Any:
    grad_output, indices, grad_input = tensors
    check(grad_output, "grad_output")
    if grad_input is not None:
        _core.max_pool_backward(grad_output, indices, grad_input, *parameters, threads)
        return grad_input
    shape = input_shape(input)
    # Known to fit before it is made, so that an absurd shape is a message and not an attempt.
    _core.max_pool_shape(shape, *parameters)
    grad_input = empty_like(grad_output, shape, order_of=input)
    _core.max_pool_backward(grad_output, indices, grad_input, *parameters, threads)
    return finisher(grad_output)(grad_input)

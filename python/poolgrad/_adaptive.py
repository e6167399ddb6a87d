"""Adaptive pooling, where the size of the output is given and the windows follow from it, and its gradients."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from poolgrad import _core
from poolgrad._arrays import IndexType, check, empty_like, finisher, index_type_of, input_shape, numbers, shape_of


def adaptive_max_pool1d(
    input: Any,
    output_size: int | Sequence[int | None] | None,
    return_indices: bool = False,
    *,
    out: Any = None,
    indices_out: Any = None,
    index_dtype: IndexType | Any = "int64",
    threads: int = 0,
) -> Any:
    """The maximum of each of `output_size` windows over W.

    Parameters and result are those of ``torch.nn.functional.adaptive_max_pool1d``; the windows are those of
    `poolgrad.adaptive_max_pool3d`.

    Args:
        input: `[N, C, W]` or `[C, W]`, of element type float32, float64, float16 or bfloat16, with any strides.
        output_size: the spatial size of the output, at least 1; None stands for the input's own size.
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
        >>> poolgrad.adaptive_max_pool1d(np.array([[1.0, 5.0, 7.0, 0.0, 3.0]]), 2, return_indices=True)
        (array([[7., 7.]]), array([[2, 2]]))
    """
    indices_type = index_type_of(index_dtype) if return_indices and indices_out is None else None
    return _adaptive_max_pool(input, (output_size, 1), (out, indices_out), indices_type, threads)


def adaptive_max_pool2d(
    input: Any,
    output_size: int | Sequence[int | None] | None,
    return_indices: bool = False,
    *,
    out: Any = None,
    indices_out: Any = None,
    index_dtype: IndexType | Any = "int64",
    threads: int = 0,
) -> Any:
    """The maximum of each of `output_size` windows over H and W.

    Parameters and result are those of ``torch.nn.functional.adaptive_max_pool2d``; the windows are those of
    `poolgrad.adaptive_max_pool3d`.

    Args:
        input: `[N, C, H, W]` or `[C, H, W]`, of element type float32, float64, float16 or bfloat16, with any strides.
        output_size: the spatial size of the output, at least 1; None stands for the input's own size.
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
        >>> input = np.arange(12, dtype=np.float32).reshape(1, 3, 4)
        >>> poolgrad.adaptive_max_pool2d(input, (None, 2))
        array([[[ 1.,  3.],
                [ 5.,  7.],
                [ 9., 11.]]], dtype=float32)
    """
    indices_type = index_type_of(index_dtype) if return_indices and indices_out is None else None
    return _adaptive_max_pool(input, (output_size, 2), (out, indices_out), indices_type, threads)


def adaptive_max_pool3d(
    input: Any,
    output_size: int | Sequence[int | None] | None,
    return_indices: bool = False,
    *,
    out: Any = None,
    indices_out: Any = None,
    index_dtype: IndexType | Any = "int64",
    threads: int = 0,
) -> Any:
    """The maximum of each of `output_size` windows over D, H and W.

    For each spatial axis of input size `I` and output size `O`, output position `o` sees the input positions from
    ``floor(o * I / O)`` to below ``ceil((o + 1) * I / O)``. The windows cover the input, and overlap where `I` is no
    multiple of `O`; an output larger than the input is legal.
    In a window the first maximum in row-major order wins; a NaN beats every number, and the last NaN wins.

    Source: ``torch.nn.AdaptiveMaxPool3d``; CANN's ``aclnnAdaptiveMaxPool3d``.

    Args:
        input: `[N, C, D, H, W]` or `[C, D, H, W]`, of element type float32, float64, float16 or bfloat16, with any
            strides.
        output_size: the spatial size of the output, at least 1; None stands for the input's own size.
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
        >>> input = np.arange(64, dtype=np.float32).reshape(1, 4, 4, 4)
        >>> poolgrad.adaptive_max_pool3d(input, (1, 1, 2)).ravel()
        array([61., 63.], dtype=float32)
    """
    indices_type = index_type_of(index_dtype) if return_indices and indices_out is None else None
    return _adaptive_max_pool(input, (output_size, 3), (out, indices_out), indices_type, threads)


def adaptive_avg_pool1d(
    input: Any,
    output_size: int | Sequence[int | None] | None,
    *,
    out: Any = None,
    threads: int = 0,
) -> Any:
    """The mean of each of `output_size` windows over W.

    Parameters and result are those of ``torch.nn.functional.adaptive_avg_pool1d``; the windows are those of
    `poolgrad.adaptive_max_pool3d`.

    Args:
        input: `[N, C, W]` or `[C, W]`, of element type float32, float64, float16 or bfloat16, with any strides.
        output_size: the spatial size of the output, at least 1; None stands for the input's own size.
        out: an array to write the means into, instead of a new one.
        threads: the most threads that may work on the call; 0 leaves it to the library.

    Returns:
        The means, in the memory order of `input`.

    Raises:
        TypeError: if an argument is no array, or has another element type.
        ValueError: if a shape or a parameter breaks a rule, or an output cannot be written.

    Examples:
        >>> poolgrad.adaptive_avg_pool1d(np.array([[1.0, 5.0, 7.0, 0.0, 3.0]]), 1)
        array([[3.2]])
    """
    return _adaptive_avg_pool(input, (output_size, 1), out, threads)


def adaptive_avg_pool2d(
    input: Any,
    output_size: int | Sequence[int | None] | None,
    *,
    out: Any = None,
    threads: int = 0,
) -> Any:
    """The mean of each of `output_size` windows over H and W.

    Parameters and result are those of ``torch.nn.functional.adaptive_avg_pool2d``; the windows are those of
    `poolgrad.adaptive_max_pool3d`.

    Args:
        input: `[N, C, H, W]` or `[C, H, W]`, of element type float32, float64, float16 or bfloat16, with any strides.
        output_size: the spatial size of the output, at least 1; None stands for the input's own size.
        out: an array to write the means into, instead of a new one.
        threads: the most threads that may work on the call; 0 leaves it to the library.

    Returns:
        The means, in the memory order of `input`.

    Raises:
        TypeError: if an argument is no array, or has another element type.
        ValueError: if a shape or a parameter breaks a rule, or an output cannot be written.

    Examples:
        >>> input = np.arange(12, dtype=np.float32).reshape(1, 3, 4)
        >>> poolgrad.adaptive_avg_pool2d(input, (1, 2))
        array([[[4.5, 6.5]]], dtype=float32)
    """
    return _adaptive_avg_pool(input, (output_size, 2), out, threads)


def adaptive_avg_pool3d(
    input: Any,
    output_size: int | Sequence[int | None] | None,
    *,
    out: Any = None,
    threads: int = 0,
) -> Any:
    """The mean of each of `output_size` windows over D, H and W.

    The windows are those of `poolgrad.adaptive_max_pool3d`; sums are formed in float32 (float64 for float64) and
    rounded once.

    Source: ``torch.nn.AdaptiveAvgPool3d``; CANN's ``aclnnAdaptiveAvgPool3d``.

    Args:
        input: `[N, C, D, H, W]` or `[C, D, H, W]`, of element type float32, float64, float16 or bfloat16, with any
            strides.
        output_size: the spatial size of the output, at least 1; None stands for the input's own size.
        out: an array to write the means into, instead of a new one.
        threads: the most threads that may work on the call; 0 leaves it to the library.

    Returns:
        The means, in the memory order of `input`.

    Raises:
        TypeError: if an argument is no array, or has another element type.
        ValueError: if a shape or a parameter breaks a rule, or an output cannot be written.

    Examples:
        >>> input = np.arange(64, dtype=np.float32).reshape(1, 4, 4, 4)
        >>> poolgrad.adaptive_avg_pool3d(input, 1).item()
        31.5
    """
    return _adaptive_avg_pool(input, (output_size, 3), out, threads)


def adaptive_max_pool1d_backward(
    grad_output: Any, input: Any, indices: Any, *, grad_input: Any = None, threads: int = 0
) -> Any:
    """The gradient of `adaptive_max_pool1d`: each of `grad_output` added where its index points.

    Names and order of the arguments are those of PyTorch's operator. An index may point anywhere in its volume.

    Args:
        grad_output: the gradient of the output, in the output's shape.
        input: what was pooled, `[N, C, W]` or `[C, W]`, or its shape; nothing but shape and
            memory order are looked at.
        indices: the indices that `adaptive_max_pool1d` returned, int32 or int64.
        grad_input: an array to write the gradient into, instead of a new one.
        threads: the most threads that may work on the call; 0 leaves it to the library.

    Raises:
        IndexError: if an index points outside its volume; the message says which.
        TypeError, ValueError: as for `adaptive_max_pool1d`.

    Examples:
        >>> poolgrad.adaptive_max_pool1d_backward(np.array([[10.0, 20.0]]), (1, 5), np.array([[2, 2]]))
        array([[ 0.,  0., 30.,  0.,  0.]])
    """
    return _backward((grad_output, indices, grad_input), input, 1, threads)


def adaptive_max_pool2d_backward(
    grad_output: Any, input: Any, indices: Any, *, grad_input: Any = None, threads: int = 0
) -> Any:
    """The gradient of `adaptive_max_pool2d`: each of `grad_output` added where its index points.

    Names and order of the arguments are those of PyTorch's operator. An index may point anywhere in its volume.

    Args:
        grad_output: the gradient of the output, in the output's shape.
        input: what was pooled, `[N, C, H, W]` or `[C, H, W]`, or its shape; nothing but shape and
            memory order are looked at.
        indices: the indices that `adaptive_max_pool2d` returned, int32 or int64.
        grad_input: an array to write the gradient into, instead of a new one.
        threads: the most threads that may work on the call; 0 leaves it to the library.

    Raises:
        IndexError: if an index points outside its volume; the message says which.
        TypeError, ValueError: as for `adaptive_max_pool2d`.

    Examples:
        >>> poolgrad.adaptive_max_pool2d_backward(np.ones((1, 1, 2)), (1, 2, 2), np.array([[[3, 0]]]))
        array([[[1., 0.],
                [0., 1.]]])
    """
    return _backward((grad_output, indices, grad_input), input, 2, threads)


def adaptive_max_pool3d_backward(
    grad_output: Any, input: Any, indices: Any, *, grad_input: Any = None, threads: int = 0
) -> Any:
    """The gradient of `adaptive_max_pool3d`: each of `grad_output` added where its index points.

    Names and order of the arguments are those of PyTorch's operator. An index may point anywhere in its volume.

    Args:
        grad_output: the gradient of the output, in the output's shape.
        input: what was pooled, `[N, C, D, H, W]` or `[C, D, H, W]`, or its shape; nothing but shape and
            memory order are looked at.
        indices: the indices that `adaptive_max_pool3d` returned, int32 or int64.
        grad_input: an array to write the gradient into, instead of a new one.
        threads: the most threads that may work on the call; 0 leaves it to the library.

    Raises:
        IndexError: if an index points outside its volume; the message says which.
        TypeError, ValueError: as for `adaptive_max_pool3d`.

    Examples:
        >>> input = np.random.default_rng(0).standard_normal((2, 4, 7, 7, 7))
        >>> output, indices = poolgrad.adaptive_max_pool3d(input, 3, return_indices=True)
        >>> grad_input = poolgrad.adaptive_max_pool3d_backward(np.ones_like(output), input, indices)
        >>> float(grad_input.sum()) == output.size
        True
    """
    return _backward((grad_output, indices, grad_input), input, 3, threads)


def adaptive_avg_pool1d_backward(grad_output: Any, input: Any, *, grad_input: Any = None, threads: int = 0) -> Any:
    """The gradient of `adaptive_avg_pool1d`: each of `grad_output` shared equally among its window.

    Args:
        grad_output: the gradient of the output, in the output's shape.
        input: what was pooled, `[N, C, W]` or `[C, W]`, or its shape; nothing but shape and
            memory order are looked at.
        grad_input: an array to write the gradient into, instead of a new one.
        threads: the most threads that may work on the call; 0 leaves it to the library.

    Raises:
        TypeError, ValueError: as for `adaptive_avg_pool1d`.

    Examples:
        >>> poolgrad.adaptive_avg_pool1d_backward(np.array([[3.0, 6.0]]), (1, 5))
        array([[1., 1., 3., 2., 2.]])
    """
    return _backward((grad_output, None, grad_input), input, 1, threads)


def adaptive_avg_pool2d_backward(grad_output: Any, input: Any, *, grad_input: Any = None, threads: int = 0) -> Any:
    """The gradient of `adaptive_avg_pool2d`: each of `grad_output` shared equally among its window.

    Args:
        grad_output: the gradient of the output, in the output's shape.
        input: what was pooled, `[N, C, H, W]` or `[C, H, W]`, or its shape; nothing but shape and
            memory order are looked at.
        grad_input: an array to write the gradient into, instead of a new one.
        threads: the most threads that may work on the call; 0 leaves it to the library.

    Raises:
        TypeError, ValueError: as for `adaptive_avg_pool2d`.

    Examples:
        >>> poolgrad.adaptive_avg_pool2d_backward(np.array([[[4.0, 8.0]]]), (1, 2, 4))
        array([[[1., 1., 2., 2.],
                [1., 1., 2., 2.]]])
    """
    return _backward((grad_output, None, grad_input), input, 2, threads)


def adaptive_avg_pool3d_backward(grad_output: Any, input: Any, *, grad_input: Any = None, threads: int = 0) -> Any:
    """The gradient of `adaptive_avg_pool3d`: each of `grad_output` shared equally among its window.

    Args:
        grad_output: the gradient of the output, in the output's shape.
        input: what was pooled, `[N, C, D, H, W]` or `[C, D, H, W]`, or its shape; nothing but shape and
            memory order are looked at.
        grad_input: an array to write the gradient into, instead of a new one.
        threads: the most threads that may work on the call; 0 leaves it to the library.

    Raises:
        TypeError, ValueError: as for `adaptive_avg_pool3d`.

    Examples:
        >>> poolgrad.adaptive_avg_pool3d_backward(np.array([[[[8.0]]]]), (1, 2, 2, 2)).sum().item()
        8.0
    """
    return _backward((grad_output, None, grad_input), input, 3, threads)


def _sizes(input: Any, output_size: int | Sequence[int | None] | None, n_spatial: int) -> tuple[int, ...]:
    """The output size, with the input's own size for each None."""
    if output_size is None or (isinstance(output_size, (tuple, list)) and None in output_size):
        own = shape_of(input, "input")[-n_spatial:]
        wanted = numbers(output_size, n_spatial, "output_size")  # type: ignore[arg-type]
        return tuple(size if number is None else number for number, size in zip(wanted, own))
    return numbers(output_size, n_spatial, "output_size")  # type: ignore[arg-type]


def _adaptive_max_pool(
    input: Any, wanted: tuple[Any, int], outputs: tuple[Any, Any], index_type: IndexType | None, threads: int
) -> Any:
    output, indices = outputs
    check(input, "input")
    output_size = _sizes(input, *wanted)
    if output is None or index_type is not None:
        shape = _core.adaptive_pool_shape(shape_of(input, "input"), output_size)
        output = empty_like(input, shape) if output is None else output
        indices = empty_like(input, shape, index_type) if index_type is not None else indices
    _core.adaptive_max_pool(input, output, indices, output_size, threads)
    finish = finisher(input)
    output = outputs[0] if outputs[0] is not None else finish(output)
    if indices is None:
        return output
    return output, outputs[1] if outputs[1] is not None else finish(indices)


def _adaptive_avg_pool(input: Any, wanted: tuple[Any, int], out: Any, threads: int) -> Any:
    check(input, "input")
    output_size = _sizes(input, *wanted)
    if out is not None:
        _core.adaptive_avg_pool(input, out, output_size, threads)
        return out
    output = empty_like(input, _core.adaptive_pool_shape(shape_of(input, "input"), output_size))
    _core.adaptive_avg_pool(input, output, output_size, threads)
    return finisher(input)(output)


def _backward(tensors: tuple[Any, Any, Any], input: Any, n_spatial: int, threads: int) -> Any:
    grad_output, indices, grad_input = tensors
    check(grad_output, "grad_output")
    result = grad_input
    if result is None:
        shape = input_shape(input)
        # Known to be sensible before it is made, so that an absurd shape is a message and not an attempt.
        _core.adaptive_pool_shape(shape, shape_of(grad_output, "grad_output")[-n_spatial:])
        result = empty_like(grad_output, shape, order_of=input)
    if indices is None:
        _core.adaptive_avg_pool_backward(grad_output, result, n_spatial, threads)
    else:
        _core.adaptive_max_pool_backward(grad_output, indices, result, n_spatial, threads)
    return result if grad_input is not None else finisher(grad_output)(result)

"""Every function, element type, index type and layout against the definitions in `reference.py`."""

from __future__ import annotations

import numpy as np
import poolgrad
import pytest
import reference
from cases import FLOATS, LAYOUTS, TOLERANCE, Case, cases, laid_out, max_parameters, surroundings
from hypothesis import given, settings
from hypothesis import strategies as st


def function(name: str, n_spatial: int, suffix: str = "") -> object:
    return getattr(poolgrad, f"{name}{n_spatial}d{suffix}")


def target(case: Case, shape: tuple[int, ...], dtype: str, layout: str) -> tuple[np.ndarray, np.ndarray]:
    """An array to be written, and a copy of the memory around it."""
    array = laid_out(np.full(shape, 99, FLOATS.get(dtype, dtype)), layout)
    return array, surroundings(array).copy()


def assert_exact(got: np.ndarray, wanted: np.ndarray) -> None:
    assert got.shape == wanted.shape
    np.testing.assert_array_equal(np.asarray(got, np.float64), np.asarray(wanted, np.float64))


def assert_close(case: Case, got: np.ndarray, wanted: np.ndarray) -> None:
    tolerance = TOLERANCE[case.dtype]
    np.testing.assert_allclose(np.asarray(got, np.float64), wanted, rtol=tolerance, atol=5 * tolerance)


@settings(max_examples=300)
@given(st.data(), cases())
def test_max_pool_and_its_gradient(data: st.DataObject, case: Case) -> None:
    parameters, ceil_mode = data.draw(max_parameters(case.sizes))
    windows = reference.fixed_windows(case.sizes, parameters, ceil_mode)
    input = laid_out(case.values(case.shape), case.layouts[0])
    wanted, places = reference.max_pool(input, windows)

    forward = function("max_pool", case.n_spatial)
    output, indices = forward(input, *parameters, ceil_mode=ceil_mode, return_indices=True, index_dtype=case.index_type)
    assert output.dtype == input.dtype
    assert indices.dtype == case.index_type
    assert_exact(output, wanted)
    assert_exact(indices, places)
    assert_exact(forward(input, *parameters, ceil_mode=ceil_mode), wanted)

    out, around = target(case, wanted.shape, case.dtype, case.layouts[1])
    indices_out, around_indices = target(case, wanted.shape, case.index_type, case.layouts[2])
    returned = forward(input, *parameters, ceil_mode=ceil_mode, out=out, indices_out=indices_out)
    assert returned[0] is out
    assert returned[1] is indices_out
    assert_exact(out, wanted)
    assert_exact(indices_out, places)
    assert_exact(surroundings(out), around)
    assert_exact(surroundings(indices_out), around_indices)

    grad_output = laid_out(case.values(wanted.shape), case.layouts[1])
    slope = reference.scatter(grad_output, places, case.shape, case.n_spatial)
    backward = function("max_pool", case.n_spatial, "_with_indices_backward")
    arguments = (*parameters, ceil_mode, laid_out(places.astype(case.index_type), case.layouts[2]))
    assert_exact(backward(grad_output, input, *arguments), slope)
    assert_exact(backward(grad_output, case.shape, *arguments), slope)
    grad_input, around = target(case, case.shape, case.dtype, case.layouts[0])
    assert backward(grad_output, input, *arguments, grad_input=grad_input) is grad_input
    assert_exact(grad_input, slope)
    assert_exact(surroundings(grad_input), around)


@settings(max_examples=150)
@given(st.data(), cases())
def test_adaptive_max_pool_and_its_gradient(data: st.DataObject, case: Case) -> None:
    output_size = data.draw(st.tuples(*(st.integers(1, 6) for _ in case.sizes)))
    windows = reference.adaptive_windows(case.sizes, output_size)
    input = laid_out(case.values(case.shape), case.layouts[0])
    wanted, places = reference.max_pool(input, windows)

    forward = function("adaptive_max_pool", case.n_spatial)
    output, indices = forward(input, output_size, return_indices=True, index_dtype=case.index_type)
    assert indices.dtype == case.index_type
    assert_exact(output, wanted)
    assert_exact(indices, places)
    out, around = target(case, wanted.shape, case.dtype, case.layouts[1])
    assert forward(input, output_size, out=out) is out
    assert_exact(out, wanted)
    assert_exact(surroundings(out), around)

    # An index may come from up to 6 ** 3 windows, so the gradient has few values: its sums are exact all the same.
    grad_output = laid_out(np.sign(case.values(wanted.shape).astype(np.float32)).astype(input.dtype), case.layouts[1])
    slope = reference.scatter(grad_output, places, case.shape, case.n_spatial)
    backward = function("adaptive_max_pool", case.n_spatial, "_backward")
    places = laid_out(places.astype(case.index_type), case.layouts[2])
    assert_exact(backward(grad_output, input, places), slope)
    grad_input, around = target(case, case.shape, case.dtype, case.layouts[0])
    assert backward(grad_output, case.shape, places, grad_input=grad_input) is grad_input
    assert_exact(grad_input, slope)
    assert_exact(surroundings(grad_input), around)


@settings(max_examples=150)
@given(st.data(), cases())
def test_adaptive_avg_pool_and_its_gradient(data: st.DataObject, case: Case) -> None:
    output_size = data.draw(st.tuples(*(st.integers(1, 6) for _ in case.sizes)))
    windows = reference.adaptive_windows(case.sizes, output_size)
    input = laid_out(case.values(case.shape), case.layouts[0])
    wanted = reference.avg_pool(input, windows)

    forward = function("adaptive_avg_pool", case.n_spatial)
    output = forward(input, output_size)
    assert output.dtype == input.dtype
    assert_close(case, output, wanted)
    out, around = target(case, wanted.shape, case.dtype, case.layouts[1])
    assert forward(input, output_size, out=out) is out
    assert_exact(out, output)
    assert_exact(surroundings(out), around)

    grad_output = laid_out(case.values(wanted.shape), case.layouts[1])
    slope = reference.spread(grad_output, case.shape, windows)
    backward = function("adaptive_avg_pool", case.n_spatial, "_backward")
    grad_input, around = target(case, case.shape, case.dtype, case.layouts[2])
    assert backward(grad_output, case.shape, grad_input=grad_input) is grad_input
    largest = max(1.0, float(np.abs(slope).max(initial=0.0)))
    assert_close(case, np.asarray(grad_input, np.float64) / largest, slope / largest)
    assert_exact(backward(grad_output, input), grad_input)
    assert_exact(surroundings(grad_input), around)


# Oracle: the reference, on values that decide ties and NaN.
@pytest.mark.parametrize("dtype", sorted(FLOATS))
def test_the_first_maximum_and_the_last_nan_win(dtype: str) -> None:
    special = [np.nan, -np.inf, np.inf, 0.0, -0.0, 1.0]
    random = np.random.default_rng(5)
    input = random.choice(special, (2, 3, 6, 7)).astype(FLOATS[dtype])
    parameters = [[3, 2], [2, 1], [1, 0], [1, 2]]
    wanted, places = reference.max_pool(input, reference.fixed_windows((6, 7), parameters, False))
    output, indices = poolgrad.max_pool2d(input, *parameters, return_indices=True)
    assert_exact(output, wanted)
    assert_exact(indices, places)


# Oracle: the same call on a copy without strides of zero.
@pytest.mark.parametrize("axes", [(0,), (1,), (2, 3), (0, 1, 2, 3)])
def test_repeated_inputs_are_read_as_they_are(axes: tuple[int, ...]) -> None:
    random = np.random.default_rng(1)
    shape = tuple(1 if axis in axes else 4 for axis in range(4))
    repeated = np.broadcast_to(random.standard_normal(shape), (4, 4, 4, 4))
    assert 0 in repeated.strides
    copied = repeated.copy()
    assert_exact(poolgrad.max_pool2d(repeated, 3, 1), poolgrad.max_pool2d(copied, 3, 1))
    assert_exact(poolgrad.adaptive_avg_pool2d(repeated, 3), poolgrad.adaptive_avg_pool2d(copied, 3))
    assert_exact(
        poolgrad.adaptive_avg_pool2d_backward(repeated, (4, 4, 9, 9)),
        poolgrad.adaptive_avg_pool2d_backward(copied, (4, 4, 9, 9)),
    )
    indices = np.broadcast_to(np.array(7), (4, 4, 4, 4))
    assert_exact(
        poolgrad.adaptive_max_pool2d_backward(repeated, (4, 4, 9, 9), indices),
        poolgrad.adaptive_max_pool2d_backward(copied, (4, 4, 9, 9), indices.copy()),
    )


# Oracle: NumPy's own order of the axes in memory.
@pytest.mark.parametrize("layout", LAYOUTS)
def test_results_lie_in_memory_as_the_input_does(layout: str) -> None:
    input = laid_out(np.random.default_rng(0).standard_normal((2, 3, 6, 8)), layout)
    for output in (poolgrad.max_pool2d(input, 2), poolgrad.adaptive_avg_pool2d(input, 3)):
        by_step = np.argsort([-abs(step) for step in input.strides], kind="stable")
        assert list(np.argsort([-step for step in output.strides], kind="stable")) == list(by_step)


# Oracle: PyTorch's documentation: None keeps an axis, and one number serves for all.
def test_parameters_may_be_short() -> None:
    input = np.random.default_rng(0).standard_normal((2, 3, 6, 8))
    assert poolgrad.adaptive_avg_pool2d(input, (None, 2)).shape == (2, 3, 6, 2)
    assert poolgrad.adaptive_max_pool2d(input, None).shape == input.shape
    assert_exact(poolgrad.max_pool2d(input, 2), poolgrad.max_pool2d(input, [2], (2,), [0, 0], (1, 1)))
    assert_exact(poolgrad.max_pool2d(input, np.int64(2), stride=()), poolgrad.max_pool2d(input, (2, 2)))


# Oracle: shapes by hand.
def test_empty_batches_are_results_without_elements() -> None:
    output, indices = poolgrad.max_pool3d(np.empty((0, 2, 4, 4, 4)), 2, return_indices=True)
    assert output.shape == indices.shape == (0, 2, 2, 2, 2)
    assert poolgrad.adaptive_avg_pool1d_backward(np.empty((2, 0, 3)), (2, 0, 9)).shape == (2, 0, 9)

"""Plans of one's own, and what the library says of itself."""

from __future__ import annotations

import importlib.metadata
import pickle
import re
from typing import Any

import numpy as np
import poolgrad
import pytest

INPUT = np.random.default_rng(0).standard_normal((2, 3, 8, 9)).astype(np.float32)
OUTPUT, INDICES = poolgrad.max_pool2d(INPUT, (2, 3), 2, (1, 0), return_indices=True)
MAX = {"kernel_size": (2, 3), "stride": (2, 2), "padding": (1, 0)}
SMALL, PLACES = poolgrad.adaptive_max_pool2d(INPUT, (3, 4), return_indices=True)

# Each operation with its arrays, the last of which are written, its parameters, and the function that does the same.
OPERATIONS: dict[str, tuple[list[np.ndarray], int, dict[str, Any], Any]] = {
    "max_pool": ([INPUT, OUTPUT], 1, MAX, lambda: [OUTPUT]),
    "max_pool_backward": (
        [OUTPUT, INDICES, INPUT], 1, MAX,
        lambda: [poolgrad.max_pool2d_with_indices_backward(OUTPUT, INPUT, (2, 3), 2, (1, 0), 1, False, INDICES)],
    ),
    "adaptive_max_pool": ([INPUT, SMALL, PLACES], 2, {"output_size": (3, 4)}, lambda: [SMALL, PLACES]),
    "adaptive_max_pool_backward": (
        [SMALL, PLACES, INPUT], 1, {"n_spatial": 2},
        lambda: [poolgrad.adaptive_max_pool2d_backward(SMALL, INPUT, PLACES)],
    ),
    "adaptive_avg_pool": (
        [INPUT, SMALL], 1, {"output_size": (3, 4)}, lambda: [poolgrad.adaptive_avg_pool2d(INPUT, (3, 4))],
    ),
    "adaptive_avg_pool_backward": (
        [SMALL, INPUT], 1, {"n_spatial": 2}, lambda: [poolgrad.adaptive_avg_pool2d_backward(SMALL, INPUT)],
    ),
}  # fmt: skip


# Oracle: the function of the same operation, for every level that the machine has.
@pytest.mark.parametrize("isa", [None, *poolgrad.info()["isa_levels"]])
@pytest.mark.parametrize("operation", OPERATIONS)
def test_a_plan_computes_what_the_function_does(operation: str, isa: str | None) -> None:
    arrays, n_written, parameters, function = OPERATIONS[operation]
    plan = poolgrad.plan(operation, *arrays, **parameters, isa=isa)
    assert plan.operation == operation
    assert plan.isa == (isa or poolgrad.info()["isa"])
    wanted = [result.copy() for result in function()]
    for _ in range(2):
        written = [np.full_like(array, 99) for array in arrays[-n_written:]]
        plan.run(*arrays[:-n_written], *written)
        for got, want in zip(written, wanted):
            np.testing.assert_array_equal(got, want)


# Oracle: the form of the line, and the properties beside it.
def test_a_plan_tells_what_it_chose() -> None:
    plan = poolgrad.plan("max_pool", INPUT, OUTPUT, **MAX, threads=1)
    assert repr(plan) == f"<poolgrad.Plan {plan.explain()}>"
    assert plan.explain().startswith(f"max: kernel {plan.kernel}, {plan.isa}, 1 threads, {plan.tiles} tiles")
    assert f"workspace {plan.workspace_bytes} bytes" in plan.explain()


# Oracle: the list of kernels in the refusal, each of which computes the same.
def test_kernels_are_listed_and_can_be_chosen() -> None:
    arrays = [OUTPUT, INDICES, np.empty_like(INPUT)]
    with pytest.raises(ValueError, match=r"the kernel must be one of (.*), got none such") as refusal:
        poolgrad.plan("max_pool_backward", *arrays, **MAX, kernel="none such")
    names = re.search("one of (.*), got", str(refusal.value))[1].split(", ")
    assert len(names) > 1
    wanted = OPERATIONS["max_pool_backward"][3]()[0]
    for name in names:
        plan = poolgrad.plan("max_pool_backward", *arrays, **MAX, kernel=name)
        plan.run(*arrays)
        assert plan.kernel == name
        np.testing.assert_array_equal(arrays[2], wanted)


# Oracle: the gradient by hand.
def test_bad_indices_may_be_dropped() -> None:
    grad_output, indices, grad_input = np.array([[1.0, 2.0]]), np.array([[9, 1]]), np.empty((1, 3))
    plan = poolgrad.plan(
        "adaptive_max_pool_backward", grad_output, indices, grad_input, n_spatial=1, bad_indices="drop"
    )
    plan.run(grad_output, indices, grad_input)
    assert grad_input.tolist() == [[0.0, 2.0, 0.0]]
    with pytest.raises(ValueError, match='bad_indices must be "refuse" or "drop", got "keep"'):
        poolgrad.plan("adaptive_max_pool_backward", grad_output, indices, grad_input, n_spatial=1, bad_indices="keep")


@pytest.mark.parametrize(
    ("arrays", "exception", "message"),
    [
        ([INPUT.astype("f8"), OUTPUT], ValueError, "input must be as planned, float32 [2, 3, 8, 9], got float64"),
        ([INPUT[:1], OUTPUT], ValueError, "input must be as planned"),
        ([INPUT.transpose(0, 1, 3, 2), OUTPUT], ValueError, "input must be as planned"),
        ([INPUT, OUTPUT, INDICES], ValueError, "the plan takes input and output, got input, output and indices"),
        ([INPUT], TypeError, "max_pool takes input, out and, if wanted, indices_out, got 1 arrays"),
        ([], TypeError, "got 0 arrays"),
        ([1, 2], TypeError, "input must be a NumPy array"),
    ],
)
def test_other_arrays_than_planned_are_refused(arrays: list[Any], exception: type[Exception], message: str) -> None:
    plan = poolgrad.plan("max_pool", INPUT, OUTPUT, **MAX)
    with pytest.raises(exception, match=re.escape(message)):
        plan.run(*arrays)


@pytest.mark.parametrize(
    ("operation", "arrays", "parameters", "exception", "message"),
    [
        ("pool", [], {}, ValueError, "operation must be one of max_pool, max_pool_backward,"),
        ("max_pool", [INPUT, OUTPUT], {}, TypeError, "max_pool needs kernel_size"),
        ("adaptive_avg_pool", [INPUT, SMALL], {}, TypeError, "adaptive_avg_pool needs output_size"),
        ("adaptive_avg_pool_backward", [SMALL, INPUT], {}, TypeError, "adaptive_avg_pool_backward needs n_spatial"),
        ("max_pool", [INPUT, OUTPUT], {"isa": "mmx"} | MAX, ValueError, "isa must be one of "),
    ],
)
def test_wrong_plans_are_refused(
    operation: Any, arrays: list[Any], parameters: dict[str, Any], exception: type[Exception], message: str
) -> None:
    with pytest.raises(exception, match=re.escape(message)):
        poolgrad.plan(operation, *arrays, **parameters)


def test_a_plan_cannot_be_made_or_copied_by_hand() -> None:
    with pytest.raises(TypeError):
        poolgrad.Plan()  # type: ignore[call-arg]
    with pytest.raises(TypeError):
        pickle.dumps(poolgrad.plan("max_pool", INPUT, OUTPUT, **MAX))


def test_info_agrees_with_the_package() -> None:
    info = poolgrad.info()
    assert info["version"] == poolgrad.__version__ == importlib.metadata.version("poolgrad")
    assert info["isa"] in info["isa_levels"]
    assert info["threads"] >= 1

"""The functions of the package on PyTorch's tensors, against PyTorch's own.

Needs PyTorch; elsewhere these tests are skipped. `cargo xtask test` says how to run them.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import poolgrad
import pytest
from cases import Case, cases, max_parameters
from hypothesis import given, settings
from hypothesis import strategies as st

torch = pytest.importorskip("torch", reason="PyTorch is not installed here")

DTYPES = {name: getattr(torch, name) for name in ("float32", "float64", "float16", "bfloat16")}
LAYOUTS = ["plain", "channels_last", "transposed", "sliced"]


def laid_out(values: Any, layout: str) -> Any:
    """A tensor of the same values that lies in memory in another way."""
    if layout == "channels_last" and values.dim() in (4, 5):
        return values.contiguous(memory_format=[torch.channels_last, torch.channels_last_3d][values.dim() - 4])
    if layout == "transposed":
        return values.transpose(-1, -2).contiguous().transpose(-1, -2)
    if layout == "sliced":
        room = torch.full([2 * size + 1 for size in values.shape], 77, dtype=values.dtype)
        view = room[tuple(slice(1, 2 * size + 1, 2) for size in values.shape)]
        view.copy_(values)
        return view
    return values.contiguous()


def plainly(values: Any) -> Any:
    """The same in row-major order, for PyTorch, which refuses some layouts."""
    return values.clone(memory_format=torch.contiguous_format)


def tensor(case: Case, shape: tuple[int, ...], layout: str) -> Any:
    generator = torch.Generator().manual_seed(case.seed)
    return laid_out(torch.randint(-5, 6, shape, generator=generator).to(DTYPES[case.dtype]), layout)


def same(got: Any, wanted: Any) -> bool:
    return isinstance(got, torch.Tensor) and got.dtype == wanted.dtype and torch.equal(got, wanted)


def torchs(name: str, n_spatial: int) -> Callable[..., Any]:
    return getattr(torch.nn.functional, f"{name}{n_spatial}d")


def ours(name: str, n_spatial: int, suffix: str = "") -> Callable[..., Any]:
    return getattr(poolgrad, f"{name}{n_spatial}d{suffix}")


@settings(max_examples=150)
@given(st.data(), cases(), st.sampled_from(LAYOUTS), st.sampled_from(LAYOUTS))
def test_max_pool(data: st.DataObject, case: Case, layout: str, other: str) -> None:
    (window, step, border, dilation), ceil_mode = data.draw(max_parameters(case.sizes))
    if 0 in case.shape:
        return
    input = tensor(case, case.shape, layout)
    plain = plainly(input).float().requires_grad_()
    arguments = (window, step, border, dilation, ceil_mode)
    wanted, places = torchs("max_pool", case.n_spatial)(plain, *arguments, return_indices=True)
    output, indices = ours("max_pool", case.n_spatial)(input, *arguments, return_indices=True)
    assert same(output, wanted.detach().to(input.dtype))
    assert same(indices, places)
    grad_output = tensor(case, tuple(wanted.shape), other)
    wanted.backward(plainly(grad_output).float())
    backward = ours("max_pool", case.n_spatial, "_with_indices_backward")
    places = laid_out(places.to(getattr(torch, case.index_type)), other)
    assert same(backward(grad_output, input, *arguments, places), plain.grad.to(input.dtype))
    grad_input = laid_out(torch.empty_like(plain.grad).to(input.dtype), layout)
    assert backward(grad_output, input, *arguments, places, grad_input=grad_input) is grad_input
    assert same(grad_input, plain.grad.to(input.dtype))


@settings(max_examples=100)
@given(st.data(), cases(), st.sampled_from(LAYOUTS), st.sampled_from(LAYOUTS))
def test_adaptive_pools(data: st.DataObject, case: Case, layout: str, other: str) -> None:
    output_size = data.draw(st.tuples(*(st.integers(1, 6) for _ in case.sizes)))
    if 0 in case.shape:
        return
    input = tensor(case, case.shape, layout)
    for name in ("adaptive_max_pool", "adaptive_avg_pool"):
        plain = plainly(input).double().requires_grad_()
        is_max = name == "adaptive_max_pool"
        options = {"return_indices": True} if is_max else {}
        wanted, *places = as_tuple(torchs(name, case.n_spatial)(plain, output_size, **options))
        output, *indices = as_tuple(ours(name, case.n_spatial)(input, output_size, **options))
        grad_output = tensor(case, tuple(wanted.shape), other).sign()
        wanted.backward(plainly(grad_output).double())
        slope = ours(name, case.n_spatial, "_backward")(grad_output, input, *indices)
        if is_max:
            assert same(output, wanted.detach().to(input.dtype))
            assert same(indices[0], places[0])
            assert same(slope, plain.grad.to(input.dtype))
        else:
            tolerance = {torch.float64: 1e-12, torch.float32: 1e-5, torch.float16: 1e-3}.get(input.dtype, 8e-3)
            for got, want in ((output, wanted), (slope, plain.grad)):
                assert got.dtype == input.dtype
                torch.testing.assert_close(got.double(), want, rtol=2 * tolerance, atol=10 * tolerance)


def as_tuple(result: Any) -> tuple[Any, ...]:
    return result if isinstance(result, tuple) else (result,)


# Oracle: PyTorch's strides.
@pytest.mark.parametrize("n_spatial", [2, 3])
def test_channels_last_stays_channels_last(n_spatial: int) -> None:
    input = laid_out(torch.randn(2, 3, *[6] * n_spatial), "channels_last")
    output, indices = ours("max_pool", n_spatial)(input, 2, return_indices=True)
    wanted = torchs("max_pool", n_spatial)(input, 2)
    assert output.stride() == indices.stride() == wanted.stride()
    backward = ours("max_pool", n_spatial, "_with_indices_backward")
    assert backward(output.contiguous(), input, 2, 2, 0, 1, False, indices).stride() == input.stride()


# Oracle: the contiguous copy.
def test_expanded_gradients_are_read_as_they_are() -> None:
    expanded = torch.ones(1, 1, 1, 1).expand(2, 3, 4, 4)
    indices = torch.arange(16).expand(2, 3, 16).reshape(2, 3, 4, 4)
    for grad_output in (expanded, torch.tensor(2.0).expand(2, 3, 4, 4)):
        assert same(
            poolgrad.adaptive_max_pool2d_backward(grad_output, (2, 3, 8, 8), indices),
            poolgrad.adaptive_max_pool2d_backward(grad_output.contiguous(), (2, 3, 8, 8), indices),
        )


# Oracle: the value a shared tensor has before; PyTorch copies such memory when it is first written.
def test_lazily_copied_memory_is_copied_before_it_is_written() -> None:
    original = torch.ones(1, 4)
    copy = torch._lazy_clone(original)
    poolgrad.max_pool1d(torch.full((1, 8), 3.0), 2, out=copy)
    assert original.tolist() == [[1.0] * 4]
    assert copy.tolist() == [[3.0] * 4]


def test_parameters_and_subclasses_are_tensors() -> None:
    class Derived(torch.Tensor):
        pass

    values = torch.tensor([[1.0, 5.0, 2.0, 0.0]])
    assert poolgrad.max_pool1d(torch.nn.Parameter(values).detach(), 2).tolist() == [[5.0, 2.0]]
    assert poolgrad.max_pool1d(values.as_subclass(Derived), 2).tolist() == [[5.0, 2.0]]
    with torch.no_grad():
        assert poolgrad.max_pool1d(torch.nn.Parameter(values), 2).tolist() == [[5.0, 2.0]]


def fake() -> Any:
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode():
        return torch.empty(1, 2, 4, 4)


def functional() -> Any:
    return torch._to_functional_tensor(torch.ones(1, 2, 4, 4))


def quantized() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return torch.quantize_per_tensor(torch.zeros(1, 2, 4, 4), 1.0, 0, torch.qint8)


def batched() -> Any:
    return torch._C._functorch._add_batch_dim(torch.ones(1, 2, 4, 4, 3), 4, 1)


def resized() -> Any:
    tensor = torch.ones(1, 2, 4, 4)
    tensor.untyped_storage().resize_(0)
    return tensor


ODD: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    "fake": (fake, (TypeError, ValueError), "input "),
    "functional": (functional, (TypeError, ValueError), "input "),
    "meta": (lambda: torch.empty(1, 2, 4, 4, device="meta"), TypeError, "input cannot be read: "),
    "sparse": (lambda: torch.ones(1, 2, 4, 4).to_sparse(), TypeError, "input cannot be read: "),
    "csr": (lambda: torch.ones(4, 4).to_sparse_csr(), TypeError, "input cannot be read: "),
    "mkldnn": (lambda: torch.ones(1, 2, 4, 4).to_mkldnn(), TypeError, "input cannot be read: "),
    "quantized": (quantized, TypeError, "input cannot be read: "),
    "without storage": (resized, (TypeError, ValueError), "input "),
    "int8": (lambda: torch.ones(1, 2, 4, 4, dtype=torch.int8), TypeError, "input must have element type float32"),
    "int32": (lambda: torch.ones(1, 2, 4, 4, dtype=torch.int32), TypeError, "input must have element type float32"),
    "bool": (lambda: torch.ones(1, 2, 4, 4, dtype=torch.bool), TypeError, "got bool"),
    "complex": (lambda: torch.ones(1, 2, 4, 4, dtype=torch.cfloat), TypeError, "got complex64"),
    "conjugate": (lambda: torch.ones(1, 2, 4, 4, dtype=torch.cfloat).conj(), TypeError, "input "),
    "negated": (
        lambda: torch.ones(1, 2, 4, 4, dtype=torch.cfloat).conj().imag,
        ValueError,
        "input is a view of a conjugate, negated on the fly: pass .resolve_neg()",
    ),
    "float8": (lambda: torch.ones(1, 2, 4, 4).to(torch.float8_e5m2), TypeError, "got a narrow float"),
    "tracked": (
        lambda: torch.ones(1, 2, 4, 4, requires_grad=True),
        ValueError,
        "input requires a gradient, which is not recorded here: use poolgrad.torch, or pass input.detach()",
    ),
}  # fmt: skip


# Oracle: a message and no crash.
@pytest.mark.parametrize("name", ODD)
def test_odd_tensors_are_refused(name: str) -> None:
    make, exception, message = ODD[name]
    try:
        input = make()
    except (AttributeError, NotImplementedError, RuntimeError) as error:
        pytest.skip(f"this PyTorch makes no such tensor: {error}")
    with pytest.raises(exception, match=re.escape(message)):
        poolgrad.max_pool2d(input, 2, out=torch.empty(1, 2, 2, 2))


@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU here")
def test_tensors_of_a_gpu_are_refused() -> None:
    with pytest.raises(ValueError, match="input must be in the processor's memory, got a tensor on a CUDA device"):
        poolgrad.max_pool2d(torch.ones(1, 2, 4, 4, device="cuda"), 2)


# Oracle: the same call on NumPy's arrays.
def test_libraries_may_be_mixed() -> None:
    input = np.random.default_rng(0).standard_normal((2, 3, 8, 8))
    output = torch.empty(2, 3, 4, 4, dtype=torch.float64)
    indices = np.empty((2, 3, 4, 4), np.int32)
    poolgrad.max_pool2d(input, 2, out=output, indices_out=indices)
    wanted, places = poolgrad.max_pool2d(input, 2, return_indices=True)
    np.testing.assert_array_equal(output.numpy(), wanted)
    np.testing.assert_array_equal(indices, places)


# Oracle: the tensor before; `resize_` in a method of the second argument frees the memory of the first.
def test_memory_that_moves_between_two_arguments_is_read_where_it_is() -> None:
    input, output = torch.ones(1, 8), np.zeros((1, 4), np.float32)

    class Meddling:
        shape = (1, 4)

        def __dlpack__(self, **options: Any) -> Any:
            input.set_(torch.full((1, 8), 5.0))
            return output.__dlpack__(**options)

    poolgrad.max_pool1d(input, 2, out=Meddling())
    assert output.tolist() == [[5.0] * 4]


# Oracle: the values after; a number's code runs before any tensor is read, so what it moves is read where it is.
@pytest.mark.parametrize("parameter", ["stride", "padding", "dilation", "threads"])
def test_memory_that_a_number_moves_is_read_where_it_is(parameter: str) -> None:
    input, output = torch.ones(1, 8), torch.zeros(1, 4)

    class Meddling:
        def __index__(self) -> int:
            input.set_(torch.full((1, 8), 5.0))
            return {"stride": 2, "padding": 0, "dilation": 1, "threads": 1}[parameter]

    options = {"stride": 2, parameter: Meddling()}
    poolgrad.max_pool1d(input, 2, out=output, **options)
    assert output.tolist() == [[5.0] * 4]

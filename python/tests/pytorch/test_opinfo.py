"""PyTorch's own samples and error inputs of its pooling operators, with and without `enable`.

Oracle: PyTorch's kernels on contiguous tensors, and finite differences (`gradcheck`, `gradgradcheck`).
"""

import functools
import math
import warnings

import pytest

pytest.importorskip("torch", reason="PyTorch is not installed; `pip install poolgrad[torch]` runs these tests")
pytest.importorskip("expecttest", reason="expecttest is not installed, which PyTorch's own samples need")
from torch.testing._internal.common_methods_invocations import op_db
from torch_support import FLOATS, poolgrad, torch

OPS = [
    op
    for op in op_db
    if "pool" in op.name and not any(other in op.name for other in ("unpool", "fractional", ".avg_pool"))
]
BY_NAME = {op.name.removeprefix("nn.functional."): op for op in OPS}
WITH_TYPES = [(name, dtype) for name, op in BY_NAME.items() for dtype in FLOATS if dtype in op.dtypes]
each_op = pytest.mark.parametrize("op", BY_NAME.values(), ids=BY_NAME)
each_op_and_type = pytest.mark.parametrize(
    ("op", "dtype"), [(BY_NAME[n], d) for n, d in WITH_TYPES], ids=[f"{n}-{str(d)[6:]}" for n, d in WITH_TYPES]
)
each_forward = pytest.mark.parametrize("forward", ["auto", "always"])


def test_the_operators_are_there():
    names = {f"adaptive_{kind}_pool{n}d" for kind in ("avg", "max") for n in (1, 2, 3)}
    assert names | {"max_pool1d", "max_pool2d", "max_pool3d", "max_pool2d_with_indices_backward"} <= set(BY_NAME)


@functools.cache
def all_samples(name, dtype):
    """PyTorch makes hundreds of samples of some operators, which takes longer than to compute them."""
    return list(BY_NAME[name].sample_inputs("cpu", dtype, requires_grad=True))


def samples(op, dtype, most=30):
    """Samples of an operator, at most so many, spread over all of them."""
    found = all_samples(op.name.removeprefix("nn.functional."), dtype)
    assert found
    return found[:: math.ceil(len(found) / most)]


def tensors(result):
    return [result] if isinstance(result, torch.Tensor) else [t for t in result if isinstance(t, torch.Tensor)]


def results(op, sample):
    """Outputs of a sample and the gradients of its inputs, for a gradient of 1, 2, 3, ... in every output."""
    arguments = (sample.input, *sample.args)
    leaves = [t for t in (*arguments, *sample.kwargs.values()) if isinstance(t, torch.Tensor) and t.requires_grad]
    outputs = tensors(op(*arguments, **sample.kwargs))
    differentiable = [output for output in outputs if output.requires_grad]
    gradients = []
    if leaves and differentiable:
        seeds = [torch.arange(1, o.numel() + 1).view(o.shape).remainder(7).to(o.dtype) for o in differentiable]
        gradients = list(torch.autograd.grad(differentiable, leaves, seeds, allow_unused=True))
    return outputs, gradients


def assert_like(got, wanted, reference):
    """The strides of `wanted`, and its bits, or the values of `reference` rounded if that is another tensor."""
    assert (got is None) == (wanted is None)
    if got is None:
        return
    assert got.stride() == wanted.stride()
    assert got.dtype == wanted.dtype
    if reference is wanted:
        assert torch.equal(got, wanted)
    elif not torch.equal(got, wanted):
        torch.testing.assert_close(got, reference.to(got.dtype), equal_nan=True)


def widened(value):
    if isinstance(value, torch.Tensor) and value.is_floating_point():
        return value.detach().to(torch.float64).requires_grad_(value.requires_grad)
    return value


@each_op_and_type
@each_forward
def test_samples_give_what_pytorch_gives(op, dtype, forward):
    # PyTorch's sums in the half types are rounded again and again, and averages have no canonical order.
    exact = "max" in op.name and dtype in (torch.float32, torch.float64)
    for sample in samples(op, dtype):
        wanted = reference = results(op, sample)
        if not exact:
            reference = results(op, sample.transform(widened))
        with poolgrad.torch.enabled(forward):
            got = results(op, sample)
        for ours, theirs, exactly in zip(got, wanted, reference):
            assert len(ours) == len(theirs)
            for one, other, right in zip(ours, theirs, exactly):
                assert_like(one, other, right)
    taken = {name: counts[0] for name, counts in poolgrad.torch.stats().items()}
    assert any("backward" in name and n > 0 for name, n in taken.items()), taken
    if forward == "always":
        assert any("backward" not in name and n > 0 for name, n in taken.items()) or "backward" in op.name, taken


@each_op
@each_forward
def test_noncontiguous_samples_give_what_contiguous_ones_give(op, forward):
    for sample in samples(op, torch.float64):
        wanted, wanted_gradients = results(op, sample)
        with poolgrad.torch.enabled(forward):
            got, gradients = results(op, sample.noncontiguous())
        for one, other in zip(got + gradients, wanted + wanted_gradients):
            torch.testing.assert_close(one, other, equal_nan=True)


WITH_ERRORS = {name: op for name, op in BY_NAME.items() if op.error_inputs_func is not None}


@pytest.mark.parametrize("op", WITH_ERRORS.values(), ids=WITH_ERRORS)
def test_error_inputs_raise_what_pytorch_raises(op):
    n_errors = 0
    for error in op.error_inputs("cpu"):
        sample = error.sample_input

        def call(sample=sample):
            return op(sample.input, *sample.args, **sample.kwargs)

        with pytest.raises(error.error_type, match=error.error_regex) as wanted:
            call()
        with poolgrad.torch.enabled("always"), pytest.raises(error.error_type, match=error.error_regex) as got:
            call()
        assert str(got.value) == str(wanted.value)
        n_errors += 1
    assert n_errors > 0


@each_op
@pytest.mark.parametrize("forward", ["always", "never"])
def test_gradcheck_and_gradgradcheck(op, forward):
    def first_output(*arguments, **keywords):
        return tensors(op(*arguments, **keywords))[0]

    small = [s for s in samples(op, torch.float64) if s.input.numel() > 0]
    small = sorted(small, key=lambda sample: sample.input.numel())[:4]
    with poolgrad.torch.enabled(forward):
        for sample in small:
            inputs = (sample.input, *sample.args)
            leaves = tuple(t for t in inputs if isinstance(t, torch.Tensor) and t.requires_grad)
            rest = inputs[len(leaves) :]

            def function(*leaves, rest=rest, sample=sample):
                return first_output(*leaves, *rest, **sample.kwargs)

            # The full check computes the whole Jacobian matrix; the fast one takes a random product with it.
            fast = sample.input.numel() > 60
            options = {"check_forward_ad": op.supports_forward_ad, "check_batched_grad": not fast, "fast_mode": fast}
            assert torch.autograd.gradcheck(function, leaves, **options)
            assert torch.autograd.gradgradcheck(
                function, leaves, check_batched_grad=op.check_batched_gradgrad and not fast, fast_mode=fast
            )
    assert any("backward" in name and counts[0] > 0 for name, counts in poolgrad.torch.stats().items())


@each_op
@each_forward
def test_fake_tensors_have_the_strides_of_real_ones(op, forward):
    from torch._subclasses import CrossRefFakeMode

    with poolgrad.torch.enabled(forward):
        for sample in samples(op, torch.float32):
            with warnings.catch_warnings(), CrossRefFakeMode():
                warnings.simplefilter("ignore")
                results(op, sample)


@each_op
@each_forward
def test_inputs_that_share_memory_until_written_stay_shared(op, forward):
    is_shared = torch._C._is_cow_tensor
    with poolgrad.torch.enabled(forward):
        for sample in samples(op, torch.float32):
            inputs = [
                torch._lazy_clone(t.clone()) if isinstance(t, torch.Tensor) else t for t in (sample.input, *sample.args)
            ]
            outputs = tensors(op(*inputs, **sample.kwargs))
            shared = [t for t in inputs if isinstance(t, torch.Tensor)]
            assert all(is_shared(t) for t in shared)
            outputs = [o for o in outputs if o.requires_grad]
            seeds = [torch._lazy_clone(torch.ones_like(output)) for output in outputs]
            torch.autograd.grad(outputs, [t for t in shared if t.requires_grad], seeds, allow_unused=True)
            assert all(is_shared(t) for t in (*shared, *seeds))


def as_type(dtype, value):
    is_float = isinstance(value, torch.Tensor) and value.is_floating_point()
    return value.to(dtype) if is_float else value


@each_op
def test_other_types_are_pooled_or_refused_as_before(op):
    others = (torch.int32, torch.int64, torch.uint8, torch.bool, torch.complex64)

    def outcome(sample):
        try:
            return tensors(op(sample.input, *sample.args, **sample.kwargs))
        except Exception as error:  # Whatever PyTorch raises.
            return type(error), str(error)

    for dtype in others:
        for sample in samples(op, torch.float32, most=5):
            cast = sample.transform(functools.partial(as_type, dtype))
            wanted = outcome(cast)
            with poolgrad.torch.enabled("always"):
                got = outcome(cast)
            if isinstance(wanted, tuple):
                assert got == wanted
            else:
                assert all(torch.equal(one, other) for one, other in zip(got, wanted))
    assert all(n_taken == 0 for n_taken, _ in poolgrad.torch.stats().values())

"""Indices that point outside their volume: an exception, and no memory touched but `grad_input`'s.

Oracle: guards on both sides of `grad_input`, in one buffer with it.
"""

import pytest
from torch_support import FLOATS, aten, poolgrad, taken, torch

WHOLE = {n: ([2] * n, [2] * n, [0] * n, [1] * n, False) for n in (2, 3)}
CASES = [(name, n) for name in ("max_pool", "adaptive_max_pool") for n in (2, 3)]
each_case = pytest.mark.parametrize(("name", "n_axes"), CASES)


def backward(name, n_axes, grad_output, input, indices, grad_input=None):
    suffix = "_with_indices_backward" if name == "max_pool" else "_backward"
    operator = getattr(aten, f"{name}{n_axes}d{suffix}")
    window = WHOLE[n_axes] if name == "max_pool" else ()
    if grad_input is None:
        return operator(grad_output, input, *window, indices)
    return operator.grad_input(grad_output, input, *window, indices, grad_input=grad_input)


@each_case
@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("bad", [-1, -(2**40), "volume", 2**40, 2**63 - 1, -(2**63)])
def test_an_exception_and_nothing_else(name, n_axes, dtype, bad):
    volume = 4**n_axes
    bad = volume if bad == "volume" else bad
    input = torch.randn([2, 3] + [4] * n_axes).to(dtype)
    grad_output = torch.ones([2, 3] + [2] * n_axes, dtype=dtype)
    guarded = torch.full((3 * input.numel(),), 7, dtype=dtype)
    grad_input = guarded[input.numel() : 2 * input.numel()].view(input.shape)
    for place in (0, grad_output.numel() // 2 + 1, grad_output.numel() - 1):
        indices = torch.zeros(grad_output.shape, dtype=torch.int64)
        indices.view(-1)[place] = bad
        with poolgrad.torch.enabled():
            with pytest.raises(IndexError, match=str(bad)):
                backward(name, n_axes, grad_output, input, indices)
            with pytest.raises(IndexError, match="indices"):
                backward(name, n_axes, grad_output, input, indices, grad_input)
        assert (guarded[: input.numel()] == 7).all()
        assert (guarded[2 * input.numel() :] == 7).all()


@each_case
def test_far_indices_inside_the_volume_are_legal(name, n_axes):
    """An index may point outside its window: it is where the gradient goes."""
    input = torch.randn([1, 2] + [4] * n_axes)
    indices = torch.randint(0, 4**n_axes, [1, 2] + [2] * n_axes)
    grad_output = torch.rand(indices.shape)
    wanted = torch.zeros(1, 2, 4**n_axes).scatter_add_(2, indices.flatten(2), grad_output.flatten(2)).view_as(input)
    with poolgrad.torch.enabled():
        torch.testing.assert_close(backward(name, n_axes, grad_output, input, indices), wanted)


@each_case
def test_where_the_call_is_left_to_pytorch(name, n_axes):
    """Memory that is shared until written is left to PyTorch, but not with indices that it would write through."""
    input = torch.randn([1, 2] + [4] * n_axes)
    grad_output = torch._lazy_clone(torch.ones([1, 2] + [2] * n_axes))
    indices = torch.full(grad_output.shape, 4**n_axes)
    with poolgrad.torch.enabled():
        with pytest.raises(IndexError, match=str(4**n_axes)):
            backward(name, n_axes, grad_output, input, indices)
        if name == "adaptive_max_pool":
            # Max poolings of PyTorch skip an index of -1; adaptive ones do not.
            with pytest.raises(IndexError, match="-1"):
                backward(name, n_axes, grad_output, input, indices.fill_(-1))
        indices.zero_()
        grad_input = backward(name, n_axes, grad_output, input, indices)
    assert grad_input[0, 0].flatten()[0] == 2**n_axes
    assert poolgrad.torch.stats().popitem()[1] == (0, 1)


def test_through_autograd():
    """The exception arrives at the caller of `backward`, and the next step is as if nothing had been."""
    input = torch.randn(1, 1, 4, 4, 4, requires_grad=True)
    with poolgrad.torch.enabled():
        output, indices = torch.nn.functional.max_pool3d(input, 2, return_indices=True)
        indices.data.view(-1)[3] = 64
        with pytest.raises(IndexError, match="64"):
            output.sum().backward()
        assert input.grad is None
        torch.nn.functional.max_pool3d(input, 2).sum().backward()
    assert input.grad.sum() == 8
    assert taken("max_pool3d_with_indices_backward") == 1

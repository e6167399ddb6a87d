"""Memory layouts under `enable`: what comes in may have any strides, what comes out has PyTorch's.

Oracle: PyTorch's own kernels on contiguous tensors, and for strides on the tensors as they are.
"""

import random

import pytest
from torch_support import FLOATS, LAYOUTS, POOLINGS, aten, passed_on, poolgrad, same, taken, torch, values

_layout = poolgrad.torch._layout
each_pooling = pytest.mark.parametrize("pooling", POOLINGS, ids=repr)
each_layout = pytest.mark.parametrize("layout", LAYOUTS)
each_dtype = pytest.mark.parametrize("dtype", FLOATS, ids=str)


def shape_of(pooling):
    return (2, 3, 6, 7, 8)[: 2 + pooling.n_axes]


def expected(pooling, input, grad_output=None):
    """PyTorch's output, indices and gradient on contiguous tensors, in a type in which the sums are exact."""
    wide = input.to(torch.float64).contiguous()
    output, indices = pooling.forward(wide)
    if grad_output is None:
        return output, indices
    return pooling.backward(grad_output.to(torch.float64).contiguous(), wide, indices)


def assert_rounded(got, wide):
    """Averages are divided by the size of the window, so they are not exact."""
    torch.testing.assert_close(got, wide.to(got.dtype))


@each_pooling
@each_layout
@each_dtype
def test_gradient(pooling, layout, dtype):
    input = LAYOUTS[layout](values(shape_of(pooling), dtype))
    output, indices = pooling.forward(input.contiguous())
    for other, arrange in LAYOUTS.items():
        grad_output = arrange(values(output.shape, dtype))
        arranged = indices if indices is None or other == "expanded" else arrange(indices)
        wanted = expected(pooling, input, grad_output)
        template = pooling.backward(grad_output.contiguous(), input, indices)
        with poolgrad.torch.enabled():
            grad_input = pooling.backward(grad_output, input, arranged)
        assert_rounded(grad_input, wanted)
        assert grad_input.stride() == template.stride()
    assert taken(pooling.backward_name) == len(LAYOUTS)
    assert passed_on(pooling.backward_name) == 0


@each_pooling
@each_layout
@each_dtype
def test_forward(pooling, layout, dtype):
    input = LAYOUTS[layout](values(shape_of(pooling), dtype))
    wanted, wanted_indices = expected(pooling, input)
    template, _ = pooling.forward(input)
    with poolgrad.torch.enabled("always"):
        output, indices = pooling.forward(input)
    assert taken(pooling.forward_name) == 1
    assert_rounded(output, wanted)
    assert output.stride() == template.stride()
    if pooling.has_indices:
        assert torch.equal(indices, wanted_indices)
        assert indices.dtype is torch.int64
        assert indices.stride() == template.stride()


@each_pooling
@each_layout
def test_unbatched(pooling, layout):
    input = LAYOUTS[layout](values(shape_of(pooling)))[0]
    template, _ = pooling.forward(input)
    wanted, wanted_indices = pooling.forward(input.contiguous())
    with poolgrad.torch.enabled("always"):
        output, indices = pooling.forward(input)
        grad_input = pooling.backward(output, input, indices)
    torch.testing.assert_close(output, wanted)
    assert output.stride() == template.stride()
    assert indices is None or torch.equal(indices, wanted_indices)
    torch.testing.assert_close(grad_input, pooling.backward(wanted, input.contiguous(), wanted_indices))
    assert grad_input.stride() == pooling.backward(output, input, indices).stride()
    assert poolgrad.torch.stats() == {pooling.forward_name: (1, 0), pooling.backward_name: (1, 0)}


@each_pooling
@each_layout
def test_outputs_that_exist(pooling, layout):
    """`out=` of any layout is written in place; PyTorch's 3-D operators take its memory for contiguous."""
    if layout == "expanded":
        layout = "contiguous"
    arrange = LAYOUTS[layout]
    input = values(shape_of(pooling))
    wanted, wanted_indices = pooling.forward(input)
    out = arrange(torch.full_like(wanted, 77))
    indices = None if wanted_indices is None else arrange(torch.full_like(wanted_indices, 77))
    grad_input, wanted_gradient = arrange(torch.full_like(input, 77)), pooling.backward(wanted, input, wanted_indices)
    strides = out.stride(), grad_input.stride()
    with poolgrad.torch.enabled("always"):
        result = pooling.forward_out(input, out, indices)
        gradient = pooling.backward_out(wanted, input, wanted_indices, grad_input)
    assert (result[0] if pooling.has_indices else result) is out
    assert gradient is grad_input
    torch.testing.assert_close(out, wanted)
    assert indices is None or torch.equal(indices, wanted_indices)
    torch.testing.assert_close(grad_input, wanted_gradient)
    assert (out.stride(), grad_input.stride()) == strides
    assert poolgrad.torch.stats()
    assert all(counts == (1, 0) for counts in poolgrad.torch.stats().values())


@each_pooling
def test_outputs_of_other_sizes_are_resized_by_pytorch(pooling):
    input = values(shape_of(pooling))
    wanted, wanted_indices = pooling.forward(input)

    def call(empty):
        n = 0 if empty else 5
        out, indices, grad_input = torch.empty(n), torch.empty(n, dtype=torch.int64), torch.empty(n)
        with pytest.warns(UserWarning, match="resized") if not empty else pytest.MonkeyPatch.context():
            pooling.forward_out(input, out, indices)
            pooling.backward_out(wanted, input, wanted_indices, grad_input)
        return out, grad_input

    for empty in (True, False):
        if not empty and (pooling.n_axes == 3 or pooling.name == "adaptive_avg_pool"):
            continue  # These of PyTorch's operators resize without a word.
        theirs = call(empty)
        with poolgrad.torch.enabled("always"):
            ours = call(empty)
        for one, other in zip(ours, theirs):
            torch.testing.assert_close(one, other)


@pytest.mark.parametrize("pooling", [p for p in POOLINGS if p.has_indices], ids=repr)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
def test_nan_infinities_and_ties_are_chosen_as_pytorch_does(pooling, dtype):
    input = values(shape_of(pooling), dtype)
    chosen = torch.rand(input.shape)
    input[chosen < 0.1] = torch.nan
    input[chosen > 0.9] = torch.inf
    input[(chosen > 0.3) & (chosen < 0.7)] = -torch.inf
    wanted, wanted_indices = pooling.forward(input)
    with poolgrad.torch.enabled("always"):
        output, indices = pooling.forward(input)
    assert torch.equal(output.isnan(), wanted.isnan())
    assert torch.equal(output.nan_to_num(7.0), wanted.nan_to_num(7.0))
    assert torch.equal(indices, wanted_indices)
    assert taken(pooling.forward_name) == 1


def test_channels_last_3d_volumes():
    """Whole training steps in channels-last order give what contiguous ones give."""
    functional = torch.nn.functional
    for pool in (
        lambda x: functional.max_pool3d(x, 3, 2, 1),
        lambda x: functional.adaptive_max_pool3d(x, (2, 3, 4)),
        lambda x: functional.adaptive_avg_pool3d(x, (2, 3, 4)),
    ):
        plain = torch.randn(2, 3, 6, 8, 10, dtype=torch.float64, requires_grad=True)
        last = plain.detach().to(memory_format=torch.channels_last_3d).requires_grad_()
        pool(plain).square().sum().backward()
        with poolgrad.torch.enabled("always"):
            pool(last).square().sum().backward()
        torch.testing.assert_close(last.grad, plain.grad)


def test_expanded_gradients():
    """The gradient of a sum has strides of zero."""
    input = torch.randn(2, 3, 8, 8, 8, requires_grad=True)
    with poolgrad.torch.enabled():
        output = torch.nn.functional.max_pool3d(input, 2)
        output.sum().backward()
    assert input.grad.sum() == output.numel()
    assert set(input.grad.unique().tolist()) == {0.0, 1.0}
    assert taken("max_pool3d_with_indices_backward") == 1


def random_strides(n_axes):
    shape = [random.choice([1, 1, 2, 3, 4]) for _ in range(n_axes)]
    if random.random() < 0.5:
        orders = [range(n_axes), [0, *range(2, n_axes), 1], random.sample(range(n_axes), n_axes)]
        strides, step = [0] * n_axes, 1
        for axis in reversed(list(random.choice(orders))):
            strides[axis] = 0 if random.random() < 0.05 else step
            step *= shape[axis] * random.choice([1, 1, 1, 2])
    else:
        strides = [random.choice([0, 1, 2, 3, 4, 6, 8, 12, 24, 48, 96]) for _ in range(n_axes)]
    n_elements = 1 + sum((size - 1) * stride for size, stride in zip(shape, strides))
    return torch.zeros(n_elements).as_strided(shape, strides)


@pytest.mark.parametrize("strides", [(1, 1, 1, 1), (5, 5, 5, 5), (1, 1, 9, 9), (2, 1, 1, 1), (1, 3, 1, 1)])
def test_formats_that_strides_leave_open(strides):
    """One channel and one pixel, in any order: the format shows in a larger output."""
    image = torch.zeros(100).as_strided((3, 1, 1, 1), strides)
    volume = torch.zeros(100).as_strided((3, 1, 1, 1, 1), (*strides, strides[-1]))
    wanted = aten._adaptive_avg_pool2d(image, (2, 2)), aten.max_pool3d_with_indices(volume, [2] * 3, [1] * 3, [1] * 3)
    with poolgrad.torch.enabled("always"):
        assert aten._adaptive_avg_pool2d(image, (2, 2)).stride() == wanted[0].stride()
        pooled = aten.max_pool3d_with_indices(volume, [2] * 3, [1] * 3, [1] * 3)
    assert [tensor.stride() for tensor in pooled] == [tensor.stride() for tensor in wanted[1]]
    assert poolgrad.torch.stats() == {"max_pool3d_with_indices": (1, 0), "_adaptive_avg_pool2d": (1, 0)}


def test_formats_are_those_of_pytorch():
    random.seed(0)
    n_unbatched = 0
    for _ in range(1000):
        volume, image = random_strides(5), random_strides(4)
        format = _layout.by_strides_3d(volume)
        wanted, indices = aten.max_pool3d_with_indices(volume, 1)
        assert _layout.empty_as(volume, format).stride() == wanted.stride()
        assert _layout.empty(volume.shape, format, volume).stride() == wanted.stride()
        window = ([1] * 3, [1] * 3, [0] * 3, [1] * 3, False)
        gradient = aten.max_pool3d_with_indices_backward(wanted, volume, *window, indices)
        assert gradient.stride() == wanted.stride()
        adaptive, _ = aten.adaptive_max_pool3d(volume, volume.shape[2:])
        assert _layout.empty(volume.shape, _layout.always_contiguous(volume), volume).stride() == adaptive.stride()
        wanted = aten._adaptive_avg_pool2d(image, image.shape[2:])
        assert _layout.empty_as(image, _layout.by_strides_2d(image)).stride() == wanted.stride()
        try:
            wanted, _ = aten.max_pool3d_with_indices(image, 1)
        except RuntimeError:  # PyTorch takes some volumes without a batch for channels-last images.
            continue
        format = _layout.by_strides_3d(image)
        assert _layout.empty_as(image, format).stride() == wanted.stride()
        assert _layout.empty(image.shape, format, image).stride() == wanted.stride()
        n_unbatched += 1
    assert n_unbatched > 300


@each_pooling
def test_f32_gradients_have_pytorchs_bits(pooling):
    if pooling.name == "adaptive_avg_pool":
        pooling = POOLINGS[0]
    input = torch.randn(shape_of(pooling))
    output, indices = pooling.forward(input)
    grad_output = torch.randn_like(output)
    wanted = pooling.backward(grad_output, input, indices)
    with poolgrad.torch.enabled():
        assert same(pooling.backward(grad_output, input, indices), wanted)

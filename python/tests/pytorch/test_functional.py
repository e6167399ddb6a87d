"""The operators, functions and modules of this library's own.

Oracles: PyTorch's functions and modules; finite differences; `torch.library.opcheck`.
"""

import pytest
from torch_support import FLOATS, LAYOUTS, poolgrad, torch, values

ours, theirs = poolgrad.torch.functional, torch.nn.functional

#: Name, spatial axes, arguments, and the shape of an input.
CASES = [
    ("max_pool1d", (3, 2, 1), {}, (2, 3, 11)),
    ("max_pool1d", (2,), {"dilation": 2, "ceil_mode": True}, (3, 12)),
    ("max_pool2d", ((3, 2), 2, 1), {"ceil_mode": True}, (2, 3, 9, 8)),
    ("max_pool2d", (2,), {}, (3, 6, 8)),
    ("max_pool3d", (3, 2, 1), {}, (2, 3, 6, 7, 8)),
    ("max_pool3d", ((2, 3, 1), (1, 2, 1)), {"padding": (1, 0, 0), "dilation": (2, 1, 1)}, (3, 6, 7, 4)),
    ("adaptive_max_pool1d", (4,), {}, (2, 3, 11)),
    ("adaptive_max_pool2d", ((3, None),), {}, (2, 3, 7, 5)),
    ("adaptive_max_pool3d", ((2, 3, 9),), {}, (2, 3, 6, 7, 8)),
    ("adaptive_avg_pool1d", (4,), {}, (2, 3, 11)),
    ("adaptive_avg_pool2d", (3,), {}, (3, 7, 5)),
    ("adaptive_avg_pool3d", ((2, None, 3),), {}, (2, 3, 6, 7, 8)),
]
each_case = pytest.mark.parametrize(("name", "arguments", "keywords", "shape"), CASES, ids=[c[0] for c in CASES])


def distinct(shape, dtype=torch.float64):
    """Random values without ties, a fixed distance apart, so that finite differences are right."""
    n = torch.Size(shape).numel()
    return (torch.randperm(n).to(dtype) / n).view(shape).requires_grad_()


@each_case
@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_outputs_and_gradients_are_those_of_pytorch(name, arguments, keywords, shape, dtype, layout):
    wide = values(shape, torch.float64)
    # PyTorch refuses or rounds some types and layouts: it computes the reference in f64, contiguous.
    reference = LAYOUTS[layout](wide).contiguous().requires_grad_()
    input = LAYOUTS[layout](wide.to(dtype)).detach().requires_grad_()
    wanted = getattr(theirs, name)(reference, *arguments, **keywords)
    got = getattr(ours, name)(input, *arguments, **keywords)
    torch.testing.assert_close(got, wanted.to(dtype))
    grad_output = LAYOUTS[layout](values(wanted.shape, torch.float64))
    (wanted_gradient,) = torch.autograd.grad(wanted, reference, grad_output.contiguous())
    (gradient,) = torch.autograd.grad(got, input, LAYOUTS[layout](grad_output.to(dtype)))
    torch.testing.assert_close(gradient, wanted_gradient.to(dtype))


@pytest.mark.parametrize(("name", "arguments", "keywords", "shape"), [c for c in CASES if "max" in c[0]])
def test_indices_are_those_of_pytorch(name, arguments, keywords, shape):
    input = values(shape)
    output, indices = getattr(ours, name)(input, *arguments, **keywords, return_indices=True)
    wanted, wanted_indices = getattr(theirs, name)(input, *arguments, **keywords, return_indices=True)
    assert torch.equal(output, wanted)
    assert torch.equal(indices, wanted_indices)
    assert indices.dtype is torch.int64
    assert not indices.requires_grad


@each_case
def test_first_and_second_derivatives(name, arguments, keywords, shape):
    def function(input):
        return getattr(ours, name)(input, *arguments, **keywords)

    input = distinct(shape)
    assert torch.autograd.gradcheck(function, input, check_batched_grad=True, fast_mode=True)
    assert torch.autograd.gradgradcheck(function, input, check_batched_grad=True, fast_mode=True)


#: `opcheck` itself looks at the gradient of its copies.
quiet = pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor")


@quiet
@each_case
def test_opcheck(name, arguments, keywords, shape):
    for input in (distinct(shape, torch.float32), values(shape, torch.bfloat16)):
        torch.library.opcheck(*captured(name, input, arguments, keywords))


@quiet
@each_case
def test_opcheck_of_the_gradient(name, arguments, keywords, shape):
    input = distinct(shape, torch.float32)
    operator, parameters, _ = captured(name, input, arguments, keywords)
    backward = getattr(torch.ops.poolgrad, f"{name}_backward").default
    if "avg" in name:
        grad_output = torch.randn_like(operator(*parameters)).requires_grad_()
        torch.library.opcheck(backward, (grad_output, shape))
    else:
        output, indices = operator(*parameters)
        grad_output = torch.randn_like(output).requires_grad_()
        window = parameters[1:-1] if name.startswith("max") else ()
        torch.library.opcheck(backward, (grad_output, indices, shape, *window))


def captured(name, input, arguments, keywords):
    """The operator that a function calls, with its arguments."""
    calls = []

    class Capture(torch.utils._python_dispatch.TorchDispatchMode):
        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            if function.namespace == "poolgrad":
                calls.append((function, args))
            return function(*args, **(kwargs or {}))

    with Capture():
        getattr(ours, name)(input, *arguments, **keywords)
    ((operator, found),) = calls
    return operator, (input, *found[1:]), {}


@each_case
def test_vmap_is_a_loop(name, arguments, keywords, shape):
    """`check_batched_grad` above does the same for the gradients."""

    def function(input):
        return getattr(ours, name)(input, *arguments, **keywords)

    inputs = torch.stack([distinct(shape).detach() for _ in range(3)], dim=1)
    got = torch.func.vmap(function, in_dims=1)(inputs)
    assert torch.equal(got, torch.stack([function(input) for input in inputs.unbind(1)]))


#: One operator of each kind is enough for the slow backend.
COMPILED = [(*case, "aot_eager") for case in CASES] + [(*CASES[5], "inductor"), (*CASES[11], "inductor")]


@pytest.mark.parametrize(("name", "arguments", "keywords", "shape", "backend"), COMPILED)
def test_compiled_in_one_graph(name, arguments, keywords, shape, backend):
    def function(input):
        return getattr(ours, name)(input * 2, *arguments, **keywords) + 1

    torch._dynamo.reset()
    input = distinct(shape, torch.float32)
    compiled = torch.compile(function, fullgraph=True, backend=backend)
    got, wanted = compiled(input), function(input)
    assert torch.equal(got, wanted)
    assert got.stride() == wanted.stride()
    seed = torch.randn_like(wanted)
    (one,) = torch.autograd.grad(got, input, seed)
    (other,) = torch.autograd.grad(wanted, input, seed)
    assert torch.equal(one, other)


def test_exported_with_a_dynamic_batch():
    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.pool = poolgrad.torch.MaxPool3d(2)

        def forward(self, input):
            return self.pool(input)

    dynamic = {"input": {0: torch.export.Dim("n", min=2, max=16)}}
    program = torch.export.export(Model(), (torch.randn(3, 2, 4, 6, 8),), dynamic_shapes=dynamic)
    input = torch.randn(5, 2, 4, 6, 8)
    assert torch.equal(program.module()(input), theirs.max_pool3d(input, 2))
    assert "poolgrad.max_pool3d" in str(program.graph)


MODULES = [
    ("MaxPool1d", (3,), {"stride": 2, "padding": 1}, (2, 3, 9)),
    ("MaxPool2d", ((3, 2),), {"stride": (2, 1), "dilation": 2}, (2, 3, 9, 8)),
    ("MaxPool3d", (2,), {"ceil_mode": True, "return_indices": True}, (2, 3, 5, 7, 8)),
    ("AdaptiveMaxPool1d", (3,), {}, (2, 3, 9)),
    ("AdaptiveMaxPool2d", ((3, None),), {}, (2, 3, 9, 8)),
    ("AdaptiveMaxPool3d", ((2, 3, 4),), {"return_indices": True}, (2, 3, 5, 7, 8)),
    ("AdaptiveAvgPool1d", (3,), {}, (2, 3, 9)),
    ("AdaptiveAvgPool2d", (3,), {}, (2, 3, 9, 8)),
    ("AdaptiveAvgPool3d", ((None, 3, 4),), {}, (2, 3, 5, 7, 8)),
]


@pytest.mark.parametrize(("name", "arguments", "keywords", "shape"), MODULES, ids=[m[0] for m in MODULES])
def test_modules_are_twins(name, arguments, keywords, shape):
    mine, yours = getattr(poolgrad.torch, name)(*arguments, **keywords), getattr(torch.nn, name)(*arguments, **keywords)
    assert isinstance(mine, type(yours))
    assert repr(mine) == repr(yours)
    assert mine.state_dict() == yours.state_dict()
    input = values(shape)
    got, wanted = mine(input), yours(input)
    assert isinstance(got, tuple) == isinstance(wanted, tuple)
    for one, other in zip(*((r,) if not isinstance(r, tuple) else r for r in (got, wanted))):
        torch.testing.assert_close(one, other)


def test_autograd_keeps_no_input():
    """For 8 inputs per output in f32, an index of 4 bytes for each output is an eighth of the input."""
    input = torch.randn(2, 4, 8, 8, 8, requires_grad=True)
    kept = []
    with torch.autograd.graph.saved_tensors_hooks(lambda t: kept.append(t) or t, lambda t: t):
        ours.max_pool3d(input, 2)
        ours.adaptive_avg_pool3d(input, 4)
    assert [(t.dtype, t.numel()) for t in kept] == [(torch.int32, input.numel() // 8)]


def test_refusals_name_the_argument():
    input = torch.randn(1, 2, 4, 4)
    for call, message in [
        (lambda: ours.max_pool2d(input, 0), "kernel_size"),
        (lambda: ours.max_pool2d(input, (2, 2, 2)), "kernel_size must be an int or 2 ints, got 3"),
        (lambda: ours.max_pool2d(input, 2, stride=0), "stride"),
        (lambda: ours.max_pool2d(input, 2, padding=2), "padding"),
        (lambda: ours.max_pool2d(input, 2, dilation=0), "dilation"),
        (lambda: ours.max_pool2d(input, 9), "window"),
        (lambda: ours.max_pool3d(input[0], 2), "input must have 4 or 5 axes, got 3"),
        (lambda: ours.adaptive_avg_pool2d(input, 0), "output_size"),
        (lambda: ours.max_pool2d(input.int(), 2), "input"),
    ]:
        with pytest.raises((ValueError, TypeError), match=message):
            call()


def test_operators_hold_to_their_number_of_axes():
    """Two numbers would make a 2-D pooling of a volume without a batch."""
    operators, volume = torch.ops.poolgrad, torch.randn(2, 4, 4, 4)
    for call in (
        lambda: operators.max_pool3d(volume, [2, 2], [2, 2], [0, 0], [1, 1], False, torch.int64),
        lambda: operators.adaptive_max_pool3d(volume, [2, 2], torch.int64),
        lambda: operators.adaptive_avg_pool3d(volume, [2, 2]),
    ):
        with pytest.raises(ValueError, match="must have 3 numbers, got 2"):
            call()


def test_bad_indices_are_refused():
    indices = torch.tensor([[[[3, 16]]]])
    with pytest.raises(IndexError, match="16"):
        torch.ops.poolgrad.adaptive_max_pool2d_backward(torch.ones(1, 1, 1, 2), indices, [1, 1, 4, 4])

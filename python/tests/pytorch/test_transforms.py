"""PyTorch's transformations with `enable` on: compile, export, vmap, autocast, function transforms, checkpoints.

Oracle: the same without `enable`, in eager mode.
"""

import copy

import pytest
from torch_support import poolgrad, taken, torch

functional = torch.nn.functional


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = torch.nn.Conv3d(2, 4, 3, padding=1)
        self.second = torch.nn.Conv3d(4, 4, 3, padding=1)
        self.flat = torch.nn.Conv2d(4, 4, 1)
        self.out = torch.nn.Linear(4 * 4, 3)

    def forward(self, input):
        hidden = functional.max_pool3d(self.first(input).relu(), 2)
        hidden = functional.adaptive_max_pool3d(self.second(hidden), (3, 4, 4))
        hidden = functional.adaptive_avg_pool3d(hidden, (1, 4, 4)).squeeze(2)
        hidden = functional.adaptive_max_pool2d(functional.max_pool2d(self.flat(hidden), 3, 1, 1), 3)
        return self.out(functional.adaptive_avg_pool2d(hidden, 2).flatten(1))


@pytest.fixture
def net():
    return Net()


@pytest.fixture
def input():
    return torch.randn(2, 2, 8, 8, 8)


def gradients(model, parameters, input):
    loss = model(input).square().mean()
    return loss.detach(), *torch.autograd.grad(loss, list(parameters))


def assert_all_close(got, wanted):
    for one, other in zip(got, wanted, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-5)


BACKWARDS = [
    "max_pool2d_with_indices_backward",
    "max_pool3d_with_indices_backward",
    "adaptive_max_pool2d_backward",
    "adaptive_max_pool3d_backward",
    "_adaptive_avg_pool2d_backward",
    "_adaptive_avg_pool3d_backward",
]


@pytest.mark.parametrize("channels_last", [False, True])
def test_every_gradient_of_a_net(net, input, channels_last):
    wanted = gradients(net, net.parameters(), input)
    if channels_last:
        input = input.to(memory_format=torch.channels_last_3d)
    with poolgrad.torch.enabled("always"):
        assert_all_close(gradients(net, net.parameters(), input), wanted)
    assert {name: taken(name) for name in BACKWARDS} == dict.fromkeys(BACKWARDS, 1)


@pytest.mark.parametrize("backend", ["eager", "aot_eager", "inductor"])
def test_compile(net, input, backend):
    wanted = gradients(net, net.parameters(), input)
    torch._dynamo.reset()
    with poolgrad.torch.enabled("always"):
        compiled = torch.compile(net, fullgraph=True, backend=backend)
        assert_all_close(gradients(compiled, net.parameters(), input), wanted)
    # Inductor writes some poolings itself, and calls the operators for the others.
    assert taken("adaptive_max_pool3d_backward") == 1
    assert_all_close(gradients(compiled, net.parameters(), input), wanted)
    assert taken("adaptive_max_pool3d_backward") == 1


def test_export(net, input):
    wanted = net(input)
    with poolgrad.torch.enabled("always"):
        program = torch.export.export(net, (input,))
        assert_all_close([program.module()(input)], [wanted])
    assert taken("adaptive_max_pool3d") >= 1


def test_vmap_over_inputs_and_gradients(net, input):
    def loss(parameters, input):
        return torch.func.functional_call(net, parameters, (input[None],)).square().mean()

    parameters = dict(net.named_parameters())
    per_sample = torch.func.vmap(torch.func.grad(loss), in_dims=(None, 0))
    wanted = per_sample(parameters, input)
    with poolgrad.torch.enabled("always"):
        got = per_sample(parameters, input)
    assert_all_close(got.values(), wanted.values())
    assert all(taken(name) > 0 for name in BACKWARDS)


def test_jvp_hessian_and_jacobian():
    input = torch.randn(1, 1, 4, 4, 4, dtype=torch.float64)

    def function(input):
        return functional.adaptive_avg_pool3d(functional.max_pool3d(input, 2) ** 2, (1, 2, 2)).sin().sum()

    tangent = torch.randn_like(input)
    transforms = (
        lambda: torch.func.jvp(function, (input,), (tangent,)),
        lambda: torch.func.jacrev(function)(input),
        lambda: torch.func.hessian(function)(input),
        lambda: torch.autograd.functional.hessian(function, input, vectorize=True),
    )
    for transform in transforms:
        wanted = transform()
        with poolgrad.torch.enabled("always"):
            torch.testing.assert_close(transform(), wanted)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
def test_autocast(net, input, dtype):
    def run():
        with torch.autocast("cpu", dtype=dtype):
            output = net(input)
            hidden = functional.max_pool3d(net.first(input), 2)
        return output, hidden

    wanted, wanted_hidden = run()
    with poolgrad.torch.enabled("always"):
        output, hidden = run()
        output.float().square().mean().backward()
    assert output.dtype == wanted.dtype == dtype
    assert hidden.dtype == wanted_hidden.dtype
    torch.testing.assert_close(output, wanted, rtol=0.05, atol=0.02)
    assert torch.equal(hidden, wanted_hidden)
    assert all(taken(name) == 1 for name in BACKWARDS)


def test_checkpoints_and_inference(net, input):
    from torch.utils.checkpoint import checkpoint

    wanted = gradients(net, net.parameters(), input)
    with poolgrad.torch.enabled("always"):
        again = gradients(lambda x: checkpoint(net, x, use_reentrant=False), net.parameters(), input)
        assert_all_close(again, wanted)
        with torch.inference_mode():
            assert net(input).is_inference()


def test_deterministic_algorithms(net, input):
    torch.use_deterministic_algorithms(True)
    try:
        with poolgrad.torch.enabled("always"):
            first, second = (gradients(net, net.parameters(), input) for _ in range(2))
    finally:
        torch.use_deterministic_algorithms(False)
    assert all(torch.equal(one, other) for one, other in zip(first, second))


def test_a_loss_curve():
    """Twenty steps of training: the same losses, to the bit where only max poolings are replaced."""

    def train(net, input, target):
        optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
        losses = []
        for _ in range(20):
            optimizer.zero_grad()
            loss = functional.mse_loss(net(input), target)
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        return losses

    class MaxNet(torch.nn.Sequential):
        def __init__(self):
            conv = torch.nn.Conv3d
            super().__init__(
                conv(1, 4, 3, padding=1), torch.nn.ReLU(), torch.nn.MaxPool3d(3, 2, 1),
                conv(4, 4, 3, padding=1), torch.nn.AdaptiveMaxPool3d(3), torch.nn.Flatten(), torch.nn.Linear(108, 2),
            )  # fmt: skip

    for net, exact in ((MaxNet(), True), (Net(), False)):
        input, target = torch.randn(4, 1 if exact else 2, 12, 12, 12), torch.randn(4, 2 if exact else 3)
        wanted = train(copy.deepcopy(net), input, target)
        with poolgrad.torch.enabled():
            losses = train(copy.deepcopy(net), input, target)
        assert wanted[-1] < wanted[0]
        assert losses == (wanted if exact else pytest.approx(wanted, rel=1e-3))
    assert taken("max_pool3d_with_indices_backward") == 40

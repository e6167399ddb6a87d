"""Turning the replacement on and off, and what is left to PyTorch.

Oracle: PyTorch without `enable`, and the counts of `stats`.
"""

import gc
import subprocess
import sys
import threading
import tracemalloc
import warnings
import weakref

import pytest
from torch_support import POOLINGS, aten, passed_on, poolgrad, taken, torch, values

_replacement = poolgrad.torch._replacement
functional = torch.nn.functional
BACKWARD = "max_pool3d_with_indices_backward"
FORWARD = "max_pool3d_with_indices"


def step():
    """Large enough that "auto" takes the forward pass."""
    input = torch.randn(1, 2, 16, 32, 32, requires_grad=True)
    functional.max_pool3d(input, 2).sum().backward()


def is_replaced(name="aten::" + BACKWARD):
    """Whether the dispatcher holds a kernel that is written in Python."""
    return "python" in torch._C._dispatch_dump(name).split("CPU: ")[1].splitlines()[0].lower()


def counts(function=step):
    """How many gradients and forward passes were taken over while `function` ran."""
    before = taken(BACKWARD), taken(FORWARD)
    function()
    return taken(BACKWARD) - before[0], taken(FORWARD) - before[1]


def test_off_on_off():
    assert not poolgrad.torch.is_enabled()
    assert counts() == (0, 0)
    poolgrad.torch.enable()
    assert poolgrad.torch.is_enabled()
    assert counts() == (1, 1)
    poolgrad.torch.disable()
    assert not poolgrad.torch.is_enabled()
    assert counts() == (0, 0)


# Oracle: the same gradients on the processor, of values whose sums are exact in any order.
@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU here")
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
@pytest.mark.parametrize(
    "pool", [lambda x: functional.max_pool3d(x, 3, 1, 1), lambda x: functional.adaptive_max_pool3d(x, 3)]
)
def test_tensors_of_a_gpu_are_left_to_pytorch(dtype, pool):
    input = torch.randint(-9, 10, (1, 2, 7, 8, 8)).to(dtype)
    gradients = []
    with poolgrad.torch.enabled(forward="always"):
        for device, taken_counts in (("cuda", set()), ("cpu", {1})):
            there = input.to(device).requires_grad_()
            poolgrad.torch.reset_stats()
            pool(there).sum().backward()
            assert {n for n, _ in poolgrad.torch.stats().values()} == taken_counts
            gradients.append(there.grad.cpu())
    assert torch.equal(*gradients)


def test_enabling_twice_is_undone_at_once():
    poolgrad.torch.enable()
    poolgrad.torch.enable()
    assert counts() == (1, 1)
    poolgrad.torch.disable()
    assert counts() == (0, 0)
    poolgrad.torch.disable()
    assert counts() == (0, 0)


def test_forward_is_a_choice():
    for forward, n_forward in (("auto", 1), ("always", 1), ("never", 0)):
        poolgrad.torch.enable(forward)
        assert counts() == (1, n_forward), forward
    poolgrad.torch.disable()
    for wrong in ("sometimes", True, None, 1):
        with pytest.raises(ValueError, match="forward must be"):
            poolgrad.torch.enable(wrong)
        with pytest.raises(ValueError, match="forward must be"), poolgrad.torch.enabled(wrong):
            pass
    assert not poolgrad.torch.is_enabled()


def test_what_auto_leaves_to_pytorch():
    image, volume = torch.randn(1, 4, 96, 96), torch.randn(1, 4, 16, 24, 24)
    last, volume_last = image.to(memory_format=torch.channels_last), volume.to(memory_format=torch.channels_last_3d)
    many_last = torch.randn(16, 4, 96, 96).to(memory_format=torch.channels_last)
    calls = [
        (lambda: functional.max_pool2d(image, 2), "max_pool2d_with_indices", (1, 0)),
        (lambda: functional.max_pool2d(image[..., :9, :9], 2), "max_pool2d_with_indices", (0, 1)),
        (lambda: functional.max_pool2d(last, 2), "max_pool2d_with_indices", (0, 1)),
        (lambda: functional.max_pool2d(last.double(), 2), "max_pool2d_with_indices", (0, 1)),
        (lambda: functional.max_pool2d(last.half(), 2), "max_pool2d_with_indices", (1, 0)),
        (lambda: functional.max_pool2d(last.bfloat16()[..., :9, :9], 2), "max_pool2d_with_indices", (0, 1)),
        (lambda: functional.max_pool3d(volume, 2), "max_pool3d_with_indices", (1, 0)),
        (lambda: functional.max_pool3d(volume_last, 2), "max_pool3d_with_indices", (0, 1)),
        (lambda: functional.max_pool3d(volume_last, 3), "max_pool3d_with_indices", (1, 0)),
        (lambda: functional.max_pool3d(volume[:, :, :4, :4], 2), "max_pool3d_with_indices", (0, 1)),
        (lambda: functional.adaptive_max_pool2d(image, 3), "adaptive_max_pool2d", (1, 0)),
        (lambda: functional.adaptive_max_pool2d(image[..., :9, :9], 3), "adaptive_max_pool2d", (0, 1)),
        (lambda: functional.adaptive_max_pool2d(last, 3), "adaptive_max_pool2d", (1, 0)),
        (lambda: functional.adaptive_max_pool2d(last, 1), "adaptive_max_pool2d", (0, 1)),
        (lambda: functional.adaptive_max_pool3d(volume, 3), "adaptive_max_pool3d", (1, 0)),
        (lambda: functional.adaptive_max_pool3d(volume, 1), "adaptive_max_pool3d", (0, 1)),
        (lambda: functional.adaptive_max_pool3d(volume_last, 1), "adaptive_max_pool3d", (1, 0)),
        (lambda: functional.adaptive_avg_pool2d(image, 3), "_adaptive_avg_pool2d", (1, 0)),
        (lambda: functional.adaptive_avg_pool2d(last, 3), "_adaptive_avg_pool2d", (0, 1)),
        (lambda: functional.adaptive_avg_pool2d(many_last, 3), "_adaptive_avg_pool2d", (1, 0)),
        (lambda: functional.adaptive_avg_pool3d(volume, 3), "_adaptive_avg_pool3d", (1, 0)),
    ]
    with poolgrad.torch.enabled("auto"):
        for i, (call, name, wanted) in enumerate(calls):
            poolgrad.torch.reset_stats()
            call()
            assert poolgrad.torch.stats() == {name: wanted}, f"call {i}"


def test_blocks_may_be_nested():
    with poolgrad.torch.enabled("never"):
        assert counts() == (1, 0)
        with poolgrad.torch.enabled("always"):
            assert counts() == (1, 1)
            with poolgrad.torch.enabled("never"):
                assert counts() == (1, 0)
            assert counts() == (1, 1)
        assert counts() == (1, 0)
    assert counts() == (0, 0)


def test_blocks_and_calls_together():
    poolgrad.torch.enable("never")
    with poolgrad.torch.enabled("always"):
        poolgrad.torch.disable()
        assert counts() == (1, 1), "an open block holds"
    assert counts() == (0, 0)
    with poolgrad.torch.enabled():
        poolgrad.torch.enable("never")
    assert counts() == (1, 0), "what was enabled in a block stays"
    poolgrad.torch.disable()


def test_a_block_ends_with_an_exception():
    with pytest.raises(KeyError), poolgrad.torch.enabled():
        raise KeyError
    assert not poolgrad.torch.is_enabled()


def test_a_decorated_function():
    assert counts(poolgrad.torch.enabled()(step)) == (1, 1)
    assert counts() == (0, 0)


def test_blocks_in_many_threads():
    failures = []

    def work(forward):
        try:
            for _ in range(30):
                with poolgrad.torch.enabled(forward):
                    assert poolgrad.torch.is_enabled()
                    step()
        except BaseException as failure:
            failures.append(failure)

    threads = [threading.Thread(target=work, args=(f,)) for f in ("auto", "never", "always", "auto")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    assert not poolgrad.torch.is_enabled()
    assert counts() == (0, 0)
    assert taken(BACKWARD) == 4 * 30


def test_nothing_is_printed_and_nothing_is_warned():
    program = (
        "import warnings; warnings.simplefilter('error')\n"
        "import torch, poolgrad.torch\n"
        "for _ in range(3):\n"
        "    poolgrad.torch.enable(); poolgrad.torch.enable('always'); poolgrad.torch.disable()\n"
        "poolgrad.torch.enable()\n"
        "x = torch.randn(1, 1, 4, 4, requires_grad=True)\n"
        "torch.nn.functional.max_pool2d(x, 2).sum().backward()\n"
    )
    # It ends with kernels registered: the end of the interpreter must not trip over them.
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=300)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_turning_it_on_and_off_leaks_nothing(monkeypatch):
    monkeypatch.setattr(_replacement, "_GRACE_SECONDS", 0.0)

    def cycles(n):
        for _ in range(n):
            with poolgrad.torch.enabled():
                step()
        gc.collect()

    cycles(20)
    tracemalloc.start()
    try:
        cycles(5)
        before, _ = tracemalloc.get_traced_memory()
        cycles(100)
        after, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    # The handles of one cycle's kernels are some thousand bytes; PyTorch's own registration keeps a hundred or two.
    assert after - before < 100 * 1000


def test_kernels_outlive_their_registration():
    """Another thread may have found one, and be about to call it."""
    with poolgrad.torch.enabled():
        registration = weakref.ref(_replacement._state.registration)
        handle = _replacement._state.registration.handles[0]
    gc.collect()
    assert registration() is None
    assert any(kept is handle for _, handles in _replacement._state.retired for kept in handles)


def test_calls_leak_nothing():
    input = torch.randn(1, 2, 4, 4, 4, requires_grad=True)

    def steps(n):
        for _ in range(n):
            torch.autograd.grad(functional.max_pool3d(input, 2).sum(), input)
        gc.collect()

    with poolgrad.torch.enabled("always"):
        steps(50)
        before = sys.getrefcount(input), len(gc.get_objects())
        steps(500)
        assert sys.getrefcount(input) == before[0]
        assert len(gc.get_objects()) - before[1] < 50


# ---- what is left to PyTorch ----


def outcome(call):
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return call()
    except Exception as error:
        return type(error), str(error)


def test_arguments_that_pytorch_refuses():
    volume, image = torch.randn(1, 2, 4, 4, 4), torch.randn(1, 2, 4, 4)
    output, indices = aten.max_pool3d_with_indices(volume, 2)
    whole = ([2] * 3, [2] * 3, [0] * 3, [1] * 3, False)
    huge = 2**62
    calls = [
        lambda: aten.max_pool3d_with_indices(volume, 0),
        lambda: aten.max_pool3d_with_indices(volume, [2, 2]),
        lambda: aten.max_pool3d_with_indices(volume, 2, [1, 1]),
        lambda: aten.max_pool3d_with_indices(volume, 2, 0),
        lambda: aten.max_pool3d_with_indices(volume, 2, 2, 2),
        lambda: aten.max_pool3d_with_indices(volume, 2, 2, -1),
        lambda: aten.max_pool3d_with_indices(volume, 2, 2, 0, 0),
        lambda: aten.max_pool3d_with_indices(volume, 9),
        lambda: aten.max_pool3d_with_indices(volume, huge),
        lambda: aten.max_pool3d_with_indices(volume[0, 0], 2),
        lambda: aten.max_pool2d_with_indices(image, 2, 2, 0, huge),
        lambda: aten.max_pool2d_with_indices(image[0, 0], [2]),
        lambda: aten.adaptive_max_pool3d(volume, [-1, 2, 2]),
        lambda: aten.adaptive_max_pool3d(volume, [2, 2]),
        lambda: aten._adaptive_avg_pool3d(volume, [2, -2, 2]),
        lambda: aten._adaptive_avg_pool2d(image, [2]),
        lambda: aten.max_pool3d_with_indices_backward(output, volume, *whole, indices.int()),
        lambda: aten.max_pool3d_with_indices_backward(output.double(), volume, *whole, indices),
        lambda: aten.max_pool3d_with_indices_backward(output[..., :1], volume, *whole, indices),
        lambda: aten.max_pool3d_with_indices_backward(output, volume, *whole, indices[..., :1]),
        lambda: aten.max_pool3d_with_indices_backward(output, volume[:, :1], *whole, indices),
        lambda: aten.adaptive_max_pool3d_backward(output, volume, indices.float()),
        lambda: aten.adaptive_max_pool3d_backward(output, volume.double(), indices),
        lambda: aten._adaptive_avg_pool3d_backward(output.half(), volume),
        lambda: aten._adaptive_avg_pool2d_backward(image, volume),
        lambda: aten.max_pool2d_with_indices.out(image, 2, out=torch.empty(0).double(), indices=torch.empty(0).long()),
        lambda: aten.max_pool2d_with_indices.out(image, 2, out=torch.empty(0), indices=torch.empty(0).int()),
    ]
    for i, call in enumerate(calls):
        wanted = outcome(call)
        assert isinstance(wanted[0], type), f"call {i} is not refused by PyTorch"
        with poolgrad.torch.enabled("always"):
            assert outcome(call) == wanted, f"call {i}"


def test_single_numbers_for_all_axes():
    """A window with one number is not a window of a 1-D pooling."""
    image = values((2, 6, 8))
    for call in (
        lambda: aten.max_pool2d_with_indices(image, [2]),
        lambda: aten.max_pool2d_with_indices(image, [2], [1]),
    ):
        wanted = call()
        with poolgrad.torch.enabled("always"):
            assert all(torch.equal(one, other) for one, other in zip(call(), wanted))


@pytest.mark.parametrize("pooling", POOLINGS, ids=repr)
@pytest.mark.parametrize("sizes", [(0, 3, 6, 7, 8), (2, 0, 6, 7, 8)])
def test_empty_tensors(pooling, sizes):
    """PyTorch takes an empty batch, and refuses a batch of nothing."""
    input = torch.empty(sizes[: 2 + pooling.n_axes])
    pooled, _ = pooling.forward(torch.empty((1, 1, 6, 7, 8)[: 2 + pooling.n_axes]))
    grad_output = torch.empty([*sizes[:2], *pooled.shape[2:]])
    calls = [
        lambda: pooling.forward(input)[0],
        lambda: pooling.backward(grad_output, input, grad_output.long()),
    ]
    for call in calls:
        wanted = outcome(call)
        with poolgrad.torch.enabled("always"):
            got = outcome(call)
        assert got.shape == wanted.shape if isinstance(wanted, torch.Tensor) else got == wanted
    assert not any(n_taken for n_taken, _ in poolgrad.torch.stats().values())


def test_an_output_of_another_size_that_would_do():
    """A row more gives as many windows, but PyTorch makes `grad_input` as large as `self`."""
    image = values((1, 2, 8, 8))
    output, indices = aten.max_pool2d_with_indices(image, 2)
    window = ([2] * 2, [2] * 2, [0] * 2, [1] * 2, False)
    grad_input = torch.empty(1, 2, 9, 9)
    backward = aten.max_pool2d_with_indices_backward
    with poolgrad.torch.enabled("always"), pytest.warns(UserWarning, match="resized"):
        backward.grad_input(output, image, *window, indices, grad_input=grad_input)
    assert grad_input.shape == image.shape
    assert torch.equal(grad_input, backward(output, image, *window, indices))


def test_indices_that_share_memory_until_written():
    volume = values((1, 2, 4, 4, 4))
    output, indices = aten.max_pool3d_with_indices(volume, 2)
    shared = torch._lazy_clone(indices)
    window = ([2] * 3, [2] * 3, [0] * 3, [1] * 3, False)
    with poolgrad.torch.enabled():
        aten.max_pool3d_with_indices_backward(output, volume, *window, shared)
        aten.adaptive_max_pool3d_backward(output, volume, shared)
        into = {"grad_input": torch.empty_like(volume)}
        aten.max_pool3d_with_indices_backward.grad_input(output, volume, *window, shared, **into)
        aten.adaptive_max_pool3d_backward.grad_input(output, volume, shared, **into)
    assert torch._C._is_cow_tensor(shared)
    assert list(poolgrad.torch.stats().values()) == [(0, 1)] * 4


@pytest.mark.parametrize("dtype", [torch.int32, torch.int64, torch.uint8], ids=str)
def test_integers(dtype):
    input = torch.randint(0, 100, (1, 2, 4, 6, 8)).to(dtype)
    wanted = functional.max_pool3d(input, 2)
    with poolgrad.torch.enabled("always"):
        assert torch.equal(functional.max_pool3d(input, 2), wanted)
    assert passed_on(FORWARD) == 1


def test_meta_and_fake_tensors():
    from torch._subclasses import FakeTensorMode

    with poolgrad.torch.enabled("always"):
        assert functional.max_pool3d(torch.empty(1, 2, 4, 4, 4, device="meta"), 2).shape == (1, 2, 2, 2, 2)
        with FakeTensorMode():
            input = torch.empty(1, 2, 4, 4, 4, requires_grad=True)
            functional.max_pool3d(input, 2).sum().backward()
            assert input.grad.shape == input.shape
    assert poolgrad.torch.stats() == {}


def test_quantized_mkldnn_and_sparse_tensors():
    image = torch.rand(1, 2, 4, 4)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        quantized = torch.quantize_per_tensor(image, 0.1, 0, torch.quint8)
    for call in (
        lambda: functional.max_pool2d(quantized, 2).dequantize(),
        lambda: functional.max_pool2d(image.to_mkldnn(), 2).to_dense(),
    ):
        wanted = call()
        with poolgrad.torch.enabled("always"):
            assert torch.equal(call(), wanted)
    with poolgrad.torch.enabled("always"), pytest.raises(NotImplementedError, match="SparseCPU"):
        functional.max_pool2d(image.to_sparse(), 2)


@pytest.mark.parametrize("n_axes", [2, 3])
def test_windows_that_step_over_the_input(n_axes):
    """PyTorch takes them, and gives an index outside the volume, through which its gradient would write."""
    forward = getattr(aten, f"max_pool{n_axes}d_with_indices")
    backward = getattr(aten, f"max_pool{n_axes}d_with_indices_backward")
    input, window = torch.randn([1, 1] + [2] * n_axes), ([2] * n_axes, [1] * n_axes, [1] * n_axes, [3] * n_axes)
    output, indices = forward(input, *window)
    assert output.item() == -torch.inf
    assert indices.item() >= input.numel()
    with poolgrad.torch.enabled("always"):
        assert all(torch.equal(a, b) for a, b in zip(forward(input, *window), (output, indices)))
        with pytest.raises(IndexError, match=str(indices.item())):
            backward(output, input, *window, False, indices)
        # An index of -1 is dropped by PyTorch's own kernel, to which this call is left.
        assert not backward(output, input, *window, False, indices.fill_(-1)).any()
    name = f"max_pool{n_axes}d_with_indices"
    assert (passed_on(name), passed_on(f"{name}_backward")) == (1, 1)


def test_subclasses_see_no_calls_within_kernels():
    """Autograd keeps the subclass, and hands it to the kernel when nobody else has one."""
    seen = []

    class Watched(torch.Tensor):
        @classmethod
        def __torch_function__(cls, function, types, args=(), kwargs=None):
            seen.append(function.__name__)
            return super().__torch_function__(function, types, args, kwargs or {})

    input = torch.randn(1, 2, 4, 4, 4).as_subclass(Watched).requires_grad_()
    with poolgrad.torch.enabled("always"):
        with torch._C.DisableTorchFunctionSubclass():
            output = functional.max_pool3d(input, 2)
        assert type(output) is torch.Tensor
        seen.clear()
        torch.autograd.backward(output, torch.ones_like(output))
    assert seen == []
    assert taken(BACKWARD) == 1


def test_default_device_and_dtype_do_not_leak_into_kernels():
    with poolgrad.torch.enabled("always"), torch.device("meta"):
        input = torch.randn(1, 2, 4, 4, 4, device="cpu", requires_grad=True)
        functional.max_pool3d(input, 2).sum().backward()
        assert input.grad.device.type == "cpu"
    assert taken(BACKWARD) == 1

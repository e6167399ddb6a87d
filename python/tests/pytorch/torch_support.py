"""What the tests of the PyTorch layer share: the pooling operators, calls of them, layouts, and comparison."""

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed; `pip install poolgrad[torch]` runs these tests")

import poolgrad.torch  # noqa: E402

aten = torch.ops.aten
FLOATS = (torch.float32, torch.float64, torch.float16, torch.bfloat16)


class Pooling:
    """A pooling by PyTorch's operators: forward, and gradient, functional and with an output."""

    def __init__(self, name, n_axes, *parameters):
        self.name, self.n_axes, self.parameters = (
            name,
            n_axes,
            [list(p) if isinstance(p, tuple) else p for p in parameters],
        )
        self.has_indices = "max" in name

    def __repr__(self):
        return f"{self.name}{self.n_axes}d{self.parameters}"

    @property
    def _names(self):
        n = self.n_axes
        return {
            "max_pool": (f"max_pool{n}d_with_indices", f"max_pool{n}d_with_indices_backward"),
            "adaptive_max_pool": (f"adaptive_max_pool{n}d", f"adaptive_max_pool{n}d_backward"),
            "adaptive_avg_pool": (f"_adaptive_avg_pool{n}d", f"_adaptive_avg_pool{n}d_backward"),
        }[self.name]

    @property
    def forward_name(self):
        return self._names[0]

    @property
    def backward_name(self):
        return self._names[1]

    def forward(self, input):
        """Output, and indices or None."""
        result = getattr(aten, self.forward_name)(input, *self.parameters)
        return result if self.has_indices else (result, None)

    def forward_out(self, input, out, indices):
        name = self.forward_name.removeprefix("_")
        outputs = {"out": out, "indices": indices} if self.has_indices else {"out": out}
        return getattr(aten, name).out(input, *self.parameters, **outputs)

    def _backward_arguments(self, grad_output, input, indices):
        if self.name == "max_pool":
            kernel_size, stride, padding, dilation, ceil_mode = self.full_parameters
            return (grad_output, input, kernel_size, stride, padding, dilation, ceil_mode, indices)
        return (grad_output, input, indices) if self.has_indices else (grad_output, input)

    @property
    def full_parameters(self):
        n = self.n_axes
        defaults = [None, [], [0] * n, [1] * n, False]
        return self.parameters + defaults[len(self.parameters) :]

    def backward(self, grad_output, input, indices):
        return getattr(aten, self.backward_name)(*self._backward_arguments(grad_output, input, indices))

    def backward_out(self, grad_output, input, indices, grad_input):
        arguments = self._backward_arguments(grad_output, input, indices)
        if self.name == "adaptive_avg_pool":
            if self.n_axes == 3:
                return aten.adaptive_avg_pool3d_backward.grad_input(*arguments, grad_input=grad_input)
            return aten._adaptive_avg_pool2d_backward.out(*arguments, out=grad_input)
        return getattr(aten, self.backward_name).grad_input(*arguments, grad_input=grad_input)


POOLINGS = [
    Pooling("max_pool", 2, (3, 3), (2, 2), (1, 1)),
    Pooling("max_pool", 2, (2, 3)),
    Pooling("max_pool", 2, (3, 2), (1, 2), (1, 0), (2, 1), True),
    Pooling("max_pool", 3, (3, 3, 3), (2, 2, 2), (1, 1, 1)),
    Pooling("max_pool", 3, (2, 2, 2)),
    Pooling("max_pool", 3, (2, 3, 3), (1, 2, 2), (1, 0, 0), (2, 1, 1), True),
    Pooling("adaptive_max_pool", 2, (3, 2)),
    Pooling("adaptive_max_pool", 3, (2, 3, 4)),
    Pooling("adaptive_avg_pool", 2, (3, 2)),
    Pooling("adaptive_avg_pool", 3, (2, 3, 4)),
]


def _sliced(tensor):
    shape = list(tensor.shape)
    shape[-1] *= 2
    shape[0] += 1
    base = tensor.new_empty(shape)
    base[1:, ..., ::2] = tensor
    return base[1:, ..., ::2]


def _transposed(tensor):
    return tensor.transpose(-1, -2).contiguous().transpose(-1, -2)


def _batch_last(tensor):
    return tensor.movedim(0, -1).contiguous().movedim(-1, 0)


def _channels_last(tensor):
    return tensor.movedim(1, -1).contiguous().movedim(-1, 1)


def _expanded(tensor):
    """All channels are the first."""
    return tensor[:, :1].expand(tensor.shape)


#: The same values in another layout; `expanded` has other values, which the tests have to take from its result.
LAYOUTS = {
    "contiguous": lambda tensor: tensor.contiguous(),
    "channels_last": _channels_last,
    "transposed": _transposed,
    "sliced": _sliced,
    "batch_last": _batch_last,
    "expanded": _expanded,
}


def values(shape, dtype=torch.float32):
    """Random values of which many are equal, so that ties matter, and their sums are exact in every type."""
    return torch.randint(-4, 5, shape).to(dtype)


def same(one, other):
    """Whether two tensors have the same shape, type, strides and bits."""
    return (
        one.shape == other.shape
        and one.dtype == other.dtype
        and one.stride() == other.stride()
        and torch.equal(one.contiguous().view(torch.uint8), other.contiguous().view(torch.uint8))
    )


def taken(name):
    """How many calls of an operator this library computed since the counts were reset."""
    return poolgrad.torch.stats().get(name, (0, 0))[0]


def passed_on(name):
    return poolgrad.torch.stats().get(name, (0, 0))[1]

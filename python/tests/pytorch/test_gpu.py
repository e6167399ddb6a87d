"""PyTorch's kernels of a GPU are one more witness: other programs on another processor, with the same results."""

import pytest
from torch_support import FLOATS, LAYOUTS, POOLINGS, passed_on, poolgrad, taken, torch, values

if not torch.cuda.is_available():
    pytest.skip("there is no GPU here", allow_module_level=True)

SHAPES = {2: [(2, 3, 13, 14), (3, 40, 29, 64)], 3: [(2, 3, 7, 9, 8), (2, 16, 13, 30, 21)]}


def here_and_there(pooling, input, grad_output=None):
    """Output, indices, and gradient: of this library, and of the GPU. A `grad_output` of None is made."""
    results = []
    for device in ("cpu", "cuda"):
        # Channels-last tensors have kernels of their own on a GPU, so the strides stay as they are.
        there = torch.empty_strided(input.shape, input.stride(), dtype=input.dtype, device=device).copy_(input)
        with poolgrad.torch.enabled(forward="always"):
            poolgrad.torch.reset_stats()
            output, indices = pooling.forward(there)
            grad_output = values(output.shape, input.dtype) if grad_output is None else grad_output
            gradient = pooling.backward(grad_output.to(device), there, indices)
            names = (pooling.forward_name, pooling.backward_name)
            assert [taken(name) for name in names] == ([1, 1] if device == "cpu" else [0, 0])
            assert not any(passed_on(name) for name in names) or device == "cuda"
        results.append([None if tensor is None else tensor.cpu() for tensor in (output, indices, gradient)])
    return results


# Oracle: PyTorch's kernels of the GPU, with sums that are exact in any order; means may be rounded once more there.
@pytest.mark.parametrize("layout", ["contiguous", "channels_last", "transposed", "sliced"])
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("pooling", POOLINGS, ids=repr)
def test_a_gpu_has_the_same_results(pooling, dtype, layout):
    for shape in SHAPES[pooling.n_axes]:
        here, there = here_and_there(pooling, LAYOUTS[layout](values(shape, dtype)))
        if pooling.has_indices:
            assert torch.equal(here[0], there[0])
            assert torch.equal(here[1], there[1])
            assert torch.equal(here[2], there[2])
        else:
            torch.testing.assert_close(here[0], there[0])
            # The GPU rounds after each of up to eight terms, some of which cancel.
            most = 8 * torch.finfo(dtype).eps * there[2].abs().max().item()
            torch.testing.assert_close(here[2], there[2], rtol=0, atol=most)


# Oracle: as above, with numbers that are not finite, and with equal ones of either sign.
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("pooling", [pooling for pooling in POOLINGS if pooling.has_indices], ids=repr)
def test_a_gpu_finds_the_same_maxima_of_odd_numbers(pooling, dtype):
    odd = torch.tensor([float("nan"), float("inf"), -float("inf"), 0.0, -0.0, 1.0], dtype=dtype)
    shape = SHAPES[pooling.n_axes][0]
    here, there = here_and_there(pooling, odd[torch.randint(len(odd), shape)])
    assert torch.equal(here[1], there[1])
    torch.testing.assert_close(here[0], there[0], rtol=0, atol=0, equal_nan=True)
    assert torch.equal(here[2], there[2])


# Oracle: the GPU's sums, which come in another order with every run, so they are near and no more.
@pytest.mark.parametrize("pooling", POOLINGS, ids=repr)
def test_a_gpu_has_nearly_the_same_sums(pooling):
    for shape in SHAPES[pooling.n_axes]:
        input = torch.randn(shape)
        output, _ = pooling.forward(input)
        here, there = here_and_there(pooling, input, torch.randn(output.shape))
        torch.testing.assert_close(here[2], there[2])

"""Training steps of a small 3-D U-Net, with and without `poolgrad.torch.enable()`: the same losses, in less time.

    python examples/unet3d.py
    python examples/unet3d.py --steps 50 --channels 8 --json

The network learns to tell brain from background in crops of the MRI scan in data/. Two copies of it take the same steps
on the same crops, in turns, one with PyTorch's own CPU poolings and one with this library's. The only line that differs
is `enable()`. Printed are both losses, and the median time of a step with either.
"""

from __future__ import annotations

import argparse
import contextlib
import copy
import json
import os
import pathlib
import statistics
import sys
import time
from collections.abc import Iterator
from typing import Any

# PyTorch's threads wait busily by default, and take processors from this library's; read when PyTorch is loaded.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")

import numpy as np
import poolgrad.torch
import torch
from torch import Tensor, nn
from torch.nn import functional

VOLUME = pathlib.Path(__file__).parent.parent / "data" / "brain_epi_f16.npy"


class UNet(nn.Module):
    """Three levels, with max pooling on the way down, and averages of whole regions as context at the bottom."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.top = nn.Conv3d(1, channels, 3, padding=1)
        self.middle = nn.Conv3d(channels, channels, 3, padding=1)
        self.bottom = nn.Conv3d(channels, 2 * channels, 3, padding=1)
        self.context = nn.Conv3d(2 * channels, 2 * channels, 1)
        self.up = nn.Conv3d(3 * channels, channels, 1)
        self.out = nn.ConvTranspose3d(channels, 1, 2, stride=2)

    def forward(self, input: Tensor) -> Tensor:
        """The log-odds of brain for each voxel."""
        top = self.top(input).relu()
        middle = self.middle(functional.max_pool3d(top, 3, 2, 1)).relu()
        bottom = self.bottom(functional.max_pool3d(middle, 3, 2, 1)).relu()
        context = self.context(functional.adaptive_avg_pool3d(bottom, (3, 5, 5)))
        bottom = bottom + functional.interpolate(context, bottom.shape[2:])
        up = self.up(torch.cat([middle, functional.interpolate(bottom, middle.shape[2:])], 1)).relu()
        output: Tensor = self.out(up)
        return output


def crops(batch: int, size: int, seed: int) -> Iterator[tuple[Tensor, Tensor]]:
    """Crops of the scan, and which of their voxels are brain: those much brighter than the air around it."""
    scan = torch.from_numpy(np.load(VOLUME)).float()[0]
    scan /= scan.std()
    random = np.random.default_rng(seed)
    depth = min(size, scan.shape[1])
    while True:
        starts = [random.integers(0, [n + 1 for n in room(scan, depth, size)]) for _ in range(batch)]
        images = [scan[random.integers(2), d : d + depth, h : h + size, w : w + size] for d, h, w in starts]
        input = torch.stack(images).unsqueeze(1)
        yield input, (input > 1.0).float()


def room(scan: Tensor, depth: int, size: int) -> tuple[int, int, int]:
    """How far a crop can be moved along each axis."""
    return scan.shape[1] - depth, scan.shape[2] - size, scan.shape[3] - size


class Training:
    """A network with its optimizer, the losses so far, and the seconds that each step took."""

    def __init__(self, net: nn.Module, kernels: contextlib.AbstractContextManager[None]) -> None:
        self.net, self.kernels = net, kernels
        self.optimizer = torch.optim.SGD(net.parameters(), lr=0.02, momentum=0.9)
        self.losses: list[float] = []
        self.seconds: list[float] = []

    def step(self, input: Tensor, target: Tensor) -> None:
        """One step of gradient descent."""
        with self.kernels:
            start = time.perf_counter()
            self.optimizer.zero_grad()
            loss = functional.binary_cross_entropy_with_logits(self.net(input), target)
            torch.autograd.backward(loss)
            self.optimizer.step()
            self.seconds.append(time.perf_counter() - start)
        self.losses.append(loss.item())


class Enabled(contextlib.AbstractContextManager[None]):
    """`enable` and `disable` around each step, so that both trainings can take turns in one process."""

    def __enter__(self) -> None:
        poolgrad.torch.enable()

    def __exit__(self, *_: object) -> None:
        poolgrad.torch.disable()


def train(arguments: argparse.Namespace) -> dict[str, Any]:
    """Both trainings, step by step in turns."""
    torch.manual_seed(arguments.seed)
    net = UNet(arguments.channels)
    if arguments.channels_last:
        net = net.to(memory_format=torch.channels_last_3d)
    without = Training(copy.deepcopy(net), contextlib.nullcontext())
    with_poolgrad = Training(copy.deepcopy(net), Enabled())
    batches = crops(arguments.batch, arguments.size, arguments.seed)
    for step in range(arguments.steps):
        input, target = next(batches)
        if arguments.channels_last:
            input = input.to(memory_format=torch.channels_last_3d)
        for training in (without, with_poolgrad):
            training.step(input, target)
        show_progress(step + 1, arguments.steps)
    # The first step also allocates.
    seconds = [statistics.median(training.seconds[1:] or training.seconds) for training in (without, with_poolgrad)]
    differences = [abs(a - b) for a, b in zip(without.losses, with_poolgrad.losses)]
    return {
        "losses": without.losses,
        "losses_with_poolgrad": with_poolgrad.losses,
        "largest_difference": max(differences),
        "step_seconds": seconds[0],
        "step_seconds_with_poolgrad": seconds[1],
        "speedup": seconds[0] / seconds[1],
        "threads": torch.get_num_threads(),
        "calls": {name: taken for name, (taken, _) in poolgrad.torch.stats().items()},
    }


def show_progress(done: int, total: int) -> None:
    """A bar on the terminal, if there is one."""
    if sys.stderr.isatty():
        bar = "#" * (40 * done // total)
        end = "\n" if done == total else ""
        print(f"\r[{bar:40}] step {done} of {total}", end=end, file=sys.stderr, flush=True)


def report(result: dict[str, Any]) -> None:
    """Both loss curves and both times."""
    losses, others = result["losses"], result["losses_with_poolgrad"]
    print(f"{'step':>4}  {'PyTorch':>10}  {'with poolgrad':>13}")
    every = max(1, len(losses) // 10)
    for step in sorted({*range(0, len(losses), every), len(losses) - 1}):
        print(f"{step:>4}  {losses[step]:>10.6f}  {others[step]:>13.6f}")
    print(f"largest difference of the losses: {result['largest_difference']:.1e}")
    print(
        f"one step, median, {result['threads']} threads: {1e3 * result['step_seconds']:.1f} ms, with poolgrad "
        f"{1e3 * result['step_seconds_with_poolgrad']:.1f} ms: {result['speedup']:.2f} times as fast"
    )


def parse() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--steps", type=int, default=20, help="steps of each training (default: %(default)s)")
    parser.add_argument("--batch", type=int, default=2, help="crops per step (default: %(default)s)")
    parser.add_argument("--size", type=int, default=64, help="edge of a crop in voxels (default: %(default)s)")
    parser.add_argument("--channels", type=int, default=16, help="channels of the first level (default: %(default)s)")
    parser.add_argument("--channels-last", action="store_true", help="keep volumes in channels-last order")
    parser.add_argument("--threads", type=int, help="threads of PyTorch and of this library (default: PyTorch's)")
    parser.add_argument("--seed", type=int, default=0, help="of the weights and the crops (default: %(default)s)")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    arguments = parser.parse_args()
    if min(arguments.steps, arguments.batch, arguments.channels) < 1:
        parser.error("--steps, --batch and --channels must be at least 1")
    if not 8 <= arguments.size <= 96 or arguments.size % 4:
        parser.error("--size must be a multiple of 4 from 8 to 96")
    return arguments


def main() -> None:
    """Trains, and prints."""
    arguments = parse()
    if arguments.threads:
        torch.set_num_threads(arguments.threads)
    result = train(arguments)
    if arguments.json:
        print(json.dumps(result, indent=2))
    else:
        report(result)


if __name__ == "__main__":
    main()

"""Data-parallel training of a small 3-D network in several processes, each with `poolgrad.torch.enable()`.

    python examples/data_parallel.py --workers 2

Every worker takes its share of each batch; PyTorch's DistributedDataParallel averages their gradients over gloo. The
same network is then trained in one process on whole batches. Both end with the same weights, up to the rounding of the
averages, and every worker has to say that its poolings were this library's.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import sys
import tempfile
from typing import Any

import poolgrad.torch
import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.multiprocessing.spawn import spawn
from torch.nn.parallel import DistributedDataParallel


def network() -> nn.Module:
    """A 3-D network with each kind of pooling; its weights are the same in every process."""
    torch.manual_seed(0)
    return nn.Sequential(
        nn.Conv3d(1, 8, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool3d(3, stride=2, padding=1),
        nn.Conv3d(8, 8, 3, padding=1),
        nn.ReLU(),
        nn.AdaptiveMaxPool3d((4, 5, 5)),
        nn.Conv3d(8, 16, 3, padding=1),
        nn.ReLU(),
        nn.AdaptiveAvgPool3d((1, 2, 2)),
        nn.Flatten(),
        nn.Linear(64, 3),
    )


def batch(step: int, size: int) -> tuple[Tensor, Tensor]:
    """The volumes of a step, and what to say of each."""
    random = torch.Generator().manual_seed(step)
    return torch.randn(size, 1, 12, 16, 16, generator=random), torch.randn(size, 3, generator=random)


def train(net: nn.Module, arguments: argparse.Namespace, rank: int, n_workers: int) -> list[float]:
    """Trains on this worker's share of each batch; the losses of the shares."""
    optimizer = torch.optim.SGD(net.parameters(), lr=0.02, momentum=0.9)
    losses = []
    for step in range(arguments.steps):
        input, target = (whole.chunk(n_workers)[rank] for whole in batch(step, arguments.batch))
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(net(input), target)
        torch.autograd.backward(loss)
        optimizer.step()
        losses.append(loss.item())
    return losses


def check_that_poolgrad_ran(steps: int) -> None:
    """Raises unless each kind of pooling had its gradient computed by this library in every step."""
    for name in ("max_pool3d_with_indices", "adaptive_max_pool3d", "_adaptive_avg_pool3d"):
        counts = poolgrad.torch.stats()[f"{name}_backward"]
        if counts != (steps, 0):
            raise RuntimeError(f"{name}_backward was computed (here, by PyTorch) {counts} times in {steps} steps")


def worker(rank: int, arguments: argparse.Namespace, folder: str) -> None:
    """One process of the training; the first saves the weights."""
    torch.set_num_threads(max(1, (os.cpu_count() or 1) // arguments.workers))
    meeting_point = f"file://{folder}/meeting-point"
    dist.init_process_group("gloo", init_method=meeting_point, rank=rank, world_size=arguments.workers)
    poolgrad.torch.enable()
    net = DistributedDataParallel(network())
    losses = train(net, arguments, rank, arguments.workers)
    check_that_poolgrad_ran(arguments.steps)
    # Shares are of one size, so the mean of their losses is the loss of the batch.
    mean = torch.tensor(losses, dtype=torch.float64) / arguments.workers
    dist.all_reduce(mean)
    if rank == 0:
        torch.save({"weights": net.module.state_dict(), "losses": mean.tolist()}, f"{folder}/result.pt")
    # A worker that leaves while another is still busy can take the connection down with it.
    dist.barrier()
    dist.destroy_process_group()
    # Gloo's threads outlive the group, which DistributedDataParallel keeps. One that lets go of a tensor while the
    # interpreter is being torn down aborts the process; there is nothing left to tear down, so it is left out.
    os._exit(0)


def compare(arguments: argparse.Namespace) -> dict[str, Any]:
    """Trains in several processes and in one."""
    with tempfile.TemporaryDirectory() as folder:
        spawn(worker, args=(arguments, folder), nprocs=arguments.workers)  # type: ignore[no-untyped-call]
        together = torch.load(pathlib.Path(folder) / "result.pt")
    alone = network()
    with poolgrad.torch.enabled():
        losses = train(alone, arguments, rank=0, n_workers=1)
    differences = [
        (together["weights"][name] - weight).abs().max().item() for name, weight in alone.state_dict().items()
    ]
    return {
        "workers": arguments.workers,
        "losses": together["losses"],
        "losses_of_one_process": losses,
        "largest_difference_of_weights": max(differences),
    }


def main() -> None:
    """Trains, compares, and prints; the exit status says whether the weights are equal."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--workers", type=int, default=2, help="processes (default: %(default)s)")
    parser.add_argument("--steps", type=int, default=10, help="steps of training (default: %(default)s)")
    parser.add_argument("--batch", type=int, default=8, help="volumes per step, of all workers (default: %(default)s)")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    arguments = parser.parse_args()
    if arguments.workers < 1 or arguments.steps < 1 or arguments.batch < 1 or arguments.batch % arguments.workers:
        parser.error("--workers and --steps must be at least 1, and --batch a multiple of --workers")
    result = compare(arguments)
    if arguments.json:
        print(json.dumps(result, indent=2))
    else:
        print(f"{'step':>4}  {arguments.workers:>4} processes  {'one process':>12}")
        for step, (one, other) in enumerate(zip(result["losses"], result["losses_of_one_process"])):
            print(f"{step:>4}  {one:>14.8f}  {other:>12.8f}")
        print(f"largest difference of the weights: {result['largest_difference_of_weights']:.1e}")
    if not result["largest_difference_of_weights"] < 1e-5:
        sys.exit("error: the weights differ")


if __name__ == "__main__":
    main()

"""Max pooling and its gradient over a volume that is larger than memory: chunks in a Zarr store, worked on by Dask.

    python examples/chunked_volume.py --depth 512 --workers 2

makes a volume `[C, D, H, W]` in a Zarr store, chunk by chunk; pools it with windows of 3 at every second voxel, which
reach over the borders of chunks; and computes the gradient of the sum of all maxima, weighted by position. No process
ever holds more than a few chunks. `--check` computes the same in one piece and compares: every bit is the same, since
each voxel's sum is formed in the same order, wherever the chunks end.
"""

from __future__ import annotations

import argparse
import math
import pathlib
import resource
import sys
import tempfile
import time
from typing import Any

import dask
import dask.array as da
import numpy as np
import poolgrad
import zarr

# Windows of 3 voxels, every 2, with a border of 1: a block needs one voxel of each neighbour.
WINDOW, STEP, BORDER = 3, 2, 1
# A pooled voxel and where it comes from, so that one pass over the volume makes both.
POOLED = np.dtype([("value", np.float32), ("index", np.int64)])
HALO = {0: 0, 1: BORDER, 2: BORDER, 3: BORDER}


def make_volume(path: pathlib.Path, shape: tuple[int, ...], chunk: int) -> None:
    """A store of smooth noise with many ties, written one chunk at a time."""
    store = zarr.create_array(path, shape=shape, chunks=(1, chunk, chunk, chunk), dtype="float32")
    for start in np.ndindex(*(math.ceil(size / chunk) for size in shape[1:])):
        region = tuple(slice(i * chunk, min((i + 1) * chunk, size)) for i, size in zip(start, shape[1:]))
        random = np.random.default_rng(start)
        part = random.integers(0, 256, (shape[0], *(r.stop - r.start for r in region)))
        store[(slice(None), *region)] = part.astype(np.float32)


def pool_block(block: np.ndarray, sizes: tuple[int, ...], chunk: int, block_id: tuple[int, ...]) -> np.ndarray:
    """The pooled voxels of one block, which comes with one voxel of each neighbour, or of minus infinity."""
    output, indices = poolgrad.max_pool3d(np.ascontiguousarray(block), WINDOW, STEP, return_indices=True)
    pooled = np.empty(output.shape, POOLED)
    pooled["value"] = output
    # Offsets in the block become offsets in the volume.
    places = np.unravel_index(indices, block.shape[1:])
    d, h, w = (place + number * chunk - BORDER for place, number in zip(places, block_id[1:]))
    pooled["index"] = (d * sizes[1] + h) * sizes[2] + w
    return pooled


def gradient_block(
    indices: np.ndarray, weights: np.ndarray, sizes: tuple[int, ...], chunk: int, block_id: tuple[int, ...]
) -> np.ndarray:
    """The gradient of one block: what its own windows and its neighbours' nearest ones found inside it."""
    starts = [number * chunk for number in block_id[1:]]
    extent = [min(chunk, size - start) for start, size in zip(starts, sizes)]
    places = [indices // (sizes[1] * sizes[2]), indices // sizes[2] % sizes[1], indices % sizes[2]]
    local = [place - start for place, start in zip(places, starts)]
    # Beyond the volume there are no maxima, which is told by negative indices.
    inside = (indices >= 0) & np.all([(i >= 0) & (i < size) for i, size in zip(local, extent)], axis=0)
    d, h, w = (np.where(inside, i, 0) for i in local)
    # A gradient of zero does no harm wherever it is added.
    grad_output = np.where(inside, weights, np.float32(0.0))
    shape = (indices.shape[0], *extent)
    return poolgrad.adaptive_max_pool3d_backward(grad_output, shape, (d * extent[1] + h) * extent[2] + w)


def weights_of(shape: tuple[int, ...], chunks: Any) -> da.Array:
    """The gradient that comes from behind: a number for each pooled voxel, made where it is needed."""

    def block(block_info: Any = None) -> np.ndarray:
        places = [np.arange(*span, dtype=np.float32) for span in block_info[None]["array-location"]]
        return sum(np.ix_(*places), start=np.float32(0.0)) % np.float32(8.0)

    return da.map_blocks(block, chunks=da.core.normalize_chunks(chunks, shape), dtype=np.float32)


def run_in_chunks(source: pathlib.Path, target: pathlib.Path, chunk: int) -> None:
    """Pools the volume in `source` and computes the gradient, into stores below `target`."""
    volume = da.from_zarr(source)
    sizes = volume.shape[1:]
    halved = (volume.chunks[0], *(tuple(math.ceil(n / STEP) for n in axis) for axis in volume.chunks[1:]))
    pooled = da.map_overlap(
        pool_block, volume, depth=HALO, boundary=-np.inf, trim=False, chunks=halved, sizes=sizes, chunk=chunk,
        dtype=POOLED, meta=np.empty((0,) * 4, POOLED),
    )  # fmt: skip
    values = pooled.map_blocks(field, "value", dtype=np.float32, meta=np.empty((0,) * 4, np.float32))
    places = pooled.map_blocks(field, "index", dtype=np.int64, meta=np.empty((0,) * 4, np.int64))
    # Both are stored in one pass, and the indices read again for the gradient: the volume is read once.
    dask.compute(values.to_zarr(target / "output", compute=False), places.to_zarr(target / "indices", compute=False))

    indices = da.from_zarr(target / "indices")
    gradient = da.map_overlap(
        gradient_block, indices, weights_of(indices.shape, indices.chunks), depth=[HALO, HALO], boundary=[-1, 0.0],
        trim=False, chunks=volume.chunks, sizes=sizes, chunk=chunk,
        dtype=np.float32, meta=np.empty((0,) * 4, np.float32),
    )  # fmt: skip
    gradient.to_zarr(target / "gradient")


def field(block: np.ndarray, name: str) -> np.ndarray:
    """One field of a block's records."""
    return np.ascontiguousarray(block[name])


def is_same_in_one_piece(source: pathlib.Path, target: pathlib.Path) -> bool:
    """Whether one process without chunks gets the same bits."""
    volume = zarr.open_array(source)[...]
    output, indices = poolgrad.max_pool3d(volume, WINDOW, STEP, BORDER, return_indices=True)
    weights = weights_of(output.shape, output.shape).compute(scheduler="synchronous")
    gradient = poolgrad.max_pool3d_with_indices_backward(weights, volume, WINDOW, STEP, BORDER, 1, False, indices)
    pairs = {"output": output, "indices": indices, "gradient": gradient}
    return all(np.array_equal(zarr.open_array(target / name)[...], wanted) for name, wanted in pairs.items())


def main() -> int:
    """Runs the example."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--depth", type=int, default=192, help="the voxels along each axis")
    parser.add_argument("--chunk", type=int, default=64, help="the voxels of a chunk along each axis, an even number")
    parser.add_argument("--workers", type=int, default=2, help="the processes that compute")
    parser.add_argument("--check", action="store_true", help="compare with one process without chunks")
    parser.add_argument("--folder", type=pathlib.Path, help="where the stores go; by default a temporary folder")
    arguments = parser.parse_args()
    if arguments.chunk % STEP:
        parser.error("--chunk must be even, so that windows begin at the same places in every chunk")
    # The workers share the processor, so each of them computes in one thread.
    dask.config.set(scheduler="processes", num_workers=arguments.workers)
    with tempfile.TemporaryDirectory() as temporary:
        folder = arguments.folder or pathlib.Path(temporary)
        shape = (1, arguments.depth, arguments.depth - arguments.depth // 4, arguments.depth)
        make_volume(folder / "volume", shape, arguments.chunk)
        start = time.perf_counter()
        run_in_chunks(folder / "volume", folder, arguments.chunk)
        seconds = time.perf_counter() - start
        size = math.prod(shape) * 4 / 2**20
        peaks = [resource.getrusage(who).ru_maxrss / 2**10 for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
        chunks = f"{arguments.chunk}^3"
        print(f"{list(shape)}, {size:.0f} MiB in chunks of {chunks}: pooled, and its gradient computed")
        print(
            f"{arguments.workers} workers: {seconds:.1f} s, at most {peaks[0]:.0f} MiB here and {peaks[1]:.0f} MiB each"
        )
        if arguments.check:
            is_same = is_same_in_one_piece(folder / "volume", folder)
            print("the same bits as in one piece" if is_same else "NOT the same as in one piece")
            return 0 if is_same else 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

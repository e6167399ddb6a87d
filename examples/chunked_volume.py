"""Max pooling and its gradient over a volume that is larger than memory: chunks in a Zarr store, worked on by Dask.

    python examples/chunked_volume.py --depth 704 --workers 2

makes a volume `[C, D, H, W]` in a Zarr store, chunk by chunk; pools it with windows of 3 at every second voxel, which
reach over the borders of chunks; and computes the gradient of the sum of all maxima, weighted by position. Each task
reads its part of a store and a border of the parts beside it, so a process never holds more than a few chunks.
`--check` computes the same in one piece and compares: every bit is the same, since each voxel's sum is formed in the
same order, wherever the chunks end.
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

WINDOW, STEP, BORDER = 3, 2, 1
# A maximum and where it lies in the volume, so that one pass makes both.
FOUND = np.dtype([("value", np.float32), ("index", np.int64)])


def make_volume(path: pathlib.Path, shape: tuple[int, ...], chunk: int) -> None:
    """A store of noise with many ties, written one chunk at a time."""
    store = zarr.create_array(path, shape=shape, chunks=(1, chunk, chunk, chunk), dtype="float32")
    for start in np.ndindex(*(math.ceil(size / chunk) for size in shape[1:])):
        region = tuple(slice(i * chunk, min((i + 1) * chunk, size)) for i, size in zip(start, shape[1:]))
        part = np.random.default_rng(start).integers(0, 256, (shape[0], *(r.stop - r.start for r in region)), np.uint8)
        store[(slice(None), *region)] = part.astype(np.float32)


def read(path: pathlib.Path, spans: list[tuple[int, int]], outside: float) -> np.ndarray:
    """The part of a store in `spans`, which may reach beyond it, where there is nothing but `outside`."""
    store = zarr.open_array(path, mode="r")
    inside = [(max(low, 0), min(high, size)) for (low, high), size in zip(spans, store.shape)]
    part = store[tuple(slice(*span) for span in inside)]
    around = [(low - span[0], span[1] - high) for (low, high), span in zip(inside, spans)]
    return np.pad(part, around, constant_values=outside)


def pool(volume: pathlib.Path, sizes: tuple[int, ...], block_info: Any = None) -> np.ndarray:
    """One block of maxima: of the voxels that its windows see."""
    channels, *spans = block_info[None]["array-location"]
    seen = [(first * STEP - BORDER, (end - 1) * STEP - BORDER + WINDOW) for first, end in spans]
    output, indices = poolgrad.max_pool3d(read(volume, [channels, *seen], -np.inf), WINDOW, STEP, return_indices=True)
    # Offsets in what was read become offsets in the volume.
    places = np.unravel_index(indices, [high - low for low, high in seen])
    d, h, w = (place + low for place, (low, _) in zip(places, seen))
    found = np.empty(output.shape, FOUND)
    found["value"], found["index"] = output, (d * sizes[1] + h) * sizes[2] + w
    return found


def gradient(folder: pathlib.Path, sizes: tuple[int, ...], block_info: Any = None) -> np.ndarray:
    """One block of the gradient: of the maxima whose windows reach it, those that were found inside."""
    channels, *spans = block_info[None]["array-location"]
    reach = [(-((WINDOW - 1 - BORDER - first) // STEP), (end - 1 + BORDER) // STEP + 1) for first, end in spans]
    indices = read(folder / "indices", [channels, *reach], -1)
    places = [indices // (sizes[1] * sizes[2]), indices // sizes[2] % sizes[1], indices % sizes[2]]
    is_inside = indices >= 0
    for place, (first, end) in zip(places, spans):
        is_inside &= (first <= place) & (place < end)
    # A gradient of zero does no harm wherever it is added.
    grad_output = np.where(is_inside, weights(indices.shape, [low for low, _ in reach]), np.float32(0.0))
    d, h, w = (np.where(is_inside, place - first, 0) for place, (first, _) in zip(places, spans))
    extent = [end - first for first, end in spans]
    local = (d * extent[1] + h) * extent[2] + w
    return poolgrad.adaptive_max_pool3d_backward(grad_output, (len(indices), *extent), local)


def weights(shape: tuple[int, ...], start: list[int]) -> np.ndarray:
    """The gradient that comes from behind, for a block of maxima: a small number that depends on the position."""
    d, h, w = np.ix_(*(np.arange(first, first + size) for first, size in zip(start, shape[1:])))
    return np.broadcast_to(((d + 3 * h + 5 * w) % 8).astype(np.float32), shape)


def field(block: np.ndarray, name: str) -> np.ndarray:
    """One field of a block's records."""
    return np.ascontiguousarray(block[name])


def run_in_chunks(folder: pathlib.Path) -> None:
    """Pools the volume in `folder` and computes the gradient, into stores beside it."""
    volume = da.from_zarr(folder / "volume")
    shape, sizes = volume.shape, volume.shape[1:]
    pooled = (shape[0], *((size + 2 * BORDER - WINDOW) // STEP + 1 for size in sizes))
    chunks = da.core.normalize_chunks((1, *(n // STEP for n in volume.chunksize[1:])), pooled)
    found = da.map_blocks(pool, folder / "volume", sizes, chunks=chunks, dtype=FOUND, meta=np.empty((0,) * 4, FOUND))
    stored = []
    for store, name, dtype in (("output", "value", np.float32), ("indices", "index", np.int64)):
        part = found.map_blocks(field, name, dtype=dtype, meta=np.empty((0,) * 4, dtype))
        stored.append(part.to_zarr(folder / store, compute=False))
    dask.compute(*stored)
    meta = np.empty((0,) * 4, np.float32)
    da.map_blocks(gradient, folder, sizes, chunks=volume.chunks, dtype=np.float32, meta=meta).to_zarr(
        folder / "gradient"
    )


def is_same_in_one_piece(folder: pathlib.Path) -> bool:
    """Whether one process without chunks gets the same bits."""
    volume = zarr.open_array(folder / "volume")[...]
    output, indices = poolgrad.max_pool3d(volume, WINDOW, STEP, BORDER, return_indices=True)
    grad_output = weights(output.shape, [0, 0, 0])
    arguments = (WINDOW, STEP, BORDER, 1, False, indices)
    grad_input = poolgrad.max_pool3d_with_indices_backward(grad_output, volume, *arguments)
    pairs = {"output": output, "indices": indices, "gradient": grad_input}
    return all(np.array_equal(zarr.open_array(folder / name)[...], wanted) for name, wanted in pairs.items())


def main() -> int:
    """Runs the example."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--depth", type=int, default=192, help="the voxels along D and W; along H there are fewer")
    parser.add_argument("--chunk", type=int, default=96, help="the voxels of a chunk along each axis, at least 2")
    parser.add_argument("--workers", type=int, default=2, help="the processes that compute")
    parser.add_argument("--check", action="store_true", help="compare with one process without chunks")
    parser.add_argument("--folder", type=pathlib.Path, help="where the stores go; by default a temporary folder")
    arguments = parser.parse_args()
    dask.config.set(scheduler="processes", num_workers=arguments.workers)
    with tempfile.TemporaryDirectory() as temporary:
        folder = arguments.folder or pathlib.Path(temporary)
        shape = (1, arguments.depth, arguments.depth - arguments.depth // 4, arguments.depth)
        make_volume(folder / "volume", shape, arguments.chunk)
        start = time.perf_counter()
        run_in_chunks(folder)
        seconds = time.perf_counter() - start
        size = math.prod(shape) * 4 / 2**20
        both = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
        leader, worker = (resource.getrusage(who).ru_maxrss / 2**10 for who in both)
        print(f"{list(shape)}, {size:.0f} MiB in chunks of {arguments.chunk}^3: pooled, and its gradient computed")
        print(
            f"{arguments.workers} workers, {seconds:.1f} s; at most {leader:.0f} MiB here, and {worker:.0f} MiB in each"
        )
        if arguments.check:
            is_same = is_same_in_one_piece(folder)
            print("the same bits as in one piece" if is_same else "NOT the same as in one piece")
            return 0 if is_same else 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Where the gradient of max pooling goes in a brain: a plot on one slice of the MRI volume in `data/`.

    python examples/mri_gradient.py --out mri_gradient.png

The volume is pooled with windows of 3 x 3 x 3 voxels at every second one. The loss is half the sum of the squares of
the maxima, so its gradient with respect to a maximum is the maximum itself. It flows back to the voxels that won, and
to no other: one voxel in thirty, each of which was the maximum of up to eight windows.
"""

from __future__ import annotations

import argparse
import pathlib

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import poolgrad

VOLUME = pathlib.Path(__file__).parent.parent / "data" / "brain_epi_f16.npy"


def main() -> None:
    """Draws the picture."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("mri_gradient.png"), help="the picture")
    parser.add_argument("--slice", type=int, default=12, help="which slice is drawn, from 0 to 23")
    arguments = parser.parse_args()

    volume = np.load(VOLUME).astype(np.float32)
    output, indices = poolgrad.max_pool3d(volume, 3, 2, 1, return_indices=True)
    grad_input = poolgrad.max_pool3d_with_indices_backward(output, volume, 3, 2, 1, 1, False, indices)

    panels = {
        "input": (volume[0, 0, arguments.slice], "gray"),
        "output": (output[0, 0, arguments.slice // 2], "gray"),
        "grad_input": (grad_input[0, 0, arguments.slice], "inferno"),
    }
    figure, axes = plt.subplots(1, 3, figsize=(12, 3.6), layout="constrained")
    for axis, (name, (picture, colours)) in zip(axes, panels.items()):
        # A few voxels are many times brighter than all others.
        image = axis.imshow(picture, cmap=colours, origin="lower", vmax=np.quantile(picture, 0.998))
        axis.set_title(f"{name}, {picture.shape[0]} x {picture.shape[1]}")
        axis.set_axis_off()
        figure.colorbar(image, ax=axis, shrink=0.8)
    figure.savefig(arguments.out, dpi=110)
    share = np.count_nonzero(grad_input) / grad_input.size
    print(f"{arguments.out}: {share:.1%} of the voxels get a gradient")


if __name__ == "__main__":
    main()

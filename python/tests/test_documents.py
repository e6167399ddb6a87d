"""The tutorial and the examples, run as they stand.

Oracle: the assertions in the tutorial, and what each example says of itself.
"""

from __future__ import annotations

import os
import pathlib
import re
import subprocess
import sys

import numpy as np
import pytest

ROOT = pathlib.Path(__file__).parent.parent.parent


def blocks(page: pathlib.Path, heading: str | None = None) -> str:
    """The Python of a page, at the lines where it stands there; of one section, or of all but PyTorch's."""
    lines, section, language = [], "", None
    for line in page.read_text().splitlines():
        fence = re.match(r"\s*```(\w*)", line)
        if fence:
            language = fence[1] if language is None else None
            lines.append("")
            continue
        if language is None and line.startswith("## "):
            section = line[3:]
        wanted = section == heading if heading else section != "PyTorch"
        lines.append(line if language == "python" and wanted else "")
    return "\n".join(lines)


def test_the_tutorial_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    page = ROOT / "docs" / "python.md"
    monkeypatch.chdir(ROOT)
    program = blocks(page)
    assert program.count("assert ") > 10
    exec(compile(program, str(page), "exec"), {"__name__": "tutorial"})


def example(name: str, *arguments: str) -> str:
    command = [sys.executable, str(ROOT / "examples" / name), *arguments]
    run = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False, env=dict(os.environ))
    assert run.returncode == 0, run.stdout + run.stderr
    return run.stdout


def test_the_picture_is_drawn(tmp_path: pathlib.Path) -> None:
    plt = pytest.importorskip("matplotlib.image", reason="matplotlib is not installed here")
    out = tmp_path / "picture.png"
    assert "3.3% of the voxels get a gradient" in example("mri_gradient.py", "--out", str(out))
    drawn, committed = plt.imread(out), plt.imread(ROOT / "docs" / "mri_gradient.png")
    assert drawn.shape == committed.shape
    # Versions of matplotlib differ in fonts; the picture has to be the same in the large.
    assert np.abs(drawn - committed).mean() < 0.02


# Sizes that are no multiples of the chunks, a last chunk that is thinner than a window, and chunks of an odd size.
@pytest.mark.parametrize(("depth", "chunk"), [(70, 32), (44, 42), (30, 9)])
def test_the_volume_in_chunks_is_the_same(depth: int, chunk: int) -> None:
    for module in ("dask.array", "zarr"):
        pytest.importorskip(module, reason=f"{module} is not installed here")
    sizes = ["--depth", str(depth), "--chunk", str(chunk)]
    assert "the same bits as in one piece" in example("chunked_volume.py", *sizes, "--workers", "2", "--check")

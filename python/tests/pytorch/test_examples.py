"""The examples for PyTorch, as programs.

Oracle: what they compare themselves: a training without `enable`, and one in a single process.
"""

import json
import os
import pathlib
import subprocess
import sys

import pytest
from torch_support import poolgrad

ROOT = pathlib.Path(__file__).parents[3]


def run(name, *arguments):
    """The standard output of an example, which must succeed without a word on standard error."""
    package = str(pathlib.Path(poolgrad.__file__).parents[1])
    environment = {**os.environ, "PYTHONPATH": package}
    command = [sys.executable, str(ROOT / "examples" / name), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, env=environment)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("layout", [[], ["--channels-last"]])
def test_the_unet_learns_the_same(layout):
    sizes = ["--steps", "4", "--size", "24", "--channels", "4", "--batch", "1"]
    result = json.loads(run("unet3d.py", "--json", *sizes, *layout))
    assert len(result["losses"]) == 4
    assert result["losses"][-1] < result["losses"][0]
    assert result["losses_with_poolgrad"] == pytest.approx(result["losses"], rel=1e-4)
    assert result["calls"]["max_pool3d_with_indices_backward"] == 8
    assert result["calls"]["_adaptive_avg_pool3d_backward"] == 4
    assert result["step_seconds"] > 0
    assert result["step_seconds_with_poolgrad"] > 0


def test_the_unet_prints_both_curves_and_both_times():
    text = run("unet3d.py", "--steps", "2", "--size", "16", "--channels", "2")
    assert "PyTorch  with poolgrad" in text
    assert "times as fast" in text


def test_two_workers_train_what_one_process_does():
    result = json.loads(run("data_parallel.py", "--steps", "4", "--json"))
    assert result["workers"] == 2
    assert result["largest_difference_of_weights"] < 1e-6
    assert result["losses"] == pytest.approx(result["losses_of_one_process"], rel=1e-5)


@pytest.mark.parametrize("name", ["unet3d.py", "data_parallel.py"])
def test_help_and_bad_arguments(name):
    assert "--steps" in run(name, "--help")
    command = [sys.executable, str(ROOT / "examples" / name), "--steps", "0"]
    environment = {**os.environ, "PYTHONPATH": str(pathlib.Path(poolgrad.__file__).parents[1])}
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, env=environment)
    assert done.returncode == 2
    assert "--steps" in done.stderr

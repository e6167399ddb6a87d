"""Times oneDNN's gradients through the program made of onednn.cpp."""

import os
import subprocess


def timer(program, threads, quick):
    """A function that gives oneDNN's time for a problem in its best layout; nothing for what it cannot do."""
    environment = {**os.environ, "OMP_NUM_THREADS": str(threads)}

    def time(problem):
        arguments = lowered(problem, 0.0 if quick else 0.3)
        if arguments is None:
            return {}
        output = subprocess.run([str(program.resolve()), *arguments], env=environment, capture_output=True, text=True)
        if output.returncode:
            raise SystemExit(f"error: {program}: {output.stderr.strip()}")
        times = {name: float(time) for name, time in (line.split() for line in output.stdout.splitlines())}
        if not times:
            return {}
        best = min(times, key=times.get)
        return {"onednn_ms": times[best], "onednn_layout": best, "onednn_layouts_ms": times}

    return time


def lowered(problem, seconds):
    """The program's arguments, or None for what it cannot do: oneDNN has no adaptive windows, so sizes have to divide."""
    if any(step != 1 for step in problem.dilation) or problem.dtype == "f64":
        return None
    if problem.operator == "max_grad":
        if problem.ceil_mode:
            return None
        axes = zip(problem.input, problem.kernel_size, problem.stride, problem.padding)
        window, strides, padding = problem.kernel_size, problem.stride, problem.padding
        output = [(size + 2 * p - k) // s + 1 for size, k, s, p in axes]
    else:
        output = problem.output_size
        if any(size % n for size, n in zip(problem.input, output)):
            return None
        window = strides = [size // n for size, n in zip(problem.input, output)]
        padding = [0] * len(output)

    def lifted(values, missing):
        return [missing] * (3 - len(values)) + list(values)

    shape = [problem.batch or 1, problem.channels, *lifted(problem.input, 1)]
    numbers = shape + lifted(window, 1) + lifted(strides, 1) + lifted(padding, 0) + lifted(output, 1)
    kind = "avg" if problem.operator == "adaptive_avg_grad" else "max"
    return [kind, problem.dtype, str(seconds), *map(str, numbers)]

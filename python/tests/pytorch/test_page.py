"""The page about PyTorch and the examples in docstrings, run as they stand.

Oracle: the assertions on the page, and the results that docstrings show.
"""

import doctest
import pathlib
import re

import pytest
from torch_support import poolgrad, torch

PAGE = pathlib.Path(__file__).parents[3] / "docs" / "python-torch.md"
MODULES = ["", "functional", "modules", "_replacement"]


def test_the_page_runs(capsys):
    """Blocks keep the lines at which they stand on the page, for messages."""
    lines, language = [], None
    for line in PAGE.read_text().splitlines():
        fence = re.match(r"```(\w*)", line)
        if fence:
            language = fence[1] if language is None else None
        lines.append(line if language == "python" and not fence else "")
    program = "\n".join(lines)
    assert program.count("assert ") >= 5
    torch._dynamo.reset()
    exec(compile(program, str(PAGE), "exec"), {"__name__": "page"})
    assert "64" in capsys.readouterr().out


@pytest.mark.parametrize("name", MODULES)
def test_docstrings_show_what_happens(name):
    module = poolgrad.torch
    for part in filter(None, name.split(".")):
        module = getattr(module, part)
    result = doctest.testmod(module)
    assert result.attempted > 0
    assert result.failed == 0

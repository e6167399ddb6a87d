"""The examples in docstrings, and that everything public has a docstring, a signature and a type.

Oracle: the results that the examples show.
"""

from __future__ import annotations

import ast
import doctest
import importlib
import inspect
import pathlib
from types import ModuleType

import numpy as np
import poolgrad
import pytest
from poolgrad import _core

MODULES = ["poolgrad", "poolgrad._adaptive", "poolgrad._arrays", "poolgrad._max"]


@pytest.mark.parametrize("name", MODULES)
def test_examples_show_what_happens(name: str) -> None:
    module = importlib.import_module(name)
    result = doctest.testmod(module, extraglobs={"np": np, "poolgrad": poolgrad})
    assert result.failed == 0
    assert result.attempted > 0 or name == "poolgrad._arrays"


def test_the_example_of_plan_shows_what_happens() -> None:
    example = doctest.DocTestParser().get_doctest(str(poolgrad.plan.__doc__), {}, "plan", None, None)
    assert example.examples
    assert doctest.DocTestRunner().run(example).failed == 0


def test_everything_public_is_documented() -> None:
    for name in poolgrad.__all__:
        if name != "__version__":
            assert inspect.getdoc(getattr(poolgrad, name)), name


# Oracle: the compiled module itself.
def test_the_stub_has_what_the_module_has() -> None:
    stub = ast.parse(pathlib.Path(str(poolgrad.__file__)).with_name("_core.pyi").read_text())
    functions = {node.name: node for node in stub.body if isinstance(node, ast.FunctionDef)}
    classes = {node.name: node for node in stub.body if isinstance(node, ast.ClassDef) and node.name[0] != "_"}
    assert {*functions, *classes, "__version__"} == public(_core)
    for name, node in functions.items():
        parameters = inspect.signature(getattr(_core, name)).parameters
        arguments = [*node.args.args, *([node.args.vararg] if node.args.vararg else []), *node.args.kwonlyargs]
        assert [argument.arg for argument in arguments] == list(parameters), name
    methods = {node.name for node in classes["Plan"].body if isinstance(node, ast.FunctionDef)}
    assert methods == {name for name in vars(_core.Plan) if not name.startswith("_")}


def public(module: ModuleType) -> set[str]:
    return {name for name in dir(module) if not name.startswith("_") or name == "__version__"}

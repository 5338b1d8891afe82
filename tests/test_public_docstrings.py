"""Every public name has a numpydoc docstring: parameters, result, errors and an example."""

from __future__ import annotations

import ast
import inspect
import itertools
import re
import types
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import microagg as ma
from microagg.methods.registry import methods

NO_RESULT = ("None", "")
NO_DOCSTRING = ("__version__",)


def sections(text: str) -> list[str]:
    """The headings of a docstring: lines that are underlined to their length."""
    lines = inspect.cleandoc(text).splitlines()
    return [line for line, under in itertools.pairwise(lines) if under and under == "-" * len(line)]


def parameters_of(function: Callable[..., Any]) -> list[str]:
    return [name for name in inspect.signature(function).parameters if name not in ("self", "cls")]


def raises(function: Callable[..., Any]) -> bool:
    source = inspect.cleandoc("\n" + inspect.getsource(function))
    return any(isinstance(node, ast.Raise) for node in ast.walk(ast.parse(source)))


def documented(text: str) -> set[str]:
    """The parameters that a docstring describes."""
    part = re.split(r"Parameters\n-+\n", inspect.cleandoc(text))[-1]
    part = re.split(r"(?m)^\w+\n-{3,}\n", part)[0]
    entries = re.findall(r"(?m)^(\*{0,2}\w[\w*, ]*?)(?: :.*)?$", part)
    return {name.lstrip("*") for entry in entries for name in entry.split(", ")}


def problems_of(name: str, function: Callable[..., Any], expected: list[str]) -> Iterator[str]:
    text = function.__doc__ or ""
    present = sections(text)
    yield from (
        f"{name} has no section {section}" for section in expected if section not in present
    )
    if "Parameters" in present:
        accepted, described = set(parameters_of(function)), documented(text)
        missing, unknown = accepted - described, described - accepted
        yield from (f"{name} does not describe {parameter}" for parameter in sorted(missing))
        yield from (f"{name} does not take {parameter}" for parameter in sorted(unknown))


def expected_of(function: Callable[..., Any]) -> list[str]:
    expected = ["Parameters"] if parameters_of(function) else []
    result = inspect.signature(function).return_annotation
    expected += ["Returns"] if result not in (*NO_RESULT, None) else []
    expected += ["Raises"] if raises(function) else []
    return [*expected, "Examples"]


def methods_of(kind: type) -> Iterator[tuple[str, Callable[..., Any]]]:
    """The public methods of a class that microagg defines; properties need one sentence only."""
    for name, _ in inspect.getmembers(kind):
        member = inspect.getattr_static(kind, name)
        function = member.__func__ if isinstance(member, classmethod | staticmethod) else member
        if name.startswith("_") or not isinstance(function, types.FunctionType):
            continue
        if function.__module__.startswith("microagg"):
            yield function.__name__, function


PUBLIC = {name: getattr(ma, name) for name in ma.__all__ if name not in NO_DOCSTRING}
PUBLIC["methods"] = methods  # the package of this name can be called, and calls this function


@pytest.mark.parametrize("name", PUBLIC)
def test_public_names_are_documented(name: str) -> None:
    item = PUBLIC[name]
    if isinstance(item, types.ModuleType):
        assert (item.__doc__ or "").strip(), name
        return
    if not isinstance(item, type):
        assert not list(problems_of(name, item, expected_of(item)))
        return
    headings = sections(item.__doc__ or "")
    assert "Examples" in headings or issubclass(item, Exception)
    assert issubclass(item, Exception) or {"Attributes", "Parameters"} & set(headings)
    problems = [
        problem
        for method, function in methods_of(item)
        for problem in problems_of(f"{name}.{method}", function, expected_of(function))
    ]
    assert not problems, "\n".join(problems)


def test_the_errors_of_microagg_are_named_so() -> None:
    from microagg import errors

    kinds = [kind for _, kind in inspect.getmembers(errors, inspect.isclass)]
    ours = [kind for kind in kinds if kind.__module__ == errors.__name__]
    assert all(kind.__name__.endswith(("Error", "Warning")) for kind in ours)
    assert ma.Cancelled is ma.CancelledError


def test_a_missing_section_and_parameter_are_noticed() -> None:
    def add(first: int, second: int) -> int:
        """Return the sum.

        Parameters
        ----------
        first, third : int
            Numbers.

        Returns
        -------
        int
        """
        if first < 0:
            raise ValueError
        return first + second

    assert list(problems_of("add", add, expected_of(add))) == [
        "add has no section Raises", "add has no section Examples", "add does not describe second",
        "add does not take third",
    ]  # fmt: skip

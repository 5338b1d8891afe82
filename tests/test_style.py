"""Names and docstrings follow the rules of docs/architecture.md and CONTRIBUTING.md."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "microagg"
NO_NAMES = {"found", "told", "own", "each", "there", "at", "place", "asked", "given", "said"}
NO_OPENINGS = ("What", "Whether", "How", "Which")
FOLLOWED = (
    "datasets", "drawing", "estimator", "files", "guarantees", "problem", "proposal", "runtime",
    "errors.py", "formatting.py",
)  # fmt: skip
"""Folders and modules that follow the rules; the others are still to be rewritten."""


def modules(name: str) -> Iterator[tuple[Path, ast.Module]]:
    paths = sorted((SOURCE / name).rglob("*.py")) or [SOURCE / name]
    for path in paths:
        yield path, ast.parse(path.read_text("utf-8"))


def wrong_names(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node.id in NO_NAMES:
            yield f"{node.lineno}: variable {node.id}"
        if isinstance(node, ast.arg) and node.arg in NO_NAMES:
            yield f"{node.lineno}: parameter {node.arg}"
        if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.Module):
            words = (ast.get_docstring(node) or "").split(maxsplit=1)
            if words and words[0] in NO_OPENINGS:
                yield f"{getattr(node, 'lineno', 1)}: docstring opens with {words[0]}"


@pytest.mark.parametrize("name", FOLLOWED)
def test_names_and_docstrings_are_conventional(name: str) -> None:
    problems = [f"{path}:{text}" for path, tree in modules(name) for text in wrong_names(tree)]
    assert not problems, "\n".join(problems)


def test_wrong_names_are_noticed() -> None:
    tree = ast.parse('"""What it is."""\ndef f(asked):\n    found = 1\n')
    assert [text.split(": ")[1] for text in wrong_names(tree)] == [
        "docstring opens with What", "parameter asked", "variable found",
    ]  # fmt: skip

"""The scripts beside the package still find everything they import from it."""

from __future__ import annotations

import ast
import importlib
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SCRIPTS = sorted([*(ROOT / "docs").glob("*.py"), *(ROOT / "benchmarks").rglob("*.py")])


@pytest.mark.parametrize("script", SCRIPTS, ids=[str(path.relative_to(ROOT)) for path in SCRIPTS])
def test_names_that_a_script_imports_exist(script: Path) -> None:
    imports = [
        node
        for node in ast.walk(ast.parse(script.read_text("utf-8")))
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("microagg")
    ]
    for node in imports:
        module = importlib.import_module(str(node.module))
        missing = [
            name.name
            for name in node.names
            if not hasattr(module, name.name) and not _is_module(node, name)
        ]
        assert missing == [], f"{node.module} has no {missing}"


def _is_module(node: ast.ImportFrom, name: ast.alias) -> bool:
    try:
        importlib.import_module(f"{node.module}.{name.name}")
    except ModuleNotFoundError:
        return False
    return True

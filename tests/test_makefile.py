"""`make demo` needs the core alone: no package of an extra is imported on its way."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from running import run

ROOT = Path(__file__).parents[1]
OF_EXTRAS = (
    "matplotlib",
    "pandas",
    "polars",
    "pyreadstat",
    "python_calamine",
    "sklearn",
    "dask",
    "distributed",
)

BLOCKED = f"""
import importlib.abc, sys
class Blocked(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition('.')[0] in {OF_EXTRAS}:
            raise ModuleNotFoundError(name, name=name)
sys.meta_path.insert(0, Blocked())
"""


@pytest.mark.slow
def test_the_demo_runs_without_any_extra_and_ends_with_the_report(tmp_path: Path) -> None:
    code = (
        BLOCKED + "sys.argv = ['microagg', 'demo']\nfrom microagg.cli.start import start\nstart()"
    )
    done = run("-c", code, folder=tmp_path)
    assert done.code == 0, done.err
    assert "Smallest of " in done.out
    last = done.out.strip().splitlines()[-1]
    assert last == "The whole report as a page: add --report report.html to the command above."


def test_the_demo_installs_the_core_only() -> None:
    makefile = (ROOT / "Makefile").read_text("utf-8")
    recipe = makefile[makefile.index("\n$(DEMO)/.ready:") :].split("\n\n")[0]
    assert "['project']['dependencies']" in recipe
    assert "[test]" not in recipe
    assert "-qq" in makefile
    assert re.search(r"^\.venv-demo/$", (ROOT / ".gitignore").read_text("utf-8"), re.MULTILINE)
    assert "$(DEMO)" in makefile[makefile.index("\nclean:") :]
    core = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["dependencies"]
    assert not [requirement for requirement in core if requirement.startswith(OF_EXTRAS)]

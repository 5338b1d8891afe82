"""Prints the lowest version of each dependency that pyproject.toml allows, as constraints for pip:
what `make test-lowest` installs.

Tools of the tests themselves (pytest, openpyxl, …) are not what a user of microagg meets: they are
as new as can be. With `--tools` it prints those.
"""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

LIBRARIES = ("pandas", "polars", "duckdb")
"""Of the test extra: those whose tables microagg takes."""
COMPANIONS = ("pyparsing<3.3",)
"""What the lowest versions need besides: matplotlib 3.8 calls names that pyparsing deprecates from
3.3 on.
"""
TOOLS = ("ruff", "pyright", "import-linter")
"""Of the test extra: what no test imports."""


def lowest(project: dict[str, object]) -> list[str]:
    """One line for each dependency: `name==lowest`.

    >>> extras = {"plots": ["matplotlib>=3.8"], "test": ["pytest>=8"]}
    >>> lowest({"dependencies": ["numpy>=1.26"], "optional-dependencies": extras})
    ['numpy==1.26', 'matplotlib==3.8']
    """
    wanted: list[str] = list(project["dependencies"])  # type: ignore[call-overload]
    for extra, names in project["optional-dependencies"].items():  # type: ignore[attr-defined]
        wanted += [
            name for name in names if extra != "test" or re.split(r"\W", name)[0] in LIBRARIES
        ]
    lines = (
        requirement.replace(">=", "==")
        for requirement in wanted
        if not requirement.startswith("microagg[")
    )
    return list(dict.fromkeys(lines))


def tools(project: dict[str, object]) -> list[str]:
    """Return the requirements of the tests themselves: all of the test extra, but what checks the
    code without running it.

    >>> test = ["microagg[all]", "pytest>=8", "ruff>=0.6", "pyright[nodejs]>=1.1"]
    >>> tools({"optional-dependencies": {"test": test}})
    ['pytest>=8']
    """
    # what TOML holds is an object to a type checker
    extra: list[str] = project["optional-dependencies"]["test"]  # type: ignore[index]
    return [
        requirement
        for requirement in extra
        if re.split(r"[\[<>=]", requirement)[0] not in ("microagg", *TOOLS)
    ]


if __name__ == "__main__":
    text = (Path(__file__).parents[2] / "pyproject.toml").read_text("utf-8")
    known = tomllib.loads(text)["project"]
    print("\n".join(tools(known) if sys.argv[1:] == ["--tools"] else [*lowest(known), *COMPANIONS]))

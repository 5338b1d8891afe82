"""Prints the lowest version of each dependency that pyproject.toml allows, as constraints for pip: what `make test-lowest` installs.

Tools of the tests themselves (pytest, ruff, …) are not what a user of microagg meets: they stay as they are.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

LIBRARIES = ("pandas", "polars", "duckdb")
"""Of the test extra: those whose tables microagg takes."""


def lowest(project: dict[str, object]) -> list[str]:
    """One line for each dependency: `name==lowest`.

    >>> lowest({"dependencies": ["numpy>=1.26"], "optional-dependencies": {"plots": ["matplotlib>=3.8"], "test": ["pytest>=8"]}})
    ['numpy==1.26', 'matplotlib==3.8']
    """
    wanted: list[str] = list(project["dependencies"])  # type: ignore[call-overload]
    for extra, names in project["optional-dependencies"].items():  # type: ignore[attr-defined]
        wanted += [name for name in names if extra != "test" or re.split(r"\W", name)[0] in LIBRARIES]
    return [each.replace(">=", "==") for each in wanted if not each.startswith("microagg[")]


if __name__ == "__main__":
    text = (Path(__file__).parent.parent / "pyproject.toml").read_text("utf-8")
    print("\n".join(lowest(tomllib.loads(text)["project"])))

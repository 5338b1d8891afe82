"""Trees over the values of a column: for distances between nominal values, and for what `generalise` releases."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from microagg.errors import InputError


@dataclass(frozen=True)
class Hierarchy:
    """A path from each value to the top, all of the same length, the value first.

    >>> tree = Hierarchy({"Rome": ("Rome", "Italy", "*"), "Pisa": ("Pisa", "Italy", "*")})
    >>> tree.depth
    3
    """

    paths: dict[str, tuple[str, ...]]

    @property
    def depth(self) -> int:
        """How many levels there are, values and top included."""
        return len(next(iter(self.paths.values())))

    @staticmethod
    def of(given: Any) -> Hierarchy:
        """A tree from its paths, or from a file with value;parent;…;top in each line."""
        if isinstance(given, Mapping):
            return Hierarchy({str(value): tuple(path) for value, path in given.items()})
        if isinstance(given, list):
            return Hierarchy({str(path[0]): tuple(path) for path in given})
        try:
            lines = [line for line in Path(given).read_text("utf-8-sig").splitlines() if line]
        except (OSError, ValueError, TypeError):
            raise InputError("a hierarchy cannot be read; name a file in UTF-8.") from None
        paths = [tuple(line.split(";")) for line in lines]
        return Hierarchy({path[0]: path for path in paths})

    def as_data(self) -> list[list[str]]:
        """Plain data that `of` takes."""
        return [list(self.paths[value]) for value in sorted(self.paths)]

    @property
    def digest(self) -> str:
        """SHA-256 over the paths."""
        return hashlib.sha256(json.dumps(self.as_data()).encode()).hexdigest()

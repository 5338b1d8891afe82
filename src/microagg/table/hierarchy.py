"""Trees over the values of a column: for distances between nominal values, and for what `generalise` releases."""

from __future__ import annotations

from dataclasses import dataclass


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

"""Declared parameters of l-diversity and t-closeness. Imports no arrays, so that help appears at
once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypedDict

from microagg.table.declared import Declared
from microagg.table.parameters import Choice, Flag

NO_CONFIDENTIAL = "l and t apply to confidential columns; name at least one with confidential."


@dataclass(frozen=True)
class PartOfPromise(Declared):
    """Number that is valid only together with others: `Guarantees.of` checks them."""

    name: str
    help: str
    describes: str
    default: None = None

    @property
    def json_schema(self) -> dict[str, Any]:
        """Return the JSON Schema of the value in a settings file."""
        return {"type": "number"}

    def parse(self, value: Any) -> Any:
        """Return the value unchanged."""
        return value


L = PartOfPromise(
    "l",
    "l-diversity: the least number of different confidential values in a class (records "
    "that look alike).",
    "number, at least 2",
)
T = PartOfPromise(
    "t",
    "t-closeness: the largest distance (0 to 1) between the confidential values of a "
    "class and of the whole table.",
    "number from 0 to 1",
)
DIVERSITY = Choice(
    "diversity",
    ("distinct", "entropy", "recursive"),
    "distinct",
    "How l counts: different values, their "
    "entropy, or the most frequent value against the rarer ones (needs c).",
)
EXACT = Flag(
    "exact",
    "Let l and t tell confidential texts apart to the letter; else case, width and white "
    "space make no difference, "
    "and numbers go by their value.",
)
C = PartOfPromise("c", "The factor c of recursive diversity.", "number greater than 0")


class GuaranteeOptions(TypedDict, total=False):
    """Keywords of guarantees on confidential columns."""

    l: float | None
    t: float | None
    diversity: str
    c: float | None
    exact: bool

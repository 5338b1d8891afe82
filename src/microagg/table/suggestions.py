"""Nearest names for an error message: a few of them, however many columns a table has."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

MOST_LISTED = 8
"""Columns that an error lists before it gives the nearest names only."""
MOST_NEAREST = 3
LIKE_ENOUGH = 0.6  # as difflib counts likeness: 1 is equal
NO_QUASI = "{} names {!r}, which is not quasi-identifying; only such columns are changed."


def nearest_names(name: str, names: Iterable[str], most: int = MOST_NEAREST) -> list[str]:
    """Return the names that are most like one that does not exist, the nearest first; case makes no
    difference.

    >>> nearest_names("Incom", ["income", "age", "incomes"])
    ['income', 'incomes']
    """
    import difflib

    by_folded: dict[str, list[str]] = {}
    for other in names:
        by_folded.setdefault(other.casefold(), []).append(other)
    alike = difflib.get_close_matches(name.casefold(), by_folded, n=most, cutoff=LIKE_ENOUGH)
    return [other for folded in alike for other in by_folded[folded]][:most]


def list_names(names: Sequence[str], most: int = MOST_LISTED) -> str:
    """Return names in quotes; of many, the first ones and how many more there are.

    >>> list_names(["a", "b"]), list_names(["a", "b", "c"], most=1)
    ("'a', 'b'", "'a' and 2 more")
    """
    quoted = ", ".join(map(repr, names[:most]))
    return quoted if len(names) <= most else f"{quoted} and {len(names) - most:,} more"


def describe_columns(name: str, names: Sequence[str], subject: str = "the table has") -> str:
    """Return which columns there are instead of a missing one: all of a few, of many the nearest.

    >>> describe_columns("hight", ["age", "height"])
    "the table has 'age', 'height'"
    >>> describe_columns("q70", [f"q{number}" for number in range(1, 61)])
    "the nearest names are 'q7', 'q60', 'q57'"
    """
    if len(names) <= MOST_LISTED:
        return f"{subject} {list_names(names)}"
    nearest = nearest_names(name, names)
    if not nearest:
        return f"{subject} {list_names(names)}"
    if len(nearest) == 1:
        return f"the nearest name is {nearest[0]!r}"
    return f"the nearest names are {', '.join(map(repr, nearest))}"

"""Columns of two tables: their names, patterns, and checks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import narwhals as nw
import numpy as np

from microagg.errors import InputError
from microagg.table.columns.frames import column_facts
from microagg.table.patterns import expand_names
from microagg.table.suggestions import describe_columns

Names = Sequence[str | int] | str | int


def names_of(names: Names) -> list[str]:
    """Column names as a list of texts without repetitions; a NumPy table's columns may be given by
    their numbers.

    >>> names_of("age"), names_of([0, 1])
    (['age'], ['0', '1'])
    """
    listed = [names] if isinstance(names, str | int) else list(names)
    return list(dict.fromkeys(str(name) for name in listed))


def expanded(names: Names, columns: Sequence[str], what: str) -> list[str]:
    """Names of columns as a list of texts, with those that fit in place of a pattern."""
    return list(expand_names(names_of(names), columns, what))


def name_of(name: str | int | None) -> str | None:
    """Return the name of a column as text; None without one."""
    return None if name is None else str(name)


def shared_numbers(
    before: nw.DataFrame[Any], after: nw.DataFrame[Any], taken: Sequence[str]
) -> list[str]:
    """The numeric columns that both tables have, in the order of the original."""
    released = {fact.name for fact in column_facts(after) if fact.numeric}
    shared = [
        fact.name
        for fact in column_facts(before)
        if fact.numeric and fact.name in released and fact.name not in taken
    ]
    if not shared:
        raise InputError(
            "the two tables share no numeric column; name the quasi-identifiers with quasi."
        )
    return shared


def check_missing(frame: nw.DataFrame[Any], which: str, names: Sequence[str]) -> None:
    """Raise if a table lacks one of these columns."""
    for name in names:
        if name not in frame.columns:
            instead = describe_columns(name, frame.columns, "it has")
            raise InputError(f"there is no column {name!r} in the {which}; {instead}.")


def check_two_parts(quasi: Sequence[str], others: Sequence[str]) -> None:
    """Raise if a column has two roles."""
    parts = [*quasi, *others]
    twice = next((name for name in parts if parts.count(name) > 1), None)
    if twice is not None:
        raise InputError(f"column {twice!r} was given two roles; choose one.")


def checked_k(k: Any) -> int | None:
    """Return k if it is a whole number of at least 2; None without one."""
    if k is None:
        return None
    if isinstance(k, bool) or not isinstance(k, int | np.integer) or k < 2:
        raise InputError("k must be a whole number, at least 2.")
    return int(k)

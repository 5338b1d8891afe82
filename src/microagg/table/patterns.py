"""Columns by a pattern of their names, such as q*."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase

from microagg.errors import InputError
from microagg.table.suggestions import list_names

SIGNS = "*?["
"""Signs that make a name a pattern, unless a column has that very name."""


def is_pattern(name: str) -> bool:
    """Return whether a name may be a pattern.

    >>> is_pattern("q*"), is_pattern("age")
    (True, False)
    """
    return any(sign in name for sign in SIGNS)


def expand_names(
    chosen: Iterable[str], columns: Sequence[str], what: str, *, among: Sequence[str] | None = None
) -> tuple[str, ...]:
    """Return names, with those of columns that fit in place of a pattern; a pattern that fits none
    is an error.

    `what` names the setting in the error; patterns choose `among` these columns only, if any are
    given.

    >>> expand_names(["q*", "age"], ["q1", "q2", "age"], "quasi")
    ('q1', 'q2', 'age')
    """
    there, found = set(columns), []
    for name in chosen:
        if name in there or not is_pattern(name):
            found.append(name)
            continue
        fitting = [each for each in columns if fnmatchcase(each, name)]
        if not fitting:
            raise InputError(
                f"{what} names {name!r}, but no column fits that pattern; the table has "
                f"{list_names(columns)}."
            )
        free = set(columns if among is None else among)
        found += [each for each in fitting if each in free]
    return tuple(dict.fromkeys(found))

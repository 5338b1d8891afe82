"""Whole numbers that look like codes, in profiles of columns and among those that were averaged."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from microagg.errors import CodesWarning
from microagg.proposal.column_text import printable
from microagg.proposal.name_hints import NameHint, hint_of_name
from microagg.sentences import Assignment, Sentence, sentence
from microagg.table.columns.profile import ColumnProfile
from microagg.table.schema import Kind

if TYPE_CHECKING:
    from microagg.table.schema import ColumnSettings
    from microagg.table.variable import Cells

FEW = 12
"""Whole numbers with at most so many different values may be codes."""
FIRST = 1 << 12  # records looked at first: most columns show more values there
OFTEN = 5  # records with the same code, on average
AMOUNTS = frozenset({NameHint.MONEY, NameHint.AGE})  # few values, yet no codes
AVERAGED = (None, "mean")


def may_be_codes(look: ColumnProfile) -> bool:
    """Check if whole numbers may be codes: few different ones, or a name that says so.

    >>> may_be_codes(ColumnProfile("roof", Kind.NUMERIC, 90, values=90, distinct=4, whole=True))
    True
    """
    if look.kind is not Kind.NUMERIC or look.dates or not look.whole:
        return False
    return look.distinct > 1 and _are_few(look.name, look.distinct)


def repeats(look: ColumnProfile) -> bool:
    """Check if values repeat as codes do; in a small table all numbers have few values."""
    return _repeat(look.name, look.values, look.distinct)


def is_averaged(name: str, declared: ColumnSettings) -> bool:
    """Check if the numbers of a column would be averaged, and were not declared to be numbers."""
    return name not in declared.kinds and declared.aggregate.get(name) in AVERAGED


def averaged_codes(cells: Cells, declared: ColumnSettings) -> list[str]:
    """Return the columns of numbers that may be codes, are averaged, and were not declared."""

    def may_be(name: str, values: np.ndarray) -> bool:
        different, known = 0, values
        for part in (values[:FIRST], values):
            known = part[~np.isnan(part)]
            different = len(np.unique(known))
            if (known != np.rint(known)).any() or not _are_few(name, different):
                return False
        return different > 1 and _repeat(name, len(known), different)

    return [
        variable.name
        for j, variable in enumerate(cells.variables)
        if variable.kind is Kind.NUMERIC
        and not (variable.unit or variable.marks)
        and is_averaged(variable.name, declared)
        and may_be(variable.name, cells.values[:, j])
    ]


def _are_few(name: str, different: int) -> bool:
    return different <= FEW or NameHint.CODE in hint_of_name(name)


def _repeat(name: str, values: int, different: int) -> bool:
    return values >= OFTEN * different and not hint_of_name(name) & AMOUNTS


def warn_about(names: Sequence[str]) -> None:
    """Warn the caller of a public function that averaged these columns, if there are some."""
    if names:
        warnings.warn(CodesWarning(warning_about(names)), stacklevel=3)


def warning_about(names: Sequence[str]) -> Sentence:
    """Return the sentence of a warning about averaged codes.

    >>> warning_about(["roof"]).partition(". ")[0]
    "whole numbers that look like codes were averaged: 'roof'"
    """
    listed = f"{', '.join(map(repr, names[:12]))}{' …' if len(names) > 12 else ''}"
    return sentence(
        f"whole numbers that look like codes were averaged: {listed}. Declare codes with ",
        Assignment("nominal", [names[0]]),
        ", numbers with ",
        Assignment("kinds", {names[0]: "numeric"}),
        ".",
    )


def on_special(special: Mapping[str, Sequence[int]]) -> tuple[str, ...]:
    """Return the sentence on special codes of columns; none if there are none.

    >>> on_special({"hours": (97,)})[0].partition(": ")[2].partition(".")[0]
    'hours (97)'
    """
    if not special:
        return ()
    columns = "; ".join(
        f"{printable(name)} ({', '.join(map(str, codes))})" for name, codes in special.items()
    )
    return (
        f'Codes such as "not applicable", far from all other numbers: {columns}. As proposed they '
        "are kept as codes, and no mean includes them. If they are numbers, take them out of "
        "special.",
    )

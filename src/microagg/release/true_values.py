"""Aggregates that release values of single records as they are: what is told of them, and when they
must be accepted.

Numbers are asked about before the search: a column with values that occur once, and an aggregate
that releases them. Categories are shared by many as a rule, so they are asked about twice: a column
is refused where most records have a value that nobody else has, and any other release needs the
acceptance if a group shows a category that one record alone has.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from microagg.errors import InputError
from microagg.formatting import listed
from microagg.table.aggregates import AGGREGATES, aggregate_of
from microagg.table.columns.distinct import number_of
from microagg.table.schema import Kind

if TYPE_CHECKING:
    from microagg.release.settings import Settings
    from microagg.table.aggregate import Aggregated
    from microagg.table.variable import Cells, Variable

TRUE_VALUES = "true-values"


def risks_of_aggregates(cells: Cells, how: Mapping[str, str]) -> tuple[str, ...]:
    """The names of the risks that these aggregates take with these cells: what `check_unaccepted`
    is to be told.

    They take one where a numeric column has values that occur once and an aggregate that releases
    values as they are.

    >>> from microagg.table.variable import Cells
    >>> cells = Cells.plain(np.array([[1.0], [1.0], [2.0]]), ["age"])
    >>> risks_of_aggregates(cells, {"age": "median"}), risks_of_aggregates(cells, {"age": "mean"})
    (('true-values',), ())
    """
    for j, variable in enumerate(cells.variables):
        if releases_true_values(variable, how) and len(_occurring_once(cells, j)):
            return (TRUE_VALUES,)
    return ()


def releases_true_values(variable: Variable, how: Mapping[str, str]) -> bool:
    """Whether a column is numeric, and its aggregate releases values as they are."""
    return variable.kind is Kind.NUMERIC and aggregate_of(variable, how).true_values


def frequencies_in(cells: Cells) -> list[np.ndarray | None]:
    """Of each column of categories how often each of its levels occurs; None for numbers.

    >>> from microagg.table.variable import Cells, Variable
    >>> towns = Cells((Variable("town", Kind.NOMINAL, ("Bonn", "Ulm")),), np.array([[0.0], [1.0], [1.0]]))
    >>> frequencies_in(towns)[0].tolist()
    [1, 2]
    """
    counts: list[np.ndarray | None] = []
    for j, variable in enumerate(cells.variables):
        if variable.kind is Kind.NUMERIC:
            counts.append(None)
            continue
        column = cells.values[:, j]
        known = column[~np.isnan(column)].astype(np.int64)
        counts.append(np.bincount(known, minlength=len(variable.levels)))
    return counts


def check_near_unique(
    variables: Iterable[Variable], frequencies: Iterable[np.ndarray | None], settings: Settings
) -> None:
    """Refuse categories of which most records have a value that no other record has, unless that is
    accepted.

    Every group would release the value of one person, whichever way it is chosen; a common ancestor
    in a hierarchy is no such value. What is missing does not count.

    >>> from microagg.release.settings import Settings
    >>> from microagg.table.variable import Variable
    >>> names = Variable("name", Kind.NOMINAL, ("Ada", "Bob", None))
    >>> check_near_unique([names], [np.array([1, 2, 40])], Settings.of(k=3, quasi="name"))
    """
    if TRUE_VALUES in settings.accept_risk:
        return
    for variable, frequency in zip(variables, frequencies, strict=True):
        if frequency is None or aggregate_of(variable, settings.aggregates).needs_hierarchy:
            continue
        counts = frequency[: _known_levels(variable)]
        once, known = int((counts == 1).sum()), int(counts.sum())
        if 2 * once > known:
            raise InputError(_refusal(variable, once, known))


def _refusal(variable: Variable, once: int, known: int) -> str:
    name = variable.name
    levels = variable.levels[: _known_levels(variable)]
    numbers = ""
    if all(number_of(level) is not None for level in levels):
        numbers = (
            f"its values are numbers, so say kinds={{{name!r}: 'numeric'}} to release means; "
            f"otherwise "
        )
    return (
        f"column {name!r} holds categories, {once:,} of its {known:,} known values occur "
        f"once, and groups would release such "
        f"values of single records; {numbers}make it an identifier or leave it out, give "
        f"it a hierarchy and "
        f"aggregate={{{name!r}: 'generalise'}}, or accept that with accept_risk=['{TRUE_VALUES}']."
    )


def _known_levels(variable: Variable) -> int:
    """How many levels of a column are values: what is missing is a level of nominal columns, the
    last one.
    """
    levels = variable.levels
    return len(levels) - 1 if levels and levels[-1] is None else len(levels)


def single_categories(
    found: Aggregated, frequencies: Sequence[np.ndarray | None]
) -> tuple[tuple[int, ...], int]:
    """Of each column: in how many groups the released category is one that one record alone has;
    and the number of groups.

    `frequencies` are those of the whole table. Of two values that are equally frequent in a group,
    the mode is the one that more records of the table have: so such a mode is released only where
    every value of the group is one that occurs once.
    """
    counts, groups = [], 0
    for j, (variable, frequency) in enumerate(zip(found.variables, frequencies, strict=True)):
        labels = found.labels if found.labels.ndim == 1 else found.labels[:, j]
        groups = max(groups, int(labels.max()) + 1)
        if frequency is None or variable.coarse or variable.kind is Kind.NUMERIC:
            counts.append(0)
            continue
        alone = frequency == 1
        alone[_known_levels(variable) :] = False
        if not alone.any():
            counts.append(0)
            continue
        _, first = np.unique(labels, return_index=True)
        released = found.cells.values[first, j]
        released = released[~np.isnan(released)].astype(np.int64)
        counts.append(int(alone[released].sum()))
    return tuple(counts), groups


def risks_of_categories(counts: Iterable[int]) -> tuple[str, ...]:
    """The risk that groups take which release categories that one record alone has.

    >>> risks_of_categories([0, 2]), risks_of_categories([0, 0])
    (('true-values',), ())
    """
    return (TRUE_VALUES,) if any(counts) else ()


def notes_on_true_values(cells: Cells, found: Aggregated) -> tuple[str, ...]:
    """Which columns release values of single records as they are, and in how many groups one that
    occurs once.

    `cells` are those that were aggregated. Names no value.
    """
    told = []
    singles, groups = single_categories(found, frequencies_in(cells))
    for j, (variable, how) in enumerate(zip(cells.variables, found.how, strict=True)):
        if not AGGREGATES[how].true_values and not singles[j]:
            continue
        counts = _in_words(singles[j], groups)
        if variable.kind is Kind.NUMERIC and not found.variables[j].coarse:
            counts = _counted(found, j, _occurring_once(cells, j))
        told.append(f"{how} of {variable.name!r}{counts}")
    if not told:
        return ()
    return (f"values of single records are released as they are: {listed(told)}",)


def _counted(found: Aggregated, j: int, once: np.ndarray) -> str:
    """In how many groups the value of one record alone is released, in words."""
    labels = found.labels if found.labels.ndim == 1 else found.labels[:, j]
    _, first = np.unique(labels, return_index=True)
    return _in_words(int(np.isin(found.cells.values[first, j], once).sum()), len(first))


def _in_words(alone: int, groups: int) -> str:
    return f" (one that no other record has, in {alone:,} of {groups:,} groups)" if alone else ""


def _occurring_once(cells: Cells, j: int) -> np.ndarray:
    """The values of a numeric column that one record alone has."""
    column = cells.values[:, j]
    values, counts = np.unique(column[~np.isnan(column)], return_counts=True)
    return values[counts == 1]

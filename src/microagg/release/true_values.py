"""Aggregates that release values of single records: their notes, and when they must be accepted.

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
from microagg.release.note_facts import TrueValueColumn
from microagg.sentences import Assignment, Sentence, sentence
from microagg.table.aggregates import AGGREGATES, aggregate_of
from microagg.table.columns.distinct import number_of
from microagg.table.schema import Kind

if TYPE_CHECKING:
    from microagg.release.settings import Settings
    from microagg.table.aggregate import Aggregated
    from microagg.table.variable import Cells, Variable

TRUE_VALUES = "true-values"


def risks_of_aggregates(cells: Cells, how: Mapping[str, str]) -> tuple[str, ...]:
    """Return the names of the risks that these aggregates take with these cells, for
    `check_unaccepted`.

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
    """Return True if a column is numeric and its aggregate releases values as they are."""
    true_values_in = aggregate_of(variable, how).true_values_in
    return variable.kind is Kind.NUMERIC and Kind.NUMERIC in true_values_in


def frequencies_in(cells: Cells) -> list[np.ndarray | None]:
    """Return the frequency of each level of each column of categories; None for numbers.

    >>> from microagg.table.variable import Cells, Variable
    >>> town = Variable("town", Kind.NOMINAL, ("Bonn", "Ulm"))
    >>> frequencies_in(Cells((town,), np.array([[0.0], [1.0], [1.0]])))[0].tolist()
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
    """Raise for categories of which most records have a value that no other record has, unless that
    is accepted.

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


def _refusal(variable: Variable, once: int, known: int) -> Sentence:
    name = variable.name
    levels = variable.levels[: _known_levels(variable)]
    numbers = sentence()
    if all(number_of(level) is not None for level in levels):
        numbers = sentence(
            "its values are numbers, so say ",
            Assignment("kinds", {name: "numeric"}),
            " to release means; otherwise ",
        )
    return sentence(
        f"column {name!r} holds categories, {once:,} of its {known:,} known values occur only "
        "once, so a group could release the value of one record; ",
        numbers,
        "make it an identifier or leave it out, give it a hierarchy and ",
        Assignment("aggregate", {name: "generalise"}),
        ", or accept that with ",
        Assignment("accept_risk", [TRUE_VALUES]),
        ".",
    )


def _known_levels(variable: Variable) -> int:
    """Return the number of levels that are values: in nominal columns, missing is a level and comes
    last.
    """
    levels = variable.levels
    return len(levels) - 1 if levels and levels[-1] is None else len(levels)


def single_categories(
    made: Aggregated, frequencies: Sequence[np.ndarray | None]
) -> tuple[tuple[int, ...], int]:
    """Count, for each column, the groups that release a category that only one record has; and
    count the groups.

    `frequencies` are those of the whole table. Of two values that are equally frequent in a group,
    the mode is the one that more records of the table have: so such a mode is released only where
    every value of the group is one that occurs once.
    """
    counts, groups = [], 0
    for j, (variable, frequency) in enumerate(zip(made.variables, frequencies, strict=True)):
        labels = made.labels if made.labels.ndim == 1 else made.labels[:, j]
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
        released = made.cells.values[first, j]
        released = released[~np.isnan(released)].astype(np.int64)
        counts.append(int(alone[released].sum()))
    return tuple(counts), groups


def risks_of_categories(counts: Iterable[int]) -> tuple[str, ...]:
    """Return the risk of groups that release categories that only one record has.

    >>> risks_of_categories([0, 2]), risks_of_categories([0, 0])
    (('true-values',), ())
    """
    return (TRUE_VALUES,) if any(counts) else ()


def true_value_columns(cells: Cells, made: Aggregated) -> list[TrueValueColumn]:
    """Return the columns that release values of single records as they are.

    `cells` are those that were aggregated. Each column comes with the number of groups that show a
    value which one record alone has.
    """
    columns = []
    singles, all_groups = single_categories(made, frequencies_in(cells))
    for j, (variable, aggregate) in enumerate(zip(cells.variables, made.how, strict=True)):
        if not AGGREGATES[aggregate].true_values_in and not singles[j]:
            continue
        counts = singles[j], all_groups
        if variable.kind is Kind.NUMERIC and not made.variables[j].coarse:
            counts = _groups_showing(made, j, _occurring_once(cells, j))
        columns.append(TrueValueColumn(variable.name, aggregate, *counts))
    return columns


def _groups_showing(made: Aggregated, j: int, values: np.ndarray) -> tuple[int, int]:
    """Count the groups that release one of these values in a column, and all groups."""
    labels = made.labels if made.labels.ndim == 1 else made.labels[:, j]
    _, first = np.unique(labels, return_index=True)
    return int(np.isin(made.cells.values[first, j], values).sum()), len(first)


def _occurring_once(cells: Cells, j: int) -> np.ndarray:
    """Return the values of a numeric column that only one record has."""
    column = cells.values[:, j]
    values, counts = np.unique(column[~np.isnan(column)], return_counts=True)
    return values[counts == 1]

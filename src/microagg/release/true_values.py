"""Aggregates that release values of single records as they are: what is told of them, and when they must be accepted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from microagg.drawing.wording import listed
from microagg.table.aggregates import AGGREGATES, aggregate_of
from microagg.table.schema import Kind

if TYPE_CHECKING:
    from microagg.table.aggregate import Aggregated
    from microagg.table.variable import Cells, Variable

TRUE_VALUES = "true-values"


def risks_of_aggregates(cells: Cells, how: Mapping[str, str]) -> tuple[str, ...]:
    """The names of the risks that these aggregates take with these cells: what `refuse_unaccepted` is to be told.

    They take one where a numeric column has values that occur once and an aggregate that releases values as they are.

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


def notes_on_true_values(cells: Cells, found: Aggregated) -> tuple[str, ...]:
    """Which columns release values of single records as they are; for numbers, in how many groups one that occurs once.

    `cells` are those that were aggregated. Names no value.
    """
    told = []
    for j, (variable, how) in enumerate(zip(cells.variables, found.how, strict=True)):
        if not AGGREGATES[how].true_values:
            continue
        counts = ""
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
    alone = int(np.isin(found.cells.values[first, j], once).sum())
    return f" (one that no other record has, in {alone:,} of {len(first):,} groups)" if alone else ""


def _occurring_once(cells: Cells, j: int) -> np.ndarray:
    """The values of a numeric column that one record alone has."""
    column = cells.values[:, j]
    values, counts = np.unique(column[~np.isnan(column)], return_counts=True)
    return values[counts == 1]

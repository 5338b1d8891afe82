"""Change of the associations between columns: one number per pair of columns of any kind.

    two of categories   0 to 1    Cramér's V, √(χ² / n / (min(r, c) - 1))
    two of numbers      -1 to 1   Pearson's correlation
    one of each         0 to 1    correlation ratio, η = √(variation between / all variation)

Dates are numbers, ordered levels count by their places. Nominal columns are categories, and so are
columns made coarse (ranges, ancestors): the original's numbers are then taken in tenths. Missing,
and each special code, are categories among categories; of numbers, the records that have both
count. A column that does not vary goes with nothing: 0. r and c are the categories that occur. The
figure is the mean absolute change over all pairs of columns; of more than 200 pairs, so many evenly
spread over the list of all pairs.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from microagg.measures.loss.shares import categories_of_both
from microagg.measures.loss.unchanged import has_value, places_among
from microagg.measures.measure import Basis, Figure, Measure, Pair
from microagg.table.schema import Kind
from microagg.table.variable import Cells

MOST_PAIRS = 200
_CONSTANT = 1e-12  # a column that varies by less, beside its size, varies by rounding


@dataclass(frozen=True)
class _Numbers:
    values: np.ndarray
    """(n,): NaN where there is none."""


@dataclass(frozen=True)
class _Codes:
    values: np.ndarray
    """(n,): whole numbers, one for each category."""


_Column = _Numbers | _Codes


def associations(pair: Pair) -> Figure:
    """Compute the mean absolute change of the association between two columns.

    >>> table = np.array([[0.0, 0.0], [1.0, 1.0], [2.0, 2.0], [3.0, 3.0]])
    >>> turned = table * [1.0, -1.0]
    >>> round(associations(Pair(table, turned, ("age", "rent"))).value, 9)
    2.0
    """
    names = pair.quasi
    weights = np.ones(len(pair.original)) if pair.weights is None else pair.weights
    columns: dict[int, tuple[_Column, _Column]] = {}
    changes: dict[str, list[float]] = {name: [] for name in names}
    for i, j in _chosen(len(names)):
        for column in (i, j):
            if column not in columns:
                columns[column] = _both(pair.before, pair.after, column)
        old, new = (association(columns[i][when], columns[j][when], weights) for when in (0, 1))
        for column in (i, j):
            changes[names[column]].append(abs(new - old))
    every = [change for changed in changes.values() for change in changed]  # each pair twice
    return Figure(
        float(np.mean(every)) if every else 0.0,
        {name: float(np.mean(changed)) for name, changed in changes.items() if changed},
        {"largest": max(every, default=0.0), "pairs of columns": len(every) / 2.0},
    )


def _chosen(columns: int) -> Iterator[tuple[int, int]]:
    """Yield all pairs of columns, or `MOST_PAIRS` of them, evenly spread."""
    count = columns * (columns - 1) // 2
    step = -(-count // MOST_PAIRS) or 1
    return itertools.islice(itertools.combinations(range(columns), 2), 0, None, step)


def _both(before: Cells, after: Cells, j: int) -> tuple[_Column, _Column]:
    """Return a column before and after, both as numbers or both as categories."""
    old, new = before.variables[j], after.variables[j]
    if Kind.NOMINAL in (old.kind, new.kind) or new.coarse or old.kind is not new.kind:
        codes = categories_of_both(before, after, j)
        return _Codes(codes[0]), _Codes(codes[1])
    x, y = (np.where(has_value(cells, j), cells.values[:, j], np.nan) for cells in (before, after))
    if old.kind is Kind.ORDINAL and old.levels != new.levels:
        places = places_among(old.levels, new.levels)[np.nan_to_num(y).astype(np.int64)]
        y = np.where(np.isnan(y) | (places < 0), np.nan, places)
    return _Numbers(x), _Numbers(y)


def association(x: _Column, y: _Column, weights: np.ndarray) -> float:
    """Return the association of two columns of one table.

    >>> association(_Codes(np.array([0, 0, 1, 1])), _Codes(np.array([5, 5, 2, 2])), np.ones(4))
    1.0
    """
    has_both = np.ones(len(weights), bool)
    for column in (x, y):
        if isinstance(column, _Numbers):
            has_both &= ~np.isnan(column.values)
    if not has_both.any():
        return 0.0
    shares = weights[has_both] / weights[has_both].sum()
    one, other = x.values[has_both], y.values[has_both]
    if isinstance(x, _Numbers) and isinstance(y, _Numbers):
        return _correlation(one, other, shares)
    if isinstance(x, _Codes) and isinstance(y, _Codes):
        return _cramer(one, other, shares)
    return _ratio(other, one, shares) if isinstance(x, _Numbers) else _ratio(one, other, shares)


def _centred(values: np.ndarray, shares: np.ndarray) -> np.ndarray | None:
    """Centre numbers and scale them to variance 1; None where they do not vary."""
    size = float(np.abs(values).max())
    if size == 0.0 or values.max() / size - values.min() / size <= _CONSTANT:
        return None
    middle = values[0] / size
    centred = values / size - middle  # near the values first: a large offset takes no digits
    centred -= (shares * centred).sum()
    spread = math.sqrt(float((shares * centred**2).sum()))
    return centred / spread if spread > 0.0 else None


def _correlation(x: np.ndarray, y: np.ndarray, shares: np.ndarray) -> float:
    one, other = _centred(x, shares), _centred(y, shares)
    if one is None or other is None:
        return 0.0
    return float(np.clip((shares * one * other).sum(), -1.0, 1.0))


def _ratio(codes: np.ndarray, values: np.ndarray, shares: np.ndarray) -> float:
    scaled = _centred(values, shares)
    if scaled is None:
        return 0.0
    _, places = np.unique(codes, return_inverse=True)
    common = np.bincount(places, shares)
    means = np.bincount(places, shares * scaled) / common
    return math.sqrt(min(1.0, float((common * means**2).sum())))


def _cramer(x: np.ndarray, y: np.ndarray, shares: np.ndarray) -> float:
    _, one = np.unique(x, return_inverse=True)
    _, other = np.unique(y, return_inverse=True)
    rows, columns = np.bincount(one, shares), np.bincount(other, shares)
    fewest = min(len(rows), len(columns))
    if fewest < 2:
        return 0.0
    cells, which = np.unique(one.astype(np.int64) * len(columns) + other, return_inverse=True)
    common = np.bincount(which, shares)
    phi_squared = (
        float((common**2 / (rows[cells // len(columns)] * columns[cells % len(columns)])).sum())
        - 1.0
    )
    return math.sqrt(min(1.0, max(0.0, phi_squared) / (fewest - 1)))


ASSOCIATIONS = Measure(
    name="associations",
    title="change of associations between columns",
    side="loss",
    unit="of a correlation, mean over pairs of columns",
    lower_is_better=True,
    lowest=0.0,
    highest=2.0,
    zero_means="Every two columns go together as before.",
    highest_means="Every two columns were correlated by 1 or −1, and are now the other way round.",
    source="Cramér 1946 (V), Pearson (correlation, correlation ratio): mean absolute change. "
    "Ordered levels count by their places. "
    "Of more than 200 pairs of columns, 200 at most, evenly spread. Weighted.",
    compute=associations,
    basis=Basis.SAMPLE,
)

"""Total variation between the frequencies of values before and after, for columns of any kind.

    TV_j = 1/2 Σ_v |p_j(v) - p'_j(v)|       0 to 1

p_j and p'_j are the (weighted) shares of the records with value v in column j of the original and
of the release. Missing, and each special code, are values of their own. Numbers and dates are
counted in bins: from above one decile of the original to the next, each decile a value of the
original, so that a mean within a bin counts as what it stands for. Ranges in a release are values
that the original does not have; so are ancestors, unless they are a value themselves.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator

import numpy as np

from microagg.measures.loss.unchanged import has_value
from microagg.measures.measure import Basis, Figure, Measure, Pair
from microagg.table.schema import Kind
from microagg.table.variable import Cells

BINS = 10


def marginals(pair: Pair) -> Figure:
    """The total variation between the shares of values before and after, mean over columns.

    >>> pair = Pair(np.array([[0.0], [0.0], [1.0], [1.0]]), np.array([[0.0], [0.0], [0.0], [1.0]]),
    ...     ("owns",))
    >>> marginals(pair).value
    0.25
    """
    weights = np.ones(len(pair.original)) if pair.weights is None else pair.weights
    distances = {}
    for j, name in enumerate(pair.quasi):
        before, after, count = categories_of_both(pair.before, pair.after, j)
        change = np.bincount(before, weights, count) - np.bincount(after, weights, count)
        moved = float(np.abs(change).sum() / weights.sum() / 2.0)
        distances[name] = 0.0 if moved < _EQUAL else min(1.0, moved)
    largest = max(distances.values())
    return Figure(float(np.mean(list(distances.values()))), distances, {"largest": largest})


_EQUAL = 1e-12  # what rounding leaves of a difference of shares that are equal


def categories_of_both(before: Cells, after: Cells, j: int) -> tuple[np.ndarray, np.ndarray, int]:
    """Return category codes (n,) of a column before and after, numbered alike in both, and their
    number.
    """
    old, new = before.variables[j], after.variables[j]
    numbers: dict[Hashable, int] = {}
    if old.kind is Kind.NUMERIC:
        cuts = _cuts(before.values[has_value(before, j), j])
        slots = [np.searchsorted(cuts, np.nan_to_num(before.values[:, j]))]
        words: list[list[Hashable]] = [[("bin", bin_number) for bin_number in range(len(cuts) + 1)]]
        if not new.levels:
            moved = after.values[:, j] + float(new.origin - old.origin)
            slots.append(np.searchsorted(cuts, np.nan_to_num(moved)))
            words.append(words[0])
    else:
        slots, words = [_places(before, j)], [[_word(level) for level in old.levels]]
    if len(slots) == 1:
        slots.append(_places(after, j))
        words.append([_word(level) for level in new.levels])
    codes = [
        _numbered(cells, j, places, names, numbers)
        for cells, places, names in zip((before, after), slots, words, strict=True)
    ]
    return codes[0], codes[1], len(numbers)


def _numbered(
    cells: Cells, j: int, places: np.ndarray, names: list[Hashable], numbers: dict[Hashable, int]
) -> np.ndarray:
    """The numbers of the categories of each cell; those not met before are added."""
    of_names = np.array([numbers.setdefault(name, len(numbers)) for name in names] or [0], np.int64)
    codes = of_names[places]
    for mark, rows in _atoms(cells, j):
        codes[rows] = numbers.setdefault(("atom", mark), len(numbers))
    return codes


def _atoms(cells: Cells, j: int) -> Iterator[tuple[Hashable, np.ndarray]]:
    atoms, variable = cells.atoms_of(j), cells.variables[j]
    if atoms is not None:
        yield from ((mark, atoms == code) for code, mark in enumerate(variable.marks))
    if None in variable.levels:
        yield None, cells.values[:, j] == variable.levels.index(None)


def _places(cells: Cells, j: int) -> np.ndarray:
    return np.nan_to_num(cells.values[:, j]).astype(np.int64)


def _word(level: object) -> Hashable:
    return ("level", None if level is None else str(level))


def _cuts(values: np.ndarray) -> np.ndarray:
    """Halfway between each decile of the values and the next larger value: no value lies on a cut,
    nor near one.
    """
    ascending = np.sort(values)
    cuts = []
    for q in range(1, BINS):
        if len(ascending) == 0:
            break
        decile = ascending[-(-len(ascending) * q // BINS) - 1]
        above = np.searchsorted(ascending, decile, side="right")
        if above < len(ascending):
            cuts.append(decile / 2.0 + ascending[above] / 2.0)
    return np.unique(np.array(cuts, np.float64))


MARGINALS = Measure(
    name="marginals",
    title="total variation of the columns",
    side="loss",
    unit="share of records, mean over columns",
    lower_is_better=True,
    lowest=0.0,
    highest=1.0,
    zero_means="Each value (of numbers: each tenth of the records, in their order) occurs as often "
    "as before.",
    highest_means="No column has a value in both tables.",
    source="Total variation distance; gaps and special codes are values, numbers are counted "
    "between the deciles of the original. Weighted shares.",
    compute=marginals,
    basis=Basis.SAMPLE,
)

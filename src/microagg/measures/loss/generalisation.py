"""The figures of tools that generalise (intervals and parents in place of values), for a comparison
with them.

Discernibility (Bayardo and Agrawal 2005): each record is charged the size of its class, Σ |E|² over
classes E; a record of a class smaller than k counts as suppressed and is charged all n. In percent
of n², the charge where all records are alike.

Granularity (Iyengar 2002): a cell is charged the share of the column's range that its interval
covers. A class that shares a mean would have to be given the interval from its least to its largest
original value; the charge of a column is the mean of (max_E - min_E) / (max - min) over records, 0
for a constant column.

Entropy (non-uniform; Gionis and Tassa 2009, after de Waal and Willenborg 1999): a cell is charged
the information that is missing to get the original value x back from the released value y, -log2
Pr(x | y), Pr from the counts of both in this column. In percent of what is missing where a column
is suppressed, -log2 Pr(x).

Granularity is of numbers without gaps, the others of columns of any kind; a gap is a value. Figures
are means over columns (entropy: all that is missing over all that there was). Weights count
records, but in discernibility.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from microagg.kernels import sums
from microagg.measures.columns import columns_of
from microagg.measures.measure import Basis, Figure, Measure, Pair
from microagg.measures.risk.classes import (
    ClassSizes,
    ReleasedClasses,
    classes_of,
    columns_to_compare,
)


def discernibility(pair: Pair) -> Figure:
    """The mean size of a record's class, in percent of all records.

    >>> pair = Pair(np.zeros((4, 1)), np.array([[1.0], [1.0], [2.0], [2.0]]), ("age",))
    >>> discernibility(pair).value, discernibility(pair).details["sum of charges"]
    (50.0, 8.0)
    """
    return discernibility_of(ClassSizes.of(pair.classes.sizes), pair.k)


def discernibility_of(classes: ClassSizes, k: int | None) -> Figure:
    """The same from the sizes of classes.

    >>> discernibility_of(ClassSizes.of(np.array([2, 2])), 2).details["mean class size over k"]
    1.0
    """
    n = classes.records
    if n == 0:
        return Figure(0.0)
    charges = (
        (n if size < (k or 0) else size) * size * count
        for size, count in zip(classes.sizes.tolist(), classes.counts.tolist(), strict=True)
    )
    total = float(sum(charges))
    details = {"sum of charges": total}
    if k is not None:
        details["mean class size over k"] = n / len(classes) / k
    return Figure(100.0 * total / n / n, details=details)


def granularity(pair: Pair) -> Figure:
    """Compute the share of a column's range that the values of a class cover, in percent.

    >>> pair = Pair(np.array([[0.0], [2.0], [6.0], [10.0]]), np.array([[1.0], [1.0], [8.0], [8.0]]),
    ...     ("age",))
    >>> round(granularity(pair).value, 6)
    30.0
    """
    classes, starts = pair.classes, pair.classes.starts[:-1]
    weights = np.ones(len(pair.original)) if pair.weights is None else pair.weights
    of_classes = np.bincount(classes.labels, weights, len(classes))
    covered = {}
    for j, name in enumerate(pair.names):
        column = pair.original[:, j]
        values, half_range = column[classes.order], column.max() / 2.0 - column.min() / 2.0
        least, most = np.minimum.reduceat(values, starts), np.maximum.reduceat(values, starts)
        covered[name] = covered_sums(least, most, half_range, of_classes)
    figure = granularity_of(covered, float(np.sum(weights)))
    assert figure is not None
    return figure


def covered_sums(
    least: np.ndarray, most: np.ndarray, half_range: float, weights: np.ndarray
) -> np.ndarray:
    """Return the part of a column's range that classes cover, summed by their weights: (3, 1).

    >>> least, most = np.array([0.0, 4.0]), np.array([2.0, 4.0])
    >>> covered_sums(least, most, 2.0, np.ones(2))[:, 0].tolist()
    [0.5, 0.0, 0.0]
    """
    covered = most / 2.0 - least / 2.0
    charge = covered / half_range if half_range > 0.0 else np.zeros(len(covered))
    return sums.column_sums((weights * charge).reshape(-1, 1))


def granularity_of(covered: Mapping[str, np.ndarray], weight: float) -> Figure | None:
    """Return the figure of what classes cover of each column; None where there are no numbers.

    >>> granularity_of({"age": np.array([[0.5], [0.0], [0.0]])}, 2.0).value
    25.0
    """
    percents = {
        name: min(100.0, 100.0 * float(sums.rounded(part, 0)) / weight)
        for name, part in covered.items()
    }
    return Figure(float(np.mean(list(percents.values()))), percents) if percents else None


def entropy(pair: Pair) -> Figure:
    """The information that is missing to get the original values back, in percent of all that
    there was.

    >>> pair = Pair(np.array([[1.0], [2.0], [3.0], [4.0]]), np.array([[1.5], [1.5], [3.5], [3.5]]),
    ...     ("age",))
    >>> entropy(pair).value, entropy(pair).details
    (50.0, {'bits a record': 1.0})
    """
    shares = _shares(pair)
    missing, total = np.empty(len(pair.quasi)), np.empty(len(pair.quasi))
    for j in range(len(pair.quasi)):
        before, after = (
            classes_of(columns_to_compare(columns_of(cells, [j])))
            for cells in (pair.before, pair.after)
        )
        joint = classes_of([before.labels, after.labels])
        total[j] = _bits(before, shares)
        missing[j] = _bits(joint, shares) - _bits(after, shares)
        # every released value stands for one original value
        if len(joint) == len(after) or total[j] == 0.0:
            missing[j] = 0.0
    missing = np.clip(missing, 0.0, total)
    charges = 100.0 * np.divide(missing, total, out=np.zeros(len(total)), where=total > 0.0)
    whole = float(total.sum())
    return Figure(
        min(100.0, 100.0 * float(missing.sum()) / whole) if whole > 0.0 else 0.0,
        dict(zip(pair.quasi, charges.tolist(), strict=True)),
        {"bits a record": float(missing.sum())},
    )


def _shares(pair: Pair) -> np.ndarray:
    n = len(pair.original)
    weights = np.ones(n) if pair.weights is None else np.asarray(pair.weights, np.float64)
    return weights / weights.sum()


def _bits(classes: ReleasedClasses, shares: np.ndarray) -> float:
    """The entropy of which class a record is in."""
    common = np.bincount(classes.labels, shares, len(classes))
    return max(0.0, -float(np.sum(common * np.log2(common))))


DISCERNIBILITY = Measure(
    name="discernibility",
    title="discernibility",
    side="loss",
    unit="percent of all records",
    lower_is_better=True,
    lowest=0.0,
    highest=100.0,
    zero_means="The table has no records; with n records the least is 100 / n, each alone in its "
    "class.",
    highest_means="All records are alike, or in classes smaller than k.",
    source="Bayardo and Agrawal 2005: a record is charged the size of its class, all records "
    "where that is smaller than k. "
    "In percent of the squared number of records; the sum itself is among the details. "
    "Not weighted. A figure for "
    "comparisons with tools that generalise: it counts classes and does not look at values.",
    compute=discernibility,
    basis=Basis.CLASSES,
    exact=lambda parts: discernibility_of(parts.classes, parts.k),
    of="release",
)

GRANULARITY = Measure(
    name="granularity",
    title="share of the range that a class covers",
    side="loss",
    unit="percent of the range, mean over columns",
    lower_is_better=True,
    lowest=0.0,
    highest=100.0,
    zero_means="All records of a class had the same values.",
    highest_means="Every class holds the least and the largest value of every column.",
    source="Iyengar 2002 (loss metric), with the interval from the least to the largest "
    "original value of a class: what a tool "
    "that generalises would have to write for the same classes.",
    compute=granularity,
    basis=Basis.CLASSES,
    exact=lambda parts: granularity_of(parts.covered, parts.weight),
    of="record",
    needs="numbers",
)

ENTROPY = Measure(
    name="entropy",
    title="detail lost per value",
    side="loss",
    unit="percent of the original's entropy",
    lower_is_better=True,
    lowest=0.0,
    highest=100.0,
    zero_means="Each released value of a column stands for one original value.",
    highest_means="Released values reveal nothing about the original ones.",
    source="Non-uniform entropy: de Waal and Willenborg 1999; Gionis and Tassa 2009. Column by "
    "column, chances counted on both "
    "tables; in percent of the entropy of the original columns.",
    compute=entropy,
    basis=Basis.WHOLE_TABLE,
)

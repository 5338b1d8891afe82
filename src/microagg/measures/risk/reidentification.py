"""Expected re-identification: the chance that an intruder who draws one record of a class draws the
right one.

A prosecutor knows that the person is in the table, a journalist does not, a marketer is after as
many as possible.

Where the table is a sample with weights, the people of a class in the population are not counted
but estimated, and the chance is the mean of 1 / F over what their number F may be (Benedetti and
Franconi 1998). That is more than 1 over the mean of F: for one record with a weight of 100 it is
4.65 %, not 1 %. For f records of a class, whose weights add up to W, p = f / W, q = 1 - p:

    F counts draws up to the f-th success     Pr(F = h) = C(h-1, f-1) p^f q^(h-f),  h = f, f+1, …
    r(f) = Σ_h Pr(F = h) / h = p^f / f · ₂F₁(f, f; f+1; q) = p ∫₀¹ y^(f-1) / (p + q y) dy

    r(1) = -p log p / q,   r(f+1) = (p / q) (1 / f - r(f))     loses digits where p is not small
    r(f) = p Σ_m q^m · m! (f-1)! / (f+m)!                      is slow where p is small

The second follows from p + q y = 1 - q (1 - y). The recursion shrinks errors by p / q in each step,
so it begins a few steps below f.
"""

from __future__ import annotations

import numpy as np

from microagg.measures.measure import Basis, Figure, Measure, Pair
from microagg.measures.parts import Parts
from microagg.measures.risk.classes import ClassSizes, ReleasedClasses

_SMALL = 0.1  # chances p below: by recursion, whose errors shrink to a ninth in each step
_STEPS = 20  # 9 ** -20 is less than float64 can tell
_NOTHING = 2.0**-60


def prosecutor_risk(pair: Pair) -> Figure:
    """The highest chance of any record, in percent: 100 / the size of the smallest class.

    >>> prosecutor_risk(Pair(np.zeros((5, 1)), np.array([[1.0], [1.0], [2.0], [2.0], [2.0]]),
    ...     ("age",))).value
    50.0
    """
    return prosecutor_risk_of(ClassSizes.of(pair.classes.sizes))


def prosecutor_risk_of(sizes: ClassSizes) -> Figure:
    """The same from the sizes of classes; without weights the journalist's risk, too.

    >>> prosecutor_risk_of(ClassSizes.of(np.array([2, 2, 3]))).details
    {'records at this risk': 4.0}
    """
    if len(sizes) == 0:
        return Figure(0.0)
    chance = 1.0 / int(sizes.sizes[0])
    return highest_chance(chance, int(sizes.sizes[0] * sizes.counts[0]))


def journalist_risk(pair: Pair) -> Figure:
    """The highest chance of any record among all people it may be, in percent.

    The weights tell how many people a record stands for; those of a class add up to its expected
    size in the population, which is at least its size in the table. Without weights the table is
    the population: 100 / the smallest class.

    >>> alone = Pair(np.zeros((1, 1)), np.ones((1, 1)), ("age",), weights=np.array([100.0]))
    >>> round(journalist_risk(alone).value, 2)
    4.65
    """
    classes = pair.classes
    if len(classes) == 0:
        return Figure(0.0)
    chances = _chances(pair, classes)
    highest = float(chances.max())
    return highest_chance(highest, int(classes.sizes[chances == highest].sum()))


def highest_chance(chance: float, records: int) -> Figure:
    """The figure of the highest chance of any record, and of how many have it.

    >>> figure = highest_chance(0.2, 10)
    >>> figure.value, figure.details
    (20.0, {'records at this risk': 10.0})
    """
    return Figure(100.0 * chance, details={"records at this risk": float(records)})


def marketer_risk(pair: Pair) -> Figure:
    """The records, in percent, that an intruder gets right who draws for everybody: 100 x
    classes / records.

    >>> marketer_risk(Pair(np.zeros((5, 1)), np.array([[1.0], [1.0], [2.0], [2.0], [2.0]]),
    ...     ("age",))).value
    40.0
    """
    classes = pair.classes
    if len(classes) == 0:
        return Figure(0.0)
    expected = classes.sizes * _chances(pair, classes)
    return marketer_risk_of(len(classes), len(classes.labels), float(expected.sum()))


def marketer_risk_of(classes: int, records: int, expected: float) -> Figure:
    """The same from counts, and the records that are right on average in the population.

    >>> marketer_risk_of(2, 5, 2.0).value
    40.0
    """
    return Figure(
        100.0 * classes / records,
        details={
            "expected records": float(classes),
            "percent in the population": 100.0 * expected / records,
        },
    )


def individual_risk(sizes: np.ndarray, population: np.ndarray) -> np.ndarray:
    """The mean of 1 / F for classes of so many records, whose weights add up to `population` (at
    least as many).

    >>> individual_risk(np.array([1, 1, 2]), np.array([100.0, 1.0, 200.0])).round(6).tolist()
    [0.046517, 1.0, 0.009631]
    """
    f = sizes.astype(np.float64)
    p = np.minimum(f / population, 1.0)
    small = p < _SMALL
    chances = np.empty(len(f))
    chances[small] = _by_recursion(f[small], p[small])
    chances[~small] = _by_series(f[~small], p[~small])
    return chances


def _by_recursion(f: np.ndarray, p: np.ndarray) -> np.ndarray:
    """r(f) where p is small, from r(1), or from a guess at r(f - STEPS), whose error is gone after
    so many steps.
    """
    q, begin = 1.0 - p, np.maximum(f - _STEPS, 1.0)
    chance = np.where(begin == 1.0, -p * np.log(p) / q, p / begin)
    for step in range(_STEPS):
        size = begin + step
        chance = np.where(size < f, p / q * (1.0 / size - chance), chance)
    return chance


def _by_series(f: np.ndarray, p: np.ndarray) -> np.ndarray:
    """r(f) where p is not small; every term is less than q times the one before, and none is
    negative.
    """
    q = 1.0 - p
    term, total, m = 1.0 / f, np.zeros(len(f)), 0
    while len(f) > 0 and (term > _NOTHING * total).any():
        total += term
        m += 1
        term = term * (q * m / (f + m))
    return p * total


def _chances(pair: Pair, classes: ReleasedClasses) -> np.ndarray:
    """The chance of a record of each class among all people of the population that it may be."""
    if pair.weights is None:
        return 1.0 / classes.sizes
    return chances_of(classes.sizes, np.bincount(classes.labels, pair.weights, len(classes)))


def chances_of(sizes: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """The same from the sizes and the weights of classes.

    >>> chances_of(np.array([1]), np.array([0.5])).tolist()
    [1.0]
    """
    return individual_risk(sizes, np.maximum(weights, sizes))


def _exact_marketer_risk(parts: Parts) -> Figure:
    classes = parts.classes
    return marketer_risk_of(len(classes), classes.records, parts.chances.expected)


_EL_EMAM = "El Emam and Dankar 2008. "

PROSECUTOR = Measure(
    name="prosecutor",
    title="highest chance to re-identify a person known to be in the table",
    side="risk",
    unit="percent",
    lower_is_better=True,
    lowest=0.0,
    highest=100.0,
    zero_means="The table has no records; with n records the least is 100 / n.",
    highest_means="Some record is alone in its class.",
    source=_EL_EMAM
    + "100 / the smallest class. Not weighted: the intruder knows that the person is in the table.",
    compute=prosecutor_risk,
    basis=Basis.CLASSES,
    exact=lambda parts: prosecutor_risk_of(parts.classes),
    of="release",
)

JOURNALIST = Measure(
    name="journalist",
    title="highest chance to re-identify a person who may be in the table",
    side="risk",
    unit="percent",
    lower_is_better=True,
    lowest=0.0,
    highest=100.0,
    zero_means="The table has no records; otherwise the least is a little more than 100 / the size "
    "of the population.",
    highest_means="Some record is alone in its class, in the population too.",
    source=_EL_EMAM
    + "With weights the individual risk of Benedetti and Franconi 1998: the mean of 1 / F, "
    "F the people of the class in the "
    "population, negative binomial given its f records, with f / the sum of their "
    "weights (never below f) as the chance "
    "to be sampled. Without weights the same as the prosecutor's.",
    compute=journalist_risk,
    basis=Basis.CLASSES,
    exact=lambda parts: highest_chance(parts.chances.highest, parts.chances.records),
    of="release",
)

MARKETER = Measure(
    name="marketer",
    title="expected hits from random guessing",
    side="risk",
    unit="percent of the records",
    lower_is_better=True,
    lowest=0.0,
    highest=100.0,
    zero_means="The table has no records; with n records the least is 100 / n.",
    highest_means="Every record is alone in its class.",
    source=_EL_EMAM
    + "100 x classes / records. Not weighted; the same against the population that the "
    "weights tell of "
    "(individual risk of Benedetti and Franconi 1998) is among the details.",
    compute=marketer_risk,
    basis=Basis.CLASSES,
    exact=lambda parts: _exact_marketer_risk(parts),
    of="release",
)

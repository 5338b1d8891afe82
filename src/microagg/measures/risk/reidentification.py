"""Expected re-identification: the chance that an intruder who draws one record of a class draws the right one.

A prosecutor knows that the person is in the table, a journalist does not, a marketer is after as many as possible.
"""

from __future__ import annotations

import numpy as np

from microagg.measures.measure import Figure, Measure, Pair
from microagg.measures.risk.classes import ReleasedClasses


def prosecutor_risk(pair: Pair) -> Figure:
    """The highest chance of any record, in percent: 100 / the size of the smallest class.

    >>> prosecutor_risk(Pair(np.zeros((5, 1)), np.array([[1.0], [1.0], [2.0], [2.0], [2.0]]), ("age",))).value
    50.0
    """
    sizes = pair.classes.sizes
    return _highest(sizes, sizes)


def journalist_risk(pair: Pair) -> Figure:
    """The highest chance of any record among all people it may be, in percent: 100 / the size of a class in the population.

    The weights tell how many people a record stands for; those of a class add up to its size in the population, which
    is at least its size in the table. Without weights the table is the population.

    >>> released = np.array([[1.0], [1.0], [2.0], [2.0]])
    >>> journalist_risk(Pair(np.zeros((4, 1)), released, ("age",), weights=np.array([10.0, 10.0, 2.0, 3.0]))).value
    20.0
    """
    classes = pair.classes
    return _highest(classes.sizes, _population_sizes(pair, classes))


def marketer_risk(pair: Pair) -> Figure:
    """The records, in percent, that an intruder gets right who draws for everybody: 100 x classes / records.

    >>> marketer_risk(Pair(np.zeros((5, 1)), np.array([[1.0], [1.0], [2.0], [2.0], [2.0]]), ("age",))).value
    40.0
    """
    classes = pair.classes
    if len(classes) == 0:
        return Figure(0.0)
    expected = classes.sizes / _population_sizes(pair, classes)
    return Figure(
        100.0 * len(classes) / len(classes.labels),
        details={
            "expected records": float(len(classes)),
            "percent in the population": 100.0 * float(expected.sum()) / len(classes.labels),
        },
    )


def _population_sizes(pair: Pair, classes: ReleasedClasses) -> np.ndarray:
    if pair.weights is None:
        return classes.sizes
    return np.maximum(np.bincount(classes.labels, pair.weights, len(classes)), classes.sizes)


def _highest(sizes: np.ndarray, population: np.ndarray) -> Figure:
    if len(sizes) == 0:
        return Figure(0.0)
    least = population.min()
    return Figure(
        100.0 / float(least), details={"records at this risk": float(sizes[population == least].sum())}
    )


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
    highest_means="Somebody is alone in a class.",
    source=_EL_EMAM
    + "100 / the smallest class. Not weighted: the intruder knows that the person is in the table.",
    compute=prosecutor_risk,
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
    zero_means="The table has no records; otherwise the least is 100 / the size of the population.",
    highest_means="Somebody is alone in a class, in the population too.",
    source=_EL_EMAM
    + "100 / the smallest class in the population, estimated by the sum of the weights of its records but "
    "never below their number; without weights the same as the prosecutor's.",
    compute=journalist_risk,
    of="release",
)

MARKETER = Measure(
    name="marketer",
    title="records re-identified by drawing one of its class for each",
    side="risk",
    unit="percent of the records",
    lower_is_better=True,
    lowest=0.0,
    highest=100.0,
    zero_means="The table has no records; with n records the least is 100 / n.",
    highest_means="Every record is alone in its class.",
    source=_EL_EMAM
    + "100 x classes / records. Not weighted; the same against the population that the weights tell of is "
    "among the details.",
    compute=marketer_risk,
    of="release",
)

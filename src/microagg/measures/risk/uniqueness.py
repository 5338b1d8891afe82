"""Uniqueness and class sizes: the number of records that share all their released values."""

from __future__ import annotations

import numpy as np

from microagg.measures.measure import Basis, Figure, Measure, Pair
from microagg.measures.parts import Parts
from microagg.measures.risk.classes import ClassSizes, percent_of_records


def uniqueness(pair: Pair, *, with_kept: bool = False) -> Figure:
    """The records, in percent, that share their released values with nobody.

    >>> pair = Pair(np.zeros((4, 1)), np.array([[1.0], [1.0], [2.0], [3.0]]), ("age",))
    >>> uniqueness(pair).value
    50.0
    """
    classes = pair.classes_with_kept if with_kept else pair.classes
    alone = classes.sizes[classes.labels] == 1
    return uniqueness_of(
        ClassSizes.of(classes.sizes), pair.k, percent_of_records(alone, pair.weights)
    )


def uniqueness_of(sizes: ClassSizes, k: int | None, percent: float | None = None) -> Figure:
    """The same from the sizes of classes; `percent` is what those alone make up, where records have
    weights.

    >>> uniqueness_of(ClassSizes.of(np.array([2, 1, 1])), None).value
    50.0
    """
    alone = int(sizes.counts[sizes.sizes == 1].sum())
    details = {"records alone": float(alone)}
    if k is not None:
        small = sizes.sizes < k
        details["records in classes smaller than k"] = float(
            (sizes.sizes * sizes.counts)[small].sum()
        )
    if percent is None:
        percent = 100.0 * (alone / sizes.records) if sizes.records else 0.0
    return Figure(percent, details=details)


def smallest_class(pair: Pair, *, with_kept: bool = False) -> Figure:
    """The size of the smallest class: the k for which the release is k-anonymous. 0 for a table
    without records.

    >>> pair = Pair(np.zeros((5, 1)), np.array([[1.0], [1.0], [2.0], [2.0], [2.0]]), ("age",))
    >>> smallest_class(pair).value, smallest_class(pair).details["mean size"]
    (2.0, 2.5)
    """
    return smallest_class_of(
        ClassSizes.of((pair.classes_with_kept if with_kept else pair.classes).sizes)
    )


def smallest_class_of(sizes: ClassSizes) -> Figure:
    """The same from the sizes of classes.

    >>> smallest_class_of(ClassSizes.of(np.array([2, 3]))).details["median size"]
    2.5
    """
    if len(sizes) == 0:
        return Figure(0.0)
    return Figure(
        float(sizes.sizes[0]),
        details={
            "classes": float(len(sizes)),
            "mean size": sizes.records / len(sizes),
            "median size": sizes.median,
            "largest size": float(sizes.sizes[-1]),
        },
    )


def _uniqueness_with_kept(pair: Pair) -> Figure:
    return uniqueness(pair, with_kept=True)


def _smallest_class_with_kept(pair: Pair) -> Figure:
    return smallest_class(pair, with_kept=True)


def _exact_uniqueness_with_kept(parts: Parts) -> Figure | None:
    sizes = parts.classes_with_kept
    if sizes is None:
        return None
    return uniqueness_of(sizes, parts.k, parts.percent_alone_with_kept)


def _exact_smallest_with_kept(parts: Parts) -> Figure | None:
    sizes = parts.classes_with_kept
    return None if sizes is None else smallest_class_of(sizes)


_UNIQUENESS_SOURCE = (
    "Sweeney 2002; Hundepool et al. 2012. Weights count the records that are alone. "
)
_CLASS_SOURCE = (
    "Sweeney 2002: k-anonymity, counted on the release. Not weighted: a class counts its records. "
)
_KEPT = "Classes are those of the released quasi-identifiers and all columns released as they were."

UNIQUENESS = Measure(
    name="unique",
    title="records alone in their class",
    side="risk",
    unit="percent of the records",
    lower_is_better=True,
    lowest=0.0,
    highest=100.0,
    zero_means="Every record shares its released quasi-identifiers with at least one other.",
    highest_means="No two records share their released quasi-identifiers.",
    source=_UNIQUENESS_SOURCE,
    compute=uniqueness,
    basis=Basis.CLASSES,
    exact=lambda parts: uniqueness_of(parts.classes, parts.k),
    of="release",
)

UNIQUENESS_WITH_KEPT = Measure(
    name="unique-with-kept",
    title="records alone in their class, kept columns included",
    side="risk",
    unit="percent of the records",
    lower_is_better=True,
    lowest=0.0,
    highest=100.0,
    zero_means="Every record shares quasi-identifiers and kept columns with at least one other.",
    highest_means="The kept columns or the quasi-identifiers single out every record.",
    source=_UNIQUENESS_SOURCE + _KEPT,
    compute=_uniqueness_with_kept,
    basis=Basis.CLASSES,
    exact=_exact_uniqueness_with_kept,
    of="release",
    needs="kept",
)

SMALLEST_CLASS = Measure(
    name="k",
    title="size of the smallest class",
    side="risk",
    unit="records",
    lower_is_better=False,
    lowest=0.0,
    highest=np.inf,
    zero_means="The table has no records; with records the least is 1, a record alone.",
    highest_means="All records are alike: the figure is then the number of records.",
    source=_CLASS_SOURCE,
    compute=smallest_class,
    basis=Basis.CLASSES,
    exact=lambda parts: smallest_class_of(parts.classes),
    of="release",
)

SMALLEST_CLASS_WITH_KEPT = Measure(
    name="k-with-kept",
    title="size of the smallest class, kept columns included",
    side="risk",
    unit="records",
    lower_is_better=False,
    lowest=0.0,
    highest=np.inf,
    zero_means="The table has no records; with records the least is 1, a record alone.",
    highest_means="All records are alike, in the kept columns too: the figure is then the number "
    "of records.",
    source=_CLASS_SOURCE + _KEPT,
    compute=_smallest_class_with_kept,
    basis=Basis.CLASSES,
    exact=_exact_smallest_with_kept,
    of="release",
    needs="kept",
)

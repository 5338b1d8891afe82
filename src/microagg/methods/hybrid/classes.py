"""ConfidentialClasses of confidential values: what HM-PFSOM spreads evenly over the groups of a part.

Numeric and ordered columns are scaled to 0..1 over the whole table; categories enter by indicators, such that two
different ones are 1 apart. The classes are the clusters that PFSOM finds in these columns among the records of the
part, at least two.

A single column of categories needs no clustering: its categories are the classes. Those that fewer than k records of
the part have form one class together; if this is still smaller than k, it joins the smallest of the others.

Clusters of fewer than k records are no classes, for the group rule would make one outlier's class the measure of all:
a part with it would be a single group. They are set aside, the rest is clustered again if it makes a single class,
and in the end they join the nearest class. The paper, whose smallest class has 37 records, says nothing of such.
"""

from __future__ import annotations

import numpy as np

from microagg.kernels import sums
from microagg.kernels.possibilistic import label_nearest
from microagg.methods.clustering.pfsom import pfsom
from microagg.table.confidential import Attribute
from microagg.table.schema import Kind

MOST_CATEGORIES = 32  # of a column that get an indicator of their own
ROUNDS = 5  # of setting outliers aside


class ConfidentialClasses:
    """Finds the classes of the confidential values in any part of a table."""

    def __init__(self, attributes: tuple[Attribute, ...], validity: str = "own-spread") -> None:
        self._validity = validity
        single = len(attributes) == 1 and attributes[0].kind == Kind.NOMINAL
        self._categories = attributes[0].codes if single else None
        self._values = None if single else _as_points(attributes)

    def of(self, records: np.ndarray, k: int, rng: np.ndarray) -> np.ndarray:
        """The class of each of these records, numbered from 0; none has fewer than k unless there is but one.

        >>> from microagg.kernels import random
        >>> wage = Attribute("wage", Kind.NUMERIC, np.array([5.0, 5.1, 9.0, 9.2, 5.2, 9.1]))
        >>> ConfidentialClasses((wage,)).of(np.arange(6), 2, random.seeded(0)).tolist()
        [0, 0, 1, 1, 0, 1]
        """
        if self._categories is not None:
            return _frequent_categories(self._categories[records], k)
        assert self._values is not None
        return _large_clusters(np.ascontiguousarray(self._values[records]), k, rng, self._validity)


def _frequent_categories(codes: np.ndarray, k: int) -> np.ndarray:
    """The categories that at least k records have; the others together, or with the smallest of these."""
    sizes = np.bincount(codes)
    rare = sizes[codes] < k
    classes = codes.astype(np.int32)
    if rare.any() and not rare.all():
        frequent = np.flatnonzero(sizes >= k)
        joined = len(sizes) if rare.sum() >= k else frequent[sizes[frequent].argmin()]
        classes = np.where(rare, joined, classes).astype(np.int32)
    elif rare.all():
        classes = np.zeros(len(codes), np.int32)
    return sums.number_by_first_record(classes)


def _large_clusters(values: np.ndarray, k: int, rng: np.ndarray, validity: str) -> np.ndarray:
    """Clusters of at least k records; the records of smaller ones join the nearest of these in the end."""
    kept = np.arange(len(values))
    for _ in range(ROUNDS):
        found = pfsom(np.ascontiguousarray(values[kept]), rng=rng, validity=validity, fewest=2)
        large = sums.group_sizes(found.labels, found.clusters) >= k
        if large.sum() >= 2:
            labels = label_nearest(values, np.ascontiguousarray(found.prototypes[large].T))
            return sums.number_by_first_record(labels)
        kept = kept[large[found.labels]]
        if found.clusters == 1 or len(kept) < 2 * k:
            break
    return np.zeros(len(values), np.int32)


def _as_points(attributes: tuple[Attribute, ...]) -> np.ndarray:
    columns = [
        _indicators(attribute.codes) if attribute.kind == Kind.NOMINAL else _scaled(attribute.values)
        for attribute in attributes
    ]
    return np.ascontiguousarray(np.hstack(columns))


def _scaled(values: np.ndarray) -> np.ndarray:
    """One column from 0 to 1; halves, since the range of finite numbers may not be finite."""
    halves = values.astype(np.float64).reshape(-1, 1) / 2.0
    low, width = halves.min(), halves.max() - halves.min()
    return np.zeros_like(halves) if width == 0.0 else (halves - low) / width


def _indicators(codes: np.ndarray) -> np.ndarray:
    """A column for each category, the rarer ones beyond the most frequent sharing one."""
    sizes = np.bincount(codes)
    frequent = np.argsort(-sizes, kind="stable")[: MOST_CATEGORIES - 1]
    place = np.full(len(sizes), len(frequent))
    place[frequent] = np.arange(len(frequent))
    width = len(frequent) + (len(sizes) > len(frequent))
    return np.eye(width)[place[codes]] * 0.5**0.5

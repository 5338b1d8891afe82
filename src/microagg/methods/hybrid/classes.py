"""Classes of confidential values: what HM-PFSOM spreads evenly over the groups of a part.

Numeric and ordered columns are scaled to 0..1 over the whole table; categories enter by indicators,
such that two different ones are 1 apart. Atoms (missing values, special codes) of numeric and
ordered columns lie at the mean of the column's values, and aside of them by an indicator like those
of categories, so that they are told apart from every value. The classes are the clusters that PFSOM
finds in these columns among the records of the part, at least two.

A single column of categories needs no clustering: its categories are the classes. Those that fewer
than a twentieth of the part's records have form one class together; if this is still smaller than
that, it joins the smallest of the others. If there is but one other, they stay a class however few
they are; if all are so rare, they are dealt out into two classes of about the same size.

Clusters of fewer than a twentieth are no classes either, for the group rule would make one
outlier's class the measure of all: a part with it would be a single group. They are set aside, the
rest is clustered again if it makes a single class, and in the end they join the nearest class.
Where that leaves one class of different values, it is cut in two along its widest column, between
two values and as near to halves as can be. The paper, whose smallest class has 11 % of its part,
says nothing of such.

The classes do not depend on k. They did once (rare was what fewer than k records had), and the
number of groups then rose with k: the group rule gives a part no more groups than its smallest
class has records, so that a class of two records, set aside for k = 3 but not for k = 2, made two
groups of a part that had dozens for any larger k.
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
RARE = 20  # a class has at least the 20th part of the records; in the paper at least the ninth


class ConfidentialClasses:
    """Finds the classes of the confidential values in any part of a table."""

    def __init__(self, attributes: tuple[Attribute, ...], validity: str = "own-spread") -> None:
        self._validity = validity
        single = len(attributes) == 1 and attributes[0].kind == Kind.NOMINAL
        self._categories = attributes[0].codes if single else None
        self._values = None if single else _as_points(attributes)

    def of(self, records: np.ndarray, rng: np.ndarray) -> np.ndarray:
        """The class of each of these records, numbered from 0: two at least, unless all have the
        same values.

        >>> from microagg.kernels import random
        >>> wage = Attribute("wage", Kind.NUMERIC, np.array([5.0, 5.1, 9.0, 9.2, 5.2, 9.1]))
        >>> ConfidentialClasses((wage,)).of(np.arange(6), random.seeded(0)).tolist()
        [0, 0, 1, 1, 0, 1]
        """
        if self._categories is not None:
            return _frequent_categories(self._categories[records])
        assert self._values is not None
        return _large_clusters(np.ascontiguousarray(self._values[records]), rng, self._validity)


def _frequent_categories(codes: np.ndarray) -> np.ndarray:
    """The categories of at least a twentieth of the records; the others together, or with the
    smallest of these.
    """
    sizes = np.bincount(codes)
    frequent = np.flatnonzero(sizes * RARE >= len(codes))
    rare = np.isin(codes, frequent, invert=True)
    if not rare.any():
        return sums.number_by_first_record(codes.astype(np.int32))
    if len(frequent) == 0:
        return _dealt_out(codes, sizes)
    alone = len(frequent) == 1 or rare.sum() * RARE >= len(codes)
    joined = len(sizes) if alone else frequent[sizes[frequent].argmin()]
    return sums.number_by_first_record(np.where(rare, joined, codes).astype(np.int32))


def _dealt_out(codes: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Two classes of categories: the most frequent first, each goes to the class that has fewer
    records.
    """
    side, filled = np.zeros(len(sizes), np.int32), [0, 0]
    for category in np.argsort(-sizes, kind="stable"):
        side[category] = filled[1] < filled[0]
        filled[side[category]] += int(sizes[category])
    return sums.number_by_first_record(side[codes])


def _large_clusters(values: np.ndarray, rng: np.ndarray, validity: str) -> np.ndarray:
    """Clusters of at least a twentieth of the records; those of smaller ones join the nearest of
    these in the end.
    """
    kept = np.arange(len(values))
    for _ in range(ROUNDS):
        found = pfsom(np.ascontiguousarray(values[kept]), rng=rng, validity=validity, fewest=2)
        large = sums.group_sizes(found.labels, found.clusters) * RARE >= len(values)
        if large.sum() >= 2:
            labels = label_nearest(values, np.ascontiguousarray(found.prototypes[large].T))
            if labels.min() < labels.max():
                return sums.number_by_first_record(labels)
        kept = kept[large[found.labels]]
        if found.clusters == 1 or len(kept) < 2:
            break
    return _cut_in_two(values)


def _cut_in_two(values: np.ndarray) -> np.ndarray:
    """Along the widest column, between two values and as near to halves as can be; one class if all
    are equal.
    """
    column = values[:, int((values.max(axis=0) - values.min(axis=0)).argmax())]
    distinct, counts = np.unique(column, return_counts=True)
    if len(distinct) == 1:
        return np.zeros(len(values), np.int32)
    nearest_half = int(np.abs(2 * np.cumsum(counts)[:-1] - len(values)).argmin())
    return sums.number_by_first_record((column > distinct[nearest_half]).astype(np.int32))


def _as_points(attributes: tuple[Attribute, ...]) -> np.ndarray:
    columns = [
        _indicators(attribute.codes)
        if attribute.kind == Kind.NOMINAL
        else _scaled(attribute.values)
        if attribute.known == attribute.distinct
        else _scaled_with_atoms(attribute)
        for attribute in attributes
    ]
    return np.ascontiguousarray(np.hstack(columns))


def _scaled(values: np.ndarray) -> np.ndarray:
    """One column from 0 to 1; halves, since the range of finite numbers may not be finite."""
    halves = values.astype(np.float64).reshape(-1, 1) / 2.0
    low, width = halves.min(), halves.max() - halves.min()
    return np.zeros_like(halves) if width == 0.0 else (halves - low) / width


def _scaled_with_atoms(attribute: Attribute) -> np.ndarray:
    """The values from 0 to 1 and, beside them, a column for each atom; atoms are in the mean of the
    values.
    """
    told = attribute.codes < attribute.known
    place = np.zeros((len(told), 1))
    if told.any():
        place[told] = _scaled(attribute.values[told])
        place[~told] = sums.mean_of(place, np.flatnonzero(told))
    aside = np.zeros((len(told), attribute.distinct - attribute.known))
    aside[~told, attribute.codes[~told] - attribute.known] = 0.5**0.5
    return np.hstack((place, aside))


def _indicators(codes: np.ndarray) -> np.ndarray:
    """A column for each category, the rarer ones beyond the most frequent sharing one."""
    sizes = np.bincount(codes)
    frequent = np.argsort(-sizes, kind="stable")[: MOST_CATEGORIES - 1]
    place = np.full(len(sizes), len(frequent))
    place[frequent] = np.arange(len(frequent))
    width = len(frequent) + (len(sizes) > len(frequent))
    return np.eye(width)[place[codes]] * 0.5**0.5

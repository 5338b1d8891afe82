"""Parts and groups in which everybody has the same value of a confidential column, and what becomes
of them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from microagg.kernels import sums
from microagg.methods.parts import records_by_label
from microagg.table.confidential import Attribute
from microagg.table.variable import NO_ATOM


def columns_that_differ(attributes: Sequence[Attribute]) -> list[np.ndarray]:
    """The confidential columns as codes, -1 for an atom, but for those in which all records have
    the same value.

    >>> from microagg.table.schema import Kind
    >>> wage = Attribute("wage", Kind.NUMERIC, np.array([7.0, np.nan, 9.0]), atoms=np.array([-1, 0, -1]), marks=(None,))
    >>> columns_that_differ([wage])[0].tolist()
    [0, -1, 1]
    """
    return [
        np.where(attribute.codes < attribute.known, attribute.codes, NO_ATOM)
        for attribute in attributes
        if attribute.known > 1
    ]


def with_one_value(labels: np.ndarray, columns: Sequence[np.ndarray]) -> np.ndarray:
    """Which groups share one value in some column, or have none: an atom, -1, is no value.

    >>> with_one_value(np.array([0, 0, 1, 1]), [np.array([3, 3, 4, 5])]).tolist()
    [True, False]
    """
    groups = int(labels.max()) + 1
    return _sharing([_ranges(labels, column, groups) for column in columns], groups)


def join_one_valued(
    points: np.ndarray, labels: np.ndarray, columns: Sequence[np.ndarray]
) -> np.ndarray:
    """The smallest group that shares one value in some column joins the one with which it loses
    least, until none is left.

    Joining groups A and B adds n_A n_B / (n_A + n_B) |c_A - c_B|² to the squared error. Ties go to
    the group with the lower first record.

    >>> points = np.array([[0.0], [1.0], [2.0], [3.0], [9.0], [9.5]])
    >>> join_one_valued(points, np.array([0, 0, 1, 1, 2, 2]), [np.array([7, 7, 7, 8, 7, 8])]).tolist()
    [0, 0, 0, 0, 1, 1]
    """
    labels = sums.number_by_first_record(labels.astype(np.int32))
    groups = int(labels.max()) + 1
    sizes, means = (
        sums.group_sizes(labels, groups).astype(np.int64),
        sums.group_means(points, labels, groups),
    )
    ranges = [_ranges(labels, column, groups) for column in columns]
    members = dict(enumerate(records_by_label(labels)))
    while len(members) > 1:
        sharing = np.flatnonzero((sizes > 0) & _sharing(ranges, groups))
        if len(sharing) == 0:
            break
        chosen = int(sharing[sizes[sharing].argmin()])
        kept, gone = sorted((chosen, _cheapest(chosen, sizes, means)))
        members[kept] = np.concatenate((members[kept], members.pop(gone)))
        means[kept] = sums.mean_of(points, members[kept])
        sizes[kept], sizes[gone] = len(members[kept]), 0
        for low, high in ranges:
            low[kept], high[kept] = min(low[kept], low[gone]), max(high[kept], high[gone])
    for number, records in members.items():
        labels[records] = number
    return sums.number_by_first_record(labels)


def _cheapest(chosen: int, sizes: np.ndarray, means: np.ndarray) -> int:
    """The group that costs least to join."""
    apart = np.zeros(len(sizes))
    for j in range(means.shape[1]):
        apart += (means[:, j] - means[chosen, j]) * (means[:, j] - means[chosen, j])
    costs = apart * (sizes * sizes[chosen] / (sizes + sizes[chosen]))
    costs[sizes == 0] = np.inf
    costs[chosen] = np.inf
    return int(costs.argmin())


def _ranges(labels: np.ndarray, column: np.ndarray, groups: int) -> tuple[np.ndarray, np.ndarray]:
    """The lowest and the highest value in each group, the highest below the lowest where there is
    none.
    """
    told = column >= 0
    low, high = np.full(groups, column.max(initial=0)), np.full(groups, -1, column.dtype)
    np.minimum.at(low, labels[told], column[told])
    np.maximum.at(high, labels[told], column[told])
    return low, high


def _sharing(ranges: Sequence[tuple[np.ndarray, np.ndarray]], groups: int) -> np.ndarray:
    return (
        np.any([low >= high for low, high in ranges], axis=0) if ranges else np.zeros(groups, bool)
    )

"""The sum of squared errors, and information loss: its share of the total sum of squares."""

from __future__ import annotations

from typing import Any

import numpy as np

from microagg.errors import InputError
from microagg.kernels import partial_sums, sums
from microagg.measures.loss.loss_sums import LossSums, percent_lost, squared_errors
from microagg.problem.problem import as_points


def information_loss(points: Any, labels: Any) -> float:
    """Return the information loss IL = 100 SSE / SST of a partition, in percent.

    Parameters
    ----------
    points : 2-D array
        Points that were grouped.
    labels : array
        One label per record, or one per record and column.

    Returns
    -------
    float
        0 if nothing was lost, 100 if all records became one.

    Raises
    ------
    InputError
        If points and labels do not fit together.

    Examples
    --------
    >>> information_loss([[0.0], [2.0], [10.0], [12.0]], [0, 0, 1, 1])
    3.8461538461538463
    """
    return loss_of_partition(as_points(points), _as_labels(labels))["IL"]


def loss_of_partition(points: np.ndarray, labels: np.ndarray) -> dict[str, float]:
    """SSE and IL when every record is replaced by the mean of its group."""
    if len(points) != len(labels):
        raise InputError(
            f"there are {len(points)} points and {len(labels)} labels; there must be one "
            f"label per point."
        )
    if labels.ndim == 2:  # a partition of its own for each column
        if labels.shape != points.shape:
            raise InputError(
                "labels of single columns must have one column for each of the points'."
            )
        columns = zip(points.T, labels.T, strict=True)
        return _loss(points, sum(_sse(x.reshape(-1, 1).copy(), g.copy()) for x, g in columns))
    return _loss(points, _sse(points, labels))


def _sse(points: np.ndarray, labels: np.ndarray) -> float:
    means = sums.group_means(points, labels, int(labels.max()) + 1)
    return sums.squared_error(points, means, labels)


def loss_between(points: np.ndarray, released: np.ndarray) -> dict[str, float]:
    """SSE and IL when every record is replaced by its released point.

    >>> loss_between(np.array([[0.0], [1.0], [1.0]]), np.array([[1.0], [1.0], [1.0]]))
    {'IL': 100.0, 'SSE': 1.0}
    """
    lost = LossSums.of_points(points, released)
    return _loss(points, lost.squared_error, one_record=lost.one is not None)


class LossBetween:
    """SSE, IL and the share of the largest group, added up from runs of records: the same as
    `loss_between` and `largest_share` on all.

    >>> points = np.array([[0.0], [2.0], [10.0], [16.0]])
    >>> released = np.array([[1.0], [1.0], [13.0], [13.0]])
    >>> lost = LossBetween(np.array([7.0]), groups=2)
    >>> for run in (slice(0, 3), slice(3, 4)):
    ...     lost.add(points[run], released[run], np.array([0, 0, 1, 1])[run])
    >>> lost.loss() == loss_between(points, released), lost.largest_share()
    (True, 0.9)
    """

    def __init__(self, mean: np.ndarray, groups: int = 0) -> None:
        self._mean = mean.reshape(1, -1)
        self._lost: LossSums | None = None
        self._sst = np.zeros((3, 1))
        self._by_group = np.zeros((groups, 3, 1))

    def add(
        self, points: np.ndarray, released: np.ndarray, labels: np.ndarray | None = None
    ) -> None:
        """Count some records; `labels` are their groups, where these are asked about."""
        part = LossSums.of_points(points, released, keep_errors=labels is not None)
        self._lost = part if self._lost is None else self._lost.combine(part)
        everything = np.zeros(len(points), np.int32)
        partial_sums.add_sums(
            self._sst, partial_sums.squared_error_sums(points, self._mean, everything)
        )
        if labels is not None:
            assert part.errors is not None
            partial_sums.add_group_errors(
                self._by_group, part.errors, np.ascontiguousarray(labels, np.int32)
            )

    def loss(self) -> dict[str, float]:
        """SSE and IL of all that was counted."""
        if self._lost is None:
            return {"IL": 0.0, "SSE": 0.0}
        sse, sst = float(self._lost.squared_error), float(sums.rounded(self._sst, 0))
        return {"IL": percent_lost(sse, sst, one_record=self._lost.one is not None), "SSE": sse}

    def largest_share(self) -> float:
        """The largest part of the squared error that one group makes up."""
        return share_of(self._by_group[:, :, 0])


def largest_share(points: np.ndarray, released: np.ndarray, labels: np.ndarray) -> float:
    """The largest part of the squared error that one group makes up: 1 where it makes up all of
    it, 0 where there is no error.

    With a label for each record and column, a group is one of a single column.

    >>> points = np.array([[0.0], [2.0], [10.0], [16.0]])
    >>> released = np.array([[1.0], [1.0], [13.0], [13.0]])
    >>> largest_share(points, released, np.array([0, 0, 1, 1]))
    0.9
    """
    errors = squared_errors(points, released)
    if labels.ndim == 1:
        return share_of(error_sums(errors, labels))
    return share_of(
        np.concatenate(
            [error_sums(errors[:, j : j + 1], labels[:, j]) for j in range(points.shape[1])]
        )
    )


def error_sums(errors: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """(groups, 3): the errors of each group's records, (n, d), added up, so that the order of
    records makes no difference.
    """
    labels = np.ascontiguousarray(labels, np.int32)
    return partial_sums.group_error_sums(
        np.ascontiguousarray(errors), labels, int(labels.max()) + 1
    )


def share_of(groups: np.ndarray) -> float:
    """The share that the largest of these sums has of all of them.

    >>> share_of(np.array([[1.0, 0.0, 0.0], [3.0, 0.0, 0.0]]))
    0.75
    """
    total = sums.rounded(sums.column_sums(groups.reshape(-1, 1)), 0)
    if not np.isfinite(total):  # squares of huge values: one of them may be all there is
        return 1.0
    return float(partial_sums.rounded_each(groups).max() / total) if total > 0.0 else 0.0


def _loss(points: np.ndarray, sse: float, *, one_record: bool = False) -> dict[str, float]:
    everything = np.zeros(len(points), np.int32)
    sst = sums.squared_error(points, sums.group_means(points, everything, 1), everything)
    return {"IL": percent_lost(sse, sst, one_record=one_record), "SSE": sse}


def _as_labels(labels: Any) -> np.ndarray:
    array = np.asarray(labels)
    if array.ndim == 2 and array.shape[1] > 0:
        return np.column_stack([_as_labels(column) for column in array.T])
    if array.ndim != 1 or array.dtype.kind not in "iu" or len(array) == 0 or array.min() < 0:
        raise InputError("labels must be one non-negative whole number per record.")
    return np.unique(array, return_inverse=True)[1].astype(np.int32)

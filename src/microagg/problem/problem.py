"""Input of a method: `Problem`."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from microagg.errors import InputError
from microagg.formatting import counted
from microagg.guarantees.promise import AcceptanceTest
from microagg.table.confidential import Attribute
from microagg.table.parameters import K

Progress = Callable[[int, int], None]
"""Called as progress(done, total) from time to time; raising from it cancels the work.

A search also hands a line of figures (loss, bound) to the callback's `tell`, if it has one; see
`watch.py`.
"""

LARGEST = 1e100  # squared distances beyond this leave the range of float64


@dataclass(frozen=True)
class Problem:
    """The points to partition into groups of at least k, and what a search must respect while doing
    so.

    >>> Problem.of([[0.0], [0.1], [5.0], [5.1]], k=2).points.shape
    (4, 1)
    """

    points: np.ndarray
    k: int
    weights: np.ndarray | None = None
    confidential: tuple[Attribute, ...] = ()
    accept: AcceptanceTest | None = None
    """Whether records may form a group; None where any may. It must hold for every group of a
    partition given.
    """
    threads: int = 1
    """How many threads may work at once; never a matter for the result."""
    columns: int | None = None
    """How many columns of a table the axes of the points stand for; None where each axis is a
    column. For words only.
    """
    of_records: int | None = None
    """How many records the table has of which these are a stratum: a word for effort is meant for
    all of them then.
    """

    @staticmethod
    def of(
        points: Any,
        k: int,
        *,
        weights: np.ndarray | None = None,
        confidential: tuple[Attribute, ...] = (),
        accept: AcceptanceTest | None = None,
        threads: int | None = None,
    ) -> Problem:
        """A problem from anything that numpy takes for a matrix of numbers, checked."""
        matrix = as_points(points)
        k = checked_k(k, len(matrix))
        return Problem(matrix, k, weights, confidential, accept, checked_threads(threads))

    def part(self, records: np.ndarray) -> Problem:
        """The problem of these records alone, numbered anew in the order given.

        What is promised stays what it was: t-closeness of a group is measured against all records
        of the table.

        >>> Problem.of([[0.0], [0.1], [5.0], [5.1]], k=2).part(np.array([3, 2])).points.tolist()
        [[5.1], [5.0]]
        """
        return replace(
            self,
            points=np.ascontiguousarray(self.points[records]),
            weights=None if self.weights is None else np.ascontiguousarray(self.weights[records]),
            confidential=tuple(column.of_records(records) for column in self.confidential),
            accept=None if self.accept is None else self.accept.of_part(records),
        )


def checked_threads(threads: int | None = None) -> int:
    """Return the number of threads: as given, else MICROAGG_THREADS, else one for each
    processor.
    """
    requested = os.environ.get("MICROAGG_THREADS", "") if threads is None else threads
    if requested == "":
        return (
            len(os.sched_getaffinity(0))
            if hasattr(os, "sched_getaffinity")
            else os.cpu_count() or 1
        )
    try:
        number = (
            0 if isinstance(requested, float) and not requested.is_integer() else int(requested)
        )
    except (TypeError, ValueError, OverflowError):
        number = 0
    if number < 1:
        raise InputError("the number of threads must be a whole number, at least 1.")
    return number


def as_points(points: Any) -> np.ndarray:
    """The float64 C-order matrix of the points; the caller's own array where it is one already."""
    try:
        matrix = np.require(points, dtype=np.float64, requirements=["C", "A", "W"])
    except (TypeError, ValueError):
        raise InputError("points must be a matrix of numbers, one row per record.") from None
    if matrix.ndim == 1:
        matrix = matrix.reshape(-1, 1)
    if matrix.ndim != 2 or matrix.shape[1] == 0:
        raise InputError("points must be a matrix with one row per record and at least one column.")
    # by the extremes, which are NaN where a value is: a matrix of flags or sizes would be as large
    # as the points
    usable = matrix.size == 0 or (matrix.min() >= -LARGEST and matrix.max() <= LARGEST)
    if not usable:
        row, column = np.argwhere(~(np.abs(matrix) <= LARGEST))[0]
        raise InputError(
            f"points hold a missing, infinite or too large value in row {row + 1}, "
            f"column {column + 1}; "
            "fill it in or leave the record out."
        )
    return matrix


def checked_k(k: Any, n: int) -> int:
    """k as an int, if it is a whole number from 2 to n."""
    k = K.parse(k)
    if k > n:
        verb = "is" if n == 1 else "are"
        raise InputError(
            f"k is {k:,}, but there {verb} only {counted(n, 'record')}; "
            "choose k no larger than that."
        )
    return k

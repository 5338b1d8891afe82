"""The classes of a release: records that share all released values, which nobody can tell apart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from microagg.table.variable import NO_ATOM, Cells

if TYPE_CHECKING:
    from microagg.measures.measure import Pair


@dataclass(frozen=True)
class ReleasedClasses:
    """Records sorted into classes of equal ones; the classes are numbered in the ascending order of
    their values.
    """

    labels: np.ndarray
    """(n,): the class of each record."""
    order: np.ndarray
    """(n,): the records class by class, ascending within each."""
    starts: np.ndarray
    """(classes + 1,): where each class begins in that order; the last entry is n."""

    @property
    def sizes(self) -> np.ndarray:
        """Return the number of records of each class."""
        return np.diff(self.starts)

    def __len__(self) -> int:
        return len(self.starts) - 1


@dataclass(frozen=True)
class ClassSizes:
    """Histogram of class sizes, which is all that many measures need of a release.

    >>> sizes = ClassSizes.of(np.array([2, 3, 2]))
    >>> sizes.sizes.tolist(), sizes.counts.tolist(), sizes.records, len(sizes)
    ([2, 3], [2, 1], 7, 3)
    """

    sizes: np.ndarray
    """The sizes that occur, in ascending order."""
    counts: np.ndarray
    """How many classes have each."""

    @staticmethod
    def of(sizes: np.ndarray) -> ClassSizes:
        """Count the classes of each size."""
        return ClassSizes(*np.unique(np.asarray(sizes, np.int64), return_counts=True))

    @staticmethod
    def counted(counts: Mapping[int, int]) -> ClassSizes:
        """Build the histogram from the number of classes of each size."""
        sizes = sorted(counts)
        return ClassSizes(
            np.array(sizes, np.int64), np.array([counts[size] for size in sizes], np.int64)
        )

    @property
    def records(self) -> int:
        """Return the number of records in all classes."""
        return int((self.sizes * self.counts).sum())

    @property
    def median(self) -> float:
        """Return the median class size."""
        upto = np.cumsum(self.counts)
        middle = [
            self.sizes[np.searchsorted(upto, rank, "right")]
            for rank in ((len(self) - 1) // 2, len(self) // 2)
        ]
        return float(sum(middle)) / 2.0

    def __len__(self) -> int:
        return int(self.counts.sum())


def classes_of(columns: Sequence[np.ndarray]) -> ReleasedClasses:
    """The classes of records that are equal in all of these columns. O(n log n) for each column.

    >>> classes_of([np.array([3.0, 1.0, 3.0]), np.array([0, 5, 0])]).labels.tolist()
    [1, 0, 1]
    """
    order = np.lexsort(tuple(reversed(columns)))
    begins = np.zeros(len(order), bool)
    begins[:1] = True
    for column in columns:
        inorder = column[order]
        begins[1:] |= inorder[1:] != inorder[:-1]
    labels = np.empty(len(order), np.int64)
    labels[order] = np.cumsum(begins) - 1
    return ReleasedClasses(labels, order, np.append(np.flatnonzero(begins), len(order)))


def classes_of_released(pair: Pair) -> ReleasedClasses:
    """The classes of the released quasi-identifiers and of what else is shared, such as strata;
    measures ask for `pair.classes`, which computes them once.

    >>> from microagg.measures.measure import Pair
    >>> pair = Pair(np.array([[1.0], [2.0]]), np.array([[1.5], [1.5]]), ("age",),
    ...     kept={"sex": np.array([0, 1])})
    >>> len(classes_of_released(pair)), len(classes_of_kept(pair))
    (1, 2)
    """
    quasi = (
        [*pair.released.T]
        if pair.released_cells is None
        else columns_to_compare(pair.released_cells)
    )
    return classes_of([*quasi, *pair.shared.values()])


def columns_to_compare(cells: Cells) -> list[np.ndarray]:
    """Columns that are equal in two records where their cells are: values, and atoms where there
    are any.

    A missing value equals a missing value and nothing else, and so does each special code.

    >>> columns_to_compare(Cells.plain(np.array([[1.0], [2.0]]), ["age"]))
    [array([1., 2.])]
    """
    columns = []
    for j in range(len(cells.variables)):
        atoms = cells.atoms_of(j)
        values = cells.values[:, j]
        columns += [values] if atoms is None else [np.where(atoms == NO_ATOM, values, 0.0), atoms]
    return columns


def classes_of_kept(pair: Pair) -> ReleasedClasses:
    """The classes of the released quasi-identifiers and the columns released as they were."""
    return classes_of([pair.classes.labels, *pair.kept.values()])


def percent_of_records(counts: np.ndarray, weights: np.ndarray | None) -> float:
    """The records that count, or the part to which each does, in percent of all; of their weights
    where there are any.

    >>> percent_of_records(np.array([True, False]), np.array([3.0, 1.0]))
    75.0
    """
    if len(counts) == 0:
        return 0.0
    return 100.0 * float(np.average(counts, weights=weights))

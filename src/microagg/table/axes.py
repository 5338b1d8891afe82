"""Axes of the columns of a table: numbers by a scale, one axis for each atom, categories by codes.

A column is `Scaled` or `Coded`. Both give coordinates to search in, and count squared errors on the
exact encoding.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from microagg.kernels import sums
from microagg.table.category_codes import (
    MOST_INDICATORS,
    QUARTILES_OF_NORMAL,
    blends_of,
    codes_of_nodes,
    nodes_of,
    row_squares,
    step_of,
)
from microagg.table.scales import SCALES, Axis
from microagg.table.schema import Kind
from microagg.table.variable import Variable

_A_DAY = {"D": 1.0, "s": 86400.0, "ms": 86400e3, "us": 86400e6, "ns": 86400e9}
_BROUGHT_TO_ONE = ("zscore", "rank")  # scales that give each column a total variance of 1


@dataclass(frozen=True)
class Scaled:
    """A column of numbers, or of ordered levels by their places: one axis, and one more for each
    atom that occurs.

    >>> column = Scaled(Axis(30.0, 10.0), home=0.0, away=1.0, atoms=(0,))
    >>> column.coordinates(np.array([40.0, np.nan]), np.array([-1, 0])).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """

    axis: Axis
    home: float = 0.0
    """Coordinate of the mean of the values on their axis, which atoms have, too."""
    away: float = 0.0
    """Distance of an atom from there on its own axis."""
    atoms: tuple[int, ...] = ()
    """The atoms that occur, by their places among the marks."""
    constant: bool = False
    importance: float = 1.0
    """Factor of squared distances; axis, home and away include it."""

    exact = True

    @property
    def size(self) -> int:
        """Number of axes."""
        return 1 + len(self.atoms)

    @property
    def spread(self) -> float:
        """The standard deviation of the values on their axis, or (`robust`) what it is in a normal
        column.
        """
        return self.away

    def coordinates(self, values: np.ndarray, atoms: np.ndarray | None) -> np.ndarray:
        """(n, size): the coordinates of cells, as searched and exactly."""
        result = np.zeros((len(values), self.size))
        result[:, 0] = self.axis.coordinates(values)
        if atoms is not None:
            result[atoms >= 0, 0] = self.home
            for index, atom in enumerate(self.atoms, 1):
                result[atoms == atom, index] = self.away
        return result

    def squares(self, before: Pair, after: Pair) -> np.ndarray:
        """(n,): the squared distance between the cells of each record."""
        return row_squares(self.coordinates(*before) - self.coordinates(*after))

    def variation(self, cells: Pair, labels: np.ndarray) -> np.ndarray:
        """(n,): the squared distance of each record's cell to the centroid of its group."""
        points = self.coordinates(*cells)
        means = sums.group_means(points, labels, int(labels.max()) + 1)
        return row_squares(points - means[labels])

    def about(self) -> dict[str, Any]:
        """Return the entry of the internal manifest for this column."""
        facts: dict[str, Any] = {"centre": self.axis.centre, "width": self.axis.width}
        return facts | (
            {"home": self.home, "away": self.away, "atoms": list(self.atoms)} if self.atoms else {}
        )


@dataclass(frozen=True)
class Coded:
    """A column of categories: any two are equally far apart, or as far as the share of a tree's
    levels that differ.

    >>> column = Coded(np.array([[0], [1], [2]]), step=2.0)
    >>> column.codes.tolist()
    [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    >>> column.squares((np.array([0.0, 1.0]), None), (np.array([0.0, 2.0]), None)).tolist()
    [0.0, 2.0]
    """

    nodes: np.ndarray
    """(categories, levels): the node of each category on each level; without a tree there is one
    level.
    """
    step: float
    """Squared distance that each level that differs adds."""
    of_atoms: bool = False
    """True if the categories are those of a scaled column of equal values: the value, then its
    marks.
    """
    blends: dict[int, np.ndarray] = field(default_factory=dict)
    """Categories of a release that stand for any of several others (nodes above them), and the
    share of each: they lie at the centroid.
    """

    @property
    def constant(self) -> bool:
        """True if all categories are the same."""
        return self.step == 0.0

    @property
    def exact(self) -> bool:
        """True if `codes` have the exact distances."""
        return self.constant or all(nodes.max() < MOST_INDICATORS for nodes in self.nodes.T)

    @property
    def size(self) -> int:
        """Number of axes."""
        return self.codes.shape[1]

    @property
    def spread(self) -> float:
        """The distance of two categories that differ on one level."""
        return math.sqrt(self.step)

    @functools.cached_property
    def codes(self) -> np.ndarray:
        """(categories, size): the coordinates of each category, as searched."""
        if self.constant:
            return np.zeros((len(self.nodes), 1))
        result = np.hstack(
            [codes_of_nodes(int(nodes.max()) + 1, self.step)[nodes] for nodes in self.nodes.T]
        )
        for category, shares in self.blends.items():
            result[category] = (shares[:, None] * result).sum(axis=0)
        return result

    def categories(self, values: np.ndarray, atoms: np.ndarray | None) -> np.ndarray:
        """(n,): which category each cell is."""
        if not self.of_atoms:
            return values.astype(np.int64)
        return np.zeros(len(values), np.int64) if atoms is None else atoms.astype(np.int64) + 1

    def coordinates(self, values: np.ndarray, atoms: np.ndarray | None) -> np.ndarray:
        """(n, size): the coordinates of cells, as searched."""
        return self.codes[self.categories(values, atoms)]

    def squares(self, before: Pair, after: Pair) -> np.ndarray:
        """(n,): the exact squared distance between the cells of each record."""
        was, became = self.categories(*before), self.categories(*after)
        differing = np.zeros(len(was))
        for nodes in self.nodes.T:
            differing += nodes[was] != nodes[became]
        for category, shares in self.blends.items():
            rows = became == category
            differing[rows] = self._to_blend(was[rows], shares)
        return self.step * differing

    def _to_blend(self, categories: np.ndarray, shares: np.ndarray) -> np.ndarray:
        """(n,): how far categories are from a centroid, in levels: (1 - 2 p_v + Σ p²) / 2 on each,
        p the shares of the nodes.
        """
        result = np.zeros(len(categories))
        for nodes in self.nodes.T:
            of_nodes = np.bincount(nodes, shares)
            result += np.maximum(
                0.0, 0.5 * (1.0 - 2.0 * of_nodes[nodes[categories]] + float((of_nodes**2).sum()))
            )
        return result

    def variation(self, cells: Pair, labels: np.ndarray) -> np.ndarray:
        """(n,): the exact squared distance of each record's cell to the centroid of its group.

        With indicators e_v it is (1 - p_v)² + Σ p² over the other nodes = 1 - 2 p_v + Σ p², p the
        shares in the group.
        """
        categories = self.categories(*cells)
        sizes = np.bincount(labels)
        result = np.zeros(len(categories))
        for nodes in self.nodes.T:
            count = int(nodes.max()) + 1
            pairs, which, counts = np.unique(
                labels.astype(np.int64) * count + nodes[categories],
                return_inverse=True,
                return_counts=True,
            )
            groups = pairs // count
            shares = counts / sizes[groups]
            squares = np.bincount(groups, shares**2, len(sizes))
            # groups of one node have no variation at all, not one of rounding
            alone = shares[which] == 1.0
            result += np.where(alone, 0.0, 1.0 - 2.0 * shares[which] + squares[labels])
        return 0.5 * self.step * result

    def variation_of_whole(self, counts: np.ndarray) -> np.ndarray:
        """(categories,): what `variation` gives a record of each category where all records are one
        group, from how often each occurs.

        >>> Coded(np.array([[0], [1]]), step=2.0).variation_of_whole(np.array([1, 3])).tolist()
        [1.125, 0.125]
        """
        result = np.zeros(len(self.nodes))
        for nodes in self.nodes.T:
            of_nodes = np.bincount(nodes, counts)
            shares = of_nodes / of_nodes.sum()
            occurring = shares > 0.0
            squares = np.bincount(np.zeros(int(occurring.sum()), np.int64), shares[occurring] ** 2)[
                0
            ]
            result += np.where(shares[nodes] == 1.0, 0.0, 1.0 - 2.0 * shares[nodes] + squares)
        return 0.5 * self.step * result

    def about(self) -> dict[str, Any]:
        """Return the entry of the internal manifest for this column."""
        return {"categories": len(self.nodes), "levels": self.nodes.shape[1], "step": self.step}


ColumnAxes = Scaled | Coded
Pair = tuple[np.ndarray, np.ndarray | None]
"""The values and the atoms of one column."""


def axes_of_numbers(
    column: np.ndarray, scale: str, unit: str = "", importance: float = 1.0
) -> Scaled:
    """The axis of a contiguous column of numbers, all of them values.

    >>> axes_of_numbers(np.array([0.0, 4.0]), "minmax", importance=4.0).coordinates(
    ...     np.array([3.0]), None
    ... ).tolist()
    [[1.5]]
    """
    constant = bool(column.min() == column.max())
    axis = SCALES[scale].measure(column)
    return scaled_by(axis, scale, unit, importance, constant, lambda: _deviation_of_small(column))


def scaled_by(
    axis: Axis, scale: str, unit: str, importance: float, constant: bool, small: Callable[[], float]
) -> Scaled:
    """The axis of a column that has been measured; `small` gives a width where the scale found
    none.
    """
    if constant:
        axis = replace(axis, width=1.0)
    elif scale == "none":
        axis = replace(axis, width=_A_DAY.get(unit, 1.0))
    elif axis.width == 0.0:
        # quartiles coincide where more than half of a column shares one value, and squares of very
        # small numbers vanish
        axis = replace(axis, width=small())
    if importance != 1.0:
        axis = replace(axis, width=axis.width / math.sqrt(importance))
    return Scaled(axis, constant=constant, importance=importance)


def axes_of(
    variable: Variable,
    values: np.ndarray,
    atoms: np.ndarray | None,
    scale: str,
    importance: float = 1.0,
) -> ColumnAxes:
    """Return the axes of a column of a mixed table, fitted on its values and on counts of its
    atoms.
    """
    if variable.kind is Kind.NOMINAL:
        return axes_of_categories(variable, np.bincount(values.astype(np.int64)), scale, importance)
    present = np.ascontiguousarray(values if atoms is None else values[atoms < 0])
    counts = np.zeros(0, np.int64) if atoms is None else np.bincount(atoms[atoms >= 0])
    if len(present) < len(values) and (len(present) == 0 or present.min() == present.max()):
        return axes_of_atoms(len(present), counts, len(variable.marks), scale, importance)
    column = axes_of_numbers(present, scale, variable.unit)
    mean, deviation = sums.column_moments(column.coordinates(present, None)).reshape(-1)
    return with_atoms(
        column, float(mean), float(deviation), len(present), counts, scale, importance
    )


def axes_of_atoms(
    present: int, counts: np.ndarray, marks: int, scale: str, importance: float
) -> Coded:
    """The categories of a column whose values are all equal: `known` cells with a value, `counts`
    of the first atoms.
    """
    nodes = np.arange(marks + 1).reshape(-1, 1)
    of_categories = np.zeros(marks + 1, np.int64)
    of_categories[0], of_categories[1 : 1 + len(counts)] = present, counts
    return Coded(nodes, step_of(nodes, of_categories, scale, importance), of_atoms=True)


def with_atoms(
    column: Scaled,
    mean: float,
    deviation: float,
    known: int,
    counts: np.ndarray,
    scale: str,
    importance: float,
) -> Scaled:
    """A column of numbers with an axis for each atom that occurs; `mean` and `deviation` are those
    of its `known` coordinates.
    """
    records = known + int(counts.sum())
    away = 1.0 / QUARTILES_OF_NORMAL if scale == "robust" else deviation
    present = tuple(np.flatnonzero(counts).tolist())
    column = replace(column, home=mean, away=away, atoms=present, importance=importance)
    factor = math.sqrt(importance)
    if column.atoms and scale in _BROUGHT_TO_ONE:
        shares = (counts / records).tolist()
        apart = math.fsum(share * (1.0 - share) for share in shares)
        variance = deviation**2 * known / records + away**2 * apart
        factor /= math.sqrt(variance)
    return column if factor == 1.0 else _stretched(column, factor)


def _stretched(column: Scaled, factor: float) -> Scaled:
    axis = replace(column.axis, width=column.axis.width / factor)
    return replace(column, axis=axis, home=column.home * factor, away=column.away * factor)


def axes_of_categories(
    variable: Variable, counts: np.ndarray, scale: str, importance: float
) -> Coded:
    """The axes of a nominal column, from how often each of its levels occurs."""
    count = max(len(variable.levels), len(counts))
    counts = np.concatenate([counts, np.zeros(count - len(counts), counts.dtype)])
    nodes = np.arange(count).reshape(-1, 1)
    if variable.hierarchy is not None:
        nodes = nodes_of(variable, variable.hierarchy)
    blends = blends_of(variable, counts)
    return Coded(nodes, step_of(nodes, counts, scale, importance), blends=blends)


def _deviation_of_small(column: np.ndarray) -> float:
    """The standard deviation of a column that is not constant, however small its numbers; never
    0.
    """
    spread = np.ptp(column)
    deviation = float(spread * sums.column_moments((column / spread).reshape(-1, 1))[1][0])
    return max(deviation, float(np.finfo(np.float64).smallest_subnormal))

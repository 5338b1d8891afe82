"""Subject of a report, collected once for all its parts."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from microagg.formatting import number, with_unit
from microagg.measures.measure import Figure, Measure, Pair, Sample
from microagg.release.changes import Change
from microagg.release.publishing import DIGITS, is_published, steady
from microagg.release.report.spread import as_released
from microagg.table.aggregates import Aggregate, aggregate_of
from microagg.table.schema import Role
from microagg.table.variable import Cells


@dataclass(frozen=True)
class Subject:
    """A release as its report sees it. `public_subject` makes one that does not have the original
    table at all.
    """

    manifest: Mapping[str, Any]
    public: bool
    names: tuple[str, ...]
    """The quasi-identifying columns."""
    released: Cells
    """Their released cells; in a public report in terms that follow from them alone
    (`as_released`).
    """
    class_sizes: np.ndarray
    figures: Sequence[tuple[Measure, Figure]]
    both: Pair | None = None
    """The tables before and after: the data holder's side only."""
    sample: Sample | None = None
    """What these are, where they are not all records."""
    changed: Mapping[str, Change] | None = None
    """What became of the cells of all records, where that was counted before."""
    lost_categories: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Categories that no record has any more, by column; internal only."""
    entity: str = ""
    """What a record stands for, such as "company"; empty where it is not set."""

    @property
    def on_sample(self) -> str:
        """A sentence on what is shown of some records only; empty where all are."""
        if self.sample is None:
            return ""
        drawn = "by a hash of their numbers"
        if self.sample.of == "classes":
            drawn = "all records of classes that were drawn by their released values alone"
        return (
            f"Large-table mode: what is shown here of columns is from a sample of "
            f"{self.sample.records:,} records "
            f"({drawn}), and figures that are from one say so; all others count every record."
        )

    def figure(self, name: str) -> Figure | None:
        """Return the figure of a measure."""
        return next((figure for measure, figure in self.figures if measure.name == name), None)

    @property
    def pair(self) -> Pair:
        """The tables before and after, where the audience may see what comes of them."""
        if self.both is None:
            raise RuntimeError("a public report does not have the original table")
        return self.both

    @property
    def mixed(self) -> bool:
        """Return whether some column is not plain numbers: categories, dates, gaps."""
        return (
            not self.released.is_plain
            or any(variable.unit for variable in self.released.variables)
            or self._has_gaps
        )

    @property
    def _has_gaps(self) -> bool:
        return self.both is not None and self.both.cells is not None

    @functools.cached_property
    def aggregates(self) -> dict[str, Aggregate]:
        """Return the aggregate of each quasi-identifying column."""
        names = self.settings.get("aggregate") or {}
        return {column.name: aggregate_of(column, names) for column in self.released.variables}

    @property
    def published(self) -> list[tuple[Measure, Figure]]:
        """Return the figures of the original table that were published by name."""
        return [
            (measure, figure)
            for measure, figure in self.figures
            if self.public and measure.of != "release"
        ]

    @property
    def k(self) -> int:
        """Return the required k."""
        return int(self.settings["k"])

    @property
    def settings(self) -> Mapping[str, Any]:
        """Return the settings, as far as this audience may see them."""
        return self.manifest["settings"]

    @property
    def weight_becomes(self) -> str | None:
        """Return the treatment of the weight: mean, keep or drop; None without a weight."""
        weight = self.settings.get("weight")
        return (
            None if weight is None else (self.settings.get("aggregate") or {}).get(weight, "mean")
        )

    @property
    def k_anonymous(self) -> bool:
        """Return whether every combination of quasi-identifying values is shared by k records."""
        return bool(len(self.class_sizes) == 0 or self.class_sizes.min() >= self.k)

    @property
    def digits(self) -> int:
        """Return the number of digits shown; the last ones of a sum depend on the order of rows."""
        return 3 if self.public else 4

    def number(self, value: float) -> str:
        """A figure as this audience may see it."""
        return number(self._steady(value), self.digits)

    def with_unit(self, value: float, unit: str) -> str:
        """A figure and its unit as this audience may see it."""
        return with_unit(self._steady(value), unit, self.digits)

    def _steady(self, value: float) -> float:
        return steady(value, self.digits) if self.public else value

    def columns(self, *roles: Role) -> list[str]:
        """The names of the columns with one of these roles."""
        wanted = {role.value for role in roles}
        if not wanted & self._roles:
            return []
        return [name for name, role in self.manifest["roles"].items() if role in wanted]

    @functools.cached_property
    def _roles(self) -> set[str]:
        """Return the roles that occur: tables of thousands of columns look them up for each one."""
        return set(self.manifest["roles"].values())

    def figures_of(self, side: str) -> list[tuple[Measure, Figure]]:
        """Return the figures of one side; in a public report, of the released table alone."""
        return [
            (measure, figure)
            for measure, figure in self.figures
            if measure.side == side and (not self.public or measure.of == "release")
        ]


def public_subject(
    manifest: Mapping[str, Any],
    pair: Pair,
    class_sizes: np.ndarray,
    figures: Sequence[tuple[Measure, Figure]],
    released: Cells | None = None,
) -> Subject:
    """Return the subject of a public report: released rows in an order of their own, and public
    figures.

    >>> values = np.array([[3.0], [1.0]])
    >>> subject = public_subject(
    ...     {"settings": {"k": 2}, "records": 2},
    ...     Pair(values + 1, values, ("age",)),
    ...     np.array([2]),
    ...     [],
    ... )
    >>> subject.released.values.tolist(), subject.both
    ([[1.0], [3.0]], None)
    """
    shown = [
        (measure, _without_details(figure) if measure.of == "pair" else figure)
        for measure, figure in figures
        if measure.of == "release"
        or (measure.of == "pair" and is_published(measure.name, manifest))
    ]
    return Subject(
        manifest,
        True,
        pair.quasi,
        as_released(pair.after if released is None else released),
        class_sizes,
        shown,
    )


def _without_details(figure: Figure) -> Figure:
    """A figure without what may be of one class; the rest to the digits that are published."""
    columns = {name: steady(value, DIGITS) for name, value in figure.columns.items()}
    return Figure(steady(figure.value, DIGITS), columns)


def lost_of_columns(original: np.ndarray, released: np.ndarray) -> np.ndarray:
    """Return the lost variation of each column in percent; 0 for an unchanged constant column.

    >>> lost_of_columns(
    ...     np.array([[0.0], [2.0], [10.0], [12.0]]), np.array([[1.0], [1.0], [11.0], [11.0]])
    ... )
    array([3.84615385])
    """
    total, error = np.empty(original.shape[1]), np.empty(original.shape[1])
    for j in range(original.shape[1]):
        size = max(np.abs(original[:, j]).max(), np.abs(released[:, j]).max()) or 1.0
        before = original[:, j] / size  # scaled, so that squares of huge values stay finite
        total[j] = ((before - before.mean()) ** 2).sum()
        error[j] = ((before - released[:, j] / size) ** 2).sum()
    return 100.0 * np.divide(error, total, out=np.where(error > 0, 1.0, 0.0), where=total > 0)

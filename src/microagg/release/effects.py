"""Effects of a release on each quasi-identifier: mean, total and spread, and categories lost.

The sums are those of all records, in memory and out of core alike, and do not depend on chunks.
All of it compares both tables, so none of it is public.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np

from microagg.formatting import number
from microagg.kernels import partial_sums, sums
from microagg.measures.loss.unchanged import has_value, places_among
from microagg.table.reduction import Reduction
from microagg.table.schema import Kind
from microagg.table.variable import Cells, Variable

ROWS = 65_536  # records at a time
TERMS = 4  # records with a value, their weight, the weighted values and their squares
_AROUND_ZERO = 1e-3  # a mean below this share of the standard deviation
_PRECISE = 1e-9  # a variance below this share of the squared mean is rounding


@dataclass(frozen=True)
class ColumnEffect:
    """Figures of one column before and after; None where a figure has no meaning.

    >>> effect = ColumnEffect("rent", "numeric", (3, 3), mean=(10.0, 11.0), total=(30.0, 33.0))
    >>> round(effect.total_change, 9), effect.lost
    (10.0, 0)
    """

    name: str
    kind: str
    values: tuple[int, int]
    """Cells with a value before and after."""
    filled: int = 0
    blanked: int = 0
    mean: tuple[float, float] | None = None
    """Weighted where the table has weights."""
    total: tuple[float, float] | None = None
    spread: tuple[float, float] | None = None
    """Standard deviations."""
    categories: tuple[int, int] | None = None
    """Different categories before and after."""
    lost_codes: tuple[int, ...] = ()
    """Positions of the categories that no record has any more, among those before."""
    lost_records: int = 0
    """Records that had one of these."""

    @property
    def lost(self) -> int:
        """Number of categories that no record has any more."""
        return len(self.lost_codes)

    @property
    def total_change(self) -> float | None:
        """Change of the total in percent; None where the total is 0 beside the spread."""
        return None if self._is_around_zero else _percent(self.total)

    @property
    def mean_change(self) -> float | None:
        """Change of the mean in percent; None where the mean is 0 beside the spread.

        >>> effect = ColumnEffect("z", "numeric", (9, 9), mean=(1e-9, 1e-4), spread=(1.0, 1.0))
        >>> effect.mean_change is None
        True
        """
        return None if self._is_around_zero else _percent(self.mean)

    @property
    def _is_around_zero(self) -> bool:
        """True where positive and negative values cancel out, so percents say nothing."""
        if self.mean is None or self.spread is None:
            return False
        return abs(self.mean[0]) <= _AROUND_ZERO * self.spread[0]

    @property
    def spread_change(self) -> float | None:
        """Change of the standard deviation in percent."""
        return _percent(self.spread)

    def as_data(self) -> dict[str, Any]:
        """Return the figures for the internal manifest, without the names of categories."""
        pairs = {
            name: list(pair)
            for name in ("mean", "total", "spread", "categories")
            if (pair := getattr(self, name)) is not None
        }
        data = {"kind": self.kind, "values": list(self.values), **pairs}
        if self.categories is not None:
            data |= {"lost": list(self.lost_codes), "lost_records": self.lost_records}
        return data | {"filled": self.filled, "blanked": self.blanked}


def effects_from(data: Mapping[str, Mapping[str, Any]] | None) -> tuple[ColumnEffect, ...]:
    """Return the effects that an internal manifest has; none of an older one.

    >>> sex = {"kind": "nominal", "values": [3, 3], "categories": [2, 1], "lost": [1]}
    >>> effects_from({"sex": sex})[0].lost
    1
    """

    def pair(column: Mapping[str, Any], name: str) -> Any:
        return tuple(column[name]) if name in column else None

    return tuple(
        ColumnEffect(
            name,
            str(column["kind"]),
            pair(column, "values"),
            int(column.get("filled", 0)),
            int(column.get("blanked", 0)),
            pair(column, "mean"),
            pair(column, "total"),
            pair(column, "spread"),
            pair(column, "categories"),
            tuple(column.get("lost", ())),
            int(column.get("lost_records", 0)),
        )
        for name, column in (data or {}).items()
    )


def signed_percent(change: float) -> str:
    """Format a change in percent with its sign.

    >>> signed_percent(-32.69), signed_percent(0.04), signed_percent(0.0), signed_percent(1234.0)
    ('−32.7 %', '+0.04 %', '0 %', '+1,230 %')
    """
    if abs(change) < 0.005:
        return "0 %"
    digits = 3 if abs(change) >= 1 else max(1, 3 + math.floor(math.log10(abs(change))))
    return f"{'+' if change > 0 else ''}{number(change, digits)} %"


def _percent(pair: tuple[float, float] | None) -> float | None:
    if pair is None or pair[0] == 0.0 or not all(map(math.isfinite, pair)):
        return None
    change = 100.0 * (pair[1] - pair[0]) / abs(pair[0])
    return change if math.isfinite(change) else None


class _Rows(Protocol):
    """Released cells that can be read in parts."""

    def rows(self, chosen: slice, /) -> Cells:
        """Return the cells of some records."""
        ...


@dataclass(frozen=True)
class EffectSums(Reduction):
    """Sums of cells before and after, by column; merged from chunks of records."""

    columns: dict[str, dict[str, Any]] = field(default_factory=dict)
    """By name plain lists: sums in three parts, or counts of categories."""

    @classmethod
    def of_chunk(
        cls,
        before: Cells,
        after: Cells,
        weights: tuple[np.ndarray, np.ndarray | None] | None = None,
    ) -> EffectSums:
        """Sum up some records; `weights` are those before and after, None where none are
        released.
        """
        columns = {}
        for j, variable in enumerate(before.variables):
            released = after.variables[j]
            had, has = has_value(before, j), has_value(after, j)
            column: dict[str, Any] = {"known": [int(had.sum()), int(has.sum())]}
            column["changed"] = [int((~had & has).sum()), int((had & ~has).sum())]
            if released.coarse:
                pass
            elif variable.levels:
                column["levels"] = [
                    _counts(before, j, variable, had),
                    _counts(after, j, variable, has),
                ]
            elif variable.kind is Kind.NUMERIC:
                column["sums"] = [
                    _sums(cells, j, present, None if weights is None else weights[side])
                    for side, (cells, present) in enumerate(((before, had), (after, has)))
                ]
            columns[variable.name] = column
        return cls(columns)

    def combine(self, other: EffectSums) -> EffectSums:
        """Add the sums of other records."""
        for name, theirs in other.columns.items():
            ours = self.columns.get(name)
            self.columns[name] = theirs if ours is None else _combined(ours, theirs)
        return self

    def finish(
        self, variables: Sequence[Variable] = (), *, totals: bool = True
    ) -> tuple[ColumnEffect, ...]:
        """Return the effects; `variables` are those before.

        Without `totals` none are compared: weights that are not released leave no weighted ones.
        """
        kinds = {variable.name: variable for variable in variables}
        effects = (_effect(kinds[name], column) for name, column in self.columns.items())
        return tuple(effect if totals else replace(effect, total=None) for effect in effects)


def effects_of(
    before: Cells, after: _Rows, weights: tuple[np.ndarray, np.ndarray | None] | None = None
) -> tuple[ColumnEffect, ...]:
    """Return the effects on the columns of a table in memory.

    >>> before = Cells.plain(np.array([[1.0], [3.0]]), ["rent"])
    >>> effects_of(before, Cells.plain(np.array([[2.0], [2.0]]), ["rent"]))[0].total
    (4.0, 4.0)
    """
    total, dropped = EffectSums(), weights is not None and weights[1] is None
    for first in range(0, len(before), ROWS):
        rows = slice(first, min(first + ROWS, len(before)))
        chunk = weights and (weights[0][rows], None if weights[1] is None else weights[1][rows])
        total = total.combine(EffectSums.of_chunk(before.rows(rows), after.rows(rows), chunk))
    return total.finish(before.variables, totals=not dropped)


def _counts(cells: Cells, j: int, variable: Variable, present: np.ndarray) -> list[int]:
    """Count the records of each category, in the order of the categories before."""
    codes = cells.values[present, j].astype(np.int64)
    levels = cells.variables[j].levels
    if levels is not variable.levels and levels != variable.levels:
        codes = places_among(variable.levels, levels)[codes]
        codes = codes[codes >= 0]
    return np.bincount(codes, minlength=len(variable.levels)).tolist()


def _sums(
    cells: Cells, j: int, present: np.ndarray, weights: np.ndarray | None
) -> list[list[float]]:
    values = np.where(present, cells.values[:, j], 0.0)
    weight = np.where(present, 1.0 if weights is None else weights, 0.0)
    with np.errstate(over="ignore", invalid="ignore"):
        terms = np.column_stack([present, weight, weight * values, weight * values * values])
        return sums.column_sums(np.ascontiguousarray(terms, np.float64)).tolist()


def _combined(ours: dict[str, Any], theirs: dict[str, Any]) -> dict[str, Any]:
    merged: dict[str, Any] = {}
    for name in ("known", "changed"):
        merged[name] = [a + b for a, b in zip(ours[name], theirs[name], strict=True)]
    if "levels" in ours:
        merged["levels"] = [
            [a + b for a, b in zip(first, second, strict=True)]
            for first, second in zip(ours["levels"], theirs["levels"], strict=True)
        ]
    if "sums" in ours:
        merged["sums"] = []
        for first, second in zip(ours["sums"], theirs["sums"], strict=True):
            total = np.array(first)
            partial_sums.add_sums(total, np.array(second))
            merged["sums"].append(total.tolist())
    return merged


def _effect(variable: Variable, column: dict[str, Any]) -> ColumnEffect:
    known = (column["known"][0], column["known"][1])
    effect: dict[str, Any] = {}
    if "levels" in column:
        before, after = column["levels"]
        kept = [code for code, level in enumerate(variable.levels) if level is not None]
        lost = [code for code in kept if before[code] and not after[code]]
        effect["categories"] = (
            sum(before[code] > 0 for code in kept),
            sum(after[code] > 0 for code in kept),
        )
        effect |= {"lost_codes": tuple(lost), "lost_records": sum(before[code] for code in lost)}
    elif "sums" in column:
        sides = [_moments(np.array(parts), float(variable.origin)) for parts in column["sums"]]
        for name in ("mean", "total", "spread"):
            first, second = sides[0][name], sides[1][name]
            if first is not None and second is not None and not (name == "total" and variable.unit):
                effect[name] = (first, second)
    return ColumnEffect(variable.name, variable.kind.value, known, *column["changed"], **effect)


def _moments(parts: np.ndarray, origin: float) -> dict[str, float | None]:
    """Return mean, total and standard deviation; None where they are not finite."""
    count, weight, total, squares = (sums.rounded(parts, term) for term in range(TERMS))
    if not count or not weight:
        return {"mean": None, "total": None, "spread": None}
    mean = total / weight
    variance = squares / weight - mean * mean
    if variance < _PRECISE * mean * mean:
        variance = 0.0
    figures = {
        "mean": mean + origin,
        "total": total + origin * weight,
        "spread": math.sqrt(variance) if variance >= 0.0 else math.nan,
    }
    return {name: value if math.isfinite(value) else None for name, value in figures.items()}

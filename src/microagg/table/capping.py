"""Top- and bottom-coding: values beyond a limit become the limit, before groups are formed."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from typing import Any

import numpy as np

from microagg.errors import InputError
from microagg.kernels import partial_sums, sums
from microagg.table.reduction import Reduction
from microagg.table.schema import Kind
from microagg.table.suggestions import NO_QUASI
from microagg.table.variable import Cells, Variable

Limit = float | str | None


@dataclass(frozen=True)
class Capped:
    """Result of capping one column. Limits and counts are internal: they describe the original."""

    low: float | None
    high: float | None
    below: int
    above: int

    def as_data(self) -> dict[str, Any]:
        """Return the entry of the internal manifest."""
        return {"low": self.low, "high": self.high, "below": self.below, "above": self.above}


def cap_cells(
    cells: Cells, caps: Mapping[str, tuple[Limit, Limit]]
) -> tuple[Cells, dict[str, Capped]]:
    """Set values beyond the limits of their columns to them; return the cells and what was done.

    Special codes and missing cells stay as they are.

    >>> income = Cells.plain(np.array([[3.0], [900.0]]), ["income"])
    >>> cells, done = cap_cells(income, {"income": (None, 10.0)})
    >>> cells.values[:, 0].tolist(), done["income"].above
    ([3.0, 10.0], 1)
    """
    limits, done = find_limits(cells, caps)
    return cells if limits is None else limits.cells(cells), done


def find_limits(
    cells: Cells, caps: Mapping[str, tuple[Limit, Limit]]
) -> tuple[Limits | None, dict[str, Capped]]:
    """Return the limits that caps come to in a table, and what they do to each column.

    >>> income = Cells.plain(np.array([[3.0], [900.0]]), ["income"])
    >>> find_limits(income, {"income": (None, 10.0)})[0]
    Limits(of_columns={0: (None, 10.0)})
    """
    coded_caps = caps_in_terms(cells.variables, caps)
    limits = resolve_limits(cells.names, coded_caps, functools.partial(_quantile, cells.values))
    if not coded_caps:
        return None, {}
    counts = CapCounts.of_chunk({j: cells.values[:, j] for j in limits.of_columns}, limits)
    return limits, limits_in_terms(cells.variables, counts.by_name(cells.names, limits))


QuantileLookup = Callable[[int, float, str], float | None]
"""`quantile(j, share, method)`: a quantile of the values of column j; None where it has none."""


def resolve_limits(
    names: Sequence[str], caps: Mapping[str, tuple[Limit, Limit]], quantile: QuantileLookup
) -> Limits:
    """Return the limits of columns, with numbers in place of percentiles.

    >>> resolve_limits(["age"], {"age": (18.0, "90%")}, lambda j, share, method: 70.0)
    Limits(of_columns={0: (18.0, 70.0)})
    """
    check_unknown(names, caps)
    limits = {}
    for name, (lowest, highest) in caps.items():
        j = list(names).index(name)
        low = _resolve_limit(j, lowest, quantile, top=False)
        limits[j] = ordered_limits(name, low, _resolve_limit(j, highest, quantile, top=True))
    return Limits(limits)


def _resolve_limit(j: int, limit: Limit, quantile: QuantileLookup, *, top: bool) -> float | None:
    if not isinstance(limit, str):
        return limit
    share, method = quantile_asked(limit, top=top)
    value, median = quantile(j, share, method), quantile(j, 0.5, method)
    if value is None or median is None:
        return None
    return rounded_limit(value, median, top=top)


def _quantile(values: np.ndarray, j: int, share: float, method: str) -> float | None:
    """Return a quantile of a column of a matrix, without its missing cells."""
    present = values[~np.isnan(values[:, j]), j]
    if len(present) == 0:
        return None
    return float(np.quantile(present, share, method=method))  # pyright: ignore


@dataclass
class CapCounts(Reduction):
    """Capped columns: the sums of their values within the limits, and how many lie beyond."""

    totals: dict[int, np.ndarray]
    """Sums in three parts."""
    beyond: dict[int, tuple[int, int]]
    """Number of values below the lowest, and above the highest."""

    @classmethod
    def of_chunk(cls, columns: Mapping[int, np.ndarray], limits: Limits) -> CapCounts:
        """Count the values of a chunk, by column; NaN where a cell has none."""
        counts = cls({}, {})
        for j, pair in limits.of_columns.items():
            values = columns[j][~np.isnan(columns[j])]
            within = np.ascontiguousarray(clipped(values, *pair)).reshape(-1, 1)
            counts.totals[j] = sums.column_sums(within)
            counts.beyond[j] = beyond(values, *pair)
        return counts

    def combine(self, other: CapCounts) -> CapCounts:
        """Add another chunk."""
        for j, total in other.totals.items():
            partial_sums.add_sums(self.totals[j], total)
            (below, above), more = self.beyond[j], other.beyond[j]
            self.beyond[j] = below + more[0], above + more[1]
        return self

    def by_name(self, names: Sequence[str], limits: Limits) -> dict[str, Capped]:
        """Return the result of capping each column."""
        return {names[j]: Capped(*pair, *self.beyond[j]) for j, pair in limits.of_columns.items()}


def caps_in_terms(
    variables: Sequence[Variable], caps: Mapping[str, tuple[Limit, Limit]]
) -> dict[str, tuple[Limit, Limit]]:
    """The caps on the scales that the numbers of cells have; refused for columns that are no plain
    numbers.

    >>> caps_in_terms([Variable("year", origin=1900)], {"year": (None, 1960.0)})
    {'year': (None, 60.0)}
    """
    for variable in variables:
        if variable.name in caps:
            _check_uncappable(variable)
    origins = {item.name: item.origin for item in variables}
    return {
        name: (_minus(low, origins.get(name, 0)), _minus(high, origins.get(name, 0)))
        for name, (low, high) in caps.items()
    }


def limits_in_terms(variables: Sequence[Variable], done: Mapping[str, Capped]) -> dict[str, Capped]:
    """Return results with limits in the terms of the columns themselves."""
    converted = dict(done)
    for variable in variables:
        if variable.name in done and variable.origin:
            capped = done[variable.name]
            low, high = (
                None if limit is None else float(limit + float(variable.origin))
                for limit in (capped.low, capped.high)
            )
            converted[variable.name] = replace(capped, low=low, high=high)
    return converted


@dataclass(frozen=True)
class Limits:
    """The lowest and the highest value that some columns are let, by their places among the
    columns; None where nothing is said.
    """

    of_columns: dict[int, tuple[float | None, float | None]]

    def cells(self, cells: Cells) -> Cells:
        """The cells with values beyond the limits set to them.

        >>> Limits({0: (None, 10.0)}).cells(
        ...     Cells.plain(np.array([[3.0], [900.0]]), ["income"])
        ... ).values[:, 0].tolist()
        [3.0, 10.0]
        """
        values = cells.values.copy()
        for j in self.of_columns:
            values[:, j] = self.column(j, values[:, j])
        return replace(cells, values=values)

    def column(self, j: int, values: np.ndarray) -> np.ndarray:
        """The values of one column, or some of them."""
        return clipped(values, *self.of_columns.get(j, (None, None)))


def clipped(values: np.ndarray, low: float | None, high: float | None) -> np.ndarray:
    """The values from `low` to `high`; NaN stays NaN.

    >>> clipped(np.array([1.0, 5.0]), None, 3.0).tolist()
    [1.0, 3.0]
    """
    if low is None and high is None:  # numpy before 2.1 wants one of them
        return values
    return np.clip(values, low, high)


def _check_uncappable(variable: Variable) -> None:
    if variable.kind is not Kind.NUMERIC:
        raise InputError(
            f"cap names {variable.name!r}, which is {variable.kind}; only numbers can be "
            f"capped, so leave it out."
        )
    if variable.unit:
        raise InputError(
            f"cap names {variable.name!r}, which holds times; only plain numbers can be "
            f"capped, so leave it out."
        )


def _minus(limit: Limit, origin: int | Decimal) -> Limit:
    """A limit on the scale of a column whose numbers are differences from `origin`."""
    return (
        limit
        if not origin or not isinstance(limit, float | int)
        else float(Decimal(repr(limit)) - origin)
    )


def cap_values(
    values: np.ndarray, names: Sequence[str], caps: Mapping[str, tuple[Limit, Limit]]
) -> tuple[np.ndarray, dict[str, Capped]]:
    """The values with those beyond the limits of their columns set to them, and what was done to
    each column.

    The array that was given is left as it is; where nothing is asked for, it is the one that comes
    back. NaN stays NaN.

    >>> values, done = cap_values(
    ...     np.array([[3.0], [4.0], [5.0], [900.0]]), ["income"], {"income": (None, "99%")}
    ... )
    >>> values[:, 0].tolist(), done["income"].above
    ([3.0, 4.0, 5.0, 5.0], 1)
    """
    limits = resolve_limits(names, caps, functools.partial(_quantile, values))
    if not caps:
        return values, {}
    counts = CapCounts.of_chunk({j: values[:, j] for j in limits.of_columns}, limits)
    values = values.copy()
    for j in limits.of_columns:
        values[:, j] = limits.column(j, values[:, j])
    return values, counts.by_name(names, limits)


def check_unknown(names: Sequence[str], caps: Mapping[str, Any]) -> None:
    """Raise where caps name a column that is not among these."""
    for name in caps:
        if name not in names:
            raise InputError(NO_QUASI.format("cap", name))


def ordered_limits(
    name: str, low: float | None, high: float | None
) -> tuple[float | None, float | None]:
    """Both limits of a column; refused where they leave no value."""
    if low is not None and high is not None and low > high:
        raise InputError(f"the cap of {name!r} leaves no value: its lowest is above its highest.")
    return low, high


def beyond(column: np.ndarray, low: float | None, high: float | None) -> tuple[int, int]:
    """Count the values below the lowest, and above the highest.

    >>> beyond(np.array([1.0, 2.0, np.nan]), 2.0, None)
    (1, 0)
    """
    below = 0 if low is None else int((column < low).sum())
    return below, 0 if high is None else int((column > high).sum())


def limit_of(column: np.ndarray, limit: Limit, *, top: bool) -> float | None:
    """The value beyond which a column is not let; that of a percentile is rounded towards the
    middle of the column.

    It keeps two digits of its distance from the median, so that it is no value of one record, and
    never the largest.

    >>> limit_of(np.append(np.full(999, 3000.0), 48731.0) + np.arange(1000.0), "99.9%", top=True)
    3990.0
    """
    values = column.reshape(-1, 1)
    return _resolve_limit(0, limit, functools.partial(_quantile, values), top=top)


def quantile_asked(limit: str, *, top: bool) -> tuple[float, str]:
    """The share of values that a percentile names, and which of two neighbours is taken: the one
    that lies farther inside.

    >>> quantile_asked("99.5%", top=True)
    (0.995, 'lower')
    """
    return float(limit[:-1]) / 100.0, "lower" if top else "higher"


def rounded_limit(limit: float, median: float, *, top: bool) -> float:
    """The limit that a percentile becomes: rounded towards the middle of the column; a zero has no
    sign.

    >>> rounded_limit(3998.0, 3499.0, top=True)
    3990.0
    """
    limit, median = limit + 0.0, median + 0.0
    distance = abs(limit - median)
    if distance == 0.0:
        return limit
    step = Decimal(1).scaleb(math.floor(math.log10(distance)) - 1)
    steps = (Decimal(repr(limit)) / step).to_integral_value(ROUND_FLOOR if top else ROUND_CEILING)
    return float(steps * step)

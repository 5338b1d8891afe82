"""Top- and bottom-coding: values beyond a limit become the limit, before groups are formed."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from typing import Any

import numpy as np

from microagg.errors import InputError
from microagg.table.schema import Kind
from microagg.table.variable import Cells, Variable

Limit = float | str | None


@dataclass(frozen=True)
class Capped:
    """What capping did to one column; the limits and the counts tell of the original, so they stay
    inside.
    """

    low: float | None
    high: float | None
    below: int
    above: int

    def as_data(self) -> dict[str, Any]:
        """What the internal manifest says of it."""
        return {"low": self.low, "high": self.high, "below": self.below, "above": self.above}


def cap_cells(
    cells: Cells, caps: Mapping[str, tuple[Limit, Limit]]
) -> tuple[Cells, dict[str, Capped]]:
    """The cells with values beyond the limits of their columns set to them, and what was done;
    atoms stay as they are.

    >>> cells, done = cap_cells(Cells.plain(np.array([[3.0], [900.0]]), ["income"]), {"income": (None, 10.0)})
    >>> cells.values[:, 0].tolist(), done["income"].above
    ([3.0, 10.0], 1)
    """
    shifted = caps_in_terms(cells.variables, caps)
    values, done = cap_values(cells.values, cells.names, shifted)
    return (cells if values is cells.values else replace(cells, values=values)), limits_in_terms(
        cells.variables, done
    )


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
    origins = {each.name: each.origin for each in variables}
    return {
        name: (_minus(low, origins.get(name, 0)), _minus(high, origins.get(name, 0)))
        for name, (low, high) in caps.items()
    }


def limits_in_terms(variables: Sequence[Variable], done: Mapping[str, Capped]) -> dict[str, Capped]:
    """What was done, with limits as the columns themselves count."""
    told = dict(done)
    for variable in variables:
        if variable.name in done and variable.origin:
            own = done[variable.name]
            low, high = (
                None if each is None else float(each + float(variable.origin))
                for each in (own.low, own.high)
            )
            told[variable.name] = replace(own, low=low, high=high)
    return told


@dataclass(frozen=True)
class Limits:
    """The lowest and the highest value that some columns are let, by their places among the
    columns; None where nothing is said.
    """

    of_columns: dict[int, tuple[float | None, float | None]]

    def cells(self, cells: Cells) -> Cells:
        """The cells with values beyond the limits set to them.

        >>> Limits({0: (None, 10.0)}).cells(Cells.plain(np.array([[3.0], [900.0]]), ["income"])).values[:, 0].tolist()
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

    >>> values, done = cap_values(np.array([[3.0], [4.0], [5.0], [900.0]]), ["income"], {"income": (None, "99%")})
    >>> values[:, 0].tolist(), done["income"].above
    ([3.0, 4.0, 5.0, 5.0], 1)
    """
    check_unknown(names, caps)
    if not caps:
        return values, {}
    values, done = values.copy(), {}
    for name, (lowest, highest) in caps.items():
        column = values[:, list(names).index(name)]
        low, high = ordered_limits(
            name, limit_of(column, lowest, top=False), limit_of(column, highest, top=True)
        )
        done[name] = Capped(low, high, *beyond(column, low, high))
        column[:] = clipped(column, low, high)
    return values, done


def check_unknown(names: Sequence[str], caps: Mapping[str, Any]) -> None:
    """Raise where caps name a column that is not among these."""
    for name in caps:
        if name not in names:
            raise InputError(
                f"cap names {name!r}, which is no quasi-identifying column; others are not changed."
            )


def ordered_limits(
    name: str, low: float | None, high: float | None
) -> tuple[float | None, float | None]:
    """Both limits of a column; refused where they leave no value."""
    if low is not None and high is not None and low > high:
        raise InputError(f"the cap of {name!r} leaves no value: its lowest is above its highest.")
    return low, high


def beyond(column: np.ndarray, low: float | None, high: float | None) -> tuple[int, int]:
    """How many values lie below the lowest, and above the highest.

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
    if not isinstance(limit, str):
        return limit
    share, method = quantile_asked(limit, top=top)
    known = column[~np.isnan(column)]
    if len(known) == 0:
        return None
    found, median = (float(np.quantile(known, part, method=method)) for part in (share, 0.5))  # pyright: ignore
    return rounded_limit(found, median, top=top)


def quantile_asked(limit: str, *, top: bool) -> tuple[float, str]:
    """The share of values that a percentile names, and which of two neighbours is taken: the one
    that lies farther inside.

    >>> quantile_asked("99.5%", top=True)
    (0.995, 'lower')
    """
    return float(limit[:-1]) / 100.0, "lower" if top else "higher"


def rounded_limit(found: float, median: float, *, top: bool) -> float:
    """The limit that a percentile becomes: rounded towards the middle of the column; a zero has no
    sign.

    >>> rounded_limit(3998.0, 3499.0, top=True)
    3990.0
    """
    found, median = found + 0.0, median + 0.0
    distance = abs(found - median)
    if distance == 0.0:
        return found
    step = Decimal(1).scaleb(math.floor(math.log10(distance)) - 1)
    steps = (Decimal(repr(found)) / step).to_integral_value(ROUND_FLOOR if top else ROUND_CEILING)
    return float(steps * step)


def note_on_capped(done: Mapping[str, Capped]) -> tuple[str, ...]:
    """How many values were capped, column by column: for the data holder.

    >>> note_on_capped({"income": Capped(None, 5.0, 0, 3)})
    ("capped, and the loss measured against what they were: 3 values of 'income'",)
    """
    if not done:
        return ()
    counts = {name: each.below + each.above for name, each in done.items()}
    told = (
        f"{count:,} {'value' if count == 1 else 'values'} of {name!r}"
        for name, count in counts.items()
    )
    return (f"capped, and the loss measured against what they were: {', '.join(told)}",)

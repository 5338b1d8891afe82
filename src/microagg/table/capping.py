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
    """What capping did to one column; the limits and the counts tell of the original, so they stay inside."""

    low: float | None
    high: float | None
    below: int
    above: int

    def as_data(self) -> dict[str, Any]:
        """What the internal manifest says of it."""
        return {"low": self.low, "high": self.high, "below": self.below, "above": self.above}


def cap_cells(cells: Cells, caps: Mapping[str, tuple[Limit, Limit]]) -> tuple[Cells, dict[str, Capped]]:
    """The cells with values beyond the limits of their columns set to them, and what was done; atoms stay as they are.

    >>> cells, done = cap_cells(Cells.plain(np.array([[3.0], [900.0]]), ["income"]), {"income": (None, 10.0)})
    >>> cells.values[:, 0].tolist(), done["income"].above
    ([3.0, 10.0], 1)
    """
    for variable in cells.variables:
        if variable.name in caps:
            _refuse_uncappable(variable)
    origins = {each.name: each.origin for each in cells.variables if each.name in caps and each.origin}
    shifted = {
        name: (_minus(low, origins.get(name, 0)), _minus(high, origins.get(name, 0)))
        for name, (low, high) in caps.items()
    }
    values, done = cap_values(cells.values, cells.names, shifted)
    for name, origin in origins.items():  # told as the column counts
        low, high = (
            None if each is None else float(each + float(origin))
            for each in (done[name].low, done[name].high)
        )
        done[name] = replace(done[name], low=low, high=high)
    return (cells if values is cells.values else replace(cells, values=values)), done


def _refuse_uncappable(variable: Variable) -> None:
    if variable.kind is not Kind.NUMERIC:
        raise InputError(
            f"cap names {variable.name!r}, which is {variable.kind}; only numbers can be capped, so leave it out."
        )
    if variable.unit:
        raise InputError(
            f"cap names {variable.name!r}, which holds times; only plain numbers can be capped, so leave it out."
        )


def _minus(limit: Limit, origin: int | Decimal) -> Limit:
    """A limit on the scale of a column whose numbers are differences from `origin`."""
    return limit if not origin or not isinstance(limit, float | int) else float(Decimal(repr(limit)) - origin)


def cap_values(
    values: np.ndarray, names: Sequence[str], caps: Mapping[str, tuple[Limit, Limit]]
) -> tuple[np.ndarray, dict[str, Capped]]:
    """The values with those beyond the limits of their columns set to them, and what was done to each column.

    The array that was given is left as it is; where nothing is asked for, it is the one that comes back. NaN stays NaN.

    >>> values, done = cap_values(np.array([[3.0], [4.0], [5.0], [900.0]]), ["income"], {"income": (None, "99%")})
    >>> values[:, 0].tolist(), done["income"].above
    ([3.0, 4.0, 5.0, 5.0], 1)
    """
    for name in caps:
        if name not in names:
            raise InputError(
                f"cap names {name!r}, which is no quasi-identifying column; others are not changed."
            )
    if not caps:
        return values, {}
    values, done = values.copy(), {}
    for name, (lowest, highest) in caps.items():
        column = values[:, list(names).index(name)]
        low, high = limit_of(column, lowest, top=False), limit_of(column, highest, top=True)
        if low is not None and high is not None and low > high:
            raise InputError(f"the cap of {name!r} leaves no value: its lowest is above its highest.")
        below = 0 if low is None else int((column < low).sum())
        above = 0 if high is None else int((column > high).sum())
        if low is not None or high is not None:  # numpy before 2.1 wants one of them
            np.clip(column, low, high, out=column)
        done[name] = Capped(low, high, below, above)
    return values, done


def limit_of(column: np.ndarray, limit: Limit, *, top: bool) -> float | None:
    """The value beyond which a column is not let; that of a percentile is rounded towards the middle of the column.

    It keeps two digits of its distance from the median, so that it is no value of one record, and never the largest.

    >>> limit_of(np.append(np.full(999, 3000.0), 48731.0) + np.arange(1000.0), "99.9%", top=True)
    3990.0
    """
    if not isinstance(limit, str):
        return limit
    share = float(limit[:-1]) / 100.0
    method = "lower" if top else "higher"
    known = column[~np.isnan(column)]
    if len(known) == 0:
        return None
    found, median = (float(np.quantile(known, part, method=method)) for part in (share, 0.5))
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
    told = (f"{count:,} {'value' if count == 1 else 'values'} of {name!r}" for name, count in counts.items())
    return (f"capped, and the loss measured against what they were: {', '.join(told)}",)

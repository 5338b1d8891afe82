"""The numbers of a column written as its values, for the ends of ranges and for hierarchies: times
as their type has them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa

from microagg.table.aggregates import Texts
from microagg.table.coarse import texts_of
from microagg.table.columns.arrow import compute as pc
from microagg.table.columns.frames import to_arrow
from microagg.table.variable import Variable


def texts_like(frame: nw.DataFrame[Any]) -> Texts:
    """What writes numbers of the columns of this table: stamps on the clock of their zone,
    durations as days and hours.

    >>> import datetime
    >>> frame = nw.from_native(pa.table({"lasts": [datetime.timedelta(hours=30)]}), eager_only=True)
    >>> texts_like(frame)(Variable("lasts", origin=30 * 3600, unit="s"), np.array([0.0, 1.0]))
    ['1 days 06:00:00', '1 days 06:00:01']
    """

    def texts(variable: Variable, numbers: np.ndarray) -> list[str]:
        if not variable.unit:
            return texts_of(variable, numbers)
        kind = to_arrow(frame.select(variable.name)).schema.field(0).type
        ticks = np.rint(numbers).astype(np.int64) + int(variable.origin)
        return _writer(kind, variable)(ticks, variable.unit)

    return texts


def _writer(kind: pa.DataType, variable: Variable) -> Callable[[np.ndarray, str], list[str]]:
    if pa.types.is_duration(kind):
        return _durations
    if pa.types.is_time(kind):
        return _times_of_day
    if isinstance(kind, pa.TimestampType) and kind.tz is not None and not variable.wall:
        zone = kind.tz
        return lambda ticks, unit: _stamps(*_on_the_clock(ticks, unit, zone))
    return _stamps


def _stamps(ticks: np.ndarray, unit: str) -> list[str]:
    """Points in time as ISO 8601 has them; days alone where nothing is finer."""
    return np.datetime_as_string(ticks.astype(f"datetime64[{unit}]")).tolist()


def _on_the_clock(ticks: np.ndarray, unit: str, zone: str) -> tuple[np.ndarray, str]:
    """What the clocks of a zone show at stamps that count from Greenwich."""
    if unit == "D":
        ticks, unit = ticks * 86_400, "s"
    local = pc.local_timestamp(pa.array(ticks).cast(pa.timestamp(unit, zone)))
    return local.cast(pa.int64()).to_numpy(zero_copy_only=False), unit


def _times_of_day(ticks: np.ndarray, unit: str) -> list[str]:
    if unit == "D":  # nothing but midnight
        ticks, unit = ticks * 86_400, "s"
    return [text.partition("T")[2] for text in _stamps(ticks, unit)]


def _durations(ticks: np.ndarray, unit: str) -> list[str]:
    """Days, and hours where there are any: "-1 days 06:00:00" is thirty hours less than nothing."""
    each = {"D": 1, "s": 86_400, "ms": 86_400_000, "us": 86_400_000_000, "ns": 86_400_000_000_000}[
        unit
    ]
    days, rest = np.divmod(np.abs(ticks), each)
    signs = np.where(ticks < 0, "-", "")
    heads = [f"{sign}{day} days" for sign, day in zip(signs.tolist(), days.tolist(), strict=True)]
    if unit == "D":
        return heads
    return [f"{head} {tail}" for head, tail in zip(heads, _times_of_day(rest, unit), strict=True)]

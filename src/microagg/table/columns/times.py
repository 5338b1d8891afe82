"""Dates, stamps, durations and times of day as whole numbers of a unit, and back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from microagg.table.columns.arrow import compute as pc

NANOSECONDS = {
    "D": 86_400_000_000_000,
    "h": 3_600_000_000_000,
    "min": 60_000_000_000,
    "s": 1_000_000_000,
    "ms": 1_000_000,
    "us": 1_000,
    "ns": 1,
}
COUNTED = ("D", "s", "ms", "us", "ns")


@dataclass(frozen=True)
class Resolution:
    """How fine the values of a column are: so many (`step`) of a unit."""

    unit: str
    step: int

    @property
    def nanoseconds(self) -> int:
        return NANOSECONDS[self.unit] * self.step


def is_time(kind: pa.DataType) -> bool:
    """Whether a type holds points or lengths of time."""
    return bool(pa.types.is_temporal(kind) and not pa.types.is_interval(kind))


def unit_of(kind: Any) -> str:
    """What a type counts; dates count days, however they are stored."""
    return "D" if pa.types.is_date(kind) else kind.unit


def ticks_of(column: pa.ChunkedArray) -> np.ndarray:
    """(n,) int64: how many units of its type each value is from the beginning; 0 where it is
    missing.

    >>> import datetime
    >>> ticks_of(pa.chunked_array([[datetime.date(1970, 1, 3), None]])).tolist()
    [2, 0]
    """
    if pa.types.is_date64(column.type):
        column = pc.cast(column, pa.date32(), safe=False)
    narrow = pa.types.is_date32(column.type) or pa.types.is_time32(column.type)
    counts = pc.cast(column, pa.int32() if narrow else pa.int64())
    return pc.fill_null(counts, 0).to_numpy().astype(np.int64)


def of_ticks(ticks: np.ndarray, kind: pa.DataType, missing: np.ndarray | None = None) -> pa.Array:
    """A column of this type from its ticks: the way back."""
    if pa.types.is_date(kind):
        return pc.cast(pa.array(ticks.astype(np.int32), mask=missing).cast(pa.date32()), kind)
    narrow = pa.types.is_time32(kind)
    return pa.array(ticks.astype(np.int32) if narrow else ticks, mask=missing).cast(kind)


def resolution_by(divisor: int | None, unit: str) -> Resolution:
    """The largest of day, hour, minute, second, ms, us and ns that divides all ticks, by their
    greatest common divisor; None for no ticks.

    >>> resolution_by(3600, "s"), resolution_by(86400000, "ms").unit
    (Resolution(unit='s', step=3600), 'D')
    """
    common = NANOSECONDS[unit] if divisor is None else divisor * NANOSECONDS[unit]
    span = next(span for span in NANOSECONDS.values() if common % span == 0)
    counted = next(name for name in COUNTED if NANOSECONDS[name] <= span)
    return Resolution(counted, span // NANOSECONDS[counted])


def since(ticks: np.ndarray, origin: int) -> np.ndarray:
    """(n,) uint64: how far from the least of them they are, which may be more than int64 holds."""
    return ticks.view(np.uint64) - np.uint64(origin % 2**64)


def on_the_wall(column: pa.ChunkedArray) -> pa.ChunkedArray | None:
    """What the clocks of a column's zone show; None where these do not tell all of its stamps
    apart.
    """
    try:
        local = pc.local_timestamp(column)
    except pa.ArrowInvalid:  # a zone that this machine does not know
        return None
    same = pc.all(pc.equal(from_the_wall(local, column.type), column)).as_py()
    return None if same is False else local


def from_the_wall(local: Any, kind: Any) -> Any:
    """Stamps of a zone from what its clocks show; hours that come twice are taken for the first,
    skipped ones for the next there is.
    """
    return pc.assume_timezone(local, kind.tz, ambiguous="earliest", nonexistent="latest")


def tick_of(code: Any, kind: Any) -> int | None:
    """The ticks of a date or time that was given by itself, as an object of Python or as text; None
    if it is none.

    >>> tick_of("1970-01-03", pa.date32())
    2
    """
    zoned = pa.types.is_timestamp(kind) and kind.tz is not None
    local = pa.timestamp(kind.unit) if zoned and getattr(code, "tzinfo", None) is None else kind
    ways = (
        lambda: pa.scalar(code, local),
        lambda: pa.scalar(code).cast(local),
        lambda: pa.scalar(code).cast(pa.date32()).cast(local),
        lambda: pa.scalar(code).cast(kind),  # text that tells its zone
    )
    for way in ways:
        try:
            scalar = way()
            scalar = scalar if scalar.type == kind else from_the_wall(scalar, kind)
            return int(ticks_of(pa.chunked_array([pa.repeat(scalar, 1)]))[0])
        except (pa.ArrowException, TypeError, ValueError, OverflowError):
            continue
    return None

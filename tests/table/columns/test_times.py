"""Dates and times as whole numbers and back: units, zones, and what cannot be told apart."""

from __future__ import annotations

import datetime
import math
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from microagg.table.columns.times import (
    NANOSECONDS,
    Resolution,
    from_the_wall,
    is_time,
    of_ticks,
    on_the_wall,
    resolution_by,
    since,
    tick_of,
    ticks_of,
    unit_of,
)

KINDS = [
    pa.date32(),
    pa.date64(),
    *(pa.timestamp(unit) for unit in ("s", "ms", "us", "ns")),
    *(pa.duration(unit) for unit in ("s", "ms", "us", "ns")),
    pa.time32("s"),
    pa.time32("ms"),
    pa.time64("us"),
    pa.time64("ns"),
    pa.timestamp("s", "Europe/Berlin"),
]


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_ticks_and_back(kind: Any) -> None:
    ticks = np.array([0, 3, 86_399 if pa.types.is_time(kind) else -5, 1], np.int64)
    missing = np.array([False, False, False, True])
    column = of_ticks(ticks, kind, missing)
    assert column.type == kind
    assert column.is_null().to_pylist() == missing.tolist()
    assert ticks_of(pa.chunked_array([column])).tolist() == [*ticks[:3].tolist(), 0]
    assert of_ticks(ticks, kind).null_count == 0
    assert is_time(kind)
    per_day = {"D": 1, "s": 86_400, "ms": 86_400_000, "us": 86_400 * 10**6, "ns": 86_400 * 10**9}
    day = of_ticks(np.array([per_day[unit_of(kind)] - 1]), kind)
    assert ticks_of(pa.chunked_array([day]))[0] == per_day[unit_of(kind)] - 1


def test_what_is_no_time() -> None:
    for kind in (pa.int64(), pa.string(), pa.month_day_nano_interval()):
        assert not is_time(kind)


@pytest.mark.parametrize("unit", ["D", "s", "ms", "us", "ns"])
@pytest.mark.parametrize("divisor", [None, 1, 2, 60, 90, 3600, 7200, 86_400, 1000, 60_000])
def test_the_largest_unit_that_divides_all(unit: str, divisor: int | None) -> None:
    common = (divisor or 1) * NANOSECONDS[unit]
    result = resolution_by(divisor, unit)
    spans = [86_400 * 10**9, 3600 * 10**9, 60 * 10**9, 10**9, 10**6, 1000, 1]
    assert result.nanoseconds == next(span for span in spans if common % span == 0)
    assert result.unit in ("D", "s", "ms", "us", "ns")
    assert result == Resolution(result.unit, result.nanoseconds // NANOSECONDS[result.unit])
    assert (result.step > 1) == (result.nanoseconds in spans[1:3])


def test_distances_beyond_what_a_signed_number_holds() -> None:
    ticks = np.array([-(2**63), 0, 2**63 - 1], np.int64)
    assert since(ticks, -(2**63)).tolist() == [0, 2**63, 2**64 - 1]
    assert since(np.array([5, 9], np.int64), 5).tolist() == [0, 4]


def moments(*hours: float, zone: str = "Europe/Berlin") -> pa.ChunkedArray:
    """Moments on the day on which clocks are put back (2024-10-27), by hours in UTC."""
    first = datetime.datetime(2024, 10, 27, tzinfo=datetime.UTC)
    stamps = [
        None if math.isnan(hour) else first + datetime.timedelta(hours=hour) for hour in hours
    ]
    return pa.chunked_array([pa.array(stamps, pa.timestamp("s", zone))])


def test_local_times_must_tell_all_moments_apart() -> None:
    usual = moments(-5.0, 0.5, 3.0, math.nan)
    local = on_the_wall(usual)
    assert local is not None
    assert [None if x is None else x.hour for x in local.to_pylist()] == [21, 2, 4, None]
    assert from_the_wall(local, usual.type).equals(usual)
    assert on_the_wall(moments(0.5, 1.5)) is None, "the second of two hours of one name"
    gone = pa.chunked_array([pa.array([datetime.datetime(2024, 3, 31, 2, 30)], pa.timestamp("s"))])
    assert ticks_of(from_the_wall(gone, usual.type))[0] == 1_711_846_800
    assert on_the_wall(pa.chunked_array([pa.array([0], pa.timestamp("s", "Nowhere/Else"))])) is None


@pytest.mark.parametrize(
    ("code", "kind", "ticks"),
    [
        (datetime.date(1970, 1, 3), pa.date32(), 2),
        ("1970-01-03", pa.date64(), 2),
        ("1970-01-03", pa.timestamp("s"), 2 * 86_400),
        (datetime.date(1970, 1, 3), pa.timestamp("ms"), 2 * 86_400_000),
        ("1970-01-01 00:00:05", pa.timestamp("s"), 5),
        (datetime.datetime(1970, 1, 1, 0, 0, 5), pa.timestamp("us"), 5_000_000),
        ("1970-01-01 01:00:05", pa.timestamp("s", "Europe/Berlin"), 5),
        ("1970-01-01 00:00:05Z", pa.timestamp("s", "Europe/Berlin"), 5),
        (
            datetime.datetime(1970, 1, 1, 0, 0, 5, tzinfo=datetime.UTC),
            pa.timestamp("s", "Europe/Berlin"),
            5,
        ),
        (datetime.time(0, 1), pa.time32("s"), 60),
        (datetime.timedelta(minutes=2), pa.duration("s"), 120),
        ("no date", pa.date32(), None),
        ([], pa.date32(), None),
    ],
)
def test_the_ticks_of_one_time(code: Any, kind: Any, ticks: int | None) -> None:
    assert tick_of(code, kind) == ticks

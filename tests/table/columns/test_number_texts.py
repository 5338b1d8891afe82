"""Numbers of a column written as its values: times as their type has them."""

from __future__ import annotations

import datetime as dt
from zoneinfo import ZoneInfo

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from microagg.table.aggregate import aggregated
from microagg.table.columns.number_texts import texts_like
from microagg.table.variable import Cells, Variable

BERLIN = ZoneInfo("Europe/Berlin")
STAMPS = [dt.datetime(2024, 1, 5, 8, 30), dt.datetime(2024, 7, 5, 23, 15)]


def written(column: pa.Array, unit: str, ticks: list[int]) -> list[str]:
    frame = nw.from_native(pa.table({"x": column}), eager_only=True)
    variable = Variable("x", origin=min(ticks), unit=unit)
    return texts_like(frame)(variable, np.array(ticks, float) - min(ticks))


def seconds(stamp: dt.datetime) -> int:
    return int(stamp.replace(tzinfo=stamp.tzinfo or dt.UTC).timestamp())


def test_dates() -> None:
    days = [dt.date(1969, 12, 30), dt.date(2024, 2, 29)]
    ticks = [(day - dt.date(1970, 1, 1)).days for day in days]
    assert written(pa.array(days), "D", ticks) == [day.isoformat() for day in days]


def test_stamps_without_a_zone() -> None:
    texts = written(pa.array(STAMPS, pa.timestamp("s")), "s", [seconds(stamp) for stamp in STAMPS])
    assert texts == [stamp.isoformat() for stamp in STAMPS]


def test_stamps_with_a_zone_are_what_its_clocks_show() -> None:
    ticks = [seconds(stamp.replace(tzinfo=BERLIN)) for stamp in STAMPS]
    column = pa.array(ticks, pa.int64()).cast(pa.timestamp("s", "Europe/Berlin"))
    assert written(column, "s", ticks) == [stamp.isoformat() for stamp in STAMPS]


def test_midnights_of_greenwich_in_another_zone() -> None:
    column = pa.array([0, 86_400]).cast(pa.timestamp("s", "Europe/Berlin"))
    assert written(column, "D", [0, 1]) == ["1970-01-01T01:00:00", "1970-01-02T01:00:00"]


@pytest.mark.parametrize(("unit", "step"), [("s", 1), ("ms", 1000), ("us", 10**6)])
def test_times_of_day(unit: str, step: int) -> None:
    day = [dt.time(0, 0, 5), dt.time(23, 59, 58)]
    kind = pa.time64("us") if unit == "us" else pa.time32(unit)
    texts = written(pa.array(day, kind), unit, [5 * step, 86_398 * step])
    assert [dt.time.fromisoformat(text) for text in texts] == day
    assert written(pa.array(day, kind), "D", [0]) == ["00:00:00"]


def test_durations() -> None:
    column = pa.array([0], pa.duration("s"))
    assert written(column, "s", [-108_000, 0, 90_061]) == [
        "-1 days 06:00:00",
        "0 days 00:00:00",
        "1 days 01:01:01",
    ]
    assert written(column, "D", [2, 40]) == ["2 days", "40 days"]


@pytest.mark.parametrize("library", ["pandas", "polars", "arrow"])
def test_the_ends_of_ranges(library: str) -> None:
    days = [dt.date(2024, 2, 28), dt.date(2024, 3, 1)]
    makers = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "arrow": pa.table}
    frame = nw.from_native(makers[library]({"born": days, "age": [3, 4]}), eager_only=True)
    first = (days[0] - dt.date(1970, 1, 1)).days
    cells = Cells(
        (Variable("born", origin=first, unit="D"), Variable("age")),
        np.array([[0.0, 3.0], [2.0, 4.0]]),
    )
    how = {"born": "range", "age": "range"}
    result = aggregated(cells, np.zeros(2, np.int32), how=how, k=2, texts=texts_like(frame)).cells
    assert [variable.levels for variable in result.variables] == [
        ("2024-02-28..2024-03-01",),
        ("3..4",),
    ]

"""Columns of every type that a quasi-identifier can be of: what cells are read from and given back
as.
"""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa

TOWNS = ["Ulm", "Bonn", "Ulm", "Kiel", "bonn", "Ulm"]
LEVELS = ["Ulm", "Kiel", "Aken", "bonn", "Bonn", "Zug"]
DAYS = [dt.date(2024, 2, day) for day in (29, 3, 29, 7, 11, 3)]
STAMPS = [dt.datetime(2024, 3, day, 2 * day, 15) for day in (1, 3, 1, 7, 11, 3)]
TIMES = [dt.time(hour, 30) for hour in (1, 3, 1, 7, 11, 3)]
SPANS = [dt.timedelta(hours=hour) for hour in (1, 30, 1, 7, 11, 30)]
AMOUNTS = [Decimal(text) for text in ("1.50", "2.25", "1.50", "-7.00", "11.10", "2.25")]
COUNTS = [1, 3, 1, 7, 11, 3]
FLOATS = [1.5, 3.25, 1.5, -7.0, 11.125, 3.25]
TRUTHS = [True, False, True, True, False, False]
WHOLE = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
UNITS = ["s", "ms", "us", "ns"]
ZONES = [None, "Europe/Berlin", "Asia/Kolkata"]


def with_gap(values: list[Any]) -> list[Any]:
    """The same with the second and the last value missing."""
    return [None if index in (1, len(values) - 1) else value for index, value in enumerate(values)]


def arrow_types() -> dict[pa.DataType, list[Any]]:
    """Every type of Arrow, and values of it."""
    kinds: dict[Any, list[Any]] = dict.fromkeys(
        (pa.string(), pa.large_string(), pa.string_view()), TOWNS
    )
    for ordered in (False, True):
        kinds[pa.dictionary(pa.int16(), pa.string(), ordered)] = TOWNS
    kinds[pa.dictionary(pa.int8(), pa.int64())] = COUNTS
    kinds[pa.bool_()] = TRUTHS
    kinds |= {pa.type_for_alias(name): COUNTS for name in WHOLE}
    kinds |= dict.fromkeys((pa.float16(), pa.float32(), pa.float64()), FLOATS)
    kinds |= dict.fromkeys((pa.decimal128(12, 2), pa.decimal256(50, 2)), AMOUNTS)
    kinds |= {pa.date32(): DAYS, pa.date64(): DAYS}
    kinds |= {pa.timestamp(unit, zone): STAMPS for unit in UNITS for zone in ZONES}
    kinds |= {pa.duration(unit): SPANS for unit in UNITS}
    kinds |= dict.fromkeys(
        (pa.time32("s"), pa.time32("ms"), pa.time64("us"), pa.time64("ns")), TIMES
    )
    return kinds


def _arrow(values: list[Any], kind: Any) -> pa.ChunkedArray:
    if kind == pa.float16():
        values = [None if value is None else np.float16(value) for value in values]
    if pa.types.is_dictionary(kind):
        levels = LEVELS if pa.types.is_string(kind.value_type) else sorted(set(COUNTS))[::-1]
        codes = pa.array(
            [None if value is None else levels.index(value) for value in values], kind.index_type
        )
        whole = pa.DictionaryArray.from_arrays(
            codes, pa.array(levels, kind.value_type), ordered=kind.ordered
        )
    else:
        whole = pa.array(values, kind)
    return pa.chunked_array([whole.slice(0, 2), whole.slice(2)])


def of_arrow(*, gaps: bool) -> dict[str, pa.Table]:
    """A table for each type of Arrow."""
    return {
        f"arrow-{kind}": pa.table({"x": _arrow(with_gap(values) if gaps else values, kind)})
        for kind, values in arrow_types().items()
    }


def of_polars(*, gaps: bool) -> dict[str, pl.DataFrame]:
    """A table for each type of polars."""
    kinds: list[tuple[Any, list[Any]]] = [
        (pl.String, TOWNS),
        (pl.Enum(LEVELS), TOWNS),
        (pl.Categorical, TOWNS),
        (pl.Boolean, TRUTHS),
        (pl.Date, DAYS),
        (pl.Time, TIMES),
        (pl.Decimal(12, 2), AMOUNTS),
        (pl.Float32, FLOATS),
        (pl.Float64, FLOATS),
    ]
    kinds += [(pl.Datetime(unit, zone), STAMPS) for unit in ("ms", "us", "ns") for zone in ZONES]
    kinds += [(pl.Duration(unit), SPANS) for unit in ("ms", "us", "ns")]
    kinds += [(kind, COUNTS) for kind in (pl.Int8, pl.Int16, pl.Int32, pl.Int64)]
    kinds += [(kind, COUNTS) for kind in (pl.UInt8, pl.UInt16, pl.UInt32, pl.UInt64)]
    made = {}
    for kind, values in kinds:
        values = with_gap(values) if gaps else values
        column = pl.Series("x", values)
        if isinstance(kind, pl.Datetime) and kind.time_zone:
            column = column.cast(pl.Datetime(kind.time_unit)).dt.replace_time_zone(kind.time_zone)
        made[f"polars-{kind}"] = pl.DataFrame({"x": column.cast(kind)})
    return made


def of_pandas(*, gaps: bool) -> dict[str, pd.DataFrame]:
    """A table for each type of pandas."""
    kinds: list[tuple[Any, list[Any]]] = [
        (object, TOWNS),
        (object, TRUTHS),
        (object, AMOUNTS),
        (object, DAYS),
        (object, TIMES),
        (object, COUNTS),
        ("str", TOWNS),
        ("string[python]", TOWNS),
        ("string[pyarrow]", TOWNS),
        ("category", TOWNS),
        ("category", COUNTS),
        (pd.CategoricalDtype(LEVELS, ordered=True), TOWNS),
        (pd.CategoricalDtype(LEVELS), TOWNS),
        (pd.CategoricalDtype(sorted(set(COUNTS))[::-1], ordered=True), COUNTS),
        ("boolean", TRUTHS),
        ("Float32", FLOATS),
        ("Float64", FLOATS),
        ("float32", FLOATS),
        ("float64", FLOATS),
    ]
    kinds += [(name.replace("i", "I").replace("uI", "UI"), COUNTS) for name in WHOLE]
    kinds += [
        (f"datetime64[{unit}{'' if zone is None else ', ' + zone}]", STAMPS)
        for unit in UNITS
        for zone in ZONES
    ]
    kinds += [(f"timedelta64[{unit}]", SPANS) for unit in UNITS]
    if not gaps:
        kinds += [("bool", TRUTHS), *((name, COUNTS) for name in WHOLE)]
    index = pd.Index([f"r{i}" for i in range(6)])
    made = {}
    for kind, values in kinds:
        values = with_gap(values) if gaps else values
        made[f"pandas-{kind!r}-{type(values[0]).__name__}"] = pd.DataFrame(
            {"x": pd.Series(values, index, dtype=kind)}
        )
    for kind, values in arrow_types().items():
        if kind in (pa.string_view(), pa.float16()):
            continue  # no types of pandas
        column = pd.arrays.ArrowExtensionArray(_arrow(with_gap(values) if gaps else values, kind))
        made[f"pandas-over-{kind}"] = pd.DataFrame({"x": pd.Series(column, index)})
    return made


def all_tables(*, gaps: bool) -> dict[str, Any]:
    """A table of one column, "x", for each type of each library."""
    return of_arrow(gaps=gaps) | of_polars(gaps=gaps) | of_pandas(gaps=gaps)

"""Writing of SPSS, Stata and SAS files by pyreadstat; values that they cannot hold are refused.

pyreadstat writes frames of pandas or polars only. It gets a polars frame with plain numbers and
texts, and formats that declare which of them are dates.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from microagg.errors import InputError
from microagg.files.excel.writer import exact_numbers
from microagg.files.stats.held_labels import held_by, tags_for
from microagg.files.stats.names import check_names
from microagg.files.stats.targets import FIRST_DAY, LARGEST, SMALLEST, TARGETS, Target
from microagg.table.columns.arrow import compute as pc
from microagg.table.columns.arrow import is_text
from microagg.table.columns.labels import (
    Code,
    Labels,
    code_of_tag,
    labels_of,
)

ROOM_LEFT = 1 << 16
"""Bytes that must still fit on the disk after a file was written."""


def write_by(package: str, table: pa.Table, path: Path, *, packed: bool = False) -> None:
    """Write a table as a file of one of the packages."""
    import pyreadstat
    from pyreadstat._readstat_parser import PyreadstatError  # of no public name before 1.3.4

    target = TARGETS[package]
    check_names(package, table.column_names)
    columns, metadata = [], _Said()
    for field, column in zip(table.schema, table.columns, strict=True):
        labels = held_by(package, labels_of(field), column)
        columns.append(_prepared(package, target, field, column, labels, metadata))
    frame = _frame(table.column_names, columns)
    options: dict[str, Any] = {
        "column_labels": metadata.labels or None,
        "variable_format": metadata.formats or None,
    }
    if package == "SPSS":
        options |= {
            "missing_ranges": metadata.ranges or None,
            "variable_measure": metadata.measures or None,
        }
        options |= {"variable_value_labels": metadata.values or None, "compress": packed}
        write: Any = pyreadstat.write_sav
    elif package == "Stata":
        options |= {
            "variable_value_labels": metadata.values or None,
            "missing_user_values": metadata.tags or None,
        }
        options["version"] = 15 if table.num_columns > 32_767 else 14
        write = pyreadstat.write_dta
    else:
        write = pyreadstat.write_xport
    try:
        write(frame, str(path), **options)
    except pyreadstat.ReadstatError as error:
        if "write" in str(error):
            _check_full_disk(path)
        raise _meant(package, str(error)) from None
    except PyreadstatError:
        raise pa.ArrowInvalid(f"not a table for {package}") from None
    _check_full_disk(path)


def _check_full_disk(path: Path) -> None:
    """Raise OSError if the disk is full: pyreadstat may leave a truncated file unnoticed."""
    with path.open("r+b") as file:
        end = file.seek(0, os.SEEK_END)
        file.write(bytes(ROOM_LEFT))
        file.flush()
        file.truncate(end)


class _Said:
    """Metadata of the columns, as pyreadstat takes it."""

    def __init__(self) -> None:
        self.labels: dict[str, str] = {}
        self.formats: dict[str, str] = {}
        self.values: dict[str, dict[Any, str]] = {}
        self.ranges: dict[str, list[Any]] = {}
        self.measures: dict[str, str] = {}
        self.tags: dict[str, list[str]] = {}


def _meant(package: str, message: str) -> Exception:
    """Return an error by the subject of the writer's message, which could quote the table."""
    if "reserved" in message:
        return InputError(
            f"a column has a name that {package} keeps for itself, such as int, long or "
            f"all; rename it, or write a file of another format."
        )
    if "name" in message:
        return InputError(
            f"a column has a name that no {package} file can have; rename it, or write a "
            f"file of another format."
        )
    if "write" in message:
        return OSError(errno.EIO, "the file could not be written")
    return pa.ArrowInvalid(f"not a table for {package}")


def _prepared(
    package: str,
    target: Target,
    field: pa.Field,
    column: pa.ChunkedArray,
    labels: Labels,
    metadata: _Said,
) -> Any:
    """Return a column for pyreadstat: numbers, texts, or numbers mixed with Stata's tags."""
    name, kind = field.name, column.type
    if pa.types.is_dictionary(kind):
        column = pc.cast(column, kind.value_type)
        kind = column.type
    if labels.label:
        metadata.labels[name] = labels.label
    if labels.measure and target.measures:
        metadata.measures[name] = labels.measure
    if is_text(kind) or pa.types.is_null(kind):
        text = pc.fill_null(pc.cast(column, pa.large_string()), "")
        _check_texts(package, target, name, text)
        metadata.values |= {name: dict(labels.values)} if labels.values else {}
        metadata.ranges |= {name: list(labels.missing)} if labels.missing else {}
        return text
    means, numbers = _numbers(package, target, name, column)
    if means:
        shown = _shown(target, means, numbers)
        metadata.formats |= {name: shown} if shown else {}
    original = labels_of(field)
    if package == "Stata" and labels.missing:
        return _tagged(name, numbers, tags_for(original, column), labels, metadata)
    whole = pa.types.is_integer(numbers.type)
    if labels.values:
        metadata.values[name] = {
            code if whole else float(code): label for code, label in labels.values.items()
        }
    if labels.missing:
        metadata.ranges[name] = [
            {"lo": missing[0], "hi": missing[1]} if isinstance(missing, tuple) else missing
            for missing in labels.missing
        ]
    return numbers


def _numbers(
    package: str, target: Target, name: str, column: pa.ChunkedArray
) -> tuple[str, pa.ChunkedArray]:
    """Return the meaning of a column that is no text, and its numbers in the package's units."""
    kind = column.type
    if pa.types.is_boolean(kind):
        return "whole", pc.cast(pc.cast(column, pa.int8()), pa.int32())
    if pa.types.is_date(kind):
        days = pc.cast(pc.cast(column, pa.date32()), pa.int32())
        _check_days(package, name, days)
        return "date", pc.multiply(
            pc.cast(pc.add(days, target.origin), pa.float64()), float(target.day)
        )
    if pa.types.is_timestamp(kind) and kind.tz is None:
        return "moment", _moments(package, target, name, column)
    if pa.types.is_time(kind):
        parts = pc.cast(_at_milliseconds(package, name, column, pa.time32("ms")), pa.float64())
        return "time", pc.multiply(parts, target.second / 1000)
    if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)):
        raise pa.ArrowNotImplementedError(f"no {package} file holds {kind}")
    numbers = exact_numbers(name, column, package)
    if not pa.types.is_integer(kind):
        _check_extremes(package, name, numbers)
        return "number", numbers
    ends = pc.min_max(numbers).as_py()
    short = ends["min"] is None or (ends["min"] >= SMALLEST and ends["max"] <= LARGEST)
    return "whole", pc.cast(numbers, pa.int32() if short else pa.float64())


def _check_extremes(package: str, name: str, numbers: pa.ChunkedArray) -> None:
    """Refuse the extremes of float64, which these packages use as codes or cannot hold."""
    # SAS has numbers up to 7.2e75, but pyreadstat reads those from 9e74 on as infinite
    most = {"SPSS": 1.7e308, "Stata": 8.9e307, "SAS": 8.9e74}[package]
    least = 5.4e-79 if package == "SAS" else 0.0
    sizes = pc.abs(numbers)
    too_small = pc.and_(pc.greater(sizes, 0.0), pc.less(sizes, least))
    if pc.any(pc.greater(sizes, most)).as_py() or pc.any(too_small).as_py():
        raise InputError(
            f"column {name!r} holds numbers larger or smaller than {package} files can "
            f"hold; rescale it, or write a file of another "
            "format."
        )


def _at_milliseconds(
    package: str, name: str, column: pa.ChunkedArray, kind: pa.DataType
) -> pa.ChunkedArray:
    try:
        made = pc.cast(column, kind)
    except pa.ArrowInvalid:
        raise InputError(
            f"column {name!r} holds moments finer than thousandths of a second, which "
            f"{package} files do not tell apart; write a file "
            "of another format."
        ) from None
    return pc.cast(made, pa.int32() if pa.types.is_time(kind) else pa.int64())


def _moments(package: str, target: Target, name: str, column: pa.ChunkedArray) -> pa.ChunkedArray:
    parts = _at_milliseconds(package, name, column, pa.timestamp("ms"))
    days = pc.cast(pc.floor(pc.divide(pc.cast(parts, pa.float64()), 86_400_000.0)), pa.int64())
    _check_days(package, name, days)
    counted = pc.cast(pc.add(parts, target.origin * 86_400_000), pa.float64())
    return pc.divide(counted, 1000 / target.second)


def _check_days(package: str, name: str, days: pa.ChunkedArray) -> None:
    ends = pc.min_max(days).as_py()
    if ends["min"] is not None and (ends["min"] < FIRST_DAY[package] or ends["max"] > 2_932_896):
        raise InputError(
            f"column {name!r} holds dates that {package} does not know; write a file of "
            f"another format."
        )


def _check_texts(package: str, target: Target, name: str, text: pa.ChunkedArray) -> None:
    what = ""
    if (pc.max(pc.binary_length(text)).as_py() or 0) > target.longest_text:
        what = f"text longer than {target.longest_text:,} bytes"
    elif pc.any(pc.match_substring_regex(text, r"\x00")).as_py():
        what = "text with zero bytes in it"
    elif not target.trailing and pc.any(pc.match_substring_regex(text, " $")).as_py():
        what = "text that ends in blanks"
    if what:
        raise InputError(
            f"column {name!r} holds {what}, which no {package} file keeps; correct it, or "
            f"write a file of another format."
        )


def _shown(target: Target, means: str, numbers: pa.ChunkedArray) -> str:
    """Return the display format of a column: wide enough, with its decimals, at most six."""
    values = numbers.to_numpy()
    values = values[~np.isnan(values.astype(np.float64))].astype(np.float64)
    largest = float(np.abs(values).max(initial=1.0))
    places = min(len(str(int(min(largest, 1e15)))), 16)
    with np.errstate(over="ignore"):  # numbers near the largest are no fractions
        digits = next((d for d in range(1, 6) if (np.round(values, d) == values).all()), 6)
    width = max(8, places + 2 + (digits if means == "number" else 0))
    return target.formats[means].format(width=min(width, 25), digits=digits)


def _tagged(
    name: str, numbers: pa.ChunkedArray, tags: Mapping[Code, str], labels: Labels, metadata: _Said
) -> list[Any]:
    """Return numbers and tags as Python values."""
    metadata.tags[name] = sorted(tags.values())
    back: dict[Code, str] = {code_of_tag(tag): tag for tag in tags.values()}
    if labels.values:
        metadata.values[name] = {
            back.get(code, code): label for code, label in labels.values.items()
        }
    values = numbers.to_pylist()
    whole = all(
        value is None
        or value in tags
        or (float(value).is_integer() and SMALLEST <= value <= LARGEST)
        for value in values
    )
    made: Any = int if whole and not pa.types.is_floating(numbers.type) else float
    return [
        None if value is None else tags[value] if value in tags else made(value) for value in values
    ]


def _frame(names: list[str], columns: list[Any]) -> Any:
    """Return a polars frame: pyreadstat writes those of pandas and polars only."""
    import polars

    made = [
        polars.Series(name, column, dtype=polars.Object)
        if isinstance(column, list)
        else polars.Series(name, polars.from_arrow(column))
        for name, column in zip(names, columns, strict=True)
    ]
    return polars.DataFrame(made)

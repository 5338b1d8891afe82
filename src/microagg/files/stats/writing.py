"""Tables as files of SPSS, Stata and SAS, by pyreadstat; what such a file cannot hold is refused
with a sentence, never changed.

pyreadstat writes frames of pandas or polars only, so it gets one of polars with plain numbers and
texts, and formats that say which of them are dates.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from microagg.errors import InputError
from microagg.files.excel.writer import exact_numbers
from microagg.files.stats.names import check_names
from microagg.table.columns.arrow import compute as pc
from microagg.table.columns.arrow import is_text
from microagg.table.columns.labels import (
    Code,
    Labels,
    code_of_tag,
    labels_of,
    occurring,
    plain_code,
    tag_of_code,
)

CUT = "…"
ROOM_LEFT = 1 << 16
"""Bytes that must still fit on the disk after a file was written."""


@dataclass(frozen=True)
class Target:
    """What files of one package can hold."""

    longest_text: int
    trailing: bool
    """Whether blanks at the end of a text are kept."""
    label: int
    """How long the label of a column may be, in bytes, and that of a value; 0 if there is none."""
    value: int
    origin: int
    """The first day, counted from 1970; `day` units of a date make a day, `second` of a moment a
    second.
    """
    day: int
    second: int
    formats: Mapping[str, str]
    """How dates, moments, times, whole and other numbers are shown."""
    measures: bool = False


TARGETS = {
    "SPSS": Target(
        32_767,
        False,
        256,
        120,
        141_428,
        86_400,
        1,
        measures=True,
        formats={
            "date": "SDATE10",
            "moment": "DATETIME23.3",
            "time": "TIME11.2",
            "whole": "F{width}.0",
            "number": "F{width}.{digits}",
        },
    ),
    "Stata": Target(
        2_000_000_000,
        True,
        80,
        32_000,
        3_653,
        1,
        1000,
        formats={
            "date": "%td",
            "moment": "%tc",
            "time": "%tcHH:MM:SS",
            "whole": "%{width}.0f",
            "number": "%{width}.0g",
        },
    ),
    "SAS": Target(
        32_767,
        False,
        256,
        0,
        3_653,
        1,
        1,
        formats={
            "date": "E8601DA10.",
            "moment": "E8601DT23.3",
            "time": "E8601TM12.3",
            "whole": "",
            "number": "",
        },
    ),
}
SMALLEST, LARGEST = -2_147_483_647, 2_147_483_620
"""The whole numbers that Stata stores as such, and can label."""
FIRST_DAY = {"SPSS": -141_427, "Stata": -679_350, "SAS": -138_061}
"""The first day of the calendar that each package knows: 15 October 1582, the year 110, 1582."""


def write_by(package: str, table: pa.Table, path: Path, *, packed: bool = False) -> None:
    """Write a table as a file of one of the packages."""
    import pyreadstat
    from pyreadstat._readstat_parser import PyreadstatError  # of no public name before 1.3.4

    target = TARGETS[package]
    check_names(package, table.column_names)
    columns, said = [], _Said()
    for field, column in zip(table.schema, table.columns, strict=True):
        labels = held_by(package, labels_of(field), column)
        columns.append(_prepared(package, target, field, column, labels, said))
    frame = _frame(table.column_names, columns)
    options: dict[str, Any] = {
        "column_labels": said.labels or None,
        "variable_format": said.formats or None,
    }
    if package == "SPSS":
        options |= {
            "missing_ranges": said.ranges or None,
            "variable_measure": said.measures or None,
        }
        options |= {"variable_value_labels": said.values or None, "compress": packed}
        write: Any = pyreadstat.write_sav
    elif package == "Stata":
        options |= {
            "variable_value_labels": said.values or None,
            "missing_user_values": said.tags or None,
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
    """Raise OSError if the disk takes no more: pyreadstat does not always notice, and leaves a file
    that is cut off.
    """
    with path.open("r+b") as file:
        end = file.seek(0, os.SEEK_END)
        file.write(bytes(ROOM_LEFT))
        file.flush()
        file.truncate(end)


class _Said:
    """What is said of the columns besides their values, as pyreadstat takes it."""

    def __init__(self) -> None:
        self.labels: dict[str, str] = {}
        self.formats: dict[str, str] = {}
        self.values: dict[str, dict[Any, str]] = {}
        self.ranges: dict[str, list[Any]] = {}
        self.measures: dict[str, str] = {}
        self.tags: dict[str, list[str]] = {}


def _meant(package: str, message: str) -> Exception:
    """An error of the writer by what it is about; its own words could quote the table."""
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
    said: _Said,
) -> Any:
    """A column as pyreadstat takes it: numbers or texts, with a list of both where Stata has
    tags.
    """
    name, kind = field.name, column.type
    if pa.types.is_dictionary(kind):
        column = pc.cast(column, kind.value_type)
        kind = column.type
    if labels.label:
        said.labels[name] = labels.label
    if labels.measure and target.measures:
        said.measures[name] = labels.measure
    if is_text(kind) or pa.types.is_null(kind):
        text = pc.fill_null(pc.cast(column, pa.large_string()), "")
        _check_texts(package, target, name, text)
        said.values |= {name: dict(labels.values)} if labels.values else {}
        said.ranges |= {name: list(labels.missing)} if labels.missing else {}
        return text
    means, numbers = _numbers(package, target, name, column)
    if means:
        shown = _shown(target, means, numbers)
        said.formats |= {name: shown} if shown else {}
    original = labels_of(field)
    if package == "Stata" and labels.missing:
        return _tagged(name, numbers, tags_for(original, column), labels, said)
    whole = pa.types.is_integer(numbers.type)
    if labels.values:
        said.values[name] = {
            code if whole else float(code): label for code, label in labels.values.items()
        }
    if labels.missing:
        said.ranges[name] = [
            {"lo": each[0], "hi": each[1]} if isinstance(each, tuple) else each
            for each in labels.missing
        ]
    return numbers


def _numbers(
    package: str, target: Target, name: str, column: pa.ChunkedArray
) -> tuple[str, pa.ChunkedArray]:
    """What a column of anything but text means, and its numbers as the package counts them."""
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
    """The largest and smallest of float64 mean something else to these packages; SAS writes numbers
    in another base.
    """
    most = {"SPSS": 1.7e308, "Stata": 8.9e307, "SAS": 7.2e75}[package]
    least = 5.4e-79 if package == "SAS" else 0.0
    sizes = pc.abs(numbers)
    there = pc.and_(pc.greater(sizes, 0.0), pc.less(sizes, least))
    if pc.any(pc.greater(sizes, most)).as_py() or pc.any(there).as_py():
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
            f"column {name!r} holds {what}, which no {package} file keeps; mend it, or "
            f"write a file of another format."
        )


def _shown(target: Target, means: str, numbers: pa.ChunkedArray) -> str:
    """How a column is shown: wide enough, with the decimals that it has, up to six."""
    values = numbers.to_numpy()
    values = values[~np.isnan(values.astype(np.float64))].astype(np.float64)
    largest = float(np.abs(values).max(initial=1.0))
    places = min(len(str(int(min(largest, 1e15)))), 16)
    digits = next((d for d in range(1, 6) if (np.round(values, d) == values).all()), 6)
    width = max(8, places + 2 + (digits if means == "number" else 0))
    return target.formats[means].format(width=min(width, 25), digits=digits)


def tags_for(labels: Labels, column: pa.ChunkedArray) -> dict[Code, str]:
    """The tag of Stata for each code of a column of numbers that is declared missing and occurs:
    its own, else the next free one.

    >>> tags_for(Labels(missing=(-9, -8)), pa.chunked_array([[1, -8, -9]]))
    {-9: 'a', -8: 'b'}
    """
    if is_text(column.type) or pa.types.is_dictionary(column.type):
        return {}
    codes = sorted(code for code in occurring(column) if labels.is_missing(code))
    own = {code: tag for code in codes if (tag := tag_of_code(code)) and tag != "_"}
    free = [tag for tag in "abcdefghijklmnopqrstuvwxyz" if tag not in own.values()]
    others = [code for code in codes if code not in own]
    if len(others) > len(free):
        return {}
    found = own | dict(zip(others, free, strict=False))
    return {code: found[code] for code in codes}


def _tagged(
    name: str, numbers: pa.ChunkedArray, tags: Mapping[Code, str], labels: Labels, said: _Said
) -> list[Any]:
    """Numbers with tags among them, as Python values."""
    said.tags[name] = sorted(tags.values())
    back = {code_of_tag(tag): tag for tag in tags.values()}
    if labels.values:
        said.values[name] = {back.get(code, code): label for code, label in labels.values.items()}  # type: ignore[call-overload]
    values = numbers.to_pylist()
    whole = all(
        value is None
        or value in tags
        or (float(value).is_integer() and SMALLEST <= value <= LARGEST)
        for value in values
    )
    made: Any = int if whole and not pa.types.is_floating(numbers.type) else float
    if whole and all(value is None or value in tags for value in values):
        made = float
    return [
        None if value is None else tags[value] if value in tags else made(value) for value in values
    ]


def _frame(names: list[str], columns: list[Any]) -> Any:
    """A frame of polars: pyreadstat writes those of pandas and polars only."""
    import polars

    made = [
        polars.Series(name, column, dtype=polars.Object)
        if isinstance(column, list)
        else polars.Series(name, polars.from_arrow(column))
        for name, column in zip(names, columns, strict=True)
    ]
    return polars.DataFrame(made)


def held_by(package: str, labels: Labels, column: pa.ChunkedArray) -> Labels:
    """What of a column's labels a file of a package holds, as they come back from it."""
    if not labels:
        return labels
    target = TARGETS[package]
    label = _cut(labels.label, target.label)
    if package == "SAS":
        return Labels(label)
    text = is_text(column.type) or pa.types.is_dictionary(column.type)
    plain = pa.types.is_integer(column.type) or pa.types.is_floating(column.type)
    values = {code: _cut(told, target.value) for code, told in labels.values.items() if told}
    if not (text or plain):
        return Labels(label, {}, labels.measure if target.measures else "")
    values = {code: told for code, told in values.items() if isinstance(code, str) == text}
    if package == "SPSS":
        missing = _declared(labels, column, text=text)
        if text:
            values = {code: told for code, told in values.items() if _can_be_labelled(code)}
        return Labels(label, values, labels.measure, missing)
    if text:
        return Labels(label)
    tags = tags_for(labels, column)
    for code in tags:
        values.setdefault(code, str(code) if tag_of_code(code) is None else "")
    recoded = replace(labels, label=label, values=values, measure="", missing=tuple(tags)).recoded(
        {code: code_of_tag(tag) for code, tag in tags.items()}
    )
    kept = {
        code: told
        for code, told in recoded.values.items()
        if told
        and not isinstance(code, str)
        and (code in recoded.missing or (code == int(code) and SMALLEST <= code <= LARGEST))
    }
    return Labels(
        label, dict(sorted(kept.items())), "", tuple(sorted(recoded.missing, reverse=True))
    )  # fmt: skip


def _can_be_labelled(code: Code) -> bool:
    return isinstance(code, str) and 0 < len(code.encode()) <= 120


def _cut(text: str, longest: int) -> str:
    """A text within so many bytes; the file beside has the whole of it."""
    if len(text.encode()) <= longest:
        return text
    return text.encode()[: longest - len(CUT.encode())].decode(errors="ignore").rstrip() + CUT


def _declared(labels: Labels, column: pa.ChunkedArray, *, text: bool) -> tuple[Any, ...]:
    """Missing codes as SPSS declares them: three, or a range and one more; nothing where that
    cannot be said.
    """
    if text:
        codes = [
            each for each in labels.missing if isinstance(each, str) and len(each.encode()) <= 8
        ]
        return tuple(codes) if len(codes) == len(labels.missing) <= 3 else ()
    ranges = [each for each in labels.missing if isinstance(each, tuple)]
    codes = sorted(each for each in labels.missing if not isinstance(each, tuple | str))
    if not ranges and len(codes) <= 3:
        return tuple(codes)
    if len(ranges) == 1 and len(codes) <= 1:
        return (*ranges, *codes)
    values = [value for value in occurring(column) if not labels.is_missing(value)]
    if ranges:
        return ()
    for low, high, rest in (
        (codes[0], codes[-1], []),
        (codes[0], codes[-2], codes[-1:]),
        (codes[1], codes[-1], codes[:1]),
    ):
        if not any(not isinstance(value, str) and low <= value <= high for value in values):
            return ((float(low), float(high)), *map(plain_code, rest))
    return ()

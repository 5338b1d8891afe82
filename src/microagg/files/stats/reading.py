"""Reading of SPSS, Stata and SAS files by pyreadstat: values, types, labels.

pyreadstat makes Python values of all cells, so a file is read in pieces of rows and columns. Memory
is never allocated for what a damaged header claims. Its messages are never passed on.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from microagg.errors import InputError
from microagg.files.unpacking import check_larger, largest_table
from microagg.table.columns.arrow import compute as pc
from microagg.table.columns.labels import MEASURES, Labels, code_of_tag, labelled, plain_code

CELLS_AT_ONCE = 4_000_000
ROWS_AT_ONCE = 100_000
"""Rows of a piece; pyreadstat allocates as many if a file does not state its number of rows."""
BYTES_AT_ONCE = 1 << 26
COLUMNS_AT_ONCE = 1000
LARGEST_WHOLE = 2.0**53
WHOLE = {"int8", "int16", "int32", "int64"}


@dataclass(frozen=True)
class Package:
    """Rules for reading the files of one package."""

    name: str
    """Name in sentences: "SPSS"."""
    reader: str
    """The function of pyreadstat."""
    codes: bool
    """True if the reader can return codes that are declared missing."""
    meaning: Callable[[str], str]
    """Function that maps a column's format to "date", "moment", "time", "whole" or ""."""
    origin: int
    """The package's first day, counted from 1970."""
    day: int
    """Units of a date in a day."""
    second: int
    """Units of a moment in a second."""
    rows: Callable[[bytes, int], int | None] = lambda beginning, size: None
    """`rows(beginning, size)`: how many rows a file must have, by its first bytes; None if that is
    not known.
    """
    beginning: int = 1 << 12


def read_by(package: Package, path: Path) -> pa.Table:
    """Read the columns of a file, with their labels."""
    with path.open("rb") as file:
        expected = package.rows(file.read(package.beginning), path.stat().st_size)
    about = _ask(package, path, metadataonly=True)[1]
    names = list(about.column_names)
    if not names:
        raise unreadable(package, path)
    for position, name in enumerate(names, 1):
        if not name:
            raise InputError(f"column {position} of {str(path)!r} has no name; give it one.")
    pieces, tags = _pieces(package, path, names, about)
    columns = [pa.chunked_array(pieces[name]) for name in names]
    if expected is not None and len(columns[0]) != expected:
        raise unreadable(package, path)
    fields, settled = [], []
    for name, column in zip(names, columns, strict=True):
        labels = _labels(name, about, tags.get(name, set()))
        settled.append(_typed(package, column, about, name, labels))
        fields.append(labelled(pa.field(name, settled[-1].type), labels))
    return pa.Table.from_arrays(settled, schema=pa.schema(fields))


def unreadable(package: Package, path: Path) -> InputError:
    """Return the error for a file that is damaged, cut off, or of another format."""
    return InputError(f"{str(path)!r} is not a readable {package.name} file; write it anew.")


def _ask(package: Package, path: Path, **options: Any) -> tuple[dict[str, list[Any]], Any]:
    """Call pyreadstat; replace its errors by one sentence."""
    import pyreadstat

    if package.codes:
        options["user_missing"] = True
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # of two columns of one name
            return getattr(pyreadstat, package.reader)(
                str(path), output_format="dict", disable_datetime_conversion=True, **options
            )
    except (MemoryError, KeyboardInterrupt):
        raise
    except UserWarning:
        raise InputError(
            f"{str(path)!r} has two columns of one name; rename one of them."
        ) from None
    except UnicodeError:
        raise _wrongly_encoded(package, path) from None
    except Exception as error:  # whose message could quote the file
        if "convert string" in str(error) or "encoding" in str(error):
            raise _wrongly_encoded(package, path) from None
        raise unreadable(package, path) from None


def _wrongly_encoded(package: Package, path: Path) -> InputError:
    return InputError(
        f"{str(path)!r} holds text that is not in the encoding which the file names; "
        f"save it anew in {package.name}, in UTF-8."
    )


def _pieces(
    package: Package, path: Path, names: list[str], about: Any
) -> tuple[dict[str, list[pa.Array]], dict[str, set[str]]]:
    """Return all cells by column, and the tags that occur.

    Numbers are float64 with codes for tags; text is unchanged.
    """
    most, held = largest_table(path), 0
    pieces: dict[str, list[pa.Array]] = {}
    tags: dict[str, set[str]] = {}
    for some in _batches(names):
        start = 0
        while True:
            limit = max(
                1,
                min(ROWS_AT_ONCE, CELLS_AT_ONCE // len(some), BYTES_AT_ONCE // _width(about, some)),
            )
            cells, piece_metadata = _ask(
                package, path, usecols=some, row_offset=start, row_limit=limit
            )
            rows = len(cells[some[0]]) if cells else 0
            for name, letters in piece_metadata.missing_user_values.items():
                tags.setdefault(name, set()).update(letters)
            for name in some:
                values = cells.get(name, [])
                if len(values) != rows:
                    raise unreadable(package, path)
                piece = _array(
                    values,
                    text=_is_text(about, name),
                    tags=name in piece_metadata.missing_user_values,
                )
                held += piece.nbytes
                pieces.setdefault(name, []).append(piece)
            check_larger(path, held, most)
            start += rows
            if rows < limit:
                break
    if len({sum(map(len, column)) for column in pieces.values()}) != 1:
        raise unreadable(package, path)
    return pieces, tags


def _width(about: Any, names: list[str]) -> int:
    """Return the largest number of bytes that a row of these columns can have."""
    widths = about.variable_storage_width
    return max(1, sum(int(widths.get(name) or 8) for name in names))


def _batches(names: list[str]) -> Iterator[list[str]]:
    for start in range(0, len(names), COLUMNS_AT_ONCE):
        yield names[start : start + COLUMNS_AT_ONCE]


def _is_text(about: Any, name: str) -> bool:
    return str(about.readstat_variable_types[name]).startswith("string")


def _array(values: list[Any], *, text: bool, tags: bool) -> pa.Array:
    if text:  # these packages know no difference between empty and missing text
        return pa.array([value or None for value in values], pa.large_string())
    if tags:
        values = [
            float(code_of_tag(value)) if isinstance(value, str) else value for value in values
        ]
    return pa.array(values, pa.float64(), from_pandas=True)  # what is no number is missing


def _labels(name: str, about: Any, letters: set[str]) -> Labels:
    """Return the labels of a column in which these tags occur."""
    text = _is_text(about, name)

    def code(value: Any) -> Any:
        return code_of_tag(value) if isinstance(value, str) and not text else plain_code(value)

    values = {
        code(item): label
        for item, label in about.variable_value_labels.get(name, {}).items()
        if label
    }
    declared: list[Any] = [
        code(item["lo"]) if item["lo"] == item["hi"] else (float(item["lo"]), float(item["hi"]))
        for item in about.missing_ranges.get(name, [])
    ]
    tags = {
        item
        for item in values
        if not text and item in map(code_of_tag, "abcdefghijklmnopqrstuvwxyz_")
    }
    tags |= {code_of_tag(tag) for tag in letters}
    declared += sorted(tags, reverse=True)
    measure = str(about.variable_measure.get(name, ""))
    return Labels(
        about.column_names_to_labels.get(name) or "",
        dict(sorted(values.items(), key=lambda pair: (isinstance(pair[0], str), pair[0])))
        if not text
        else values,
        measure if measure in MEASURES else "",
        tuple(dict.fromkeys(declared)),
    )


def _typed(
    package: Package, column: pa.ChunkedArray, about: Any, name: str, labels: Labels
) -> pa.ChunkedArray:
    """Convert a column by its format to dates, moments or whole numbers; keep numbers that do not
    fit.
    """
    if _is_text(about, name):
        whole = pc.sum(pc.binary_length(column)).as_py() or 0
        return column if whole >= 2**31 - 1 else pc.cast(column, pa.string())
    stored = str(about.readstat_variable_types[name])
    means = package.meaning(str(about.original_variable_types.get(name) or ""))
    numbers = column.to_numpy()
    if means in ("date", "moment", "time"):
        made = _times(package, numbers, means)
        if made is not None and not labels.values and not labels.missing:
            return made
    if (stored in WHOLE or means == "whole" or labels.values) and is_whole(numbers):
        return pc.cast(column, pa.int64())
    return pc.cast(column, pa.float32()) if stored == "float" else column


def is_whole(numbers: np.ndarray) -> bool:
    """Check if all numbers are whole, and exact in float64."""
    present = numbers[~np.isnan(numbers)]
    return bool((np.abs(present) < LARGEST_WHOLE).all() and (present == np.floor(present)).all())


def _times(package: Package, numbers: np.ndarray, means: str) -> pa.ChunkedArray | None:
    """Dates, moments or times of day; None if some of the numbers are none."""
    gone = np.isnan(numbers)
    counts = np.where(gone, 0.0, numbers)
    if np.abs(counts).max(initial=0.0) > 1e15:
        return None
    if means == "date":
        days = counts / package.day
        since_1970 = np.where(gone, 0.0, days + package.origin)
        known = (since_1970 >= FIRST_DAY) & (since_1970 <= LAST_DAY)
        if (days == np.floor(days)).all() and known.all():
            made = since_1970.astype(np.int32)
            return pa.chunked_array([pa.array(made, pa.int32(), mask=gone).cast(pa.date32())])
        if package.day == 1:
            return None
    unit = _unit(counts, package.second)
    if unit is None:
        return None
    parts = np.rint(counts * (UNITS[unit] / package.second)).astype(np.int64)
    if means == "time":
        if (parts < 0).any() or (parts >= 86_400 * UNITS[unit]).any():
            return None
        micro = parts * (1_000_000 // UNITS[unit])
        return pa.chunked_array([pa.array(micro, pa.int64(), mask=gone).cast(pa.time64("us"))])
    moments = np.where(gone, 0, parts + package.origin * 86_400 * UNITS[unit])
    return pa.chunked_array([pa.array(moments, pa.int64(), mask=gone).cast(pa.timestamp(unit))])


FIRST_DAY, LAST_DAY = -719_162, 2_932_896
"""The first day of the year 1 and the last of the year 9999, counted from 1970."""
UNITS = {"s": 1, "ms": 1_000, "us": 1_000_000}


def _unit(counts: np.ndarray, second: int) -> str | None:
    """Return the coarsest unit that keeps all counts exactly, up to the precision of float64."""
    for unit, parts in UNITS.items():
        scaled = counts * (parts / second)
        if (
            np.abs(scaled).max(initial=0.0) < LARGEST_WHOLE
            and (np.abs(scaled - np.rint(scaled)) <= 1e-3).all()
        ):
            return unit
    return None


def format_name(text: str) -> str:
    """Return the name of a format of SPSS or SAS, without its width.

    >>> format_name("DATE11"), format_name("F8.2"), format_name("E8601DA10.")
    ('DATE', 'F', 'E8601DA')
    """
    match = re.fullmatch(r"\$?([A-Z][A-Z0-9_]*?[A-Z_]|[A-Z])?(\d+)?(?:\.(\d*))?", text.upper())
    return (match[1] or "") if match else ""

"""Reading of files into Arrow tables, with errors that name the row and never the value."""

from __future__ import annotations

import contextlib
import logging
import re
import stat
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from microagg.errors import InputError
from microagg.files.columnar.parquet_folder import format_of_part
from microagg.files.commit.journal import settle
from microagg.files.formats import (
    format_of,
    known_names,
    options_for,
    options_said,
    options_to_read,
)
from microagg.files.stats.sidecar import with_sidecar
from microagg.files.stores.locations import Url, parse_location
from microagg.files.text.csv_writing import places_of_unquoted_gaps
from microagg.files.text.dialect import (
    Dialect,
    dialect_of,
    note_on_encoding,
    tell,
    with_signs_found,
)
from microagg.files.text.locale_columns import (
    in_plain_spelling,
    looks_like_dates,
    quasi_column_in,
    with_groups,
)
from microagg.files.text.quoting import marked_missing
from microagg.files.unpacking import any_size
from microagg.sentences import Assignment, sentence
from microagg.table.columns.arrow import compute as pc
from microagg.table.columns.arrow import is_text, means_numbers
from microagg.table.columns.cell_errors import check_value
from microagg.table.columns.fast_inference import at_once, plain_numbers
from microagg.table.columns.field_metadata import (
    MIXED,
    Pattern,
    field_metadata,
    missing_mark,
    pattern_of,
)
from microagg.table.columns.text_inference import as_same_numbers, marks_of_text, parsed_numbers
from microagg.table.columns.text_masks import INFINITE, NUMBER
from microagg.table.columns.text_types import TextType, text_type_of
from microagg.table.schema import ColumnSettings, check_duplicates

_log = logging.getLogger(__name__)  # steps and numbers, never a value of the data

NOT_READABLE = "{!r} cannot be read; check the path and its permissions."
MISSING = r"(?i)^\s*(|na|n/a|nan|null|none|\.|-|#n/a)\s*$"


def read_table(
    path: str | Path,
    numeric: Sequence[str] = (),
    *,
    quasi: Sequence[str] = (),
    settings: ColumnSettings | None = None,
    **reading: Any,
) -> pa.Table:
    """Read a file in the format of its name. The columns in `numeric` must hold numbers only.

    `reading` are options of the file, such as header=False (see `reading_options`); others are
    detected.

    In a file without types, columns in `quasi` become numbers or dates if they hold nothing but
    these, gaps and the special codes of `settings` (see `quasi_column`). All others keep their text
    to the letter ("007" stays "007", "2000.00" stays so). Those that mean numbers, gaps and special
    codes aside, are marked as such (see `field_metadata.py`).
    """
    location = parse_location(path)
    if isinstance(location, Url):
        raise InputError(
            f"{str(location)!r} lies in a store, where only anonymize and repeat read; copy "
            f"it here first."
        )
    path, settings = location, settings or ColumnSettings()
    format = format_of(path)
    settle(path)
    check_unreadable(path)
    begun = time.perf_counter()
    try:
        table = format.read(path, **options_to_read(format, reading))
    except MemoryError:
        raise InputError(
            f"there is not enough memory for {str(path)!r}, or it is damaged and claims "
            f"more than it holds; "
            "write it anew, split it, or use a larger machine."
        ) from None
    check_duplicates(table.column_names)
    if table.num_rows == 0:
        raise InputError(f"{str(path)!r} has a header but no records; there is nothing to protect.")
    if not format.typed:
        table = _read_as_written(
            table, path, reading, frozenset(numeric), frozenset(quasi), settings
        )
    elif format.mixed:
        table = _read_as_cells(table, reading, frozenset(numeric), frozenset(quasi), settings)
    _log.info("read %d records of %d columns in %.2f s", *table.shape, time.perf_counter() - begun)
    return with_sidecar(table, path)


def _read_as_written(
    table: pa.Table,
    path: Path,
    reading: Mapping[str, Any],
    numeric: frozenset[str],
    quasi: frozenset[str],
    settings: ColumnSettings,
) -> pa.Table:
    """Type columns of text by the dialect of their file, and warn about guesses."""
    dialect = dialect_of(table)
    if dialect is None:
        return _typed(table, numeric, quasi, settings, Dialect())
    notes = [] if reading.get("encoding") else note_on_encoding(path, dialect.encoding)
    dialect, more = with_signs_found(dialect, table, settings)
    typed = _typed(table, numeric, quasi, settings, dialect)
    tell([*notes, *more, *notes_on_dates(typed, quasi, settings, dialect)])
    return dialect.put_on(typed)


def _read_as_cells(
    table: pa.Table,
    reading: Mapping[str, Any],
    numeric: frozenset[str],
    quasi: frozenset[str],
    settings: ColumnSettings,
) -> pa.Table:
    """Type columns of a sheet: texts of quasi-identifiers and mixed columns by the rules for text
    files.
    """
    signs = {name: reading.get(name) for name in ("decimal", "thousands", "dates")}
    dialect = Dialect(**options_said(signs))
    fields, columns = [], []
    for field, column in zip(table.schema, table.columns, strict=True):
        mixed = MIXED in (field.metadata or {})
        if is_text(field.type) and (mixed or field.name in quasi or field.name in numeric):
            field, column = typed_column(field.name, column, numeric, quasi, settings, dialect)
        fields.append(field)
        columns.append(column)
    typed = pa.Table.from_arrays(columns, schema=pa.schema(fields, metadata=table.schema.metadata))
    tell(notes_on_dates(typed, quasi, settings, dialect))
    return typed


def notes_on_dates(
    table: pa.Table, quasi: frozenset[str], settings: ColumnSettings, dialect: Dialect
) -> list[str]:
    """Return notes on columns that look like dates of unknown pattern, or whose years have two
    digits.
    """
    if dialect.dates is not None:
        dated = [
            field.name
            for field in table.schema
            if "%y" in dialect.dates and pattern_of(field) == Pattern(declared=dialect.dates)
        ]
        return [
            f"years of column {name!r} have two digits: 69 to 99 were read as 1969 to "
            f"1999, 00 to 68 as 2000 to 2068"
            for name in dated
        ]
    return [
        sentence(
            f"column {name!r} looks like dates, but was taken for categories; say how they are "
            "written, such as ",
            Assignment("dates", "%d.%m.%Y"),
            ", or ",
            Assignment("nominal", [name]),
        )
        for name in table.column_names
        if name in quasi and name not in settings.kinds and looks_like_dates(table.column(name))
    ]


def _typed(
    table: pa.Table,
    numeric: frozenset[str],
    quasi: frozenset[str],
    settings: ColumnSettings,
    dialect: Dialect,
) -> pa.Table:
    """Type the columns of a table of texts.

    The table is built once, because replacing column by column takes quadratic time.
    """

    def typed(index: int) -> tuple[pa.Field, pa.ChunkedArray]:
        field, column = table.schema.field(index), table.column(index)
        if not pa.types.is_string(field.type):
            return field, column
        made = typed_column(field.name, column, numeric, quasi, settings, dialect)
        return marked_missing(made[0], missing_mark(field)), made[1]

    made = at_once(typed, range(table.num_columns), table.num_rows)
    fields, columns = zip(*made, strict=True)
    return pa.Table.from_arrays(
        list(columns), schema=pa.schema(list(fields), metadata=table.schema.metadata)
    )


def typed_column(
    name: str,
    column: pa.ChunkedArray,
    numeric: frozenset[str],
    quasi: frozenset[str],
    settings: ColumnSettings,
    dialect: Dialect,
) -> tuple[pa.Field, pa.ChunkedArray]:
    """Convert a column of text to the type that it means."""
    if name in numeric:
        column = parse_numbers(in_plain_spelling(name, column, dialect, settings).column, name)
        return pa.field(name, column.type), column
    if name in quasi:
        return quasi_column_in(name, column, settings, dialect)
    return _settle(name, column, settings, dialect)


def check_unreadable(path: Path) -> None:
    """Refuse a path that is no file, or that cannot be read."""
    try:
        mode = path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        raise InputError(f"there is no file {str(path)!r}; check the path.") from None
    except (OSError, ValueError):  # no permission, a loop of links, a name that no file can have
        raise InputError(NOT_READABLE.format(str(path))) from None
    if not stat.S_ISREG(mode):
        raise InputError(f"{str(path)!r} is not a file; name a {known_names()} file.")


def read_written(path: Path, like: pa.Schema | None = None, **options: Any) -> pa.Table:
    """Read a staged file as it is: all columns are text if the format has no types.

    `like` is the schema that was written, with its metadata: it determines which columns have gaps
    without quotes.
    """
    format = format_of_part(path)
    how = dict(format.read_back)
    if format.unquoted_gaps:
        how["unquoted_gaps"] = () if like is None else places_of_unquoted_gaps(like)
    with any_size():
        return format.read(path, **options_for(format, options), **how)


def read_as_numbers(path: str | Path, **reading: Any) -> pa.Table:
    """Read a file for a proposal; without types, columns that hold numbers only become numbers."""
    table = read_table(path, **reading)
    if format_of(Path(path)).typed:
        return table
    for position, name in enumerate(table.column_names):
        column = table.column(name)
        if pa.types.is_string(column.type) and looks_numeric(column):
            with contextlib.suppress(InputError):  # digits that no float64 can hold stay text
                numbers = parse_numbers(column, name)
                table = table.set_column(
                    position, table.schema.field(position).with_type(numbers.type), numbers
                )
    return table


def looks_numeric(column: pa.ChunkedArray) -> bool:
    """Check if a text column holds numbers only, and at least one."""
    matches = pc.all(pc.match_substring_regex(column, NUMBER))
    return column.null_count == 0 and len(column) > 0 and bool(matches.as_py())


def parse_numbers(column: pa.ChunkedArray, name: str) -> pa.ChunkedArray:
    """Convert a text column to int64 if all numbers are whole, else to float64."""
    numbers = plain_numbers(column) if column.null_count == 0 else None
    if numbers is not None:
        return numbers
    wrong = _first(pc.invert(pc.fill_null(pc.match_substring_regex(column, NUMBER), False)))
    if wrong >= 0:
        check_value(name, wrong, _what_is_wrong(column[wrong].as_py()))
    return parsed_numbers(column, name)


def _first(wanted: pa.ChunkedArray) -> int:
    return pc.index(wanted, True).as_py()


def _what_is_wrong(text: str | None) -> str:
    """Return the kind of a cell that is no number."""
    if text is None or re.match(MISSING, text):
        return "missing value"
    return "infinite value" if re.match(INFINITE, text) else "text where a number is needed"


def _settle(
    name: str, column: pa.ChunkedArray, settings: ColumnSettings, dialect: Dialect
) -> tuple[pa.Field, pa.ChunkedArray]:
    """Convert a column to numbers if writing them gives back the same text; else keep the text.

    Text that means numbers all the same is marked. In a file with locale numbers, such texts are
    held in plain spelling in memory.
    """
    spelled = in_plain_spelling(name, column, dialect, settings)
    if spelled.wrong < 0:
        numbers = as_same_numbers(spelled.column)
        if numbers is not None:
            return with_groups(pa.field(name, numbers.type), spelled), numbers
        field = pa.field(
            name, column.type, metadata=marks_of_text(name, spelled.column, settings, dialect.dates)
        )
        if means_numbers(field):
            return with_groups(field, spelled), spelled.column
        if spelled.column is column:
            return field, column
        kind = text_type_of(field)
        if kind is not None:  # categories stay to the letter, in the style of the file
            kind = TextType(kind.kind, dialect.style.decimal, dialect.style.thousands)
            return pa.field(name, column.type, metadata=field_metadata(typed=kind)), column
    return pa.field(name, column.type), column

"""Errors of text files that Arrow cannot read: they name the row and never quote it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from microagg.errors import InputError
from microagg.files.text.decoding import Source
from microagg.sentences import Assignment, sentence

if TYPE_CHECKING:
    import pyarrow as pa


LONGEST_ROW = 1 << 26
RAGGED = re.compile(r"CSV parse error: Row #(\d+): Expected \d+ columns, got \d+")
"""Beginning of Arrow's message on a row with too few or too many cells; the rest quotes the row."""


def check_csv(
    path: Path, source: Source, parse: Any, names: list[str], *, header: bool
) -> NoReturn:
    """Say why Arrow could not read a csv file, and where; its own message would quote the row."""
    ragged = _first_ragged_row(source, parse, names, header=header)
    if ragged is not None:
        raise InputError(
            sentence(
                f"{str(path)!r}, row {ragged} (header not counted) does not have the "
                f"{len(names)} columns of the header; correct it, say another ",
                Assignment("delimiter", "…"),
                ", put double quotes around values with a separator in them, or say skip_rows if "
                "the header comes after other rows.",
            )
        )
    raise InputError(
        f"{str(path)!r} is not a readable csv file; check its delimiter and its quotes."
    )


def _first_ragged_row(source: Source, parse: Any, names: list[str], *, header: bool) -> int | None:
    """Return the number of the first record with too few or too many cells; None if there is none.

    Arrow's message has the number. Its `invalid_row_handler` would have it too, but no Python
    function may be passed to a streaming reader. An Arrow thread drops the function some time after
    the reader is closed; if the interpreter is exiting by then, the process aborts.
    """
    import pyarrow as pa
    import pyarrow.csv as arrow_csv

    # rows are numbered on one thread only, so read again
    reading = arrow_csv.ReadOptions(
        use_threads=False, column_names=None if header else names, block_size=LONGEST_ROW
    )
    texts = arrow_csv.ConvertOptions(column_types={name: pa.string() for name in names})
    try:
        with arrow_csv.open_csv(source.to_read(), reading, parse, texts) as reader:
            for _ in reader:
                pass
    except (pa.ArrowException, OSError) as error:
        if row := RAGGED.match(str(error)):
            return int(row[1]) - header
    return None


def check_open_quote(path: Path, source: Source, table: pa.Table, rows: int) -> None:
    """Refuse a table of so many `rows` whose last quote is never closed.

    Arrow then reads on to the end of the file and loses the records after the quote.
    """
    last = table.column(table.num_columns - 1)[-1].as_py() if table.num_rows else None
    if last is None or not {"\n", "\r"} & set(last):
        return
    if not source.ending(64).rstrip(b"\r\n").endswith(b'"'):
        raise InputError(
            f"{str(path)!r}, row {rows} (header not counted): a double quote is opened "
            f"and never closed; "
            "close or remove it."
        )

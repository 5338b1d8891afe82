"""Text files read piece by piece: their cells as text, in batches, never more of them in memory
than a few blocks.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as arrow_csv

from microagg.errors import InputError
from microagg.table.columns.text_options import UTF8, UTF8_WITH_MARK

BLOCK = 1 << 22
"""Bytes that are parsed at a time; a record that is longer takes a longer block."""
LONGEST = 1 << 28


def batches_of_text(
    path: Path,
    packing: str,
    delimiter: str,
    names: Sequence[str],
    *,
    header: bool,
    quotes: bool = True,
    skipped: int = 0,
    wanted: Sequence[str] | None = None,
    missing: Sequence[str] = ("",),
) -> Iterator[pa.RecordBatch]:
    """All records of a text file in UTF-8, as columns of text; an empty cell without quotes is
    missing.

    Of all columns, or of those that are `wanted`; `missing` are the cells without quotes that are
    null.

    What Arrow cannot read raises one of its errors. Other encodings are decoded beforehand: Arrow's
    decoding stream calls Python from a thread of Arrow, which aborts the process if the interpreter
    ends at that moment.
    """
    convert = arrow_csv.ConvertOptions(
        column_types={name: pa.string() for name in names},
        strings_can_be_null=True,
        null_values=list(missing),
        include_columns=list(wanted or ()),
        quoted_strings_can_be_null=False,
    )
    parse = arrow_csv.ParseOptions(delimiter=delimiter, newlines_in_values=quotes)
    block, done = BLOCK, 0
    while True:
        reading = arrow_csv.ReadOptions(
            use_threads=False,
            block_size=block,
            column_names=list(names),
            skip_rows_after_names=1 if header else 0,
        )
        try:
            seen = 0
            with (
                text_stream(path, packing, UTF8, skipped) as stream,
                arrow_csv.open_csv(stream, reading, parse, convert) as reader,
            ):
                for batch in reader:
                    seen += batch.num_rows
                    if seen > done:  # else they were handed out before
                        yield batch.slice(max(0, batch.num_rows - (seen - done)))
                        done = seen
            return
        except (pa.ArrowException, OSError):
            if block >= LONGEST:
                raise
            block = LONGEST


def text_stream(path: Path, packing: str, encoding: str, skipped: int = 0) -> Any:
    """The bytes of a text file as UTF-8, unpacked and decoded as they are read; the first `skipped`
    ones are passed over.
    """
    stream: Any = pa.input_stream(str(path), compression=packing or None)
    stream.read(skipped)
    codec = "utf-16-le" if encoding == "utf-16" else encoding
    if codec in (UTF8, UTF8_WITH_MARK):
        return stream
    return pa.transcoding_input_stream(stream, codec, UTF8)


def names_of_text(path: Path, packing: str, encoding: str, delimiter: str) -> list[str]:
    """The names in the header of a text file that was just written."""
    from microagg.files.text.csv_format import LONGEST_HEADER, header_in, names_in

    with text_stream(path, packing, encoding) as stream:
        first = bytes(stream.read(LONGEST_HEADER)).removeprefix(codecs.BOM_UTF8)
    header = header_in(first.decode(UTF8, errors="ignore"))
    if not header:
        raise InputError(f"{str(path)!r} is empty; it needs a header and records.")
    return names_in(header, delimiter, path)

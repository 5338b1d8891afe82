"""Names of the columns of a file, without reading its records where the format allows that."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from microagg.files.chunks import READ_IN_PIECES, Source, is_in_parts
from microagg.files.format import Format
from microagg.files.formats import format_of, options_to_read
from microagg.files.reading import check_unreadable, read_table
from microagg.files.stores.locations import Url, parse_location


def columns_of_file(path: str | Path | Url, **reading: Any) -> list[str]:
    """Return the names of the columns of a file, a folder of parts or a pattern, in their order.

    `reading` is what is known about the file, such as header=False. Files of Excel, SPSS, Stata and
    SAS are read as a whole.
    """
    place = parse_location(path)
    if is_in_parts(place) or isinstance(place, Url):
        return list(Source.of(place).schema.names)
    check_unreadable(place)
    format = format_of(place)
    if format.name in READ_IN_PIECES:
        return list(Source.of(place).schema.names)
    if not format.typed and "encoding" in format.options:
        return _names_in_header(place, format, reading)
    return list(read_table(place, **reading).column_names)


def _names_in_header(path: Path, format: Format, reading: dict[str, Any]) -> list[str]:
    from microagg.files.text.csv_format import begun, names_and_header

    options = options_to_read(format, reading)
    header, usual = options.pop("header", None), format.options["delimiter"]
    options.pop("escape_formulas", None)
    # for what has to be unpacked or decoded
    with tempfile.TemporaryDirectory(prefix="microagg-") as aside:
        dialect, _, first = begun(
            path, **options, packing=format.packing, usual=usual, aside=Path(aside)
        )
    return names_and_header(path, first, dialect.delimiter, header)[0]

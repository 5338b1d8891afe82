"""What was written, to be verified: read by record number where it has types, taken in again as text where it has none."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from microagg.engine.executor import Executor
from microagg.engine.intake import ReadBack, TextFile, source_of, take_in
from microagg.errors import GuaranteeError, InputError
from microagg.table.io.chunks import Source
from microagg.table.io.csv_writing import places_of_unquoted_gaps
from microagg.table.io.format import Format
from microagg.table.io.text_pieces import names_of_text

UNREADABLE = "the file cannot be read back; nothing was written."


def read_back(
    part: Path,
    format: Format,
    like: pa.Schema,
    options: Mapping[str, Any],
    executor: Executor,
    room: Path,
    tell: Callable[[int], None],
) -> Source | ReadBack:
    """The table that lies there; `like` are the columns that were written, with their marks."""
    if format.typed:
        return Source.of_part(part, format.name)
    how = format.packing, options["encoding"], options["delimiter"]
    try:
        names = names_of_text(part, *how)
        file = TextFile(
            str(part),
            *how,
            tuple(names),
            escaped=bool(options["escape_formulas"]),
            gaps=places_of_unquoted_gaps(like),
        )
        folder = room / "written"
        folder.mkdir(mode=0o700, exist_ok=True)
        pieces = executor.alone(take_in, file, str(folder), tell=tell)
    except (InputError, pa.ArrowException):
        raise GuaranteeError(UNREADABLE) from None
    names = _unescaped(names) if file.escaped else names
    texts = source_of(pieces, pa.schema([(name, pa.string()) for name in names]))
    if names != like.names:
        raise GuaranteeError("the file does not have the columns it should; nothing was written.")
    return ReadBack(texts, like, options)


def _unescaped(names: list[str]) -> list[str]:
    from microagg.table.io.csv_format import unescaped

    return unescaped(pa.schema([(name, pa.string()) for name in names]).empty_table()).column_names

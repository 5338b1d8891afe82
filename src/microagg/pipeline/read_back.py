"""What was written, to be verified: read by record number where it has types, taken in again as
text where it has none.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from microagg.errors import GuaranteeError, InputError
from microagg.files.chunks import Source
from microagg.files.format import Format
from microagg.files.text.batches import names_of_text
from microagg.files.text.csv_writing import places_of_unquoted_gaps
from microagg.pipeline.text_intake import ReadBack, TextFile, read_text_file, source_of
from microagg.runtime.executor import Executor

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
        pieces = executor.run_exclusive(read_text_file, file, str(folder), tell=tell)
    except (InputError, pa.ArrowException):
        raise GuaranteeError(UNREADABLE) from None
    names = _unescaped(names) if file.escaped else names
    texts = source_of(pieces, pa.schema([(name, pa.string()) for name in names]))
    if names != like.names:
        raise GuaranteeError("the file does not have the columns it should; nothing was written.")
    return ReadBack(texts, like, options)


def _unescaped(names: list[str]) -> list[str]:
    from microagg.files.text.csv_format import unescaped

    return unescaped(pa.schema([(name, pa.string()) for name in names]).empty_table()).column_names

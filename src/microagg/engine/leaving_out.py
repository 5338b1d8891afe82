"""Records that are left out before anything else is done: the others are set aside as a table of their own, numbered anew."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from microagg.engine.passing import Passes
from microagg.engine.scanning import cells_in
from microagg.engine.spill import told_in, write_piece
from microagg.engine.territories import StrataCodes
from microagg.table.io.chunks import Source
from microagg.table.io.identity import digest_of_chunk, refuse_other_chunk
from microagg.table.io.whole import WholeColumn
from microagg.table.variable import missing_cells


def complete_chunk(
    source: Any,
    first: int,
    count: int,
    names: tuple[str, ...],
    compared: tuple[str, ...],
    columns: Sequence[WholeColumn],
    path: str,
) -> dict[str, Any]:
    """A task: set the records of a chunk aside that miss none of some columns."""

    def complete(rows: pa.Table) -> np.ndarray:
        return np.asarray(~missing_cells(cells_in(rows, columns, first)).any(axis=1))

    return _set_aside(source, first, count, names, compared, complete, path)


def of_strata_chunk(
    source: Any,
    first: int,
    count: int,
    names: tuple[str, ...],
    compared: tuple[str, ...],
    strata: StrataCodes,
    wrong: np.ndarray,
    path: str,
) -> dict[str, Any]:
    """A task: set the records of a chunk aside whose stratum is not a wrong one."""

    def right(rows: pa.Table) -> np.ndarray:
        return wrong[strata.of_records(rows)] == 0

    return _set_aside(source, first, count, names, compared, right, path)


def _set_aside(
    source: Any,
    first: int,
    count: int,
    names: tuple[str, ...],
    compared: tuple[str, ...],
    chosen: Any,
    path: str,
) -> dict[str, Any]:
    path = f"{path}-{first}-{count}.arrow"
    if (told := told_in(path)) is not None:
        return {**told, "path": path}
    rows = source.read(first, count, names)
    told = {"digest": digest_of_chunk(rows, compared)}
    rows = rows.filter(pa.array(chosen(rows)))
    return {**write_piece(path, rows, np.zeros(len(rows), np.int64), told), "path": path}


def kept_records(
    passes: Passes,
    task: Any,
    names: tuple[str, ...],
    compared: tuple[str, ...],
    digests: Sequence[str],
    *given: Any,
) -> Source:
    """The table of the records that a task sets aside, with these columns; `digests` are those of the first pass."""
    files, pieces = [], []
    done = passes.over("routing", task, names, compared, *given)
    for told, digest in zip(done, digests, strict=True):
        refuse_other_chunk(digest, told["digest"])
        if told["index"]:
            files.append(told["path"])
            pieces.append((told["index"][0][1],))
    schema = pa.schema([passes.source.schema.field(name) for name in names])
    return Source(tuple(files), "Arrow", tuple(pieces), schema)

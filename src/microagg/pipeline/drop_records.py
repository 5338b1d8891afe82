"""Records that are left out before anything else is done: the others are set aside as a table of
their own, numbered anew.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from microagg.files.chunks import Source
from microagg.files.identity import check_other_chunk, digest_of_chunk
from microagg.pipeline.strata_plan import StrataCodes
from microagg.runtime.chunk_map import ChunkMap
from microagg.runtime.spill import read_result, write_spill_file
from microagg.table.columns.column_encoding import ColumnEncoding, cells_in
from microagg.table.variable import missing_cells


def complete_chunk(
    source: Any,
    first: int,
    count: int,
    names: tuple[str, ...],
    compared: tuple[str, ...],
    columns: Sequence[ColumnEncoding],
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
    if (stats := read_result(path)) is not None:
        return {**stats, "path": path}
    rows = source.read(first, count, names)
    stats = {"digest": digest_of_chunk(rows, compared)}
    rows = rows.filter(pa.array(chosen(rows)))
    return {**write_spill_file(path, rows, np.zeros(len(rows), np.int64), stats), "path": path}


def kept_records(
    passes: ChunkMap,
    task: Any,
    names: tuple[str, ...],
    compared: tuple[str, ...],
    digests: Sequence[str],
    *arguments: Any,
) -> Source:
    """The table of the records that a task sets aside, with these columns; `digests` are those of
    the first pass.
    """
    files, pieces = [], []
    done = passes.map_chunks("routing", task, names, compared, *arguments)
    for stats, digest in zip(done, digests, strict=True):
        check_other_chunk(digest, stats["digest"])
        if stats["index"]:
            files.append(stats["path"])
            pieces.append((stats["index"][0][1],))
    schema = pa.schema([passes.source.schema.field(name) for name in names])
    return Source(tuple(files), "Arrow", tuple(pieces), schema)

"""Detection of values that a single record has, out of core: such values are released only if
accepted.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from microagg.pipeline.spill_index import SpillFile, SpillIndex
from microagg.pipeline.verification import count_values
from microagg.release.settings import Settings
from microagg.release.true_values import TRUE_VALUES, releases_true_values
from microagg.runtime.chunk_map import ChunkMap
from microagg.runtime.spill import write_spill_file
from microagg.table.columns.column_encoding import ColumnEncoding, cells_in
from microagg.table.grouping import GOLDEN


def risks_of_unique_values(
    passes: ChunkMap, columns: Sequence[ColumnEncoding], settings: Settings, folder: Path, bits: int
) -> tuple[str, ...]:
    """Return the risks that `risks_of_aggregates` finds in the whole table; values are counted only
    where the risk has not been accepted.
    """
    if TRUE_VALUES in settings.accept_risk:
        return ()
    for index, column in enumerate(columns):
        if releases_true_values(column, settings.aggregates) and _has_single(
            passes, column, folder, bits, index
        ):
            return (TRUE_VALUES,)
    return ()


def _has_single(
    passes: ChunkMap, column: ColumnEncoding, folder: Path, bits: int, index: int
) -> bool:
    files = [
        SpillFile.of(stats["path"], stats)
        for stats in passes.map_chunks("measuring", single_chunk, column, bits, str(folder), index)
    ]
    pieces = SpillIndex(files)
    tasks = ((pieces.holding([bucket]),) for bucket in range(1 << bits))
    single = sum(once for _, once in passes.executor.map_ordered(count_values, tasks))
    for piece in files:
        Path(piece.path).unlink(missing_ok=True)
    return single > 0


def single_chunk(
    source: Any, first: int, count: int, column: ColumnEncoding, bits: int, folder: str, index: int
) -> dict[str, Any]:
    """A task: the values of a chunk of a column, by bucket."""
    path = f"{folder}/single-{index}-{first}-{count}.arrow"
    values = cells_in(source.read(first, count, [column.name]), [column], first).values[:, 0]
    words = (values[~np.isnan(values)] + 0.0).view(np.uint64)  # 0 and -0 are one value
    mixed = (words ^ (words >> np.uint64(32))) * GOLDEN
    buckets = (
        (mixed >> np.uint64(64 - bits)).astype(np.int64) if bits else np.zeros(len(words), np.int64)
    )
    table = pa.table({"h0": words, "h1": np.zeros(len(words), np.uint64)})
    return {**write_spill_file(path, table, buckets, {}), "path": path}

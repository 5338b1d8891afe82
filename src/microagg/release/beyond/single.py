"""Whether a column has values that one record alone has, beyond memory: what must be accepted before such values are released."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from microagg.engine.passing import Passes
from microagg.engine.plan import Piece, Pieces
from microagg.engine.scanning import cells_in
from microagg.engine.spill import write_piece
from microagg.engine.verifying import count_values
from microagg.release.settings import Settings
from microagg.release.true_values import TRUE_VALUES, releases_true_values
from microagg.table.grouping import GOLDEN
from microagg.table.io.whole import WholeColumn


def risks_beyond(
    passes: Passes, columns: Sequence[WholeColumn], settings: Settings, folder: Path, bits: int
) -> tuple[str, ...]:
    """What `risks_of_aggregates` finds in the whole table; values are counted only where nobody has accepted the risk."""
    if TRUE_VALUES in settings.accept_risk:
        return ()
    for place, column in enumerate(columns):
        if releases_true_values(column, settings.aggregates) and _has_single(
            passes, column, folder, bits, place
        ):
            return (TRUE_VALUES,)
    return ()


def _has_single(passes: Passes, column: WholeColumn, folder: Path, bits: int, place: int) -> bool:
    found = [
        Piece.of(told["path"], told)
        for told in passes.over("measuring", single_chunk, column, bits, str(folder), place)
    ]
    pieces = Pieces(found)
    given = ((pieces.holding([bucket]),) for bucket in range(1 << bits))
    single = sum(once for _, once in passes.executor.in_order(count_values, given))
    for piece in found:
        Path(piece.path).unlink(missing_ok=True)
    return single > 0


def single_chunk(
    source: Any, first: int, count: int, column: WholeColumn, bits: int, folder: str, place: int
) -> dict[str, Any]:
    """A task: the values of a chunk of a column, by bucket."""
    path = f"{folder}/single-{place}-{first}-{count}.arrow"
    values = cells_in(source.read(first, count, [column.name]), [column], first).values[:, 0]
    words = (values[~np.isnan(values)] + 0.0).view(np.uint64)  # 0 and -0 are one value
    mixed = (words ^ (words >> np.uint64(32))) * GOLDEN
    buckets = (mixed >> np.uint64(64 - bits)).astype(np.int64) if bits else np.zeros(len(words), np.int64)
    table = pa.table({"h0": words, "h1": np.zeros(len(words), np.uint64)})
    return {**write_piece(path, table, buckets, {}), "path": path}

"""Spill files by key: which batches of which files hold the records of a block or bucket."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from microagg.runtime.spill import discard_rows, read_batches

NUMBER, GROUP, FORMER = "microagg record", "microagg group", "microagg block"
"""Columns that records carry along: their number in the table, their group, and the block in which
it was formed.
"""


@dataclass(frozen=True)
class SpillFile:
    """A spill file: where it is, and how many records of which key each of its batches has."""

    path: str
    index: tuple[tuple[int, int], ...]

    @staticmethod
    def of(path: str, stats: dict[str, Any]) -> SpillFile:
        """The file that tells this of itself."""
        return SpillFile(path, tuple((key, count) for key, count in stats["index"]))


Holding = tuple[tuple[str, tuple[int, ...]], ...]
"""Where records lie: files, and which of their batches. All that a task is told of them."""


class SpillIndex:
    """Spill files, and which of them hold what.

    >>> pieces = SpillIndex([SpillFile("a", ((1, 5), (2, 7))), SpillFile("b", ((2, 5),))])
    >>> pieces.holding([2]), pieces.counts(3).tolist()
    ((('a', (1,)), ('b', (0,))), [0, 5, 12])
    """

    def __init__(self, pieces: Sequence[SpillFile]) -> None:
        self.pieces = pieces
        self._places: dict[int, list[tuple[int, int]]] = {}
        for number, piece in enumerate(pieces):
            for batch, (key, _) in enumerate(piece.index):
                self._places.setdefault(key, []).append((number, batch))

    def holding(self, keys: Iterable[int]) -> Holding:
        """Where the records of these keys lie."""
        batches: dict[int, list[int]] = {}
        for key in keys:
            for number, batch in self._places.get(key, ()):
                batches.setdefault(number, []).append(batch)
        return tuple(
            (self.pieces[number].path, tuple(sorted(batches[number]))) for number in sorted(batches)
        )

    def counts(self, keys: int) -> np.ndarray:
        """(keys,): how many records each key has."""
        counts = np.zeros(keys, np.int64)
        for piece in self.pieces:
            for key, count in piece.index:
                counts[key] += count
        return counts

    def forget(self) -> None:
        """Remove the files, but for what they tell of themselves."""
        for piece in self.pieces:
            discard_rows(piece.path)


def batches_in(holding: Holding, names: Sequence[str] | None = None) -> list[pa.RecordBatch]:
    """All batches that lie there, of these columns or of all."""
    return [batch for path, places in holding for batch in read_batches(path, places, names)]


def load_rows(holding: Holding) -> pa.Table:
    """The records that lie there, in the order of their numbers."""
    rows = pa.Table.from_batches(batches_in(holding)).replace_schema_metadata(None)
    order = np.argsort(rows.column(NUMBER).to_numpy(), kind="stable")
    return rows.take(pa.array(order)).combine_chunks()

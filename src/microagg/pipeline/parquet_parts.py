"""The rows of a release as a folder of parts, each written by a task of its own: as many at once as
there are workers.
"""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from microagg.errors import CancelledError
from microagg.files.columnar import parquet_folder
from microagg.files.columnar.parquet_format import in_pieces
from microagg.files.commit import journal, system
from microagg.files.formats import PART
from microagg.pipeline.row_order import in_pieces_of, schema_in, sorted_bucket
from microagg.pipeline.spill_index import Holding, SpillIndex
from microagg.runtime.executor import is_cancelled
from microagg.runtime.spill import explain_full_disk
from microagg.table.columns.categories import with_categories, with_kinds
from microagg.table.columns.digests import digests_of_runs
from microagg.table.columns.text_types import TextType, with_values


@dataclass(frozen=True)
class WrittenPart:
    """Facts of a part that a task has written."""

    name: str
    records: int
    runs: list[bytes]
    """The digests of its runs of records."""
    digest: str
    """Of its bytes."""


@dataclass(frozen=True)
class PartsWriting:
    """Plan of the parts: the rows of each, and the buckets that hold them."""

    pieces: SpillIndex
    counts: np.ndarray
    """(buckets,): how many rows each has; all rows of one come before those of the next."""
    records: int

    @staticmethod
    def of(pieces: SpillIndex, buckets: int, records: int) -> PartsWriting:
        """The parts of so many rows that lie there."""
        return PartsWriting(pieces, pieces.counts(buckets), records)

    def tasks(self) -> Iterator[tuple[int, int, int, tuple[Holding, ...]]]:
        """For each part: its number, how many rows of the first of its buckets come before it, how
        many it has, and where its buckets lie.
        """
        ends = np.cumsum(self.counts)
        for number, first in enumerate(range(0, self.records, parquet_folder.RECORDS_IN_A_PART)):
            count = min(parquet_folder.RECORDS_IN_A_PART, self.records - first)
            begin = int(np.searchsorted(ends, first, side="right"))
            end = int(np.searchsorted(ends, first + count, side="left")) + 1
            before = first - int(ends[begin] - self.counts[begin])
            yield (
                number,
                before,
                count,
                tuple(self.pieces.holding([bucket]) for bucket in range(begin, end)),
            )

    @contextlib.contextmanager
    def work_folder(self, folder: Path) -> Iterator[Path]:
        """Where parts are written that are then moved to a folder: whoever is late, or thought to
        be dead, puts nothing there any more.
        """
        path = journal.beside(folder.with_name(_name_of(folder)), PART)
        system.create_folder(path)
        try:
            yield path
        finally:
            with contextlib.suppress(OSError):
                system.remove(path)

    def take_over(self, room: Path, folder: Path, names: Sequence[str]) -> None:
        """Move all parts to their folder."""
        for name in names:
            system.rename(room / name, folder / name)


def write_part_of(
    number: int,
    before: int,
    count: int,
    holdings: tuple[Holding, ...],
    folder: str,
    kinds: dict[str, Any],
    categories: dict[str, pa.Array],
    types: dict[str, TextType],
) -> WrittenPart:
    """A task: write some of the rows that lie there, in the order of their keys; under a name of
    its own until it is whole.
    """
    path = Path(folder, parquet_folder.part_name(number))
    part = path.with_name(f"{path.name}.{secrets.token_hex(8)}.part")
    runs: list[bytes] = []

    def fill(file: Path) -> None:
        schema = schema_in(next(holding[0][0] for holding in holdings if holding))
        schema = with_values(with_kinds(schema, kinds).empty_table(), types).schema
        with in_pieces(file, schema) as write_piece:
            for rows in in_pieces_of(_some_of(holdings, before, count)):
                if is_cancelled():
                    raise CancelledError("stopped; nothing was written.")
                rows = with_categories(rows, kinds, categories)
                write_piece(with_values(rows, types))
                runs.extend(digests_of_runs(rows))

    with explain_full_disk("while the rows were written"):
        try:
            parquet_folder.write_part(part, fill)
            digest = system.digest(part)
            system.rename(part, path)
        except BaseException:
            with contextlib.suppress(OSError):
                part.unlink(missing_ok=True)
            raise
    return WrittenPart(path.name, count, runs, digest)


def _some_of(holdings: Sequence[Holding], before: int, count: int) -> Iterator[pa.Table | None]:
    """The rows of buckets from some row of the first on, so many of them."""
    left = count
    for index, holding in enumerate(holdings):
        rows = sorted_bucket(holding)
        if rows is not None:
            rows = rows.slice(0 if index else before, left)
            left -= rows.num_rows
            yield rows


def _name_of(part: Path) -> str:
    """The name of the place beside which a part lies."""
    return part.name.split(".", 2)[2].removesuffix(PART)

"""Memory budget: what fits into memory, sizes of chunks and blocks, unsupported settings."""

from __future__ import annotations

import contextlib
import os
import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from microagg.errors import InputError, OnlyInMemoryError
from microagg.files.chunks import READ_IN_PIECES, Source, is_in_parts
from microagg.files.commit.journal import settle
from microagg.files.formats import format_of
from microagg.files.memory import available_memory
from microagg.files.stats.sidecar import sidecar_of
from microagg.files.stores.locations import Url, parse_location
from microagg.files.unpacking import check_larger, memory_limit
from microagg.measures.registry import measures
from microagg.methods.search import blockwise
from microagg.methods.search.blockwise import largest_block
from microagg.pipeline.block_plan import needs_plan
from microagg.pipeline.piece_intake import facts_of_pieces, is_piece_file
from microagg.pipeline.text_input import estimate_size, is_text_file
from microagg.release.note import Note
from microagg.release.note_catalogue import make_note
from microagg.release.settings import Settings
from microagg.release.strata import check_columnwise
from microagg.table.columns.arrow import bytes_of
from microagg.table.encoder import RUN
from microagg.table.schema import Role, Schema

LEAST_CHUNK, LARGEST_CHUNK = 1, 16  # in runs of records
# bytes that a record takes in memory at the peak, and each of its cells
OF_A_RECORD, OF_A_CELL = 110, 30
# more for a column of categories: 2,000,000 x 9 columns with one took 606 bytes a record
OF_A_CATEGORY = 250
# the same for a record of a block that is worked on: 250,000 x 8 took 230 MB
IN_A_BLOCK, IN_A_BLOCK_CELL = 400, 40
_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
_SIZE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([KMGT]?)I?B?\s*", re.IGNORECASE)


def bytes_in(memory: str | int | float) -> int:
    """Return the bytes of a size.

    >>> bytes_in("4GB"), bytes_in("300 MB"), bytes_in(5_000_000)
    (4000000000, 300000000, 5000000)
    """
    if isinstance(memory, int | float) and not isinstance(memory, bool) and memory > 0:
        return int(memory)
    match = _SIZE.fullmatch(memory) if isinstance(memory, str) else None
    size = int(float(match[1]) * _UNITS[match[2].upper()]) if match else 0
    if size <= 0:
        raise InputError("memory must be a size such as 4GB or 500MB.")
    return size


def free_memory() -> int:
    """Half of the memory that is free.

    >>> free_memory() > 0
    True
    """
    return available_memory() // 2


def memory_for(path: str | Path | Url) -> int:
    """Return how many bytes a table may take in memory if nobody said how many: half of what is
    free, less for a small file.
    """
    location = parse_location(path)
    if isinstance(location, Url) or not location.is_file():
        return free_memory()
    return min(free_memory(), memory_limit(location))


def check_without_room(path: str | Path, table: pa.Table, settings: Settings) -> None:
    """Refuse a table that was read, but whose work in memory takes more than there is."""
    needed = table.num_rows * _bytes_in_memory(table.schema, settings)
    location = Path(path)
    if location.is_file():
        check_larger(location, needed, memory_limit(location))
    elif needed > available_memory():
        raise InputError(
            f"the table in {str(path)!r} takes about {needed / 1e9:,.1f} GB of memory, "
            f"and there is less; use a larger machine."
        )


def exceeds_memory(
    path: str | Path | Url,
    settings: Settings,
    memory: str | int | float | None,
    *,
    engine: bool = False,
) -> bool:
    """Return True if a table is to be processed out of core: it exceeds the memory and is large
    enough for blocks.

    With an engine it need only be large enough: what is one block gives others nothing to do.
    """
    allowed = memory_for(path) if memory is None else bytes_in(memory)
    if is_text_file(path):
        return _text_exceeds_memory(Path(str(path)), settings, allowed, engine)
    records, schema = _size_of(path, settings)
    needed = records * _bytes_in_memory(schema, settings)
    if not engine and needed <= allowed:
        return False
    return needs_plan(records, len(settings.quasi), settings.k)


def _size_of(path: str | Path | Url, settings: Settings) -> tuple[int, pa.Schema]:
    """Return the number of records and the columns of a table; none if it is read as a whole."""
    if is_piece_file(path) and Path(str(path)).is_file():
        with contextlib.suppress(InputError, OSError):  # who reads it as a whole says why
            return facts_of_pieces(Path(str(path)), settings.reading) or (0, pa.schema([]))
        return 0, pa.schema([])
    source = _source_of(path)
    return (0, pa.schema([])) if source is None else (source.records, source.schema)


def notes_on_memory(
    memory: str | int | float | None, table: pa.Table, settings: Settings
) -> tuple[Note, ...]:
    """Return a note if a table worked on in memory may have taken more than was allowed.

    A table of one block is never cut.

    >>> table, settings = pa.table({"age": [30] * 20_000}), Settings.of(k=2, quasi="age")
    >>> [note.counts["megabytes"] for note in notes_on_memory("1MB", table, settings)]
    [2.8]
    """
    needed = table.num_rows * _bytes_in_memory(table.schema, settings)
    if memory is None or needed <= bytes_in(memory):
        return ()
    records = blockwise.MOST_AS_ONE
    return (make_note("memory-exceeded", megabytes=needed / 1e6, records=records),)


def _text_exceeds_memory(path: Path, settings: Settings, memory: int, engine: bool) -> bool:
    """The same of a text file, whose first lines tell about how large its table is."""
    guess = estimate_size(path) if path.is_file() else None
    if guess is None or not needs_plan(guess.records, len(settings.quasi), settings.k):
        return False
    needed = guess.records * (OF_A_RECORD + OF_A_CELL * guess.columns) + 2 * guess.bytes
    return engine or needed > memory


def _bytes_in_memory(schema: pa.Schema, settings: Settings) -> int:
    """Estimate the bytes of a record at the peak in memory. Categories become axes, whose number is
    not known yet.

    >>> _bytes_in_memory(pa.schema([("age", pa.int64())]), Settings.of(k=2, quasi="age"))
    140
    """
    coded = {
        *settings.nominal,
        *(name for name, kind in settings.kinds.items() if kind != "numeric"),
    }
    for field in schema:
        if not (pa.types.is_integer(field.type) or pa.types.is_floating(field.type)):
            coded.add(field.name)
    return OF_A_RECORD + OF_A_CELL * len(schema) + OF_A_CATEGORY * len(coded & set(settings.quasi))


def check_labels(path: str | Path | Url) -> None:
    """Raise where labels lie beside a table: they are not carried along in passes."""
    beside = sidecar_of(parse_location(path))
    exists = os.path.lexists(beside) if isinstance(beside, Path) else beside.size() is not None
    if exists:
        raise OnlyInMemoryError(
            f"the labels in {str(beside)!r} are not supported in large-table mode; give it more "
            f"memory, or move that file away."
        )


def _source_of(path: str | Path | Url) -> Source | None:
    """The table that lies there, if it can be read piece by piece; what is wrong with others, those
    say who read them as a whole.
    """
    if is_in_parts(path):
        return Source.of(path)
    path = parse_location(path)
    if format_of(path).name not in READ_IN_PIECES:
        return None
    if isinstance(path, Url):
        return Source.of(path)
    settle(path)
    try:
        return Source.of(path) if path.is_file() else None
    except (InputError, OSError):
        return None


def check_out_of_core(settings: Settings, schema: Schema | None = None) -> None:
    """Raise where a setting is not supported out of core; the error names it.

    Searches that need all records in one block are refused where these do not fit: `one_block`.
    """
    method = settings.chosen_method
    if method.scope != "record":
        raise OnlyInMemoryError(
            f"method {method.name} groups each column on its own, which is not supported out of "
            "core; give it more memory, or choose another method."
        )
    if schema is not None:
        check_columnwise(schema, settings)
    # of these only a sample is known
    sampled = [name for name in settings.publish if name not in _exact(settings)]
    if sampled:
        raise OnlyInMemoryError(
            f"publish={sampled[0]} is not supported out of core; give it more memory, or leave it "
            "out."
        )


def _exact(settings: Settings) -> list[str]:
    """Return the measures of both tables that are exact out of core."""
    weighted = settings.weight is not None
    return [
        measure.name
        for measure in measures()
        if measure.basis.is_exact and (measure.exact_with_weights or not weighted)
    ]


@dataclass(frozen=True)
class MemoryBudget:
    """Memory budget of a run; it decides when work is done, never its result."""

    memory: int
    threads: int
    chunk: int = RUN
    """Records of a chunk, in whole runs."""
    at_once: int = 1
    """Blocks that are worked on at a time."""
    row_bits: int = 0
    class_bits: int = 0
    a_record: int = 0
    """Bytes that a record of a chunk takes, about, at the peak."""
    a_block_record: int = 0
    """The same of a block."""
    a_bucket: int = 0
    """Bytes that a bucket takes at most, about."""

    def checked(self, source: Source, schema: Schema, k: int) -> MemoryBudget:
        """The same for one table; refused where one block does not fit."""
        quasi = len(schema.names(Role.QUASI))
        carried = _record_bytes(source, schema)
        block = bytes_of_block(source, schema, k)
        if self.memory < block:
            raise InputError(
                f"one block of this table needs about {block / 1e6:,.0f} MB of memory, and "
                f"{self.memory / 1e6:,.0f} MB may be used; allow more (memory, --memory)."
            )
        at_once = max(1, min(self.threads, int(self.memory // block)))
        a_record = 3 * carried + 24 * quasi + 64
        chunk = int(self.memory // (2 * self.threads * a_record)) // RUN
        room = self.memory / (6 * self.threads)
        return replace(
            self,
            chunk=RUN * min(max(chunk, LEAST_CHUNK), LARGEST_CHUNK),
            at_once=at_once,
            row_bits=_bits(source.records * 3 * (carried + 8), room),
            class_bits=_bits(source.records * 100, room),
            a_record=a_record,
            a_block_record=block // largest_block(quasi, k),
            a_bucket=int(room),
        )

    @property
    def for_values(self) -> int:
        """Bytes that the different values of columns may take: they stay there while blocks are
        worked on.
        """
        return self.memory // 4

    def disk(self, source: Source, schema: Schema) -> int:
        """Estimate the bytes of temporary files at the peak: two copies of carried columns, hashes,
        facts of groups.
        """
        rows = source.read(0, min(source.records, RUN), schema.released())
        buffer: Any = pa.BufferOutputStream()
        options = pa.ipc.IpcWriteOptions(
            compression="lz4" if pa.Codec.is_available("lz4") else None
        )
        with pa.ipc.new_file(buffer, rows.schema, options=options) as file:
            file.write_table(rows)
        row_bytes = buffer.getvalue().size / max(rows.num_rows, 1)
        facts = 6 * len(
            schema.names(Role.QUASI)
        )  # 5 numbers a column and group, packed, and k of 5 as a rule
        return int(source.records * (2.2 * (row_bytes + 12) + 64 + facts))


def bytes_of_block(source: Source, schema: Schema, k: int) -> int:
    """Estimate the bytes of a block at the peak."""
    quasi = len(schema.names(Role.QUASI))
    a_record = IN_A_BLOCK + IN_A_BLOCK_CELL * quasi + 3 * _record_bytes(source, schema)
    return largest_block(quasi, k) * a_record


def _record_bytes(source: Source, schema: Schema) -> int:
    """Return the bytes of a record's released columns in Arrow's memory."""
    rows = source.read(0, min(source.records, RUN), schema.released())
    return int(np.ceil(bytes_of(rows) / max(rows.num_rows, 1)))


def _bits(total: float, room: float) -> int:
    """Return the number of bits that number buckets so that each fits.

    >>> _bits(1000, 300), _bits(1, 300)
    (2, 0)
    """
    return max(0, int(np.ceil(np.log2(max(total / room, 1.0)))))

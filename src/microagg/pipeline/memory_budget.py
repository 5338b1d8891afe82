"""How much memory there is, what fits into it, and what is not worked on beyond it yet."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from microagg.errors import InputError, OnlyInMemory
from microagg.files.chunks import READ_IN_PIECES, Source, is_in_parts
from microagg.files.commit.journal import settle
from microagg.files.formats import format_of
from microagg.files.memory import available_memory
from microagg.files.stats.sidecar import sidecar_of
from microagg.files.stores.locations import Url, parse_location
from microagg.files.unpacking import check_larger, memory_limit
from microagg.methods.search import blockwise
from microagg.methods.search.blockwise import largest_block
from microagg.pipeline.block_plan import needs_plan
from microagg.pipeline.text_input import estimate_size, is_text_file
from microagg.release.settings import Settings
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
    """How many bytes a size names.

    >>> bytes_in("4GB"), bytes_in("300 MB"), bytes_in(5_000_000)
    (4000000000, 300000000, 5000000)
    """
    if isinstance(memory, int | float) and not isinstance(memory, bool) and memory > 0:
        return int(memory)
    found = _SIZE.fullmatch(memory) if isinstance(memory, str) else None
    size = int(float(found[1]) * _UNITS[found[2].upper()]) if found else 0
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
    place = parse_location(path)
    if isinstance(place, Url) or not place.is_file():
        return free_memory()
    return min(free_memory(), memory_limit(place))


def check_without_room(path: str | Path, table: pa.Table, settings: Settings) -> None:
    """Refuse a table that was read, but whose work in memory takes more than there is."""
    needed = table.num_rows * _bytes_in_memory(table.schema, settings)
    place = Path(path)
    if place.is_file():
        check_larger(place, needed, memory_limit(place))
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
    """Whether a table is to be worked on in passes: it does not fit into memory, and is large
    enough for blocks.

    With an engine it need only be large enough: what is one block gives others nothing to do.
    """
    allowed = memory_for(path) if memory is None else bytes_in(memory)
    if is_text_file(path):
        return _text_exceeds_memory(Path(str(path)), settings, allowed, engine)
    source = _source_of(path)
    if source is None:
        return False
    needed = source.records * _bytes_in_memory(source.schema, settings)
    if not engine and needed <= allowed:
        return False
    return needs_plan(source.records, len(settings.quasi), settings.k)


def notes_on_memory(
    memory: str | int | float | None, table: pa.Table, settings: Settings
) -> tuple[str, ...]:
    """What to know where a table that was worked on in memory may have taken more than was
    allowed: what is one block is never cut.

    >>> notes_on_memory("1MB", pa.table({"age": [30] * 20_000}), Settings.of(k=2, quasi="age"))[0].split(";")[0]
    'this table was worked on in memory as a whole, which may take up to about 3 MB besides the libraries'
    """
    needed = table.num_rows * _bytes_in_memory(table.schema, settings)
    if memory is None or needed <= bytes_in(memory):
        return ()
    return (
        f"this table was worked on in memory as a whole, which may take up to about "
        f"{needed / 1e6:,.0f} MB besides the libraries; memory is "
        f"heeded for parquet, Arrow and text files of more than {blockwise.MOST_AS_ONE:,} records",
    )


def _text_exceeds_memory(path: Path, settings: Settings, memory: int, engine: bool) -> bool:
    """The same of a text file, whose first lines tell about how large its table is."""
    guess = estimate_size(path) if path.is_file() else None
    if guess is None or not needs_plan(guess.records, len(settings.quasi), settings.k):
        return False
    needed = guess.records * (OF_A_RECORD + OF_A_CELL * guess.columns) + 2 * guess.bytes
    return engine or needed > memory


def _bytes_in_memory(schema: pa.Schema, settings: Settings) -> int:
    """How many bytes a record takes at the peak in memory, about. Categories become axes, whose
    number is not known yet.

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
    there = os.path.lexists(beside) if isinstance(beside, Path) else beside.size() is not None
    if there:
        raise OnlyInMemory(
            f"the labels in {str(beside)!r} are not carried along beyond memory yet; "
            f"give it more memory, or move them away."
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
    """Raise where something is asked for that is not done beyond memory; one sentence that names
    it.
    """
    effort = settings.params.get("effort")
    if settings.method != "auto":
        raise OnlyInMemory(
            f"method {settings.method} works on the whole table at once, which does not "
            f"fit into memory; use method hybrid with it inside "
            "on a machine with more memory, or the default method, auto."
        )
    if effort in ("thorough", "prove"):
        raise OnlyInMemory(
            f"effort {effort} works on the whole table at once, which does not fit into "
            f"memory; choose quick or balanced, or method "
            "hybrid on a machine with more memory."
        )
    sampled = [
        name for name in settings.publish if name not in _exact(settings)
    ]  # of these only a sample is told
    asked = {
        "refine": settings.refine,
        "time_limit": settings.params.get("time_limit") is not None,
        "stop_after": settings.params.get("stop_after") is not None,
        f"publish={sampled[0] if sampled else ''}": bool(sampled),
    }
    for name, value in asked.items():
        if value:
            raise OnlyInMemory(
                f"{name} is not worked on beyond memory yet; give it more memory, or leave it out."
            )


def _exact(settings: Settings) -> tuple[str, ...]:
    """The measures of both tables that are exact beyond memory; of weighted tables loss in z-scores
    may be from a sample.
    """
    exact = "il-raw", "sse-raw", "il1s", "il1s-percent", "cells-unchanged"
    return exact if settings.weight is not None else (*exact, "il", "sse")


@dataclass(frozen=True)
class MemoryBudget:
    """How much is in memory at a time; decides nothing but that."""

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
                f"memory of {self.memory / 1e6:,.0f} MB is less than one block of this "
                f"table needs, about {block / 1e6:,.0f} MB; "
                "give it that much."
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
        """How many bytes the work keeps on disk at most, about: two copies of what records carry,
        their hashes, facts of groups.
        """
        rows = source.read(0, min(source.records, RUN), schema.released())
        buffer: Any = pa.BufferOutputStream()
        options = pa.ipc.IpcWriteOptions(
            compression="lz4" if pa.Codec.is_available("lz4") else None
        )
        with pa.ipc.new_file(buffer, rows.schema, options=options) as file:
            file.write_table(rows)
        each = buffer.getvalue().size / max(rows.num_rows, 1)
        facts = 6 * len(
            schema.names(Role.QUASI)
        )  # 5 numbers a column and group, packed, and k of 5 as a rule
        return int(source.records * (2.2 * (each + 12) + 64 + facts))


def bytes_of_block(source: Source, schema: Schema, k: int) -> int:
    """How many bytes a block takes at the peak, about."""
    quasi = len(schema.names(Role.QUASI))
    a_record = IN_A_BLOCK + IN_A_BLOCK_CELL * quasi + 3 * _record_bytes(source, schema)
    return largest_block(quasi, k) * a_record


def _record_bytes(source: Source, schema: Schema) -> int:
    """How many bytes a record's released columns take as Arrow has them."""
    rows = source.read(0, min(source.records, RUN), schema.released())
    return int(np.ceil(bytes_of(rows) / max(rows.num_rows, 1)))


def _bits(total: float, room: float) -> int:
    """How many bits number buckets of which each fits.

    >>> _bits(1000, 300), _bits(1, 300)
    (2, 0)
    """
    return max(0, int(np.ceil(np.log2(max(total / room, 1.0)))))

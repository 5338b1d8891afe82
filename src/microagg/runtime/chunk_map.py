"""ChunkMap over the chunks of a table: one task for each chunk, whose results come back in the
order of the chunks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from microagg.runtime.executor import Executor


@dataclass
class ChunkMap:
    """The chunks of a table, and who works on them."""

    source: Any
    chunks: list[tuple[int, int]]
    executor: Executor
    tell: Callable[[str, int], None] = lambda what, records: None
    """Told after each chunk which pass it was and how many records it has."""
    a_record: int = 0
    """Bytes that a record of a chunk takes at the peak."""
    check: Callable[[], object] = lambda: None
    """Called after each pass; raises if the table is no longer the one that was begun with."""

    def map_chunks(
        self,
        what: str,
        task: Callable[..., Any],
        *arguments: Any,
        per_chunk: Sequence[Any] | None = None,
    ) -> Iterator[Any]:
        """Yield `task(source, first, count, *arguments)` for each chunk, in order.

        `per_chunk` holds one further argument for every chunk.
        """
        more = [()] * len(self.chunks) if per_chunk is None else [(extra,) for extra in per_chunk]
        calls = (
            (self.source, first, count, *arguments, *extra)
            for (first, count), extra in zip(self.chunks, more, strict=True)
        )
        needs = (count * self.a_record for _, count in self.chunks)
        done = self.executor.map_ordered(task, calls, needs=needs)
        for (_, count), result in zip(self.chunks, done, strict=True):
            self.tell(what, count)
            yield result
        self.check()

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
        each: Sequence[Any] | None = None,
    ) -> Iterator[Any]:
        """What `task(source, first, count, *arguments)` returns for each chunk, in their order;
        `each` has one more for every chunk.
        """
        more = [()] * len(self.chunks) if each is None else [(own,) for own in each]
        given = (
            (self.source, first, count, *arguments, *own)
            for (first, count), own in zip(self.chunks, more, strict=True)
        )
        needs = (count * self.a_record for _, count in self.chunks)
        done = self.executor.map_ordered(task, given, needs=needs)
        for (_, count), result in zip(self.chunks, done, strict=True):
            self.tell(what, count)
            yield result
        self.check()

"""The driver of a plan for so many records, whose tasks are only pretended: prints its peak of
memory in MB, and what tasks were told.

python driving.py RECORDS CHUNK
"""

from __future__ import annotations

import pickle
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import distributed
import numpy as np

from microagg.files.chunks import Source
from microagg.pipeline.block_plan import Plan
from microagg.pipeline.block_tasks import TaskContext
from microagg.pipeline.column_stats import NumberFacts
from microagg.pipeline.totals import Totals
from microagg.runtime.chunk_map import ChunkMap
from microagg.table.encoder import Space
from microagg.table.variable import Variable

AXES = 8


class Pretending:
    """Tells what tasks would tell: each chunk has records in every leaf, each block sends some to a
    tenth of the shifted ones.
    """

    def __init__(self, layout: TaskContext, leaves: list[int]) -> None:
        self.layout, self.leaves = layout, leaves
        self.requests = self.largest = 0

    def map_ordered(
        self,
        task: Any,
        arguments: Iterable[tuple[Any, ...]],
        at_once: int | None = None,
        needs: Iterable[int] = (),
    ) -> Iterator[Any]:
        for args in arguments:
            plain = tuple(part for part in args if isinstance(part, int | str | tuple))
            self.largest = max(self.largest, len(pickle.dumps(plain[:3])))
            self.requests += 1
            yield getattr(self, task.__name__)(*args)

    def sample_chunk(
        self, source: Any, first: int, count: int, layout: TaskContext, *_: Any
    ) -> Any:
        rng = np.random.default_rng(first)
        sums = Totals([np.zeros((3, 1)) for _ in range(AXES)])
        return {0: rng.lognormal(size=(max(1, 102_400 * count // layout.records), AXES))}, sums

    def route_chunk(
        self,
        source: Any,
        first: int,
        count: int,
        layout: TaskContext,
        centres: Any,
        territories: Any,
        room: str,
    ) -> Any:
        self.leaves[:] = territories[0].leaves
        index = [[leaf, count // self.leaves[0] + 1] for leaf in range(self.leaves[0])]
        squares = [[[0.0]] * 3] * AXES
        return {
            "path": f"{room}/route-{first}-{count}.arrow",
            "index": index,
            "squares": squares,
            "low": [0.0] * AXES,
            "high": [1.0] * AXES,
        }

    def work_block_of(self, block: int, *_: Any) -> Any:
        index = [[leaf, 2500] for leaf in range(block % 10, self.leaves[1], 10)]
        return {"path": f"/shared/spill/room/block-{block}.arrow", "index": index}

    def work_shifted_block_of(self, block: int, *_: Any) -> Any:
        index = [[bucket, 1000] for bucket in range(256)]
        return {
            "path": f"/shared/spill/room/shifted-{block}.arrow",
            "index": index,
            "sse": [[[0.0]] * 3] * AXES,
        }


def main() -> None:
    records, chunk = int(float(sys.argv[1])), int(sys.argv[2])
    variables = tuple(Variable(f"q{j}") for j in range(AXES))
    space = Space.fit(np.random.default_rng(0).normal(size=(100, AXES)), "zscore")
    layout = TaskContext(
        variables, space, tuple(variable.name for variable in variables), records, 5, "quick", None
    )
    chunks = [(first, min(chunk, records - first)) for first in range(0, records, chunk)]
    pretending = Pretending(layout, [0, 0])
    facts = [NumberFacts(variable.name, True, False, records) for variable in variables]
    source: Any = Source((), "parquet", (), None)  # type: ignore[arg-type]
    plan = Plan(ChunkMap(source, chunks, pretending), layout, facts, 1, 1)  # type: ignore[arg-type]
    grouped = plan.grouped(plan.cuts(), Path("/shared/spill/room"), print, None)  # type: ignore[arg-type]
    assert distributed.Client  # a driver has that imported, too
    # not getrusage: that counts what the parent held before this program was started
    status = Path("/proc/self/status").read_text("ascii")
    peak = int(status.partition("VmHWM:")[2].split()[0]) // 1024
    print(peak, pretending.requests, pretending.leaves[0], len(grouped.pieces), pretending.largest)


if __name__ == "__main__":
    main()

"""Search in blocks of a table that is read in chunks: what `auto` does in blocks in memory.

1. A sample, by a hash of record numbers, gives a tree of cuts.
2. Route: the records of every chunk go to the leaves of the tree, as spill files.
3. Blocks: a search within each; whole groups go to the leaf of a second tree that has their
   centroid.
4. Shifted blocks: local search from these groups; each writes what its groups release (`finish`).

Memory, chunks and threads decide when a task runs, never what comes out.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from microagg.errors import InputError
from microagg.files.identity import check_other_chunk
from microagg.methods.search import blockwise
from microagg.methods.search.blockwise import (
    Trees,
    largest_block,
    least_block,
    told_of_blocks,
)
from microagg.pipeline.block_tasks import (
    Finish,
    TaskContext,
    may_be_one,
    route_chunk,
    sample_chunk,
    work_block_of,
    work_shifted_block_of,
)
from microagg.pipeline.column_stats import Facts
from microagg.pipeline.run_method import strata_progress
from microagg.pipeline.spill_index import Holding, SpillFile, SpillIndex
from microagg.pipeline.strata_plan import StratumPlan, strata_plans
from microagg.pipeline.totals import Centres, Totals
from microagg.problem.blocks import BlockTree
from microagg.runtime.chunk_map import ChunkMap
from microagg.runtime.executor import Executor
from microagg.runtime.spill import (
    write_result,
)

A_JUDGED_RECORD = 64
"""Bytes that a record takes while it is asked whether leaves keep a promise, about."""


@dataclass(frozen=True)
class GroupingResult:
    """What the passes come to: a piece for each shifted block with what it releases, and what was
    found on the way.
    """

    pieces: list[dict[str, Any]]
    """What each shifted block tells."""
    totals: Totals
    """The squared distances of all records to the centroid of all, in each space in which loss is
    measured, column by column.
    """
    chosen: tuple[str, ...]
    """What was done and why, in sentences."""


def needs_plan(records: int, axes: int, k: int) -> bool:
    """Whether a table is worked on in blocks at all."""
    return records > blockwise.MOST_AS_ONE and records > largest_block(axes, k)


@dataclass(frozen=True)
class Cuts:
    """Where the territories of a table are cut into blocks, and where the centroid of all records
    lies.
    """

    territories: tuple[StratumPlan, ...]
    centres: Centres
    sample: np.ndarray
    """(m, axes): the points that the cuts of the largest territory were found from; none where
    nothing is cut.
    """

    @property
    def digest(self) -> str:
        """The same for the same cuts and random numbers, and for no others."""
        told = hashlib.sha256()
        for each in self.territories:
            told.update(f"{each.records} {each.state} {each.in_blocks}".encode())
            if each.trees is not None:
                told.update(f"{each.trees.first.digest} {each.trees.second.digest}".encode())
        return told.hexdigest()


@dataclass
class Plan:
    """A table on its way through the passes."""

    passes: ChunkMap
    layout: TaskContext
    facts: Sequence[Facts]
    seed: int
    at_once: int
    """How many blocks a process may work on at a time."""
    counts: np.ndarray | None = None
    """(chunks, strata): how many records of each stratum each chunk has."""
    a_record: int = 0
    """Bytes that a record of a block takes at the peak."""
    memory: int = 0
    digests: Sequence[str] = ()
    """The digest of each chunk in the first pass."""

    def cuts(self) -> Cuts:
        """Where the table is cut."""
        layout, strata = self.layout, self.counts is not None
        counts = (
            np.array([[count] for _, count in self.passes.chunks])
            if self.counts is None
            else self.counts
        )
        territories = strata_plans(
            counts.sum(axis=0).tolist(), self.seed, layout.axes, layout.k, strata=strata
        )
        before = np.cumsum(counts, axis=0) - counts
        samples: dict[int, list[np.ndarray]] = {}
        totals = None
        for found, more in self.passes.map_chunks(
            "sampling", sample_chunk, layout, tuple(territories), per_chunk=list(before)
        ):
            for number, points in found.items():
                samples.setdefault(number, []).append(points)
            totals = more if totals is None else totals.combine(more)
        assert totals is not None
        first, shifted, largest = 0, 0, np.empty((0, layout.axes))
        for number, each in enumerate(territories):
            trees = None
            if each.in_blocks:
                sample = np.concatenate(samples.pop(number))
                trees = Trees.fit(sample, each.records, layout.k)
                largest = max(largest, sample, key=len)
            territories[number] = replace(
                each, trees=trees, first_leaf=first, first_shifted=shifted
            )
            own = territories[number].leaves
            first, shifted = first + own[0], shifted + own[1]
        centres = Centres.of(layout.spaces, totals, self.facts, layout.records)
        return Cuts(tuple(territories), centres, largest)

    def grouped(self, cuts: Cuts, folder: Path, finish: Finish, about: Any) -> GroupingResult:
        """Route, blocks, shifted blocks."""
        layout, room = self.layout, str(folder)
        routed, totals = [], None
        low, high = np.full(layout.axes, np.inf), np.full(layout.axes, -np.inf)
        given = layout, cuts.centres, cuts.territories, room
        expected = self.digests or [None] * len(self.passes.chunks)
        for told, digest in zip(
            self.passes.map_chunks("routing", route_chunk, *given), expected, strict=True
        ):
            check_other_chunk(digest, told.get("digest", ""))
            routed.append(SpillFile.of(told["path"], told))
            low, high = np.minimum(low, told["low"]), np.maximum(high, told["high"])
            more = Totals([np.array(column) for column in told["squares"]])
            totals = more if totals is None else totals.combine(more)
        assert totals is not None
        pieces = SpillIndex(routed)
        blocks = self._blocks(cuts, pieces, room, shifted=False)
        given = (
            (place, each.number, each.holding, layout, each.territory, room)
            for place, each in enumerate(blocks)
        )
        worked = self._done("grouping", work_block_of, given, blocks)
        pieces.forget()
        pieces = SpillIndex([SpillFile.of(told["path"], told) for told in worked])
        shifted = self._blocks(cuts, pieces, room, shifted=True)
        given = (
            (place, each.number, each.holding, layout, each.territory, finish, about, room)
            for place, each in enumerate(shifted)
        )
        finished = self._done("mending borders", work_shifted_block_of, given, shifted)
        pieces.forget()
        chosen = self._told(cuts, blocks, shifted, int((low < high).sum()))
        # so few records are left that they are no blocks
        if layout.strata is None and "chosen" in worked[0]:
            chosen = tuple(worked[0]["chosen"])
        return GroupingResult(finished, totals, chosen)

    def _told(
        self, cuts: Cuts, blocks: Sequence[_Block], shifted: Sequence[_Block], varying: int
    ) -> tuple[str, ...]:
        """What was done and why: the sentences of `auto`, or of `run_method` within strata."""
        layout = self.layout
        if layout.strata is not None:
            return (strata_progress(np.array([each.records for each in cuts.territories]), "auto"),)
        sizes, of_shifted = (
            np.array([each.records for each in found]) for found in (blocks, shifted)
        )
        return told_of_blocks(
            records=layout.records, varying=varying, columns=layout.columns, k=layout.k,
            promise=None if layout.promised is None else layout.promised.promise.name,
            sizes=sizes, shifted=of_shifted, effort=layout.effort,
        )  # fmt: skip

    def _blocks(self, cuts: Cuts, pieces: SpillIndex, room: str, *, shifted: bool) -> list[_Block]:
        """The blocks of all territories: where their records lie, and how many there are."""
        found = []
        counts = pieces.counts(sum(each.leaves[shifted] for each in cuts.territories))
        least = least_block(self.layout.axes, self.layout.k)
        for place, territory in enumerate(cuts.territories):
            begin = territory.first_shifted if shifted else territory.first_leaf
            blocks = np.zeros(1, np.int32)
            if territory.trees is not None:
                tree = territory.trees.second if shifted else territory.trees.first
                own = counts[begin : begin + len(tree)]
                if (
                    shifted or self.layout.promised is None
                ):  # groups keep any promise, and so does what is made of them
                    blocks = tree.joined(own, least)
                else:
                    path = f"{room}/joined-{place}.json"
                    blocks = self._joined(
                        path,
                        tree,
                        own,
                        least,
                        lambda leaf, begin=begin: pieces.holding([begin + each for each in leaf]),
                    )
            for number in range(int(blocks.max()) + 1):
                leaves = begin + np.flatnonzero(blocks == number)
                holding = pieces.holding(leaves.tolist())
                found.append(_Block(number, territory, holding, int(counts[leaves].sum())))
        self._check_large(found)
        return found

    def _joined(
        self,
        path: str,
        tree: BlockTree,
        counts: np.ndarray,
        least: int,
        holding: Callable[[Sequence[int]], Holding],
    ) -> np.ndarray:
        """(leaves,): their blocks, each of which keeps the promise as one group; remembered, for a
        run that goes on has no leaves any more.
        """
        if os.path.exists(path):
            return np.array(json.loads(Path(path).read_text("utf-8")), np.int32)

        def asked(questions: Sequence[Sequence[int]]) -> list[bool]:
            given = ((holding(leaves), self.layout.promised) for leaves in questions)
            needs = (int(counts[leaves].sum()) * A_JUDGED_RECORD for leaves in questions)
            return list(self.passes.executor.map_ordered(may_be_one, given, self.at_once, needs))

        single = [[leaf] for leaf in np.flatnonzero(counts >= least).tolist()]
        known = {leaves[0]: fits for leaves, fits in zip(single, asked(single), strict=True)}

        def fits(leaves: np.ndarray) -> bool:
            return known[int(leaves[0])] if len(leaves) == 1 else asked([leaves.tolist()])[0]

        blocks = tree.joined(counts, least, fits)
        write_result(path, json.dumps(blocks.tolist()))
        return blocks

    def _check_large(self, blocks: Sequence[_Block]) -> None:
        """Raise where a block does not fit into memory: records left as one, leaves that keep a
        promise together only, equal records.
        """
        promised, largest = self.layout.promised, max(blocks, key=lambda block: block.records)
        needed = largest.records * self.a_record
        if needed <= self.memory:
            return
        what = f"the {largest.records:,} records that are left are worked on as one block"
        if promised is not None and largest.territory.in_blocks:
            what = (
                f"{promised.promise.name} is kept only by blocks of up to "
                f"{largest.records:,} records"
            )
        elif largest.territory.in_blocks:  # which are never cut apart
            what = (
                f"some {largest.records:,} records with equal or nearly equal "
                f"quasi-identifiers are one block"
            )
        raise InputError(
            f"{what}, which needs about {needed / 1e6:,.0f} MB; give it that much memory."
        )

    def _done(
        self,
        what: str,
        task: Callable[..., Any],
        arguments: Iterable[tuple[Any, ...]],
        blocks: Sequence[_Block],
    ) -> list[dict[str, Any]]:
        executor: Executor = self.passes.executor
        done = []
        needs = (block.records * self.a_record for block in blocks)
        for told, block in zip(
            executor.map_ordered(task, arguments, self.at_once, needs), blocks, strict=True
        ):
            done.append(told)
            self.passes.tell(what, block.records)
        return done


@dataclass(frozen=True)
class _Block:
    """A block of a territory, by its number there."""

    number: int
    territory: StratumPlan
    holding: Holding
    records: int

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
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from microagg.bounds.bound import Bound
from microagg.errors import InputError
from microagg.files.identity import check_other_chunk
from microagg.methods.registry import DEFAULT
from microagg.methods.search import blockwise
from microagg.methods.search.blockwise import (
    Trees,
    describe_blocks,
    largest_block,
    least_block,
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
from microagg.release.facts import SearchOutcome
from microagg.runtime.chunk_map import ChunkMap
from microagg.runtime.executor import Executor
from microagg.runtime.spill import write_result
from microagg.runtime.tasks import read_spilled

A_JUDGED_RECORD = 64
"""Bytes that a record takes while it is asked whether leaves keep a promise, about."""

ONE_BLOCK = "the table is one block and was processed in memory."


@dataclass(frozen=True)
class SearchEnd:
    """Decisions of a search with their reasons, and what one of the whole table ended with."""

    chosen: tuple[str, ...]
    params: Mapping[str, Any] = field(default_factory=dict)
    """Parameters that repeat the run and were not set: where it was stopped."""
    stopped: str | None = None
    bound: Bound | None = None
    gap: float | None = None

    @staticmethod
    def of(stats: Mapping[str, Any]) -> SearchEnd:
        """Return what the task of a single block states."""
        path = stats.get("bound")
        return SearchEnd(
            tuple(stats["chosen"]), stats.get("params", {}), stats.get("stopped"),
            None if path is None else read_spilled(path), stats.get("gap"),
        )  # fmt: skip

    def outcome(self) -> SearchOutcome:
        """Return what manifests state."""
        return SearchOutcome(self.chosen, self.stopped is not None, self.bound, self.gap)


@dataclass(frozen=True)
class GroupingResult:
    """Groups of all blocks, with statistics that were collected while they were formed."""

    pieces: list[dict[str, Any]]
    """What each shifted block tells."""
    totals: Totals
    """The squared distances of all records to the centroid of all, in each space in which loss is
    measured, column by column.
    """
    search: SearchEnd
    """Decisions and end of the search."""


def needs_plan(records: int, axes: int, k: int) -> bool:
    """Return True if a table is large enough to be cut into blocks."""
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
        digest_of_plans = hashlib.sha256()
        for stratum in self.territories:
            digest_of_plans.update(
                f"{stratum.records} {stratum.state} {stratum.in_blocks}".encode()
            )
            if stratum.trees is not None:
                digest_of_plans.update(
                    f"{stratum.trees.first.digest} {stratum.trees.second.digest}".encode()
                )
        return digest_of_plans.hexdigest()


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
        layout, counts = self.layout, self.counts
        strata = counts is not None and not layout.is_one_block
        if counts is None or not strata:
            counts = np.array([[count] for _, count in self.passes.chunks])
        method = None if layout.search is None else layout.search.method.name
        sizes = counts.sum(axis=0).tolist()
        territories = strata_plans(
            sizes, self.seed, layout.axes, layout.k, strata=strata, method=method
        )
        before = np.cumsum(counts, axis=0) - counts
        samples: dict[int, list[np.ndarray]] = {}
        totals = None
        for chunk_samples, more in self.passes.map_chunks(
            "sampling", sample_chunk, layout, tuple(territories), per_chunk=list(before)
        ):
            for number, points in chunk_samples.items():
                samples.setdefault(number, []).append(points)
            totals = more if totals is None else totals.combine(more)
        assert totals is not None
        first, shifted, largest = 0, 0, np.empty((0, layout.axes))
        for number, stratum in enumerate(territories):
            trees = None
            if stratum.in_blocks:
                sample = np.concatenate(samples.pop(number))
                trees = Trees.fit(sample, stratum.records, layout.k)
                largest = max(largest, sample, key=len)
            territories[number] = replace(
                stratum, trees=trees, first_leaf=first, first_shifted=shifted
            )
            leaves = territories[number].leaves
            first, shifted = first + leaves[0], shifted + leaves[1]
        centres = Centres.of(layout.spaces, totals, self.facts, layout.records)
        return Cuts(tuple(territories), centres, largest)

    def grouped(self, cuts: Cuts, folder: Path, finish: Finish, about: Any) -> GroupingResult:
        """Route, blocks, shifted blocks."""
        layout, room = self.layout, str(folder)
        routed, totals = [], None
        low, high = np.full(layout.axes, np.inf), np.full(layout.axes, -np.inf)
        arguments = layout, cuts.centres, cuts.territories, room
        expected = self.digests or [None] * len(self.passes.chunks)
        for chunk_stats, digest in zip(
            self.passes.map_chunks("routing", route_chunk, *arguments), expected, strict=True
        ):
            check_other_chunk(digest, chunk_stats.get("digest", ""))
            routed.append(SpillFile.of(chunk_stats["path"], chunk_stats))
            low, high = np.minimum(low, chunk_stats["low"]), np.maximum(high, chunk_stats["high"])
            more = Totals([np.array(column) for column in chunk_stats["squares"]])
            totals = more if totals is None else totals.combine(more)
        assert totals is not None
        pieces = SpillIndex(routed)
        blocks = self._blocks(cuts, pieces, room, shifted=False)
        arguments = (
            (index, block.number, block.holding, layout, block.territory, room)
            for index, block in enumerate(blocks)
        )
        worked = self._run_tasks("grouping", work_block_of, arguments, blocks)
        pieces.forget()
        pieces = SpillIndex(
            [SpillFile.of(block_stats["path"], block_stats) for block_stats in worked]
        )
        shifted = self._blocks(cuts, pieces, room, shifted=True)
        arguments = (
            (index, block.number, block.holding, layout, block.territory, finish, about, room)
            for index, block in enumerate(shifted)
        )
        finished = self._run_tasks("mending borders", work_shifted_block_of, arguments, shifted)
        pieces.forget()
        # so few records are left that they are no blocks, or the search is one of the whole table
        if "chosen" in worked[0] and (layout.strata is None or layout.is_one_block):
            return GroupingResult(finished, totals, SearchEnd.of(worked[0]))
        chosen = self._describe(cuts, blocks, shifted, int((low < high).sum()))
        return GroupingResult(finished, totals, SearchEnd(chosen))

    def _describe(
        self, cuts: Cuts, blocks: Sequence[_Block], shifted: Sequence[_Block], varying: int
    ) -> tuple[str, ...]:
        """Describe the search in the sentences of `auto`, or of `run_method` within strata."""
        layout = self.layout
        if layout.strata is not None:
            method = DEFAULT if layout.search is None else layout.search.method.name
            sizes = np.array([stratum.records for stratum in cuts.territories])
            return (strata_progress(sizes, method),)
        sizes, of_shifted = (
            np.array([block.records for block in some_blocks]) for some_blocks in (blocks, shifted)
        )
        return describe_blocks(
            records=layout.records, varying=varying, columns=layout.columns, k=layout.k,
            promise=None if layout.promised is None else layout.promised.promise.name,
            sizes=sizes, shifted=of_shifted, effort=layout.effort,
        )  # fmt: skip

    def _blocks(self, cuts: Cuts, pieces: SpillIndex, room: str, *, shifted: bool) -> list[_Block]:
        """The blocks of all territories: where their records lie, and how many there are."""
        result = []
        counts = pieces.counts(sum(stratum.leaves[shifted] for stratum in cuts.territories))
        least = least_block(self.layout.axes, self.layout.k)
        for index, territory in enumerate(cuts.territories):
            begin = territory.first_shifted if shifted else territory.first_leaf
            blocks = np.zeros(1, np.int32)
            if territory.trees is not None:
                tree = territory.trees.second if shifted else territory.trees.first
                leaf_counts = counts[begin : begin + len(tree)]
                if (
                    shifted or self.layout.promised is None
                ):  # groups keep any promise, and so does what is made of them
                    blocks = tree.joined(leaf_counts, least)
                else:
                    path = f"{room}/joined-{index}.json"
                    blocks = self._joined(
                        path,
                        tree,
                        leaf_counts,
                        least,
                        lambda leaf, begin=begin: pieces.holding(
                            [begin + number for number in leaf]
                        ),
                    )
            for number in range(int(blocks.max()) + 1):
                leaves = begin + np.flatnonzero(blocks == number)
                holding = pieces.holding(leaves.tolist())
                result.append(_Block(number, territory, holding, int(counts[leaves].sum())))
        self._check_large(result)
        return result

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

        def fits_together(questions: Sequence[Sequence[int]]) -> list[bool]:
            tasks = ((holding(leaves), self.layout.promised) for leaves in questions)
            needs = (int(counts[leaves].sum()) * A_JUDGED_RECORD for leaves in questions)
            return list(self.passes.executor.map_ordered(may_be_one, tasks, self.at_once, needs))

        single = [[leaf] for leaf in np.flatnonzero(counts >= least).tolist()]
        known = {
            leaves[0]: fits for leaves, fits in zip(single, fits_together(single), strict=True)
        }

        def fits(leaves: np.ndarray) -> bool:
            return (
                known[int(leaves[0])] if len(leaves) == 1 else fits_together([leaves.tolist()])[0]
            )

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
        what = f"the {largest.records:,} records that are left form one block"
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

    def _run_tasks(
        self,
        what: str,
        task: Callable[..., Any],
        arguments: Iterable[tuple[Any, ...]],
        blocks: Sequence[_Block],
    ) -> list[dict[str, Any]]:
        executor: Executor = self.passes.executor
        at_once = self.at_once
        if self.layout.search is not None:  # blocks of any size
            largest = max(block.records for block in blocks) * self.a_record
            at_once = max(1, min(at_once, self.memory // max(largest, 1)))
        done = []
        needs = (block.records * self.a_record for block in blocks)
        for result, block in zip(
            executor.map_ordered(task, arguments, at_once, needs), blocks, strict=True
        ):
            done.append(result)
            self.passes.tell(what, block.records)
        return done


@dataclass(frozen=True)
class _Block:
    """A block of a territory, by its number there."""

    number: int
    territory: StratumPlan
    holding: Holding
    records: int

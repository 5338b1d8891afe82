"""A large table in passes, from file to file: what `auto` does in blocks in memory, with no more
than a few blocks in memory at once.

1. *Scan* and *fit*: facts, digest, space (`scanning.py`, `fitting.py`), then a sample by a hash of
record numbers and a tree of cuts. 2. *Route*: every chunk's records to the leaves of the tree, as
spill files. 3. *Blocks*: a search within each; whole groups go on to the leaf of a second tree in
which their centroid lies. 4. *Shifted blocks*: local search from these groups; what the groups
release is made there and then (`finish`).

Every task is a function of this module with small arguments, writes one file under a name of its
own, and returns what that file tells of itself: done already, it is not done again. Memory, chunks
and threads decide what is done when, never what comes out.
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
import pyarrow as pa

from microagg.errors import Cancelled, InputError
from microagg.files.identity import check_other_chunk, digest_of_chunk
from microagg.kernels import sums
from microagg.methods.parts import rng_of_part
from microagg.methods.search import blockwise
from microagg.methods.search.auto import BLOCK
from microagg.methods.search.blockwise import (
    SHIFTED,
    Trees,
    largest_block,
    least_block,
    shifted_leaves,
    told_of_blocks,
)
from microagg.pipeline.column_stats import Facts
from microagg.pipeline.confidential_codes import GuaranteeContext
from microagg.pipeline.run_method import strata_progress
from microagg.pipeline.strata_plan import StrataCodes, StratumPlan, strata_plans
from microagg.pipeline.totals import Centres, Totals, coordinate_totals
from microagg.problem.blocks import BlockTree, in_sample
from microagg.problem.problem import Problem
from microagg.runtime.chunk_map import ChunkMap
from microagg.runtime.executor import Executor, is_cancelled
from microagg.runtime.spill import (
    discard_rows,
    read_batches,
    read_result,
    write_result,
    write_spill_file,
)
from microagg.table.capping import Limits
from microagg.table.columns.categories import in_plain_types
from microagg.table.columns.column_encoding import cells_in
from microagg.table.encoder import Space
from microagg.table.variable import Cells, Variable

NUMBER, GROUP, FORMER = "microagg record", "microagg group", "microagg block"
"""Columns that records carry along: their number in the table, their group, and the block in which
it was formed.
"""

A_JUDGED_RECORD = 64
"""Bytes that a record takes while it is asked whether leaves keep a promise, about."""

Finish = Callable[[Any, pa.Table, Cells, np.ndarray, np.ndarray, str], dict[str, Any]]
"""`finish(about, rows, cells, points, labels, path)`: makes what groups release, writes it to
`path` and tells about it.
"""


@dataclass(frozen=True)
class TaskContext:
    """What every task knows of the table."""

    variables: tuple[Variable, ...]
    space: Space
    carried: tuple[str, ...]
    """The columns that go with the records: all that are released, and what they are made from."""
    records: int
    k: int
    effort: str | float
    columns: int | None
    """How many columns the axes of points stand for; None where each is one."""
    strata: StrataCodes | None = None
    promised: GuaranteeContext | None = None
    measured: tuple[Space, ...] = ()
    """The spaces in which loss is measured; none where that is the one that is searched."""
    limits: Limits | None = None
    """What values beyond are set to before groups are formed."""
    compared: tuple[str, ...] = ()
    """The columns whose digests tell whether the table is still the one of the first pass."""

    def points(self, cells: Cells) -> np.ndarray:
        """The points in which groups are formed."""
        return self.space.points(cells if self.limits is None else self.limits.cells(cells))

    @property
    def spaces(self) -> tuple[Space, ...]:
        """Those in which loss is measured."""
        return self.measured or (self.space,)

    @property
    def axes(self) -> int:
        """How many axes points have."""
        return self.space.size_of_points

    @property
    def strata_names(self) -> tuple[str, ...]:
        """The columns of strata."""
        return () if self.strata is None else self.strata.names

    def by_territory(self, rows: pa.Table) -> list[tuple[int, np.ndarray]]:
        """(territory, its records) for each that has some among these rows."""
        if self.strata is None:
            return [(0, np.arange(rows.num_rows))]
        strata = self.strata.of_records(rows)
        order = np.argsort(strata, kind="stable")
        found, starts = np.unique(strata[order], return_index=True)
        return list(zip(found.tolist(), np.split(order, starts[1:]), strict=True))

    def problem(self, points: np.ndarray, rows: pa.Table) -> Problem:
        """The problem of some of the records."""
        problem = Problem.of(points, self.k, threads=1)
        problem = replace(problem, of_records=self.records, columns=self.columns)
        if self.promised is None:
            return problem
        return replace(
            problem,
            confidential=self.promised.attributes(rows),
            accept=self.promised.acceptance(rows),
        )


@dataclass(frozen=True)
class SpillFile:
    """A spill file: where it is, and how many records of which key each of its batches has."""

    path: str
    index: tuple[tuple[int, int], ...]

    @staticmethod
    def of(path: str, told: dict[str, Any]) -> SpillFile:
        """The file that tells this of itself."""
        return SpillFile(path, tuple((key, count) for key, count in told["index"]))


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
            for place, (key, _) in enumerate(piece.index):
                self._places.setdefault(key, []).append((number, place))

    def holding(self, keys: Iterable[int]) -> Holding:
        """Where the records of these keys lie."""
        found: dict[int, list[int]] = {}
        for key in keys:
            for number, place in self._places.get(key, ()):
                found.setdefault(number, []).append(place)
        return tuple(
            (self.pieces[number].path, tuple(sorted(found[number]))) for number in sorted(found)
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


def sample_chunk(
    source: Any,
    first: int,
    count: int,
    layout: TaskContext,
    territories: Sequence[StratumPlan],
    before: np.ndarray,
) -> tuple[dict[int, np.ndarray], Totals]:
    """A task: by territory the points of the records that belong to its sample; and the sums of all
    coordinates.

    `before` says how many records each territory has before this chunk.
    """
    rows = source.read(first, count, list(dict.fromkeys([*_names(layout), *layout.strata_names])))
    cells = cells_in(rows, layout.variables, first)
    samples = {}
    for number, own in layout.by_territory(rows):
        territory = territories[number]
        if territory.in_blocks:
            wanted = territory.wanted(layout.axes, layout.k)
            chosen = in_sample(
                int(before[number]), len(own), territory.records, territory.sample_seed, wanted
            )
            samples[number] = layout.points(cells.rows(own[chosen]))
    return samples, coordinate_totals(layout.spaces, cells)


def route_chunk(
    source: Any,
    first: int,
    count: int,
    layout: TaskContext,
    centres: Centres,
    territories: Sequence[StratumPlan],
    folder: str,
) -> dict[str, Any]:
    """A task: the records of a chunk by the leaves in which they lie."""
    path = f"{folder}/route-{first}-{count}.arrow"
    if (told := read_result(path)) is not None:
        return {**told, "path": path}
    promised = layout.promised
    rows = source.read(
        first, count, (*layout.carried, *(() if promised is None else promised.withheld))
    )
    digest = digest_of_chunk(rows, layout.compared)
    if promised is not None:
        rows = promised.with_numbers(rows)
    rows = in_plain_types(rows)
    cells = cells_in(rows, layout.variables, first)
    squares = centres.squares(layout.spaces, cells)
    points = layout.points(cells)
    leaves = np.empty(count, np.int64)
    for number, own in layout.by_territory(rows):
        trees, begin = territories[number].trees, territories[number].first_leaf
        leaves[own] = begin if trees is None else begin + trees.first.leaf_of(points[own])
    rows = rows.append_column(NUMBER, pa.array(np.arange(first, first + count)))
    told = {
        "squares": [each.tolist() for each in squares.columns],
        "low": points.min(axis=0).tolist(),
        "high": points.max(axis=0).tolist(),
        "digest": digest,
    }
    return {**write_spill_file(path, rows, leaves, told), "path": path}


def work_block_of(
    place: int,
    number: int,
    holding: Holding,
    layout: TaskContext,
    territory: StratumPlan,
    folder: str,
) -> dict[str, Any]:
    """A task: search within block `number` of a territory, then send whole groups to the leaves of
    the second tree.
    """
    path = f"{folder}/block-{place}.arrow"
    if (told := read_result(path)) is not None:
        return {**told, "path": path}
    rows = load_rows(holding)
    points = layout.points(cells_in(rows, layout.variables))
    found: Any = BLOCK.run(
        layout.problem(points, rows),
        rng=territory.rng(number),
        effort=layout.effort,
        progress=go_on,
    )
    rows = rows.append_column(GROUP, pa.array(found.labels))
    rows = rows.append_column(FORMER, pa.array(np.full(len(rows), number, np.int32)))
    leaves = np.full(len(rows), territory.first_shifted, np.int64)
    if territory.trees is not None:
        leaves += shifted_leaves(territory.trees.second, points, found.labels)
    told = {} if territory.in_blocks else {"chosen": list(found.chosen)}
    return {**write_spill_file(path, rows, leaves, told), "path": path}


def work_shifted_block_of(
    place: int,
    number: int,
    holding: Holding,
    layout: TaskContext,
    territory: StratumPlan,
    finish: Finish,
    about: Any,
    folder: str,
) -> dict[str, Any]:
    """A task: go on from groups that were formed in several blocks of a territory, then make what
    they release.
    """
    path = f"{folder}/shifted-{place}.arrow"
    if (told := read_result(path)) is not None:
        return {**told, "path": path}
    rows = load_rows(holding)
    blocks = rows.column(FORMER).to_numpy()
    formed = blocks.astype(np.int64) * layout.records + rows.column(GROUP).to_numpy()
    labels = sums.number_by_first_record(
        np.unique(formed, return_inverse=True)[1].astype(np.int32).reshape(-1)
    )
    rows = rows.drop_columns([GROUP, FORMER])
    cells = cells_in(rows, layout.variables)
    points = layout.points(cells)
    if territory.in_blocks:
        run: Any = SHIFTED.run
        labels = run(
            layout.problem(points, rows), labels=labels, blocks=np.ascontiguousarray(blocks),
            rng=rng_of_part(territory.shifted_seed, number), effort=layout.effort, progress=go_on,
        ).labels  # fmt: skip
    return {**finish(about, rows, cells, points, labels, path), "path": path}


def may_be_one(holding: Holding, promised: GuaranteeContext) -> bool:
    """A task: whether the records that lie there keep the promise as one group."""
    rows = pa.Table.from_batches(batches_in(holding, promised.judged))
    return promised.acceptance(rows)(np.arange(rows.num_rows, dtype=np.int32))


def go_on(done: int, total: int) -> None:
    """The progress of a search within a task: ends it where nobody waits for it any more."""
    if is_cancelled():
        raise Cancelled("stopped; nothing was written.")


def load_rows(holding: Holding) -> pa.Table:
    """The records that lie there, in the order of their numbers."""
    rows = pa.Table.from_batches(batches_in(holding)).replace_schema_metadata(None)
    order = np.argsort(rows.column(NUMBER).to_numpy(), kind="stable")
    return rows.take(pa.array(order)).combine_chunks()


def _names(layout: TaskContext) -> list[str]:
    return [variable.name for variable in layout.variables]


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
            "sampling", sample_chunk, layout, tuple(territories), each=list(before)
        ):
            for number, points in found.items():
                samples.setdefault(number, []).append(points)
            totals = _plus(totals, more)
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
            totals = _plus(totals, Totals([np.array(each) for each in told["squares"]]))
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


def _plus(totals: Totals | None, more: Totals) -> Totals:
    if totals is None:
        return more
    totals.combine(more)
    return totals

"""A large table in passes, from file to file: what `auto` does in blocks in memory, with no more than a few blocks in memory at once.

1. *Scan* and *fit*: facts, digest, space (`scanning.py`, `fitting.py`), then a sample by a hash of record numbers and a tree of cuts.
2. *Route*: every chunk's records to the leaves of the tree, as spill files.
3. *Blocks*: a search within each; whole groups go on to the leaf of a second tree in which their centroid lies.
4. *Shifted blocks*: local search from these groups; what the groups release is made there and then (`finish`).

Every task is a function of this module with small arguments, writes one file under a name of its own, and returns what that file tells
of itself: done already, it is not done again. Memory, chunks and threads decide what is done when, never what comes out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from microagg.engine.executor import Executor, asked_to_stop
from microagg.engine.fitting import Centres, Passes, Totals, coordinate_totals
from microagg.engine.scanning import Facts, cells_in
from microagg.engine.spill import forget, read_batches, told_in, write_piece
from microagg.errors import Cancelled
from microagg.kernels import random, sums
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
from microagg.problem.blocks import BlockTree, in_sample, sample_size
from microagg.problem.problem import Problem
from microagg.table.encoder import Space
from microagg.table.variable import Cells, Variable

NUMBER, GROUP, FORMER = "microagg record", "microagg group", "microagg block"
"""Columns that records carry along: their number in the table, their group, and the block in which it was formed."""

Finish = Callable[[Any, pa.Table, Cells, np.ndarray, np.ndarray, str], dict[str, Any]]
"""`finish(about, rows, cells, points, labels, path)`: makes what groups release, writes it to `path` and tells about it."""


@dataclass(frozen=True)
class Layout:
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

    @property
    def axes(self) -> int:
        """How many axes points have."""
        return self.space.size_of_points

    def problem(self, points: np.ndarray) -> Problem:
        """The problem of some of the records."""
        problem = Problem.of(points, self.k, threads=1)
        return replace(problem, of_records=self.records, columns=self.columns)


@dataclass(frozen=True)
class Piece:
    """A spill file: where it is, and how many records of which key each of its batches has."""

    path: str
    index: tuple[tuple[int, int], ...]

    @staticmethod
    def of(path: str, told: dict[str, Any]) -> Piece:
        """The file that tells this of itself."""
        return Piece(path, tuple((key, count) for key, count in told["index"]))


Holding = tuple[tuple[str, tuple[int, ...]], ...]
"""Where records lie: files, and which of their batches. All that a task is told of them."""


class Pieces:
    """Spill files, and which of them hold what.

    >>> pieces = Pieces([Piece("a", ((1, 5), (2, 7))), Piece("b", ((2, 5),))])
    >>> pieces.holding([2]), pieces.counts(3).tolist()
    ((('a', (1,)), ('b', (0,))), [0, 5, 12])
    """

    def __init__(self, pieces: Sequence[Piece]) -> None:
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
        return tuple((self.pieces[number].path, tuple(sorted(found[number]))) for number in sorted(found))

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
            forget(piece.path)


def batches_in(holding: Holding) -> list[pa.RecordBatch]:
    """All batches that lie there."""
    return [batch for path, places in holding for batch in read_batches(path, places)]


def sample_chunk(
    source: Any, first: int, count: int, layout: Layout, seed: int, wanted: int
) -> tuple[np.ndarray, Totals]:
    """A task: the points of the records that belong to the sample, and the sums of all coordinates."""
    cells = cells_in(source.read(first, count, _names(layout)), layout.variables, first)
    chosen = in_sample(first, count, layout.records, seed, wanted)
    return layout.space.points(cells.rows(chosen)), coordinate_totals(layout.space, cells)


def route_chunk(
    source: Any, first: int, count: int, layout: Layout, centres: Centres, trees: Trees, folder: str
) -> dict[str, Any]:
    """A task: the records of a chunk by the leaves in which they lie."""
    path = f"{folder}/route-{first}-{count}.arrow"
    if (told := told_in(path)) is not None:
        return {**told, "path": path}
    rows = source.read(first, count, layout.carried)
    cells = cells_in(rows, layout.variables, first)
    squares = centres.squares(layout.space, cells)
    points = layout.space.points(cells)
    rows = rows.append_column(NUMBER, pa.array(np.arange(first, first + count)))
    told = {
        "squares": [each.tolist() for each in squares.columns],
        "low": points.min(axis=0).tolist(),
        "high": points.max(axis=0).tolist(),
    }
    told = write_piece(path, rows, trees.first.leaf_of(points), told)
    return {**told, "path": path}


def work_block_of(
    number: int, holding: Holding, layout: Layout, trees: Trees, seed: int, folder: str
) -> dict[str, Any]:
    """A task: search within a block, then send whole groups to the leaves of the second tree."""
    path = f"{folder}/block-{number}.arrow"
    if (told := told_in(path)) is not None:
        return {**told, "path": path}
    rows = gathered(holding)
    points = layout.space.points(cells_in(rows, layout.variables))
    found: Any = BLOCK.run(
        layout.problem(points), rng=rng_of_part(seed, number), effort=layout.effort, progress=go_on
    )
    rows = rows.append_column(GROUP, pa.array(found.labels))
    rows = rows.append_column(FORMER, pa.array(np.full(len(rows), number, np.int32)))
    return {**write_piece(path, rows, shifted_leaves(trees.second, points, found.labels), {}), "path": path}


def work_shifted_block_of(
    number: int, holding: Holding, layout: Layout, seed: int, finish: Finish, about: Any, folder: str
) -> dict[str, Any]:
    """A task: go on from groups that were formed in several blocks, then make what they release."""
    path = f"{folder}/shifted-{number}.arrow"
    if (told := told_in(path)) is not None:
        return {**told, "path": path}
    rows = gathered(holding)
    blocks = rows.column(FORMER).to_numpy()
    formed = blocks.astype(np.int64) * layout.records + rows.column(GROUP).to_numpy()
    labels = sums.number_by_first_record(
        np.unique(formed, return_inverse=True)[1].astype(np.int32).reshape(-1)
    )
    rows = rows.drop_columns([GROUP, FORMER])
    cells = cells_in(rows, layout.variables)
    points = layout.space.points(cells)
    run: Any = SHIFTED.run
    found = run(
        layout.problem(points), labels=labels, blocks=np.ascontiguousarray(blocks), rng=rng_of_part(seed, number),
        effort=layout.effort, progress=go_on,
    )  # fmt: skip
    return {**finish(about, rows, cells, points, found.labels, path), "path": path}


def go_on(done: int, total: int) -> None:
    """The progress of a search within a task: ends it where nobody waits for it any more."""
    if asked_to_stop():
        raise Cancelled("stopped; nothing was written.")


def gathered(holding: Holding) -> pa.Table:
    """The records that lie there, in the order of their numbers."""
    rows = pa.Table.from_batches(batches_in(holding)).replace_schema_metadata(None)
    order = np.argsort(rows.column(NUMBER).to_numpy(), kind="stable")
    return rows.take(pa.array(order)).combine_chunks()


def _names(layout: Layout) -> list[str]:
    return [variable.name for variable in layout.variables]


@dataclass(frozen=True)
class Grouped:
    """What the passes come to: a piece for each shifted block with what it releases, and what was found on the way."""

    pieces: list[dict[str, Any]]
    """What each shifted block tells."""
    totals: Totals
    """The squared distances of all records to the centroid of all, column by column."""
    chosen: tuple[str, ...]
    """What was done and why, in sentences."""


def needs_plan(records: int, axes: int, k: int) -> bool:
    """Whether a table is worked on in blocks at all."""
    return records > blockwise.MOST_AS_ONE and records > largest_block(axes, k)


@dataclass(frozen=True)
class Cuts:
    """Where a table is cut into blocks, where its centroid lies, and what blocks and shifted blocks draw their random numbers from."""

    trees: Trees
    centres: Centres
    seed: int
    shifted_seed: int

    @property
    def digest(self) -> str:
        """The same for the same cuts, and for no others."""
        return f"{self.trees.first.digest} {self.trees.second.digest} {self.seed} {self.shifted_seed}"


@dataclass
class Plan:
    """A table on its way through the passes."""

    passes: Passes
    layout: Layout
    facts: Sequence[Facts]
    seed: int
    at_once: int
    """How many blocks a process may work on at a time."""
    a_record: int = 0
    """Bytes that a record of a block takes at the peak."""

    def cuts(self) -> Cuts:
        """Where the table is cut. Random numbers are drawn as `auto` draws them in memory: for the sample, the blocks, the shifted ones."""
        layout = self.layout
        rng = random.seeded(self.seed, "auto")
        wanted = sample_size(layout.records, largest_block(layout.axes, layout.k))
        sample_seed, *seeds = (int(random.next_integer(rng)) for _ in range(3))
        sample, totals = [], None
        for points, more in self.passes.over("sampling", sample_chunk, layout, sample_seed, wanted):
            sample.append(points)
            if totals is None:
                totals = more
            else:
                totals.plus(more)
        assert totals is not None
        trees = Trees.fit(np.concatenate(sample), layout.records, layout.k)
        return Cuts(trees, Centres.of(layout.space, totals, self.facts, layout.records), seeds[0], seeds[1])

    def grouped(self, cuts: Cuts, folder: Path, finish: Finish, about: Any) -> Grouped:
        """Route, blocks, shifted blocks."""
        layout, room, trees = self.layout, str(folder), cuts.trees
        routed, totals = [], None
        low, high = np.full(layout.axes, np.inf), np.full(layout.axes, -np.inf)
        for told in self.passes.over("routing", route_chunk, layout, cuts.centres, trees, room):
            routed.append(Piece.of(told["path"], told))
            low, high = np.minimum(low, told["low"]), np.maximum(high, told["high"])
            more = Totals([np.array(each) for each in told["squares"]])
            if totals is None:
                totals = more
            else:
                totals.plus(more)
        assert totals is not None
        pieces = Pieces(routed)
        blocks, sizes = self._blocks(trees.first, pieces)
        given = ((number, place, layout, trees, cuts.seed, room) for number, place in enumerate(blocks))
        formed = [
            Piece.of(told["path"], told) for told in self._done("grouping", work_block_of, given, sizes)
        ]
        pieces.forget()
        pieces = Pieces(formed)
        shifted, shifted_sizes = self._blocks(trees.second, pieces)
        given = (
            (number, place, layout, cuts.shifted_seed, finish, about, room)
            for number, place in enumerate(shifted)
        )
        finished = self._done("mending borders", work_shifted_block_of, given, shifted_sizes)
        pieces.forget()
        chosen = told_of_blocks(
            records=layout.records, varying=int((low < high).sum()), columns=layout.columns, k=layout.k, promise=None,
            sizes=np.array(sizes), shifted=np.array(shifted_sizes), effort=layout.effort,
        )  # fmt: skip
        return Grouped(finished, totals, chosen)

    def _blocks(self, tree: BlockTree, pieces: Pieces) -> tuple[list[Holding], list[int]]:
        """Where the records of each block lie, and how many there are."""
        counts = pieces.counts(len(tree))
        blocks = tree.joined(counts, least_block(self.layout.axes, self.layout.k))
        leaves = [np.flatnonzero(blocks == number) for number in range(int(blocks.max()) + 1)]
        return [pieces.holding(each.tolist()) for each in leaves], [
            int(counts[each].sum()) for each in leaves
        ]

    def _done(
        self, what: str, task: Callable[..., Any], arguments: Iterable[tuple[Any, ...]], sizes: Sequence[int]
    ) -> list[dict[str, Any]]:
        executor: Executor = self.passes.executor
        done = []
        needs = (size * self.a_record for size in sizes)
        for told, size in zip(executor.in_order(task, arguments, self.at_once, needs), sizes, strict=True):
            done.append(told)
            self.passes.tell(what, size)
        return done

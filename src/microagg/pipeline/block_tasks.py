"""Tasks of the search in blocks: sample, route, search a block, go on in shifted blocks.

A task has small arguments, writes one file under a name of its own, and returns what that file
states about itself: a task that is done already is not done again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from microagg.errors import Cancelled
from microagg.files.identity import digest_of_chunk
from microagg.kernels import sums
from microagg.methods.method import Grouping
from microagg.methods.parts import rng_of_part
from microagg.methods.search.auto import BLOCK
from microagg.methods.search.blockwise import (
    SHIFTED,
    shifted_leaves,
)
from microagg.pipeline.confidential_codes import GuaranteeContext
from microagg.pipeline.one_block import OneBlockSearch
from microagg.pipeline.spill_index import FORMER, GROUP, NUMBER, Holding, batches_in, load_rows
from microagg.pipeline.strata_plan import StrataCodes, StratumPlan
from microagg.pipeline.totals import Centres, Totals
from microagg.problem.blocks import in_sample
from microagg.problem.problem import Problem
from microagg.runtime.executor import is_cancelled
from microagg.runtime.spill import read_result, write_spill_file
from microagg.runtime.tasks import SpilledObject
from microagg.table.capping import Limits
from microagg.table.columns.categories import in_plain_types
from microagg.table.columns.column_encoding import cells_in
from microagg.table.encoder import Space
from microagg.table.variable import Cells, Variable

Finish = Callable[[Any, pa.Table, Cells, np.ndarray, np.ndarray, str], dict[str, Any]]
"""`finish(about, rows, cells, points, labels, path)`: makes what groups release, writes it to
`path` and tells about it.
"""


@dataclass(frozen=True)
class TaskContext:
    """Facts of the table that every task of the search needs."""

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
    search: OneBlockSearch | None = None
    """The search in one block, of the table or of each stratum; None for one in blocks."""
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
        """Return the number of axes of points."""
        return self.space.size_of_points

    @property
    def strata_names(self) -> tuple[str, ...]:
        """The columns of strata."""
        return () if self.strata is None else self.strata.names

    @property
    def is_one_block(self) -> bool:
        """Return True if the whole table is searched as one block."""
        return self.search is not None and self.search.of_table

    def by_territory(self, rows: pa.Table) -> list[tuple[int, np.ndarray]]:
        """(territory, its records) for each that has some among these rows."""
        if self.strata is None or self.is_one_block:
            return [(0, np.arange(rows.num_rows))]
        strata = self.strata.of_records(rows)
        order = np.argsort(strata, kind="stable")
        present, starts = np.unique(strata[order], return_index=True)
        return list(zip(present.tolist(), np.split(order, starts[1:]), strict=True))

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
    for number, members in layout.by_territory(rows):
        territory = territories[number]
        if territory.in_blocks:
            wanted = territory.wanted(layout.axes, layout.k)
            chosen = in_sample(
                int(before[number]), len(members), territory.records, territory.sample_seed, wanted
            )
            samples[number] = layout.points(cells.rows(members[chosen]))
    return samples, Totals.of_chunk(layout.spaces, cells)


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
    if (stats := read_result(path)) is not None:
        return {**stats, "path": path}
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
    for number, members in layout.by_territory(rows):
        trees, begin = territories[number].trees, territories[number].first_leaf
        leaves[members] = begin if trees is None else begin + trees.first.leaf_of(points[members])
    rows = rows.append_column(NUMBER, pa.array(np.arange(first, first + count)))
    stats = {
        "squares": [column.tolist() for column in squares.columns],
        "low": points.min(axis=0).tolist(),
        "high": points.max(axis=0).tolist(),
        "digest": digest,
    }
    return {**write_spill_file(path, rows, leaves, stats), "path": path}


def work_block_of(
    index: int,
    number: int,
    holding: Holding,
    layout: TaskContext,
    territory: StratumPlan,
    folder: str,
) -> dict[str, Any]:
    """A task: search within block `number` of a territory, then send whole groups to the leaves of
    the second tree.
    """
    path = f"{folder}/block-{index}.arrow"
    if (stats := read_result(path)) is not None:
        return {**stats, "path": path}
    rows = load_rows(holding)
    points = layout.points(cells_in(rows, layout.variables))
    problem, rng = layout.problem(points, rows), territory.rng(number)
    search: Any
    if layout.search is None:
        search = BLOCK.run(problem, rng=rng, effort=layout.effort, progress=go_on)
    else:
        strata = layout.strata.of_records(rows) if layout.strata and layout.is_one_block else None
        search = layout.search.run(problem, rows, rng=rng, strata=strata, progress=go_on)
    rows = rows.append_column(GROUP, pa.array(search.labels))
    rows = rows.append_column(FORMER, pa.array(np.full(len(rows), number, np.int32)))
    leaves = np.full(len(rows), territory.first_shifted, np.int64)
    if territory.trees is not None:
        leaves += shifted_leaves(territory.trees.second, points, search.labels)
    stats = {} if territory.in_blocks else {"chosen": list(search.chosen)}
    if layout.is_one_block:
        stats |= _search_stats(search, layout, rows, folder)
    return {**write_spill_file(path, rows, leaves, stats), "path": path}


def _search_stats(
    search: Grouping, layout: TaskContext, rows: pa.Table, folder: str
) -> dict[str, Any]:
    """Return the end of a search of the whole table, and its bound, as a spill file states them."""
    stats: dict[str, Any] = {"params": search.params, "stopped": search.stopped}
    if search.bound is not None:
        cells = cells_in(rows, layout.variables)
        cells = cells if layout.limits is None else layout.limits.cells(cells)
        bound = search.bound.about(cells, list(cells.names), layout.space)
        stats["gap"] = search.bound.gap(search.labels)
        stats["bound"] = SpilledObject.of(bound, folder).path
    return stats


def work_shifted_block_of(
    index: int,
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
    path = f"{folder}/shifted-{index}.arrow"
    if (stats := read_result(path)) is not None:
        return {**stats, "path": path}
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


def _names(layout: TaskContext) -> list[str]:
    return [variable.name for variable in layout.variables]

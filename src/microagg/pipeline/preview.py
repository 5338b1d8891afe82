"""Preview of a release: its loss, its changed cells and its time, from a search of some records.

Up to 20,000 records are searched as a whole. Of a larger table compact blocks are searched: a
sample of single records would have no near neighbours and show many times the loss. Blocks are
drawn with a chance that follows their scatter (squared distances within their leaves), where the
error lies; those with most of it are always taken. The error of a drawn block stands for as much
scatter as it was drawn for (Horvitz and Thompson 1952; systematic sampling with unequal chances,
Madow 1949). On narrow clusters far apart, where hardly anything is lost, it can be twice too high:
a block has strays of a cluster whose others are elsewhere.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from microagg.errors import MicroaggError
from microagg.formatting import counted, html_table, number
from microagg.kernels import random, sums
from microagg.measures.loss.unchanged import same_cells
from microagg.methods.method import Grouping
from microagg.methods.parts import in_parts, records_by_label
from microagg.methods.registry import DEFAULT
from microagg.pipeline.estimate import Estimate, search_estimate
from microagg.pipeline.preparation import Prepared, open_table, prepare
from microagg.pipeline.run_method import run_method
from microagg.pipeline.sources import is_open_file, is_path, read_source
from microagg.problem.blocks import BlockTree, in_sample
from microagg.release.cells import read_cells
from microagg.release.settings import Settings
from microagg.release.weighting import weighting_of
from microagg.table.variable import Cells

MOST_AS_WHOLE = 20_000
"""Records up to which the whole table is searched."""
NEARLY_ALL = 1.25
"""The whole is searched, too, if blocks would have all records or nearly all."""
BLOCKS, BLOCK_RECORDS = 10, 2_000
DETAILED = {"blocks": 12, "block_records": 8_000}
"""Arguments of a more exact preview."""
GROUPS_A_BLOCK = 40
"""A block has room for so many groups, or its borders would decide the loss."""
LEAVES_A_BLOCK, MOST_LEAVES, SAMPLE_A_LEAF = 8, 2_000, 16
"""Leaves that a block is joined from, at most so many in all, and records of the sample for each:
the scatter within small leaves follows the error of groups; that of blocks may be distances between
clusters.
"""
SMALLEST_BLOCK = 0.6
"""Share of the wanted size that a block has at least."""


@dataclass(frozen=True)
class Preview:
    """Expected loss of a release. It is an estimate, never the result."""

    k: int
    records: int
    searched: int
    """Records whose groups were formed for it."""
    blocks: int
    """Blocks that these records are from; 0 if all records were searched."""
    loss: float
    """Expected IL in percent, with effort `quick`."""
    spread: float
    """Standard error of the loss from drawing blocks, in percentage points; 0 without drawing."""
    changed: dict[str, float] = field(default_factory=dict)
    """Cells of each column whose value would change, in percent."""
    seconds: float | None = None
    """Expected time of the search with the settings as they are; None if it is not known."""
    open_end: str = ""
    """Further time that cannot be estimated, in words."""

    def as_data(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {
            "k": self.k,
            "records": self.records,
            "searched": self.searched,
            "blocks": self.blocks,
            "loss": self.loss,
            "spread": self.spread,
            "changed": dict(self.changed),
            "seconds": self.seconds,
            "open_end": self.open_end,
            "basis": self.basis,
        }

    def _repr_html_(self) -> str:
        rows = [(name, f"{percent:.1f} %") for name, percent in self.changed.items()]
        return html_table(("column", "cells changed"), rows, " ".join(self.sentences))

    @property
    def basis(self) -> str:
        """Say what it rests on, its spread and its bias.

        >>> Preview(5, 900, 900, 0, 10.0, 0.0).basis
        'A preview, not the result: all 900 records, searched with effort quick.'
        """
        if not self.blocks:
            return (
                f"A preview, not the result: all {counted(self.records, 'record')}, "
                "searched with effort quick."
            )
        return (
            f"A preview, not the result: {counted(self.blocks, 'block')} with "
            f"{self.searched:,} of {counted(self.records, 'record')}, searched with effort quick. "
            f"Drawing other blocks would move it by about ± {number(self.spread, 2)} points. "
            "It tends to be too high, because no group crosses the border of a block."
        )

    @property
    def sentences(self) -> tuple[str, ...]:
        """Return it in words.

        >>> Preview(5, 900, 900, 0, 10.0, 0.0, {"age": 80.0}).sentences[0]
        'Expected loss (IL) for k = 5: about 10 %.'
        """
        if self.changed:
            values = list(self.changed.values())
            cells = (f"About {number(float(np.mean(values)), 2)} % of the cells would change.",)
        else:
            cells = ()
        return (
            f"Expected loss (IL) for k = {self.k}: about {number(self.loss, 2)} %.",
            *cells,
            self.basis,
        )


def preview(
    table: Any,
    settings: Settings,
    *,
    blocks: int = BLOCKS,
    block_records: int = BLOCK_RECORDS,
    timed: bool = False,
    threads: int | None = None,
) -> Preview:
    """Estimate the loss of a release, the cells it changes and its time, without making it.

    Parameters
    ----------
    table : pandas, polars or Arrow table, 2-D NumPy array, path or open file
        The original table. Never modified.
    settings : Settings
        Settings of the planned release. The default method is previewed with effort `quick`.
    blocks : int
        Blocks to search of a table of more than 20,000 records.
    block_records : int
        Records of a block, about. More and larger blocks are slower and more exact.
    timed : bool
        Also estimate the seconds of the search. Takes a second or more.
    threads : int, optional
        Number of threads. It never changes the preview.

    Returns
    -------
    Preview
        Expected loss with its spread, changed cells by column, and what these rest on.

    Raises
    ------
    InputError
        If no release is possible with these settings.

    Examples
    --------
    >>> from microagg import Settings
    >>> people = np.array([[30.0], [32.0], [60.0], [64.0]])
    >>> shown = preview(people, Settings.of(k=2, quasi=["0"], seed=0))
    >>> round(shown.loss, 2), shown.changed, shown.blocks
    (1.03, {'0': 100.0}, 0)
    """
    if is_path(table) or is_open_file(table):
        table, _ = read_source(table, settings)
    prepared = prepare(open_table(table, settings), threads)
    return Previewer(prepared).preview(blocks=blocks, block_records=block_records, timed=timed)


class Previewer:
    """Previews of one prepared table, for several k and sizes of blocks."""

    def __init__(self, prepared: Prepared) -> None:
        plan = prepared.plan
        self._plan, self._problem = plan, prepared.problem
        self._cells = (
            read_cells(plan.frame, plan.schema, plan.settings) if plan.cells is None else plan.cells
        )
        self._total = plan.space.total(self._cells)
        self._drawn: dict[int, _Blocks] = {}

    def preview(
        self,
        k: int | None = None,
        *,
        blocks: int = BLOCKS,
        block_records: int = BLOCK_RECORDS,
        timed: bool = False,
    ) -> Preview:
        """Return the preview for one k, by default that of the settings."""
        k = self._plan.settings.k if k is None else k
        records = len(self._cells)
        method = self._plan.settings.chosen_method
        most = max(MOST_AS_WHOLE, NEARLY_ALL * blocks * block_records)
        if records <= most or method.scope == "column":
            preview = self._of_all(k)
        else:
            preview = self._of_blocks(k, blocks, max(block_records, GROUPS_A_BLOCK * k))
        if not timed:
            return preview
        time_needed = self._estimate(k)
        return replace(preview, seconds=time_needed.seconds, open_end=time_needed.open_end)

    def _of_all(self, k: int) -> Preview:
        """Return the preview from a quick search of all records."""
        labels = self._search(np.arange(len(self._cells)), None, k).labels
        error, changed = self._outcome(np.arange(len(self._cells)), labels, k)
        shares = 100.0 * changed / len(self._cells)
        names = dict(zip(self._cells.names, shares.tolist(), strict=True))
        n = len(self._cells)
        return Preview(k, n, n, 0, self._percent(error), 0.0, names)

    def _of_blocks(self, k: int, blocks: int, block_records: int) -> Preview:
        """Return the preview from quick searches of blocks drawn by their scatter."""
        of_blocks = self._blocks_of(block_records)
        chosen, chances = of_blocks.draw(blocks, self._plan.settings.seed or 0)
        parts = [of_blocks.records[block] for block in chosen]
        rows = np.concatenate(parts)
        ends = np.cumsum([len(part) for part in parts])
        within = [np.arange(end - len(part), end) for part, end in zip(parts, ends, strict=True)]
        labels = self._search(rows, within, k).labels
        errors, changed = np.zeros(len(parts)), np.zeros((len(parts), len(self._cells.variables)))
        for number_of_part, inside in enumerate(within):
            local = sums.number_by_first_record(np.ascontiguousarray(labels[inside]))
            errors[number_of_part], changed[number_of_part] = self._outcome(
                parts[number_of_part], local, k
            )
        weights = 1.0 / chances
        sizes = np.array([len(part) for part in parts])
        shares = 100.0 * (weights @ changed) / (weights @ sizes)
        return Preview(
            k, len(self._cells), len(rows), len(parts), self._percent(float(weights @ errors)),
            self._percent(of_blocks.standard_error(chosen, chances, errors)),
            dict(zip(self._cells.names, shares.tolist(), strict=True)),
        )  # fmt: skip

    def _percent(self, error: float) -> float:
        """Return the loss in percent of the total; nobody can lose more than all."""
        return min(100.0, 100.0 * error / self._total) if self._total > 0.0 else 0.0

    def _blocks_of(self, block_records: int) -> _Blocks:
        if block_records not in self._drawn:
            strata = None if self._plan.strata is None else self._plan.strata.labels
            seed = self._plan.settings.seed or 0
            self._drawn[block_records] = _Blocks.of(
                self._problem.points, block_records, strata, seed
            )
        return self._drawn[block_records]

    def _search(self, rows: np.ndarray, parts: list[np.ndarray] | None, k: int) -> Grouping:
        """Form groups of some records with the method, quickly; within `parts` if there are any."""
        settings, method = self._plan.settings, self._plan.settings.chosen_method
        params = {name: value for name, value in settings.params.items() if name != "time_limit"}
        if method.name == DEFAULT:
            params = {**params, "effort": "quick", "stop_after": None}
        whole = len(rows) == len(self._cells) and parts is None
        problem = self._problem if whole else self._problem.part(rows)
        problem = replace(problem, k=k)
        seed = settings.seed or 0
        if parts is None:
            strata = None if self._plan.strata is None else self._plan.strata.labels
            return run_method(
                method, problem, params, seed=seed, refine=settings.refine, strata=strata
            )
        rng = random.seeded(seed, "preview")
        try:
            return in_parts(problem, parts, method, rng=rng, params=params)
        except MicroaggError:  # a block alone cannot keep what the whole table can
            free = replace(problem, accept=None)
            return in_parts(free, parts, method, rng=rng, params=params)

    def _outcome(self, rows: np.ndarray, labels: np.ndarray, k: int) -> tuple[float, np.ndarray]:
        """Return the squared error of what groups of some records release, and changed cells."""
        plan = self._plan
        whole = len(rows) == len(self._cells)
        frame = plan.frame if whole else plan.frame[rows.tolist()]
        cells: Cells = self._cells if whole else self._cells.rows(rows)
        aggregation = replace(plan.aggregation, settings=replace(plan.settings, k=k))
        weighting = weighting_of(frame, plan.schema, plan.settings)
        made = aggregation.aggregate(frame, cells, labels, weighting)
        error = float(plan.space.record_errors(cells, made.cells, labels).sum())
        changed = [
            float((~same_cells(cells, made.cells, j)).sum()) for j in range(len(cells.variables))
        ]
        return error, np.array(changed)

    def _estimate(self, k: int) -> Estimate:
        settings = self._plan.settings
        return search_estimate(
            settings.chosen_method, replace(self._problem, k=k), settings.params,
            seed=settings.seed or 0, refine=settings.refine,
        )  # fmt: skip


@dataclass(frozen=True)
class _Blocks:
    """Compact blocks of all records, and the scatter of each."""

    records: list[np.ndarray]
    scatter: np.ndarray
    """(blocks,): squared distances within its leaves, to which its error is about proportional."""

    @staticmethod
    def of(points: np.ndarray, largest: int, strata: np.ndarray | None, seed: int) -> _Blocks:
        """Cut records into compact blocks of about `largest` at most, each within one stratum."""
        regions = [np.arange(len(points))] if strata is None else records_by_label(strata)
        blocks: list[np.ndarray] = []
        scatter: list[float] = []
        for region in regions:
            inside = points if len(region) == len(points) else points[region]
            tree = _small_leaves(inside, largest, seed)
            leaves = tree.leaf_of(inside)
            by_leaf = np.array([_scatter(inside[rows]) for rows in records_by_label(leaves)])
            counts = np.bincount(leaves, minlength=len(tree))
            joined = tree.joined(counts, math.ceil(SMALLEST_BLOCK * min(largest, len(region))))
            blocks += [region[rows] for rows in records_by_label(joined[leaves])]
            scatter += np.bincount(joined[: len(by_leaf)], by_leaf).tolist()
        return _Blocks(blocks, np.array(scatter))

    def draw(self, count: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the drawn blocks and the chance that each had to be drawn.

        Blocks that would have a chance of 1 or more are always taken, the others systematically.
        """
        chances = chances_by_size(self.scatter, count)
        order = random.permutation(random.seeded(seed, "preview blocks"), len(chances))
        ends = np.cumsum(chances[order])
        start = random.below(random.seeded(seed, "preview start"), 1 << 32) / float(1 << 32)
        steps = np.arange(math.floor(ends[-1] + 1e-9)) + start
        picked = np.unique(order[np.minimum(np.searchsorted(ends, steps), len(order) - 1)])
        always = np.flatnonzero(chances >= 1.0)
        chosen = np.union1d(picked, always)
        return chosen, chances[chosen]

    def standard_error(self, chosen: np.ndarray, chances: np.ndarray, errors: np.ndarray) -> float:
        """Return the standard error of the estimated total of squared errors."""
        drawn = chances < 1.0
        count = int(drawn.sum())
        if count < 2:
            return 0.0
        rest = np.setdiff1d(np.arange(len(self.scatter)), chosen[~drawn])
        ratios = errors[drawn] / np.maximum(self.scatter[chosen[drawn]], 1e-300)
        spread = float(np.std(ratios, ddof=1)) / math.sqrt(count)
        return float(self.scatter[rest].sum()) * spread


def _small_leaves(points: np.ndarray, largest: int, seed: int) -> BlockTree:
    """Return a tree of which several leaves make up a block of about `largest` records."""
    records = len(points)
    leaf = max(largest // LEAVES_A_BLOCK, math.ceil(records / MOST_LEAVES), 1)
    if records <= largest:
        leaf = records
    sample = in_sample(0, records, records, seed, SAMPLE_A_LEAF * math.ceil(records / leaf))
    if not sample.any():
        sample[:] = True
    return BlockTree.fit(points[sample], records, leaf)


def _scatter(points: np.ndarray) -> float:
    """Return squared distances to the centroid, as they shrink if a leaf has more records."""
    if not len(points):
        return 0.0
    squares = float(((points - points.mean(axis=0)) ** 2).sum())
    return squares * float(len(points)) ** (-2.0 / points.shape[1])


def chances_by_size(sizes: np.ndarray, count: int) -> np.ndarray:
    """Return the chance of each block to be among `count`, in proportion to its size; at most 1.

    >>> chances_by_size(np.array([1.0, 1.0, 2.0, 6.0]), 2).round(3).tolist()
    [0.25, 0.25, 0.5, 1.0]
    """
    sizes = np.maximum(sizes, 1e-12 * max(float(sizes.sum()), 1e-300) / len(sizes))
    chances = np.ones(len(sizes))
    if count >= len(sizes):
        return chances
    free = np.ones(len(sizes), bool)
    while True:
        left = count - int((~free).sum())
        chances[free] = left * sizes[free] / sizes[free].sum()
        if left <= 0 or not (chances[free] >= 1.0).any():
            return np.clip(chances, 1e-12, 1.0)
        free &= chances < 1.0
        chances[~free] = 1.0

"""Preview of a release: its loss, its changed cells and its time, from a search of some records.

Up to 35,000 records are searched as a whole. Of a larger table compact blocks are searched: a
sample of single records would have no near neighbours and show many times the loss. Blocks are
drawn with a chance that follows their scatter (squared distances within their leaves), where the
error lies; those with most of it are always taken. The error of a drawn block stands for as much
scatter as it was drawn for (Horvitz and Thompson 1952; systematic sampling with unequal chances,
Madow 1949). On narrow clusters far apart, where hardly anything is lost, it can be twice too high:
a block has strays of a cluster whose others are elsewhere.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from microagg.errors import MicroaggError
from microagg.formatting import counted, html_table, number
from microagg.guarantees.tally import distances, tally_of_part
from microagg.kernels import random, sums
from microagg.measures.loss.unchanged import same_cells
from microagg.methods.method import Grouping
from microagg.methods.parts import in_parts
from microagg.methods.registry import DEFAULT
from microagg.pipeline.estimate import Estimate, search_estimate
from microagg.pipeline.preparation import Prepared, open_table, prepare
from microagg.pipeline.preview_blocks import PreviewBlocks
from microagg.pipeline.run_method import run_method
from microagg.pipeline.sources import is_open_file, is_path, read_source
from microagg.release.cells import read_cells
from microagg.release.settings import Settings
from microagg.release.weighting import weighting_of
from microagg.table.schema import Kind
from microagg.table.variable import Cells

MOST_AS_WHOLE = 35_000
"""Records up to which the whole table is searched: cutting blocks costs as much as searching the
rest, and the whole is exact. Adult (30,162 records, 86 axes) takes 1.2 s of processor time as a
whole, and 2.4 s in blocks.
"""
NEARLY_ALL = 1.75
"""The whole is searched, too, if it has at most so many times the records of the blocks."""
BLOCKS, BLOCK_RECORDS = 6, 2_000
"""Of a first preview, which must show within a second of a change; each block is searched from four
starts.
"""
DETAILED = {"blocks": 12, "block_records": 8_000}
"""Arguments of a more exact preview."""
GROUPS_A_BLOCK = 40
"""A block has room for so many groups, or its borders would decide the loss."""


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
    efforts: dict[str, float] = field(default_factory=dict)
    """Expected seconds for each word of effort, of a method that has them."""
    fewest_values: dict[str, int] = field(default_factory=dict)
    """Least number of different values that a group has in each confidential column."""
    largest_distance: dict[str, float] = field(default_factory=dict)
    """Largest distance of a group from the table in each confidential column, as t limits it."""

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
            "efforts": dict(self.efforts),
            "fewest_values": dict(self.fewest_values),
            "largest_distance": dict(self.largest_distance),
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
        Blocks to search of a table of more than 35,000 records.
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


@dataclass(frozen=True)
class PreviewStep:
    """State of a preview that becomes more exact while somebody looks."""

    preview: Preview
    strip: dict[int, float]
    """Expected loss for other k."""
    is_last: bool


class Previewer:
    """Previews of one prepared table, for several k and sizes of blocks."""

    def __init__(self, prepared: Prepared) -> None:
        plan = prepared.plan
        self._plan, self._problem = plan, prepared.problem
        self._cells = (
            read_cells(plan.frame, plan.schema, plan.settings) if plan.cells is None else plan.cells
        )
        self._total = plan.space.total(self._cells)
        self._drawn: dict[int, PreviewBlocks] = {}
        self._previews: dict[tuple[int, int, int], Preview] = {}
        self._times: dict[int, Estimate] = {}

    def take_blocks_from(self, other: Previewer) -> None:
        """Take over the blocks that another previewer cut, if its points and strata are the same:
        a change of k, of a guarantee or of the method does not move the points.
        """
        if (
            self._plan.settings.seed == other._plan.settings.seed
            and np.array_equal(self._problem.points, other._problem.points)
            and np.array_equal(self._strata_labels(), other._strata_labels())
        ):
            self._drawn = other._drawn

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
        method = self._plan.settings.chosen_method
        most = max(MOST_AS_WHOLE, NEARLY_ALL * blocks * block_records)
        whole = len(self._cells) <= most or method.scope == "column"
        sizes = (0, 0) if whole else (blocks, max(block_records, GROUPS_A_BLOCK * k))
        if (k, *sizes) not in self._previews:
            made = self._of_all(k) if whole else self._of_blocks(k, *sizes)
            self._previews[k, *sizes] = made
        preview = self._previews[k, *sizes]
        if not timed:
            return preview
        if k not in self._times:
            self._times[k] = self._estimate(k)
        time_needed = self._times[k]
        return replace(
            preview, seconds=time_needed.seconds, open_end=time_needed.open_end,
            efforts=dict(time_needed.efforts),
        )  # fmt: skip

    def step(self, number: int, others: Sequence[int]) -> PreviewStep:
        """Return the preview after some steps: the first one, larger blocks, the time, other k.

        What earlier steps computed is kept, so that nobody who changes a setting waits for more
        than one step.
        """
        last = 2 + len(others)
        size = {} if number == 0 else DETAILED
        strip = {}
        for k in others[: max(0, number - 2)]:
            with contextlib.suppress(MicroaggError):  # not every k is possible
                strip[k] = self.preview(k).loss
        return PreviewStep(self.preview(**size, timed=number >= 2), strip, number >= last)

    def _of_all(self, k: int) -> Preview:
        """Return the preview from a quick search of all records."""
        rows = np.arange(len(self._cells))
        labels = self._search(rows, None, k).labels
        error, changed = self._outcome(rows, labels, k)
        shares = 100.0 * changed / len(self._cells)
        names = dict(zip(self._cells.names, shares.tolist(), strict=True))
        n = len(self._cells)
        preview = Preview(k, n, n, 0, self._percent(error), 0.0, names)
        return self._with_confidential(preview, rows, labels)

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
        preview = Preview(
            k, len(self._cells), len(rows), len(parts), self._percent(float(weights @ errors)),
            self._percent(of_blocks.standard_error(chosen, chances, errors)),
            dict(zip(self._cells.names, shares.tolist(), strict=True)),
        )  # fmt: skip
        return self._with_confidential(preview, rows, labels)

    def _with_confidential(self, preview: Preview, rows: np.ndarray, labels: np.ndarray) -> Preview:
        """Return a preview with what its groups have in common in confidential columns."""
        if labels.ndim != 1:  # groups of each column
            return preview
        fewest, largest = {}, {}
        for attribute in self._plan.attributes:
            codes = attribute.codes
            counts = tally_of_part(
                codes[rows], labels, int(labels.max()) + 1, np.bincount(codes), attribute.known
            )
            nominal = attribute.kind is Kind.NOMINAL
            fewest[attribute.name] = int(counts.distinct.min())
            largest[attribute.name] = float(distances(counts, nominal=nominal).max())
        return replace(preview, fewest_values=fewest, largest_distance=largest)

    def _percent(self, error: float) -> float:
        """Return the loss in percent of the total; nobody can lose more than all."""
        return min(100.0, 100.0 * error / self._total) if self._total > 0.0 else 0.0

    def _blocks_of(self, block_records: int) -> PreviewBlocks:
        if block_records not in self._drawn:
            strata = None if self._plan.strata is None else self._strata_labels()
            seed = self._plan.settings.seed or 0
            self._drawn[block_records] = PreviewBlocks.of(
                self._problem.points, block_records, strata, seed
            )
        return self._drawn[block_records]

    def _strata_labels(self) -> np.ndarray:
        """(n,): the stratum of each record; empty where there are none."""
        return np.zeros(0, np.int64) if self._plan.strata is None else self._plan.strata.labels

    def _search(self, rows: np.ndarray, parts: list[np.ndarray] | None, k: int) -> Grouping:
        """Form groups of some records with the method, quickly; within `parts` if there are any."""
        settings, method = self._plan.settings, self._plan.settings.chosen_method
        params = {name: value for name, value in settings.params.items() if name != "time_limit"}
        if method.name == DEFAULT:
            params = {**params, "effort": "quick", "stop_after": None}
        whole = len(rows) == len(self._cells) and parts is None
        problem = self._problem
        if not whole:  # searched as the part of the table that it is
            problem = replace(problem.part(rows), of_records=len(self._cells))
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

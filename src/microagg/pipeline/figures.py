"""Figures of an out-of-core release.

Each measure declares its basis (`measures.measure.Basis`): sums over records and counts of classes
give exact figures; others come from a sample of records, of whole classes or of records looked up
among all originals, and say so. What no sample gives is left out.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa

from microagg.kernels import partial_sums, sums
from microagg.measures.measure import Basis, Figure, Measure, Pair, Sample
from microagg.measures.parts import Lookup
from microagg.measures.registry import assess_pair, measures
from microagg.measures.risk.classes import ClassSizes
from microagg.measures.risk.linkage import slack_of, with_points
from microagg.pipeline.block_stats import AFTER, ATOM, BEFORE, PLACE, BlockStatsSpec
from microagg.pipeline.class_stats import ClassStats, ClassStatsSpec, KeptColumnStats
from microagg.pipeline.exact_parts import MergedParts
from microagg.pipeline.linkage import LinkageResult, link_records
from microagg.pipeline.spill_index import NUMBER
from microagg.release.changes import Change, moved_by
from microagg.runtime.chunk_map import ChunkMap
from microagg.table.columns.categories import with_categories
from microagg.table.columns.column_encoding import cells_in
from microagg.table.encoder import Space
from microagg.table.schema import Kind
from microagg.table.variable import NO_ATOM, Cells, Variable

LOOKED_UP = 10_000
"""Released records that an intruder looks up."""
PARTS = 10
"""Parts of a sample whose figures tell the standard error."""
# where a table does not have what exact figures take, they are from a sample, too
_FROM_SAMPLE = (Basis.SAMPLE, Basis.RECORDS, Basis.CLASSES)


@dataclass
class FigureCounts:
    """Combined statistics of all blocks: sums over records in three parts, and released cells."""

    plain: bool = True
    sums: np.ndarray | None = None
    lows: list[float] = field(default_factory=list)
    highs: list[float] = field(default_factory=list)
    same: list[int] = field(default_factory=list)
    one: list[list[float] | None] = field(default_factory=list)
    moved: list[float | None] = field(default_factory=list)
    """Of each column by how much a cell moved, on average."""
    filled: list[int] = field(default_factory=list)
    blanked: list[int] = field(default_factory=list)

    @staticmethod
    def of(blocks: Sequence[dict[str, Any]]) -> FigureCounts:
        """From what the blocks tell."""
        total = np.zeros_like(np.array(blocks[0]["sums"]))
        for block in blocks:
            partial_sums.add_sums(total, np.array(block["sums"]))

        def by_column(name: str) -> Iterator[tuple[Any, ...]]:
            return zip(*(block[name] for block in blocks), strict=True)

        return FigureCounts(
            all(block["plain"] for block in blocks),
            total,
            [min(values) for values in by_column("lows")],
            [max(values) for values in by_column("highs")],
            [sum(counts) for counts in by_column("same")],
            [
                cells[0] if all(cell == cells[0] for cell in cells) else None
                for cells in by_column("one")
            ],
            [_mean_move(parts) for parts in by_column("moved")],
        )

    def total(self, number: int) -> float:
        """One of the sums."""
        assert self.sums is not None
        return float(sums.rounded(self.sums, number))


def _mean_move(parts: Sequence[list[float] | None]) -> float | None:
    total, cells = np.zeros((3, 1)), 0.0
    for part in parts:
        if part is not None:
            partial_sums.add_sums(total, np.array(part[:3]).reshape(3, 1))
            cells += part[3]
    return float(sums.rounded(total, 0)) / cells if cells else None


@dataclass
class FigureInputs:
    """Inputs of the figures of a release, collected while its blocks were worked on."""

    aside: BlockStatsSpec
    variables: tuple[Variable, ...]
    scores: Space
    """Of z-scores, before axes are turned."""
    searched: Space | None
    """The same with its axes turned; None where another one was searched."""
    k: int
    weighted: bool
    counts: FigureCounts
    classes: ClassSizes
    facts: ClassStats
    class_spec: ClassStatsSpec
    kept: KeptColumnStats | None
    """Of classes with kept columns; None where there are none."""
    loss: dict[str, float]
    """IL and SSE in z-scores."""
    by_column: tuple[list[float], list[float]] | None
    """Squared errors and all there is of each column there, of mixed tables."""
    sample: pa.Table
    of_classes: pa.Table
    """The two samples, by record number."""
    looked: LinkageResult | None = None
    space: Space | None = None
    """In which records were looked up."""
    kinds: dict[str, Any] = field(default_factory=dict)
    """The types of released columns of categories: in samples lie values."""
    categories: dict[str, pa.Array] = field(default_factory=dict)
    """Those that are released, in their order."""

    @property
    def records(self) -> int:
        """Return the number of records."""
        return self.aside.records

    # --- what lies in samples

    def original_of(self, sample: pa.Table) -> pa.Table:
        """The quasi-identifiers before, and the weight."""
        return _beginning(sample, BEFORE)

    def released_of(self, sample: pa.Table) -> pa.Table:
        """The released table."""
        return with_categories(_beginning(sample, AFTER), self.kinds, self.categories)

    def cells_of(self, sample: pa.Table) -> tuple[Cells, Cells] | None:
        """The cells before and after; None where the quasi-identifiers are plain numbers."""
        if self.counts.plain:
            return None
        before = cells_in(self.original_of(sample), self.variables)
        values, atoms = (
            np.empty(before.values.shape),
            np.full(before.values.shape, NO_ATOM, np.int16),
        )
        variables = []
        for j, variable in enumerate(before.variables):
            column = sample.column(f"{PLACE}{j}")
            atoms[:, j] = sample.column(f"{ATOM}{j}").to_numpy()
            if pa.types.is_string(column.type):
                variable, values[:, j] = _coarse(variable, column.to_pylist(), atoms[:, j])
            else:
                values[:, j] = column.to_numpy()
            variables.append(variable)
        held = atoms if before.atoms is not None or (atoms != NO_ATOM).any() else None
        return before, Cells(tuple(variables), values, held)

    def changes(self, pair: Pair) -> dict[str, Change]:
        """Return the changes of the cells of all records, by column."""
        changes, counts = {}, self.counts
        for j, (old, new) in enumerate(
            zip(pair.before.variables, pair.after.variables, strict=True)
        ):
            unchanged = 100.0 * counts.same[j] / self.records
            moved = moved_by(old, new, counts.moved[j])
            changes[old.name] = Change(
                old.name, old.kind, unchanged, *moved, counts.filled[j], counts.blanked[j]
            )
        return changes

    # --- looking up

    def look_up(self, passes: ChunkMap, pair: Pair) -> None:
        """Look a sample of released records up among all originals."""
        pair = with_points(pair)
        if pair.cells is None:
            chosen = self.variables
        else:
            chosen = tuple(variable for variable in self.variables if variable.name in pair.quasi)
        if not chosen:
            return
        self.space = space = self._space(pair, len(chosen))
        originals = space.points(pair.before)
        with np.errstate(over="ignore"):
            released = space.points(pair.after)
        rows = self._looked_up()
        self.looked = link_records(
            passes,
            chosen,
            space,
            pair.cells is not None,
            np.ascontiguousarray(released[rows]),
            np.ascontiguousarray(originals[rows]),
            pair.before,
            slack_of(space, originals, mixed=pair.cells is not None),
        )

    def _space(self, pair: Pair, columns: int) -> Space:
        """In which distances are measured: that of z-scores, from the sample where no pass has
        found it.
        """
        if columns == len(self.variables):
            if self.searched is not None:
                return self.searched
            if self.scores.is_plain:
                return self.scores
        return Space.fit(pair.before, "zscore")

    def _looked_up(self) -> np.ndarray:
        """Return the records of the sample that are looked up: those with the lowest hashes."""
        keys = self.aside.keys(self.sample.column(NUMBER).to_numpy())
        return np.sort(np.argsort(keys, kind="stable")[:LOOKED_UP])

    # --- figures

    def figures(self, pair: Pair, of_classes: Pair) -> tuple[tuple[Measure, Figure], ...]:
        """Return every measure that fits the release, in the order of the registry.

        The basis that a measure declares decides how it is computed.
        """
        parts = MergedParts(self, is_plain=pair.cells is None)
        figures = {m.name: m.exact(parts) for m in measures() if m.exact is not None}
        exact = {name: figure for name, figure in figures.items() if figure is not None}
        bases = {m.name: m.basis for m in measures() if m.name not in exact}
        names = [name for name, basis in bases.items() if basis in _FROM_SAMPLE]
        names_of_classes = [name for name, basis in bases.items() if basis is Basis.CLASS_SAMPLE]
        if self.aside.everything:
            names += [name for name, basis in bases.items() if basis is Basis.WHOLE_TABLE]
            assessed = assess_pair(pair, [*names, *names_of_classes])
            made = {measure.name: figure for measure, figure in assessed}
        else:
            made = self._from_sample(pair, names)
            sample = Sample(len(of_classes.original), of="classes")
            for measure, figure in assess_pair(of_classes, names_of_classes):
                made[measure.name] = replace(figure, sample=sample)
        made |= self._from_lookup(pair) | exact
        pair.forget()
        return tuple((m, made[m.name]) for m in measures() if m.name in made)

    def _from_sample(self, pair: Pair, names: Sequence[str]) -> dict[str, Figure]:
        """Return figures of a sample of records, with standard errors from parts of it."""
        n = len(pair.before)
        parts: list[dict[str, float]] = []
        for part in range(PARTS):
            rows = pair.of_records(np.arange(part, n, PARTS))
            parts.append({m.name: figure.value for m, figure in assess_pair(rows, names)})
        figures = {}
        for measure, figure in assess_pair(pair, names):
            values = [of_part[measure.name] for of_part in parts if measure.name in of_part]
            error = _error_of_parts(values) * math.sqrt(1.0 - n / self.records)
            factor = 1.0
            if measure.grows:
                factor = self.records / n
                error *= factor * PARTS
            columns = {name: factor * value for name, value in figure.columns.items()}
            # parts that agree to the last digit are at an end of the range: no error follows
            sample = Sample(n, error if math.isfinite(error) and error > 0.0 else None)
            figures[measure.name] = Figure(factor * figure.value, columns, figure.details, sample)
        return figures

    def _from_lookup(self, pair: Pair) -> dict[str, Figure]:
        """Return the figures of an intruder who has looked records up, with standard errors."""
        if self.looked is None:
            return {}
        lookup, size = self._lookup(pair, self.looked), len(self.looked.nearest)
        entries = [(m, m.from_lookup) for m in measures() if m.from_lookup is not None]
        figures = {measure.name: formula(lookup) for measure, formula in entries}
        if size == self.records:
            return figures
        unseen = math.sqrt(1.0 - size / self.records)
        parts = [lookup.of_records(np.arange(part, size, PARTS)) for part in range(PARTS)]
        for measure, formula in entries:
            if measure.lookup_scores is not None:
                error = _error_of_mean(measure.lookup_scores(lookup), lookup.weights)
            else:
                error = _error_of_parts([formula(part).value for part in parts])
            sample = Sample(size, unseen * error)
            figures[measure.name] = replace(figures[measure.name], sample=sample)
        return figures

    def _lookup(self, pair: Pair, result: LinkageResult) -> Lookup:
        rows = self._looked_up()
        slack = 0.0
        if pair.cells is not None and self.space is not None:
            points = self.space.points(with_points(pair).before)
            slack = slack_of(self.space, points, mixed=True)
        weights = None if pair.weights is None else pair.weights[rows]
        return Lookup(result.nearest, result.second, result.lowest, result.next, weights, slack)


def _error_of_parts(values: Sequence[float]) -> float:
    """The standard error of a figure from those of the parts of its sample."""
    if len(values) < 2:
        return math.inf
    return float(np.std(values, ddof=1)) / math.sqrt(len(values))


def _error_of_mean(values: np.ndarray, weights: np.ndarray | None) -> float:
    """The standard error of a mean, weighted where there are weights."""
    of = np.ones(len(values)) if weights is None else weights
    middle = float(np.average(values, weights=of))
    spread = float((of * of * (values - middle) ** 2).sum())
    return math.sqrt(spread * len(values) / max(len(values) - 1, 1)) / float(of.sum())


def _beginning(sample: pa.Table, with_: str) -> pa.Table:
    names = [name for name in sample.column_names if name.startswith(with_)]
    return sample.select(names).rename_columns([name.removeprefix(with_) for name in names])


def _coarse(
    variable: Variable, words: Sequence[str | None], atoms: np.ndarray
) -> tuple[Variable, np.ndarray]:
    """A column of ranges or ancestors, from their words."""
    levels = sorted({word for word in words if word is not None})
    missing = [
        word is None and atom == NO_ATOM for word, atom in zip(words, atoms.tolist(), strict=True)
    ]
    # of nominal columns missing is a level
    known = (*levels, None) if any(missing) else tuple(levels)
    rank_of = {word: float(rank) for rank, word in enumerate(known)}
    coarse = replace(
        variable,
        kind=Kind.NOMINAL,
        levels=known,
        origin=0,
        unit="",
        single=False,
        hierarchy=None,
        coarse=True,
    )
    values = [
        rank_of[word] if word is not None or gone else np.nan
        for word, gone in zip(words, missing, strict=True)
    ]
    return coarse, np.array(values)

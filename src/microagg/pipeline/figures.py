"""The figures of a release that was made beyond memory.

Exact: what is a sum over records, a count of classes, or follows from these. The rest from samples,
with their standard errors: measures of distributions on a sample of records before and after,
measures of confidential values on a sample of whole classes, and the intruder who looks released
records up does so for a sample of them, among all originals. Two measures no sample tells: they are
left out by name.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa

from microagg.kernels import partial_sums, sums
from microagg.measures.loss.generalisation import discernibility_of
from microagg.measures.measure import Figure, Measure, Pair, Sample
from microagg.measures.registry import LINKING, NOT_FROM_SAMPLES, assess_pair, measures
from microagg.measures.risk.classes import ClassSizes
from microagg.measures.risk.closest import figures_of_distances
from microagg.measures.risk.dominance import THRESHOLD, P
from microagg.measures.risk.linkage import linkage_of, slack_of, with_points
from microagg.measures.risk.reidentification import (
    highest_chance,
    marketer_risk_of,
    prosecutor_risk_of,
)
from microagg.measures.risk.uniqueness import smallest_class_of, uniqueness_of
from microagg.pipeline.block_plan import NUMBER
from microagg.pipeline.block_stats import AFTER, ATOM, BEFORE, PLACE, BlockStatsSpec
from microagg.pipeline.class_stats import ClassStats, ClassStatsSpec, KeptColumnStats
from microagg.pipeline.linkage import LinkageResult, link_records
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
OF_CLASSES = ("distinct-l", "entropy-l", "t", "sse-i")
"""Measures of what classes tell of confidential values: from whole classes."""
_SUMS = ("sse", "sse-minmax", "sse-raw", "il1s")
# sums of the weights before and as released; then those of each column of numbers
_FIRST, _PER_NUMBER = 2, 7


@dataclass
class FigureCounts:
    """What all blocks come to: sums over records, in three parts each, and what columns release."""

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
    def of(told: Sequence[dict[str, Any]]) -> FigureCounts:
        """From what the blocks tell."""
        total = np.zeros_like(np.array(told[0]["sums"]))
        for each in told:
            partial_sums.add_sums(total, np.array(each["sums"]))
        one = [
            cells[0] if all(cell == cells[0] for cell in cells) else None
            for cells in zip(*(each["one"] for each in told), strict=True)
        ]
        return FigureCounts(
            all(each["plain"] for each in told),
            total,
            [min(each) for each in zip(*(each["lows"] for each in told), strict=True)],
            [max(each) for each in zip(*(each["highs"] for each in told), strict=True)],
            [sum(each) for each in zip(*(each["same"] for each in told), strict=True)],
            one,
            [_mean_move(each) for each in zip(*(each["moved"] for each in told), strict=True)],
        )

    def total(self, place: int) -> float:
        """One of the sums."""
        assert self.sums is not None
        return float(sums.rounded(self.sums, place))


def _mean_move(parts: Sequence[list[float] | None]) -> float | None:
    total, cells = np.zeros((3, 1)), 0.0
    for each in parts:
        if each is not None:
            partial_sums.add_sums(total, np.array(each[:3]).reshape(3, 1))
            cells += each[3]
    return float(sums.rounded(total, 0)) / cells if cells else None


@dataclass
class FigureInputs:
    """What was counted and set aside on the way of a release."""

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
    asked: ClassStatsSpec
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
        """How many records there are."""
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
        """What became of the cells of all records, column by column."""
        found, counts = {}, self.counts
        for j, (old, new) in enumerate(
            zip(pair.before.variables, pair.after.variables, strict=True)
        ):
            unchanged = 100.0 * counts.same[j] / self.records
            moved = moved_by(old, new, counts.moved[j])
            found[old.name] = Change(
                old.name, old.kind, unchanged, *moved, counts.filled[j], counts.blanked[j]
            )
        return found

    def moved_means(self) -> dict[str, float]:
        """By how much the mean of each column of numbers moved, in its standard deviations; means
        weighted as before and as released.
        """
        found, before, after = {}, self.counts.total(0), self.counts.total(1)
        for place, number in enumerate(self.aside.numbers):
            first = _FIRST + _PER_NUMBER * place
            z, _, _, _, released, plain, squares = (
                self.counts.total(first + each) for each in range(_PER_NUMBER)
            )
            spread = math.sqrt(max(squares - plain * plain / self.records, 0.0) / self.records)
            moved = abs(released / after - z / before)
            found[number.name] = (
                moved / spread if spread > 0.0 else (math.inf if moved > 1e-12 else 0.0)
            )
        return found

    # --- looking up

    def look_up(self, passes: ChunkMap, pair: Pair) -> None:
        """Look a sample of released records up among all originals."""
        pair = with_points(pair)
        if pair.cells is None:
            chosen = self.variables
        else:
            chosen = tuple(each for each in self.variables if each.name in pair.quasi)
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
        """Which records of the sample are looked up: those with the lowest hashes."""
        keys = self.aside.keys(self.sample.column(NUMBER).to_numpy())
        return np.sort(np.argsort(keys, kind="stable")[:LOOKED_UP])

    # --- figures

    def figures(self, pair: Pair, of_classes: Pair) -> tuple[tuple[Measure, Figure], ...]:
        """Every measure that fits the release, in the order of the registry."""
        exact = {**self._of_classes(), **self._of_numbers(pair)}
        asked = [
            measure.name
            for measure in measures()
            if measure.name not in exact
            and measure.name not in (*LINKING, *OF_CLASSES)
            and (self.aside.everything or measure.name not in NOT_FROM_SAMPLES)
        ]
        if self.aside.everything:
            found = {m.name: figure for m, figure in assess_pair(pair, [*asked, *OF_CLASSES])}
        else:
            found = self._from_sample(pair, asked)
            sample = Sample(len(of_classes.original), of="classes")
            for measure, figure in assess_pair(of_classes, OF_CLASSES):
                found[measure.name] = replace(figure, sample=sample)
        found |= self._of_intruder(pair) | exact
        pair.forget()
        return tuple(
            (measure, found[measure.name]) for measure in measures() if measure.name in found
        )

    def _from_sample(self, pair: Pair, names: Sequence[str]) -> dict[str, Figure]:
        """Measures of distributions, with standard errors from parts of the sample."""
        n = len(pair.before)
        parts: list[dict[str, float]] = []
        for part in range(PARTS):
            own = pair.of_records(np.arange(part, n, PARTS))
            parts.append(
                {measure.name: figure.value for measure, figure in assess_pair(own, names)}
            )
        found = {}
        for measure, figure in assess_pair(pair, names):
            values = [each[measure.name] for each in parts if measure.name in each]
            error = _error_of_parts(values) * math.sqrt(1.0 - n / self.records)
            times = 1.0
            if measure.name in _SUMS:
                times, error = self.records / n, error * self.records / n * PARTS
            columns = {name: times * value for name, value in figure.columns.items()}
            # parts that agree to the last digit are at an end of the range, and tell nothing of an
            # error
            sample = Sample(n, error if math.isfinite(error) and error > 0.0 else None)
            found[measure.name] = Figure(times * figure.value, columns, figure.details, sample)
        return found

    def _of_intruder(self, pair: Pair) -> dict[str, Figure]:
        if self.looked is None:
            return {}
        rows, looked = self._looked_up(), self.looked
        weights = None if pair.weights is None else pair.weights[rows]
        slack = 0.0
        if pair.cells is not None and self.space is not None:
            slack = slack_of(self.space, self.space.points(with_points(pair).before), mixed=True)

        def linked(own: np.ndarray) -> Figure:
            of = None if weights is None else weights[own]
            return linkage_of(looked.nearest[own], looked.second[own], of)

        def distances(own: np.ndarray) -> tuple[Figure, Figure]:
            of = None if weights is None else weights[own]
            return figures_of_distances(looked.lowest[own], looked.next[own], of, slack)

        every = np.arange(len(rows))
        found = {"linkage": linked(every)}
        found |= dict(zip(("closest-record", "neighbour-ratio"), distances(every), strict=True))
        if len(rows) == self.records:
            return found
        left = math.sqrt(1.0 - len(rows) / self.records)
        errors = {"linkage": left * _error_of_mean(100.0 * looked.nearest, weights)}
        parts = [distances(every[part::PARTS]) for part in range(PARTS)]
        for place, name in enumerate(("closest-record", "neighbour-ratio")):
            errors[name] = left * _error_of_parts([each[place].value for each in parts])
        return {
            name: replace(figure, sample=Sample(len(rows), errors[name]))
            for name, figure in found.items()
        }

    def _of_classes(self) -> dict[str, Figure]:
        """What follows from the classes of the release."""
        classes, facts = self.classes, self.facts
        expected = float((classes.sizes * (1.0 / classes.sizes) * classes.counts).sum())
        found = {
            "k": smallest_class_of(classes),
            "unique": uniqueness_of(classes, self.k),
            "prosecutor": prosecutor_risk_of(classes),
            "journalist": prosecutor_risk_of(classes),
            "discernibility": discernibility_of(classes, self.k),
        }
        if self.weighted:
            found["journalist"] = highest_chance(facts.chance, facts.at_chance)
            expected = float(sums.rounded(facts.expected, 0))
        found["marketer"] = marketer_risk_of(len(classes), classes.records, expected)
        if self.kept is not None:
            sizes, percent = ClassSizes.counted(self.kept.sizes), None
            if self.weighted:
                alone, whole = (
                    sums.rounded(each, 0) for each in (self.kept.alone, self.kept.weights)
                )
                percent = 100.0 * float(alone / whole)
            found["unique-with-kept"] = uniqueness_of(sizes, self.k, percent)
            found["k-with-kept"] = smallest_class_of(sizes)
        if self.asked.amounts:
            found["dominance"] = self._dominance()
        return found

    def _dominance(self) -> Figure:
        facts = self.facts
        details = {
            f"classes over {THRESHOLD:g} %": float(facts.exceeding),
            f"classes failing the {P:g} % rule": float(facts.failing),
        }
        if self.weighted:
            details["classes in which one record has over half of the weight"] = float(facts.heavy)
        shares = {name: facts.shares[name] for name in self.asked.amounts}
        return Figure(max(shares.values()), shares, details)

    def _of_numbers(self, pair: Pair) -> dict[str, Figure]:
        """What follows from sums over records."""
        counts, numbers = self.counts, self.aside.numbers
        weights = counts.total(0)
        found = {"cells-unchanged": self._unchanged(weights)}
        scaled = [self._column(place, weights) for place in range(len(numbers))]
        if numbers:
            found["granularity"] = self._granularity(weights)
            for name, value in self._squared(scaled, weights, "none"):
                found[f"{name}-raw"] = value
            moved = {each.name: column.moved for each, column in zip(numbers, scaled, strict=True)}
            of_il1s = {
                each.name: moved[each.name]
                / (math.sqrt(2.0) * (1.0 if each.constant else _of_sample(self.records)))
                for each in numbers
            }
            whole = float(np.mean(list(of_il1s.values())))
            found["il1s"] = Figure(whole, of_il1s)
            percents = {name: 100.0 * value / weights for name, value in of_il1s.items()}
            found["il1s-percent"] = Figure(100.0 * whole / weights, percents)
        if pair.cells is None:
            found |= dict(self._squared(scaled, weights, "zscore"))
            found |= {
                f"{name}-minmax": value for name, value in self._squared(scaled, weights, "minmax")
            }
        elif self.by_column is not None:
            found |= self._of_cells(*self.by_column)
        elif not self.weighted and len(numbers) == len(self.variables):
            found |= dict(self._squared(scaled, weights, "zscore"))
        return found

    def _column(self, place: int, weights: float) -> _Column:
        """The sums of a column of numbers, around its mean."""
        first = _FIRST + _PER_NUMBER * place
        z, squares, errors, moved = (self.counts.total(first + each) for each in range(4))
        number = self.aside.numbers[place]
        if number.constant:
            return _Column(errors, 0.0, errors, 0.0, moved, 1.0)
        around = max(squares - z * z / weights, 0.0)
        variance = around / weights
        return _Column(
            errors,
            around,
            errors / variance,
            weights,
            moved / math.sqrt(variance),
            number.unit * number.unit,
        )

    def _squared(
        self, columns: Sequence[_Column], weights: float, scale: str
    ) -> Iterator[tuple[str, Figure]]:
        """SSE and IL on one scale, as `squared_loss` has them."""
        names = [each.name for each in self.aside.numbers]
        pairs = [column.on(scale) for column in columns]
        one = [low == high for low, high in zip(self.counts.lows, self.counts.highs, strict=True)]
        sse, sst = (math.fsum(each) for each in zip(*pairs, strict=True))
        whole = {"SSE": sse, "IL": _percent(sse, sst)}
        if scale == "zscore" and not self.weighted:  # the very digits that the release states
            whole = {name: self.loss[name] for name in ("SSE", "IL")}
        if all(one):
            whole["IL"] = min(whole["IL"], 100.0)
        percents = [
            min(_percent(*pair), 100.0) if same else _percent(*pair)
            for pair, same in zip(pairs, one, strict=True)
        ]
        yield (
            "sse",
            Figure(whole["SSE"], dict(zip(names, (pair[0] for pair in pairs), strict=True))),
        )
        yield "il", Figure(whole["IL"], dict(zip(names, percents, strict=True)))

    def _of_cells(self, errors: Sequence[float], totals: Sequence[float]) -> dict[str, Figure]:
        names = [each.name for each in self.variables]
        percents = {}
        for j, name in enumerate(names):
            percents[name] = 0.0 if j in self.scores.constant else _percent(errors[j], totals[j])
            if self.counts.one[j] is not None:  # all is lost, and no more
                percents[name] = min(percents[name], 100.0)
        return {
            "sse": Figure(self.loss["SSE"], dict(zip(names, errors, strict=True))),
            "il": Figure(self.loss["IL"], percents),
        }

    def _unchanged(self, weights: float) -> Figure:
        first = _FIRST + _PER_NUMBER * len(self.aside.numbers)
        found = {
            each.name: 100.0
            if self.counts.same[j] == self.records
            else 100.0 * min(1.0, self.counts.total(first + j) / weights)
            for j, each in enumerate(self.variables)
        }
        return Figure(float(np.mean(list(found.values()))), found)

    def _granularity(self, weights: float) -> Figure:
        found = {
            name: min(100.0, 100.0 * float(sums.rounded(self.facts.covered[name], 0)) / weights)
            for name, _ in self.asked.ranges
        }
        return Figure(float(np.mean(list(found.values()))), found)


@dataclass(frozen=True)
class _Column:
    """Squared errors and squared deviations of a column, in ranges and in standard deviations;
    absolute errors in the latter.
    """

    in_ranges: float
    around: float
    in_deviations: float
    weights: float
    moved: float
    square: float
    """What a squared range is in units of the column."""

    def on(self, scale: str) -> tuple[float, float]:
        """Errors and deviations on a scale."""
        if scale == "zscore":
            return self.in_deviations, self.weights
        times = self.square if scale == "none" else 1.0
        return self.in_ranges * times, self.around * times


def _of_sample(records: int) -> float:
    """What a deviation over n - 1 is beside one over n."""
    return math.sqrt(records / (records - 1)) if records > 1 else 1.0


def _percent(part: float, whole: float) -> float:
    return 100.0 * part / whole if whole > 0.0 else 0.0


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
    place = {word: float(rank) for rank, word in enumerate(known)}
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
        place[word] if word is not None or gone else np.nan
        for word, gone in zip(words, missing, strict=True)
    ]
    return coarse, np.array(values)

"""The space of a table that is never in memory as a whole: what `Space.fit` finds, in a few passes
over its chunks.

Each pass is one task for each chunk, whose results are put together in the order of the chunks;
moments of principal axes are those of runs of 65,536 records, as in memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from microagg.kernels import partial_sums, sums
from microagg.pipeline.caps import Caps, capped_table, places_of_caps
from microagg.pipeline.column_stats import Facts, LevelFacts, NumberFacts
from microagg.pipeline.value_counts import Counted, Quantile, ValueHistogram, added_up
from microagg.runtime.chunk_map import ChunkMap
from microagg.table.axes import (
    Coded,
    ColumnAxes,
    Scaled,
    axes_of_atoms,
    axes_of_categories,
    scaled_by,
    with_atoms,
)
from microagg.table.capping import Capped, Limits
from microagg.table.columns.column_encoding import cells_in
from microagg.table.encoder import (
    RUN,
    Space,
    can_be_turned,
    extents,
    is_standard,
    moments_of_run,
    principal_axes,
    turned_to,
)
from microagg.table.precision import Precision
from microagg.table.scales import (
    QUARTILES,
    SCALE,
    Axis,
    axis_of_quartiles,
    axis_of_range,
    axis_of_ranks,
)
from microagg.table.schema import Kind
from microagg.table.variable import Cells, Variable


@dataclass(frozen=True)
class FittedSpace:
    """The spaces of a table, and what else these passes found."""

    space: Space
    """The one that is searched."""
    measured: tuple[Space, ...]
    """Those in which loss is measured: that one without any cap, and plain z-scores where it is not
    made of them.
    """
    precisions: tuple[Precision, ...]
    limits: Limits | None = None
    """What values beyond are set to before groups are formed."""
    capped: dict[str, Capped] = field(default_factory=dict)


@dataclass(frozen=True)
class ScalingOptions:
    """What is said of the space."""

    scale: str = SCALE.default
    importance: Mapping[str, float] = field(default_factory=dict)
    cap: Caps = field(default_factory=dict)
    room: int = 0
    """How many bytes the different values of columns may take."""


def fit(
    passes: ChunkMap, variables: Sequence[Variable], facts: Sequence[Facts], asked: ScalingOptions
) -> FittedSpace:
    """What `cap_cells`, `Space.fit` and `precision_of` find in the whole table."""
    names, scale, importance = tuple(variables), asked.scale, asked.importance
    ordered = ValueHistogram(passes, names, dict(_numbers(facts)), asked.room)
    ordered.at(_places(names, facts, asked))  # all of them in the same passes
    columns = _Columns(passes, names, tuple(facts), ordered)
    searched, capped = columns, None
    if asked.cap:
        capped = capped_table(passes, names, facts, asked.cap, ordered)
        searched = _Columns(passes, names, capped.facts, ordered, capped.limits)
    unturned, limits = searched.space(scale, importance), None if capped is None else capped.limits
    measured = [columns.space(scale, importance)]
    if not is_standard(scale, importance):
        measured.append(columns.space(SCALE.default, {}))
    space = _turned(passes, names, unturned, facts[0].records, limits)
    return FittedSpace(
        space, tuple(measured), columns.precisions(), limits, {} if capped is None else capped.done
    )


def _places(
    variables: tuple[Variable, ...], facts: Sequence[Facts], asked: ScalingOptions
) -> dict[int, list[int]]:
    """By column the places in its order that its precision, a scale and caps ask for."""
    found = places_of_caps(variables, facts, asked.cap)
    for j, each in _numbers(facts):
        if each.places:
            found[j] = [*found.get(j, []), *each.places]
    if asked.scale == "robust":
        for j, (variable, each) in enumerate(zip(variables, facts, strict=True)):
            if isinstance(each, NumberFacts) and not _is_coded(variable, each):
                own = [place for quantile in _quartiles(each) for place in quantile.places]
                found[j] = [*found.get(j, []), *own]
    return found


def _quartiles(facts: NumberFacts) -> list[Quantile]:
    return [Quantile.of(share, facts.known) for share in QUARTILES]


@dataclass(frozen=True)
class Term:
    """What is added up of a column: its values, or (`axis`) their coordinates; or the squares of
    these around a centre.
    """

    column: int
    axis: Axis | None = None
    centre: float | None = None


@dataclass(frozen=True)
class _Own:
    """A column on a scale, without importance: its axes, and where the mean of its coordinates lies
    and how far they spread.
    """

    axes: ColumnAxes
    mean: float = 0.0
    deviation: float = 0.0


@dataclass
class _Columns:
    """The columns of a table on their scales; what a pass has found is not looked for again."""

    passes: ChunkMap
    variables: tuple[Variable, ...]
    facts: tuple[Facts, ...]
    ordered: ValueHistogram
    limits: Limits | None = None
    """Values beyond are set to them, and facts are those of columns with them."""
    measured: dict[str, list[_Own]] = field(default_factory=dict)

    @property
    def is_plain(self) -> bool:
        """Whether all columns are numbers without gaps: those need no places for atoms."""
        return all(
            variable.kind is Kind.NUMERIC and isinstance(each, NumberFacts) and not each.missing
            for variable, each in zip(self.variables, self.facts, strict=True)
        )

    def space(self, scale: str, importance: Mapping[str, float]) -> Space:
        """What `Space.fit` finds, before axes are turned."""
        if scale not in self.measured:
            self.measured[scale] = self._measured(scale)
        found: list[ColumnAxes] = []
        for variable, facts, own in zip(
            self.variables, self.facts, self.measured[scale], strict=True
        ):
            times, axes = float(importance.get(variable.name, 1.0)), own.axes
            if isinstance(axes, Coded):
                axes = _coded(variable, facts, scale, times)
            elif self.is_plain:
                axes = scaled_by(axes.axis, scale, variable.unit, times, axes.constant, lambda: 0.0)
            else:
                known, counts = _counts(facts)
                axes = with_atoms(axes, own.mean, own.deviation, known, counts, scale, times)
            found.append(axes)
        return Space(scale, tuple(found))

    def precisions(self) -> tuple[Precision, ...]:
        """What `precision_of` finds in each column."""
        return tuple(
            each.precision(lambda places, j=j: self.ordered.at({j: places})[j])
            if isinstance(each, NumberFacts)
            else Precision()
            for j, each in enumerate(self.facts)
        )

    def _measured(self, scale: str) -> list[_Own]:
        numbers = {
            j: each
            for j, (variable, each) in enumerate(zip(self.variables, self.facts, strict=True))
            if isinstance(each, NumberFacts) and not _is_coded(variable, each)
        }
        axes = self._axes(scale, numbers)
        found = [
            _Own(_coded(variable, each, scale, 1.0)) if j not in axes else _Own(axes[j])
            for j, (variable, each) in enumerate(zip(self.variables, self.facts, strict=True))
        ]
        if self.is_plain:
            return found
        moments = self._moments({j: each.axis for j, each in axes.items()})
        for j, (mean, deviation) in moments.items():
            found[j] = replace(found[j], mean=mean, deviation=deviation)
        return found

    def _axes(self, scale: str, numbers: Mapping[int, NumberFacts]) -> dict[int, Scaled]:
        """The axes of columns of numbers."""
        found = {j: Axis(0.0, 1.0) for j in numbers}
        if scale == "minmax":
            found = {j: axis_of_range(each.least, each.most) for j, each in numbers.items()}
        elif scale == "zscore":
            means = {j: each.mean for j, each in numbers.items()}
            spreads = self._deviations(dict.fromkeys(numbers), means)
            found = {j: Axis(mean, spreads[j]) for j, mean in means.items()}
        elif scale == "robust":
            found = self._axes_of_quartiles(numbers)
        elif scale == "rank":
            counted = self.ordered.different(tuple(numbers))
            found = {
                j: axis_of_ranks(*self._within_limits(j, *each)) for j, each in counted.items()
            }
        constant = {j: each.least == each.most for j, each in numbers.items()}
        small = [j for j, axis in found.items() if axis.width == 0.0 and not constant[j]]
        widths = self._widths_of_small(small)
        return {
            j: scaled_by(
                axis, scale, self.variables[j].unit, 1.0, constant[j], lambda j=j: widths[j]
            )
            for j, axis in found.items()
        }

    def _axes_of_quartiles(self, numbers: Mapping[int, NumberFacts]) -> dict[int, Axis]:
        """The axes of columns by their quartiles. Limits keep the order of values, so what was
        counted without them does.
        """
        asked = {j: _quartiles(each) for j, each in numbers.items()}
        found = self.ordered.at(
            {j: [p for each in own for p in each.places] for j, own in asked.items()}
        )
        axes = {}
        for j, own in asked.items():
            values = np.array(list(found[j].values()))
            values = values if self.limits is None else self.limits.column(j, values)
            at = dict(zip(found[j], values.tolist(), strict=True))
            axes[j] = axis_of_quartiles(*[each.value(at) for each in own])
        return axes

    def _within_limits(self, j: int, values: np.ndarray, counts: np.ndarray) -> Counted:
        """The different values of a column within its limits, and how often each occurs."""
        if self.limits is None or j not in self.limits.of_columns:
            return values, counts
        values = self.limits.column(j, values)
        return added_up(values, counts)

    def _widths_of_small(self, columns: Sequence[int]) -> dict[int, float]:
        """The standard deviations of columns in which the scale found no width, however small their
        numbers; never 0. Two passes.
        """
        spread = {}
        for j in columns:
            each = self.facts[j]
            assert isinstance(each, NumberFacts)
            spread[j] = each.most - each.least
        moments = self._moments({j: Axis(0.0, spread[j]) for j in columns})
        least = float(np.finfo(np.float64).smallest_subnormal)
        return {j: max(spread[j] * moments[j][1], least) for j in columns}

    def _moments(self, axes: Mapping[int, Axis]) -> dict[int, tuple[float, float]]:
        """The mean and the standard deviation of the coordinates of columns: two passes."""
        if not axes:
            return {}
        totals = self._sums([Term(j, axis) for j, axis in axes.items()])
        means = {
            j: sums.rounded(totals, place) / _counts(self.facts[j])[0]
            for place, j in enumerate(axes)
        }
        deviations = self._deviations(axes, means)
        return {j: (means[j], deviations[j]) for j in axes}

    def _deviations(
        self, axes: Mapping[int, Axis | None], means: Mapping[int, float]
    ) -> dict[int, float]:
        """The standard deviations of columns, or of their coordinates, around these means: one
        pass.
        """
        if not axes:
            return {}
        squares = self._sums([Term(j, axis, means[j]) for j, axis in axes.items()])
        return {
            j: float(np.sqrt(sums.rounded(squares, place) / _counts(self.facts[j])[0]))
            for place, j in enumerate(axes)
        }

    def _sums(self, terms: Sequence[Term]) -> np.ndarray:
        """(3, terms): what these come to in all records."""
        total = np.zeros((3, len(terms)))
        if terms:
            for more in self.passes.map_chunks(
                "measuring", add_up_chunk, self.variables, tuple(terms), self.limits
            ):
                partial_sums.add_sums(total, more)
        return total


def add_up_chunk(
    source: Any,
    first: int,
    count: int,
    variables: tuple[Variable, ...],
    terms: tuple[Term, ...],
    limits: Limits | None,
) -> np.ndarray:
    """A task: (3, terms), what is added up of a chunk, within limits."""
    places = {j: place for place, j in enumerate(dict.fromkeys(each.column for each in terms))}
    chosen = [variables[j] for j in places]
    cells = cells_in(source.read(first, count, [each.name for each in chosen]), chosen, first)

    def known(j: int) -> np.ndarray:
        values = cells.values[:, places[j]]
        values = np.ascontiguousarray(values[~np.isnan(values)])
        return values if limits is None else limits.column(j, values)

    found = np.zeros((3, len(terms)))
    for place, term in enumerate(terms):
        values = known(term.column)
        values = (values if term.axis is None else term.axis.coordinates(values)).reshape(-1, 1)
        centre = term.centre
        told = (
            sums.column_sums(values)
            if centre is None
            else partial_sums.square_sums(values, np.array([centre]))
        )
        found[:, place] = told[:, 0]
    return found


def _is_coded(variable: Variable, facts: Facts) -> bool:
    """Whether a column has categories: nominal ones, or the one value that it has and its gaps."""
    if isinstance(facts, LevelFacts) or variable.kind is Kind.NOMINAL:
        return True
    return facts.missing > 0 and (facts.known == 0 or facts.least == facts.most)


def _coded(variable: Variable, facts: Facts, scale: str, importance: float) -> Coded:
    """The axes of a column of categories."""
    if isinstance(facts, LevelFacts):
        return axes_of_categories(variable, facts.frequency(), scale, importance)
    if variable.kind is Kind.NOMINAL:  # nothing but gaps
        return axes_of_categories(variable, np.array([facts.records]), scale, importance)
    known, counts = _counts(facts)
    return axes_of_atoms(known, counts, len(variable.marks), scale, importance)


def _counts(facts: Facts) -> tuple[int, np.ndarray]:
    """How many cells of a column have a value, and how often each atom occurs."""
    assert isinstance(facts, NumberFacts)
    return facts.known, facts.atoms


def _numbers(facts: Sequence[Facts]) -> Iterator[tuple[int, NumberFacts]]:
    return ((j, each) for j, each in enumerate(facts) if isinstance(each, NumberFacts))


def _turned(
    passes: ChunkMap,
    variables: tuple[Variable, ...],
    space: Space,
    records: int,
    limits: Limits | None,
) -> Space:
    """The space on principal axes, where it has those: one or two passes."""
    if not can_be_turned(space):
        return space
    first, second = np.zeros(space._size), np.zeros((space._size, space._size))
    for runs in passes.map_chunks("turning", moments_chunk, variables, space, limits):
        for run in runs:
            first, second = first + run[0], second + run[1]
    mean, axes, doubtful = principal_axes(first, second, records)
    low, high = np.full(int(doubtful.sum()), np.inf), np.full(int(doubtful.sum()), -np.inf)
    if doubtful.any():
        for least, most in passes.map_chunks(
            "turning", extents_chunk, variables, space, limits, axes[:, doubtful]
        ):
            low, high = np.minimum(low, least), np.maximum(high, most)
    return turned_to(space, mean, axes, doubtful, low, high)


def moments_chunk(
    source: Any,
    first: int,
    count: int,
    variables: tuple[Variable, ...],
    space: Space,
    limits: Limits | None,
) -> list[tuple[np.ndarray, np.ndarray]]:
    """A task: the moments of each run of a chunk, which begins where a run does."""
    cells = _cells_within(source, first, count, variables, limits)
    return [
        moments_of_run(space, cells.rows(slice(start, start + RUN)))
        for start in range(0, len(cells), RUN)
    ]


def extents_chunk(
    source: Any,
    first: int,
    count: int,
    variables: tuple[Variable, ...],
    space: Space,
    limits: Limits | None,
    axes: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """A task: how far a chunk reaches along some axes."""
    return extents(space, _cells_within(source, first, count, variables, limits), axes)


def _cells_within(
    source: Any, first: int, count: int, variables: tuple[Variable, ...], limits: Limits | None
) -> Cells:
    cells = cells_in(source.read(first, count, [each.name for each in variables]), variables, first)
    return cells if limits is None else limits.cells(cells)

"""The space of a table that is never in memory as a whole: what `Space.fit` finds, in a few passes
over its chunks.

Each pass is one task for each chunk, whose results are put together in the order of the chunks;
moments of principal axes are those of runs of 65,536 records, as in memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from microagg.kernels import sums
from microagg.pipeline.caps import Caps, capped_table, positions_for_caps
from microagg.pipeline.column_stats import Facts, LevelFacts, NumberFacts
from microagg.pipeline.term_sums import Term, add_up_chunk
from microagg.pipeline.turned_space import turned_space
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
from microagg.table.encoder import (
    Space,
    is_standard,
)
from microagg.table.precision import Precision
from microagg.table.reduction import combine_chunks
from microagg.table.scales import (
    QUARTILES,
    SCALE,
    Axis,
    axis_of_quartiles,
    axis_of_range,
    axis_of_ranks,
)
from microagg.table.schema import Kind
from microagg.table.variable import Variable


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
    """Options of the space."""

    scale: str = SCALE.default
    importance: Mapping[str, float] = field(default_factory=dict)
    cap: Caps = field(default_factory=dict)
    room: int = 0
    """How many bytes the different values of columns may take."""


def fit(
    passes: ChunkMap, variables: Sequence[Variable], facts: Sequence[Facts], options: ScalingOptions
) -> FittedSpace:
    """Return the spaces, caps and precisions of the whole table, as `find_limits`, `Space.fit` and
    `precision_of` give them.
    """
    names, scale, importance = tuple(variables), options.scale, options.importance
    ordered = ValueHistogram(passes, names, dict(_numbers(facts)), options.room)
    ordered.lookup(_places(names, facts, options))  # all of them in the same passes
    columns = _Columns(passes, names, tuple(facts), ordered)
    searched, capped = columns, None
    if options.cap:
        capped = capped_table(passes, names, facts, options.cap, ordered)
        searched = _Columns(passes, names, capped.facts, ordered, capped.limits)
    unturned, limits = searched.space(scale, importance), None if capped is None else capped.limits
    measured = [columns.space(scale, importance)]
    if not is_standard(scale, importance):
        measured.append(columns.space(SCALE.default, {}))
    space = turned_space(passes, names, unturned, facts[0].records, limits)
    return FittedSpace(
        space, tuple(measured), columns.precisions(), limits, {} if capped is None else capped.done
    )


def _places(
    variables: tuple[Variable, ...], facts: Sequence[Facts], options: ScalingOptions
) -> dict[int, list[int]]:
    """By column the places in its order that its precision, a scale and caps ask for."""
    places = positions_for_caps(variables, facts, options.cap)
    for j, column_facts in _numbers(facts):
        if column_facts.places:
            places[j] = [*places.get(j, []), *column_facts.places]
    if options.scale == "robust":
        for j, (variable, column_facts) in enumerate(zip(variables, facts, strict=True)):
            if isinstance(column_facts, NumberFacts) and not _is_coded(variable, column_facts):
                positions = [
                    position
                    for quantile in _quartiles(column_facts)
                    for position in quantile.places
                ]
                places[j] = [*places.get(j, []), *positions]
    return places


def _quartiles(facts: NumberFacts) -> list[Quantile]:
    return [Quantile.of(share, facts.known) for share in QUARTILES]


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
        """Return True if all columns are numbers without gaps: those need no positions for special
        codes.
        """
        return all(
            variable.kind is Kind.NUMERIC
            and isinstance(column_facts, NumberFacts)
            and not column_facts.missing
            for variable, column_facts in zip(self.variables, self.facts, strict=True)
        )

    def space(self, scale: str, importance: Mapping[str, float]) -> Space:
        """Return the space before its axes are turned, as `Space.fit` gives it."""
        if scale not in self.measured:
            self.measured[scale] = self._measured(scale)
        axes_of_columns: list[ColumnAxes] = []
        for variable, facts, measured in zip(
            self.variables, self.facts, self.measured[scale], strict=True
        ):
            times, axes = float(importance.get(variable.name, 1.0)), measured.axes
            if isinstance(axes, Coded):
                axes = _coded(variable, facts, scale, times)
            elif self.is_plain:
                axes = scaled_by(axes.axis, scale, variable.unit, times, axes.constant, lambda: 0.0)
            else:
                known, counts = _counts(facts)
                axes = with_atoms(
                    axes, measured.mean, measured.deviation, known, counts, scale, times
                )
            axes_of_columns.append(axes)
        return Space(scale, tuple(axes_of_columns))

    def precisions(self) -> tuple[Precision, ...]:
        """Return the precision of each column, as `precision_of` gives it."""
        return tuple(
            column_facts.precision(lambda places, j=j: self.ordered.lookup({j: places})[j])
            if isinstance(column_facts, NumberFacts)
            else Precision()
            for j, column_facts in enumerate(self.facts)
        )

    def _measured(self, scale: str) -> list[_Own]:
        numbers = {
            j: column_facts
            for j, (variable, column_facts) in enumerate(
                zip(self.variables, self.facts, strict=True)
            )
            if isinstance(column_facts, NumberFacts) and not _is_coded(variable, column_facts)
        }
        axes = self._axes(scale, numbers)
        columns = [
            _Own(_coded(variable, column_facts, scale, 1.0)) if j not in axes else _Own(axes[j])
            for j, (variable, column_facts) in enumerate(
                zip(self.variables, self.facts, strict=True)
            )
        ]
        if self.is_plain:
            return columns
        moments = self._moments({j: scaled.axis for j, scaled in axes.items()})
        for j, (mean, deviation) in moments.items():
            columns[j] = replace(columns[j], mean=mean, deviation=deviation)
        return columns

    def _axes(self, scale: str, numbers: Mapping[int, NumberFacts]) -> dict[int, Scaled]:
        """The axes of columns of numbers."""
        axes = {j: Axis(0.0, 1.0) for j in numbers}
        if scale == "minmax":
            axes = {
                j: axis_of_range(column_facts.least, column_facts.most)
                for j, column_facts in numbers.items()
            }
        elif scale == "zscore":
            means = {j: column_facts.mean for j, column_facts in numbers.items()}
            spreads = self._deviations(dict.fromkeys(numbers), means)
            axes = {j: Axis(mean, spreads[j]) for j, mean in means.items()}
        elif scale == "robust":
            axes = self._axes_of_quartiles(numbers)
        elif scale == "rank":
            counted = self.ordered.different(tuple(numbers))
            axes = {
                j: axis_of_ranks(*self._within_limits(j, *counts)) for j, counts in counted.items()
            }
        constant = {
            j: column_facts.least == column_facts.most for j, column_facts in numbers.items()
        }
        small = [j for j, axis in axes.items() if axis.width == 0.0 and not constant[j]]
        widths = self._widths_of_small(small)
        return {
            j: scaled_by(
                axis, scale, self.variables[j].unit, 1.0, constant[j], lambda j=j: widths[j]
            )
            for j, axis in axes.items()
        }

    def _axes_of_quartiles(self, numbers: Mapping[int, NumberFacts]) -> dict[int, Axis]:
        """The axes of columns by their quartiles. Limits keep the order of values, so what was
        counted without them does.
        """
        quartiles = {j: _quartiles(column_facts) for j, column_facts in numbers.items()}
        values_by_column = self.ordered.lookup(
            {
                j: [p for quantile in column_quartiles for p in quantile.places]
                for j, column_quartiles in quartiles.items()
            }
        )
        axes = {}
        for j, column_quartiles in quartiles.items():
            values = np.array(list(values_by_column[j].values()))
            values = values if self.limits is None else self.limits.column(j, values)
            limited = dict(zip(values_by_column[j], values.tolist(), strict=True))
            axes[j] = axis_of_quartiles(*[quantile.value(limited) for quantile in column_quartiles])
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
            column_facts = self.facts[j]
            assert isinstance(column_facts, NumberFacts)
            spread[j] = column_facts.most - column_facts.least
        moments = self._moments({j: Axis(0.0, spread[j]) for j in columns})
        least = float(np.finfo(np.float64).smallest_subnormal)
        return {j: max(spread[j] * moments[j][1], least) for j in columns}

    def _moments(self, axes: Mapping[int, Axis]) -> dict[int, tuple[float, float]]:
        """The mean and the standard deviation of the coordinates of columns: two passes."""
        if not axes:
            return {}
        totals = self._sums([Term(j, axis) for j, axis in axes.items()])
        means = {
            j: sums.rounded(totals, number) / _counts(self.facts[j])[0]
            for number, j in enumerate(axes)
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
            j: float(np.sqrt(sums.rounded(squares, number) / _counts(self.facts[j])[0]))
            for number, j in enumerate(axes)
        }

    def _sums(self, terms: Sequence[Term]) -> np.ndarray:
        """(3, terms): the sums over all records."""
        if not terms:
            return np.zeros((3, 0))
        args = self.variables, tuple(terms), self.limits
        return combine_chunks(self.passes.map_chunks("measuring", add_up_chunk, *args)).totals


def _is_coded(variable: Variable, facts: Facts) -> bool:
    """Return True if a column is coded as categories: nominal ones, or one value and gaps."""
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
    """Return the number of cells with a value, and the count of each special code."""
    assert isinstance(facts, NumberFacts)
    return facts.known, facts.atoms


def _numbers(facts: Sequence[Facts]) -> Iterator[tuple[int, NumberFacts]]:
    return (
        (j, column_facts)
        for j, column_facts in enumerate(facts)
        if isinstance(column_facts, NumberFacts)
    )

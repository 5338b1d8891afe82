"""Measures of a pair of tables: formula, direction, range, and the meaning of its extremes."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from microagg.formatting import html_table, with_unit
from microagg.measures.columns import columns_of, columns_of_numbers
from microagg.measures.loss.standardise import StandardPair, standardise
from microagg.measures.risk.classes import ReleasedClasses, classes_of_kept, classes_of_released
from microagg.table.variable import Cells

if TYPE_CHECKING:
    from microagg.measures.parts import Lookup, Parts

Result = TypeVar("Result")


@dataclass(frozen=True)
class Pair:
    """A table and its release, record by record in the same order, as numbers.

    Of a mixed table (categories, gaps, dates) `cells` and `released_cells` have all
    quasi-identifiers, and the matrices those that are numbers without gaps before and after, which
    may be none; `Pair.of_cells` makes it. Of a plain table the matrices are all there is.

    What several measures start from is computed for the first of them and kept until `forget`.

    >>> pair = Pair(np.array([[0.0], [2.0]]), np.array([[1.0], [1.0]]), ("age",))
    >>> pair.standard.before.tolist(), len(pair.classes), pair.classes is pair.classes
    ([[-1.0, 1.0]], 1, True)
    """

    original: np.ndarray
    """(n, d) float64: the quasi-identifiers before, as far as they are numbers without gaps"""
    released: np.ndarray
    """(n, d) float64: and after"""
    names: tuple[str, ...]
    """The names of these d columns."""
    confidential: Mapping[str, np.ndarray] = field(default_factory=dict)
    """Confidential columns of the release: float64 where numeric, integer codes where nominal."""
    ordered: Mapping[str, np.ndarray] = field(default_factory=dict)
    """Confidential columns of ordered categories: integer codes in their order."""
    atoms: Mapping[str, np.ndarray] = field(default_factory=dict)
    """Of confidential columns that have some: the number of the atom (missing, special codes), -1
    for a value. NaN is one without that.
    """
    kept: Mapping[str, np.ndarray] = field(default_factory=dict)
    """Columns that are released as they were: integer codes."""
    weights: np.ndarray | None = None
    """Of the records, all greater than 0; None where each counts once."""
    released_weights: np.ndarray | None = None
    """Those that the release has, where they are others: measures of the release alone know no
    other ones. 1 where it has none.
    """
    shared: Mapping[str, np.ndarray] = field(default_factory=dict)
    """What records of a class share besides quasi-identifiers, strata and averaged weights: integer
    codes.
    """
    k: int | None = None
    capped: np.ndarray | None = None
    """(n, d) float64: the quasi-identifiers that groups were formed of, where values were capped
    before.
    """
    cells: Cells | None = None
    """All quasi-identifiers before, where the table is mixed."""
    released_cells: Cells | None = None
    """And after, in terms of the same levels, marks and origins; other ones where they were made
    coarse.
    """
    labels: np.ndarray | None = None
    """The groups, where they are known and the table is mixed; else the classes of the release
    stand for them.
    """
    _known: dict[Hashable, Any] = field(default_factory=dict, init=False, repr=False, compare=False)

    @staticmethod
    def of_cells(before: Cells, after: Cells, **more: Any) -> Pair:
        """The pair of a table's cells and those of its release; `more` are further fields.

        >>> before = Cells.plain(np.array([[30.0], [32.0]]), ["age"])
        >>> after = Cells.plain(np.array([[31.0], [31.0]]), ["age"])
        >>> Pair.of_cells(before, after).released.tolist()
        [[31.0], [31.0]]
        """
        numbers = sorted(set(columns_of_numbers(before)) & set(columns_of_numbers(after)))
        plain = all(
            cells.is_plain and not any(column.unit or column.origin for column in cells.variables)
            for cells in (before, after)
        )
        everything = len(numbers) == len(before.variables)  # no copy, then
        return Pair(
            before.values if everything else before.values[:, numbers].copy(),
            after.values if everything else after.values[:, numbers].copy(),
            tuple(before.names[j] for j in numbers),
            cells=None if plain else before,
            released_cells=None if plain else after,
            **more,
        )

    def of_columns(self, names: Sequence[str]) -> Pair:
        """The same with these quasi-identifiers alone.

        >>> table = np.array([[1.0, 2.0]])
        >>> Pair(table, table, ("age", "rent")).of_columns(["rent"]).original.tolist()
        [[2.0]]
        """
        numbers = [j for j, name in enumerate(self.names) if name in names]
        chosen = [j for j, name in enumerate(self.quasi) if name in names]
        return replace(
            self,
            original=self.original[:, numbers].copy(),
            released=self.released[:, numbers].copy(),
            names=tuple(self.names[j] for j in numbers),
            capped=None if self.capped is None else self.capped[:, numbers].copy(),
            cells=None if self.cells is None else columns_of(self.cells, chosen),
            released_cells=None
            if self.released_cells is None
            else columns_of(self.released_cells, chosen),
            labels=self.labels
            if self.labels is None or self.labels.ndim == 1
            else self.labels[:, chosen].copy(),
        )

    def of_records(self, rows: np.ndarray) -> Pair:
        """The same with these records alone.

        >>> table = np.array([[1.0], [2.0]])
        >>> Pair(table, table, ("age",)).of_records(np.array([1])).original.tolist()
        [[2.0]]
        """

        def chosen(array: np.ndarray | None) -> np.ndarray | None:
            return None if array is None else array[rows]

        def chosen_of_each(array: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
            return {name: column[rows] for name, column in array.items()}

        return replace(
            self,
            original=self.original[rows],
            released=self.released[rows],
            confidential=chosen_of_each(self.confidential),
            ordered=chosen_of_each(self.ordered),
            atoms=chosen_of_each(self.atoms),
            kept=chosen_of_each(self.kept),
            weights=chosen(self.weights),
            released_weights=chosen(self.released_weights),
            shared=chosen_of_each(self.shared),
            capped=chosen(self.capped),
            cells=None if self.cells is None else self.cells.rows(rows),
            released_cells=None if self.released_cells is None else self.released_cells.rows(rows),
            labels=chosen(self.labels),
        )

    @property
    def quasi(self) -> tuple[str, ...]:
        """The names of all quasi-identifiers, of whatever kind."""
        return self.names if self.cells is None else tuple(self.cells.names)

    @property
    def before(self) -> Cells:
        """The quasi-identifiers before, of whatever kind."""
        return self.once(_plain_original) if self.cells is None else self.cells

    @property
    def after(self) -> Cells:
        """And after."""
        return self.once(_plain_released) if self.released_cells is None else self.released_cells

    @property
    def groups(self) -> np.ndarray:
        """The groups where they are known, else the classes of the release."""
        return self.classes.labels.astype(np.int32) if self.labels is None else self.labels

    def once(self, compute: Callable[..., Result], *settings: Hashable) -> Result:
        """Return compute(pair, *settings), computed once.

        >>> pair = Pair(np.array([[0.0], [2.0]]), np.array([[1.0], [1.0]]), ("age",))
        >>> pair.once(lambda pair, digits: round(float(pair.original.std()), digits), 3)
        1.0
        """
        key = (compute, *settings)
        if key not in self._known:
            self._known[key] = compute(self, *settings)
        return self._known[key]

    def forget(self, *but: Callable[..., Any]) -> None:
        """Let go of all that was computed, but for what these functions gave: it takes more memory
        than the tables.
        """
        kept = {
            key: result
            for key, result in self._known.items()
            if isinstance(key, tuple) and key[0] in but
        }
        self._known.clear()
        self._known.update(kept)

    @property
    def averaged(self) -> np.ndarray:
        """The values whose means were released: the original's, unless they were capped."""
        return self.original if self.capped is None else self.capped

    @property
    def standard(self) -> StandardPair:
        """Both tables in units of the original's standard deviations."""
        return self.once(standardise)

    @property
    def classes(self) -> ReleasedClasses:
        """The classes of the released quasi-identifiers and of what else the records of a class
        share.
        """
        return self.once(classes_of_released)

    @property
    def of_release(self) -> Pair:
        """The same with the released weights: what measures that everybody may see are computed
        from.
        """
        return self if self.released_weights is None else self.once(_with_released_weights)

    @property
    def classes_with_kept(self) -> ReleasedClasses:
        """The classes of these and of the columns released as they were."""
        return self.once(classes_of_kept) if self.kept else self.classes


def _plain_original(pair: Pair) -> Cells:
    return Cells.plain(pair.original, pair.names)


def _plain_released(pair: Pair) -> Cells:
    return Cells.plain(pair.released, pair.names)


def _with_released_weights(pair: Pair) -> Pair:
    released = replace(pair, weights=pair.released_weights, released_weights=None)
    released._known[(classes_of_released,)] = pair.classes
    return released


@dataclass(frozen=True)
class Sample:
    """The part of the records that a figure was taken from."""

    records: int
    error: float | None = None
    """The standard error of the figure; None where none can be given."""
    of: str = "records"
    """"records", each drawn by itself, or "classes": all records of those that were drawn."""

    @property
    def description(self) -> str:
        """Describe the sample in words.

        >>> Sample(10_000).description
        'from a sample of 10,000 records'
        """
        if self.of == "classes":
            return (
                f"from a sample of whole classes with {self.records:,} records; others may "
                f"tell more"
            )
        return f"from a sample of {self.records:,} records"


@dataclass(frozen=True)
class Figure:
    """The result of a measure: one number, one per column where that makes sense, and details."""

    value: float
    columns: Mapping[str, float] = field(default_factory=dict)
    details: Mapping[str, float] = field(default_factory=dict)
    sample: Sample | None = None
    """Where it is from a sample; None where all records count."""
    undefined: str = ""
    """Reason why the number has no meaning here, so that reports leave it out."""


class Basis(StrEnum):
    """Parts of a table that a measure is put together from; decides what it is out of core."""

    RECORDS = "sums over records"
    """Exact: `Measure.exact` computes it from the sums of all blocks."""
    CLASSES = "counts of classes"
    """Exact: the same from the counts of all classes."""
    SAMPLE = "a sample of records"
    """From a sample, with a standard error from parts of it."""
    CLASS_SAMPLE = "a sample of whole classes"
    """From all records of classes that are drawn by their released values alone."""
    LOOKUP = "a sample of records looked up among all originals"
    """From records that an intruder who knows some columns looks up: `Measure.from_lookup`."""
    WHOLE_TABLE = "the whole table"
    """Depends on all records at once, so that no sample gives it: left out."""

    @property
    def is_exact(self) -> bool:
        """Return True if figures out of core are those in memory."""
        return self in (Basis.RECORDS, Basis.CLASSES)


@dataclass(frozen=True, kw_only=True)
class Measure:
    """Declaration of one measure: all that reports, documentation and both runtimes need of it.

    A measure with the basis `SAMPLE` needs nothing but `compute`.
    """

    name: str
    """A short word for tables and machines, such as `il` or `linkage`."""
    title: str
    """A few words for people, such as "information loss"."""
    side: str
    """loss | risk"""
    unit: str
    """percent, records, …: what the number counts"""
    lower_is_better: bool
    lowest: float
    highest: float
    """The range; inf where there is no end."""
    zero_means: str
    """What a figure of 0 says, in one sentence."""
    highest_means: str
    """What the other end says, in one sentence."""
    source: str
    """Who defined it, and where we had to read it in one way or another."""
    compute: Callable[[Pair], Figure]
    basis: Basis
    exact: Callable[[Parts], Figure | None] | None = None
    """The same formula on statistics of all records, where the basis is exact; None where a table
    does not have what it takes, or only a sample gives it.
    """
    exact_with_weights: bool = True
    """Whether that also holds of every table with weights."""
    from_lookup: Callable[[Lookup], Figure] | None = None
    """The same formula on records that were looked up, where that is the basis."""
    lookup_scores: Callable[[Lookup], np.ndarray] | None = None
    """(n,): scores whose mean the figure is, where it is one: the standard error follows."""
    grows: bool = False
    """Whether it is a sum over records, so that a sample's figure is scaled up."""
    of: str = "pair"
    """What it is computed from, which decides who may see it: "release": the released table alone
    (confidential columns are released as they are; of weights, those that it has count); everybody
    may see it. "pair": both tables; it stays inside unless the data holder publishes it by name.
    "record": both, and single records decide it (a largest value, a range); it stays inside
    whatever is asked for.
    """
    needs: str = ""
    """What the pair must have: "" | "numbers" (quasi-identifiers that are numbers without gaps; it
    is about those alone) | "amounts" (numbers, but no dates; gaps do no harm) | "points"
    (quasi-identifiers that were not made ranges or ancestors) | "confidential" | "categories"
    (confidential ones, and numbers to tell them by) | "kept" | "k".
    """

    def __post_init__(self) -> None:
        if self.basis.is_exact is (self.exact is None):
            raise ValueError(f"measure {self.name!r}: {self.basis} and exact go together")
        if (self.basis is Basis.LOOKUP) is (self.from_lookup is None):
            raise ValueError(f"measure {self.name!r}: {self.basis} and from_lookup go together")

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle a measure as its name in the registry: a formula may be no function of a
        module.
        """
        return _measure_named, (self.name,)


def _measure_named(name: str) -> Measure:
    from microagg.measures.registry import measure_named  # which imports this module

    return measure_named(name)


class FigureTable(tuple[tuple[Measure, Figure], ...]):
    """Measures with their figures, in a tuple that a notebook shows as a table."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        rows = []
        for measure, figure in self:
            value = figure.undefined or with_unit(figure.value, measure.unit.partition(",")[0])
            better = "lower" if measure.lower_is_better else "higher"
            rows.append((measure.name, measure.title, value, better, measure.side))
        return html_table(("name", "measure", "figure", "better", "about"), rows)

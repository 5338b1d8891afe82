"""What a measure is: a formula with its direction, its range and what its extremes mean, on a pair
of tables.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import numpy as np

from microagg.measures.loss.standardise import StandardPair, standardise
from microagg.measures.risk.classes import ReleasedClasses, classes_of_kept, classes_of_released
from microagg.table.schema import Kind
from microagg.table.variable import NO_ATOM, Cells

Found = TypeVar("Found")


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
        >>> Pair.of_cells(before, Cells.plain(np.array([[31.0], [31.0]]), ["age"])).released.tolist()
        [[31.0], [31.0]]
        """
        numbers = sorted(set(columns_of_numbers(before)) & set(columns_of_numbers(after)))
        plain = all(
            cells.is_plain and not any(each.unit or each.origin for each in cells.variables)
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

        def chosen(found: np.ndarray | None) -> np.ndarray | None:
            return None if found is None else found[rows]

        def each(found: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
            return {name: column[rows] for name, column in found.items()}

        return replace(
            self,
            original=self.original[rows],
            released=self.released[rows],
            confidential=each(self.confidential),
            ordered=each(self.ordered),
            atoms=each(self.atoms),
            kept=each(self.kept),
            weights=chosen(self.weights),
            released_weights=chosen(self.released_weights),
            shared=each(self.shared),
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

    def once(self, compute: Callable[..., Found], *settings: Hashable) -> Found:
        """compute(pair, *settings), from memory if it was asked for before.

        >>> pair = Pair(np.array([[0.0], [2.0]]), np.array([[1.0], [1.0]]), ("age",))
        >>> pair.once(lambda found, digits: round(float(found.original.std()), digits), 3)
        1.0
        """
        asked = (compute, *settings)
        if asked not in self._known:
            self._known[asked] = compute(self, *settings)
        return self._known[asked]

    def forget(self, *but: Callable[..., Any]) -> None:
        """Let go of all that was computed, but for what these functions gave: it takes more memory
        than the tables.
        """
        kept = {
            asked: found
            for asked, found in self._known.items()
            if isinstance(asked, tuple) and asked[0] in but
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


def columns_of(cells: Cells, places: Sequence[int]) -> Cells:
    """The cells of some columns.

    >>> columns_of(Cells.plain(np.array([[1.0, 2.0]]), ["a", "b"]), [1]).names
    ['b']
    """
    places = list(places)
    atoms = None if cells.atoms is None else cells.atoms[:, places].copy()
    return Cells(tuple(cells.variables[j] for j in places), cells.values[:, places].copy(), atoms)


def has_atoms(cells: Cells, column: int) -> bool:
    """Whether a cell of that column is missing or a special code.

    >>> has_atoms(Cells.plain(np.array([[1.0]]), ["age"]), 0)
    False
    """
    atoms = cells.atoms_of(column)
    return atoms is not None and bool((atoms != NO_ATOM).any())


def columns_of_numbers(cells: Cells) -> list[int]:
    """The places of the columns that are numbers without gaps: what measures of numbers are about.

    >>> columns_of_numbers(Cells.plain(np.array([[1.0]]), ["age"]))
    [0]
    """
    numeric = (
        j for j, each in enumerate(cells.variables) if each.kind is Kind.NUMERIC and not each.coarse
    )
    return [j for j in numeric if not has_atoms(cells, j)]


def not_numbers(pair: Pair) -> dict[str, list[str]]:
    """Which quasi-identifiers measures of numbers leave out, by the reason why.

    >>> from microagg.table.variable import Variable
    >>> cells = Cells((Variable("age", marks=(None,)), Variable("rent")), np.array([[np.nan, 1.0]]), np.array([[0, -1]], np.int16))
    >>> not_numbers(Pair.of_cells(cells, cells))
    {'gaps or special codes': ['age']}
    """
    found: dict[str, list[str]] = {}
    for j, name in enumerate(pair.quasi):
        if name in pair.names:
            continue
        sides = (pair.before, pair.after)
        if any(
            cells.variables[j].kind is not Kind.NUMERIC and not cells.variables[j].coarse
            for cells in sides
        ):
            why = "categories"
        elif pair.after.variables[j].coarse:
            why = "ranges or other texts in place of values"
        else:
            why = "gaps or special codes"
        found.setdefault(why, []).append(name)
    return found


@dataclass(frozen=True)
class Sample:
    """What a figure was taken from, where that is not all records."""

    records: int
    error: float | None = None
    """The standard error of the figure; None where none can be given."""
    of: str = "records"
    """"records", each drawn by itself, or "classes": all records of those that were drawn."""

    @property
    def told(self) -> str:
        """What it is, in words.

        >>> Sample(10_000).told, Sample(5_000, of="classes").told
        ('from a sample of 10,000 records', 'from a sample of whole classes with 5,000 records; others may tell more')
        """
        if self.of == "classes":
            return (
                f"from a sample of whole classes with {self.records:,} records; others may "
                f"tell more"
            )
        return f"from a sample of {self.records:,} records"


@dataclass(frozen=True)
class Figure:
    """What a measure found: one number, one for each column where that makes sense, and what else
    is worth telling.
    """

    value: float
    columns: Mapping[str, float] = field(default_factory=dict)
    details: Mapping[str, float] = field(default_factory=dict)
    sample: Sample | None = None
    """Where it is from a sample; None where all records count."""


@dataclass(frozen=True)
class Measure:
    """One measure, declared: everything that a report says of it besides the figure."""

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

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle a measure as its name in the registry: a formula may be no function of a
        module.
        """
        return _measure_named, (self.name,)


def _measure_named(name: str) -> Measure:
    from microagg.measures.registry import measure_named  # which imports this module

    return measure_named(name)

"""Sums that hold between columns in every record: finding them, and keeping them when values are
rounded.

A relation is a set of two to four columns, each with the coefficient 1 or -1, that add up to 0 in
every record without a gap in them.

Finding: each column is multiplied by the same random number for each record and added up. Columns
that are in a relation have totals that are in it, too, so candidates are found among the totals
alone (pairs against pairs), whatever the number of records; each is then confirmed on all records.

Keeping: relations are solved for as many columns as there are independent relations. The other
columns (the parts) are rounded, and those columns become the sums of the rounded parts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from microagg.table.precision import Precision, round_to
from microagg.table.rules import Rule

Relation = tuple[tuple[int, int], ...]
"""(the place of a column, 1 or -1) of each column, by their places; the first coefficient is 1."""

FEWEST_RECORDS = 20  # without gaps: fewer may add up by chance
FEWEST_TELLING = 10  # records in which at least three columns of a relation (or both) are not 0
MOST_COLUMNS = 500  # relations among more are not looked for
MOST_FOR_PAIRS = 100  # nor relations of four columns among more than these
MOST_CANDIDATES = 2000
RUN = 65_536
_DOUBTFUL = {False: 1e-9, True: 1e-6}  # how far totals may be off, by whether a column is float32
_ROUNDING = {False: 2e-15, True: 5e-7}  # the same of one record: what storing and adding leave over


@dataclass
class RelationTotals:
    """Random totals of columns, over all records and over those without any gap; chunks can be
    added up.
    """

    width: int
    records: int = 0
    complete: int = 0
    gaps: np.ndarray = field(init=False)
    """(columns,): how many cells have no value."""
    totals: np.ndarray = field(init=False)
    """(2, columns): over all records, and over complete ones."""
    sizes: np.ndarray = field(init=False)
    """(2, columns): the same of absolute values."""
    least: np.ndarray = field(init=False)
    most: np.ndarray = field(init=False)

    def __post_init__(self) -> None:
        """Begin with no records."""
        self.gaps = np.zeros(self.width, np.int64)
        self.totals, self.sizes = np.zeros((2, self.width)), np.zeros((2, self.width))
        self.least, self.most = np.full(self.width, np.inf), np.full(self.width, -np.inf)

    @staticmethod
    def of(values: np.ndarray, columns: Sequence[int], first: int = 0) -> RelationTotals:
        """Add up columns of a table, or of a chunk that begins with record `first`; NaN where a
        cell has no value.
        """
        found, every = RelationTotals(len(columns)), list(columns) == list(range(values.shape[1]))
        for start in range(0, len(values), RUN):
            run = values[start : start + RUN]
            run = run if every else run[:, list(columns)]
            found._add(run, _weights(np.arange(first + start, first + start + len(run))))
        return found

    def _add(self, run: np.ndarray, weights: np.ndarray) -> None:
        missing = np.isnan(run)
        self.records += len(run)
        if not missing.any():
            self.complete += len(run)
            self._add_rows(run, weights, slice(0, 2))
            self.least = np.minimum(self.least, run.min(axis=0))
            self.most = np.maximum(self.most, run.max(axis=0))
            return
        self.gaps += missing.sum(axis=0)
        complete = ~missing.any(axis=1)
        self.complete += int(complete.sum())
        known = np.where(missing, 0.0, run)
        self._add_rows(known, weights, slice(0, 1))
        self._add_rows(known[complete], weights[complete], slice(1, 2))
        self.least = np.fmin(self.least, np.fmin.reduce(run, axis=0))
        self.most = np.fmax(self.most, np.fmax.reduce(run, axis=0))

    def _add_rows(self, known: np.ndarray, weights: np.ndarray, places: slice) -> None:
        with np.errstate(over="ignore", invalid="ignore"):
            self.totals[places] += weights @ known
            self.sizes[places] += weights @ np.abs(known)

    def combine(self, more: RelationTotals) -> None:
        """Add the totals of another chunk."""
        self.records += more.records
        self.complete += more.complete
        self.gaps = self.gaps + more.gaps
        self.totals, self.sizes = self.totals + more.totals, self.sizes + more.sizes
        self.least, self.most = np.minimum(self.least, more.least), np.maximum(self.most, more.most)

    def candidates(self, singles: Sequence[bool]) -> list[Relation]:
        """Return what may be a relation: those of columns without gaps, and of all on complete
        records.

        `singles` says which columns were stored in single precision.
        """
        varying = np.flatnonzero(self.least < self.most)
        whole = [int(j) for j in varying if self.gaps[j] == 0]
        found: dict[Relation, None] = {}
        if self.width < 2:
            return []
        if self.records >= FEWEST_RECORDS:
            found |= dict.fromkeys(_matching(whole, self.totals[0], self.sizes[0], singles))
        if self.complete >= FEWEST_RECORDS and len(whole) < len(varying):
            every = varying.tolist()
            found |= dict.fromkeys(_matching(every, self.totals[1], self.sizes[1], singles))
        return sorted(found, key=lambda relation: (len(relation), relation))[:MOST_CANDIDATES]


def _weights(numbers: np.ndarray) -> np.ndarray:
    """Return random numbers from 0.5 to 1.5, one for each record number."""
    mixed = (numbers.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    mixed ^= mixed >> np.uint64(29)
    mixed *= np.uint64(0xBF58476D1CE4E5B9)
    return (mixed >> np.uint64(11)).astype(np.float64) * 2.0**-53 + 0.5


def _matching(
    columns: Sequence[int], totals: np.ndarray, sizes: np.ndarray, singles: Sequence[bool]
) -> list[Relation]:
    """Return the sets of two to four columns whose totals add up to 0, with their coefficients."""
    usable = [j for j in columns if np.isfinite(sizes[j])][:MOST_COLUMNS]
    doubt = np.array([_DOUBTFUL[singles[j]] for j in usable]) * sizes[usable]
    total = totals[usable]
    found: list[Relation] = []
    kept: list[int] = []  # of columns that hold the same, or the same with another sign, the first
    for place in range(len(usable)):
        for other in kept:
            for sign in (1, -1):
                if abs(total[place] - sign * total[other]) <= doubt[place] + doubt[other]:
                    found.append(_relation([(usable[place], 1), (usable[other], -sign)]))
                    break
            else:
                continue
            break
        else:
            kept.append(place)
    first, second = np.triu_indices(len(kept), 1)
    places = np.array(kept, np.int64)
    a, b = (np.concatenate([each, each]) for each in (places[first], places[second]))
    sign = np.repeat([1, -1], len(first))
    value, slack = total[a] + sign * total[b], doubt[a] + doubt[b]
    for k in kept:
        near = np.abs(np.abs(value) - abs(total[k])) <= slack + doubt[k]
        for place in np.flatnonzero(near & (a != k) & (b != k) & (a < k)):
            terms = [(usable[a[place]], 1), (usable[b[place]], int(sign[place]))]
            for side in (1, -1):
                if abs(value[place] - side * total[k]) <= slack[place] + doubt[k]:
                    found.append(_relation([*terms, (usable[k], -side)]))
    if len(kept) <= MOST_FOR_PAIRS:
        found += [
            _relation([(usable[j], coefficient) for j, coefficient in each])
            for each in _pairs_of_pairs(a, b, sign, value, slack)
        ]
    return list(dict.fromkeys(found))


def _pairs_of_pairs(
    a: np.ndarray, b: np.ndarray, sign: np.ndarray, value: np.ndarray, slack: np.ndarray
) -> list[list[tuple[int, int]]]:
    """Return two sums of two columns each that are equal, or equal with another sign, as four
    terms.
    """
    order = np.argsort(np.abs(value), kind="stable")
    a, b, sign, value, slack = a[order], b[order], sign[order], value[order], slack[order]
    sizes, found, widest = np.abs(value), [], 2.0 * slack.max(initial=0.0)
    for step in range(1, len(order)):
        gaps = sizes[step:] - sizes[:-step]
        if gaps.min() > widest or len(found) > MOST_CANDIDATES:
            break
        near = np.flatnonzero(gaps <= slack[step:] + slack[:-step])
        for low in near.tolist():
            high = low + step
            if len({int(a[low]), int(b[low]), int(a[high]), int(b[high])}) < 4:
                continue
            side = 1 if (value[low] >= 0) == (value[high] >= 0) else -1
            found.append([
                (int(a[low]), 1), (int(b[low]), int(sign[low])),
                (int(a[high]), -side), (int(b[high]), -side * int(sign[high])),
            ])  # fmt: skip
    return found


def _relation(terms: Sequence[tuple[int, int]]) -> Relation:
    ordered = sorted(terms)
    side = ordered[0][1]
    return tuple((column, side * coefficient) for column, coefficient in ordered)


def relation_of(rule: Rule, names: Sequence[str]) -> Relation:
    """Return a rule as a relation between columns of these names.

    >>> relation_of(Rule.parse("total = wage + other"), ["wage", "other", "total"])
    ((0, 1), (1, 1), (2, -1))
    """
    places = list(names)
    terms = [
        (places.index(rule.left), -1),
        *((places.index(name), sign) for sign, name in rule.terms),
    ]
    return _relation(terms)


def rule_of(relation: Relation, names: Sequence[str]) -> Rule:
    """Return a relation as a rule: solved for the column that is the sum of all others, if there is
    one.

    >>> rule_of(((0, 1), (1, 1), (2, -1)), ["wage", "other", "total"]).text
    'total = wage + other'
    """
    positive = [column for column, coefficient in relation if coefficient > 0]
    negative = [column for column, coefficient in relation if coefficient < 0]
    alone = [side[-1] for side in (negative, positive) if len(side) == 1]
    left = alone[0] if alone else relation[0][0]
    side = next(coefficient for column, coefficient in relation if column == left)
    terms = [
        (-side * coefficient, names[column]) for column, coefficient in relation if column != left
    ]
    return Rule(names[left], tuple(sorted(terms, key=lambda term: -term[0])))


@dataclass(frozen=True)
class Confirmed:
    """How a relation fares in some records."""

    complete: int = 0
    """Records without a gap in its columns."""
    missed: int = 0
    """Those of them in which it does not hold."""
    telling: int = 0
    """Those of them with at least three columns (of two: both) that are not 0."""

    def combine(self, more: Confirmed) -> Confirmed:
        """Add the counts of other records."""
        return Confirmed(
            self.complete + more.complete, self.missed + more.missed, self.telling + more.telling
        )

    @property
    def holds(self) -> bool:
        """Whether it holds in all records, and in enough of them to be no chance."""
        return (
            self.missed == 0 and self.complete >= FEWEST_RECORDS and self.telling >= FEWEST_TELLING
        )


def confirm(
    values: np.ndarray,
    columns: Sequence[int],
    relations: Sequence[Relation],
    singles: Sequence[bool],
) -> list[Confirmed]:
    """Count for each relation the records in which it can be seen, and in which it does not hold.

    The places in relations are those among `columns`, as are `singles`.

    >>> table = np.array([[1.0, 2.0, 3.0], [1.0, np.nan, 3.0], [5.0, 1.0, 4.0]])
    >>> confirm(table, [0, 1, 2], [((0, 1), (1, 1), (2, -1))], [False] * 3)
    [Confirmed(complete=2, missed=1, telling=2)]
    """
    found = [Confirmed() for _ in relations]
    for start in range(0, len(values), RUN):
        run = values[start : start + RUN]
        for place, relation in enumerate(relations):
            total, size, filled = (
                np.zeros(len(run)),
                np.zeros(len(run)),
                np.zeros(len(run), np.int64),
            )
            for column, coefficient in relation:
                own = run[:, columns[column]]
                total += coefficient * own
                size += np.abs(own)
                filled += own != 0.0
            known = ~np.isnan(total)
            tolerated = _ROUNDING[any(singles[column] for column, _ in relation)] * size
            more = Confirmed(
                int(known.sum()),
                int((np.abs(total) > tolerated)[known].sum()),
                int((filled[known] >= min(3, len(relation))).sum()),
            )
            found[place] = found[place].combine(more)
    return found


@dataclass(frozen=True)
class KeptSums:
    """Columns that are made of others: by their places, the places of the parts and how often each
    counts.
    """

    of_parts: Mapping[int, Mapping[int, int]] = field(default_factory=dict)

    @staticmethod
    def of(relations: Sequence[tuple[Relation, int]]) -> tuple[KeptSums, list[bool | None]]:
        """Solve relations, each for the column named beside it if that is possible.

        Returns for each relation whether it is kept as one more sum (True), follows from others
        (None), or cannot be solved with whole numbers (False).

        >>> KeptSums.of([(((0, 1), (1, 1), (2, -1)), 2)])[0].of_parts
        {2: {0: 1, 1: 1}}
        """
        solved: dict[int, dict[int, int]] = {}
        kept: list[bool | None] = []
        for relation, wanted in relations:
            left: dict[int, int] = {}
            for column, coefficient in relation:
                for part, times in solved.get(column, {column: 1}).items():
                    left[part] = left.get(part, 0) + coefficient * times
            left = {part: times for part, times in left.items() if times}
            units = [part for part, times in left.items() if abs(times) == 1]
            if not left or not units:
                kept.append(None if not left else False)
                continue
            chosen = wanted if wanted in units else units[-1]
            side = left.pop(chosen)
            own = {part: -side * times for part, times in left.items()}
            for column, parts in solved.items():
                solved[column] = _substituted(parts, chosen, own)
            solved[chosen] = own
            kept.append(True)
        return KeptSums(solved), kept

    def precisions(self, own: Sequence[Precision]) -> list[Precision]:
        """Return what columns are rounded to so that sums have no more decimals than their
        columns.
        """
        found = list(own)
        for column, parts in self.of_parts.items():
            limit = own[column].decimals
            for part in parts:
                decimals = found[part].decimals
                if own[column].reason == "spread" or limit is None or decimals is None:
                    continue
                if limit < decimals:
                    found[part] = replace(found[part], decimals=limit)
        for column, parts in self.of_parts.items():
            decimals = [found[part].decimals for part in parts]
            known = [each for each in decimals if each is not None]
            finest = max(known, default=0) if len(known) == len(decimals) else None
            found[column] = replace(own[column], decimals=finest, reason="own")
        return found

    def applied(
        self, rounded: Mapping[int, np.ndarray], precisions: Sequence[Precision]
    ) -> dict[int, np.ndarray]:
        """Return the columns that are sums, from the rounded values of all; NaN where a group
        releases none.
        """
        found = {}
        for column, parts in self.of_parts.items():
            total = np.zeros_like(rounded[column])
            for part, times in parts.items():
                total = total + times * rounded[part]
            total = round_to(total, precisions[column].decimals)
            known = np.isfinite(total) & ~np.isnan(rounded[column])
            found[column] = np.where(known, total, rounded[column])
        return found


def _substituted(parts: Mapping[int, int], part: int, own: Mapping[int, int]) -> dict[int, int]:
    """Return a sum with one of its parts replaced by the parts of that one."""
    times, found = (
        parts.get(part, 0),
        {each: count for each, count in parts.items() if each != part},
    )
    for each, count in own.items():
        found[each] = found.get(each, 0) + times * count
    return {each: count for each, count in found.items() if count}

"""What is promised besides k, of confidential values and of units: asked for, refused where
impossible, handed to searches, checked.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from microagg.errors import GuaranteeError, InputError
from microagg.guarantees.declared import DIVERSITY
from microagg.guarantees.l import Diversity
from microagg.guarantees.t import Closeness
from microagg.guarantees.tally import Tally, tally
from microagg.guarantees.units import LARGEST_SHARE, Units
from microagg.kernels.standard import NO_STANDARD, NOTHING_ASKED, Standard, shortfall, shortfalls
from microagg.table.confidential import Attribute
from microagg.table.schema import Kind


@dataclass(frozen=True)
class Finding:
    """How far a table meets one guarantee on one confidential column, or on its units."""

    guarantee: str
    """l | t | units | share (of the largest unit)"""
    column: str
    words: str
    """What is asked of every class."""
    worst: float
    """What the worst class reaches."""
    failing: np.ndarray
    """(classes,): whether a class misses it"""

    @property
    def told(self) -> str:
        """What is asked of every class, and in which column.

        >>> Finding("l", "ill", "has 3 or more different values", 4.0, np.array([False])).told
        'has 3 or more different values of ill'
        """
        return (
            f"{self.words} of {self.column}"
            if self.guarantee in ("l", "t")
            else f"{self.words} ({self.column})"
        )

    @property
    def holds(self) -> bool:
        """Whether no class misses it."""
        return not self.failing.any()


@dataclass(frozen=True)
class Guarantees:
    """l-diversity, t-closeness and units: any of them, or none.

    >>> promise = Guarantees.of(l=2)
    >>> ill = Attribute("ill", Kind.NOMINAL, np.array([0, 1, 1, 1]))
    >>> promise.accept((ill,))(np.array([1, 2])), promise.accept((ill,))(np.array([0, 2]))
    (False, True)
    >>> [finding.worst for finding in promise.evaluate(np.array([0, 0, 1, 1]), 2, (ill,))]
    [1.0]
    """

    diversity: Diversity | None = None
    closeness: Closeness | None = None
    units: Units | None = None

    @staticmethod
    def of(
        l: Any = None,
        t: Any = None,
        diversity: str = DIVERSITY.default,
        c: Any = None,
        *,
        units: int | None = None,
    ) -> Guarantees:
        """What was asked for, checked as far as that goes without a table; `units`: how many there
        are in each class.
        """
        diversity = DIVERSITY.parse(diversity)
        if l is None and (c is not None or diversity != DIVERSITY.default):
            raise InputError("diversity and c apply only together with l: give l as well.")
        return Guarantees(
            None if l is None else Diversity.of(l, diversity, c),
            None if t is None else Closeness.of(t),
            None if units is None else Units(units),
        )

    def __bool__(self) -> bool:
        return self.is_about_values or self.units is not None

    @property
    def is_about_values(self) -> bool:
        """Whether l or t is asked for, so that there must be confidential columns."""
        return self.diversity is not None or self.closeness is not None

    @property
    def name(self) -> str:
        """What is promised, by its names.

        >>> Guarantees.of(l=3, t=0.2).name
        'distinct 3-diversity and 0.2-closeness'
        """
        parts = (self.diversity, self.closeness, self.units)
        return " and ".join(part.name for part in parts if part is not None)

    def as_data(self) -> dict[str, Any]:
        """The l and t that were asked for, as plain data: what `of` takes."""
        l, kind, c = (
            (None, DIVERSITY.default, None)
            if self.diversity is None
            else (self.diversity.l, self.diversity.kind, self.diversity.c)
        )
        return {
            "l": l,
            "t": None if self.closeness is None else self.closeness.t,
            "diversity": kind,
            "c": c,
        }

    def accept(
        self, attributes: tuple[Attribute, ...], units: Attribute | None = None
    ) -> AcceptanceTest | None:
        """The predicate on groups that goes into a `Problem`; None where nothing is asked for."""
        return AcceptanceTest(self, self._standard(attributes, units)) if self else None

    def check_impossible(
        self, attributes: tuple[Attribute, ...], units: Attribute | None = None
    ) -> None:
        """Raise if no grouping of these records can keep the promise; the whole table as one group
        comes nearest to it.
        """
        if self.is_about_values and not attributes:
            raise InputError(
                "l and t apply to confidential columns; name at least one with confidential."
            )
        for attribute in attributes if self.diversity is not None else ():
            records = np.arange(len(attribute.values), dtype=np.int32)
            accept = Guarantees(self.diversity).accept((attribute,))
            if accept is not None and not accept(records):
                assert self.diversity is not None
                raise impossible(self.diversity, attribute.name, _in_one_class(attribute))
        if self.units is not None and units is not None:
            whole = _in_one_class(units)
            check_too_few_units(
                self.units,
                units.name,
                int(whole.distinct[0]),
                int(whole.amounts.max()),
                len(units.values),
            )

    def evaluate(
        self,
        labels: np.ndarray,
        classes: int,
        attributes: tuple[Attribute, ...],
        units: Attribute | None = None,
    ) -> tuple[Finding, ...]:
        """The l and t reached by classes 0 to classes - 1, column by column, then their units."""
        findings = []
        for attribute in attributes if self.is_about_values else ():
            found = _tally_of(attribute, labels, classes)
            findings += self.findings_on_values(attribute.name, attribute.kind, found)
        if self.units is not None and units is not None:
            findings += self.findings_on_units(units.name, _tally_of(units, labels, classes))
        return tuple(findings)

    def findings_on_values(self, name: str, kind: Kind, found: Tally) -> list[Finding]:
        """The l and t that classes reach in one column, by counts of its values."""
        findings = []
        if self.diversity is not None:
            worst, kept = self.diversity.worst(found), self.diversity.kept(found)
            findings.append(Finding("l", name, self.diversity.words, worst, ~kept))
        if self.closeness is not None:
            nominal = kind is Kind.NOMINAL
            worst = float(self.closeness.reached(found, nominal=nominal).max())
            kept = self.closeness.kept(found, nominal=nominal)
            findings.append(Finding("t", name, self.closeness.words, worst, ~kept))
        return findings

    def findings_on_units(self, name: str, found: Tally) -> list[Finding]:
        """How many units classes have, and how large these are."""
        assert self.units is not None
        fewest, largest = (
            float(self.units.reached(found).min()),
            float(self.units.shares(found).max()),
        )
        return [
            Finding("units", name, self.units.words, fewest, self.units.too_few(found)),
            Finding("share", name, self.units.words_on_share, largest, self.units.too_large(found)),
        ]

    def together(self, one: Finding, other: Finding) -> Finding:
        """What is found of two sets of classes together.

        >>> few, more = (Finding("l", "ill", "", worst, np.array([worst < 2])) for worst in (1.0, 3.0))
        >>> both = Guarantees.of(l=2).together(few, more)
        >>> both.worst, both.failing.tolist()
        (1.0, [True, False])
        """
        recursive = self.diversity is not None and self.diversity.kind == "recursive"
        high = one.guarantee in ("t", "share") or (one.guarantee == "l" and recursive)
        worst = (max if high else min)(one.worst, other.worst)
        return replace(one, worst=worst, failing=np.concatenate([one.failing, other.failing]))

    def verify(
        self,
        labels: np.ndarray,
        classes: int,
        attributes: tuple[Attribute, ...],
        units: Attribute | None = None,
    ) -> tuple[Finding, ...]:
        """Raise unless every class keeps the promise: the last word before a release."""
        if self.units is not None and units is None:
            raise GuaranteeError(
                "the units of the records are not known, so nothing was written; report it."
            )
        findings = self.evaluate(labels, classes, attributes, units) if self else ()
        self.check_failing(findings, classes)
        return findings

    def check_failing(self, findings: Sequence[Finding], classes: int) -> None:
        """Raise where a class misses something."""
        for finding in findings:
            if not finding.holds:
                raise GuaranteeError(
                    f"the output misses its guarantee: {int(finding.failing.sum())} of "
                    f"its {classes} classes do not keep "
                    f"{self.name} in column {finding.column!r}; nothing was written."
                )

    def _standard(self, attributes: Sequence[Attribute], units: Attribute | None) -> Standard:
        """The tables of a kernel: a column for each confidential one, if anything is asked of
        these, and one for the units.
        """
        columns = list(attributes) if self.is_about_values else []
        if self.units is not None and units is not None:
            columns.append(units)
        codes = [column.codes for column in columns]
        return self.standard_of(
            np.column_stack(codes),
            [column.kind for column in columns],
            [column.known for column in columns],
            [np.bincount(column) for column in codes],
            with_units=units is not None,
        )

    def standard_of(
        self,
        codes: np.ndarray,
        kinds: Sequence[Kind],
        known: Sequence[int],
        counts: Sequence[np.ndarray],
        *,
        with_units: bool,
    ) -> Standard:
        """The same from numbers of values: of each column its kind, how many values it has, and how
        often each number occurs in the whole table; `with_units` if the last column is that of the
        units.
        """
        asked = [_asked(self.diversity, self.closeness) for _ in kinds]
        if self.units is not None and with_units:
            asked[-1] = _asked(self.units)
        cumulative = [np.cumsum(count.astype(np.float64)) for count in counts]
        return Standard(
            np.ascontiguousarray(codes, np.int32),
            np.array([kind is not Kind.NOMINAL for kind in kinds], np.uint8),
            np.array(known, np.int64),
            np.append(0, np.cumsum([len(count) for count in counts])),
            np.concatenate(cumulative),
            np.concatenate([np.append(0.0, np.cumsum(column)) for column in cumulative]),
            np.array(asked),
        )


def _asked(*parts: Diversity | Closeness | Units | None) -> np.ndarray:
    """What is asked of one column."""
    asked = np.array(NOTHING_ASKED)
    for part in parts:
        if part is not None:
            part.ask(asked)
    return asked


def impossible(asked: Diversity, name: str, whole: Tally) -> InputError:
    """What is said where not even all records together are diverse enough; `whole` counts them as
    one class.
    """
    worst = asked.worst(whole)
    about = {
        "distinct": f"has only {worst:.0f} different value{'' if worst == 1 else 's'}",
        "entropy": f"has values only as evenly spread as {worst:.4g} equally frequent ones",
        "recursive": f"would need a c above {worst:.4g}",
    }
    return InputError(
        f"{asked.name} cannot be reached: in the whole table, column {name!r} "
        f"{about[asked.kind]}; ask for less or leave "
        "the column out."
    )


def check_too_few_units(asked: Units, name: str, there: int, largest: int, records: int) -> None:
    """Raise if not even all records together have units enough; other groupings have no more.

    `there` is how many units there are, as far as that is below what is asked for, `largest` how
    many of the records one of them has.
    """
    if there < asked.k:
        raise InputError(
            f"every class needs {asked.k} different units, as many as k, but the whole "
            f"table has only {there} in column "
            f"{name!r}; ask for a smaller k or leave the unit out."
        )
    if largest > LARGEST_SHARE * records:
        raise InputError(
            f"no unit may have more than half of the records of a class, but one in "
            f"column {name!r} has "
            f"{largest:,} of all {records:,}; leave some of its records out, or the unit."
        )


def _in_one_class(attribute: Attribute) -> Tally:
    return _tally_of(attribute, np.zeros(len(attribute.values), np.int64), 1)


def _tally_of(attribute: Attribute, labels: np.ndarray, classes: int) -> Tally:
    return tally(attribute.values, labels, classes, atoms=attribute.atoms)


@dataclass(frozen=True)
class AcceptanceTest:
    """The predicate of a promise on groups of records; searches take its tables into their
    kernels.
    """

    promise: Guarantees
    standard: Standard

    def __call__(self, records: np.ndarray) -> bool:
        return self.shortfall(records) == 0.0

    def shortfall(self, records: np.ndarray) -> float:
        """How far these records are from being a group that may be; 0 if they may."""
        return float(
            shortfall(np.ascontiguousarray(records, np.int32), len(records), *self.standard)
        )

    def shortfalls(self, labels: np.ndarray) -> np.ndarray:
        """The shortfall of each group of a partition, numbered from 0."""
        order = np.argsort(labels, kind="stable").astype(np.int32)
        starts = np.append(0, np.cumsum(np.bincount(labels)))
        return shortfalls(order, starts, *self.standard)

    def of_part(self, records: np.ndarray) -> AcceptanceTest:
        """The same for some records, numbered anew: t still compares with all records of the table.

        >>> ill = Attribute("ill", Kind.NOMINAL, np.array([0, 0, 1, 1]))
        >>> accept = Guarantees.of(t=0.1).accept((ill,)).of_part(np.array([0, 1, 2]))
        >>> accept(np.array([0, 1])), accept(np.array([1, 2]))
        (False, True)
        """
        return AcceptanceTest(self.promise, self.standard.of_rows(records))


def standard_for(accept: AcceptanceTest | None, rows: np.ndarray) -> tuple[np.ndarray | None, ...]:
    """What a kernel measures groups of some records against; nothing where there is no promise."""
    return NO_STANDARD if accept is None else accept.standard.of_rows(rows)

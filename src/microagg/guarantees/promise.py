"""Guarantees besides k, on confidential values and units: validated, handed to searches,
checked.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from microagg.errors import GuaranteeError, InputError
from microagg.guarantees.declared import DIVERSITY, NO_CONFIDENTIAL
from microagg.guarantees.l import Diversity
from microagg.guarantees.t import Closeness
from microagg.guarantees.tally import Tally, tally
from microagg.guarantees.units import Units
from microagg.kernels.guarantee_tables import (
    NO_REQUIREMENTS,
    NO_TABLES,
    GuaranteeTables,
    shortfall,
    shortfalls,
)
from microagg.table.confidential import Attribute
from microagg.table.schema import Kind


@dataclass(frozen=True)
class Finding:
    """Result of one guarantee on one confidential column, or on the units."""

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
    def requirement(self) -> str:
        """Return the requirement on every class together with its column.

        >>> Finding("l", "ill", "has 3 or more different values", 4.0,
        ...     np.array([False])).requirement
        'has 3 or more different values of ill'
        """
        return (
            f"{self.words} of {self.column}"
            if self.guarantee in ("l", "t")
            else f"{self.words} ({self.column})"
        )

    @property
    def holds(self) -> bool:
        """Return whether every class meets the requirement."""
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
        """Validate requirements as far as possible without a table.

        `units` is the number of different units that each class needs.
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
        """Return whether l or t is required, so that there must be confidential columns."""
        return self.diversity is not None or self.closeness is not None

    @property
    def name(self) -> str:
        """Return the names of the guarantees.

        >>> Guarantees.of(l=3, t=0.2).name
        'distinct 3-diversity and 0.2-closeness'
        """
        parts = (self.diversity, self.closeness, self.units)
        return " and ".join(part.name for part in parts if part is not None)

    def as_data(self) -> dict[str, Any]:
        """Return l and t as plain data: the arguments of `of`."""
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
        """Return the predicate on groups for a `Problem`; None without a requirement."""
        return AcceptanceTest(self, self._tables(attributes, units)) if self else None

    def check_impossible(
        self, attributes: tuple[Attribute, ...], units: Attribute | None = None
    ) -> None:
        """Raise if no grouping of these records can keep the promise; the whole table as one group
        comes nearest to it.
        """
        if self.is_about_values and not attributes:
            raise InputError(NO_CONFIDENTIAL)
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
            counts = _tally_of(attribute, labels, classes)
            findings += self.findings_on_values(attribute.name, attribute.kind, counts)
        if self.units is not None and units is not None:
            findings += self.findings_on_units(units.name, _tally_of(units, labels, classes))
        return tuple(findings)

    def findings_on_values(self, name: str, kind: Kind, counts: Tally) -> list[Finding]:
        """The l and t that classes reach in one column, by counts of its values."""
        findings = []
        if self.diversity is not None:
            worst, kept = self.diversity.worst(counts), self.diversity.kept(counts)
            findings.append(Finding("l", name, self.diversity.words, worst, ~kept))
        if self.closeness is not None:
            nominal = kind is Kind.NOMINAL
            worst = float(self.closeness.reached(counts, nominal=nominal).max())
            kept = self.closeness.kept(counts, nominal=nominal)
            findings.append(Finding("t", name, self.closeness.words, worst, ~kept))
        return findings

    def findings_on_units(self, name: str, counts: Tally) -> list[Finding]:
        """Return findings on the number of units in each class and on the largest unit."""
        assert self.units is not None
        fewest, largest = (
            float(self.units.reached(counts).min()),
            float(self.units.shares(counts).max()),
        )
        return [
            Finding("units", name, self.units.words, fewest, self.units.too_few(counts)),
            Finding(
                "share", name, self.units.words_on_share, largest, self.units.too_large(counts)
            ),
        ]

    def together(self, one: Finding, other: Finding) -> Finding:
        """Merge the findings on two disjoint sets of classes.

        >>> few, more = (
        ...     Finding("l", "ill", "", worst, np.array([worst < 2])) for worst in (1.0, 3.0)
        ... )
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
        """Raise unless every class keeps the guarantees. Last check before a release."""
        if self.units is not None and units is None:
            raise GuaranteeError(
                "the units of the records are not known, so nothing was written; report it."
            )
        findings = self.evaluate(labels, classes, attributes, units) if self else ()
        self.check_failing(findings, classes)
        return findings

    def check_failing(self, findings: Sequence[Finding], classes: int) -> None:
        """Raise where a class misses a guarantee."""
        for finding in findings:
            if not finding.holds:
                raise GuaranteeError(
                    f"the output misses its guarantee: {int(finding.failing.sum())} of "
                    f"its {classes} classes do not keep "
                    f"{self.name} in column {finding.column!r}; nothing was written."
                )

    def _tables(self, attributes: Sequence[Attribute], units: Attribute | None) -> GuaranteeTables:
        """Build the tables of the kernel: a column for each confidential one with a requirement,
        one for the units.
        """
        columns = list(attributes) if self.is_about_values else []
        if self.units is not None and units is not None:
            columns.append(units)
        codes = [column.codes for column in columns]
        return self.tables_of(
            np.column_stack(codes),
            [column.kind for column in columns],
            [column.known for column in columns],
            [np.bincount(column) for column in codes],
            with_units=units is not None,
        )

    def tables_of(
        self,
        codes: np.ndarray,
        kinds: Sequence[Kind],
        n_values: Sequence[int],
        counts: Sequence[np.ndarray],
        *,
        with_units: bool,
    ) -> GuaranteeTables:
        """Build the tables of the kernel from codes.

        Each column has a kind, a number of values that are not missing, and counts of its codes in
        the whole table. `with_units` is set if the last column holds the units.
        """
        requirements = [_asked(self.diversity, self.closeness) for _ in kinds]
        if self.units is not None and with_units:
            requirements[-1] = _asked(self.units)
        cumulative = [np.cumsum(count.astype(np.float64)) for count in counts]
        return GuaranteeTables(
            np.ascontiguousarray(codes, np.int32),
            np.array([kind is not Kind.NOMINAL for kind in kinds], np.uint8),
            np.array(n_values, np.int64),
            np.append(0, np.cumsum([len(count) for count in counts])),
            np.concatenate(cumulative),
            np.concatenate([np.append(0.0, np.cumsum(column)) for column in cumulative]),
            np.array(requirements),
        )


def _asked(*parts: Diversity | Closeness | Units | None) -> np.ndarray:
    """Return the requirement vector of one column."""
    requirements = np.array(NO_REQUIREMENTS)
    for part in parts:
        if part is not None:
            part.ask(requirements)
    return requirements


def impossible(diversity: Diversity, name: str, whole: Tally) -> InputError:
    """Return the error for a table that is not diverse enough as a whole.

    `whole` counts all records as one class.
    """
    worst = diversity.worst(whole)
    about = {
        "distinct": f"has only {worst:.0f} different value{'' if worst == 1 else 's'}",
        "entropy": f"has values only as evenly spread as {worst:.4g} equally frequent ones",
        "recursive": f"would need a c above {worst:.4g}",
    }
    return InputError(
        f"{diversity.name} cannot be reached: in the whole table, column {name!r} "
        f"{about[diversity.kind]}; ask for less or leave "
        "the column out."
    )


def check_too_few_units(units: Units, name: str, n_units: int, largest: int, records: int) -> None:
    """Raise if all records together have too few units; no grouping has more.

    `n_units` is the number of units, exact only below the required number. `largest` is the number
    of records of the largest unit.
    """
    if units.has_too_few(n_units):
        raise InputError(
            f"every class needs {units.k} different units, as many as k, but the whole "
            f"table has only {n_units} in column "
            f"{name!r}; ask for a smaller k or leave the unit out."
        )
    if units.has_too_large(largest, records):
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
    """Predicate on groups of records; searches pass its tables to their kernels."""

    promise: Guarantees
    tables: GuaranteeTables

    def __call__(self, records: np.ndarray) -> bool:
        return self.shortfall(records) == 0.0

    def shortfall(self, records: np.ndarray) -> float:
        """Return the distance of these records from being an acceptable group; 0 if they are
        one.
        """
        return float(shortfall(np.ascontiguousarray(records, np.int32), len(records), *self.tables))

    def shortfalls(self, labels: np.ndarray) -> np.ndarray:
        """Return the shortfall of each group of a partition, numbered from 0."""
        order = np.argsort(labels, kind="stable").astype(np.int32)
        starts = np.append(0, np.cumsum(np.bincount(labels)))
        return shortfalls(order, starts, *self.tables)

    def of_part(self, records: np.ndarray) -> AcceptanceTest:
        """Return the same test for some records, renumbered; t still compares with the whole table.

        >>> ill = Attribute("ill", Kind.NOMINAL, np.array([0, 0, 1, 1]))
        >>> accept = Guarantees.of(t=0.1).accept((ill,)).of_part(np.array([0, 1, 2]))
        >>> accept(np.array([0, 1])), accept(np.array([1, 2]))
        (False, True)
        """
        return AcceptanceTest(self.promise, self.tables.of_rows(records))


def tables_for(accept: AcceptanceTest | None, rows: np.ndarray) -> tuple[np.ndarray | None, ...]:
    """Return the kernel's tables for some records; empty ones without a guarantee."""
    return NO_TABLES if accept is None else accept.tables.of_rows(rows)

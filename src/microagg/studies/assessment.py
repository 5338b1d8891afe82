"""The result of an assessment: figures of a release, and what to know about them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from microagg.errors import InputError
from microagg.measures.measure import Figure, Measure, Pair
from microagg.studies.suppressed import SuppressedRecords


@dataclass(frozen=True)
class Assessment:
    """The figures of a release, what they were taken from, and what to know about them."""

    pair: Pair
    """What the figures were computed on: single records, for the data holder only."""
    figures: list[tuple[Measure, Figure]]
    notes: tuple[str, ...]
    matched_by: str
    """How records found each other: "row order", or the name of the key column."""
    known: tuple[str, ...]
    """What the intruder of record linkage knows."""
    classes: int
    smallest_class: int
    suppressed: SuppressedRecords | None = None
    """Counts of suppressed rows and cells; every other figure is of the records without."""

    def figure(self, name: str) -> Figure:
        """Return the figure of the measure of that name.

        >>> from microagg.datasets.persons import persons
        >>> from microagg.studies.assess import assess
        >>> assess(persons(), persons(), quasi=["age", "rent"]).figure("il").value
        0.0
        """
        for measure, figure in self.figures:
            if measure.name == name:
                return figure
        raise InputError(f"measure {name!r} is not part of this assessment.")

    def __repr__(self) -> str:
        lines = [
            f"{measure.title}: {figure.value:.4g} {measure.unit}"
            for measure, figure in self.figures
        ]
        heading = (
            f"{len(self.pair.original):,} records in {self.classes:,} classes, the smallest "
            f"of {self.smallest_class:,}"
        )
        return "\n".join([heading, *lines])

    def as_data(self) -> dict[str, Any]:
        """Everything but the records as plain data: finite numbers or None, with names, units and
        meanings.
        """
        return {
            "records": len(self.pair.original),
            "quasi": list(self.pair.quasi),
            "confidential": [*self.pair.confidential, *self.pair.ordered],
            "kept": list(self.pair.kept),
            "weighted": self.pair.weights is not None,
            "strata": list(self.pair.shared),
            "matched_by": self.matched_by,
            "known_to_intruder": list(self.known),
            "k": self.pair.k,
            "classes": self.classes,
            "smallest_class": self.smallest_class,
            "suppressed": None if self.suppressed is None else self.suppressed.as_data(),
            "notes": list(self.notes),
            "figures": [figure_as_data(measure, figure) for measure, figure in self.figures],
        }


def figure_as_data(measure: Measure, figure: Figure) -> dict[str, Any]:
    """A figure with everything that its measure declares; None stands for a range without end."""
    return {
        "name": measure.name,
        "title": measure.title,
        "side": measure.side,
        "value": finite(figure.value),
        "unit": measure.unit,
        "lower_is_better": measure.lower_is_better,
        "lowest": finite(measure.lowest),
        "highest": finite(measure.highest),
        "zero_means": measure.zero_means,
        "highest_means": measure.highest_means,
        "basis": str(measure.basis),
        "columns": {name: finite(value) for name, value in figure.columns.items()},
        "details": {name: finite(value) for name, value in figure.details.items()},
        "source": measure.source,
        **({} if figure.sample is None else {"sample": vars(figure.sample)}),
    }


def finite(value: float) -> float | None:
    """A number as JSON knows it: None where it has no end.

    >>> finite(2.0), finite(math.inf)
    (2.0, None)
    """
    return float(value) if math.isfinite(value) else None

"""Notes on an assessment: on the order of records, on classes, units and hierarchies."""

from __future__ import annotations

from typing import Any

import narwhals as nw
import numpy as np

from microagg.formatting import listed
from microagg.guarantees.k import Anonymity
from microagg.guarantees.promise import Guarantees
from microagg.measures.measure import Pair
from microagg.studies.matching import RowOrder
from microagg.table.columns.frames import to_arrow
from microagg.table.confidential import units_of
from microagg.table.schema import ColumnSettings

UNCHECKED = (
    "records were matched by their order, which could not be checked: apart from the "
    "quasi-identifiers, the two tables share no "
    "column with the same values, or too few; match them by a key to be sure"
)


def notes_on_classes(pair: Pair, sizes: np.ndarray, order: RowOrder) -> tuple[str, ...]:
    """Return notes on an unchecked order of records, and on classes of fewer than k records."""
    notes = []
    if order is RowOrder.UNKNOWN:
        notes.append(UNCHECKED)
    if pair.k is not None and sizes.min() < pair.k:
        records = int(sizes[sizes < pair.k].sum())
        notes.append(
            f"NOT {pair.k}-anonymous: {records} of {int(sizes.sum())} records have a "
            f"combination of values that fewer "
            f"than {pair.k} records share"
        )
    return tuple(notes)


def notes_on_nodes(pair: Pair) -> tuple[str, ...]:
    """Return notes on columns that hold nodes of their hierarchy in place of values."""
    names = [
        variable.name
        for variable in pair.after.variables
        if variable.hierarchy is not None and variable.hierarchy.inner
    ]
    if not names:
        return ()
    return (
        f"nodes of a hierarchy in place of values count as the centroid of their values: "
        f"{listed(names)}",
    )


def notes_on_units(
    before: nw.DataFrame[Any], unit: str | None, classes: Anonymity, options: ColumnSettings
) -> tuple[str, ...]:
    """Count the classes with fewer than k different units, or with one that has more than half of
    the records.
    """
    if unit is None:
        return ()
    units = units_of(to_arrow(before.select(unit)), unit, na=options.na)
    findings = Guarantees.of(units=classes.k).evaluate(
        classes.labels, len(classes.sizes), (), units
    )
    misses = np.any([finding.failing for finding in findings], axis=0)
    failing = int(misses.sum())
    if failing == 0:
        return (
            f"every class has {classes.k} or more different units, none with more than "
            f"half of its records",
        )
    records = int(classes.sizes[misses].sum())
    return (
        f"{failing:,} of {len(classes.sizes):,} classes ({records:,} records) have fewer "
        f"than {classes.k} different units, or one with "
        "more than half of their records",
    )

"""Sentences that are true of some releases only, each said as far as it holds: who stands alone,
who is named, what stays.

Of a public report all of them follow from the released table and the settings. The internal one
also looks at the original.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from microagg.formatting import counted, listed
from microagg.measures.measure import Pair, columns_of, not_numbers
from microagg.measures.pairing import PER_DAY
from microagg.release.changes import changes
from microagg.release.report.subject import Subject
from microagg.table.precision import decimals_of
from microagg.table.schema import WITHHELD, Kind, Role
from microagg.table.variable import Cells

MOVED = 0.01  # of a standard deviation: a mean that moved by more did not stay
COARSE = 0.05  # the same for half of the last digit, by which rounding may move a mean


def others_released(manifest: Mapping[str, Any]) -> list[str]:
    """The released columns that the guarantee does not count.

    >>> others_released({"roles": {"age": "quasi", "town": "keep", "name": "identifier"}})
    ['town']
    """
    without = {role.value for role in (*WITHHELD, Role.QUASI, Role.STRATUM)}
    asked = manifest.get("settings", {}).get("aggregate") or {}
    return [
        name
        for name, role in manifest["roles"].items()
        if role not in without and (role != Role.WEIGHT.value or asked.get(name) == "keep")
    ]


def on_all_columns(manifest: Mapping[str, Any]) -> str:
    """What holds for somebody who knows all released columns; empty where that was not counted
    (older manifests).

    >>> roles = {"age": "quasi", "town": "keep"}
    >>> found = {"columns": 2, "classes": 3, "smallest_class": 1, "unique_records": 2}
    >>> on_all_columns({"records": 4, "roles": roles, "all_columns": found})
    'whoever knows all 2 released columns, town included: 2 of 4 records are unique, the smallest class has 1 record'
    """
    found = manifest.get("all_columns")
    if not found:
        return ""
    others = others_released(manifest)
    unique = int(found["unique_records"])
    told = (
        f"{unique:,} of {int(manifest['records']):,} records "
        f"{'is' if unique == 1 else 'are'} unique"
    )
    told = (
        f"{told if unique else 'no record is unique'}, the smallest class has "
        f"{counted(int(found['smallest_class']), 'record')}"
    )
    if not others:
        return f"no other columns are released: {told}"
    return (
        f"whoever knows all {int(found['columns']):,} released columns, {listed(others)} "
        f"included: {told}"
    )


def on_naming(manifest: Mapping[str, Any]) -> str:
    """Whether columns that may name people are in the table; empty where nobody looked (older
    manifests).

    >>> on_naming({"may_identify": ["surname"]})
    'May name people, and is in the table as it was: surname.'
    """
    found = manifest.get("may_identify")
    if found is None:
        return ""
    if not found:
        return (
            "No released column sounds as if it named people, and none of texts or "
            "running numbers is different for nearly "
            "everybody; this was checked."
        )
    several = len(found) > 1
    return (
        f"May name people, and {'are' if several else 'is'} in the table as "
        f"{'they were' if several else 'it was'}: {listed(found)}."
    )


def on_numbers(pair: Pair) -> str:
    """Which columns measures of numbers are about, and which they leave out and why; empty where
    they are about all.

    >>> on_numbers(Pair(np.array([[1.0]]), np.array([[1.0]]), ("age",)))
    ''
    """
    left = not_numbers(pair)
    if not left:
        return ""
    about = f"are about {listed(pair.names)} alone" if pair.names else "have nothing to be about"
    whys = "; ".join(f"{listed(names)} ({why})" for why, names in left.items())
    return f"measures that need numbers {about}, and leave out {whys}"


def on_totals(subject: Subject) -> str:
    """Which totals and means stay what they were, and why the others do not."""
    reasons = {name: _why_it_moves(subject, j) for j, name in enumerate(subject.names)}
    staying = [name for name, why in reasons.items() if why == ""]
    moving: dict[str, list[str]] = {}
    for name, why in reasons.items():
        if why and why != _CATEGORIES:
            moving.setdefault(why, []).append(name)
    sentences = []
    if staying:
        every = "these columns" if len(staying) == len(subject.names) else listed(staying)
        sentences.append(
            f"{_totals(subject)} of {every} stay what they were, up to "
            f"rounding{_hedge(subject, staying)}."
        )
        sentences += [f"Not so in {listed(names)}: {why}." for why, names in moving.items()]
    else:
        whys = "; ".join(f"in {listed(names)}, {why}" for why, names in moving.items())
        sentences.append(
            f"Totals and means do not stay what they were{': ' if whys else ''}{whys}."
        )
    if _CATEGORIES in reasons.values():
        sentences.append(_CATEGORIES)
    return " ".join(sentences)


def sentences_on_rules(told: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return what a report says of the sums of a release, from its manifest.

    >>> sentences_on_rules([{"rule": "total = wage + other", "declared": True, "records": 300, "missed": 0}])
    ['In every released record that has these values: total = wage + other.']
    """
    holding = [each["rule"] for each in told if each["missed"] == 0]
    sentences = []
    if holding:
        sentences.append(f"In every released record that has these values: {'; '.join(holding)}.")
    return sentences + [
        f"Declared, but not so in {each['missed']:,} of {each['records']:,} released "
        f"records: {each['rule']}."
        for each in told
        if each["missed"]
    ]


_CATEGORIES = "How often categories and gaps occur changes, and rare ones tend to grow rarer."
_FILLED = "gaps were filled with values of their groups, or values left out with the gaps of others"
_CAPPED = "values were capped"
_ROUNDED = "values are rounded, and that is coarse beside how far they are spread"
_OTHERS = "what a group releases is no mean"
_UNWEIGHTED = "means are weighted, and the weights are not released"


def _totals(subject: Subject) -> str:
    return "Totals and means, weighted," if _weighted(subject) else "Totals and means"


def _weighted(subject: Subject) -> bool:
    return bool(subject.columns(Role.WEIGHT))


def _hedge(subject: Subject, staying: list[str]) -> str:
    """What is left open: whether gaps were filled, where only the data holder knows; records that
    were left out.
    """
    dropped = "drop" in (subject.settings.get("missing"), subject.settings.get("small_strata"))
    told = ", among the records that were not left out" if dropped else ""
    special = subject.settings.get("special") or {}
    if subject.both is None and (
        subject.settings.get("missing", "group") == "group"
        or any(name in special for name in staying)
    ):
        told += ", as far as no values were missing"
    return told


def _why_it_moves(subject: Subject, j: int) -> str:
    """Why the total and the mean of a column are not what they were; empty where they stay."""
    variable = subject.released.variables[j]
    if (
        variable.kind is Kind.NOMINAL
        and not variable.coarse
        and subject.aggregates[variable.name] != "draw"
    ):
        return _CATEGORIES
    if subject.aggregates[variable.name] != "mean":
        return _OTHERS
    if variable.name in (subject.settings.get("cap") or {}):
        return _CAPPED
    weights = subject.columns(Role.WEIGHT)
    if any((subject.settings.get("aggregate") or {}).get(name) == "drop" for name in weights):
        return _UNWEIGHTED
    if subject.both is None:
        return _ROUNDED if _rounding_is_coarse(subject, j) else ""
    change = (subject.changed or {}).get(variable.name)
    if change is not None and (change.filled or change.blanked):
        return _FILLED
    if subject.moved is not None and variable.name in subject.moved:
        return _ROUNDED if subject.moved[variable.name] > MOVED else ""
    return next(_moved(subject.both, j), "")


def _moved(pair: Pair, j: int) -> Iterator[str]:
    """Why the mean of a column is another one, seen from both tables; weighted by the weights of
    each where there are any.
    """
    before, after = pair.before, pair.after
    if before.atoms is not None or after.atoms is not None:
        change = changes(columns_of(before, [j]), columns_of(after, [j]))[before.names[j]]
        if change.filled or change.blanked:
            yield _FILLED
    old, new = _known(before, j), _known(after, j)
    if len(old) and len(new):
        own = _weights(pair.weights, before, j)
        theirs = own if pair.released_weights is None else _weights(pair.released_weights, after, j)
        away = float(after.variables[j].origin - before.variables[j].origin)
        size = (
            max(np.abs(old).max(), np.abs(new).max(), abs(away)) or 1.0
        )  # squares of huge values stay finite
        old, new = _beside(old, size), _beside(new, size)
        moved = abs(np.average(new, weights=theirs) - np.average(old, weights=own) + away / size)
        if moved > MOVED * old.std() + 1e-12:
            yield _ROUNDED


def _rounding_is_coarse(subject: Subject, j: int) -> bool:
    """Whether half of the last digit that is released is much beside the spread of the released
    values.
    """
    if subject.settings.get("precision", "column") != "column":
        return False
    known = _known(subject.released, j)
    if len(known) == 0:
        return False
    step = _step(known, subject.released.variables[j].unit)
    size = np.abs(known).max() or 1.0
    return bool(step / size / 2.0 > COARSE * _beside(known, size).std())


def _beside(values: np.ndarray, size: float) -> np.ndarray:
    """Values divided by the largest of their sizes: no quotient is above 1, yet numpy 1.26 speaks
    of overflow where all are tiny.
    """
    with np.errstate(over="ignore"):
        return values / size


def _step(known: np.ndarray, unit: str) -> float:
    """What released values may have been rounded to, from them alone: its last decimal, or the
    largest part of a day that divides them all.
    """
    if unit:
        return float(math.gcd(int(np.gcd.reduce(known.astype(np.int64))), PER_DAY[unit]))
    decimals = decimals_of(known)
    return 0.0 if decimals is None else 10.0**-decimals


def _weights(weights: np.ndarray | None, cells: Cells, j: int) -> np.ndarray | None:
    return None if weights is None else weights[~np.isnan(cells.values[:, j])]


def _known(cells: Cells, j: int) -> np.ndarray:
    values = cells.values[:, j]
    return values[~np.isnan(values)]

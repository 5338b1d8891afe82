"""Sentences on totals, means and categories: figures for the data holder, what holds for others.

A public report follows from the released table and the settings, so it cannot know which values
were missing before. It says that totals stay only where the settings rule such gaps out.
"""

from __future__ import annotations

import math

import numpy as np

from microagg.formatting import listed
from microagg.measures.pairing import PER_DAY
from microagg.release.effects import ColumnEffect, effects_from, signed_percent
from microagg.release.report.subject import Subject
from microagg.table.precision import decimals_of
from microagg.table.schema import Kind, Role
from microagg.table.variable import Cells

COARSE = 0.05  # of a standard deviation: half of the last digit, by which rounding may move a mean
_NO_CHANGE = "0 %"
_BY_GROUP = "groups show one value for all their records, not the mean"
_CAPPED = "values beyond a limit were cut to it"
_ROUNDED = "values are rounded to large steps"
_UNWEIGHTED = "means are weighted, and the weights are not released"


def on_totals(subject: Subject) -> str:
    """Return what became of totals, means and categories."""
    effects = effects_from(subject.manifest.get("effects"))
    if not subject.public and effects:
        return " ".join(filter(None, (_changed_totals(subject, effects), _lost(effects))))
    return _public(subject)


def _changed_totals(subject: Subject, effects: tuple[ColumnEffect, ...]) -> str:
    changes = {effect.name: effect.total_change for effect in effects if effect.total is not None}
    if not changes:
        return ""
    words = {name: _in_words(change) for name, change in changes.items()}
    order = sorted(changes, key=lambda name: -abs(changes[name] or 0.0))
    moved = [f"{name} {words[name]}" for name in order if words[name] != _NO_CHANGE]
    same = [name for name in changes if words[name] == _NO_CHANGE]
    what = "Weighted totals" if subject.columns(Role.WEIGHT) else "Totals"
    if not moved:
        return f"{what} stay within 0.005 %: {listed(same)}."
    stay = f" Unchanged within 0.005 %: {listed(same)}." if same else ""
    return f"{what} changed: {listed(moved)}.{stay}"


def _in_words(change: float | None) -> str:
    return "from 0" if change is None else signed_percent(change)


def _lost(effects: tuple[ColumnEffect, ...]) -> str:
    lost = [
        f"{effect.name} {effect.lost:,} of {effect.categories[0]:,}"
        for effect in effects
        if effect.lost and effect.categories
    ]
    return f"Categories that no record has any more: {listed(lost)}." if lost else ""


def _public(subject: Subject) -> str:
    reasons: dict[str, list[str]] = {}
    staying, nominal = [], False
    for j, name in enumerate(subject.names):
        variable = subject.released.variables[j]
        entry = subject.aggregates[name]
        if variable.kind is Kind.NOMINAL and not variable.coarse and not entry.keeps_shares:
            nominal = True
        elif why := _why_it_moves(subject, j):
            reasons.setdefault(why, []).append(name)
        else:
            staying.append(name)
    sentences = [_staying(subject, staying)] if staying else []
    sentences += [
        f"Totals of {listed(names)} can differ from the original, because {why}."
        for why, names in reasons.items()
    ]
    if nominal:
        sentences.append("Categories occur more or less often than before; rare ones may vanish.")
    return " ".join(sentences)


def _staying(subject: Subject, names: list[str]) -> str:
    weighted = ", weighted," if subject.columns(Role.WEIGHT) else ""
    settings = subject.settings
    dropped = "drop" in (settings.get("missing"), settings.get("small_strata"))
    among = ", among the records that were not left out" if dropped else ""
    special = settings.get("special") or {}
    gaps = settings.get("missing", "group") == "group" or any(name in special for name in names)
    if not gaps:
        return f"Totals and means{weighted} of {listed(names)} stay, up to rounding{among}."
    return (
        f"Groups show means of {listed(names)}. Totals and means{weighted} change by rounding, and "
        f"where values were missing{among}. By how much cannot be told from the released table."
    )


def _why_it_moves(subject: Subject, j: int) -> str:
    """Return why a total may change even without gaps; empty where it stays."""
    name = subject.names[j]
    if not subject.aggregates[name].keeps_totals:
        return _BY_GROUP
    if name in (subject.settings.get("cap") or {}):
        return _CAPPED
    aggregates = subject.settings.get("aggregate") or {}
    if any(aggregates.get(weight) == "drop" for weight in subject.columns(Role.WEIGHT)):
        return _UNWEIGHTED
    return _ROUNDED if _rounding_is_coarse(subject, j) else ""


def _rounding_is_coarse(subject: Subject, j: int) -> bool:
    """Check if half of the last released digit is large beside the spread of the released
    values.
    """
    if subject.settings.get("precision", "column") != "column":
        return False
    values = _known(subject.released, j)
    if len(values) == 0:
        return False
    step = _step(values, subject.released.variables[j].unit)
    size = np.abs(values).max() or 1.0
    with np.errstate(
        over="ignore"
    ):  # no quotient is above 1, yet numpy 1.26 warns where all are tiny
        spread = (values / size).std()
    return bool(step / size / 2.0 > COARSE * spread)


def _step(values: np.ndarray, unit: str) -> float:
    """Return the step of released values: the last decimal, or the largest part of a day in all."""
    if unit:
        return float(math.gcd(int(np.gcd.reduce(values.astype(np.int64))), PER_DAY[unit]))
    decimals = decimals_of(values)
    return 0.0 if decimals is None else 10.0**-decimals


def _known(cells: Cells, j: int) -> np.ndarray:
    values = cells.values[:, j]
    return values[~np.isnan(values)]

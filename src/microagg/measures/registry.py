"""Registry of measures. A measure is one line here: its name and the dotted name of its entry."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Sequence

from microagg.errors import InputError
from microagg.measures.measure import Basis, Figure, Measure, Pair
from microagg.measures.risk.classes import classes_of_released
from microagg.measures.risk.dominance import amounts_of
from microagg.problem.problem import Progress
from microagg.table.suggestions import describe_columns

MEASURES: tuple[str, ...] = (
    "il = microagg.measures.loss.squared:IL",
    "il-minmax = microagg.measures.loss.squared:IL_MINMAX",
    "il-raw = microagg.measures.loss.squared:IL_RAW",
    "sse = microagg.measures.loss.squared:SSE",
    "sse-minmax = microagg.measures.loss.squared:SSE_MINMAX",
    "sse-raw = microagg.measures.loss.squared:SSE_RAW",
    "il1s-percent = microagg.measures.loss.il1s:IL1S_PERCENT",
    "il1s = microagg.measures.loss.il1s:IL1S",
    "pil-means = microagg.measures.loss.probabilistic:PIL_MEANS",
    "pil-variances = microagg.measures.loss.probabilistic:PIL_VARIANCES",
    "pil-covariances = microagg.measures.loss.probabilistic:PIL_COVARIANCES",
    "pil-correlations = microagg.measures.loss.probabilistic:PIL_CORRELATIONS",
    "pil-quantiles = microagg.measures.loss.probabilistic:PIL_QUANTILES",
    "eigenvalues = microagg.measures.loss.eigenvalues:EIGENVALUES",
    "kolmogorov-smirnov = microagg.measures.loss.marginals:KOLMOGOROV_SMIRNOV",
    "wasserstein = microagg.measures.loss.marginals:WASSERSTEIN",
    "regression-kept = microagg.measures.loss.prediction:REGRESSION_KEPT",
    "classification-kept = microagg.measures.loss.prediction:CLASSIFICATION_KEPT",
    "cells-unchanged = microagg.measures.loss.unchanged:CELLS_UNCHANGED",
    "marginals = microagg.measures.loss.shares:MARGINALS",
    "associations = microagg.measures.loss.associations:ASSOCIATIONS",
    "pmse = microagg.measures.loss.propensity:PMSE",
    "discernibility = microagg.measures.loss.generalisation:DISCERNIBILITY",
    "granularity = microagg.measures.loss.generalisation:GRANULARITY",
    "entropy = microagg.measures.loss.generalisation:ENTROPY",
    "linkage = microagg.measures.risk.linkage:LINKAGE",
    "closest-record = microagg.measures.risk.closest:CLOSEST_RECORD",
    "neighbour-ratio = microagg.measures.risk.closest:NEAREST_NEIGHBOUR_RATIO",
    "rank-intervals = microagg.measures.risk.intervals:RANK_INTERVALS",
    "deviation-intervals = microagg.measures.risk.intervals:DEVIATION_INTERVALS",
    "unique = microagg.measures.risk.uniqueness:UNIQUENESS",
    "unique-with-kept = microagg.measures.risk.uniqueness:UNIQUENESS_WITH_KEPT",
    "k = microagg.measures.risk.uniqueness:SMALLEST_CLASS",
    "k-with-kept = microagg.measures.risk.uniqueness:SMALLEST_CLASS_WITH_KEPT",
    "prosecutor = microagg.measures.risk.reidentification:PROSECUTOR",
    "journalist = microagg.measures.risk.reidentification:JOURNALIST",
    "marketer = microagg.measures.risk.reidentification:MARKETER",
    "dominance = microagg.measures.risk.dominance:DOMINANCE",
    "distinct-l = microagg.measures.risk.attributes:DISTINCT_L",
    "entropy-l = microagg.measures.risk.attributes:ENTROPY_L",
    "t = microagg.measures.risk.attributes:T_CLOSENESS",
    "sse-i = microagg.measures.risk.attributes:SPREAD_WITHIN",
)


def measures(side: str | None = None) -> tuple[Measure, ...]:
    """All measures in the order of the registry, or those of one side: "loss" or "risk".

    >>> {measure.side for measure in measures("loss")}
    {'loss'}
    """
    return tuple(measure for measure in _all() if side in (None, measure.side))


def measure_named(name: str) -> Measure:
    """The measure of that name.

    >>> measure_named("il").title
    'information loss'
    """
    places = _entry_points()
    if name not in places:
        raise InputError(f"there is no measure {name!r}; there are {', '.join(places)}.")
    module, _, attribute = places[name].partition(":")
    return getattr(importlib.import_module(module), attribute)


def assess_pair(
    pair: Pair,
    names: Sequence[str] | None = None,
    progress: Progress | None = None,
    *,
    known: Sequence[str] = (),
) -> list[tuple[Measure, Figure]]:
    """The figures of these measures (of all, if none are named) in the order asked for.

    Measures that need what the pair does not have (numbers, confidential columns, kept ones, k) are
    left out. An intruder knows all quasi-identifiers unless `known` names some of them; record
    linkage then looks at those alone.

    >>> import numpy as np
    >>> table = np.array([[0.0], [2.0], [10.0], [12.0]])
    >>> pair = Pair(table, np.array([[1.0], [1.0], [11.0], [11.0]]), ("age",))
    >>> [(measure.name, round(figure.value, 2)) for measure, figure in assess_pair(pair, ["il"])]
    [('il', 3.85)]
    """
    measures = _all() if names is None else tuple(measure_named(name) for name in names)
    seen = _seen_by_intruder(pair, known)
    chosen = [
        measure
        for measure in measures
        if _is_met(measure.needs, seen if measure.basis is Basis.LOOKUP else pair)
    ]
    figures = []
    for done, measure in enumerate(chosen):
        if done > 0 and measure.side != chosen[done - 1].side:
            pair.forget(
                classes_of_released
            )  # all else that measures of loss share is of no use to those of risk
        looked_at = seen if measure.basis is Basis.LOOKUP else pair
        figures.append(
            (
                measure,
                measure.compute(looked_at.of_release if measure.of == "release" else looked_at),
            )
        )
        if progress is not None:
            progress(done + 1, len(chosen))
    return figures


def _is_met(need: str, pair: Pair) -> bool:
    has = {
        "": True,
        "numbers": bool(pair.names),
        "amounts": bool(amounts_of(pair)),
        "points": any(not variable.coarse for variable in pair.after.variables),
        "confidential": bool(pair.confidential or pair.ordered),
        "categories": bool(pair.names)
        and (
            bool(pair.ordered)
            or any(codes.dtype.kind != "f" for codes in pair.confidential.values())
        ),
        "kept": bool(pair.kept),
        "k": pair.k is not None,
    }
    return has[need]


def _seen_by_intruder(pair: Pair, known: Sequence[str]) -> Pair:
    if not known:
        return pair
    unknown = [name for name in known if name not in pair.quasi]
    if unknown:
        raise InputError(
            f"an intruder cannot know {unknown[0]!r}: it is no quasi-identifier; "
            f"{describe_columns(unknown[0], pair.quasi, 'those are')}."
        )
    return pair.of_columns(known)


def _all() -> tuple[Measure, ...]:
    return _loaded(MEASURES)


@functools.cache
def _loaded(entries: tuple[str, ...]) -> tuple[Measure, ...]:
    return tuple(measure_named(entry.partition(" = ")[0]) for entry in entries)


def _entry_points() -> dict[str, str]:
    """Where the entry of each name lies."""
    named = (entry.partition(" = ") for entry in MEASURES)
    return {name: entry for name, _, entry in named}

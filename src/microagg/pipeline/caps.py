"""Capping a table that is never in memory as a whole: what `cap_cells` finds, in one pass besides
those that count.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from microagg.kernels import partial_sums, sums
from microagg.pipeline.column_stats import Facts, NumberFacts
from microagg.pipeline.value_counts import Quantile, ValueHistogram
from microagg.runtime.chunk_map import ChunkMap
from microagg.table.capping import (
    Capped,
    Limit,
    Limits,
    beyond,
    caps_in_terms,
    check_unknown,
    clipped,
    limits_in_terms,
    ordered_limits,
    quantile_asked,
    rounded_limit,
)
from microagg.table.columns.column_encoding import cells_in
from microagg.table.variable import Variable

Caps = Mapping[str, tuple[Limit, Limit]]


@dataclass(frozen=True)
class CappedTable:
    """The limits, what they did to each column, and the facts of the columns with them."""

    limits: Limits
    done: dict[str, Capped]
    facts: tuple[Facts, ...]


def capped_table(
    passes: ChunkMap,
    variables: tuple[Variable, ...],
    facts: Sequence[Facts],
    caps: Caps,
    ordered: ValueHistogram,
) -> CappedTable:
    """Find the limits, then count and add up what they leave."""
    limits = _limits(variables, facts, caps, ordered)
    totals = {j: np.zeros((3, 1)) for j in limits.of_columns}
    counts = {j: [0, 0] for j in limits.of_columns}
    for told in passes.map_chunks("measuring", cap_chunk, variables, limits):
        for j, (total, below, above) in told.items():
            partial_sums.add_sums(totals[j], total)
            counts[j][0] += below
            counts[j][1] += above
    names = [variable.name for variable in variables]
    done = {
        name: Capped(*limits.of_columns[names.index(name)], *counts[names.index(name)])
        for name in caps
    }
    found = list(facts)
    for j, pair in limits.of_columns.items():
        own = facts[j]
        assert isinstance(own, NumberFacts)
        least, most = clipped(np.array([own.least, own.most]), *pair).tolist()
        found[j] = replace(own, least=least, most=most, total=totals[j])
    return CappedTable(limits, limits_in_terms(variables, done), tuple(found))


def places_of_caps(
    variables: Sequence[Variable], facts: Sequence[Facts], caps: Caps
) -> dict[int, list[int]]:
    """By column the places in its order that percentiles ask for."""
    return {
        j: [place for each in own.values() for quantile in each for place in quantile.places]
        for j, own in _quantiles(variables, facts, caps).items()
    }


def _limits(
    variables: tuple[Variable, ...], facts: Sequence[Facts], caps: Caps, ordered: ValueHistogram
) -> Limits:
    names = [variable.name for variable in variables]
    check_unknown(names, caps)
    asked = caps_in_terms(variables, caps)
    quantiles = _quantiles(variables, facts, asked)
    values = ordered.at(places_of_caps(variables, facts, asked))
    found: dict[int, tuple[float | None, float | None]] = {}
    for name, limits in asked.items():
        j = names.index(name)
        pair: list[float | None] = []
        for top, limit in enumerate(limits):
            if isinstance(limit, str):
                share, median = (each.value(values[j]) for each in quantiles[j][bool(top)])
                limit = rounded_limit(share, median, top=bool(top))
            pair.append(limit)
        found[j] = ordered_limits(name, pair[0], pair[1])
    return Limits(found)


def _quantiles(
    variables: Sequence[Variable], facts: Sequence[Facts], caps: Caps
) -> dict[int, dict[bool, tuple[Quantile, Quantile]]]:
    """By column, for its lowest and (True) its highest value where that is a percentile: that
    quantile and the median.
    """
    found: dict[int, dict[bool, tuple[Quantile, Quantile]]] = {}
    for j, (variable, own) in enumerate(zip(variables, facts, strict=True)):
        if not isinstance(own, NumberFacts) or own.known == 0:
            continue
        for top, limit in enumerate(caps.get(variable.name, ())):
            if isinstance(limit, str):
                share, method = quantile_asked(limit, top=bool(top))
                pair = Quantile.of(share, own.known, method), Quantile.of(0.5, own.known, method)
                found.setdefault(j, {})[bool(top)] = pair
    return found


def cap_chunk(
    source: Any, first: int, count: int, variables: tuple[Variable, ...], limits: Limits
) -> dict[int, tuple[np.ndarray, int, int]]:
    """A task: of each capped column the sum of what its values become, and how many lie below and
    above its limits.
    """
    chosen = [variables[j] for j in limits.of_columns]
    cells = cells_in(source.read(first, count, [each.name for each in chosen]), chosen, first)
    found = {}
    for place, (j, pair) in enumerate(limits.of_columns.items()):
        values = cells.values[:, place]
        values = values[~np.isnan(values)]
        total = sums.column_sums(np.ascontiguousarray(clipped(values, *pair)).reshape(-1, 1))
        found[j] = total, *beyond(values, *pair)
    return found

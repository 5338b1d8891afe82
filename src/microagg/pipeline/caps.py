"""Capping of a table that is read in chunks: limits from its quantiles, then one pass of counts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from microagg.pipeline.column_stats import Facts, NumberFacts
from microagg.pipeline.value_counts import Quantile, ValueHistogram
from microagg.runtime.chunk_map import ChunkMap
from microagg.table.capping import (
    CapCounts,
    Capped,
    Limit,
    Limits,
    caps_in_terms,
    clipped,
    limits_in_terms,
    resolve_limits,
)
from microagg.table.columns.column_encoding import cells_in
from microagg.table.reduction import combine_chunks
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
    names = [variable.name for variable in variables]

    def quantile(j: int, share: float, method: str) -> float | None:
        wanted = _quantile(facts[j], share, method)
        return wanted and wanted.value(ordered.lookup({j: wanted.places})[j])

    limits = resolve_limits(names, caps_in_terms(variables, caps), quantile)
    counts = combine_chunks(passes.map_chunks("measuring", cap_chunk, variables, limits))
    capped_facts = list(facts)
    for j, pair in limits.of_columns.items():
        column_facts = facts[j]
        assert isinstance(column_facts, NumberFacts)
        least, most = clipped(np.array([column_facts.least, column_facts.most]), *pair).tolist()
        capped_facts[j] = replace(column_facts, least=least, most=most, total=counts.totals[j])
    done = limits_in_terms(variables, counts.by_name(names, limits))
    return CappedTable(limits, done, tuple(capped_facts))


def positions_for_caps(
    variables: Sequence[Variable], facts: Sequence[Facts], caps: Caps
) -> dict[int, list[int]]:
    """Return the positions in the order of each column whose values its percentiles need."""
    positions: dict[int, list[int]] = {}

    def note(j: int, share: float, method: str) -> None:
        wanted = _quantile(facts[j], share, method)
        if wanted is not None:
            positions.setdefault(j, []).extend(wanted.places)

    resolve_limits([variable.name for variable in variables], caps_in_terms(variables, caps), note)
    return positions


def _quantile(facts: Facts, share: float, method: str) -> Quantile | None:
    """Return a quantile of a column of numbers; None where it has no values."""
    if not isinstance(facts, NumberFacts) or facts.known == 0:
        return None
    return Quantile.of(share, facts.known, method)


def cap_chunk(
    source: Any, first: int, count: int, variables: tuple[Variable, ...], limits: Limits
) -> CapCounts:
    """Count what limits do to a chunk: a task."""
    chosen = [variables[j] for j in limits.of_columns]
    rows = source.read(first, count, [variable.name for variable in chosen])
    values = cells_in(rows, chosen, first).values
    columns = {j: values[:, number] for number, j in enumerate(limits.of_columns)}
    return CapCounts.of_chunk(columns, limits)

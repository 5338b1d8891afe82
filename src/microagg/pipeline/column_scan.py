"""What is found out about the columns of a table before anything else, and what of it decides how
released cells are written.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from microagg.errors import InputError
from microagg.pipeline.column_stats import (
    AskedColumn,
    ColumnScan,
    Facts,
    LevelFacts,
    NumberFacts,
    merged,
    scan_chunk,
    settled,
)
from microagg.pipeline.fit_space import FittedSpace
from microagg.pipeline.value_counts import ValueHistogram
from microagg.release.settings import Settings
from microagg.runtime.chunk_map import ChunkMap
from microagg.table.aggregate import WholeTable
from microagg.table.columns.categories import joined
from microagg.table.columns.column_encoding import ColumnEncoding
from microagg.table.columns.digests import digest_of_runs
from microagg.table.columns.dtypes import ColumnContext
from microagg.table.columns.row_sketch import sketch_of
from microagg.table.precision import Precision
from microagg.table.schema import Column, Kind, Role, Schema


@dataclass(frozen=True)
class Weight:
    """The column of weights."""

    column: ColumnEncoding
    facts: NumberFacts
    precision: Precision
    known: ColumnContext

    @property
    def heaviest(self) -> float:
        """The largest weight."""
        return self.facts.most + float(self.column.origin)


@dataclass(frozen=True)
class ColumnScanResult:
    """What the first pass over a table tells."""

    digest: str
    variables: list[ColumnEncoding]
    """The quasi-identifiers."""
    facts: list[Facts]
    strata: list[LevelFacts]
    weight: Weight | None
    known: dict[str, ColumnContext]
    """What has to be known of a whole column where cells of it are released."""
    categories: dict[str, Any]
    """All categories of columns that have some, in their order."""
    chunk_digests: tuple[str, ...] = ()
    """Of each chunk: what later passes must read again."""
    sketch: dict[str, Any] | None = None
    """Of the rows of the table."""

    @property
    def frequencies(self) -> tuple[np.ndarray | None, ...]:
        """Of each column of categories how often each of its levels occurs; None for numbers."""
        return tuple(
            each.frequency() if isinstance(each, LevelFacts) else each.levels for each in self.facts
        )

    def whole(self, fitted: FittedSpace) -> WholeTable:
        """What groups have to know besides their own records."""
        pairs = list(zip(self.variables, self.facts, strict=True))
        atoms = tuple(
            each.atoms if isinstance(each, NumberFacts) and variable.marks else None
            for variable, each in pairs
        )
        heaviest = None if self.weight is None else self.weight.heaviest
        return WholeTable(fitted.precisions, self.frequencies, atoms, heaviest)


def scan_columns(passes: ChunkMap, schema: Schema, settings: Settings) -> ColumnScanResult:
    """The first pass over a table, and what it refuses."""
    said = settings.columns
    quasi = [
        AskedColumn.of(column, said.special, said.na, said.hierarchy)
        for column in schema.columns
        if column.role is Role.QUASI
    ]
    weights = [
        AskedColumn.of(column, said.special, said.na)
        for column in schema.columns
        if column.role is Role.WEIGHT
    ]
    for each in weights:
        _check_no_numbers(each.column)
    strata = schema.names(Role.STRATUM)
    found: dict[str, ColumnScan] = {}
    levels: dict[str, LevelFacts] = {}
    runs: list[bytes] = []
    categories: dict[str, Any] = {}
    digests: list[str] = []
    sampled: list[np.ndarray] = []
    compared = compared_columns(schema)
    for chunk in passes.map_chunks("scanning", scan_chunk, [*quasi, *weights], strata, compared):
        runs += chunk.runs
        digests.append(chunk.digest)
        sampled.append(chunk.sampled)
        merged(found, chunk.columns)
        merged(levels, chunk.levels)
        for name, own in chunk.categories.items():
            categories[name] = joined(categories[name], own) if name in categories else own
    columns, facts = settled(passes.map_chunks, [*quasi, *weights], found)
    count = len(quasi)
    known = {name: _known_of(each) for name, each in found.items()}
    weight = None
    if weights:
        weight = _weight_of(
            passes, weights[0].column, columns[-1], facts[-1], known[columns[-1].name]
        )
    if settings.missing == "error":
        _check_gaps(columns[:count], facts[:count])
    names, records = passes.source.original_names, passes.source.records
    digest = digest_of_runs(names, records, runs)
    sketch = sketch_of(names, records, sampled)
    of_strata = [levels[name] for name in strata]
    return ColumnScanResult(
        digest,
        columns[:count],
        facts[:count],
        of_strata,
        weight,
        known,
        categories,
        tuple(digests),
        sketch,
    )


def compared_columns(schema: Schema) -> tuple[str, ...]:
    """The columns whose digests must be the same in the first pass over a table and in the last:
    all that are worked with.
    """
    return tuple(column.name for column in schema.columns if column.role is not Role.IDENTIFIER)


def _known_of(found: ColumnScan) -> ColumnContext:
    scan = found.scan
    return ColumnContext(scan.nulls > 0, scan.examples, scan.values)


def _check_no_numbers(column: Column) -> None:
    if column.kind is not Kind.NUMERIC:
        raise InputError(
            f"the weight {column.name!r} does not hold numbers; weights are numbers above 0."
        )


def _weight_of(
    passes: ChunkMap, asked: Column, column: ColumnEncoding, facts: Facts, known: ColumnContext
) -> Weight:
    """The weights, if they are numbers above 0."""
    if column.unit or not isinstance(facts, NumberFacts):
        raise InputError(
            f"the weight {asked.name!r} does not hold numbers; weights are numbers above 0."
        )
    least = facts.least + float(column.origin)
    what = "is missing" if facts.missing else "is not above 0" if least <= 0.0 else ""
    if what:
        raise InputError(
            f"the weight {column.name!r} {what} in some row; weights are numbers above "
            f"0: leave such records out, or mend them."
        )
    ordered = ValueHistogram(passes, (column,), {0: facts}, 0)
    precision = facts.precision(lambda places: ordered.at({0: places})[0])
    return Weight(column, facts, precision, known)


def _check_gaps(columns: Sequence[ColumnEncoding], facts: Sequence[Facts]) -> None:
    counts: Mapping[str, int] = {
        column.name: gaps_in(column, each) for column, each in zip(columns, facts, strict=True)
    }
    told = ", ".join(f"{count:,} in {name!r}" for name, count in counts.items() if count)
    if told:
        raise InputError(
            f"quasi-identifiers are missing: {told}; fill them in, or say "
            f"missing='group' to group such records with their "
            "like or missing='drop' to leave them out."
        )


def gaps_in(column: ColumnEncoding, facts: Facts) -> int:
    """How many cells of a column are missing; special codes are not."""
    if isinstance(facts, LevelFacts):
        return facts.counts.get(None, 0)
    return int(facts.atoms[-1]) if column.marks and column.marks[-1] is None else 0

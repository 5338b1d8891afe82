"""First pass over the columns of a table: encodings, facts, and how released cells are written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from microagg.errors import InputError
from microagg.pipeline.column_stats import (
    ColumnRequest,
    ColumnScan,
    Facts,
    LevelFacts,
    NumberFacts,
    scan_chunk,
    settled,
)
from microagg.pipeline.fit_space import FittedSpace
from microagg.pipeline.value_counts import ValueHistogram
from microagg.release.cells import refusal_of_gaps
from microagg.release.settings import Settings
from microagg.release.weighting import NO_NUMBERS
from microagg.runtime.chunk_map import ChunkMap
from microagg.table.column_aggregate import WholeTable
from microagg.table.columns.column_encoding import ColumnEncoding
from microagg.table.columns.digests import digest_of_runs
from microagg.table.columns.dtypes import ColumnContext
from microagg.table.columns.row_sketch import sketch_of
from microagg.table.precision import Precision
from microagg.table.reduction import combine_chunks
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
    """Result of the first pass over a table."""

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
            column_facts.frequency()
            if isinstance(column_facts, LevelFacts)
            else column_facts.levels
            for column_facts in self.facts
        )

    def whole(self, fitted: FittedSpace) -> WholeTable:
        """Return facts of the whole table that the groups of a part need."""
        pairs = list(zip(self.variables, self.facts, strict=True))
        atoms = tuple(
            column_facts.atoms if isinstance(column_facts, NumberFacts) and variable.marks else None
            for variable, column_facts in pairs
        )
        heaviest = None if self.weight is None else self.weight.heaviest
        return WholeTable(fitted.precisions, self.frequencies, atoms, heaviest)


def scan_columns(passes: ChunkMap, schema: Schema, settings: Settings) -> ColumnScanResult:
    """The first pass over a table, and what it refuses."""
    options = settings.columns
    quasi = [
        ColumnRequest.of(column, options.special, options.na, options.hierarchy)
        for column in schema.columns
        if column.role is Role.QUASI
    ]
    weights = [
        ColumnRequest.of(column, options.special, options.na)
        for column in schema.columns
        if column.role is Role.WEIGHT
    ]
    for request in weights:
        _check_no_numbers(request.column)
    strata = schema.names(Role.STRATUM)
    scan = combine_chunks(
        passes.map_chunks(
            "scanning", scan_chunk, [*quasi, *weights], strata, compared_columns(schema)
        )
    )
    columns, facts = settled(passes.map_chunks, [*quasi, *weights], scan.columns)
    count = len(quasi)
    known = {name: _known_of(column) for name, column in scan.columns.items()}
    weight = None
    if weights:
        weight = _weight_of(
            passes, weights[0].column, columns[-1], facts[-1], known[columns[-1].name]
        )
    if settings.missing == "error":
        _check_gaps(columns[:count], facts[:count])
    names, records = passes.source.original_names, passes.source.records
    digest = digest_of_runs(names, records, scan.runs)
    sketch = sketch_of(names, records, scan.sampled)
    of_strata = [scan.levels[name] for name in strata]
    return ColumnScanResult(
        digest,
        columns[:count],
        facts[:count],
        of_strata,
        weight,
        known,
        scan.categories,
        tuple(scan.digests),
        sketch,
    )


def compared_columns(schema: Schema) -> tuple[str, ...]:
    """The columns whose digests must be the same in the first pass over a table and in the last:
    all that are worked with.
    """
    return tuple(column.name for column in schema.columns if column.role is not Role.IDENTIFIER)


def _known_of(column: ColumnScan) -> ColumnContext:
    scan = column.scan
    return ColumnContext(scan.nulls > 0, scan.examples, scan.values)


def _check_no_numbers(column: Column) -> None:
    if column.kind is not Kind.NUMERIC:
        raise InputError(NO_NUMBERS.format(column.name))


def _weight_of(
    passes: ChunkMap,
    schema_column: Column,
    column: ColumnEncoding,
    facts: Facts,
    known: ColumnContext,
) -> Weight:
    """The weights, if they are numbers above 0."""
    if column.unit or not isinstance(facts, NumberFacts):
        raise InputError(NO_NUMBERS.format(schema_column.name))
    least = facts.least + float(column.origin)
    what = "is missing" if facts.missing else "is not above 0" if least <= 0.0 else ""
    if what:
        raise InputError(
            f"the weight {column.name!r} {what} in some row; weights are numbers above "
            f"0: leave such records out, or correct them."
        )
    ordered = ValueHistogram(passes, (column,), {0: facts}, 0)
    precision = facts.precision(lambda places: ordered.lookup({0: places})[0])
    return Weight(column, facts, precision, known)


def _check_gaps(columns: Sequence[ColumnEncoding], facts: Sequence[Facts]) -> None:
    counts: Mapping[str, int] = {
        column.name: gaps_in(column, column_facts)
        for column, column_facts in zip(columns, facts, strict=True)
    }
    gaps = ", ".join(f"{count:,} in {name!r}" for name, count in counts.items() if count)
    if gaps:
        raise InputError(refusal_of_gaps(gaps))


def gaps_in(column: ColumnEncoding, facts: Facts) -> int:
    """Count the missing cells of a column; special codes are not missing."""
    if isinstance(facts, LevelFacts):
        return facts.counts.get(None, 0)
    return int(facts.atoms[-1]) if column.marks and column.marks[-1] is None else 0

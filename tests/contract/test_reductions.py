"""The contract of every reduction: chunks of any split, combined, give what one chunk gives."""

from __future__ import annotations

import dataclasses
import importlib
import itertools
import pkgutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa
import pytest

import microagg.pipeline
import microagg.release
import microagg.table
import microagg.table.columns
from microagg.kernels import sums
from microagg.measures.loss.loss_sums import LossSums
from microagg.pipeline.class_stats import (
    ClassStats,
    ClassStatsSpec,
    KeptColumnStats,
    group_stats,
)
from microagg.pipeline.column_stats import (
    ChunkFacts,
    ColumnRequest,
    ColumnScan,
    LevelFacts,
    NumberFacts,
)
from microagg.pipeline.distinct_values import DistinctValues
from microagg.pipeline.spill_index import Holding, SpillFile, SpillIndex
from microagg.pipeline.strata_plan import StrataCounts
from microagg.pipeline.term_sums import Term, TermSums
from microagg.pipeline.totals import Totals
from microagg.pipeline.units import StratumUnits, UnitFacts
from microagg.pipeline.value_counts import Span, SpanCounts, key_of
from microagg.pipeline.verification import ClassCounts
from microagg.release.effects import EffectSums
from microagg.release.settings import Settings
from microagg.release.weight_totals import WeightTotals
from microagg.runtime.spill import write_spill_file
from microagg.table.aggregate import aggregated
from microagg.table.capping import CapCounts, Limits
from microagg.table.columns.column_encoding import ColumnStats
from microagg.table.columns.digests import RowSums
from microagg.table.columns.distinct import distinct
from microagg.table.columns.levels import ValueCounts
from microagg.table.columns.numbers import parse_column
from microagg.table.columns.parsed_numbers import Codes, Extent
from microagg.table.columns.profile import ProfileStats
from microagg.table.encoder import Space
from microagg.table.linear import Confirmed, RelationTotals
from microagg.table.precision import PrecisionFacts
from microagg.table.reduction import Reduction, combine_chunks
from microagg.table.schema import Column, Kind, Role
from microagg.table.variable import Cells

SIZE, GROUPS = 5, 12
"""Records of a group, and groups; chunks are cut between groups, which some reductions need."""
RECORDS = SIZE * GROUPS
SPLITS = ([6], [1, 2], [3, 4, 11], list(range(1, GROUPS)))

rng = np.random.default_rng(7)
AGES = np.round(rng.normal(40.0, 9.0, RECORDS), 1)
WAGES = rng.integers(1, 40, RECORDS).astype(np.float64)
BOTH = np.column_stack([AGES, WAGES, AGES + WAGES])
WORDS = pa.chunked_array(
    [[None if number == 3 else f"w{number}" for number in rng.integers(0, 6, RECORDS)]]
)
LABELS = np.repeat(np.arange(GROUPS), SIZE).astype(np.int32)
WEIGHTS = rng.uniform(0.5, 2.0, RECORDS)
TABLE = pa.table({"age": AGES, "wage": WAGES, "word": WORDS})
CELLS = Cells.plain(BOTH, ["age", "wage", "sum"])
SPACE = Space.fit(CELLS)
MADE = aggregated(CELLS, LABELS)
HASHES = rng.integers(0, 2**63, (GROUPS, 2)).astype(np.uint64)
UNITS = np.where(rng.random(RECORDS) < 0.6, 5, rng.integers(0, 9, RECORDS)).astype(np.uint64)
ROWS_OF_UNITS = np.column_stack([UNITS, UNITS + np.uint64(1)])
NUMERIC = Column("age", Role.QUASI, Kind.NUMERIC)
NOMINAL = Column("word", Role.QUASI, Kind.NOMINAL)
SPANS = tuple(
    Span(0, key_of(float(AGES.min())), key_of(float(AGES.max())), RECORDS, 0, (3, 20), bits)
    for bits in (0, 4)
)

Make = Callable[[slice, Path], Reduction]


def spilled(table: pa.Table, keys: np.ndarray, part: slice, folder: Path) -> Holding:
    """The rows of the groups of a chunk, in a spill file."""
    path = str(folder / f"spill-{part.start}-{part.stop}.arrow")
    stats = write_spill_file(path, table, keys, {})
    groups = range(part.start // SIZE, part.stop // SIZE)
    return SpillIndex([SpillFile.of(path, stats)]).holding(groups)


def class_counts(part: slice, folder: Path) -> ClassCounts:
    of_records = HASHES[LABELS]
    pairs = {"h0": of_records[:, 0], "h1": of_records[:, 1]}
    rows = pa.table({**pairs, "a0": of_records[:, 0], "a1": np.arange(RECORDS, dtype=np.uint64)})
    (folder / "errors").mkdir(exist_ok=True)
    errors = pa.table({"h0": HASHES[:, 0], "h1": HASHES[:, 1], "e0": np.arange(GROUPS) * 1.5,
                       "e1": np.zeros(GROUPS), "e2": np.zeros(GROUPS)})  # fmt: skip
    return ClassCounts.of_chunk(
        spilled(rows, LABELS.astype(np.int64), part, folder),
        spilled(errors, np.arange(GROUPS), part, folder / "errors"),
    )


def class_stats(part: slice, folder: Path) -> ClassStats:
    groups = group_stats(
        LABELS, HASHES, {"wage": (WAGES * WEIGHTS, None)}, {"age": AGES}, (WEIGHTS, WEIGHTS),
        {"ill": (UNITS, np.ones(RECORDS, bool))},
    )  # fmt: skip
    spec = ClassStatsSpec(("wage",), (("age", float(np.ptp(AGES)) / 2.0),), True, ("ill",))
    return ClassStats.of_chunk(spilled(groups, np.arange(GROUPS), part, folder), spec)


def kept_stats(part: slice, folder: Path) -> KeptColumnStats:
    lanes = HASHES[LABELS]
    rows = pa.table({"h0": lanes[:, 0], "h1": UNITS, "w": WEIGHTS})
    return KeptColumnStats.of_chunk(spilled(rows, LABELS.astype(np.int64), part, folder))


def weight_totals(part: slice, _: Path) -> WeightTotals:
    frame, labels = nw.from_native(TABLE[part], eager_only=True), LABELS[part] - LABELS[part][0]
    cells = CELLS.rows(part)
    weights = WEIGHTS[part], 1.1 * WEIGHTS[part]
    made = aggregated(cells, labels, precision="full")
    schema: Any = dataclasses.make_dataclass("_Schema", ["columns"])(())
    settings = Settings.of(k=2, quasi=["age", "wage"])
    return WeightTotals.of_chunk(frame, schema, settings, weights, cells, made)


def strata_units(part: slice, _: Path) -> StratumUnits:
    units, counts = np.unique(ROWS_OF_UNITS[part], axis=0, return_counts=True)
    return StratumUnits.of_chunk(units, counts, 4)


def majority(units: StratumUnits) -> Any:
    """Return what does not depend on chunks: the number of units, and the one with most of the
    records.
    """
    return units.records, len(units.some), units.left


def units_facts(part: slice, _: Path) -> UnitFacts:
    strata = (UNITS[part] == 2).astype(np.int64)
    missing = np.zeros(len(strata), bool)
    return UnitFacts.of_chunk(ROWS_OF_UNITS[part], missing, strata, 2, 4)


def chunk_facts(part: slice, _: Path) -> ChunkFacts:
    rows = TABLE[part]
    requests = [ColumnRequest.of(NUMERIC), ColumnRequest.of(NOMINAL)]
    return ChunkFacts.of_chunk(rows, rows, part.start, RECORDS, requests, ["word"], ("age",))


def of_facts(facts: ChunkFacts) -> Any:
    """Everything but digests, which are those of runs and chunks."""
    return {name: state(part) for name, part in (facts.columns | facts.levels).items()}


CASES: dict[type[Reduction], tuple[Make, Callable[[Any], Any]]] = {}


def case(kind: type[Reduction], make: Make, result: Callable[[Any], Any] | None = None) -> None:
    CASES[kind] = make, result or (lambda reduction: state(reduction.finish()))


def state(thing: Any) -> Any:
    """Plain data; sums in three parts by what they come to."""
    if isinstance(thing, np.ndarray):
        if thing.dtype == np.float64 and thing.ndim == 2 and len(thing) == 3:
            return [sums.rounded(np.ascontiguousarray(thing), j) for j in range(thing.shape[1])]
        return thing.tolist()
    if isinstance(thing, pa.Array | pa.ChunkedArray):
        return thing.to_pylist()
    if dataclasses.is_dataclass(thing) and not isinstance(thing, type):
        thing = {field.name: getattr(thing, field.name) for field in dataclasses.fields(thing)}
    if isinstance(thing, dict):
        return {key: state(value) for key, value in thing.items()}
    if isinstance(thing, list | tuple):
        return [state(item) for item in thing]
    return thing


codes = Codes("age")
case(NumberFacts, lambda part, _: NumberFacts.of_chunk("age", AGES[part], pa.float64()))
case(LevelFacts, lambda part, _: LevelFacts.of_chunk("word", WORDS[part]))
case(ColumnScan, lambda part, _: ColumnScan.of_chunk(TABLE[part], ColumnRequest.of(NOMINAL), 0))
case(
    ColumnStats,
    lambda part, _: ColumnStats.of_chunk(
        NUMERIC, TABLE.schema.field("age"), TABLE[part].column("age"), codes
    ),
)
case(ChunkFacts, chunk_facts, of_facts)
case(ValueCounts, lambda part, _: ValueCounts.of_chunk(distinct(WORDS[part])))
case(Extent, lambda part, _: Extent.of_chunk(parse_column(TABLE[part].column("age"), codes), codes))
case(ProfileStats, lambda part, _: ProfileStats.of_chunk("word", WORDS[part]))
case(PrecisionFacts, lambda part, _: PrecisionFacts.of_chunk(AGES[part]))
case(
    RelationTotals,
    lambda part, _: RelationTotals.of_chunk(BOTH[part], range(3), part.start),
    lambda totals: (totals.records, totals.gaps.tolist(), np.round(totals.totals, 6).tolist()),
)
case(
    Confirmed,
    lambda part, _: Confirmed.of_chunk(
        BOTH[part], range(3), ((0, 1), (1, 1), (2, -1)), [False] * 3
    ),
)
case(RowSums, lambda part, _: RowSums.of_chunk(TABLE[part]), lambda rows: rows.digest(TABLE.schema))
case(Totals, lambda part, _: Totals.of_chunk([SPACE], CELLS.rows(part)))
case(DistinctValues, lambda part, _: DistinctValues.of_chunk(WORDS[part], part.start))
case(CapCounts, lambda part, _: CapCounts.of_chunk({0: AGES[part]}, Limits({0: (35.0, 45.0)})))
case(TermSums, lambda part, _: TermSums.of_chunk({0: AGES[part]}, [Term(0), Term(0, None, 40.0)]))
case(SpanCounts, lambda part, _: SpanCounts.of_chunk({0: AGES[part]}, SPANS))
case(
    StrataCounts,
    lambda part, _: StrataCounts.of_chunk(WAGES[part].astype(np.int64)),
    lambda counts: (counts.finish()[0].tolist(), counts.finish()[1].sum(axis=0).tolist()),
)
case(
    LossSums,
    lambda part, _: LossSums.of_chunk(
        SPACE, CELLS.rows(part), MADE.cells.rows(part), LABELS[part] - LABELS[part][0]
    ),
    lambda parts: state([parts.sse, parts.within, parts.one]),
)
case(
    EffectSums,
    lambda part, _: EffectSums.of_chunk(CELLS.rows(part), MADE.rows(part)),
    lambda sums: state(sums.finish(CELLS.variables)),
)
case(WeightTotals, weight_totals)
case(StratumUnits, strata_units, majority)
case(
    UnitFacts,
    units_facts,
    lambda facts: {number: majority(units) for number, units in facts.strata.items()},
)
case(ClassCounts, class_counts)
case(ClassStats, class_stats)
case(KeptColumnStats, kept_stats)


def reductions() -> Iterator[type[Reduction]]:
    for package in (microagg.pipeline, microagg.release, microagg.table, microagg.table.columns):
        for module in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
            importlib.import_module(module.name)
    for kind in Reduction.__subclasses__():
        if kind.__module__.startswith("microagg."):
            yield kind


def test_every_reduction_has_a_case() -> None:
    assert {kind.__name__ for kind in reductions()} - {kind.__name__ for kind in CASES} <= {"Count"}


@pytest.mark.parametrize("kind", CASES, ids=lambda kind: kind.__name__)
def test_any_split_gives_what_one_chunk_gives(kind: type[Reduction], tmp_path: Path) -> None:
    make, result = CASES[kind]
    whole = result(make(slice(0, RECORDS), tmp_path))
    for cuts in SPLITS:
        ends = [0, *(SIZE * cut for cut in cuts), RECORDS]
        parts = [slice(*pair) for pair in itertools.pairwise(ends)]
        made = [make(part, tmp_path) for part in parts]
        assert all(type(part) is kind for part in made)
        assert result(combine_chunks(made)) == whole, cuts


@pytest.mark.parametrize("kind", CASES, ids=lambda kind: kind.__name__)
def test_neighbours_may_be_combined_first(kind: type[Reduction], tmp_path: Path) -> None:
    make, result = CASES[kind]
    first, second, third = (
        make(slice(*pair), tmp_path) for pair in ((0, 10), (10, 35), (35, RECORDS))
    )
    one_by_one = result(
        combine_chunks(make(slice(*pair), tmp_path) for pair in ((0, 10), (10, 35), (35, RECORDS)))
    )
    assert result(first.combine(second.combine(third))) == one_by_one

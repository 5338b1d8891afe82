"""Releases of columns of every type, in every role: the type that came in comes out, files can be
written, and made again to the byte.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

import every_type
import microagg as ma
from microagg.pipeline.files import anonymize_file
from microagg.release.release import Release
from microagg.release.settings import Settings
from microagg.studies.repeating import repeat_file

TIMES = 3
ROLES: dict[str, dict[str, Any]] = {
    "quasi": {"quasi": ["x", "age"]},
    "alone": {"quasi": ["x"], "rest": "drop"},
    "confidential": {"quasi": ["age"], "confidential": ["x"], "l": 2},
    "keep": {"quasi": ["age"], "keep": ["x"]},
    "exact": {"quasi": ["x", "age"], "precision": "full", "accept_risk": ["full-precision"]},
}
NAMES = {gaps: list(every_type.all_tables(gaps=gaps)) for gaps in (False, True)}
CASES = [(gaps, name) for gaps, names in NAMES.items() for name in names]
FEW = [
    case
    for number, case in enumerate(CASES)
    if number % 12 == 0 or "decimal256" in case[1] or "object" in case[1] or "view" in case[1]
]


def table_of(name: str, *, gaps: bool) -> Any:
    """Eighteen records: the column of this type three times over, and an age without gaps."""
    once = every_type.all_tables(gaps=gaps)[name]
    ages = [i % 7 + i // 6 for i in range(6 * TIMES)]
    if isinstance(once, pd.DataFrame):
        table = pd.concat([once] * TIMES).assign(age=ages)
        return table.set_axis([f"r{i}" for i in range(len(table))])
    if isinstance(once, pl.DataFrame):
        return pl.concat([once] * TIMES).with_columns(pl.Series("age", ages))
    return pa.concat_tables([once] * TIMES).append_column("age", pa.array(ages))


def type_of(table: Any, name: str = "x") -> Any:
    """The type of a column; of categories, these apart from it."""
    if isinstance(table, pd.DataFrame):
        kind = table[name].dtype
        if isinstance(kind, pd.CategoricalDtype):
            return "categories", kind.ordered, kind.categories.dtype
        return kind
    kind = table.schema[name] if isinstance(table, pl.DataFrame) else table.schema.field(name).type
    return pl.Enum if isinstance(kind, pl.Enum) else kind


def categories_of(table: Any, name: str = "x") -> list[Any]:
    if isinstance(table, pd.DataFrame):
        return (
            list(table[name].dtype.categories)
            if isinstance(table[name].dtype, pd.CategoricalDtype)
            else []
        )
    if isinstance(table, pl.DataFrame):
        kind = table.schema[name]
        return kind.categories.to_list() if isinstance(kind, pl.Enum) else []
    column = table.column(name)
    return column.chunk(0).dictionary.to_pylist() if pa.types.is_dictionary(column.type) else []


def is_ordered(table: Any, name: str = "x") -> bool:
    """Return True if the type of a column declares an order of its categories."""
    if isinstance(table, pd.DataFrame):
        return bool(getattr(table[name].dtype, "ordered", False))
    if isinstance(table, pl.DataFrame):
        return isinstance(table.schema[name], pl.Enum)
    return bool(getattr(table.schema.field(name).type, "ordered", False))


def holds(name: str, role: str, folder: Path, *, gaps: bool) -> None:
    """Release, compare types, index and the order of categories, and write both formats."""
    table = table_of(name, gaps=gaps)
    release = ma.anonymize(table, 3, seed=1, method="mdav", **ROLES[role])
    if role != "exact":  # whole numbers and Decimals have no exact means
        assert type_of(release.table) == type_of(table)
    before, after = categories_of(table), categories_of(release.table)
    expected = [value for value in before if value in after]
    assert after == (expected if is_ordered(table) else sorted(expected))
    if isinstance(table, pd.DataFrame):
        assert release.table.index.equals(table.index)
    for suffix in ("csv", "parquet"):
        assert release.save(folder / f"out.{suffix}")[0].exists()
    again = ma.anonymize(table, settings=Settings.from_data(release.settings.as_data()))
    assert again._arrow.equals(release._arrow)


@pytest.mark.slow
@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize(("gaps", "name"), FEW)
def test_types_in_and_out(name: str, role: str, tmp_path: Path, *, gaps: bool) -> None:
    holds(name, role, tmp_path, gaps=gaps)


@pytest.mark.nightly
@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize(("gaps", "name"), [case for case in CASES if case not in FEW])
def test_all_types_in_and_out(name: str, role: str, tmp_path: Path, *, gaps: bool) -> None:
    holds(name, role, tmp_path, gaps=gaps)


def side_by_side(*, gaps: bool) -> pa.Table:
    """All types of Arrow that a parquet file holds, as columns of one table."""
    columns = {}
    for name in every_type.of_arrow(gaps=gaps):
        column = table_of(name, gaps=gaps).column("x")
        if column.type not in (pa.string_view(), pa.float16()):
            columns[name] = column
    return pa.table(columns)


@pytest.mark.slow
@pytest.mark.parametrize("gaps", [False, True])
@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_all_types_are_released_and_repeated(suffix: str, tmp_path: Path, *, gaps: bool) -> None:
    table = side_by_side(gaps=gaps)
    source, target, again = (
        tmp_path / "in.parquet",
        tmp_path / f"out.{suffix}",
        tmp_path / f"again.{suffix}",
    )
    parquet.write_table(table, source)
    made: Release = anonymize_file(
        source, target, settings=Settings.of(k=3, quasi=table.column_names, method="mdav")
    )
    assert made.is_mixed
    repeat_file(f"{target}.internal.json", source, again)
    assert again.read_bytes() == target.read_bytes()


@pytest.mark.parametrize("values", [[None, None, None, 5, 5, 5], ["a", "a", "a", None, None, None]])
def test_a_lone_column_with_gaps_loses_no_record(values: list[Any], tmp_path: Path) -> None:
    """An empty line is no record to most readers, so a gap is written in quotes."""
    release = ma.anonymize(pa.table({"x": values}), 3, ["x"], method="mdav", seed=1)
    frame = pd.read_csv(release.save(tmp_path / "out.csv")[0])
    assert (len(frame), frame["x"].isna().tolist().count(True)) == (6, 3)

"""Tables that are queries still: a LazyFrame of polars, a relation of DuckDB."""

from __future__ import annotations

from pathlib import Path

import duckdb
import polars as pl
import pyarrow as pa
import pytest

import microagg as ma
from microagg.table.columns.frames import open_frame

QUASI = ["sex", "born", "marital", "income"]


@pytest.fixture(scope="module")
def residents() -> pa.Table:
    return ma.datasets.residents(60).select([*QUASI, "diagnosis"])


def released(table: object) -> ma.Release:
    return ma.anonymize(table, k=3, quasi=QUASI, confidential="diagnosis", method="mdav", seed=1)


def test_a_lazyframe_is_collected(residents: pa.Table) -> None:
    table = pl.from_arrow(residents)
    assert isinstance(table, pl.DataFrame)
    from_query = released(table.lazy().filter(pl.lit(True)))
    assert isinstance(from_query.table, pl.DataFrame)
    assert from_query.table.equals(released(table).table)
    assert from_query.manifest["input"]["digest"] == released(table).manifest["input"]["digest"]


def test_a_relation_of_duckdb_is_fetched_as_arrow(residents: pa.Table, tmp_path: Path) -> None:
    with duckdb.connect() as base:
        base.register("residents", residents)
        from_query = released(base.sql("select * from residents"))
    assert isinstance(from_query.table, pa.Table)
    assert from_query.labels.tolist() == released(residents).labels.tolist()
    for name in QUASI:
        assert from_query.table[name].to_pylist() == released(residents).table[name].to_pylist()
    assert ma.check(from_query.table, QUASI, k=3).holds
    from_query.save(tmp_path / "out.parquet")


def test_queries_are_looked_at_by_all_public_functions(residents: pa.Table) -> None:
    lazy = pl.LazyFrame(pl.from_arrow(residents))
    assert not ma.check(lazy, QUASI, k=3).holds
    assert ma.check(duckdb.sql("select 1 as a from range(5)"), ["a"], k=5).holds
    assert set(ma.propose(lazy).roles) == {*QUASI, "diagnosis"}


def test_a_query_that_fails_is_told_in_a_sentence_without_values() -> None:
    frame = pl.DataFrame({"age": ["secret-41", "x", "y"]})
    with pytest.raises(ma.InputError, match=r"the query behind the table fails") as error:
        released(frame.lazy().with_columns(pl.col("age").cast(pl.Int64)))
    assert "secret" not in str(error.value)
    with duckdb.connect() as base:
        base.register("people", pa.table({"age": ["secret-41"]}))
        relation = base.sql("select cast(age as integer) as age from people")
        with pytest.raises(ma.InputError, match=r"the query behind the table fails") as error:
            released(relation)
    assert "secret" not in str(error.value)


def test_a_closed_database_and_an_empty_result() -> None:
    base = duckdb.connect()
    relation = base.sql("select 1 as age where false")
    with pytest.raises(ma.InputError, match="no records"):
        released(relation)
    base.close()
    with pytest.raises(ma.InputError):
        released(relation)
    with pytest.raises(ma.InputError, match=r"pandas, polars or Arrow table, a LazyFrame"):
        released([[1, 2], [3, 4]])


@pytest.mark.parametrize("stop", [KeyboardInterrupt, MemoryError])
def test_a_query_that_is_stopped_is_not_called_wrong(
    monkeypatch: pytest.MonkeyPatch, stop: type[BaseException]
) -> None:
    def stopped(query: pl.LazyFrame, **options: object) -> None:
        raise stop

    monkeypatch.setattr(pl.LazyFrame, "collect", stopped)
    with pytest.raises(stop):
        open_frame(pl.LazyFrame({"age": [1, 2, 3]}))

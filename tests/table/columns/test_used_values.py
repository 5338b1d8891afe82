"""Tables that are written or handed out hold the values of their records and nothing else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

import microagg as ma
from microagg.files.commit.writing import write_table
from microagg.table.columns.arrow import strip_metadata

GHOSTS = [f"canary-ghost-{i}" for i in range(50)]
TOWNS = ["Ulm", "Bonn", "Kiel", "Bonn", "Ulm", "Bonn"]
LEVELS = [*GHOSTS[:25], "Ulm", *GHOSTS[25:], "Kiel", "Bonn"]


def arrow(*, ordered: bool) -> pa.Table:
    """A slice of a longer table, whose categories still name everybody."""
    codes = pa.array([LEVELS.index(town) for town in [*GHOSTS, *TOWNS]], pa.int16())
    column = pa.DictionaryArray.from_arrays(codes, pa.array(LEVELS), ordered=ordered)
    return pa.table({"age": [float(i) for i in range(len(codes))], "town": column}).slice(
        len(GHOSTS)
    )


def of_pandas(*, ordered: bool) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "age": [1.0, 2, 3, 4, 5, 6],
            "town": pd.Categorical(TOWNS, categories=LEVELS, ordered=ordered),
        }
    )


def of_polars(kind: Any) -> pl.DataFrame:
    return pl.DataFrame({"age": [1.0, 2, 3, 4, 5, 6], "town": pl.Series(TOWNS, dtype=kind)})


FRAMES = {
    "arrow": arrow(ordered=False),
    "arrow-ordered": arrow(ordered=True),
    "arrow-chunks": pa.concat_tables(
        [arrow(ordered=False).slice(0, 2), arrow(ordered=False).slice(2)]
    ),
    "pandas": of_pandas(ordered=False),
    "pandas-ordered": of_pandas(ordered=True),
    "pandas-over-arrow": arrow(ordered=False).to_pandas(types_mapper=pd.ArrowDtype),
    "polars-enum": of_polars(pl.Enum(LEVELS)),
    "polars-categorical": of_polars(pl.Categorical),
    "arrow-of-polars": of_polars(pl.Enum(LEVELS)).to_arrow(),
}


@pytest.mark.parametrize("suffix", [".parquet", ".csv"])
@pytest.mark.parametrize("role", ["keep", "confidential"])
@pytest.mark.parametrize("name", FRAMES)
def test_categories_of_nobody_are_not_released(
    tmp_path: Path, name: str, role: str, suffix: str
) -> None:
    release = ma.anonymize(
        FRAMES[name],
        k=3,
        quasi=["age"],
        **{role: ["town"]},
        method="mdav",
        seed=1,
        date="2026-01-01",
    )
    for path in release.save(tmp_path / f"out{suffix}"):
        assert b"canary-ghost" not in path.read_bytes(), path.name
    table = release.table
    if isinstance(table, pa.Table):
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, table.schema) as stream:
            stream.write_table(table)
        assert b"canary-ghost" not in sink.getvalue().to_pybytes()
        assert table.column("town").to_pylist() == TOWNS
    elif name == "pandas-over-arrow":
        kept = pa.table({"town": table["town"].array.__arrow_array__()}).unify_dictionaries()
        assert kept.column("town").chunk(0).dictionary.to_pylist() == ["Bonn", "Kiel", "Ulm"]
        assert table["town"].dtype == FRAMES[name]["town"].dtype
        assert list(table["town"]) == TOWNS
    elif isinstance(table, pd.DataFrame):
        expected = ["Ulm", "Kiel", "Bonn"] if table["town"].cat.ordered else ["Bonn", "Kiel", "Ulm"]
        assert list(table["town"].cat.categories) == expected, "in their order, or sorted"
        assert table["town"].cat.ordered == FRAMES[name]["town"].cat.ordered
        assert list(table["town"]) == TOWNS
    elif isinstance(table["town"].dtype, pl.Enum):
        assert table["town"].dtype.categories.to_list() == ["Ulm", "Kiel", "Bonn"]
        assert table["town"].to_list() == TOWNS


def test_types_survive(tmp_path: Path) -> None:
    table = arrow(ordered=True)
    write_table(table, tmp_path / "out.parquet")
    result = parquet.read_table(tmp_path / "out.parquet")
    assert result.column("town").chunk(0).dictionary.to_pylist() == ["Ulm", "Kiel", "Bonn"]
    kind = strip_metadata(table).schema.field("town").type
    assert (kind.ordered, kind.index_type) == (True, pa.int16())
    untouched = pa.table({"a": [1, None], "b": ["x", None], "c": [[1], None]})
    assert strip_metadata(untouched).equals(untouched)


@pytest.mark.parametrize(
    "column",
    [
        pa.array([None, None], pa.dictionary(pa.int8(), pa.string())),
        pa.array(["x", None], pa.dictionary(pa.int8(), pa.string())),
        pa.array([["x"], None], pa.list_(pa.dictionary(pa.int8(), pa.string()))),
        pa.array([{"a": "x"}, None], pa.struct([("a", pa.dictionary(pa.int8(), pa.string()))])),
        pa.array(["x", None], pa.string_view()),
        pa.array([b"x", None], pa.binary_view()),
    ],
    ids=lambda column: str(column.type)[:20],
)
def test_odd_columns_keep_their_values(column: pa.Array) -> None:
    assert strip_metadata(pa.table({"a": column})).column("a").to_pylist() == column.to_pylist()


def test_metadata_stays_behind(tmp_path: Path) -> None:
    field = pa.field("a", pa.int64(), metadata={"note": "canary-note"})
    table = pa.table([pa.array([1, 2])], schema=pa.schema([field], metadata={"who": "canary-who"}))
    write_table(table, tmp_path / "out.parquet")
    assert b"canary" not in (tmp_path / "out.parquet").read_bytes()


def test_a_polars_that_keeps_categories_of_nobody_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(pl, "__version__", "1.34.0")
    with pytest.raises(
        ma.InputError, match=r"'town' is a Categorical of polars 1\.34\.0.*install polars 1\.35\.1"
    ):
        ma.anonymize(
            FRAMES["polars-categorical"], k=3, quasi=["age"], keep=["town"], method="mdav", seed=1
        )
    release = ma.anonymize(
        FRAMES["polars-enum"], k=3, quasi=["age"], keep=["town"], method="mdav", seed=1
    )
    assert release.table["town"].dtype.categories.to_list() == ["Ulm", "Kiel", "Bonn"]

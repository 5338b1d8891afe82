"""Tables as users have them: paths, open files, dicts, Series, record batches, periods, integer
names.
"""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import microagg as ma
from microagg.files.commit.writing import write_table

AGES = np.random.default_rng(2).integers(20, 60, 24).tolist()
TABLE = pa.table({"age": AGES, "town": ["A", "B"] * 12})
SAID: dict[str, Any] = {"k": 3, "quasi": ["age"], "seed": 1, "method": "mdav"}
EXPECTED = ma.anonymize(TABLE, **SAID, keep="town").table.column("age").to_pylist()


@pytest.mark.parametrize(
    "ending", [".csv", ".tsv", ".csv.gz", ".parquet", ".feather", ".xlsx", ".sav"]
)
@pytest.mark.parametrize("how", ["path", "text path", "open file", "bytes"])
def test_paths_and_open_files(tmp_path: Path, ending: str, how: str) -> None:
    path = tmp_path / f"in{ending}"
    write_table(TABLE, path)
    content = io.BytesIO(
        path.read_bytes() if ending != ".tsv" else path.read_bytes().replace(b"\t", b",")
    )
    with path.open("rb") as file:
        source: Any = {"path": path, "text path": str(path), "open file": file, "bytes": content}[
            how
        ]
        release = ma.anonymize(source, **SAID, keep="town")
    assert release.table.column("age").to_pylist() == EXPECTED
    assert release.manifest["input"]["file"].endswith(ending) or how == "bytes"


def test_text_streams_and_what_cannot_be_read(tmp_path: Path) -> None:
    text = "age,town\n" + "".join(f"{age},ü\n" for age in AGES)
    assert (
        ma.anonymize(io.StringIO(text), **SAID, keep="town").table.column("age").to_pylist()
        == EXPECTED
    )
    closed = io.StringIO(text)
    closed.close()
    with pytest.raises(ma.InputError, match="the open file cannot be read"):
        ma.anonymize(closed, **SAID)
    with pytest.raises(ma.InputError, match=r"^'open file.csv' is empty"):
        ma.anonymize(io.StringIO(""), **SAID)
    with pytest.raises(ma.InputError, match=r"there is no file 'none\.csv'"):
        ma.anonymize("none.csv", **SAID)


def test_anonymize_file_takes_open_files_and_refuses_others_in_a_sentence(tmp_path: Path) -> None:
    write_table(TABLE, tmp_path / "in.csv")
    with (tmp_path / "in.csv").open() as file:
        ma.anonymize_file(file, tmp_path / "out.csv", **SAID, keep="town")
    assert (tmp_path / "out.csv").exists()
    with pytest.raises(ma.InputError, match=r"use ma.anonymize\(file, …\).save\(target\)"):
        ma.anonymize_file(io.StringIO("age\n1\n"), tmp_path / "other.csv", **SAID)
    with pytest.raises(ma.InputError, match="source must be the path of a file"):
        ma.anonymize_file(TABLE, tmp_path / "other.csv", **SAID)
    with (
        (tmp_path / "other.csv").open("w") as file,
        pytest.raises(ma.InputError, match="target must be"),
    ):
        ma.anonymize_file(tmp_path / "in.csv", file, **SAID, keep="town")


def test_other_containers_come_back_as_what_they_were() -> None:
    settings = {**SAID, "keep": "town"}
    columns = ma.anonymize(TABLE.to_pydict(), **settings).table
    assert columns == {"age": EXPECTED, "town": ["A", "B"] * 12}
    batch = ma.anonymize(TABLE.to_batches()[0], **settings).table
    assert isinstance(batch, pa.RecordBatch)
    assert batch.column("age").to_pylist() == EXPECTED
    index = [f"r{number}" for number in range(24)]
    series = ma.anonymize(pd.Series(AGES, index=index, name="age"), **SAID).table
    pd.testing.assert_series_equal(series, pd.Series(EXPECTED, index=index, name="age"))
    unnamed = ma.anonymize(pd.Series(AGES), **{**SAID, "quasi": 0}).table
    assert unnamed.name is None
    assert ma.anonymize(pl.Series("age", AGES), **SAID).table.to_list() == EXPECTED
    assert (
        ma.anonymize(pa.chunked_array([AGES]), **{**SAID, "quasi": "0"}).table.to_pylist()
        == EXPECTED
    )


def test_integer_names_of_pandas_come_back() -> None:
    frame = pd.DataFrame({0: AGES, 7: ["A", "B"] * 12, "x": 1.5})
    release = ma.anonymize(frame, **{**SAID, "quasi": [0]}, keep=[7, "x"])
    assert list(release.table.columns) == [0, 7, "x"]
    assert release.table[0].tolist() == EXPECTED
    assert ma.check(release.table, 0, k=3).holds
    with pytest.raises(ma.InputError, match="'0' occurs more than once"):
        ma.anonymize(pd.DataFrame([[1, 2]] * 9, columns=[0, "0"]), k=3, quasi=[0])


def test_periods_become_the_moments_at_which_they_begin(tmp_path: Path) -> None:
    months = pd.Series(pd.period_range("2020-01", periods=24, freq="M"))
    frame = pd.DataFrame({"age": AGES, "month": months, "since": months})
    release = ma.anonymize(frame, **{**SAID, "quasi": ["age", "month"]}, keep="since")
    assert release.table["since"].tolist() == months.dt.to_timestamp().tolist()
    days = pd.to_datetime(release.table["month"])
    assert days.between("2020-01-01", "2021-12-01").all()
    assert ma.check(release.table, ["age", "month"], k=3).holds
    release.save(tmp_path / "out.csv")


@pytest.mark.parametrize(
    ("table", "says"),
    [
        ({"age": [1, 2], "b": [1]}, "lists of one length"),
        ({"age": "123"}, "column 'age' of the dict is no list"),
        ({"age": [1, "x", 2.5]}, "column 'age' mixes values"),
        ({("a",): [1, 2, 3]}, "must be text or whole numbers"),
        ({}, "the table has no columns"),
        (7, "the table must be"),
        (None, "the table must be"),
        ([1, 2], "the table must be"),
    ],
)
def test_what_is_no_table(table: Any, says: str) -> None:
    with pytest.raises(ma.InputError, match=says) as refusal:
        ma.anonymize(table, **SAID)
    assert "123" not in str(refusal.value)

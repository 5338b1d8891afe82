"""Names of the columns of files, folders of parts and patterns, in their order."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.csv as arrow_csv
import pyarrow.feather as feather
import pyarrow.parquet as parquet
import pytest

import microagg as ma
from microagg.files.column_names import columns_of_file

TABLE = pa.table({"q_age": [30, 40], "Ort": ["Ulm", "Bonn"], "q_rent": [7.5, 8.0]})


@pytest.fixture
def files(tmp_path: Path) -> Path:
    arrow_csv.write_csv(TABLE, tmp_path / "in.csv")
    parquet.write_table(TABLE, tmp_path / "in.parquet")
    feather.write_feather(TABLE, str(tmp_path / "in.feather"))
    (tmp_path / "parts").mkdir()
    for number in range(2):
        parquet.write_table(TABLE, tmp_path / "parts" / f"part-{number}.parquet")
    return tmp_path


@pytest.mark.parametrize("name", ["in.csv", "in.parquet", "in.feather", "parts", "parts/*.parquet"])
def test_names_of_every_kind_of_file(files: Path, name: str) -> None:
    assert columns_of_file(files / name) == TABLE.column_names
    assert columns_of_file((files / name).as_posix()) == TABLE.column_names


def test_without_a_header_columns_are_numbered(files: Path) -> None:
    (files / "bare.csv").write_text("30,Ulm\n40,Bonn\n")
    assert columns_of_file(files / "bare.csv", header=False) == ["1", "2"]


def test_what_is_not_there_is_refused(files: Path) -> None:
    with pytest.raises(ma.InputError):
        columns_of_file(files / "nothing.csv")

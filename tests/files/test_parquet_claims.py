"""Parquet files are refused from the byte on for which a table has no room."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest

import microagg as ma
from microagg.files.columnar import parquet_format

ROWS = 8000


def refused(path: Path, monkeypatch: pytest.MonkeyPatch, most: float) -> bool:
    monkeypatch.setattr(parquet_format, "largest_table", lambda path: most)
    try:
        parquet_format._check_bombs(path, pa.parquet.ParquetFile(path))
    except ma.InputError:
        return True
    return False


@pytest.mark.parametrize(
    ("value", "kind", "width"),
    [
        (True, pa.bool_(), 1 / 8),
        (7, pa.int32(), 4),
        (7, pa.int64(), 8),
        (0, pa.date32(), 4),
        (0.5, pa.float32(), 4),
        (0.5, pa.float64(), 8),
        (b"abc", pa.binary(3), 3),
        (Decimal("1.5"), pa.decimal128(30, 1), 13),
        (None, pa.float64(), 8),
    ],
)
def test_every_value_takes_its_width(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, value: Any, kind: pa.DataType, width: float
) -> None:
    monkeypatch.setattr(parquet_format, "LEAST_A_RECORD", 0)
    table = pa.table({"x": pa.array([value] * ROWS, kind)})
    pa.parquet.write_table(table, tmp_path / "in.parquet", row_group_size=3000)
    packed = pa.parquet.ParquetFile(tmp_path / "in.parquet").metadata
    largest = max(packed.row_group(group).total_byte_size for group in range(3))
    needed = max(ROWS * width, largest)
    assert ROWS * width >= largest or value is True
    assert not refused(tmp_path / "in.parquet", monkeypatch, needed)
    assert refused(tmp_path / "in.parquet", monkeypatch, needed - 1)


def test_columns_add_up_and_records_of_none_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = pa.table({"a": pa.repeat(7, ROWS), "b": pa.repeat(0.5, ROWS), "c": pa.nulls(ROWS)})
    pa.parquet.write_table(table, tmp_path / "in.parquet")
    monkeypatch.setattr(parquet_format, "LEAST_A_RECORD", 0)
    assert not refused(tmp_path / "in.parquet", monkeypatch, ROWS * 20)
    assert refused(tmp_path / "in.parquet", monkeypatch, ROWS * 20 - 1)
    monkeypatch.setattr(parquet_format, "LEAST_A_RECORD", 50)
    assert not refused(tmp_path / "in.parquet", monkeypatch, ROWS * 50)
    assert refused(tmp_path / "in.parquet", monkeypatch, ROWS * 50 - 1)


def test_texts_that_may_be_larger_than_they_look_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    long = pa.array(["x" * 500] * 200)
    table = pa.table({"b": long, "a": long, "n": pa.repeat(1, 200), "l": [["x"]] * 200})
    pa.parquet.write_table(table, tmp_path / "in.parquet")
    file = pa.parquet.ParquetFile(tmp_path / "in.parquet")
    group = file.metadata.row_group(0)
    loose = sum(
        200 * group.column(index).total_uncompressed_size
        for index in range(group.num_columns)
        if group.column(index).physical_type == "BYTE_ARRAY"
    )
    for most, named in ((loose, []), (loose - 1, ["a", "b"])):
        monkeypatch.setattr(parquet_format, "largest_table", lambda path, most=most: most)
        assert parquet_format._check_bombs(tmp_path / "in.parquet", file) == named


@pytest.mark.parametrize("groups", [1, 3])
def test_texts_are_unpacked_as_far_as_there_is_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, groups: int
) -> None:
    texts = [("x" if row % 2 else "yy") * 300 if row % 5 else None for row in range(300)]
    table = pa.table({"text": texts, "n": range(300)})
    pa.parquet.write_table(table, tmp_path / "in.parquet", row_group_size=300 // groups)
    path = tmp_path / "in.parquet"

    def unpacked(most: int) -> pa.Table:
        monkeypatch.setattr(parquet_format, "largest_table", lambda path: most)
        with pa.parquet.ParquetFile(path, read_dictionary=["text"]) as file:
            return parquet_format._unpacked(path, file)

    assert unpacked(1 << 30).equals(table)
    letters = sum(len(text) for text in texts if text)
    with pytest.raises(ma.InputError):
        unpacked(letters - 1)
    with pytest.raises(ma.InputError):
        unpacked(letters + table.nbytes)
    assert unpacked(letters + 2 * table.nbytes).equals(table)


class Understated:
    """A parquet file whose footer says that it has one record."""

    def __init__(self, path: Path) -> None:
        self._file = pa.parquet.ParquetFile(path)
        self.metadata, self.schema_arrow = self, self._file.schema_arrow
        self.num_rows = 1

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file.metadata, name)


def test_records_of_all_groups_count_whatever_the_footer_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = pa.table({"a": pa.nulls(ROWS)})
    pa.parquet.write_table(table, tmp_path / "in.parquet", row_group_size=ROWS // 4)
    monkeypatch.setattr(parquet_format, "LEAST_A_RECORD", 50)
    for most, fits in ((ROWS * 50, True), (ROWS * 50 - 1, False)):
        monkeypatch.setattr(parquet_format, "largest_table", lambda path, most=most: most)
        file = Understated(tmp_path / "in.parquet")
        if fits:
            assert parquet_format._check_bombs(tmp_path / "in.parquet", file) == []
        else:
            with pytest.raises(ma.InputError):
                parquet_format._check_bombs(tmp_path / "in.parquet", file)

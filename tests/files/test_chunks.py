"""Tables read piece by piece: any records of any files, and what is wrong with them in one
sentence.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

import microagg as ma
from microagg.files.chunks import Source, files_of, is_in_parts, read_whole


def table_of(records: int = 300) -> pa.Table:
    return pa.table({"a": np.arange(records), "b": [f"t{number % 7}" for number in range(records)]})


@pytest.fixture
def sources(tmp_path: Path) -> list[Source]:
    table = table_of()
    pa.parquet.write_table(table, tmp_path / "in.parquet", row_group_size=70)
    with pa.ipc.new_file(tmp_path / "in.arrow", table.schema) as file:
        for batch in table.to_batches(max_chunksize=41):
            file.write_batch(batch)
    (tmp_path / "parts").mkdir()
    for number, (first, count) in enumerate([(0, 100), (100, 1), (101, 199)]):
        pa.parquet.write_table(
            table.slice(first, count), tmp_path / "parts" / f"{number}.parquet", row_group_size=33
        )
    (tmp_path / "parts" / "_SUCCESS").touch()
    (tmp_path / "parts" / ".hidden.parquet").write_bytes(b"no table")
    return [
        Source.of(tmp_path / name)
        for name in ("in.parquet", "in.arrow", "parts", "parts/*.parquet")
    ]


def test_any_records_of_any_files(sources: list[Source]) -> None:
    rng = np.random.default_rng(2)
    for source in sources:
        assert source.records == 300
        assert source.read(0, 300).equals(table_of())
        for _ in range(20):
            first, last = sorted(rng.integers(0, 301, 2).tolist())
            assert source.read(first, last - first).equals(table_of().slice(first, last - first))
            assert source.read(first, last - first, ["b"]).equals(
                table_of().slice(first, last - first).select(["b"])
            )


def test_what_is_wrong_with_parts_is_told(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(
        ma.InputError, match="is not a file, and as a folder it has no parquet files"
    ):
        files_of(tmp_path / "empty")
    with pytest.raises(ma.InputError, match="there is no file"):
        files_of(tmp_path / "empty" / "*.parquet")
    pa.parquet.write_table(table_of(), tmp_path / "empty" / "1.parquet")
    pa.parquet.write_table(table_of().rename_columns(["a", "c"]), tmp_path / "empty" / "2.parquet")
    with pytest.raises(ma.InputError, match="does not have the columns and types"):
        read_whole(tmp_path / "empty")
    (tmp_path / "empty" / "2.parquet").write_bytes(b"PAR1 and nothing else")
    with pytest.raises(ma.InputError, match="not a readable parquet file"):
        read_whole(tmp_path / "empty")
    (tmp_path / "a[1].parquet").touch()
    assert not is_in_parts(tmp_path / "a[1].parquet"), "a file that is there is that file"


def test_a_folder_that_may_not_be_looked_into(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(folder: Path) -> None:
        raise PermissionError(13, "Permission denied", str(folder))

    monkeypatch.setattr(Path, "iterdir", refused)
    with pytest.raises(ma.InputError, match="cannot be looked into; check its permissions"):
        files_of(tmp_path)


def test_a_file_that_changes_while_it_is_read(tmp_path: Path) -> None:
    pa.parquet.write_table(table_of(), tmp_path / "in.parquet")
    source = Source.of(tmp_path / "in.parquet")
    pa.parquet.write_table(table_of(200), tmp_path / "in.parquet")
    with pytest.raises(ma.InputError, match="was changed while it was read"):
        source.read(100, 200)

"""The sizes that an Arrow file claims, against those of the table that it holds."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from microagg.files.columnar.arrow_blocks import MAGIC, Claim, DamagedError, claims_of


def table_of(records: int) -> pa.Table:
    rng = np.random.default_rng(4)
    return pa.table(
        {
            "equal": np.zeros(records),
            "noise": rng.bytes(8 * records) and rng.integers(0, 2**62, records),
            "gaps": pa.array([None if row % 3 else row for row in range(records)], pa.int32()),
            "town": pa.array([f"t{row % 5}" for row in range(records)]).dictionary_encode(),
            "few": pa.array([b"x"] * records),
        }
    )


def write(table: pa.Table, path: Path, packing: str | None, batch: int) -> list[pa.RecordBatch]:
    batches = table.combine_chunks().to_batches(max_chunksize=batch)
    options = pa.ipc.IpcWriteOptions(compression=packing)
    with pa.ipc.new_file(path, table.schema, options=options) as file:
        for one in batches:
            file.write_batch(one)
    with pa.ipc.open_file(path) as file:
        return [file.get_batch(index) for index in range(file.num_record_batches)]


def buffers_of(batch: pa.RecordBatch) -> int:
    return sum(buffer.size for column in batch.columns for buffer in column.buffers() if buffer)


@pytest.mark.parametrize("batch", [1, 40, 1000])
@pytest.mark.parametrize("packing", [None, "lz4", "zstd"])
def test_claims_are_the_bytes_of_each_batch(
    tmp_path: Path, packing: str | None, batch: int
) -> None:
    """Packed or not: also of buffers that are kept as they are, because packing gains nothing."""
    table = table_of(100)
    read = write(table, tmp_path / "in.arrow", packing, batch)
    plain = write(table, tmp_path / "plain.arrow", None, batch)
    batches, dictionaries = claims_of(tmp_path / "in.arrow")
    assert [claim.records for claim in batches] == [one.num_rows for one in read]
    expected, of_towns = claims_of(tmp_path / "plain.arrow")
    assert batches == expected
    assert dictionaries == of_towns
    assert [claim.records for claim in dictionaries] == [5]
    assert dictionaries[0].bytes == 6 * 4 + 5 * 2
    if packing is None:
        assert [claim.bytes for claim in batches] == [buffers_of(one) for one in plain]


def test_a_file_without_batches_claims_nothing(tmp_path: Path) -> None:
    write(table_of(0).select(["equal"]), tmp_path / "in.arrow", None, 10)
    assert claims_of(tmp_path / "in.arrow") in (([], []), ([Claim(0, 0)], []))


@pytest.mark.parametrize("packing", [None, "lz4", "zstd"])
def test_a_damaged_file_is_refused_or_claims_what_it_holds(
    tmp_path: Path, packing: str | None
) -> None:
    """Each byte that says where and how large parts are, one after another, is made another."""
    path = tmp_path / "in.arrow"
    write(table_of(30).select(["equal", "town"]), path, packing, 30)
    whole, expected = path.read_bytes(), claims_of(path)
    length = int.from_bytes(whole[-10:-6], "little")
    damaged = 0
    for offset in range(len(whole) - 10 - length, len(whole)):
        for changed in (0, 0x7F, 0xFF):
            content = bytearray(whole)
            content[offset] = changed
            path.write_bytes(content)
            try:
                claims = claims_of(path)
            except DamagedError:
                damaged += 1
            else:
                assert all(
                    claim.records >= 0 for claims_of_kind in claims for claim in claims_of_kind
                )
                if claims[0]:
                    assert all(claim.bytes <= 1 << 20 for claim in claims[0])
    assert damaged > 40
    path.write_bytes(whole)
    assert claims_of(path) == expected


def test_the_end_of_a_file_is_its_mark(tmp_path: Path) -> None:
    path = tmp_path / "in.arrow"
    write(table_of(9), path, None, 9)
    whole = path.read_bytes()
    assert whole.endswith(MAGIC)
    for content in (whole[:-1], whole + b"1", whole[:-1] + b"2", MAGIC, b""):
        path.write_bytes(content)
        with pytest.raises(DamagedError):
            claims_of(path)


@pytest.mark.parametrize(("packing", "most"), [("lz4", 256), ("zstd", 1 << 16)])
def test_no_buffer_unpacks_to_more_than_its_packing_can(
    tmp_path: Path, packing: str, most: int
) -> None:
    path = tmp_path / "in.arrow"
    table = pa.table({"equal": np.zeros(6000)})
    write(table, path, packing, 6000)
    whole = path.read_bytes()
    claim = (48_000).to_bytes(8, "little")
    assert whole.count(claim) == 1
    start = whole.index(claim)
    sizes = [
        size
        for size in range(8, len(whole))
        if whole[start + 8 :].find(size.to_bytes(8, "little")) >= 0
        or whole[:start].find(size.to_bytes(8, "little")) >= 0
    ]
    accepted, refused = [], []
    for claimed in (0, 8 * most, max(sizes) * most + 1, 1 << 45):
        path.write_bytes(whole.replace(claim, claimed.to_bytes(8, "little")))
        try:
            accepted.append((claimed, claims_of(path)[0][0].bytes))
        except DamagedError:
            refused.append(claimed)
    assert accepted == [(0, 0), (8 * most, 8 * most)]
    assert refused == [max(sizes) * most + 1, 1 << 45]
    for negative in (-1, -2):
        path.write_bytes(whole.replace(claim, negative.to_bytes(8, "little", signed=True)))
        if negative == -2:
            with pytest.raises(DamagedError):
                claims_of(path)
        else:
            assert 0 < claims_of(path)[0][0].bytes < len(whole)

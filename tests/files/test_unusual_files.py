"""Files that few programs write: columns without a name, names that are not in UTF-8, unknown time
zones, runs, full disks.
"""

from __future__ import annotations

import errno
import os
import resource
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as parquet
import pytest

import malformed
import microagg as ma
from microagg.files.chunks import Source
from microagg.files.columnar.arrow_format import write as write_arrow
from microagg.files.commit.writing import write_table
from microagg.files.reading import read_table
from microagg.files.stats import reading
from microagg.pipeline.files import anonymize_file

AGES = [30 + number % 40 for number in range(90)]


@pytest.mark.parametrize(
    ("ending", "name", "blank"),
    [
        (".dta", b"\0\0name\0", b"\0\0\0\0\0\0\0"),
        (".xpt", b"name", b"    "),
        (".sas7bdat", b"name", b"    "),
        (".sav", b"NAME", b"    "),
        (".zsav", b"NAME", b"    "),
    ],
)
def test_a_column_without_a_name_is_refused(
    tmp_path: Path, ending: str, name: bytes, blank: bytes
) -> None:
    path = tmp_path / f"in{ending}"
    content = malformed.good(ending)
    assert name in content
    path.write_bytes(content.replace(name, blank))
    with pytest.raises(
        ma.InputError, match=r"column 2 of .* has no name|is not a readable SPSS file"
    ):
        read_table(path)


@pytest.mark.parametrize("ending", [".arrow", ".parquet"])
def test_a_name_that_is_not_utf8_is_refused(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"in{ending}"
    table = pa.table({"age": AGES, "zzzz": AGES})
    if ending == ".arrow":
        feather.write_feather(table, path, compression="uncompressed")
    else:
        parquet.write_table(table, path)
    path.write_bytes(path.read_bytes().replace(b"zzzz", b"\xff\xfezz"))
    for read in (read_table, Source.of):
        with pytest.raises(ma.InputError, match="is not a readable"):
            read(path)


def test_a_time_zone_that_is_not_utf8_is_refused(tmp_path: Path) -> None:
    table = pa.table({"age": AGES, "seen": pa.array(AGES, pa.timestamp("s", "Europe/Berlin"))})
    feather.write_feather(table, tmp_path / "in.arrow", compression="uncompressed")
    content = (tmp_path / "in.arrow").read_bytes()
    (tmp_path / "in.arrow").write_bytes(
        content.replace(b"Europe/Berlin", b"Europe\xff\xff\xff\xffrli")
    )
    for read in (read_table, Source.of):
        with pytest.raises(ma.InputError, match="is not a readable"):
            read(tmp_path / "in.arrow")


@pytest.mark.parametrize("ending", [".arrow", ".parquet"])
@pytest.mark.parametrize(
    "roles", [{"quasi": ["age"], "keep": ["seen"]}, {"quasi": ["age", "seen"]}]
)
def test_moments_in_an_unknown_time_zone_are_released(
    tmp_path: Path, ending: str, roles: dict[str, Any]
) -> None:
    tables = {}
    for zone in ("Mars/Olympus", "UTC"):
        moments = pa.array(range(0, 90_000, 1000), pa.timestamp("ms", zone))
        source, target = tmp_path / f"in{ending}", tmp_path / f"out{ending}"
        write_table(pa.table({"age": AGES, "seen": moments}), source)
        anonymize_file(source, target, 3, seed=1, keep_order=True, **roles)
        written = read_table(target).column("seen")
        assert written.type == moments.type
        tables[zone] = written.cast(pa.int64())
    assert tables["Mars/Olympus"] == tables["UTC"]
    table = pa.table({"age": AGES, "seen": pa.array(AGES).cast(pa.timestamp("s", "Mars/Olympus"))})
    release = ma.anonymize(table, k=3, seed=1, **roles)
    with pytest.raises(ma.InputError, match="a csv file cannot hold all columns"):
        release.save(tmp_path / "out.csv")


def test_runs_in_python(tmp_path: Path) -> None:
    runs = pa.RunEndEncodedArray.from_arrays(pa.array([40, 90], pa.int32()), pa.array([1.5, 2.5]))
    table, plain = (
        pa.table({"age": AGES, "size": sizes}) for sizes in (runs, pa.array(runs.to_pylist()))
    )
    for roles in ({"quasi": ["age", "size"]}, {"quasi": ["age"], "keep": ["size"]}):
        made, expected = (ma.anonymize(data, k=3, seed=1, **roles) for data in (table, plain))
        assert made.table == expected.table
        made.save(tmp_path / "out.csv")
    assert (
        ma.check(table, ["age", "size"], k=2).sizes.tolist()
        == ma.check(plain, ["age", "size"], k=2).sizes.tolist()
    )


def test_runs_in_pieces(tmp_path: Path) -> None:
    runs = pa.RunEndEncodedArray.from_arrays(pa.array([40, 90], pa.int32()), pa.array(["a", "b"]))
    write_arrow(pa.table({"size": pa.array(runs.to_pylist())}), tmp_path / "plain.arrow")
    with pa.ipc.new_file(str(tmp_path / "runs.arrow"), pa.schema([("size", runs.type)])) as file:
        file.write_batch(pa.record_batch([runs], ["size"]))
    source = Source.of(tmp_path / "runs.arrow")
    assert source.schema.types == [pa.string()]
    assert source.read(30, 20) == Source.of(tmp_path / "plain.arrow").read(30, 20)


def test_numbers_of_packages_that_are_none_are_missing() -> None:
    cells = reading._array([31.0, float("nan"), None], text=False, tags=False)
    assert cells.to_pylist() == [31.0, None, None]


@pytest.mark.parametrize("ending", [".xpt", ".dta", ".sav"])
def test_a_full_disk_is_noticed(tmp_path: Path, ending: str) -> None:
    table = pa.table({"age": AGES * 100})
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, before[1]))
    try:
        with pytest.raises(OSError, match=os.strerror(errno.EFBIG)):
            write_table(table, tmp_path / f"out{ending}")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)

"""Files of a store: names, sizes, patterns, bytes that are sent and come back, and what killed runs
leave.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.fs
import pyarrow.parquet
import pytest

import microagg as ma
from microagg.files.chunks import Source, files_of, is_in_parts
from microagg.files.stores import locations
from microagg.files.stores.locations import OLD, Url, parse_location, shown, to_read

TABLE = pa.table({"a": np.arange(30), "b": [f"t{row % 4}" for row in range(30)]})


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A store whose files lie in a folder: desk://bucket/…"""
    system = pyarrow.fs.SubTreeFileSystem(str(tmp_path), pyarrow.fs.LocalFileSystem())
    monkeypatch.setitem(locations.MORE, "desk", lambda: system)
    locations._other.cache_clear()
    (tmp_path / "bucket" / "parts").mkdir(parents=True)
    yield tmp_path / "bucket"
    locations._other.cache_clear()


def test_names_in_addresses() -> None:
    url = Url("desk://key:secret@bucket/my%20survey/in%20put.parquet?region=eu")
    assert str(url) == "desk://bucket/my%20survey/in%20put.parquet"
    assert "secret" not in repr(url)
    assert url.name == "in put.parquet"
    other = url.with_name("a b*.parquet")
    assert other.address == "desk://key:secret@bucket/my%20survey/a%20b*.parquet?region=eu"
    assert (url.is_pattern, other.is_pattern) == (False, True)
    folder = Url("desk://bucket/parts/")
    assert folder.name == "parts"
    assert (folder.address_is_folder, url.address_is_folder) == (True, False)
    assert folder.below("x y").address == "desk://bucket/parts/x%20y"


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("in.parquet", Path("in.parquet")),
        ("s3://bucket/in", Url("s3://bucket/in")),
        ("S3:///bucket/in", Url("s3://bucket/in")),
        (Path("gs://bucket/in"), Url("gs://bucket/in")),
        ("file:///data/in%20put", Path("/data/in put")),
        ("file://localhost/data/in", Path("/data/in")),
        ("file:/data/in", Path("/data/in")),
        ("a:b", Path("a:b")),
    ],
)
def test_paths_and_addresses(path: str | Path, expected: Path | Url) -> None:
    location = parse_location(path)
    assert location == expected
    assert parse_location(location) == location
    with pytest.raises(ma.InputError, match="nothing is read from or written to ftp://"):
        parse_location("ftp://host/in")


def test_what_is_shown_has_no_credentials() -> None:
    assert shown("ftp://me:secret@host:21/in?key=1#x") == "ftp://host:21/in"
    assert shown(Url("s3://a:b@bucket/in")) == "s3://bucket/in"
    assert shown(Path("a@b")) == "a@b"


def test_what_lies_in_a_store(store: Path) -> None:
    (store / "in.csv").write_bytes(b"age\n31\n")
    url, none = Url("desk://bucket/in.csv"), Url("desk://bucket/none.csv")
    assert (url.size(), none.size(), Url("desk://bucket/parts").size()) == (7, None, None)
    assert none.state() is None
    before = url.state()
    assert url.state() == before
    (store / "in.csv").write_bytes(b"age\n32\n")
    os.utime(store / "in.csv", ns=(0, 10**9))
    assert url.state() != before
    assert Url("desk://bucket/parts").is_folder()
    assert not url.is_folder()
    assert not Url("desk://bucket/parts/*").is_folder()
    with to_read(url) as file:
        assert file.read() == b"age\n32\n"
    with to_read(Path("here")) as path:
        assert path == "here"
    says = r"there is no file 'desk://bucket/none\.csv'"
    with pytest.raises(ma.InputError, match=says), to_read(none):
        pass


@pytest.mark.parametrize("at_once", [3, 1 << 20])
def test_bytes_are_fetched_and_sent(
    store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at_once: int
) -> None:
    monkeypatch.setattr(locations, "AT_ONCE", at_once)
    content = bytes(range(100))
    (store / "in.bin").write_bytes(content)
    url = Url("desk://bucket/in.bin")
    for most, expected in ((None, content), (0, b""), (7, content[:7]), (500, content)):
        url.fetch(tmp_path / f"here-{most}", most)
        assert (tmp_path / f"here-{most}").read_bytes() == expected
    with pytest.raises(ma.InputError):
        url.fetch(tmp_path / "here-None")
    target = Url("desk://bucket/new/out.bin")
    part = target.send(tmp_path / "here-None")
    assert part.name != target.send(tmp_path / "here-None").name
    assert part.name.startswith(".")
    assert part.name.endswith(".out.bin.part")
    assert (store / "new" / part.name).read_bytes() == content
    target.take(part, tmp_path / "here-7")
    assert (store / "new" / "out.bin").read_bytes() == content
    part.remove()
    part.remove()
    target.take(part, tmp_path / "here-7")
    assert (store / "new" / "out.bin").read_bytes() == content[:7], "sent again"


def test_only_old_parts_of_the_same_file_are_removed(store: Path) -> None:
    now = time.time()
    ages = {
        ".1.out.csv.part": OLD + 60,
        ".2.out.csv.part": OLD - 60,
        ".3.other.csv.part": OLD + 60,
        "4.out.csv.part": OLD + 60,
        ".5.out.csv": OLD + 60,
    }
    for name, age in ages.items():
        (store / name).write_bytes(b"")
        os.utime(store / name, (now - age, now - age))
    Url("desk://bucket/out.csv").remove_left()
    assert sorted(path.name for path in store.iterdir()) == sorted([*list(ages)[1:], "parts"])


def test_tables_in_a_store(store: Path) -> None:
    for number, (first, count) in enumerate([(0, 13), (13, 17)]):
        part = store / "parts" / f"{number}.parquet"
        pa.parquet.write_table(TABLE.slice(first, count), part, row_group_size=5)
    for hidden in ("_SUCCESS", ".hidden.parquet", "note.txt"):
        (store / "parts" / hidden).write_bytes(b"no table")
    with pa.ipc.new_file(str(store / "in.arrow"), TABLE.schema) as file:
        for batch in TABLE.to_batches(max_chunksize=7):
            file.write_batch(batch)
    addresses = ("desk://bucket/parts", "desk://bucket/parts/*.parquet", "desk://bucket/in.arrow")
    for address in addresses:
        source = Source.of(address)
        assert source.records == 30
        assert source.read(0, 30).equals(TABLE)
        for first, count in ((0, 1), (12, 2), (29, 1), (30, 0), (6, 8)):
            assert source.read(first, count, ["b"]).equals(TABLE.select(["b"]).slice(first, count))
    assert [file.name for file in files_of(addresses[0])] == ["0.parquet", "1.parquet"]
    assert [is_in_parts(address) for address in addresses] == [True, True, False]
    assert Source.of(addresses[2]).pieces == ((7, 7, 7, 7, 2),)
    with pytest.raises(ma.InputError, match=r"note\.txt' is no parquet file"):
        files_of("desk://bucket/parts/*")
    with pytest.raises(ma.InputError, match="there is no file"):
        files_of("desk://bucket/parts/*.csv")
    with pytest.raises(ma.InputError, match="there is no file"):
        files_of("desk://bucket/none.parquet")

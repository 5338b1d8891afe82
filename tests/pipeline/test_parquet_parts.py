"""Releases as a folder of parts: in memory and beyond it the same bytes, put in place by one
rename, whatever fails.
"""

from __future__ import annotations

import contextlib
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

import microagg as ma
import small_blocks
from beyond import in_passes, settings_for, table_of
from failing import Failing, Killed
from microagg.files.chunks import Source, is_in_parts, read_whole
from microagg.files.columnar import parquet_folder
from microagg.files.columnar.parquet_folder import as_target
from microagg.files.commit.writing import clean_folder
from microagg.pipeline.files import anonymize_file
from microagg.pipeline.parquet_parts import PartsWriting
from microagg.pipeline.spill_index import SpillFile, SpillIndex
from microagg.studies.repeating import repeat_file

SETTINGS = settings_for("mixed", keep=["id", "w"])


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    small_blocks.make_small(monkeypatch.setattr)


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "in.parquet"
    pa.parquet.write_table(table_of(5000), path, row_group_size=300)
    return path


def all_files(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


@pytest.mark.slow
def test_the_same_parts_as_in_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: Path
) -> None:
    for name in ("memory", "one", "many", "again", "file"):
        (tmp_path / name).mkdir()
    anonymize_file(source, f"{tmp_path}/memory/out/", **SETTINGS)
    made = all_files(tmp_path / "memory")
    assert sorted(made) == [
        "out.internal.json",
        "out.public.json",
        *(f"out/part-{number:05}.parquet" for number in range(3)),
    ]
    in_passes(monkeypatch, source, f"{tmp_path}/many/out/", 64, 3, 2, **SETTINGS)
    in_passes(monkeypatch, source, f"{tmp_path}/one/out/", 1280, 0, 1, **SETTINGS)
    assert all_files(tmp_path / "many") == made
    assert all_files(tmp_path / "one") == made

    anonymize_file(source, tmp_path / "file" / "out.parquet", **SETTINGS)
    rows = pa.parquet.read_table(tmp_path / "file" / "out.parquet")
    assert read_whole(tmp_path / "many" / "out").equals(rows), (
        "the rows of one file, in their order"
    )
    digests = [
        json.loads((tmp_path / where).read_text("utf-8"))["output"]["digest"]
        for where in ("file/out.parquet.internal.json", "many/out.internal.json")
    ]
    assert digests[0] == digests[1]
    again = repeat_file(
        tmp_path / "file" / "out.parquet.internal.json", source, f"{tmp_path}/again/out/", memory=1
    )
    assert again.notes[0].startswith("the same release")
    assert all_files(tmp_path / "again") == made
    assert [path.stat().st_mode & 0o777 for path in (tmp_path / "many" / "out").iterdir()] == [
        0o666 & ~_umask()
    ] * 3
    assert (tmp_path / "many" / "out").stat().st_mode & 0o777 == 0o777 & ~_umask()


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


@pytest.mark.slow
def test_what_is_a_folder_of_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    release = ma.anonymize(
        table_of(40, kinds="plain"), **{**SETTINGS, "quasi": ["age"], "rest": "drop"}
    )
    monkeypatch.chdir(tmp_path)
    with pytest.raises(
        ma.InputError,
        match=r"cannot tell the format of 'out'; .*or 'out/' for a folder of parquet parts\.",
    ):
        release.save("out")
    with pytest.raises(ma.InputError, match="a name without a dot"):
        as_target("out.parquet/")
    Path("out").mkdir()
    assert [str(path) for path in release.save("out")] == [
        "out",
        "out.internal.json",
        "out.public.json",
    ]
    assert is_in_parts("out")
    assert Source.of("out").records == 40
    release.save("out/")
    with pytest.raises(ma.InputError, match="same file"):
        anonymize_file("out", "out/", k=5, quasi=["age"], rest="drop")
    Path("out/notes.txt").write_text("mine")
    with pytest.raises(
        ma.InputError, match="is not empty, nor the folder of a release, so it is not replaced"
    ):
        release.save("out/")
    Path("out/notes.txt").unlink()
    for name in ("internal", "public"):
        Path(f"out.{name}.json").unlink()
    with pytest.raises(ma.InputError, match="nor the folder of a release"):
        release.save(Path("out"))
    Path("there").write_text("a file")
    with pytest.raises(ma.InputError, match="is no folder"):
        release.save("there/")
    assert sorted(os.listdir()) == ["out", "there"]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::microagg.errors.SavingWarning")
@pytest.mark.parametrize("kind", ["disk full", "killed"])
def test_whatever_fails_all_of_the_old_or_all_of_the_new_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    monkeypatch.setattr("microagg.files.columnar.parquet_folder.RECORDS_IN_A_PART", 64)
    table, roles = (
        table_of(150, kinds="plain"),
        {"quasi": ["age", "rent"], "rest": "drop", "method": "mdav", "date": "2026-01-01"},
    )
    releases = [ma.anonymize(table, k, seed=k, **roles) for k in (3, 7)]
    whole = []
    for release in releases:
        release.save(f"{tmp_path}/out/")
        whole.append(all_files(tmp_path))
    assert whole[0] != whole[1]
    with pytest.MonkeyPatch.context() as patch:
        made = Failing(patch).made
        releases[0].save(f"{tmp_path}/out/")
    for call in range(len(made)):
        for when in ("before", "after"):
            old = whole.index(all_files(tmp_path))
            with pytest.MonkeyPatch.context() as patch:
                failing = Failing(patch, kind, call, when)
                with contextlib.suppress(ma.InputError, KeyboardInterrupt, Killed):
                    releases[1 - old].save(f"{tmp_path}/out/")
            assert failing.failed == made[call]
            if kind != "killed":
                present = {
                    name: what
                    for name, what in all_files(tmp_path).items()
                    if not name.startswith(".")
                }
                assert present in whole, (made[call], call, when)
            clean_folder(tmp_path)
            assert all_files(tmp_path) in whole, (made[call], call, when)


def in_passes_to(patch: pytest.MonkeyPatch, source: Path, target: str, **more: Any) -> Any:
    return in_passes(
        patch, source, target, threads=1, **{**settings_for("plain", keep=["id", "w"]), **more}
    )


@pytest.mark.slow
def test_a_full_disk_beyond_memory_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = tmp_path / "in.parquet"
    pa.parquet.write_table(table_of(2500, kinds="plain"), source)
    with pytest.MonkeyPatch.context() as patch:
        made = Failing(patch).made
        in_passes_to(patch, source, f"{tmp_path}/out/")
    whole = all_files(tmp_path)
    begun = made.index("create_folder")
    for name in ("create_folder", "create", "flush", "rename"):
        call = (
            max(index for index in range(begun, len(made)) if made[index] == name)
            if name == "create_folder"
            else made.index(name, begun)
        )
        with pytest.MonkeyPatch.context() as patch:
            Failing(patch, "disk full", call)
            with pytest.raises(ma.InputError, match=r"full|could not be written"):
                in_passes_to(patch, source, f"{tmp_path}/out/", seed=8)
        assert all_files(tmp_path) == whole, name


@pytest.mark.parametrize("size", [1, 4, 10, 49, 50, 51])
@pytest.mark.parametrize("seed", range(6))
def test_parts_have_the_rows_of_their_place_and_no_others(
    monkeypatch: pytest.MonkeyPatch, seed: int, size: int
) -> None:
    """Each part names the buckets that hold its rows, and how many rows lie before them there."""
    monkeypatch.setattr(parquet_folder, "RECORDS_IN_A_PART", size)
    rng = np.random.default_rng(seed)
    counts = rng.multinomial(50, rng.dirichlet(np.ones(8) * 0.5))  # some buckets are empty
    files = [
        SpillFile(name, tuple((bucket, int(n)) for bucket, n in enumerate(some) if n))
        for name, some in (("a", counts // 2), ("b", counts - counts // 2))
    ]
    pieces = SpillIndex(files)
    plan = PartsWriting.of(pieces, 8, 50)
    rows = np.repeat(np.arange(8), counts)  # the bucket of each row
    bucket_of = {pieces.holding([bucket]): bucket for bucket in range(8) if counts[bucket]}
    numbers, done = [], 0
    for number, before, count, holdings in plan.tasks():
        buckets = [bucket_of[holding] for holding in holdings if holding]
        assert all(holding for holding in (holdings[0], holdings[-1]))
        bucket_rows = np.concatenate([np.repeat(bucket, counts[bucket]) for bucket in buckets])
        assert 0 <= before < counts[buckets[0]]
        assert bucket_rows[before : before + count].tolist() == rows[done : done + count].tolist()
        assert len(bucket_rows) - before - count < counts[buckets[-1]]  # no bucket too many
        numbers.append(number)
        done += count
        assert count == size or done == 50
    assert done == 50
    assert numbers == list(range(-(-50 // size)))

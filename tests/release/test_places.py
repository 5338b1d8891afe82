"""No file takes the place of one that is not of its kind."""

from __future__ import annotations

import json
import os
import threading
import time
from pathlib import Path

import pytest

import microagg as ma
import tables
from microagg.drawing.canvas import write_picture
from microagg.files.commit.journal import journal_of
from microagg.files.commit.locking import lock_of, locked
from microagg.files.commit.writing import StagedFile, clean_folder, put_in_place
from microagg.files.reading import read_table
from microagg.pipeline.files import anonymize_file
from microagg.studies.compare_state import State

OPTIONS = {"quasi": tables.QUASI, "rest": "drop", "method": "mdav", "seed": 1}


@pytest.fixture(scope="module")
def release() -> ma.Release:
    return ma.anonymize(tables.people(), 3, **OPTIONS)


@pytest.mark.parametrize("name", ["r.html", "r.md", "r.json"])
@pytest.mark.parametrize(
    "taken",
    ["my own notes\n", '{"mine": 1}\n', "<!DOCTYPE html>\n<p>mine</p>\n", "# Mine\n\n*For you.*\n"],
)
def test_a_report_replaces_a_report_only(
    tmp_path: Path, release: ma.Release, name: str, taken: str
) -> None:
    path = tmp_path / name
    path.write_text(taken)
    with pytest.raises(ma.InputError, match="is not a report"):
        release.report(path)
    assert path.read_text() == taken
    path.write_text("")
    release.report(path)
    first = path.read_bytes()
    release.report(path, public=True)
    assert path.read_bytes() != first


def test_a_report_does_not_replace_manifests(tmp_path: Path) -> None:
    source = tables.write(tables.people(), tmp_path / "in.csv")
    for name in ("o.csv.json", "O.CSV.json"):
        with pytest.raises(ma.InputError, match="the name of a manifest"):
            anonymize_file(source, tmp_path / "o.csv", 3, report=tmp_path / name, **OPTIONS)
    assert [path.name for path in tmp_path.iterdir()] == ["in.csv"], (
        "found out before anything was written"
    )
    release = anonymize_file(source, tmp_path / "o.csv", 3, **OPTIONS)
    before = tables.snapshot(tmp_path)
    with pytest.raises(ma.InputError, match="is not a report"):
        release.report(tmp_path / "o.csv.internal.json")
    with pytest.raises(ma.InputError, match="is not a report"):
        anonymize_file(source, tmp_path / "p.csv", 3, report=tmp_path / "o.csv.json", **OPTIONS)
    assert tables.snapshot(tmp_path) == before


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("out.csv", b'{"a": 1}'),
        ("out.csv", b"PAR1\x15\x04"),
        ("out.csv", b"\x89PNG\r\n"),
        ("out.parquet", b"a,b\n1,2\n"),
    ],
)
def test_a_table_replaces_a_table_only(
    tmp_path: Path, release: ma.Release, name: str, content: bytes
) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ma.InputError, match="is there and is not a"):
        release.save(tmp_path / name)
    assert tables.snapshot(tmp_path) == {name: content}


def test_manifests_replace_manifests_only(tmp_path: Path, release: ma.Release) -> None:
    (tmp_path / "out.csv.public.json").write_text('{"mine": 1}')
    with pytest.raises(ma.InputError, match="is not a manifest"):
        release.save(tmp_path / "out.csv")
    assert tables.snapshot(tmp_path) == {"out.csv.public.json": b'{"mine": 1}'}


def test_certificates_and_pictures(tmp_path: Path) -> None:
    points = [[float(i), float(i * i % 7)] for i in range(12)]
    bound = ma.lower_bound(points, k=3, time_limit=1)
    for name in ("proof.json", "map.png", "map.svg"):
        (tmp_path / name).write_text('{"format": 2, "microagg": "0.1.0"}')
    before = tables.snapshot(tmp_path)
    with pytest.raises(ma.InputError, match="is not a certificate"):
        bound.save(tmp_path / "proof.json")
    for name in ("map.png", "map.svg"):
        with pytest.raises(ma.InputError, match="is not a picture"):
            write_picture(tmp_path / name, b"")
    assert tables.snapshot(tmp_path) == before
    bound.save(tmp_path / "new.json")
    bound.save(tmp_path / "new.json")
    assert (tmp_path / "new.json").stat().st_mode & 0o777 == 0o600


def test_the_state_of_a_comparison_follows_no_link_and_keeps_no_mode(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").write_text("")
    (tmp_path / "state").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(ma.InputError, match="is a link"):
        State(tmp_path / "state")
    assert (tmp_path / "elsewhere").read_text() == ""
    (tmp_path / "planted").touch(mode=0o666)
    State(tmp_path / "planted")
    assert (tmp_path / "planted").stat().st_mode & 0o777 == 0o600


def test_a_device_is_not_replaced(tmp_path: Path, release: ma.Release) -> None:
    os.mkfifo(tmp_path / "out.csv")
    with pytest.raises(ma.InputError, match="not a file that can be replaced"):
        release.save(tmp_path / "out.csv")


def test_a_lock_makes_others_wait_and_then_refuses_them(
    tmp_path: Path, release: ma.Release, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "out.csv"
    monkeypatch.setattr("microagg.files.commit.locking.WAIT", 0.1)
    with locked(path), pytest.raises(ma.InputError, match="another run is writing"):
        release.save(path)
    assert list(tmp_path.iterdir()) == []
    monkeypatch.setattr("microagg.files.commit.locking.WAIT", 60.0)
    saver = threading.Thread(target=release.save, args=(path,))
    with locked(path):
        saver.start()
        time.sleep(0.2)
        assert not path.exists()
    saver.join()
    assert path.exists()
    assert not lock_of(path).exists()


def test_a_lock_of_a_dead_process_holds_nobody_up(tmp_path: Path, release: ma.Release) -> None:
    lock_of(tmp_path / "out.csv").write_text("")
    release.save(tmp_path / "out.csv")
    assert len(list(tmp_path.iterdir())) == 3


def test_clean_leaves_alone_what_is_in_use_and_what_is_not_ours(tmp_path: Path) -> None:
    token = "00c0ffee00c0ffee"
    part = tmp_path / f".{token}.out.csv.internal.json.part"
    mine = [tmp_path / ".out.csv.part", tmp_path / ".hidden", tmp_path / "out.csv"]
    for path in (part, *mine):
        path.write_text("x")
    with locked(tmp_path / "out.csv"):
        assert clean_folder(tmp_path) == []
        assert part.exists(), "the part of a run that still goes on"
    (done,) = clean_folder(tmp_path)
    assert part.name in done
    assert sorted(tmp_path.iterdir()) == sorted(mine)
    with pytest.raises(ma.InputError, match="is not a folder"):
        clean_folder(tmp_path / "nowhere")


@pytest.mark.parametrize(
    "journal",
    [
        "no journal",
        '{"moves": [{"place": 1}]}',
        json.dumps({"moves": [{"place": "../in.csv", "part": "x", "backup": "y", "replaces": True,
                               "digest": "z"}]}),
        json.dumps({"moves": [{"place": "in.csv", "part": ".00c0ffee00c0ffee.in.csv.part",
                               "digest": "z",
                               "backup": ".00c0ffee00c0ffee.in.csv.old", "replaces": True}]}),
        "[" * 100_000,
    ],
)  # fmt: skip
def test_a_planted_journal_is_not_obeyed(tmp_path: Path, journal: str) -> None:
    tables.write(tables.people(), tmp_path / "in.csv")
    tables.write(tables.people(), tmp_path / "out.csv")
    journal_of(tmp_path / "out.csv").write_text(journal)
    before = tables.snapshot(tmp_path)
    with pytest.raises(ma.InputError, match="is not a journal that this user wrote"):
        read_table(tmp_path / "out.csv")
    left = tmp_path / ".00c0ffee00c0ffee.out.csv.old"
    left.write_text("all that is left of a release")
    with pytest.raises(ma.InputError, match="is not a journal that this user wrote"):
        clean_folder(tmp_path)
    left.unlink()
    assert tables.snapshot(tmp_path) == before


@pytest.mark.parametrize("pieces", [2, 5])
def test_any_number_of_files(tmp_path: Path, pieces: int) -> None:
    for turn in ("old", "new"):
        put_in_place(
            [
                StagedFile(
                    tmp_path / f"out{'.x' * j}", lambda part, turn=turn: part.write_text(turn)
                )
                for j in range(pieces)
            ]
        )
        assert [path.read_text() for path in tmp_path.iterdir()] == [turn] * pieces

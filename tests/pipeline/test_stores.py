"""Tables in object stores: the same release to the byte, no table that is not verified, and no
credentials anywhere.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

import microagg as ma
import small_blocks
from dask_clusters import small_budget
from microagg.cli.start import start
from microagg.files.stores.locations import Url, parse_location
from microagg.pipeline.files import anonymize_file
from microagg.pipeline.memory_budget import MemoryBudget
from microagg.studies.repeating import repeat_file
from stores import KEYS, QUERY, make_store, shelf

ASKED: dict[str, Any] = {
    "k": 5,
    "quasi": ["a", "b"],
    "seed": 3,
    "effort": "quick",
    "date": "2026-01-01",
}
pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a store; nothing may be left in the one for temporary files."""
    make_store()
    for name in ("store", "here", "tmp"):
        (tmp_path / name).mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))
    return tmp_path / "store"


def table_of(records: int) -> pa.Table:
    rng = np.random.default_rng(5)
    return pa.table({"a": rng.integers(0, 500, records), "b": rng.integers(0, 50, records)})


def in_small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    small_blocks.make_small(monkeypatch.setattr)
    monkeypatch.setattr(MemoryBudget, "checked", small_budget())


def contents(folder: Path, name: str = "out") -> dict[str, bytes]:
    return {
        path.name: path.read_bytes()
        for path in sorted(folder.iterdir())
        if path.name.startswith(name)
    }


def nothing_is_left(store: Path) -> bool:
    """Nothing of a run beside its files, and no credentials in these."""
    hidden = [path for path in store.parent.rglob("*") if path.name.startswith(".")]
    kept = b"".join(path.read_bytes() for path in store.rglob("*.json"))
    return not hidden and not list((store.parent / "tmp").iterdir()) and b"sesame" not in kept


def test_csv_files_of_a_store(store: Path) -> None:
    here = store.parent / "here"
    pa.csv.write_csv(table_of(300), store / "in put.csv")
    anonymize_file(store / "in put.csv", here / "out.csv", **ASKED)
    for source in ("in put.csv", "in%20put.csv"):
        release = anonymize_file(shelf(store / source), shelf(store / "out.csv"), **ASKED)
        assert contents(store) == contents(here)
        assert release.notes[-1].startswith("the internal manifest is in the store")
    assert nothing_is_left(store)
    again = repeat_file(
        here / "out.csv.internal.json", shelf(store / "in put.csv"), here / "again.csv"
    )
    assert again.notes[0].startswith("the same release")
    assert (here / "again.csv").read_bytes() == (here / "out.csv").read_bytes()
    assert nothing_is_left(store)


def test_parts_in_a_store_beyond_memory(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    in_small_blocks(monkeypatch)
    here, table = store.parent / "here", table_of(2500)
    (store / "parts").mkdir()
    for number in range(3):
        pa.parquet.write_table(
            table.slice(number * 900, 900), store / "parts" / f"p{number}.parquet"
        )
    for name, source in (("folder", store / "parts"), ("pattern", store / "parts" / "*.parquet")):
        anonymize_file(source, here / f"out-{name}.parquet", **ASKED)
        anonymize_file(
            shelf(source), shelf(store / f"out-{name}.parquet"), memory=1, spill=here, **ASKED
        )
        anonymize_file(shelf(source), shelf(store / f"whole-{name}.parquet"), **ASKED)
        assert (store / f"whole-{name}.parquet").read_bytes() == (
            here / f"out-{name}.parquet"
        ).read_bytes()
    assert contents(store, "out") == contents(here, "out")
    folder = anonymize_file(store / "parts", f"{here}/made/", **ASKED)
    for memory in (1, None):
        anonymize_file(
            shelf(store / "parts"),
            shelf(f"{store}/made{memory}/"),
            memory=memory,
            spill=here,
            **ASKED,
        )
        assert contents(store / f"made{memory}", "part") == contents(here / "made", "part")
        assert (store / f"made{memory}.public.json").exists()
    refused("has files in it", shelf(store / "parts"), shelf(f"{store}/made1/"))
    assert len(contents(here / "made", "part")) > 1
    assert folder.loss["IL"] > 0.0
    manifest = here / "out-folder.parquet.internal.json"
    repeat_file(manifest, shelf(store / "parts"), here / "again.parquet", memory=1)
    assert (here / "again.parquet").read_bytes() == (here / "out-folder.parquet").read_bytes()
    assert nothing_is_left(store)


def test_file_addresses_are_paths(store: Path) -> None:
    pa.csv.write_csv(table_of(100), store / "in put.csv")
    anonymize_file(f"file://{store}/in%20put.csv", f"file://{store}/out.csv", **ASKED)
    assert set(contents(store)) == {"out.csv", "out.csv.internal.json", "out.csv.public.json"}
    assert (store / "out.csv.internal.json").stat().st_mode & 0o777 == 0o600
    assert nothing_is_left(store)


@pytest.mark.parametrize("fails_at", range(7))
def test_a_run_that_ends_while_files_are_put(
    store: Path, monkeypatch: pytest.MonkeyPatch, fails_at: int
) -> None:
    """A table beside its public manifest is that of the manifest, whenever it ends; the next run
    makes all whole.
    """
    pa.csv.write_csv(table_of(300), store / "in.csv")
    here, calls = store.parent / "here", [0]
    anonymize_file(store / "in.csv", here / "out.csv", **{**ASKED, "k": 7})
    anonymize_file(shelf(store / "in.csv"), shelf(store / "out.csv"), **ASKED)
    before, new = contents(store), contents(here)
    with monkeypatch.context() as patched:
        for name in ("_fill", "take", "remove"):
            usual = getattr(Url, name)

            def failing(self: Url, *args: Any, usual: Any = usual) -> Any:
                calls[0] += 1
                if calls[0] == fails_at + 1:
                    raise ma.InputError("the network is gone.")
                return usual(self, *args)

            patched.setattr(Url, name, failing)
        with pytest.raises(ma.InputError, match="network is gone"):
            anonymize_file(shelf(store / "in.csv"), shelf(store / "out.csv"), **{**ASKED, "k": 7})
    present = contents(store)
    assert present["out.csv"] in (before["out.csv"], new["out.csv"])
    if "out.csv.public.json" in present:
        whole = before if present["out.csv"] == before["out.csv"] else new
        assert present == whole
    anonymize_file(shelf(store / "in.csv"), shelf(store / "out.csv"), **{**ASKED, "k": 7})
    assert contents(store) == new


def refused(says: str, *places: str | Path, **more: Any) -> None:
    with pytest.raises(ma.InputError, match=says) as error:
        anonymize_file(*places, **{**ASKED, **more})
    message = str(error.value)
    assert not any(secret in message for secret in ("sesame", "mykey", "openup")), message


def test_what_is_refused(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pa.csv.write_csv(table_of(100), store / "in.csv")
    source, target = shelf(store / "in.csv"), shelf(store / "out.csv")
    refused(f"there is no file 'shelf:/{store}/no.csv'", shelf(store / "no.csv"), target)
    refused("no file .*none/\\*.parquet", shelf(store / "none" / "*.parquet"), target)
    refused("same file", source, source)
    refused("cannot go to a store", source, target, spill=shelf(store))
    refused(
        "nothing is read from or written to ftp", "ftp://mykey:sesame@there/in.csv?openup", target
    )
    refused("cannot be read", "s3://mykey:sesame@there/in.csv?openup=1", target)
    (store / "out.csv").write_bytes(b"%PDF-1.7\0\1\2")
    refused("is there and is not a csv file", source, target)
    (store / "out.csv").unlink()
    (store / "out.csv.public.json").write_text("a diary")
    refused("is there and is not a manifest", source, target)
    assert sorted(path.name for path in store.iterdir()) == ["in.csv", "out.csv.public.json"]
    assert nothing_is_left(store)


def test_what_does_not_come_back_is_not_put(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pa.csv.write_csv(table_of(100), store / "in.csv")
    monkeypatch.setattr("microagg.files.stores.locations._digest", lambda file: "another")
    refused("differs from what was sent", shelf(store / "in.csv"), shelf(store / "out.csv"))
    assert contents(store) == {}
    assert nothing_is_left(store)


def test_the_command_line_shows_no_credentials(
    store: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    pa.csv.write_csv(table_of(100), store / "in.csv")
    for more in ([], ["--json"]):
        typed = [
            "anonymize",
            shelf(store / "in.csv"),
            shelf(store / "out.csv"),
            "--k",
            "5",
            "--quasi",
            "a,b",
            "--effort",
            "quick",
        ]
        monkeypatch.setattr("sys.argv", ["microagg", *typed, *more])
        with pytest.raises(SystemExit) as ended:
            start()
        output = "".join(capfd.readouterr())
        assert ended.value.code in (0, None), output
        assert "out.csv.public.json" in output
        assert KEYS not in output
        assert "sesame" not in output
        assert QUERY not in output


def test_addresses(store: Path) -> None:
    url = parse_location(Path(shelf(store / "in.csv")))
    assert url == parse_location(shelf(store / "in.csv"))
    assert isinstance(url, Url)
    assert "sesame" not in f"{url} {url!r}"
    assert url.state() is None
    (store / "in.csv").write_text("a\n1\n")
    assert url.state() is not None
    assert parse_location("C:/data/in.csv") == Path("C:/data/in.csv")

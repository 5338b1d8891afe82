"""A format that is one line in the list and one module goes all the way through the command
line.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest

import made_up_format
import tables
from microagg.files import formats
from running import Outcome, run

Microagg = Callable[..., Outcome]
TESTS = Path(__file__).parents[1] / "support"
K = ("--k", "4")


def use(monkeypatch: pytest.MonkeyPatch, entry: str) -> None:
    monkeypatch.setattr(formats, "FORMATS", (*made_up_format.FIRST, f"made_up_format:{entry}"))


def rows_of(path: Path, mark: str) -> list[tuple[str, ...]]:
    """The records of a ribbon, read without microagg."""
    lines = path.read_text("utf-8").splitlines()
    assert {line[0] for line in lines} == {mark}
    return [tuple(json.loads(line[1:])) for line in lines]


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    use(monkeypatch, "RIBBON")
    made_up_format.write(tables.people(), tmp_path / "in.ribbon", "#")
    return tmp_path / "in.ribbon"


def test_anonymize_and_check(microagg: Microagg, source: Path, tmp_path: Path) -> None:
    done = microagg("anonymize", source, "out.ribbon", *K, *tables.ROLES, "--seed", "3")
    assert done.code == 0, done
    header, *rows = rows_of(tmp_path / "out.ribbon", "#")
    assert header == ("income", "debt", "disease", "code")
    assert len(rows) == 12
    assert min(tables.class_sizes([row[:2] for row in rows]).values()) >= 4
    codes = tables.people().column("code").to_pylist()
    assert sorted(row[3] for row in rows) == codes, "texts to the letter"
    assert json.loads((tmp_path / "out.ribbon.internal.json").read_text())["dialect"]["mark"] == "#"
    assert "mark" not in json.loads((tmp_path / "out.ribbon.public.json").read_text())
    assert microagg("check", "out.ribbon", "--quasi", "income,debt", *K).code == 0
    assert microagg("check", source, "--quasi", "income,debt", *K).code == 3


def test_the_same_release_from_and_to_other_formats(
    microagg: Microagg, source: Path, tmp_path: Path
) -> None:
    tables.write(tables.people(), tmp_path / "in.csv")
    for arguments in ((source, "a.csv"), ("in.csv", "b.csv"), ("in.csv", "c.rib")):
        done = microagg("anonymize", *arguments, *K, *tables.ROLES, "--seed", "3")
        assert done.code == 0, done
    assert (tmp_path / "a.csv").read_bytes() == (tmp_path / "b.csv").read_bytes()
    lines = (tmp_path / "b.csv").read_text().replace('"', "").splitlines()
    assert [",".join(row) for row in rows_of(tmp_path / "c.rib", "@")] == lines


def test_a_proposal(microagg: Microagg, source: Path) -> None:
    outcome = microagg("anonymize", source, "out.ribbon", *K)
    outcome.refused("none can be proposed")
    assert re.search(r"debt +confidential +numeric", outcome.out), (
        "text of a format without types is looked at as numbers"
    )


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (
            ("anonymize", "in.txt", "out.ribbon", *K, *tables.ROLES),
            "in .csv, .parquet, .ribbon or .rib.",
        ),
        (
            ("anonymize", "in.ribbon", "out.txt", *K, *tables.ROLES),
            "in .csv, .parquet, .ribbon or .rib.",
        ),
        (("check", "missing.ribbon", *K, "--quasi", "income"), "there is no file"),
        (("check", "torn.ribbon", *K, "--quasi", "income"), "is not a ribbon"),
        (("check", "folder.rib", *K, "--quasi", "income"), "name a csv, parquet or ribbon file"),
        (("anonymize", "torn-cell.rib", "out.rib", *K, *tables.ROLES), "column 'debt', row 12"),
    ],
)
def test_errors(
    microagg: Microagg, source: Path, tmp_path: Path, arguments: tuple[str, ...], says: str
) -> None:
    (tmp_path / "folder.rib").mkdir()
    (tmp_path / "torn.ribbon").write_text("#[canary")
    last = tables.people().column("debt")[-1].as_py()
    (tmp_path / "torn-cell.rib").write_text(source.read_text().replace(str(last), "canary"))
    before = tables.snapshot(tmp_path)
    done = microagg(*arguments)
    done.refused(says)
    done.silent_about({"canary"})
    assert tables.snapshot(tmp_path) == before


def test_what_was_written_is_read_back_and_verified(
    microagg: Microagg, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use(monkeypatch, "LOSING")
    tables.write(tables.people(), tmp_path / "in.csv")
    before = tables.snapshot(tmp_path)
    done = microagg("anonymize", "in.csv", "out.ribbon", *K, *tables.ROLES)
    done.refused("nothing was written", code=3)
    assert tables.snapshot(tmp_path) == before


def test_a_missing_package_is_named_before_any_work(
    microagg: Microagg, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use(monkeypatch, "LACKING")
    monkeypatch.setattr("microagg.pipeline.anonymize.anonymize", None)
    tables.write(tables.people(), tmp_path / "in.csv")
    done = microagg("anonymize", "in.csv", "out.ribbon", *K, *tables.ROLES)
    done.refused("pip install 'microagg[ribbons]'")


def test_repeat_reads_its_file_once(microagg: Microagg, source: Path, tmp_path: Path) -> None:
    assert microagg("anonymize", source, "out.ribbon", *K, *tables.ROLES, "--seed", "3").code == 0
    made_up_format.READS.clear()
    done = microagg("repeat", "out.ribbon.internal.json", source, "again.rib")
    assert "the same release as the manifest describes" in done.out, done
    assert (tmp_path / "again.rib").read_bytes() == (tmp_path / "out.ribbon").read_bytes()
    assert made_up_format.READS == [".ribbon", ".part"], "the source once, the part to verify it"


def test_help_names_every_suffix(tmp_path: Path) -> None:
    code = (
        "import sys\nfrom microagg.files import formats\n"
        "formats.FORMATS = (*formats.FORMATS, 'made_up_format:RIBBON')\n"
        "from microagg.cli.commands import main\n"
        "sys.argv = ['microagg', sys.argv[1], '--help']\nmain()"
    )
    path = os.pathsep.join([str(TESTS), *filter(None, [os.environ.get("PYTHONPATH")])])
    for command in ("anonymize", "check"):
        done = run("-c", code, command, folder=tmp_path, environment={"PYTHONPATH": path})
        assert ", .ribbon or .rib" in " ".join(done.out.split()), done

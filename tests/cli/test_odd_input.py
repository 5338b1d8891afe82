"""Input that used to end in a bug's message or a traceback: one sentence each, and nothing that
steers a terminal or a spreadsheet.
"""

from __future__ import annotations

import csv
import json
import os
import uuid
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

import microagg as ma
import tables
from microagg.files.columnar import parquet_format
from microagg.files.reading import read_table
from microagg.pipeline.files import anonymize_file
from microagg.studies.repeating import repeat_file
from running import Outcome, run

Microagg = Callable[..., Outcome]

N = 12
BAD = pa.Array.from_buffers(
    pa.string(),
    N,
    [None, pa.py_buffer(np.arange(N + 1, dtype=np.int32).tobytes()), pa.py_buffer(b"\xff" * N)],
)
ODD_COLUMNS = {
    "uuid": pa.array([uuid.UUID(int=i).bytes for i in range(N)], pa.uuid()),
    "json": pa.array(['{"a": "canary"}'] * N, pa.json_()),
    "extension": pa.ExtensionArray.from_storage(
        pa.opaque(pa.int64(), "x", "y"), pa.array(range(N), pa.int64())
    ),
    "bad-utf-8": BAD,
}


def with_column(column: pa.Array) -> pa.Table:
    return pa.table({"age": [float(i) for i in range(N)], "x": column})


@pytest.mark.parametrize("role", ["--confidential", "--keep"])
@pytest.mark.parametrize("name", ODD_COLUMNS)
def test_columns_that_cannot_be_released(
    microagg: Microagg, tmp_path: Path, name: str, role: str
) -> None:
    parquet.write_table(with_column(ODD_COLUMNS[name]), tmp_path / "in.parquet")
    options = ("--k", "3", "--quasi", "age", role, "x", "--method", "mdav")
    microagg("anonymize", "in.parquet", "out.parquet", *options).refused("column")
    assert not (tmp_path / "out.parquet").exists()


@pytest.mark.parametrize("name", ["uuid", "json", "extension"])
def test_odd_columns_can_be_left_out_and_checked(
    microagg: Microagg, tmp_path: Path, name: str
) -> None:
    parquet.write_table(with_column(ODD_COLUMNS[name]), tmp_path / "in.parquet")
    options = ("--k", "3", "--quasi", "age", "--identifier", "x", "--method", "mdav")
    assert microagg("anonymize", "in.parquet", "out.parquet", *options).code == 0
    assert microagg("check", "in.parquet", "--k", "3", "--quasi", "x").code in (0, 3)
    microagg("anonymize", "in.parquet", "new.csv", "--k", "3").refused("proposal")


def test_views_are_texts(tmp_path: Path) -> None:
    table = with_column(pa.array(["a", "b"] * 6, pa.string_view()))
    release = ma.anonymize(table, 3, ["age"], confidential=["x"], l=2, method="mdav", seed=1)
    release.save(tmp_path / "out.parquet", keep_order=True)
    assert parquet.read_table(tmp_path / "out.parquet").column("x").to_pylist() == ["a", "b"] * 6


def test_a_table_too_large_is_not_called_unreadable(
    microagg: Microagg, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tables.write(tables.people(), tmp_path / "in.parquet")

    def too_large(*_: object, **__: object) -> None:
        raise pa.ArrowMemoryError("malloc of size 99 failed")

    monkeypatch.setattr(parquet.ParquetFile, "read", too_large)
    with pytest.raises(MemoryError):
        parquet_format.read(tmp_path / "in.parquet")
    microagg("check", "in.parquet", "--k", "3", "--quasi", "income").refused("not enough memory")


@pytest.mark.parametrize("report", ["", ".", "..", "x", "/"])
def test_names_that_no_report_can_have(microagg: Microagg, tmp_path: Path, report: str) -> None:
    tables.write(tables.people(), tmp_path / "in.csv")
    arguments = ("anonymize", "in.csv", "out.csv", "--k", "3", *tables.ROLES, "--report", report)
    microagg(*arguments).refused("has no ending of a report")
    assert not (tmp_path / "out.csv").exists()


@pytest.mark.parametrize("length", [230, 240, 251, 300])
def test_names_that_are_too_long(microagg: Microagg, tmp_path: Path, length: int) -> None:
    tables.write(tables.people(), tmp_path / "in.csv")
    name = "x" * (length - 4) + ".csv"
    outcome = microagg("anonymize", "in.csv", name, "--k", "3", *tables.ROLES, "--method", "mdav")
    assert outcome.code == 0 or outcome.refused("long") is None
    report = microagg(
        "anonymize", "in.csv", "o.csv", "--k", "3", *tables.ROLES, "--report", name[:-4] + ".html"
    )
    assert report.code == 0 or report.refused("long") is None


def test_folders_that_cannot_be_searched(
    microagg: Microagg, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tables.write(tables.people(), tmp_path / "in.csv")
    real = os.stat

    def stat(path: object, *rest: object, **more: object) -> os.stat_result:
        if "locked" in str(path):
            raise PermissionError(13, "Permission denied", str(path))
        return real(path, *rest, **more)  # pyright: ignore

    monkeypatch.setattr(os, "stat", stat)
    microagg("anonymize", "in.csv", "locked/out.csv", "--k", "3", *tables.ROLES).refused(
        "ermission"
    )
    microagg("check", "locked/in.csv", "--k", "3", "--quasi", "income").refused("ermission")
    microagg("repeat", "locked/m.internal.json", "in.csv", "out.csv").refused("manifest")


def test_a_record_is_not_taken_for_a_header(microagg: Microagg, tmp_path: Path) -> None:
    people = tables.people()
    (tmp_path / "in.csv").write_text(tables.csv_text(people).partition("\n")[2])
    roles = (
        "--k",
        "3",
        "--quasi",
        "2,3",
        "--identifier",
        "1",
        "--confidential",
        "4",
        "--keep",
        "5",
        "--method",
        "mdav",
    )
    for arguments in (
        ("anonymize", "in.csv", "out.csv", *roles),
        ("anonymize", "in.csv", "out.csv", "--k", "3"),
        ("check", "in.csv", "--k", "3", "--quasi", "2"),
        ("assess", "in.csv", "in.csv", "--quasi", "2"),
        ("compare", "in.csv", "--k", "3", "--methods", "mdav", "--quasi", "2"),
        ("bound", "in.csv", "--k", "3", "--quasi", "2"),
    ):
        outcome = microagg(*arguments)
        outcome.refused("--no-header")
        assert "--header" in outcome.err
        outcome.silent_about(tables.cells(people))
    proposal = microagg("anonymize", "in.csv", "out.csv", "--k", "3", "--no-header")
    assert "--quasi 2,3" in proposal.out
    assert "--no-header" in proposal.out
    outcome = microagg("anonymize", "in.csv", "out.csv", *roles, "--no-header")
    assert outcome.code == 0
    outcome.silent_about(tables.cells(people))
    written = read_table(tmp_path / "out.csv", header=True)
    assert written.column_names == ["2", "3", "4", "5"]
    assert written.num_rows == people.num_rows, "the first record too"
    assert microagg("check", "out.csv", "--k", "3", "--quasi", "2,3", "--header").code == 0
    assert (
        microagg("assess", "in.csv", "out.csv", "--key", "5", "--quasi", "2,3", "--no-header").code
        == 0
    )


def test_spellings_on_the_command_line(microagg: Microagg, tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text("age,ill\n1,HIV\n1,hiv\n1,HIV \n")
    question = (
        "check",
        "in.csv",
        "--k",
        "3",
        "--quasi",
        "age",
        "--confidential",
        "ill",
        "--l",
        "2",
    )
    assert microagg(*question).code == 3
    assert microagg(*question, "--exact").code == 0


DEEP = "[" * 200_000 + "]" * 200_000


@pytest.mark.parametrize(
    "content",
    [DEEP, f'{{"format": 2, "settings": {DEEP}}}', '{"format": 2, "settings": 5}', "9" * 5000],
)
def test_manifests_states_and_certificates_that_are_none(
    microagg: Microagg, tmp_path: Path, content: str
) -> None:
    tables.write(tables.people(), tmp_path / "in.csv")
    (tmp_path / "m.internal.json").write_text(content)
    microagg("repeat", "m.internal.json", "in.csv", "out.csv").refused("manifest")
    microagg("verify-bound", "m.internal.json", "in.csv")
    compare = (
        "compare",
        "in.csv",
        "--k",
        "3",
        "--methods",
        "mdav",
        "--quasi",
        "income,debt",
        "--state",
        "state",
    )
    head = '{"microagg": "compare", "format": 1}\n'
    (tmp_path / "state").write_text(head + content + "\n")
    assert microagg(*compare).code == 0, "lines that are not ours are passed over"
    lines = (tmp_path / "state").read_text().splitlines()
    entry = json.loads(lines[-1])
    for name, value in (
        ("key", ["a"]),
        ("figures", {"il": "x"}),
        ("classes", "x"),
        ("error", 5),
        ("figures", {}),
    ):
        (tmp_path / "state").write_text(head + json.dumps({**entry, name: value}) + "\n")
        assert microagg(*compare).code == 0


def test_a_full_disk_behind_standard_output(tmp_path: Path) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("needs /dev/full")
    code = (
        "import os, sys; os.dup2(os.open('/dev/full', os.O_WRONLY), 1); sys.argv = "
        "['microagg', 'methods']\n"
        "from microagg.cli.commands import main; main()"
    )
    run("-c", code, folder=tmp_path).refused("No space left on device")


def test_names_do_not_steer_the_terminal(microagg: Microagg, tmp_path: Path) -> None:
    odd = ["a\x1b[31mge", "in\x9bcome", "de\x07bt"]
    table = tables.people().select(["income", "debt", "code"]).rename_columns(odd)
    parquet.write_table(table, tmp_path / "in.parquet")
    for arguments in (
        ("anonymize", "in.parquet", "out.csv", "--k", "3"),
        (
            "anonymize",
            "in.parquet",
            "out.csv",
            "--k",
            "3",
            "--quasi",
            odd[0],
            "--rest",
            "keep",
            "--method",
            "mdav",
        ),
        ("check", "in.parquet", "--k", "3", "--quasi", odd[0]),
        ("assess", "in.parquet", "in.parquet", "--quasi", odd[0], "--json"),
        ("check", "in.parquet", "--k", "3", "--quasi", "\x1b[2J"),
        ("check", "\x1b[2J.csv", "--k", "3", "--quasi", "x"),
        ("check", "in.parquet", "--k", "3", "--\x1b[2J"),
    ):
        outcome = microagg(*arguments)
        assert outcome.code != 1
        assert not {"\x1b", "\x9b", "\x07"} & set(outcome.out + outcome.err), arguments


FORMULAS = [
    "=1+1",
    "+cmd|' /C calc'!A0",
    "-1+2",
    "@SUM(A1)",
    "\tx",
    "'=quoted",
    "plain",
    "-5",
    "+49",
    "1e5",
    "-",
    "",
    "=1+1",
]


def test_formulas_are_told_of_and_escaped_if_asked(microagg: Microagg, tmp_path: Path) -> None:
    rows = zip(range(len(FORMULAS)), FORMULAS, strict=True)
    with (tmp_path / "in.csv").open("w", newline="") as file:
        csv.writer(file, quoting=csv.QUOTE_NONNUMERIC).writerows([["age", "remark"], *rows])
    roles = (
        "--k",
        "3",
        "--quasi",
        "age",
        "--confidential",
        "remark",
        "--method",
        "mdav",
        "--keep-order",
        "--seed",
        "1",
    )
    plain = microagg("anonymize", "in.csv", "plain.csv", *roles)
    assert plain.code == 0
    assert "as formulas" in plain.out
    assert "--escape-formulas" in plain.out
    assert "'remark'" in plain.out
    assert "cmd" not in plain.out
    assert (
        microagg("anonymize", "in.csv", "out.csv", *roles, "--l", "3", "--escape-formulas").code
        == 0
    )
    with (tmp_path / "out.csv").open(newline="") as file:
        written = [row[1] for row in csv.reader(file)][1:]
    assert written == [
        f"'{text}" if index < 6 else text for index, text in enumerate(FORMULAS[:-1])
    ] + ["'=1+1"]
    with (tmp_path / "plain.csv").open(newline="") as file:
        assert [row[1] for row in csv.reader(file)][1:] == FORMULAS, "to the letter"
    again = repeat_file(
        tmp_path / "out.csv.internal.json", tmp_path / "in.csv", tmp_path / "again.csv"
    )
    assert "the same release" in again.notes[0]
    assert (tmp_path / "again.csv").read_bytes() == (tmp_path / "out.csv").read_bytes()


def test_escaped_ordered_categories_and_names(tmp_path: Path) -> None:
    levels = pa.DictionaryArray.from_arrays(
        pa.array([0, 1] * 6), pa.array(["=low", "=high"]), ordered=True
    )
    table = pa.table({"age": [float(i) for i in range(N)], "=level": levels})
    release = ma.anonymize(table, 3, ["age"], confidential=["=level"], l=2, method="mdav", seed=1)
    release.save(tmp_path / "out.csv", escape_formulas=True)
    assert (tmp_path / "out.csv").read_text().startswith('"age","\'=level"')


def test_no_formulas_no_word(tmp_path: Path) -> None:
    tables.write(tables.people(), tmp_path / "in.csv")
    release = anonymize_file(
        tmp_path / "in.csv",
        tmp_path / "out.csv",
        3,
        quasi=tables.QUASI,
        rest="keep",
        identifier=["name"],
        method="mdav",
    )
    assert not any("formulas" in note for note in release.notes)

"""Wrong input: one sentence, exit code 2, nothing written, no value told."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

import tables
from running import Outcome, run

Microagg = Callable[..., Outcome]
ENDINGS = (".csv", ".parquet")

pytestmark = pytest.mark.filterwarnings("error")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with an output of an earlier run, which must stay as it is."""
    (tmp_path / "out.csv").write_text("an older release\n")
    (tmp_path / "out.csv.internal.json").write_text('{"format": 2, "microagg": "its manifest"}\n')
    return tmp_path


def refused(microagg: Microagg, folder: Path, says: str, *arguments: str | Path) -> None:
    """Run a command that must be refused and leave the folder untouched."""
    before = tables.snapshot(folder)
    outcome = microagg(*arguments)
    outcome.refused(says)
    outcome.silent_about(tables.cells(tables.people()))
    assert tables.snapshot(folder) == before


def with_income(values: list[object], kind: pa.DataType | None = None) -> pa.Table:
    """`people` with other values at the end of the income column (text where there is no kind)."""
    column = tables.people().column("income").to_pylist()[: -len(values)] + values
    if kind is None:
        column = [None if value is None else str(value) for value in column]
    return tables.people().set_column(1, "income", pa.array(column, kind))


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize(
    ("k", "says"),
    [
        ("0", "k is 0"),
        ("1", "k is 1"),
        ("-3", "k is -3"),
        ("1.5", "k must be a whole number"),
        ("abc", "k must be a whole number"),
        ("", "k must be a whole number"),
        ("13", "there are only 12 records"),
    ],
)
def test_k(microagg: Microagg, folder: Path, ending: str, k: str, says: str) -> None:
    source = tables.write(tables.people(), folder / f"in{ending}")
    refused(microagg, folder, says, "anonymize", source, "out.csv", "--k", k, *tables.ROLES)


def test_k_is_needed(microagg: Microagg, folder: Path) -> None:
    source = tables.write(tables.people(), folder / "in.csv")
    refused(microagg, folder, "--k", "anonymize", source, "out.csv", *tables.ROLES)


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--quasi", "income,wealth"], "there is no column 'wealth'"),
        (["--quasi", "income,debt"], "'name', 'disease', 'code'"),
        (
            ["--identifier", "name,income,debt,disease,code"],
            "no column was named with --quasi, and none can be proposed",
        ),
        (["--identifier", "name,income,debt,disease,code", "--quasi", ""], "nothing to protect"),
        (["--quasi", "income,", "--rest", "drop"], "there is no column ''"),
        (["--quasi", "income", "--identifier", "income", "--rest", "drop"], "two roles"),
        (["--quasi", "income", "--rest", "forget"], "rest must be"),
        ([*tables.ROLES, "--method", "magic"], "there is no method 'magic'"),
        ([*tables.ROLES, "--param", "gamma=1"], "no parameter 'gamma'"),
        ([*tables.ROLES, "--param", "k=3"], "no parameter 'k'"),
        ([*tables.ROLES, "--param", "seed=3"], "no parameter 'seed'"),
        ([*tables.ROLES, "--param", "table=3"], "no parameter 'table'"),
        ([*tables.ROLES, "--param", "leftovers"], "name=value"),
        (
            [*tables.ROLES, "--method", "mdav", "--param", "leftovers=all"],
            "leftovers must be one of",
        ),
        ([*tables.ROLES, "--method", "v-mdav", "--param", "gamma=much"], "gamma must be a number"),
        ([*tables.ROLES, "--method", "v-mdav", "--param", "gamma=-1"], "gamma must be a number"),
        ([*tables.ROLES, "--scale", "log"], "scale must be one of"),
        ([*tables.ROLES, "--precision", "some"], "precision must be one of"),
        ([*tables.ROLES, "--seed", "tomorrow"], "seed must be a whole number"),
        ([*tables.ROLES, "--colour", "red"], "--colour"),
    ],
)
def test_options(
    microagg: Microagg, folder: Path, ending: str, options: list[str], says: str
) -> None:
    source = tables.write(tables.people(), folder / f"in{ending}")
    refused(microagg, folder, says, "anonymize", source, "out.csv", "--k", "3", *options)


NOT_NUMBERS = [
    pytest.param("canary-text", "text where a number is needed", id="text"),
    pytest.param("4,5", "a number with a sign of unknown meaning", id="decimal-comma"),
    pytest.param("0x1F", "text where a number is needed", id="hexadecimal"),
    pytest.param("inf", "infinite value", id="inf"),
    pytest.param("-Infinity", "infinite value", id="minus-infinity"),
    pytest.param("1e400", "infinite value", id="beyond-float64"),
    pytest.param("1e200", "a number beyond", id="beyond-squares"),
]


@pytest.mark.parametrize(("cell", "says"), NOT_NUMBERS)
def test_a_csv_cell_that_is_no_number(
    microagg: Microagg, folder: Path, cell: str, says: str
) -> None:
    source = folder / "in.csv"
    source.write_text(tables.csv_text(with_income([4815999, cell], None), ";"))
    arguments = ("anonymize", source, "out.csv", "--k", "3", *tables.ROLES)
    before = tables.snapshot(folder)
    outcome = microagg(*arguments)
    outcome.refused(f"column 'income', row 12 (header not counted): {says}")
    assert "canary" not in outcome.err
    assert tables.snapshot(folder) == before


@pytest.mark.parametrize("cell", ["", "NA", "NaN", "null"])
@pytest.mark.parametrize("ending", ENDINGS)
def test_missing_values_are_refused_where_that_is_asked_for(
    microagg: Microagg, folder: Path, cell: str, ending: str
) -> None:
    typed = ending == ".parquet"
    table = with_income([4815999, None if typed else cell], pa.int64() if typed else None)
    source = folder / f"in{ending}"
    tables.write(table, source) if typed else source.write_text(tables.csv_text(table, ";"))
    arguments = ("anonymize", source, "out.csv", "--k", "3", *tables.ROLES, "--missing", "error")
    refused(microagg, folder, "quasi-identifiers are missing: 1 in 'income'", *arguments)


@pytest.mark.parametrize(
    ("values", "kind", "says"),
    [
        ([float("inf"), 5.0], pa.float64(), "row 11 (header not counted): infinite value"),
        ([float("-inf"), 5.0], pa.float32(), "row 11 (header not counted): infinite value"),
        ([1e200, 5.0], pa.float64(), "row 11 (header not counted): a number beyond"),
    ],
)
def test_a_parquet_cell_that_is_no_number(
    microagg: Microagg, folder: Path, values: list[object], kind: pa.DataType | None, says: str
) -> None:
    source = tables.write(with_income(values, kind), folder / "in.parquet")
    outcome = microagg("anonymize", source, "out.csv", "--k", "3", *tables.ROLES)
    outcome.refused(f"column 'income', {says}" if says.startswith("row") else says)
    assert "canary" not in outcome.err


@pytest.mark.parametrize(
    "column",
    [
        pa.array([[1, 2]] * 12),
        pa.array([{"a": 1}] * 12),
        pa.array([b"\xff\xfe"] * 12),
    ],
    ids=lambda column: str(column.type).split("<")[0],
)
def test_a_quasi_column_of_another_type(microagg: Microagg, folder: Path, column: pa.Array) -> None:
    source = tables.write(tables.people().set_column(1, "income", column), folder / "in.parquet")
    refused(
        microagg,
        folder,
        "column 'income'",
        "anonymize",
        source,
        "out.csv",
        "--k",
        "3",
        *tables.ROLES,
    )


@pytest.mark.parametrize("ending", ENDINGS)
def test_no_such_file(microagg: Microagg, folder: Path, ending: str) -> None:
    refused(
        microagg,
        folder,
        "there is no file",
        "anonymize",
        f"no{ending}",
        "out.csv",
        "--k",
        "3",
        *tables.ROLES,
    )


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("in.csv", b"", "is empty"),
        ("in.csv", b"\n\n", "is empty"),
        ("in.csv", b"\xef\xbb\xbf", "is empty"),
        ("in.parquet", b"", "is empty"),
        ("in.csv", b"name,income,debt,disease,code\n", "no records"),
        ("in.csv", b"name,income,debt,disease,code", "no records"),
        ("in.csv", b"income,debt,income\n1,2,3\n", "more than once, in columns 1 and 3"),
        ("in.csv", b"income,debt\n1,2\n3,4,5\n", "row 2"),
        ("in.csv", b"income,debt\n1,2\n3,4\n5\n", "row 3"),
        ("in.csv", b'income,debt\n1,"2\n3,4\n5,6\n', "never closed"),
        ("in.csv", b"income,debt\n1,\x81\n", "neither in UTF-8"),
        ("in.csv", b"\x8dincome,debt\n1,2\n", "neither in UTF-8"),
        ("in.csv", b"income,debt\n1,2\n".decode().encode("utf-32"), "UTF-32"),
        ("in.csv", b"income" * 30_000, "not that of a csv file"),
        ("in.parquet", b"PAR1 garbage PAR1", "not a readable parquet file"),
        ("in.parquet", b"\x00\xff" * 500, "not a readable parquet file"),
        ("in.xls", b"income\n1\n", "cannot tell the format"),
        ("in", b"income\n1\n", "cannot tell the format"),
    ],
)
def test_files(microagg: Microagg, folder: Path, name: str, content: bytes, says: str) -> None:
    (folder / name).write_bytes(content)
    refused(
        microagg,
        folder,
        says,
        "anonymize",
        name,
        "out.csv",
        "--k",
        "2",
        "--quasi",
        "income",
        "--rest",
        "drop",
    )


def test_a_cut_parquet_file(microagg: Microagg, folder: Path) -> None:
    source = tables.write(tables.people(), folder / "in.parquet")
    source.write_bytes(source.read_bytes()[:-40])
    refused(
        microagg, folder, "parquet file", "anonymize", source, "out.csv", "--k", "3", *tables.ROLES
    )


def test_a_parquet_file_without_records(microagg: Microagg, folder: Path) -> None:
    source = tables.write(tables.people().slice(0, 0), folder / "in.parquet")
    refused(
        microagg, folder, "no records", "anonymize", source, "out.csv", "--k", "3", *tables.ROLES
    )


def test_duplicate_names_in_parquet(microagg: Microagg, folder: Path) -> None:
    twice = tables.people().rename_columns(["name", "income", "income", "disease", "code"])
    source = tables.write(twice, folder / "in.parquet")
    refused(
        microagg,
        folder,
        "'income' occurs more than once",
        "anonymize",
        source,
        "out.csv",
        "--k",
        "3",
        "--quasi",
        "income",
        "--rest",
        "drop",
    )


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_folder_as_input(microagg: Microagg, folder: Path, ending: str) -> None:
    (folder / f"in{ending}").mkdir()
    refused(
        microagg,
        folder,
        "is not a file",
        "anonymize",
        f"in{ending}",
        "out.csv",
        "--k",
        "3",
        *tables.ROLES,
    )


@pytest.mark.parametrize(
    ("target", "says"),
    [
        ("missing/out.csv", "does not exist"),
        ("missing/out.parquet", "does not exist"),
        ("folder.csv", "is a folder"),
        ("out.docx", "cannot tell the format"),
        ("out", "cannot tell the format"),
        ("in.csv", "same file"),
        ("./in.csv", "same file"),
        ("folder.csv/../in.csv", "same file"),
        ("link.csv", "same file"),
        ("hardlink.csv", "same file"),
        ("blocked.csv", "is a folder"),
        ("in.csv/out.csv", "does not exist"),
    ],
)
def test_outputs(microagg: Microagg, folder: Path, target: str, says: str) -> None:
    source = tables.write(tables.people(), folder / "in.csv")
    (folder / "folder.csv").mkdir()
    (folder / "link.csv").symlink_to("in.csv")
    (folder / "hardlink.csv").hardlink_to(source)
    (folder / "blocked.csv.public.json").mkdir()
    refused(microagg, folder, says, "anonymize", "in.csv", target, "--k", "3", *tables.ROLES)


@pytest.mark.parametrize(
    ("command", "says"),
    [
        (["check", "in.csv", "--k", "3"], "name at least one"),
        (["check", "in.csv", "--k", "1", "--quasi", "income"], "k is 1"),
        (["check", "in.csv", "--k", "x", "--quasi", "income"], "k must be a whole number"),
        (["check", "in.csv", "--k", "3", "--quasi", "wealth"], "there is no column 'wealth'"),
        (["check", "no.csv", "--k", "3", "--quasi", "income"], "there is no file"),
        (["methods", "magic"], "there is no method 'magic'"),
        (["reproduce", "--method", "magic"], "there is no method 'magic'"),
        (["reproduce", "--data", "missing"], "no file"),
        (["demo", "--k", "1"], "k is 1"),
        (["demo", "--k", "many"], "k must be a whole number"),
        (["demo", "--folder", "in.csv"], "in.csv"),
        (["verify"], "verify"),
    ],
)
def test_other_commands(microagg: Microagg, folder: Path, command: list[str], says: str) -> None:
    tables.write(tables.people(), folder / "in.csv")
    refused(microagg, folder, says, *command)


@pytest.mark.slow
def test_in_a_process_of_its_own(folder: Path) -> None:
    source = tables.write(with_income(["canary-text"], None), folder / "in.csv")
    before = tables.snapshot(folder)
    outcome = run(
        "-m", "microagg", "anonymize", source, "out.csv", "--k", "3", *tables.ROLES, folder=folder
    )
    outcome.refused("column 'income', row 12")
    assert outcome.out == ""
    assert tables.snapshot(folder) == before

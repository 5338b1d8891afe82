"""From a file to a verified file: what is written, what is said, and what is not."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

import tables
from running import Outcome

Microagg = Callable[..., Outcome]
RELEASED = ["income", "debt", "disease", "code"]


def rows_of(path: Path, delimiter: str = ",") -> list[list[str]]:
    """A csv file as Python's own reader sees it."""
    with path.open(encoding="utf-8-sig", newline="") as file:
        return list(csv.reader(file, delimiter=delimiter))


def manifests(folder: Path, name: str = "out.csv") -> tuple[dict[str, object], dict[str, object]]:
    internal, public = (
        json.loads((folder / f"{name}.{side}.json").read_text()) for side in ("internal", "public")
    )
    return internal, public


@pytest.mark.parametrize("target", ["out.csv", "out.parquet"])
@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_every_format_into_every_other(
    microagg: Microagg, tmp_path: Path, ending: str, target: str
) -> None:
    source = tables.write(tables.people(), tmp_path / f"in{ending}")
    untouched = source.read_bytes()
    done = microagg("anonymize", source, target, "--k", "4", *tables.ROLES, "--seed", "3")
    assert done.code == 0, done
    assert done.err == ""
    if target.endswith(".csv"):
        header, *rows = rows_of(tmp_path / target)
    else:
        table = parquet.read_table(tmp_path / target)
        header, rows = (
            table.column_names,
            [list(map(str, row.values())) for row in table.to_pylist()],
        )
        assert table.schema.field("income").type == pa.int64()
    assert header == RELEASED
    assert sorted(row[3] for row in rows) == tables.people().column("code").to_pylist()
    assert min(tables.class_sizes([(row[0], row[1]) for row in rows]).values()) >= 4
    assert all("." not in row[0] and len(row[1].partition(".")[2]) <= 2 for row in rows), (
        "not rounded"
    )
    assert source.read_bytes() == untouched
    assert {path.name for path in tmp_path.iterdir()} == {
        source.name, target, f"{target}.internal.json", f"{target}.public.json",
    }  # fmt: skip


def test_what_lies_beyond_the_guarantee_is_told(microagg: Microagg, tmp_path: Path) -> None:
    source = tables.write(tables.people(), tmp_path / "in.csv")
    done = microagg("anonymize", source, "out.csv", "--k", "4", *tables.ROLES, "--seed", "3")
    assert "verdict      Guarantee met, " in done.out
    sentence = "If someone knows every published column, 12 of 12 records can be singled out."
    assert f"decide       {sentence}" in done.out
    assert "names        May name people, and is released unchanged: code." in done.out
    alone = microagg(
        "anonymize", source, "alone.csv", "--k", "4", "--quasi", "income,debt", "--rest", "drop"
    )
    assert "unique       Records that can be singled out: none" in alone.out
    assert "names  " not in alone.out


@pytest.mark.parametrize("scale", ["zscore", "minmax", "robust", "none"])
def test_no_value_is_told(microagg: Microagg, tmp_path: Path, scale: str) -> None:
    source = tables.write(tables.people(40), tmp_path / "in.csv")
    done = microagg("anonymize", source, "out.csv", "--k", "4", *tables.ROLES, "--scale", scale)
    canaries = tables.cells(tables.people(40))
    released = {cell for row in rows_of(tmp_path / "out.csv")[1:] for cell in row}
    done.silent_about(canaries | released)
    public = (tmp_path / "out.csv.public.json").read_text()
    assert not [value for value in canaries | released if value in public]
    internal = (tmp_path / "out.csv.internal.json").read_text()
    texts = {value for value in canaries if not value[0].isdigit() or value.startswith("00")}
    assert not [value for value in texts if value in internal]
    if scale == "zscore":  # the smallest value and the median are what minmax and robust scale by
        assert not [value for value in canaries | released if value in internal]


def test_the_public_manifest_says_what_may_be_said(microagg: Microagg, tmp_path: Path) -> None:
    source = tables.write(tables.people(), tmp_path / "in.csv")
    microagg("anonymize", source, "out.csv", "--k", "4", *tables.ROLES, "--seed", "918273645")
    internal, public = manifests(tmp_path)
    assert set(public) == {
        "format",
        "microagg",
        "settings",
        "records",
        "roles",
        "guarantee",
        "loss",
        "rows",
        "output",
        "release",
        "all_columns",
        "may_identify",
        "sums",
    }
    assert set(public["settings"]) == {
        "k",
        "quasi",
        "confidential",
        "keep",
        "l",
        "t",
        "diversity",
        "c",
        "exact",
        "method",
        "params",
        "refine",
        "scale",
        "precision",
        "cap",
        "publish",
        "kinds",
        "nominal",
        "ordinal",
        "importance",
        "aggregate",
        "hierarchy",
        "missing",
        "special",
        "na",
        "weight",
        "stratum",
        "small_strata",
        "rules",
    }
    assert public["output"] == {"file": "out.csv"}
    assert internal["input"]["file"] == "in.csv"
    assert public["roles"] == {
        "income": "quasi",
        "debt": "quasi",
        "disease": "confidential",
        "code": "keep",
    }
    text = (tmp_path / "out.csv.public.json").read_text()
    for secret in (
        "918273645",
        internal["input"]["digest"],
        internal["output"]["digest"],
        "in.csv",
        "scaling",
        "name",
        "centre",
    ):
        assert secret not in text.replace("canary", "")
    assert internal["settings"]["seed"] == 918273645
    assert internal["roles"]["name"] == "identifier"
    assert (tmp_path / "out.csv.internal.json").stat().st_mode & 0o777 == 0o600


def test_dropped_columns_leave_no_trace(microagg: Microagg, tmp_path: Path) -> None:
    source = tables.write(tables.people(), tmp_path / "in.csv")
    microagg("anonymize", source, "out.csv", "--k", "4", "--quasi", "income", "--rest", "drop")
    assert rows_of(tmp_path / "out.csv")[0] == ["income"]
    for name in ("debt", "disease", "code"):
        assert name not in (tmp_path / "out.csv.public.json").read_text()


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
@pytest.mark.parametrize("start", ["", "\ufeff"], ids=["plain", "byte-order-mark"])
def test_the_delimiter_of_the_source_is_kept(
    microagg: Microagg, tmp_path: Path, delimiter: str, start: str
) -> None:
    text = start + tables.csv_text(tables.people(), delimiter)
    (tmp_path / "in.csv").write_text(text, "utf-8")
    done = microagg("anonymize", "in.csv", "out.csv", "--k", "4", *tables.ROLES, "--keep-order")
    assert done.code == 0, done
    header, *rows = rows_of(tmp_path / "out.csv", delimiter)
    assert header == RELEASED
    assert [row[3] for row in rows] == tables.people().column("code").to_pylist()


HARD_TEXTS = [
    "007",
    "1.10",
    "1e5",
    "+3",
    " lead",
    "a,b",
    'say "hi"',
    "two\nlines",
    "win\r\nlines",
    "semi;colon",
    "tab\there",
    "NA",
    "nan",
    "null",
    "true",
    "-",
    "0x1F",
    "ünïcödé ✓",
    "=1+1",
    "'",
    "\\",
    "12345678901234567890",
    "1.0",
    "-0",
]


@pytest.mark.parametrize("delimiter", [",", ";"])
def test_kept_texts_survive_to_the_letter(
    microagg: Microagg, tmp_path: Path, delimiter: str
) -> None:
    rows = [[str(20 + i), text, str(i)] for i, text in enumerate([*HARD_TEXTS, ""])]
    with (tmp_path / "in.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, delimiter=delimiter).writerows([["age", "note", "nr"], *rows])
    done = microagg(
        "anonymize",
        "in.csv",
        "out.csv",
        "--k",
        "3",
        "--quasi",
        "age",
        "--keep",
        "note,nr",
        "--keep-order",
    )
    assert done.code == 0, done
    assert [row[1:] for row in rows_of(tmp_path / "out.csv", delimiter)[1:]] == [
        row[1:] for row in rows
    ]


def test_numbers_as_texts_keep_their_zeros(microagg: Microagg, tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text(
        "age,zip,share\n" + "".join(f"{30 + i},0{i}007,{i}.50\n" for i in range(6))
    )
    microagg(
        "anonymize",
        "in.csv",
        "out.csv",
        "--k",
        "3",
        "--quasi",
        "age",
        "--rest",
        "keep",
        "--keep-order",
    )
    assert [row[1:] for row in rows_of(tmp_path / "out.csv")[1:]] == [
        [f"0{i}007", f"{i}.50"] for i in range(6)
    ]


@pytest.mark.slow
def test_rows_are_shuffled_unless_asked(microagg: Microagg, tmp_path: Path) -> None:
    source = tables.write(tables.people(60), tmp_path / "in.csv")
    codes = tables.people(60).column("code").to_pylist()
    microagg("anonymize", source, "out.csv", "--k", "4", *tables.ROLES)
    shuffled = [row[3] for row in rows_of(tmp_path / "out.csv")[1:]]
    assert shuffled != codes
    assert sorted(shuffled) == codes
    microagg("anonymize", source, "out.csv", "--k", "4", *tables.ROLES, "--keep-order")
    assert [row[3] for row in rows_of(tmp_path / "out.csv")[1:]] == codes


def test_constant_columns_and_kept_ones_are_noted(microagg: Microagg, tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text(
        "age,year,zip\n" + "".join(f"{30 + i},1984,{i}\n" for i in range(6))
    )
    done = microagg(
        "anonymize", "in.csv", "out.csv", "--k", "3", "--quasi", "age,year", "--keep", "zip"
    )
    assert done.code == 0
    assert "one value only, so ignored when groups were formed: 'year'" in done.out
    assert "records may be recognised by them: 'zip'" in done.out
    assert {row[1] for row in rows_of(tmp_path / "out.csv")[1:]} == {"1984"}


def test_a_header_that_is_quoted(microagg: Microagg, tmp_path: Path) -> None:
    text = '"age; in years","first, last\nname"\n30,x\n32,y\n60,z\n61,007\n'
    (tmp_path / "in.csv").write_text(text)
    done = microagg(
        "anonymize", "in.csv", "out.csv", "--k", "2", "--quasi", "age; in years", "--rest", "keep",
        "--accept-risk", "named-columns",
    )  # fmt: skip
    assert done.code == 0, done
    header, *rows = rows_of(tmp_path / "out.csv")
    assert header == ["age; in years", "first, last\nname"]
    assert sorted(row[1] for row in rows) == ["007", "x", "y", "z"]


def test_a_folder_named_like_a_partition(microagg: Microagg, tmp_path: Path) -> None:
    folder = tmp_path / "year=2024"
    folder.mkdir()
    source = tables.write(tables.people(), folder / "in.parquet")
    done = microagg("anonymize", source, folder / "out.parquet", "--k", "4", *tables.ROLES)
    assert done.code == 0, done
    assert parquet.ParquetFile(folder / "out.parquet").schema_arrow.names == RELEASED


def test_a_column_that_csv_cannot_hold(microagg: Microagg, tmp_path: Path) -> None:
    table = tables.people().set_column(4, "code", pa.array([[1, 2]] * 12))
    source = tables.write(table, tmp_path / "in.parquet")
    before = tables.snapshot(tmp_path)
    microagg("anonymize", source, "out.csv", "--k", "4", *tables.ROLES).refused("write a parquet")
    assert tables.snapshot(tmp_path) == before
    assert microagg("anonymize", source, "out.parquet", "--k", "4", *tables.ROLES).code == 0


@pytest.mark.slow
def test_a_terminal_without_the_letters(microagg: Microagg, tmp_path: Path) -> None:
    from running import run

    (tmp_path / "in.csv").write_text("größe\n180\n181\n170\n172\n", "utf-8")
    arguments = ("-m", "microagg", "anonymize", "in.csv", "out.csv", "--k", "2", "--quasi", "größe")
    done = run(*arguments, folder=tmp_path, environment={"PYTHONIOENCODING": "ascii"})
    assert done.code == 0, done
    assert (tmp_path / "out.csv").exists()

"""Files to tables: texts to the letter, numbers where numbers are asked for, errors that name the
place.
"""

from __future__ import annotations

import csv
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as parquet
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import microagg as ma
from microagg.files.commit.writing import write_table
from microagg.files.formats import format_of
from microagg.files.reading import read_as_numbers, read_table

NUMERIC_LOOKING = [
    "7",
    "007",
    "+7",
    "-7",
    "-0",
    "1.0",
    "1.10",
    "0.1",
    ".5",
    "5.",
    "1e5",
    "1E5",
    "1e-7",
    "100000",
    "1e400",
    "nan",
    "NaN",
    "inf",
    "-inf",
    "Infinity",
    "1,5",
    "1_000",
    "12345678901234567890",
    "0.30000000000000004",
    "9007199254740993",
    " 7",
    "7 ",
    "0x10",
    "true",
    "2024-01-01",
    "1e16",
    "123456789012345680",
    "5e-324",
]


def write_csv(path: Path, rows: list[list[str]], delimiter: str = ",") -> Path:
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, delimiter=delimiter).writerows(rows)
    return path


def read_csv(path: Path) -> list[list[str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.reader(file))


@pytest.mark.slow
@given(st.lists(st.sampled_from(NUMERIC_LOOKING), min_size=1, max_size=4))
@settings(
    max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_what_looks_like_numbers_is_written_back_to_the_letter(
    tmp_path: Path, cells: list[str]
) -> None:
    rows = [["age", "cell"], *([str(i), cell] for i, cell in enumerate(cells))]
    table = read_table(write_csv(tmp_path / "in.csv", rows))
    write_table(table, tmp_path / "out.csv")
    assert read_csv(tmp_path / "out.csv") == rows


@pytest.mark.slow
@given(st.lists(st.text(st.characters(exclude_categories=["Cs"])), min_size=1, max_size=5))
@settings(
    max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_any_text_survives(tmp_path: Path, texts: list[str]) -> None:
    table = pa.table({"age": list(range(len(texts))), "text": pa.array(texts, pa.string())})
    write_table(table, tmp_path / "out.csv")
    column = read_table(tmp_path / "out.csv", encoding="utf-8").column(
        "text"
    )  # zeros, too, if it is said to be text
    if not pa.types.is_string(column.type):  # all of them digits
        column = column.cast(pa.string())
    assert column.to_pylist() == texts


@pytest.mark.slow
@given(
    st.lists(st.text(st.characters(exclude_categories=["Cs"])), min_size=1, max_size=5, unique=True)
)
@settings(
    max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_any_name_survives(tmp_path: Path, names: list[str]) -> None:
    table = pa.table({"age": [1], **{f"{name}!": ["007"] for name in names}})
    for delimiter in ",;":
        write_table(table, tmp_path / "out.csv", delimiter=delimiter)
        assert read_table(tmp_path / "out.csv", encoding="utf-8").equals(table)


def test_missing_and_empty_are_told_apart(tmp_path: Path) -> None:
    table = pa.table({"a": ["x", "", None], "b": [1, None, 2]})
    write_table(table, tmp_path / "out.csv")
    assert read_table(tmp_path / "out.csv").equals(table)


@pytest.mark.parametrize(
    ("header", "delimiter"),
    [
        ("a,b", ","),
        ("a;b", ";"),
        ("a\tb", "\t"),
        ("a|b", "|"),
        ("a", ","),
        ('"a;b;c",d', ","),
        ('"a,b";"c,d"', ";"),
        ("a,b;c;d", ";"),
        ('"two\nlines;";b', ";"),
        ("30;30,5;1,5", ";"),
        ("2019,2020,2021", ","),
    ],
)
def test_delimiters(tmp_path: Path, header: str, delimiter: str) -> None:
    path = tmp_path / "in.csv"
    path.write_text(f"{header}\n")
    assert format_of(path).detect(path) == {
        "delimiter": delimiter,
        "encoding": "utf-8",
        "line_end": "lf",
    }


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("start", [b"", b"\xef\xbb\xbf"])
def test_line_ends_and_marks(tmp_path: Path, end: str, start: bytes) -> None:
    (tmp_path / "in.csv").write_bytes(
        start + end.join(["age,zip", "31,007", "", "32,008"]).encode()
    )
    table = read_table(tmp_path / "in.csv", numeric=["age"])
    assert table.to_pydict() == {"age": [31, 32], "zip": ["007", "008"]}


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (["1", "+2", " 3 ", "-4", "007"], [1, 2, 3, -4, 7]),
        (["1", "2.5", ".5", "5.", "1e3", "-1E-2"], [1.0, 2.5, 0.5, 5.0, 1000.0, -0.01]),
        (["1234567890123456789012", "1"], [1.2345678901234568e21, 1.0]),
        (["1e-400", "1"], [0.0, 1.0]),
    ],
)
def test_numbers(tmp_path: Path, cells: list[str], expected: list[float]) -> None:
    path = write_csv(tmp_path / "in.csv", [["a", "b"], *([cell, "x"] for cell in cells)])
    column = read_table(path, numeric=["a"]).column("a")
    assert column.to_pylist() == expected
    assert pa.types.is_integer(column.type) == all(isinstance(number, int) for number in expected)


@pytest.mark.parametrize(
    "cell",
    ["", "NA", "n/a", "NaN", "null", "None", ".", "-", "#N/A", "inf", "1e999", "x", "1 2", "١"],
)
def test_the_first_wrong_cell_is_named(tmp_path: Path, cell: str) -> None:
    path = write_csv(
        tmp_path / "in.csv", [["a", "b"], ["1", "x"], ["2", "x"], [cell, "x"], [cell, "x"]]
    )
    with pytest.raises(ma.InputError, match=r"column 'a', row 3 \(header not counted\)"):
        read_table(path, numeric=["a"])
    assert read_table(path).num_rows == 4, "a column that nobody wants numbers from"


@pytest.mark.parametrize(
    ("cells", "what"),
    [(["x", "", "inf"], "text"), (["", "x"], "missing"), (["inf", "x"], "infinite")],
)
def test_the_first_of_several_wrong_cells_counts(
    tmp_path: Path, cells: list[str], what: str
) -> None:
    path = write_csv(
        tmp_path / "in.csv", [["a", "b"], ["1", "x"], *([cell, "x"] for cell in cells)]
    )
    with pytest.raises(ma.InputError, match=rf"row 2 \(header not counted\): {what}"):
        read_table(path, numeric=["a"])


def test_parquet_types_are_kept(tmp_path: Path) -> None:
    table = pa.table(
        {
            "a": pa.array([1, 2], pa.int8()),
            "b": ["007", None],
            "c": pa.array([1, 2], pa.timestamp("us")),
        }
    )
    parquet.write_table(table, tmp_path / "in.parquet")
    assert read_table(tmp_path / "in.parquet").equals(table)


def test_folders_with_an_equals_sign_add_no_column(tmp_path: Path) -> None:
    folder = tmp_path / "year=2024"
    folder.mkdir()
    parquet.write_table(pa.table({"a": [1]}), folder / "in.parquet")
    assert read_table(folder / "in.parquet").column_names == ["a"]


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ('a,b\n1,2\n3,"4\n5,6\n', "row 2 .* never closed"),
        ("a,b\n1,2\n3\n", "row 2 .* does not have the 2 columns"),
        ("a,b\n1,2\n3,4,5\n", "row 2 .* does not have the 2 columns"),
        ('a,b\n1,"x\ny"\n\n3,4,5\n', "row 2 .* does not have the 2 columns"),
        ("\na,b\n1,2\n", "begins with an empty line"),
        ("a,b", "no records"),
        ("a,b\n\n\n", "no records"),
        ("a,a\n1,2\n", "more than once"),
    ],
)
def test_broken_files(tmp_path: Path, content: str, says: str) -> None:
    (tmp_path / "in.csv").write_text(content)
    with pytest.raises(ma.InputError, match=says):
        read_table(tmp_path / "in.csv")


def test_a_quoted_text_at_the_end_is_not_an_open_quote(tmp_path: Path) -> None:
    for ending in ("", "\n", "\r\n"):
        (tmp_path / "in.csv").write_bytes(b'a,b\n1,"two\nlines\n"' + ending.encode())
        assert read_table(tmp_path / "in.csv").column("b").to_pylist() == ["two\nlines\n"]


def test_odd_paths(tmp_path: Path) -> None:
    for path in (tmp_path / f"{'x' * 300}.csv", Path("a\0b.csv"), tmp_path / "no" / "in.csv"):
        with pytest.raises(ma.InputError):
            read_table(path)
    (tmp_path / "file").write_text("")
    with pytest.raises(ma.InputError, match="there is no file"):
        read_table(tmp_path / "file" / "in.csv")
    (tmp_path / "loop.csv").symlink_to("loop.csv")
    with pytest.raises(ma.InputError, match="cannot be read"):
        read_table(tmp_path / "loop.csv")


@pytest.mark.parametrize(
    ("name", "expected"), [("a.csv", "csv"), ("A.CSV", "csv"), ("a.b.Parquet", "parquet")]
)
def test_formats(name: str, expected: str) -> None:
    assert format_of(Path(name)).name == expected


def test_a_proposal_sees_numbers_in_csv_only(tmp_path: Path) -> None:
    table = pa.table({"zip": ["007", "008"], "wide": ["1e400", "2"]})
    write_csv(tmp_path / "in.csv", [table.column_names, ["007", "1e400"], ["008", "2"]])
    parquet.write_table(table, tmp_path / "in.parquet")
    assert read_as_numbers(tmp_path / "in.csv").schema.types == [pa.int64(), pa.string()]
    assert read_as_numbers(tmp_path / "in.parquet").schema.types == [pa.string(), pa.string()]

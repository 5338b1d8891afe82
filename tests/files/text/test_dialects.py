"""Text files as they are: packed, in other encodings, with decimal commas and dates of their own;
and written as they were.
"""

from __future__ import annotations

import datetime
import gzip
import random
import time
import warnings
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import microagg as ma
from microagg.errors import ReadingWarning
from microagg.files import unpacking
from microagg.files.commit.writing import write_table
from microagg.files.formats import format_of, formats, options_shared, writing_options
from microagg.files.reading import read_table, read_written
from microagg.files.text import decoding, locale_columns
from microagg.files.text import dialect as dialect_module
from microagg.files.text.dialect import Dialect, dialect_of
from microagg.files.text.locale_columns import in_plain_spelling
from microagg.pipeline.files import anonymize_file
from microagg.table.columns.field_metadata import groups_digits
from microagg.table.columns.text_options import OPTIONS
from microagg.table.schema import ColumnSettings

TEXT_FORMATS = [format for format in formats() if format.options.keys() >= OPTIONS.keys()]
SUFFIXES = [suffix for format in TEXT_FORMATS for suffix in format.suffixes]
TABLE = pa.table(
    {
        "age": [31, 32, None],
        "zip": ["007", None, ""],
        "town": ["Köln", "Ulm", "Çorlu"],
        "wage": [1.5, -0.25, 1e6],
    }
)
GERMAN = "Größe;Alter;Einkommen\r\n1,84;31;1.200,50\r\n1,79;32;900,00\r\n"


def put(folder: Path, text: str, encoding: str = "utf-8", name: str = "in.csv") -> Path:
    path = folder / name
    path.write_bytes(text.encode(encoding))
    return path


def quietly(path: Path, **reading: Any) -> pa.Table:
    """Read a file about which there is nothing to tell."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return read_table(path, **reading)


def test_the_endings() -> None:
    assert sorted(SUFFIXES) == sorted(
        f".{name}{packed}" for name in ("csv", "tsv", "txt") for packed in ("", ".gz", ".zst")
    )


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_every_ending_with_every_delimiter(tmp_path: Path, suffix: str, delimiter: str) -> None:
    path = tmp_path / f"out{suffix}"
    write_table(TABLE, path, delimiter=delimiter)
    table = quietly(path)
    assert table.equals(TABLE)
    assert dialect_of(table).delimiter == delimiter
    assert format_of(path).recognise(path.read_bytes()[: 1 << 16])


@pytest.mark.parametrize("suffix", [suffix for suffix in SUFFIXES if suffix.count(".") == 2])
def test_packed_files_are_the_same_whenever_they_are_written(
    tmp_path: Path, suffix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_table(TABLE, tmp_path / f"a{suffix}")
    monkeypatch.setattr(time, "time", lambda: 2e9)
    write_table(TABLE, tmp_path / f"b{suffix}")
    first = (tmp_path / f"a{suffix}").read_bytes()
    assert first == (tmp_path / f"b{suffix}").read_bytes()
    if suffix.endswith(".gz"):
        assert first[4:8] == bytes(4), "no time stamp"
        assert gzip.decompress(first).startswith(b'"age"')


@pytest.mark.parametrize(
    ("encoding", "detected"),
    [
        ("utf-8", "utf-8"),
        ("utf-8-sig", "utf-8-sig"),
        ("utf-16", "utf-16-le"),
        ("utf-16-le", "utf-16-le"),
        ("utf-16-be", "utf-16-be"),
        ("cp1252", "cp1252"),
        ("latin-1", "cp1252"),
    ],
)
def test_encodings_are_found_out_told_and_kept(
    tmp_path: Path, encoding: str, detected: str
) -> None:
    text = "name,town\nMüller,Köln\nÉmile,Besançon\n"
    path = put(tmp_path, text, encoding)
    if detected.startswith("utf-8"):
        table = quietly(path)
    else:
        with pytest.warns(
            ReadingWarning,
            match=rf"in\.csv is not in UTF-8 and was read as .*say encoding='{detected}'",
        ):
            table = read_table(path)
        assert quietly(path, encoding=encoding).equals(table), "what is told needs no word"
    assert table.column("town").to_pylist() == ["Köln", "Besançon"]
    dialect = dialect_of(table)
    assert dialect.encoding == detected
    write_table(table, tmp_path / "out.csv", **dialect.options)
    marks = {"utf-8-sig": "\ufeff", "utf-16-le": "\ufeff", "utf-16-be": "\ufeff"}
    codec = detected.removesuffix("-sig")
    assert (tmp_path / "out.csv").read_bytes().decode(codec) == marks.get(detected, "") + (
        '"name","town"\n"Müller","Köln"\n"Émile","Besançon"\n'
    )
    assert read_written(tmp_path / "out.csv", **dialect.options).equals(table)


def test_letters_that_only_cp1252_has(tmp_path: Path) -> None:
    path = put(tmp_path, "price,what\n5 €,„Brot“ – süß\n", "cp1252")
    with pytest.warns(ReadingWarning, match="CP1252"):
        assert read_table(path).column("price").to_pylist() == ["5 €"]


def test_letters_far_down_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decoding, "BLOCK", 7)
    text = "a,b\n" + "x,y\n" * 50 + "ä,ö\n"
    assert quietly(put(tmp_path, text)).num_rows == 51
    with pytest.warns(ReadingWarning, match="CP1252"):
        assert read_table(put(tmp_path, text, "cp1252")).column("a")[50].as_py() == "ä"
    with pytest.warns(ReadingWarning, match="UTF-16"):
        assert read_table(put(tmp_path, text, "utf-16")).num_rows == 51


@pytest.mark.parametrize(
    ("content", "encoding", "says"),
    [
        ("a,b\nü,1\n".encode("cp1252"), "utf-8", r"is not in utf-8 \(line 2, byte 5 of the file\)"),
        ("a,b\nü,1\n".encode("cp1252"), "ascii", r"is not in ascii \(line 2, byte 5"),
        ("a,b\nü,1\n".encode("utf-16"), "utf-8", "is not in UTF-8 but in UTF-16"),
        ("a,b\nü,1\n".encode("utf-16-le"), "latin-1", "has zero bytes"),
        (b"a,b\n1,2\n3,4", "utf-16", "is not in utf-16"),
        ("a,b\n" + "ä,é\n" * 9, None, r"is in UTF-8 but for some bytes \(line 11, byte 59"),
        (b"a,b\n\x81\x8d,1\n", None, "neither in UTF-8 nor in UTF-16 nor in CP1252"),
        ("a,b\nü,1\n".encode("utf-32"), None, "is in UTF-32; say encoding='utf-32'"),
    ],
)
def test_wrong_encodings(
    tmp_path: Path, content: bytes | str, encoding: str | None, says: str
) -> None:
    if isinstance(content, str):
        content = content.encode() + b"\xe4,1\n"
    (tmp_path / "in.csv").write_bytes(content)
    with pytest.raises(ma.InputError, match=says) as refused:
        read_table(tmp_path / "in.csv", encoding=encoding)
    assert "ü" not in str(refused.value)


def test_a_decimal_comma_that_is_told(tmp_path: Path) -> None:
    path = put(tmp_path, GERMAN, "cp1252")
    options = {"encoding": "cp1252", "decimal": ",", "thousands": ".", "delimiter": ";"}
    table = quietly(path, quasi=["Größe", "Alter", "Einkommen"], **options)
    assert table.to_pylist() == [
        {"Größe": 1.84, "Alter": 31, "Einkommen": 1200.5},
        {"Größe": 1.79, "Alter": 32, "Einkommen": 900.0},
    ]
    assert [groups_digits(field) for field in table.schema] == [False, False, True]
    assert dialect_of(table).options == {**options, "line_end": "crlf"}
    assert quietly(path, quasi=["Einkommen"], encoding="cp1252", thousands=".").column(
        "Einkommen"
    ).to_pylist() == [1200.5, 900.0]


def test_what_is_written_looks_like_what_was_read(tmp_path: Path) -> None:
    path = put(tmp_path, GERMAN, "cp1252")
    table = read_table(path, quasi=["Größe"], encoding="cp1252", decimal=",", thousands=".")
    write_table(table, tmp_path / "out.csv", **dialect_of(table).options)
    text = (tmp_path / "out.csv").read_bytes().decode("cp1252")
    assert text == '"Größe";"Alter";"Einkommen"\r\n1,84;31;1.200,50\r\n1,79;32;900,00\r\n'
    english = {
        **dialect_of(table).options,
        "decimal": ".",
        "thousands": ",",
        "encoding": "utf-8",
        "line_end": "lf",
        "delimiter": ",",
    }
    write_table(table, tmp_path / "english.csv", **english)
    assert (
        tmp_path / "english.csv"
    ).read_text() == '"Größe","Alter","Einkommen"\n1.84,31,"1,200.50"\n1.79,32,900.00\n'


@pytest.mark.parametrize(
    ("decimal", "thousands"),
    [(",", "."), (",", " "), (".", ","), (",", ""), (".", "'"), (",", "\u202f")],
)
def test_numbers_come_back_equal(tmp_path: Path, decimal: str, thousands: str) -> None:
    numbers = [0.0, -1.5, 1e-7, 123456.75, -1234567.0, 999.0, 1000.0, 1e15, 12345678901234.5, None]
    wholes = [0, -7, 1000, 123456789012, -999, 100000, 7, 2024, 1, None]
    mark = {b"microagg-grouped": b"yes"}
    schema = pa.schema(
        [
            pa.field("real", pa.float64(), metadata=mark),
            pa.field("whole", pa.int64(), metadata=mark),
            ("year", pa.int64()),
        ]
    )
    table = pa.table({"real": numbers, "whole": wholes, "year": [2024] * 10}, schema=schema)
    options = {"decimal": decimal, "thousands": thousands, "delimiter": ";"}
    write_table(table, tmp_path / "out.csv", **options)
    result = quietly(tmp_path / "out.csv", quasi=["real", "whole", "year"], **options)
    assert result.to_pydict() == table.to_pydict()
    text = (tmp_path / "out.csv").read_text()
    if thousands:
        assert f"123{thousands}456{thousands}789{thousands}012" in text
    assert "2024" in text, "a column whose digits were not in groups"


@pytest.mark.parametrize(
    ("text", "says", "means"),
    [
        ("a;b\n1.200;x\n900;y\n",
         r"'a' have a point and three digits .*thousands or decimals\? They were "
         r"read as decimals; say decimal='\.', or decimal=',' with thousands='\.'", [1.2, 900]),
        ("a\tb\n1.200\tx\n\ty\n", "'a' have a point and three digits", [1.2, None]),
        ("a;b\n3,14;x\n900;y\n",
         "'a' have decimal commas, and all were read so; say decimal=',' to settle it",
         [3.14, 900]),
        ("a;b\n1.200,5;x\n900;y\n",
         "'a' have decimal commas and points that group digits.*say decimal=',' "
         "with thousands='.'", [1200.5, 900]),
        ("a|b\n0,125|x\nNA|y\n", "'a' have decimal commas", [0.125, None]),
    ],
)  # fmt: skip
def test_what_is_not_certain_is_told(
    tmp_path: Path, text: str, says: str, means: list[float]
) -> None:
    path = put(tmp_path, text)
    with pytest.warns(ReadingWarning, match=says):
        table = read_table(path, quasi=["a"])
    assert table.column("a").to_pylist() == means


@pytest.mark.parametrize(
    "text",
    ["a;b\n1.200;x\n3.5;y\n", "a;b\n0.125;x\n9;y\n", "a;b\n1.200;0.5\n900;7\n",
     "a,b\n1.200,x\n900,y\n", "a;b\n12;x\n9;y\n", "a;b\n1234.500;x\n1;x\n"]
)  # fmt: skip
def test_what_is_certain_needs_no_word(tmp_path: Path, text: str) -> None:
    table = quietly(put(tmp_path, text), quasi=["a"])
    assert table.column("a").to_pylist()[0] in (1.2, 0.125, 12, 1234.5)


def test_what_is_told_needs_no_word(tmp_path: Path) -> None:
    path = put(tmp_path, "a;b\n1.200;x\n900;y\n")
    assert quietly(path, quasi=["a"], decimal=".").column("a").to_pylist() == [1.2, 900]
    assert quietly(path, quasi=["a"], decimal=",", thousands=".").column("a").to_pylist() == [
        1200,
        900,
    ]
    path = put(tmp_path, "a;b\n1,200;x\n900;y\n")
    assert quietly(path, quasi=["a"], decimal=",").column("a").to_pylist() == [1.2, 900]
    assert quietly(path, quasi=["a"], thousands=",").column("a").to_pylist() == [1200, 900]
    path = put(tmp_path, 'a,b\n"3,14",x\n900,y\n')
    assert quietly(path, quasi=["a"], decimal=",").column("a").to_pylist() == [3.14, 900]


def test_commas_here_and_points_there(tmp_path: Path) -> None:
    path = put(tmp_path, "a;b\n3,14;1.5\n900;2.25\n")
    with pytest.warns(
        ReadingWarning, match="'a' have decimal commas and those of column 'b' decimal points"
    ):
        assert read_table(path, quasi=["b"]).column("b").to_pylist() == [1.5, 2.25]


@pytest.mark.parametrize(
    ("text", "options", "says"),
    [
        (
            "a;b\n1,200;x\n900;y\n",
            {},
            "'a', row 1 .*a number with a sign of unknown meaning; say decimal=','",
        ),
        ('a,b\n"1,200",x\n900,y\n', {}, "'a', row 1 .*a number with a sign"),
        ('a,b\n"3,14",x\n"2,5",y\n', {}, "'a', row 1 .*a number with a sign"),
        ("a;b\n1.200.000;x\n900;y\n", {}, "'a', row 1 .*a number with a sign"),
        (
            "a;b\n3.14;x\n900;y\n",
            {"decimal": ","},
            r"'a', row 1 .*not spelled as decimal=',' says; say thousands='\.'",
        ),
        ("a;b\n3,14;x\n1.5;y\n", {"decimal": ","}, r"'a', row 2 "),
        (
            "a;b\n3,14;x\nred;y\n7,5;z\n",
            {"decimal": ","},
            r"'a', row 2 .*text where a number is needed",
        ),
        (
            "a;b\n3,14;x\n",
            {"decimal": ",", "thousands": ","},
            "decimal and thousands are the same sign",
        ),
        ("a;b\n31.02.2024;x\n", {"dates": "%d.%m.%Y"}, "'a', row 1 .*not a date of the calendar"),
        (
            "a;b\n31.01.2024;x\nred;y\n",
            {"dates": "%d.%m.%Y"},
            "'a', row 2 .*text where a date is needed",
        ),
    ],
)
def test_numbers_and_dates_that_are_refused(
    tmp_path: Path, text: str, options: dict[str, Any], says: str
) -> None:
    path = put(tmp_path, text)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(ma.InputError, match=says) as refused:
            read_table(path, quasi=["a"], **options)
    assert not any(
        value in str(refused.value) for value in ("1,200", "3.14", "3,14", "1.5", "red", "31.")
    )


def test_categories_with_commas_stay_to_the_letter(tmp_path: Path) -> None:
    from microagg.table.kind_parameters import column_settings

    path = put(tmp_path, "a;b;c\n1,50;1,5;A\n2,50;x;B\n")
    settings = column_settings(nominal=["a"])
    table = quietly(path, quasi=["a"], settings=settings, decimal=",")
    assert table.column("a").to_pylist() == ["1,50", "2,50"]
    assert table.column("b").to_pylist() == ["1,5", "x"]
    write_table(table, tmp_path / "out.csv", **dialect_of(table).options)
    assert (tmp_path / "out.csv").read_text() == '"a";"b";"c"\n"1,50";"1,5";"A"\n"2,50";"x";"B"\n'


@pytest.mark.parametrize(
    ("pattern", "cells", "means"),
    [
        ("%d.%m.%Y", ["31.01.2024", "01.02.1999"],
         [datetime.date(2024, 1, 31), datetime.date(1999, 2, 1)]),
        ("%m/%d/%Y", ["01/31/2024", "02/01/1999"],
         [datetime.date(2024, 1, 31), datetime.date(1999, 2, 1)]),
        ("%Y/%j", ["2024/031", "1999/032"],
         [datetime.date(2024, 1, 31), datetime.date(1999, 2, 1)]),
        ("%d %b %Y", ["31 Jan 2024", "01 Feb 1999"],
         [datetime.date(2024, 1, 31), datetime.date(1999, 2, 1)]),
        ("%d.%m.%Y %H:%M", ["31.01.2024 12:30", "01.02.1999 00:05"],
         [datetime.datetime(2024, 1, 31, 12, 30), datetime.datetime(1999, 2, 1, 0, 5)]),
    ],
)  # fmt: skip
def test_dates_by_a_pattern_are_written_by_it(
    tmp_path: Path, pattern: str, cells: list[str], means: list[Any]
) -> None:
    path = put(tmp_path, "day;b\n" + "".join(f"{cell};x\n" for cell in [*cells, "NA"]))
    table = quietly(path, quasi=["day"], dates=pattern)
    assert table.column("day").to_pylist() == [*means, None]
    write_table(table, tmp_path / "out.csv", **dialect_of(table).options)
    assert (tmp_path / "out.csv").read_text() == '"day";"b"\n' + "".join(
        f'{cell};"x"\n' for cell in [*cells, "NA"]
    )
    kept = quietly(path, dates=pattern)
    assert kept.column("day").to_pylist()[:2] == cells, (
        "to the letter where nobody reckons with them"
    )


def test_dates_by_iso_beside_a_pattern_and_written_by_another(tmp_path: Path) -> None:
    path = put(tmp_path, "a,b\n2024-01-31,1.2.2024\n1999-02-01,28.12.1999\n")
    table = quietly(path, quasi=["a", "b"], dates="%d.%m.%Y")
    assert [str(kind) for kind in table.schema.types] == ["date32[day]"] * 2
    write_table(table, tmp_path / "out.csv")
    assert (
        tmp_path / "out.csv"
    ).read_text() == '"a","b"\n2024-01-31,01.02.2024\n1999-02-01,28.12.1999\n'
    write_table(table, tmp_path / "out.csv", dates="%m/%d/%Y")
    assert (
        tmp_path / "out.csv"
    ).read_text() == '"a","b"\n01/31/2024,02/01/2024\n02/01/1999,12/28/1999\n'


def test_dates_that_nobody_told_are_told_about(tmp_path: Path) -> None:
    with pytest.warns(
        ReadingWarning,
        match="'a' looks like dates, but was taken for categories; say how they are written",
    ):
        read_table(put(tmp_path, "a,b\n31.01.2024,x\n01.02.1999,y\n"), quasi=["a"])


@pytest.mark.parametrize(
    "pattern",
    ["", "%d.%m", "%Y-%q-%d", "%d.%m.%Y%", "%f %d.%m.%Y", "%d.%d.%m.%Y", 7, "%Y-%y-%m-%d"],
)
def test_patterns_that_are_none(tmp_path: Path, pattern: Any) -> None:
    with pytest.raises(ma.InputError, match="dates must be a pattern such as"):
        read_table(put(tmp_path, "a,b\n1,x\n"), dates=pattern)
    with pytest.raises(ma.InputError, match="such dates look like numbers"):
        read_table(put(tmp_path, "a,b\n1,x\n"), dates="%Y%m%d")


def test_what_the_output_shares_with_the_input(tmp_path: Path) -> None:
    german = {
        "delimiter": ";",
        "decimal": ",",
        "thousands": ".",
        "encoding": "cp1252",
        "line_end": "crlf",
    }
    csv, tsv, txt = (tmp_path / name for name in ("a.csv", "b.tsv", "c.txt"))
    assert options_shared(csv, txt, {}, german) == german
    assert options_shared(csv, tsv, {}, german) == {
        name: value for name, value in german.items() if name != "delimiter"
    }
    assert options_shared(tsv, csv, {}, {**german, "delimiter": "\t"})["delimiter"] == ";", (
        "as decimals have commas"
    )
    assert "delimiter" not in options_shared(tsv, csv, {}, {"delimiter": "\t"})
    assert options_shared(csv, csv, {"decimal": "."}, german) == {
        name: value for name, value in german.items() if name != "thousands"
    } | {"decimal": "."}
    assert options_shared(csv, tmp_path / "x.parquet", {}, german) == {}
    with pytest.raises(ma.InputError, match="the same sign"):
        options_shared(csv, csv, {"thousands": ","}, german)


def test_every_writing_option_is_one_of_its_format() -> None:
    for format in formats():
        assert {declared.name for declared in format.writing} <= set(format.options)
        for declared in format.writing:
            assert declared.parse(format.options[declared.name]) == format.options[declared.name]
    assert set(writing_options()) >= set(OPTIONS)


def test_a_letter_that_the_encoding_lacks(tmp_path: Path) -> None:
    path = put(tmp_path, "age,town\n" + "".join(f"{age},東京\n" for age in (30, 31, 40, 41)))
    with pytest.raises(
        ma.InputError,
        match=r"column 'town' has letters that cp1252 does not have; say writing=\{'encoding': "
        r"'utf-8'\}",
    ):
        anonymize_file(
            path,
            tmp_path / "out.csv",
            2,
            quasi=["age"],
            keep=["town"],
            seed=1,
            writing={"encoding": "cp1252"},
        )
    assert [entry.name for entry in tmp_path.iterdir()] == ["in.csv"]


def test_a_long_cell_and_line_ends(tmp_path: Path) -> None:
    long = "x" * (3 << 20)
    table = quietly(put(tmp_path, f"a,b\r{long},1\ry,2\r"))
    assert table.column("a").to_pylist() == [long, "y"]
    assert dialect_of(table).line_end == "cr"


def test_a_bomb_is_not_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unpacking, "available_memory", lambda: 1 << 24)
    content = gzip.compress(b"a,b\n" + b"1,2\n" * (4 << 20))
    (tmp_path / "in.csv.gz").write_bytes(content)
    with pytest.raises(ma.InputError, match="unpacks to a table"):
        read_table(tmp_path / "in.csv.gz")
    (tmp_path / "zeros.csv.gz").write_bytes(gzip.compress(bytes(1 << 24)))
    with pytest.raises(ma.InputError, match="has zero bytes"):
        read_table(tmp_path / "zeros.csv.gz")


def test_a_note_is_not_replaced_by_a_table(tmp_path: Path) -> None:
    source = put(tmp_path, "a,b\n1,2\n3,4\n")
    (tmp_path / "out.txt").write_text("To do:\n- buy bread, milk\n- call\n")
    with pytest.raises(ma.InputError, match="is there and is not a txt file"):
        anonymize_file(source, tmp_path / "out.txt", 2, quasi=["a", "b"], seed=1)
    anonymize_file(source, tmp_path / "new.txt", 2, quasi=["a", "b"], seed=1)
    anonymize_file(source, tmp_path / "new.txt", 2, quasi=["a", "b"], seed=1)


def test_two_digits_of_a_year_are_told_about(tmp_path: Path) -> None:
    path = put(tmp_path, "a,b\n31.01.69,x\n01.02.68,y\n")
    with pytest.warns(
        ReadingWarning, match="years of column 'a' have two digits: 69 to 99 were read as 1969"
    ):
        days = read_table(path, quasi=["a"], dates="%d.%m.%y").column("a").to_pylist()
    assert [day.year for day in days] == [1969, 2068]


@pytest.mark.slow
def test_spelling_by_a_quick_look_and_by_the_patterns(monkeypatch: pytest.MonkeyPatch) -> None:
    """Columns of numbers in a style are told from others alike, with the quick look and without."""
    rng = random.Random(3)
    pool = [
        "1,5",
        "12",
        "0,25",
        "1.200",
        "1.200,5",
        "900",
        "3.14",
        "NA",
        "",
        " 7",
        "x",
        "1,2,3",
        "5,",
        ",5",
        "1e3",
        "0x1F",
        "-1,5",
        "007",
        "1,200",
    ]
    columns = [
        pa.chunked_array([[rng.choice(rng.sample(pool, 3)) for _ in range(rng.randint(1, 4))]])
        for _ in range(400)
    ]
    dialects = [
        Dialect(";", decimal=","),
        Dialect(";", decimal=",", thousands="."),
        Dialect(thousands=","),
        Dialect(decimal="."),
    ]

    def outcomes() -> list[Any]:
        spelled = [
            in_plain_spelling("a", column, dialect, ColumnSettings())
            for column in columns
            for dialect in dialects
        ]
        signs = [dialect_module.signs_of(column, ColumnSettings()) for column in columns]
        return [(entry.column.to_pylist(), entry.grouped, entry.wrong) for entry in spelled] + signs

    quick = outcomes()
    for module in (locale_columns, dialect_module):
        monkeypatch.setattr(module, "plain_numbers", lambda column: None)
    assert quick == outcomes()

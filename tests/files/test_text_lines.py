"""Lines of text files as they are written, formulas in them, and what looks like a text file or a
header.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import microagg as ma
from microagg.files.excel import writer
from microagg.files.text.csv_format import recognise, recognise_columns
from microagg.files.text.csv_writing import (
    TextSink,
    as_they_were_read,
    check_other_letters,
    has_unquoted_gaps,
    places_of_unquoted_gaps,
    write_header,
    write_lines,
)
from microagg.files.text.formulas import escaped_column, formulas_in, unescaped, with_texts
from microagg.files.text.headers import FirstRow, check_unclear_names
from microagg.files.text.locale_columns import looks_like_dates
from microagg.table.columns.field_metadata import Pattern, field_metadata
from microagg.table.columns.locale_numbers import ENGLISH, GERMAN, PLAIN, Signs, Style, signs_in

NAME = Path("in.csv")


def written(folder: Path, table: pa.Table, *, bare: set[int], **options: Any) -> bytes:
    encoding = options.pop("encoding", "utf-8")
    delimiter, end = options.pop("delimiter", ","), options.pop("end", "\n")
    with TextSink(folder / "out", "", encoding) as sink:
        write_header(table.column_names, sink, delimiter, end)
        write_lines(table, sink, delimiter, bare, end, options.pop("gaps", {}))
    return (folder / "out").read_bytes()


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("delimiter", [",", ";"])
def test_quotes_are_where_they_are_needed(tmp_path: Path, delimiter: str, end: str) -> None:
    texts = ["a", 'b"c', "", None, "x;y", "x,y", "u\nv", "u\rv"]
    table = pa.table({"t": texts, 'n"': pa.array(range(8)), "g": texts})
    lines = written(tmp_path, table, bare={0}, delimiter=delimiter, end=end, gaps={2: "NA"})
    bare = ["a", '"b""c"', "", "", "x;y", "x,y", '"u\nv"', '"u\rv"']
    bare[5 if delimiter == "," else 4] = f'"{texts[5 if delimiter == "," else 4]}"'
    quoted = ['"a"', '"b""c"', '""', "NA", '"x;y"', '"x,y"', '"u\nv"', '"u\rv"']
    expected = [delimiter.join(['"t"', '"n"""', '"g"'])]
    expected += [delimiter.join([bare[i], str(i), quoted[i]]) for i in range(8)]
    assert lines.decode() == "".join(line + end for line in expected)


def test_a_gap_in_the_only_column_is_a_pair_of_quotes(tmp_path: Path) -> None:
    assert written(tmp_path, pa.table({"n": [1, None]}), bare=set()) == b'"n"\n1\n""\n'
    assert written(tmp_path, pa.table({"n": ["1", None]}), bare={0}) == b'"n"\n1\n""\n'


def test_slices_and_many_lines_are_written_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("microagg.files.text.csv_writing.LINES_AT_ONCE", 7)
    table = pa.table({"a": [f"ü{row}" for row in range(40)], "b": range(40)})
    whole = b'"a","b"\n' + b"".join(f'"ü{row}",{row}\n'.encode() for row in range(3, 33))
    assert written(tmp_path, table.slice(3, 30), bare=set()) == whole
    assert written(tmp_path, table.slice(3, 30), bare=set(), encoding="utf-16") == (
        b"\xff\xfe" + whole.decode().encode("utf-16-le")
    )


def test_letters_that_an_encoding_lacks() -> None:
    for table in (
        pa.table({"Łódź": [1]}),
        pa.table({"town": ["Ulm", "Łódź"]}),
        pa.table({"town": pa.array(["Łódź"]).dictionary_encode()}),
    ):
        check_other_letters(table, "utf-16")
        with pytest.raises(ma.InputError, match="has letters that cp1252 does not have"):
            check_other_letters(table, "cp1252")
    check_other_letters(pa.table({"Köln": ["Köln", None]}), "cp1252")


def field(name: str, kind: pa.DataType, **facts: Any) -> pa.Field:
    return pa.field(name, kind, metadata=field_metadata(**facts))


def test_columns_are_written_as_they_were_read() -> None:
    fields = [
        field("age", pa.int64(), missing="NA"),
        field("town", pa.string(), missing="NA"),
        field("code", pa.string(), missing="x"),
        field("wage", pa.float64(), grouped=True, missing="."),
        field("born", pa.timestamp("s"), pattern=Pattern("T", 16)),
        field("plain", pa.float64()),
    ]
    moments = pa.array([0, None], pa.timestamp("s"))
    columns = [[30, None], ["u", None], ["c", None], [1234.5, None], moments, [2.5, 1000.0]]
    table = pa.table(columns, schema=pa.schema(fields))
    made, bare, gaps = as_they_were_read(table, GERMAN)
    assert made.to_pydict() == {
        "age": ["30", "NA"],
        "town": ["u", None],
        "code": ["c", "x"],
        "wage": ["1.234,5", "."],
        "born": ["1970-01-01T00:00", None],
        "plain": ["2,5", "1000"],
    }
    assert (bare, gaps) == ({0, 3, 4, 5}, {1: "NA"})
    made, bare, gaps = as_they_were_read(table.slice(0, 1), None, "%d.%m.%Y %H:%M")
    assert made.to_pydict() == {
        "age": [30],
        "town": ["u"],
        "code": ["c"],
        "wage": [1234.5],
        "born": ["01.01.1970 00:00"],
        "plain": [2.5],
    }
    assert (bare, gaps) == ({4}, {})
    assert [has_unquoted_gaps(one) for one in fields] == [False, True, False, False, False, False]
    assert places_of_unquoted_gaps(table.schema) == (1,)


def test_formulas_are_escaped_and_come_back() -> None:
    texts = ["=A1", "+a", "-b", "@c", "\tx", "\rx", "-1", "+1.5", "a=b", "'=A1", "''-b", "'a", "="]
    escaped = [f"'{text}" for text in texts[:6]] + texts[6:9] + ["''=A1", "'''-b", *texts[11:]]
    table = pa.table({"=name": texts, "n": range(13), "c": pa.array(texts).dictionary_encode()})
    made = with_texts(table, escaped_column)
    assert made.column_names == ["'=name", "n", "c"]
    assert made.column(0).to_pylist() == made.column(2).to_pylist() == escaped
    assert unescaped(made).to_pydict() == table.to_pydict()
    for text, is_formula in zip(
        texts, [True] * 6 + [False] * 3 + [True] * 2 + [False] * 2, strict=True
    ):
        column = pa.chunked_array([["x", text, None]])
        assert formulas_in(column) == formulas_in(column.dictionary_encode()) == is_formula, text
    assert not formulas_in(pa.chunked_array([[-1, 2]]))


@pytest.mark.parametrize(
    ("beginning", "text", "columns"),
    [
        (b"age;income\n31;7\n", True, True),
        (b"age,income\n31;7\n", True, False),
        (b"a,b\n1,2\n3\n", True, False),
        (b'a,b\n"1,2",3\n', True, True),
        (b"a,b\n" * 5 + b"note\n", True, True),
        (b"note\n", True, False),
        (b"a\x00b,c\n", False, False),
        (b"  {}", False, False),
        (b"<html>", False, False),
        (b"PAR1,x", False, False),
        (b"\x1f\x8b,x", False, False),
        ("a;b\n1;2\n".encode("utf-16"), True, True),
        (b"a\x0cb,c\n", True, False),
        (b"a,b\n" * 3 + b"c,d,e", True, False),
        (b"x" * (1 << 16) + b",y\na,b\nc", True, True),
    ],
)
def test_what_begins_as_text(beginning: bytes, text: bool, columns: bool) -> None:
    assert (recognise(beginning), recognise_columns(beginning)) == (text, columns)


def row(names: list[str], *cells: list[str | None], values: tuple[int, ...] = ()) -> FirstRow:
    first = FirstRow(names, values)
    first.add_table(
        pa.table(
            [pa.array(column, pa.string()) for column in zip(*cells, strict=True)], names=names
        )
    )
    return first


@pytest.mark.parametrize(
    ("names", "cells", "record", "mostly"),
    [
        (["a", "1"], [["x", "y"]], True, False),
        (["a", "1"], [["5", "y"]], False, False),
        (["1", "2", "a"], [["x", "y", "5"]], True, True),
        (["1", "2", "a", "b"], [["x", "y", "5", "z"]], False, False),
        (["1", "2"], [["5", "6"]], False, False),
        (["0", "1"], [["5", "6"]], False, False),
        (["2", "3"], [["5", "6"]], True, True),
        (["a", "b", "c"], [["a", "y", "z"]], False, False),
        (["a", "b"], [["a", "y"]], True, False),
        (["a", ""], [["x", "y"]], False, False),
        (["a", ""], [["a", ""]], True, False),
        (["1987-04-01", "a"], [["x", "NA"]], True, False),
        (["1987-04-01", "a"], [["x", None]], True, False),
        (["1987-04-01", "a"], [["x", "5"], ["x", "NA"]], False, False),
        (["1987-04-01", "a"], [["x", "5"], ["x", "y"]], True, False),
    ],
)
def test_a_first_row_is_judged_by_the_rows_below(
    names: list[str], cells: list[list[str | None]], record: bool, mostly: bool
) -> None:
    first = row(names, *cells)
    assert (first.looks_like_record(), first.is_mostly_data) == (record, mostly)
    if record or mostly:
        with pytest.raises(ma.InputError, match="looks like a record"):
            first.check_record(NAME)
    else:
        first.check_record(NAME)


def test_cells_that_are_no_text_count_as_values() -> None:
    assert row(["a", "b"], ["x", "y"], values=(0,)).looks_like_record()
    assert not row(["a", "b"], ["x", "5"], values=(0,)).looks_like_record()


def test_unclear_names() -> None:
    check_unclear_names(["a", "", "b"], NAME)
    with pytest.raises(ma.InputError, match=r"columns 1 and 3 of .* have no name"):
        check_unclear_names(["", "a", " "], NAME)
    with pytest.raises(ma.InputError, match="more than once, in columns 2 and 4"):
        check_unclear_names(["b", "a", "c", "a", "b"], NAME)


@pytest.mark.parametrize(
    ("texts", "dates"),
    [
        (["31.12.2024", None, " 1.1.24 "], True),
        (["31/12/2024", "31-12-24"], True),
        (["2024/12/31", "2024.1.1"], True),
        (["2024-12-31"], False),
        (["31.12.2024", "x"], False),
        (["31.12"], False),
        (["", None], False),
    ],
)
def test_what_looks_like_dates(texts: list[str | None], dates: bool) -> None:
    assert looks_like_dates(pa.chunked_array([pa.array(texts, pa.string())])) == dates
    assert not looks_like_dates(pa.chunked_array([[1, 2]]))


@pytest.mark.parametrize(
    ("texts", "signs"),
    [
        (["1.5", "2"], Signs(point=True)),
        (["1.500", "2"], Signs(unclear=".")),
        (["0.500"], Signs(point=True)),
        (["01.500"], Signs(point=True)),
        (["1.50"], Signs(point=True)),
        (["1.5000"], Signs(point=True)),
        (["1234.500"], Signs(point=True)),
        (["-1.500", "1.500e3"], Signs(unclear=".")),
        (["1.5e3"], Signs(point=True)),
        (["1,5"], Signs(comma=True)),
        (["1,500", "+2"], Signs(unclear=",")),
        (["0,500"], Signs(comma=True)),
        (["1234,500"], Signs(comma=True)),
        (["1.234,5"], Signs(comma=True, groups=True)),
        (["1.234,500", "7"], Signs(comma=True, groups=True)),
        (["1,234.5"], Signs()),
        (["7", "8"], Signs()),
        (["7.5", "x"], Signs()),
        ([], Signs()),
    ],
)
def test_what_numbers_say_of_their_signs(texts: list[str], signs: Signs) -> None:
    assert signs_in(pa.array(texts, pa.string())) == signs


@pytest.mark.parametrize("style", [PLAIN, GERMAN, ENGLISH, Style(",", " "), Style(".", "'")])
def test_spelling_and_back(style: Style) -> None:
    plain = ["0", "-7", "999", "1000", "-1234567.5", "123456", "0.001", "1e5", "12345.678"]
    column = pa.chunked_array([plain])
    for grouped in (False, True):
        texts = style.spelled(column, grouped=grouped)
        assert style.plain(texts).to_pylist() == plain
        assert style.groups(texts) == (grouped and bool(style.thousands))
        for text, number in zip(texts.to_pylist(), plain, strict=True):
            expected = number.replace(".", "#").replace("#", style.decimal)
            if grouped and style.thousands and "e" not in number:
                whole, point, rest = number.partition(".")
                sign = style.thousands
                expected = f"{int(whole):,}".replace(",", sign) if whole != "0" else whole
                expected += (style.decimal if point else "") + rest
            assert text == expected


def test_numbers_a_sheet_holds_exactly() -> None:
    def exact(*values: Any, kind: pa.DataType | None = None) -> list[Any]:
        return writer.exact_numbers(
            "x", pa.chunked_array([pa.array(values, kind)]), "Excel"
        ).to_pylist()

    assert exact(2**53, -(2**53), None) == [2**53, -(2**53), None]
    for number in (2**53 + 1, -(2**53) - 1):
        with pytest.raises(ma.InputError, match="more than 15 digits"):
            exact(0, number)
    assert exact(0.5, float("nan"), None) == [0.5, None, None]
    assert exact(None, None, kind=pa.int64()) == [None, None]
    from decimal import Decimal

    assert exact(Decimal("0.10"), None) == [0.1, None]
    with pytest.raises(ma.InputError, match="decimals of more than 15 digits"):
        exact(Decimal("0.10"), Decimal("12345678901234567.89"))


@pytest.mark.parametrize(
    ("text", "fits"),
    [("x" * 32_767, True), ("😀" * 16_383 + "x", True), ("😀" * 16_383 + "xx", False)],
)
def test_the_longest_cells(text: str, fits: bool) -> None:
    column = pa.chunked_array([[text, "a", None]])
    if fits:
        writer.check_texts(column, "column 'x'")
    else:
        with pytest.raises(ma.InputError, match="32,767 letters"):
            writer.check_texts(column, "column 'x'")


def test_sheets_of_the_most_rows_and_columns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer, "ROWS", 5)
    monkeypatch.setattr(writer, "COLUMNS", 2)
    monkeypatch.setattr(writer, "AT_ONCE", 3)
    table = pa.table({"a": [1, 2, None, 4], "b": list("wxyz")})
    writer.write_workbook(table, tmp_path / "out.xlsx")
    from microagg.files.reading import read_table

    assert read_table(tmp_path / "out.xlsx").to_pydict() == table.to_pydict()
    for wrong in (pa.table({"a": range(5)}), pa.table({"a": [1], "b": [1], "c": [1]})):
        with pytest.raises(ma.InputError, match="rows and 2 columns at most"):
            writer.write_workbook(wrong, tmp_path / "out.xlsx")


def test_letters_that_an_encoding_lacks_are_refused_before_a_byte(tmp_path: Path) -> None:
    with TextSink(tmp_path / "out", "", "cp1252") as sink:
        with pytest.raises(ma.InputError, match="has letters that cp1252 does not have"):
            write_header(["Łódź"], sink, ",", "\n")
        with pytest.raises(ma.InputError, match="has letters that cp1252 does not have"):
            write_lines(pa.table({"town": ["Łódź"]}), sink, ",", set())
    assert (tmp_path / "out").read_bytes() == b""

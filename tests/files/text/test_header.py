"""A csv file without a header: no record becomes the names of columns unless somebody says so."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest

import microagg as ma
from microagg.files.commit.writing import write_table
from microagg.files.formats import reading_options
from microagg.files.reading import read_table, read_written
from microagg.files.text.csv_header import header_in
from microagg.files.text.headers import FirstRow
from microagg.pipeline.files import anonymize_file
from microagg.release.settings import Settings
from microagg.studies.assess import assess_files
from microagg.studies.bounding import bound_file
from microagg.studies.repeating import repeat_file
from microagg.verify_bound import verify

RECORDS = "Canary-Anna,4815162,flu\nBert,90210,HIV\nCarl,90233,flu\nDora,90251,cold\n"
LIKE_DATA = {
    "numbers": RECORDS,
    "a-repeated-value": "flu,Anna\ncold,Bert\nflu,Carl\n",
    "a-date": "when,1987-04-01\nx,1988-01-01\n",
    "a-german-date": "when;01.04.1987\nx;02.04.1987\n",
    "a-decimal-comma": "wage;4815,16\nx;3,5\n",
    "an-amount": "wage,€ 4815.16\nx,€ 3\n",
    "the-same-twice": "Canary,Canary\nx,y\n",
    "a-negative-number": "-5,a\n-6,b\n",
}


@pytest.mark.parametrize("name", LIKE_DATA)
def test_what_looks_like_a_record_is_refused_without_a_word_of_it(
    tmp_path: Path, name: str
) -> None:
    (tmp_path / "in.csv").write_text(LIKE_DATA[name], "utf-8")
    with pytest.raises(ma.InputError, match="--no-header") as refusal:
        read_table(tmp_path / "in.csv")
    for cell in LIKE_DATA[name].replace("\n", ",").replace(";", ",").split(","):
        assert len(cell) < 3 or cell not in str(refusal.value)


@pytest.mark.parametrize(
    "content",
    [
        "age,income\n1,2\n",
        "0,1\n5,6\n",
        "1,2,3\n5,6,7\n",
        ",age\nx,5\n",
        "q1,q2\n5,6\n",
        "2nd,3rd\n5,6\n",
        "age\n",
    ],
)
def test_headers_are_headers(tmp_path: Path, content: str) -> None:
    (tmp_path / "in.csv").write_text(content)
    if content.count("\n") > 1:
        assert read_table(tmp_path / "in.csv").column_names == content.split("\n")[0].split(",")


@pytest.mark.parametrize("start", ["", "\ufeff"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_without_a_header(tmp_path: Path, start: str, end: str) -> None:
    (tmp_path / "in.csv").write_bytes((start + RECORDS.replace("\n", end)).encode())
    table = read_table(tmp_path / "in.csv", numeric=["2"], header=False)
    assert table.column_names == ["1", "2", "3"]
    assert table.column("2").to_pylist() == [4815162, 90210, 90233, 90251]
    assert table.column("1")[0].as_py() == "Canary-Anna"
    (tmp_path / "one.csv").write_text("1,2")
    assert read_table(tmp_path / "one.csv", header=False).num_rows == 1


def test_rows_are_counted_from_the_first(tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text("1,2\n3,4\n5\n")
    with pytest.raises(ma.InputError, match="row 3 "):
        read_table(tmp_path / "in.csv", header=False)
    (tmp_path / "in.csv").write_text("1,2\n3,x\n")
    with pytest.raises(ma.InputError, match="column '2', row 2 "):
        read_table(tmp_path / "in.csv", numeric=["2"], header=False)


def test_a_header_all_the_same(tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text("town,2019,2020\nUlm,1,2\ntown,3,4\n")
    assert read_table(tmp_path / "in.csv", header=True).column_names == ["town", "2019", "2020"]


def test_what_was_written_is_read_back_whatever_its_names(tmp_path: Path) -> None:
    table = pa.table({"2019": ["2019", "1"], "x": ["x", "y"]})
    write_table(table, tmp_path / "out.csv")
    assert read_written(tmp_path / "out.csv").equals(table)


@pytest.mark.parametrize("value", ["no", 1, 0, "auto"])
def test_other_answers_are_refused(tmp_path: Path, value: object) -> None:
    (tmp_path / "in.csv").write_text(RECORDS)
    with pytest.raises(ma.InputError, match="header must be"):
        read_table(tmp_path / "in.csv", header=value)
    with pytest.raises(ma.InputError, match="there are: " + ", ".join(reading_options())):
        read_table(tmp_path / "in.csv", colour=value)


def test_a_release_without_a_header_can_be_repeated(tmp_path: Path) -> None:
    source, target, again = (tmp_path / name for name in ("in.csv", "out.csv", "again.csv"))
    source.write_text(RECORDS)
    anonymize_file(
        source,
        target,
        2,
        quasi=["2"],
        identifier=["1"],
        confidential=["3"],
        seed=1,
        reading={"header": False},
    )
    assert target.read_text().splitlines()[0] == '"2","3"'
    manifest = json.loads((tmp_path / "out.csv.internal.json").read_text())
    assert manifest["settings"]["reading"] == {"header": False}
    assert "reading" not in (tmp_path / "out.csv.public.json").read_text()
    repeated = repeat_file(tmp_path / "out.csv.internal.json", source, again)
    assert "the same release" in repeated.notes[0]
    assert again.read_bytes() == target.read_bytes()


def test_a_bound_on_a_file_without_a_header_can_be_verified(tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text("".join(f"x,{i * i},{i * 7 % 5}\n" for i in range(9)))
    settings = Settings.of(k=3, quasi=["2", "3"], effort="prove", time_limit=5, seed=0)
    bound_file(
        tmp_path / "in.csv",
        settings,
        certificate=tmp_path / "proof.json",
        reading={"header": False},
    )
    verdict = verify(tmp_path / "proof.json", tmp_path / "in.csv")
    assert verdict.holds, verdict.reason
    assert verdict.records == 9


def test_assessing_against_an_original_without_a_header(tmp_path: Path) -> None:
    source, target = tmp_path / "in.csv", tmp_path / "out.csv"
    source.write_text("".join(f"{i},{i * i}\n" for i in range(30)))
    anonymize_file(
        source, target, 3, quasi=["1", "2"], seed=1, keep_order=True, reading={"header": False}
    )
    result = assess_files(source, target, quasi=["1", "2"], k=3, reading={"header": False})
    assert result.smallest_class >= 3


HEADERS_AFTER_ALL = {
    "a-name-among-values": "area,urban\n1,urban\n2,rural\n",
    "a-year": "town,income,2019\nUlm,5,7\nBonn,6,8\n",
    "one-of-many-texts": "sex,job,other,town\nf,a,other,x\nm,b,none,y\n",
    "dates-below": "born,flag,1\n1987-04-01,x,3\nNA,x,4\n",
}


@pytest.mark.parametrize("name", HEADERS_AFTER_ALL)
def test_a_header_of_which_few_names_look_like_values_is_read(tmp_path: Path, name: str) -> None:
    content = HEADERS_AFTER_ALL[name]
    (tmp_path / "in.csv").write_text(content)
    assert read_table(tmp_path / "in.csv").column_names == content.split("\n")[0].split(",")


def test_the_sentence_names_columns_by_their_places(tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text("Anna,34,flu,x\nBert,35,flu,y\n")
    with pytest.raises(
        ma.InputError,
        match=r"should be \(column 2\) and a value that occurs again below it \(column 3\b",
    ):
        read_table(tmp_path / "in.csv")


def test_columns_without_names_are_said_to_have_none(tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text("age,,sex,\n31,1,f,2\n")
    with pytest.raises(
        ma.InputError, match=r"columns 2 and 4 of .*in\.csv' have no name in the first row"
    ):
        read_table(tmp_path / "in.csv")


def test_excel_headers_are_judged_alike(tmp_path: Path) -> None:
    import openpyxl

    for number, (rows, refused) in enumerate(
        [
            ([["area", "urban"], [1, "urban"], [2, "rural"]], False),
            ([["town", "income", 2019], ["Ulm", 5, 7], ["Bonn", 6, 8]], False),
            ([["Anna", 34, "flu"], ["Bert", 35, "flu"]], True),
            ([["flu", "Anna"], ["flu", "Bert"]], True),
        ]
    ):
        book = openpyxl.Workbook()
        for row in rows:
            book.worksheets[0].append(row)
        path = tmp_path / f"{number}.xlsx"
        book.save(path)
        if refused:
            with pytest.raises(ma.InputError, match="--no-header"):
                read_table(path)
        else:
            assert read_table(path).column_names == [str(cell) for cell in rows[0]]


@pytest.mark.parametrize(
    ("text", "header"),
    [
        ('"a","b"\n1,2\n', '"a","b"\n'),
        ('"a",b\r\n"1",2\r\n', '"a",b\r\n'),
        ('"a\nb",c\n1,2\n', '"a\nb",c\n'),
        ('a,"b\n\n""c"""\n1,2\n', 'a,"b\n\n""c"""\n'),
        ('a,"b\n1,2\n', 'a,"b\n1,2\n'),
        ("a,b", "a,b"),
        ("", ""),
    ],
)
def test_a_header_ends_where_its_last_quote_is_closed(text: str, header: str) -> None:
    assert header_in(text) == header


def test_the_first_record_with_a_name_is_counted_through_all_pieces(tmp_path: Path) -> None:
    row = FirstRow(["who", "flu"])
    row.add_table(pa.table({"who": ["a", "b"], "flu": ["x", "y"]}))
    row.add_table(pa.table({"who": ["c", "d", "e"], "flu": ["x", "flu", "flu"]}))
    row.add_table(pa.table({"who": ["f"], "flu": ["flu"]}))
    with pytest.raises(ma.InputError, match=r"\(column 2, first in record 4\)"):
        row.check_record(tmp_path / "in.csv")

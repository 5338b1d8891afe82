"""Text files in batches: the same records wherever blocks end; empty is not quoted."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import microagg as ma
from microagg.files.text import batches
from microagg.files.text.batches import batches_of_text, names_of_text, text_stream
from microagg.files.text.decoding import Source
from microagg.files.text.quoting import quoted_columns, unquoted_markers, without_unquoted

TEXT = 'town,note\nUlm,"a\nb"\n"",x\n,"NA"\nNA,NA\n"Bonn, Rh.","say ""hi"""\n'
CELLS = [["Ulm", "", None, "NA", "Bonn, Rh."], ["a\nb", "x", "NA", "NA", 'say "hi"']]


@pytest.fixture(params=[16, 40, 1 << 20])
def block(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr(batches, "BLOCK", request.param)
    return request.param


def cells(path: Path, **options: Any) -> list[list[str | None]]:
    options_of_file = {
        "packing": "",
        "delimiter": ",",
        "names": ["town", "note"],
        "header": True,
        **options,
    }
    # each case sets other options, so their types differ
    parts = list(batches_of_text(path, **options_of_file))  # type: ignore[arg-type]
    return [column.to_pylist() for column in pa.Table.from_batches(parts).columns]


@pytest.mark.parametrize("packing", ["", "gzip"])
def test_cells_are_text_and_only_empty_ones_without_quotes_are_missing(
    tmp_path: Path, block: int, packing: str
) -> None:
    path = tmp_path / "in.csv"
    path.write_bytes(gzip.compress(TEXT.encode()) if packing else TEXT.encode())
    assert cells(path, packing=packing) == CELLS
    assert cells(path, packing=packing, wanted=["note"]) == CELLS[1:]
    without_na = [[None if cell == "NA" else cell for cell in column] for column in CELLS]
    without_na[1][2] = "NA"
    assert cells(path, packing=packing, missing=["", "NA"]) == without_na
    named = cells(path, packing=packing, header=False)
    assert [column[0] for column in named] == ["town", "note"]
    assert [column[1:] for column in named] == CELLS


def test_bytes_above_the_header_are_skipped(tmp_path: Path, block: int) -> None:
    above = "made by us\n\n"
    (tmp_path / "in.csv").write_text(above + TEXT)
    assert cells(tmp_path / "in.csv", skipped=len(above)) == CELLS


def test_a_record_longer_than_a_block_is_read_once(tmp_path: Path, block: int) -> None:
    rows = [f'u{row},"{"x" * (row * 7 % 90)}\n"' for row in range(60)]
    (tmp_path / "in.csv").write_text("town,note\n" + "\n".join(rows) + "\n")
    towns, notes = cells(tmp_path / "in.csv")
    assert towns == [f"u{row}" for row in range(60)]
    assert notes == ["x" * (row * 7 % 90) + "\n" for row in range(60)]


def test_a_ragged_record_is_an_error_of_arrow(tmp_path: Path, block: int) -> None:
    (tmp_path / "in.csv").write_text("town,note\n" + "a,b\n" * 30 + "a,b,c\n")
    with pytest.raises(pa.ArrowInvalid):
        cells(tmp_path / "in.csv")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "cp1252"])
def test_names_of_a_file_just_written(tmp_path: Path, encoding: str) -> None:
    text = '"Köln";b\n1;2\n'
    content = text.encode("utf-16-le" if encoding == "utf-16" else encoding)
    (tmp_path / "out.csv.gz").write_bytes(gzip.compress(content))
    assert names_of_text(tmp_path / "out.csv.gz", "gzip", encoding, ";") == ["Köln", "b"]
    with text_stream(tmp_path / "out.csv.gz", "gzip", encoding) as stream:
        assert bytes(stream.read()).decode("utf-8-sig") == text
    (tmp_path / "empty.csv").write_bytes(b"")
    with pytest.raises(ma.InputError, match="is empty"):
        names_of_text(tmp_path / "empty.csv", "", encoding, ";")


def test_columns_whose_texts_are_quoted() -> None:
    text = 'a,b,c,d,e\n"x",1,"1",NA,"y"\n"z",NA,2,NA,\nNA,3,"3",,.\n'
    names = list("abcde")
    for header, expected in ((True, ["a", "e"]), (False, [])):
        source = Source(pa.py_buffer(text.encode()), "utf-8")
        assert quoted_columns(source, ",", names, header=header) == expected


def test_a_record_that_may_be_cut_off_is_not_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    from microagg.files.text import quoting

    text = 'a,b\n"x",1\n"z",2\nbare,3'
    source = Source(pa.py_buffer(text.encode()), "utf-8")
    assert quoted_columns(source, ",", ["a", "b"], header=True) == []
    monkeypatch.setattr(quoting, "LOOKED_AT", len(text) - 1)
    assert quoted_columns(source, ",", ["a", "b"], header=True) == ["a"]
    monkeypatch.setattr(quoting, "LOOKED_AT", len(text))
    assert quoted_columns(source, ",", ["a", "b"], header=True) == ["a"]


@pytest.mark.parametrize("header", [True, False])
def test_masks_of_markers_without_quotes(header: bool) -> None:
    rows = ['"NA",1', "NA,2", ",3", '"",4', "null,5", "x,6", ".,7", '"a\nb",8']
    text = ("a,b\n" if header else "") + "\n".join(rows) + "\n"
    source = Source(pa.py_buffer(text.encode()), "utf-8")
    masks = unquoted_markers(source, ",", ["a", "b"], ["a"], header=header)
    assert list(masks) == ["a"]
    gone = [False, True, True, False, True, False, True, False]
    assert masks["a"].to_pylist() == gone
    texts = pa.chunked_array([["NA", "NA", None, "", "null", "x", ".", "a\nb"]])
    column, marker = without_unquoted(texts, masks["a"])
    assert column.to_pylist() == ["NA", None, None, "", None, "x", None, "a\nb"]
    assert marker == ".", "the first of several as frequent"
    most = pa.chunked_array([["null", "null", "NA"]])
    assert without_unquoted(most, pa.chunked_array([[True] * 3]))[1] == "null"
    assert without_unquoted(most, pa.chunked_array([[False] * 3])) == (most, "")
    assert unquoted_markers(source, ",", ["a", "b"], [], header=header) == {}

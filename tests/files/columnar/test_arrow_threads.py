"""Nothing of Python is handed to Arrow's streaming readers, whose threads may outlive the
interpreter.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as arrow_csv
import pytest

import microagg as ma
from microagg.files.reading import read_table
from microagg.pipeline.text_intake import TextFile, read_text_file

TEXTS = "age,town\n31,Köln\n32,Ulm\n"


@pytest.fixture
def streamed(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, Any]]:
    """The input and the parsing options of each streaming reader that is opened."""
    opened: list[tuple[Any, Any]] = []
    usual = arrow_csv.open_csv

    def remember(source: Any, reading: Any, parsing: Any, *more: Any) -> Any:
        opened.append((source, parsing))
        return usual(source, reading, parsing, *more)

    monkeypatch.setattr(arrow_csv, "open_csv", remember)
    return opened


@pytest.mark.parametrize("header", [True, False])
def test_ragged_rows_are_found_without_a_function_of_python(
    tmp_path: Path, streamed: list[tuple[Any, Any]], header: bool
) -> None:
    content = "31,5\n" * 40 + "32,6,7\n" + "33,8\n"
    (tmp_path / "in.csv").write_text(("age,income\n" if header else "") + content)
    with pytest.raises(ma.InputError, match=r"row 41 .* does not have the 2 columns"):
        read_table(tmp_path / "in.csv", header=header)
    assert [parsing.invalid_row_handler for _, parsing in streamed] == [None]


@pytest.mark.parametrize("encoding", ["cp1252", "utf-16"])
def test_other_encodings_are_decoded_before_arrow_reads(
    tmp_path: Path, streamed: list[tuple[Any, Any]], encoding: str
) -> None:
    (tmp_path / "in.csv").write_text(TEXTS, encoding)
    file = TextFile(str(tmp_path / "in.csv"), "", encoding, ",", ("age", "town"))
    aside = tmp_path / "aside"
    aside.mkdir()
    ((path, count),) = read_text_file(None, lambda count: None, file, str(aside))  # pyright: ignore[reportArgumentType]
    with pa.ipc.open_file(path) as reader:
        assert reader.read_all().column("town").to_pylist() == ["Köln", "Ulm"]
    assert count == 2
    assert [type(source) for source, _ in streamed] == [pa.OSFile]
    assert [entry.name for entry in aside.iterdir()] == [Path(path).name], "nothing else stays"

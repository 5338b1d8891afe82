"""NA without quotes beside text in quotes, as R's write.csv has it, is missing; in quotes it is a
value.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import small_blocks
from beyond import in_passes
from microagg.files.reading import read_table, read_written
from microagg.pipeline.files import anonymize_file
from microagg.table.columns.field_metadata import columns_with_values_like_markers
from microagg.table.schema import ColumnSettings, Kind

FROM_R = (
    '"","name","age","iso","ill"\n"1","Ann",31,"NA","flu"\n"2","Bob, '
    'jr",NA,"DE",NA\n"3",NA,33,NA,"cold"\n'
)
TOWNS = ['"Ulm"', '"Bonn"', "NA", '"Kiel"', '"NA"']
ILLS = ['"flu"', '"cold"', '"gout"', "NA"]


def put(folder: Path, content: str) -> Path:
    (folder / "in.csv").write_text(content)
    return folder / "in.csv"


def made_up(records: int) -> str:
    rows = [f"{20 + 7 * j % 51},{TOWNS[j * 3 % 5]},{ILLS[j % 4]}" for j in range(records)]
    return "\n".join(['"age","town","ill"', *rows]) + "\n"


def settings_with(**more: Any) -> dict[str, Any]:
    return {
        "k": 3,
        "quasi": ["age", "town"],
        "confidential": ["ill"],
        "l": 2,
        "seed": 1,
        "effort": "quick",
        "date": "2026-01-01",
        **more,
    }


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_it_is_missing_and_written_so(tmp_path: Path, end: str) -> None:
    path = put(tmp_path, FROM_R)
    path.write_bytes(FROM_R.replace("\n", end).encode())
    table = read_table(path, quasi=["age", "iso"])
    assert table.column("name").to_pylist() == ["Ann", "Bob, jr", None]
    assert table.column("iso").to_pylist() == ["NA", "DE", None]
    assert table.column("ill").to_pylist() == ["flu", None, "cold"]
    assert columns_with_values_like_markers(table) == ["iso"]


@pytest.mark.parametrize(
    "content",
    [
        "town,ill\nUlm,flu\nNA,cold\nBonn,flu\n",
        '"town","ill"\nUlm,"flu"\nNA,"cold"\n"Bonn, west","flu"\n',
        'town,ill\n"Bonn, west",flu\nNA,cold\nUlm,flu\n',
    ],
)
def test_beside_text_without_quotes_it_is_a_value(tmp_path: Path, content: str) -> None:
    assert "NA" in read_table(put(tmp_path, content), quasi=["town"]).column("town").to_pylist()


@pytest.mark.parametrize("marker", ["NULL", "N/A", "."])
def test_other_markers(tmp_path: Path, marker: str) -> None:
    path = put(tmp_path, f'"town"\n"Ulm"\n{marker}\n"{marker}"\n')
    assert read_table(path).column("town").to_pylist() == ["Ulm", None, marker]


def test_far_from_the_beginning(tmp_path: Path) -> None:
    rows = ['"Ulm",1'] * 150_000
    path = put(tmp_path, "\n".join(['"town","age"', *rows, "NA,2"]) + "\n")
    assert read_table(path).column("town").null_count == 1


def test_a_release_says_missing_in_every_format(tmp_path: Path) -> None:
    source = put(tmp_path, made_up(60))
    for ending in ("csv", "parquet"):
        anonymize_file(source, tmp_path / f"out.{ending}", **settings_with(), keep_order=True)
    ill = [None, "flu", "cold", "gout"]
    assert read_written(tmp_path / "out.parquet").column("ill").to_pylist() == [
        ill[(j + 1) % 4] for j in range(60)
    ]
    lines = (tmp_path / "out.csv").read_text().splitlines()[1:]
    assert [line.rsplit(",", 1)[1] for line in lines] == [ILLS[j % 4] for j in range(60)]
    again = read_table(tmp_path / "out.csv", quasi=["town"])
    assert again.column("ill").null_count == 15
    assert (
        again.column("town").to_pylist()
        == read_written(tmp_path / "out.parquet").column("town").to_pylist()
    )


def test_categories_that_are_said_to_be_such(tmp_path: Path) -> None:
    path = put(tmp_path, '"code"\n"1.0"\nNA\n"2.0"\n')
    settings = ColumnSettings(kinds={"code": Kind.NOMINAL})
    assert read_table(path, quasi=["code"], settings=settings).column("code").to_pylist() == [
        "1.0",
        None,
        "2.0",
    ]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["out.csv", "out.parquet"])
def test_beyond_memory_it_is_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    small_blocks.make_small(monkeypatch.setattr)
    source, folders = put(tmp_path, made_up(1300)), [tmp_path / "memory", tmp_path / "beyond"]
    for folder in folders:
        folder.mkdir()
    anonymize_file(source, folders[0] / name, **settings_with())
    in_passes(monkeypatch, source, folders[1] / name, 640, **settings_with())
    in_memory, out_of_core = (
        {path.name: path.read_bytes() for path in folder.iterdir()} for folder in folders
    )
    assert sorted(in_memory) == sorted(out_of_core)
    for file, content in in_memory.items():
        assert out_of_core[file] == content, file

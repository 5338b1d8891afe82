"""Numbers, and true and false, of a text file: values in files with types, to the letter and
without quotes in text files.
"""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import small_blocks
from beyond import in_passes
from microagg.files.reading import read_written
from microagg.pipeline.files import anonymize_file
from microagg.studies.assess import assess_files
from microagg.studies.repeating import repeat_file
from microagg.table.columns.text_types import TYPED_AS, TextType, with_values

COLUMNS: dict[str, list[str]] = {
    "wage": ["1019.0", "1020.0", "1021.5", "0.30000000000000004"],
    "fixed": ["2.50", "3.25", "4.00"],
    "power": ["1e5", "2e5", "-7", "+3"],
    "gaps": ["NA", "5", "7", ""],
    "part": ["1.5", "NA", "2.25"],
    "flag": ["True", "False"],
    "yes": ["TRUE", "NA", "FALSE"],
    "zip": ["00123", "10115", "20095"],
    "account": ["12345678901234567890", "12345678901234567891"],
    "town": ["Ulm", "Bonn", "NA"],
    "mixed": ["1.0", "x", "2"],
}
VALUES = {
    "wage": pa.float64(),
    "fixed": pa.float64(),
    "power": pa.float64(),
    "gaps": pa.int64(),
    "part": pa.float64(),
    "flag": pa.bool_(),
    "yes": pa.bool_(),
}


def table_as_text(records: int) -> list[list[str]]:
    rows = [["age", "group", *COLUMNS]]
    for j in range(records):
        cells = [
            cells[(j * 7 + j // 5 + shift) % len(cells)]
            for shift, cells in enumerate(COLUMNS.values())
        ]
        rows.append([str(20 + 7 * j % 51), f"{j % 3}.50", *cells])
    return rows


def put(folder: Path, records: int = 60) -> Path:
    with (folder / "in.csv").open("w", newline="") as file:
        csv.writer(file).writerows(table_as_text(records))
    return folder / "in.csv"


def settings_with(**more: Any) -> dict[str, Any]:
    return {
        "k": 3,
        "quasi": ["age", "group"],
        "nominal": ["group", "zip"],
        "confidential": ["wage", "yes"],
        "l": 2,
        "rest": "keep",
        "seed": 1,
        "effort": "quick",
        "keep_order": True,
        "date": "2026-01-01",
        **more,
    }


def expected(name: str, text: str, kind: pa.DataType | None) -> Any:
    """Return what a file with types holds in place of a text."""
    if kind is None:
        return text or None
    if text in ("", "NA"):
        return None
    return text.lower() == "true" if pa.types.is_boolean(kind) else float(text)


@pytest.mark.parametrize("ending", ["parquet", "feather", "xlsx", "sav", "dta"])
def test_they_are_values_in_files_with_types(tmp_path: Path, ending: str) -> None:
    target = tmp_path / f"out.{ending}"
    anonymize_file(put(tmp_path), target, **settings_with())
    written = read_written(target)
    rows = table_as_text(60)
    for name in COLUMNS:
        texts = [row[rows[0].index(name)] for row in rows[1:]]
        values = [expected(name, text, VALUES.get(name)) for text in texts]
        assert written.column(name).to_pylist() == values, name
        if ending in ("parquet", "feather"):
            assert written.schema.field(name).type == VALUES.get(name, pa.string()), name
    assert set(written.column("group").to_pylist()) == {0.5, 1.5, 2.5}


def test_they_are_the_same_letters_in_text_files(tmp_path: Path) -> None:
    anonymize_file(put(tmp_path), tmp_path / "out.csv", **settings_with())
    before, after = ((tmp_path / name).read_text().splitlines() for name in ("in.csv", "out.csv"))
    for original, here in zip(before[1:], after[1:], strict=True):
        cells = here.split(",")
        assert [cell.strip('"') for cell in cells[2:]] == original.split(",")[2:]
        quoted = {
            name for name, cell in zip(COLUMNS, cells[2:], strict=True) if cell.startswith('"')
        }
        assert quoted == {"zip", "account", "town", "mixed"}
        assert not cells[1].startswith('"')


def test_in_the_style_of_another_country(tmp_path: Path) -> None:
    rows = [f"{20 + j};{j % 4},50;1.000,{j % 2}0;NA" for j in range(12)]
    (tmp_path / "in.csv").write_text("\n".join(["age;code;wage;gap", *rows]) + "\n")
    more = {
        "k": 3,
        "quasi": ["age"],
        "keep": ["code", "wage", "gap"],
        "nominal": ["code"],
        "seed": 1,
        "effort": "quick",
    }
    options = {"reading": {"decimal": ",", "thousands": "."}, "keep_order": True}
    anonymize_file(tmp_path / "in.csv", tmp_path / "out.parquet", **more, **options)
    table = read_written(tmp_path / "out.parquet")
    assert table.column("code").to_pylist() == [j % 4 + 0.5 for j in range(12)]
    assert table.column("wage").to_pylist() == [1000.0 + j % 2 / 10 for j in range(12)]
    anonymize_file(tmp_path / "in.csv", tmp_path / "out.csv", **more, **options)
    after = (tmp_path / "out.csv").read_text().splitlines()
    assert [line.split(";")[1:3] for line in after[1:]] == [line.split(";")[1:3] for line in rows]


def test_two_spellings_of_a_category_stay_two(tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text(
        "age,code\n" + "".join(f"{30 + j},{'2.5' if j % 2 else '2.50'}\n" for j in range(8))
    )
    roles = {"k": 2, "quasi": ["age"], "seed": 1, "effort": "quick", "keep_order": True}
    anonymize_file(
        tmp_path / "in.csv",
        tmp_path / "a.parquet",
        **roles,
        confidential=["code"],
        nominal=["code"],
    )
    assert set(read_written(tmp_path / "a.parquet").column("code").to_pylist()) == {"2.5", "2.50"}
    anonymize_file(tmp_path / "in.csv", tmp_path / "b.parquet", **roles, confidential=["code"])
    assert set(read_written(tmp_path / "b.parquet").column("code").to_pylist()) == {2.5}


def test_ranges_and_ancestors_stay_text(tmp_path: Path) -> None:
    tree = {"0.50": ["low", "all"], "1.50": ["low", "all"], "2.50": ["high", "all"]}
    more = settings_with(
        hierarchy={"group": tree}, aggregate={"group": "generalise"}, accept_risk=["true-values"]
    )
    anonymize_file(put(tmp_path), tmp_path / "out.parquet", **more)
    column = read_written(tmp_path / "out.parquet").column("group")
    assert pa.types.is_string(column.type)
    assert column.null_count == 0


def test_special_codes_need_text(tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text(
        "age,wage\n" + "".join(f"{30 + j},{'refused' if j == 3 else f'{j}.0'}\n" for j in range(8))
    )
    anonymize_file(
        tmp_path / "in.csv",
        tmp_path / "out.parquet",
        2,
        quasi=["age"],
        confidential=["wage"],
        special={"wage": ["refused"]},
        seed=1,
        effort="quick",
        keep_order=True,
    )
    assert read_written(tmp_path / "out.parquet").column("wage").to_pylist()[:4] == [
        "0.0",
        "1.0",
        "2.0",
        "refused",
    ]


def test_a_typed_release_is_repeated_and_assessed(tmp_path: Path) -> None:
    source, target = put(tmp_path), tmp_path / "out.parquet"
    anonymize_file(source, target, **settings_with())
    repeat_file(tmp_path / "out.parquet.internal.json", source, tmp_path / "again.parquet")
    assert (tmp_path / "again.parquet").read_bytes() == target.read_bytes()
    roles = {"quasi": ["age"], "confidential": ["wage"], "keep": ["fixed", "flag", "gaps"]}
    assert assess_files(source, target, k=3, **roles).smallest_class >= 3


def test_a_release_of_text_saved_with_types(tmp_path: Path) -> None:
    release = anonymize_file(put(tmp_path), tmp_path / "out.csv", **settings_with())
    release.save(tmp_path / "out.parquet", keep_order=True)
    assert read_written(tmp_path / "out.parquet").schema.field("wage").type == pa.float64()
    public = [
        json.loads((tmp_path / f"out.{ending}.public.json").read_text())
        for ending in ("csv", "parquet")
    ]
    assert public[0]["all_columns"] == public[1]["all_columns"]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["out.csv", "out.parquet", "out.arrow", "out/"])
def test_beyond_memory_it_is_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    small_blocks.make_small(monkeypatch.setattr)
    source, folders = put(tmp_path, 1300), [tmp_path / "memory", tmp_path / "beyond"]
    more = settings_with(keep_order=False, t=0.9)
    for folder in folders:
        folder.mkdir()
    target = [f"{folder}/{name}" for folder in folders]
    anonymize_file(source, target[0], **more)
    in_passes(monkeypatch, source, target[1], 640, **more)
    in_memory, out_of_core = (
        {
            path.relative_to(folder): path.read_bytes()
            for path in folder.rglob("*")
            if path.is_file()
        }
        for folder in folders
    )
    assert list(map(str, sorted(in_memory))) == list(map(str, sorted(out_of_core)))
    for file, content in in_memory.items():
        assert out_of_core[file] == content, file


def test_other_marks_of_a_column_stay_when_texts_become_values() -> None:
    mark = TextType("float").as_mark()
    for more, left in (({}, None), ({"label": "pay"}, {b"label": b"pay"})):
        field = pa.field("wage", pa.string(), metadata={TYPED_AS: mark, **more})
        made = with_values(pa.table([["2.50"]], schema=pa.schema([field])))
        assert made.to_pydict() == {"wage": [2.5]}
        assert made.schema.field("wage").metadata == left

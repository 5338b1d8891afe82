"""Columns under new names: where a target cannot have the old ones, in memory, out of core and
repeated.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import microagg as ma
import small_blocks
from beyond import in_passes, settings_for, table_of
from microagg.files.commit.writing import write_table
from microagg.files.reading import read_table
from microagg.files.stats.names import RULES, propose_names
from microagg.studies.repeating import repeat_file

IRIS: dict[str, Any] = {
    "Sepal.Length": [5.1, 4.9, 4.7, 4.6, 5.0, 5.4, 4.6, 5.0],
    "Petal.Width": [0.2, 0.2, 0.2, 0.2, 0.4, 0.4, 0.3, 0.2],
    "Species": ["a", "a", "b", "b", "a", "a", "b", "b"],
}
ROLES: dict[str, Any] = {
    "k": 2,
    "quasi": ["Sepal.Length", "Petal.Width"],
    "keep": "Species",
    "seed": 1,
}
NEW = {"Sepal.Length": "sepal_length", "Petal.Width": "petal_width"}


@pytest.mark.parametrize("ending", [".sav", ".zsav"])
def test_names_that_came_from_a_spss_file_go_back_into_one(tmp_path: Path, ending: str) -> None:
    names = ["Sepal.Length", "v@1", "a#b", "x$", "größe", "dot."]
    write_table(pa.table({name: [1.5, 2.5] for name in names}), tmp_path / f"in{ending}")
    assert read_table(tmp_path / f"in{ending}").column_names == names
    quasi = names[:2]
    ma.anonymize_file(
        tmp_path / f"in{ending}", tmp_path / f"out{ending}", k=2, quasi=quasi, rest="keep"
    )
    assert read_table(tmp_path / f"out{ending}").column_names == names


@pytest.mark.parametrize("name", ["_a", "with", "ALL", "@a", "1st", "a b", "", "x" * 65])
def test_names_that_spss_does_not_take_are_refused_before_the_search(name: str) -> None:
    assert not RULES["SPSS"].fits(name)


@pytest.mark.parametrize("package", list(RULES))
def test_proposed_names_fit_and_differ(package: str) -> None:
    names = [
        "a b",
        "a-b",
        "a_b",
        "A.B",
        "1st",
        "",
        "long",
        "with",
        "ß" * 70,
        "x" * 70,
        "x" * 71,
        "_",
        "名" * 40,
        "é",
    ]
    proposed = propose_names(package, names, names)
    rules, made = RULES[package], list(proposed.values())
    assert all(map(rules.fits, made))
    assert len(set(map(rules.key, made))) == len(names)
    assert not set(map(rules.key, made)) & set(map(rules.key, names))


def test_the_error_proposes_names_that_work(tmp_path: Path) -> None:
    source = tmp_path / "iris.csv"
    write_table(pa.table(IRIS), source)
    with pytest.raises(ma.InputError, match="no Stata file can have a column called") as refusal:
        ma.anonymize_file(source, tmp_path / "out.dta", **ROLES)
    message = str(refusal.value)
    rename = json.loads(message[message.index("{") : message.index("}") + 1].replace("'", '"'))
    assert rename == {"Sepal.Length": "Sepal_Length", "Petal.Width": "Petal_Width"}
    ma.anonymize_file(source, tmp_path / "out.dta", **ROLES, rename=rename)
    assert read_table(tmp_path / "out.dta").column_names == [
        "Sepal_Length",
        "Petal_Width",
        "Species",
    ]


def test_the_same_release_under_new_names(tmp_path: Path) -> None:
    plain = ma.anonymize(IRIS, **ROLES)
    renamed = ma.anonymize(IRIS, **ROLES, rename=NEW)
    assert list(renamed.table) == ["sepal_length", "petal_width", "Species"]
    assert list(renamed.table.values()) == list(plain.table.values())
    assert renamed.manifest["input"]["digest"] == plain.manifest["input"]["digest"]
    assert renamed.settings.quasi == ("sepal_length", "petal_width")
    assert "Sepal.Length" not in json.dumps(renamed.public_manifest)
    again = ma.anonymize(IRIS, settings=renamed.settings)
    assert again.table == renamed.table
    assert ma.anonymize(plain.to_pandas(), **ROLES, rename=NEW).table.columns[0] == "sepal_length"


def test_all_that_is_said_of_a_column_goes_with_it(tmp_path: Path) -> None:
    source = tmp_path / "in.csv"
    rows = [f"{20 + i},{i % 3},{'abc'[i % 3]},{i % 2},{1 + i % 4}" for i in range(24)]
    source.write_text("the age,grade.x,ill.ness,re gion,w t\n" + "\n".join(rows) + "\n")
    rename = {
        "the age": "age",
        "grade.x": "grade",
        "ill.ness": "illness",
        "re gion": "region",
        "w t": "w",
    }
    settings: dict[str, Any] = {
        "quasi": ["the age", "grade.x"],
        "confidential": "ill.ness",
        "stratum": "re gion",
        "weight": "w t",
        "k": 3,
        "l": 2,
        "kinds": {"grade.x": "ordinal"},
        "importance": {"the age": 2},
        "cap": {"the age": 40},
        "seed": 3,
    }
    release = ma.anonymize_file(source, tmp_path / "out.csv", **settings, rename=rename)
    table = read_table(tmp_path / "out.csv")
    assert table.column_names == list(rename.values())
    assert release.settings.cap == {"age": (None, 40.0)}
    assert release.settings.weight == "w"
    again = repeat_file(tmp_path / "out.csv.internal.json", source, tmp_path / "again.csv")
    assert (tmp_path / "again.csv").read_bytes() == (tmp_path / "out.csv").read_bytes()
    assert again.settings == release.settings


@pytest.mark.parametrize("ending", [".parquet", ".csv"])
def test_out_of_core_gives_the_same_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: str
) -> None:
    small_blocks.make_small(monkeypatch.setattr)
    source = tmp_path / f"in{ending}"
    write_table(table_of(1500, kinds="mixed"), source)
    settings = settings_for(
        "mixed", keep=["id", "w"], rename={"age": "the age", "ill": "illness", "town": "city"}
    )
    settings |= {"missing": "drop", "nominal": ["town"]}
    in_memory = ma.anonymize_file(source, tmp_path / "memory.parquet", **settings)
    out_of_core = in_passes(monkeypatch, source, tmp_path / "passes.parquet", **settings)
    assert (tmp_path / "memory.parquet").read_bytes() == (tmp_path / "passes.parquet").read_bytes()
    assert {"the age", "illness", "city"} <= set(pq.read_schema(tmp_path / "passes.parquet").names)
    assert out_of_core.table is None
    assert out_of_core.manifest["input"] == in_memory.manifest["input"]
    assert out_of_core.settings == in_memory.settings


@pytest.mark.parametrize(
    ("rename", "says"),
    [
        ({"Sepal": "x"}, "rename names 'Sepal', but there is no such column"),
        (
            {"Sepal.Length": "Species"},
            "cannot be renamed to 'Species': the table has a column of that name",
        ),
        ({"Sepal.Length": "x", "Petal.Width": "x"}, "gives two columns the name 'x'"),
        (
            {"Sepal.Length": "Petal.Width", "Petal.Width": "y"},
            "but another column of the table has it",
        ),
        ({"Sepal.Length": ""}, "must be a name"),
        ({"Sepal.Length": "a\nb"}, "must be a name"),
    ],
)
def test_renames_that_cannot_be_done(rename: dict[str, str], says: str) -> None:
    with pytest.raises(ma.InputError, match=says):
        ma.anonymize(IRIS, **ROLES, rename=rename)


def test_rules_go_with_their_columns(tmp_path: Path) -> None:
    rows = [(1000 + 7 * i, 13 * i % 90) for i in range(24)]
    source = tmp_path / "in.csv"
    source.write_text("all.of it,wage,other\n" + "".join(f"{a + b},{a},{b}\n" for a, b in rows))
    settings: dict[str, Any] = {
        "k": 3,
        "quasi": ["all.of it", "wage", "other"],
        "rules": "all.of it = wage + other",
        "seed": 1,
    }
    release = ma.anonymize_file(
        source, tmp_path / "out.csv", **settings, rename={"all.of it": "total"}
    )
    assert release.settings.rules == ("total = wage + other",)
    table = read_table(tmp_path / "out.csv", quasi=["total", "wage", "other"]).to_pydict()
    parts = zip(table["wage"], table["other"], strict=True)
    assert table["total"] == [wage + other for wage, other in parts]
    repeat_file(tmp_path / "out.csv.internal.json", source, tmp_path / "again.csv")
    assert (tmp_path / "again.csv").read_bytes() == (tmp_path / "out.csv").read_bytes()

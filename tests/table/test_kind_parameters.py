"""Options of single columns: parsed from Python and from what is typed, refused with a sentence,
put together.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import microagg as ma
from microagg.release.settings import Settings
from microagg.table.kind_parameters import column_settings
from microagg.table.schema import ColumnFacts, ColumnSettings, Kind, Role, assign_roles

TREE = {"Rome": ["Rome", "Italy", "*"], "Pisa": ["Pisa", "Italy", "*"]}


@pytest.mark.parametrize(
    ("name", "python", "typed", "expected"),
    [
        ("kinds", {"sex": "nominal", 3: "ordinal"}, ["sex=nominal", "3=ordinal"],
         {"sex": "nominal", "3": "ordinal"}),
        ("kinds", {"a=b": "nominal"}, ["a=b=nominal"], {"a=b": "nominal"}),
        ("nominal", ["sex", "region"], ["sex", "region"], ("sex", "region")),
        ("ordinal", {"e": ["P", "S", "PS"]}, ["e=P<S<PS"], {"e": ("P", "S", "PS")}),
        ("ordinal", {"e": ["low", "high = much"]}, ["e=low < high = much"],
         {"e": ("low", "high = much")}),
        ("ordinal", ["e", 4], ["e", "4"], {"e": None, "4": None}),
        ("ordinal", {"e": None}, "e", {"e": None}),
        ("importance", {"age": 2}, ["age=2"], {"age": 2.0}),
        ("importance", {"age": 0.5}, "age = .5", {"age": 0.5}),
        ("aggregate", {"age": "median"}, ["age=median"], {"age": "median"}),
        ("missing", "drop", "drop", "drop"),
        ("special", {"a": [97, 98]}, ["a=97,98"], {"a": (97, 98)}),
        ("special", {"a": [97, "not asked"]}, ["a=97", "a=not asked,97.0"],
         {"a": (97, "not asked")}),
        ("special", {"a": "x,y", "b": -9.5}, ['a="x,y"', "b=-9.5"], {"a": ("x,y",), "b": (-9.5,)}),
        ("special", {"a": ["007"]}, ["a=007"], {"a": ("007",)}),
        ("na", [-9, "unknown"], ["-9", "unknown"], ("-9", "unknown")),
        ("na", -9.0, "-9", ("-9",)),
    ],
)  # fmt: skip
def test_python_and_the_command_line_say_the_same(
    name: str, python: Any, typed: Any, expected: Any
) -> None:
    declared = Settings.parameters()[name]
    assert declared.parse(python) == declared.parse(typed) == expected
    assert declared.parse(json.loads(json.dumps(expected))) == expected, "not from a manifest"


def test_levels_from_a_file(tmp_path: Path) -> None:
    (tmp_path / "levels.txt").write_bytes(b"\xef\xbb\xbfno school\r\nP < S\r\n\r\nS\r\n")
    settings = Settings.of(k=2, ordinal=[f"e=@{tmp_path / 'levels.txt'}"])
    assert settings.ordinal == {"e": ("no school", "P < S", "S")}
    with pytest.raises(ma.InputError, match="cannot be read"):
        Settings.of(k=2, ordinal={"e": f"@{tmp_path / 'none.txt'}"})


def test_a_hierarchy_from_a_file(tmp_path: Path) -> None:
    (tmp_path / "town.csv").write_text("Rome;Italy;*\nPisa;Italy;*\n")
    from_file = Settings.of(k=2, hierarchy=[f"town={tmp_path / 'town.csv'}"])
    assert from_file == Settings.of(k=2, hierarchy={"town": TREE})
    assert Settings.from_data(json.loads(json.dumps(from_file.as_data()))) == from_file


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"kinds": {"sex": "binary"}},
         "kinds of column 'sex' must be one of numeric, ordinal, nominal"),
        ({"kinds": "sex"}, "kinds must give a value for each column"),
        ({"kinds": 7}, "kinds must give a value for each column"),
        ({"kinds": {True: "nominal"}}, "kinds must give a value for each column"),
        ({"kinds": ["a=nominal", "a=numeric"]}, "kinds was given twice for column 'a'"),
        ({"nominal": {"a": 1}}, "nominal must be a name"),
        ({"ordinal": {"e": ["P", "S", "P"]}}, "one level twice, at positions 1 and 3"),
        ({"ordinal": "e=P<<S"}, "empty level"),
        ({"ordinal": {"e": []}}, "empty level"),
        ({"ordinal": {"e": {"P", "S"}}}, "ordinal must give a value for each column"),
        ({"ordinal": {"e": [b"P"]}}, "must be texts or numbers"),
        ({"importance": {"age": 0}}, "importance of column 'age' must be a number above 0"),
        ({"importance": {"age": -1}}, "above 0"),
        ({"importance": "age=inf"}, "above 0"),
        ({"importance": "age=1e300"}, "must lie between 1e-12 and "),
        ({"importance": {"age": 1e-300}}, "must lie between 1e-12 and "),
        ({"importance": {"age": True}}, "above 0"),
        ({"aggregate": {"age": "average"}},
         "aggregate of column 'age' must be one of mean, median, mode"),
        ({"hierarchy": "town=nowhere.csv"}, "hierarchy"),
        ({"hierarchy": "town"}, "hierarchy must give a value for each column"),
        ({"missing": "fill"}, "missing must be one of group, error, drop"),
        ({"special": {"a": []}}, "special names no code for column 'a'"),
        ({"special": {"a": [float("nan")]}},
         "special codes of column 'a' must be numbers or texts"),
        ({"special": "a=,97"}, "special codes of column 'a'"),
        ({"na": [None]}, "na must be a list of texts or numbers"),
        ({"kinds": {"a": "numeric"}, "nominal": "a"},
         "column 'a' is numeric by kinds and nominal by nominal"),
        ({"nominal": "a", "ordinal": "a"},
         "column 'a' is nominal by nominal and ordinal by ordinal"),
        ({"special": {"a": [97]}, "na": ["97"]}, "special and among na"),
        ({"special": {"a": [2]}, "ordinal": {"a": ["1", "2"]}}, "special and among its levels"),
        ({"na": ["x"], "ordinal": {"a": ["w", "x"]}}, "among its levels and among na"),
    ],
)  # fmt: skip
def test_what_cannot_be_said(settings: dict[str, Any], says: str) -> None:
    with pytest.raises(ma.InputError, match=says):
        Settings.of(k=3, **settings)


def test_the_same_answer_twice_is_one() -> None:
    settings = Settings.of(
        k=3, kinds={"a": "nominal", "e": "ordinal"}, nominal="a", ordinal={"e": ["x", "y"]}
    )
    assert settings.columns.kinds == {"a": Kind.NOMINAL, "e": Kind.ORDINAL}
    assert settings.columns.levels == {"e": ("x", "y")}


def test_what_everybody_may_know_of_columns() -> None:
    settings = Settings.of(
        k=3,
        ordinal={"e": ["P", "S"]},
        hierarchy={"town": TREE},
        special={"a": 97},
        na="-9",
        nominal="sex",
    )
    public = settings.as_data(public=True)
    assert public["ordinal"] == ["e"]
    assert public["hierarchy"] == {"town": settings.hierarchy["town"].digest}
    assert (public["special"], public["na"], public["nominal"]) == ({"a": [97]}, ["-9"], ["sex"])
    assert Settings.public_part(public) == public


FACTS = [
    ColumnFacts("age", True),
    ColumnFacts("school", False, Kind.ORDINAL),
    ColumnFacts("town", False, Kind.NOMINAL, text=True),
    ColumnFacts("wage", True),
    ColumnFacts("name", False, text=True),
    ColumnFacts("born", False, Kind.NUMERIC),
]
ROLES = {
    Role.QUASI: ["age", "school", "town", "born"],
    Role.CONFIDENTIAL: ["wage"],
    Role.IDENTIFIER: ["name"],
}


def kinds_with(settings: ColumnSettings | None) -> dict[str, Kind]:
    return {
        column.name: column.kind for column in assign_roles(FACTS, ROLES, options=settings).columns
    }


def test_a_setting_wins_over_the_type() -> None:
    suggested = kinds_with(None)
    assert [suggested[name].value for name in ("age", "school", "town", "wage", "born")] == [
        "numeric", "ordinal", "nominal", "numeric", "numeric",
    ]  # fmt: skip
    kinds = kinds_with(
        column_settings(nominal=["age", "wage"], ordinal=["town"], kinds={"school": "nominal"})
    )
    changed = {name: kind.value for name, kind in kinds.items() if kind is not suggested[name]}
    assert changed == {"age": "nominal", "wage": "nominal", "town": "ordinal", "school": "nominal"}


def test_levels_are_of_the_type_of_their_column() -> None:
    typed = column_settings(ordinal=["age=1<2.5<10", "town=1<2"])
    declared = column_settings(ordinal={"age": [1, 2.5, 10], "town": [1, 2]})
    for settings in (typed, declared):
        levels = {
            column.name: column.levels
            for column in assign_roles(FACTS, ROLES, options=settings).columns
        }
        assert levels["age"] == (1, 2.5, 10)
        assert levels["town"] == ("1", "2")
        assert levels["school"] is None


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"kinds": {"height": "nominal"}},
         "names 'height', but there is no such column; the table has 'age'"),
        ({"nominal": ["height"]}, "there is no such column"),
        ({"ordinal": ["height"]}, "there is no such column"),
        ({"importance": {"height": 2}}, "importance names 'height', but there is no such column"),
        ({"special": {"height": 2}}, "special names 'height', but there is no such column"),
        ({"nominal": ["name"]}, "names 'name', a column that is left out"),
        ({"importance": {"wage": 2}},
         "importance names 'wage', which is not quasi-identifying"),
        ({"aggregate": {"wage": "mean"}},
         "aggregate names 'wage', which is not quasi-identifying"),
        ({"hierarchy": {"wage": TREE}},
         "hierarchy names 'wage', which is not quasi-identifying"),
        ({"special": {"town": [97]}}, "special names 'town', which is nominal"),
        ({"special": {"wage": [97]}, "nominal": "wage"}, "special names 'wage', which is nominal"),
        ({"aggregate": {"town": "mean"}},
         "'town' is nominal, and mean is no aggregate for that; choose one of mode, "
         "draw, medoid"),
        ({"aggregate": {"town": "median"}}, "choose one of mode, draw, medoid"),
        ({"aggregate": {"town": "range"}, "hierarchy": {"town": TREE}},
         "choose one of mode, draw, medoid, generalise"),
        ({"aggregate": {"age": "mode"}}, "'age' is numeric, and mode is no aggregate for that"),
        ({"aggregate": {"school": "mean"}},
         "'school' is ordinal, and mean is no aggregate for that"),
        ({"aggregate": {"town": "generalise"}}, "without a hierarchy"),
        ({"hierarchy": {"age": TREE}},
         "'age' is numeric, and a hierarchy only works with generalise there"),
        ({"hierarchy": {"school": TREE}, "aggregate": {"school": "mode"}},
         "only works with generalise"),
    ],
)  # fmt: skip
def test_what_does_not_fit_the_columns(settings: dict[str, Any], says: str) -> None:
    with pytest.raises(ma.InputError, match=says):
        kinds_with(column_settings(**settings))


@pytest.mark.parametrize(
    "settings",
    [
        {"special": {"age": [97], "wage": [0], "school": ["x"]}},
        {"aggregate": {"age": "range", "school": "mode", "town": "draw", "born": "mean"}},
        {
            "aggregate": {"age": "generalise", "town": "generalise"},
            "hierarchy": {"age": TREE, "town": TREE},
        },
        {"hierarchy": {"town": TREE}},
        {"importance": {"town": 2}, "nominal": "wage"},
    ],
)
def test_what_fits_the_columns(settings: dict[str, Any]) -> None:
    assert len(kinds_with(column_settings(**settings))) == len(FACTS)

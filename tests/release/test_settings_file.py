"""Settings as a file: what is written is read back to the same, and what is wrong is named with its
place.
"""

from __future__ import annotations

import inspect
import json
import re
import tomllib
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import typer.main

import microagg as ma
import tables
from microagg.cli.commands import app
from microagg.cli.options import SEARCHING, flag_of
from microagg.pipeline.files import anonymize_file
from microagg.proposal.rules import ANSWERS
from microagg.release.settings_file import known_keys, overridden, read_settings
from microagg.release.settings_schema import settings_schema
from microagg.release.toml_lines import line_of
from microagg.table.json_schemas import fits
from microagg.table.settings_text import DECIDE, VERSION_KEY, toml_key, toml_value

EVERYTHING: dict[str, Any] = {
    "k": 4,
    "quasi": ["age", "net income", 'so "called"', "ü.ö", "grade", "town", "education"],
    "identifier": ["name"],
    "confidential": ["ill"],
    "keep": ["x"],
    "l": 2,
    "diversity": "recursive",
    "c": 3.5,
    "t": 0.4,
    "method": "v-mdav",
    "params": {"gamma": 0.3},
    "refine": True,
    "scale": "rank",
    "precision": "full",
    "publish": ["il", "bound"],
    "seed": 2**62 + 1,
    "date": "2026-02-03",
    "kinds": {"zip": "nominal"},
    "nominal": ["sex"],
    "ordinal": {"education": ["P", "S", "PS"], "grade": None, "stars": [1, 2.5, 3]},
    "importance": {"age": 2.0, "net income": 0.25},
    "aggregate": {"age": "median", "town": "generalise"},
    "missing": "drop",
    "special": {"age": [97, "refused"]},
    "na": ["-9", "x"],
    "hierarchy": {"town": {"Rome": ["Rome", "Italy", "*"], "Pisa": ["Pisa", "Italy", "*"]}},
    "weight": "w",
    "stratum": ["region"],
    "unit": "home",
    "small_strata": "drop",
    "title": "Wages 2026",
    "entity": "company",
    "rest": "keep",
    "exact": True,
    "accept_risk": ["full-precision", "true-values"],
    "cap": {"age": "99.5%", "net income": (0, None), "x": ("1%", "99%"), "y": (-5, 10)},
    "reading": {
        "header": False,
        "delimiter": "\t",
        "decimal": ",",
        "encoding": "cp1252",
        "dates": "%d.%m.%Y",
    },
    "rename": {"net income": "net_income", 'so "called"': "so_called"},
    "writing": {"escape_formulas": True, "delimiter": "|", "thousands": ""},
    "rules": ["x = y - 'z + 1'"],
}


def written(text: str, folder: Path, name: str = "survey.toml") -> Path:
    path = folder / name
    path.write_text(text, "utf-8")
    return path


@pytest.mark.parametrize(
    "arguments",
    [
        EVERYTHING,
        {"k": 5},
        {"k": 3, "quasi": ["age"], "effort": "quick", "time_limit": 2.5},
        {"k": 3, "quasi": ["a\nb\t\x7f\u2028", "𝄞", "#", "[x]", "a = b", "'"]},
    ],
    ids=["everything", "k alone", "a search", "odd names"],
)
def test_a_round_trip_changes_nothing(arguments: dict[str, Any], tmp_path: Path) -> None:
    settings = ma.Settings.of(**arguments)
    path = written(settings.to_toml(), tmp_path)
    again = ma.Settings.from_file(path)
    assert again == settings
    assert again.to_toml() == settings.to_toml()


def test_everything_is_everything() -> None:
    """Else the round trip would not show that a new setting survives it."""
    left = set(ma.Settings.parameters()) - set(EVERYTHING)
    assert not left, f"give {left} a value in EVERYTHING"


def test_keys_of_file_schema_options_and_signature_are_the_same() -> None:
    settings = set(ma.Settings.parameters())
    beside = {VERSION_KEY, DECIDE}
    assert set(known_keys()) == settings | beside
    assert set(settings_schema()["properties"]) == settings | beside
    assert (
        set(inspect.signature(ma.anonymize).parameters)
        - {"table", "settings", "threads", "progress"}
        == settings
    )
    in_file = set(tomllib.loads(ma.Settings.of(**EVERYTHING).to_toml())) - {VERSION_KEY}
    assert in_file == settings
    command = typer.main.get_command(app).commands["anonymize"]  # pyright: ignore
    options = {option for parameter in command.params for option in parameter.opts}
    assert {flag_of(name) for name in settings - {"params", "reading", "writing"}} <= options
    assert {f"--{name.replace('_', '-')}" for name in SEARCHING} | {"--param"} <= options, "params"


def test_the_schema_takes_what_is_written_and_no_more() -> None:
    schema = settings_schema()
    content = tomllib.loads(ma.Settings.of(**EVERYTHING).to_toml())
    for name, value in content.items():
        assert fits(value, schema["properties"][name]), name
    json.dumps(schema, allow_nan=False)
    assert schema["additionalProperties"] is False
    for name, wrong in {
        "k": "5",
        "quasi": 1.5,
        "refine": "yes",
        "kinds": ["a"],
        "l": "2",
        "scale": 3,
        "special": {"a": True},
    }.items():
        assert not fits(wrong, schema["properties"][name]), name


def test_the_schema_agrees_with_an_independent_validator(tmp_path: Path) -> None:
    jsonschema = pytest.importorskip("jsonschema")
    schema = settings_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    content = tomllib.loads(ma.Settings.of(**EVERYTHING).to_toml())
    jsonschema.validate(content, schema)
    proposal = ma.propose(
        pa.table({"sex": [1, 2] * 30, "expend": list(range(60)), "weight": [1.5, 2.5] * 30})
    )
    jsonschema.validate(tomllib.loads(proposal.to_toml()), schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**content, "kk": 3}, schema)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("k = 5", "does not say which version"),
        (f"{VERSION_KEY} = 2\nk = 5",
         "follows version 2 of settings, and this microagg knows up to 1"),
        (f"{VERSION_KEY} = true", "does not say which version"),
        (f"{VERSION_KEY} = 1\nk = 5\nquasy = ['a']",
         "line 3: there is no 'quasy'; the nearest known one is 'quasi'"),
        (f"{VERSION_KEY} = 1\neffort = 'quick'",
         "line 2: there is no 'effort'; it is a parameter of a method: put it under"),
        (f"{VERSION_KEY} = 1\nzzzz = 1", "line 2: there is no 'zzzz'; there are"),
        (f"{VERSION_KEY} = 1\nk = '5'",
         "line 2: k takes whole number, at least 2, but text stands there"),
        (f"{VERSION_KEY} = 1\nk = 1", "line 2: k is 1"),
        (f"{VERSION_KEY} = 1\n\nquasi = [\n 'age',\n 1.5,\n]",
         "line 3: quasi takes names of columns, but a list with other values"),
        (f"{VERSION_KEY} = 1\nrefine = 'no'",
         "line 2: refine takes yes or no, but text stands there"),
        (f"{VERSION_KEY} = 1\n[kinds]\nsex = 'nominl'",
         "line 2: kinds of column 'sex' must be one of"),
        (f"{VERSION_KEY} = 1\n[kinds]\nsex = 3",
         "line 2: kinds takes column=KIND, but a table with other values"),
        (f"{VERSION_KEY} = 1\nk = \nl = 2\n", "is not TOML at line 2; correct it there"),
        (f"{VERSION_KEY} = 1\nk = 5\nk = 6\nl = 2", "is not TOML at line 3"),
        (f"{VERSION_KEY} = 1\nquasi = ['a'", "is not TOML at its end"),
        (f"{VERSION_KEY} = 1\n[reading]\nheadr = true",
         "line 3: there is no 'headr' in the table [reading]; the nearest known one "
         "is 'header'"),
        (f"{VERSION_KEY} = 1\n[reading]\nheader = 'no'", "line 3: header takes"),
        (f"{VERSION_KEY} = 1\nreading = 3",
         "reading takes a table of names and values, but a whole number stands there"),
        (f"{VERSION_KEY} = 1\n[decide.cods]\nsex = 'codes'",
         "there is no 'cods' in the table [decide]; the nearest known one is 'codes'"),
        (f"{VERSION_KEY} = 1\n[decide.codes]\nsex = 'codes'",
         "column 'sex' has a decision, but no role; give it a role or remove the decision"),
        (f"{VERSION_KEY} = 1\nquasi = ['sex']\n[decide.codes]\nsex = 'maybe'",
         "line 4: column 'sex' must be decided with one of numbers, codes"),
        (f"{VERSION_KEY} = 1\ndecide = 3", "decide is a table of questions"),
        (
            f"{VERSION_KEY} = 1\nquasi = []\nkeep = ['pay']\n[decide.money]\npay = 'confidential'",
            "line 5: column 'pay' is decided to be confidential, but is listed as keep; choose one",
        ),
        (f"{VERSION_KEY} = 1\nk = 5\nhierarchy = {{town = 'nowhere.csv'}}",
         "line 3: there is no file"),
        ("{", "is not an internal manifest"),
        ('{"format": 2, "settings": {}}', "is not an internal manifest"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named_with_its_place(text: str, says: str, tmp_path: Path) -> None:
    with pytest.raises(ma.InputError, match=re.escape(says)) as error:
        ma.Settings.from_file(written(text, tmp_path))
    assert "\n" not in str(error.value)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(ma.InputError, match="there is no file"):
        ma.Settings.from_file(tmp_path / "nowhere.toml")
    with pytest.raises(ma.InputError, match="there is no file"):
        ma.Settings.from_file(tmp_path)
    (tmp_path / "latin.toml").write_bytes("k = 5 # \u00e4".encode("latin-1"))
    with pytest.raises(ma.InputError, match="not in UTF-8"):
        ma.Settings.from_file(tmp_path / "latin.toml")


def test_files_that_it_names_lie_beside_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "settings"
    (folder / "trees").mkdir(parents=True)
    (folder / "trees" / "town.csv").write_text("Rome;Italy;*\nPisa;Italy;*\n")
    (folder / "levels.txt").write_text("P\nS\nPS\n")
    text = (
        f"{VERSION_KEY} = 1\nk = 5\nquasi = ['town', 'education']\n[hierarchy]\ntown = "
        f"'trees/town.csv'\n[ordinal]\neducation = '@levels.txt'\n"
    )
    path = written(text, folder)
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    settings = ma.Settings.from_file(path)
    assert settings.hierarchy["town"].paths["Pisa"] == ("Pisa", "Italy", "*")
    assert settings.ordinal == {"education": ("P", "S", "PS")}
    assert 'town = "trees/town.csv"' in settings.to_toml(folder)
    assert 'town = "../settings/trees/town.csv"' in settings.to_toml(tmp_path / "elsewhere")
    for text in (settings.to_toml(folder), settings.to_toml()):
        assert ma.Settings.from_file(written(text, folder, "again.toml")) == settings
    (folder / "trees" / "town.csv").write_text("Rome;Lazio;*\nPisa;Tuscany;*\n")
    assert "Italy" in settings.to_toml(folder), (
        "the file holds another tree by now, so the tree is written whole"
    )


def proposed(folder: Path) -> Path:
    """A proposal that asks every question that a file can answer."""
    n = 240
    table = pa.table(
        {
            "sex": [1 + i % 2 for i in range(n)],
            "expend": [1000.5 + i for i in range(n)],
            "litres": [7 * i * i for i in range(n)],
            "sampling_weight": [1.5 + i % 3 for i in range(n)],
            "household_weights": [2.5 + i % 2 for i in range(n)],
            "weight": [60.5 + i % 9 for i in range(n)],
            "household": [i // 4 for i in range(n)],
            "company": [i // 8 for i in range(n)],
            "nr": [5 * (i // 4) for i in range(n)],
            "mom": [3 * (i // 2) for i in range(n)],
            "judge": [f"J{i % 7}x" for i in range(n)],
        }
    )
    return written(ma.propose(table).to_toml(k=3), folder)


def test_a_proposal_asks_and_is_answered(tmp_path: Path) -> None:
    path = proposed(tmp_path)
    questions = tomllib.loads(path.read_text())[DECIDE]
    assert {name: list(columns) for name, columns in questions.items()} == {
        "codes": ["sex"],
        "money": ["expend"],
        "amounts": ["litres"],
        "weight": ["weight"],
        "second weight": ["household_weights"],
        "second unit": ["company"],
        "keys": ["nr"],
        "blocks": ["mom"],
        "people": ["judge"],
    }
    with pytest.raises(ma.InputError) as error:
        ma.Settings.from_file(path)
    for name in (
        "sex",
        "expend",
        "litres",
        "weight",
        "household_weights",
        "company",
        "nr",
        "mom",
        "judge",
    ):
        assert f"'{name}'" in str(error.value)
    careful = ma.Settings.from_file(path, as_proposed=True)
    assert careful.quasi == ("sex", "expend", "litres", "weight", "mom")
    assert (careful.weight, careful.unit, careful.nominal) == ("sampling_weight", "household", ())
    other = path.read_text()
    for answers in ANSWERS.values():
        words = " or ".join(f'"{word}"' for word in answers)
        line = rf'"{DECIDE}"(  # {words})\n'
        other = re.sub(line, rf'"{answers[-1]}"\1\n', other)
    path.write_text(other)
    settings = ma.Settings.from_file(path)
    assert settings.quasi == ("sex", "nr", "judge", "household_weights")
    assert settings.nominal == ("sex",)
    assert settings.confidential == ("expend",)
    assert settings.weight == "weight"
    assert settings.unit == "company"
    assert set(settings.identifier) == {"litres", "sampling_weight", "household", "mom"}


@pytest.mark.parametrize(("about", "column"), [("keys", "nr"), ("blocks", "mom")])
def test_the_second_of_three_answers(tmp_path: Path, about: str, column: str) -> None:
    assert [name for name, answers in ANSWERS.items() if len(answers) != 2] == ["keys", "blocks"]
    path = proposed(tmp_path)
    text = path.read_text()
    assert ANSWERS[about][1] == "unit"
    path.write_text(text.replace(f'{column} = "{DECIDE}"', f'{column} = "unit"'))
    settings = ma.Settings.from_file(path, as_proposed=True)
    assert settings.unit == column
    assert "household" in settings.identifier


def test_a_manifest_is_a_file_of_settings(tmp_path: Path) -> None:
    source = tables.write(tables.people(60), tmp_path / "in.csv")
    first = anonymize_file(
        source,
        tmp_path / "out.csv",
        4,
        quasi=tables.QUASI,
        rest="keep",
        identifier=["name"],
        effort="quick",
        date="2020-01-02",
    )
    settings = ma.Settings.from_file(tmp_path / "out.csv.internal.json")
    assert settings == first.settings.but(date=None), (
        "with its seed, and without the day on which it was made"
    )
    anonymize_file(source, tmp_path / "again.csv", settings=settings)
    assert (tmp_path / "again.csv").read_bytes() == (tmp_path / "out.csv").read_bytes()
    with pytest.raises(ma.InputError, match="not an internal manifest"):
        ma.Settings.from_file(tmp_path / "out.csv.public.json")


def test_what_is_typed_goes_before_what_a_file_says() -> None:
    of_file = {
        "k": 5,
        "quasi": ["a", "b"],
        "method": "v-mdav",
        "params": {"gamma": 0.3},
        "importance": {"a": 2.0},
    }
    assert overridden(of_file, {"quasi": ["c"]})["quasi"] == ["c"]
    assert overridden(of_file, {"importance": ["b=3"]})["importance"] == {"a": 2.0, "b": 3.0}
    assert "params" not in overridden(of_file, {"method": "mdav"})
    assert overridden(of_file, {"method": "v-mdav"})["params"] == {"gamma": 0.3}
    assert overridden(of_file, {"params": {"gamma": 0.5}})["params"] == {"gamma": 0.5}


def test_where_a_key_stands() -> None:
    text = 'a = 1\nlist = [\n 1,\n]\n[t."x y"]\n"q.r" = 1\nb = {c = 1}\n'
    assert line_of(text, ("a",)) == 1
    assert line_of(text, ("list",)) == 2
    assert line_of(text, ("t", "x y", "q.r")) == 6
    assert line_of(text, ("t", "x y")) == 5
    assert line_of(text, ("nowhere",)) is None


@pytest.mark.parametrize(
    "name", ["a", "a b", 'x"y', "a.b", "", "\x00\x1f", "\\", "ä", "\U0001f600"]
)
def test_keys_and_values_are_read_back(name: str) -> None:
    assert tomllib.loads(f"{toml_key(name)} = {toml_value([name, {name: 0.1}])}") == {
        name: [name, {name: 0.1}]
    }


def test_reading_goes_with_the_file(tmp_path: Path) -> None:
    path = written(ma.propose(pa.table({"1": [1, 2, 3]})).to_toml(k=2, header=False), tmp_path)
    assert read_settings(path, as_proposed=True)["reading"] == {"header": False}

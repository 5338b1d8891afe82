"""Options of columns on the command line: each option is heard, each mistake gets its sentence, and
nothing is written.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import pytest
import typer.main

import tables
from microagg.cli.commands import app
from microagg.cli.options import as_option
from microagg.errors import InputError
from microagg.sentences import Assignment, sentence
from running import Outcome

Microagg = Callable[..., Outcome]

TABLE = """age,school,town,wage
31,P,Ulm,2000
42,S,Bonn,2100
53,PS,Ulm,97
64,P,Kiel,2500
"""
ROLES = ["--quasi", "age,school,town", "--confidential", "wage"]


@pytest.fixture
def source(tmp_path: Path) -> Path:
    (tmp_path / "in.csv").write_text(TABLE)
    (tmp_path / "town.csv").write_text("Ulm;south;*\nBonn;west;*\nKiel;north;*\n")
    return tmp_path / "in.csv"


def options_of(command: str) -> set[str]:
    group = typer.main.get_command(app)
    parameters = group.commands[command].params  # pyright: ignore
    return {option for parameter in parameters for option in parameter.opts}


@pytest.mark.parametrize("command", ["anonymize", "compare", "bound", "check", "assess"])
def test_commands_that_read_columns_have_the_options(command: str) -> None:
    assert {"--kind", "--nominal", "--ordinal", "--special", "--na"} <= options_of(command)
    more = {"--importance", "--aggregate", "--hierarchy", "--missing"}
    assert (more <= options_of(command)) == (command in ("anonymize", "compare"))


def test_help_tells_what_to_type() -> None:
    group = typer.main.get_command(app)
    help_text = group.commands["anonymize"].get_help(click.Context(group))  # pyright: ignore
    for words in (
        "COLUMN=numeric|ordinal|nominal",
        "COLUMN[=ORDER]",
        "COLUMN=mean|median|mode|draw|medoid|range|generalise",
        "COLUMN=CODES",
        "group|error|drop",
    ):
        assert words in help_text


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--kind", "age=whole"], "kinds of column 'age' must be one of numeric, ordinal, nominal"),
        (["--kind", "age"], "kinds must give a value for each column"),
        (["--kind", "age=nominal", "--ordinal", "age"],
         "column 'age' is nominal by kinds and ordinal by ordinal"),
        (["--nominal", "age,town", "--kind", "town=numeric"], "column 'town' is numeric by kinds"),
        (["--ordinal", "school=P<S<P"], "one level twice, at positions 1 and 3"),
        (["--ordinal", "school=@levels.txt"], "cannot be read from 'levels.txt'"),
        (["--importance", "age=0"], "importance of column 'age' must be a number above 0"),
        (["--importance", "age=-1"], "must be a number above 0"),
        (["--importance", "age=nan"], "must be a number above 0"),
        (["--aggregate", "age=average"], "aggregate of column 'age' must be one of mean"),
        (["--missing", "fill"], "missing must be one of group, error, drop"),
        (["--special", "age"], "special must give a value for each column"),
        (["--special", "age="], "special names no code for column 'age'"),
        (["--special", "age=97", "--na=97"], "special and among na"),
        (["--hierarchy", "town=nowhere.csv"], "hierarchy"),
    ],
)  # fmt: skip
def test_wrong_options_of_anonymize(
    microagg: Microagg, source: Path, options: list[str], says: str
) -> None:
    before = tables.snapshot(source.parent)
    microagg("anonymize", source, "out.csv", "--k", "2", *ROLES, *options).refused(says)
    assert tables.snapshot(source.parent) == before


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--kind", "height=nominal"],
         "names 'height', but there is no such column; the table has 'age'"),
        (["--nominal", "height"], "names 'height', but there is no such column"),
        (["--importance", "wage=2"], "importance names 'wage', a column that is left out"),
        (["--special", "town=97"], "special names 'town', which is nominal"),
        (["--special", "town=97"], "or say --kind town=numeric if the other values are numbers"),
        (["--hierarchy", "age=town.csv"],
         "'age' is numeric, and a hierarchy only works with generalise there; say "
         "--aggregate age=generalise"),
    ],
)  # fmt: skip
def test_what_does_not_fit_the_columns(
    microagg: Microagg, source: Path, options: list[str], says: str
) -> None:
    before = tables.snapshot(source.parent)
    roles = ["--quasi", "age,school,town"]
    microagg("bound", source, "--k", "2", *roles, *options, "--save", "proof.json").refused(says)
    assert tables.snapshot(source.parent) == before


def test_text_among_numbers_is_asked_about(microagg: Microagg, tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text("age,b\n31,1\n42,2\nrefused,3\n64,4\n")
    outcome = microagg("bound", "in.csv", "--k", "2", "--quasi", "age,b")
    outcome.refused("column 'age', row 3 (header not counted): text where a number is needed")
    outcome.refused("--special age=…")
    outcome.refused("--na …")
    outcome.refused("--nominal age")
    assert "refused" not in outcome.err.replace("age=…", "")


def test_sentences_name_what_to_type() -> None:
    advice = sentence("say ", Assignment("aggregate", {"age": "generalise"}), " now")
    assert advice == "say aggregate={'age': 'generalise'} now"
    assert advice.render(as_option) == "say --aggregate age=generalise now"
    error = pickle.loads(pickle.dumps(InputError(sentence("in the table, ", InputError(advice)))))
    assert error.sentence.render(as_option) == "in the table, say --aggregate age=generalise now"
    assert InputError("names=['x'] stays").sentence.render(as_option) == "names=['x'] stays"


@pytest.mark.parametrize(
    ("name", "value", "typed"),
    [
        ("missing", "group", "--missing group"),
        ("decimal", ",", "--decimal ,"),
        ("nominal", ["my town", "sex"], "--nominal 'my town,sex'"),
        ("special", {"age": "…"}, "--special age=…"),
        ("rename", {"a b": "a_b", "c.d": "c_d"}, "--rename 'a b=a_b' --rename c.d=c_d"),
        ("writing", {"encoding": "utf-8"}, "--out-encoding utf-8"),
    ],
)
def test_settings_in_sentences_are_options_in_a_shell(name: str, value: Any, typed: str) -> None:
    assert as_option(name, value) == typed

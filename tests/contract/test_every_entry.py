"""Formats, accepted risks and settings: command line, schema and documents follow the entries."""

from __future__ import annotations

import dataclasses
import inspect
from pathlib import Path
from typing import Any

import pytest

import microagg as ma
from microagg.cli import commands_release
from microagg.cli.options import flag_of, option_names
from microagg.files.format import Format
from microagg.files.formats import formats, known_names, known_suffixes
from microagg.release.risks import ACCEPT_RISK, RISKS, Risk
from microagg.release.setting_types import FileOptions, MethodParameters
from microagg.release.settings import Settings
from microagg.release.settings_base import Group, declared
from microagg.release.settings_schema import settings_schema
from microagg.table.parameters import Flag

ROOT = Path(__file__).parents[2]
SETTINGS = Settings.parameters()


def required(entry: type) -> list[str]:
    return [
        field.name
        for field in dataclasses.fields(entry)
        if field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
    ]


@pytest.mark.parametrize("entry", [formats()[0], RISKS[0]], ids=["format", "risk"])
def test_a_property_left_out_is_an_error(entry: Format | Risk) -> None:
    fields = {field.name: getattr(entry, field.name) for field in dataclasses.fields(entry)}
    for name in required(type(entry)):
        with pytest.raises(TypeError, match=name):
            type(entry)(**{key: value for key, value in fields.items() if key != name})


def test_a_setting_says_who_may_know_it() -> None:
    with pytest.raises(TypeError, match="public"):
        declared(Flag("loud", "Make noise."), Group.METHOD)  # pyright: ignore[reportCallIssue]


def test_a_setting_says_its_group() -> None:
    with pytest.raises(TypeError, match="group"):
        declared(Flag("loud", "Make noise."), public=True)  # pyright: ignore[reportCallIssue]


@pytest.mark.parametrize("format", formats(), ids=lambda format: format.suffixes[0])
def test_formats_are_named_from_their_entries(format: Format) -> None:
    page = (ROOT / "docs" / "formats.md").read_text("utf-8")
    assert f"| {', '.join(format.suffixes)} |" in page
    assert all(suffix in known_suffixes() for suffix in format.suffixes)
    assert format.name in known_names()
    names = option_names()
    assert {parameter.name for parameter in format.reading} <= set(names["reading"].values())
    assert {parameter.name for parameter in format.writing} <= set(names["writing"].values())


@pytest.mark.parametrize("risk", RISKS, ids=lambda risk: risk.name)
def test_accepted_risks_are_told_from_their_entries(risk: Risk) -> None:
    assert risk.name in ACCEPT_RISK.choices
    assert risk.name in str(settings_schema()["properties"]["accept_risk"])
    page = (ROOT / "docs" / "tables.md").read_text("utf-8")
    assert f"| `{risk.name}` | {risk.meaning()} |" in page
    assert "{" not in risk.meaning()


@pytest.mark.parametrize("name", SETTINGS)
def test_settings_are_told_from_their_declarations(name: str) -> None:
    parameter: Any = SETTINGS[name]
    assert parameter.name == name
    assert parameter.help
    assert settings_schema()["properties"][name]["description"] == parameter.help
    text = (ROOT / "docs" / "settings.schema.json").read_text("utf-8")
    assert f'"{name}": {{' in text
    settings = Settings.of(k=3)
    assert name in settings.as_data()
    assert (name in settings.as_data(public=True)) is (name in Settings.public_names())
    assert Settings.from_data(settings.as_data()) == settings


@pytest.mark.parametrize("name", SETTINGS)
def test_every_setting_has_its_option_with_its_help(name: str) -> None:
    signature = inspect.signature(commands_release.anonymize)
    parameter = SETTINGS[name]
    if isinstance(parameter, MethodParameters):
        assert "param" in signature.parameters
    elif isinstance(parameter, FileOptions):
        assert set(option_names()[name]) <= set(signature.parameters)
    else:
        annotation = signature.parameters[name].annotation
        option = annotation.__metadata__[0]
        assert parameter.help in option.help
        assert any(flag_of(name) in str(flag) for flag in (option.default, *option.param_decls))


def test_anonymize_takes_every_setting() -> None:
    taken = set(inspect.signature(ma.anonymize).parameters)
    assert set(SETTINGS) - {"params"} <= taken

"""Settings are listed in five groups: in the signature, the documentation and the help."""

from __future__ import annotations

import inspect
import re

import click.testing
import pytest
import typer.main

import microagg as ma
from microagg.cli.app import HEADINGS
from microagg.cli.commands import app
from microagg.release.settings import Settings
from microagg.release.settings_base import Group
from microagg.table.declared import OptionForm

GROUPS = Settings.groups()
DOCUMENTED = {group: f"*{group.value.capitalize()}.*" for group in Group}
OF_A_CALL = ("table", "k", "settings", "threads", "progress")
"""Parameters of `anonymize` that are no settings, and k, which follows the table."""


def forms_of(name: str) -> tuple[OptionForm, ...]:
    return Settings.parameters()[name].option_forms()


def test_every_setting_has_a_group() -> None:
    assert list(GROUPS) == list(Settings.parameters())
    assert set(GROUPS.values()) == set(Group)


def test_the_signature_lists_settings_by_group() -> None:
    taken = inspect.signature(ma.anonymize).parameters
    names = [name for name in taken if name not in (*OF_A_CALL, "params")]
    groups = [GROUPS[name] for name in names]
    assert groups == sorted(groups, key=list(Group).index)


def test_the_docstring_lists_settings_by_group() -> None:
    text = inspect.getdoc(ma.anonymize) or ""
    parameters = text.partition("----------\n")[2].partition("Returns\n")[0]
    entries = re.findall(r"(?m)^(\*{0,2}[a-z_][a-z_, ]*) ?:? ?.*\n    (.*)", parameters)
    documented: dict[str, Group] = {}
    group = None
    for names, first_line in entries:
        group = next((g for g in Group if first_line.startswith(DOCUMENTED[g])), group)
        documented |= {name: group for name in names.strip().split(", ") if group is not None}
    for name, expected in GROUPS.items():
        if name not in OF_A_CALL and name != "params":
            assert documented[name] is expected, name


@pytest.mark.parametrize("group", Group)
def test_help_lists_options_by_group(group: Group) -> None:
    command = typer.main.get_command(app)
    result = click.testing.CliRunner().invoke(command, ["anonymize", "--help"])  # pyright: ignore[reportArgumentType]
    sections = re.split(r"(?m)^(\S.*):\n", result.output)
    section = dict(zip(sections[1::2], sections[2::2], strict=True))[HEADINGS[group.value]]
    for name, of in GROUPS.items():
        for form in forms_of(name):
            flag = f"--{(form.flag or form.name).replace('_', '-')}"
            assert bool(re.search(rf"(?m)^  .*{flag}\b(?!-)", section)) is (of is group), flag

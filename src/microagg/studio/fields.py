"""Forms made from declarations: fields of settings and of a method, and settings from answers.

Fields of columns are numbered, so that no name of a column becomes part of a page's structure.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from microagg.files.formats import options_said, reading_options
from microagg.methods.registry import method_named, methods
from microagg.proposal.proposal import Proposal
from microagg.release.setting_types import FileOptions, MethodByName
from microagg.release.settings import Settings
from microagg.table.cap_parameter import Caps
from microagg.table.column_parameters import ByColumn
from microagg.table.name_parameters import ColumnName, MultiChoice, Names
from microagg.table.parameters import Choice, Flag, OptionalBool, Parameter
from microagg.table.schema import Kind, Role

ON_OTHER_PAGES = (*(role.value for role in Role), "kinds", "rest", "params", "reading")
"""Settings that the pages on file and columns ask for."""
FIRST = ("k", "l", "t", "method")
"""Settings that come first, before all others."""
PARAM = "param."
HIDDEN_PARAMETERS = ("stop_after",)
TITLES = {"k": "k (k-anonymity)", "l": "l (l-diversity)", "t": "t (t-closeness)", "na": "NA"}
"""Titles of settings whose names are too short to be read alone."""


def setting_fields(answers: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return the fields of all settings that have no page of their own, then of the method."""
    parameters = Settings.parameters()
    names = [name for name in parameters if name not in ON_OTHER_PAGES]
    ordered = [*FIRST, *(name for name in names if name not in FIRST)]
    fields = [_field(name, parameters[name], answers) for name in ordered]
    method = method_named(answers.get("method") or parameters["method"].default)
    of_method = [
        _field(PARAM + parameter.name, parameter, answers)
        for parameter in method.parameters
        if parameter.name not in HIDDEN_PARAMETERS
    ]
    first, others = fields[: len(FIRST)], fields[len(FIRST) :]
    for field in (*first, *of_method[:1]):
        field["first"] = True
    return [*first, *of_method, *others]


def reading_fields(reading: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the fields of all options of reading a file, with those in use as answers.

    >>> [field["answer"] for field in reading_fields({"header": False})][:2]
    ['no', '']
    """
    in_use = {name: "no" if value is False else _text_of(value) for name, value in reading.items()}
    return [_field(name, parameter, in_use) for name, parameter in reading_options().items()]


def reading_from_answers(answers: Mapping[str, str]) -> dict[str, Any]:
    """Return the checked options of reading that a form means."""
    declared = reading_options()
    return options_said(
        {
            name: value
            for name, answer in answers.items()
            if name in declared and (value := value_from(declared[name], answer)) is not None
        }
    )


def _field(name: str, parameter: Any, answers: Mapping[str, str]) -> dict[str, Any]:
    """Return one field as plain data: its widget, its choices, its answer."""
    widget, choices = _widget(parameter)
    answer = answers.get(name)
    if answer is None:
        answer = _text_of(parameter.default)
    words = parameter.name.replace("_", " ")
    title = words[:1].upper() + words[1:] if len(words) > 1 else words
    return {
        "name": name,
        "title": TITLES.get(parameter.name, title),
        "help": _as_sentence(parameter.help),
        "accepts": _accepts(parameter.describes),
        "widget": widget,
        "choices": choices,
        "answer": answer,
        "lines": answer.splitlines(),
        "first": False,
    }


def _as_sentence(text: str) -> str:
    """Return a help text as a sentence; one that opens with a term such as l-diversity stays.

    >>> _as_sentence("how groups are formed"), _as_sentence("l-diversity: the least number")
    ('How groups are formed.', 'l-diversity: the least number.')
    """
    text = text.rstrip(".").replace("`", "")
    return f"{text if text[1:2] == '-' else text[:1].upper() + text[1:]}."


def _accepts(text: str) -> str:
    """Return what a field accepts as a sentence; words to choose from stay as they are typed.

    >>> _accepts("number from 0 to 1e+07"), _accepts("quick | balanced")
    ('Number from 0 to 10,000,000', 'One of: quick | balanced')
    """
    text = re.sub(r"[\d.]+e\+\d+", lambda match: f"{float(match[0]):,.0f}", text)
    return f"One of: {text}" if "|" in text else text[:1].upper() + text[1:]


def _widget(parameter: Any) -> tuple[str, list[str]]:
    if isinstance(parameter, MethodByName):
        return "choice", [method.name for method in methods()]
    if isinstance(parameter, Choice):
        return "choice", list(parameter.choices)
    if isinstance(parameter, Flag):
        return "flag", []
    if isinstance(parameter, OptionalBool):
        return "choice", ["", "yes", "no"]
    if isinstance(parameter, MultiChoice):
        return "several", list(parameter.choices)
    if isinstance(parameter, Names | ByColumn | Caps | FileOptions):
        return "lines", []
    return "text", list(getattr(parameter, "words", ()))


def _text_of(value: Any) -> str:
    if value is None or value is False or value == ():
        return ""
    return "yes" if value is True else str(value)


def value_from(parameter: Any, answer: str) -> Any:
    """Return what a field's answer means, as `Settings.of` takes it; None if nothing was said.

    >>> from microagg.table.parameters import K
    >>> value_from(K, " 5 "), value_from(Flag("refine", ""), "yes"), value_from(K, "")
    ('5', True, None)
    """
    widget, _ = _widget(parameter)
    lines = [line.strip() for line in answer.splitlines() if line.strip()]
    if widget == "flag":
        return answer == "yes"
    if not lines:
        return None
    if isinstance(parameter, OptionalBool):
        return lines[0] == "yes"
    if isinstance(parameter, FileOptions):
        pairs = [line.partition("=") for line in lines]
        return {name.strip(): value.strip() for name, _, value in pairs}
    if isinstance(parameter, ColumnName) or widget in ("choice", "text"):
        return lines[0]
    return lines


def settings_from_answers(
    columns: Sequence[str],
    proposal: Proposal,
    choices: Mapping[str, Any],
    reading: Mapping[str, Any],
) -> Settings:
    """Return the checked settings that follow from the pages on columns and protection."""
    answers, parameters = choices["settings"], Settings.parameters()
    arguments: dict[str, Any] = {"rest": "drop", "reading": dict(reading)}
    for name in (name for name in parameters if name not in ON_OTHER_PAGES):
        value = value_from(parameters[name], answers.get(name, ""))
        if value is not None:
            arguments[name] = value
    arguments |= _role_arguments(columns, choices["roles"])
    if kinds := _kind_arguments(proposal, choices):
        arguments["kinds"] = kinds
    markers = proposal.settings(2).get("na", [])
    if markers:
        arguments["na"] = list(dict.fromkeys([*markers, *arguments.get("na", [])]))
    method = method_named(answers.get("method") or parameters["method"].default)
    params = {
        parameter.name: value
        for parameter in method.parameters
        if (value := value_from(parameter, answers.get(PARAM + parameter.name, ""))) is not None
    }
    return Settings.of(**arguments, params=params)


def _role_arguments(columns: Sequence[str], roles: Sequence[str]) -> dict[str, Any]:
    arguments: dict[str, Any] = {}
    declared: dict[str, Parameter] = Settings.parameters()
    for role in Role:
        names = [name for name, chosen in zip(columns, roles, strict=True) if chosen == role.value]
        if names:
            one = isinstance(declared[role.value], ColumnName) and len(names) == 1
            arguments[role.value] = names[0] if one else names
    return arguments


def _kind_arguments(proposal: Proposal, choices: Mapping[str, Any]) -> dict[str, str]:
    """Return the kinds that must be declared: those changed, those the type does not tell, and
    numbers that may be codes, as the page has shown them as numbers.
    """
    kinds, doubtful = {}, set(proposal.asked)
    for entry, kind, role in zip(proposal.columns, choices["kinds"], choices["roles"], strict=True):
        if role not in (Role.QUASI.value, Role.CONFIDENTIAL.value):
            continue
        if kind != entry.kind.value or entry.name in doubtful:
            kinds[entry.name] = Kind(kind).value
        elif entry.declared_kind is not None:
            kinds[entry.name] = entry.declared_kind.value
    return kinds

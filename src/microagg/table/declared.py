"""Base of declared parameters: their JSON Schema and their options on a command line.

A new kind of parameter says here all that a settings file, an editor and a command line need to
know of it. This module imports no arrays, so that help is shown at once.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from microagg.errors import InputError

Schema = dict[str, Any]
SEVERAL = "Comma-separated; may be repeated."
REPEATED = "May be repeated."


@dataclass(frozen=True)
class OptionForm:
    """One option on a command line: its name, its help, and the words it takes."""

    name: str
    help: str
    metavar: str = "NUMBER"
    """Word that stands for its value in help; empty for the name of the type."""
    flag: str = ""
    """Name of the option where it differs from that of the parameter."""
    short: str = ""
    """One letter that stands for the option, such as "k"."""
    repeatable: bool = False
    switch: bool = False
    """True for an option without a value, which also has a form with "no-"."""
    words: Sequence[str] | Callable[[], Sequence[str]] = ()
    """Words that a shell proposes for its value."""


class Declared:
    """Base of parameters: what a file of settings and a command line need to know of one."""

    name: str
    help: str
    default: Any

    @property
    def json_schema(self) -> Schema:
        """Return the JSON Schema of the value in a settings file; an empty one accepts anything."""
        return {}

    @property
    def metavar(self) -> str:
        """Return the word that stands for the value in help."""
        return "NUMBER"

    @property
    def proposed_words(self) -> Sequence[str]:
        """Return the words that a shell proposes."""
        return getattr(self, "choices", ())

    def option_forms(self) -> tuple[OptionForm, ...]:
        """Return the options by which the parameter is typed: one that takes a word, by default."""
        default = f" [default: {self.default}]" if self.default is not None else ""
        return (
            OptionForm(self.name, self.help + default, self.metavar, words=self.proposed_words),
        )

    def from_typed(self, typed: Mapping[str, Any]) -> Any:
        """Return the value for `parse` from what was typed; None if nothing was.

        `typed` has the value of each of its options, None where it was not typed.
        """
        return typed.get(self.name)


class DeclaredList(Declared):
    """Base of parameters that take a list: comma-separated words, in one or several options."""

    @property
    def metavar(self) -> str:
        """Return the word that stands for the value in help."""
        return "COLUMNS"

    def option_forms(self) -> tuple[OptionForm, ...]:
        """Return one option that may be repeated."""
        text = f"{self.help} {SEVERAL}"
        return (
            OptionForm(self.name, text, self.metavar, repeatable=True, words=self.proposed_words),
        )

    def from_typed(self, typed: Mapping[str, Any]) -> Any:
        """Return the words of all its options."""
        value = typed.get(self.name)
        return None if value is None else split_words(value)


class DeclaredByColumn(Declared):
    """Base of parameters that take a value for each of some columns, typed as column=value."""

    flag = ""
    hint = REPEATED

    def option_forms(self) -> tuple[OptionForm, ...]:
        """Return one option that is typed once for each column."""
        text = f"{self.help} {self.hint}"
        form = OptionForm(
            self.name,
            text,
            self.metavar,
            flag=self.flag,
            repeatable=True,
            words=self.proposed_words,
        )
        return (form,)


def split_words(typed: Sequence[str] | None) -> list[str]:
    """Return the words of comma-separated lists; double quotes protect commas and blanks.

    >>> split_words(["age,income", '"rent, cold"'])
    ['age', 'income', 'rent, cold']
    """
    try:
        return [name for row in csv.reader(typed or [], skipinitialspace=True) for name in row]
    except csv.Error:
        raise InputError(
            "a list of names cannot be read; put double quotes around names with commas or quotes."
        ) from None


def one_or_several(schema: Schema) -> Schema:
    """Return the schema of one value, or a list of values.

    >>> one_or_several({"type": "string"})["anyOf"][0]
    {'type': 'string'}
    """
    return {"anyOf": [schema, {"type": "array", "items": schema}]}


def by_column(schema: Schema) -> Schema:
    """Return the schema of a value for each of some columns.

    >>> by_column({"type": "number"})
    {'type': 'object', 'additionalProperties': {'type': 'number'}}
    """
    return {"type": "object", "additionalProperties": schema}

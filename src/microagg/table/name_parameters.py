"""Parameters that are names: of columns, or several of a list."""

from __future__ import annotations

import contextlib
import operator
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from microagg.errors import InputError
from microagg.table.declared import (
    DeclaredList,
    OptionForm,
    Schema,
    one_or_several,
)


@dataclass(frozen=True)
class Names(DeclaredList):
    """A parameter that takes names of columns: one, or a list of them. Columns of a matrix are
    named by their numbers.

    >>> Names("quasi", "what others may know").parse("age"), Names("quasi", "").parse([0, "age"])
    (('age',), ('0', 'age'))
    """

    name: str
    help: str
    default: tuple[str, ...] = ()
    describes: str = "names of columns"

    @property
    def json_schema(self) -> Schema:
        """Return the JSON Schema of the value."""
        return one_or_several({"type": ["string", "integer"]})

    def parse(self, value: Any) -> tuple[str, ...]:
        """The names as a tuple."""
        names = [value] if isinstance(value, str | int) and not isinstance(value, bool) else value
        if not isinstance(names, Iterable) or isinstance(names, bytes | dict):
            raise InputError(f"{self.name} must be a name or a list of names of columns.")
        return tuple(map(self._as_name, names))

    def _as_name(self, value: Any) -> str:
        if isinstance(value, str):
            return str(value)
        with contextlib.suppress(TypeError):
            return str(operator.index(value))
        raise InputError(f"{self.name} must be a name or a list of names of columns.")


@dataclass(frozen=True)
class ColumnName(DeclaredList):
    """A parameter that takes the name of one column, or none.

    >>> (
    ...     ColumnName("weight", "", "others").parse("w"),
    ...     ColumnName("weight", "", "others").parse(None),
    ... )
    ('w', None)
    """

    name: str
    help: str
    others: str
    """What to do with further columns of the sort."""
    default: None = None
    describes: str = "the name of one column"

    @property
    def json_schema(self) -> Schema:
        """Return the JSON Schema of the value."""
        return {"type": ["string", "integer"]}

    def option_forms(self) -> tuple[OptionForm, ...]:
        """Return one option; a second one is refused and not forgotten."""
        return (OptionForm(self.name, self.help, "COLUMN", repeatable=True),)

    def parse(self, value: Any) -> str | None:
        """The name; None where there is none."""
        names = () if value is None else Names(self.name, self.help).parse(value)
        if len(set(names)) > 1:
            raise InputError(
                f"{self.name} takes one column, but {len(names)} were named; {self.others}."
            )
        return names[0] if names else None


@dataclass(frozen=True)
class MultiChoice(DeclaredList):
    """A parameter that takes any number of a few words: one, or a list of them.

    >>> MultiChoice("accept_risk", ("full-precision", "single-columns"), "what is accepted").parse(
    ...     "single-columns"
    ... )
    ('single-columns',)
    """

    name: str
    choices: tuple[str, ...]
    help: str
    default: tuple[str, ...] = ()

    @property
    def json_schema(self) -> Schema:
        """Return the JSON Schema of the value."""
        return one_or_several({"enum": list(self.choices)})

    @property
    def metavar(self) -> str:
        """Return the word that help shows."""
        return "|".join(self.choices)

    @property
    def describes(self) -> str:
        """Describe the accepted values in words."""
        return f"any of {', '.join(self.choices)}"

    def parse(self, value: Any) -> tuple[str, ...]:
        """The words that were given, each once and in the order of the declaration."""
        words = [value] if isinstance(value, str) else value
        proper = isinstance(words, Iterable) and not isinstance(words, bytes | Mapping)
        chosen = list(words) if proper else [None]
        if not all(isinstance(word, str) and word in self.choices for word in chosen):
            raise InputError(f"{self.name} must be {self.describes}.")
        return tuple(word for word in self.choices if word in chosen)

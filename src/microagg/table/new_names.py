"""New names for columns, as a parameter. This module imports no arrays, so that help is shown at
once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from microagg.errors import InputError
from microagg.table.column_parameters import ByColumn
from microagg.table.declared import Schema, by_column


@dataclass(frozen=True)
class NewNames(ByColumn):
    """A parameter that takes a new name for each of some columns.

    >>> NewNames("rename", "").parse(["net wage=wage"])
    {'net wage': 'wage'}
    """

    describes: str = "column=new name"

    @property
    def json_schema(self) -> Schema:
        """Return the JSON Schema of the value."""
        return by_column({"type": "string"})

    @property
    def metavar(self) -> str:
        """Return the word that help shows."""
        return "COLUMN=NAME"

    def parse(self, value: Any) -> dict[str, str]:
        """The new names by the old ones; no two columns get one name, and no new name is an old
        one.
        """
        names: dict[str, str] = super().parse(value)
        names = {old: new for old, new in names.items() if old != new}
        twice = [new for new in names.values() if list(names.values()).count(new) > 1]
        if twice:
            raise InputError(f"{self.name} gives two columns the name {twice[0]!r}; choose two.")
        again = [new for new in names.values() if new in names]
        if again:
            raise InputError(
                f"{self.name} gives a column the name {again[0]!r}, but another column "
                f"of the table has it; choose a new one."
            )
        return names

    def _as_name(self, column: Any) -> str:
        # a column without a name can get one
        return "" if column == "" else super()._as_name(column)

    def _checked(self, column: str, value: Any) -> str:
        if not isinstance(value, str) or not value or not value.isprintable():
            raise InputError(
                f"{self.name} of column {column!r} must be a name: text that can be printed."
            )
        return str(value)


RENAME = NewNames(
    "rename", "A new name for a column of the release, where its file cannot have the old one."
)

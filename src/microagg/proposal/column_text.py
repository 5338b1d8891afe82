"""Names of columns as text for shells and terminals."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    pass


def shell_list(names: Sequence[str]) -> str:
    """Return names as one word for a shell, which the command line reads back to the letter.

    >>> print(shell_list(["age", "net income", "rent, cold"]))
    'age,net income,"rent, cold"'
    """
    odd = set(',"\r\n')
    words = [
        name
        if name.strip() == name != "" and not odd & set(name)
        else '"' + name.replace('"', '""') + '"'
        for name in names
    ]
    return shlex.quote(",".join(words))


def printable(name: str) -> str:
    """Return a name with characters replaced that a terminal would not print."""
    return "".join(letter if letter.isprintable() else "�" for letter in name)

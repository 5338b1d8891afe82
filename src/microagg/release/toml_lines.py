"""Lines of a TOML text: where a key stands, and lines that are refused before they are parsed."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

from microagg.errors import InputError

DEEPEST_KEY = 8
"""Parts that a key may have: settings have three at most, and tomllib takes memory and time by the
square of them.
"""
QUOTED = re.compile(r'"(?:[^"\\]|\\.)*"|\'[^\']*\'')
BETWEEN_KEYS = re.compile(r"[,=\[\]{}]")


def check_deep_keys(path: Path, text: str) -> None:
    """Refuse keys of very many parts, such as a.a.a.a…, before the text is parsed."""
    for number, line in enumerate(text.splitlines(), 1):
        if line.count(".") < DEEPEST_KEY:
            continue
        bare = QUOTED.sub("x", line).partition("#")[0]
        if any(part.count(".") >= DEEPEST_KEY for part in BETWEEN_KEYS.split(bare)):
            raise InputError(
                f"{path.name}, line {number}: a key has more than {DEEPEST_KEY} parts, "
                f"and settings have three at most; put names with dots in double quotes."
            )


def line_of(text: str, keys: tuple[str, ...]) -> int | None:
    """Return the line of a key, or of the table that it names last; None where it is written in
    another way.

    >>> line_of('k = 5\\n[kinds]\\n"net income" = "ordinal"', ("kinds", "net income"))
    3
    >>> line_of("a.b = 1", ("kinds",)) is None
    True
    """
    table: tuple[str, ...] = ()
    for number, line in enumerate(text.splitlines(), 1):
        try:
            content = tomllib.loads(line)
        except ValueError:  # a list goes on
            begun = re.match(r'\s*([A-Za-z0-9_-]+|"[^"]*")\s*=\s*\[', line)
            content = {begun[1].strip('"'): 0} if begun else {}
        path: tuple[str, ...] = ()
        inside: Any = content
        while isinstance(inside, dict) and len(inside) == 1:
            ((name, inside),) = inside.items()
            path = (*path, name)
        if line.lstrip().startswith("["):
            table = path
            if path == keys:
                return number
        elif path and (*table, *path)[: len(keys)] == keys:
            return number
    return None

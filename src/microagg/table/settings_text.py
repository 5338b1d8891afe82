"""Settings as text: the little of TOML that a file of settings needs, written so that people can
read and correct it.
"""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

VERSION_KEY = "microagg-settings"
"""The first line of every file of settings: what it is, and which rules it follows."""
VERSION = 1
DECIDE = "decide"
"""The table of what is to be decided, and what stands there until it is."""
ANSWER, COLUMNS = "answer", "columns"
"""Of a question that is asked once for many columns: the answer, and for which."""
WIDTH = 100  # of a list on one line
BARE = re.compile(r"[A-Za-z0-9_-]+")
ESCAPES = {
    "\b": "\\b",
    "\t": "\\t",
    "\n": "\\n",
    "\f": "\\f",
    "\r": "\\r",
    '"': '\\"',
    "\\": "\\\\",
}


def toml_key(*names: str) -> str:
    """The name of a setting or a column as a key, and a path of them as a dotted one.

    >>> print(toml_key("decide", "second weight", "so.called"))
    decide."second weight"."so.called"
    """
    return ".".join(name if BARE.fullmatch(name) else toml_value(name) for name in names)


def toml_value(value: Any) -> str:
    """A value on one line.

    >>> print(toml_value(["age", 5, 0.5, True, {"a b": "x"}]))
    ["age", 5, 0.5, true, {"a b" = "x"}]
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return repr(value) if math.isfinite(value) else ("nan" if value != value else f"{value:+}")
    if isinstance(value, str):
        return f'"{"".join(map(_letter, value))}"'
    if isinstance(value, datetime.date):
        return f'"{value.isoformat()}"'
    if isinstance(value, Mapping):
        return (
            "{"
            + ", ".join(
                f"{toml_key(str(name))} = {toml_value(item)}" for name, item in value.items()
            )
            + "}"
        )
    if isinstance(value, Sequence):
        return f"[{', '.join(map(toml_value, value))}]"
    raise TypeError(f"a value of type {type(value).__name__} cannot stand in a file of settings")


def entry(name: str, value: Any) -> str:
    """A line that sets a name; a long list takes a line for each of its members.

    >>> print(entry("k", 5))
    k = 5
    """
    line = f"{toml_key(name)} = {toml_value(value)}"
    if len(line) <= WIDTH or not isinstance(value, list | tuple):
        return line
    return listed(name, [(item, "") for item in value])


def listed(name: str, members: Sequence[tuple[Any, str]]) -> str:
    """A list with a line for each member, and what is to be said of it.

    >>> print(listed("quasi", [("age", "numbers")]))
    quasi = [
        "age",  # numbers
    ]
    """
    lines = [
        f"    {toml_value(item)},{f'  # {in_a_comment(text)}' if text else ''}"
        for item, text in members
    ]
    return "\n".join([f"{toml_key(name)} = [", *lines, "]"])


def comment(text: str, width: int = WIDTH) -> str:
    """A text as comment lines of a readable width.

    >>> print(comment("Columns to release as they are."))
    # Columns to release as they are.
    """
    import textwrap

    return "\n".join(
        f"# {line}" for line in textwrap.wrap(in_a_comment(text), width, break_on_hyphens=False)
    )


def in_a_comment(text: str) -> str:
    r"""A text that cannot end its comment.

    >>> in_a_comment("a\nb")
    'a�b'
    """
    return "".join(letter if letter.isprintable() else "�" for letter in text)


def _letter(letter: str) -> str:
    if letter in ESCAPES:
        return ESCAPES[letter]
    if letter.isprintable():
        return letter
    code = ord(letter)
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"

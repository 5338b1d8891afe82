"""Rules: sums that hold between columns, such as total = wage + other, as they are written and
declared.

This module imports no arrays, so that help is shown at once.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from microagg.errors import InputError
from microagg.table.name_parameters import Names

MOST_TERMS = 3
NO_RULES = "none"
"""In place of rules: sums are not looked for, and none is kept."""
_QUOTED = re.compile(r"'([^']+)'|\"([^\"]+)\"")
_SIGN = re.compile(r"\s*(\+)\s*|\s+(-)\s+")


@dataclass(frozen=True)
class Rule:
    """One column is the sum of up to three others, each added or subtracted.

    >>> Rule.parse("net=gross - tax").text
    'net = gross - tax'
    """

    left: str
    terms: tuple[tuple[int, str], ...]
    """(1 or -1, the name of a column) of each term."""

    @property
    def names(self) -> tuple[str, ...]:
        """All columns of the rule."""
        return self.left, *(name for _, name in self.terms)

    @property
    def text(self) -> str:
        """The rule as it is written, and as `parse` reads it."""
        words = [_quoted(self.left), "="]
        for index, (sign, name) in enumerate(self.terms):
            if index or sign < 0:
                words.append("+" if sign > 0 else "-")
            words.append(_quoted(name))
        return " ".join(words)

    @staticmethod
    def parse(text: str) -> Rule:
        """Read a rule. A minus has white space on both sides; names with a sign in them are quoted.

        >>> Rule.parse("total = 'wage+bonus' + other").names
        ('total', 'wage+bonus', 'other')
        """
        quoted: list[str] = []

        def hide(match: re.Match[str]) -> str:
            quoted.append(match[1] or match[2])
            return f"\0{len(quoted) - 1}\0"

        left, equals, right = _QUOTED.sub(hide, text).partition("=")
        parts = [
            part
            for part in _SIGN.split(f" {right.strip()} " if right.strip() else "")
            if part is not None
        ]
        signs, names = [1], [parts[0].strip()] if parts else [""]
        if not names[0] and len(parts) > 2:  # a sign before the first term
            signs, names, parts = [], [], ["", *parts[1:]]
        for index in range(1, len(parts) - 1, 2):
            signs.append(1 if parts[index] == "+" else -1)
            names.append(parts[index + 1].strip())
        shown = [
            quoted[int(name[1:-1])] if re.fullmatch("\0\\d+\0", name) else name
            for name in (left.strip(), *names)
        ]
        if not equals or not all(shown) or len(names) > MOST_TERMS or len(set(shown)) < len(shown):
            raise InputError(
                "a rule must say that one column is the sum of up to three others, such as "
                "'total = wage + other' or 'net = gross - tax', each named once."
            )
        return Rule(shown[0], tuple(zip(signs, shown[1:], strict=True)))


def _quoted(name: str) -> str:
    if re.search(r"[+='\"\0]|\s-|-\s|^\s|\s$|^-", name):
        return f'"{name}"' if "'" in name else f"'{name}'"
    return name


@dataclass(frozen=True)
class Rules(Names):
    """A parameter that takes rules: one, or a list of them; or the word none.

    >>> Rules("rules", "").parse("total=wage + other")
    ('total = wage + other',)
    """

    describes: str = "sums of columns, such as total = wage + other"

    @property
    def metavar(self) -> str:
        """Return the word that help shows."""
        return "RULES"

    def parse(self, value: Any) -> tuple[str, ...]:
        """The rules as they are written, each once."""
        texts_given = [value] if isinstance(value, str) else value
        if not isinstance(texts_given, Iterable) or isinstance(texts_given, bytes | dict):
            raise self._no_rules()
        texts = list(texts_given)
        if not all(isinstance(rule, str) for rule in texts):
            raise self._no_rules()
        if texts == [NO_RULES]:
            return (NO_RULES,)
        return tuple(dict.fromkeys(Rule.parse(rule).text for rule in texts))

    def _no_rules(self) -> InputError:
        return InputError(
            f"{self.name} must be a rule or a list of rules, such as 'total = wage + other'."
        )


RULES = Rules(
    "rules",
    "Sums to keep, such as 'total = wage + other'; they must hold in every record. Sums that "
    "are detected in the table are kept too; none turns that off.",
)

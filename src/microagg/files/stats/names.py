"""Valid column names of SPSS, Stata and SAS files, and the nearest valid name for any other."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from microagg.errors import InputError
from microagg.sentences import Assignment, sentence

MOST_PROPOSED = 40
"""Columns for which an error proposes names: a longer list is of no use in a terminal."""


@dataclass(frozen=True)
class NameRules:
    """Rules for the name of a column."""

    pattern: str
    allowed: str
    """The signs that may stand in a name, as a regular expression for one of them."""
    longest: int
    unit: str
    """Unit of the length: bytes or characters."""
    reserved: str
    """Names that the package keeps for itself, as a regular expression."""
    words: str
    """The rules in words."""
    folds: bool = True
    """True if names are case-insensitive."""

    def length(self, name: str) -> int:
        """Return how long a name is, in the unit of the package."""
        return len(name.encode()) if self.unit == "bytes" else len(name)

    def fits(self, name: str) -> bool:
        """Return whether a file can have a column of that name.

        >>> RULES["SPSS"].fits("Sepal.Length"), RULES["Stata"].fits("Sepal.Length")
        (True, False)
        """
        if re.fullmatch(self.reserved, name):
            return False
        return bool(re.fullmatch(self.pattern, name)) and self.length(name) <= self.longest

    def key(self, name: str) -> str:
        """Return what two names must not have in common."""
        return name.casefold() if self.folds else name


RULES = {
    "SPSS": NameRules(
        r"[^\W\d_][\w.@#$]*",
        r"[\w.@#$]",
        64,
        "bytes",
        r"(?i:all|and|by|eq|ge|gt|le|lt|ne|not|or|to|with)",
        "letters, digits and . _ @ # $, begin with a letter",
    ),
    "Stata": NameRules(
        r"[^\W\d]\w*",
        r"\w",
        32,
        "characters",
        r"_all|_b|byte|_coef|_cons|double|float|if|in|int|long|_n|_N|_pi|_pred|_rc|_skip"
        r"|str\d*|strL|using|with",
        "letters, digits and _, begin with a letter or _",
        folds=False,
    ),
    "SAS": NameRules(
        r"[A-Za-z_][A-Za-z0-9_]*",
        r"[A-Za-z0-9_]",
        32,
        "bytes",
        r"(?i:_n_|_error_|_numeric_|_character_|_all_)",
        "letters of English, digits and _, begin with a letter or _",
    ),
}


def check_names(package: str, names: Sequence[str]) -> None:
    """Refuse names of columns that a package does not know; the error proposes others, ready to
    paste.
    """
    rules = RULES[package]
    keys: dict[str, str] = {}
    wrong, alike = [], None
    for name in names:
        first = keys.setdefault(rules.key(name), name)
        if first != name:
            alike = alike or (first, name)
            wrong.append(name)
        elif not rules.fits(name):
            wrong.append(name)
    if not wrong:
        return
    if alike is not None and rules.fits(alike[1]):
        problem = (
            f"{package} does not tell the columns {alike[0]!r} and {alike[1]!r} apart, by "
            f"small letters and capitals alone"
        )
    elif re.fullmatch(rules.reserved, wrong[0]):
        problem = f"{wrong[0]!r} is a name that {package} keeps for itself"
    else:
        problem = (
            f"no {package} file can have a column called {wrong[0]!r}: names are "
            f"{rules.words} and have "
            f"{rules.longest} {rules.unit} at most"
        )
    proposed = propose_names(package, names, wrong[:MOST_PROPOSED])
    more = (
        f" (and {len(wrong) - MOST_PROPOSED} more like that)" if len(wrong) > MOST_PROPOSED else ""
    )
    raise InputError(
        sentence(
            f"{problem}; say ",
            Assignment("rename", proposed),
            f"{more}, or write a file of another format.",
        )
    )


def propose_names(package: str, names: Sequence[str], wrong: Sequence[str]) -> dict[str, str]:
    """Return a name that files of the package can have for each of some columns, different from all
    others.

    >>> propose_names("Stata", ["Sepal.Length", "Sepal_Length"], ["Sepal.Length"])
    {'Sepal.Length': 'Sepal_Length_2'}
    """
    rules = RULES[package]
    taken = {rules.key(name) for name in names}
    proposed = {}
    for name in wrong:
        made = _nearest(name, rules, taken)
        proposed[name] = made
        taken.add(rules.key(made))
    return proposed


def _nearest(name: str, rules: NameRules, taken: set[str]) -> str:
    letters = "".join(letter if re.fullmatch(rules.allowed, letter) else "_" for letter in name)
    letters = re.sub(r"__+", "_", letters).strip("_")
    beginnings: tuple[Callable[[str], str], ...] = (str, lambda text: f"v_{text}" if text else "v")
    whole = next(
        (made for begin in beginnings if rules.fits(made := _cut(begin(letters), rules, ""))),
        "v",
    )
    number, made = 1, whole
    while rules.key(made) in taken or not rules.fits(made):
        number += 1
        made = _cut(whole, rules, f"_{number}")
    return made


def _cut(name: str, rules: NameRules, ending: str) -> str:
    """Return a name with an ending, shortened so that both fit."""
    while name and rules.length(name + ending) > rules.longest:
        name = name[:-1]
    return name + ending

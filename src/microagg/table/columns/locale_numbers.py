"""How the numbers of a text file are spelled: with a decimal point or comma, their digits grouped
or not.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from microagg.table.columns.arrow import compute as pc
from microagg.table.columns.text_options import GROUPING

EXPONENT = r"([eE][+-]?\d+)?"
COMMA_IS_DECIMAL = r"^[+-]?(0,|\d*,(\d{1,2}|\d{4,})([eE]|$)|\d{1,3}(\.\d{3})+,|\d{4,},)"
POINT_IS_DECIMAL = r"^[+-]?(0?\.|\d*\.(\d{0,2}|\d{4,})([eE]|$)|\d{1,3}(,\d{3})+\.|\d{4,}\.|0\d*\.)"


@dataclass(frozen=True)
class Style:
    """How numbers are spelled.

    >>> import pyarrow as pa
    >>> german = Style(",", ".")
    >>> german.plain(pa.array(["1.234,50", "7"])).to_pylist(), german.spelled(pa.array(["1234.50", "-7"]), grouped=True).to_pylist()
    (['1234.50', '7'], ['1.234,50', '-7'])
    """

    decimal: str = "."
    thousands: str = ""

    @property
    def is_plain(self) -> bool:
        """Whether numbers are spelled as programs do."""
        return self.decimal == "." and not self.thousands

    @property
    def pattern(self) -> str:
        """The regular expression of numbers, blanks around them aside."""
        point = re.escape(self.decimal)
        groups = rf"|\d{{1,3}}({re.escape(self.thousands)}\d{{3}})+" if self.thousands else ""
        return rf"^[+-]?((\d+{groups})({point}\d*)?|{point}\d+){EXPONENT}$"

    def plain(self, text: Any) -> Any:
        """Numbers that are spelled in this style as programs spell them."""
        if self.thousands:
            text = pc.replace_substring(text, self.thousands, "")
        return text if self.decimal == "." else pc.replace_substring(text, self.decimal, ".")

    def spelled(self, text: Any, *, grouped: bool) -> Any:
        """The other way: numbers as programs spell them in this style, with their digits in groups
        if it has a sign for that.
        """
        if self.decimal != ".":
            text = pc.replace_substring(text, ".", self.decimal)
        if not grouped or not self.thousands:
            return text
        point = re.escape(self.decimal)
        # a sign before every three digits of the whole part: one more group at each pass
        before = rf"^([+-]?\d+)(\d{{3}})($|[{point}{re.escape(self.thousands)}eE])"
        while pc.any(pc.match_substring_regex(text, before)).as_py():
            sign = self.thousands.replace("\\", r"\\")
            text = pc.replace_substring_regex(text, before, rf"\1{sign}\2\3")
        return text

    def groups(self, text: Any) -> bool:
        """Whether some of the numbers have their digits in groups."""
        return bool(self.thousands) and bool(
            pc.any(pc.match_substring(text, self.thousands)).as_py()
        )


def matching(text: Any, pattern: str) -> Any:
    """Where a cell matches; not where it is missing."""
    return pc.fill_null(pc.match_substring_regex(text, pattern), False)


@dataclass(frozen=True)
class Signs:
    """What the numbers of a column tell about decimal signs."""

    comma: bool = False
    """Its commas can only be decimal ones; `point` the same of points."""
    point: bool = False
    groups: bool = False
    """It has points that group digits before a decimal comma."""
    unclear: str = ""
    """The sign with which it has numbers that can be read in two ways, and none that tells which.
    """


PLAIN, GERMAN, ENGLISH = Style(), Style(",", "."), Style(".", ",")


def signs_in(text: Any) -> Signs:
    """What a column of trimmed texts, its gaps left out, tells about decimal signs: nothing unless
    all of it is numbers.

    >>> import pyarrow as pa
    >>> signs_in(pa.array(["3,14", "900"])).comma, signs_in(pa.array(["1.200", "900"])).unclear
    (True, '.')
    """
    if len(text) == 0 or not _looks_like_numbers(text.slice(0, 100).to_pylist()):
        return Signs()
    for sign, style in ((".", PLAIN), (",", GERMAN)):
        there = pc.any(pc.match_substring(text, sign)).as_py()
        if there and pc.all(pc.match_substring_regex(text, style.pattern)).as_py():
            return signs_of_numbers(text, sign)
    return Signs()


def signs_of_numbers(text: Any, sign: str) -> Signs:
    """The same of numbers, of which some have this sign, as decimal sign if it is certain."""
    certain = _any_matches(text, POINT_IS_DECIMAL if sign == "." else COMMA_IS_DECIMAL)
    if sign == ".":
        return Signs(point=certain, unclear="" if certain else sign)
    groups = certain and bool(pc.any(pc.match_substring(text, ".")).as_py())
    return Signs(comma=certain, groups=groups, unclear="" if certain else sign)


def _any_matches(text: Any, pattern: str) -> bool:
    """Whether some cell matches: mostly one of the first does."""
    return any(
        pc.any(pc.match_substring_regex(part, pattern)).as_py()
        for part in (text.slice(0, 1000), text.slice(1000))
    )


def _looks_like_numbers(cells: Iterable[str]) -> bool:
    return all(re.match(r"[+-]?[\d.,]+([eE][+-]?\d+)?$", cell) for cell in cells)


def spelled_otherwise(text: Any) -> bool:
    """Whether all of these texts are numbers, and some of them have signs that programs do not
    write there.

    >>> import pyarrow as pa
    >>> spelled_otherwise(pa.array(["1,200", "900"])), spelled_otherwise(pa.array(["1.2"])), spelled_otherwise(pa.array(["Ulm"]))
    (True, False, False)
    """
    if len(text) == 0 or pc.all(pc.match_substring_regex(text, PLAIN.pattern)).as_py():
        return False
    styles = [Style(decimal, sign) for decimal in ".," for sign in GROUPING if sign != decimal]
    return any(pc.all(pc.match_substring_regex(text, style.pattern)).as_py() for style in styles)

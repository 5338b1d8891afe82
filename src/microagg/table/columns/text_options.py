"""Options of separated text files, declared once for reading and once for writing.

This module imports no arrays.
"""

from __future__ import annotations

import codecs
import contextlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from microagg.errors import InputError
from microagg.table.declared import Declared, Schema
from microagg.table.parameters import Choice, Flag, OptionalBool, OptionalInt

UTF8, UTF8_WITH_MARK = "utf-8", "utf-8-sig"
NO_ENCODINGS = {
    "idna",
    "punycode",
    "unicode_escape",
    "raw_unicode_escape",
    "undefined",
    "utf-7",
    "mbcs",
    "oem",
}
"""Text encodings of Python that no file of records has."""
LINE_ENDS = {"lf": "\n", "crlf": "\r\n", "cr": "\r"}
DIRECTIVES = {
    "d": r"\d{1,2}",
    "m": r"\d{1,2}",
    "Y": r"\d{4}",
    "y": r"\d{2}",
    "H": r"\d{1,2}",
    "M": r"\d{1,2}",
    "S": r"\d{1,2}",
    "b": "[A-Za-z]{3}",
    "B": "[A-Za-z]{3,9}",
    "j": r"\d{1,3}",
}
"""Directives of a pattern of dates, with the regular expressions of their cells."""
CLOCK = set("HMS")


@dataclass(frozen=True)
class Letter(Declared):
    """A parameter that takes one of a few letters, which may be given by name where a shell makes
    them hard to type.

    >>> Letter("delimiter", "what separates columns", {",": "comma", "\\t": "tab"}).parse("tab")
    '\\t'
    """

    name: str
    help: str
    letters: Mapping[str, str] = field(default_factory=dict)
    """Each letter with its name; the empty one means that there is none."""
    default: None = None

    @property
    def metavar(self) -> str:
        """Return the word that help shows."""
        return "SIGN"

    @property
    def describes(self) -> str:
        """Describe the accepted values in words."""
        return "one of " + ", ".join(
            f"{letter!r} ({word})" if letter else word for letter, word in self.letters.items()
        )

    @property
    def json_schema(self) -> dict[str, Any]:
        """Return the schema of the letters and their names."""
        return {
            "enum": [choice for letter, word in self.letters.items() for choice in (letter, word)]
        }

    def parse(self, value: Any) -> str | None:
        """Return the letter; None if it is to be detected."""
        if value is None:
            return None
        for letter, word in self.letters.items():
            if isinstance(value, str) and value in (
                letter,
                word,
                letter.encode("unicode_escape").decode(),
            ):
                return letter
        raise InputError(f"{self.name} must be {self.describes}.")


@dataclass(frozen=True)
class RowCount(Declared):
    """A parameter that takes a number of rows.

    >>> RowCount("skip_rows", "rows above the header").parse("3")
    3
    """

    name: str
    help: str
    default: None = None
    describes: str = "a whole number of rows, 0 or more"

    @property
    def json_schema(self) -> Schema:
        """Return the JSON Schema of the value."""
        return {"type": "integer", "minimum": 0}

    def parse(self, value: Any) -> int | None:
        """Return the number; None if it is not given."""
        number = OptionalInt(self.name, self.help).parse(value)
        if number is not None and number < 0:
            raise InputError(f"{self.name} must be {self.describes}.")
        return number


@dataclass(frozen=True)
class Encoding(Declared):
    """A parameter that takes the name of an encoding of text.

    >>> (
    ...     Encoding("encoding", "how letters are stored").parse("Latin1"),
    ...     Encoding("encoding", "").parse("UTF-16"),
    ... )
    ('iso8859-1', 'utf-16')
    """

    name: str
    help: str
    default: None = None
    describes: str = "the name of an encoding, such as utf-8, utf-16, cp1252 or latin-1"

    @property
    def json_schema(self) -> Schema:
        """Return the JSON Schema of the value."""
        return {"type": "string"}

    @property
    def metavar(self) -> str:
        """Return the word that help shows."""
        return "NAME"

    def parse(self, value: Any) -> str | None:
        """Return the usual name of the encoding; None if it is to be detected."""
        if value is None:
            return None
        with contextlib.suppress(LookupError, TypeError, ValueError):
            codec = codecs.lookup(value)
            if codec._is_text_encoding and codec.name not in NO_ENCODINGS:
                return codec.name
        raise InputError(f"{self.name} must be {self.describes}.")


@dataclass(frozen=True)
class DatePattern(Declared):
    """A parameter that takes a pattern of dates, as `strftime` has them.

    >>> DatePattern("dates", "how dates are written").parse("%d.%m.%Y")
    '%d.%m.%Y'
    """

    name: str
    help: str
    default: None = None
    describes: str = (
        "a pattern such as %d.%m.%Y, with a year, a month and a day, and %H, %M and %S if "
        "there are times"
    )

    @property
    def json_schema(self) -> Schema:
        """Return the JSON Schema of the value."""
        return {"type": "string"}

    @property
    def metavar(self) -> str:
        """Return the word that help shows."""
        return "PATTERN"

    def parse(self, value: Any) -> str | None:
        """Return the pattern; None if dates are in ISO 8601 only."""
        if value is None:
            return None
        if isinstance(value, str) and value.isprintable():
            directives = re.findall(r"%(.?)", value)
            day = "j" in directives or (
                "d" in directives and bool({"m", "b", "B"} & set(directives))
            )
            year = len({"Y", "y"} & set(directives)) == 1
            if (
                year
                and day
                and set(directives) <= set(DIRECTIVES)
                and len(set(directives)) == len(directives)
            ):
                if (
                    re.fullmatch(r"[\d.,]+", re.sub(r"%[^bB]", "1", value))
                    and len(re.sub("%.", "", value)) < 2
                ):
                    raise InputError(
                        f"{self.name} cannot be {value}: such dates look like "
                        f"numbers; put a sign between year, month and day."
                    )
                return value
        raise InputError(f"{self.name} must be {self.describes}.")


def cells_of_pattern(pattern: str) -> str:
    """Return the regular expression of cells in a pattern of dates.

    >>> re.fullmatch(cells_of_pattern("%d.%m.%Y"), "31.1.2024") is not None
    True
    """
    parts = re.split(r"%(.)", pattern)
    texts = [DIRECTIVES[part] if index % 2 else re.escape(part) for index, part in enumerate(parts)]
    return f"^{''.join(texts)}$"


def has_clock(pattern: str) -> bool:
    """Check if a pattern of dates has times of day."""
    return bool(CLOCK & set(re.findall(r"%(.)", pattern)))


DELIMITERS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "pipe"}
DECIMALS = {".": "point", ",": "comma"}
GROUPING = {
    "": "none",
    ".": "point",
    ",": "comma",
    " ": "blank",
    "'": "apostrophe",
    "\u00a0": "nbsp",
    "\u202f": "nnbsp",
}

HEADER = OptionalBool(
    "header",
    "Whether the first row of a csv file holds the names of the columns; if not, they "
    "are called 1, 2, 3 and so on.",
)
SKIP_ROWS = RowCount(
    "skip_rows",
    "How many rows of a text or Excel file to skip before the one with the names of the columns.",
)
DECIMAL = Letter(
    "decimal", "The decimal sign of the numbers of a text file: a point or a comma.", DECIMALS
)
THOUSANDS = Letter(
    "thousands",
    "What groups the digits of the numbers of a text file: . or , or blank, for example.",
    GROUPING,
)
DATES = DatePattern(
    "dates", "How dates of a text file are written besides 2024-01-31, such as %d.%m.%Y."
)
READING = (
    HEADER,
    SKIP_ROWS,
    Encoding(
        "encoding",
        "The encoding of a text file, such as utf-8, utf-16 or cp1252; detected if not given.",
    ),
    Letter(
        "delimiter",
        "What separates the columns of a text file: a comma, semicolon, tab or pipe; "
        "detected if not given.",
        DELIMITERS,
    ),
    DECIMAL,
    THOUSANDS,
    DATES,
)
"""Options of text files for reading."""
WRITING = (
    Encoding("encoding", "The encoding of a text file to write; that of the input if not given."),
    Letter(
        "delimiter",
        "What separates the columns of a text file to write; as in the input if not given.",
        DELIMITERS,
    ),
    Letter(
        "decimal",
        "The decimal sign in a text file to write; as in the input if not given.",
        DECIMALS,
    ),
    Letter(
        "thousands",
        "What groups digits in a text file to write, in columns where the input groups them.",
        GROUPING,
    ),
    DatePattern("dates", "How dates are written in a text file; as in the input if not given."),
    Choice(
        "line_end",
        tuple(LINE_ENDS),
        "lf",
        "How lines of a text file to write end; as in the input if not given.",
    ),
    Flag(
        "escape_formulas",
        "For a csv file that goes to a spreadsheet: put an apostrophe before texts such as =A1.",
    ),
)
"""Options of text files for writing."""
OPTIONS: dict[str, Any] = {
    "delimiter": ",",
    "encoding": UTF8,
    "decimal": ".",
    "thousands": "",
    "dates": None,
    "line_end": "lf",
    "escape_formulas": False,
}
"""Defaults of writing text files."""


def check_same_signs(options: Mapping[str, Any]) -> None:
    """Refuse the same sign for decimals and thousands, which would be ambiguous.

    >>> check_same_signs({"decimal": ",", "thousands": "."})
    """
    if options.get("decimal") and options.get("decimal") == options.get("thousands"):
        raise InputError("decimal and thousands are the same sign; say which of the two it is.")

"""What can be said of a file of separated text, declared once for reading and once for writing. No
arrays are imported here.
"""

from __future__ import annotations

import codecs
import contextlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from microagg.errors import InputError
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
"""What Python calls encodings of text and no file of records is in."""
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
"""What a pattern of dates may hold after a percent sign, and what stands in cells there."""
CLOCK = set("HMS")


@dataclass(frozen=True)
class Letter:
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
    def describes(self) -> str:
        """What may be given, in words."""
        return "one of " + ", ".join(
            f"{letter!r} ({word})" if letter else word for letter, word in self.letters.items()
        )

    @property
    def json_schema(self) -> dict[str, Any]:
        """The letters and their names."""
        return {"enum": [each for letter, word in self.letters.items() for each in (letter, word)]}

    def parse(self, value: Any) -> str | None:
        """The letter; None where it is left to be found out."""
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
class RowCount:
    """A parameter that takes a number of rows.

    >>> RowCount("skip_rows", "rows above the header").parse("3")
    3
    """

    name: str
    help: str
    default: None = None
    describes: str = "a whole number of rows, 0 or more"
    json_schema: Mapping[str, Any] = field(
        default_factory=lambda: {"type": "integer", "minimum": 0}
    )
    metavar: str = "NUMBER"

    def parse(self, value: Any) -> int | None:
        """Return the number; None where nothing is said."""
        number = OptionalInt(self.name, self.help).parse(value)
        if number is not None and number < 0:
            raise InputError(f"{self.name} must be {self.describes}.")
        return number


@dataclass(frozen=True)
class Encoding:
    """A parameter that takes the name of an encoding of text.

    >>> Encoding("encoding", "how letters are stored").parse("Latin1"), Encoding("encoding", "").parse("UTF-16")
    ('iso8859-1', 'utf-16')
    """

    name: str
    help: str
    default: None = None
    describes: str = "the name of an encoding, such as utf-8, utf-16, cp1252 or latin-1"
    json_schema: Mapping[str, Any] = field(default_factory=lambda: {"type": "string"})

    def parse(self, value: Any) -> str | None:
        """Its usual name; None where it is left to be found out."""
        if value is None:
            return None
        with contextlib.suppress(LookupError, TypeError, ValueError):
            found = codecs.lookup(value)
            if found._is_text_encoding and found.name not in NO_ENCODINGS:
                return found.name
        raise InputError(f"{self.name} must be {self.describes}.")


@dataclass(frozen=True)
class DatePattern:
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
    json_schema: Mapping[str, Any] = field(default_factory=lambda: {"type": "string"})

    def parse(self, value: Any) -> str | None:
        """The pattern; None where only dates by ISO 8601 are dates."""
        if value is None:
            return None
        if isinstance(value, str) and value.isprintable():
            found = re.findall(r"%(.?)", value)
            day = "j" in found or ("d" in found and bool({"m", "b", "B"} & set(found)))
            year = len({"Y", "y"} & set(found)) == 1
            if year and day and set(found) <= set(DIRECTIVES) and len(set(found)) == len(found):
                if (
                    re.fullmatch(r"[\d.,]+", re.sub(r"%[^bB]", "1", value))
                    and len(re.sub("%.", "", value)) < 2
                ):
                    raise InputError(
                        f"{self.name} cannot be {value}: such dates could not be told "
                        f"from numbers; put signs between their parts."
                    )
                return value
        raise InputError(f"{self.name} must be {self.describes}.")


def cells_of_pattern(pattern: str) -> str:
    """The regular expression of cells that are written by a pattern of dates.

    >>> re.fullmatch(cells_of_pattern("%d.%m.%Y"), "31.1.2024") is not None
    True
    """
    parts = re.split(r"%(.)", pattern)
    texts = [DIRECTIVES[part] if place % 2 else re.escape(part) for place, part in enumerate(parts)]
    return f"^{''.join(texts)}$"


def has_clock(pattern: str) -> bool:
    """Whether a pattern of dates has times of day."""
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
    "Whether the first row of a csv file holds the names of the columns; without, they "
    "are 1, 2, 3 and so on.",
)
SKIP_ROWS = RowCount(
    "skip_rows",
    "How many rows of a text or Excel file to pass over before the one with the names of "
    "the columns.",
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
        "The encoding of a text file, such as utf-8, utf-16 or cp1252; found out if not given.",
    ),
    Letter(
        "delimiter",
        "What separates the columns of a text file: a comma, semicolon, tab or pipe; "
        "found out if not given.",
        DELIMITERS,
    ),
    DECIMAL,
    THOUSANDS,
    DATES,
)
"""What can be said of a text file to be read."""
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
"""What can be said of a text file to be written."""
OPTIONS: dict[str, Any] = {
    "delimiter": ",",
    "encoding": UTF8,
    "decimal": ".",
    "thousands": "",
    "dates": None,
    "line_end": "lf",
    "escape_formulas": False,
}
"""How a text file is written if nobody says so."""


def check_same_signs(said: Mapping[str, Any]) -> None:
    """Refuse one sign for two things: it would be read, and written, as either.

    >>> check_same_signs({"decimal": ",", "thousands": "."})
    """
    if said.get("decimal") and said.get("decimal") == said.get("thousands"):
        raise InputError("decimal and thousands are the same sign; say which of the two it is.")

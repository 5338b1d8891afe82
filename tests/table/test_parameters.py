"""Declared parameters: the last value that is taken, and the first that is refused."""

from __future__ import annotations

import datetime
from typing import Any

import numpy as np
import pytest

import microagg as ma
from microagg.table.code_parameters import Codes, Markers, as_number
from microagg.table.columns.text_options import (
    DatePattern,
    Encoding,
    Letter,
    RowCount,
    cells_of_pattern,
    check_same_signs,
    has_clock,
)
from microagg.table.declared import split_words
from microagg.table.parameters import (
    MOST_STEPS,
    Choice,
    Day,
    Effort,
    Flag,
    GroupSize,
    Number,
    OptionalBool,
    OptionalInt,
    ShortText,
)

SHARE = Number("x", 0, 1, None, "")
COUNT = Number("x", 2, 9, 5, "", whole=True)
EFFORT = Effort("x", ("quick", "more"), "quick", "")
CODES, MARKERS = Codes("x", ""), Markers("x", "")


@pytest.mark.parametrize(
    ("parameter", "value", "parsed"),
    [
        (Choice("x", ("a", "b"), "a", ""), "b", "b"),
        (SHARE, 0, 0.0),
        (SHARE, "1", 1.0),
        (SHARE, None, None),
        (COUNT, 2, 2),
        (COUNT, "9", 9),
        (COUNT, 3.0, 3),
        (EFFORT, "more", "more"),
        (EFFORT, 0, 0.0),
        (EFFORT, str(MOST_STEPS), MOST_STEPS),
        (Flag("x", ""), np.True_, True),
        (OptionalBool("x", ""), None, None),
        (OptionalBool("x", ""), np.False_, False),
        (OptionalInt("x", ""), " -7 ", -7),
        (OptionalInt("x", ""), np.int8(3), 3),
        (OptionalInt("x", ""), None, None),
        (Day("x", ""), datetime.date(2024, 1, 31), "2024-01-31"),
        (Day("x", ""), None, None),
        (ShortText("x", ""), "a" * 120 + " ", "a" * 120),
        (ShortText("x", ""), " a \n b ", "a b"),
        (ShortText("x", ""), None, ""),
        (GroupSize("k", ""), 2, 2),
        (GroupSize("k", ""), 3.0, 3),
        (GroupSize("k", ""), "4", 4),
        (RowCount("x", ""), 0, 0),
        (RowCount("x", ""), None, None),
        (Encoding("x", ""), "Latin-1", "iso8859-1"),
        (Letter("x", "", {"\t": "tab", "": "none"}), "\\t", "\t"),
        (Letter("x", "", {"\t": "tab", "": "none"}), "none", ""),
        (DatePattern("x", ""), "%d.%m.%Y", "%d.%m.%Y"),
        (DatePattern("x", ""), "%j/%y", "%j/%y"),
        (DatePattern("x", ""), "%d%b%Y", "%d%b%Y"),
        (DatePattern("x", ""), "%Y.%m.%d", "%Y.%m.%d"),
        (CODES, "a=97, refused,97.0", {"a": (97, "refused")}),
        (CODES, {"a": [97, 97.0, 2.5]}, {"a": (97, 2.5)}),
        (MARKERS, [-9, -9.0, " x ", 2.5], ("-9", "x", "2.5")),
        (MARKERS, "", ("",)),
    ],
)
def test_what_is_taken(parameter: Any, value: Any, parsed: Any) -> None:
    result = parameter.parse(value)
    assert (result, type(result)) == (parsed, type(parsed))


@pytest.mark.parametrize(
    ("parameter", "value"),
    [
        (Choice("x", ("a", "b"), "a", ""), "c"),
        (Choice("x", ("a", "b"), "a", ""), 1),
        *((SHARE, value) for value in (-1e-9, 1.0000001, "x", float("nan"), [1])),
        *((COUNT, value) for value in (1, 10, 2.5, None, "two", float("inf"))),
        *((EFFORT, value) for value in (-1, MOST_STEPS + 1, "most", None)),
        *((Flag("x", ""), value) for value in (1, 0, "yes", None)),
        *((OptionalBool("x", ""), value) for value in (1, "no")),
        *((OptionalInt("x", ""), value) for value in (True, 2.5, "2.5", [2])),
        *((Day("x", ""), value) for value in ("31.01.2024", "2024-02-30", 7)),
        (ShortText("x", ""), "a" * 121),
        *((GroupSize("k", ""), value) for value in (1, 0, -5, 2.5, None, True, "x")),
        *((RowCount("x", ""), value) for value in (-1, 1.5, "x")),
        *((Encoding("x", ""), value) for value in ("klingon", "rot13", "utf-7", 7)),
        *((Letter("x", "", {",": "comma"}), value) for value in (";", "", 7)),
        *(
            (DatePattern("x", ""), value)
            for value in (
                "%d.%m",
                "%m.%Y",
                "%d.%m.%Y.%y",
                "%d.%d.%m.%Y",
                "%d.%m.%Y %p",
                "%d.%m%Y",
                "%d%m%Y",
                "%Y%j",
                "%d\n%m %Y",
                7,
                "",
            )
        ),
        *((CODES, value) for value in ("a", "a=", {"a": []}, {"a": None}, {"a": True}, {"a": " "})),
        (CODES, {"a": float("nan")}),
        *((MARKERS, value) for value in (None, True, float("nan"), [None], {"a": 1})),
    ],
)
def test_what_is_refused(parameter: Any, value: Any) -> None:
    with pytest.raises(ma.InputError):
        parameter.parse(value)


def test_texts_that_are_numbers() -> None:
    texts = ["0", "-7", "+7", "7.50", "1e3", "007", "7.", ".5", "x", "1e999", "٣", str(2**53)]
    values = [0, -7, 7, 7.5, 1000, "007", "7.", ".5", "x", "1e999", "٣", 2.0**53]
    for text, value in zip(texts, values, strict=True):
        assert (as_number(text), type(as_number(text))) == (value, type(value))
    assert as_number(str(2**53 - 1)) == 2**53 - 1


def test_lists_on_a_command_line() -> None:
    assert split_words(['a, "b,c"', "d"]) == ["a", "b,c", "d"]
    assert split_words(None) == []
    with pytest.raises(ma.InputError, match="cannot be read"):
        split_words(["x" * 140_000])


def test_patterns_of_dates() -> None:
    import re

    for pattern, cell, other in (
        ("%d.%m.%Y", "1.12.2024", "1.12.24"),
        ("%d.%m.%y", "01.12.24", "01.12.2024"),
        ("%d %b %Y %H:%M", "1 Jan 2024 9:05", "1 January 2024 9:05"),
        ("%B %d, %Y", "January 1, 2024", "J 1, 2024"),
        ("%Y/%j", "2024/366", "2024/3666"),
    ):
        assert re.match(cells_of_pattern(pattern), cell)
        assert not re.match(cells_of_pattern(pattern), other)
    assert [has_clock(pattern) for pattern in ("%d.%m.%Y", "%d.%m.%Y %H", "%d%%H")] == [
        False, True, False,
    ]  # fmt: skip
    check_same_signs({"decimal": ".", "thousands": ""})
    check_same_signs({"decimal": None, "thousands": None})
    with pytest.raises(ma.InputError, match="the same sign"):
        check_same_signs({"decimal": ",", "thousands": ","})

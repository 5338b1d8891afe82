"""Limits of the files of SPSS, Stata and SAS."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Target:
    """Limits of the files of one package."""

    longest_text: int
    trailing: bool
    """True if blanks at the end of a text are kept."""
    label: int
    """Longest label of a column in bytes, and of a value; 0 if there is none."""
    value: int
    origin: int
    """The first day, counted from 1970; `day` units of a date make a day, `second` of a moment a
    second.
    """
    day: int
    second: int
    formats: Mapping[str, str]
    """Display formats of dates, moments, times, whole and other numbers."""
    measures: bool = False


TARGETS = {
    "SPSS": Target(
        32_767,
        False,
        256,
        120,
        141_428,
        86_400,
        1,
        measures=True,
        formats={
            "date": "SDATE10",
            "moment": "DATETIME23.3",
            "time": "TIME11.2",
            "whole": "F{width}.0",
            "number": "F{width}.{digits}",
        },
    ),
    "Stata": Target(
        2_000_000_000,
        True,
        80,
        32_000,
        3_653,
        1,
        1000,
        formats={
            "date": "%td",
            "moment": "%tc",
            "time": "%tcHH:MM:SS",
            "whole": "%{width}.0f",
            "number": "%{width}.0g",
        },
    ),
    "SAS": Target(
        32_767,
        False,
        256,
        0,
        3_653,
        1,
        1,
        formats={
            "date": "E8601DA10.",
            "moment": "E8601DT23.3",
            "time": "E8601TM12.3",
            "whole": "",
            "number": "",
        },
    ),
}
SMALLEST, LARGEST = -2_147_483_647, 2_147_483_620
"""The whole numbers that Stata stores as such, and can label."""
FIRST_DAY = {"SPSS": -141_427, "Stata": -679_350, "SAS": -138_061}
"""The first day of the calendar that each package knows: 15 October 1582, the year 110, 1582."""

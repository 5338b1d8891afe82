"""Verdicts on published figures, on both sides of each limit."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from microagg.studies.published import RUNS, published_figures
from microagg.studies.verdicts import verdict

FIGURE = next(figure for figure in published_figures() if figure.name == "mdav1")


@pytest.mark.parametrize(
    ("obtained", "expected"),
    [
        (100.0, "equal"),
        (100.005, "equal"),
        (99.995, "equal"),
        (100.0051, "higher"),
        (99.9949, "lower"),
    ],
)
def test_half_of_the_last_digit_is_equal(obtained: float, expected: str) -> None:
    figure = replace(FIGURE, value=100.0, decimals=2, statistic="", measure="IL", misprint=False)
    assert verdict(figure, obtained) == expected
    if expected != "equal":
        assert verdict(replace(figure, misprint=True), obtained) == "misprint"
        assert verdict(replace(figure, statistic="not published"), obtained) == "not comparable"


def test_sums_of_squares_are_equal_to_six_digits() -> None:
    figure = replace(FIGURE, value=1e6, decimals=4, statistic="", measure="SSE", misprint=False)
    assert verdict(figure, 1e6 + 1.0) == verdict(figure, 1e6 - 1.0) == "six digits"
    assert verdict(figure, 1e6 + 1.1) == "higher"
    assert verdict(figure, 1e6 - 1.1) == "lower"
    assert verdict(replace(figure, measure="IL"), 1e6 + 1.0) == "higher"


def test_means_agree_within_twice_the_error_of_both() -> None:
    figure = replace(
        FIGURE, value=30.0, decimals=1, statistic="mean of 10 runs", measure="IL", deviation=1.0,
        misprint=False,
    )  # fmt: skip
    both = 2.0 * math.hypot(0.3, 1.0 / RUNS**0.5) + 0.05
    assert verdict(figure, 30.0 + both - 1e-6, 0.3) == "within error"
    assert verdict(figure, 30.0 - both + 1e-6, 0.3) == "within error"
    assert verdict(figure, 30.0 + both + 1e-6, 0.3) == "higher"
    other = replace(figure, statistic="mean over data sets")
    both = 2.0 * math.hypot(0.3, 0.3) + 0.05
    assert verdict(other, 30.0 + both - 1e-6, 0.3) == "within error"
    assert verdict(other, 30.0 - both - 1e-6, 0.3) == "lower"

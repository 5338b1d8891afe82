"""What a comparison with a published figure says: one word for each kind of agreement, and for each
kind of none.
"""

from __future__ import annotations

import math

from microagg.methods.registry import method_named
from microagg.studies.published import COUNTS, RUNS, Published

VERDICTS = {
    "equal": "equal to the printed digits",
    "six digits": "equal to six digits, not to every printed one",
    "within error": "within twice the combined standard error of both",
    "follows": "follows from the printed class sizes: a rule applied, nothing run",
    "lower": "ours is lower",
    "higher": "ours is higher",
    "not comparable": "not comparable: the paper's data set is not published",
    "misprint": "misprint by all evidence",
    "not at hand": "not at hand: the text that first published the method",
}
"""Every verdict and what it means, in the order in which they are counted."""

AGREEING = ("equal", "six digits", "within error", "follows")
SAME = 1e-6  # of a sum of squares: six digits
ROUNDING = 1.0 + 1e-9  # of half a digit


def verdict(figure: Published, obtained: float, error: float = 0.0) -> str:
    """One of `VERDICTS`; `error` is the standard error of what was obtained, where that is a mean.

    Where a paper prints a mean over data sets without its deviation, theirs is taken to be as large
    as ours.

    >>> from microagg.studies.published import published_figures
    >>> figure = next(f for f in published_figures() if f.name == "mdav1")
    >>> figure.value, verdict(figure, figure.value), verdict(figure, figure.value - 1.0)
    (16.93258762, 'equal', 'lower')
    """
    difference = obtained - figure.value
    half_a_digit = 0.5 * 10.0**-figure.decimals * ROUNDING
    if "not published" in figure.statistic:
        return "not comparable"
    if figure.measure in COUNTS and difference == 0.0:
        return "follows"
    if figure.statistic.startswith("mean"):
        if abs(difference) <= 2.0 * _combined_error(figure, error) + half_a_digit:
            return "within error"
    elif abs(difference) <= half_a_digit:
        return "equal"
    elif figure.measure == "SSE" and abs(difference) <= SAME * figure.value:
        return "six digits"
    if figure.misprint:
        return "misprint"
    if method_named(figure.name).text.startswith("not at hand"):
        return "not at hand"
    return "lower" if difference < 0.0 else "higher"


def _combined_error(figure: Published, error: float) -> float:
    theirs = (
        figure.deviation / RUNS**0.5 if figure.statistic.startswith("mean of 10 runs") else error
    )
    return math.hypot(error, theirs)

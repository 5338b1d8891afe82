"""Words for figures: low, usual or high beside recorded k-anonymous releases.

`usual_ranges.py` has the quartiles of each measure over releases of the reference tables and of
real
tables, by k; `benchmarks/usual_figures.py` writes it.
"""

from __future__ import annotations

from microagg.release.report.usual_ranges import RANGES

SOURCE = (
    "Low, usual and high compare a figure with releases of eight public tables (Tarragona, Census "
    "and EIA, as in the microaggregation literature; Adult, Chile, SLID and the survey tables "
    "free1 and testdata) by method auto, effort quick: half of these lie in the usual range."
)


def usually(name: str, k: int) -> tuple[float, float]:
    """Return the range in which half of the recorded releases lie, for the nearest recorded k.

    >>> low, high = usually("il", 5)
    >>> 0 < low < high < 100
    True
    """
    return RANGES[name][recorded_k(name, k)]


def recorded_k(name: str, k: int) -> int:
    """Return the k of recorded releases that is nearest to a k.

    >>> recorded_k("il", 4), recorded_k("il", 100)
    (3, 10)
    """
    return min(RANGES[name], key=lambda recorded: (abs(recorded - k), recorded))


def usual_word(name: str, k: int, value: float) -> str:
    """Return "low", "usual" or "high"; empty where no releases are recorded or all agree.

    >>> usual_word("il", 5, 0.0), usual_word("il", 5, 99.0), usual_word("no measure", 5, 1.0)
    ('low', 'high', '')
    """
    if name not in RANGES:
        return ""
    low, high = usually(name, k)
    if low == high:
        return ""
    return "low" if value < low else "high" if value > high else "usual"

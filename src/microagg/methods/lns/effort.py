"""How much work the words for effort mean."""

from __future__ import annotations

from dataclasses import dataclass

WORDS = ("quick", "balanced", "thorough")

# What balanced means: up to five thousand records the work grows with their number, at ten seconds
# for a thousand; beyond,
# every further record gets as much as keeps a million of them within minutes.
MOST_FOR_EACH = 600
SHARED = 3_000_000
LEAST_FOR_EACH = 12
THOROUGH = 10  # times as much as balanced
BESIDE_PROGRAMS = 3  # times as much as balanced, where integer programs do the rest


@dataclass(frozen=True)
class Work:
    """An amount of search: how many steps of annealing."""

    steps: int
    why: str


def work_of(n: int, effort: str | float, whole: int | None = None) -> Work:
    """The work that a word means for n records, or so many steps for each record. A step costs more
    with more columns and k.

    Where a word is meant for a `whole` table of so many records, of which these are a stratum, they
    get their share of its work.

    >>> work_of(1000, 250).steps
    250000
    >>> work_of(1000, "balanced").steps, work_of(1000, "balanced", whole=1_000_000).steps
    (600000, 15000)
    """
    if effort == "quick":
        return Work(0, "effort quick: no further search")
    if effort not in WORDS:
        return Work(
            round(float(effort) * n), f"then annealing, {float(effort):g} steps for each record"
        )
    return _annealing(effort, _balanced(n, whole) * (THOROUGH if effort == "thorough" else 1), n)


def beside_programs(n: int, whole: int | None = None) -> Work:
    """The annealing of `thorough` where integer programs follow it."""
    return _annealing("thorough", BESIDE_PROGRAMS * _balanced(n, whole), n)


def searching_while_proving(n: int) -> Work:
    """The work of one search among several, between which a bound is raised: some seconds whatever
    n is.
    """
    steps = min(_balanced(n), SHARED // 3)
    why = f"effort prove: annealing, {steps / n:.3g} steps for each record, in turns with the bound"
    return Work(steps, why)


def _balanced(n: int, whole: int | None = None) -> int:
    whole = whole or n
    return min(MOST_FOR_EACH * whole, SHARED + LEAST_FOR_EACH * whole) * n // whole


def _annealing(effort: str | float, steps: int, n: int) -> Work:
    return Work(steps, f"effort {effort}: then annealing, {steps / n:.3g} steps for each record")

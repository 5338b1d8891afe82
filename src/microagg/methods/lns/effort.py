"""Amount of work for each level of effort."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from microagg.refine.lns import BY_MEANS, FAST, Schedule

WORDS = ("quick", "balanced", "thorough")

# What balanced means to `lns`: up to five thousand records the work grows with their number;
# beyond, every further record gets as much as keeps a million of them within minutes.
MOST_FOR_EACH = 600
SHARED = 3_000_000
LEAST_FOR_EACH = 12
THOROUGH = 10  # times as much as balanced

# What balanced means to `auto`: (up to so many records, steps for each): a second of one core for
# a thousand records up to ten thousand at k <= 5, a quarter of that for each further thousand, and
# half of that beyond a hundred thousand.
BALANCED = ((10_000, 100), (100_000, 25), (None, 12))
# With k = 10 it may take two seconds: (k, how much more of it); in between in proportion.
MORE_WORK = ((5, 1.0), (10, 1.6))
LARGEST_K = 10  # a step takes longer the larger k is: beyond this one, fewer of them


@dataclass(frozen=True)
class Work:
    """An amount of search: steps of annealing, and their schedule."""

    steps: int
    why: str
    schedule: Schedule = FAST


def work_of(n: int, effort: str | float, whole: int | None = None) -> Work:
    """Return the work of `lns` that a word means for n records, or so many steps for each record.

    A step costs more the larger k is. Where a word is meant for a `whole` table of so many records,
    of which these are a stratum, they get their share of its work.

    >>> work_of(1000, 250).steps
    250000
    >>> work_of(1000, "balanced").steps, work_of(1000, "balanced", whole=1_000_000).steps
    (600000, 15000)
    """
    whole = whole or n
    balanced = min(MOST_FOR_EACH * whole, SHARED + LEAST_FOR_EACH * whole) * n // whole
    return replace(_work(n, effort, balanced), schedule=BY_MEANS)


def default_work(n: int, k: int, effort: str | float, whole: int | None = None) -> Work:
    """Return the work of `auto` that a word means for n records and k, or that many for each.

    >>> default_work(1000, 5, "balanced").steps, default_work(20_000, 5, "balanced").steps
    (100000, 1250000)
    >>> default_work(1000, 10, "balanced").steps, default_work(1000, 40, "balanced").steps
    (160000, 50000)
    """
    whole, balanced, counted = whole or n, 0.0, 0
    for limit, steps in BALANCED:
        up_to = whole if limit is None else min(whole, limit)
        balanced += steps * max(0, up_to - counted)
        counted = max(counted, up_to)
    return _work(n, effort, max(1, int(balanced * _share_of_k(k) * n / whole)))


def _share_of_k(k: int) -> float:
    """Return how much of the work at k = 5 there is at this k.

    >>> [round(_share_of_k(k), 3) for k in (2, 5, 8, 10, 20, 40, 160)]
    [1.0, 1.0, 1.36, 1.6, 0.8, 0.5, 0.25]
    >>> round(_share_of_k(25), 3), round(_share_of_k(26), 3)
    (0.64, 0.62)
    """
    (first, least), (last, most) = MORE_WORK
    if k <= last:
        return least + (most - least) * max(0, k - first) / (last - first)
    return max(math.sqrt(LARGEST_K / k), most * LARGEST_K / k)


def searching_while_proving(n: int) -> Work:
    """Return the work of one search among several, between which a bound is raised."""
    steps = min(work_of(n, "balanced").steps, SHARED // 3)
    why = f"effort prove: annealing, {steps / n:.3g} steps for each record, in turns with the bound"
    return Work(steps, why)


def _work(n: int, effort: str | float, balanced: int) -> Work:
    if effort == "quick":
        return Work(0, "effort quick: no further search")
    if effort not in WORDS:
        return Work(
            round(float(effort) * n), f"then annealing, {float(effort):g} steps for each record"
        )
    steps = balanced * (THOROUGH if effort == "thorough" else 1)
    return Work(steps, f"effort {effort}: then annealing, {steps / n:.3g} steps for each record")

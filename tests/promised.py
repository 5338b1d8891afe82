"""l-diversity and t-closeness the slow way, with fractions: an independent checker. Nothing here imports microagg."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Hashable, Sequence
from fractions import Fraction
from typing import Any

TOLERANCE = Fraction(1, 10**9)


def classes(rows: Sequence[Hashable]) -> list[list[int]]:
    """The records that share all values."""
    found: dict[Hashable, list[int]] = defaultdict(list)
    for i, row in enumerate(rows):
        found[row].append(i)
    return list(found.values())


def distinct(values: Sequence[Any], members: Sequence[int]) -> int:
    return len({values[i] for i in members})


def entropy(values: Sequence[Any], members: Sequence[int]) -> float:
    shares = [count / len(members) for count in Counter(values[i] for i in members).values()]
    return math.fsum(-share * math.log(share) for share in shares)


def is_recursive(values: Sequence[Any], members: Sequence[int], l: int, c: float) -> bool:
    counts = sorted(Counter(values[i] for i in members).values(), reverse=True)
    return counts[0] < Fraction(c) * sum(counts[l - 1 :])


def distance(values: Sequence[Any], members: Sequence[int], *, nominal: bool) -> Fraction:
    """The earth mover's distance between some records and all of them, exactly."""
    here, overall = Counter(values[i] for i in members), Counter(values)
    apart = [Fraction(here[v], len(members)) - Fraction(overall[v], len(values)) for v in sorted(overall)]
    if nominal:
        return sum((abs(x) for x in apart), Fraction(0)) / 2
    if len(apart) == 1:
        return Fraction(0)
    total, carried = Fraction(0), Fraction(0)
    for x in apart:
        carried += x
        total += abs(carried)
    return total / (len(apart) - 1)


def is_kept(values: Sequence[Any], members: Sequence[int], *, nominal: bool, **asked: Any) -> bool:
    """Whether some records keep what is asked for: l, t, diversity, c."""
    l, t = asked.get("l"), asked.get("t")
    if t is not None and distance(values, members, nominal=nominal) > Fraction(t) + TOLERANCE:
        return False
    if l is None:
        return True
    kind = asked.get("diversity", "distinct")
    if kind == "distinct":
        return distinct(values, members) >= l
    if kind == "entropy":
        return entropy(values, members) >= math.log(l) - 1e-9
    return is_recursive(values, members, int(l), asked["c"])

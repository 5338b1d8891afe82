"""l-diversity, t-closeness and units the slow way, with fractions: an independent checker. Nothing
here imports microagg.

A value that is None, or an `Atom`, is not known: missing, or a special code.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Hashable, Sequence
from fractions import Fraction
from typing import Any


class Atom(str):
    """A special code."""


def is_atom(value: Any) -> bool:
    return value is None or isinstance(value, Atom)


def known(values: Sequence[Any], members: Sequence[int]) -> list[Any]:
    """The values of some records that are known."""
    return [values[i] for i in members if not is_atom(values[i])]


TOLERANCE = Fraction(1, 10**9)


def classes(rows: Sequence[Hashable]) -> list[list[int]]:
    """The records that share all values."""
    groups: dict[Hashable, list[int]] = defaultdict(list)
    for i, row in enumerate(rows):
        groups[row].append(i)
    return list(groups.values())


def distinct(values: Sequence[Any], members: Sequence[int]) -> int:
    return len(set(known(values, members)))


def entropy(values: Sequence[Any], members: Sequence[int]) -> float:
    known_values = known(values, members)
    shares = [count / len(known_values) for count in Counter(known_values).values()]
    return math.fsum(-share * math.log(share) for share in shares)


def is_recursive(values: Sequence[Any], members: Sequence[int], l: int, c: float) -> bool:
    counts = sorted(Counter(known(values, members)).values(), reverse=True)
    return bool(counts) and counts[0] < Fraction(c) * sum(counts[l - 1 :])


def distance(values: Sequence[Any], members: Sequence[int], *, nominal: bool) -> Fraction:
    """The earth mover's distance between some records and all of them, exactly; with atoms in an
    order, a bound on it.
    """
    atoms = {value for value in values if is_atom(value)}
    if nominal or not atoms:
        return _moved([values[i] for i in members], values, nominal=nominal)
    here, overall = known(values, members), known(values, range(len(values)))
    sorts = ["a value" if not is_atom(value) else value for value in values]
    apart = _moved([sorts[i] for i in members], sorts, nominal=True)
    if not here:
        return apart
    share = Fraction(len(here), len(members))
    if len(atoms) == 1:
        share = min(share, Fraction(len(overall), len(values)))
    return apart + share * _moved(here, overall, nominal=False)


def _moved(part: Sequence[Any], values: Sequence[Any], *, nominal: bool) -> Fraction:
    here, overall = Counter(part), Counter(values)
    order = list(overall) if nominal else sorted(overall)
    apart = [Fraction(here[v], len(part)) - Fraction(overall[v], len(values)) for v in order]
    if nominal:
        return sum((abs(x) for x in apart), Fraction(0)) / 2
    if len(apart) == 1:
        return Fraction(0)
    total, carried = Fraction(0), Fraction(0)
    for x in apart:
        carried += x
        total += abs(carried)
    return total / (len(apart) - 1)


def has_units(units: Sequence[Hashable], members: Sequence[int], k: int) -> bool:
    """Return True if some records are of k different units, none of which has more than half of
    them.
    """
    counts = Counter(units[i] for i in members)
    return len(counts) >= k and all(
        Fraction(count, len(members)) <= Fraction(1, 2) for count in counts.values()
    )


def is_kept(
    values: Sequence[Any], members: Sequence[int], *, nominal: bool, **guarantee: Any
) -> bool:
    """Return True if some records keep the guarantee: l, t, diversity, c."""
    l, t = guarantee.get("l"), guarantee.get("t")
    if t is not None and distance(values, members, nominal=nominal) > Fraction(t) + TOLERANCE:
        return False
    if l is None:
        return True
    kind = guarantee.get("diversity", "distinct")
    if kind == "distinct":
        return distinct(values, members) >= l
    if kind == "entropy":
        return bool(known(values, members)) and entropy(values, members) >= math.log(l) - 1e-9
    return is_recursive(values, members, int(l), guarantee["c"])

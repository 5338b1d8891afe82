"""Moves between groups, judged before they are made: whether they would leave a group short of
the standard.

Groups are rows of a table of members. `changed` is room to work in; what follows it is the standard
(`kernels/guarantee_tables.py`).
"""

from __future__ import annotations

from microagg.kernels.compiling import part
from microagg.kernels.guarantee_tables import falls_short


@part
def exchange_falls_short(
    group, a, other, b, members, sizes, changed, codes, ordered, known, begins, cumulative, running,
    required,
):  # fmt: skip
    """Place a of one group goes to the other, place b of that one comes back; -1 is nobody."""
    for side in range(2):
        giver, going, taker, coming = (other, b, group, a) if side else (group, a, other, b)
        count = _list_without(members, sizes, giver, going, changed)
        if coming >= 0:
            changed[count] = members[taker, coming]
            count += 1
        if falls_short(
            changed, count, codes, ordered, known, begins, cumulative, running, required
        ):
            return True
    return False


@part
def dissolving_falls_short(
    group, plan, members, sizes, changed, codes, ordered, known, begins, cumulative, running,
    required,
):  # fmt: skip
    """The members of a group go to the groups that the plan says."""
    for s in range(sizes[group]):
        other, seen = plan[s], False
        for t in range(s):
            seen |= plan[t] == other
        if seen:
            continue
        count = _list_without(members, sizes, other, -1, changed)
        for t in range(s, sizes[group]):
            if plan[t] == other:
                changed[count] = members[group, t]
                count += 1
        if falls_short(
            changed, count, codes, ordered, known, begins, cumulative, running, required
        ):
            return True
    return False


@part
def _list_without(members, sizes, group, going, changed):
    """Copy the members of a group but the one that goes; returns their number."""
    count = 0
    for t in range(sizes[group]):
        if t != going:
            changed[count] = members[group, t]
            count += 1
    return count

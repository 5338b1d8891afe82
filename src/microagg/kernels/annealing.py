"""The compiled part of the annealing: trial moves on one region, millions a second.

A region is a set of records in complete groups. The squared error of a group follows from the
squared distances of its pairs alone: with masses m and their sum M, it is S / M with S the sum of
m_i m_j |x_i - x_j|^2 over all pairs. So a trial looks up some 4k distances, whatever the number of
columns, and nothing is averaged. Groups are rows of a table with room for 2k - 1 members (more
where a guarantee takes larger ones); rows that are not in use wait on a stack. A trial draws a
record x and a record y near it, in another group, and weighs one of
- an exchange: x moves to y's group, another member of that group takes its slot;
- a shift: x moves to y's group, where sizes allow;
and now and then, since these keep the number of groups,
- a dissolution: the members of x's group go to groups near them;
- a creation: x and the records nearest to it that their groups can spare form a new group.
A trial that makes the loss larger by c is accepted with probability exp(-c / T): c is compared with
-T log(u) for a random u.
"""

from __future__ import annotations

import functools
import math

import numpy as np

from microagg.kernels.compiling import kernel, part
from microagg.kernels.guarantee_tables import falls_short
from microagg.kernels.judging import exchange_falls_short
from microagg.kernels.random import next_integer

FREE, TOUCHED, FREE_BEFORE = range(3)  # entries of `counts`
PAIRS, MASS = range(2)  # columns of `totals`: S and M of a group
REBUILDING = 12  # of 1024 trials, those that dissolve or create a group: they cost much, and
# most of them fail
NEAREST = 8  # near records whose groups a member of a dissolved group may join
WAITING_TIMES = 4096


@functools.cache
def waiting_times() -> np.ndarray:
    """-log((i + 1/2) / 4096), in nothing but + - * /, so that it is the same everywhere."""
    log_2 = 2.0 * sum((1.0 / 3.0) ** t / t for t in range(61, 0, -2))
    values = []
    for i in range(WAITING_TIMES):
        mantissa, exponent = math.frexp((i + 0.5) / WAITING_TIMES)
        ratio = (mantissa - 1.0) / (mantissa + 1.0)
        series = 2.0 * sum(ratio**t / t for t in range(61, 0, -2))
        values.append(-(exponent * log_2 + series))
    return np.array(values)


@kernel
def distances_of_pairs(columns, apart):
    """Write the squared distances of all pairs of records; `columns` is the transposed matrix of
    points.
    """
    d, n = columns.shape
    for i in range(n):
        row = apart[i]
        for j in range(d):
            column, x = columns[j], columns[j, i]
            for t in range(i):
                e = column[t] - x
                row[t] += e * e
        for t in range(i):
            apart[t, i] = row[t]


@kernel
def near_lists(apart, order, length, k):
    """List the `length` nearest records of each record; returns them and the mean of the k - 1
    least distances.

    `apart` are the squared distances of all pairs. `order` numbers the records for what is decided
    by number: which of several equally near ones comes first, and that of records equal to the
    record itself only the k that follow it are listed, lest duplicates see nothing but each other.
    """
    n = apart.shape[0]
    near, spread, nearest = np.empty((n, length), np.int32), np.empty(n), np.empty(length)
    for position in range(n):
        i = order[position]
        filled, equal = 0, 0
        for step in range(1, n):
            t = order[position + step if position + step < n else position + step - n]
            value = apart[i, t]
            if filled == length and value >= nearest[length - 1]:
                continue
            if value == 0.0:
                equal += 1
                if equal > k and n - 1 - step >= length - filled:
                    continue
            rank = filled if filled < length else length - 1
            filled = min(filled + 1, length)
            while rank > 0 and nearest[rank - 1] > value:
                nearest[rank] = nearest[rank - 1]
                near[i, rank] = near[i, rank - 1]
                rank -= 1
            nearest[rank] = value
            near[i, rank] = t
        spread[i] = 0.0
        for t in range(min(length, k - 1)):
            spread[i] += nearest[t] / min(length, k - 1)
    return near, spread


@kernel
def fill_tables(labels, masses, apart, slot, members, sizes, totals, free, counts, order):
    """Write a partition (labels 0..g-1) into the tables of groups, members in this order."""
    for g in range(sizes.shape[0]):
        sizes[g], totals[g, PAIRS], totals[g, MASS] = 0, 0.0, 0.0
    for x in order:
        g, mass = np.int64(labels[x]), _mass(masses, x)
        totals[g, PAIRS] += mass * _sum_to(x, g, apart, masses, members, sizes)
        totals[g, MASS] += mass
        members[g, sizes[g]] = x
        slot[x] = sizes[g]
        sizes[g] += 1
    counts[FREE] = 0
    for g in range(sizes.shape[0] - 1, -1, -1):
        if sizes[g] == 0:
            free[counts[FREE]] = g
            counts[FREE] += 1


@part
def _mass(masses, x):
    return 1.0 if masses is None else masses[x]


@part
def _sum_to(x, g, apart, masses, members, sizes):
    """Sum the squared distances from x to the members of a group, times their masses."""
    row, group, total = np.uintp(x), np.uintp(g), 0.0  # an index that cannot be negative is faster
    for t in range(sizes[group]):
        r = np.uintp(members[group, t])
        total += _mass(masses, r) * apart[row, r]
    return total


@part
def _after_joining(to_group, mass, g, totals):
    """Return the growth of the loss when a record joins a group, from its sum of distances to the
    members.
    """
    pairs, total = totals[g, PAIRS], totals[g, MASS]
    return (pairs + mass * to_group) / (total + mass) - pairs / total


@part
def _changes_of_pairs(x, a, y, b, apart, masses, members, sizes):
    """Return the changes of S of groups a and b when x of a and y of b are exchanged."""
    w, v = _mass(masses, x), _mass(masses, y)
    p, q, A, B = np.uintp(x), np.uintp(y), np.uintp(a), np.uintp(b)
    in_a = in_b = -w * v * apart[p, q]
    for t in range(sizes[A]):
        r = np.uintp(members[A, t])
        in_a += _mass(masses, r) * (v * apart[q, r] - w * apart[p, r])
    for t in range(sizes[B]):
        r = np.uintp(members[B, t])
        in_b += _mass(masses, r) * (w * apart[p, r] - v * apart[q, r])
    return in_a, in_b


@part
def _cost_of_exchange(in_a, in_b, w, v, a, b, totals):
    """Return the growth of the loss by these changes of S when masses w and v are exchanged."""
    M_a, M_b = totals[a, MASS], totals[b, MASS]
    if w == v:
        return in_a / M_a + in_b / M_b
    growth = (totals[a, PAIRS] + in_a) / (M_a + v - w) - totals[a, PAIRS] / M_a
    return growth + (totals[b, PAIRS] + in_b) / (M_b + w - v) - totals[b, PAIRS] / M_b


@part
def _remember(g, members, sizes, totals, counts, old_groups, old_sizes, old_members, old_totals):
    """Keep a group as it is before its first change in this trial."""
    for t in range(counts[TOUCHED]):
        if old_groups[t] == g:
            return
    t = counts[TOUCHED]
    old_groups[t], old_sizes[t] = g, sizes[g]
    old_totals[t, PAIRS], old_totals[t, MASS] = totals[g, PAIRS], totals[g, MASS]
    for m in range(sizes[g]):
        old_members[t, m] = members[g, m]
    counts[TOUCHED] = t + 1


@part
def _take_back(
    label, slot, members, sizes, totals, counts, old_groups, old_sizes, old_members, old_totals
):
    for t in range(counts[TOUCHED]):
        g = old_groups[t]
        sizes[g] = old_sizes[t]
        totals[g, PAIRS], totals[g, MASS] = old_totals[t, PAIRS], old_totals[t, MASS]
        for m in range(sizes[g]):
            r = old_members[t, m]
            members[g, m] = r
            slot[r] = m
            label[r] = g
    counts[FREE] = counts[FREE_BEFORE]
    counts[TOUCHED] = 0


@part
def _leave(x, to_group, mass, label, slot, members, sizes, totals):
    g = np.int64(label[x])
    last = members[g, sizes[g] - 1]
    members[g, slot[x]] = last
    slot[last] = slot[x]
    sizes[g] -= 1
    totals[g, PAIRS] -= mass * to_group
    totals[g, MASS] -= mass


@part
def _join(x, g, to_group, mass, label, slot, members, sizes, totals):
    members[g, sizes[g]] = x
    slot[x] = sizes[g]
    label[x] = g
    sizes[g] += 1
    totals[g, PAIRS] += mass * to_group
    totals[g, MASS] += mass


@part
def _dissolve(
    group, limit, reach, apart, masses, near, label, slot, members, sizes, totals, free, counts,
    old_groups, old_sizes, old_members, old_totals, seen,
):  # fmt: skip
    """Spread the members of a group over groups near them; True if the loss grows by no more
    than the limit.
    """
    capacity = members.shape[1]
    _remember(group, members, sizes, totals, counts, old_groups, old_sizes, old_members, old_totals)
    growth = -totals[group, PAIRS] / totals[group, MASS]
    for t in range(sizes[group]):
        x = np.int64(members[group, t])
        least, chosen, to_chosen, mass = np.inf, np.int64(-1), 0.0, _mass(masses, x)
        for q in range(min(reach, NEAREST)):
            g = np.int64(label[near[x, q]])
            if g == group or sizes[g] >= capacity or seen[g] == x:
                continue
            seen[g] = x  # several near records may be in one group
            to_group = _sum_to(x, g, apart, masses, members, sizes)
            cost = _after_joining(to_group, mass, g, totals)
            if cost < least:
                least, chosen, to_chosen = cost, g, to_group
        for q in range(min(reach, NEAREST)):
            seen[label[near[x, q]]] = -1
        growth += least
        if chosen < 0 or growth > limit:
            return False
        _remember(
            chosen, members, sizes, totals, counts, old_groups, old_sizes, old_members, old_totals
        )
        _join(x, chosen, to_chosen, mass, label, slot, members, sizes, totals)
    sizes[group] = 0
    totals[group, PAIRS], totals[group, MASS] = 0.0, 0.0
    free[counts[FREE]] = group
    counts[FREE] += 1
    return True


@part
def _create(
    x, limit, k, apart, masses, near, label, slot, members, sizes, totals, free, counts,
    old_groups, old_sizes, old_members, old_totals,
):  # fmt: skip
    """Form a group of x and those nearest to it that can be spared; True if the loss grows by no
    more than the limit.
    """
    if counts[FREE] == 0 or sizes[label[x]] <= k:
        return False
    new = free[counts[FREE] - 1]
    counts[FREE] -= 1
    _remember(new, members, sizes, totals, counts, old_groups, old_sizes, old_members, old_totals)
    growth = 0.0
    for q in range(-1, near.shape[1]):
        r = np.int64(x) if q < 0 else np.int64(near[x, q])
        g = np.int64(label[r])
        if sizes[g] <= k or g == new:
            continue
        mass, to_group = _mass(masses, r), _sum_to(r, g, apart, masses, members, sizes)
        growth -= totals[g, PAIRS] / totals[g, MASS]
        _remember(g, members, sizes, totals, counts, old_groups, old_sizes, old_members, old_totals)
        _leave(r, to_group, mass, label, slot, members, sizes, totals)
        growth += totals[g, PAIRS] / totals[g, MASS]
        to_new = _sum_to(r, new, apart, masses, members, sizes)
        _join(r, new, to_new, mass, label, slot, members, sizes, totals)
        if sizes[new] == k:
            break
    return sizes[new] == k and growth + totals[new, PAIRS] / totals[new, MASS] <= limit


@kernel
def run_trials(
    trials, warmest, coldest, k, reach, rng, waiting, picks, warmth, near, apart, masses, label,
    slot, members, sizes, totals, free, counts, old_groups, old_sizes, old_members, old_totals,
    seen, codes, ordered, known, begins, cumulative, running, required,
):  # fmt: skip
    """Make so many trials while the temperature falls from `warmest` to `coldest`; times
    `warmth` at a record.

    A trial that leaves a group short of the standard, where there is one, is taken back: the old_
    tables hold the groups as they were before it.
    """
    capacity = members.shape[1]
    listed = np.empty(capacity + 1, np.int32)
    low = np.uint64(0xFFFF)
    refused = False
    for trial in range(trials + 1):
        if refused:
            _take_back(
                label, slot, members, sizes, totals, counts, old_groups, old_sizes, old_members,
                old_totals,
            )  # fmt: skip
            refused = False
        if trial == trials:
            break
        counts[TOUCHED] = 0
        bits = next_integer(rng)
        entry = ((bits & np.uint64(0xFFFFFFFF)) * np.uint64(picks.shape[0])) >> np.uint64(32)
        x = np.int64(picks[np.uintp(entry)])
        heat = (warmest + (coldest - warmest) * (trial / trials)) * warmth[x]
        limit = heat * waiting[np.uintp((bits >> np.uint64(32)) & np.uint64(WAITING_TIMES - 1))]
        a = np.int64(label[x])
        changed = False
        if np.int64((bits >> np.uint64(44)) & np.uint64(1023)) < REBUILDING:
            counts[FREE_BEFORE] = counts[FREE]
            if bits >> np.uint64(63):
                changed = _dissolve(
                    a, limit, reach, apart, masses, near, label, slot, members, sizes, totals,
                    free, counts, old_groups, old_sizes, old_members, old_totals, seen,
                )  # fmt: skip
            else:
                changed = _create(
                    x, limit, k, apart, masses, near, label, slot, members, sizes, totals, free,
                    counts, old_groups, old_sizes, old_members, old_totals,
                )  # fmt: skip
            refused = not changed and counts[TOUCHED] > 0
        else:
            bits = next_integer(rng)  # two factors: near ones are drawn more often than far ones
            rank = ((bits & low) * ((bits >> np.uint64(16)) & low)) >> np.uint64(16)
            y = np.int64(near[x, np.uintp((rank * np.uint64(reach)) >> np.uint64(16))])
            b, other = np.int64(label[y]), y
            if a == b:
                continue
            w = _mass(masses, x)
            shift = sizes[a] > k and sizes[b] < capacity and bits >> np.uint64(63)
            if shift:
                in_a = _sum_to(x, a, apart, masses, members, sizes)
                in_b = _sum_to(x, b, apart, masses, members, sizes)
                pairs, mass = totals[a, PAIRS], totals[a, MASS]
                growth = _after_joining(in_b, w, b, totals)
                growth -= pairs / mass - (pairs - w * in_a) / (mass - w)
            else:
                drawn = (((bits >> np.uint64(32)) & low) * np.uint64(sizes[b] - 1)) >> np.uint64(16)
                other = np.int64(members[b, np.uintp(drawn)])
                if other == y:
                    other = np.int64(members[b, sizes[b] - 1])
                in_a, in_b = _changes_of_pairs(x, a, other, b, apart, masses, members, sizes)
                growth = _cost_of_exchange(in_a, in_b, w, _mass(masses, other), a, b, totals)
            changed = growth <= limit
            if codes is not None:
                if changed:
                    changed = not exchange_falls_short(
                        a, slot[x], b, -1 if shift else slot[other], members, sizes, listed,
                        codes, ordered, known, begins, cumulative, running, required,
                    )  # fmt: skip
            if changed:
                if shift:
                    _leave(x, in_a, w, label, slot, members, sizes, totals)
                    _join(x, b, in_b, w, label, slot, members, sizes, totals)
                else:
                    slot_x, slot_other = slot[x], slot[other]
                    members[a, slot_x], members[b, slot_other] = other, x
                    slot[other], slot[x] = slot_x, slot_other
                    label[x], label[other] = b, a
                    moved = _mass(masses, other) - w
                    totals[a, PAIRS] += in_a
                    totals[b, PAIRS] += in_b
                    totals[a, MASS] += moved
                    totals[b, MASS] -= moved
        if codes is not None:
            for t in range(counts[TOUCHED] if changed else 0):
                g = old_groups[t]
                if not refused and sizes[g] > 0:
                    refused = falls_short(
                        members[g], sizes[g], codes, ordered, known, begins, cumulative, running,
                        required,
                    )  # fmt: skip
    counts[TOUCHED] = 0

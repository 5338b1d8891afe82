"""The compiled part of the annealing: trial moves on one region, millions a second.

A region is a set of records in complete groups. Its points are padded to a multiple of four
columns, its groups live in tables with room for 2k - 1 members a group (more where a guarantee
takes larger ones), and groups that are not in use wait on a stack. A trial draws a record x and a
record y near it, in another group, and weighs one of
- an exchange: x moves to y's group, another member of that group takes its place;
- a shift: x moves to y's group, where sizes allow;
and now and then, since these keep the number of groups,
- a dissolution: the members of x's group go to groups near them;
- a foundation: x and the records nearest to it that their groups can spare form a new group.
A trial that makes the loss larger by c is accepted with probability exp(-c / T): c is compared with
-T log(u) for a random u.
"""

from __future__ import annotations

import math

import numpy as np

from microagg.kernels.compiling import kernel, part
from microagg.kernels.random import next_integer
from microagg.kernels.standard import falls_short
from microagg.refine.judging import exchange_falls_short

FREE, TOUCHED, FREE_BEFORE = range(3)  # places in `counts`
REBUILDING = 48  # of 1024 trials, those that dissolve or found a group
WAITING_TIMES = 4096


def _waiting_times() -> np.ndarray:
    """-log((i + 1/2) / 4096), in nothing but + - * /, so that it is the same everywhere."""
    log_2 = 2.0 * sum((1.0 / 3.0) ** t / t for t in range(61, 0, -2))
    values = []
    for i in range(WAITING_TIMES):
        mantissa, exponent = math.frexp((i + 0.5) / WAITING_TIMES)
        ratio = (mantissa - 1.0) / (mantissa + 1.0)
        series = 2.0 * sum(ratio**t / t for t in range(61, 0, -2))
        values.append(-(exponent * log_2 + series))
    return np.array(values)


WAITING = _waiting_times()


@kernel
def near_lists(columns, length, k):
    """(the `length` nearest records of each record, the mean of its k - 1 least squared
    distances).

    `columns` is the transposed matrix of points. Of records equal to the record itself only the k
    that follow it are listed, lest duplicates see nothing but each other. O(n^2 d) time: regions
    are small.
    """
    d, n = columns.shape
    near = np.empty((n, length), np.int32)
    spread = np.empty(n)
    apart = np.empty(n)
    nearest = np.empty(length)
    for i in range(n):
        for t in range(n):
            apart[t] = 0.0
        for j in range(d):
            x = columns[j, i]
            for t in range(n):
                e = columns[j, t] - x
                apart[t] += e * e
        filled, equal = 0, 0
        for step in range(1, n):
            t = i + step if i + step < n else i + step - n
            value = apart[t]
            if filled == length and value >= nearest[length - 1]:
                continue
            if value == 0.0:
                equal += 1
                if equal > k and n - 1 - step >= length - filled:
                    continue
            place = filled if filled < length else length - 1
            filled = min(filled + 1, length)
            while place > 0 and nearest[place - 1] > value:
                nearest[place] = nearest[place - 1]
                near[i, place] = near[i, place - 1]
                place -= 1
            nearest[place] = value
            near[i, place] = t
        spread[i] = 0.0
        for t in range(min(length, k - 1)):
            spread[i] += nearest[t] / min(length, k - 1)
    return near, spread


@kernel
def fill_tables(labels, masses, points, place, members, sizes, means, weights, free, counts):
    """Write a partition (labels 0..g-1) into the tables of groups."""
    for g in range(sizes.shape[0]):
        sizes[g] = 0
    for i in range(labels.shape[0]):
        g = labels[i]
        members[g, sizes[g]] = i
        place[i] = sizes[g]
        sizes[g] += 1
    counts[FREE] = 0
    for g in range(sizes.shape[0] - 1, -1, -1):
        if sizes[g] == 0:
            free[counts[FREE]] = g
            counts[FREE] += 1
        else:
            _renew(g, points, masses, members, sizes, means, weights)


@part
def _renew(g, points, masses, members, sizes, means, weights):
    """Mean and weight of a group anew from its members: nothing accumulates over millions of
    moves.
    """
    d = points.shape[1]
    for j in range(d):
        means[g, j] = 0.0
    weights[g] = 0.0
    for t in range(sizes[g]):
        r = members[g, t]
        weights[g] += masses[r]
        for j in range(d):
            means[g, j] += masses[r] * points[r, j]
    inverse = 1.0 / weights[g]
    for j in range(d):
        means[g, j] *= inverse


@part
def _apart(points, i, means, g):
    """Squared distance of a record and a mean, in four sums side by side."""
    a, b, c, e = 0.0, 0.0, 0.0, 0.0
    for j in range(0, points.shape[1], 4):
        p = points[i, j] - means[g, j]
        q = points[i, j + 1] - means[g, j + 1]
        r = points[i, j + 2] - means[g, j + 2]
        s = points[i, j + 3] - means[g, j + 3]
        a += p * p
        b += q * q
        c += r * r
        e += s * s
    return (a + b) + (c + e)


@part
def _cost_of_joining(x, g, points, masses, means, weights):
    w = masses[x]
    return _apart(points, x, means, g) * (weights[g] * w / (weights[g] + w))


@part
def _gain_of_leaving(x, g, points, masses, means, weights):
    w = masses[x]
    return _apart(points, x, means, g) * (weights[g] * w / (weights[g] - w))


@part
def _cost_of_exchange(x, a, y, b, points, masses, means, weights):
    """How much the loss grows when x of group a and y of group b change places."""
    d = points.shape[1]
    w, v = masses[x], masses[y]
    p, q, r, s = 0.0, 0.0, 0.0, 0.0
    if w == v:
        for j in range(0, d, 2):
            e = points[y, j] - points[x, j]
            f = points[y, j + 1] - points[x, j + 1]
            p += e * (means[b, j] - means[a, j])
            q += f * (means[b, j + 1] - means[a, j + 1])
            r += e * e
            s += f * f
        return w * (2.0 * (p + q) - w * (r + s) * (1.0 / weights[a] + 1.0 / weights[b]))
    for j in range(d):
        xa, ya = points[x, j] - means[a, j], points[y, j] - means[a, j]
        xb, yb = points[x, j] - means[b, j], points[y, j] - means[b, j]
        p += v * (ya * ya) - w * (xa * xa)
        q += w * (xb * xb) - v * (yb * yb)
        e, f = v * ya - w * xa, w * xb - v * yb
        r += e * e
        s += f * f
    return (p - r / (weights[a] + v - w)) + (q - s / (weights[b] + w - v))


@part
def _remember(g, members, sizes, counts, old_groups, old_sizes, old_members):
    """Keep a group as it is before its first change in this trial."""
    for t in range(counts[TOUCHED]):
        if old_groups[t] == g:
            return
    t = counts[TOUCHED]
    old_groups[t], old_sizes[t] = g, sizes[g]
    for m in range(sizes[g]):
        old_members[t, m] = members[g, m]
    counts[TOUCHED] = t + 1


@part
def _take_back(
    points,
    masses,
    label,
    place,
    members,
    sizes,
    means,
    weights,
    counts,
    old_groups,
    old_sizes,
    old_members,
):
    for t in range(counts[TOUCHED]):
        g = old_groups[t]
        sizes[g] = old_sizes[t]
        for m in range(sizes[g]):
            r = old_members[t, m]
            members[g, m] = r
            place[r] = m
            label[r] = g
        if sizes[g] > 0:
            _renew(g, points, masses, members, sizes, means, weights)
    counts[FREE] = counts[FREE_BEFORE]
    counts[TOUCHED] = 0


@part
def _leave(x, label, place, members, sizes):
    g = label[x]
    last = members[g, sizes[g] - 1]
    members[g, place[x]] = last
    place[last] = place[x]
    sizes[g] -= 1


@part
def _join(x, g, label, place, members, sizes):
    members[g, sizes[g]] = x
    place[x] = sizes[g]
    label[x] = g
    sizes[g] += 1


@part
def _dissolve(
    group,
    limit,
    reach,
    points,
    masses,
    near,
    label,
    place,
    members,
    sizes,
    means,
    weights,
    free,
    counts,
    old_groups,
    old_sizes,
    old_members,
):
    """Spread the members of a group over groups near them; True if the loss grows by no more
    than the limit.
    """
    capacity = members.shape[1]
    _remember(group, members, sizes, counts, old_groups, old_sizes, old_members)
    growth = 0.0
    for t in range(sizes[group]):
        x = members[group, t]
        growth -= masses[x] * _apart(points, x, means, group)
    for t in range(sizes[group]):
        x = members[group, t]
        least, chosen = np.inf, -1
        for q in range(reach):
            g = label[near[x, q]]
            if g != group and sizes[g] < capacity:
                cost = _cost_of_joining(x, g, points, masses, means, weights)
                if cost < least:
                    least, chosen = cost, g
        growth += least
        if chosen < 0 or growth > limit:
            return False
        _remember(chosen, members, sizes, counts, old_groups, old_sizes, old_members)
        _join(x, chosen, label, place, members, sizes)
        _renew(chosen, points, masses, members, sizes, means, weights)
    sizes[group] = 0
    free[counts[FREE]] = group
    counts[FREE] += 1
    return True


@part
def _found(
    x, limit, k, points, masses, near, label, place, members, sizes, means, weights, free, counts,
    old_groups, old_sizes, old_members,
):  # fmt: skip
    """Form a group of x and those nearest to it that can be spared; True if the loss grows by no
    more than the limit.
    """
    if counts[FREE] == 0 or sizes[label[x]] <= k:
        return False
    new = free[counts[FREE] - 1]
    counts[FREE] -= 1
    _remember(new, members, sizes, counts, old_groups, old_sizes, old_members)
    growth = 0.0
    for q in range(-1, near.shape[1]):
        r = x if q < 0 else near[x, q]
        g = label[r]
        if sizes[g] <= k or g == new:
            continue
        growth -= _gain_of_leaving(r, g, points, masses, means, weights)
        _remember(g, members, sizes, counts, old_groups, old_sizes, old_members)
        _leave(r, label, place, members, sizes)
        _join(r, new, label, place, members, sizes)
        full = sizes[new] == k
        for side in range(1 + full):
            _renew(new if side else g, points, masses, members, sizes, means, weights)
        if full:
            break
    if sizes[new] < k:
        return False
    for t in range(k):
        r = members[new, t]
        growth += masses[r] * _apart(points, r, means, new)
    return growth <= limit


@kernel
def run_trials(
    trials,
    warmest,
    coldest,
    k,
    reach,
    rng,
    waiting,
    picks,
    warmth,
    near,
    points,
    masses,
    label,
    place,
    members,
    sizes,
    means,
    weights,
    free,
    counts,
    old_groups,
    old_sizes,
    old_members,
    codes,
    ordered,
    known,
    begins,
    cumulative,
    running,
    asked,
):
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
                points,
                masses,
                label,
                place,
                members,
                sizes,
                means,
                weights,
                counts,
                old_groups,
                old_sizes,
                old_members,
            )
            refused = False
        if trial == trials:
            break
        counts[TOUCHED] = 0
        bits = next_integer(rng)
        x = picks[
            np.int64(((bits & np.uint64(0xFFFFFFFF)) * np.uint64(picks.shape[0])) >> np.uint64(32))
        ]
        heat = (warmest + (coldest - warmest) * (trial / trials)) * warmth[x]
        limit = heat * waiting[np.int64((bits >> np.uint64(32)) & np.uint64(WAITING_TIMES - 1))]
        a = label[x]
        changed = False
        if np.int64((bits >> np.uint64(44)) & np.uint64(1023)) < REBUILDING:
            counts[FREE_BEFORE] = counts[FREE]
            if bits >> np.uint64(63):
                changed = _dissolve(
                    a,
                    limit,
                    reach,
                    points,
                    masses,
                    near,
                    label,
                    place,
                    members,
                    sizes,
                    means,
                    weights,
                    free,
                    counts,
                    old_groups,
                    old_sizes,
                    old_members,
                )
            else:
                changed = _found(
                    x,
                    limit,
                    k,
                    points,
                    masses,
                    near,
                    label,
                    place,
                    members,
                    sizes,
                    means,
                    weights,
                    free,
                    counts,
                    old_groups,
                    old_sizes,
                    old_members,
                )
            refused = not changed and counts[TOUCHED] > 0
        else:
            bits = next_integer(rng)  # two factors: near ones are drawn more often than far ones
            rank = ((bits & low) * ((bits >> np.uint64(16)) & low)) >> np.uint64(16)
            y = near[x, np.int64((rank * np.uint64(reach)) >> np.uint64(16))]
            b, other = label[y], y
            if a == b:
                continue
            shift = sizes[a] > k and sizes[b] < capacity and bits >> np.uint64(63)
            if shift:
                growth = _cost_of_joining(x, b, points, masses, means, weights)
                growth -= _gain_of_leaving(x, a, points, masses, means, weights)
            else:
                slot = np.int64(
                    (((bits >> np.uint64(32)) & low) * np.uint64(sizes[b] - 1)) >> np.uint64(16)
                )
                other = members[b, slot]
                if other == y:
                    other = members[b, sizes[b] - 1]
                growth = _cost_of_exchange(x, a, other, b, points, masses, means, weights)
            changed = growth <= limit
            if codes is not None:
                if changed:
                    changed = not exchange_falls_short(
                        a,
                        place[x],
                        b,
                        -1 if shift else place[other],
                        members,
                        sizes,
                        listed,
                        codes,
                        ordered,
                        known,
                        begins,
                        cumulative,
                        running,
                        asked,
                    )
            if changed:
                if shift:
                    _leave(x, label, place, members, sizes)
                    _join(x, b, label, place, members, sizes)
                else:
                    here, there = place[x], place[other]
                    members[a, here], members[b, there] = other, x
                    place[other], place[x] = here, there
                    label[x], label[other] = b, a
                for side in range(2):
                    _renew(b if side else a, points, masses, members, sizes, means, weights)
        if codes is not None:
            for t in range(counts[TOUCHED] if changed else 0):
                g = old_groups[t]
                if not refused and sizes[g] > 0:
                    refused = falls_short(
                        members[g],
                        sizes[g],
                        codes,
                        ordered,
                        known,
                        begins,
                        cumulative,
                        running,
                        asked,
                    )
    counts[TOUCHED] = 0

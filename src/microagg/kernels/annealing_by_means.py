"""Trial moves of the annealing, weighed by the means of groups in dense coordinates.

The moves and the random numbers are those of `annealing.py`, but for the share of trials that
dissolve or create a group, and for how far a dissolution looks; only the arithmetic differs: a
trial costs time in proportion to the columns, and a region needs no table of distances. The method
`lns` works with it, so that its groups stay what they have always been; tests compare the two.
"""

from __future__ import annotations

import numpy as np

from microagg.kernels.annealing import FREE, FREE_BEFORE, TOUCHED, WAITING_TIMES
from microagg.kernels.compiling import kernel, part
from microagg.kernels.guarantee_tables import falls_short
from microagg.kernels.judging import exchange_falls_short
from microagg.kernels.random import next_integer

REBUILDING = 48  # of 1024 trials, those that dissolve or create a group


@kernel
def near_lists_of_points(columns, length, k):
    """List the `length` nearest records of each record; returns them and the mean of the k - 1
    least distances. `columns` is the transposed matrix of points.

    As `annealing.near_lists`, without a table of distances: O(n^2 d) time, O(n) memory.
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
def fill_tables(labels, masses, points, slot, members, sizes, means, weights, free, counts):
    """Write a partition (labels 0..g-1) into the tables of groups."""
    for g in range(sizes.shape[0]):
        sizes[g] = 0
    for i in range(labels.shape[0]):
        g = labels[i]
        members[g, sizes[g]] = i
        slot[i] = sizes[g]
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
    """Return the growth of the loss when x of group a and y of group b are exchanged."""
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
    points, masses, label, slot, members, sizes, means, weights, counts, old_groups, old_sizes,
    old_members,
):  # fmt: skip
    for t in range(counts[TOUCHED]):
        g = old_groups[t]
        sizes[g] = old_sizes[t]
        for m in range(sizes[g]):
            r = old_members[t, m]
            members[g, m] = r
            slot[r] = m
            label[r] = g
        if sizes[g] > 0:
            _renew(g, points, masses, members, sizes, means, weights)
    counts[FREE] = counts[FREE_BEFORE]
    counts[TOUCHED] = 0


@part
def _leave(x, label, slot, members, sizes):
    g = label[x]
    last = members[g, sizes[g] - 1]
    members[g, slot[x]] = last
    slot[last] = slot[x]
    sizes[g] -= 1


@part
def _join(x, g, label, slot, members, sizes):
    members[g, sizes[g]] = x
    slot[x] = sizes[g]
    label[x] = g
    sizes[g] += 1


@part
def _dissolve(
    group, limit, reach, points, masses, near, label, slot, members, sizes, means, weights, free,
    counts, old_groups, old_sizes, old_members,
):  # fmt: skip
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
        _join(x, chosen, label, slot, members, sizes)
        _renew(chosen, points, masses, members, sizes, means, weights)
    sizes[group] = 0
    free[counts[FREE]] = group
    counts[FREE] += 1
    return True


@part
def _create(
    x, limit, k, points, masses, near, label, slot, members, sizes, means, weights, free, counts,
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
        _leave(r, label, slot, members, sizes)
        _join(r, new, label, slot, members, sizes)
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
    trials, warmest, coldest, k, reach, rng, waiting, picks, warmth, near, points, masses, label,
    slot, members, sizes, means, weights, free, counts, old_groups, old_sizes, old_members, codes,
    ordered, known, begins, cumulative, running, required,
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
                points, masses, label, slot, members, sizes, means, weights, counts, old_groups,
                old_sizes, old_members,
            )  # fmt: skip
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
                    a, limit, reach, points, masses, near, label, slot, members, sizes, means,
                    weights, free, counts, old_groups, old_sizes, old_members,
                )  # fmt: skip
            else:
                changed = _create(
                    x, limit, k, points, masses, near, label, slot, members, sizes, means, weights,
                    free, counts, old_groups, old_sizes, old_members,
                )  # fmt: skip
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
                drawn = np.int64(
                    (((bits >> np.uint64(32)) & low) * np.uint64(sizes[b] - 1)) >> np.uint64(16)
                )
                other = members[b, drawn]
                if other == y:
                    other = members[b, sizes[b] - 1]
                growth = _cost_of_exchange(x, a, other, b, points, masses, means, weights)
            changed = growth <= limit
            if codes is not None:
                if changed:
                    changed = not exchange_falls_short(
                        a, slot[x], b, -1 if shift else slot[other], members, sizes, listed, codes,
                        ordered, known, begins, cumulative, running, required,
                    )  # fmt: skip
            if changed:
                if shift:
                    _leave(x, label, slot, members, sizes)
                    _join(x, b, label, slot, members, sizes)
                else:
                    slot_x, slot_other = slot[x], slot[other]
                    members[a, slot_x], members[b, slot_other] = other, x
                    slot[other], slot[x] = slot_x, slot_other
                    label[x], label[other] = b, a
                for side in range(2):
                    _renew(b if side else a, points, masses, members, sizes, means, weights)
        if codes is not None:
            for t in range(counts[TOUCHED] if changed else 0):
                g = old_groups[t]
                if not refused and sizes[g] > 0:
                    refused = falls_short(
                        members[g], sizes[g], codes, ordered, known, begins, cumulative, running,
                        required,
                    )  # fmt: skip
    counts[TOUCHED] = 0

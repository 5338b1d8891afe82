"""Heuristic pricing: sets that cost less than their prices promise, grown greedily around each
record.

Around every record a set is grown by the member that adds least, then improved by exchanges,
penalties of cuts included. That does not list all there are: exact pricing does (`chains.py`), once
there is little left to find.
"""

from __future__ import annotations

import numpy as np

from microagg.kernels.compiling import kernel, part

MOST_EXCHANGES = 60
LEAST_GAIN = 1e-12


@part
def _join(
    v,
    squares,
    candidates,
    slots,
    cut_starts,
    cut_of,
    record_starts,
    records,
    penalties,
    parts,
    held,
    sums,
    adding,
    sign,
):
    """Take record v in (sign 1) or out (sign -1): update sums of squares and what joining costs."""
    for q in range(candidates.shape[0]):
        sums[q] += sign * squares[v, candidates[q]]
    for f in range(cut_starts[v], cut_starts[v + 1]):
        c = cut_of[f]
        before = (held[c] + 1) % parts[c] == 0
        held[c] += sign
        after = (held[c] + 1) % parts[c] == 0
        if before != after:
            x = penalties[c] if after else -penalties[c]
            for e in range(record_starts[c], record_starts[c + 1]):
                if slots[records[e]] >= 0:
                    adding[slots[records[e]]] += x


@kernel
def heuristic_sets(
    squares, near, prices, size, second, wanted,
    cut_starts, cut_of, record_starts, records, penalties, parts,
    first, last, members, excess, number,
):  # fmt: skip
    """Look around records first..last - 1 for sets of `size` records of an excess below `wanted`.

    squares: (n, n) squared distances. near: (n, m) the nearest others of each record.
    second: (n,) which of these is the second member, or -1.
    cut_starts, cut_of: the cuts of each record. record_starts, records: the records of each cut.
    members, excess: the sets, records in ascending order. There are `number` already; returns the
    new number.
    """
    n, m = near.shape
    candidates = np.empty(m + 1, np.int64)
    sums, adding, common = np.empty(m + 1), np.empty(m + 1), np.zeros(m + 1)
    inside = np.zeros(m + 1, np.bool_)
    slots = np.full(n, -1, np.int64)
    held = np.zeros(parts.shape[0], np.int64)
    chosen = np.empty(size, np.int64)
    for root in range(first, last):
        candidates[0] = root
        for p in range(m):
            candidates[p + 1] = near[root, p]
        for p in range(m + 1):
            inside[p], sums[p], adding[p] = False, 0.0, 0.0
            slots[candidates[p]] = p
        count = 0
        while count < size:
            best, least = -1, np.inf
            if count == 0:
                best = 0
            elif count == 1 and second[root] >= 0:
                best = second[root] + 1
            else:
                for p in range(m + 1):
                    if not inside[p]:
                        x = sums[p] / size - count * prices[candidates[p]] / (size - 1) + adding[p]
                        if x < least:
                            best, least = p, x
            inside[best] = True
            chosen[count] = best
            count += 1
            _join(candidates[best], squares, candidates, slots, cut_starts, cut_of,
                  record_starts, records, penalties, parts, held, sums, adding, 1)  # fmt: skip
        for _ in range(MOST_EXCHANGES):
            best_slot, best_in, least = -1, -1, -LEAST_GAIN
            for slot in range(size):
                p = chosen[slot]
                u = candidates[p]
                leaving = prices[u] - sums[p] / size
                for f in range(cut_starts[u], cut_starts[u + 1]):
                    c = cut_of[f]
                    here = held[c] % parts[c] == 0
                    if here:
                        leaving -= penalties[c]
                    change = (penalties[c] if here else 0.0) - (
                        penalties[c] if (held[c] + 1) % parts[c] == 0 else 0.0
                    )
                    if change != 0.0:  # a cut that holds both gains nothing and loses nothing
                        for e in range(record_starts[c], record_starts[c + 1]):
                            if slots[records[e]] >= 0:
                                common[slots[records[e]]] += change
                for q in range(m + 1):
                    if not inside[q]:
                        v = candidates[q]
                        x = (
                            (sums[q] - squares[u, v]) / size
                            - prices[v]
                            + adding[q]
                            + common[q]
                            + leaving
                        )
                        if x < least:
                            best_slot, best_in, least = slot, q, x
                for f in range(cut_starts[u], cut_starts[u + 1]):
                    c = cut_of[f]
                    for e in range(record_starts[c], record_starts[c + 1]):
                        if slots[records[e]] >= 0:
                            common[slots[records[e]]] = 0.0
            if best_slot < 0:
                break
            out = chosen[best_slot]
            inside[out], inside[best_in] = False, True
            chosen[best_slot] = best_in
            _join(candidates[out], squares, candidates, slots, cut_starts, cut_of,
                  record_starts, records, penalties, parts, held, sums, adding, -1)  # fmt: skip
            _join(candidates[best_in], squares, candidates, slots, cut_starts, cut_of,
                  record_starts, records, penalties, parts, held, sums, adding, 1)  # fmt: skip
        total, price, extra = 0.0, 0.0, 0.0
        for slot in range(size):
            v = candidates[chosen[slot]]
            total += sums[chosen[slot]]
            price += prices[v]
            for f in range(cut_starts[v], cut_starts[v + 1]):
                c = cut_of[f]
                if held[c] > 0:
                    extra += penalties[c] * (held[c] // parts[c])
                    held[c] = 0
        for p in range(m + 1):
            slots[candidates[p]] = -1
        value = 0.5 * total / size - price + extra
        if value < wanted:
            for slot in range(size):
                members[number, slot] = candidates[chosen[slot]]
            members[number, :size].sort()
            excess[number] = value
            number += 1
    return number

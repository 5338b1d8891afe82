"""Floor cuts that a fractional choice of groups violates: look for them around each record."""

from __future__ import annotations

import numpy as np

from microagg.kernels.compiling import kernel, part

LARGEST_SET = 24


LEAST_VIOLATION = 0.03


MOST_CHANGES = 40


@part
def _remainder_change(v, change, set_starts, set_of, shares, held, p):
    """By how much sum of share * (h mod p) changes if v enters (1) or leaves (-1)."""
    total = 0.0
    for f in range(set_starts[v], set_starts[v + 1]):
        g = set_of[f]
        total += shares[g] * ((held[g] + change) % p - held[g] % p)
    return total


@part
def _move(v, change, set_starts, set_of, held, members, offsets, near, near_slot, near_count):
    """Let v enter or leave; what is in a group with v becomes a candidate."""
    for f in range(set_starts[v], set_starts[v + 1]):
        g = set_of[f]
        held[g] += change
        if change > 0:
            for e in range(offsets[g], offsets[g + 1]):
                u = members[e]
                if near_slot[u] < 0 and near_count < near.shape[0]:
                    near_slot[u] = near_count
                    near[near_count] = u
                    near_count += 1
    return near_count


@kernel
def find_floor_cuts(
    members, offsets, shares, set_starts, set_of, parts, multiples,
    begin, end, cut_records, sizes, which, violations, number,
):  # fmt: skip
    """Look around records begin..end - 1 for violated cuts, for each of `parts` and `multiples`.

    members, offsets, shares: the groups in use. set_starts, set_of: the groups of each record.
    cut_records, sizes, which, violations: of each cut the records, their number, p, the violation.
    There are `number` already; returns the new number.
    """
    n = set_starts.shape[0] - 1
    held = np.zeros(shares.shape[0], np.int64)
    near, near_slot = np.empty(n, np.int64), np.full(n, -1, np.int64)
    inside = np.zeros(n, np.bool_)
    chosen = np.empty(LARGEST_SET + 1, np.int64)
    for first in range(begin, end):
        if set_starts[first + 1] - set_starts[first] < 2:
            continue
        for a in range(parts.shape[0]):
            p = parts[a]
            for b in range(multiples.shape[0]):
                wanted = multiples[b] * p + p - 1
                if wanted > LARGEST_SET or wanted < 3:
                    continue
                size, near_count = 0, 0
                v = first
                while True:
                    chosen[size] = v
                    size += 1
                    inside[v] = True
                    near_count = _move(
                        v, 1, set_starts, set_of, held,
                        members, offsets, near, near_slot, near_count,
                    )  # fmt: skip
                    if size == wanted:
                        break
                    best, most = -1, -1.0
                    for e in range(near_count):
                        u = near[e]
                        if not inside[u]:
                            total = 0.0
                            for f in range(set_starts[u], set_starts[u + 1]):
                                total += shares[set_of[f]] * held[set_of[f]]
                            if total > most:
                                best, most = u, total
                    if best < 0:
                        break
                    v = best
                remainder = 0.0
                for e in range(near_count):  # every group held has a candidate in it
                    u = near[e]
                    for f in range(set_starts[u], set_starts[u + 1]):
                        g = set_of[f]
                        if members[offsets[g]] == u:
                            remainder += shares[g] * (held[g] % p)
                violation = (size % p - remainder) / p
                for _ in range(MOST_CHANGES):
                    best_out, best_in, most = -1, -1, violation + 1e-9
                    for e in range(near_count):
                        v = near[e]
                        if not inside[v]:
                            if size < LARGEST_SET:
                                x = _remainder_change(v, 1, set_starts, set_of, shares, held, p)
                                x = ((size + 1) % p - remainder - x) / p
                                if x > most:
                                    best_out, best_in, most = -1, v, x
                    for slot in range(size):
                        u = chosen[slot]
                        y = _remainder_change(u, -1, set_starts, set_of, shares, held, p)
                        if size > 3:
                            x = ((size - 1) % p - remainder - y) / p
                            if x > most:
                                best_out, best_in, most = slot, -1, x
                        for f in range(set_starts[u], set_starts[u + 1]):
                            held[set_of[f]] -= 1
                        for e in range(near_count):
                            v = near[e]
                            if not inside[v]:
                                x = _remainder_change(v, 1, set_starts, set_of, shares, held, p)
                                x = (size % p - remainder - y - x) / p
                                if x > most:
                                    best_out, best_in, most = slot, v, x
                        for f in range(set_starts[u], set_starts[u + 1]):
                            held[set_of[f]] += 1
                    if best_out < 0 and best_in < 0:
                        break
                    if best_out >= 0:
                        u = chosen[best_out]
                        remainder += _remainder_change(u, -1, set_starts, set_of, shares, held, p)
                        inside[u] = False
                        _move(
                            u, -1, set_starts, set_of, held,
                            members, offsets, near, near_slot, near_count,
                        )  # fmt: skip
                        size -= 1
                        chosen[best_out] = chosen[size]
                    if best_in >= 0:
                        remainder += _remainder_change(
                            best_in, 1, set_starts, set_of, shares, held, p
                        )
                        inside[best_in] = True
                        near_count = _move(
                            best_in, 1, set_starts, set_of, held,
                            members, offsets, near, near_slot, near_count,
                        )  # fmt: skip
                        chosen[size] = best_in
                        size += 1
                    violation = (size % p - remainder) / p
                if violation > LEAST_VIOLATION and number < cut_records.shape[0]:
                    for slot in range(size):
                        cut_records[number, slot] = chosen[slot]
                    cut_records[number, :size].sort()
                    sizes[number], which[number], violations[number] = size, p, violation
                    number += 1
                for slot in range(size):
                    inside[chosen[slot]] = False
                for e in range(near_count):
                    u = near[e]
                    near_slot[u] = -1
                    for f in range(set_starts[u], set_starts[u + 1]):
                        held[set_of[f]] = 0
    return number

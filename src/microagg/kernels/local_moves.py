"""The moves of the local search: shift a record, swap two, dissolve a group; a work queue of
groups.

With W the weight of a group and c its mean, the squared error changes by

    - w W / (W - w) |x - c|²  when a record x of weight w leaves,
    + w W / (W + w) |x - c|²  when it joins,

and when x of group A and y of group B change places, with W' the weights of the groups after that,
by

    (W_A / W'_A) (w_y |y - c_A|² - w_x |x - c_A|²) + (W_B / W'_B) (w_x |x - c_B|² - w_y |y - c_B|²)
    - w_x w_y |x - y|² (1 / W'_A + 1 / W'_B).

A visit to a group tries the best move with each of its candidate groups until none of them
improves, then whether the group had better be dissolved. Groups that changed are visited again.
Means are worked out anew from the members after every move, and a move that does not lower the
error so computed is taken back: nothing drifts, nothing goes in circles.
"""

from __future__ import annotations

import numpy as np

from microagg.kernels.compiling import kernel, part
from microagg.kernels.judging import dissolving_falls_short, exchange_falls_short
from microagg.kernels.local_dissolving import LEAST_GAIN, dissolve, plan_to_dissolve
from microagg.kernels.local_groups import distance, refresh

DONE, PAUSED = 0, 1  # why `descend` returned: nothing left, or enough steps
SHIFT_OR_SWAP, DISSOLVE = 1, 2  # the kinds of moves
MOST_REFUSED = 8  # refused moves after which a judged pair of groups is left alone

# Where `descend` keeps its position between calls.
HEAD, WAITING, TIME, GROUP, POSITION, CLEAN, OFFER, OFFER_A, OFFER_B, BANS, MOVES = range(11)
STATES = 11

SLACK = 1e-7  # for rounding, where groups that do not overlap are passed over


@kernel
def descend(
    points, weights, slots, sizes, centres, from_mean, candidates, clock, queue, queued, state,
    banned, plan, to_a, to_b, reach, changed, codes, ordered, known, begins, cumulative, running,
    required, k, uniform, judged, steps,
):  # fmt: skip
    """Make improving moves until none is known or so many moves and visits have been made; tells
    why it returned.

    Where there is a standard (`judged`), a move is judged before it is made: no group may fall
    short of it.
    """
    while True:
        if state[GROUP] < 0 and state[WAITING] == 0:
            return DONE
        if steps == 0:
            return PAUSED
        steps -= 1
        if state[GROUP] < 0:
            _turn_to_next(sizes, queue, queued, state)
        if state[GROUP] < 0:
            continue
        group, offer = state[GROUP], 0
        if _find_move(
            points, weights, slots, sizes, centres, from_mean, candidates, clock, state, banned, k,
            uniform, judged, to_a, to_b,
        ):  # fmt: skip
            offer = SHIFT_OR_SWAP
        elif state[BANS] == 0 and plan_to_dissolve(
            points, weights, slots, sizes, centres, from_mean, candidates, group, reach, plan
        ):
            offer = DISSOLVE
        if offer == 0:
            state[TIME] += 1
            clock[group, 1] = state[TIME]
            state[GROUP] = -1
        else:
            state[OFFER] = offer
            allowed = True
            if codes is not None:
                allowed = not _falls_short(
                    slots, sizes, candidates, state, plan, changed, codes, ordered, known, begins,
                    cumulative, running, required,
                )  # fmt: skip
            _make_or_ban(
                points, weights, slots, sizes, centres, from_mean, candidates, clock, queue, queued,
                state, banned, plan, allowed,
            )  # fmt: skip


@part
def _falls_short(
    slots, sizes, candidates, state, plan, changed, codes, ordered, known, begins, cumulative,
    running, required,
):  # fmt: skip
    """Return whether the offered move would leave a group short of the standard."""
    group = state[GROUP]
    if state[OFFER] == DISSOLVE:
        return dissolving_falls_short(
            group, plan, slots, sizes, changed, codes, ordered, known, begins, cumulative, running,
            required,
        )  # fmt: skip
    other = np.int64(candidates[group, state[POSITION]])
    return exchange_falls_short(
        group, state[OFFER_A], other, state[OFFER_B], slots, sizes, changed, codes, ordered, known,
        begins, cumulative, running, required,
    )  # fmt: skip


@part
def _turn_to_next(sizes, queue, queued, state):
    """Begin a visit to the first group of the queue, if it still exists."""
    group = queue[state[HEAD]]
    queued[group] = 0
    state[HEAD] = (state[HEAD] + 1) % queue.shape[0]
    state[WAITING] -= 1
    if sizes[group] > 0:
        state[GROUP], state[POSITION], state[CLEAN], state[BANS] = group, 0, 0, 0


@part
def _mark_changed(clock, queue, queued, state, group):
    """Note that a group changed, and let it wait for a visit."""
    clock[group, 0] = state[TIME]
    if group != state[GROUP] and queued[group] == 0:
        queued[group] = 1
        queue[(state[HEAD] + state[WAITING]) % queue.shape[0]] = group
        state[WAITING] += 1


@part
def _lift_bans(state, banned):
    if state[BANS] > 0:
        state[BANS] = 0
        for s in range(banned.shape[0]):
            for t in range(banned.shape[1]):
                banned[s, t] = 0


@part
def _worth_trying(clock, candidates, group, other):
    """Return whether a pair of groups has changed since the other one was visited, or was not tried
    then.
    """
    seen = clock[other, 1]
    if seen <= clock[group, 0] or seen <= clock[other, 0]:
        return True
    tried = False
    for t in range(candidates.shape[1]):
        tried |= candidates[other, t] == group
    return not tried


@part
def _find_move(
    points, weights, slots, sizes, centres, from_mean, candidates, clock, state, banned, k, uniform,
    judged, to_a, to_b,
):  # fmt: skip
    """Go on along the candidates of the group being visited up to the best move with one of them
    that has any.

    True if there is one: then its slots are in the state, -1 on one side for a shift. With equal
    weights no swap of x and y improves unless |x - c_A| + |y - c_B| > |c_A - c_B|. One long
    function: a call counts the references to all arrays.
    """
    group = state[GROUP]
    A = np.uintp(group)
    d, width, room = points.shape[1], candidates.shape[1], slots.shape[1]
    chosen_a, chosen_b = -1, -1
    while state[CLEAN] < width and chosen_a < 0 and chosen_b < 0:
        candidate = np.int64(candidates[A, state[POSITION]])
        open_to_it = (
            candidate >= 0 and sizes[candidate] > 0 and not (judged and state[BANS] >= MOST_REFUSED)
        )
        if open_to_it and _worth_trying(clock, candidates, group, candidate):
            B = np.uintp(candidate)
            size_a, size_b = sizes[A], sizes[B]
            W_a, W_b, radius_b = centres[A, d], centres[B, d], centres[B, d + 2]
            apart = 0.0
            for j in range(d):
                x = centres[A, j] - centres[B, j]
                apart += x * x
            overlap = centres[A, d + 2] + radius_b
            overlapping = not uniform or overlap * overlap * (1.0 + SLACK) >= apart
            out, back = size_a > k and size_b < room, size_b > k and size_a < room
            best = -LEAST_GAIN * (centres[A, d + 1] + centres[B, d + 1])
            most, least, first_s, first_t = -np.inf, np.inf, 0, 0
            if overlapping or out:
                for s in range(size_a):
                    to_b[s] = distance(points, slots[A, s], centres, candidate)
                    if from_mean[A, s] - to_b[s] > most:
                        most, first_s = from_mean[A, s] - to_b[s], s
                    if out:
                        w = weights[slots[A, s]]
                        change = w * (W_b / (W_b + w) * to_b[s] - W_a / (W_a - w) * from_mean[A, s])
                        if change < best and banned[s + 1, 0] == 0:
                            best, chosen_a, chosen_b = change, s, -1
            if overlapping or back:
                for t in range(size_b):
                    to_a[t] = distance(points, slots[B, t], centres, group)
                    if to_a[t] - from_mean[B, t] < least:
                        least, first_t = to_a[t] - from_mean[B, t], t
                    if back:
                        w = weights[slots[B, t]]
                        change = w * (W_a / (W_a + w) * to_a[t] - W_b / (W_b - w) * from_mean[B, t])
                        if change < best and banned[0, t + 1] == 0:
                            best, chosen_a, chosen_b = change, -1, t
            part_a, part_b = 1.0 / W_a, 1.0 / W_b
            for turn in range(
                -1, size_a if overlapping else -1
            ):  # first the swap that promises most: it rules out others
                s = first_s if turn < 0 else turn
                x = slots[A, s]
                w_x, own_x, x_to_b = weights[x], from_mean[A, s], to_b[s]
                farthest = np.sqrt(x_to_b) + radius_b
                if (
                    uniform
                    and least + x_to_b - own_x - (part_a + part_b) * farthest * farthest >= best
                ):
                    continue
                for t in range(first_t if turn < 0 else 0, first_t + 1 if turn < 0 else size_b):
                    w_y = weights[slots[B, t]]
                    if not uniform:
                        part_a, part_b = 1.0 / (W_a - w_x + w_y), 1.0 / (W_b - w_y + w_x)
                    in_a, in_b = w_y * to_a[t] - w_x * own_x, w_x * x_to_b - w_y * from_mean[B, t]
                    change = W_a * part_a * in_a + W_b * part_b * in_b
                    share = w_x * w_y * (part_a + part_b)
                    if change - share * 2.0 * min(own_x + to_a[t], x_to_b + from_mean[B, t]) < best:
                        change -= share * distance(points, x, points, np.int64(slots[B, t]))
                        if change < best and banned[s + 1, t + 1] == 0:
                            best, chosen_a, chosen_b = change, s, t
        if chosen_a < 0 and chosen_b < 0:
            _lift_bans(state, banned)
            state[CLEAN] += 1
            state[POSITION] = (state[POSITION] + 1) % width
    state[OFFER_A], state[OFFER_B] = chosen_a, chosen_b
    return chosen_a >= 0 or chosen_b >= 0


@part
def _make_or_ban(
    points, weights, slots, sizes, centres, from_mean, candidates, clock, queue, queued, state,
    banned, plan, allowed,
):  # fmt: skip
    """Make the move that was offered if it is allowed and lowers the error, or ban it."""
    group, position = state[GROUP], state[POSITION]
    a, b = state[OFFER_A], state[OFFER_B]
    made = False
    if state[OFFER] == DISSOLVE:
        size = sizes[group]
        made = allowed and dissolve(points, weights, slots, sizes, centres, from_mean, plan, group)
        if made:
            state[TIME] += 1
            state[GROUP] = -1
            for s in range(size):
                _mark_changed(clock, queue, queued, state, np.int64(plan[s]))
    else:
        other = np.int64(candidates[group, position])
        made = allowed and _exchange(
            points, weights, slots, sizes, centres, from_mean, group, other, a, b
        )
        if made:
            _lift_bans(state, banned)
            state[CLEAN] = 0
            state[TIME] += 1
            _mark_changed(clock, queue, queued, state, group)
            _mark_changed(clock, queue, queued, state, other)
        else:
            banned[a + 1, b + 1] = 1
    if made:
        state[MOVES] += 1
    else:
        state[BANS] += 1


@part
def _exchange(points, weights, slots, sizes, centres, from_mean, A, B, a, b):
    """Shift or swap; False, and everything as before, if the error did not fall."""
    d = points.shape[1]
    before = centres[A, d + 1] + centres[B, d + 1]
    _trade(slots, sizes, A, B, a, b)
    refresh(points, weights, slots, sizes, centres, from_mean, A)
    refresh(points, weights, slots, sizes, centres, from_mean, B)
    if centres[A, d + 1] + centres[B, d + 1] < before:
        return True
    if a < 0:
        a, b = sizes[A] - 1, -1
    elif b < 0:
        a, b = -1, sizes[B] - 1
    _trade(slots, sizes, A, B, a, b)
    refresh(points, weights, slots, sizes, centres, from_mean, A)
    refresh(points, weights, slots, sizes, centres, from_mean, B)
    return False


@part
def _trade(slots, sizes, A, B, a, b):
    """Member a of A goes to B and member b of B to A; -1 is nobody."""
    if a >= 0 and b >= 0:
        slots[A, a], slots[B, b] = slots[B, b], slots[A, a]
    elif a >= 0:
        _hand_over(slots, sizes, A, a, B)
    else:
        _hand_over(slots, sizes, B, b, A)


@part
def _hand_over(slots, sizes, giver, s, taker):
    slots[taker, sizes[taker]] = slots[giver, s]
    sizes[taker] += 1
    sizes[giver] -= 1
    slots[giver, s] = slots[giver, sizes[giver]]

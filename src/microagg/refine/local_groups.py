"""The groups of the local search: members, means and errors as plain arrays."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from microagg.kernels.local_groups import settle
from microagg.kernels.local_moves import GROUP, STATES, WAITING


class Arena(NamedTuple):
    """Groups as the kernels see them; a record is the number of its row here.

    Kernels take the arrays one by one: out of a tuple each use would count references.
    """

    points: np.ndarray
    weights: np.ndarray
    slots: np.ndarray  # (groups, room): the members; those beyond the size mean nothing
    sizes: np.ndarray
    centres: (
        np.ndarray
    )  # (groups, d + 3): mean, weight, squared error, largest distance of a member
    from_mean: np.ndarray  # squared distance of each member from the mean

    @staticmethod
    def of(points: np.ndarray, weights: np.ndarray, sizes: np.ndarray, room: int) -> Arena:
        """An arena of groups of these sizes, whose members are the rows of the points one after
        another.
        """
        groups = len(sizes)
        firsts = (np.cumsum(sizes) - sizes).astype(np.int32)
        slots = firsts[:, None] + np.arange(room, dtype=np.int32)
        centres, from_mean = np.empty((groups, points.shape[1] + 3)), np.empty((groups, room))
        arena = Arena(points, weights, slots, sizes.astype(np.int64), centres, from_mean)
        settle(*arena)
        return arena


class Agenda(NamedTuple):
    """State of one search: its candidates, its queue, and its position between calls."""

    candidates: np.ndarray  # for each group; -1: none
    clock: np.ndarray  # for each group when it changed, and when a visit to it ended
    queue: np.ndarray  # a ring of the groups that wait
    queued: np.ndarray  # for each group whether it does
    state: np.ndarray
    banned: np.ndarray  # moves between the present pair of groups that have been refused
    plan: np.ndarray  # where the members of a group to be dissolved would go
    to_a: np.ndarray  # room to work in, as are the next three
    to_b: np.ndarray
    reach: np.ndarray
    changed: np.ndarray

    @staticmethod
    def of(
        candidates: np.ndarray,
        clock: np.ndarray,
        queue: np.ndarray,
        queued: np.ndarray,
        arena: Arena,
    ) -> Agenda:
        """A search that has yet to begin, with these groups waiting."""
        room = arena.slots.shape[1]
        state = np.zeros(STATES, np.int64)
        state[GROUP], state[WAITING] = -1, len(queue)
        banned, plan = np.zeros((room + 1, room + 1), np.uint8), np.zeros(room, np.int32)
        reach = np.empty((candidates.shape[1], arena.centres.shape[1]))
        to_a, to_b, changed = np.empty(room), np.empty(room), np.empty(2 * room, np.int32)
        return Agenda(
            candidates, clock, queue, queued, state, banned, plan, to_a, to_b, reach, changed
        )

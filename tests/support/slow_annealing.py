"""The annealing's trials once more, slowly: groups as lists, loss by means of dense coordinates,
in plain Python.

It replays the trials of a region from its random numbers. Nothing here looks up a distance of a
pair.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from microagg.kernels.annealing import NEAREST, REBUILDING, WAITING_TIMES, waiting_times
from microagg.kernels.random import next_integer
from microagg.refine.lns_regions import RegionByDistances

CLOSE_CALL = 1e-9  # a trial decided by less, relative to the loss of its groups, may go either way


class CloseCall(Exception):
    """A trial's cost equals its limit but for rounding."""


class SlowTrials:
    """The groups of a region, and trials on them."""

    def __init__(
        self,
        region: RegionByDistances,
        points: np.ndarray,
        masses: np.ndarray,
        k: int,
        accept: Callable[[list[int]], bool],
    ) -> None:
        order = region._order
        self._points, self._masses, self._k = points[order], masses[order], k
        self._accept = lambda records: accept([int(order[r]) for r in records])
        self._near, self._reach = region._near, region._reach
        self._picks, self._warmth = region._picks, region._warmth
        self._capacity = region._members.shape[1]
        self._groups = [
            region._members[g, :size].tolist() for g, size in enumerate(region._sizes.tolist())
        ]
        self._free = region._free[: region._counts[0]].tolist()
        self.label = region._label.copy()

    def run(self, trials: int, warmest: float, coldest: float, rng: np.ndarray) -> None:
        """Make the trials that `run_trials` makes."""
        waiting = waiting_times()
        for trial in range(trials):
            bits = int(next_integer(rng))
            x = int(self._picks[((bits & 0xFFFFFFFF) * len(self._picks)) >> 32])
            heat = (warmest + (coldest - warmest) * (trial / trials)) * self._warmth[x]
            limit = heat * waiting[(bits >> 32) & (WAITING_TIMES - 1)]
            if (bits >> 44) & 1023 < REBUILDING:
                changed = self._dissolved(x, limit) if bits >> 63 else self._founded(x)
            else:
                changed = self._moved(x, int(next_integer(rng)))
            if changed is not None:
                self._decide(changed, limit)

    def _moved(self, x: int, bits: int) -> dict[int, list[int]] | None:
        """Exchange or shift x."""
        rank = ((bits & 0xFFFF) * ((bits >> 16) & 0xFFFF)) >> 16
        y = int(self._near[x, (rank * self._reach) >> 16])
        a, b = int(self.label[x]), int(self.label[y])
        if a == b:
            return None
        here, target = list(self._groups[a]), list(self._groups[b])
        if len(here) > self._k and len(target) < self._capacity and bits >> 63:
            _take_out(here, x)
            return {a: here, b: [*target, x]}
        other = target[(((bits >> 32) & 0xFFFF) * (len(target) - 1)) >> 16]
        other = target[-1] if other == y else other
        here[here.index(x)], target[target.index(other)] = other, x
        return {a: here, b: target}

    def _dissolved(self, x: int, limit: float) -> dict[int, list[int]] | None:
        """Send the members of x's group to the groups near them that grow least, one after the
        other.
        """
        group = int(self.label[x])
        changed: dict[int, list[int]] = {}
        growth = -self._loss(self._groups[group])
        for member in self._groups[group]:
            costs: dict[int, float] = {}
            for r in self._near[member, : min(self._reach, NEAREST)]:
                g = int(self.label[r])
                now = changed.get(g, self._groups[g])
                if (
                    g != group
                    and len(now) < self._capacity
                    and member not in now
                    and g not in costs
                ):
                    costs[g] = self._loss([*now, member]) - self._loss(now)
            # members that went already are in their new groups
            for r in self._near[member, : min(self._reach, NEAREST)]:
                for g, now in changed.items():
                    if int(r) in now and g not in costs and len(now) < self._capacity:
                        costs[g] = self._loss([*now, member]) - self._loss(now)
            if not costs:
                return None
            chosen = min(costs, key=lambda g: costs[g])
            others = [cost for g, cost in costs.items() if g != chosen]
            if others and min(others) - costs[chosen] < CLOSE_CALL * (
                abs(growth) + costs[chosen] + 1e-3
            ):
                raise CloseCall
            growth += costs[chosen]
            if growth > limit + CLOSE_CALL * abs(growth):
                return None
            changed[chosen] = [*changed.get(chosen, self._groups[chosen]), member]
        return {group: [], **changed}

    def _founded(self, x: int) -> dict[int, list[int]] | None:
        """Form a group of x and those nearest to it that can be spared."""
        if not self._free or len(self._groups[self.label[x]]) <= self._k:
            return None
        new: list[int] = []
        changed: dict[int, list[int]] = {}
        for r in [x, *self._near[x].tolist()]:
            g = int(self.label[r])
            now = changed.get(g, list(self._groups[g]))
            if len(now) > self._k and r not in new:
                _take_out(now, r)
                changed[g] = now
                new.append(r)
            if len(new) == self._k:
                return {self._free[-1]: new, **changed}
        return None

    def _decide(self, changed: dict[int, list[int]], limit: float) -> None:
        before = sum(self._loss(self._groups[g]) for g in changed)
        after = sum(self._loss(members) for members in changed.values())
        if abs(after - before - limit) <= CLOSE_CALL * (before + after + 1e-3):
            raise CloseCall
        if after - before > limit or not all(self._accept(m) for m in changed.values() if m):
            return
        for g, members in changed.items():
            if not self._groups[g]:
                self._free.remove(g)
            if not members:
                self._free.append(g)
            self._groups[g] = members
            self.label[members] = g

    def _loss(self, members: list[int]) -> float:
        if not members:
            return 0.0
        points, masses = self._points[members], self._masses[members]
        mean = (masses[:, None] * points).sum(axis=0) / masses.sum()
        return float((masses[:, None] * (points - mean) ** 2).sum())


def _take_out(members: list[int], x: int) -> None:
    """Take x out; the last member takes its place."""
    members[members.index(x)] = members[-1]
    members.pop()

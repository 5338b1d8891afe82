"""Lower bounds on the loss of any partition, valid whenever the work is stopped."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np

from microagg.bounds.bound import CUT, ENUMERATED, Bound, bound_from, priced_cuts, total_squares
from microagg.bounds.columns import NEIGHBOURS, Budget, ColumnGeneration
from microagg.bounds.groups import costs_of_groups
from microagg.bounds.large import NEIGHBOURS as NEIGHBOURS_OF_MANY
from microagg.bounds.large import LargeProgram
from microagg.bounds.listening import Listener
from microagg.bounds.neighbours import SCANNED, nearest_others
from microagg.bounds.pricing import TOLERANCE
from microagg.kernels import sums
from microagg.kernels.cut import optimal_cut
from microagg.measures.loss.sse import loss_of_partition
from microagg.problem.problem import Problem, Progress
from microagg.problem.watch import Watch

LARGE = 6_000  # more records get no factor and no matrices of all pairs: four of 8 n^2 bytes
LARGEST = 50_000  # more records get no linear program
LARGEST_K = 20  # nor does a larger k: its groups are too many to be priced
ROUNDS = 1000


def lower_bound(
    points: Any,
    k: int,
    *,
    labels: Any = None,
    time_limit: float | None = 60,
    progress: Progress | None = None,
    watch: Watch | None = None,
    seed: int = 0,
) -> Bound:
    """Return a proven lower bound on the SSE of every partition into groups of at least k.

    The bound rises with time, up to a limit at or slightly below the loss of the best partition.
    Above 6,000 records it comes from prices that are nearly optimal, without cuts, and is there at
    the end only. Above 50,000
    records, or a k of 20, it is an instant one from the nearest neighbours, some 30 % too low,
    whatever the time. Where the optimum is known at once (one varying column, or fewer than 2k
    records), it is the bound, and the time is spent on a certificate that lets others verify it.

    Parameters
    ----------
    points : array-like of shape (n, d)
        Numbers, which are taken as they are: without scaling.
    k : int
        Smallest size of a group. At least 2.
    labels : array-like of shape (n,), optional
        Partition that progress reports compare with. It does not change the bound.
    time_limit : float, optional
        Seconds after which the best bound so far is returned; None for no limit.
    progress : callable, optional
        Called as ``progress(done, total)``.
    watch : Watch, optional
        Source of stop signals in place of `progress` and `time_limit`.
    seed : int
        Not used, as nothing is random.

    Returns
    -------
    Bound
        The bound with its certificate. `gap(labels)` compares a partition with it.

    Raises
    ------
    InputError
        If the points are no finite numbers, or there are fewer than k of them.

    Examples
    --------
    >>> corners = [[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [9.0, 9.0], [8.0, 9.0], [9.0, 8.0]]
    >>> bound = lower_bound(corners, k=3)
    >>> round(bound.sse, 4), bound.method
    (2.6667, 'columns')
    >>> bound = lower_bound([[0.0], [1.0], [2.0], [10.0], [11.0], [12.0]], k=3)
    >>> round(bound.sse, 6), bound.method, bound.optimal
    (4.0, 'optimal cut', True)
    """
    problem = Problem.of(points, k)
    listener = Listener(watch if watch is not None else Watch(progress, time_limit=time_limit))
    proof = Proof(problem.points, problem.k, listener)
    il = (
        None
        if labels is None
        else loss_of_partition(problem.points, np.asarray(labels, np.int32))["IL"]
    )
    optimum = None
    if len(problem.points) >= 2 * problem.k and len(varying_columns(problem.points)) <= 1:
        optimum = _squared_error(problem.points, best_of_one_column(problem.points, problem.k))
    while not proof.finished and not listener.watch.stopped and not proof.reaches(optimum):
        proof.step()
        proof.checkpoint(il)
    return proof.bound() if optimum is None else proof.bound(optimum, CUT)


def varying_columns(points: np.ndarray) -> np.ndarray:
    """The columns in which not all records are equal.

    >>> varying_columns(np.array([[1.0, 2.0, 3.0], [1.0, 5.0, 3.0]])).tolist()
    [1]
    """
    return np.flatnonzero(np.ptp(points, axis=0) > 0.0)


def best_of_one_column(points: np.ndarray, k: int) -> np.ndarray:
    """The best partition of points of which one column at most varies: the optimal cut of its
    order.

    Hansen and Mukherjee 2003: groups of an optimal partition of one column do not overlap.

    >>> best_of_one_column(np.array([[5.0], [0.0], [5.5], [0.1]]), 2).tolist()
    [0, 1, 0, 1]
    """
    order = np.argsort(points[:, int(np.argmax(np.ptp(points, axis=0)))], kind="stable")
    return sums.number_by_first_record(optimal_cut(points, order, k)[0])


def _squared_error(points: np.ndarray, labels: np.ndarray) -> float:
    """The SSE of a partition, added up pair by pair too: no rounded mean may raise what is
    claimed of all others.
    """
    members = np.argsort(labels, kind="stable").astype(np.int32)
    offsets = np.concatenate([[0], np.cumsum(np.bincount(labels))]).astype(np.int64)
    pairwise = math.fsum(costs_of_groups(points, members, offsets))
    return min(pairwise, loss_of_partition(points, labels)["SSE"])


class Proof:
    """A bound that rises with every `step` until it is `finished`, or until the listener breaks
    it off.
    """

    def __init__(
        self,
        points: np.ndarray,
        k: int,
        listener: Listener,
        budget: Budget | None = None,
    ) -> None:
        self.points, self.k, self.listener = points, k, listener
        self._budget = budget
        self.sst = total_squares(points)
        self.generation: ColumnGeneration | None = None
        self.large: LargeProgram | None = None
        self._pi = np.zeros(len(points))
        self._method = "instant"
        self._steps = 0
        self.finished = len(points) < 2 * k or self.sst == 0.0
        if self.finished:
            self._method = "one group" if len(points) < 2 * k else "instant"
            self._pi = np.full(len(points), self.sst / len(points))
            return
        self._unit = self.sst / len(points)
        self._start()

    def _start(self) -> None:
        """The instant bound; and all that is needed to get better."""
        k, n = self.k, len(self.points)
        centred = self.points - sums.mean_of(self.points, np.arange(n))
        large = n > LARGE or k > LARGEST_K
        none = n > LARGEST or k > LARGEST_K
        m = min(n - 1, (NEIGHBOURS_OF_MANY if large else NEIGHBOURS) * k)
        stop = self.listener if n > SCANNED else None  # a few seconds are given to it in any case
        near, records, complete = nearest_others(centred, m, stop)
        self._pi = near[:, : k - 1].sum(axis=1) / (2 * k)
        self.finished = none or not complete
        if self.finished:
            return
        mean_price = float(np.mean(self._pi))
        self._unit = max(mean_price, 1e-12 * self._unit)
        scaled = np.ascontiguousarray(centred / np.sqrt(self._unit))
        if large:
            self.large = LargeProgram(scaled, k, records, self._pi / self._unit)
            return
        self.generation = ColumnGeneration(scaled, k, near / self._unit, records, self._budget)

    @property
    def value(self) -> float:
        """The SSE that is proven so far, tolerances aside."""
        source = self.generation or self.large
        return float(np.sum(self._pi)) if source is None else source.value * self._unit

    @property
    def unit(self) -> float:
        """The squared length that counts as 1 in the generation."""
        return self._unit

    def reaches(self, optimum: float | None) -> bool:
        """Return whether nothing but rounding is left between what is proven and an optimum that is
        known.
        """
        return optimum is not None and optimum - self.value <= 1e-11 * self.sst

    def step(self) -> None:
        """One round of work."""
        self._steps += 1
        source = self.generation or self.large
        if source is None:
            self.finished = True
            return
        source.step(self.listener)
        self.finished = source.finished or self._steps >= ROUNDS

    def checkpoint(
        self, il: float | None = None, done: int | None = None, total: int = ROUNDS
    ) -> bool:
        """Tell how far it is, beside the loss of a partition; True if the work has to end."""
        telling = f"bound {100.0 * self.value / self.sst if self.sst else 0.0:.4f} %"
        if il is not None:
            gap = 100.0 * (il * self.sst / 100.0 / self.value - 1.0) if self.value > 0.0 else np.inf
            telling += f", loss {il:.4f} %, gap {max(gap, 0.0):.2f} %"
        done = min(self._steps, total) if done is None else done
        return self.listener.checkpoint(done, total, telling)

    def bound(self, optimum: float | None = None, shown_by: str = ENUMERATED) -> Bound:
        """Return what is proven; `optimum` is the loss of a partition that has been shown to be the
        best in another way.
        """
        pi, cuts, how = self._pi, [], self._method
        if self.generation is not None:
            generation = self.generation
            pi = (generation.best.pi - TOLERANCE / self.k) * self._unit
            penalties = generation.best.penalties * self._unit
            cuts = priced_cuts(generation.best_cuts, penalties)
            how = "columns and cuts" if penalties.any() else "columns"
        elif self.large is not None and self.large.proven:
            pi = (self.large.pi - TOLERANCE / self.k) * self._unit
            how = "columns"
        if how == "one group":
            optimum = self.sst
        elif optimum is not None:
            how = shown_by
        bound = bound_from(self.points, self.k, pi, cuts, how, optimum)
        if how == "one group":
            bound = dataclasses.replace(bound, labels=np.zeros(len(self.points), np.int32))
        return bound

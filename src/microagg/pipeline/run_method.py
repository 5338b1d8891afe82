"""Running one method on this machine."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from typing import Any

import numpy as np

from microagg.errors import CancelledError, GuaranteeError, InputError
from microagg.guarantees.promise import Guarantees
from microagg.kernels import random, sums
from microagg.methods.method import Grouping, Method
from microagg.methods.parts import in_parts
from microagg.methods.registry import DEFAULT, method_named
from microagg.problem.problem import Problem, Progress, as_points
from microagg.problem.showing import shown
from microagg.problem.watch import StopSearch, Watch, handle_interrupt
from microagg.refine.local import improve
from microagg.refine.merging import repair
from microagg.table.confidential import Attribute, as_attributes
from microagg.table.parameters import Flag, OptionalInt


def partition(
    points: Any,
    k: int,
    method: str = DEFAULT,
    *,
    confidential: Any = None,
    l: float | None = None,
    t: float | None = None,
    diversity: str = "distinct",
    c: float | None = None,
    refine: bool = False,
    seed: int = 0,
    threads: int | None = None,
    progress: Progress | bool | None = None,
    **params: Any,
) -> np.ndarray:
    """Group the rows of a matrix into groups of at least k, without scaling.

    Parameters
    ----------
    points : 2-D array
        Rows to group, used as they are.
    k : int
        Smallest size of a group.
    method : str
        Name of a method, see `methods`.
    confidential : array, optional
        Matrix or column for `l`, `t` and some methods. Floats are numbers, all else categories.
    l, t : float, optional
        Required l-diversity and t-closeness of every group. If the method does not enforce them,
        groups that miss them are merged.
    diversity : {"distinct", "entropy", "recursive"}
        Definition of l-diversity.
    c : float, optional
        Factor of recursive diversity.
    refine : bool
        Improve the groups by local search.
    seed : int
        Seed of randomised methods.
    threads : int, optional
        Number of threads, by default one per processor. It never changes the groups.
    progress : callable or bool, optional
        Called as ``progress(done, total)``. True shows a bar.
    **params
        Parameters of the method.

    Returns
    -------
    numpy.ndarray
        int32 labels, one for each row.

    Raises
    ------
    InputError
        If an argument is invalid or no grouping satisfies the guarantees.

    Examples
    --------
    >>> partition([[1.0], [1.1], [9.0], [9.2]], k=2, method="mdav").tolist()
    [0, 0, 1, 1]
    """
    chosen = method_named(method)
    refine, seed = Flag("refine", "").parse(refine), OptionalInt("seed", "").parse(seed) or 0
    matrix = as_points(points)
    attributes = () if confidential is None else as_attributes(confidential, len(matrix))
    promise = Guarantees.of(l, t, diversity, c)
    problem = problem_with(promise, chosen, matrix, k, attributes, threads)
    return run_method(
        chosen, problem, chosen.checked(params), seed=seed, refine=refine, progress=progress
    ).labels


def problem_with(
    promise: Guarantees,
    method: Method,
    points: Any,
    k: int,
    attributes: tuple[Attribute, ...],
    threads: int | None = None,
    units: Attribute | None = None,
    columns: int | None = None,
) -> Problem:
    """Return the problem that a method gets; raise where no grouping can keep the guarantees.
    `columns` is the number of columns that the axes of points stand for.
    """
    if promise and method.scope != "record":
        raise InputError(
            f"method {method.name} groups each column on its own, so it cannot guarantee "
            f"l, t or units; choose another method."
        )
    problem = Problem.of(points, k, confidential=attributes, threads=threads)
    promise.check_impossible(attributes, units)
    return replace(problem, accept=promise.accept(attributes, units), columns=columns)


def run_method(
    method: Method,
    problem: Problem,
    params: dict[str, Any],
    *,
    seed: int,
    refine: bool = False,
    progress: Progress | bool | None = None,
    strata: np.ndarray | None = None,
) -> Grouping:
    """Run a method and check what it returns before anybody relies on it. `progress=True` shows a
    bar.

    Groups that miss l, t or units are merged with others; with `refine`, local search follows,
    which never breaks a guarantee. With `strata` (n,), numbered from 0, all of that is done within
    each stratum, whose records keep the promise as one group: the caller ensures it.
    """
    if refine and method.scope != "record":
        raise InputError(
            f"method {method.name} groups each column on its own; its groups cannot be refined."
        )
    method.check_unfit(problem)
    rng = random.seeded(seed, method.name)
    with (
        handle_interrupt(),
        shown(progress, f"grouping {len(problem.points):,} records") as callback,
    ):
        if strata is None:
            grouping = _complete(method, problem, params, rng=rng, refine=refine, progress=callback)
        else:
            grouping = _in_strata(
                method, problem, params, strata, rng=rng, refine=refine, progress=callback
            )
            _check_bad_labels(grouping.labels, problem, method)
        if callback is not None:
            # the search is over: there is nothing left to stop
            with contextlib.suppress(StopSearch):
                callback(len(problem.points), len(problem.points))
    return grouping


def _complete(
    method: Method,
    problem: Problem,
    params: dict[str, Any],
    *,
    rng: np.ndarray,
    refine: bool,
    progress: Progress | None,
) -> Grouping:
    """Run a method on one problem, repair its groups, and refine them if asked."""
    watch = Watch(progress, len(problem.points))
    watch.stage(0.0, 0.7)
    result = method.run(problem, rng=rng, progress=watch.tell if refine else progress, **params)
    grouping = result if isinstance(result, Grouping) else Grouping(result)
    _check_bad_labels(grouping.labels, problem, method)
    grouping = _enforced(grouping, problem)
    if refine:
        watch.stage(0.7, 1.0)
        grouping = replace(grouping, labels=improve(problem, grouping.labels, progress=watch.tell))
        _check_bad_labels(grouping.labels, problem, method)
        grouping = _enforced(grouping, problem)
    return grouping


STOPPING = ("time_limit", "stop_after")


def _in_strata(
    method: Method,
    problem: Problem,
    params: dict[str, Any],
    strata: np.ndarray,
    *,
    rng: np.ndarray,
    refine: bool,
    progress: Progress | None,
) -> Grouping:
    """Run a method within each stratum. A time limit is one for all of them, and `stop_after`
    counts through them.
    """
    watch = Watch(progress, len(problem.points), **{name: params.get(name) for name in STOPPING})
    inner, inner_params = method_within_strata(method, params, refine=refine)
    problem = replace(problem, of_records=len(problem.points))
    grouping = in_parts(problem, strata, inner, rng=rng, params=inner_params, watch=watch)
    description = strata_progress(np.bincount(strata), method.name)
    return replace(grouping, chosen=(description,), bound=None, least_within_parts=None)


def method_within_strata(
    method: Method, params: dict[str, Any], *, refine: bool
) -> tuple[Method, dict[str, Any]]:
    """Return a method for one stratum that repairs and refines its groups, and its parameters.

    A limit of time is one for all strata, so it is none of its parameters.
    """
    searches = _searches(method, params)

    def within(
        part: Problem, *, rng: np.ndarray, progress: Progress | None = None, **part_params: Any
    ) -> np.ndarray | Grouping:
        heard = progress if searches or progress is None else _stopped_for_good(progress)
        return _complete(method, part, part_params, rng=rng, refine=refine, progress=heard)

    kept = tuple(
        parameter for parameter in method.parameters if searches or parameter.name not in STOPPING
    )
    inner_params = {name: value for name, value in params.items() if name not in STOPPING}
    return replace(method, run=within, parameters=kept), inner_params


def strata_progress(sizes: np.ndarray, method: str) -> str:
    """Describe a search within strata of these sizes.

    >>> strata_progress(np.array([7, 5]), "auto")
    '2 strata of 5 to 7 records, auto within each'
    """
    strata = "stratum" if len(sizes) == 1 else "strata"
    return (
        f"{len(sizes):,} {strata} of {sizes.min():,} to {sizes.max():,} records, {method} "
        f"within each"
    )


def _searches(method: Method, params: dict[str, Any]) -> bool:
    """Return True if a method has checkpoints, and so has the one that it runs inside, if any."""
    inside = params.get("inside")
    return method.has_checkpoints and (inside is None or method_named(str(inside)).has_checkpoints)


def _stopped_for_good(progress: Progress) -> Progress:
    """A progress that cancels where it would stop: what has no checkpoints could not be repeated up
    to there.
    """

    def tell(done: int, total: int) -> None:
        try:
            progress(done, total)
        except StopSearch as stop:
            raise CancelledError(str(stop)) from None

    return tell


def _enforced(grouping: Grouping, problem: Problem) -> Grouping:
    """The same groups, or with those merged that miss what is promised."""
    if problem.accept is None:
        return grouping
    labels = repair(problem, grouping.labels)
    if labels is grouping.labels:
        return grouping
    before, after = int(grouping.labels.max()) + 1, int(labels.max()) + 1
    description = (
        f"for {problem.accept.promise.name}, {before:,} groups became {after:,}: those that "
        f"missed it were merged"
    )
    return replace(grouping, labels=labels, chosen=(*grouping.chosen, description))


def _check_bad_labels(labels: np.ndarray, problem: Problem, method: Method) -> None:
    n, d = problem.points.shape
    shape = (n,) if method.scope == "record" else (n, d)
    if labels.shape != shape or labels.dtype != np.int32 or (labels < 0).any():
        raise GuaranteeError(
            f"method {method.name} did not give every record a group; this is a bug: report it."
        )
    for one_partition in labels.reshape(n, -1).T:
        sizes = sums.group_sizes(np.ascontiguousarray(one_partition), int(one_partition.max()) + 1)
        if sizes.min() < problem.k:
            raise GuaranteeError(
                f"method {method.name} formed a group smaller than k; this is a bug: report it."
            )

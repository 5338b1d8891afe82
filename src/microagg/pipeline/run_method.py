"""Running one method on this machine."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from typing import Any

import numpy as np

from microagg.errors import Cancelled, GuaranteeError, InputError
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
    """Group the rows of a matrix, taken as they are (no scaling), into groups of at least k;
    returns int32 labels.

    `confidential` is a matrix or a column that l, t and some methods need: floats are taken as
    numbers, anything else as categories. With `l` (l-diversity: `diversity` is "distinct",
    "entropy" or "recursive", the last with `c`) or `t` (t-closeness), every group meets it; if the
    method does not enforce it, groups that miss it are merged. With `refine`, the method's groups
    are improved by local search. `threads` (by default one per processor) affects the time, never
    the groups.

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
    """What a method is given; raises before any work if the promise cannot be kept. `columns` is of
    how many the points are axes.
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
    with handle_interrupt(), shown(progress, f"grouping {len(problem.points):,} records") as told:
        if strata is None:
            found = _complete(method, problem, params, rng=rng, refine=refine, progress=told)
        else:
            found = _in_strata(
                method, problem, params, strata, rng=rng, refine=refine, progress=told
            )
            _check_bad_labels(found.labels, problem, method)
        if told is not None:
            # the search is over: there is nothing left to stop
            with contextlib.suppress(StopSearch):
                told(len(problem.points), len(problem.points))
    return found


def _complete(
    method: Method,
    problem: Problem,
    params: dict[str, Any],
    *,
    rng: np.ndarray,
    refine: bool,
    progress: Progress | None,
) -> Grouping:
    """What a method finds, made to keep the promise and refined if asked."""
    watch = Watch(progress, len(problem.points))
    watch.stage(0.0, 0.7)
    result = method.run(problem, rng=rng, progress=watch.tell if refine else progress, **params)
    found = result if isinstance(result, Grouping) else Grouping(result)
    _check_bad_labels(found.labels, problem, method)
    found = _enforced(found, problem)
    if refine:
        watch.stage(0.7, 1.0)
        found = replace(found, labels=improve(problem, found.labels, progress=watch.tell))
        _check_bad_labels(found.labels, problem, method)
        found = _enforced(found, problem)
    return found


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
    """What a method finds within each stratum. A limit of time is one for all of them, and
    `stop_after` counts through them.
    """
    watch = Watch(progress, len(problem.points), **{name: params.get(name) for name in STOPPING})
    searches = _searches(method, params)

    def within(
        part: Problem, *, rng: np.ndarray, progress: Progress | None = None, **own: Any
    ) -> np.ndarray | Grouping:
        heard = progress if searches or progress is None else _stopped_for_good(progress)
        return _complete(method, part, own, rng=rng, refine=refine, progress=heard)

    kept = tuple(each for each in method.parameters if searches or each.name not in STOPPING)
    inner = replace(method, run=within, parameters=kept)
    own = {name: value for name, value in params.items() if name not in STOPPING}
    problem = replace(problem, of_records=len(problem.points))
    found = in_parts(problem, strata, inner, rng=rng, params=own, watch=watch)
    told = strata_progress(np.bincount(strata), method.name)
    return replace(found, chosen=(told,), bound=None, least_within_parts=None)


def strata_progress(sizes: np.ndarray, method: str) -> str:
    """What was done within strata of so many records each.

    >>> strata_progress(np.array([7, 5]), "auto")
    '2 strata of 5 to 7 records, auto within each'
    """
    strata = "stratum" if len(sizes) == 1 else "strata"
    return (
        f"{len(sizes):,} {strata} of {sizes.min():,} to {sizes.max():,} records, {method} "
        f"within each"
    )


def _searches(method: Method, params: dict[str, Any]) -> bool:
    """Whether a method has checkpoints, and so has the one that it runs inside, if any."""
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
            raise Cancelled(str(stop)) from None

    return tell


def _enforced(found: Grouping, problem: Problem) -> Grouping:
    """The same groups, or with those merged that miss what is promised."""
    if problem.accept is None:
        return found
    labels = repair(problem, found.labels)
    if labels is found.labels:
        return found
    before, after = int(found.labels.max()) + 1, int(labels.max()) + 1
    told = (
        f"for {problem.accept.promise.name}, {before:,} groups became {after:,}: those that "
        f"missed it were merged"
    )
    return replace(found, labels=labels, chosen=(*found.chosen, told))


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

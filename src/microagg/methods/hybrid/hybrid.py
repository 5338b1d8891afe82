"""Hybrid: the records are split into parts, and any method groups each part.

Source: Abidi, Ben Yahia and Perera 2020 (Journal of Ambient Intelligence and Humanized Computing 11), algorithm 1.

1. Split the records into parts: `split="pfsom"` into the clusters that PFSOM finds, `split="blocks"` into compact
   blocks of at most `largest` records. A part of fewer than k records joins the part with the nearest centroid, the
   smallest first.
2. The method `inside`, with its own defaults, groups each part; all groups together are the result.

Ties go to the lower record number. The paper leaves both steps open; blocks are not from it. A search inside cannot
be stopped with something to keep: stopping it cancels the run.
"""

from __future__ import annotations

from dataclasses import replace
from typing import cast

import numpy as np

from microagg.errors import Cancelled, InputError
from microagg.kernels import sums
from microagg.methods.hybrid.hm_pfsom import VALIDITY
from microagg.methods.hybrid.splitting import SPLITS, split_into_parts
from microagg.methods.method import Choice, Found, Method, MethodName, Number, Partition
from microagg.methods.parts import records_by_label
from microagg.methods.registry import method_named
from microagg.problem.problem import Problem, Progress
from microagg.problem.watch import Watch
from microagg.table.confidential import Attribute


def hybrid(
    problem: Problem,
    *,
    rng: np.ndarray,
    progress: Progress | None = None,
    split: str = "pfsom",
    inside: str = "mdav",
    validity: str = "own-spread",
    largest: int = 1000,
) -> np.ndarray:
    """Any method within each part of a splitting."""
    points, n = problem.points, len(problem.points)
    method = _usable(inside, problem)
    watch = Watch(progress, n)
    watch.stage(0.0, 0.3)
    parts = split_into_parts(
        points, problem.k, rng=rng, split=split, validity=validity, largest=largest, progress=watch.tell
    )
    labels, formed, done = np.empty(n, np.int32), 0, 0
    for records in records_by_label(parts):
        watch.stage(0.3 + 0.7 * done / n, 0.3 + 0.7 * (done + len(records)) / n)
        result = method.run(_part_of(problem, records), rng=rng, progress=watch.tell, **method.checked({}))
        groups = _labels_of(result)
        labels[records] = groups + formed
        formed += int(groups.max()) + 1
        done += len(records)
    return sums.number_by_first_record(labels)


def _usable(name: str, problem: Problem) -> Method:
    """The method to run in each part, if it can be run on this problem."""
    method = method_named(name)
    d = problem.points.shape[1]
    if method.columns not in (None, d):
        raise InputError(f"method {name} works on {method.columns} column only, and {d} were given.")
    if method.needs_confidential and not problem.confidential:
        raise InputError(f"method {name} needs confidential columns; name them with confidential.")
    return method


def _labels_of(result: np.ndarray | Found) -> np.ndarray:
    """The labels of a part. A search that was stopped within it could not be repeated, so there is nothing to keep."""
    if not isinstance(result, Found):
        return result
    if result.stopped is not None:
        raise Cancelled(f"the search within a part was stopped ({result.stopped}); nothing was kept.")
    return result.labels


def _part_of(problem: Problem, records: np.ndarray) -> Problem:
    """The problem of these records alone."""
    accept = problem.accept
    return replace(
        problem,
        points=np.ascontiguousarray(problem.points[records]),
        weights=None if problem.weights is None else problem.weights[records],
        confidential=tuple(Attribute(a.name, a.kind, a.values[records]) for a in problem.confidential),
        accept=None if accept is None else lambda chosen: accept(records[chosen]),
    )


HYBRID = Method(
    name="hybrid",
    family="confidential",
    source="Abidi, Ben Yahia and Perera 2020, algorithm 1",
    summary="parts by clustering, and any method within each part",
    good_for="large tables: any method within parts made by clustering",
    run=cast(Partition, hybrid),
    complexity="O(n √n d) for the parts, then that of the method inside",
    parameters=(
        Choice("split", SPLITS, "pfsom", "clusters of PFSOM, or compact blocks"),
        MethodName("inside", "mdav", "hybrid", "the method that groups each part, with its defaults"),
        VALIDITY,
        Number("largest", 2, 1e9, 1000, "records of a block at most, and at least 2k", whole=True),
    ),
    seeded=True,
)

"""HM-PFSOM: groups that are similar in their quasi-identifiers and diverse in their confidential values.

Source: Abidi, Ben Yahia and Perera 2020 (Journal of Ambient Intelligence and Humanized Computing 11), algorithm 2.

1. PFSOM splits the records into parts by their quasi-identifiers; a part of fewer than k records joins the nearest
   one.
2. PFSOM splits each part into classes by the confidential columns (see `classes.py`).
3. Each part is grouped by itself, so that every group has its share of every class (see `group_rule.py`): of the
   smallest class `per_class` records, of each other class as many times that as it is larger. Leftovers join the
   nearest group.

Every group has at least k records: `per_class` is by default the smallest number that makes it so, and raised to that
where a smaller one is given. A part whose smallest class has fewer than `per_class` records is one group.

Groups have the classes in the proportions of the part, so a class much smaller than the others makes all groups
large: with classes of 1,000 and 10 records, every group has at least 101, whatever k is. That is the paper's rule
(its table 12 has such parts).

Ties go to the lower record number. Distances are Euclidean on the points as given (the paper prints sums of signed
differences, which cannot be meant; it works on min-max scaled data). The paper lets the user choose how many records
of each class a group has and calls that number k; here k is what it is everywhere, the least size of a group, and the
other number follows from it.
"""

from __future__ import annotations

from typing import cast

import numpy as np

from microagg.kernels import sums
from microagg.methods.clustering.pfsom import VALIDITIES
from microagg.methods.hybrid.classes import ConfidentialClasses
from microagg.methods.hybrid.group_rule import diverse_groups
from microagg.methods.hybrid.splitting import split_into_parts
from microagg.methods.method import Choice, Method, Number, Partition
from microagg.methods.parts import records_by_label
from microagg.problem.problem import Problem, Progress
from microagg.problem.watch import Watch

VALIDITY = Choice(
    "validity",
    VALIDITIES,
    "own-spread",
    "how PFSOM judges a number of clusters: by their own spread, or by that of all",
)


def hm_pfsom(
    problem: Problem,
    *,
    rng: np.ndarray,
    progress: Progress | None = None,
    per_class: int | None = None,
    validity: str = "own-spread",
) -> np.ndarray:
    """Parts by the quasi-identifiers, classes by the confidential columns, groups with their share of every class."""
    points, k = problem.points, problem.k
    watch = Watch(progress, len(points))
    watch.stage(0.0, 0.3)
    parts = split_into_parts(points, k, rng=rng, validity=validity, progress=watch.tell)
    watch.stage(0.3, 1.0)
    found, labels, formed, done = (
        ConfidentialClasses(problem.confidential, validity),
        np.empty(len(points), np.int32),
        0,
        0,
    )
    for records in records_by_label(parts):
        classes = found.of(records, k, rng)
        groups = diverse_groups(np.ascontiguousarray(points[records]), classes, k, per_class)
        labels[records] = groups + formed
        formed += int(groups.max()) + 1
        done += len(records)
        watch.tell(done, len(points))
    return sums.number_by_first_record(labels)


HM_PFSOM = Method(
    name="hm-pfsom",
    family="confidential",
    source="Abidi, Ben Yahia and Perera 2020, algorithm 2",
    summary="parts by clustering; within each, groups with their share of every class of the confidential values",
    good_for="confidential values that must stay diverse within groups, at a price in loss",
    run=cast(Partition, hm_pfsom),
    complexity="O(n √n d) for the parts, near O(n log n) for the groups, O(n² / k) for leftovers at worst",
    parameters=(
        Number(
            "per_class",
            1,
            1e9,
            None,
            "records of the smallest class in each group; by default, and at least, what k takes",
            whole=True,
        ),
        VALIDITY,
    ),
    needs_confidential=True,
    seeded=True,
)

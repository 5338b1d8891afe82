"""HM-PFSOM: groups that are similar in their quasi-identifiers and diverse in their confidential
values.

Source: Abidi, Ben Yahia and Perera 2020 (Journal of Ambient Intelligence and Humanized Computing
11), algorithm 2.

1. PFSOM splits the records into parts by their quasi-identifiers. 2. With `one_class="join"`, a
part in which everybody has the same value of a confidential column joins the part with
   which it loses least, the smallest first, until there are two values; with "keep" it stays as it
   is.
3. PFSOM splits each part into classes by the confidential columns (see `classes.py`). 4. Each part
is grouped by itself, so that every group has its share of every class (see `group_rule.py`): of the
   smallest class `per_class` records, of each other class as many times that as it is larger.
   Leftovers join the nearest group.
5. With "join", a group that shares one value of a column all the same (classes are of all
confidential columns
   together, and may differ in another one) joins the group of its part with which it loses least.
   Where a larger `per_class` leaves more groups than that, it is taken.
6. A part of fewer than k records joins the nearest part, the smallest first: its records join the
nearest groups there.
   Where all the parts that join are so small, they are one group.

Every group has at least k records: `per_class` is by default the smallest number that makes it so,
and raised to that where a smaller one is given. A part whose smallest class has fewer than
`per_class` records is one group.

What it promises. With "join", records of two classes in every group, and so two values at least of
every confidential column that has two in the table (a missing value or a special code is none); no
more than that: no l above 2, and nothing of how often each value comes. With `l` or `t` asked for,
groups that miss it are merged, as for every method. "keep" is the paper's rule: a part of one class
makes groups of one class, which the notes of a release count.

Where it departs from the paper. Steps 2 and 5 are ours: the paper's own example (its table 1) has a
part of one diagnosis. Step 6 is ours, too, and that classes do not depend on k. The number of
groups once rose with k, and two steps were at fault. Mostly the adaptive choice: `per_class`
follows from the classes, and which classes there were followed from k (see `classes.py`; all 68
rises that were seen on 50 made tables). And the joining of small parts before they had classes: two
parts with different small classes have larger ones together, and more groups (3 rises on 50 tables
of small clusters). The rule for leftovers makes no groups. Now parts and classes are the same for
all k, `per_class` only grows with k, and a part that joins another adds no group: the number of
groups never rises with k.

Groups have the classes in the proportions of the part, so a class much smaller than the others
makes all groups large: with classes of 1,000 and 10 records, every group has at least 101, whatever
k is. That is the paper's rule (its table 12 has such parts).

Ties go to the lower record number. Distances are Euclidean on the points as given (the paper prints
sums of signed differences, which cannot be meant; it works on min-max scaled data). The paper lets
the user choose how many records of each class a group has and calls that number k; here k is what
it is everywhere, the least size of a group, and the other number follows from it.
"""

from __future__ import annotations

from typing import cast

import numpy as np

from microagg.kernels import sums
from microagg.methods.clustering.validity import VALIDITIES
from microagg.methods.hybrid.classes import ConfidentialClasses
from microagg.methods.hybrid.group_rule import groups_with, least_per_class, plan_groups
from microagg.methods.hybrid.one_valued import columns_that_differ, join_one_valued
from microagg.methods.hybrid.splitting import join_small_parts, split_into_parts
from microagg.methods.method import Choice, Grouping, Method, Number, Partition
from microagg.methods.parts import records_by_label
from microagg.problem.problem import Problem, Progress
from microagg.problem.watch import Watch

VALIDITY = Choice(
    "validity",
    VALIDITIES,
    "own-spread",
    "how PFSOM judges whether clusters are separate: against their own spread, or that "
    "of all prototypes",
)


ONE_CLASS = Choice(
    "one_class",
    ("join", "keep"),
    "join",
    "what happens to parts and groups with a single confidential value: they join "
    "others, or stay as in the paper",
)


def hm_pfsom(
    problem: Problem,
    *,
    rng: np.ndarray,
    progress: Progress | None = None,
    per_class: int | None = None,
    one_class: str = "join",
    validity: str = "own-spread",
) -> Grouping:
    """Parts by the quasi-identifiers, classes by the confidential columns, groups with their share
    of every class.
    """
    points, k = problem.points, problem.k
    watch = Watch(progress, len(points))
    watch.stage(0.0, 0.3)
    found_parts = split_into_parts(points, 1, rng=rng, validity=validity, progress=watch.tell)
    watch.stage(0.3, 1.0)
    differing = columns_that_differ(problem.confidential) if one_class == "join" else []
    parts = join_one_valued(points, found_parts, differing)
    classes = ConfidentialClasses(problem.confidential, validity)
    labels, formed, done = np.full(len(points), -1, np.int32), 0, 0
    for records in records_by_label(parts):
        # for small parts, too: what the next ones draw must not depend on k
        part_classes = classes.of(records, rng)
        if len(records) >= k:
            within = [column[records] for column in differing]
            groups = _groups_of_part(
                np.ascontiguousarray(points[records]), part_classes, within, k, per_class
            )
            labels[records] = groups + formed
            formed += int(groups.max()) + 1
        done += len(records)
        watch.tell(done, len(points))
    _place_small_parts(points, labels, join_small_parts(points, parts, k))
    return Grouping(sums.number_by_first_record(labels), _told(found_parts, parts))


def _groups_of_part(
    points: np.ndarray,
    classes: np.ndarray,
    columns: list[np.ndarray],
    k: int,
    per_class: int | None,
) -> np.ndarray:
    """The groups of a part, of which none shares one value in these columns: as many as any
    `per_class` leaves.
    """
    sizes = np.bincount(classes).tolist()
    taken = max(per_class or 1, least_per_class(sizes, k))
    best = join_one_valued(points, groups_with(points, classes, taken), columns)
    while plan_groups(sizes, taken + 1).groups > int(best.max()) + 1:
        taken += 1
        groups = join_one_valued(points, groups_with(points, classes, taken), columns)
        best = groups if groups.max() > best.max() else best
    return best


def _place_small_parts(points: np.ndarray, labels: np.ndarray, joined: np.ndarray) -> None:
    """Give the records without a group the nearest one of the part that theirs has joined, or one
    of their own.
    """
    for records in records_by_label(joined):
        placed, rest = records[labels[records] >= 0], records[labels[records] < 0]
        if len(placed) == 0:
            labels[rest] = labels.max() + 1
        elif len(rest) > 0:
            numbers, part_labels = np.unique(labels[placed], return_inverse=True)
            means = sums.group_means(
                np.ascontiguousarray(points[placed]),
                part_labels.reshape(-1).astype(np.int32),
                len(numbers),
            )
            for record in rest:
                labels[record] = numbers[sums.nearest_mean(means, points[record])]


def _told(found_parts: np.ndarray, parts: np.ndarray) -> tuple[str, ...]:
    before, after = int(found_parts.max()) + 1, int(parts.max()) + 1
    if before == after:
        return ()
    return (
        f"parts in which all records have the same confidential value joined others: "
        f"{before} parts became {after}",
    )


HM_PFSOM = Method(
    name="hm-pfsom",
    family="confidential",
    source="Abidi, Ben Yahia and Perera 2020, algorithm 2",
    summary="splits the table by clustering; within each part, every group gets its share of "
    "each class of confidential values: two values in "
    "every group, but no l-diversity unless asked for",
    good_for="confidential values that must stay diverse within groups, at the cost of a higher "
    "loss",
    run=cast(Partition, hm_pfsom),
    complexity="O(n √n d) for the parts, near O(n log n) for the groups, O(n² / k) for leftovers "
    "at worst",
    parameters=(
        Number(
            "per_class",
            1,
            1e9,
            None,
            "records of the smallest class in each group; the default and the minimum "
            "are what k requires",
            whole=True,
        ),
        ONE_CLASS,
        VALIDITY,
    ),
    needs_confidential=True,
    seeded=True,
)

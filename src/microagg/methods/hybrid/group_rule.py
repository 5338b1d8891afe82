"""How HM-PFSOM forms groups in a part: every group takes its share of every class of the
confidential values.

Source: Abidi, Ben Yahia and Perera 2020, algorithm 2 and tables 9 to 12. The algorithm as printed
takes k records of every class; their tables have larger groups, and all but one of the 44 rows come
out with the shares below (sub-Census1 with 20 of the smallest class: they print 82 records, it
makes 80).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from microagg.problem.pointset import Groups, PointSet


@dataclass(frozen=True)
class GroupPlan:
    """What the groups of a part are made of."""

    groups: int
    """How many there are; 0 if the smallest class has too few records for one."""
    takes: tuple[int, ...]
    """How many records each group takes of each class."""

    @property
    def smallest_group(self) -> int:
        """How many records every group has at least; leftovers come on top."""
        return sum(self.takes)


def plan_groups(class_sizes: Sequence[int], per_class: int) -> GroupPlan:
    """Groups with `per_class` records of the smallest class, and so many times that of the others
    as they are larger.

    >>> plan_groups([145, 164, 73], 5)
    GroupPlan(groups=14, takes=(5, 10, 5))
    """
    smallest = min(class_sizes)
    return GroupPlan(
        smallest // per_class, tuple(per_class * (size // smallest) for size in class_sizes)
    )


def least_per_class(class_sizes: Sequence[int], k: int) -> int:
    """The smallest `per_class` that gives groups of at least k records.

    >>> least_per_class([145, 164, 73], 10)
    3
    """
    return -(-k // plan_groups(class_sizes, 1).smallest_group)


def diverse_groups(
    points: np.ndarray, classes: np.ndarray, k: int, per_class: int | None = None
) -> np.ndarray:
    """The group of each record of a part: groups of at least k records with their shares of the
    classes (0, 1, ...).

    1. Without `per_class`, the smallest that gives groups of k records; with one, the larger of the
    two. 2. If the smallest class has fewer records than that, the whole part is one group. 3. As
    many groups as the plan says: around the record farthest from the centre of the part among those
    left, the
       nearest ones of each class. The centre stays.
    4. Each record left over joins the group with the nearest centroid.

    >>> points = np.array([[0.0], [1.0], [2.0], [9.0], [8.0], [7.0]])
    >>> diverse_groups(points, np.array([0, 1, 0, 1, 0, 1]), 2).tolist()
    [0, 0, 1, 2, 2, 1]
    """
    sizes = np.bincount(classes).tolist()
    return groups_with(points, classes, max(per_class or 1, least_per_class(sizes, k)))


def groups_with(points: np.ndarray, classes: np.ndarray, per_class: int) -> np.ndarray:
    """Steps 2 to 4 of `diverse_groups`: the groups with just so many records of the smallest class.

    >>> groups_with(np.array([[0.0], [1.0], [8.0], [9.0]]), np.array([0, 1, 0, 1]), 1).tolist()
    [0, 0, 1, 1]
    """
    sizes = np.bincount(classes).tolist()
    plan = plan_groups(sizes, per_class)
    if plan.groups <= 1:
        return np.zeros(len(points), np.int32)
    left, groups = PointSet(points), Groups(points)
    centre = left.centroid()
    members = [np.flatnonzero(classes == number) for number in range(len(sizes))]
    left_of_class = [PointSet(np.ascontiguousarray(points[records])) for records in members]
    for _ in range(plan.groups):
        outermost = points[left.farthest_from(centre)]
        chosen = [
            records[of_class.take_nearest(outermost, take)]
            for records, of_class, take in zip(members, left_of_class, plan.takes, strict=True)
        ]
        groups.add(left.take(np.concatenate(chosen)))
    groups.join_nearest(left.take_all())
    return groups.labels()

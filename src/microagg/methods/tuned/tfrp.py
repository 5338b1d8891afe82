"""TFRP-1 and TFRP-2: groups around the records farthest from two fixed corners, and a second stage
that tunes them.

Source: Chang, Li and Huang 2007 (Journal of Systems and Software 80), as told by Kabir, Mahmood,
Mustafa and Wang, who state the reference points and the cap; Mortazavi, Jalili and Gohargazi 2013
tell of other reference points.

1. The first reference point has in every column the least of all values, whichever column it is
from; the second the
   largest. They stay.
2. While k records remain: the one farthest from the first reference point and its k - 1 nearest
form a group, then, if k
   remain, the one farthest from the second and its k - 1 nearest, and so on.
3. Each record left over joins the group with the nearest centroid; centroids are not updated. This
is TFRP-1. 4. TFRP-2 goes on: the groups by descending SSE are taken apart where that lowers the
SSE, no record joining a group of
   4k - 1 or more; groups of 2k or more are then split by TFRP-1 with their own extremes (see
   `fine_tuning.py`).

Ties go to the lower record number. Readings, which give all published figures: the order of the
groups and the splitting of large ones. (The extremes of each column, as in Mortazavi et al., do not
give them.) Kabir et al. let no record join a group of a size "over" 4k - 1; here 4k - 1 is the size
that no group goes beyond. No published figure tells the two apart.
"""

from __future__ import annotations

import itertools

import numpy as np

from microagg.methods.method import Method, below_two_k, growing
from microagg.methods.tuned.fine_tuning import tuned, widest_first
from microagg.problem.pointset import Groups, PointSet


def tfrp1(points: PointSet, groups: Groups, k: int) -> None:
    """Groups around the records farthest from two fixed corners of the data, in turns."""
    d = points.matrix.shape[1]
    low, high = points.extremes()
    for corner in itertools.cycle((np.full(d, low), np.full(d, high))):
        if len(points) < k:
            break
        groups.add(points.take_nearest(points.farthest_from(corner), k))
    groups.join_nearest(points.take_all())


def four_k_minus_one(k: int) -> int:
    """The size from which on a group takes no more records in the second stage."""
    return 4 * k - 1


SOURCE = "Chang, Li and Huang 2007"

TFRP1 = Method(
    name="tfrp1",
    family="fine-tuned",
    source=f"{SOURCE} (TFRP-1)",
    summary="forms groups in turn around the records farthest from the columns' minima and from "
    "their maxima",
    good_for="comparing: MDAV's idea with two fixed reference points",
    run=growing(tfrp1),
    complexity="O(n² / k) at worst, near O(n log n) on real data",
    largest_group=below_two_k,
)

TFRP2 = Method(
    name="tfrp2",
    family="fine-tuned",
    source=f"{SOURCE} (TFRP-2)",
    summary="like tfrp1, then dissolves groups where that lowers the loss",
    good_for="clumped data, where some fixed-size groups should be dissolved",
    run=tuned(tfrp1, order=widest_first, splitter=tfrp1, largest=four_k_minus_one),
    complexity="O(n² / k) at worst, near O(n log n) on real data",
    largest_group=below_two_k,
)

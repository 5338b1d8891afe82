"""MDAV-single-group and CBFS (centroid-based fixed size): one group a turn.

Sources: Laszlo and Mukherjee 2005 (IEEE TKDE 17) for CBFS; Chettri and Borah 2012, algorithm 4, for
MDAV-single-group.

1. The record farthest from the centroid of the remaining records and its k - 1 nearest form a
group. 2. MDAV-single-group: repeat while 2k records remain; the rest form the last group. (The
paper writes it as a loop down
   to 3k and one more turn if 2k are left, which is the same.)
   CBFS: repeat while k records remain; each of the rest joins the group with the nearest centroid.

Ties go to the lower record number. CBFS with `leftovers="nearest-updated"` moves a centroid after
each addition, the ending that Mortazavi, Jalili and Gohargazi 2013 use throughout.
"""

from __future__ import annotations

from microagg.methods.mdav.mdav import COMPLEXITY, form_outermost_group
from microagg.methods.method import Choice, Method, below_two_k, growing
from microagg.problem.pointset import Groups, PointSet


def mdav_single_group(points: PointSet, groups: Groups, k: int) -> None:
    """One group a turn while 2k remain; the rest are the last group."""
    while len(points) >= 2 * k:
        form_outermost_group(points, groups, k)
    groups.add(points.take_all())


def cbfs(points: PointSet, groups: Groups, k: int, *, leftovers: str = "nearest") -> None:
    """One group a turn while k remain; each of the rest joins its nearest group."""
    while len(points) >= k:
        form_outermost_group(points, groups, k)
    groups.join_nearest(points.take_all(), updating=leftovers == "nearest-updated")


MDAV_SINGLE_GROUP = Method(
    name="mdav-single-group",
    family="mdav",
    source="Chettri and Borah 2012, algorithm 4",
    summary="forms one group per turn around the outermost record",
    good_for="comparing: one group per turn instead of two",
    run=growing(mdav_single_group),
    complexity=COMPLEXITY,
    largest_group=below_two_k,
)

CBFS = Method(
    name="cbfs",
    family="mdav",
    source="Laszlo and Mukherjee 2005 (centroid-based fixed size); Mortazavi, Jalili and "
    "Gohargazi 2013, figure 1",
    summary="forms one group per turn down to the last k records; leftovers join their nearest "
    "groups",
    good_for="comparing: the simplest fixed-size heuristic around a centroid",
    run=growing(cbfs),
    complexity=COMPLEXITY,
    parameters=(
        Choice(
            "leftovers",
            ("nearest", "nearest-updated"),
            "nearest",
            "whether a group's centroid moves when a leftover record joins it",
        ),
    ),
    largest_group=below_two_k,
)

"""MDAV, MDAV1 and MDAV-generic: two groups a turn, and three ways to end.

Source: Domingo-Ferrer and Torra 2005 (Data Mining and Knowledge Discovery 11), as printed by
Chettri and Borah 2012, algorithms 1 to 3; MDAV1 is the MDAV-1 of Lin, Wen, Hsieh and Chang 2010.

1. The record r farthest from the centroid of the remaining records and its k - 1 nearest form a
group. 2. The record s farthest from r among those still left and its k - 1 nearest form another. 3.
Repeat while 2k records remain (generic: 3k), then end as the variant says.

Ties go to the lower record number. No departure from the paper; `leftovers="nearest-updated"` is
the ending of Mortazavi, Jalili and Gohargazi 2013, which gives the figures that they print.
"""

from __future__ import annotations

from microagg.methods.method import Choice, Method, below_two_k, growing
from microagg.problem.pointset import Groups, PointSet


def form_two_groups(points: PointSet, groups: Groups, k: int) -> None:
    """One turn: a group around the record farthest from the centroid, one around the record
    farthest from that.
    """
    r = points.farthest_from(points.centroid())
    groups.add(points.take_nearest(r, k))
    s = points.farthest_from(r)
    groups.add(points.take_nearest(s, k))


def form_outermost_group(points: PointSet, groups: Groups, k: int) -> None:
    """A group around the record farthest from the centroid."""
    r = points.farthest_from(points.centroid())
    groups.add(points.take_nearest(r, k))


def mdav(points: PointSet, groups: Groups, k: int, *, leftovers: str = "block") -> None:
    """k or more leftovers form a group; fewer join the group whose centroid is nearest to theirs,
    or each its own.
    """
    while len(points) >= 2 * k:
        form_two_groups(points, groups, k)
    if len(points) >= k:
        groups.add(points.take_all())
    else:
        groups.join_nearest(
            points.take_all(),
            as_block=leftovers == "block",
            updating=leftovers == "nearest-updated",
        )


def mdav1(points: PointSet, groups: Groups, k: int) -> None:
    """Of k or more leftovers the outermost and its nearest form a group; the others join their
    nearest centroids.
    """
    while len(points) >= 2 * k:
        form_two_groups(points, groups, k)
    if len(points) >= k:
        form_outermost_group(points, groups, k)
    groups.join_nearest(points.take_all())


def mdav_generic(points: PointSet, groups: Groups, k: int) -> None:
    """Stops at fewer than 3k; 2k or more leftovers form two groups, fewer form one."""
    while len(points) >= 3 * k:
        form_two_groups(points, groups, k)
    if len(points) >= 2 * k:
        form_outermost_group(points, groups, k)
    groups.add(points.take_all())


COMPLEXITY = "O(n² / k) at worst, near O(n log n) on real data"

MDAV = Method(
    name="mdav",
    family="mdav",
    source="Domingo-Ferrer and Torra 2005; Chettri and Borah 2012, algorithm 1",
    summary="forms two groups per turn around the outermost records; leftovers join one group",
    good_for="a baseline: what most tools and papers mean by microaggregation",
    run=growing(mdav),
    complexity=COMPLEXITY,
    parameters=(
        Choice(
            "leftovers",
            ("block", "nearest", "nearest-updated"),
            "block",
            "how fewer than k leftover records join groups: together, each its nearest "
            "centroid, or the same with centroids updated after each",
        ),
    ),
    largest_group=below_two_k,
)

MDAV1 = Method(
    name="mdav1",
    family="mdav",
    source="Lin, Wen, Hsieh and Chang 2010 (MDAV-1); Chettri and Borah 2012, algorithm 3",
    summary="like mdav, but each leftover record joins its nearest group",
    good_for="comparing with papers that assign MDAV's leftovers one by one",
    run=growing(mdav1),
    complexity=COMPLEXITY,
    largest_group=below_two_k,
)

MDAV_GENERIC = Method(
    name="mdav-generic",
    family="mdav",
    source="Domingo-Ferrer and Torra 2005 (generic); Chettri and Borah 2012, algorithm 2",
    summary="like mdav, but stops earlier and forms one or two final groups",
    good_for="comparing with tools whose MDAV ends with larger groups",
    run=growing(mdav_generic),
    complexity=COMPLEXITY,
    largest_group=below_two_k,
)

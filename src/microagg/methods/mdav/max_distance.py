"""Maximum distance (MD) and diameter-based fixed size: groups around the two records farthest
apart.

Sources: Domingo-Ferrer and Mateo-Sanz 2002 (IEEE TKDE 14) for MD; Laszlo and Mukherjee 2005 (IEEE
TKDE 17) for diameter.

1. While 2k records remain: r and s are the two farthest apart. r and its k - 1 nearest form a group
and leave; then s and
   its k - 1 nearest form another.
2. k or more leftovers form a group. 3. Fewer join, MD: as a block the group with the nearest
centroid; diameter: each its own nearest, centroids not updated.

Ties go to the lower record number (of pairs, to the lexicographically smaller). Where the papers
are silent: if s has already gone with r's group (possible among duplicates), the k records nearest
to where s was form the second group.
"""

from __future__ import annotations

from microagg.methods.method import Method, below_two_k, growing
from microagg.problem.pointset import Groups, PointSet


def max_distance(points: PointSet, groups: Groups, k: int) -> None:
    """Groups around the farthest pair; fewer than k leftovers join one group."""
    _form_groups_at_both_ends(points, groups, k)
    groups.join_nearest(points.take_all(), as_block=True)


def diameter(points: PointSet, groups: Groups, k: int) -> None:
    """Groups around the farthest pair; each of fewer than k leftovers joins its nearest group."""
    _form_groups_at_both_ends(points, groups, k)
    groups.join_nearest(points.take_all())


def _form_groups_at_both_ends(points: PointSet, groups: Groups, k: int) -> None:
    while len(points) >= 2 * k:
        r, s = points.farthest_pair()
        groups.add(points.take_nearest(r, k))
        groups.add(points.take_nearest(s, k))
    if len(points) >= k:
        groups.add(points.take_all())


COMPLEXITY = "O(n³ / k) at worst, near O(n log n) times the records on the outside on real data"

MAX_DISTANCE = Method(
    name="max-distance",
    family="mdav",
    source="Domingo-Ferrer and Mateo-Sanz 2002",
    summary="forms two groups per turn around the two records farthest apart",
    good_for="the classic before MDAV; small tables",
    run=growing(max_distance),
    complexity=COMPLEXITY,
    largest_group=below_two_k,
)

DIAMETER = Method(
    name="diameter",
    family="mdav",
    source="Laszlo and Mukherjee 2005 (diameter-based fixed size)",
    summary="like max-distance, but each leftover record joins its nearest group",
    good_for="comparing: groups at both ends of the longest distance",
    run=growing(diameter),
    complexity=COMPLEXITY,
    largest_group=below_two_k,
)

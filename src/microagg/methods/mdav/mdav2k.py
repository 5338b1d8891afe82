"""MDAV2k: groups of variable size whose gain factor is found anew for each neighbourhood.

Source: Chettri and Borah 2012, algorithm 6.

1. While 3k records remain: x is the one farthest from their centroid, y_1..y_2k its 2k nearest
(itself first). The first
   k form a group and leave.
2. The other k, in that order, are tried while the group has fewer than 2k - 1 members: d1 is the
distance of x from the
   group's centroid, d2 that of y, d3 the distance of y from the centroid of y's k nearest among the
   remaining records, y itself included. gamma = d3 / d1, and above 1 it becomes 1 + 1 / (5 +
   gamma). If d2 < gamma * d3, y joins, and the group's centroid moves.
3. With 2k or more left one more group of k is formed; the rest are the last group.

Ties go to the lower record number. Readings: d1 = 0 (duplicates) makes gamma infinite, so its cap
applies (gamma = 1). All of y_k+1..y_2k are tried, as the text says and the printed figures confirm;
the listing stops one earlier. The last step splits at 2k, where the listing prints "more than 2k".
"""

from __future__ import annotations

import math

from microagg.methods.mdav.mdav import form_outermost_group
from microagg.methods.method import Method, below_two_k, growing
from microagg.problem.pointset import Groups, PointSet


def mdav2k(points: PointSet, groups: Groups, k: int) -> None:
    """Groups around the outermost records, extended by those that are nearer to the group than to
    their own kind.
    """
    while len(points) >= 3 * k:
        outermost = points.farthest_from(points.centroid())
        neighbours = points.nearest(outermost, 2 * k)
        group = points.take(neighbours[:k]).tolist()
        for candidate in neighbours[k:]:
            if len(group) < 2 * k - 1 and _belongs(points, group, outermost, candidate, k):
                points.take([candidate])
                group.append(candidate)
        groups.add(group)
    if len(points) >= 2 * k:
        form_outermost_group(points, groups, k)
    groups.add(points.take_all())


def _belongs(points: PointSet, group: list[int], outermost: int, candidate: int, k: int) -> bool:
    centroid = points.centroid_of(group)
    own_kind = points.centroid_of(points.nearest(candidate, k))
    d1 = math.sqrt(points.squared_distance(outermost, centroid))
    d2 = math.sqrt(points.squared_distance(candidate, centroid))
    d3 = math.sqrt(points.squared_distance(candidate, own_kind))
    return d2 < _gain(d1, d3) * d3


def _gain(d1: float, d3: float) -> float:
    gamma = d3 / d1 if d1 > 0.0 else math.inf
    return 1.0 + 1.0 / (5.0 + gamma) if gamma > 1.0 else gamma


MDAV2K = Method(
    name="mdav2k",
    family="mdav",
    source="Chettri and Borah 2012, algorithm 6",
    summary="groups of k to 2k - 1 that adapt to each neighbourhood, without a parameter",
    good_for="clumps of slightly more than k records, at MDAV's speed",
    run=growing(mdav2k),
    complexity="O(n²) at worst, near O(n k log n) on real data",
    largest_group=below_two_k,
)

"""V-MDAV: groups of k that grow to 2k - 1 where the data invite it.

Source: Solanas and Martínez-Ballesté 2006 (COMPSTAT), as printed by Chettri and Borah 2012,
algorithm 5.

1. The centroid of all records is computed once and stays. 2. While k records remain, the one
farthest from that centroid and its k - 1 nearest form a group. 3. The group grows up to 2k - 1: of
the remaining records, e is the one nearest to any member, at distance d_in; d_out is
   e's distance to its own nearest remaining neighbour. e joins if d_in < gamma * d_out, else
   growing ends.
4. Each record left over joins the group with the nearest centroid; a group may then exceed 2k - 1.

Ties go to the lower record number. Where the paper is silent: the only record left while growing
joins (it has no neighbour to compare with), and centroids stay as they were while leftovers join.
Cells of the paper's table with leftovers come out up to 0.02 lower than printed; no rule that was
tried explains them.
"""

from __future__ import annotations

import math

from microagg.methods.mdav.mdav import COMPLEXITY
from microagg.methods.method import Method, Number, growing
from microagg.problem.pointset import Groups, PointSet


def v_mdav(points: PointSet, groups: Groups, k: int, *, gamma: float = 0.2) -> None:
    """Groups around the records farthest from the fixed centroid, each extended while its
    surroundings are denser.
    """
    centroid = points.centroid()
    while len(points) >= k:
        group = points.take_nearest(points.farthest_from(centroid), k).tolist()
        while len(group) < 2 * k - 1 and len(points) > 0:
            candidate, squared_in = points.nearest_to_any(group)
            if len(points) > 1 and not _belongs(points, candidate, squared_in, gamma):
                break
            group.append(candidate)
            points.take([candidate])
        groups.add(group)
    groups.join_nearest(points.take_all())


def _belongs(points: PointSet, candidate: int, squared_in: float, gamma: float) -> bool:
    """Whether the candidate is nearer to the group than gamma times its distance to its nearest
    neighbour.
    """
    first, second = points.nearest(candidate, 2)
    neighbour = second if first == candidate else first
    d_out = math.sqrt(points.squared_distance(candidate, neighbour))
    return math.sqrt(squared_in) < gamma * d_out


V_MDAV = Method(
    name="v-mdav",
    family="mdav",
    source="Solanas and Martínez-Ballesté 2006; Chettri and Borah 2012, algorithm 5",
    summary="groups of variable size; gamma near 0 for scattered data, near 1 for clustered",
    good_for="data in clumps of uneven size, where fixed-size groups would bridge gaps",
    run=growing(v_mdav),
    complexity=COMPLEXITY,
    largest_group=lambda k, n: 3 * k - 2,
    parameters=(Number("gamma", 0.0, 1e6, 0.2, "how readily a group grows beyond k"),),
)

"""k-Ward: Ward's agglomeration in which groups that have k records are never joined with each
other.

Source: Domingo-Ferrer and Mateo-Sanz 2002 (IEEE TKDE 14), multivariate k-Ward, as retold by Kabir,
Mahmood, Mustafa and Wang.

1. The two records farthest apart each form a group with their k - 1 nearest, the first before the
second; every other
   record is a group of its own.
2. Join the two groups that raise the within-groups sum of squares least, never two that both have k
records, until
   every group has k.
3. Apply all of it again to each group of 2k records or more, alone.

Fewer than 2k records are one group. Of equal pairs in step 2 the one with fewer records together is
joined first, then the one with the lower first record, then that with the other's; in step 1 ties
go as in `max-distance`, lower records first. The paper names no tie rule; preferring small pairs
keeps equal records in groups of fewer than 2k. No other departure: the two groups of step 1 both
have k records, so they stay apart and every application splits what it is given.
"""

from __future__ import annotations

from typing import cast

import numpy as np

from microagg.kernels.ward import joined_to_k
from microagg.methods.method import Method, Partition, below_two_k
from microagg.methods.parts import applied_again
from microagg.problem.pointset import Groups, PointSet
from microagg.problem.problem import Problem, Progress


def k_ward(problem: Problem, *, rng: np.ndarray, progress: Progress | None = None) -> np.ndarray:
    """Ward's agglomeration until all groups have k records, applied again to groups of 2k or
    more.
    """
    points, k, n = problem.points, problem.k, len(problem.points)

    def tell(done: int, total: int) -> None:
        """The first application counts for half, the records that are in their last groups for the
        other.
        """
        if progress is not None:
            progress(n * done // (2 * total), n)

    def split(records: np.ndarray) -> np.ndarray:
        return _split(points[records], k, tell if len(records) == n else None)

    return applied_again(n, k, split, lambda done: tell(n + done, n))


def _split(points: np.ndarray, k: int, tell: Progress | None) -> np.ndarray:
    """Steps 1 and 2."""
    left, groups = PointSet(points), Groups(points)
    for extreme in left.farthest_pair():
        groups.add(left.take_nearest(extreme, k))
    for record in left.take_all():
        groups.add([record])
    return joined_to_k(points, groups.labels(), k, tell)


K_WARD = Method(
    name="k-ward",
    family="trees",
    source="Domingo-Ferrer and Mateo-Sanz 2002 (multivariate k-Ward)",
    summary="Ward clustering that never joins two groups of k or more records, repeated within "
    "large groups",
    good_for="clumps of more than k records; groups of varying size",
    run=cast(Partition, k_ward),
    complexity="O(n² d) for each application, O(n d) memory",
    largest_group=below_two_k,
)

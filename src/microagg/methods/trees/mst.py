"""Minimum-spanning-tree partition: the tree is cut along its longest edges, and what is still large
is split.

Source: Laszlo and Mukherjee 2005 (IEEE TKDE 17): the partition of the tree, and its combinations
with their two fixed-size methods, M-d (diameter-based) and M-c (centroid-based).

1. Build the minimum spanning tree of the records. 2. Look at its edges, the longest first, and cut
an edge if both sides of it keep k records. The trees left are the
   parts.
3. Split every part of 2k records or more, alone, by the splitter: m-d as the method `diameter`
does, m-c as `cbfs`
   does; none leaves the parts as they are, however large.

Edges are ordered by squared length, then by their lower and their higher record, so the tree is
unique; of equally long edges the one that is last in that order is cut first. Within a part ties go
to the lower record number. No departure is known, but points nearer than 1e-154 to each other count
as equal. The paper was read through those who retell it and quote its figures, Mortazavi, Jalili
and Gohargazi 2013 and Kabir, Mahmood, Mustafa and Wang: with this reading M-d comes within 0.2 of
the quoted ones.
"""

from __future__ import annotations

from typing import cast

import numpy as np

from microagg.kernels.spanning import cut_longest, spanning_tree
from microagg.kernels.sums import number_by_first_record
from microagg.methods.mdav.max_distance import diameter
from microagg.methods.mdav.single_group import cbfs
from microagg.methods.method import Choice, Method, Partition
from microagg.methods.parts import split_oversized
from microagg.problem.problem import Problem, Progress

SPLITTERS = {"m-d": diameter, "m-c": cbfs}


def mst(
    problem: Problem, *, rng: np.ndarray, progress: Progress | None = None, splitter: str = "m-d"
) -> np.ndarray:
    """Cut the longest edges of the minimum spanning tree while k records stay on both sides; split
    what is large.
    """
    points, k, n = problem.points, problem.k, len(problem.points)

    def tell(done: int, total: int) -> None:
        if progress is not None:
            progress(n * done // (2 * total), n)

    edges, _ = spanning_tree(points, tell)
    parts = number_by_first_record(cut_longest(edges, n, k))
    if splitter == "none":
        return parts
    return split_oversized(
        points, parts, k, SPLITTERS[splitter], lambda done, total: tell(total + done, total)
    )


MST = Method(
    name="mst",
    family="trees",
    source="Laszlo and Mukherjee 2005 (M-d, M-c and the partition of the tree alone)",
    summary="cuts the longest edges of the minimum spanning tree, then splits large parts",
    good_for="chains and clumps far apart; comparing with published M-d figures",
    run=cast(Partition, mst),
    complexity="near O(n log² n) for the tree, O(n k) for the cuts, plus the cost of the splitter "
    "on the largest part",
    parameters=(
        Choice(
            "splitter",
            ("m-d", "m-c", "none"),
            "m-d",
            "how parts of 2k records or more are split: as by diameter, as by cbfs, or not at all",
        ),
    ),
)

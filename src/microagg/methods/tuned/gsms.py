"""GSMS and GSMS-T2: in each turn the group whose removal leaves the lowest SSE, and a second stage
that tunes the groups.

Source: Panagiotakis and Tziritas 2013 (IEEE Transactions on Knowledge and Data Engineering 25), as
told by Mortazavi, Jalili and Gohargazi 2013.

1. The candidates are the sets of each remaining record and its k - 1 nearest that remain. 2. While
2k records remain, choose the candidate that leaves the least SSE if it becomes a group of its own:
the SSE of the
   chosen set together with that of all records outside it as one group. (`measure="rest"` counts
   those outside alone.)
3. The last k to 2k - 1 records form a group. This is GSMS. 4. GSMS-T2 goes on as TFRP-2 does: the
groups by descending SSE are taken apart where that lowers the SSE, no record joining
   a group of 4k - 1 or more; groups of 2k or more are then split by TFRP-1 (see `fine_tuning.py`).

Ties go to the lower record number. Of N records with the mean c, taking out k with the mean g
lowers the sum in step 2 by k N / (N - k) |g - c|²: the candidate whose mean is farthest from c is
chosen, and that is how it is computed. So each turn looks once at every candidate's mean, as c
moves with each turn and all values with it; the original's heaps, for O(n² log n), would not pay.
Readings: the original was not at hand, so what is minimised and how the last records end are taken
from its title and from what is told of it; the cap of 4k - 1 is read as in TFRP-2.
"""

from __future__ import annotations

import numpy as np

from microagg.kernels.neighbourhoods import farthest_centre
from microagg.methods.method import Choice, Method, below_two_k, growing
from microagg.methods.tuned.fine_tuning import tuned, widest_first
from microagg.methods.tuned.neighbourhoods import Neighbourhoods
from microagg.methods.tuned.tfrp import four_k_minus_one, tfrp1
from microagg.problem.pointset import Groups, PointSet


def gsms(points: PointSet, groups: Groups, k: int, *, measure: str = "all") -> None:
    """Turn by turn the set whose removal leaves the least SSE."""
    sets = Neighbourhoods(points, k)
    counted = sets.spreads if measure == "rest" else np.zeros(len(points))
    while len(points) >= 2 * k:
        n = len(points)
        weight = k * n / (n - k) if measure == "rest" else 1.0
        chosen = farthest_centre(sets.centres, counted, sets.candidates, points.centroid(), weight)
        groups.add(sets.take(chosen))
    groups.add(points.take_all())


SOURCE = "Panagiotakis and Tziritas 2013"
COMPLEXITY = "O(n² d / k), and O(n k) questions to the kd-tree; O(n (k + d)) memory"
MEASURE = Choice(
    "measure",
    ("all", "rest"),
    "all",
    "which SSE is minimised: that of the group taken and the records left, or that of "
    "the records left only",
)

GSMS = Method(
    name="gsms",
    family="fine-tuned",
    source=f"{SOURCE} (GSMS)",
    summary="forms in each turn the group whose removal leaves the lowest SSE",
    good_for="comparing: looking ahead one group at a time",
    run=growing(gsms),
    complexity=COMPLEXITY,
    parameters=(MEASURE,),
    largest_group=below_two_k,
)

GSMS_T2 = Method(
    name="gsms-t2",
    family="fine-tuned",
    source=f"{SOURCE} (GSMS-T2)",
    summary="like gsms, then dissolves groups where that lowers the loss",
    good_for="low loss from heuristics alone, where quadratic time is affordable",
    run=tuned(gsms, order=widest_first, splitter=tfrp1, largest=four_k_minus_one),
    complexity=COMPLEXITY,
    parameters=(MEASURE,),
    largest_group=below_two_k,
)

"""DBA-1, DBA-2 and DBA-2P: groups from where the records are densest, and a second stage that tunes
them.

Source: Lin, Wen, Hsieh and Chang 2010 (Expert Systems with Applications 37), as told and quoted by
Kabir, Mahmood, Mustafa and Wang and by Mortazavi, Jalili and Gohargazi 2013.

1. The density of a record is one over the SSE of the set of it and its k - 1 nearest, all among the
records that remain. 2. While k records remain, the set of the densest record becomes a group. 3.
Each record left over joins the group with the nearest centroid; centroids are not updated. This is
DBA-1. 4. DBA-2 goes on: the groups, the last formed first, are taken apart where that lowers the
SSE; groups of 2k or more are then
   split by MDAV-1 (see `fine_tuning.py`).
5. DBA-2P begins with p groups from the other end: p times, the set of the least dense record
becomes a group. Then it goes
   on as DBA-2 does.

Ties go to the lower record number. Readings: densities are computed anew among the records that
remain, in DBA-2P too; the papers at hand say of p only that it is the number of such groups, so its
default is our own choice (on the reference data 1 is better than 5 or more in most cells).
Neighbours are asked for again only where one was taken: O(n k) questions in all instead of O(n² /
k), for the same groups.
"""

from __future__ import annotations

import numpy as np

from microagg.kernels.neighbourhoods import play_again, tournament
from microagg.methods.mdav.mdav import mdav1
from microagg.methods.method import Method, Number, below_two_k, growing
from microagg.methods.tuned.fine_tuning import last_first, tuned
from microagg.methods.tuned.neighbourhoods import Neighbourhoods
from microagg.problem.pointset import Groups, PointSet


def dba1(points: PointSet, groups: Groups, k: int, *, p: int = 0) -> None:
    """The set of the densest record, again and again; before that, p sets of the least dense
    one.
    """
    sets = Neighbourhoods(points, k)
    while p > 0 and len(points) >= k:
        groups.add(sets.take(int(np.where(sets.candidates, sets.spreads, -1.0).argmax())))
        p -= 1
    spreads = np.where(sets.candidates, sets.spreads, np.inf)
    winners = tournament(spreads)
    while len(points) >= k:
        group = sets.take(int(winners[1]))
        groups.add(group)
        spreads[group] = np.inf
        spreads[sets.changed] = sets.spreads[sets.changed]
        play_again(spreads, winners, group)
        play_again(spreads, winners, sets.changed)
    groups.join_nearest(points.take_all())


SOURCE = "Lin, Wen, Hsieh and Chang 2010"
COMPLEXITY = "O(n² k) at worst, near O(n k log n) on real data; O(n (k + d)) memory"

DBA1 = Method(
    name="dba1",
    family="fine-tuned",
    source=f"{SOURCE} (DBA-1)",
    summary="forms groups where records are densest first, and sparse ones last",
    good_for="comparing: the first stage of dba2, with a high loss on its own",
    run=growing(dba1),
    complexity=COMPLEXITY,
    largest_group=below_two_k,
)

DBA2 = Method(
    name="dba2",
    family="fine-tuned",
    source=f"{SOURCE} (DBA-2)",
    summary="like dba1, then dissolves groups where that lowers the loss",
    good_for="clumped data: often the lowest loss of the published heuristics",
    run=tuned(dba1, order=last_first, splitter=mdav1),
    complexity=COMPLEXITY,
    largest_group=below_two_k,
)

DBA2P = Method(
    name="dba2p",
    family="fine-tuned",
    source=f"{SOURCE} (DBA-2P)",
    summary="like dba2, but first forms p groups where records are sparsest",
    good_for="comparing: dba2 with outliers grouped first",
    run=tuned(dba1, order=last_first, splitter=mdav1),
    complexity=COMPLEXITY,
    parameters=(
        Number(
            "p", 0, 1e9, 1, "number of groups formed first, at the lowest densities", whole=True
        ),
    ),
    largest_group=below_two_k,
)

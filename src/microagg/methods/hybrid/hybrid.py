"""Hybrid: the records are split into parts, and any method groups each part.

Source: Abidi, Ben Yahia and Perera 2020 (Journal of Ambient Intelligence and Humanized Computing
11), algorithm 1.

1. Split the records into parts: `split="pfsom"` into the clusters that PFSOM finds,
`split="blocks"` into compact
   blocks of at most `largest` records. A part of fewer than k records joins the part with the
   nearest centroid, the smallest first.
2. Where l or t is asked for and the method `inside` heeds it, parts that miss it as a whole join
others
   (`refine/merging.py`), for no grouping within them could keep it.
3. The method `inside`, with its own defaults, groups each part; all groups together are the result.

Ties go to the lower record number. The paper leaves steps 1 and 3 open; blocks and step 2 are not
from it. A search inside that is stopped is repeated by `stop_after`, see `methods/parts.py`.
"""

from __future__ import annotations

from typing import cast

import numpy as np

from microagg.methods.hybrid.hm_pfsom import VALIDITY
from microagg.methods.hybrid.splitting import SPLITS, split_into_parts
from microagg.methods.lns.lns import STOPPING
from microagg.methods.method import Choice, Grouping, Method, MethodName, Number, Partition
from microagg.methods.parts import check_unfit, in_parts
from microagg.methods.registry import method_named
from microagg.problem.problem import Problem, Progress
from microagg.problem.watch import Watch
from microagg.refine.merging import repair


def hybrid(
    problem: Problem,
    *,
    rng: np.ndarray,
    progress: Progress | None = None,
    split: str = "pfsom",
    inside: str = "mdav",
    validity: str = "own-spread",
    largest: int = 1000,
    time_limit: float | None = None,
    stop_after: int | None = None,
) -> Grouping:
    """Any method within each part of a splitting."""
    method = method_named(inside)
    watch = Watch(progress, len(problem.points), time_limit=time_limit, stop_after=stop_after)
    check_unfit(problem, method, watch)
    watch.stage(0.0, 0.3)
    parts = split_into_parts(
        problem.points,
        problem.k,
        rng=rng,
        split=split,
        validity=validity,
        largest=largest,
        progress=watch.tell,
    )
    if method.heeds_promise:
        parts = repair(problem, parts)
    watch.stage(0.3, 1.0)
    return in_parts(problem, parts, method, rng=rng, watch=watch)


HYBRID = Method(
    name="hybrid",
    family="confidential",
    source="Abidi, Ben Yahia and Perera 2020, algorithm 1",
    summary="splits the table by clustering and runs any method within each part",
    good_for="large tables: makes slow methods affordable, part by part",
    run=cast(Partition, hybrid),
    complexity="O(n √n d) for the parts, then that of the method inside",
    parameters=(
        Choice("split", SPLITS, "pfsom", "clusters of PFSOM, or compact blocks"),
        MethodName(
            "inside",
            "mdav",
            "hybrid",
            "the method that groups each part, with its default parameters",
        ),
        VALIDITY,
        Number(
            "largest", 2, 1e9, 1000, "maximum number of records in a block, at least 2k", whole=True
        ),
        *STOPPING,
    ),
    seeded=True,
)

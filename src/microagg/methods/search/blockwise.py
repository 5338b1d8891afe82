"""Large tables block by block: what `auto` does above 500,000 records, in memory, and what a
plan beyond memory strings together.

1. A sample of the records, by a hash of their numbers, gives a tree of cuts; its leaves, small ones
joined, are the blocks. 2. `auto` within each block, each record getting the work that it would get
in the whole table. 3. What a border kept apart is mended: a second tree cuts elsewhere, whole
groups go to the block in which their centroid lies, and local
   search goes on from there (`work_shifted_block`).

Each step looks at one block, or at one chunk of records, at a time. l, t and units are judged
against the whole table throughout.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import cast

import numpy as np

from microagg.formatting import counted
from microagg.kernels import random, sums
from microagg.methods.lns.effort import default_work
from microagg.methods.lns.lns import ROUNDS, STOPPING, settings_of
from microagg.methods.method import Effort, Grouping, Method, Partition, below_two_k
from microagg.methods.parts import in_parts, records_by_label
from microagg.problem.blocks import BlockTree, block_size, in_sample, sample_size
from microagg.problem.problem import Problem, Progress
from microagg.problem.watch import Watch
from microagg.refine.local import improve

MOST_AS_ONE = 500_000  # records of a table that are worked on as a whole
GROUPS_A_BLOCK = 40  # at least, whatever k is
SMALL = 4  # a leaf with less than this part of a block is joined with its neighbour
BLOCKS_SHARE = 0.75  # of the whole time, as a progress bar sees it


def needs_blocks(problem: Problem) -> bool:
    """Return whether the table is a large one, and these records of it (all, or those of a
    stratum) are more than one block.
    """
    n, axes = problem.points.shape
    return (problem.of_records or n) > MOST_AS_ONE and n > largest_block(axes, problem.k)


def largest_block(axes: int, k: int) -> int:
    """Return the records of a block, about.

    >>> largest_block(8, k=5), largest_block(8, k=10_000)
    (250000, 400000)
    """
    return max(block_size(axes), GROUPS_A_BLOCK * k)


def least_block(axes: int, k: int) -> int:
    """Return the fewest records of a leaf that is a block by itself."""
    return max(2 * k, largest_block(axes, k) // SMALL)


@dataclass(frozen=True)
class Trees:
    """The two trees of cuts of a table or a stratum: one for the blocks, one for those whose
    borders lie elsewhere.
    """

    first: BlockTree
    second: BlockTree

    @staticmethod
    def fit(sample: np.ndarray, records: int, k: int) -> Trees:
        """The trees of so many records, from a sample of them in their order."""
        largest = largest_block(sample.shape[1], k)
        return Trees(
            BlockTree.fit(sample, records, largest),
            BlockTree.fit(sample, records, largest, shifted=True),
        )


def in_blocks(
    problem: Problem, method: Method, *, rng: np.ndarray, effort: str | float, watch: Watch
) -> Grouping:
    """Search in blocks, then in blocks whose borders lie elsewhere.

    Three numbers are drawn: for the sample, for the blocks, for those of the second pass.
    """
    n, axes = problem.points.shape
    chosen = in_sample(
        0, n, n, int(random.next_integer(rng)), sample_size(n, largest_block(axes, problem.k))
    )
    trees = Trees.fit(problem.points[chosen], n, problem.k)
    part = replace(problem, of_records=problem.of_records or n)
    blocks = blocks_of(problem, trees.first)
    sizes = np.bincount(blocks)
    params = {"effort": effort}
    watch.stage(0.0, BLOCKS_SHARE)
    grouping = in_parts(part, blocks, method, rng=rng, params=params, watch=watch)
    shifted = np.zeros(0, np.int64)
    if watch.stopped is None:
        watch.stage(BLOCKS_SHARE, 1.0)
        second = shifted_blocks_of(problem, trees.second, grouping.labels, blocks)
        shifted = np.bincount(second)
        along = {"labels": grouping.labels, "blocks": blocks}
        grouping = in_parts(part, second, SHIFTED, rng=rng, params=params, along=along, watch=watch)
    why = describe_blocks(
        records=n, varying=_varying(problem.points), columns=problem.columns, k=problem.k,
        promise=None if problem.accept is None else problem.accept.promise.name,
        sizes=sizes, shifted=shifted, effort=effort, whole=problem.of_records,
    )  # fmt: skip
    return Grouping(grouping.labels, why, settings_of(watch), watch.stopped, passed=watch.passed)


def _varying(points: np.ndarray) -> int:
    """Count the axes that vary, one after the other: a difference of whole matrices would need
    their room.
    """
    return sum(bool(points[:, j].min() < points[:, j].max()) for j in range(points.shape[1]))


def blocks_of(problem: Problem, tree: BlockTree) -> np.ndarray:
    """(n,) int32: the block of each record, by counts of the leaves and what each of them can
    keep of a promise.
    """
    leaves = tree.leaf_of(problem.points)
    counts, accept = np.bincount(leaves, minlength=len(tree)), problem.accept
    fits = None
    if accept is not None:
        by_leaf = records_by_label(leaves)
        fits = lambda chosen: accept(np.concatenate([by_leaf[i] for i in chosen]))  # noqa: E731
    return tree.joined(counts, least_block(problem.points.shape[1], problem.k), fits)[leaves]


def shifted_leaves(tree: BlockTree, points: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """(n,) int32: the leaf of each record of a block when its whole group goes where its
    centroid lies.
    """
    return tree.leaf_of(sums.group_means(points, labels, int(labels.max()) + 1))[labels]


def shifted_blocks_of(
    problem: Problem, tree: BlockTree, labels: np.ndarray, blocks: np.ndarray
) -> np.ndarray:
    """(n,) int32: the block of each record in the second pass. Groups keep any promise, and so
    does what is made of them.
    """
    leaves = np.empty(len(labels), np.int32)
    for records in records_by_label(blocks):
        local = sums.number_by_first_record(labels[records])
        leaves[records] = shifted_leaves(tree, problem.points[records], local)
    counts = np.bincount(leaves, minlength=len(tree))
    return tree.joined(counts, least_block(problem.points.shape[1], problem.k))[leaves]


def work_shifted_block(
    problem: Problem,
    *,
    labels: np.ndarray,
    blocks: np.ndarray,
    rng: np.ndarray,
    progress: Progress | None = None,
    effort: str | float = "balanced",
    time_limit: float | None = None,
    stop_after: int | None = None,
) -> Grouping:
    """Go on from groups that were formed in other blocks (`blocks` says in which): local search,
    where they meet.
    """
    watch = Watch(progress, len(problem.points), time_limit=time_limit, stop_after=stop_after)
    labels = sums.number_by_first_record(labels)
    if watch.stopped is None:
        labels = improve(problem, labels, rounds=ROUNDS, progress=watch.tell)
    return Grouping(labels, (), settings_of(watch), watch.stopped, passed=watch.passed)


def describe_blocks(
    *,
    records: int,
    varying: int,
    columns: int | None,
    k: int,
    promise: str | None,
    sizes: np.ndarray,
    shifted: np.ndarray,
    effort: str | float,
    whole: int | None = None,
) -> tuple[str, ...]:
    """Describe in sentences the work on a table (or on a stratum of a `whole` one), and its
    reasons.

    `varying` is the number of axes that vary, `columns` of how many columns they are (None where
    each is one), `sizes` and `shifted` how many records the blocks of both passes have (none of the
    second where a search was stopped before).

    >>> sizes = np.array([250_000, 350_000])
    >>> why = describe_blocks(
    ...     records=600_000, varying=2, columns=None, k=5, promise=None, sizes=sizes,
    ...     shifted=np.array([]), effort="quick",
    ... )
    >>> why[0].partition(": ")[2]
    '2 blocks of 250,000 to 350,000 records, MDAV within smaller ones, then local search'
    """
    work = default_work(records, k, effort, whole).why
    if promise is not None:
        work = f"{promise}: kept in every block; {work}"
        work += (
            "" if effort == "quick" else ", fewer with a word for effort because each costs more"
        )
    why = [
        f"{records:,} records, {varying_in_words(varying, columns)}, k = {k}: "
        f"{_blocks(sizes)}, MDAV within smaller ones, "
        "then local search",
        work,
    ]
    if len(shifted):
        why.append(f"then local search across their borders, in {_blocks(shifted)}")
    return tuple(why)


def varying_in_words(axes: int, columns: int | None) -> str:
    """Describe what varies: columns, or the axes that columns of categories and gaps became.

    >>> varying_in_words(3, None), varying_in_words(7, 2)
    ('3 columns that vary', '2 columns on 7 axes that vary')
    """
    return (
        f"{axes} columns that vary"
        if columns is None
        else f"{counted(columns, 'column')} on {axes} axes that vary"
    )


def _blocks(sizes: np.ndarray) -> str:
    return f"{counted(len(sizes), 'block')} of {sizes.min():,} to {sizes.max():,} records"


SHIFTED = Method(
    name="auto",
    family="search",
    source="microagg",
    summary="goes on from groups formed in other blocks",
    good_for="the second pass of auto on large tables",
    run=cast(Partition, work_shifted_block),
    complexity="O(n log n) in practice",
    parameters=(
        Effort("effort", ("quick", "balanced"), "balanced", "how hard to search"),
        *STOPPING,
    ),
    largest_group=below_two_k,
    seeded=True,
    heeds_promise=True,
)

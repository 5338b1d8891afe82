"""Compact blocks of records that a preview searches, drawn by their scatter."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from microagg.kernels import random
from microagg.methods.parts import records_by_label
from microagg.problem.blocks import BlockTree, in_sample

LEAVES_A_BLOCK, MOST_LEAVES, SAMPLE_A_LEAF = 8, 2_000, 16
"""Leaves that a block is joined from, at most so many in all, and records of the sample for each:
the scatter within small leaves follows the error of groups; that of blocks may be distances between
clusters.
"""
SMALLEST_BLOCK = 0.6
"""Share of the wanted size that a block has at least."""


@dataclass(frozen=True)
class PreviewBlocks:
    """Compact blocks of all records, and the scatter of each."""

    records: list[np.ndarray]
    scatter: np.ndarray
    """(blocks,): squared distances within its leaves, to which its error is about proportional."""

    @staticmethod
    def of(points: np.ndarray, largest: int, strata: np.ndarray | None, seed: int) -> PreviewBlocks:
        """Cut records into compact blocks of about `largest` at most, each within one stratum."""
        regions = [np.arange(len(points))] if strata is None else records_by_label(strata)
        blocks: list[np.ndarray] = []
        scatter: list[float] = []
        for region in regions:
            inside = points if len(region) == len(points) else points[region]
            tree = _small_leaves(inside, largest, seed)
            leaves = tree.leaf_of(inside)
            by_leaf = np.array([_scatter(inside[rows]) for rows in records_by_label(leaves)])
            counts = np.bincount(leaves, minlength=len(tree))
            joined = tree.joined(counts, math.ceil(SMALLEST_BLOCK * min(largest, len(region))))
            blocks += [region[rows] for rows in records_by_label(joined[leaves])]
            scatter += np.bincount(joined[: len(by_leaf)], by_leaf).tolist()
        return PreviewBlocks(blocks, np.array(scatter))

    def draw(self, count: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the drawn blocks and the chance that each had to be drawn.

        Blocks that would have a chance of 1 or more are always taken, the others systematically.
        """
        chances = chances_by_size(self.scatter, count)
        order = random.permutation(random.seeded(seed, "preview blocks"), len(chances))
        ends = np.cumsum(chances[order])
        start = random.below(random.seeded(seed, "preview start"), 1 << 32) / float(1 << 32)
        steps = np.arange(math.floor(ends[-1] + 1e-9)) + start
        picked = np.unique(order[np.minimum(np.searchsorted(ends, steps), len(order) - 1)])
        always = np.flatnonzero(chances >= 1.0)
        chosen = np.union1d(picked, always)
        return chosen, chances[chosen]

    def standard_error(self, chosen: np.ndarray, chances: np.ndarray, errors: np.ndarray) -> float:
        """Return the standard error of the estimated total of squared errors."""
        drawn = chances < 1.0
        count = int(drawn.sum())
        if count < 2:
            return 0.0
        rest = np.setdiff1d(np.arange(len(self.scatter)), chosen[~drawn])
        ratios = errors[drawn] / np.maximum(self.scatter[chosen[drawn]], 1e-300)
        spread = float(np.std(ratios, ddof=1)) / math.sqrt(count)
        return float(self.scatter[rest].sum()) * spread


def _small_leaves(points: np.ndarray, largest: int, seed: int) -> BlockTree:
    """Return a tree of which several leaves make up a block of about `largest` records."""
    records = len(points)
    leaf = max(largest // LEAVES_A_BLOCK, math.ceil(records / MOST_LEAVES), 1)
    if records <= largest:
        leaf = records
    sample = in_sample(0, records, records, seed, SAMPLE_A_LEAF * math.ceil(records / leaf))
    if not sample.any():
        sample[:] = True
    return BlockTree.fit(points[sample], records, leaf)


def _scatter(points: np.ndarray) -> float:
    """Return squared distances to the centroid, as they shrink if a leaf has more records."""
    if not len(points):
        return 0.0
    squares = float(((points - points.mean(axis=0)) ** 2).sum())
    return squares * float(len(points)) ** (-2.0 / points.shape[1])


def chances_by_size(sizes: np.ndarray, count: int) -> np.ndarray:
    """Return the chance of each block to be among `count`, in proportion to its size; at most 1.

    >>> chances_by_size(np.array([1.0, 1.0, 2.0, 6.0]), 2).round(3).tolist()
    [0.25, 0.25, 0.5, 1.0]
    """
    sizes = np.maximum(sizes, 1e-12 * max(float(sizes.sum()), 1e-300) / len(sizes))
    chances = np.ones(len(sizes))
    if count >= len(sizes):
        return chances
    free = np.ones(len(sizes), bool)
    while True:
        left = count - int((~free).sum())
        chances[free] = left * sizes[free] / sizes[free].sum()
        if left <= 0 or not (chances[free] >= 1.0).any():
            return np.clip(chances, 1e-12, 1.0)
        free &= chances < 1.0
        chances[~free] = 1.0

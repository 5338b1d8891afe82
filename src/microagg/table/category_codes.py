"""Codes of categories: coordinates whose distances are those between categories."""

from __future__ import annotations

import numpy as np

from microagg.kernels import random
from microagg.table.hierarchy import Hierarchy
from microagg.table.variable import Variable

MOST_INDICATORS = 64
"""Up to so many values of a nominal column have an axis each; more get sign codes of this length.
"""


QUARTILES_OF_NORMAL = 1.349
"""The distance between the quartiles of a normal column, in standard deviations."""


def blends_of(variable: Variable, counts: np.ndarray) -> dict[int, np.ndarray]:
    """Of each level that is a node above values: which values it stands for, as often as they
    occur.
    """
    tree, result = variable.hierarchy, {}
    if tree is None or not tree.inner:
        return result
    nodes = tree.ancestors(variable.levels, variable.name)
    for index, level in enumerate(variable.levels):
        height = None if level is None else tree.inner.get(str(level))
        if height is not None:
            below = np.where(nodes[:, height] == nodes[index, height], counts, 0)
            missing = [j for j, name in enumerate(variable.levels) if name is None]
            below[missing] = 0  # the top is above what is missing, but does not stand for it
            if below.sum() > 0:
                result[index] = below / below.sum()
    return result


def nodes_of(variable: Variable, tree: Hierarchy) -> np.ndarray:
    """(values, levels of the tree below its top): nodes numbered from 0; what is missing has nodes
    of its own.
    """
    nodes = tree.ancestors(variable.levels, variable.name)[:, :-1]
    return np.column_stack(
        [np.unique(level, return_inverse=True)[1].reshape(-1) for level in nodes.T]
    )


def step_of(nodes: np.ndarray, counts: np.ndarray, scale: str, importance: float) -> float:
    """Return the squared distance that each differing level adds; 0 if all records have one
    category.
    """
    if (counts > 0).sum() <= 1:
        return 0.0
    if scale in ("minmax", "none"):
        return importance / nodes.shape[1]
    spread = 0.0
    for level in nodes.T:
        # 1 - Σp² in whole numbers: n² exceeds 2⁵³, and Python's do not end
        of_nodes = [int(count) for count in np.bincount(level, counts)]
        records = sum(of_nodes)
        spread += (records**2 - sum(count**2 for count in of_nodes)) / records**2
    step = 2.0 * importance / spread
    return step / QUARTILES_OF_NORMAL**2 if scale == "robust" else step


def codes_of_nodes(count: int, step: float) -> np.ndarray:
    """(count, axes): coordinates of categories whose squared distances are all `step`, or nearly
    where there are many.

    Many get a sign on each of 64 axes, the bits of our random numbers in their order: any two
    differ on about half of them.
    """
    if count <= 2:
        return np.array([[-0.5], [0.5]])[:count] * np.sqrt(step)
    norm = np.sqrt(0.5 * step)
    if count <= MOST_INDICATORS:
        return norm * np.eye(count)
    state = random.seeded("codes of nominal values")
    drawn = np.array([random.next_integer(state) for _ in range(count)], np.uint64)
    bits = (drawn[:, None] >> np.arange(MOST_INDICATORS, dtype=np.uint64)) & np.uint64(1)
    return norm / np.sqrt(MOST_INDICATORS) * (2.0 * bits - 1.0)


def row_squares(differences: np.ndarray) -> np.ndarray:
    """Return the sum of squares of each row, in the order of the columns."""
    total = np.zeros(len(differences))
    for column in differences.T:
        total += column * column
    return total

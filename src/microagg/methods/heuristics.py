"""Heuristics that form one group after another, and the groups they form of a matrix of points."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from microagg.problem.pointset import Groups, PointSet
from microagg.problem.problem import Progress

Heuristic = Callable[..., None]
"""A method that forms one group after another: heuristic(points, groups, k, **parameters)."""


def labels_by(
    heuristic: Heuristic,
    points: np.ndarray,
    k: int,
    progress: Progress | None = None,
    **params: Any,
) -> np.ndarray:
    """The groups that a heuristic forms of these points.

    >>> from microagg.methods.mdav.mdav import mdav
    >>> labels_by(mdav, np.array([[0.0], [1.0], [9.0], [8.0]]), 2).tolist()
    [0, 0, 1, 1]
    """
    groups = Groups(points)
    heuristic(PointSet(points, progress), groups, k, **params)
    return groups.labels()

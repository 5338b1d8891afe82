"""Pictures, drawn with matplotlib (the extra `plots`)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from microagg.errors import InputError
from microagg.kernels import sums
from microagg.measures.loss.sse import loss_of_partition
from microagg.problem.problem import as_points

NUMBERED = 40  # with more groups than this, numbers would hide the picture


def draw_groups(points: Any, labels: np.ndarray, path: str | Path, title: str = "") -> None:
    """Draw points in the plane, each group in a colour with its outline and, if they are few, its number.

    For the data holder: it shows single records.
    """
    matrix = as_points(points)
    if matrix.shape[1] != 2:
        raise InputError(f"groups can be drawn in two columns, and there are {matrix.shape[1]}.")
    pyplot = _pyplot()
    figure, axes = pyplot.subplots(figsize=(6.4, 6.0), layout="constrained")
    colours = pyplot.get_cmap("tab10")
    groups = int(labels.max()) + 1
    means = sums.group_means(matrix, labels, groups)
    size = float(np.clip(3000 / len(matrix), 2, 14))
    for g in range(groups):
        members = matrix[labels == g]
        colour = colours(g % 10)
        axes.scatter(*members.T, s=size, color=colour, linewidths=0)
        outline = np.array(convex_outline(members))
        axes.fill(*outline.T, facecolor=(*colour[:3], 0.12), edgecolor=(*colour[:3], 0.9), linewidth=0.8)
        if groups <= NUMBERED:
            axes.annotate(str(g + 1), means[g], ha="center", va="center", fontsize=10, weight="bold")
    axes.plot(*means.T, "k+", markersize=5 if groups > NUMBERED else 0)
    loss = loss_of_partition(matrix, labels)["IL"]
    axes.set_title(
        f"{title}\n{len(matrix):,} records, {groups} groups, IL = {loss:.2f} %".strip(), fontsize=11
    )
    axes.set_xlabel("x₁")
    axes.set_ylabel("x₂")
    axes.set_aspect("equal", adjustable="datalim")
    figure.savefig(path, dpi=110)
    pyplot.close(figure)


def convex_outline(points: np.ndarray) -> list[tuple[float, float]]:
    """The corners of the convex hull, counter-clockwise (Andrew's monotone chain).

    >>> convex_outline(np.array([[0.0, 0.0], [2.0, 0.0], [1.0, 0.5], [1.0, 2.0]]))
    [(0.0, 0.0), (2.0, 0.0), (1.0, 2.0)]
    """
    corners = sorted({(float(x), float(y)) for x, y in points})
    if len(corners) < 3:
        return corners

    def half(sequence: list[tuple[float, float]]) -> list[tuple[float, float]]:
        chain: list[tuple[float, float]] = []
        for x, y in sequence:
            while len(chain) > 1:
                (a, b), (c, d) = chain[-2:]
                if (c - a) * (y - b) - (d - b) * (x - a) > 0:
                    break
                chain.pop()
            chain.append((x, y))
        return chain[:-1]

    return half(corners) + half(corners[::-1])


def _pyplot() -> Any:
    try:
        import matplotlib
    except ImportError:
        raise InputError("pictures need matplotlib; install microagg with the extra 'plots'.") from None
    matplotlib.use("Agg")
    from matplotlib import pyplot

    return pyplot

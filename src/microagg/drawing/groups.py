"""Pictures of groups, drawn with matplotlib (the extra `plots`)."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np

from microagg.drawing.canvas import blank_figure, write_picture
from microagg.errors import InputError
from microagg.kernels import sums
from microagg.measures.loss.sse import loss_of_partition
from microagg.problem.problem import as_points

NUMBERED = 40  # with more groups than this, numbers would hide the picture


def draw_groups(points: Any, labels: np.ndarray, path: str | Path, title: str = "") -> None:
    """Draw points in the plane, each group in a colour with its outline and, if they are few, its
    number.

    For the data holder: it shows single records.
    """
    matrix = as_points(points)
    if matrix.shape[1] != 2:
        raise InputError(
            f"groups can only be drawn in two columns, and there are {matrix.shape[1]}."
        )
    with blank_figure((6.4, 6.0)) as figure:
        axes = figure.add_subplot()
        _draw_groups(axes, matrix, labels)
        loss = loss_of_partition(matrix, labels)["IL"]
        about = f"{len(matrix):,} records, {int(labels.max()) + 1} groups, IL = {loss:.2f} %"
        axes.set_title(f"{title}\n{about}".strip(), fontsize=11)
        axes.set_xlabel("x₁")
        axes.set_ylabel("x₂")
        axes.set_aspect("equal", adjustable="datalim")
        drawn = io.BytesIO()
        figure.savefig(drawn, format=Path(path).suffix[1:].lower() or "png", dpi=110)
    write_picture(Path(path), drawn.getvalue(), private=True)


def _draw_groups(axes: Any, matrix: np.ndarray, labels: np.ndarray) -> None:
    groups = int(labels.max()) + 1
    means = sums.group_means(matrix, labels, groups)
    size = float(np.clip(3000 / len(matrix), 2, 14))
    for g in range(groups):
        members = matrix[labels == g]
        colour = f"C{g % 10}"
        axes.scatter(*members.T, s=size, color=colour, linewidths=0)
        outline = np.array(convex_outline(members))
        axes.fill(*outline.T, facecolor=(colour, 0.12), edgecolor=(colour, 0.9), linewidth=0.8)
        if groups <= NUMBERED:
            axes.annotate(
                str(g + 1), means[g], ha="center", va="center", fontsize=10, weight="bold"
            )
    axes.plot(*means.T, "k+", markersize=5 if groups > NUMBERED else 0)


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

"""The legend of a map: marks and names beside the picture, in parts with headings, in one column or
two.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from microagg.drawing.markers import Mark

ONE_COLUMN = 30  # entries
TORN = 4  # a part that goes on in the second column is worth so many lines of difference


@dataclass(frozen=True)
class Entry:
    """A line of a legend: a mark with its name, a line with its name, or a heading if it has
    neither.
    """

    text: str
    mark: Mark | None = None
    line: bool = False


def in_columns(sections: Sequence[Sequence[Entry]]) -> list[list[Entry]]:
    """The entries in columns of the same length, filled up with empty ones; parts stay whole where
    that is possible.

    >>> [len(column) for column in in_columns([[Entry("mdav")] * 12, [Entry("search")] * 30])]
    [21, 21]
    """
    entries = [entry for section in sections for entry in section]
    if len(entries) <= ONE_COLUMN:
        return [entries]
    starts = {sum(map(len, sections[:i])) for i in range(len(sections))}

    def cost(at: int) -> int:
        return max(at, len(entries) - at) + (0 if at in starts else TORN)

    # a heading never stands alone below a column
    cut = min((at for at in range(1, len(entries)) if at - 1 not in starts), key=cost)
    length = max(cut, len(entries) - cut)
    return [
        column + [Entry("")] * (length - len(column)) for column in (entries[:cut], entries[cut:])
    ]


def draw_legend(figure: Any, columns: Sequence[Sequence[Entry]], title: str) -> None:
    """Draw the legend to the right of everything else."""
    entries = [entry for column in columns for entry in column]
    legend = figure.legend(
        [_handle(entry) for entry in entries],
        [entry.text for entry in entries],
        loc="outside right upper",
        ncols=len(columns),
        frameon=False,
        title=title,
        alignment="left",
        fontsize=8.5,
        title_fontsize=8.5,
        labelspacing=0.35,
        columnspacing=1.2,
    )
    for entry, text in zip(entries, legend.get_texts(), strict=True):
        if entry.mark is None and not entry.line:
            text.set_fontweight("bold")
            text.set_color("#555555")


def _handle(entry: Entry) -> Any:
    from matplotlib.lines import Line2D

    if entry.line:
        return Line2D([], [], color="#999999", linewidth=1.0)
    if entry.mark is None:
        return Line2D([], [], linestyle="none")
    return Line2D(
        [],
        [],
        linestyle="none",
        marker=entry.mark.shape,
        markersize=6.5 * math.sqrt(entry.mark.area),
        markerfacecolor=entry.mark.face,
        markeredgecolor=entry.mark.edge,
        markeredgewidth=entry.mark.edge_width,
    )

"""The risk–utility map: what many releases of one table lose, and what an intruder gains by
them.
"""

from __future__ import annotations

import io
import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from microagg.drawing.canvas import blank_figure, write_picture
from microagg.drawing.legend import Entry, draw_legend, in_columns
from microagg.drawing.markers import COLOURS, Mark, hollow_marks, marks_of
from microagg.errors import InputError

SETTINGS = {"svg.hashsalt": "microagg", "font.size": 9.0}
ENDINGS = (".png", ".svg")
# with more marks than this on the front, its labels tell k alone and leave the method to its mark
NAMED = 12
FEW_WORDS = 3
NEAR = 40.0  # pixels
RADIUS = 4.0  # of a mark, in pixels, that a label keeps away from
FAR = 12  # points between a mark and its label from which on a line leads from one to the other
WIDE = 5.0  # an axis whose largest value is so many times its smallest is logarithmic
SMALLEST, LARGEST = 32.0, 80.0  # marks, in square points


@dataclass(frozen=True)
class MapPoint:
    """One release on the map."""

    method: str
    k: int
    loss: float
    risk: float
    on_front: bool = False
    """Whether no other release beats it in both loss and risk. One that is not k-anonymous is never
    on the front.
    """
    k_anonymous: bool = True
    family: str = ""
    """The family of its method: where many methods are drawn, those of a family look alike."""


def draw_map(
    points: Sequence[MapPoint],
    path: str | Path | None = None,
    *,
    loss: str = "loss",
    risk: str = "risk",
    title: str = "",
) -> str:
    """Draw risk against loss, a mark for each method, larger for larger k, and the front as a line.

    No two methods have the same mark, by colour, shape and filling. Releases that are not
    k-anonymous are hollow and grey and take no part in the front. Only the front is labelled: with
    method and k, or with k alone where it is long. Axes are logarithmic where values differ widely.
    Returns the SVG text if no path is given, else ""; the path's ending says which, .png or .svg.
    The same points give the same bytes.
    """
    if not points:
        raise InputError("there is nothing to draw: no release has figures.")
    if path is not None and Path(path).suffix.lower() not in ENDINGS:
        raise InputError(f"cannot draw {Path(path).name!r}; name a file that ends in .png or .svg.")
    marks = marks_of({point.method: point.family for point in points if point.k_anonymous})
    hollow = hollow_marks(point.method for point in points if not point.k_anonymous)
    columns = in_columns(_sections(points, marks, hollow))
    inches = (8.0 + 2.0 * len(columns), max(6.2, 0.2 * len(columns[0]) + 1.2))
    with blank_figure(inches, SETTINGS) as figure:
        axes = figure.add_subplot()
        _draw_points(axes, points, marks, hollow)
        _draw_front(axes, points)
        _label_axes(axes, points, loss, risk)
        axes.set_title(title, fontsize=11)
        draw_legend(figure, columns, _sizes(points))
        _label_front(figure, axes, points)
        drawn = io.BytesIO()
        ending = ".svg" if path is None else Path(path).suffix.lower()
        metadata = {"Date": None} if ending == ".svg" else {"Software": None}
        figure.savefig(drawn, format=ending[1:], dpi=130, metadata=metadata)
    if path is None:
        return drawn.getvalue().decode()
    write_picture(Path(path), drawn.getvalue())
    return ""


def _label_axes(axes: Any, points: Sequence[MapPoint], loss: str, risk: str) -> None:
    axes.set_xlabel(loss)
    axes.set_ylabel(risk)
    axes.grid(color="#dddddd", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    axes.margins(0.06)
    _stretch(axes, "x", [point.loss for point in points])
    _stretch(axes, "y", [point.risk for point in points])


def _stretch(axes: Any, which: str, values: Sequence[float]) -> None:
    """Make an axis logarithmic where that shows more, with plain numbers on it."""
    if min(values) <= 0.0 or max(values) < WIDE * min(values):
        return
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    getattr(axes, f"set_{which}scale")("log")
    axis = getattr(axes, f"{which}axis")
    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_formatter(NullFormatter())


def _draw_points(
    axes: Any, points: Sequence[MapPoint], marks: dict[str, Mark], hollow: dict[str, Mark]
) -> None:
    ks = sorted({point.k for point in points})
    # small marks stay visible on large ones
    for point in sorted(points, key=lambda point: -point.k):
        mark = marks[point.method] if point.k_anonymous else hollow[point.method]
        size = SMALLEST + (LARGEST - SMALLEST) * ks.index(point.k) / max(len(ks) - 1, 1)
        axes.scatter(
            point.loss,
            point.risk,
            s=size * mark.area,
            marker=mark.shape,
            facecolor=mark.face,
            edgecolor=mark.edge,
            linewidth=mark.edge_width,
            zorder=3,
        )


def _front(points: Sequence[MapPoint]) -> list[MapPoint]:
    """The front from left to right."""
    return sorted(
        (point for point in points if point.on_front and point.k_anonymous),
        key=lambda point: (point.loss, point.risk),
    )


def _draw_front(axes: Any, points: Sequence[MapPoint]) -> None:
    front = [(point.loss, point.risk) for point in _front(points)]
    if front:
        axes.plot(*zip(*front, strict=True), color="#999999", linewidth=1.0, zorder=2)


def _sections(
    points: Sequence[MapPoint], marks: dict[str, Mark], hollow: dict[str, Mark]
) -> list[list[Entry]]:
    """What the legend says, in parts that belong together: the front, family by family, and what
    does not count.
    """
    families = {point.method: point.family for point in points}
    sections = [[Entry("the front: none is as good in\nboth and better in one", line=True)]]
    if not _front(points):
        sections.clear()
    for family in dict.fromkeys(families[method] for method in marks):
        own = [Entry(method, mark) for method, mark in marks.items() if families[method] == family]
        sections.append([Entry(family), *own] if family and len(marks) > len(COLOURS) else own)
    if hollow:
        own = [Entry(method, mark) for method, mark in hollow.items()]
        sections.append([Entry("not k-anonymous: hollow,\nand never on the front"), *own])
    return sections


def _sizes(points: Sequence[MapPoint]) -> str:
    ks = sorted({point.k for point in points})
    if len(ks) == 1:
        return f"k = {ks[0]}"
    return (
        "larger marks, larger k: "
        f"{', '.join(map(str, ks)) if len(ks) < 6 else f'{ks[0]} to {ks[-1]}'}"
    )


def _label_front(figure: Any, axes: Any, points: Sequence[MapPoint]) -> None:
    """Write a label beside each mark of the front, where the fewest marks and words are in the
    way.
    """
    from matplotlib.text import Text

    figure.draw_without_rendering()  # places are known in pixels from here on
    marks = [tuple(axes.transData.transform((point.loss, point.risk))) for point in points]
    line = _along(
        [tuple(axes.transData.transform((point.loss, point.risk))) for point in _front(points)]
    )
    written: list[Any] = []
    told: list[tuple[str, Any]] = []
    for place, label in _labels(points).items():
        where = axes.transData.transform(place)
        if any(label == other and math.dist(where, there) < NEAR for other, there in told):
            continue  # k alone, and a neighbour has said it
        told.append((label, where))
        trials = []
        for offset, side, height in _PLACES:
            word = axes.annotate(
                label,
                place,
                offset,
                textcoords="offset points",
                ha=side,
                va=height,
                fontsize=8,
                zorder=4,
                arrowprops={**_LEADER, "linewidth": 0.6 if math.hypot(*offset) > FAR else 0.0},
            )
            word.set_in_layout(False)  # it must not move what it was placed by
            word.get_window_extent()  # puts it in its place, but would include its line
            box = Text.get_window_extent(word).padded(RADIUS)
            trials.append((_hits(box, axes.bbox, marks, line, written), len(trials), word, box))
        best = min(trials, key=lambda trial: trial[:2])
        for trial in trials:
            if trial is not best:
                trial[2].remove()
        written.append(best[3])


def _along(corners: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Places on a line from corner to corner, close enough that no word fits between two of
    them.
    """
    places: list[tuple[float, float]] = []
    for (a, b), (c, d) in itertools.pairwise(corners):
        steps = 1 + int(math.hypot(c - a, d - b) / NEAR * 4)
        places += [(a + (c - a) * i / steps, b + (d - b) * i / steps) for i in range(steps)]
    return places


def _labels(points: Sequence[MapPoint]) -> dict[tuple[float, float], str]:
    """The labels of the front from left to right; releases of the same figures share one."""
    shared: dict[tuple[float, float], list[MapPoint]] = {}
    for point in _front(points):
        shared.setdefault((point.loss, point.risk), []).append(point)
    return {place: _label(own, named=len(shared) <= NAMED) for place, own in shared.items()}


def _label(own: Sequence[MapPoint], *, named: bool) -> str:
    if not named:
        return ", ".join(str(k) for k in dict.fromkeys(point.k for point in own))
    words = [f"{point.method} {point.k}" for point in own]
    more = f" and {len(words) - FEW_WORDS} more" if len(words) > FEW_WORDS else ""
    return ", ".join(words[:FEW_WORDS]) + more


def _hits(
    box: Any,
    frame: Any,
    marks: Sequence[tuple[float, float]],
    line: Sequence[tuple[float, float]],
    written: Sequence[Any],
) -> float:
    """How much speaks against a label in this box."""
    words = sum(4 for other in written if box.overlaps(other))
    outside = sum(6 for x, y in ((box.x0, box.y0), (box.x1, box.y1)) if not frame.contains(x, y))
    crossed = 0.5 if any(box.contains(x, y) for x, y in line) else 0.0
    return words + outside + crossed + sum(1 for x, y in marks if box.contains(x, y))


_LEADER = {"arrowstyle": "-", "color": "#bbbbbb", "shrinkA": 0.0, "shrinkB": 3.0}
_SIDES = {-1: "right", 0: "center", 1: "left"}
_HEIGHTS = {-1: "top", 0: "center", 1: "bottom"}
_DIRECTIONS = ((1, 1), (1, 0), (1, -1), (0, 1), (0, -1), (-1, -1), (-1, 0), (-1, 1))
_PLACES = [
    ((x * away, y * away), _SIDES[x], _HEIGHTS[y])
    for away in (7, 18, 30, 44)
    for x, y in _DIRECTIONS
]

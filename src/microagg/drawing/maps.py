"""The risk–utility map: what many releases of one table lose, and what an intruder gains by them."""

from __future__ import annotations

import io
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from microagg.drawing.groups import _pyplot
from microagg.errors import InputError

# told apart by most people who see colours differently (Okabe and Ito), with shapes that change along
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#4d4d4d", "#8c510a")
SHAPES = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "h", "*")
SETTINGS = {"svg.hashsalt": "microagg", "svg.fonttype": "none", "font.size": 9.0}
ENDINGS = (".png", ".svg")
NAMED = 12  # with more marks than this on the front, its labels tell k alone and leave the method to colour and shape
FEW_WORDS = 3
NEAR = 40.0  # pixels
WIDE = 20.0  # an axis whose largest value is so many times its smallest is logarithmic


@dataclass(frozen=True)
class MapPoint:
    """One release on the map."""

    method: str
    k: int
    loss: float
    risk: float
    on_front: bool = False
    """Whether no other release beats it in both loss and risk."""
    k_anonymous: bool = True


def draw_map(
    points: Sequence[MapPoint],
    path: str | Path | None = None,
    *,
    loss: str = "loss",
    risk: str = "risk",
    title: str = "",
) -> str:
    """Draw risk against loss, a colour and shape for each method, larger marks for larger k, and the front as a line.

    Releases that are not k-anonymous are hollow. Only the front is labelled: with method and k, or with k alone where it is
    long. Axes are logarithmic where values differ widely. Returns the SVG text if no path is given, else ""; the path's ending
    says which, .png or .svg. The same points give the same bytes.
    """
    if not points:
        raise InputError("there is nothing to draw: no release has figures.")
    if path is not None and Path(path).suffix.lower() not in ENDINGS:
        raise InputError(f"cannot draw {Path(path).name!r}; name a file that ends in .png or .svg.")
    pyplot = _pyplot()
    with pyplot.rc_context(SETTINGS):
        methods = list(dict.fromkeys(point.method for point in points))
        figure, axes = pyplot.subplots(
            figsize=(10.0, max(6.2, 0.23 * len(methods) + 1.8)), layout="constrained"
        )
        _draw_points(axes, points, methods)
        _draw_front(axes, points)
        axes.set_xlabel(loss)
        axes.set_ylabel(risk)
        axes.set_title(title, fontsize=11)
        axes.grid(color="#dddddd", linewidth=0.6)
        axes.set_axisbelow(True)
        axes.spines[["top", "right"]].set_visible(False)
        axes.margins(0.06)
        _stretch(axes, "x", [point.loss for point in points])
        _stretch(axes, "y", [point.risk for point in points])
        _draw_legend(figure, axes, points)
        _label_front(figure, axes, points)
        text = io.StringIO()
        if path is None:
            figure.savefig(text, format="svg", metadata={"Date": None})
        else:
            metadata = {"Date": None} if Path(path).suffix.lower() == ".svg" else {"Software": None}
            figure.savefig(path, dpi=130, metadata=metadata)
        pyplot.close(figure)
    return text.getvalue()


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


def _draw_points(axes: Any, points: Sequence[MapPoint], methods: Sequence[str]) -> None:
    ks = sorted({point.k for point in points})
    for position, method in enumerate(methods):
        colour, shape = COLOURS[position % len(COLOURS)], SHAPES[position % len(SHAPES)]
        own = [point for point in points if point.method == method]
        for number, point in enumerate(own):
            size = 26.0 + 50.0 * ks.index(point.k) / max(len(ks) - 1, 1)
            axes.scatter(
                point.loss,
                point.risk,
                s=size,
                marker=shape,
                facecolor=colour if point.k_anonymous else "white",
                edgecolor=colour if not point.k_anonymous else "white",
                linewidth=1.2 if not point.k_anonymous else 0.5,
                label=method if number == 0 else None,
                zorder=3,
            )


def _draw_front(axes: Any, points: Sequence[MapPoint]) -> None:
    front = sorted((point.loss, point.risk) for point in points if point.on_front)
    if front:
        axes.plot(
            *zip(*front, strict=True),
            color="#999999",
            linewidth=1.0,
            zorder=2,
            label="the front: none is better in\none and as good in the other",
        )


def _draw_legend(figure: Any, axes: Any, points: Sequence[MapPoint]) -> None:
    ks = sorted({point.k for point in points})
    sizes = (
        f"larger marks, larger k: {', '.join(map(str, ks))}"
        if 1 < len(ks) < 6
        else f"k = {ks[0]} to {ks[-1]}"
    )
    hollow = "\nhollow: not k-anonymous" if not all(point.k_anonymous for point in points) else ""
    legend = figure.legend(
        loc="outside right upper", frameon=False, title=sizes + hollow, alignment="left", fontsize=9
    )
    legend.get_title().set_fontsize(9)


def _label_front(figure: Any, axes: Any, points: Sequence[MapPoint]) -> None:
    """Write a label beside each mark of the front, where the fewest marks and words are in the way."""
    figure.draw_without_rendering()  # places are known in pixels from here on
    marks = [tuple(axes.transData.transform((point.loss, point.risk))) for point in points]
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
                label, place, offset, textcoords="offset points", ha=side, va=height, fontsize=8, zorder=4,
                bbox={"boxstyle": "square,pad=0.1", "facecolor": "white", "edgecolor": "none", "alpha": 0.7},
            )  # fmt: skip
            box = word.get_window_extent().padded(1.0)
            trials.append((_hits(box, axes.bbox.padded(6.0), marks, written), len(trials), word, box))
        best = min(trials, key=lambda trial: trial[:2])
        for trial in trials:
            if trial is not best:
                trial[2].remove()
        written.append(best[3])


def _labels(points: Sequence[MapPoint]) -> dict[tuple[float, float], str]:
    """The labels of the front from left to right; releases of the same figures share one."""
    shared: dict[tuple[float, float], list[MapPoint]] = {}
    for point in sorted((p for p in points if p.on_front), key=lambda p: (p.loss, p.risk)):
        shared.setdefault((point.loss, point.risk), []).append(point)
    return {place: _label(own, named=len(shared) <= NAMED) for place, own in shared.items()}


def _label(own: Sequence[MapPoint], *, named: bool) -> str:
    if not named:
        return ", ".join(str(k) for k in dict.fromkeys(point.k for point in own))
    words = [f"{point.method} {point.k}" for point in own]
    more = f" and {len(words) - FEW_WORDS} more" if len(words) > FEW_WORDS else ""
    return ", ".join(words[:FEW_WORDS]) + more


def _hits(box: Any, frame: Any, marks: Sequence[tuple[float, float]], written: Sequence[Any]) -> int:
    """How much speaks against a label in this box."""
    words = sum(3 for other in written if box.overlaps(other))
    outside = sum(5 for x, y in ((box.x0, box.y0), (box.x1, box.y1)) if not frame.contains(x, y))
    return words + outside + sum(1 for x, y in marks if box.contains(x, y))


_PLACES = (
    ((6, 5), "left", "bottom"), ((6, 0), "left", "center"), ((6, -5), "left", "top"), ((0, 8), "center", "bottom"),
    ((0, -8), "center", "top"), ((-6, -5), "right", "top"), ((-6, 0), "right", "center"), ((-6, 5), "right", "bottom"),
    ((14, 14), "left", "bottom"), ((14, -14), "left", "top"), ((-14, -14), "right", "top"), ((14, 26), "left", "bottom"),
)  # fmt: skip

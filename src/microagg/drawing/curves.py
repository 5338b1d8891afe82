"""Curves of loss against time: one small panel for each table."""

from __future__ import annotations

import io
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from microagg.drawing.canvas import blank_figure, write_picture

COLUMNS = 4
PANEL = (2.7, 2.5)  # inches
ROOM_BELOW = 0.04  # of the height of a panel, under the floor


@dataclass(frozen=True)
class Curve:
    """Loss against CPU seconds on one table."""

    title: str
    seconds: Sequence[float]
    losses: Sequence[float]
    floor: float | None = None
    """Proven lower bound on the loss."""
    points: Sequence[tuple[str, float | None, float]] = ()
    """What others reach: a name, CPU seconds, loss; a line across the panel where the time is
    unknown.
    """


def draw_curves(curves: Sequence[Curve], path: str | Path) -> None:
    """Draw a panel for each table, with the floor as a dashed line, and write the picture.

    >>> import tempfile
    >>> curve = Curve("Census, k = 3", [0.01, 0.5], [5.2, 4.7], floor=4.67)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     draw_curves([curve], Path(folder, "curves.svg"))
    ...     Path(folder, "curves.svg").exists()
    True
    """
    names = list(dict.fromkeys(point[0] for curve in curves for point in curve.points))
    rows, columns = math.ceil(len(curves) / COLUMNS), min(COLUMNS, len(curves))
    with blank_figure((PANEL[0] * columns, PANEL[1] * rows), {"font.size": 8.0}) as figure:
        panels = figure.subplots(rows, columns, squeeze=False)
        for number, axes in enumerate(panels.flat):
            if number < len(curves):
                _draw_curve(axes, curves[number], names)
            else:
                axes.set_axis_off()
        figure.supxlabel("CPU seconds")
        figure.supylabel("loss, IL in percent")
        drawn = io.BytesIO()
        form = Path(path).suffix[1:].lower() or "png"
        metadata = {"Date": None} if form == "svg" else {}
        figure.savefig(drawn, format=form, dpi=110, metadata=metadata)
    write_picture(Path(path), drawn.getvalue())


def _draw_curve(axes: Any, curve: Curve, names: Sequence[str]) -> None:
    axes.plot(curve.seconds, curve.losses, "o-", color="C0", markersize=3.5, linewidth=1.2)
    values = list(curve.losses)
    for name, seconds, loss in curve.points:
        colour = f"C{names.index(name) + 1}"
        if seconds is None:
            axes.axhline(loss, color=colour, linewidth=0.9, linestyle=":", label=name)
        else:
            axes.plot([seconds], [loss], "s", color=colour, markersize=4, label=name)
        values.append(loss)
    if curve.floor is not None:
        axes.axhline(curve.floor, color="black", linewidth=0.9, linestyle="--", label="proven")
        values.append(curve.floor)
    height = (max(values) - min(values)) or 1.0
    axes.set_ylim(min(values) - ROOM_BELOW * height, max(values) + ROOM_BELOW * height)
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.xaxis.set_minor_formatter("")
    axes.set_title(curve.title, fontsize=8.5)
    axes.grid(alpha=0.3)
    if curve.points or curve.floor is not None:
        axes.legend(fontsize=6.5, frameon=False)

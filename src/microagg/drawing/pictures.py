"""The pictures of a report: small SVG drawings that go into a page as they are.

Drawn with matplotlib (the extra `plots`) in its own defaults, whatever the user's settings; the
same numbers give the same bytes. Without matplotlib every function returns an empty text, and the
report shows the numbers instead.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from microagg.drawing.canvas import blank_figure, can_draw
from microagg.formatting import printable, shortened

BEFORE, AFTER, INK, FAINT = "#c3ccd4", "#16557f", "#333f48", "#dde3e8"
LOOK = {
    "font.family": "sans-serif",
    "font.size": 8.5,
    "axes.labelcolor": INK,
    "axes.edgecolor": INK,
    "axes.formatter.useoffset": False,
}
NUMBERED = 10  # columns of a heat map up to which its cells have room for figures


def draw_class_sizes(sizes: Sequence[str], classes: Sequence[int], k: int) -> str:
    """Bars: how many classes have which size.

    >>> draw_class_sizes(["5", "6"], [190, 8], k=5)[:4]
    '<svg'
    """

    def draw(figure: Any) -> None:
        axes = figure.add_subplot()
        places = np.arange(len(sizes))
        bars = axes.bar(places, classes, width=0.72, color=AFTER)
        if len(sizes) <= 14:
            axes.bar_label(
                bars, [f"{count:,}" for count in classes], padding=2, fontsize=8, color=INK
            )
        room = max(0.6, 5.5 - len(sizes) / 2)  # so that one bar alone is still a bar
        axes.set_xlim(-room, len(sizes) - 1 + room)
        every = -(-len(sizes) // 14)
        axes.set_xticks(places[::every], list(sizes)[::every])
        axes.set_xlabel(f"records in the class (k = {k})")
        axes.set_ylabel("classes")
        axes.margins(y=0.12)
        _calm(axes)

    return _drawn(draw, (5.0, 2.3), "class sizes")


def draw_distribution(
    name: str,
    edges: Sequence[str],
    after: Sequence[float],
    before: Sequence[float] | None = None,
    beside: Sequence[str] = (),
) -> str:
    """One column as released (outlined), in percent of the records per bin, and before (filled)
    where that is given.

    Without it, the released column is filled. All bins are equally wide. The last shares are those
    `beside` the scale, such as what is missing: bars of their own.

    >>> draw_distribution("age", ["30"], [45, 55], before=[40, 60])[:4]
    '<svg'
    """
    filled = after if before is None else before
    on_scale = len(after) - len(beside)

    def draw(figure: Any) -> None:
        axes = figure.add_subplot()
        places = np.arange(on_scale + 1)
        axes.stairs(filled[:on_scale], places, fill=True, color=BEFORE)
        axes.stairs(after[:on_scale], places, color=AFTER, linewidth=1.6)
        every = -(-len(edges) // 6) or 1
        ticks, texts = places[1:-1][::every].tolist(), list(edges)[::every]
        if beside:
            apart = on_scale + 1.1 + 1.5 * np.arange(len(beside))
            axes.bar(apart, filled[on_scale:], width=1.0, color=BEFORE)
            axes.bar(apart, after[on_scale:], width=1.0, fill=False, edgecolor=AFTER, linewidth=1.6)
            ticks, texts = (
                [*ticks, *apart.tolist()],
                [*texts, *(shortened(level, 12) for level in beside)],
            )
        axes.set_xticks(ticks, texts)
        longest = max((len(text) for text in texts), default=0)
        if longest > 5:
            axes.tick_params(axis="x", rotation=35 if longest < 14 else 60)
        axes.set_xlim(0, len(after) if not beside else on_scale + 0.5 + 1.5 * len(beside))
        axes.set_ylim(0, 1.1 * max(*filled, *after))
        axes.set_ylabel("% of records")
        _calm(axes)

    return _drawn(draw, (3.5, 2.0), f"distribution of {name}")


def draw_levels(
    name: str, levels: Sequence[str], after: Sequence[float], before: Sequence[float] | None = None
) -> str:
    """Bars: the levels of one column as released (outlined), in percent of the records, and before
    (filled) where that is given.

    >>> draw_levels("sex", ["F", "M"], [45, 55], before=[40, 60])[:4]
    '<svg'
    """
    filled = after if before is None else before

    def draw(figure: Any) -> None:
        axes = figure.add_subplot()
        places = np.arange(len(levels))
        axes.barh(places, filled, height=0.76, color=BEFORE)
        axes.barh(places, after, height=0.76, fill=False, edgecolor=AFTER, linewidth=1.6)
        axes.set_yticks(places, [shortened(level, 18) for level in levels])
        axes.set_ylim(len(levels) - 0.4, -0.6)
        axes.set_xlim(0, 1.1 * max(*filled, *after))
        axes.set_xlabel("% of records")
        _calm(axes, along="x")

    return _drawn(draw, (3.5, max(2.0, 0.55 + 0.19 * len(levels))), f"levels of {name}")


def draw_correlations(names: Sequence[str], matrix: np.ndarray, when: str) -> str:
    """A heat map of correlations from -1 (blue) to 1 (red). The diagonal, and what has no
    correlation, stays white.

    >>> draw_correlations(["a", "b"], np.eye(2), "before")[:4]
    '<svg'
    """

    def draw(figure: Any) -> None:
        axes = figure.add_subplot()
        shades = np.ma.masked_where(np.isnan(matrix) | np.eye(len(names), dtype=bool), matrix)
        axes.pcolormesh(
            shades, cmap="RdBu_r", vmin=-1.2, vmax=1.2, edgecolors="white", linewidth=0.8
        )
        places = np.arange(len(names)) + 0.5
        if len(names) <= NUMBERED:
            for i, j in np.ndindex(*matrix.shape):
                text = "–" if np.isnan(matrix[i, j]) else f"{matrix[i, j]:.2f}".replace("-", "−")
                pale = i == j or np.isnan(matrix[i, j]) or abs(matrix[i, j]) < 0.65
                axes.text(
                    places[j], places[i], text, ha="center", va="center",
                    fontsize=9 if len(names) < 7 else 7, color=INK if pale else "white",
                )  # fmt: skip
        short = [shortened(name, 18) for name in names]
        axes.set_xticks(places, short, rotation=45, ha="right", rotation_mode="anchor")
        axes.set_yticks(places, short)
        axes.invert_yaxis()
        axes.set_aspect("equal")
        _calm(axes, grid=False)

    return _drawn(draw, (4.6, 3.9), f"correlations {when}")


def draw_intervals(
    names: Sequence[str],
    values: Sequence[float],
    limits: Sequence[tuple[float, float]],
    label: str,
) -> str:
    """Dots with whiskers, one below the other, in percent; a line at 0.

    >>> draw_intervals(["linkability"], [0.02], [(0.01, 0.04)], "excess, %")[:4]
    '<svg'
    """

    def draw(figure: Any) -> None:
        axes = figure.add_subplot()
        places = np.arange(len(names))[::-1]
        low, high = 100.0 * np.array(limits).T
        axes.hlines(places, low, high, color=AFTER, linewidth=1.5)
        axes.plot(100.0 * np.array(values), places, "o", color=AFTER, markersize=5)
        axes.axvline(0.0, color=INK, linewidth=0.8)
        axes.set_yticks(places, [shortened(printable(name), 48) for name in names])
        axes.set_ylim(-0.7, len(names) - 0.3)
        axes.set_xlabel(label)
        _calm(axes, along="x")

    return _drawn(draw, (6.4, 0.8 + 0.28 * len(names)), label)


def _calm(axes: Any, grid: bool = True, along: str = "y") -> None:
    for side in ("top", "right", "left", "bottom") if not grid else ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.tick_params(length=0, colors=INK)
    if grid:
        axes.grid(axis=along, color=FAINT, linewidth=0.8)
        axes.set_axisbelow(True)
        axes.locator_params(axis=along, integer=True, nbins=5)


def _drawn(draw: Callable[[Any], None], inches: tuple[float, float], salt: str) -> str:
    if not can_draw():
        return ""
    text = io.StringIO()
    with blank_figure(inches, settings={"svg.hashsalt": printable(salt), **LOOK}) as figure:
        draw(figure)
        figure.savefig(text, format="svg", transparent=True, metadata={"Date": None})
    return _inline(text.getvalue())


def _inline(svg: str) -> str:
    """One <svg> element for the middle of a page: sized by the page, no prologue, no ids but those
    that are used.
    """
    svg = svg[svg.index("<svg") :].strip()
    svg = re.sub(r"<metadata>.*?</metadata>\s*", "", svg, flags=re.DOTALL)
    svg = re.sub(
        r'\A<svg[^>]*?(viewBox="[^"]*")[^>]*>', r'<svg xmlns="http://www.w3.org/2000/svg" \1>', svg
    )
    svg = svg.replace("xlink:href=", "href=")
    used = set(re.findall(r'(?:url\(|href=")#([^)"]+)', svg))
    svg = re.sub(r' id="([^"]*)"', lambda match: match[0] if match[1] in used else "", svg)
    svg = re.sub(r"<!--.*?-->\s*", "", svg, flags=re.DOTALL)
    return re.sub(r"\n\s*", "\n", svg)

"""The pictures of a report: small SVG drawings that go into a page as they are.

They need no other package, and the same numbers give the same bytes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from microagg.drawing.svg import (
    FAINT,
    INK,
    TEXT_SIZE,
    Drawing,
    text_width,
    tick_text,
    ticks_between,
    ticks_up_to,
)
from microagg.formatting import printable, shortened

BEFORE, AFTER = "#c3ccd4", "#16557f"
NUMBERED = 10  # columns of a heat map up to which its cells have room for figures
LABELLED_BARS = 14
LABELLED_EDGES = 6
ROOM = 1.1  # of the tallest bar
# red for positive correlations, blue for negative ones, from -1.2 to 1.2
SHADES = (
    (5, 48, 97), (33, 102, 172), (67, 147, 195), (146, 197, 222), (209, 229, 240), (247, 247, 247),
    (253, 219, 199), (244, 165, 130), (214, 96, 77), (178, 24, 43), (103, 0, 31),
)  # fmt: skip
EXTREME = 1.2


def draw_class_sizes(sizes: Sequence[str], classes: Sequence[int], k: int) -> str:
    """Bars: how many classes have which size.

    >>> draw_class_sizes(["5", "6"], [190, 8], k=5)[:4]
    '<svg'
    """
    drawing = Drawing(360.0, 165.6)
    top = 1.12 * max(*classes, 1)
    left, right, floor, ceiling = _value_axis(drawing, top, 134.0, 8.0, "classes")
    room = max(0.6, 5.5 - len(sizes) / 2)  # so that one bar alone is still a bar
    slot = (right - left) / (len(sizes) - 1 + 2 * room)
    every = -(-len(sizes) // LABELLED_BARS)
    for index, (size, count) in enumerate(zip(sizes, classes, strict=True)):
        middle = left + (room + index) * slot
        height = (floor - ceiling) * count / top
        drawing.rectangle(middle - 0.36 * slot, floor - height, 0.72 * slot, height, AFTER)
        if len(sizes) <= LABELLED_BARS:
            drawing.text(middle, floor - height - 3.0, f"{count:,}", size=8.0)
        if index % every == 0:
            drawing.text(middle, floor + 11.0, size)
    drawing.path([(left, floor), (right, floor)], INK)
    drawing.text((left + right) / 2, 161.0, f"records in the class (k = {k})")
    return drawing.as_svg()


def draw_distribution(
    edges: Sequence[str],
    after: Sequence[float],
    before: Sequence[float] | None = None,
    beside: Sequence[str] = (),
) -> str:
    """One column as released (outlined), in percent of the records per bin, and before (filled)
    where that is given.

    Without it, the released column is filled. All bins are equally wide; a sign of omission marks
    the outer ones, which are open. The last shares are those `beside` the scale, such as what is
    missing: bars of their own.

    >>> draw_distribution(["30"], [45, 55], before=[40, 60])[:4]
    '<svg'
    """
    filled = after if before is None else before
    bins = len(after) - len(beside)
    every = -(-len(edges) // LABELLED_EDGES) or 1
    ticks = [(1.0 + index, edges[index]) for index in range(0, len(edges), every)]
    apart = [bins + 1.1 + 1.5 * index for index in range(len(beside))]
    ticks += [
        (position, shortened(level, 12)) for position, level in zip(apart, beside, strict=True)
    ]
    longest = max((len(text) for _, text in ticks), default=0)
    turned = 0.0 if longest <= 5 else 35.0 if longest < 14 else 60.0
    widest = max((text_width(text) for _, text in ticks), default=0.0)
    below = 14.0 + widest * math.sin(math.radians(turned))
    top = ROOM * max(*filled, *after, 0.1)
    height = max(144.0, 74.0 + below)
    drawing = Drawing(252.0, height)
    left, right, floor, ceiling = _value_axis(drawing, top, height - below, 6.0, "% of records")
    end = len(after) if not beside else bins + 0.5 + 1.5 * len(beside)
    slot, scale = (right - left) / end, (floor - ceiling) / top
    outline = [
        (left + (index + step) * slot, floor - share * scale)
        for index, share in enumerate(filled[:bins])
        for step in (0, 1)
    ]
    drawing.path([(left, floor), *outline, (left + bins * slot, floor)], "", fill=BEFORE)
    for position, share in zip(apart, filled[bins:], strict=True):
        _bar(drawing, left + position * slot, floor, slot, share * scale, BEFORE)
    outline = [
        (left + (index + step) * slot, floor - share * scale)
        for index, share in enumerate(after[:bins])
        for step in (0, 1)
    ]
    drawing.path([(left, floor), *outline, (left + bins * slot, floor)], AFTER, 1.6)
    for position, share in zip(apart, after[bins:], strict=True):
        _bar(drawing, left + position * slot, floor, slot, share * scale, "none", AFTER)
    drawing.path([(left, floor), (right, floor)], INK)
    if edges:
        drawing.text(left + 2.0, floor + 8.0, "…", anchor="start")
        drawing.text(left + bins * slot - 2.0, floor + 8.0, "…", anchor="end")
    for position, text in ticks:
        x = left + position * slot
        if turned:
            drawing.text(x + 3.0, floor + 9.0, text, anchor="end", turned=turned)
        else:
            drawing.text(x, floor + 11.0, text)
    return drawing.as_svg()


def _bar(
    drawing: Drawing,
    middle: float,
    floor: float,
    width: float,
    height: float,
    fill: str,
    outline: str = "",
) -> None:
    drawing.rectangle(middle - width / 2, floor - height, width, height, fill, outline)


def draw_levels(
    levels: Sequence[str], after: Sequence[float], before: Sequence[float] | None = None
) -> str:
    """Bars: the levels of one column as released (outlined), in percent of the records, and before
    (filled) where that is given.

    >>> draw_levels(["F", "M"], [45, 55], before=[40, 60])[:4]
    '<svg'
    """
    filled = after if before is None else before
    names = [shortened(level, 18) for level in levels]
    drawing = Drawing(252.0, max(144.0, 40.0 + 13.7 * len(levels)))
    left = 6.0 + min(100.0, max(map(text_width, names), default=0.0))
    right, ceiling, floor = drawing.width - 6.0, 3.0, drawing.height - 28.0
    top = ROOM * max(*filled, *after, 0.1)
    scale, slot = (right - left) / top, (floor - ceiling) / max(1, len(levels))
    for tick in ticks_up_to(top):
        x = left + tick * scale
        drawing.path([(x, ceiling), (x, floor)], FAINT)
        drawing.text(x, floor + 11.0, tick_text(tick))
    for index, (name, share, was) in enumerate(zip(names, after, filled, strict=True)):
        y, height = ceiling + (index + 0.12) * slot, 0.76 * slot
        drawing.rectangle(left, y, was * scale, height, BEFORE)
        drawing.rectangle(left, y, share * scale, height, "none", AFTER)
        drawing.text(left - 4.0, y + height / 2 + 3.0, name, anchor="end")
    drawing.path([(left, floor), (right, floor)], INK)
    drawing.text((left + right) / 2, drawing.height - 4.0, "% of records")
    return drawing.as_svg()


def draw_correlations(names: Sequence[str], matrix: np.ndarray) -> str:
    """A heat map of correlations from -1 (blue) to 1 (red). The diagonal, and what has no
    correlation, stays white.

    >>> draw_correlations(["a", "b"], np.eye(2))[:4]
    '<svg'
    """
    short = [shortened(name, 18) for name in names]
    margin = 8.0 + max(map(text_width, short), default=0.0)
    side = max(150.0, 331.0 - margin)
    drawing = Drawing(margin + side + 4.0, side + 10.0 + 0.75 * margin)
    cell, top = side / max(1, len(names)), 4.0
    size = 9.0 if len(names) < 7 else 7.0
    for i, j in np.ndindex(*matrix.shape):
        value, x, y = float(matrix[i, j]), margin + j * cell, top + i * cell
        blank = math.isnan(value)
        if i != j and not blank:
            drawing.rectangle(x + 0.4, y + 0.4, cell - 0.8, cell - 0.8, _shade(value))
        if len(names) <= NUMBERED:
            text = "–" if blank else f"{value:.2f}".replace("-", "−")
            pale = i == j or blank or abs(value) < 0.65
            fill = "" if pale else "white"
            drawing.text(x + cell / 2, y + cell / 2 + 0.35 * size, text, size=size, fill=fill)
    for index, name in enumerate(short):
        middle = top + (index + 0.5) * cell
        drawing.text(margin - 4.0, middle + 3.0, name, anchor="end")
        drawing.text(
            margin + (index + 0.5) * cell + 3.0, top + side + 9.0, name, anchor="end", turned=45.0
        )
    return drawing.as_svg()


def _shade(value: float) -> str:
    """Return the colour of a correlation, between its neighbours in `SHADES`."""
    position = (min(max(value, -1.0), 1.0) + EXTREME) / (2 * EXTREME) * (len(SHADES) - 1)
    index = int(position)
    low, high = SHADES[index], SHADES[min(index + 1, len(SHADES) - 1)]
    mixed = (a + (b - a) * (position - index) for a, b in zip(low, high, strict=True))
    return "#" + "".join(f"{round(part):02x}" for part in mixed)


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
    short = [shortened(printable(name), 48) for name in names]
    drawing = Drawing(461.0, 58.0 + 20.0 * len(names))
    left = 10.0 + max(map(text_width, short), default=0.0)
    right, floor = drawing.width - 10.0, drawing.height - 28.0
    ends = [100.0 * end for pair in limits for end in pair]
    low, high = min(0.0, *ends), max(0.0, *ends)
    edge = 0.05 * ((high - low) or 1.0)
    low, high = low - edge, high + edge
    scale = (right - left) / (high - low)
    for tick in ticks_between(low, high):
        x = left + (tick - low) * scale
        drawing.path([(x, 4.0), (x, floor)], FAINT)
        drawing.text(x, floor + 11.0, tick_text(tick))
    drawing.path([(left - low * scale, 4.0), (left - low * scale, floor)], INK)
    for index, (name, value, ends_of) in enumerate(zip(short, values, limits, strict=True)):
        y = 4.0 + (floor - 4.0) * (index + 0.5) / len(names)
        from_x, to_x = (left + (100.0 * end - low) * scale for end in ends_of)
        drawing.path([(from_x, y), (to_x, y)], AFTER, 1.5)
        drawing.circle(left + (100.0 * value - low) * scale, y, 2.5, AFTER)
        drawing.text(left - 5.0, y + 3.0, name, anchor="end")
    drawing.path([(left, floor), (right, floor)], INK)
    drawing.text((left + right) / 2, drawing.height - 4.0, label)
    return drawing.as_svg()


def _value_axis(
    drawing: Drawing, top: float, floor: float, ceiling: float, label: str
) -> tuple[float, float, float, float]:
    """Draw the upright axis with its lines; return left, right, floor and ceiling of the plot."""
    ticks = ticks_up_to(top)
    if label == "classes":
        ticks = [tick for tick in ticks if tick == int(tick)]
    left = TEXT_SIZE + 10.0 + max(text_width(tick_text(tick)) for tick in ticks)
    right = drawing.width - 4.0
    for tick in ticks:
        y = floor - (floor - ceiling) * tick / top
        drawing.path([(left, y), (right, y)], FAINT)
        drawing.text(left - 4.0, y + 3.0, tick_text(tick), anchor="end")
    drawing.text(TEXT_SIZE, (floor + ceiling) / 2, label, turned=90.0)
    return left, right, floor, ceiling

"""Small bar charts as SVG, with classes of the style sheet in place of colours."""

from __future__ import annotations

from collections.abc import Sequence

WIDTH, HEIGHT, GAP = 240.0, 72.0, 2.0


def bars(counts: Sequence[Sequence[float]], classes: Sequence[str], label: str) -> str:
    """Return a chart of one or two series of counts on one scale; `label` is its own text.

    >>> bars([[1, 3]], ["before"], "2 bins").count("<rect")
    2
    """
    slots = max((len(series) for series in counts), default=0)
    top = max((max(series, default=0.0) for series in counts), default=0.0) or 1.0
    slot = WIDTH / max(slots, 1)
    width = max((slot - GAP) / max(len(counts), 1), 0.5)
    shapes = [
        f'<rect class="{name}" x="{i * slot + j * width:.1f}" '
        f'y="{HEIGHT * (1 - count / top):.1f}" width="{width:.1f}" '
        f'height="{HEIGHT * count / top:.1f}"/>'
        for j, (series, name) in enumerate(zip(counts, classes, strict=True))
        for i, count in enumerate(series)
    ]
    return (
        f'<svg class="bars" viewBox="0 0 {WIDTH:.0f} {HEIGHT:.0f}" role="img" '
        f'aria-label="{label}" preserveAspectRatio="none">{"".join(shapes)}</svg>'
    )


def level_bar(share: float, label: str) -> str:
    """Return one horizontal bar on a scale of 0 to 1.

    >>> 'width="60.0"' in level_bar(0.25, "25 %")
    True
    """
    width = WIDTH * min(max(share, 0.0), 1.0)
    return (
        f'<svg class="level" viewBox="0 0 {WIDTH:.0f} 10" role="img" aria-label="{label}" '
        f'preserveAspectRatio="none"><rect class="rail" width="{WIDTH:.0f}" height="10"/>'
        f'<rect class="after" width="{width:.1f}" height="10"/></svg>'
    )

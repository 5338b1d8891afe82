"""Shapes and texts as one SVG element, with a few helpers for charts."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape

from microagg.formatting import printable

INK, FAINT = "#333f48", "#dde3e8"
TEXT_SIZE = 8.5
_CHARACTER = 0.62  # average width of a character, in text sizes
_TICKS = 5  # at most, besides 0


@dataclass
class Drawing:
    """An SVG element that grows; x to the right, y downwards, in points.

    >>> drawing = Drawing(20.0, 10.0)
    >>> drawing.rectangle(1, 2, 3, 4, "#fff")
    >>> drawing.as_svg().count("<rect")
    1
    """

    width: float
    height: float
    parts: list[str] = field(default_factory=list)

    def rectangle(
        self, x: float, y: float, width: float, height: float, fill: str, outline: str = ""
    ) -> None:
        """Add a rectangle; with `outline` it has a line of that colour."""
        line = f' stroke="{outline}" stroke-width="1.6"' if outline else ""
        self.parts.append(
            f'<rect x="{_short(x)}" y="{_short(y)}" width="{_short(width)}" '
            f'height="{_short(height)}" fill="{fill}"{line}/>'
        )

    def path(
        self,
        points: Sequence[tuple[float, float]],
        colour: str,
        width: float = 0.8,
        fill: str = "none",
    ) -> None:
        """Add a line through points; with `fill`, the area it encloses."""
        steps = "L".join(f"{_short(x)} {_short(y)}" for x, y in points)
        line = f' stroke="{colour}" stroke-width="{width}"' if colour else ""
        self.parts.append(f'<path d="M{steps}" fill="{fill}"{line}/>')

    def circle(self, x: float, y: float, radius: float, fill: str) -> None:
        """Add a dot."""
        self.parts.append(f'<circle cx="{_short(x)}" cy="{_short(y)}" r="{radius}" fill="{fill}"/>')

    def text(
        self,
        x: float,
        y: float,
        text: str,
        anchor: str = "middle",
        turned: float = 0.0,
        size: float = TEXT_SIZE,
        fill: str = "",
    ) -> None:
        """Add a text whose base line is at y, turned by degrees against the clock."""
        extra = f' font-size="{size}"' if size != TEXT_SIZE else ""
        extra += f' fill="{fill}"' if fill else ""
        extra += f' transform="rotate({-turned:g} {_short(x)} {_short(y)})"' if turned else ""
        extra += f' text-anchor="{anchor}"' if anchor != "start" else ""
        self.parts.append(
            f'<text x="{_short(x)}" y="{_short(y)}"{extra}>{escape(printable(text))}</text>'
        )

    def as_svg(self) -> str:
        """Return the element; its size is that of the place it is shown in."""
        body = "\n".join(self.parts)
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_short(self.width)} '
            f'{_short(self.height)}" font-family="system-ui, sans-serif" '
            f'font-size="{TEXT_SIZE}" fill="{INK}">\n{body}\n</svg>'
        )


def _short(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")


def text_width(text: str, size: float = TEXT_SIZE) -> float:
    """Return about how wide a text is; wide characters of East Asia count twice.

    >>> text_width("abc") < text_width("abcd") < text_width("日本語文")
    True
    """
    wide = sum(unicodedata.east_asian_width(character) in "WF" for character in text)
    return _CHARACTER * size * (len(text) + 0.8 * wide)


def ticks_up_to(top: float) -> list[float]:
    """Return round numbers from 0 to a largest value, five steps at most.

    >>> ticks_up_to(28.0), ticks_up_to(3.0), ticks_up_to(0.3)
    ([0.0, 10.0, 20.0], [0.0, 1.0, 2.0, 3.0], [0.0, 0.1, 0.2, 0.3])
    """
    if not 0.0 < top < math.inf:
        return [0.0]
    power = math.floor(math.log10(top / _TICKS))
    step = next(
        leading * 10.0**exponent
        for exponent in (power, power + 1)
        for leading in (1, 2, 5)
        if top / (leading * 10.0**exponent) <= _TICKS
    )
    digits = max(0, -math.floor(math.log10(step)))
    return [round(index * step, digits) for index in range(int(top / step + 1e-9) + 1)]


def ticks_between(low: float, high: float) -> list[float]:
    """Return round numbers within an interval that has 0 in it, five steps at most.

    >>> ticks_between(-12.0, 31.0)
    [-10.0, 0.0, 10.0, 20.0, 30.0]
    """
    step = next(iter(ticks_up_to(high - low)[1:]), 1.0)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    digits = max(0, -math.floor(math.log10(step)))
    return [round(index * step, digits) + 0.0 for index in range(first, last + 1)]


def tick_text(value: float) -> str:
    """Write a tick.

    >>> tick_text(1000.0), tick_text(0.5), tick_text(-10.0)
    ('1,000', '0.5', '−10')
    """
    return f"{value:,.10g}".replace("-", "−")

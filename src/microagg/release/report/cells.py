"""Texts and tables of a report as HTML."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from dataclasses import replace
from html import escape

from microagg.formatting import printable
from microagg.release.report.document import Grid

SHORT = 9  # rows of a table that is kept on one printed page
STACKED = 3  # columns of a table whose rows are blocks on a telephone
_FIGURE = re.compile(
    r"[−+]?[\d,]*\.?\d+(·10[⁰¹²³⁴⁵⁶⁷⁸⁹⁻]+)?"
    r"( %| (days?|hours?|minutes?|seconds?|levels?))?"
    r"( (→|of|/) [−+]?[\d,]*\.?\d+(·10[⁰¹²³⁴⁵⁶⁷⁸⁹⁻]+)?)?"
    r"|[–∞]|−∞|not defined"
)


def facts_html(rows: Sequence[tuple[str, str, str]]) -> str:
    """Return figures as a table: a name, the value, what it means."""
    body = "\n".join(
        f"<tr><th "
        f'scope="row">{wrapped_html(name)}</th><td>{wrapped_html(value)}</td>'
        f"<td>{wrapped_html(meaning)}</td></tr>"
        for name, value, meaning in rows
    )
    head = (
        '<tr><th scope="col">what</th><th scope="col">figure</th><th scope="col">what it '
        "means</th></tr>"
    )
    return (
        f'<div class="scroll" tabindex="0" role="group" aria-label="Table"><table '
        f'class="facts{_kept(rows)}"><thead>{head}</thead>\n<tbody>\n{body}\n</tbody></table></div>'
    )


def grid_html(grid: Grid, extra: str = "") -> str:
    """Return a table; columns of figures are aligned to the right."""
    numeric = [
        bool(grid.rows) and all(_FIGURE.fullmatch(row[j]) for row in grid.rows)
        for j in range(len(grid.head))
    ]
    numeric[0] = False  # the first cell names the row
    marks = ["number" if right else "" for right in numeric]
    stacked = len(grid.head) >= STACKED
    labels = [f' data-label="{text_html(cell)}"' if stacked else "" for cell in grid.head]
    head = "".join(
        f'<th scope="col"{_classes(mark)}>{wrapped_html(cell)}</th>'
        for cell, mark in zip(grid.head, marks, strict=True)
    )
    body = "\n".join(
        f'<tr><th scope="row">{wrapped_html(row[0])}</th>'
        + "".join(
            f"<td{_classes(mark, 'none' if cell == '–' else '')}{label}>{wrapped_html(cell)}</td>"
            for cell, mark, label in zip(row[1:], marks[1:], labels[1:], strict=True)
        )
        + "</tr>"
        for row in grid.rows
    )
    if grid.collapsed:
        inner = grid_html(replace(grid, collapsed=False, caption=""), extra)
        title = wrapped_html(grid.caption)
        return f"<details><summary>{title}</summary>{inner}</details>"
    fitting = " fitting" if all(numeric[1:]) and len(grid.head) < 5 else ""
    fitting += " stacked" if stacked else ""
    caption = f"<caption>{wrapped_html(grid.caption)}</caption>" if grid.caption else ""
    return (
        f'<div class="scroll" tabindex="0" role="group" aria-label="Table"><table '
        f'class="grid{fitting}{_kept(grid.rows)}{extra}">{caption}<thead><tr>{head}</tr></thead>\n'
        f"<tbody>\n{body}\n</tbody></table></div>"
    )


def _classes(*names: str) -> str:
    kept = " ".join(filter(None, names))
    return f' class="{kept}"' if kept else ""


def _kept(rows: Sequence[object]) -> str:
    return " short" if len(rows) <= SHORT else ""


def wrapped_html(text: str) -> str:
    """Return a text with break opportunities, so that no column name widens a table beyond its
    page.
    """
    parts = re.split(r"(\S{15,})", printable(text))
    return "".join(
        "<wbr>".join(escape(piece) for piece in re.findall(r"[^_./-]{1,12}[_./-]?|[_./-]", part))
        if odd
        else escape(part)
        for odd, part in zip(itertools.cycle((False, True)), parts, strict=False)
    )


def text_html(text: str) -> str:
    """Return a text with the signs of HTML escaped."""
    return escape(printable(text), quote=True)

"""A report as one page that needs nothing else: no network, no script; it prints on A4."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from html import escape

from microagg.formatting import printable
from microagg.release.report.document import (
    Block,
    Document,
    Facts,
    Grid,
    Listing,
    Paragraph,
    Picture,
    Section,
    Signature,
    Warn,
)
from microagg.release.report.style import CSS

AUDIENCE = {
    "internal": "Internal: keep it inside, it tells of single records",
    "public": "For publication: it tells no more of single records than the released table",
}
# the page may not load anything, whatever is in it
POLICY = "default-src 'none'; style-src 'unsafe-inline'"
SHORT = 9  # rows of a table that is kept on one printed page
_FIGURE = re.compile(r"[−+]?[\d,]*\.?\d+(·10[⁰¹²³⁴⁵⁶⁷⁸⁹⁻]+)?( %)?|[–∞]|−∞|not defined")


def to_html(document: Document) -> str:
    """The document as a whole HTML page.

    >>> "a &lt; b" in to_html(Document("a < b", "public", ()))
    True
    """
    title = _text(document.title)
    contents = "".join(
        f'<li><a href="#part-{number}">{_text(section.title)}</a></li>'
        for number, section in enumerate(document.sections, 1)
    )
    sections = "\n".join(_section(number, part) for number, part in enumerate(document.sections, 1))
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{POLICY}">
<title>{title}</title>
<style>{CSS}</style>
</head>
<body>
<main>
<header>
<h1>{title}</h1>
<p class="audience {document.audience}">{AUDIENCE[document.audience]}</p>
<nav aria-label="Contents"><ol>{contents}</ol></nav>
</header>
{sections}
</main>
</body>
</html>
"""


def _section(number: int, section: Section) -> str:
    # pictures that follow each other stand side by side where the page is wide enough
    runs = itertools.groupby(section.blocks, key=lambda block: isinstance(block, Picture))
    parts = []
    for pictures, blocks in runs:
        shown = "\n".join(_block(block) for block in blocks)
        parts.append(f'<div class="gallery">\n{shown}\n</div>' if pictures else shown)
    body = "\n".join(parts)
    return (
        f'<section id="part-{number}">\n<h2>{number}. '
        f"{_text(section.title)}</h2>\n{body}\n</section>"
    )


def _block(block: Block) -> str:
    match block:
        case Paragraph(text):
            return f"<p>{_text(text)}</p>"
        case Warn(text):
            return f'<div class="warn" role="note"><b>Note.</b> {_text(text)}</div>'
        case Facts(rows):
            return _facts(rows)
        case Grid():
            return _grid(block)
        case Picture():
            return _picture(block)
        case Listing(text):
            return f"<pre>{_text(text)}</pre>"
        case Signature(title, lines):
            fields = "".join(f"<div><span>{_text(line)}</span><i></i></div>" for line in lines)
            return f'<div class="sign"><b>{_text(title)}</b>{fields}</div>'


def _facts(rows: Sequence[tuple[str, str, str]]) -> str:
    body = "\n".join(
        f"<tr><th "
        f'scope="row">{_cell(name)}</th><td>{_cell(value)}</td><td>{_cell(meaning)}</td></tr>'
        for name, value, meaning in rows
    )
    head = (
        '<tr><th scope="col">what</th><th scope="col">figure</th><th scope="col">what it '
        "means</th></tr>"
    )
    return (
        f'<div class="scroll"><table '
        f'class="facts{_kept(rows)}"><thead>{head}</thead>\n<tbody>\n{body}\n</tbody></table></div>'
    )


def _grid(grid: Grid) -> str:
    numeric = [
        bool(grid.rows) and all(_FIGURE.fullmatch(row[j]) for row in grid.rows)
        for j in range(len(grid.head))
    ]
    numeric[0] = False  # the first cell names the row
    marks = [' class="number"' if right else "" for right in numeric]
    head = "".join(
        f'<th scope="col"{mark}>{_cell(cell)}</th>'
        for cell, mark in zip(grid.head, marks, strict=True)
    )
    body = "\n".join(
        f'<tr><th scope="row">{_cell(row[0])}</th>'
        + "".join(
            f"<td{mark}>{_cell(cell)}</td>" for cell, mark in zip(row[1:], marks[1:], strict=True)
        )
        + "</tr>"
        for row in grid.rows
    )
    fitting = " fitting" if all(numeric[1:]) and len(grid.head) < 5 else ""
    caption = f"<caption>{_cell(grid.caption)}</caption>" if grid.caption else ""
    return (
        f'<div class="scroll"><table '
        f'class="grid{fitting}{_kept(grid.rows)}">{caption}<thead><tr>{head}</tr></thead>\n'
        f"<tbody>\n{body}\n</tbody></table></div>"
    )


def _picture(picture: Picture) -> str:
    if not picture.svg:
        return f'<div class="abreast-{picture.abreast}">{_grid(picture.data)}</div>'
    svg = picture.svg.replace(
        "<svg ", f'<svg role="img" aria-label="{_text(picture.alternative)}" ', 1
    )
    return (
        f"<figure "
        f'class="abreast-{picture.abreast}"><figcaption>{_cell(picture.caption)}</figcaption>{svg}'
        f"<details><summary>the numbers</summary>{_grid(picture.data)}</details></figure>"
    )


def _kept(rows: Sequence[object]) -> str:
    return " short" if len(rows) <= SHORT else ""


def _cell(text: str) -> str:
    """A text whose long words may be broken, so that no name of a column widens a table beyond its
    page.
    """
    parts = re.split(r"(\S{15,})", printable(text))
    return "".join(
        "<wbr>".join(escape(piece) for piece in re.findall(r"[^_./-]{1,12}[_./-]?|[_./-]", part))
        if odd
        else escape(part)
        for odd, part in zip(itertools.cycle((False, True)), parts, strict=False)
    )


def _text(text: str) -> str:
    return escape(printable(text), quote=True)


def is_report(beginning: bytes) -> bool:
    """Whether a file that begins so is such a page.

    >>> is_report(to_html(Document("Report", "public", ())).encode()), is_report(b"<!DOCTYPE html><title>Mine</title>")
    (True, False)
    """
    return beginning.startswith(b"<!DOCTYPE html>") and any(
        f'<p class="audience {audience}">'.encode() in beginning for audience in AUDIENCE
    )

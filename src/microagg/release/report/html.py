"""A report as one page that needs nothing else: no network, no script; it prints on A4."""

from __future__ import annotations

import itertools

from microagg.release.report.cells import facts_html, grid_html, text_html, wrapped_html
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
from microagg.release.report.front_html import about_html, first_page_html
from microagg.release.report.front_style import FRONT_CSS, page_footer
from microagg.release.report.style import CSS

AUDIENCE = {
    "internal": "Confidential report: contains details about individuals",
    "public": "For publication: reveals no more about individuals than the released table",
}
# the page may not load anything, whatever is in it
POLICY = "default-src 'none'; style-src 'unsafe-inline'"


def to_html(document: Document) -> str:
    """The document as a whole HTML page.

    >>> "a &lt; b" in to_html(Document("a < b", "public", ()))
    True
    """
    title = text_html(document.title)
    contents = "".join(
        f'<li><a href="#part-{number}">{text_html(section.title)}</a></li>'
        for number, section in enumerate(document.sections, 1)
    )
    sections = "\n".join(_section(number, part) for number, part in enumerate(document.sections, 1))
    front = "" if document.front is None else first_page_html(document)
    about = "" if document.front is None else about_html(document.front)
    footer = "" if document.front is None else page_footer(document)
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{POLICY}">
<title>{title}</title>
<style>{CSS}{FRONT_CSS}{footer}</style>
</head>
<body>
<main>
<header>
<h1>{title}</h1>
<p class="audience {document.audience}">{AUDIENCE[document.audience]}</p>
{about}
</header>
{front}
<nav aria-label="Contents"><ol>{contents}</ol></nav>
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
        f"{text_html(section.title)}</h2>\n{body}\n</section>"
    )


def _block(block: Block) -> str:
    match block:
        case Paragraph(text):
            return f"<p>{text_html(text)}</p>"
        case Warn(text):
            return f'<div class="warn" role="note"><b>Note.</b> {text_html(text)}</div>'
        case Facts(rows):
            return facts_html(rows)
        case Grid():
            return grid_html(block)
        case Picture():
            return _picture(block)
        case Listing(text):
            return (
                "<details><summary>show</summary>"
                '<pre tabindex="0" role="group" '
                f'aria-label="Listing">{text_html(text)}</pre></details>'
            )
        case Signature(title, lines):
            fields = "".join(f"<div><span>{text_html(line)}</span><i></i></div>" for line in lines)
            return f'<div class="sign"><b>{text_html(title)}</b>{fields}</div>'


def _picture(picture: Picture) -> str:
    if not picture.svg:
        return f'<div class="abreast-{picture.abreast}">{grid_html(picture.data)}</div>'
    svg = picture.svg.replace(
        "<svg ", f'<svg role="img" aria-label="{text_html(picture.alternative)}" ', 1
    )
    return (
        f"<figure "
        f'class="abreast-{picture.abreast}">'
        f"<figcaption>{wrapped_html(picture.caption)}</figcaption>{svg}"
        f"<details><summary>the numbers</summary>{grid_html(picture.data)}</details></figure>"
    )


def is_report(beginning: bytes) -> bool:
    """Return whether the beginning of a file is that of such a page.

    >>> (
    ...     is_report(to_html(Document("Report", "public", ())).encode()),
    ...     is_report(b"<!DOCTYPE html><title>Mine</title>"),
    ... )
    (True, False)
    """
    return beginning.startswith(b"<!DOCTYPE html>") and any(
        f'<p class="audience {audience}">'.encode() in beginning for audience in AUDIENCE
    )

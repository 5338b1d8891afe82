"""A report as Markdown, with tables in the place of pictures."""

from __future__ import annotations

import re
from collections.abc import Sequence

from microagg.formatting import printable
from microagg.release.report.document import (
    Block,
    Document,
    Facts,
    FirstPage,
    Grid,
    Listing,
    Paragraph,
    Picture,
    Signature,
    Warn,
)

AUDIENCE = {
    "internal": "For internal use: not for publication.",
    "public": "For publication.",
}
_SPECIAL = re.compile(r"[\\`*\[\]|~$]|(?<![^\W_])_|_(?![^\W_])")  # a _ within a word means nothing


def to_markdown(document: Document) -> str:
    """The document as Markdown (with tables as GitHub, pandoc and others read them).

    >>> from microagg.release.report.document import Section
    >>> print(
    ...     to_markdown(Document("Report", "public", (Section("Limits", (Paragraph("a < b"),)),)))
    ... )
    # Report
    <BLANKLINE>
    *For publication.*
    <BLANKLINE>
    ## Limits
    <BLANKLINE>
    a &lt; b
    <BLANKLINE>
    """
    parts = [f"# {_escaped(document.title)}", f"*{AUDIENCE[document.audience]}*"]
    parts += [] if document.front is None else _front(document.front)
    for section in document.sections:
        parts += [f"## {_escaped(section.title)}", *(_block(block) for block in section.blocks)]
    return "\n\n".join(parts) + "\n"


def _front(front: FirstPage) -> list[str]:
    """Return the first page as paragraphs and tables."""
    about = " · ".join(f"{name}: {value}" for name, value in front.about)
    parts = [_escaped(about), f"## {_escaped(front.verdict[1])}"]
    parts.append(_table(("", "figure", ""), front.figures))
    if front.decisions:
        rows = [(point.text, point.fix, "☐ accepted ☐ change") for point in front.decisions]
        parts += ["## Decide before signing", _table(("point", "what to do", ""), rows)]
    if front.more_decisions:
        parts.append(f"{front.more_decisions} more to decide before signing: see the notes below.")
    parts.append("## What users of the data lose")
    if front.scale is not None:
        text = f"Information loss (IL): {front.scale.text}. {front.scale.meaning}"
        parts.append(_escaped(text))
    if front.effects is not None:
        parts.append(_block(front.effects))
    parts += [_escaped(sentence) for sentence in front.losses]
    boxes = [(title, ", ".join(names) or "none") for title, names in front.boxes]
    parts += ["## Columns", _table(("", "columns"), boxes)]
    return parts if front.signature is None else [*parts, _block(front.signature)]


def _block(block: Block) -> str:
    match block:
        case Paragraph(text):
            return _escaped(text)
        case Warn(text):
            return f"> **Note:** {_escaped(text)}"
        case Facts(rows):
            return _table(("", "figure", "what it means"), rows)
        case Grid(head, rows, caption, _):
            return _table(head, rows) + (f"\n\n*{_escaped(caption)}*" if caption else "")
        case Picture(data=data):
            return _block(data)
        case Listing(text):
            fence = "`" * max(3, 1 + max((len(run) for run in re.findall("`+", text)), default=0))
            return f"{fence}\n{printable(text)}\n{fence}"
        case Signature(title, lines):
            return "\n\n".join(
                [f"**{_escaped(title)}**", *(f"{_escaped(line)}: {'…' * 20}" for line in lines)]
            )


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    return "\n".join([_row(head), "|" + " --- |" * len(head), *(_row(row) for row in rows)])


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(_escaped(cell) for cell in cells)} |"


def _escaped(text: str) -> str:
    """A text on one line that Markdown shows to the letter."""
    one_line = " ".join(printable(text).split())
    safe = one_line.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return _SPECIAL.sub(lambda match: "\\" + match[0], safe)


def is_report(beginning: bytes) -> bool:
    """Return whether the beginning of a file is that of such a text.

    >>> is_report(to_markdown(Document("Report", "public", ())).encode()), is_report(b"# My notes")
    (True, False)
    """
    return re.match(rb"# [^\n]*\n\n\*For (publication|internal use)\b", beginning) is not None

"""First page of a report as a fragment of HTML, with its own style: for pages, notebooks,
studio.
"""

from __future__ import annotations

import math

from microagg.release.report.cells import grid_html, text_html, wrapped_html
from microagg.release.report.document import Document, FirstPage, Scale, Signature
from microagg.release.report.front import NOT_LISTED
from microagg.release.report.front_text import NEXT

MARKS = (0, 1, 5, 10, 25, 50, 100)  # percent, written below the scale of loss
WIDTH = 100.0  # of the scale of loss, in percent of its line


def first_page_html(document: Document) -> str:
    """Return the first page of a report as a fragment of HTML; its style is `FRONT_CSS`.

    >>> from microagg.release.report.document import Document, FirstPage
    >>> page = FirstPage(("met", "Guarantee met, nothing open"), (("File", "a.csv"),), ())
    >>> "Guarantee met, nothing open" in first_page_html(Document("Report", "public", (), page))
    True
    """
    front = document.front
    if front is None:
        raise ValueError("this document has no first page")
    decide = _decide(front)
    parts = [
        _verdict(front),
        _figures(front),
        f'<div class="front-halves">{decide}<div class="front-lose">{_lose(front)}</div></div>',
        _boxes(front),
        _sign(front.signature, dict(front.about).get("Fingerprint", "")),
    ]
    return f'<section class="front" aria-label="Summary">{"".join(filter(None, parts))}</section>'


def about_html(front: FirstPage) -> str:
    """Return file, date, version and fingerprint on one line."""
    items = "".join(
        f"<div><dt>{text_html(name)}</dt><dd>{wrapped_html(value)}</dd></div>"
        for name, value in front.about
    )
    return f'<dl class="front-about">{items}</dl>'


def _verdict(front: FirstPage) -> str:
    status, sentence = front.verdict
    icon = {"met": "✓", "decide": "!", "stop": "✕"}[status]
    return (
        f'<p class="front-verdict {status}"><span class="front-icon" aria-hidden="true">{icon}'
        f"</span> <strong>{text_html(sentence)}</strong> <span>{NEXT[status]}</span></p>"
    )


def _figures(front: FirstPage) -> str:
    cards = "".join(
        f"<div><dt>{text_html(name)}</dt><dd><b>{text_html(value)}</b> "
        f"<span>{text_html(meaning)}</span></dd></div>"
        for name, value, meaning in front.figures
    )
    return f'<dl class="front-figures">{cards}</dl>'


def _decide(front: FirstPage) -> str:
    if not front.decisions:
        return (
            '<div class="front-decide"><h2>Decide before signing</h2><p>Nothing is open.</p></div>'
        )
    rows = "".join(
        f"<li><span>{_joined(point.text)} <em>{_joined(point.fix)}</em></span>"
        '<span class="front-ticks">☐ accepted&nbsp; ☐ change</span></li>'
        for point in front.decisions
    )
    more = ""
    if front.more_decisions:
        noun = "point" if front.more_decisions == 1 else "points"
        more = (
            f"<p>{front.more_decisions} more {noun} to decide before signing: "
            "see the notes after this page.</p>"
        )
    return f'<div class="front-decide"><h2>Decide before signing</h2><ol>{rows}</ol>{more}</div>'


def _lose(front: FirstPage) -> str:
    parts = ["<h2>What users of the data lose</h2>"]
    if front.scale is not None:
        parts.append(_scale(front.scale))
    if front.effects is not None:
        parts.append(grid_html(front.effects, extra=" front-effects"))
    parts += [f"<p>{_joined(sentence)}</p>" for sentence in front.losses]
    return "".join(parts)


def _scale(scale: Scale) -> str:
    """Return the loss on a line from 0 to 100 %, with the usual range shaded."""
    line = "" if scale.value is None else _line(scale.value, scale.usual)
    word = f" ({text_html(scale.word)})" if scale.word else ""
    return (
        f'<div class="front-scale"><p><b>Information loss (IL): {text_html(scale.text)}</b>{word}'
        f"</p>{line}<p>{_joined(scale.meaning)}</p></div>"
    )


def _joined(text: str) -> str:
    """Return a text in which no line breaks before a percent sign."""
    return text_html(text.replace(" %", "\u00a0%"))


def _line(value: float, usual: tuple[float, float]) -> str:
    """Return the line as SVG, which needs no style of its own: some pages allow none."""
    low, high = (_position(edge) for edge in usual)
    ends = {0: "start", 100: "end"}
    marks = "".join(
        f'<text x="{_position(mark):.1f}%" y="31" text-anchor="{ends.get(mark, "middle")}">'
        f"{mark}{' %' if mark in ends else ''}</text>"
        for mark in MARKS
    )
    return (
        '<svg class="front-line" width="100%" height="34" aria-hidden="true">'
        '<rect class="rail" x="0" y="4" width="100%" height="11" rx="5"/>'
        f'<rect class="usual" x="{low:.1f}%" y="4" width="{high - low:.1f}%" height="11"/>'
        f'<rect class="here" x="{_position(value):.1f}%" y="0" width="3" height="19"/>{marks}</svg>'
    )


def _position(percent: float) -> float:
    """Return the place on the line: roots, so that small losses are told apart."""
    return WIDTH * math.sqrt(min(max(percent, 0.0), 100.0) / 100.0)


def _boxes(front: FirstPage) -> str:
    boxes = "".join(
        f"<div><dt>{text_html(title)}{_count(names)}</dt><dd>{_names(names)}</dd></div>"
        for title, names in front.boxes
    )
    return f'<h2>Columns</h2><dl class="front-boxes">{boxes}</dl>' if boxes else ""


def _count(names: tuple[str, ...]) -> str:
    return "" if names == (NOT_LISTED,) else f" ({len(names)})"


def _names(names: tuple[str, ...]) -> str:
    if not names:
        return "none"
    if names == (NOT_LISTED,):
        return text_html(NOT_LISTED)
    shown = [wrapped_html(middle_cut(name)) for name in names[:14]]
    more = f" and {len(names) - 14} more" if len(names) > 14 else ""
    return f"{', '.join(shown)}{more}"


def middle_cut(text: str, most: int = 28) -> str:
    """Cut a long name in its middle, where names of columns differ least.

    >>> middle_cut("income_of_household_before_taxes_2024", 20)
    'income_of_…axes_2024'
    """
    if len(text) <= most:
        return text
    head = most // 2
    return f"{text[:head]}…{text[len(text) - (most - head - 1) :]}"


def _sign(signature: Signature | None, fingerprint: str) -> str:
    if signature is None:
        return ""
    lines = "".join(f"<div><span>{text_html(line)}</span><i></i></div>" for line in signature.lines)
    return (
        f'<div class="front-sign"><p><b>{text_html(signature.title)}</b> '
        f"<span>Fingerprint of the table {text_html(fingerprint)}</span></p>"
        f'<div class="front-lines">{lines}</div></div>'
    )

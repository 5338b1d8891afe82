"""Notebook display of a release: the first page of its report."""

from __future__ import annotations

from collections.abc import Sequence

from microagg.release.report.cells import text_html
from microagg.release.report.document import Document
from microagg.release.report.front_html import first_page_html
from microagg.release.report.front_style import FRAGMENT_CSS


def first_page_fragment(document: Document, notes: Sequence[str] = ()) -> str:
    """Return the first page of a report as a fragment of HTML that brings its own style.

    Notebooks and the studio show it inside pages of their own. Nothing is loaded or run. `notes`
    are those that the first page does not show.

    >>> from microagg.release.report.document import FirstPage
    >>> page = FirstPage(("met", "Guarantee met, nothing open"), (), ())
    >>> first_page_fragment(Document("Report", "internal", (), page))[:31]
    '<div class="microagg-first-page'
    """
    return (
        f'<div class="microagg-first-page"><style>{FRAGMENT_CSS}</style>'
        f"{first_page_html(document)}{_others(notes)}</div>"
    )


def _others(notes: Sequence[str]) -> str:
    if not notes:
        return ""
    items = "".join(f"<li>{text_html(note)}</li>" for note in notes)
    return f"<details><summary>Other notes ({len(notes)})</summary><ul>{items}</ul></details>"

"""A report as JSON: the same document for machines, with the numbers of every picture in its
place.
"""

from __future__ import annotations

import json
import re
from dataclasses import asdict
from typing import Any

from microagg.formatting import printable
from microagg.release.report.document import Block, Document, Picture


def to_json(document: Document) -> str:
    """The document as JSON; each block has a `kind`.

    >>> to_json(Document("Report", "public", ())).splitlines()[1]
    '  "title": "Report",'
    """
    content = {
        "title": document.title,
        "audience": document.audience,
        **({} if document.front is None else {"first_page": asdict(document.front)}),
        "sections": [
            {"title": section.title, "blocks": [_block(block) for block in section.blocks]}
            for section in document.sections
        ],
    }
    return printable(json.dumps(content, indent=2, ensure_ascii=False)) + "\n"


def _block(block: Block) -> dict[str, Any]:
    content = asdict(block)
    if isinstance(block, Picture):  # a drawing is for eyes; its numbers are in `data`
        content = {name: content[name] for name in ("alternative", "caption", "data")}
    return {"kind": type(block).__name__.lower(), **content}


def is_report(beginning: bytes) -> bool:
    """Return whether the beginning of a file is that of such a document.

    >>> is_report(to_json(Document("Report", "public", ())).encode()), is_report(b'{"format": 2}')
    (True, False)
    """
    return (
        re.match(rb'\{\s*"title": "[^\n]*",\s*"audience": "(internal|public)",', beginning)
        is not None
    )

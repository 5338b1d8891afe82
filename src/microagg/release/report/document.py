"""A report as plain data: what it says, in which order, for whom; how it looks is the renderers'
business.

The same document becomes a page (`html.py`), Markdown (`markdown.py`) and JSON (`plain.py`).
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Paragraph:
    """A few sentences.

    >>> Paragraph("No record stands alone.").text
    'No record stands alone.'
    """

    text: str


@dataclass(frozen=True)
class Facts:
    """Figures that are read one by one: a name, the value with its unit, what it means.

    >>> Facts((("Records", "1,000 records", "as many as before"),)).rows[0][1]
    '1,000 records'
    """

    rows: tuple[tuple[str, str, str], ...]


@dataclass(frozen=True)
class Grid:
    """A table with a head; all cells are texts.

    >>> Grid(("column", "role"), (("age", "quasi"),), "the roles").head
    ('column', 'role')
    """

    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    caption: str = ""


@dataclass(frozen=True)
class Picture:
    """A drawing, its description for those who do not see it, and the numbers that it shows.

    >>> Picture("", "two bars", "class sizes", Grid(("size", "classes"), (("5", "2"),))).data.rows
    (('5', '2'),)
    """

    svg: str
    """One <svg> element; empty where nothing could be drawn: then the numbers stand for it."""
    alternative: str
    caption: str
    data: Grid
    abreast: int = 1
    """How many pictures of this kind stand side by side on a wide page: 1, 2 or 3."""


@dataclass(frozen=True)
class Warn:
    """A sentence that nobody should miss.

    >>> Warn("not for publication").text
    'not for publication'
    """

    text: str


@dataclass(frozen=True)
class Listing:
    """A text that is shown letter by letter, such as a manifest.

    >>> Listing('{"k": 5}').text
    '{"k": 5}'
    """

    text: str


@dataclass(frozen=True)
class Signature:
    """Lines to be filled in by hand on paper.

    >>> Signature("Approved for release", ("Name", "Date")).lines
    ('Name', 'Date')
    """

    title: str
    lines: tuple[str, ...]


Block = Paragraph | Facts | Grid | Picture | Warn | Listing | Signature


@dataclass(frozen=True)
class Section:
    """A part of a report under its heading.

    >>> Section("Limits", (Paragraph("None of it is magic."),)).title
    'Limits'
    """

    title: str
    blocks: tuple[Block, ...]


@dataclass(frozen=True)
class Document:
    """A whole report. `audience` is "internal" (everything, for the data holder) or "public"
    (nothing of single records).

    >>> Document("Report", "public", ()).audience
    'public'
    """

    title: str
    audience: str
    sections: tuple[Section, ...]

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
    collapsed: bool = False
    """True for details that a page opens on request, and that are not printed."""


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
    """Sentence that is shown with emphasis.

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
class Decision:
    """A point to decide before signing, with boxes to tick on paper.

    >>> Decision("3 records are unique.", "Leave out columns.").fix
    'Leave out columns.'
    """

    text: str
    fix: str


@dataclass(frozen=True)
class Scale:
    """A figure on a scale with the range that is usual.

    >>> Scale("6.3 %", 6.3, (2.0, 9.0), "usual", "half of what is usual").word
    'usual'
    """

    text: str
    value: float | None
    usual: tuple[float, float]
    word: str
    meaning: str


@dataclass(frozen=True)
class FirstPage:
    """First page of a report: everything that a decision on a release needs, to be signed.

    >>> page = FirstPage(("decide", "Guarantee met, 1 point to decide"), (), ())
    >>> page.verdict[0], page.more_decisions
    ('decide', 0)
    """

    verdict: tuple[str, str]
    """Status (met, decide or stop) and its sentence."""
    about: tuple[tuple[str, str], ...]
    """File, date, version and fingerprint."""
    figures: tuple[tuple[str, str, str], ...]
    decisions: tuple[Decision, ...] = ()
    more_decisions: int = 0
    """Points that are open and not listed."""
    effects: Grid | None = None
    losses: tuple[str, ...] = ()
    """Sentences on what users of the data lose."""
    scale: Scale | None = None
    boxes: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """Columns by what became of them."""
    signature: Signature | None = None


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
    front: FirstPage | None = None

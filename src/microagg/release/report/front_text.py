"""First page of a report as lines of text, for a terminal and for `summary`."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

from microagg.formatting import listed, printable
from microagg.release.note import FormatSetting, Note
from microagg.release.report.document import Document, FirstPage
from microagg.release.verdict import note_parts

NARROW, WIDE = 80, 120  # columns of a terminal that lines are wrapped to
INDENT = 13
SHOWN = 3  # columns that changed most
NEXT = {
    "met": "It may be published once it is signed.",
    "decide": "It may be published once each point below is accepted or changed, and it is signed.",
    "stop": "Change what is listed below first.",
}
"""What follows from a verdict, by its status."""


def front_lines(front: FirstPage, width: int = WIDE) -> list[str]:
    """Return the first page in a dozen lines, wrapped by words under their names.

    >>> figures = (("Smallest class", "5 records", "of 5"),)
    >>> page = FirstPage(("met", "Guarantee met, nothing open"), (), figures)
    >>> front_lines(page)[1]
    'class        Smallest class: 5 records (of 5)'
    """
    return [line for name, text in _rows(front) for line in wrapped(name, text, width)]


def wrapped(name: str, text: str, width: int = WIDE) -> list[str]:
    """Return a text wrapped by words, under its name and with a hanging indent.

    >>> wrapped("loss", "one two three", 20)
    ['loss         one two', '             three']
    """
    width = max(width, 24)
    return textwrap.wrap(
        printable(text),
        width,
        initial_indent=f"{name:<{INDENT - 1}} ",
        subsequent_indent=" " * INDENT,
        break_on_hyphens=False,
        break_long_words=False,
    ) or [name]


def shown_beside(
    notes: Sequence[Note], front: FirstPage, format_setting: FormatSetting
) -> list[str]:
    """Return the notes that the first page does not show, as sentences."""
    shown = {decision.text.rstrip(".") for decision in front.decisions}
    return [
        note.render(format_setting)
        for note in notes
        if note_parts(note, format_setting)[0].rstrip(".") not in shown
    ]


def first_page_text(document: Document, width: int = WIDE, notes: Sequence[str] = ()) -> str:
    """Return the first page of a report as text, under its title, and `notes` below."""
    front = document.front
    if front is None:
        return printable(document.title)
    about = " · ".join(f"{name}: {value}" for name, value in front.about)
    columns = [
        line
        for title, names in front.boxes
        for line in wrapped(title.split()[0].lower().strip(":"), listed(names) or "none", width)
    ]
    if front.signature is not None:
        fields = listed([line.lower() for line in front.signature.lines])
        columns += wrapped("to sign", f"{front.signature.title}: {fields}", width)
    others = [line for note in notes for line in wrapped("note", note, width)]
    head = [printable(document.title), *wrapped("", about, width), ""]
    return "\n".join([*head, *front_lines(front, width), *columns, *others])


def _rows(front: FirstPage) -> Iterator[tuple[str, str]]:
    yield "verdict", f"{front.verdict[1]}. {NEXT[front.verdict[0]]}"
    for name, (title, value, meaning) in zip(
        ("class", "chance", "unique"), front.figures, strict=False
    ):
        yield name, f"{title}: {value} ({meaning})"
    for index, decision in enumerate(front.decisions):
        yield "decide" if index == 0 else "", f"{decision.text} {decision.fix}".strip()
    if front.more_decisions:
        yield "", f"and {front.more_decisions} more, see the notes"
    if front.scale is not None:
        word = f", {front.scale.word}" if front.scale.word else ""
        yield "loss", f"IL = {front.scale.text} of the variation{word}"
    if front.effects is not None:
        yield "users lose", "; ".join(_effects(front))
    for sentence in front.losses:
        yield "", sentence


def _effects(front: FirstPage) -> Iterator[str]:
    assert front.effects is not None
    for name, _, total, spread, lost in front.effects.rows[:SHOWN]:
        changes = [f"total {total}"] if total != "–" else []
        changes += [f"spread {spread}"] if spread != "–" else []
        changes += [f"{lost} categories lost"] if lost != "–" else []
        yield f"{name}: {', '.join(changes) or 'unchanged'}"

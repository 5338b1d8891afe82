"""Verdict on a release: may it be published, and what is open. It follows from its notes.

Terminal, JSON, notebook and report show the same verdict. That of a public report follows from the
notes that the released table and the settings alone are due to.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from microagg.release.note import FormatSetting, Note, Severity, as_argument
from microagg.release.note_facts import NoteFacts
from microagg.release.note_rules import notes_from
from microagg.table.schema import Role

WORST_FIRST = (
    "not-k-anonymous",
    "could-name-somebody",
    "another-release",
    "could-name-accepted",
    "unique-records",
    "nearly-unique",
    "only-confidential-value",
    "shared-confidential-value",
    "dominated-groups",
    "heavy-records",
    "kept-weight",
    "totals-far-off",
    "categories-lost",
)
"""Codes of notes that are decided on first; the others follow in the order of the catalogue."""
PUBLIC = ("not-k-anonymous", "could-name-accepted", "unique-records", "kept-columns", "k-is-2")
"""Codes of notes that follow from the released table and the settings."""
PUBLIC_REASON = "by its name, or by what its values look like"


@dataclass(frozen=True)
class Decision:
    """A point to decide before a release is signed: its sentence and what would help."""

    code: str
    severity: str
    text: str
    fix: str


@dataclass(frozen=True)
class Verdict:
    """Answer to whether a release may be published: `met`, `decide` or `stop`.

    >>> Verdict("decide", ()).sentence, Verdict("met", ()).icon
    ('Guarantee met, 0 points to decide', '✓')
    """

    status: str
    decisions: tuple[Decision, ...]
    """All points that are open, the worst first."""

    @property
    def sentence(self) -> str:
        """The verdict in words."""
        points = len(self.decisions)
        if self.status == "stop":
            return "Do not publish"
        if self.status == "met":
            return "Guarantee met, nothing open"
        return f"Guarantee met, {points} {'point' if points == 1 else 'points'} to decide"

    @property
    def icon(self) -> str:
        """A sign for the verdict."""
        return {"met": "✓", "decide": "!", "stop": "✕"}[self.status]

    def as_data(self) -> dict[str, Any]:
        """Return the verdict as plain data for JSON."""
        return {
            "status": self.status,
            "text": self.sentence,
            "decide": [
                {
                    "code": point.code,
                    "severity": point.severity,
                    "text": point.text,
                    "fix": point.fix,
                }
                for point in self.decisions
            ],
        }


def verdict_of(notes: Sequence[Note], format_setting: FormatSetting = as_argument) -> Verdict:
    """Return the verdict that notes on a release amount to.

    >>> verdict_of(notes_from(NoteFacts(k=2))).sentence
    'Guarantee met, 1 point to decide'
    """
    grave = [note for note in notes if note.severity in (Severity.STOP, Severity.DECIDE)]
    grave.sort(key=_rank)
    decisions = tuple(_decision(note, format_setting) for note in grave)
    if any(note.severity is Severity.STOP for note in grave):
        return Verdict("stop", decisions)
    return Verdict("decide" if decisions else "met", decisions)


def public_notes(manifest: Mapping[str, Any], class_sizes: np.ndarray) -> tuple[Note, ...]:
    """Return the notes that follow from a public manifest and the released classes.

    >>> public_notes({"settings": {"k": 2}, "records": 4, "roles": {}}, np.array([2, 2]))
    ('k is 2: each of the two records of a group can work out the other; use k=3',)
    """
    k = int(manifest["settings"]["k"])
    below = class_sizes[class_sizes < k]
    kept = [name for name, role in manifest["roles"].items() if role == Role.KEEP.value]
    facts = NoteFacts(
        k,
        int(manifest["records"]),
        unprotected_records=int(below.sum()),
        kept=kept,
        unique_records=int((manifest.get("all_columns") or {}).get("unique_records", 0)),
        naming=dict.fromkeys(manifest.get("may_identify") or (), PUBLIC_REASON),
        names_accepted=True,
    )
    return tuple(note for note in notes_from(facts) if note.code in PUBLIC)


def _rank(note: Note) -> tuple[bool, int]:
    rank = WORST_FIRST.index(note.code) if note.code in WORST_FIRST else len(WORST_FIRST)
    return note.severity is not Severity.STOP, rank


def _decision(note: Note, format_setting: FormatSetting) -> Decision:
    return Decision(note.code, note.severity.value, *note_parts(note, format_setting))


def note_parts(note: Note, format_setting: FormatSetting = as_argument) -> tuple[str, str]:
    """Return the sentence of a note and its advice apart.

    >>> note_parts(notes_from(NoteFacts(k=2))[0])
    ('K is 2: each of the two records of a group can work out the other', 'Use k=3')
    """
    text, hint = note.render(format_setting), note.render_hint(format_setting)
    text = text.removesuffix(f"; {hint}") if hint else text
    return _capital(text), _capital(hint)


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]

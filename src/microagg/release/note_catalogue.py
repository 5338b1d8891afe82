"""Catalogue of notes: one entry for each code with its sentence, hint, severity and description.

Notes of a release come in the order of these entries.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from microagg.release.note import Count, Note, NoteEntry
from microagg.release.note_entries import RELEASE_NOTES
from microagg.release.note_entries_files import FILE_NOTES

CATALOGUE: dict[str, NoteEntry] = {entry.code: entry for entry in (*RELEASE_NOTES, *FILE_NOTES)}
"""Entries by their codes, in the order of the notes of a release."""


def make_note(
    code: str, columns: Sequence[str] = (), *, fix: Mapping[str, Any] | None = None, **counts: Count
) -> Note:
    """Return a note by the code of its entry.

    >>> make_note("dropped-records", records=1200)
    '1,200 records were left out, because a quasi-identifier is missing'
    """
    return CATALOGUE[code].note(columns, counts, fix)

"""Verdicts: the worst point comes first, and one that stops decides."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest

from microagg.release.note import Note, Severity
from microagg.release.note_catalogue import CATALOGUE
from microagg.release.verdict import WORST_FIRST, verdict_of


def plain_note(code: str) -> Note:
    """Return a note of this kind whose sentence takes no counts."""
    return replace(CATALOGUE[code], sentence=code, hint="", item="").note()


def codes_with(severity: Severity) -> list[str]:
    return [code for code, entry in CATALOGUE.items() if entry.severity is severity]


STOPPING, OPEN = codes_with(Severity.STOP), codes_with(Severity.DECIDE)


@pytest.mark.parametrize("stopping", STOPPING)
def test_a_point_that_stops_comes_before_every_other(stopping: str) -> None:
    for code in OPEN:
        for notes in itertools.permutations([plain_note(stopping), plain_note(code)]):
            verdict = verdict_of(notes)
            assert verdict.status == "stop"
            assert [point.code for point in verdict.decisions] == [stopping, code]


def test_points_of_one_severity_come_the_worst_first_then_in_their_order() -> None:
    for codes in (STOPPING, OPEN):
        listed = [code for code in WORST_FIRST if code in codes]
        others = [code for code in reversed(codes) if code not in WORST_FIRST]
        notes = [plain_note(code) for code in [*others, *reversed(listed)]]
        assert [point.code for point in verdict_of(notes).decisions] == [*listed, *others]


def test_notes_that_ask_for_nothing_are_no_points() -> None:
    notes = [
        plain_note(code)
        for severity in ("info", "check")
        for code in codes_with(Severity(severity))
    ]
    assert notes
    assert (verdict_of(notes).status, verdict_of(notes).decisions) == ("met", ())

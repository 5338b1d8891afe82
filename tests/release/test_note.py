"""Words of notes: one and many, lists, and what is added when a release is saved."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import microagg as ma
from microagg.guarantees.k import anonymity
from microagg.guarantees.promise import Guarantees
from microagg.methods.method import Grouping
from microagg.pipeline.note_facts import with_cell_facts, with_group_facts
from microagg.release.facts import SearchOutcome
from microagg.release.note_catalogue import make_note
from microagg.release.note_facts import NoteFacts
from microagg.release.settings import Settings
from microagg.release.settings_schema import settings_schema
from microagg.table.aggregate import aggregated
from microagg.table.confidential import Attribute
from microagg.table.encoder import Space
from microagg.table.schema import Kind
from mixed_tables import mixed_cells, mixed_groups


@pytest.mark.parametrize(
    ("records", "words"),
    [(1, "1 record was left"), (2, "2 records were left"), (0, "0 records were left"),
     (1234, "1,234 records were left")],
)  # fmt: skip
def test_one_is_written_as_one(records: int, words: str) -> None:
    assert make_note("dropped-records", records=records).startswith(words)


def test_notes_that_depend_on_the_place_are_added_once(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    table = pa.table({"age": rng.integers(20, 80, 40), "remark": ["", *["fine"] * 39]})
    settings: dict[str, Any] = {"quasi": ["age"], "keep": ["remark"], "method": "mdav", "seed": 1}
    ma.anonymize(table, 3, **settings).save(tmp_path / "first.parquet")
    release = ma.anonymize(table, 5, **settings)
    before = release.notes
    codes = [note.code for note in before]
    assert not {"other-groups", "empty-texts"} & set(codes)
    release.save(tmp_path / "second.sav")
    added = [note.code for note in release.notes[len(before) :]]
    assert added == ["other-groups", "empty-texts"]
    assert release.notes[: len(before)] == before
    saved = release.notes
    release.save(tmp_path / "second.sav")
    assert release.notes == saved


@pytest.mark.parametrize("stopped", [None, "at 3 of 5"])
def test_a_search_that_was_stopped_says_so(stopped: object) -> None:
    grouping = replace(Grouping(np.zeros(4, np.int32), chosen=("way",)), stopped=stopped)
    outcome = SearchOutcome.of(grouping)
    assert outcome.stopped_early is (stopped is not None)
    assert (outcome.chosen, outcome.bound, outcome.gap) == (("way",), None, None)


@pytest.mark.parametrize("scope", ["record", "column"])
def test_records_without_protection_are_those_of_methods_by_columns(scope: str) -> None:
    table = pa.table({"age": [1, 1, 1, 2, 2, 3]})
    ill = Attribute("ill", Kind.NOMINAL, np.array([0, 0, 0, 1, 1, 1]))
    homes = Attribute("home", Kind.NOMINAL, np.array([0, 0, 0, 0, 1, 1]))

    def facts(k: int, promise: Guarantees) -> NoteFacts:
        classes = replace(anonymity(table, ["age"], k), scope=scope)
        return with_group_facts(NoteFacts(k=k), classes, (ill,), homes, promise)

    small = facts(3, Guarantees())
    assert small.unprotected_records == (3 if scope == "column" else 0)
    assert facts(1, Guarantees()).unprotected_records == 0
    assert small.records_without_value == {}
    assert facts(3, Guarantees.of(2)).records_without_value == {"ill": 0}
    assert small.units is not None
    assert (small.units.units, small.units.large_units) == (2, 1)
    (shared,) = small.shared_values
    assert (shared.column, shared.groups) == ("ill", 3)


def test_facts_of_cells_name_each_column_with_its_own_decimals() -> None:
    cells, labels = mixed_cells(2), mixed_groups(2)
    made = aggregated(cells, labels)
    settings = Settings.of(k=4, quasi=cells.names, scale="minmax")
    facts = with_cell_facts(NoteFacts(k=4), cells, made, settings, Space.fit(cells, "minmax"))
    assert facts.scale == "minmax"
    assert [(one.column, one.decimals, one.reason) for one in facts.rounded] == list(
        zip(cells.names, made.decimals, made.reasons, strict=True)
    )
    assert facts.columns_with_gaps == ["income", "school"]
    assert facts.equal_columns == []
    assert facts.numbers_as_text == []


def test_no_object_of_the_schema_takes_names_that_mean_nothing() -> None:
    """Misspelt names of settings, of questions and of their answers are found by editors."""
    schema = settings_schema()
    decide = schema["properties"]["decide"]
    assert schema["additionalProperties"] is False
    assert decide["additionalProperties"] is False
    for question in decide["properties"].values():
        one, many = question["additionalProperties"]["anyOf"]
        assert one["enum"][0] == "decide"
        assert many["additionalProperties"] is False
        assert set(many["required"]) == set(many["properties"])

"""Memory that was allowed and is not enough for a table that is worked on as a whole: a note says
so.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import microagg as ma
import tables
from microagg.cli.commands_release import Memory
from microagg.methods.search.blockwise import MOST_AS_ONE
from microagg.pipeline.files import anonymize_file
from microagg.pipeline.memory_budget import MemoryBudget
from microagg.studies.repeating import repeat_file

SETTINGS: dict[str, Any] = {
    "k": 3,
    "quasi": tables.QUASI,
    "rest": "drop",
    "method": "mdav",
    "seed": 1,
}


def told(release: ma.Release) -> list[str]:
    return [note for note in release.notes if "the memory limit was not applied" in note]


@pytest.mark.parametrize("ending", [".csv", ".parquet", ".xlsx"])
def test_a_small_table_that_takes_more(tmp_path: Path, ending: str) -> None:
    source, target = tables.write(tables.people(60), tmp_path / f"in{ending}"), tmp_path / "out.csv"
    (note,) = told(anonymize_file(source, target, memory="10kB", **SETTINGS))
    assert f"more than {MOST_AS_ONE:,} records" in note
    assert told(anonymize_file(source, target, memory="1GB", **SETTINGS)) == []
    assert told(anonymize_file(source, target, **SETTINGS)) == []
    again = repeat_file(f"{target}.internal.json", source, tmp_path / "again.csv", memory="10kB")
    assert told(again) == [note]


def test_help_says_so() -> None:
    said = Memory.__metadata__[0].help
    assert f"{MOST_AS_ONE:,} records" in said
    assert "a note says if that may take more" in said


def test_different_values_may_take_the_quarter_that_their_sentence_names() -> None:
    assert MemoryBudget(memory=400_000_000, threads=2).for_values == 100_000_000

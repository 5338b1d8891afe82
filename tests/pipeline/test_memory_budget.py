"""Memory that was allowed: what is cut into chunks, blocks and buckets by it, what is worked on as
a whole, and that a note says so where it is not enough.
"""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

import microagg as ma
import tables
from microagg.cli.commands_release import Memory
from microagg.errors import InputError, OnlyInMemoryError
from microagg.methods.search.blockwise import MOST_AS_ONE, largest_block
from microagg.pipeline import memory_budget
from microagg.pipeline.files import anonymize_file
from microagg.pipeline.memory_budget import (
    MemoryBudget,
    bytes_in,
    bytes_of_block,
    check_labels,
    check_out_of_core,
    check_without_room,
    exceeds_memory,
    memory_for,
    notes_on_memory,
)
from microagg.release.settings import Settings
from microagg.studies.repeating import repeat_file
from microagg.table.encoder import RUN
from microagg.table.schema import Column, Kind, Role, Schema

SETTINGS: dict[str, Any] = {
    "k": 3,
    "quasi": tables.QUASI,
    "rest": "drop",
    "method": "mdav",
    "seed": 1,
}


def limit_notes(release: ma.Release) -> list[str]:
    return [note for note in release.notes if "the memory limit was not applied" in note]


@pytest.mark.parametrize("ending", [".csv", ".parquet", ".xlsx"])
def test_a_small_table_that_takes_more(tmp_path: Path, ending: str) -> None:
    source, target = tables.write(tables.people(60), tmp_path / f"in{ending}"), tmp_path / "out.csv"
    (note,) = limit_notes(anonymize_file(source, target, memory="10kB", **SETTINGS))
    assert f"more than {MOST_AS_ONE:,} records" in note
    assert limit_notes(anonymize_file(source, target, memory="1GB", **SETTINGS)) == []
    assert limit_notes(anonymize_file(source, target, **SETTINGS)) == []
    again = repeat_file(f"{target}.internal.json", source, tmp_path / "again.csv", memory="10kB")
    assert limit_notes(again) == [note]


def test_help_says_so() -> None:
    help_text = Memory.__metadata__[0].help
    assert f"{MOST_AS_ONE:,} records" in help_text
    assert "a note says if that may take more" in help_text


def test_different_values_may_take_the_quarter_that_their_sentence_names() -> None:
    assert MemoryBudget(memory=400_000_000, threads=2).for_values == 100_000_000


@pytest.mark.parametrize(
    ("size", "expected"),
    [
        ("1", 1),
        ("1.5kB", 1500),
        ("2 MiB", 2_000_000),
        ("3g", 3 * 10**9),
        (" 0.5T ", 5 * 10**11),
        (2.9, 2),
        (1, 1),
    ],
)
def test_sizes(size: Any, expected: int) -> None:
    assert bytes_in(size) == expected


@pytest.mark.parametrize("size", [0, -5, True, None, "", "0", "0.1", "GB", "-1GB", "1 PB", "1e9"])
def test_sizes_that_are_none(size: Any) -> None:
    with pytest.raises(InputError, match="a size such as 4GB"):
        bytes_in(size)


def source_of(records: int, columns: int = 3) -> Any:
    """A table of whole numbers, 8 bytes a cell, of which any number of records is said to be."""

    def read(first: int, count: int, names: list[str]) -> pa.Table:
        assert first == 0
        assert count == min(records, RUN)
        numbers = np.random.default_rng(0).integers(0, 2**62, min(count, 1000))
        return pa.table(dict.fromkeys(names, numbers))

    return SimpleNamespace(records=records, read=read)


def schema_of(quasi: int = 2, kept: int = 1) -> Schema:
    return Schema(
        tuple(
            Column(f"c{number}", Role.QUASI if number < quasi else Role.KEEP, Kind.NUMERIC)
            for number in range(quasi + kept)
        )
    )


@pytest.mark.parametrize("quasi", [1, 2, 5])
def test_a_block_counts_the_record_its_axes_and_three_copies_of_its_cells(quasi: int) -> None:
    schema, records = schema_of(quasi), 10**7
    expected = 400 + 40 * quasi + 3 * 8 * (quasi + 1)
    assert bytes_of_block(source_of(records), schema, 3) == expected * largest_block(quasi, 3)


def test_a_budget_below_one_block_is_refused() -> None:
    source, schema = source_of(10**7), schema_of()
    block = bytes_of_block(source, schema, 5)
    budget = MemoryBudget(block, 4).checked(source, schema, 5)
    assert budget.at_once == 1
    with pytest.raises(InputError, match=f"needs about {block / 1e6:,.0f} MB"):
        MemoryBudget(block - 1, 4).checked(source, schema, 5)


@pytest.mark.parametrize("threads", [1, 2, 7])
@pytest.mark.parametrize("times", [1.0, 1.99, 2.0, 3.5, 40.0])
def test_a_budget_is_used_and_kept(times: float, threads: int) -> None:
    """Nothing that is done at a time takes more, and one more of it would."""
    records, source, schema, k = 10**8, source_of(10**8), schema_of(), 5
    block = bytes_of_block(source, schema, k)
    memory = int(times * block)
    budget = MemoryBudget(memory, threads).checked(source, schema, k)
    assert budget.at_once == min(threads, int(times))
    cells = 3 * 8
    assert budget.a_record == 3 * cells + 24 * 2 + 64
    runs, rest = divmod(budget.chunk, RUN)
    assert rest == 0
    assert 1 <= runs <= 16
    a_run = 2 * threads * RUN * budget.a_record  # chunks take half of the memory
    assert runs == 1 or runs * a_run <= memory
    assert runs == 16 or (runs + 1) * a_run > memory
    assert budget.a_block_record == block // largest_block(2, k)
    assert budget.a_bucket == int(memory / (6 * threads))
    for bits, total in (
        (budget.row_bits, records * 3 * (cells + 8)),
        (budget.class_bits, records * 100),
    ):
        assert total / 2**bits <= memory / (6 * threads)
        assert bits == 0 or total / 2 ** (bits - 1) > memory / (6 * threads)


def test_chunks_are_of_one_run_at_least_and_of_16_at_most() -> None:
    source, schema = source_of(10**7), schema_of()
    block = bytes_of_block(source, schema, 5)
    assert MemoryBudget(block, 64).checked(source, schema, 5).chunk == RUN
    assert MemoryBudget(10**13, 1).checked(source, schema, 5).chunk == 16 * RUN


def test_disk_holds_two_copies_of_rows_and_what_groups_release() -> None:
    """Random numbers cannot be packed: 8 bytes each, and some more for the file around them."""
    records, source = 10**7, source_of(10**7)
    for quasi in (1, 3):
        schema = schema_of(quasi)
        expected = records * (2.2 * (8 * (quasi + 1) + 12) + 64 + 6 * quasi)
        assert MemoryBudget(10**9, 2).disk(source, schema) == pytest.approx(expected, rel=0.05)


COLUMNS = {"age": pa.int64(), "town": pa.string(), "sex": pa.int8(), "born": pa.date32()}


@pytest.mark.parametrize(
    ("more", "coded"),
    [
        ({"quasi": ["age", "sex"]}, 0),
        ({"quasi": ["age", "town", "born"]}, 2),  # what is no number becomes axes
        ({"quasi": ["age", "sex"], "nominal": ["sex"]}, 1),
        ({"quasi": ["age", "sex"], "kinds": {"sex": "nominal", "age": "numeric"}}, 1),
        ({"quasi": ["age"], "kinds": {"sex": "nominal"}}, 0),  # not a quasi-identifier
    ],
)
def test_a_note_from_one_byte_above_what_was_allowed(more: dict[str, Any], coded: int) -> None:
    table = pa.table({name: pa.nulls(1000, kind) for name, kind in COLUMNS.items()})
    settings = Settings.of(k=2, **more)
    needed = 1000 * (110 + 30 * len(COLUMNS) + 250 * coded)
    assert notes_on_memory(needed, table, settings) == ()
    assert notes_on_memory(None, table, settings) == ()
    (note,) = notes_on_memory(needed - 1, table, settings)
    assert note.counts == {"megabytes": needed / 1e6, "records": MOST_AS_ONE}


def test_a_table_goes_out_of_core_if_it_exceeds_the_memory_and_can_be_cut(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, settings = tmp_path / "in.parquet", Settings.of(k=2, quasi=["age"])
    pa.parquet.write_table(pa.table({"age": np.arange(300)}), path)
    needed = 300 * 140
    assert not exceeds_memory(path, settings, 1)  # one block
    seen = []

    def as_large(records: int, axes: int, k: int) -> bool:
        seen.append((records, axes, k))
        return True

    monkeypatch.setattr(memory_budget, "needs_plan", as_large)
    assert not exceeds_memory(path, settings, needed)
    assert not exceeds_memory(path, settings, "42kB")
    assert exceeds_memory(path, settings, needed - 1)
    assert exceeds_memory(path, settings, needed, engine=True)
    assert set(seen) == {(300, 1, 2)}
    assert not exceeds_memory(path, settings, None)


def test_a_large_table_that_was_read_is_refused_only_without_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table, settings = pa.table({"age": np.arange(1000)}), Settings.of(k=2, quasi=["age"])
    monkeypatch.setattr(memory_budget, "available_memory", lambda: 140_000)
    check_without_room("memory", table, settings)
    monkeypatch.setattr(memory_budget, "available_memory", lambda: 139_999)
    with pytest.raises(InputError, match="use a larger machine"):
        check_without_room("memory", table, settings)
    file = tmp_path / "in.parquet"
    pa.parquet.write_table(table, file)
    monkeypatch.setattr(memory_budget, "memory_limit", lambda _: 140_000)
    check_without_room(file, table, settings)
    monkeypatch.setattr(memory_budget, "memory_limit", lambda _: 1_000)
    with pytest.raises(InputError):
        check_without_room(file, table, settings)


def test_a_file_may_take_half_of_the_free_memory_or_less_if_it_is_small(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory_budget, "available_memory", lambda: 10_001)
    file = tmp_path / "in.csv"
    file.write_text("age\n1\n")
    monkeypatch.setattr(memory_budget, "memory_limit", lambda path: 4_000 if path == file else 0)
    assert memory_for(file) == 4_000
    monkeypatch.setattr(memory_budget, "memory_limit", lambda _: 6_000)
    assert memory_for(file) == 5_000
    assert memory_for(tmp_path / "none.csv") == 5_000
    assert memory_for("s3://bucket/in.parquet") == 5_000


def test_labels_beside_a_table_are_not_carried_along(tmp_path: Path) -> None:
    check_labels(tmp_path / "in.parquet")
    (tmp_path / "in.parquet.labels.json").write_text("{}")
    with pytest.raises(OnlyInMemoryError, match="labels"):
        check_labels(tmp_path / "in.parquet")


def test_settings_that_need_all_records_at_once_are_refused() -> None:
    check_out_of_core(Settings.of(k=2, quasi=["age"], publish=["sse"]))
    with pytest.raises(OnlyInMemoryError, match="each column on its own"):
        check_out_of_core(Settings.of(k=2, quasi=["age"], method="individual-ranking"))
    with pytest.raises(OnlyInMemoryError, match="publish=linkage"):
        check_out_of_core(Settings.of(k=2, quasi=["age"], publish=["sse", "linkage"]))

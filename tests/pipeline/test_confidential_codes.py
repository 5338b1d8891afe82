"""l, t and units beyond memory: the same release to the byte, refused alike, and verified on what
was written.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

import microagg as ma
import small_blocks
from microagg.pipeline import block_output, row_output
from microagg.pipeline.files import anonymize_file
from microagg.pipeline.memory_budget import MemoryBudget
from microagg.runtime import spill

pytestmark = pytest.mark.slow
SPELLED = ["flu", "Flu ", "cold", "gout", "HIV", "hiv"]


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    small_blocks.make_small(monkeypatch.setattr)


def table_of(records: int = 2500) -> pa.Table:
    """Confidential columns of every kind, with gaps, spellings and special codes; `near` goes with
    age, so that leaves must be joined.
    """
    rng = np.random.default_rng(11)
    age = rng.integers(18, 90, records)
    return pa.table(
        {
            "age": age,
            "income": rng.lognormal(9.0, 1.0, records),
            "rent": np.round(rng.lognormal(6.0, 0.5, records), 2),
            "ill": pa.array(rng.choice(SPELLED, records), mask=rng.random(records) < 0.03),
            "wage": pa.array(
                np.where(rng.random(records) < 0.05, 97, rng.integers(100, 400, records)),
                mask=rng.random(records) < 0.1,
            ),
            "score": np.where(
                rng.random(records) < 0.02, np.nan, np.round(rng.standard_normal(records), 2)
            )
            * rng.choice([1.0, -1.0, 0.0], records),
            "rank": rng.choice(["low", "mid", "High", "high"], records),
            "near": [
                f"n{number}"
                for number in np.where(
                    rng.random(records) < 0.25, rng.integers(0, 4, records), age // 19
                )
            ],
            "home": [
                f"{'Hh'[number % 2]} {number // 2}"
                for number in np.sort(rng.integers(0, 2000, records))
            ],
            "number": [
                f"{number // 2}{'.0' * (number % 2)}"
                for number in np.sort(rng.integers(0, 2000, records))
            ],
            "heavy": np.where(rng.random(records) < 0.6, -5, rng.integers(0, 900, records)),
            "gap": pa.array(np.arange(records), mask=np.arange(records) == 1234),
            "few": rng.integers(0, 3, records),
            "wide": np.where(np.arange(records) == 1700, np.inf, 1.0),
            "region": pa.array(rng.choice(["N", "S", "W"], records, p=[0.55, 0.3, 0.15])),
            "w": np.round(rng.lognormal(2.0, 1.0, records) + 0.01, 2),
        }
    )


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "in.parquet"
    pa.parquet.write_table(table_of(), path, row_group_size=300)
    return path


def in_passes(
    monkeypatch: pytest.MonkeyPatch,
    *args: Any,
    chunk: int = 64,
    bits: int = 3,
    threads: int = 2,
    **more: Any,
) -> Any:
    """A run beyond memory with chunks and buckets of these sizes."""

    def checked(self: MemoryBudget, *_: Any) -> MemoryBudget:
        return MemoryBudget(10**6, self.threads, chunk, threads, bits, bits)

    monkeypatch.setattr(MemoryBudget, "checked", checked)
    return anonymize_file(*args, memory=1, threads=threads, **more)


def contents(path: Path) -> dict[str, bytes]:
    """A release and its manifests, whatever its name."""
    return {
        name: path.with_name(f"{path.name}{name}").read_bytes().replace(path.name.encode(), b"OUT")
        for name in ("", ".internal.json", ".public.json")
    }


def left_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if path.name.startswith("."))


def settings_with(**more: Any) -> dict[str, Any]:
    return {
        "quasi": ["age", "income", "rent"],
        "confidential": ["ill", "wage", "score", "rank"],
        "k": 5,
        "seed": 7,
        "effort": "quick",
        "ordinal": {"rank": ["low", "mid", "high"]},
        "special": {"wage": [97]},
        "date": "2026-01-01",
        "rest": "drop",
        **more,
    }


ASKED: dict[str, tuple[int, int, dict[str, Any]]] = {
    "entropy, t, weights": (64, 3, {"l": 2.2, "diversity": "entropy", "t": 0.3, "weight": "w"}),
    "t, strata": (1280, 0, {"t": 0.3, "stratum": "region", "effort": 2}),
    "recursive, units, strata, weights": (
        64,
        3,
        {
            "l": 2,
            "diversity": "recursive",
            "c": 3,
            "exact": True,
            "ordinal": ["rank"],
            "stratum": "region",
            "weight": "w",
            "unit": "number",
        },
    ),
    "units": (64, 2, {"confidential": ["near"], "unit": "home"}),
    "joined leaves": (1280, 2, {"l": 3, "t": 0.33, "confidential": ["near", "score"]}),
}


@pytest.mark.parametrize(("chunk", "bits", "more"), ASKED.values(), ids=ASKED)
def test_the_same_release_as_in_memory(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    source: Path,
    chunk: int,
    bits: int,
    more: dict[str, Any],
) -> None:
    settings = settings_with(**more)
    if "confidential" in more:
        settings |= {"ordinal": {}, "special": {}}
    anonymize_file(source, tmp_path / "a.parquet", **settings)
    in_passes(monkeypatch, source, tmp_path / "b.parquet", chunk=chunk, bits=bits, **settings)
    in_memory, out_of_core = contents(tmp_path / "a.parquet"), contents(tmp_path / "b.parquet")
    assert json.loads(out_of_core[".internal.json"]) == json.loads(in_memory[".internal.json"])
    assert in_memory == out_of_core
    guarantee = json.loads(out_of_core[".internal.json"])["guarantee"]
    assert all(name in guarantee for name in ("l", "t") if name in more)
    assert ("units" in guarantee) == ("unit" in more)


LEFT_OUT: dict[str, tuple[int, dict[str, Any]]] = {
    "gaps, units": (64, {"missing": "drop", "l": 2, "unit": "home", "weight": "w"}),
    "strata, and t asked again": (
        1280,
        {"small_strata": "drop", "stratum": "part", "t": 0.35, "confidential": ["ill"]},
    ),
    "gaps and strata": (
        64,
        {
            "missing": "drop",
            "small_strata": "drop",
            "stratum": "part",
            "l": 2,
            "unit": "home",
            "weight": "w",
        },
    ),
    "as one block": (
        64,
        {"missing": "drop", "quasi": ["age", "income", "hole"], "l": 2, "confidential": ["ill"]},
    ),
    "nothing left out": (64, {"missing": "drop", "quasi": ["age", "income"]}),
    "too few": (64, {"missing": "drop", "k": 2300}),
    "no stratum": (64, {"missing": "drop", "small_strata": "drop", "stratum": "part", "t": 0.001}),
    "a row of the table given": (64, {"missing": "drop", "unit": "gap"}),
}


@pytest.mark.parametrize(("chunk", "more"), LEFT_OUT.values(), ids=LEFT_OUT)
def test_records_are_left_out_as_in_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chunk: int, more: dict[str, Any]
) -> None:
    rng, table = np.random.default_rng(5), table_of()
    part = rng.choice(["N", "S", "W", "one", "few"], 2500, p=[0.6, 0.2, 0.13, 0.065, 0.005])
    gone = {"rent": 0.1, "hole": 0.65}
    for name, share in gone.items():
        values = table.column("rent").to_numpy() if name == "rent" else rng.integers(0, 9, 2500)
        column = pa.array(values, mask=rng.random(2500) < share)
        table = table.drop_columns([name]) if name in table.column_names else table
        table = table.append_column(name, column)
    ill = np.where(part == "one", "flu", np.array(table.column("ill").to_pylist(), object))
    table = table.set_column(table.schema.get_field_index("ill"), "ill", pa.array(ill, pa.string()))
    source = tmp_path / "in.parquet"
    pa.parquet.write_table(table.append_column("part", pa.array(part)), source, row_group_size=300)
    settings = settings_with(
        **{"confidential": ["ill", "score"], "ordinal": {}, "special": {}, **more}
    )
    results: list[Any] = []
    for name, run in (
        ("a", anonymize_file),
        ("b", lambda *args, **named: in_passes(monkeypatch, *args, chunk=chunk, **named)),
    ):
        try:
            release = run(source, tmp_path / f"{name}.parquet", **settings)
            notes = [note for note in release.notes if " left out" in note]
            results.append((contents(tmp_path / f"{name}.parquet"), notes))
        except ma.InputError as error:
            results.append(str(error))
    assert results[0] == results[1]
    if isinstance(results[0], tuple):
        manifest = json.loads(results[0][0][".internal.json"])
        left_out = (
            manifest["cells"]["records_left_out"]
            + (manifest["strata"] or {"records_left_out": 0})["records_left_out"]
        )
        assert left_out == 2500 - manifest["records"]
        assert bool(left_out) == bool(results[0][1]) == (more.get("quasi") != ["age", "income"])
    assert left_in(tmp_path) == []


def test_a_run_that_was_killed_goes_on_with_the_same_blocks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: Path
) -> None:
    """Leaves are joined by what is in them, and they are gone when shifted blocks are worked on."""
    settings = settings_with(l=3, confidential=["near"], ordinal={}, special={})
    anonymize_file(source, tmp_path / "a.parquet", **settings)
    calls: list[str] = []
    before = block_output.write_spill_file

    def killed(path: str, *more: Any) -> Any:
        calls.append(path)
        if len(calls) > 3:
            raise SystemExit
        return before(path, *more)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(block_output, "write_spill_file", killed)
        patch.setattr(spill, "_remove", lambda _: None)
        with pytest.raises(SystemExit):
            in_passes(patch, source, tmp_path / "b.parquet", threads=1, **settings)
    assert left_in(tmp_path)
    in_passes(monkeypatch, source, tmp_path / "b.parquet", threads=1, resume=True, **settings)
    assert contents(tmp_path / "a.parquet") == contents(tmp_path / "b.parquet")
    assert left_in(tmp_path) == []


@pytest.mark.parametrize(
    "more",
    [
        {"l": 50},
        {"l": 7, "diversity": "entropy", "confidential": ["ill"]},
        {"l": 3, "diversity": "recursive", "c": 0.1, "confidential": ["rank"]},
        {"l": 2, "confidential": []},
        {"t": 0.001, "stratum": "near", "confidential": ["rank", "region"], "ordinal": {}},
        {"l": 2, "stratum": ["near", "region"], "k": 70},
        {"l": 2, "exact": True},
        {"unit": "heavy"},
        {"unit": "few"},
        {"unit": "gap", "l": 50},
        {"unit": "heavy", "stratum": ["rank"], "confidential": ["ill"]},
        {"unit": "home", "stratum": ["near", "region"], "k": 60},
        {"t": 0.5, "confidential": ["wide", "ill"]},
        {"t": 0.5, "confidential": ["ill"], "kinds": {"ill": "numeric"}},
        {"t": 0.1, "stratum": ["near", "region"], "confidential": ["ill", "wage"], "k": 70},
    ],
    ids=str,
)
def test_what_cannot_be_kept_is_refused_with_the_same_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: Path, more: dict[str, Any]
) -> None:
    settings = settings_with(**more)
    settings["special"] = {
        name: codes
        for name, codes in settings["special"].items()
        if name in settings["confidential"]
    }
    settings["ordinal"] = {
        name: levels
        for name, levels in settings["ordinal"].items()
        if name in settings["confidential"]
    }
    messages = []
    for run in (anonymize_file, lambda *args, **named: in_passes(monkeypatch, *args, **named)):
        with pytest.raises(ma.InputError) as error:
            run(source, tmp_path / "out.parquet", **settings)
        messages.append(str(error.value))
    assert messages[0] == messages[1]
    assert not (tmp_path / "out.parquet").exists()


def test_a_written_table_that_misses_it_is_not_put_in_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: Path
) -> None:
    """The same values in other rows, another value, and one more often than it was: all of it is
    seen in the file.
    """
    write = row_output.write_rows

    def sorted_values(ill: list[Any]) -> list[Any]:
        return sorted(ill, key=str)

    def one_new(ill: list[Any]) -> list[Any]:
        return ["plague", *ill[1:]]

    def one_more(ill: list[Any]) -> list[Any]:
        return ["gout" if ill[0] != "gout" else "cold", *ill[1:]]

    def other_rows(ill: list[Any]) -> list[Any]:
        return ill

    for alter, says in (
        (other_rows, "rows of the written file are in another order"),
        (sorted_values, "misses its guarantee"),
        (one_new, "does not have"),
        (one_more, "as often"),
    ):

        def altered(threads: Any, tell: Any, part: str, *args: Any, alter: Any = alter) -> Any:
            digest = write(threads, tell, part, *args)
            table = pa.parquet.read_table(part)
            order = np.lexsort(
                [table.column(name).to_numpy() for name in ("age", "income", "rent")]
            )
            table = table.take(pa.array(order))
            index = table.schema.get_field_index("ill")
            table = table.set_column(index, "ill", pa.array(alter(table.column("ill").to_pylist())))
            pa.parquet.write_table(table, part)
            return digest

        monkeypatch.setattr(row_output, "write_rows", altered)
        with pytest.raises(ma.GuaranteeError, match=says):
            in_passes(
                monkeypatch,
                source,
                tmp_path / "out.parquet",
                **settings_with(l=2, unit="home" if alter is other_rows else None),
            )
        assert sorted(path.name for path in tmp_path.iterdir()) == ["in.parquet"]


def test_too_many_different_values_are_refused_with_the_figure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: Path
) -> None:
    monkeypatch.setattr("microagg.pipeline.distinct_values.AT_LEAST", 100)
    monkeypatch.setattr("microagg.pipeline.distinct_values.A_VALUE", 10_000)
    with pytest.raises(
        ma.InputError, match=r"the different values of column 'score', \d+ or more, need \d+ MB"
    ) as error:
        in_passes(monkeypatch, source, tmp_path / "out.parquet", **settings_with(t=0.3))
    assert str(error.value).count(". ") == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.parquet"]

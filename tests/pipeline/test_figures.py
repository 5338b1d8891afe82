"""Figures of releases made beyond memory: exact ones as in memory, others from samples, with their
standard errors.
"""

from __future__ import annotations

import json
import math
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

import small_blocks
from microagg import datasets
from microagg.errors import InputError
from microagg.measures.measure import Basis, Figure
from microagg.measures.registry import measures
from microagg.pipeline import block_stats, figures, on_disk
from microagg.pipeline.files import anonymize_file
from microagg.release.report.markdown import to_markdown
from pipeline.test_out_of_core import in_passes, left_in, settings_for, table_of

pytestmark = pytest.mark.slow

EXACT = {
    "il",
    "sse",
    "il-raw",
    "sse-raw",
    "il1s",
    "il1s-percent",
    "cells-unchanged",
    "discernibility",
    "granularity",
    "unique",
    "k",
    "unique-with-kept",
    "k-with-kept",
    "prosecutor",
    "journalist",
    "marketer",
    "dominance",
}


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    small_blocks.make_small(monkeypatch.setattr)


def with_basis(basis: Basis) -> set[str]:
    return {measure.name for measure in measures() if measure.basis is basis}


def figures_of(release: Any) -> dict[str, Figure]:
    return {measure.name: figure for measure, figure in release.figures}


def both(
    folder: Path, monkeypatch: pytest.MonkeyPatch, kinds: str, sample: int, **more: Any
) -> tuple[Any, Any]:
    """The same release in memory and beyond, with samples of about so many records."""
    source = folder / "in.parquet"
    if not source.exists():
        pa.parquet.write_table(table_of(2000, kinds=kinds), source, row_group_size=300)
    monkeypatch.setattr(block_stats, "SAMPLE", sample)
    monkeypatch.setattr(block_stats, "CELLS", 10**9)
    monkeypatch.setattr(figures, "LOOKED_UP", sample)
    settings = settings_for(kinds, **more)
    here = anonymize_file(source, folder / "memory.parquet", **settings)
    return here, in_passes(monkeypatch, source, folder / "beyond.parquet", chunk=320, **settings)


def equal(one: float, other: float) -> bool:
    return (
        one == other
        or math.isclose(one, other, rel_tol=1e-12)
        or (math.isnan(one) and math.isnan(other))
    )


def same(one: Figure, other: Figure) -> bool:
    pairs = [(one.columns, other.columns), (one.details, other.details)]
    alike = all(
        mine.keys() == theirs.keys() and all(equal(mine[name], theirs[name]) for name in mine)
        for mine, theirs in pairs
    )
    return alike and equal(one.value, other.value)


@pytest.mark.parametrize(("kinds", "weight"), [("mixed", "w"), ("plain", None)])
def test_where_the_sample_is_the_table_all_figures_are_those_in_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kinds: str, weight: str | None
) -> None:
    more: dict[str, Any] = (
        {"weight": weight} if weight else {"keep": ["id", "w"], "confidential": ["ill"]}
    )
    in_memory, out_of_core = both(tmp_path, monkeypatch, kinds, 10_000, **more)
    mine, theirs = figures_of(in_memory), figures_of(out_of_core)
    assert mine.keys() == theirs.keys()
    assert all(figure.sample is None for figure in theirs.values())
    assert [name for name in mine if not same(mine[name], theirs[name])] == []


@pytest.mark.parametrize(("kinds", "weight"), [("plain", "w"), ("mixed", None)])
def test_sums_and_counts_are_exact_and_the_rest_within_its_errors(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kinds: str, weight: str | None
) -> None:
    more: dict[str, Any] = {"weight": weight} if weight else {"keep": ["id", "w"]}
    in_memory, out_of_core = both(tmp_path, monkeypatch, kinds, 900, **more)
    mine, theirs = figures_of(in_memory), figures_of(out_of_core)
    assert mine.keys() - theirs.keys() == with_basis(Basis.WHOLE_TABLE)
    exact = {name for name, figure in theirs.items() if figure.sample is None}
    assert exact == EXACT | ({"il-minmax", "sse-minmax"} if kinds == "plain" else set())
    assert [name for name in exact if not same(mine[name], theirs[name])] == []
    for name in theirs.keys() - exact:
        sample = theirs[name].sample
        assert sample is not None
        assert 400 < sample.records < 1400
        if name in with_basis(Basis.CLASS_SAMPLE):
            assert (sample.of, sample.error) == ("classes", None)
        elif name not in (
            "classification-kept",
            "regression-kept",
        ):  # there is nothing to learn in this table: 0 or 100, by chance
            assert sample.error is not None
            assert abs(theirs[name].value - mine[name].value) <= 5 * sample.error + 1e-12, name
    for total, share in (
        ("sse-minmax", "il-minmax"),
    ):  # one is the other times a constant, and so are their errors
        if theirs[total].sample is not None:
            relative = [
                (theirs[name].sample.error or 0.0) / theirs[name].value  # pyright: ignore
                for name in (total, share)
            ]
            assert 0.3 < relative[0] / relative[1] < 3.0
    assert theirs["linkage"].sample is not None
    assert 0.0 < (theirs["linkage"].sample.error or 0.0) < 5.0
    # neither chunks nor threads nor buckets decide
    again = in_passes(
        monkeypatch,
        tmp_path / "in.parquet",
        tmp_path / "again.parquet",
        1280,
        0,
        1,
        **settings_for(kinds, **more),
    )
    assert figures_of(again) == theirs
    assert left_in(tmp_path) == []


def test_an_original_that_was_changed_is_not_looked_up_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, out_of_core = both(tmp_path, monkeypatch, "plain", 900, keep=["id", "w"])
    pa.parquet.write_table(table_of(1500, kinds="plain"), tmp_path / "in.parquet")
    with pytest.raises(InputError, match="changed or moved"):
        _ = out_of_core.figures


def without_notes(text: str) -> list[dict[str, Any]]:
    """Return the text of a report, but for notes."""
    return [
        {**section, "blocks": [block for block in section["blocks"] if block["kind"] != "warn"]}
        for section in json.loads(text)["sections"]
        if section["title"] != "Notes besides the points to decide"
    ]


def test_reports_are_those_in_memory_where_the_sample_is_the_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = tmp_path / "in.parquet"
    pa.parquet.write_table(table_of(1500, kinds="mixed"), source, row_group_size=300)
    settings = settings_for("mixed", weight="w", keep_order=True)
    settings |= {
        "publish": ["il-raw", "cells-unchanged"],
        "accept_risk": ["named-columns", "published-measures"],
    }
    places = []
    for name in ("memory", "beyond"):
        (tmp_path / name).mkdir()
        places.append(
            {"target": tmp_path / name / "out.parquet", "report": tmp_path / name / "r.json"}
        )
    anonymize_file(source, **places[0], **settings)
    in_passes(monkeypatch, source, chunk=320, **places[1], **settings)
    public, internal = (
        [(tmp_path / name / f"r.{kind}.json").read_text("utf-8") for name in ("memory", "beyond")]
        for kind in ("public", "internal")
    )
    assert public[0] == public[1]
    assert without_notes(internal[0]) == without_notes(internal[1])
    settings["publish"] = ["il-raw", "kolmogorov-smirnov"]
    with pytest.raises(InputError, match="publish=kolmogorov-smirnov is not supported out of core"):
        in_passes(monkeypatch, source, tmp_path / "out.parquet", **settings)


def with_another_original(release: Any) -> Any:
    """The same released table, as if other records had been its original, in another order."""
    rng, measured = np.random.default_rng(1), release.measured
    sides = {}
    for name in ("sample", "of_classes"):
        rows: pa.Table = getattr(measured, name)
        for index, column in enumerate(rows.column_names):
            if column.startswith(block_stats.BEFORE):
                rows = rows.set_column(
                    index, column, rows.column(column).take(pa.array(rng.permutation(len(rows))))
                )
        sides[name] = rows.take(pa.array(rng.permutation(len(rows))))
    percents = dict.fromkeys(measured.facts.dominance.percents, 3.0)
    dominance = replace(measured.facts.dominance, exceeding=7, failing=9, percents=percents)
    facts = replace(measured.facts, dominance=dominance)
    loss = {name: 1.001 * value for name, value in measured.loss.items()}
    other = replace(measured, **sides, facts=facts, loss=loss)
    return replace(release, **on_disk.tables_of(other, other.sample))


def test_a_public_report_of_a_sample_follows_from_the_release(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(block_stats, "SAMPLE", 500)
    monkeypatch.setattr(figures, "LOOKED_UP", 200)
    source = tmp_path / "in.parquet"
    pa.parquet.write_table(table_of(1600, kinds="mixed"), source, row_group_size=300)
    settings = settings_for("mixed", keep=["id", "w"], report=tmp_path / "r.md")
    release = in_passes(monkeypatch, source, tmp_path / "out.parquet", **settings)
    public, internal = (
        (tmp_path / f"r.{kind}.md").read_text("utf-8") for kind in ("public", "internal")
    )
    other = with_another_original(release)
    assert to_markdown(other._document(public=True)) == public
    assert to_markdown(other._document(public=False)) != internal
    assert re.search(r"a sample of \d+ records \(all records of classes", public)
    assert "from a sample of whole classes with" in public
    assert "±" not in public
    assert re.search(r"± [\d.]+ \(from a sample of 200 records\)", internal)
    assert (
        "Not measured in large-table mode, because they depend on all records at once" in internal
    )
    assert (tmp_path / "r.internal.md").stat().st_mode & 0o777 == 0o600


def test_notes_are_those_of_a_table_in_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table, rng = table_of(1500, kinds="mixed"), np.random.default_rng(1)
    income = table.column("income").to_numpy().copy()
    income[rng.choice(1500, 12, replace=False)] *= 1e4  # each dominates its group
    added: dict[str, Any] = {
        "wage": pa.array(income),
        "rent again": table.column("rent"),
        "flag": pa.array(np.full(1500, 3)),
        "tax": pa.array(rng.lognormal(3.0, 1.0, 1500)),
        "sick": pa.array(np.where(rng.random(1500) < 0.97, "No", " no").tolist()),
        "region": pa.array((np.arange(1500) % 2).tolist()),
        "remark": pa.array(["=1+1" if number % 7 == 0 else "fine" for number in range(1500)]),
        "score2": pa.array(rng.integers(0, 3, 1500)),
        "employed": pa.array(np.where(rng.random(1500) < 0.97, 0, 1)),
    }
    for name, column in added.items():
        table = table.append_column(name, column)
    source = tmp_path / "in.parquet"
    pa.parquet.write_table(table, source, row_group_size=300)
    settings = {
        "quasi": ["age", "wage", "rent", "rent again", "flag", "score2", "debt", "employed"],
        "confidential": ["ill", "sick", "tax"],
        "keep": ["id", "remark"],
        "stratum": ["region"],
        "weight": "w",
        "k": 3,
        "seed": 7,
        "effort": "quick",
        "date": "2026-01-01",
        "rest": "drop",
        "scale": "minmax",
        "cap": {"age": 85},
        "accept_risk": ["named-columns"],
    }
    in_memory = anonymize_file(source, tmp_path / "memory.parquet", **settings)
    out_of_core = in_passes(monkeypatch, source, tmp_path / "b.parquet", **settings)
    notes = [note for note in in_memory.notes if not note.startswith("'sick' spells values")]
    assert len(notes) >= 9
    (dominance,) = [note for note in notes if "one record is so large" in note]
    assert "'wage'" in dominance
    assert "'employed'" not in dominance  # 0 and 1 make a count, which nobody dominates
    assert [
        note for note in out_of_core.notes if note.code not in ("out-of-core", "other-groups")
    ] == notes


def test_ordered_categories_keep_their_order_in_reports(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = tmp_path / "in.parquet"
    pa.parquet.write_table(datasets.residents(1500, seed=3), source)
    settings: dict[str, Any] = {
        "k": 5,
        "identifier": ["person", "e_mail"],
        "quasi": ["born", "rent", "marital"],
        "rest": "drop",
        "confidential": ["education"],
        "t": 0.6,
        "seed": 4,
        "effort": "quick",
        "date": "2026-01-01",
    }
    made = {}
    for name in ("memory", "beyond"):
        (tmp_path / name).mkdir()
        target = tmp_path / name / "out.parquet"
        if name == "memory":
            made[name] = anonymize_file(
                source, target, report=tmp_path / name / "r.html", **settings
            )
        else:
            made[name] = in_passes(
                monkeypatch, source, target, report=tmp_path / name / "r.html", **settings
            )
    in_memory, out_of_core = (figures_of(made[name]) for name in ("memory", "beyond"))
    assert equal(in_memory["t"].value, out_of_core["t"].value)
    public = [(tmp_path / name / "r.public.html").read_bytes() for name in ("memory", "beyond")]
    assert public[0] == public[1]

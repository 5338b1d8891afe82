"""Sums between columns hold in a release: found ones, declared ones, in memory and beyond it."""

from __future__ import annotations

import json
import re
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

import microagg as ma
import small_blocks
from beyond import in_passes
from passes import both_ways

QUASI = ["age", "wage", "other", "total", "tax", "net"]
FOUND = ["total = wage + other", "total = tax + net"]


def table_of(records: int = 300, *, gaps: bool = False) -> pa.Table:
    rng = np.random.default_rng(5)
    wage, other, tax = (np.round(rng.lognormal(m, 0.6, records), 2) for m in (7.0, 5.0, 4.0))
    total = np.round(wage + other, 2)
    missing = rng.random(records) < 0.2 if gaps else None
    return pa.table({
        "age": rng.integers(20, 60, records),
        "wage": wage,
        "other": pa.array(other, mask=missing),
        "total": pa.array(total, mask=missing),
        "tax": tax,
        "net": np.round(total - tax, 2),
        "w": np.round(rng.lognormal(1.0, 0.5, records), 1),
        "region": rng.choice(["north", "south"], records),
    })  # fmt: skip


def released(table: pa.Table, **more: Any) -> ma.Release:
    effort = {} if "method" in more else {"effort": "quick"}
    return ma.anonymize(table, k=3, quasi=QUASI, rest="drop", seed=1, **effort, **more)


def missed(table: pa.Table, total: str, *parts: str) -> int:
    """In how many records a sum is missed, in decimal digits."""
    columns = [table.column(name).to_pylist() for name in (total, *parts)]
    rows = [row for row in zip(*columns, strict=True) if None not in row]
    assert rows
    exact = [[Fraction(str(cell)) for cell in row] for row in rows]
    return sum(row[0] != sum(row[1:]) for row in exact)


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"weight": "w"},
        {"stratum": ["region"]},
        {"rules": ["wage = total - other"]},
        {"scale": "rank", "method": "mdav"},
    ],
)
def test_sums_hold_in_every_released_record(more: dict[str, Any]) -> None:
    release = released(table_of(), **more)
    assert missed(release.table, "total", "wage", "other") == 0
    assert missed(release.table, "total", "tax", "net") == 0
    means = {name: release.table.column(name).to_numpy() for name in QUASI}
    assert np.abs(means["total"] - means["wage"] - means["other"]).max() < 1e-9
    assert all((values == np.round(values, 2)).all() for values in means.values())


@pytest.mark.slow
def test_found_sums_are_noted_and_told_in_both_reports(tmp_path: Path) -> None:
    release = released(table_of())
    assert any(
        "sums between columns were found" in note and all(rule in note for rule in FOUND)
        for note in release.notes
    )
    assert [(entry["rule"], entry["missed"]) for entry in release.manifest["sums"]] == [
        (rule, 0) for rule in FOUND
    ]
    assert release.public_manifest["sums"] == release.manifest["sums"]
    for public in (False, True):
        text = release.report(tmp_path / "report.md", public=public).read_text()
        assert f"In every released record that has these values: {'; '.join(FOUND)}." in text


def test_sums_are_what_the_means_of_their_parts_add_up_to() -> None:
    table = table_of()
    release = released(table)
    for label in range(release.labels.max() + 1):
        rows = np.flatnonzero(release.labels == label)
        for name in QUASI:
            mean = table.column(name).to_numpy()[rows].mean()
            digits = 0.5 if name == "age" else 0.005 * 3
            assert release.table.column(name).to_numpy()[rows] == pytest.approx(
                mean, abs=digits + 1e-9
            )


def test_groups_with_gaps_keep_sums_where_they_release_all_values() -> None:
    release = released(table_of(gaps=True))
    assert missed(release.table, "total", "wage", "other") == 0
    assert release.table.column("total").null_count > 0
    assert [entry["rule"] for entry in release.manifest["sums"]] == FOUND


def test_whole_totals_of_parts_with_decimals_stay_whole() -> None:
    rng = np.random.default_rng(6)
    halves = rng.integers(0, 40, 200) / 2.0
    whole = rng.integers(0, 9, 200)
    table = pa.table({"a": halves, "b": 30 + whole - halves, "total": 30 + whole})
    release = ma.anonymize(table, k=3, quasi=["a", "b", "total"], seed=1, effort="quick")
    assert release.table.column("total").type == pa.int64()
    assert missed(release.table, "total", "a", "b") == 0


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({"cap": {"wage": "99%"}}, "'wage' is capped"),
        (
            {"aggregate": {"other": "median"}, "accept_risk": "true-values"},
            r"no mean of 'other' \(median\)",
        ),
        ({"method": "individual-ranking"}, "each column on its own"),
    ],
)
def test_what_cannot_be_kept_is_noted_or_refused(more: dict[str, Any], why: str) -> None:
    release = released(table_of(), **more)
    note = next(candidate for candidate in release.notes if "total = wage + other" in candidate)
    assert "is not kept" in note
    assert re.search(why, note)
    rules = [entry["rule"] for entry in release.manifest["sums"]]
    assert ("total = wage + other" in rules) == (
        missed(release.table, "total", "wage", "other") == 0
    )
    with pytest.raises(ma.InputError, match=f"cannot be kept, because .*{why}"):
        released(table_of(), rules=["total = wage + other"], **more)


def test_declared_rules_must_hold() -> None:
    table = table_of()
    wrong = table.column("total").to_numpy().copy()
    wrong[7] += 0.01
    table = table.set_column(3, "total", pa.array(wrong))
    with pytest.raises(
        ma.InputError, match=r"'total = wage \+ other' does not hold in 1 of 300 records"
    ) as error:
        released(table, rules="total = wage + other")
    assert f"{wrong[7]:.0f}" not in str(error.value)
    for rule in ("total = wage + region", "total = wage + nothing"):
        with pytest.raises(ma.InputError, match="no quasi-identifying column of plain numbers"):
            released(table, rules=rule)


def test_none_leaves_every_column_to_itself() -> None:
    release = released(table_of(), rules="none")
    assert missed(release.table, "total", "wage", "other") > 0
    assert release.manifest["sums"] == []
    assert not any("sum" in note for note in release.notes)


def test_a_proposal_tells_sums() -> None:
    table = table_of().select(["age", "other", "total", "tax", "net"])
    proposal = ma.propose(table)
    assert proposal.rules == ("total = tax + net",)
    assert proposal.as_data()["rules"] == ["total = tax + net"]
    for text in (str(proposal), proposal.to_toml(), proposal._repr_html_()):
        assert "total = tax + net" in text


@pytest.mark.slow
@pytest.mark.parametrize(
    "more", [{}, {"weight": "w", "stratum": ["region"], "rules": ["tax = total - net"]}]
)
def test_all_ways_keep_the_same_sums(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, more: dict[str, Any]
) -> None:
    small_blocks.make_small(monkeypatch.setattr)
    memory, beyond, manifest = both_ways(
        tmp_path,
        monkeypatch,
        table_of(1600, gaps=True),
        k=4,
        quasi=QUASI,
        rest="drop",
        seed=3,
        effort="quick",
        date="2026-01-01",
        **more,
    )
    assert memory == beyond
    assert json.loads(beyond["out.parquet.public.json"])["sums"] == manifest["sums"]
    rules = {entry["rule"] for entry in manifest["sums"]}
    assert rules == {"total = wage + other", *(more.get("rules") or FOUND[1:])}
    released = pa.parquet.read_table(tmp_path / "beyond" / "out.parquet")
    assert (
        missed(released, "total", "wage", "other") == missed(released, "total", "tax", "net") == 0
    )


@pytest.mark.slow
def test_a_rule_that_does_not_hold_is_refused_beyond_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small_blocks.make_small(monkeypatch.setattr)
    source, target = tmp_path / "in.parquet", tmp_path / "out.parquet"
    pa.parquet.write_table(table_of(1600), source)
    with pytest.raises(ma.InputError, match="does not hold in 1,600 of 1,600 records"):
        in_passes(
            monkeypatch,
            source,
            target,
            k=4,
            quasi=QUASI,
            rest="drop",
            effort="quick",
            rules="wage = tax + net",
        )
    assert [path.name for path in tmp_path.iterdir()] == ["in.parquet"]

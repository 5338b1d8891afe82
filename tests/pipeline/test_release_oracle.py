"""A whole release, worked out once more in plain Python from the original and the groups: cells,
counts, weights, loss.

What is written in memory and out of core, in several blocks, is the same to the byte.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

import microagg as ma
from beyond import run_in
from microagg.methods.search import blockwise
from microagg.pipeline import figures
from microagg.problem import blocks

Row = dict[str, Any]
CODE, MARKER = -8, -9
LEVELS = ["low", "mid", "high"]


def survey(seed: int, records: int = 70) -> list[Row]:
    """Records with gaps, a special code and a marker of missing values in `debt`, gaps in `level`
    and `town`.
    """
    rng = np.random.default_rng(seed)
    rows = []
    for number in range(records):
        debt: Any = int(rng.integers(0, 60)) * 10
        debt = rng.choice(np.array([debt, CODE, MARKER, None], object), p=[0.7, 0.1, 0.1, 0.1])
        rows.append(
            {
                "age": int(rng.integers(18, 90)),
                "pay": round(float(rng.lognormal(7.0, 0.7)), 2),
                "debt": debt,
                "level": None if rng.random() < 0.1 else str(rng.choice(LEVELS)),
                "town": None if rng.random() < 0.1 else f"t{rng.integers(0, 4)}",
                "area": "NS"[number % 2],
                "w": int(rng.integers(1, 30)),
                "ill": f"i{rng.integers(0, 5)}",
                "home": f"{'Hh'[number % 2]} {number // 2}",
            }
        )
    return rows


def as_table(rows: list[Row]) -> pa.Table:
    kinds = {"debt": pa.int64(), "level": pa.string(), "town": pa.string()}
    return pa.table(
        {name: pa.array([row[name] for row in rows], kinds.get(name)) for name in rows[0]}
    )


PLAIN = {"quasi": ["age", "pay"], "rest": "drop"}
MIXED = {
    "quasi": ["age", "pay", "debt", "level", "town"],
    "ordinal": {"level": LEVELS},
    "special": {"debt": [CODE]},
    "na": [str(MARKER)],
    "rest": "drop",
}
CASES: dict[str, dict[str, Any]] = {
    "numbers": PLAIN,
    "numbers, weights": {**PLAIN, "weight": "w", "keep": ["ill"]},
    "numbers, a cap, strata": {
        **PLAIN,
        "cap": {"pay": ("5%", "90%"), "age": 70},
        "stratum": "area",
    },
    "numbers, another scale": {**PLAIN, "scale": "minmax", "importance": {"age": 2}},
    "numbers, units, t": {**PLAIN, "unit": "home", "confidential": ["ill"], "t": 0.5},
    "mixed, units, strata": {**MIXED, "unit": "home", "stratum": "area"},
    "mixed": MIXED,
    "mixed, weights, strata, l": {
        **MIXED,
        "weight": "w",
        "stratum": "area",
        "confidential": ["ill"],
        "l": 2,
    },
    "mixed, a cap": {**MIXED, "cap": {"debt": 300, "pay": (None, "80%")}},
    "aggregates": {
        **MIXED,
        "aggregate": {"age": "median", "debt": "median", "level": "mode"},
        "accept_risk": ["true-values"],
    },
}


def settings_of(case: str, k: int) -> dict[str, Any]:
    return {"k": k, "seed": 3, "effort": "quick", "date": "2026-01-01", **CASES[case]}


def is_value(cell: Any) -> bool:
    return cell is not None and cell not in (CODE, MARKER)


def capped(cell: float, limits: dict[str, Any] | None) -> float:
    if limits is None:
        return cell
    low = -math.inf if limits["low"] is None else limits["low"]
    return min(max(cell, low), math.inf if limits["high"] is None else limits["high"])


def expected_cells(
    name: str, rows: list[Row], settings: dict[str, Any], limits: dict[str, Any] | None
) -> set[Any] | tuple[Fraction, int]:
    """Return what a group may release of a column: one of these cells, or the number nearest to
    this mean, at so many decimals.
    """
    cells = [row[name] for row in rows]
    if name == "town":  # a gap is a category
        counts = Counter(cells)
        return {cell for cell in counts if counts[cell] == max(counts.values())}
    present = [cell for cell in cells if is_value(cell)]
    enough = len(present) == len(cells) or (
        2 * len(present) > len(cells) and len(present) >= min(settings["k"], 3)
    )
    if not enough:
        gaps = Counter(CODE if cell == CODE else None for cell in cells if not is_value(cell))
        return {cell for cell in gaps if gaps[cell] == max(gaps.values())}
    how = settings.get("aggregate", {}).get(name, "median" if name == "level" else "mean")
    if how == "mode":
        counts = Counter(present)
        return {cell for cell in counts if counts[cell] == max(counts.values())}
    if how == "median":
        ordered = sorted(present, key=LEVELS.index if name == "level" else None)
        return {ordered[(len(ordered) - 1) // 2]}
    weights = [row["w"] if settings.get("weight") else 1 for row in rows if is_value(row[name])]
    parts = [
        Fraction(capped(cell, limits)) * weight
        for cell, weight in zip(present, weights, strict=True)
    ]
    return sum(parts) / sum(weights), 2 if name == "pay" else 0


def is_rounded(cell: float, mean: Fraction, decimals: int) -> bool:
    step = Fraction(1, 10**decimals)
    return abs(Fraction(cell) - mean) <= step / 2 + Fraction(1, 10**9) and math.isclose(
        cell * 10**decimals, round(cell * 10**decimals), abs_tol=1e-6
    )


@pytest.mark.parametrize("k", [3, 5])
@pytest.mark.parametrize("case", CASES)
def test_every_cell_is_what_its_group_makes_of_it(case: str, k: int) -> None:
    rows, settings = survey(k), settings_of(case, k)
    release = ma.anonymize(as_table(rows), **settings)
    released = release.table.to_pylist()
    limits = release.manifest["capped"]
    groups: dict[int, list[int]] = {}
    for number, label in enumerate(release.labels.tolist()):
        groups.setdefault(label, []).append(number)
    for members in groups.values():
        group = [rows[number] for number in members]
        assert len(group) >= k
        assert len({row["area"] for row in group}) == 1 or "stratum" not in settings
        if "unit" in settings:
            homes = Counter(row["home"].lower() for row in group)
            assert len(homes) >= k
            assert 2 * max(homes.values()) <= len(group)
        for name in settings["quasi"]:
            expected = expected_cells(name, group, settings, limits.get(name))
            (cell,) = {released[number][name] for number in members}
            if isinstance(expected, set):
                assert cell in expected, name
            else:
                assert is_rounded(cell, *expected), name
        if "weight" in settings:
            (weight,) = {released[number]["w"] for number in members}
            assert is_rounded(weight, Fraction(sum(row["w"] for row in group), len(group)), 0)
    for name in ("area", "ill"):
        if name in released[0]:
            assert [row[name] for row in released] == [row[name] for row in rows]


@pytest.mark.parametrize("case", CASES)
def test_the_manifest_counts_what_is_there(case: str) -> None:
    k = 4
    rows, settings = survey(9), settings_of(case, k)
    release = ma.anonymize(as_table(rows), **settings)
    released, manifest = release.table.to_pylist(), release.manifest
    shared = [
        *settings["quasi"],
        *(["area"] if "stratum" in settings else []),
        *(["w"] if "weight" in settings else []),
    ]
    classes = Counter(tuple(row[name] for name in shared) for row in released)
    everything = Counter(tuple(row.values()) for row in released)
    assert manifest["guarantee"]["classes"] == len(classes) == len(release.anonymity.sizes)
    assert manifest["guarantee"]["smallest_class"] == min(classes.values()) >= k
    assert manifest["all_columns"]["classes"] == len(everything)
    assert manifest["all_columns"]["unique_records"] == sum(
        count == 1 for count in everything.values()
    )
    assert manifest["all_columns"]["smallest_class"] == min(everything.values())
    for name, counts in manifest["cells"]["columns"].items():
        before, after = ([is_value(row[name]) for row in table] for table in (rows, released))
        assert counts["filled"] == sum(
            new and not old for old, new in zip(before, after, strict=True)
        )
        assert counts["blanked"] == sum(
            old and not new for old, new in zip(before, after, strict=True)
        )
    for name, counts in manifest["capped"].items():
        cells = [row[name] for row in rows if is_value(row[name])]
        assert counts["above"] == (
            0 if counts["high"] is None else sum(cell > counts["high"] for cell in cells)
        )
        assert counts["below"] == (
            0 if counts["low"] is None else sum(cell < counts["low"] for cell in cells)
        )
        assert counts["above"] + counts["below"] > 0
    if "weight" in settings:
        before, after = (sum(row["w"] for row in table) for table in (rows, released))
        assert manifest["weighting"]["sum_changed_by"] == pytest.approx(
            after / before - 1.0, abs=1e-12
        )


@pytest.mark.parametrize("case", [case for case in CASES if case.startswith("numbers")])
def test_the_loss_of_numbers_is_theirs(case: str) -> None:
    """In z-scores of the original, whatever was capped; the share of a class from the same
    squares.
    """
    rows, settings = survey(5), settings_of(case, 4)
    release = ma.anonymize(as_table(rows), **settings)
    released = release.table.to_pylist()
    before, after = (
        np.array([[row["age"], row["pay"]] for row in table], float) for table in (rows, released)
    )
    squares = ((before - after) / before.std(axis=0)) ** 2
    manifest = release.manifest
    il = 100.0 * squares.sum() / before.size
    assert manifest["loss"]["IL_zscore" if "scale" in settings else "IL"] == pytest.approx(
        il, rel=1e-9
    )
    if "scale" in settings:
        width = np.ptp(before, axis=0) / np.sqrt([2.0, 1.0])
        squares = ((before - after) / width) ** 2
        total = (((before - before.mean(axis=0)) / width) ** 2).sum()
        assert manifest["loss"]["IL"] == pytest.approx(100.0 * squares.sum() / total, rel=1e-9)
    assert manifest["loss"]["SSE"] == pytest.approx(squares.sum(), rel=1e-9)
    by_class = np.bincount(release.anonymity.labels, squares.sum(axis=1))
    assert manifest["largest_share"] == pytest.approx(by_class.max() / by_class.sum(), rel=1e-9)


@pytest.fixture
def tiny_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks of some forty records, so that tables of some hundred have several."""
    monkeypatch.setattr(blockwise, "MOST_AS_ONE", 50)
    monkeypatch.setattr(blockwise, "GROUPS_A_BLOCK", 5)
    monkeypatch.setattr(blocks, "LARGEST", 40)
    monkeypatch.setattr(blocks, "SAMPLE", 64)


@pytest.mark.parametrize("case", CASES)
def test_in_memory_and_out_of_core_in_several_blocks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tiny_blocks: None, case: str
) -> None:
    pa.parquet.write_table(as_table(survey(7, 180)), tmp_path / "in.parquet", row_group_size=50)
    results = []
    for way in ("memory", "beyond"):
        (tmp_path / way).mkdir()
        run_in(
            way,
            monkeypatch,
            tmp_path / "in.parquet",
            tmp_path / way / "out.parquet",
            **settings_of(case, 4),
        )
        results.append({path.name: path.read_bytes() for path in (tmp_path / way).iterdir()})
    assert results[0] == results[1]
    manifest = json.loads(results[1]["out.parquet.internal.json"])
    assert "blocks" in " ".join(manifest["chosen"]) or "stratum" in CASES[case]


def close(one: float, other: float) -> bool:
    return (
        one == other
        or math.isclose(one, other, rel_tol=1e-9)
        or (math.isnan(one) and math.isnan(other))
    )


@pytest.mark.slow
@pytest.mark.parametrize("case", ["numbers, weights", "mixed, weights, strata, l"])
def test_figures_and_notes_are_the_same_in_memory_and_out_of_core(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tiny_blocks: None, case: str
) -> None:
    """With weights of which one is more than half of its class, amounts that dominate theirs, and
    kept columns in which records stand alone.
    """
    rows = survey(7, 150)
    for number, row in enumerate(rows):
        row["w"] = 900 if number % 9 == 0 else row["w"]
        row["code"] = f"c{number % 40}"
        # so that it dominates its group
        row["pay"] = round(row["pay"] * (40 if number % 7 == 0 else 1), 2)
    pa.parquet.write_table(as_table(rows), tmp_path / "in.parquet", row_group_size=50)
    settings = settings_of(case, 3)
    settings["keep"] = [*settings.get("keep", []), "code"]
    collected, notes = [], []
    for way in ("memory", "beyond"):
        release = run_in(
            way, monkeypatch, tmp_path / "in.parquet", tmp_path / f"{way}.parquet", **settings
        )
        collected.append({measure.name: figure for measure, figure in release.figures})
        one_way_only = ("true-values", "other-groups", "out-of-core")
        notes.append([note for note in release.notes if note.code not in one_way_only])
    in_memory, out_of_core = collected
    assert in_memory.keys() == out_of_core.keys()
    for name, figure in in_memory.items():
        other = out_of_core[name]
        assert close(figure.value, other.value), name
        for mine, theirs in ((figure.columns, other.columns), (figure.details, other.details)):
            assert mine.keys() == theirs.keys()
            assert all(close(mine[key], theirs[key]) for key in mine), name
    if "weight" in settings:
        assert (
            in_memory["dominance"].details[
                "classes in which one record has over half of the weight"
            ]
            > 0
        )
        assert 0.0 < in_memory["unique-with-kept"].value < 100.0
    assert any("one record is so large" in note for note in notes[0])
    assert notes[0] == notes[1]


def test_records_that_are_looked_up_count_by_their_own_weights(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where an intruder looks some records of the sample up, linkage is their weighted share, not
    that of the first ones.
    """
    monkeypatch.setattr(figures, "LOOKED_UP", 30)
    rows = survey(7, 150)
    for number, row in enumerate(rows):
        row["w"] = 1 if number < 75 else 40
    pa.parquet.write_table(as_table(rows), tmp_path / "in.parquet")
    settings = settings_of("numbers, weights", 3)
    release = run_in(
        "beyond", monkeypatch, tmp_path / "in.parquet", tmp_path / "out.parquet", **settings
    )
    figure = {measure.name: figure for measure, figure in release.figures}["linkage"]
    chosen, looked = release.measured._looked_up(), release.measured.looked
    weights = np.array([rows[number]["w"] for number in chosen.tolist()], float)
    assert len(chosen) == 30
    assert weights.std() > 0.0
    assert figure.value == pytest.approx(
        100.0 * float(looked.nearest @ weights / weights.sum()), rel=1e-12
    )
    second = 100.0 * float(looked.second @ weights / weights.sum())
    assert figure.details["second nearest"] == pytest.approx(second, rel=1e-12)

"""Releases of other tools: suppressed cells, generalised values, ranges; against slow
transcriptions and against the same written otherwise.
"""

from __future__ import annotations

import math
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import microagg as ma
from microagg.studies.assess import Assessment, assess, assess_files
from microagg.table.hierarchy import Hierarchy

PATHS = [
    ["Pisa", "Italy", "South", "*"],
    ["Rome", "Italy", "South", "*"],
    ["Athens", "Greece", "South", "*"],
    ["Bonn", "Germany", "North", "*"],
    ["Ulm", "Germany", "North", "*"],
    ["Lund", "Sweden", "North", "*"],
]
PATH = {path[0]: path for path in PATHS}
EVERY = [
    "il",
    "sse",
    "cells-unchanged",
    "marginals",
    "associations",
    "entropy",
    "discernibility",
    "linkage",
    "unique",
    "k",
]


def original(seed: int = 1, n: int = 40) -> dict[str, list[Any]]:
    rng = np.random.default_rng([16, seed])
    return {
        "age": rng.integers(18, 80, n).tolist(),
        "town": rng.choice(list(PATH), n, p=[0.3, 0.2, 0.1, 0.2, 0.15, 0.05]).tolist(),
        "school": rng.choice(["none", "primary", "university"], n).tolist(),
        "anchor": list(range(n)),
    }


def values(assessment: Assessment) -> dict[str, float]:
    return {measure.name: figure.value for measure, figure in assessment.figures}


def measured(
    before: dict[str, list[Any]], after: dict[str, list[Any]], quasi: list[str], **options: Any
) -> Assessment:
    return assess(pa.table(before), pa.table(after), quasi=quasi, measures=EVERY, **options)


def generalised(towns: list[str], seed: int) -> list[str]:
    """Full-domain generalisation to countries; one in five records further up, one in ten
    suppressed (the top), some as they were.
    """
    rng = np.random.default_rng(seed)
    return [PATH[town][rng.choice(4, p=[0.1, 0.6, 0.2, 0.1])] for town in towns]


def slow_loss(towns: list[str], released: list[str]) -> float:
    """IL of a column in z-scores: an indicator for each node below the top, a node at the mean of
    the records below it.
    """
    nodes = sorted({(level, name) for town in towns for level, name in enumerate(PATH[town][:-1])})

    def point(town: str) -> list[float]:
        return [float(PATH[town][level] == name) for level, name in nodes]

    def centroid(name: str) -> list[float]:
        level = min(level for path in PATHS for level in range(4) if path[level] == name)
        below = [point(town) for town in towns if PATH[town][level] == name]
        return [math.fsum(axis) / len(below) for axis in zip(*below, strict=True)]

    def square(one: list[float], other: list[float]) -> float:
        return math.fsum((a - b) ** 2 for a, b in zip(one, other, strict=True))

    total = math.fsum(square(point(town), centroid("*")) for town in towns)
    lost = math.fsum(
        square(point(town), centroid(name)) for town, name in zip(towns, released, strict=True)
    )
    return 100.0 * lost / total


@pytest.mark.parametrize("seed", range(12))
def test_nodes_lie_at_the_centroid_of_their_values(seed: int) -> None:
    before = original(seed)
    after = {**before, "town": generalised(before["town"], seed)}
    assessment = measured(before, after, ["town"], hierarchy={"town": PATHS})
    assert values(assessment)["il"] == pytest.approx(
        slow_loss(before["town"], after["town"]), rel=1e-9
    )
    same = sum(a == b for a, b in zip(before["town"], after["town"], strict=True))
    assert values(assessment)["cells-unchanged"] == pytest.approx(100 * same / 40)
    assert values(assessment)["k"] == min(Counter(after["town"]).values())
    assert (
        "nodes of a hierarchy in place of values count as the centroid of their values: town"
        in assessment.notes
    )


def test_one_top_for_everybody_loses_all_and_no_more() -> None:
    before = original()
    assessment = measured(
        before, {**before, "town": ["*"] * 40}, ["age", "town"], hierarchy={"town": PATHS}
    )
    assert assessment.figure("il").columns == pytest.approx({"age": 0.0, "town": 100.0})
    assert not any("suppressed" in note for note in assessment.notes), (
        "the top of the tree is a value of it"
    )
    finer = measured(
        before,
        {**before, "town": [PATH[town][1] for town in before["town"]]},
        ["town"],
        hierarchy={"town": PATHS},
    )
    coarser = measured(
        before,
        {**before, "town": [PATH[town][2] for town in before["town"]]},
        ["town"],
        hierarchy={"town": PATHS},
    )
    assert 0.0 < values(finer)["il"] < values(coarser)["il"] < 100.0


def test_a_value_with_a_branch_of_its_own_is_itself() -> None:
    tree = Hierarchy.of([["a", "x", "*"], ["b", "x", "*"], ["other", "other", "*"]])
    before = {"town": ["a", "b", "other", "other"]}
    assessment = measured(
        before, {"town": ["x", "x", "other", "other"]}, ["town"], hierarchy={"town": tree}
    )
    assert assessment.pair.after.variables[0].hierarchy is not None
    assert assessment.pair.after.variables[0].hierarchy.inner == {"x": 1}
    assert values(assessment)["cells-unchanged"] == 50.0


def test_what_a_tree_does_not_know_is_a_value_of_its_own() -> None:
    before = original()
    after = {**before, "town": ["nowhere", *before["town"][1:]]}
    assessment = measured(before, after, ["town"], hierarchy={"town": PATHS})
    rows = Counter(before["town"])
    spread = sum(
        1
        - sum(
            (sum(n for town, n in rows.items() if PATH[town][level] == name) / 40) ** 2
            for name in {p[level] for p in PATHS}
        )
        for level in range(3)
    )
    assert values(assessment)["sse"] == pytest.approx(3 * 2.0 / spread), (
        "it differs on all three levels"
    )


def without(table: dict[str, list[Any]], gone: set[int]) -> dict[str, list[Any]]:
    """A table without some of its records."""
    return {
        name: [x for i, x in enumerate(column) if i not in gone] for name, column in table.items()
    }


@pytest.mark.parametrize("column", ["age", "town", "school"])
@pytest.mark.parametrize("seed", range(4))
def test_records_with_a_star_are_left_out(column: str, seed: int) -> None:
    before = original(seed)
    gone = set(np.random.default_rng(seed).permutation(40)[:9].tolist())
    starred = {
        **before,
        column: ["*" if i in gone else str(x) for i, x in enumerate(before[column])],
    }
    options = {"ordinal": {"school": ["none", "primary", "university"]}}
    one = measured(before, starred, ["age", "town", "school"], **options)
    other = measured(
        without(before, gone), without(before, gone), ["age", "town", "school"], **options
    )
    assert values(one) == pytest.approx(values(other), rel=1e-12)
    assert one.suppressed is not None
    assert (one.suppressed.rows, one.suppressed.cells, one.suppressed.columns) == (
        0,
        9,
        {column: 9},
    )
    assert "Every other figure is of the 31 records without suppressed cells." in one.notes[0]
    assert other.suppressed is None


def test_a_column_of_stars_is_a_column_of_gaps() -> None:
    before = original()
    starred, blanked = ({**before, "town": [mark] * 40} for mark in ("*", None))
    one, other = (measured(before, after, ["age", "town"]) for after in (starred, blanked))
    assert values(one) == pytest.approx(values(other), rel=1e-12)
    assert one.suppressed is not None
    assert one.suppressed.whole_columns == ("town",)
    assert any("count as missing: town" in note for note in one.notes)


def test_a_star_that_the_original_has_is_a_value() -> None:
    before = {"mark": ["*", "*", "+", "+"]}
    assessment = measured(before, {"mark": ["*", "*", "*", "+"]}, ["mark"])
    assert assessment.notes == () or not any("suppressed" in note for note in assessment.notes)
    assert values(assessment)["cells-unchanged"] == 75.0


def tens(age: int) -> str:
    return f"[{age // 10 * 10}, {age // 10 * 10 + 10})"


@pytest.mark.parametrize("seed", range(6))
def test_numbers_that_come_back_as_ranges(seed: int) -> None:
    """They have no place on the scale: what varies within classes is lost; marginals have nothing
    in common.
    """
    before = original(seed)
    after = {**before, "age": [tens(age) for age in before["age"]]}
    assessment = measured(before, after, ["age", "town"])
    assert "count as new categories: age" in " ".join(assessment.notes)
    ages = np.array(before["age"], np.float64)
    lost = 0.0
    rows = list(zip(after["age"], after["town"], strict=True))
    for row in set(rows):
        inside = ages[[other == row for other in rows]]
        lost += ((inside - inside.mean()) ** 2).sum()
    columns = assessment.figure("il").columns
    assert columns["age"] == pytest.approx(100 * lost / ((ages - ages.mean()) ** 2).sum(), rel=1e-9)
    assert columns["town"] == 0.0
    assert (
        "leave out age (ranges or other texts in place of values); town (categories)"
        in assessment.notes[-1]
    )
    assert assessment.figure("cells-unchanged").columns == {"age": 0.0, "town": 100.0}
    assert assessment.figure("marginals").columns == {"age": 1.0, "town": 0.0}
    assert values(assessment)["k"] == min(Counter(rows).values())


def test_codes_and_their_ranges_by_a_hierarchy() -> None:
    """Numbers that are declared categories; the release has them as text, because of the ranges
    beside them.
    """
    before = {"age": [21, 25, 31, 35, 38, 21]}
    tree = {str(age): [tens(age), "*"] for age in (21, 25, 31, 35, 38)}
    after = {"age": ["21", tens(25), tens(31), tens(35), "38", "21"]}
    assessment = measured(before, after, ["age"], nominal=["age"], hierarchy={"age": tree})
    assert values(assessment)["cells-unchanged"] == pytest.approx(50.0)
    assert assessment.pair.after.variables[0].levels[:5] == (21, 25, 31, 35, 38)
    assert 0.0 < values(assessment)["il"] < 100.0


def test_levels_that_are_not_in_the_order() -> None:
    before = original()
    after = {**before, "school": ["some" if s == "primary" else s for s in before["school"]]}
    assessment = measured(
        before, after, ["age", "school"], ordinal={"school": ["none", "primary", "university"]}
    )
    assert "count as new categories: school" in " ".join(assessment.notes)
    kept = sum(s != "primary" for s in before["school"])
    assert assessment.figure("cells-unchanged").columns["school"] == pytest.approx(100 * kept / 40)


def written(table: dict[str, list[Any]], path: Path) -> Path:
    rows = [
        ";".join(table),
        *(
            ";".join("" if x is None else str(x) for x in row)
            for row in zip(*table.values(), strict=True)
        ),
    ]
    path.write_text("\n".join(rows) + "\n", "utf-8")
    return path


def test_files_are_read_as_tables_are(tmp_path: Path) -> None:
    """A csv file with text among its numbers, which would be refused in an original."""
    before = original()
    after = {
        "age": [
            tens(age) if i % 3 else "*" if i % 2 else str(age)
            for i, age in enumerate(before["age"])
        ],
        "town": ["*" if i % 5 == 0 else town for i, town in enumerate(before["town"])],
        "school": before["school"],
        "anchor": before["anchor"],
    }
    quasi = ["age", "town", "school"]
    assessment = assess_files(
        written(before, tmp_path / "a.csv"),
        written(after, tmp_path / "b.csv"),
        quasi=quasi,
        measures=EVERY,
    )
    expected = measured(before, after, quasi)
    assert values(assessment) == pytest.approx(values(expected), rel=1e-12)
    assert assessment.notes == expected.notes
    stars = {**before, "age": ["*" if i % 4 else age for i, age in enumerate(before["age"])]}
    assessment = assess_files(
        tmp_path / "a.csv", written(stars, tmp_path / "c.csv"), quasi=quasi, measures=EVERY
    )
    rest = without(before, {i for i in range(40) if i % 4})
    assert values(assessment) == pytest.approx(values(measured(rest, rest, quasi)), rel=1e-12)


def test_an_infinite_number_is_refused_still() -> None:
    before = original()
    with pytest.raises(ma.InputError, match="in the release, column 'age', row 3"):
        measured(
            before,
            {
                **before,
                "age": [*map(float, before["age"][:2]), math.inf, *map(float, before["age"][3:])],
            },
            ["age"],
        )

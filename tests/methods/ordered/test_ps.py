"""The pairwise-systematic method against a plain transcription, and against its published
figures.
"""

import csv
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import microagg
import plain
from microagg.datasets.reference import load_reference
from microagg.methods.ordered.ps import PS_MEANSORT, PS_MULTIDSORT
from microagg.pipeline.run_method import run_method
from microagg.problem.problem import Problem
from microagg.table.encoder import Space

METHODS = {method.name: method for method in (PS_MULTIDSORT, PS_MEANSORT)}


def in_order(keys: list[float]) -> list[int]:
    return sorted(range(len(keys)), key=lambda record: (keys[record], record))


def by_ranks(points: np.ndarray) -> list[int]:
    """MultiDSort: the sum of a record's ranks in all columns."""
    keys = [0.0] * len(points)
    for column in points.T.tolist():
        for rank, record in enumerate(in_order(column)):
            keys[record] += rank
    return in_order(keys)


def by_deviations(points: np.ndarray) -> list[int]:
    """Meansort: the sum of a record's deviations from the column means."""
    means = plain.centroid(points, range(len(points)))
    keys = []
    for row in points:
        total = 0.0
        for x, mean in zip(row.tolist(), means.tolist(), strict=True):
            total += x - mean
        keys.append(total)
    return in_order(keys)


def grown(
    points: np.ndarray, line: list[int], start: int, k: int, spared: int | None
) -> plain.Group:
    group = [start]
    while len(group) < k:
        candidates = plain.without(line, [*group, spared] if spared is not None else group)
        group += plain.nearest(points, candidates, plain.centroid(points, group), 1)
    return group


def pairwise_systematic(points: np.ndarray, line: list[int], k: int) -> np.ndarray:
    """Kabir, Mahmood, Mustafa and Wang, algorithm 2, on records sorted once."""
    groups: list[plain.Group] = []
    while len(line) >= 3 * k:
        last = line[-1]
        groups.append(grown(points, line, line[0], k, spared=last))
        line = plain.without(line, groups[-1])
        groups.append(grown(points, line, last, k, spared=None))
        line = plain.without(line, groups[-1])
    if len(line) >= 2 * k:
        groups.append(grown(points, line, line[0], k, spared=line[-1]))
        line = plain.without(line, groups[-1])
    return plain.labels_from_groups(len(points), [*groups, line])


@pytest.mark.parametrize("seed", range(2600, 2670))
@pytest.mark.parametrize(
    ("name", "sort"), [("ps-multidsort", by_ranks), ("ps-meansort", by_deviations)]
)
def test_ps_equals_the_oracle(name: str, sort: Callable[..., Any], seed: int) -> None:
    points, k = plain.hard_problem(seed)
    labels = run_method(METHODS[name], Problem.of(points, k), {}, seed=0).labels
    assert labels.dtype == np.int32
    np.testing.assert_array_equal(labels, pairwise_systematic(points, sort(points), k))


def test_the_last_record_is_kept_for_its_own_group() -> None:
    """Records 0 and 5 are the ends of the order; 5 is nearest to 0, and still starts the other
    group.
    """
    points = np.array([[0.0, 0.0], [-9.0, 9.5], [9.0, -8.0], [-9.0, 10.0], [8.0, -7.0], [0.5, 2.6]])
    sums = points.sum(axis=1)
    assert int(np.argmin(sums)) == 0
    assert int(np.argmax(sums)) == 5
    labels = run_method(PS_MEANSORT, Problem.of(points, 2), {}, seed=0).labels
    assert labels[0] != labels[5]


PUBLISHED = Path(microagg.__file__).parent / "studies" / "published.csv"


@pytest.mark.slow
@pytest.mark.reference
@pytest.mark.parametrize("name", METHODS)
def test_the_published_figures(name: str, reference_data: Path) -> None:
    with PUBLISHED.open(encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["name"] == name]
    assert len(rows) == 12
    for row in rows:
        values = load_reference(row["dataset"], row["columns"], reference_data)
        points = Space.fit(values, "none").points(values)
        labels = run_method(METHODS[name], Problem.of(points, int(row["k"])), {}, seed=0).labels
        ours = microagg.information_loss(points, labels)
        assert f"{ours:.2f}" == f"{float(row['value']):.2f}", (row["dataset"], row["k"])

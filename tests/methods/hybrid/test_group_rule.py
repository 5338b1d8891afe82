"""The group rule of HM-PFSOM against a slow transcription and against the printed tables."""

from __future__ import annotations

import csv
from importlib.resources import files

import numpy as np
import pytest

import plain
from microagg.methods.hybrid.group_rule import diverse_groups, least_per_class, plan_groups

PRINTED = list(
    csv.DictReader(
        files("microagg.studies").joinpath("published_groups.csv").read_text("utf-8").splitlines()
    )
)


def classes_of_row(row):
    return [int(size) for size in row["class_sizes"].split()]


@pytest.mark.parametrize("row", PRINTED, ids=lambda row: f"{row['part']}-{row['k']}")
def test_tables_10_and_12_of_abidi_et_al(row):
    plan = plan_groups(classes_of_row(row), int(row["k"]))
    assert plan.groups == int(row["groups"])
    differs = row["part"] == "sub-Census1" and row["k"] == "20"
    assert plan.smallest_group == (80 if differs else int(row["minimal_group_size"]))


def test_all_printed_rows_are_there():
    assert len(PRINTED) == 44


@pytest.mark.parametrize("row", PRINTED[::5], ids=lambda row: f"{row['part']}-{row['k']}")
def test_groups_formed_are_those_planned(row):
    sizes = classes_of_row(row)
    rng = np.random.default_rng(len(sizes))
    classes = rng.permutation(np.repeat(np.arange(len(sizes)), sizes))
    labels = diverse_groups(rng.normal(size=(sum(sizes), 3)), classes, 2, int(row["k"]))
    plan = plan_groups(sizes, max(int(row["k"]), least_per_class(sizes, 2)))
    assert labels.max() + 1 == plan.groups
    for group in range(plan.groups):
        inside = np.bincount(classes[labels == group], minlength=len(sizes))
        assert (inside >= plan.takes).all(), "every group has its share of every class"


def oracle(points, classes, k, per_class):
    """Abidi, Ben Yahia and Perera 2020, lines 5 to 17 of algorithm 2, the slow way, with the shares
    of their tables.
    """
    everyone = list(range(len(points)))
    members = {c: [r for r in everyone if classes[r] == c] for c in sorted(set(classes.tolist()))}
    smallest = min(len(records) for records in members.values())
    times = {c: len(records) // smallest for c, records in members.items()}
    taken_each = 1
    while taken_each * sum(times.values()) < k or taken_each < (per_class or 1):
        taken_each += 1
    if smallest < taken_each:
        return plain.labels_from_groups(len(points), [everyone])
    centre = plain.centroid(points, everyone)
    groups, left = [], everyone
    for _ in range(smallest // taken_each):
        outermost = points[plain.farthest(points, left, centre)]
        group = []
        for c, records in members.items():
            group += plain.nearest(points, records, outermost, taken_each * times[c])
            members[c] = plain.without(records, group)
        groups.append(group)
        left = plain.without(left, group)
    plain.join_one_by_one(points, groups, left)
    return plain.labels_from_groups(len(points), groups)


@pytest.mark.parametrize("seed", range(84))
def test_same_groups_as_the_paper(seed):
    points, k = plain.hard_problem(seed)
    rng = np.random.default_rng(seed)
    classes = np.minimum(rng.geometric(0.5, len(points)) - 1, int(rng.integers(0, 4)))
    classes = np.unique(classes, return_inverse=True)[1]
    per_class = None if seed % 3 else int(rng.integers(1, 6))
    expected = oracle(points, classes, k, per_class)
    assert diverse_groups(points, classes, k, per_class).tolist() == expected.tolist()


def test_the_adaptive_choice_is_the_smallest_that_will_do():
    rng = np.random.default_rng(0)
    for _ in range(300):
        sizes, k = rng.integers(1, 200, int(rng.integers(1, 6))).tolist(), int(rng.integers(2, 60))
        chosen = least_per_class(sizes, k)
        assert plan_groups(sizes, chosen).smallest_group >= k
        assert chosen == 1 or plan_groups(sizes, chosen - 1).smallest_group < k

"""The worked examples of the papers: what agrees and, beside it, what cannot."""

from __future__ import annotations

import numpy as np
import pytest

import microagg as ma
import plain
from microagg.kernels import random
from microagg.methods.hybrid.classes import ConfidentialClasses
from microagg.methods.hybrid.group_rule import groups_with, plan_groups
from microagg.methods.ordered.orders import meansort, multidsort
from microagg.problem.problem import Problem
from microagg.table.confidential import Attribute
from microagg.table.schema import Kind

# Kabir, Mahmood, Mustafa and Wang, tables I to V

VARIABLES = np.array([[5.0, 6.0], [3.0, 10.0], [1.0, 3.0], [2.0, 1.0], [4.0, 2.0]])


def test_table_2_of_the_sorting_framework():
    ranks = np.argsort(VARIABLES, axis=0, kind="stable") + 1
    assert ranks.tolist() == [[3, 4], [4, 5], [2, 3], [5, 1], [1, 2]], (
        "part A: where the sorted values stand"
    )
    places = np.argsort(ranks - 1, axis=0) + 1
    assert places.sum(axis=1).tolist() == [9, 8, 4, 3, 6], "part B"


def test_table_3_of_the_sorting_framework():
    order = multidsort(Problem.of(VARIABLES, 2))
    assert VARIABLES[order].tolist() == [[2, 1], [1, 3], [4, 2], [3, 10], [5, 6]]


def test_tables_4_and_5_of_the_sorting_framework():
    sums = (VARIABLES - VARIABLES.mean(axis=0)).sum(axis=1)
    assert sums == pytest.approx([3.6, 5.6, -3.4, -4.4, -1.4])
    order = meansort(Problem.of(VARIABLES, 2))
    assert (np.argsort(order) + 1).tolist() == [4, 5, 2, 1, 3]
    assert VARIABLES[order].tolist() == [[2, 1], [1, 3], [4, 2], [5, 6], [3, 10]]


# Abidi, Ben Yahia and Perera 2020, tables 1 to 8; records are numbered from 1, as there

TABLE_1 = np.array(
    [
        [2025, 28],
        [2022, 29],
        [2022, 25],
        [2020, 24],
        [1012, 50],
        [1012, 55],
        [1013, 47],
        [1013, 49],
        [1023, 31],
        [1022, 34],
        [1021, 35],
        [1021, 37],
    ],
    float,
)
DISEASES = np.array(list("HHVVCHVVCCCC"))
TABLE_2 = [[1, 2, 3, 4], [5, 6, 7, 8], [9, 10, 11, 12]]
TABLE_3 = [[1, 3, 4, 9, 11], [2, 7, 10, 12], [5, 6, 8]]
TABLE_4 = np.array(
    [
        [1011, 22],
        [1007, 22],
        [1012, 23],
        [1009, 25],
        [1010, 28],
        [1011, 29],
        [1013, 31],
        [1010, 32],
        [1008, 32],
        [1010, 29],
        [1009, 26],
        [1011, 27],
        [1008, 33],
    ],
    float,
)
SALARIES = np.array(
    [500, 550, 600, 1600, 1500, 1800, 2900, 3200, 3600, 1650, 1550, 1700, 3800], float
)
SALARY_CLASSES = np.array([0, 0, 0, 1, 1, 1, 2, 2, 2, 1, 1, 1, 2])
TABLE_8 = [[1, 8, 10, 12], [2, 4, 9, 11], [3, 5, 6, 7, 13]]


def min_max(values):
    return (values - values.min(axis=0)) / (values.max(axis=0) - values.min(axis=0))


def groups_of(labels):
    return sorted(
        (np.flatnonzero(labels == group) + 1).tolist() for group in range(labels.max() + 1)
    )


def test_table_1_has_two_diagnoses_in_every_group():
    for k in range(2, 7):
        labels = ma.partition(min_max(TABLE_1), k, "hm-pfsom", confidential=DISEASES)
        for group in range(labels.max() + 1):
            assert len(set(DISEASES[labels == group])) >= 2


def test_table_2_is_what_mdav_gives_and_the_paper_rule_on_one_class():
    assert groups_of(ma.partition(min_max(TABLE_1), 4, "mdav")) == TABLE_2
    kept = ma.partition(min_max(TABLE_1), 3, "hm-pfsom", confidential=DISEASES, one_class="keep")
    assert groups_of(kept) == TABLE_2, "the third group tells everybody's diagnosis"


def test_table_2_rounds_in_two_ways():
    means = np.array([TABLE_1[np.array(group) - 1].mean(axis=0) for group in TABLE_2])
    assert means.tolist() == [[2022.25, 26.5], [1012.5, 50.25], [1021.75, 34.25]]
    printed = np.array([[2022, 27], [1012, 50], [1021, 34]])
    assert (np.floor(means) != printed).sum() == 1, "26.5 is rounded up"
    assert (np.floor(means + 0.5) != printed).sum() == 2, "1012.5 and 1021.75 are cut off"


def signed_rule(points, classes, per_class):
    """Algorithm 2 with the most distant record by the signed sum that the paper prints as its
    distance.
    """
    left = list(range(len(points)))
    members = {c: [r for r in left if classes[r] == c] for c in sorted(set(classes))}
    groups = []
    for _ in range(min(map(len, members.values())) // per_class):
        outermost = max(left, key=lambda r: (points[r].sum(), -r))
        group = []
        for c, records in members.items():
            group += plain.nearest(points, records, points[outermost], per_class)
            members[c] = plain.without(records, group)
        groups.append(group)
        left = plain.without(left, group)
    plain.join_one_by_one(points, groups, left)
    return sorted(sorted(r + 1 for r in group) for group in groups)


@pytest.mark.parametrize(
    ("weight", "agrees"), [(0.0, True), (0.006, True), (0.009, False), (0.1, False), (1.0, False)]
)
def test_table_3_needs_signed_distances_and_next_to_no_zip_code(weight, agrees):
    """The paper's distance has signs, so that "most distant" is the oldest; ours has none, and
    gives other groups.
    """
    points = TABLE_1 * [weight, 1.0]
    assert (signed_rule(points, DISEASES, 1) == TABLE_3) == agrees
    classes = np.unique(DISEASES, return_inverse=True)[1]
    assert groups_of(groups_with(np.ascontiguousarray(points), classes, 1)) != TABLE_3


def test_tables_5_to_7_are_the_classes_that_pfsom_finds():
    salary = Attribute("salary", Kind.NUMERIC, SALARIES)
    labels = ConfidentialClasses((salary,)).of(np.arange(13), random.seeded(0))
    assert labels.tolist() == SALARY_CLASSES.tolist()


def test_table_8_has_the_shares_of_the_rule():
    plan = plan_groups(np.bincount(SALARY_CLASSES).tolist(), 1)
    assert (plan.groups, plan.takes) == (3, (1, 2, 1))
    for group in TABLE_8:
        assert (np.bincount(SALARY_CLASSES[np.array(group) - 1]) >= plan.takes).all()
    ours = groups_of(groups_with(min_max(TABLE_4), SALARY_CLASSES, 1))
    assert sorted(map(len, ours)) == sorted(map(len, TABLE_8))


def test_table_8_has_other_records_than_any_weight_gives():
    """x1 is put with x10 but not with x6, who has the same age and a ZIP code nearer to that of
    x1.
    """
    x1, x6, x10 = TABLE_4[0], TABLE_4[5], TABLE_4[9]
    assert x6[1] == x10[1]
    assert abs(x6[0] - x1[0]) < abs(x10[0] - x1[0])
    for weight in np.geomspace(1e-3, 1e3, 61):
        assert (
            groups_of(groups_with(np.ascontiguousarray(TABLE_4 * [weight, 1.0]), SALARY_CLASSES, 1))
            != TABLE_8
        )


def test_the_step_of_the_hybrid_paper_for_k_2():
    """Section 4.3.2: with two of each class, sub-Census1 has 36 groups of at least 8."""
    plan = plan_groups([145, 164, 73], 2)
    assert (plan.groups, plan.smallest_group) == (36, 8)


# Chettri and Borah 2012 print one number of a step, Mortazavi, Jalili and Gohargazi 2013 no numbers
# of IMHM's path


def test_gamma_of_mdav2k_is_below_what_chettri_and_borah_say():
    gammas = np.array(
        [1.0 + 1.0 / (5.0 + gamma) for gamma in np.nextafter(1.0, 2.0) * np.geomspace(1.0, 1e6, 50)]
    )
    assert 1.0 < gammas.min() < gammas.max() < 1.17, "they say 1.16, which is 7/6 cut off"

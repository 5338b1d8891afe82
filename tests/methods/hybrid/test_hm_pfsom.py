"""HM-PFSOM against a slow transcription, and what it promises on tables that are hard for it."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import microagg as ma
import plain
from microagg.kernels import random
from microagg.methods.hybrid.one_valued import join_one_valued
from microagg.methods.hybrid.splitting import split_into_parts


def slow_classes(codes):
    """The class of each record of a part: its category, rare ones as `classes.py` says."""
    n = len(codes)
    counts = {c: codes.count(c) for c in sorted(set(codes))}
    frequent = [c for c in counts if 20 * counts[c] >= n]
    rare = [c for c in counts if c not in frequent]
    if not rare:
        into = {c: c for c in counts}
    elif not frequent:
        filled, into = [0, 0], {}
        for c in sorted(counts, key=lambda c: (-counts[c], c)):
            into[c] = int(filled[1] < filled[0])
            filled[into[c]] += counts[c]
    else:
        together = sum(counts[c] for c in rare)
        separate = len(frequent) == 1 or 20 * together >= n
        target = -1 if separate else min(frequent, key=lambda c: (counts[c], c))
        into = {c: target if c in rare else c for c in counts}
    return [into[c] for c in codes]


def slow_joining(points, groups, columns):
    """The smallest group of one value joins the one with which it loses least, until there is
    none.
    """
    groups = sorted((sorted(group) for group in groups), key=min)
    while len(groups) > 1:
        sharing = [g for g in groups if any(len({column[r] for r in g}) == 1 for column in columns)]
        if not sharing:
            break
        small = min(sharing, key=len)
        mean = plain.centroid(points, small)

        def cost(other, small=small, mean=mean):
            share = len(other) * len(small) / (len(other) + len(small))
            return plain.squared_distance(plain.centroid(points, other), mean) * share

        nearest = min((group for group in groups if group is not small), key=cost)
        groups = [group for group in groups if group is not small and group is not nearest]
        groups = sorted([*groups, sorted(small + nearest)], key=min)
    return groups


def slow_rule(points, classes, taken_each):
    """Lines 5 to 17 of algorithm 2, with the shares of the paper's tables."""
    everyone = list(range(len(points)))
    members = {
        c: [r for r in everyone if classes[r] == c] for c in sorted(set(classes), key=classes.index)
    }
    smallest = min(len(records) for records in members.values())
    times = {c: len(records) // smallest for c, records in members.items()}
    if smallest < 2 * taken_each:
        return [everyone]
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
    return groups


def slow_part(points, codes, columns, k, per_class):
    """The groups of a part: of all numbers of records of a class that will do, the first that gives
    most groups.
    """
    classes = slow_classes(codes)
    counts = [classes.count(c) for c in set(classes)]
    per_prototype = sum(count // min(counts) for count in counts)
    fewest = next(
        p for p in range(1, len(points) + 1) if p * per_prototype >= k and p >= (per_class or 1)
    )
    best = None
    for taken in range(fewest, max(fewest, min(counts)) + 1):
        groups = slow_joining(points, slow_rule(points, classes, taken), columns)
        best = groups if best is None or len(groups) > len(best) else best
    return best


def oracle(points, parts, codes, k, per_class, one_class):
    """Algorithm 2 for one column of categories, from the parts on, with the steps that are ours."""
    columns = [codes.tolist()] if one_class == "join" and len(set(codes.tolist())) > 1 else []
    parts = [np.flatnonzero(parts == p).tolist() for p in np.unique(parts)]
    parts = slow_joining(points, parts, columns)
    formed = {}
    for part in parts:
        if len(part) >= k:
            within = [[column[r] for r in part] for column in columns]
            part_groups = slow_part(points[part], codes[part].tolist(), within, k, per_class)
            formed[min(part)] = [[part[i] for i in group] for group in part_groups]
    joined = [list(part) for part in parts]  # as parts of fewer than k records join others
    while len(joined) > 1 and min(map(len, joined)) < k:
        joined.sort(key=min)
        small = joined.pop([len(part) for part in joined].index(min(map(len, joined))))
        plain.join_as_block(points, joined, small)
    result = []
    for part in joined:
        groups = next((formed[first] for first in part if first in formed), None)
        if groups is None:
            result.append(part)
        else:
            plain.join_one_by_one(
                points, sorted(groups, key=min), plain.without(part, [r for g in groups for r in g])
            )
            result += groups
    return plain.labels_from_groups(len(points), result)


@pytest.mark.parametrize("seed", range(56))
def test_same_groups_as_the_slow_way(seed):
    points, k = plain.hard_problem(seed)
    rng = np.random.default_rng(seed)
    codes = np.minimum(rng.geometric(0.4, len(points)) - 1, int(rng.integers(0, 30)))
    if seed % 4 == 0:  # one value on one side
        codes[points[:, 0] < np.median(points[:, 0])] = 0
    codes = np.unique(codes, return_inverse=True)[1]
    codes = pd.factorize(codes)[0]  # in the order of first records, as tables have them
    per_class = None if seed % 3 else int(rng.integers(1, 4))
    parts = split_into_parts(points, 1, rng=random.seeded(0, "hm-pfsom"))
    for one_class in ("join", "keep"):
        labels = ma.partition(
            points, k, "hm-pfsom", confidential=codes, per_class=per_class, one_class=one_class
        )
        assert labels.tolist() == oracle(points, parts, codes, k, per_class, one_class).tolist()


@pytest.mark.parametrize("seed", range(56))
def test_what_shares_a_value_joins_the_cheapest(seed):
    points, _ = plain.hard_problem(seed)
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 20, len(points)).astype(np.int32)
    columns = [rng.geometric(0.6, len(points)), (rng.random(len(points)) < 0.2).astype(int)]
    columns = [column for column in columns if len(set(column)) > 1]
    expected = slow_joining(
        points, [np.flatnonzero(labels == g).tolist() for g in np.unique(labels)], columns
    )
    joined = join_one_valued(points, labels, columns)
    assert joined.tolist() == plain.labels_from_groups(len(points), expected).tolist()


def made_table(seed):
    """Points, clustered for odd seeds, and two to five classes, skewed or even; in some a cluster
    has one class only.
    """
    rng = np.random.default_rng(seed)
    n, d, classes = int(rng.integers(60, 500)), int(rng.integers(1, 5)), int(rng.integers(2, 6))
    centres = 8.0 * rng.normal(size=(int(rng.integers(2, 6)) if seed % 2 else 1, d))
    cluster = rng.integers(0, len(centres), n)
    codes = rng.choice(classes, n, p=rng.dirichlet(np.full(classes, [0.3, 1.0, 5.0][seed % 3])))
    if seed % 4 == 1:
        codes[cluster == 0] = 0
    codes[:classes] = np.arange(classes)
    return centres[cluster] + rng.normal(size=(n, d)), codes


def values_in_groups(labels, column):
    return np.array(
        [len(set(column[labels == group].tolist())) for group in range(labels.max() + 1)]
    )


KS = (2, 3, 5, 8, 10, 13, 20)


@pytest.mark.parametrize("one_class", ["join", "keep"])
@pytest.mark.parametrize("seed", range(50))
def test_groups_never_rise_with_k_and_none_has_one_class(seed, one_class):
    points, codes = made_table(seed)
    numbers = []
    for k in KS:
        labels = ma.partition(points, k, "hm-pfsom", confidential=codes, one_class=one_class)
        assert np.bincount(labels).min() >= k
        if one_class == "join":
            assert values_in_groups(labels, codes).min() >= 2
        numbers.append(labels.max() + 1)
    assert numbers == sorted(numbers, reverse=True)


@pytest.mark.parametrize("seed", range(12))
def test_the_same_of_several_columns(seed):
    points, codes = made_table(seed)
    rng, n = np.random.default_rng(seed), len(points)
    mostly_zero = np.where(rng.random(n) < 0.1, rng.lognormal(size=n), 0.0)
    columns = (
        [codes.astype(float), mostly_zero]
        if seed % 2
        else [codes.astype(str), (mostly_zero > 0).astype(str)]
    )
    numbers = []
    for k in KS:
        labels = ma.partition(points, k, "hm-pfsom", confidential=np.column_stack(columns))
        assert min(values_in_groups(labels, column).min() for column in columns) >= 2
        numbers.append(labels.max() + 1)
    assert numbers == sorted(numbers, reverse=True)


def test_a_larger_l_is_enforced_as_for_every_method():
    points = np.random.default_rng(0).normal(size=(400, 2))
    codes = np.random.default_rng(1).choice(4, 400, p=[0.49, 0.49, 0.01, 0.01])
    alone = ma.partition(points, 3, "hm-pfsom", confidential=codes)
    held = ma.partition(points, 3, "hm-pfsom", confidential=codes, l=3)
    assert values_in_groups(alone, codes).min() == 2, "no l by itself"
    assert values_in_groups(held, codes).min() >= 3


def released(table, **options):
    return ma.anonymize(
        table, quasi=["age"], confidential=["ill"], method="hm-pfsom", seed=0, **options
    )


def shared(release):
    codes = ("shared-confidential-value", "only-confidential-value")
    return [note for note in release.notes if note.code in codes]


def test_what_shares_one_value_is_told_with_its_numbers():
    ages = np.r_[np.arange(20, 30), np.arange(70, 90)]
    table = pd.DataFrame({"age": ages, "ill": ["no"] * 10 + ["no", "yes"] * 10})
    assert shared(released(table, k=3)) == []
    kept = released(table, k=3, one_class="keep")
    groups = kept.table.groupby("age")["ill"]
    alike = groups.nunique() == 1
    (note,) = shared(kept)
    assert alike.sum() > 0
    assert note.startswith(
        f"in {alike.sum()} of {len(alike)} groups ({groups.size()[alike].sum()} records)"
    )
    assert "'ill'" in note


def test_one_value_in_the_whole_table_is_told(tmp_path):
    table = pd.DataFrame({"age": np.arange(20, 60), "ill": ["no"] * 40})
    release = released(table, k=4)
    groups = release.table["age"].nunique()
    (note,) = shared(release)
    assert f"all {groups} groups (40 records)" in note
    report = release.report(tmp_path / "report.md").read_text("utf-8")
    assert f"all {groups} groups (40 records)" in report


def test_parts_that_joined_are_told():
    ages = np.r_[np.arange(20, 30), np.arange(500, 520)]
    table = pd.DataFrame({"age": ages, "ill": ["no"] * 10 + ["no", "yes"] * 10})
    assert "2 parts became" in released(table, k=3).manifest["chosen"][0]


@pytest.mark.parametrize(
    "values",
    [
        ["a"] * 30,
        ["a"] * 29 + ["b"],
        [f"v{i}" for i in range(30)],
        [None] * 10 + ["a"] * 20,
        [None] * 30,
        [1.5] * 30,
        [1.5] * 29 + [9.0],
        [None] * 5 + [2.0] * 25,
        [float("nan")] * 5 + [2.0] * 25,
        [None] * 18 + ["a", "b"] * 6,
        [None, 3.0] * 9 + [None, 2.0] * 6,
    ],
    ids=["one value", "class below k", "more classes than groups", "gaps", "gaps only",
         "one number", "one outlier",
         "gaps among numbers", "not a number", "gaps on one side", "gaps everywhere"],
)  # fmt: skip
@pytest.mark.parametrize("one_class", ["join", "keep"])
def test_hard_confidential_columns(values, one_class):
    table = pd.DataFrame({"age": np.arange(30) ** 2, "ill": values})
    release = released(table, k=4, one_class=one_class)
    known = release.table.groupby("age")["ill"].nunique()  # a gap is no value
    assert bool(shared(release)) == (known == 1).any()
    if one_class == "join" and len(set(table["ill"].dropna())) > 1:
        assert known.min() >= 2


def test_more_classes_asked_of_a_group_than_there_are_records():
    points = np.random.default_rng(0).normal(size=(20, 2))
    labels = ma.partition(
        points, 2, "hm-pfsom", confidential=np.arange(20).astype(str), per_class=1000
    )
    assert np.bincount(labels).min() >= 2
    with pytest.raises(ma.InputError, match="k"):
        ma.partition(points, 21, "hm-pfsom", confidential=np.arange(20).astype(str))
    with pytest.raises(ma.InputError, match="missing or infinite"):
        ma.partition(points, 2, "hm-pfsom", confidential=np.full(20, np.nan))

"""hybrid and hm-pfsom: parts that are large enough, and within each what was promised."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import microagg as ma
import mixtures
import plain
import promised
from microagg.kernels import random
from microagg.methods.hybrid.classes import ConfidentialClasses
from microagg.methods.hybrid.group_rule import diverse_groups
from microagg.methods.hybrid.splitting import join_small_parts, split_into_parts
from microagg.methods.method import MethodName
from microagg.methods.parts import records_by_label
from microagg.methods.registry import method_named, methods
from microagg.pipeline.run_method import run_method
from microagg.problem.problem import Problem
from microagg.problem.watch import StopSearch
from microagg.table.confidential import Attribute
from microagg.table.schema import Kind


def slow_joining(points, labels, k):
    """The smallest part below k joins the part with the nearest centroid, again and again."""
    parts = [np.flatnonzero(labels == g).tolist() for g in np.unique(labels)]
    parts.sort(key=min)
    while len(parts) > 1 and min(map(len, parts)) < k:
        small = parts.pop([len(part) for part in parts].index(min(map(len, parts))))
        plain.join_as_block(points, parts, small)
        parts = sorted((sorted(part) for part in parts), key=min)
    return plain.labels_from_groups(len(points), parts)


@pytest.mark.parametrize("seed", range(56))
def test_small_parts_join_the_nearest(seed):
    points, k = plain.hard_problem(seed)
    labels = np.random.default_rng(seed).integers(0, 9, len(points)).astype(np.int32)
    assert join_small_parts(points, labels, k).tolist() == slow_joining(points, labels, k).tolist()


@pytest.mark.parametrize("split", ["pfsom", "blocks"])
def test_groups_are_those_of_the_method_in_each_part(split):
    points, centres = mixtures.mixture(1)
    parts = split_into_parts(points, 5, rng=random.seeded(7, "hybrid"), split=split, largest=100)
    assert parts.max() + 1 == (
        len(centres) if split == "pfsom" else 2 ** np.ceil(np.log2(len(points) / 100))
    )
    labels = ma.partition(points, 5, "hybrid", seed=7, split=split, largest=100)
    for records in records_by_label(parts):
        alone = ma.partition(points[records], 5, "mdav")
        within = np.unique(labels[records], return_inverse=True)[1]
        assert np.array_equal(within, alone)
        assert set(labels[records]).isdisjoint(np.delete(labels, records))


INSIDE = [m for m in methods() if m.scope == "record" and m.guarantees_k and m.name != "hybrid"]


@pytest.mark.slow
@pytest.mark.parametrize("method", INSIDE, ids=lambda method: method.name)
def test_any_method_works_inside(method):
    rng = np.random.default_rng(0)
    places = np.array([[0.0, 0.0], [40.0, 0.0], [0.0, 40.0]])
    points = (places[rng.integers(0, 3, 90)] + rng.normal(size=(90, 2)))[:, : method.columns or 2]
    labels = ma.partition(points, 3, "hybrid", inside=method.name, confidential=rng.normal(size=90))
    assert np.bincount(labels).min() >= 3
    parts = split_into_parts(np.ascontiguousarray(points), 3, rng=random.seeded(0, "hybrid"))
    assert parts.max() >= 1
    assert all(len(set(parts[labels == group])) == 1 for group in range(labels.max() + 1))


@pytest.mark.parametrize("name", ["hybrid", "individual-ranking", "magic"])
def test_what_cannot_be_inside_is_refused(name):
    with pytest.raises(ma.InputError, match=r"inside must be|no method"):
        ma.partition(np.zeros((9, 1)), 2, "hybrid", inside=name)


def test_what_the_method_inside_needs_is_asked_for():
    with pytest.raises(ma.InputError, match="needs confidential"):
        ma.partition(np.zeros((9, 1)), 2, "hybrid", inside="hm-pfsom")
    with pytest.raises(ma.InputError, match="1 column only"):
        ma.partition(np.zeros((9, 2)), 2, "hybrid", inside="hm")
    assert isinstance(method_named("hybrid").parameters[1], MethodName)


@pytest.mark.slow
def test_a_method_without_checkpoints_inside_cannot_be_kept_half_done():
    points = np.random.default_rng(0).normal(size=(300, 2))

    def enough(done, total):
        if done > 0.5 * total:
            raise StopSearch("stopped")

    with pytest.raises(ma.Cancelled):
        ma.partition(points, 3, "hybrid", inside="mdav", progress=enough)
    with pytest.raises(ma.InputError, match="no checkpoints to stop at"):
        ma.partition(points, 3, "hybrid", inside="mdav", time_limit=1)


def test_a_search_inside_is_stopped_and_repeated():
    points = np.random.default_rng(0).normal(size=(300, 2))
    method = method_named("hybrid")
    params = method.checked({"inside": "lns", "split": "blocks", "largest": 80})

    problem = Problem.of(points, 3, threads=2)
    stopped = run_method(method, problem, params, seed=5, progress=enough_once(0.6))
    assert stopped.stopped == "interrupted"
    again = run_method(method, problem, {**params, **stopped.params}, seed=5)
    assert again.stopped == "checkpoint"
    assert np.array_equal(stopped.labels, again.labels)
    assert not np.array_equal(stopped.labels, run_method(method, problem, params, seed=5).labels)


def enough_once(share):
    calls = []

    def progress(done, total):
        if done > share * total and not calls:
            calls.append(done)
            raise StopSearch("stopped")

    return progress


@pytest.mark.parametrize(
    "guarantee", [{"t": 0.3}, {"l": 1.6, "diversity": "entropy", "t": 0.4}], ids=str
)
def test_a_search_inside_keeps_the_promise_at_less_loss_than_merging_afterwards(guarantee):
    """The confidential value goes with a column, so parts miss t as a whole and have to join
    others.
    """
    rng = np.random.default_rng(1)
    points = np.exp(rng.standard_normal((150, 2)) @ rng.standard_normal((2, 3)))
    ill = np.clip(
        4 * (np.argsort(np.argsort(points[:, 0])) / 150 + rng.uniform(-0.4, 0.4, 150)), 0, 3
    ).astype(int)
    parts = split_into_parts(points, 3, rng=random.seeded(0, "hybrid"), split="blocks", largest=40)
    assert not all(
        promised.is_kept(ill.tolist(), records.tolist(), nominal=True, **guarantee)
        for records in records_by_label(parts)
    )
    losses = {}
    for inside in ("mdav", "auto"):
        labels = ma.partition(
            points,
            3,
            "hybrid",
            inside=inside,
            split="blocks",
            largest=40,
            confidential=ill,
            **guarantee,
        )
        groups = [np.flatnonzero(labels == group).tolist() for group in range(labels.max() + 1)]
        assert all(
            promised.is_kept(ill.tolist(), group, nominal=True, **guarantee) for group in groups
        )
        losses[inside] = plain.sse(points, labels)
    assert losses["auto"] < 0.8 * losses["mdav"]


def attribute(values, kind=Kind.NUMERIC):
    return Attribute("x", kind, np.asarray(values))


def confidential_kinds(rng, n):
    return {
        "numeric": rng.normal(size=n),
        "heavy tails": rng.lognormal(0.0, 3.0, n),
        "three columns": rng.normal(size=(n, 3)),
        "one value": np.full(n, 3.0),
        "categories": rng.choice(["a", "b", "c"], n, p=[0.7, 0.25, 0.05]),
        "all different": np.array([f"v{i}" for i in range(n)]),
        "two columns of categories": rng.choice(["a", "b"], (n, 2)),
    }


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(28))
def test_every_group_has_k_whatever_is_confidential(seed):
    points, k = plain.hard_problem(seed)
    rng = np.random.default_rng(seed)
    for confidential in confidential_kinds(rng, len(points)).values():
        for per_class in (None, 1, 4):
            labels = ma.partition(
                points, k, "hm-pfsom", confidential=confidential, per_class=per_class
            )
            assert np.bincount(labels).min() >= k


def test_groups_have_their_share_of_every_class():
    points, _ = mixtures.mixture(1)
    rng = np.random.default_rng(0)
    wage = np.where(rng.random(len(points)) < 0.3, 10.0, 50.0) + rng.normal(size=len(points))
    labels = ma.partition(points, 5, "hm-pfsom", confidential=wage, seed=3)
    parts = split_into_parts(points, 5, rng=random.seeded(3, "hm-pfsom"))
    assert parts.max() >= 1
    for records in records_by_label(parts):
        classes = (wage[records] > 30.0).astype(np.int64)
        alone = diverse_groups(np.ascontiguousarray(points[records]), classes, 5)
        assert np.array_equal(np.unique(labels[records], return_inverse=True)[1], alone)
    poor = np.bincount(labels, wage < 30.0)
    assert (poor > 0).all()
    assert (poor < np.bincount(labels)).all(), "no group tells whether somebody is poor"
    mdav = ma.partition(points, 5, "mdav")
    assert np.bincount(mdav, wage < 30.0).min() == 0, "which mdav does not give"


def test_per_class_makes_larger_groups():
    points = np.random.default_rng(0).normal(size=(300, 2))
    ill = np.repeat(["yes", "no"], [100, 200])
    sizes = [
        np.bincount(ma.partition(points, 3, "hm-pfsom", confidential=ill, per_class=number)).min()
        for number in (1, 4, 20)
    ]
    assert sizes[0] >= 3
    assert sizes[0] < sizes[1] < sizes[2]
    whole = ma.partition(points, 3, "hm-pfsom", confidential=ill, per_class=1000)
    assert (
        len(set(whole)) == split_into_parts(points, 3, rng=random.seeded(0, "hm-pfsom")).max() + 1
    )


def test_confidential_columns_are_asked_for():
    with pytest.raises(ma.InputError, match="hm-pfsom needs confidential"):
        ma.partition(np.zeros((9, 1)), 2, "hm-pfsom")


def classes(attributes, records=None):
    n = len(attributes[0].values)
    return ConfidentialClasses(attributes).of(
        np.arange(n) if records is None else records, random.seeded(0)
    )


def of_categories(*sizes, records=None):
    """The sizes of the classes of categories with so many records each."""
    codes = np.repeat(np.arange(len(sizes)), sizes)
    return np.bincount(classes((attribute(codes, Kind.NOMINAL),), records)).tolist()


def test_categories_are_classes_and_rare_ones_go_together():
    assert of_categories(60, 35, 5) == [60, 35, 5], "a twentieth is enough"
    assert of_categories(60, 34, 3, 3) == [60, 34, 6], "together they are"
    assert of_categories(60, 36, 2, 2) == [60, 40], "too few for a class join the smallest"
    assert of_categories(98, 1, 1) == [98, 2], "but two classes there are"
    assert of_categories(*[1] * 41) == [21, 20], "also where all are rare"
    assert of_categories(7) == [7]


def test_only_the_records_of_the_part_count():
    assert of_categories(6, 60, records=np.arange(8)) == [6, 2]
    assert of_categories(6, 60, records=np.arange(6)) == [6]


def test_numbers_that_make_no_clusters_are_cut_in_two():
    assert np.bincount(classes((attribute(np.r_[np.zeros(99), 5.0]),))).tolist() == [99, 1]
    assert not classes((attribute(np.full(30, 2.5)),)).any()
    one_place = np.r_[np.zeros(60), np.ones(1), np.full(1, 1e6), np.full(1, -1e9)]
    assert len(np.unique(classes((attribute(one_place),)))) == 2


def test_outliers_make_no_class():
    wage = np.concatenate([np.linspace(1.0, 2.0, 50), np.linspace(8.0, 9.0, 50), [1000.0, -2000.0]])
    labels = classes((attribute(wage),))
    assert labels[:50].max() == labels[:50].min() != labels[50:100].min() == labels[50:100].max()
    assert labels[100] == labels[50]
    assert labels[101] == labels[0]


def test_numbers_and_categories_together():
    rng = np.random.default_rng(0)
    wage = np.repeat([1.0, 1.0, 9.0, 9.0], 25) + 0.1 * rng.random(100)
    ill = np.tile(np.repeat([0, 1], 25), 2)
    labels = classes((attribute(wage), attribute(ill, Kind.NOMINAL)))
    assert labels.tolist() == np.repeat([0, 1, 2, 3], 25).tolist()


def test_ordered_categories_and_wide_numbers_are_numbers():
    assert (
        classes((attribute(np.repeat([0, 1, 8, 9], 5), Kind.ORDINAL),)).tolist()
        == [0] * 10 + [1] * 10
    )
    wide = np.concatenate([np.linspace(-1.7e308, -1.6e308, 9), np.linspace(1.6e308, 1.7e308, 9)])
    assert classes((attribute(wide),)).tolist() == [0] * 9 + [1] * 9


@pytest.mark.slow
def test_many_categories_beside_a_number_take_little_room():
    rng = np.random.default_rng(0)
    labels = classes((attribute(rng.normal(size=5000)), attribute(np.arange(5000), Kind.NOMINAL)))
    assert len(np.unique(labels)) >= 2


def test_from_a_table():
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            "age": rng.integers(18, 90, 200),
            "rent": rng.normal(800, 90, 200),
            "ill": rng.choice(["no", "yes"], 200),
        }
    )
    release = ma.anonymize(
        table, k=4, quasi=["age", "rent"], confidential=["ill"], method="hm-pfsom", scale="minmax"
    )
    assert release.table.groupby(["age", "rent"])["ill"].nunique().min() == 2
    assert ma.check(release.table, ["age", "rent"], k=4).holds

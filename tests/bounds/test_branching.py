"""Branch trees: against brute force, and certificates with trees that were tampered with."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest

from microagg.bounds import branching
from microagg.bounds.bound import Bound
from microagg.bounds.branching import BranchSearch, Leaf, Listed, count_leaves
from microagg.bounds.columns import ColumnGeneration
from microagg.bounds.cuts import Cuts
from microagg.bounds.groups import costs_of_groups
from microagg.kernels.random import seeded
from microagg.methods.search.prove import prove
from microagg.problem.problem import Problem
from microagg.problem.watch import Watch
from microagg.verify_bound import check_certificate
from optima import best_loss, tiny_problem

Certificate = dict[str, Any]


def start_labels(n: int, k: int) -> np.ndarray:
    return np.minimum(np.arange(n) // k, max(n // k - 1, 0)).astype(np.int32)


def proved(points: np.ndarray, k: int) -> tuple[np.ndarray, Bound]:
    return prove(Problem.of(points, k), start_labels(len(points), k), rng=seeded(0))


def with_tree(first: int) -> tuple[np.ndarray, int, Certificate]:
    """Return a tiny problem from this seed on whose certificate has a tree of several leaves.

    Cuts nearly always close problems of this size, so there are none here.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(branching, "CUT_ROUNDS", 0)
        patch.setattr(ColumnGeneration, "_violated", lambda *_: [])
        for seed in range(first, first + 200):
            points = np.random.default_rng(seed).normal(size=(12, 2)).round(1)
            _, bound = proved(points, 3)
            if bound.tree is not None and len(nodes_of(bound.tree)) >= 5:
                return points, 3, bound.certificate()
    raise AssertionError("no problem needs a tree")


def nodes_of(tree: dict[str, Any]) -> list[dict[str, Any]]:
    if "pair" not in tree:
        return [tree]
    return [tree, *nodes_of(tree["together"]), *nodes_of(tree["apart"])]


def all_groups(points: np.ndarray, k: int) -> Listed:
    import itertools

    n = len(points)
    groups = [c for s in range(k, min(2 * k, n + 1)) for c in itertools.combinations(range(n), s)]
    members = np.array([i for group in groups for i in group], np.int32)
    offsets = np.concatenate([[0], np.cumsum([len(group) for group in groups])]).astype(np.int64)
    return Listed(members, offsets, costs_of_groups(points, members, offsets))


@pytest.mark.parametrize("seed", range(12))
def test_a_tree_over_all_groups_proves_the_optimum_and_nothing_above(seed: int) -> None:
    points, k = np.random.default_rng(seed).normal(size=(9, 2)).round(1), 2 + seed % 2
    listed, optimum = all_groups(points, k), best_loss(points, k)
    tree = BranchSearch(9, listed, Cuts(9, []), optimum * (1.0 - 1e-7)).run()
    assert tree is not None
    leaves: list[Leaf] = []
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, Leaf):
            leaves.append(node)
        else:
            waiting += [node.together, node.apart]
    assert len(leaves) == count_leaves(tree)
    search = BranchSearch(9, listed, Cuts(9, []), optimum * 1.001)
    assert search.run() is None
    if search.better is not None:  # the optimum itself, which is below this target
        assert listed.costs[search.better].sum() == pytest.approx(optimum)


def test_a_search_that_is_stopped_has_no_tree() -> None:
    points = np.random.default_rng(0).normal(size=(9, 2))
    listed = all_groups(points, 2)
    assert BranchSearch(9, listed, Cuts(9, []), 1e9, stop=lambda: True).run() is None
    assert BranchSearch(9, listed, Cuts(9, []), best_loss(points, 2) * 0.999, nodes=0).run() is None


@pytest.mark.slow
@pytest.mark.parametrize(
    ("first", "last"),
    [(0, 20), *(pytest.param(x, x + 70, marks=pytest.mark.nightly) for x in (20, 90, 160, 230))],
)
def test_certificates_of_tiny_optima_are_confirmed(first: int, last: int) -> None:
    for seed in range(first, last):
        points, k = tiny_problem(seed)
        labels, bound = proved(points, k)
        verdict = check_certificate(bound.certificate(), points)
        assert verdict.holds, (seed, verdict.reason)
        assert verdict.optimal, seed
        assert bound.optimal, seed
        assert bound.labels is not None
        assert np.array_equal(bound.labels, labels)
        optimum = best_loss(points, k)
        assert bound.certified_sse <= optimum * (1.0 + 1e-12)
        assert bound.sse == pytest.approx(optimum, rel=1e-9, abs=1e-300)


def tampered(
    rng: np.random.Generator, honest: Certificate, points: np.ndarray, factor: float
) -> Certificate:
    """Return a certificate whose claim is `factor` times the honest one, and changed to support it.

    One of several kinds of change is drawn: prices, penalties, pairs, branches, cuts.
    """
    lie = copy.deepcopy(honest)
    total = float(((points - points.mean(axis=0)) ** 2).sum())
    sse = honest["claim"]["sse"] * factor
    lie["claim"] = {"sse": sse, "il": 100.0 * sse / total}
    nodes = nodes_of(lie["tree"])
    leaves, splits = [x for x in nodes if "pair" not in x], [x for x in nodes if "pair" in x]
    kind = int(rng.integers(9))
    n, missing = len(points), sse - honest["claim"]["sse"]
    split = splits[int(rng.integers(len(splits)))]
    for leaf in leaves:  # without more, the leaves prove too little
        weights = rng.random(n) ** 4 if kind != 1 else np.eye(n)[int(rng.integers(n))]
        raised = np.array(leaf["pi"]) + 1.5 * missing * weights / weights.sum()
        leaf["pi"] = raised.tolist()
    if kind == 2:
        split["together"], split["apart"] = split["apart"], split["together"]
    elif kind == 3:
        split["pair"] = rng.choice(n, 2, replace=False).tolist()
    elif kind == 4:
        split["apart"] = copy.deepcopy(split["together"])
    elif kind == 5:
        split["together"] = copy.deepcopy(split["apart"])
    elif kind == 6:
        lie["tree"] = leaves[int(rng.integers(len(leaves)))]
    elif kind == 7:
        for leaf in leaves:
            leaf["penalties"] = [x * 0.9 for x in leaf["penalties"]]
    elif kind == 8:
        lie["pi"] = (np.array(lie["pi"]) + missing / n).tolist()
    return lie


@pytest.mark.parametrize("first", [0, 1000, 2000])
def test_eighty_tampered_trees_each_are_refused(first: int) -> None:
    points, _, honest = with_tree(first)
    verdict = check_certificate(honest, points)
    assert verdict.holds
    assert verdict.optimal
    assert verdict.leaves > 1
    rng, refused = np.random.default_rng(first), 0
    for number in range(80):
        factor = 1.0 + 10.0 ** -(2 + number % 5)
        lie = tampered(rng, honest, points, factor)
        refused += not check_certificate(lie, points).holds
    assert refused == 80


@pytest.mark.parametrize(
    "change",
    [
        lambda tree: tree.update(pair=[0, 0]),
        lambda tree: tree.update(pair=[0, 99]),
        lambda tree: tree.update(pair=[0, True]),
        lambda tree: tree.update(pair=[0]),
        lambda tree: tree.update(pair="01"),
        lambda tree: tree.pop("together"),
        lambda tree: tree.pop("apart"),
        lambda tree: tree.update(apart=None),
        lambda tree: tree.update(apart=[]),
        lambda tree: tree.update(apart={}),
        lambda tree: tree.update(apart={"pi": [0.0], "penalties": []}),
        lambda tree: nodes_of(tree)[-1].update(pi=None),
        lambda tree: nodes_of(tree)[-1].update(penalties=None),
        lambda tree: nodes_of(tree)[-1]["penalties"].append(0.0),
        lambda tree: nodes_of(tree)[-1]["pi"].pop(),
        lambda tree: nodes_of(tree)[-1]["pi"].__setitem__(0, float("nan")),
        lambda tree: nodes_of(tree)[-1]["pi"].__setitem__(0, 1e299),
        lambda tree: nodes_of(tree)[-1]["penalties"].__setitem__(0, -1e-3),
    ],
)
def test_malformed_trees_are_refused(change: Any) -> None:
    points, _, honest = with_tree(0)
    if not nodes_of(honest["tree"])[-1]["penalties"]:
        honest["cuts"].append({"records": [0, 1, 2], "p": 2, "penalty": 0.0})
        for leaf in nodes_of(honest["tree"]):
            if "pair" not in leaf:
                leaf["penalties"].append(0.0)
    assert check_certificate(honest, points).holds
    change(honest["tree"])
    assert not check_certificate(honest, points).holds


def test_a_tree_without_its_grouping_proves_a_bound_and_no_optimum() -> None:
    points, k, honest = with_tree(0)
    grouping = honest.pop("grouping")
    verdict = check_certificate(honest, points)
    assert verdict.holds
    assert not verdict.optimal
    worse = start_labels(len(points), k).tolist()
    verdict = check_certificate({**honest, "grouping": worse}, points)
    assert verdict.holds
    assert not verdict.optimal
    for wrong in (grouping[:-1], [*grouping[:-1], len(points)], [0.0] * len(points), None):
        assert not check_certificate({**honest, "grouping": wrong}, points).holds
    alone = [max(grouping) + 1, *grouping[1:]]
    assert not check_certificate({**honest, "grouping": alone}, points).holds


def test_a_proof_that_is_stopped_before_its_tree_is_called_no_optimum() -> None:
    points, k, _ = with_tree(0)
    for stop_after in range(1, 12):
        labels, bound = prove(
            Problem.of(points, k),
            start_labels(len(points), k),
            rng=seeded(0),
            watch=Watch(stop_after=stop_after),
        )
        verdict = check_certificate(bound.certificate(), points)
        assert verdict.holds
        assert verdict.optimal == bound.optimal
        assert bound.sse <= ((points - _means(points, labels)) ** 2).sum() * (1.0 + 1e-12)


def _means(points: np.ndarray, labels: np.ndarray) -> np.ndarray:
    return np.array([points[labels == label].mean(axis=0) for label in labels])

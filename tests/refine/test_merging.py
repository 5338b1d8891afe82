"""Repair by merging: the result keeps the promise, and consists of whole groups of the input."""

from __future__ import annotations

import numpy as np
import pytest

import microagg as ma
import plain
from microagg.guarantees.promise import Guarantees
from microagg.problem.problem import Problem
from microagg.refine.local import improve
from microagg.refine.merging import repair
from microagg.table.confidential import Attribute
from microagg.table.schema import Kind

ASKED = ({"l": 3}, {"l": 2, "t": 0.3}, {"t": 0.1}, {"l": 2.2, "diversity": "entropy"}, {"t": 0.0})


def problem_of(seed: int) -> Problem:
    points, k = plain.hard_problem(seed)
    rng = np.random.default_rng(seed)
    n = len(points)
    wage = Attribute(
        "wage", Kind.NUMERIC, np.where(rng.random(n) < 0.5, points[:, 0], rng.normal(size=n))
    )
    ill = Attribute("ill", Kind.NOMINAL, rng.permutation(np.arange(n) % 4))
    attributes = (wage, ill) if wage.distinct > 3 else (ill,)
    promise = Guarantees.of(**ASKED[seed % len(ASKED)])
    return Problem.of(points, k, confidential=attributes, accept=promise.accept(attributes))


@pytest.mark.parametrize("seed", range(60))
def test_groups_are_merged_until_all_are_accepted(seed):
    problem = problem_of(seed)
    assert problem.accept is not None
    before = ma.partition(problem.points, problem.k, "mdav")
    after = repair(problem, before)
    groups = [np.flatnonzero(after == g) for g in range(after.max() + 1)]
    assert all(problem.accept(members) for members in groups)
    assert all(len(set(after[before == g].tolist())) == 1 for g in range(before.max() + 1)), (
        "a group was torn apart"
    )
    assert [int(members[0]) for members in groups] == sorted(int(members[0]) for members in groups)
    assert np.array_equal(repair(problem, before), after)
    untouched = [members for members in groups if len(set(before[members].tolist())) == 1]
    assert all(problem.accept(members) for members in untouched)
    if all(problem.accept(np.flatnonzero(before == g)) for g in range(before.max() + 1)):
        assert after is before


@pytest.mark.parametrize("seed", range(30))
def test_refinement_never_breaks_the_promise(seed):
    problem = problem_of(1000 + seed)
    assert problem.accept is not None
    start = repair(problem, ma.partition(problem.points, problem.k, "mdav"))
    better = improve(problem, start)
    assert plain.sse(problem.points, better) <= plain.sse(problem.points, start) * (1 + 1e-9)
    assert all(problem.accept(np.flatnonzero(better == g)) for g in range(better.max() + 1))
    assert np.bincount(better).min() >= problem.k


def test_the_cheapest_union_that_helps_is_chosen():
    points = np.array([[0.0], [0.0], [1.0], [1.0], [1.5], [1.5], [9.0], [9.0]])
    values = np.array([0, 0, 0, 0, 1, 0, 0, 1])
    attributes = (Attribute("ill", Kind.NOMINAL, values),)
    problem = Problem.of(
        points, 2, confidential=attributes, accept=Guarantees.of(l=2).accept(attributes)
    )
    labels = np.repeat(np.arange(4, dtype=np.int32), 2)
    # 2 merges with 3 at first, for 0.25; then 1 with both of them, for it needs a value that 0 has
    # not
    assert repair(problem, labels).tolist() == [0, 0, 0, 0, 0, 0, 1, 1]


def merged_by_hand(problem: Problem, labels: np.ndarray) -> list[set[int]]:
    """The rules of `repair`, one by one: every failing group wishes for another, the cheapest wish
    comes first.

    A wish is looked at again only when its turn comes and the group that it is about has changed.
    """
    accept = problem.accept
    assert accept is not None
    members = {g: np.flatnonzero(labels == g) for g in range(int(labels.max()) + 1)}
    version = dict.fromkeys(members, 0)

    def lacking(records: np.ndarray) -> float:
        return accept.shortfall(np.sort(records))

    def cost(a: int, b: int) -> float:
        means = [problem.points[members[g]].mean(axis=0) for g in (a, b)]
        sizes = [len(members[g]) for g in (a, b)]
        return float(((means[0] - means[1]) ** 2).sum() * sizes[0] * sizes[1] / sum(sizes))

    def wish(a: int) -> tuple[float, int, int, int, int]:
        others = sorted((b for b in members if b != a), key=lambda b: (cost(a, b), b))
        best, chosen = np.inf, others[0]
        for b in others:
            taken = (
                lacking(members[a])
                + lacking(members[b])
                - lacking(np.concatenate([members[a], members[b]]))
            )
            if taken > 1e-12 and cost(a, b) / taken < best:
                best, chosen = cost(a, b) / taken, b
        return best, a, version[a], chosen, version[chosen]

    waiting = [wish(a) for a in members if lacking(members[a]) > 0.0]
    while waiting and len(members) > 1:
        waiting.sort(key=lambda entry: (entry[0], entry[1]))
        _, a, version_a, b, theirs = waiting.pop(0)
        if a not in members or version[a] != version_a:
            continue
        if b in members and version[b] == theirs:
            kept, gone = sorted((a, b))
            members[kept] = np.concatenate([members[kept], members.pop(gone)])
            version[kept] += 1
            if lacking(members[kept]) == 0.0 or len(members) == 1:
                continue
            a = kept
        waiting.append(wish(a))
    return [set(records.tolist()) for records in members.values()]


@pytest.mark.parametrize(
    "guarantee", [*ASKED, {"l": 2, "diversity": "recursive", "c": 1.5}], ids=str
)
@pytest.mark.parametrize("seed", range(4))
def test_the_cheapest_wish_for_what_is_lacking_comes_first(guarantee: dict, seed: int) -> None:
    rng = np.random.default_rng(seed)
    points = rng.lognormal(0.0, 1.0, (44, 2))
    ill = Attribute("ill", Kind.NOMINAL, (points[:, 0] * 3).astype(np.int64) % 5)
    wage = Attribute("wage", Kind.NUMERIC, np.round(points[:, 1], 1))
    problem = Problem.of(points, 3, accept=Guarantees.of(**guarantee).accept((ill, wage)))
    before = ma.partition(points, 3, "mdav")
    after = repair(problem, before)
    merged = {frozenset(np.flatnonzero(after == g).tolist()) for g in range(int(after.max()) + 1)}
    assert merged == set(map(frozenset, merged_by_hand(problem, before)))

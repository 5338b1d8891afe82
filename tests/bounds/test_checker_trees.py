"""Branch trees in the checker: honest ones, and ones with a single lie, against listing every set
of records and every grouping.
"""

from __future__ import annotations

import copy
import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from made_certificates import (
    all_sets,
    best_prices,
    claim_of,
    costs_of,
    make,
    reliefs_of,
    total_squares,
)
from microagg import verify_bound
from microagg.verify_bound import check_certificate
from optima import best_loss

Certificate = dict[str, Any]
Tree = dict[str, Any]

PAIRS = np.array([[0.0], [1.0], [10.0], [11.0], [20.0], [21.0]])
"""Three pairs: for k = 2 the optimum is these groups, with a loss of 1.5."""
K = 2


def leaves_with_sets(tree: Tree, sets: np.ndarray) -> Iterator[tuple[Tree, np.ndarray]]:
    """Yield each leaf with a mask of the sets that fit the decisions above it."""
    waiting = [(tree, np.ones(len(sets), bool))]
    while waiting:
        node, fits = waiting.pop()
        if "pair" not in node:
            yield node, fits
            continue
        members = sets[:, node["pair"]].sum(axis=1)
        waiting.append((node["together"], fits & (members != 1)))
        waiting.append((node["apart"], fits & (members != 2)))


def proven_by(points: np.ndarray, certificate: Certificate) -> float:
    """Return what the numbers of a certificate with a tree prove; -inf where some set breaks them.

    The allowance of each comparison is the checker's, far below each lie here.
    """
    k, claim, allowance = certificate["k"], certificate["claim"]["sse"], 1e-9 * len(points)
    sets = all_sets(len(points), k)
    costs, cuts = costs_of(points, sets), certificate["cuts"]
    relief = reliefs_of(sets, [cut["records"] for cut in cuts], [cut["p"] for cut in cuts])
    most = np.array([len(cut["records"]) // cut["p"] for cut in cuts])
    allowance *= total_squares(points)

    def excess_and_bound(pi: list[float], penalties: list[float]) -> tuple[np.ndarray, float]:
        excess = sets @ np.array(pi) - relief @ np.array(penalties) - costs
        return excess, float(np.sum(pi) - most @ np.array(penalties))

    excess, bound = excess_and_bound(certificate["pi"], [cut["penalty"] for cut in cuts])
    listed = -excess < claim - bound + allowance
    proven = -np.inf if excess.max() > allowance else np.inf
    for leaf, fits in leaves_with_sets(certificate["tree"], sets):
        excess, bound = excess_and_bound(leaf["pi"], leaf["penalties"])
        honest = min(leaf["penalties"], default=0.0) >= 0.0
        honest = honest and bool((excess[fits & listed] <= allowance).all())
        proven = min(proven, bound if honest else -np.inf)
    return proven


def with_claim(certificate: Certificate, points: np.ndarray, sse: float) -> Certificate:
    return {**copy.deepcopy(certificate), "claim": claim_of(points, sse)}


def random_tree(rng: np.random.Generator, n: int, depth: int, above: list[set[int]]) -> Tree:
    """Return a tree of random pairs without numbers in its leaves; no pair comes twice in a way."""
    pair = set(rng.choice(n, 2, replace=False).tolist())
    if depth == 0 or pair in above:
        return {}
    below = [random_tree(rng, n, depth - 1, [*above, pair]) for _ in range(2)]
    return {"pair": sorted(pair), "together": below[0], "apart": below[1]}


def honest_certificate(seed: int, *, with_cuts: bool) -> tuple[np.ndarray, Certificate]:
    """Return a tiny problem and a certificate whose leaves have the best numbers of their sets."""
    rng = np.random.default_rng([31, seed])
    n = int(rng.integers(6, 9))
    points = rng.normal(size=(n, 2)).round(1)
    sets, total = all_sets(n, K), total_squares(points)
    cut_sets = [tuple(sorted(rng.choice(n, 3, replace=False).tolist())) for _ in range(4)]
    cut_sets = sorted(set(cut_sets)) if with_cuts else []
    certificate = make(points, K, np.zeros(n), [(records, 2, 0.0) for records in cut_sets])
    tree = random_tree(rng, n, 3, [])
    proven = []
    for leaf, fits in leaves_with_sets(tree, sets):
        parts = [2] * len(cut_sets)
        solution = best_prices(points, sets[fits], cut_sets, parts, largest=total)
        penalties = np.maximum(solution[n:], 0.0)
        relief = reliefs_of(sets, cut_sets, parts) @ penalties
        excess = (sets @ solution[:n] - relief - costs_of(points, sets))[fits]
        pi = solution[:n] - max(0.0, excess.max(initial=0.0)) / K
        leaf.update(pi=pi.tolist(), penalties=penalties.tolist())
        proven.append(float(pi.sum() - penalties.sum()))
    claim = min(proven) - 1e-8 * total
    return points, with_claim({**certificate, "tree": tree}, points, claim)


def leaves_of(certificate: Certificate) -> list[Tree]:
    sets = np.zeros((0, certificate["records"]))
    return [leaf for leaf, _ in leaves_with_sets(certificate["tree"], sets)]


def lies_about(certificate: Certificate, points: np.ndarray) -> Iterator[Certificate]:
    """Yield certificates in which one number of one leaf, or one decision, is not as it was."""
    step = 0.02 * total_squares(points)
    for index in range(len(leaves_of(certificate))):
        for record, change in itertools.product(range(len(points)), (-step, step)):
            lie = copy.deepcopy(certificate)
            leaves_of(lie)[index]["pi"][record] += change
            yield lie
        for cut, change in itertools.product(range(len(certificate["cuts"])), (-step, step)):
            lie = copy.deepcopy(certificate)
            leaves_of(lie)[index]["penalties"][cut] += change
            yield lie
    if "pair" in certificate["tree"]:
        lie = copy.deepcopy(certificate)
        tree = lie["tree"]
        tree["together"], tree["apart"] = tree["apart"], tree["together"]
        yield lie


@pytest.mark.parametrize("with_cuts", [False, True])
@pytest.mark.parametrize("seed", range(12))
def test_the_checker_agrees_with_listing_every_set(seed: int, with_cuts: bool) -> None:
    points, honest = honest_certificate(seed, with_cuts=with_cuts)
    optimum = best_loss(points, K)
    if honest["claim"]["sse"] <= 0.0:
        return
    assert honest["claim"]["sse"] <= optimum
    verdict = check_certificate(honest, points)
    assert verdict.holds, verdict.reason
    assert verdict.leaves == len(leaves_of(honest))
    refused = 0
    for lie in lies_about(honest, points):
        holds = proven_by(points, lie) >= lie["claim"]["sse"]
        assert check_certificate(lie, points).holds == holds
        refused += not holds
    assert refused > 0


def pairs_certificate(
    tree: Tree, sse: float, *, pi: float = 0.25, cut: bool = False
) -> Certificate:
    cuts = [((0, 2, 4), 2, 0.0)] if cut else []
    certificate = make(PAIRS, K, np.full(6, pi), cuts)
    return with_claim({**certificate, "tree": tree}, PAIRS, sse)


def leaf_of(*pi: float, penalties: tuple[float, ...] = ()) -> Tree:
    return {"pi": list(pi), "penalties": list(penalties)}


PROVEN = leaf_of(*[0.25] * 6)
"""True of every set, and adds up to the optimum."""


@pytest.mark.parametrize("branch", ["together", "apart"])
@pytest.mark.parametrize("outer", ["together", "apart"])
def test_the_lowest_leaf_decides(branch: str, outer: str) -> None:
    """One leaf of four proves less than is claimed, wherever it is."""
    tree = {
        "pair": [0, 1],
        **{
            name: {"pair": [2, 3], "together": PROVEN, "apart": PROVEN}
            for name in ("together", "apart")
        },
    }
    honest = pairs_certificate(tree, 1.49, pi=0.2)
    assert check_certificate(honest, PAIRS).holds
    lie = copy.deepcopy(honest)
    lie["tree"][outer][branch] = leaf_of(*[0.24] * 6)
    verdict = check_certificate(lie, PAIRS)
    assert not verdict.holds
    assert "exceeds" in verdict.reason


@pytest.mark.parametrize("record", range(6))
@pytest.mark.parametrize("branch", ["together", "apart"])
def test_a_price_too_high_in_one_leaf_is_refused(branch: str, record: int) -> None:
    """The decision is on records 0 and 1. Together keeps the sets with both and with neither,
    apart those with neither: their prices are held to (*) in both branches.
    """
    tree = {"pair": [0, 1], "together": PROVEN, "apart": PROVEN}
    lie = pairs_certificate(tree, 1.49, pi=0.2)
    pi = [0.25] * 6
    pi[record] += 0.05
    lie["tree"] = {**tree, branch: leaf_of(*pi)}
    holds = branch == "apart" and record < 2  # no set with one of these records is that cheap
    assert check_certificate(lie, PAIRS).holds == holds
    assert (proven_by(PAIRS, lie) >= 1.49) == holds


def test_together_keeps_sets_with_neither_record() -> None:
    """A claim above the optimum stands on them alone."""
    apart = leaf_of(2, 2, 0.25, 0.25, 0.25, 0.25)
    tree = {"pair": [0, 1], "together": leaf_of(0.25, 0.25, 1, 1, 1, 1), "apart": apart}
    assert not check_certificate(pairs_certificate(tree, 3.0), PAIRS).holds
    assert best_loss(PAIRS, K) == pytest.approx(1.5)
    tree["together"] = PROVEN
    assert check_certificate(pairs_certificate(tree, 1.4999), PAIRS).holds


def test_together_leaves_out_sets_with_one_record_and_apart_those_with_both() -> None:
    """These leaves hold for the sets of their branches only."""
    points = np.array([[0.0], [1.0], [2.0], [3.0]])
    certificate = make(points, K, np.full(4, 0.2))
    together, apart = leaf_of(1.5, 0.25, 0.25, 1.5), leaf_of(0.2, 0.3, 0.3, 0.2)
    tree = {"pair": [1, 2], "together": together, "apart": apart}
    honest = with_claim({**certificate, "tree": tree}, points, 0.9999)
    assert check_certificate(honest, points).holds
    for wrong in ({"together": apart}, {"apart": together}):
        assert not check_certificate({**honest, "tree": {**tree, **wrong}}, points).holds


def test_a_negative_penalty_proves_nothing() -> None:
    """The optimum has no two records of the cut in a group. So a penalty below 0 would raise the
    bound by one, though each comparison of a set holds.
    """
    lie = pairs_certificate(leaf_of(*[0.25] * 6, penalties=(-1.0,)), 2.4, cut=True)
    assert best_loss(PAIRS, K) == pytest.approx(1.5)
    verdict = check_certificate(lie, PAIRS)
    assert not verdict.holds
    assert "negative" in verdict.reason
    honest = pairs_certificate(leaf_of(*[0.25] * 6, penalties=(0.0,)), 1.4999, cut=True)
    assert check_certificate(honest, PAIRS).holds


def test_a_leaf_pays_for_its_penalties() -> None:
    """A penalty relieves each group of the cut, and lowers what the leaf proves."""
    tree = leaf_of(*[0.25] * 6, penalties=(0.1,))
    assert check_certificate(pairs_certificate(tree, 1.39, cut=True), PAIRS).holds
    assert not check_certificate(pairs_certificate(tree, 1.45, cut=True), PAIRS).holds


def test_groups_of_three_are_listed_for_pairs_too() -> None:
    """In the branch together a price is too high for {0, 1, 2} only, which no pair shows there."""
    points = np.array([[0.0], [1.0], [2.0], [10.0], [11.0]])
    apart = leaf_of(7.0, 5.5, -5.0, 0.25, 0.25)
    tree = {"pair": [0, 1], "together": leaf_of(0.25, 0.25, 5.0, 0.25, 0.25), "apart": apart}
    certificate = make(points, K, np.zeros(5))
    lie = with_claim({**certificate, "tree": tree}, points, 4.0)
    assert best_loss(points, K) == pytest.approx(2.5)
    assert not check_certificate(lie, points).holds
    tree["together"] = leaf_of(0.25, 0.25, 1.5, 0.25, 0.25)
    honest = with_claim({**certificate, "tree": tree}, points, 2.4999)
    assert check_certificate(honest, points).holds


def test_a_leaf_takes_off_a_penalty_for_every_p_records_of_a_cut() -> None:
    """The group of four holds the cut twice; relieved once only, it would break the leaf."""
    points = np.array([[0.0], [1.0], [2.0], [3.0], [100.0], [103.0], [106.0]])
    certificate = make(points, 3, np.zeros(7), [((0, 1, 2, 3), 2, 0.0)])
    tree = leaf_of(*[11.0 / 3.0] * 4, 6.0, 6.0, 6.0, penalties=(9.0,))
    honest = with_claim({**certificate, "tree": tree}, points, 14.0)
    assert proven_by(points, honest) > 14.0
    verdict = check_certificate(honest, points)
    assert verdict.holds, verdict.reason


@pytest.mark.parametrize(
    ("large", "penalty"), [(1e9, 0.0), (2e6, 4e6)], ids=["prices", "penalties"]
)
def test_numbers_of_a_leaf_that_double_precision_cannot_add_are_refused(
    large: float, penalty: float
) -> None:
    """They would cancel out: records 0 and 1 are in no set that fits this leaf."""
    rest = -large if penalty == 0.0 else large
    leaf = leaf_of(large + 1.0, rest + 1.0, *[0.25] * 4, penalties=(penalty,))
    small = leaf_of(1.0, 1.0, *[0.25] * 4, penalties=(0.0,))
    proven = leaf_of(*[0.25] * 6, penalties=(0.0,))
    tree = {"pair": [0, 1], "together": proven, "apart": leaf}
    verdict = check_certificate(pairs_certificate(tree, 1.49, pi=0.2, cut=True), PAIRS)
    assert not verdict.holds
    assert "too uneven" in verdict.reason
    tree["apart"] = small
    assert check_certificate(pairs_certificate(tree, 1.49, pi=0.2, cut=True), PAIRS).holds


@pytest.mark.parametrize(("limit", "reason"), [("MOST_NODES", "nodes"), ("MOST_LISTED", "listed")])
def test_the_work_on_a_tree_is_bounded(
    monkeypatch: pytest.MonkeyPatch, limit: str, reason: str
) -> None:
    """The tree has three nodes, and the three pairs are listed."""
    tree = {"pair": [0, 1], "together": PROVEN, "apart": PROVEN}
    honest = pairs_certificate(tree, 1.49, pi=0.2)
    monkeypatch.setattr(verify_bound, limit, 3)
    assert check_certificate(honest, PAIRS).holds
    monkeypatch.setattr(verify_bound, limit, 2)
    verdict = check_certificate(honest, PAIRS)
    assert not verdict.holds
    assert reason in verdict.reason


@pytest.mark.parametrize("pair", [[0, 0], [0, 6], [-1, 0], [0], [0, 1, 2], [0, 1.0]])
def test_a_node_needs_two_different_records_and_both_branches(pair: list[Any]) -> None:
    tree = {"pair": pair, "together": PROVEN, "apart": PROVEN}
    assert not check_certificate(pairs_certificate(tree, 1.49, pi=0.2), PAIRS).holds
    for branch in ("together", "apart"):
        tree = {"pair": [0, 1], branch: PROVEN}
        verdict = check_certificate(pairs_certificate(tree, 1.49, pi=0.2), PAIRS)
        assert "lacks a branch" in verdict.reason


def test_what_rounding_may_take_is_taken_off_a_leaf() -> None:
    """The allowance is n/k times 1.5 eps: a claim of all that the leaf adds up to is too much."""
    eps = 1e-9 * total_squares(PAIRS) / 6
    allowance = 6 / K * 1.5 * eps
    for claim, holds in (
        (1.5, False),
        (1.5 - 0.9 * allowance, False),
        (1.5 - 1.1 * allowance, True),
    ):
        assert check_certificate(pairs_certificate(PROVEN, claim, pi=0.2), PAIRS).holds == holds


def test_what_rounding_may_take_is_added_to_the_room_of_sets() -> None:
    """The pairs lose a little more than the claim, by less than the allowance: they are listed, and
    break the leaf.
    """
    eps = 1e-9 * total_squares(PAIRS) / 6
    lie = pairs_certificate(leaf_of(*[1.0] * 6), 0.5 - 3.5 * eps, pi=0.0)
    verdict = check_certificate(lie, PAIRS)
    assert not verdict.holds
    assert "leaf" in verdict.reason


def test_the_prices_above_a_tree_are_held_to_every_set_too() -> None:
    """Record 0 is priced too high, which leaves no room for the other pairs: none is listed, and
    the leaf could say anything about them.
    """
    lie = pairs_certificate(leaf_of(0.25, 0.25, 9.0, 9.0, 9.0, 9.0), 3.0)
    lie["pi"] = [5.0, 0.25, 0.2, 0.2, 0.2, 0.2]
    verdict = check_certificate(lie, PAIRS)
    assert not verdict.holds
    assert verdict.worst == pytest.approx(4.75)

"""The checker of certificates against an oracle that looks at every set."""

from __future__ import annotations

import copy
import itertools
from typing import Any

import numpy as np
import pytest

import microagg.verify_bound as checker
from made_certificates import (
    claim_of,
    instant,
    make,
    oracle,
    random_cuts,
    scaled,
    small_values,
    tight,
    tight_with_cuts,
    total_squares,
    values_scaled,
)
from microagg.verify_bound import check_certificate

# The enumeration.


@pytest.mark.parametrize("seed", range(60))
def test_every_negative_set_is_met_exactly_once_also_with_ties(seed: int):
    rng = np.random.default_rng(seed)
    n, size = int(rng.integers(4, 11)), int(rng.integers(2, 7))
    size = min(size, n)
    weights = rng.integers(-3, 4 + seed % 4, (n, n))
    weights = np.triu(weights, 1) + np.triu(weights, 1).T
    stats: dict[str, Any] = {"sets_examined": 0}
    met = [
        tuple(sorted(s))
        for sets in checker._negative_sets(weights, size, stats)
        for s in sets.tolist()
    ]
    expected = [
        s for s in itertools.combinations(range(n), size) if weights[np.ix_(s, s)].sum() < 0
    ]
    assert sorted(met) == expected
    assert stats["sets_examined"] >= len(expected)


def test_small_steps_meet_the_same_sets(monkeypatch: pytest.MonkeyPatch):
    rng = np.random.default_rng(1)
    weights = np.triu(rng.integers(-3, 6, (12, 12)), 1)
    weights = weights + weights.T
    stats: dict[str, Any] = {"sets_examined": 0}
    whole = sorted(
        tuple(sorted(s))
        for sets in checker._negative_sets(weights, 5, stats)
        for s in sets.tolist()
    )
    monkeypatch.setattr(checker, "CELLS", 24)
    pieces = sorted(
        tuple(sorted(s))
        for sets in checker._negative_sets(weights, 5, stats)
        for s in sets.tolist()
    )
    assert len(whole) > 30
    assert whole == pieces


# The verdict against the oracle.


@pytest.mark.parametrize("seed", range(200))
def test_the_verdict_is_that_of_the_oracle(seed: int):
    rng = np.random.default_rng(seed)
    k = 2 + seed % 4
    n = int(rng.integers(2 * k, (12 if k < 5 else 11) + 1))
    values = small_values(rng, n)
    scale = "none" if seed % 3 else "zscore"
    centre, width = scaled(values, scale)
    points = (values - centre) / width
    cut_sets = random_cuts(rng, n) if seed % 2 else []
    pi, cuts = tight(points, k, cut_sets)
    honest = make(values, k, pi, cuts, scale)
    assert oracle(points, honest)
    verdict = check_certificate(honest, values)
    assert verdict.holds, verdict.reason
    assert (verdict.k, verdict.records, verdict.sse) == (k, n, honest["claim"]["sse"])
    assert check_certificate(make(values, k, instant(points, k), None, scale), values).holds

    unit = total_squares(points) / n
    for _ in range(6):
        changed, other = pi.copy(), list(cuts)
        moved = rng.choice(n, int(rng.integers(1, 3)), replace=False)
        changed[moved] += rng.choice([-1.0, 1.0], len(moved)) * unit * 10.0 ** rng.uniform(-5, -1)
        if other and rng.random() < 0.5:
            index = int(rng.integers(len(other)))
            factor = float(rng.choice([0.0, 0.5, 0.99, 1.5]))
            other[index] = (*other[index][:2], other[index][2] * factor)
        perturbed = make(values, k, changed, other, scale)
        assert check_certificate(perturbed, values).holds == oracle(points, perturbed)
    raised = pi + unit * 1e-6 * (
        np.arange(n) == seed % n
    )  # at the optimum every record is in a tight set
    assert (
        honest["claim"]["sse"] <= 0.0
        or not check_certificate(make(values, k, raised, cuts, scale), values).holds
    )


@pytest.mark.parametrize(
    ("k", "overlooked"), [(2, 2), (2, 3), (3, 3), (3, 4), (3, 5), (4, 5), (4, 6), (4, 7)]
)
def test_no_size_may_be_overlooked(k: int, overlooked: int):
    """Without cuts the smallest size implies the others; with penalties on a clump of records each
    size counts.
    """
    rejected = 0
    for seed in range(6):
        rng = np.random.default_rng(seed)
        values = (
            rng.normal(size=(2 * k + 3, 2)) * 0.3
            + 4.0 * (np.arange(2 * k + 3) >= overlooked)[:, None]
        )
        cut_sets = [s for size in (3, 5) for s in itertools.combinations(range(overlooked), size)]
        pi, cuts = tight(values, k, cut_sets, overlooked)
        certificate = make(values, k, pi, cuts)
        assert check_certificate(certificate, values).holds == oracle(values, certificate)
        rejected += not oracle(values, certificate)
    assert rejected > 0


def test_cuts_make_a_stronger_bound_that_is_accepted():
    values, certificate = tight_with_cuts()
    without = make(values, 3, tight(values_scaled(values), 3)[0], None, "zscore")
    assert certificate["claim"]["sse"] > 1.001 * without["claim"]["sse"]
    assert check_certificate(certificate, values).holds


@pytest.mark.parametrize("n", [40, 150])
@pytest.mark.parametrize("k", [2, 3, 5, 10])
def test_the_instant_bound_is_accepted_at_any_size(n: int, k: int):
    values = np.random.default_rng(n + k).lognormal(0.0, 1.5, (n, 4))
    verdict = check_certificate(make(values, k, instant(values, k)), values)
    assert verdict.holds, verdict.reason
    greedy = make(values, k, 3.0 * instant(values, k))
    assert not check_certificate(greedy, values).holds


@pytest.mark.parametrize("copies", [1, 60])
def test_many_identical_records_are_no_trouble(copies: int):
    values = np.repeat(np.arange(6.0).reshape(3, 2) ** 2, copies * 6, axis=0)
    verdict = check_certificate(make(values, 4, instant(values, 4)), values)
    assert verdict.holds, verdict.reason
    raised = make(values, 4, instant(values, 4) + 1e-4)
    assert not check_certificate(raised, values).holds


def test_one_group_only():
    values = np.random.default_rng(3).normal(size=(5, 2))
    certificate = make(values, 3, np.zeros(5))
    certificate["claim"] = claim_of(values, total_squares(values) * (1.0 - 1e-8))
    assert check_certificate(certificate, values).holds
    certificate["claim"] = claim_of(values, total_squares(values) * (1.0 + 1e-8))
    assert not check_certificate(certificate, values).holds
    certificate["k"] = 6
    assert not check_certificate(certificate, values).holds


def test_identical_records_allow_no_claim_above_nothing():
    values = np.full((9, 2), 0.1)
    certificate = make(values, 3, np.full(9, -1e-12))
    certificate["claim"] = {"sse": 0.0, "il": 0.0}
    assert check_certificate(certificate, values).holds
    certificate["claim"] = {"sse": 1e-9, "il": 0.0}
    assert not check_certificate(certificate, values).holds


@pytest.mark.parametrize("scale", ["zscore", "minmax", "robust", "none"])
def test_each_scale_is_recognised_and_no_other_passes_for_it(scale: str):
    values = np.random.default_rng(8).normal(5.0, 3.0, (30, 4))
    values[:, 1] = 2.0
    values[:26, 2] = 1.5  # the quartiles coincide
    centre, width = scaled(values, scale)
    certificate = make(values, 3, instant((values - centre) / width, 3), None, scale)
    verdict = check_certificate(certificate, values)
    assert verdict.holds, verdict.reason
    for other in {"zscore", "minmax", "robust", "none", "rank"} - {scale}:
        certificate["data"]["scale"] = other
        assert not check_certificate(certificate, values).holds


# Floor cuts.


def floor_case(seed: int) -> tuple[np.ndarray, int, np.ndarray, list]:
    """Values, k, and the best prices and penalties with cuts of p = 2, 3 and 4."""
    rng = np.random.default_rng(1000 + seed)
    k = 2 + seed % 3
    n = int(rng.integers(2 * k, 11))
    values = small_values(rng, n)
    sizes = [(4, 2), (3, 3), (5, 3), (5, 3), (6, 3), (6, 4), (7, 4), (7, 2), (8, 3)] * 3
    drawn = {
        (tuple(sorted(rng.choice(n, s, replace=False).tolist())), p) for s, p in sizes if s <= n
    }
    ordered = sorted(drawn)
    pi, cuts = tight(values, k, [c for c, _ in ordered], parts=[p for _, p in ordered])
    return values, k, pi, cuts


@pytest.mark.parametrize("seed", range(120))
def test_with_floor_cuts_the_verdict_is_that_of_the_oracle(seed: int):
    values, k, pi, cuts = floor_case(seed)
    rng, n, unit = np.random.default_rng(seed), len(values), total_squares(values) / len(values)
    honest = make(values, k, pi, cuts)
    assert oracle(values, honest)
    verdict = check_certificate(honest, values)
    assert verdict.holds, verdict.reason
    for _ in range(4):
        changed, other = pi.copy(), list(cuts)
        changed[int(rng.integers(n))] += (
            float(rng.choice([-1.0, 1.0])) * unit * 10.0 ** rng.uniform(-5, -1)
        )
        if other:
            index = int(rng.integers(len(other)))
            records, p, penalty = other[index]
            p = int(np.clip(p + rng.integers(-1, 2), 2, len(records)))
            other[index] = (records, p, penalty * float(rng.choice([0.5, 0.99, 1.0, 1.5])))
        perturbed = make(values, k, changed, other)
        assert check_certificate(perturbed, values).holds == oracle(values, perturbed)


def test_tampered_floor_cuts_are_refused():
    tampered = 0
    for seed in range(60):
        values, k, pi, cuts = floor_case(seed)
        honest = make(values, k, pi, cuts)
        if honest["claim"]["sse"] <= 1e-6 * total_squares(values):
            continue
        assert not check_certificate(make(values, k, pi * 1.001, cuts), values).holds
        raised = {**honest, "claim": claim_of(values, honest["claim"]["sse"] * 1.0001)}
        assert not check_certificate(raised, values).holds
        if not cuts:
            continue
        lower = make(values, k, pi, [(records, p, 0.9 * penalty) for records, p, penalty in cuts])
        assert not check_certificate(lower, values).holds
        more = [(records, min(p + 1, len(records)), penalty) for records, p, penalty in cuts]
        if any(p != other for (_, p, _), (_, other, _) in zip(cuts, more, strict=True)):
            certificate = make(values, k, pi, more)
            assert check_certificate(certificate, values).holds == oracle(values, certificate)
            tampered += not check_certificate(certificate, values).holds
    assert tampered > 10


def test_certificates_of_the_first_format_are_still_read():
    values, certificate = tight_with_cuts()
    old = {**certificate, "format": "microagg-bound/1"}
    old["cuts"] = [{"records": c["records"], "penalty": c["penalty"]} for c in certificate["cuts"]]
    assert check_certificate(old, values).holds
    without = {**old, "format": "microagg-bound/2"}
    assert not check_certificate(without, values).holds


def test_worst_is_the_most_that_a_set_exceeds_its_cost_by() -> None:
    values, honest = tight_with_cuts()
    assert check_certificate({"format": "something else"}, values).worst == 0.0
    few = make(values[:5], 3, np.zeros(5))  # one grouping only: no set is looked at
    few["claim"] = claim_of(values[:5], 0.5 * total_squares(values[:5]))
    assert check_certificate(few, values[:5]).worst == 0.0
    raised = copy.deepcopy(honest)
    raised["pi"][0] += 0.01
    verdict = check_certificate(raised, values)
    assert not verdict.holds
    assert 0.0 < verdict.worst <= 0.01

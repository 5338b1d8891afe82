"""The listing of cheap sets against brute force over all sets."""

import itertools

import numpy as np
import pytest

from microagg.bounds.cuts import Cuts, violated_cuts
from microagg.bounds.neighbours import listed_both_ways, nearest_others
from microagg.bounds.pricing import Prices, Pricing, Sets
from microagg.bounds.repair import repaired


def small_case(seed):
    """Points, k, prices and cuts, with ties and duplicates in every other case."""
    rng = np.random.default_rng(seed)
    k = int(rng.integers(2, 6))
    n, d = int(rng.integers(k, 13)), int(rng.integers(1, 5))
    points = rng.normal(size=(n, d)) if seed % 3 else rng.integers(0, 3, (n, d)).astype(float)
    if seed % 5 == 0:
        points = np.ascontiguousarray(points[rng.integers(0, max(1, n // 2), n)])
    cuts = [
        tuple(sorted(rng.choice(n, size, replace=False).tolist()))
        for size in (3, 3, 5, 7)
        if size <= n
    ]
    cuts = list(dict.fromkeys(c for c in cuts if rng.random() < 0.7))
    pi = 0.5 * rng.normal(size=n) + 0.5 * (seed % 2)
    if seed % 7 == 0:
        pi = np.round(2.0 * pi) / 2.0
    return points, k, pi, cuts, np.abs(rng.normal(size=len(cuts))), rng


def excess_of(points, pi, cuts, penalties, members):
    inside = points[list(members)]
    cost = ((inside[:, None] - inside[None]) ** 2).sum() / (2 * len(members))
    held = sum(p * (len(set(members) & set(c)) // 2) for c, p in zip(cuts, penalties, strict=True))
    return cost - pi[list(members)].sum() + held


def all_sets(n, k):
    return [c for s in range(k, min(2 * k - 1, n) + 1) for c in itertools.combinations(range(n), s)]


def rows_of(sets):
    bounds = zip(sets.offsets[:-1], sets.offsets[1:], strict=True)
    return [tuple(sets.members[a:b].tolist()) for a, b in bounds]


@pytest.mark.slow
@pytest.mark.parametrize("block", range(4))
def test_exactly_the_cheap_sets_are_listed_each_once(block):
    for seed in range(40 * block, 40 * block + 40):
        points, k, pi, cuts, penalties, rng = small_case(seed)
        n = len(points)
        limit = float(rng.choice([0.0, -0.2, 0.5]))
        m = (
            int(rng.integers(1, n)) if n > 1 else 1
        )  # short lists: those not listed must be found too
        pricing = Pricing(points, k, listed_both_ways(*nearest_others(points, m)[:2]))
        found = pricing.sets(Prices(pi, penalties), Cuts(n, cuts), limit)
        listed = dict(zip(rows_of(found), found.excess.tolist(), strict=True))
        assert len(listed) == len(found)
        assert found.complete
        for members in all_sets(n, k):
            excess = excess_of(points, pi, cuts, penalties, members)
            if abs(excess - limit) > 1e-9:  # at the limit itself rounding decides
                assert (members in listed) == (excess < limit), (seed, members, excess)
            if members in listed:
                assert listed[members] == pytest.approx(excess, abs=1e-9)


@pytest.mark.slow
def test_repair_leaves_no_set_too_cheap():
    repairs = 0
    for seed in range(60):
        points, k, pi, cuts, penalties, _ = small_case(seed)
        n = len(points)
        pricing = Pricing(points, k, listed_both_ways(*nearest_others(points, n - 1)[:2]))
        prices = Prices(pi + 0.3, penalties)
        cheap = pricing.sets(prices, Cuts(n, cuts), 0.0)
        lower = repaired(prices, cheap)
        repairs += len(cheap) > 0
        assert (lower.pi <= prices.pi).all()
        for members in all_sets(n, k):
            assert excess_of(points, lower.pi, cuts, penalties, members) >= -1e-9
    assert repairs > 20


def test_a_listing_can_be_cut_short_or_stopped():
    rng = np.random.default_rng(5)
    points = rng.normal(size=(300, 2))
    pricing = Pricing(points, 3, listed_both_ways(*nearest_others(points, 40)[:2]))
    prices, cuts = Prices(np.full(300, 0.5), np.empty(0)), Cuts(300, [])
    few = pricing.sets(prices, cuts, 0.0, work=10_000)
    assert not few.complete
    assert not pricing.sets(prices, cuts, 0.0, stop=lambda: True).complete
    assert len(pricing.sets(prices, cuts, -1e9)) == 0
    again = pricing.sets(prices, cuts, 0.0, work=10_000)
    assert np.array_equal(few.members, again.members)


def test_a_fractional_triangle_and_a_five_cycle_are_cut():
    triangle = np.array([0, 1, 1, 2, 0, 2]), np.arange(0, 7, 2), np.full(3, 0.5)
    assert violated_cuts(3, *triangle, 3, most=9) == [(0, 1, 2)]
    cycle = np.array([0, 1, 1, 2, 2, 3, 3, 4, 0, 4]), np.arange(0, 11, 2), np.full(5, 0.5)
    assert violated_cuts(5, *cycle, 3, most=9) == []
    assert violated_cuts(5, *cycle, 5, most=9) == [(0, 1, 2, 3, 4)]


def test_violated_cuts_are_those_of_brute_force():
    for seed in range(40):
        rng = np.random.default_rng(seed)
        n = 8
        sets, values, left = [], [], np.ones(n)
        for _ in range(
            12
        ):  # some fractional choice in which no record is in sets worth more than 1
            members = np.sort(rng.choice(n, int(rng.integers(2, 5)), replace=False))
            value = min(left[members].min(), 0.5)
            if value > 0.0:
                left[members] -= value
                sets.append(members)
                values.append(value)
        members, offsets = (
            np.concatenate(sets),
            np.concatenate([[0], np.cumsum([len(s) for s in sets])]),
        )
        for size in (3, 5):
            for cut in violated_cuts(n, members, offsets, np.array(values), size, most=100):
                held = sum(
                    v * (len(set(cut) & set(s.tolist())) // 2)
                    for s, v in zip(sets, values, strict=True)
                )
                assert held > size // 2 or left[list(cut)].max() > 0.0


def test_lists_have_both_directions_and_a_reach():
    rng = np.random.default_rng(3)
    points = rng.integers(0, 4, (60, 2)).astype(float)
    near, records, complete = nearest_others(points, 5)
    lists = listed_both_ways(near, records)
    assert complete
    for i in range(60):
        others = lists.others[lists.starts[i] : lists.starts[i + 1]].tolist()
        assert i not in others
        assert len(set(others)) == len(others)
        for j in range(60):
            square = ((points[i] - points[j]) ** 2).sum()
            if j in others:
                assert i in lists.others[lists.starts[j] : lists.starts[j + 1]]
            elif j != i:
                assert square >= max(lists.reach[i], lists.reach[j])


def test_sets_know_their_number():
    assert len(Sets(np.arange(3), np.array([0, 3]), np.zeros(1), True)) == 1

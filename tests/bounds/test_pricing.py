"""The listing of cheap sets against brute force over all sets."""

import itertools

import numpy as np
import pytest

from microagg.bounds.chains import ChainPricing
from microagg.bounds.cuts import Cuts
from microagg.bounds.neighbours import nearest_others
from microagg.bounds.pricing import Prices, Sets
from microagg.bounds.repair import repaired
from microagg.bounds.separation import violated_cuts
from microagg.kernels.chain_pricing import squared_distances
from microagg.kernels.heuristic_sets import heuristic_sets


def small_case(seed):
    """Points, k, prices and cuts, with ties and duplicates in every other case."""
    rng = np.random.default_rng(seed)
    k = int(rng.integers(2, 6))
    n, d = int(rng.integers(k, 13)), int(rng.integers(1, 5))
    points = rng.normal(size=(n, d)) if seed % 3 else rng.integers(0, 3, (n, d)).astype(float)
    if seed % 5 == 0:
        points = np.ascontiguousarray(points[rng.integers(0, max(1, n // 2), n)])
    sizes = [(3, 2), (3, 3), (4, 2), (5, 2), (5, 3), (6, 4), (7, 4), (8, 3)]
    drawn = [
        (tuple(sorted(rng.choice(n, size, replace=False).tolist())), p)
        for size, p in sizes
        if size <= n
    ]
    cuts = list(dict.fromkeys(c for c in drawn if rng.random() < 0.6))
    pi = 0.5 * rng.normal(size=n) + 0.5 * (seed % 2)
    if seed % 7 == 0:
        pi = np.round(2.0 * pi) / 2.0
    return points, k, pi, cuts, np.abs(rng.normal(size=len(cuts))), rng


def excess_of(points, pi, cuts, penalties, members):
    inside = points[list(members)]
    cost = ((inside[:, None] - inside[None]) ** 2).sum() / (2 * len(members))
    held = sum(
        x * (len(set(members) & set(c)) // p) for (c, p), x in zip(cuts, penalties, strict=True)
    )
    return cost - pi[list(members)].sum() + held


def made_cuts(n, cuts):
    return Cuts(n, [records for records, _ in cuts], [p for _, p in cuts])


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
        pricing = ChainPricing(points, k)
        result = pricing.sets(Prices(pi, penalties), made_cuts(n, cuts), limit)
        listed = dict(zip(rows_of(result), result.excess.tolist(), strict=True))
        assert len(listed) == len(result)
        assert result.complete
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
        prices = Prices(pi + 0.3, penalties)
        cheap = ChainPricing(points, k).sets(prices, made_cuts(n, cuts), 0.0)
        lower = repaired(prices, cheap)
        repairs += len(cheap) > 0
        assert (lower.pi <= prices.pi).all()
        for members in all_sets(n, k):
            assert excess_of(points, lower.pi, cuts, penalties, members) >= -1e-9
    assert repairs > 20


def test_a_listing_can_be_cut_short_or_stopped():
    rng = np.random.default_rng(5)
    points = rng.normal(size=(300, 2))
    pricing = ChainPricing(points, 3)
    prices, cuts = Prices(np.full(300, 0.5), np.empty(0)), Cuts(300, [])
    few = pricing.sets(prices, cuts, 0.0, work=10_000)
    assert not few.complete
    assert not pricing.sets(prices, cuts, 0.0, stop=lambda: True).complete
    again = pricing.sets(prices, cuts, 0.0, work=10_000)
    assert np.array_equal(few.members, again.members)


def test_without_cuts_sets_of_k_records_are_enough():
    """If none of them is too cheap, no larger one is: proving and checking rely on this lemma."""
    tight = 0
    for seed in range(60):
        points, k, pi, _, _, _ = small_case(seed)
        n = len(points)
        smallest = [excess_of(points, pi, [], [], c) for c in itertools.combinations(range(n), k)]
        pi = pi + min(smallest) / k  # now the least excess of a set of k records is 0
        larger = [excess_of(points, pi, [], [], c) for c in all_sets(n, k) if len(c) > k]
        assert min(larger, default=0.0) >= -1e-12, seed
        tight += len(larger) > 0
    assert tight > 30


def test_prices_of_nothing_list_nothing():
    points = np.arange(12.0).reshape(6, 2)
    prices = Prices(np.full(6, -1.0), np.empty(0))
    assert len(ChainPricing(points, 3).sets(prices, Cuts(6, []), 0.0)) == 0


def test_sets_grown_around_records_have_the_excess_that_is_told():
    grown = 0
    for seed in range(80):
        points, k, pi, cuts, penalties, rng = small_case(seed)
        n = len(points)
        m = int(rng.integers(2 * k - 2, n)) if n > 2 * k - 2 else n - 1
        near = nearest_others(points, m)[1].astype(np.int64)
        kept = made_cuts(n, cuts)
        for s in range(k, min(2 * k - 1, m + 1) + 1):
            for second in (np.full(n, -1), rng.integers(0, m, n)):
                members, excess = np.empty((n, s), np.int32), np.empty(n)
                count = heuristic_sets(
                    squared_distances(points), near, pi, s, second, 0.2, *kept.of_records,
                    *kept.members, penalties, kept.parts,
                    0, n, members, excess, 0,
                )  # fmt: skip
                grown += count
                for row, value in zip(
                    members[:count].tolist(), excess[:count].tolist(), strict=True
                ):
                    assert row == sorted(set(row))
                    assert value < 0.2
                    assert value == pytest.approx(
                        excess_of(points, pi, cuts, penalties, row), abs=1e-9
                    )
    assert grown > 500


def test_without_penalties_the_best_set_is_often_grown():
    met = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        points, pi = rng.normal(size=(12, 2)), rng.random(12)
        near, none = nearest_others(points, 11)[1].astype(np.int64), Cuts(12, [])
        members, excess = np.empty((12, 4), np.int32), np.empty(12)
        count = heuristic_sets(
            squared_distances(points), near, pi, 4, np.full(12, -1), np.inf, *none.of_records,
            *none.members, np.empty(0), none.parts, 0, 12, members, excess, 0,
        )  # fmt: skip
        best = min(excess_of(points, pi, [], [], c) for c in itertools.combinations(range(12), 4))
        assert count == 12
        met += excess.min() <= best + 1e-9
    assert met >= 36


def test_a_fractional_triangle_a_five_cycle_and_thirds_are_cut():
    triangle = np.array([0, 1, 1, 2, 0, 2]), np.arange(0, 7, 2), np.full(3, 0.5)
    assert violated_cuts(3, *triangle, (2,), most=9) == [((0, 1, 2), 2)]
    cycle = np.array([0, 1, 1, 2, 2, 3, 3, 4, 0, 4]), np.arange(0, 11, 2), np.full(5, 0.5)
    assert violated_cuts(5, *cycle, (2,), most=9) == [((0, 1, 2, 3, 4), 2)]
    triples = np.array([*itertools.combinations(range(5), 3)])
    thirds = triples.reshape(-1), np.arange(0, 31, 3), np.full(10, 1 / 6)
    assert violated_cuts(5, *thirds, (3,), most=9) == [((0, 1, 2, 3, 4), 3)]


def test_every_cut_is_violated():
    cuts_in_all = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        n = 12
        sets, values, left = [], [], np.ones(n)
        for _ in range(
            40
        ):  # some fractional choice in which no record is in sets worth more than 1
            members = np.sort(rng.choice(n, int(rng.integers(2, 6)), replace=False))
            value = min(left[members].min(), float(rng.choice([0.5, 1 / 3, 0.25])))
            if value > 1e-9:
                left[members] -= value
                sets.append(members)
                values.append(value)
        for record in np.flatnonzero(left > 1e-9):  # the rest of it alone
            sets.append(np.array([record]))
            values.append(left[record])
        offsets = np.concatenate([[0], np.cumsum([len(s) for s in sets])])
        cuts = violated_cuts(
            n, np.concatenate(sets), offsets, np.array(values), (2, 3, 4), most=100
        )
        assert len(set(cuts)) == len(cuts)
        cuts_in_all += len(cuts)
        for records, p in cuts:
            pairs = zip(sets, values, strict=True)
            held = sum(v * (len(set(records) & set(s.tolist())) // p) for s, v in pairs)
            assert held > len(records) // p + 0.02, (seed, records, p)
    assert cuts_in_all > 30


def test_sets_know_their_number():
    assert len(Sets(np.arange(3), np.array([0, 3]), np.zeros(1), True)) == 1


def test_records_in_more_sets_of_negative_excess_are_lowered_more():
    """Set by set, in the order of their excess: what one lacks is shared out by those weights."""
    members, offsets = np.array([0, 1, 1, 2, 3, 4], np.int32), np.array([0, 2, 4, 6])
    sets = Sets(members, offsets, np.array([-1.0, -0.5, 0.25]), True)
    lowered = 2.0 - repaired(Prices(np.full(5, 2.0), np.empty(0)), sets).pi
    # weights are 1, 1.5 and 0.5: the first set takes 0.4 and 0.6, which is enough for the second
    np.testing.assert_allclose(lowered, [0.4, 0.6, 0.0, 0.0, 0.0], atol=1e-8)
    sets = Sets(members, offsets, np.array([-1.0, -1.0, -2.0]), True)
    lowered = 2.0 - repaired(Prices(np.full(5, 2.0), np.empty(0)), sets).pi
    np.testing.assert_allclose(lowered, [1 / 3, 2 / 3 + 2 / 9, 1 / 9, 1.0, 1.0], atol=1e-8)

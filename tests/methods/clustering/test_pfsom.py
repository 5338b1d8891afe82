"""PFSOM against slow transcriptions of a training pass, of PCAES and of Ward's merging; and what it
finds.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

import microagg as ma
import mixtures
import plain
from microagg.kernels import random
from microagg.kernels.possibilistic import label_nearest, merge_down
from microagg.methods.clustering.pfsom import learn, one_pass, pfsom
from microagg.methods.clustering.validity import validity_of


def memberships(x, prototypes):
    """Bezdek's u_ij for one record, m = 2."""
    squares = [plain.squared_distance(x, v) for v in prototypes]
    if 0.0 in squares:
        return [float(s == 0.0) / squares.count(0.0) for s in squares]
    return [1.0 / sum(s / other for other in squares) for s in squares]


def widths_of(points, prototypes):
    """gamma_i of Pal et al. 2005 with K = 1."""
    u = [memberships(x, prototypes) for x in points]
    widths = []
    for i, v in enumerate(prototypes):
        mass = math.fsum(row[i] ** 2 for row in u)
        spread = math.fsum(
            row[i] ** 2 * plain.squared_distance(x, v) for row, x in zip(u, points, strict=True)
        )
        widths.append(spread / mass if mass > 0.0 else 0.0)
    return widths


def slow_pass(points, weights, prototypes, widths, neighbourhood):
    """One pass of possibilistic fuzzy c-means (a = b = 1, m = eta = 2) on a map, term by term."""
    c, d = prototypes.shape
    across = math.ceil(c / math.floor(math.sqrt(c)))
    pulls = np.zeros((c, d + 1))
    for x, weight in zip(points, weights, strict=True):
        for i, u in enumerate(memberships(x, prototypes)):
            strength = u**2
            if widths is not None and widths[i] > 0.0:
                strength += (
                    1.0 / (1.0 + plain.squared_distance(x, prototypes[i]) / widths[i])
                ) ** 2
            pulls[i] += weight * strength * np.append(x, 1.0)
    if neighbourhood > 0.0:
        positions = [divmod(i, across) for i in range(c)]
        near = [
            [
                math.exp(-((a - e) ** 2 + (b - f) ** 2) / (2.0 * neighbourhood**2))
                for e, f in positions
            ]
            for a, b in positions
        ]
        pulls = np.array(near) @ pulls
    moved = prototypes.copy()
    mask = pulls[:, -1] > 0.0
    moved[mask] = pulls[mask, :-1] / pulls[mask, -1:]
    return moved


def some_prototypes(points, rng):
    c = int(rng.integers(2, 10))
    at_records = points[rng.integers(0, len(points), c)]
    return np.ascontiguousarray(
        at_records + (rng.random() < 0.6) * rng.normal(size=at_records.shape)
    )


def centred_problem(seed):
    """Hard points near the origin, as PFSOM itself works on them."""
    points, _ = plain.hard_problem(seed)
    points = points - plain.centroid(points, range(len(points)))
    return np.ascontiguousarray(points / max(np.abs(points).max(), 1e-300))


@pytest.mark.parametrize("seed", range(60))
def test_a_pass_is_that_of_the_papers(seed):
    points, rng = centred_problem(seed), np.random.default_rng(seed)
    prototypes = some_prototypes(points, rng)
    weights = rng.integers(1, 4, len(points)).astype(float)
    widths = widths_of(points, prototypes) if seed % 2 else None
    neighbourhood = (0.0, 0.7, 2.0)[seed % 3]
    expected = slow_pass(points, weights, prototypes, widths, neighbourhood)
    spreads = np.array(widths) if widths else np.empty(0)
    assert one_pass(points, weights, prototypes, spreads, neighbourhood) == pytest.approx(
        expected, rel=1e-9, abs=1e-12
    )


@pytest.mark.parametrize("seed", range(20))
def test_training_is_passes_in_a_row(seed):
    points, rng = centred_problem(seed), np.random.default_rng(seed)
    prototypes, weights = some_prototypes(points, rng), np.ones(len(points))
    expected = slow_pass(points, weights, prototypes, None, 1.0)
    expected = slow_pass(points, weights, expected, None, 0.5)
    widths = widths_of(points, expected)
    expected = slow_pass(points, weights, expected, widths, 0.0)
    trained = learn(points, weights, prototypes, mapped=2, width=1.0, fuzzy=0, possibilistic=1)
    assert trained == pytest.approx(expected, rel=1e-6, abs=1e-9)


def spread_along(points, u, prototypes, i, direction):
    """The variance of a fuzzy cluster along a direction."""
    mass = math.fsum(row[i] ** 2 for row in u)
    terms = [
        row[i] ** 2 * float((x - prototypes[i]) @ direction) ** 2
        for row, x in zip(u, points, strict=True)
    ]
    return math.fsum(terms) / mass if mass > 0.0 else 0.0


def slow_index(points, prototypes, own_spread, most_compact=max):
    """Wu and Yang 2005, equation by equation; `own_spread`: distances as the docstring of PFSOM has
    them.
    """
    u = [memberships(x, prototypes) for x in points]
    mass = [math.fsum(row[i] ** 2 for row in u) for i in range(len(prototypes))]
    centre = plain.centroid(points, range(len(points)))
    measure = sum(plain.squared_distance(v, centre) for v in prototypes) / len(prototypes)
    total = 0.0
    for i, v in enumerate(prototypes):
        apart, nearest = min(
            (plain.squared_distance(v, w), t) for t, w in enumerate(prototypes) if t != i
        )
        if own_spread and apart > 0.0:
            direction = (prototypes[nearest] - v) / math.sqrt(apart)
            measure = 2.0 * sum(
                spread_along(points, u, prototypes, t, direction) for t in (i, nearest)
            )
        relative = 0.0 if apart == 0.0 else math.inf if measure == 0.0 else apart / measure
        total += mass[i] / most_compact(mass) - math.exp(
            -max(relative - 4.0, 0.0) if own_spread else -relative
        )
    return total


@pytest.mark.parametrize("seed", range(60))
def test_validity_is_pcaes(seed):
    points = centred_problem(seed)
    prototypes = some_prototypes(points, np.random.default_rng(seed))
    for name in ("pcaes", "own-spread"):
        expected = slow_index(points, prototypes, name == "own-spread")
        assert validity_of(points, prototypes, name) == pytest.approx(expected, rel=1e-6, abs=1e-6)


def test_pcaes_against_the_smallest_cluster():
    points = centred_problem(1)
    prototypes = some_prototypes(points, np.random.default_rng(1))
    expected = slow_index(points, prototypes, False, min)
    assert validity_of(points, prototypes, "pcaes-min") == pytest.approx(expected)


def slow_merging(prototypes, masses, wanted):
    """Ward 1963: again and again the pair whose merging costs least."""
    parts = [(v.copy(), m) for v, m in zip(prototypes, masses, strict=True) if m > 0.0]
    while len(parts) > wanted:
        costs = {
            (a, b): plain.squared_distance(parts[a][0], parts[b][0])
            * (parts[a][1] * parts[b][1] / (parts[a][1] + parts[b][1]))
            for a in range(len(parts))
            for b in range(a + 1, len(parts))
        }
        a, b = min(costs, key=lambda pair: (costs[pair], pair))
        (v, m), (w, other) = parts[a], parts.pop(b)
        parts[a] = (v + other / (m + other) * (w - v), m + other)
    return np.array([v for v, _ in parts])


@pytest.mark.parametrize("seed", range(60))
def test_prototypes_are_merged_where_it_costs_least(seed):
    rng = np.random.default_rng(seed)
    points = centred_problem(seed)[:40]
    masses = rng.integers(0, 5, len(points)).astype(float)
    masses[0] = 1.0
    wanted = int(rng.integers(1, 8))
    assert np.array_equal(merge_down(points, masses, wanted), slow_merging(points, masses, wanted))


@pytest.mark.slow
def test_the_number_of_clusters_of_twenty_mixtures():
    """The bar: 18 of 20. The mixtures it was tuned on have other seeds (1000 to 1039)."""
    right = 0
    for seed in range(20):
        points, centres = mixtures.mixture(seed)
        result = pfsom(points, rng=random.seeded(0))
        right += result.clusters == len(centres)
    assert right >= 18


def test_prototypes_lie_in_the_clusters():
    points, centres = mixtures.mixture(3)
    result = pfsom(points, rng=random.seeded(0))
    assert result.clusters == len(centres)
    for centre in centres:
        assert min(plain.squared_distance(centre, v) for v in result.prototypes) < 1.0


@pytest.mark.parametrize("columns", [1, 2, 3, 8])
@pytest.mark.parametrize("draw", ["normal", "random"])
def test_one_cloud_is_one_cluster(columns, draw):
    points = getattr(np.random.default_rng(columns), draw)(size=(400, columns))
    result = pfsom(points, rng=random.seeded(0))
    assert result.clusters == 1
    assert not result.labels.any()
    assert result.prototypes[0] == pytest.approx(plain.centroid(points, range(400)))


def test_two_parts_of_one_cloud_if_wanted():
    points = np.random.default_rng(0).normal(size=(400, 2))
    parts = pfsom(points, rng=random.seeded(0), fewest=2)
    assert parts.clusters >= 2
    assert np.array_equal(
        parts.labels, pfsom(points, rng=random.seeded(0), validity="pcaes", fewest=2).labels
    )


def test_threads_of_records_are_not_cut_to_pieces():
    """Clusters may be flat: what counts is their spread along the line between them."""
    rng = np.random.default_rng(0)
    along = 0.1 * rng.random(120)
    places = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.7, 0.7]])
    points = np.repeat(places, 40, axis=0)
    points[:, 0] += along
    assert pfsom(points, rng=random.seeded(0)).labels.tolist() == np.repeat([0, 1, 2], 40).tolist()


@pytest.mark.parametrize("seed", range(56))
def test_any_points_get_labels(seed):
    points, _ = plain.hard_problem(seed)
    before = points.copy()
    result = pfsom(
        points,
        rng=random.seeded(seed),
        fewest=1 + seed % 2,
        validity=("pcaes", "own-spread")[seed // 28],
    )
    assert np.array_equal(points, before)
    assert result.labels.dtype == np.int32
    assert np.array_equal(np.unique(result.labels), np.arange(result.clusters))
    firsts = [int(np.argmax(result.labels == g)) for g in range(result.clusters)]
    assert firsts == sorted(firsts)
    assert np.isfinite(result.prototypes).all()
    again = pfsom(
        points,
        rng=random.seeded(seed),
        fewest=1 + seed % 2,
        validity=("pcaes", "own-spread")[seed // 28],
    )
    assert np.array_equal(result.labels, again.labels)
    assert np.array_equal(result.prototypes, again.prototypes)


def test_equal_points_share_a_cluster():
    points = np.repeat([[0.0, 1.0], [5.0, 5.0], [9.0, -3.0]], [8, 9, 40], axis=0)
    result = pfsom(points, rng=random.seeded(0))
    assert result.labels.tolist() == [0] * 8 + [1] * 9 + [2] * 40
    assert result.prototypes == pytest.approx(np.array([[0.0, 1.0], [5.0, 5.0], [9.0, -3.0]]))


@pytest.mark.parametrize("points", [np.full((9, 2), 0.1), np.zeros((1, 1)), np.full((5, 1), 1e100)])
def test_one_place_is_one_cluster(points):
    result = pfsom(points, rng=random.seeded(0), fewest=2)
    assert result.clusters == 1
    assert result.prototypes.tolist() == [points[0].tolist()]


@pytest.mark.parametrize("scale", [1e-200, 1e-9, 1.0, 1e95])
def test_scale_and_place_do_not_matter(scale):
    points, centres = mixtures.mixture(4)
    expected = pfsom(points, rng=random.seeded(0)).labels
    assert expected.max() == len(centres) - 1
    assert np.array_equal(pfsom(points * scale, rng=random.seeded(0)).labels, expected)
    column = np.column_stack([points, np.full(len(points), 7.0)])
    assert pfsom(column, rng=random.seeded(0)).clusters == len(centres)


def test_each_record_goes_to_its_nearest_prototype():
    points, _ = mixtures.mixture(5)
    result = pfsom(points, rng=random.seeded(0))
    nearest = [plain.nearest_centroid(list(result.prototypes), x) for x in points]
    assert result.labels.tolist() == nearest
    assert np.array_equal(label_nearest(points, result.prototypes.T.copy()), result.labels)


def test_cancelling():
    def cancel(done, total):
        raise ma.Cancelled("stopped")

    with pytest.raises(ma.Cancelled):
        pfsom(np.random.default_rng(0).normal(size=(100, 2)), rng=random.seeded(0), progress=cancel)

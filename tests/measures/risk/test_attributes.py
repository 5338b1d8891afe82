"""Attribute disclosure: l, t and the spread within classes, counted value by value."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

import promised
from measures.risk.pairs import (
    SEEDS,
    agrees,
    classes_of,
    collapsed,
    deviation,
    distinct_pair,
    random_pair,
    weights_of,
)
from microagg.errors import InputError
from microagg.measures.measure import Pair
from microagg.measures.risk.attributes import DISTINCT_L, ENTROPY_L, SPREAD_WITHIN, T_CLOSENESS

ALL = (DISTINCT_L, ENTROPY_L, T_CLOSENESS, SPREAD_WITHIN)


def confidential(pair: Pair) -> list[tuple[str, list[float], bool]]:
    """Name, values and whether they are nominal."""
    plain = [(name, x.tolist(), x.dtype.kind != "f") for name, x in pair.confidential.items()]
    return plain + [(name, x.tolist(), False) for name, x in pair.ordered.items()]


def shares(x: list[float], records: list[int], w: list[float]) -> list[float]:
    """The share of every distinct value of the column among some records."""
    total = math.fsum(w[i] for i in records)
    return [math.fsum(w[i] for i in records if x[i] == v) / total for v in sorted(set(x))]


@pytest.mark.parametrize("seed", SEEDS)
def test_distinct_l(seed):
    pair = random_pair(seed)
    columns = {
        name: float(min(len({x[i] for i in group}) for group in classes_of(pair)))
        for name, x, _ in confidential(pair)
    }
    agrees(DISTINCT_L.compute(pair), min(columns.values()), columns)


@pytest.mark.parametrize("seed", SEEDS)
def test_entropy_l(seed):
    pair = random_pair(seed)
    w = weights_of(pair)
    columns = {}
    for name, x, _ in confidential(pair):
        entropies = []
        for group in classes_of(pair):
            entropies.append(-math.fsum(p * math.log(p) for p in shares(x, group, w) if p > 0.0))
        columns[name] = math.exp(min(entropies))
    agrees(ENTROPY_L.compute(pair), min(columns.values()), columns)


def slow_distances(pair: Pair, x: list[float], nominal: bool) -> list[float]:
    """Between each class and the table: half the sum of differences, or of cumulative ones by the
    longest way.
    """
    w, distances = weights_of(pair), []
    table = shares(x, list(range(len(x))), w)
    for group in classes_of(pair):
        differences = [p - q for p, q in zip(shares(x, group, w), table, strict=True)]
        if nominal:
            distances.append(math.fsum(abs(r) for r in differences) / 2.0)
        else:
            moved = [abs(math.fsum(differences[: i + 1])) for i in range(len(differences))]
            distances.append(math.fsum(moved) / max(len(differences) - 1, 1))
    return distances


@pytest.mark.parametrize("seed", SEEDS)
def test_t_closeness(seed):
    pair = random_pair(seed)
    distances = {name: slow_distances(pair, x, nominal) for name, x, nominal in confidential(pair)}
    columns = {name: max(values) for name, values in distances.items()}
    figure = T_CLOSENESS.compute(pair)
    agrees(figure, max(columns.values()), columns)
    for name, values in distances.items():
        assert figure.details[f"mean of {name}"] == pytest.approx(
            math.fsum(values) / len(values), abs=1e-9
        )


def slow_spread(x: list[float], group: list[int], nominal: bool) -> float:
    if min(x) == max(x):
        return 0.0
    if not nominal:
        centre = math.fsum(x[i] for i in group) / len(group)
        return math.fsum(abs(x[i] - centre) for i in group) / deviation(x)
    every, ones = list(range(len(x))), [1.0] * len(x)
    unit = math.sqrt(math.fsum(p * (1.0 - p) for p in shares(x, every, ones)))
    centre = shares(x, group, ones)
    total = []
    for i in group:
        indicator = [float(x[i] == v) for v in sorted(set(x))]
        total.append(math.dist(indicator, centre) / unit)
    return math.fsum(total)


@pytest.mark.parametrize("seed", SEEDS)
def test_spread_within(seed):
    pair = random_pair(seed)
    spreads = {
        name: [slow_spread(x, group, nominal) for group in classes_of(pair)]
        for name, x, nominal in confidential(pair)
    }
    totals = [math.fsum(parts) for parts in zip(*spreads.values(), strict=True)]
    figure = SPREAD_WITHIN.compute(pair)
    agrees(figure, min(totals), {name: min(values) for name, values in spreads.items()}, 1e-6)
    assert figure.details["mean over classes"] == pytest.approx(
        math.fsum(totals) / len(totals), abs=1e-6
    )
    assert figure.details["largest"] == pytest.approx(max(totals), abs=1e-6)


@pytest.mark.parametrize("weighted", [False, True])
def test_extremes(weighted):
    pair = distinct_pair(weighted=weighted)
    for measure in (DISTINCT_L, ENTROPY_L):
        assert measure.compute(pair).value == 1.0
    assert SPREAD_WITHIN.compute(pair).value == SPREAD_WITHIN.lowest
    flat = collapsed(pair)
    assert T_CLOSENESS.compute(flat).value == pytest.approx(T_CLOSENESS.lowest, abs=1e-12)
    if not weighted:
        # counts leave nothing to rounding
        assert T_CLOSENESS.compute(flat).value == T_CLOSENESS.lowest
        assert ENTROPY_L.compute(flat).columns["disease"] == pytest.approx(3.0)
    assert DISTINCT_L.compute(flat).columns == {"wage": 60.0, "disease": 3.0, "school": 4.0}
    w, disease = weights_of(pair), pair.confidential["disease"].tolist()
    rarest = min(shares(disease, list(range(60)), w))
    assert T_CLOSENESS.compute(pair).columns["disease"] == pytest.approx(1.0 - rarest)
    assert SPREAD_WITHIN.compute(flat).value == pytest.approx(
        SPREAD_WITHIN.compute(flat).details["largest"]
    )


def test_the_farthest_class_of_many_values_is_nearly_one_away():
    n = 2000
    released = np.zeros((n, 1))
    released[0] = 1.0
    pair = Pair(
        released,
        released,
        ("a",),
        {"wage": np.append(1e6, np.zeros(n - 1)), "disease": np.arange(n)},
    )
    assert T_CLOSENESS.compute(pair).columns == {
        "wage": pytest.approx(1.0 - 1.0 / n),
        "disease": pytest.approx(1.0 - 1.0 / n),
    }


def test_the_example_of_li_and_others():
    """Li, Li and Venkatasubramanian 2007, section 4: salaries 3k..11k; {3k, 4k, 5k} is 0.375 away,
    {6k, 8k, 11k} 0.167.
    """
    salary = np.array([3.0, 4, 5, 6, 11, 8, 7, 9, 10])
    classes = np.array([[0.0], [0], [0], [1], [1], [1], [2], [2], [2]])
    figure = T_CLOSENESS.compute(Pair(classes, classes, ("a",), {"salary": salary}))
    assert figure.value == pytest.approx(0.375)
    assert slow_distances(Pair(classes, classes, ("a",)), salary.tolist(), False)[
        1
    ] == pytest.approx(1.0 / 6.0)


def test_two_categories_spread_like_two_numbers():
    pair = random_pair(3)
    codes = np.arange(len(pair.original)) % 2
    nominal = SPREAD_WITHIN.compute(replace(pair, confidential={"c": codes}, ordered={}))
    numeric = SPREAD_WITHIN.compute(replace(pair, confidential={"c": codes * 8.0}, ordered={}))
    assert nominal.value == pytest.approx(numeric.value)


def test_a_column_that_is_ordered_is_not_taken_twice():
    pair = random_pair(4)
    both = replace(pair, confidential={"school": pair.ordered["school"]})
    alone = replace(pair, confidential={})
    for measure in ALL:
        assert measure.compute(both) == measure.compute(alone)


def test_a_missing_number_adds_no_spread_and_is_no_value():
    classes = np.zeros((4, 1))
    pair = Pair(classes, classes, ("a",), {"wage": np.array([1.0, 3.0, np.nan, np.nan])})
    assert SPREAD_WITHIN.compute(pair).value == 2.0
    assert DISTINCT_L.compute(pair).value == 2.0
    assert ENTROPY_L.compute(pair).value == pytest.approx(2.0)
    gone = Pair(classes, classes, ("a",), {"wage": np.full(4, np.nan)})
    assert [measure.compute(gone).value for measure in ALL] == [
        DISTINCT_L.lowest,
        ENTROPY_L.lowest,
        0.0,
        0.0,
    ]


@pytest.mark.parametrize("seed", SEEDS)
def test_atoms_count_as_for_the_guarantees(seed):
    rng, pair = np.random.default_rng(seed), replace(random_pair(seed), weights=None)
    n = len(pair.original)
    atoms = {
        name: np.where(rng.random(n) < 0.4, rng.integers(0, 2, n), -1)
        for name, _, _ in confidential(pair)
    }
    holed = replace(pair, atoms=atoms)
    groups, marks = classes_of(pair), (None, promised.Atom("refused"))
    for name, x, nominal in confidential(pair):
        plain = [v if a < 0 else marks[a] for v, a in zip(x, atoms[name], strict=True)]
        least = [min(f(plain, group) for group in groups) for f in (promised.distinct, _even)]
        assert DISTINCT_L.compute(holed).columns[name] == least[0]
        assert ENTROPY_L.compute(holed).columns[name] == pytest.approx(least[1])
        apart = [min(promised.distance(plain, group, nominal=nominal), 1) for group in groups]
        assert T_CLOSENESS.compute(holed).columns[name] == pytest.approx(float(max(apart)))
        records = [i for i in range(n) if atoms[name][i] < 0]
        places = {i: position for position, i in enumerate(records)}
        known = [x[i] for i in records]
        spreads = [
            slow_spread(known, [places[i] for i in group if i in places], nominal)
            if any(i in places for i in group)
            else 0.0
            for group in groups
        ]
        assert SPREAD_WITHIN.compute(holed).columns[name] == pytest.approx(min(spreads), abs=1e-6)


def _even(values: Sequence[object], group: Sequence[int]) -> float:
    return math.exp(promised.entropy(values, group)) if promised.known(values, group) else 0.0


def test_very_large_numbers():
    classes = np.zeros((2, 1))
    pair = Pair(classes, classes, ("a",), {"wage": np.array([-1.5e308, 1.5e308])})
    assert SPREAD_WITHIN.compute(pair).value == pytest.approx(2.0)


@pytest.mark.parametrize("measure", ALL, ids=lambda measure: measure.name)
def test_nothing_to_look_at(measure):
    with pytest.raises(InputError, match="confidential columns"):
        measure.compute(Pair(np.zeros((2, 1)), np.zeros((2, 1)), ("a",)))
    with pytest.raises(InputError, match="at least one record"):
        measure.compute(Pair(np.empty((0, 1)), np.empty((0, 1)), ("a",), {"wage": np.empty(0)}))

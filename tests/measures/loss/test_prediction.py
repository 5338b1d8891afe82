"""Regression and classification kept. The transcriptions solve their equations in exact
fractions.
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from measures.loss.pairs import (
    SEEDS,
    agrees,
    average,
    collapsed,
    columns_of,
    deviation,
    identical,
    is_constant,
    random_pair,
    related_pair,
    rounding,
    standardised,
    weights_of,
)
from microagg.measures.loss.prediction import CLASSIFICATION_KEPT, REGRESSION_KEPT, held_out
from microagg.measures.measure import Pair

RIDGE = Fraction(1e-6)
Columns = list[list[float]]


def solve(matrix: list[list[Fraction]], right: list[Fraction]) -> list[Fraction]:
    """Gauss and Jordan."""
    rows = [[*row, value] for row, value in zip(matrix, right, strict=True)]
    for p in range(len(rows)):
        pivot = next(r for r in range(p, len(rows)) if rows[r][p] != 0)
        rows[p], rows[pivot] = rows[pivot], rows[p]
        rows[p] = [x / rows[p][p] for x in rows[p]]
        for r in range(len(rows)):
            if r != p:
                rows[r] = [x - rows[r][p] * y for x, y in zip(rows[r], rows[p], strict=True)]
    return [row[-1] for row in rows]


def is_tried(i: int) -> bool:
    return (i * 2654435761) % 2**32 < 2**32 // 3


def exact_average(values: list[Fraction], weights: list[float]) -> Fraction:
    total = sum((Fraction(w) * x for x, w in zip(values, weights, strict=True)), Fraction(0))
    return total / sum((Fraction(w) for w in weights), Fraction(0))


def slow_r2(pair: Pair, columns: Columns) -> list[float]:
    before, w, d = standardised(pair)[0], weights_of(pair), len(pair.names)
    fitted = [i for i in range(len(w)) if not is_tried(i)]
    tried = [i for i in range(len(w)) if is_tried(i)]
    if not fitted:
        return [0.0] * d
    fitted_weights = [w[i] for i in fitted]
    known = [[Fraction(column[i]) for i in fitted] for column in columns]
    centre = [exact_average(column, fitted_weights) for column in known]
    table = columns_of(pair)
    scores = []

    def product(a: int, b: int) -> Fraction:
        terms = [(x - centre[a]) * (y - centre[b]) for x, y in zip(known[a], known[b], strict=True)]
        return exact_average(terms, fitted_weights)

    for target in range(d):
        others = [j for j in range(d) if j != target]
        matrix = [[product(a, b) + (RIDGE if a == b else 0) for b in others] for a in others]
        slopes = solve(matrix, [product(a, target) for a in others])
        errors, values = [], []
        for i in tried:
            guess = centre[target]
            for slope, j in zip(slopes, others, strict=True):
                guess += slope * (Fraction(before[j][i]) - centre[j])
            errors.append(float(Fraction(before[target][i]) - guess) ** 2)
            values.append(before[target][i])
        trial = [w[i] for i in tried]
        middle = average(values, trial)
        total = average([(x - middle) ** 2 for x in values], trial)
        x = table[target][1]
        limit = rounding(x, w) / deviation(x, w)
        scores.append(max(0.0, 1.0 - average(errors, trial) / total) if total > limit**2 else 0.0)
    return scores


def slow_right(pair: Pair, columns: Columns, codes: list[int]) -> tuple[float, float]:
    """The share that the discriminant classifies rightly, and the share of right guesses."""
    before, w, d = standardised(pair)[0], weights_of(pair), len(pair.names)
    fitted = [i for i in range(len(w)) if not is_tried(i)]
    tried = [i for i in range(len(w)) if is_tried(i)]
    fitted_weights = [w[i] for i in fitted]
    classes = sorted({codes[i] for i in fitted})
    share = {
        c: math.fsum(w[i] for i in fitted if codes[i] == c) / math.fsum(fitted_weights)
        for c in classes
    }
    middle = {}
    for c in classes:
        members = [i for i in fitted if codes[i] == c]
        middle[c] = [
            exact_average([Fraction(columns[j][i]) for i in members], [w[i] for i in members])
            for j in range(d)
        ]
    apart = [[Fraction(columns[j][i]) - middle[codes[i]][j] for i in fitted] for j in range(d)]
    within = [
        [
            exact_average([x * y for x, y in zip(apart[a], apart[b], strict=True)], fitted_weights)
            + (RIDGE if a == b else 0)
            for b in range(d)
        ]
        for a in range(d)
    ]
    inverse = [solve(within, [Fraction(int(a == b)) for b in range(d)]) for a in range(d)]
    right, guessed = [], []
    commonest = max(classes, key=lambda c: (share[c], -c))
    for i in tried:
        chosen, best = classes[0], -math.inf
        for c in classes:
            away = [Fraction(before[j][i]) - middle[c][j] for j in range(d)]
            squared = sum(away[a] * inverse[a][b] * away[b] for a in range(d) for b in range(d))
            score = math.log(share[c]) - 0.5 * float(squared)
            if score > best + 1e-6:
                chosen, best = c, score
        right.append(float(chosen == codes[i]))
        guessed.append(float(commonest == codes[i]))
    trial = [w[i] for i in tried]
    return average(right, trial), average(guessed, trial)


def slow_kept(
    original: dict[str, float], released: dict[str, float]
) -> tuple[float, dict[str, float]]:
    gain = {name: x if x > 1e-6 else 0.0 for name, x in original.items()}
    kept = {name: min(gain[name], max(0.0, x)) for name, x in released.items()}
    columns = {name: 100.0 * kept[name] / gain[name] if gain[name] else 100.0 for name in gain}
    total = math.fsum(gain.values())
    return 100.0 * math.fsum(kept.values()) / total if total else 100.0, columns


@pytest.mark.parametrize("seed", SEEDS)
def test_regression_equals_the_transcription(seed: int) -> None:
    pair = random_pair(seed)
    original, released = (slow_r2(pair, columns) for columns in standardised(pair))
    value, columns = slow_kept(
        dict(zip(pair.names, original, strict=True)), dict(zip(pair.names, released, strict=True))
    )
    figure = REGRESSION_KEPT.compute(pair)
    agrees(figure, value, columns, 1e-5)
    assert figure.details["r2_original"] == pytest.approx(
        math.fsum(original) / len(original), abs=1e-6
    )
    assert figure.details["r2_release"] == pytest.approx(
        math.fsum(released) / len(released), abs=1e-6
    )


@pytest.mark.parametrize("seed", SEEDS)
def test_classification_equals_the_transcription(seed: int) -> None:
    pair = random_pair(seed)
    targets = {
        "followed": pair.confidential["followed"],
        "free": pair.confidential["free"],
        **pair.ordered,
    }
    if len(pair.original) == 1:
        targets = {}
    original, released, guessing = {}, {}, {}
    for name, codes in targets.items():
        before, after = standardised(pair)
        original[name], guessing[name] = slow_right(pair, before, codes.tolist())
        released[name], _ = slow_right(pair, after, codes.tolist())
    value, columns = slow_kept(
        {name: original[name] - guessing[name] for name in targets},
        {name: released[name] - guessing[name] for name in targets},
    )
    figure = CLASSIFICATION_KEPT.compute(pair)
    agrees(figure, value, columns)
    count = max(1, len(targets))
    assert figure.details == pytest.approx(
        {
            "targets": len(targets),
            "accuracy_original": 100.0 * sum(original.values()) / count,
            "accuracy_release": 100.0 * sum(released.values()) / count,
            "accuracy_guessing": 100.0 * sum(guessing.values()) / count,
        }
    )


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("measure", [REGRESSION_KEPT, CLASSIFICATION_KEPT])
def test_extremes(measure, weighted: bool) -> None:
    pair = related_pair(weighted=weighted)
    assert measure.compute(identical(pair)).value == measure.highest == 100.0
    assert measure.compute(collapsed(pair)).value == measure.lowest == 0.0
    noisy = replace(
        pair,
        released=pair.original + np.random.default_rng(0).normal(size=pair.original.shape) * 3.0,
    )
    assert 5.0 < measure.compute(noisy).value < 95.0


def test_a_third_is_held_out_evenly() -> None:
    tried = held_out(120_000)
    assert tried.mean() == pytest.approx(1.0 / 3.0, abs=1e-4)
    for period in (2, 3, 4, 5, 7, 12):
        for phase in range(period):
            assert tried[phase::period].mean() == pytest.approx(1.0 / 3.0, abs=2e-3)


def test_what_holds_no_relation_can_lose_none() -> None:
    one = Pair(np.arange(20.0)[:, None], np.zeros((20, 1)), ("a",))
    assert REGRESSION_KEPT.compute(one).value == 100.0
    assert REGRESSION_KEPT.compute(one).columns == {"a": 100.0}
    numbers = replace(one, confidential={"income": np.arange(20.0)})
    figure = CLASSIFICATION_KEPT.compute(numbers)
    assert (figure.value, figure.columns, figure.details["targets"]) == (100.0, {}, 0.0)


def test_a_release_that_predicts_better_keeps_all_and_no_more() -> None:
    rng = np.random.default_rng(3)
    one = rng.normal(size=60)
    table = np.column_stack([one, one + rng.standard_t(1.5, 60)])
    clean = Pair(table, np.column_stack([one, one]), ("a", "b"))
    figure = REGRESSION_KEPT.compute(clean)
    assert figure.details["r2_release"] != figure.details["r2_original"]
    assert max(figure.columns.values()) <= 100.0


def test_a_constant_column_takes_no_part() -> None:
    pair = related_pair()
    assert is_constant(pair.original[:, 3])
    without = Pair(
        pair.original[:, :3],
        collapsed(pair).released[:, :3] + pair.original[:, :3] / 2.0,
        ("a", "b", "c"),
    )
    released = np.column_stack([without.released, pair.original[:, 3]])
    whole = REGRESSION_KEPT.compute(Pair(pair.original, released, pair.names))
    assert whole.value == pytest.approx(REGRESSION_KEPT.compute(without).value)
    assert whole.columns["d"] == 100.0


def test_rounding_is_no_gain() -> None:
    """One column, predicted by a mean that is the held-out mean up to rounding: nothing that a
    release could lose.
    """
    for seed in range(40):
        values = np.random.default_rng(seed).normal(size=30)
        tried = held_out(30)
        values[tried] += values[~tried].mean() - values[tried].mean()
        pair = Pair(values[:, None], np.zeros((30, 1)), ("a",))
        assert REGRESSION_KEPT.compute(pair).value == 100.0


def test_a_direction_without_variance_is_judged_by_the_ridge() -> None:
    """Two classes at two points; held-out records lie so near the middle that ridge and shares
    decide together.
    """
    n = 60
    codes = (np.arange(n) % 4 == 1).astype(np.int64)
    original = codes.astype(float)[:, None]
    tried = held_out(n)
    original[tried, 0] = 0.5 + np.linspace(-1e-6, 1e-6, tried.sum())
    pair = Pair(original, original.copy(), ("a",), {"sick": codes})
    right, _ = slow_right(pair, standardised(pair)[0], codes.tolist())
    assert CLASSIFICATION_KEPT.compute(pair).details["accuracy_original"] == pytest.approx(
        100.0 * right
    )

"""SSE and IL in three scalings."""

from __future__ import annotations

import math
from dataclasses import replace

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
    weights_of,
)
from microagg.measures.loss import squared
from microagg.measures.loss.sse import information_loss
from microagg.measures.measure import Pair

FORMS = {
    "zscore": (squared.SSE, squared.IL),
    "minmax": (squared.SSE_MINMAX, squared.IL_MINMAX),
    "none": (squared.SSE_RAW, squared.IL_RAW),
}


def slow(pair: Pair, scale: str) -> tuple[dict[str, float], dict[str, float]]:
    """SSE and SST of each column."""
    w, sse, sst = weights_of(pair), {}, {}
    for name, x, y in columns_of(pair):
        unit = 1.0
        if not is_constant(x):
            unit = {"zscore": deviation(x, w), "minmax": max(x) - min(x), "none": 1.0}[scale]
        centre = x[0] if is_constant(x) else average(x, w)
        sse[name] = math.fsum(w[i] * ((x[i] - y[i]) / unit) ** 2 for i in range(len(x)))
        sst[name] = math.fsum(w[i] * ((x[i] - centre) / unit) ** 2 for i in range(len(x)))
    return sse, sst


@pytest.mark.parametrize("scale", FORMS)
@pytest.mark.parametrize("seed", SEEDS)
def test_equals_the_transcription(seed: int, scale: str) -> None:
    pair = random_pair(seed)
    sse, sst = slow(pair, scale)
    sums, percents = (measure.compute(pair) for measure in FORMS[scale])
    agrees(sums, math.fsum(sse.values()), sse)
    total = math.fsum(sst.values())
    loss = 100.0 * math.fsum(sse.values()) / total if total else 0.0
    columns = {name: 100.0 * sse[name] / sst[name] if sst[name] else 0.0 for name in sse}
    # one value for all loses everything and no more
    one_value = [
        name
        for name, column in zip(pair.names, pair.released.T, strict=True)
        if len(set(column)) == 1
    ]
    columns.update({name: min(columns[name], 100.0) for name in one_value})
    agrees(percents, min(loss, 100.0) if len(one_value) == len(columns) else loss, columns, 1e-6)


@pytest.mark.parametrize("scale", FORMS)
@pytest.mark.parametrize("weighted", [False, True])
def test_extremes(scale: str, weighted: bool) -> None:
    pair = related_pair(weighted=weighted)
    sums, percents = FORMS[scale]
    assert sums.compute(identical(pair)).value == percents.compute(identical(pair)).value == 0.0
    figure = percents.compute(collapsed(pair))
    assert figure.value == pytest.approx(100.0)
    assert figure.columns == pytest.approx({"a": 100.0, "b": 100.0, "c": 100.0, "d": 0.0})


def test_il_is_what_a_release_states_of_itself() -> None:
    rng = np.random.default_rng(0)
    points, labels = rng.normal(size=(90, 3)), np.repeat(np.arange(30), 3)
    released = np.array([points[labels == g].mean(axis=0) for g in range(30)])[labels]
    standard = (points - points.mean(axis=0)) / points.std(axis=0)
    figure = squared.IL.compute(Pair(points, released, ("a", "b", "c")))
    assert figure.value == pytest.approx(information_loss(standard, labels))
    assert figure.value == pytest.approx(np.mean(list(figure.columns.values())))


def test_a_weight_of_two_is_two_records() -> None:
    pair = random_pair(1)
    twice = Pair(np.tile(pair.original, (2, 1)), np.tile(pair.released, (2, 1)), pair.names)
    weighted = replace(pair, weights=np.full(len(pair.original), 2.0))
    for sums, percents in FORMS.values():
        assert sums.compute(weighted).value == pytest.approx(sums.compute(twice).value)
        assert percents.compute(weighted).value == pytest.approx(percents.compute(twice).value)


def test_read_only_and_column_order_tables() -> None:
    pair = random_pair(2)
    frozen = np.asfortranarray(pair.original)
    frozen.flags.writeable = False
    assert (
        squared.IL.compute(replace(pair, original=frozen)).value == squared.IL.compute(pair).value
    )

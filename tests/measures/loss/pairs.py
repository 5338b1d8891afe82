"""Random pairs of tables that measures go wrong on, and the slow words that their transcriptions
share.

Nothing here uses a formula of microagg: numbers are added by `math.fsum`, in the columns' own
units.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

import plain
from microagg.measures.measure import Figure, Pair

SEEDS = range(100)
EPSILON = 2.0**-52


def random_pair(seed: int) -> Pair:
    """Up to 40 records in up to 4 columns; a third of the pairs has weights."""
    rng = np.random.default_rng([5, seed])
    points = plain.hard_points(rng, seed % len(plain.KINDS))
    n = int(rng.integers(1, 9) if seed % 5 == 0 else rng.integers(9, 41))
    original = np.ascontiguousarray(points[:n, : int(rng.integers(1, 5))])
    names = tuple("abcd"[: original.shape[1]])
    pair = Pair(
        original,
        _released(rng, original),
        names,
        _confidential(rng, original),
        _ordered(rng, original),
    )
    if seed % 3 == 0:
        floats = seed % 2 == 0
        weights = (
            rng.lognormal(0, 1, len(original))
            if floats
            else rng.integers(1, 6, len(original)) * 1.0
        )
        pair = replace(pair, weights=weights)
    return pair


def _released(rng: np.random.Generator, original: np.ndarray) -> np.ndarray:
    """Return a possible release: group means (mostly), other records' values, noise, rounded, as it
    was.
    """
    n = len(original)
    what = rng.integers(0, 8)
    if what < 4:
        order = np.argsort(original[:, 0], kind="stable") if what < 3 else rng.permutation(n)
        groups = np.array_split(order, max(1, n // int(rng.integers(2, 6))))
        released = original.copy()
        for group in groups:
            released[group] = original[group].mean(axis=0)
        return released
    if what == 4:
        return original[rng.permutation(n)]
    if what == 5:
        return original + rng.normal(size=original.shape) * np.ptp(original, axis=0) * rng.uniform(
            0.01, 1.0
        )
    if what == 6:
        return original + rng.normal(size=original.shape)
    return original.copy()


def _confidential(rng: np.random.Generator, original: np.ndarray) -> dict[str, np.ndarray]:
    """One column that follows the first quasi-identifier, one that follows none, and one that is no
    category.
    """
    n = len(original)
    ranks = np.argsort(np.argsort(original[:, 0], kind="stable"), kind="stable")
    followed = ranks * int(rng.integers(1, 5)) // n + 3 * (rng.random(n) < 0.1)
    return {
        "followed": followed.astype(np.int64),
        "free": rng.integers(0, 3, n).astype(np.int32),
        "number": rng.normal(size=n),
    }


def _ordered(rng: np.random.Generator, original: np.ndarray) -> dict[str, np.ndarray]:
    total = original.sum(axis=1)
    return (
        {"level": np.digitize(total, np.quantile(total, [0.3, 0.7]))} if rng.random() < 0.5 else {}
    )


def collapsed(pair: Pair) -> Pair:
    """The same table, every record at the (weighted) means of the columns."""
    w = weights_of(pair)
    means = [average(column, w) for column in pair.original.T]
    return replace(pair, released=np.tile(means, (len(pair.original), 1)))


def identical(pair: Pair) -> Pair:
    return replace(pair, released=pair.original.copy())


def related_pair(n: int = 400, weighted: bool = False) -> Pair:
    """Three columns that tell of each other and of a confidential one, a fourth that is constant;
    not yet masked.
    """
    rng = np.random.default_rng(1)
    one = rng.normal(size=n)
    columns = [
        one,
        one + 0.5 * rng.normal(size=n),
        10.0 - 3.0 * one + rng.normal(size=n),
        np.full(n, 0.1),
    ]
    table = np.column_stack(columns)
    weights = rng.uniform(0.5, 3.0, n) if weighted else None
    return Pair(
        table,
        table.copy(),
        ("a", "b", "c", "d"),
        {"sick": (one > 0.3).astype(np.int64)},
        weights=weights,
    )


def weights_of(pair: Pair) -> list[float]:
    return [1.0] * len(pair.original) if pair.weights is None else pair.weights.tolist()


def size_of(weights: Sequence[float]) -> float:
    """Kish's effective number of records."""
    return math.fsum(weights) ** 2 / math.fsum(w * w for w in weights)


def average(values: Sequence[float] | np.ndarray, weights: Sequence[float]) -> float:
    return math.fsum(w * float(x) for x, w in zip(values, weights, strict=True)) / math.fsum(
        weights
    )


def deviation(values: Sequence[float] | np.ndarray, weights: Sequence[float]) -> float:
    """The population standard deviation; 1 for a constant column."""
    if min(values) == max(values):
        return 1.0
    centre = average(values, weights)
    return math.sqrt(average([(float(x) - centre) ** 2 for x in values], weights))


def is_constant(values: Sequence[float] | np.ndarray) -> bool:
    return bool(min(values) == max(values))


def rounding(values: Sequence[float] | np.ndarray, weights: Sequence[float]) -> float:
    """Differences of a column up to this are rounding, in the column's own unit."""
    largest = max(abs(float(x)) for x in values)
    if is_constant(values):
        return 1e-12 * largest
    return max(1e-9 * deviation(values, weights), 16.0 * EPSILON * largest)


def columns_of(pair: Pair) -> list[tuple[str, list[float], list[float]]]:
    """Name, values before and values after of each column; an unchanged constant column is exactly
    unchanged.
    """
    columns = []
    for name, x, y in zip(
        pair.names, pair.original.T.tolist(), pair.released.T.tolist(), strict=True
    ):
        if is_constant(x):
            y = [x[0] if abs(b - x[0]) <= rounding(x, [1.0] * len(x)) else b for b in y]
        columns.append((name, x, y))
    return columns


def standardised(pair: Pair) -> tuple[list[list[float]], list[list[float]]]:
    """Columns before and after, in units of the original's means and standard deviations."""
    w = weights_of(pair)
    before, after = [], []
    for _, x, y in columns_of(pair):
        centre, unit = (x[0] if is_constant(x) else average(x, w)), deviation(x, w)
        before.append([(a - centre) / unit for a in x])
        after.append([(b - centre) / unit for b in y])
    return before, after


def agrees(
    figure: Figure, value: float, columns: dict[str, float], tolerance: float = 1e-7
) -> None:
    """The figure and its columns are those expected, and finite."""
    assert math.isfinite(figure.value)
    assert abs(figure.value - value) <= tolerance * max(1.0, abs(value)), (figure.value, value)
    assert set(figure.columns) == set(columns)
    for name, expected in columns.items():
        assert abs(figure.columns[name] - expected) <= tolerance * max(1.0, abs(expected)), name

"""Random releases that measures of risk go wrong on, and the slow words that their transcriptions
share.

Nothing here uses a formula of microagg: records are compared one by one, numbers added by
`math.fsum`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

import plain
from microagg.measures.measure import Figure, Pair

SEEDS = range(100)


def random_pair(seed: int) -> Pair:
    """Up to 40 records in up to 4 columns, with kept and confidential ones; every third pair has
    weights.
    """
    rng = np.random.default_rng([6, seed])
    points = plain.hard_points(rng, seed % len(plain.KINDS))
    n = int(rng.integers(1, 9) if seed % 5 == 0 else rng.integers(9, 41))
    original = np.ascontiguousarray(points[:n, : int(rng.integers(1, 5))])
    n = len(original)
    weights = None
    if seed % 3 == 0:
        weights = rng.lognormal(0, 1, n) if seed % 2 == 0 else rng.integers(1, 6, n) * 1.0
    return Pair(
        original,
        _released(rng, original),
        tuple("abcd"[: original.shape[1]]),
        confidential={
            "wage": rng.normal(size=n),
            "rounded": np.round(rng.normal(size=n), 0),
            "disease": rng.integers(0, 4, n),
            "fixed": np.full(n, 0.1),
            "same": np.zeros(n, np.int64),
        },
        ordered={"school": rng.integers(0, 3, n)},
        kept={"sex": rng.integers(0, 2, n), "region": rng.integers(0, 3, n)},
        weights=weights,
        k=int(rng.integers(2, 5)),
    )


def _released(rng: np.random.Generator, original: np.ndarray) -> np.ndarray:
    """Group means (mostly), other records' values, noise, coarse values, as it was."""
    n = len(original)
    what = rng.integers(0, 8)
    if what < 4:
        order = np.argsort(original[:, 0], kind="stable") if what < 3 else rng.permutation(n)
        released = original.copy()
        for group in np.array_split(order, max(1, n // int(rng.integers(2, 6)))):
            released[group] = original[group].mean(axis=0)
        return released
    if what == 4:
        return original[rng.permutation(n)]
    if what == 5:
        return original + rng.normal(size=original.shape) * np.ptp(original, axis=0) * rng.uniform(
            0.01, 1.0
        )
    return np.round(original, 0) if what == 6 else original.copy()


def distinct_pair(n: int = 60, weighted: bool = False) -> Pair:
    """Records that all differ, not yet masked."""
    rng = np.random.default_rng(2)
    table = rng.lognormal(size=(n, 3))
    return Pair(
        table,
        table.copy(),
        ("a", "b", "c"),
        confidential={"wage": rng.normal(size=n), "disease": np.arange(n) % 3},
        ordered={"school": np.arange(n) % 4},
        kept={"sex": np.arange(n) % 2},
        weights=rng.uniform(1.0, 5.0, n) if weighted else None,
    )


def collapsed(pair: Pair) -> Pair:
    """The same table, every record at the means of the columns."""
    return replace(pair, released=np.tile(pair.original.mean(axis=0), (len(pair.original), 1)))


def weights_of(pair: Pair) -> list[float]:
    return [1.0] * len(pair.original) if pair.weights is None else pair.weights.tolist()


def percent(counted: Sequence[float], weights: Sequence[float]) -> float:
    """The weighted mean, in percent."""
    parts = [w * c for w, c in zip(weights, counted, strict=True)]
    return 100.0 * math.fsum(parts) / math.fsum(weights)


def deviation(values: Sequence[float]) -> float:
    """The population standard deviation; exactly 0 for equal values."""
    if min(values) == max(values):
        return 0.0
    centre = math.fsum(values) / len(values)
    return math.sqrt(math.fsum((x - centre) * (x - centre) for x in values) / len(values))


def classes_of(pair: Pair, with_kept: bool = False) -> list[list[int]]:
    """The records of each class, found by comparing rows."""
    kept = [column.tolist() for column in pair.kept.values()] if with_kept else []
    classes: dict[tuple[float, ...], list[int]] = {}
    for record, row in enumerate(pair.released.tolist()):
        key = (*(0.0 if x == 0.0 else x for x in row), *(column[record] for column in kept))
        classes.setdefault(key, []).append(record)
    return list(classes.values())


def agrees(
    figure: Figure, value: float, columns: dict[str, float] | None = None, tolerance: float = 1e-9
) -> None:
    """The figure and its columns are those expected, and everything it tells is finite."""
    assert all(math.isfinite(x) for x in (*figure.columns.values(), *figure.details.values()))
    assert figure.value == value or abs(figure.value - value) <= tolerance * max(1.0, abs(value))
    if columns is not None:
        assert set(figure.columns) == set(columns)
        for name, expected in columns.items():
            assert abs(figure.columns[name] - expected) <= tolerance * max(1.0, abs(expected)), name

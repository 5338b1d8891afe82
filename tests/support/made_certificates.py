"""Certificates of bounds made the slow way, honest ones, and an oracle that looks at every set of
records.
"""

from __future__ import annotations

import copy
import hashlib
import itertools
import math
from typing import Any

import highspy
import numpy as np

Cut = tuple[tuple[int, ...], int, float]  # records, p and penalty
Certificate = dict[str, Any]


# The oracle: every set of k to 2k-1 records, one by one.


def squared_distances(points: np.ndarray) -> np.ndarray:
    difference = points[:, None, :] - points[None, :, :]
    return (difference * difference).sum(axis=2)


def total_squares(points: np.ndarray) -> float:
    return float(squared_distances(points).sum()) / 2.0 / len(points)


def all_sets(n: int, k: int) -> np.ndarray:
    """Every set of k to 2k-1 records: a row of zeros and ones each."""
    sets = [
        s
        for size in range(k, min(2 * k - 1, n) + 1)
        for s in itertools.combinations(range(n), size)
    ]
    rows = np.zeros((len(sets), n))
    for row, members in zip(rows, sets, strict=True):
        row[list(members)] = 1.0
    return rows


def costs_of(points: np.ndarray, sets: np.ndarray) -> np.ndarray:
    return ((sets @ squared_distances(points)) * sets).sum(axis=1) / 2.0 / sets.sum(axis=1)


def reliefs_of(sets: np.ndarray, cut_sets: list[tuple[int, ...]], parts: list[int]) -> np.ndarray:
    """floor(|S and c| / p) for every set and cut."""
    columns = [
        sets[:, list(records)].sum(axis=1) // p for records, p in zip(cut_sets, parts, strict=True)
    ]
    return np.column_stack(columns) if columns else np.zeros((len(sets), 0))


def largest_violation(points: np.ndarray, k: int, pi: np.ndarray, cuts: list[Cut]) -> float:
    sets = all_sets(len(points), k)
    relief = reliefs_of(sets, [records for records, _, _ in cuts], [p for _, p, _ in cuts])
    relief = relief @ np.array([penalty for _, _, penalty in cuts])
    return float((sets @ pi - relief - costs_of(points, sets)).max())


def oracle(points: np.ndarray, certificate: Certificate) -> bool:
    """Does the certificate prove its claim? The same allowance as the checker's, far below every
    tampering here.
    """
    k, claim, sst = certificate["k"], certificate["claim"]["sse"], total_squares(points)
    if claim <= 0.0:
        return True
    if len(points) < 2 * k:
        return claim <= sst * (1.0 - 1e-10)
    pi = np.array(certificate["pi"])
    cuts = [(tuple(cut["records"]), cut.get("p", 2), cut["penalty"]) for cut in certificate["cuts"]]
    proven = pi.sum() - sum(penalty * (len(records) // p) for records, p, penalty in cuts)
    holds = largest_violation(points, k, pi, cuts) <= 1e-9 * sst / len(points)
    return holds and claim <= proven - 0.9e-9 * sst


# Makers of certificates.


def digest_of(values: np.ndarray) -> str:
    n, d = values.shape
    return hashlib.sha256(f"{n} {d}\n".encode() + values.astype("<f8").tobytes()).hexdigest()


def scaled(values: np.ndarray, scale: str) -> tuple[np.ndarray, np.ndarray]:
    d = values.shape[1]
    if scale == "zscore":
        centre, width = values.mean(axis=0), values.std(axis=0)
    elif scale == "minmax":
        centre, width = values.min(axis=0), values.max(axis=0) - values.min(axis=0)
    elif scale == "robust":
        low, centre, high = np.quantile(values, [0.25, 0.5, 0.75], axis=0)
        width = np.where(high > low, high - low, values.std(axis=0))
    else:
        return np.zeros(d), np.ones(d)
    return centre, np.where(values.min(axis=0) == values.max(axis=0), 1.0, width)


def claim_of(points: np.ndarray, sse: float) -> dict[str, float]:
    sst = total_squares(points)
    return {"sse": float(sse), "il": 100.0 * float(sse) / sst if sst else 0.0}


def make(
    values: np.ndarray, k: int, pi: np.ndarray, cuts: list[Cut] | None = None, scale: str = "none"
) -> Certificate:
    """A certificate that claims all that its numbers prove, less the room that rounding needs."""
    cuts = cuts or []
    centre, width = scaled(values, scale)
    points = (values - centre) / width
    proven = math.fsum(pi) - sum(penalty * (len(records) // p) for records, p, penalty in cuts)
    return {
        "format": "microagg-bound/2",
        "k": k,
        "records": len(values),
        "claim": claim_of(points, proven - 1e-9 * total_squares(points)),
        "data": {
            "columns": None,
            "scale": scale,
            "centre": centre.tolist(),
            "width": width.tolist(),
            "digest": digest_of(values),
        },
        "pi": [float(number) for number in pi],
        "cuts": [
            {"records": list(records), "p": p, "penalty": float(penalty)}
            for records, p, penalty in cuts
        ],
    }


def instant(points: np.ndarray, k: int) -> np.ndarray:
    d2 = squared_distances(points)
    np.fill_diagonal(d2, np.inf)
    return np.sort(d2, axis=1)[:, : k - 1].sum(axis=1) / (2.0 * k)


def best_prices(
    points: np.ndarray,
    sets: np.ndarray,
    cut_sets: list[tuple[int, ...]],
    parts: list[int],
    largest: float = highspy.kHighsInf,
) -> np.ndarray:
    """The linear program over these sets: the best pi, then the penalties; no pi is above
    `largest` in size.
    """
    n, infinity = len(points), highspy.kHighsInf
    rows = np.hstack([sets, -reliefs_of(sets, cut_sets, parts)])
    filled = rows != 0.0
    gain = np.array([1.0] * n + [-float(len(c) // p) for c, p in zip(cut_sets, parts, strict=True)])
    model = highspy.Highs()
    model.setOptionValue("output_flag", False)
    for index, factor in enumerate(gain):
        model.addVar(-largest if index < n else 0.0, largest if index < n else infinity)
        model.changeColCost(index, -factor)
    starts = np.concatenate([[0], np.cumsum(filled.sum(axis=1))[:-1]]).astype(np.int32)
    places = np.nonzero(filled)[1].astype(np.int32)
    status = model.addRows(
        len(rows),
        np.full(len(rows), -infinity),
        costs_of(points, sets),
        len(places),
        starts,
        places,
        rows[filled],
    )
    assert status == highspy.HighsStatus.kOk
    model.run()
    assert model.getModelStatus() == highspy.HighsModelStatus.kOptimal
    return np.array(model.getSolution().col_value)


def tight(
    points: np.ndarray,
    k: int,
    cut_sets: list[tuple[int, ...]] | None = None,
    overlooked: int = 0,
    parts: list[int] | None = None,
) -> tuple[np.ndarray, list[Cut]]:
    """The best pi and penalties: the linear program over all sets, then lowered by what the
    solver's tolerance left.

    With `overlooked`, the sets of this size are forgotten: the certificate of a solver with an
    error.
    """
    cut_sets = cut_sets or []
    parts = parts or [2] * len(cut_sets)
    n = len(points)
    sets = all_sets(n, k)
    sets = sets[sets.sum(axis=1) != overlooked]
    solution = best_prices(points, sets, cut_sets, parts)
    cuts = [
        (c, p, float(x)) for c, p, x in zip(cut_sets, parts, solution[n:], strict=True) if x > 1e-9
    ]
    pi = solution[:n]
    if overlooked:
        return pi - 1e-6 * np.abs(pi).max(), cuts
    return pi - max(0.0, largest_violation(points, k, pi, cuts)) / k, cuts


def small_values(rng: np.random.Generator, n: int) -> np.ndarray:
    values = rng.normal(size=(n, int(rng.integers(1, 7))))
    kind = int(rng.integers(4))
    if kind == 1:
        values = values[rng.integers(0, max(2, n // 2), n)]  # duplicates
    elif kind == 2:
        values[:, int(rng.integers(values.shape[1]))] = 3.7  # a constant column
    elif kind == 3:
        values = np.round(values)  # ties
    return values


def random_cuts(rng: np.random.Generator, n: int) -> list[tuple[int, ...]]:
    sizes = [size for size in (3, 3, 3, 3, 3, 5, 5, 7) if size <= n]
    drawn = {tuple(sorted(rng.choice(n, size, replace=False).tolist())) for size in sizes * 4}
    return sorted(drawn)


def values_scaled(values: np.ndarray) -> np.ndarray:
    centre, width = scaled(values, "zscore")
    return (values - centre) / width


_made: list[tuple[np.ndarray, Certificate]] = []


def tight_with_cuts() -> tuple[np.ndarray, Certificate]:
    """Eleven records in clumps of four and seven: at k = 3 triples and a cut of five carry
    penalties.
    """
    if not _made:
        rng = np.random.default_rng(12)
        values = rng.normal(size=(11, 2)) * [10.0, 3.0] + [100.0, 7.0]
        cut_sets = [s for size in (3, 5) for s in itertools.combinations(range(11), size)]
        pi, cuts = tight(values_scaled(values), 3, cut_sets)
        assert cuts
        _made.append((values, make(values, 3, pi, cuts, "zscore")))
    values, certificate = _made[0]
    return values.copy(), copy.deepcopy(certificate)

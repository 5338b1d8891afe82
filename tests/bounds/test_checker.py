"""The checker of certificates against an oracle that lists every set, and against 70 ways of lying."""

from __future__ import annotations

import copy
import csv
import hashlib
import itertools
import json
import math
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import highspy
import numpy as np
import pytest

import microagg.verify_bound as checker
from microagg.errors import InputError
from microagg.verify_bound import check_certificate, verify

Cut = tuple[tuple[int, ...], float]
Certificate = dict[str, Any]


# The oracle: every set of k to 2k-1 records, one by one.


def squared_distances(points: np.ndarray) -> np.ndarray:
    difference = points[:, None, :] - points[None, :, :]
    return (difference * difference).sum(axis=2)


def total_squares(points: np.ndarray) -> float:
    return float(squared_distances(points).sum()) / 2.0 / len(points)


def all_sets(n: int, k: int) -> np.ndarray:
    """Every set of k to 2k-1 records: a row of zeros and ones each."""
    sets = [s for size in range(k, min(2 * k - 1, n) + 1) for s in itertools.combinations(range(n), size)]
    rows = np.zeros((len(sets), n))
    for row, members in zip(rows, sets, strict=True):
        row[list(members)] = 1.0
    return rows


def costs_of(points: np.ndarray, sets: np.ndarray) -> np.ndarray:
    return ((sets @ squared_distances(points)) * sets).sum(axis=1) / 2.0 / sets.sum(axis=1)


def reliefs_of(sets: np.ndarray, cut_sets: list[tuple[int, ...]]) -> np.ndarray:
    """floor(|S and c| / 2) for every set and cut."""
    columns = [sets[:, list(records)].sum(axis=1) // 2 for records in cut_sets]
    return np.column_stack(columns) if columns else np.zeros((len(sets), 0))


def largest_violation(points: np.ndarray, k: int, pi: np.ndarray, cuts: list[Cut]) -> float:
    sets = all_sets(len(points), k)
    relief = reliefs_of(sets, [records for records, _ in cuts]) @ np.array([penalty for _, penalty in cuts])
    return float((sets @ pi - relief - costs_of(points, sets)).max())


def oracle(points: np.ndarray, certificate: Certificate) -> bool:
    """Does the certificate prove its claim? The same allowance as the checker's, far below every tampering here."""
    k, claim, sst = certificate["k"], certificate["claim"]["sse"], total_squares(points)
    if claim <= 0.0:
        return True
    if len(points) < 2 * k:
        return claim <= sst * (1.0 - 1e-10)
    pi = np.array(certificate["pi"])
    cuts = [(tuple(cut["records"]), cut["penalty"]) for cut in certificate["cuts"]]
    proven = pi.sum() - sum(penalty * (len(records) // 2) for records, penalty in cuts)
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
    proven = math.fsum(pi) - sum(penalty * (len(records) // 2) for records, penalty in cuts)
    return {
        "format": "microagg-bound/1",
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
        "cuts": [{"records": list(records), "penalty": float(penalty)} for records, penalty in cuts],
    }


def instant(points: np.ndarray, k: int) -> np.ndarray:
    d2 = squared_distances(points)
    np.fill_diagonal(d2, np.inf)
    return np.sort(d2, axis=1)[:, : k - 1].sum(axis=1) / (2.0 * k)


def tight(
    points: np.ndarray, k: int, cut_sets: list[tuple[int, ...]] | None = None, overlooked: int = 0
) -> tuple[np.ndarray, list[Cut]]:
    """The best pi and penalties: the linear program over all sets, then lowered by what the solver's tolerance left.

    With `overlooked`, the sets of this size are forgotten: the certificate of a solver with an error.
    """
    cut_sets = cut_sets or []
    n, infinity = len(points), highspy.kHighsInf
    sets = all_sets(n, k)
    sets = sets[sets.sum(axis=1) != overlooked]
    rows = np.hstack([sets, -reliefs_of(sets, cut_sets)])
    filled = rows != 0.0
    gain = np.array([1.0] * n + [-float(len(records) // 2) for records in cut_sets])
    model = highspy.Highs()
    model.setOptionValue("output_flag", False)
    for place, factor in enumerate(gain):
        model.addVar(-infinity if place < n else 0.0, infinity)
        model.changeColCost(place, -factor)
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
    solution = np.array(model.getSolution().col_value)
    cuts = [(records, float(p)) for records, p in zip(cut_sets, solution[n:], strict=True) if p > 1e-9]
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


# The enumeration.


@pytest.mark.parametrize("seed", range(60))
def test_every_negative_set_is_met_exactly_once_also_with_ties(seed: int):
    rng = np.random.default_rng(seed)
    n, size = int(rng.integers(4, 11)), int(rng.integers(2, 7))
    size = min(size, n)
    weights = rng.integers(-3, 4 + seed % 4, (n, n))
    weights = np.triu(weights, 1) + np.triu(weights, 1).T
    found: dict[str, Any] = {"sets_examined": 0}
    met = [tuple(sorted(s)) for sets in checker._negative_sets(weights, size, found) for s in sets.tolist()]
    expected = [s for s in itertools.combinations(range(n), size) if weights[np.ix_(s, s)].sum() < 0]
    assert sorted(met) == expected
    assert found["sets_examined"] >= len(expected)


def test_small_steps_meet_the_same_sets(monkeypatch: pytest.MonkeyPatch):
    rng = np.random.default_rng(1)
    weights = np.triu(rng.integers(-3, 6, (12, 12)), 1)
    weights = weights + weights.T
    found: dict[str, Any] = {"sets_examined": 0}
    whole = sorted(
        tuple(sorted(s)) for sets in checker._negative_sets(weights, 5, found) for s in sets.tolist()
    )
    monkeypatch.setattr(checker, "CELLS", 24)
    pieces = sorted(
        tuple(sorted(s)) for sets in checker._negative_sets(weights, 5, found) for s in sets.tolist()
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
            place = int(rng.integers(len(other)))
            other[place] = (other[place][0], other[place][1] * float(rng.choice([0.0, 0.5, 0.99, 1.5])))
        perturbed = make(values, k, changed, other, scale)
        assert check_certificate(perturbed, values).holds == oracle(points, perturbed)
    raised = pi + unit * 1e-6 * (np.arange(n) == seed % n)  # at the optimum every record is in a tight set
    assert (
        honest["claim"]["sse"] <= 0.0
        or not check_certificate(make(values, k, raised, cuts, scale), values).holds
    )


@pytest.mark.parametrize(
    ("k", "overlooked"), [(2, 2), (2, 3), (3, 3), (3, 4), (3, 5), (4, 5), (4, 6), (4, 7)]
)
def test_no_size_may_be_overlooked(k: int, overlooked: int):
    """Without cuts the smallest size implies the others; with penalties on a clump of records each size counts."""
    rejected = 0
    for seed in range(6):
        rng = np.random.default_rng(seed)
        values = rng.normal(size=(2 * k + 3, 2)) * 0.3 + 4.0 * (np.arange(2 * k + 3) >= overlooked)[:, None]
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


# Fifty lies and more about one tight certificate with cuts.


def values_scaled(values: np.ndarray) -> np.ndarray:
    centre, width = scaled(values, "zscore")
    return (values - centre) / width


_made: list[tuple[np.ndarray, Certificate]] = []


def tight_with_cuts() -> tuple[np.ndarray, Certificate]:
    """Eleven records in clumps of four and seven: at k = 3 triples and a cut of five carry penalties."""
    if not _made:
        rng = np.random.default_rng(12)
        values = rng.normal(size=(11, 2)) * [10.0, 3.0] + [100.0, 7.0]
        cut_sets = [s for size in (3, 5) for s in itertools.combinations(range(11), size)]
        pi, cuts = tight(values_scaled(values), 3, cut_sets)
        assert cuts
        _made.append((values, make(values, 3, pi, cuts, "zscore")))
    values, certificate = _made[0]
    return values.copy(), copy.deepcopy(certificate)


Lie = Callable[[np.ndarray, Certificate], np.ndarray | None]


def raise_bound(factor: float) -> Lie:
    def lie(values: np.ndarray, c: Certificate) -> None:
        c["claim"] = claim_of(values_scaled(values), c["claim"]["sse"] * factor)

    return lie


def raise_il(factor: float) -> Lie:
    def lie(values: np.ndarray, c: Certificate) -> None:
        c["claim"]["il"] *= factor

    return lie


def raise_pi(record: int, by: float, *, claim: bool) -> Lie:
    def lie(values: np.ndarray, c: Certificate) -> None:
        c["pi"][record] += by
        if claim:
            c["claim"] = claim_of(values_scaled(values), c["claim"]["sse"] + by)

    return lie


def swap_pi(a: int, b: int) -> Lie:
    def lie(values: np.ndarray, c: Certificate) -> None:
        c["pi"][a], c["pi"][b] = c["pi"][b], c["pi"][a]

    return lie


def lower_penalty(place: int, factor: float | None) -> Lie:
    def lie(values: np.ndarray, c: Certificate) -> None:
        heaviest = sorted(c["cuts"], key=lambda cut: -cut["penalty"])[place]
        if factor is None:
            c["cuts"].remove(heaviest)
        else:
            heaviest["penalty"] *= factor

    return lie


def move_cut(values: np.ndarray, c: Certificate) -> None:
    heaviest = max(c["cuts"], key=lambda cut: cut["penalty"])
    outside = [record for record in range(len(values)) if record not in heaviest["records"]]
    heaviest["records"][0] = outside[0]


def drop_all_cuts(values: np.ndarray, c: Certificate) -> None:
    c["cuts"] = []


def flatten(values: np.ndarray, c: Certificate) -> None:
    c["pi"] = [math.fsum(c["pi"]) / len(values)] * len(values)


def reverse(values: np.ndarray, c: Certificate) -> None:
    c["pi"].reverse()


def multiply_pi(values: np.ndarray, c: Certificate) -> None:
    c["pi"] = [1.01 * number for number in c["pi"]]


def change_cell(row: int, column: int, factor: float, *, forge: bool) -> Lie:
    def lie(values: np.ndarray, c: Certificate) -> np.ndarray:
        values[row, column] *= factor
        return forged(values, c) if forge else values

    return lie


def forged(values: np.ndarray, c: Certificate) -> np.ndarray:
    """Other data under the same pi, with digest, scaling and il made to fit."""
    centre, width = scaled(values, "zscore")
    c["data"].update(digest=digest_of(values), centre=centre.tolist(), width=width.tolist())
    c["claim"] = claim_of((values - centre) / width, c["claim"]["sse"])
    return values


def permute(seed: int, *, forge: bool) -> Lie:
    def lie(values: np.ndarray, c: Certificate) -> np.ndarray:
        values = values[np.random.default_rng(seed).permutation(len(values))]
        return forged(values, c) if forge else values

    return lie


def swap_columns(values: np.ndarray, c: Certificate) -> np.ndarray:
    return values[:, ::-1].copy()


def remove_record(row: int, *, forge: bool) -> Lie:
    def lie(values: np.ndarray, c: Certificate) -> np.ndarray:
        values = np.delete(values, row, axis=0)
        if forge:
            c["records"] -= 1
            del c["pi"][row]
            c["cuts"] = [cut for cut in c["cuts"] if row not in cut["records"]]
            for cut in c["cuts"]:
                cut["records"] = [record - (record > row) for record in cut["records"]]
            return forged(values, c)
        return values

    return lie


def repeat_record(values: np.ndarray, c: Certificate) -> np.ndarray:
    return np.vstack([values, values[:1]])


def smaller_k(values: np.ndarray, c: Certificate) -> None:
    c["k"] = 2


def too_small_k(values: np.ndarray, c: Certificate) -> None:
    c["k"] = 1


def as_scale(name: str) -> Lie:
    def lie(values: np.ndarray, c: Certificate) -> None:
        c["data"]["scale"] = name

    return lie


def stretch(column: int, factor: float, *, field: str = "width") -> Lie:
    """Smaller widths make larger points, in which a larger loss is easy to prove."""

    def lie(values: np.ndarray, c: Certificate) -> None:
        c["data"][field][column] *= factor
        points = (values - c["data"]["centre"]) / c["data"]["width"]
        c["claim"] = claim_of(points, c["claim"]["sse"])

    return lie


def other_digest(values: np.ndarray, c: Certificate) -> None:
    c["data"]["digest"] = digest_of(values + 1.0)


def fewer_columns(values: np.ndarray, c: Certificate) -> np.ndarray:
    return values[:, :1].copy()


LIES: list[tuple[str, Lie]] = [
    *(
        (f"bound x {factor}", raise_bound(factor))
        for factor in (1.0 + 1e-7, 1.0 + 1e-6, 1.0001, 1.01, 1.5, 1e6)
    ),
    *((f"il x {factor}", raise_il(factor)) for factor in (1.0 + 1e-6, 1.1, 100.0)),
    *((f"pi {record} raised", raise_pi(record, 1e-4, claim=False)) for record in range(11)),
    *((f"pi {record} and claim raised", raise_pi(record, 1e-5, claim=True)) for record in range(0, 11, 2)),
    *((f"pi {a} and {b} swapped", swap_pi(a, b)) for a, b in ((0, 1), (2, 5), (3, 9), (4, 10))),
    *(
        (f"penalty {place} x {factor}", lower_penalty(place, factor))
        for place in (0, 1)
        for factor in (0.999, 0.5, 0.0)
    ),
    *((f"penalty {place} dropped", lower_penalty(place, None)) for place in (0, 1, 2)),
    ("cut moved", move_cut),
    ("no cuts", drop_all_cuts),
    ("pi flattened", flatten),
    ("pi reversed", reverse),
    ("pi x 1.01", multiply_pi),
    *((f"cell {row} changed", change_cell(row, 0, 1.0 + 1e-12, forge=False)) for row in (0, 7)),
    *((f"cell {row} changed, forged", change_cell(row, 0, 1.05, forge=True)) for row in (1, 4, 8)),
    ("permuted", permute(0, forge=False)),
    *((f"permuted {seed}, forged", permute(seed, forge=True)) for seed in (1, 2, 3)),
    ("columns swapped", swap_columns),
    ("columns missing", fewer_columns),
    *((f"record {row} removed", remove_record(row, forge=False)) for row in (0, 10)),
    *((f"record {row} removed, forged", remove_record(row, forge=True)) for row in (2, 6)),
    ("record repeated", repeat_record),
    ("k = 2", smaller_k),
    ("k = 1", too_small_k),
    *((f"scale {name}", as_scale(name)) for name in ("minmax", "robust", "none", "ZSCORE")),
    *((f"width x {factor}", stretch(0, factor)) for factor in (0.5, 1.0 - 1e-6, 1.0 + 1e-6, -1.0)),
    ("centre moved", stretch(1, 1.001, field="centre")),
    ("digest", other_digest),
]


def test_there_are_more_than_fifty_lies():
    assert len(LIES) >= 50
    assert len({name for name, _ in LIES}) == len(LIES)


@pytest.mark.parametrize("lie", [lie for _, lie in LIES], ids=[name for name, _ in LIES])
def test_a_lie_is_rejected(lie: Lie):
    values, certificate = tight_with_cuts()
    assert check_certificate(certificate, values).holds
    changed = lie(values, certificate)
    verdict = check_certificate(certificate, values if changed is None else changed)
    assert not verdict.holds
    assert verdict.reason


# What is no certificate at all.


def put(*path: Any, value: Any) -> Callable[[Certificate], Any]:
    def change(certificate: Certificate) -> Any:
        holder: Any = certificate
        for step in path[:-1]:
            holder = holder[step]
        holder[path[-1]] = value
        return certificate

    return change


def drop(*path: Any) -> Callable[[Certificate], Any]:
    def change(certificate: Certificate) -> Any:
        holder: Any = certificate
        for step in path[:-1]:
            holder = holder[step]
        del holder[path[-1]]
        return certificate

    return change


MALFORMED = [
    *(lambda c, whole=whole: whole for whole in (None, [], {}, 3, "text", True)),
    *(drop(name) for name in ("format", "k", "records", "claim", "data", "pi", "cuts")),
    *(drop("data", name) for name in ("scale", "centre", "width", "digest")),
    *(drop("claim", name) for name in ("sse", "il")),
    *(put("k", value=value) for value in (True, 3.0, "3", None, -3, 0, 10**30)),
    *(put("records", value=value) for value in (True, 11.0, "11", None, -1, 0, 12, 10**30)),
    *(
        put("claim", "sse", value=value)
        for value in (math.nan, math.inf, -math.inf, True, "1", None, 10**400)
    ),
    *(put("claim", "il", value=value) for value in (math.nan, math.inf, True, "1", None)),
    *(put("claim", value=value) for value in ([], None, 1.0)),
    *(
        put("pi", 0, value=value)
        for value in (math.nan, math.inf, -math.inf, True, "1", None, [1.0], 10**400, 1e299)
    ),
    *(put("pi", value=value) for value in ([], None, {}, "pi", [[0.0] * 11], [0.0] * 12)),
    *(put("cuts", value=value) for value in (None, {}, [None], [[]], [3], ["cut"])),
    *(put("cuts", 0, "penalty", value=value) for value in (-1e-9, math.nan, math.inf, True, "1", None)),
    *(
        put("cuts", 0, "records", value=value)
        for value in (
            [],
            [0],
            [0, 1],
            [0, 1, 2, 3],
            [0, 0, 1],
            [0, 1, 11],
            [0, 1, -1],
            [0, 1, 2.0],
            [0, 1, True],
            None,
            [0, 1, [2]],
        )
    ),
    *(put("data", "columns", value=value) for value in ([], ["a"], ["a", "a"], ["a", 1], "ab", 3, True)),
    *(put("data", "centre", value=value) for value in ([], [1.0], None, [math.nan, 0.0], [True, 0.0])),
    *(put("data", "width", value=value) for value in ([], [1.0], None, [math.inf, 1.0], [0.0, 1.0])),
    *(put("data", "digest", value=value) for value in ("", None, 3, b"x")),
    *(put("data", "scale", value=value) for value in ("", None, 3, [])),
    put("format", value="microagg-bound/2"),
]


@pytest.mark.parametrize("change", MALFORMED)
def test_what_is_malformed_never_passes(change: Callable[[Certificate], Any]):
    values, certificate = tight_with_cuts()
    verdict = check_certificate(change(certificate), values)
    assert not verdict.holds
    assert verdict.reason.endswith(".")


@pytest.mark.parametrize(
    ("records", "penalty"),
    [
        *(([0, 1, 2], penalty) for penalty in (-1e-15, -1e-3, False, "0", None)),
        *((records, 0.0) for records in ([], [0], [0, 1], [0, 1, 2, 3], [0, 0, 1], [0, 1, -1], [0, 1, 11])),
        *((records, 0.0) for records in ([0, 1, 2.0], [0, 2, True], [0, 1, "2"], [0, 1, None], "012", 3)),
    ],
)
def test_a_malformed_cut_spoils_a_certificate_that_does_not_need_it(records: Any, penalty: Any):
    values, certificate = tight_with_cuts()
    certificate["cuts"].append({"records": [0, 1, 2], "penalty": 0.0})
    assert check_certificate(certificate, values).holds
    certificate["cuts"][-1] = {"records": records, "penalty": penalty}
    assert not check_certificate(certificate, values).holds


@pytest.mark.parametrize(
    "values",
    [
        np.zeros(11),
        np.zeros((11, 0)),
        np.zeros((0, 2)),
        np.full((11, 2), np.nan),
        np.full((11, 2), 1e200),
        np.zeros((1, 11, 2)),
    ],
)
def test_data_of_another_shape_never_pass(values: np.ndarray):
    _, certificate = tight_with_cuts()
    if values.ndim == 2:
        certificate["data"]["digest"] = digest_of(values)
        certificate["records"] = len(values)
    assert not check_certificate(certificate, values).holds


def test_points_too_large_to_be_squared_never_pass():
    values = np.random.default_rng(0).normal(size=(9, 2)) * 1e180
    certificate = make(np.ones((9, 2)), 3, np.full(9, 1e200))
    certificate["data"]["digest"] = digest_of(values)
    certificate["claim"] = {"sse": 1.0, "il": 0.0}
    assert not check_certificate(certificate, values).holds


def test_numbers_that_double_precision_cannot_tell_apart_never_pass():
    """Enormous pi under enormous penalties: the differences that matter would be lost in rounding."""
    values, certificate = tight_with_cuts()
    certificate["pi"] = [number + 1e12 for number in certificate["pi"]]
    certificate["cuts"] += [
        {"records": list(s), "penalty": 1e13} for s in itertools.combinations(range(11), 3)
    ]
    verdict = check_certificate(certificate, values)
    assert not verdict.holds
    assert "precision" in verdict.reason


def test_the_work_is_bounded(monkeypatch: pytest.MonkeyPatch):
    values, certificate = tight_with_cuts()
    monkeypatch.setattr(checker, "MOST_SETS", 3)
    verdict = check_certificate(certificate, values)
    assert not verdict.holds
    assert "not confirmed" in verdict.reason
    monkeypatch.setattr(checker, "MOST_RECORDS", 10)
    assert not check_certificate(certificate, values).holds


# Files.


def write_csv(
    path: Path, values: np.ndarray, header: list[str] | None, delimiter: str = ",", bom: bool = False
) -> None:
    with path.open("w", newline="", encoding="utf-8-sig" if bom else "utf-8") as file:
        writer = csv.writer(file, delimiter=delimiter)
        if header:
            writer.writerow(header)
        writer.writerows([[repr(float(cell)) for cell in row] for row in values])


@pytest.mark.parametrize(("delimiter", "bom"), [(",", False), (";", True), ("\t", False)])
def test_named_columns_of_a_csv_file(tmp_path: Path, delimiter: str, bom: bool):
    values, certificate = tight_with_cuts()
    certificate["data"]["columns"] = ["b b", "a"]
    (tmp_path / "cert.json").write_text(json.dumps(certificate))
    table = np.column_stack([values[:, 1], np.arange(11.0), values[:, 0]])
    write_csv(tmp_path / "data.csv", table, ["a", "other", "b b"], delimiter, bom)
    verdict = verify(tmp_path / "cert.json", tmp_path / "data.csv")
    assert verdict.holds, verdict.reason
    write_csv(tmp_path / "data.csv", table[:, :2], ["a", "b b"], delimiter, bom)
    assert not verify(tmp_path / "cert.json", tmp_path / "data.csv").holds
    for header in (["a", "other", "c"], ["b b", "a", "b b"]):
        write_csv(tmp_path / "data.csv", table, header, delimiter, bom)
        with pytest.raises(InputError, match="column"):
            verify(tmp_path / "cert.json", tmp_path / "data.csv")


def test_parquet_and_npy_and_bare_csv(tmp_path: Path):
    import pyarrow as pa
    from pyarrow import parquet

    values, certificate = tight_with_cuts()
    (tmp_path / "bare.json").write_text(json.dumps(certificate))
    np.save(tmp_path / "data.npy", values)
    write_csv(tmp_path / "data.csv", values, None)
    assert verify(tmp_path / "bare.json", tmp_path / "data.npy").holds
    assert verify(tmp_path / "bare.json", tmp_path / "data.csv").holds
    certificate["data"]["columns"] = ["x", "y"]
    (tmp_path / "named.json").write_text(json.dumps(certificate))
    parquet.write_table(
        pa.table({"y": values[:, 1], "z": ["t"] * 11, "x": values[:, 0]}), tmp_path / "data.parquet"
    )
    assert verify(tmp_path / "named.json", tmp_path / "data.parquet").holds
    parquet.write_table(pa.table({"y": [None, *values[1:, 1]], "x": values[:, 0]}), tmp_path / "gap.parquet")
    assert not verify(tmp_path / "named.json", tmp_path / "gap.parquet").holds
    parquet.write_table(pa.table({"y": values[:, 1]}), tmp_path / "less.parquet")
    with pytest.raises(InputError):
        verify(tmp_path / "named.json", tmp_path / "less.parquet")


@pytest.mark.parametrize(
    "text",
    ["", "{", "[" * 200_000, '{"k": ' * 100_000, "\x00", '{"k": 1e', "9" * 5000, '{"a": "\\ud800"'],
    ids=range(8),
)
def test_a_file_that_is_no_certificate(tmp_path: Path, text: str):
    (tmp_path / "cert.json").write_text(text)
    np.save(tmp_path / "data.npy", np.zeros((4, 1)))
    with pytest.raises(InputError):
        verify(tmp_path / "cert.json", tmp_path / "data.npy")


@pytest.mark.parametrize(
    "text", ["[]", "3", "null", '{"data": {"columns": 3}}', '{"data": {"columns": ["a", "a"]}}']
)
def test_a_certificate_without_content(tmp_path: Path, text: str):
    (tmp_path / "cert.json").write_text(text)
    assert not verify(tmp_path / "cert.json", tmp_path / "missing.npy").holds


@pytest.mark.parametrize(
    "content", [b"", b"a,b\n1,2\n", b"1,2\n3\n", b"1,\n2,3\n", b"\xff\xfe1,2", b"1;2\n3,5;4\n"]
)
def test_data_that_cannot_be_read(tmp_path: Path, content: bytes):
    _, certificate = tight_with_cuts()
    (tmp_path / "cert.json").write_text(json.dumps(certificate))
    for name in ("data.csv", "data.npy"):
        (tmp_path / name).write_bytes(content)
        try:
            assert not verify(tmp_path / "cert.json", tmp_path / name).holds
        except InputError as error:
            assert name in str(error)  # noqa: PT017
    with pytest.raises(InputError):
        verify(tmp_path / "cert.json", tmp_path / "missing.csv")


def test_it_runs_alone_and_says_one_sentence(tmp_path: Path):
    values, certificate = tight_with_cuts()
    np.save(tmp_path / "data.npy", values)
    (tmp_path / "true.json").write_text(json.dumps(certificate))
    certificate["claim"] = claim_of(values_scaled(values), 1.1 * certificate["claim"]["sse"])
    (tmp_path / "false.json").write_text(json.dumps(certificate))

    def run(*arguments: str) -> tuple[int, str, str]:
        command = [sys.executable, str(checker.__file__), *arguments]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout, done.stderr

    code, said, errors = run("true.json", "data.npy")
    assert (code, errors) == (0, "")
    assert said.startswith("Proven")
    assert len(said.splitlines()) == 1
    code, said, errors = run("false.json", "data.npy")
    assert (code, errors) == (3, "")
    assert said.startswith("NOT PROVEN")
    assert len(said.splitlines()) == 1
    for arguments in (("true.json", "none.npy"), ("none.json", "data.npy"), ("true.json",)):
        code, said, errors = run(*arguments)
        assert (code, said) == (2, "")
        assert len(errors.splitlines()) == 1


def test_it_shares_nothing_with_the_solver():
    script = "import sys, microagg.verify_bound; print(*sorted(m for m in sys.modules if m.split('.')[0] in ('microagg', 'numba')))"
    loaded = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    ).stdout.split()
    assert loaded == ["microagg", "microagg.errors", "microagg.verify_bound"]

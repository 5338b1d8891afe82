"""The checker rejects every certificate whose claim is false, and everything that is none."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import microagg.verify_bound as checker
from made_certificates import (
    Certificate,
    claim_of,
    digest_of,
    make,
    scaled,
    tight_with_cuts,
    values_scaled,
)
from microagg.verify_bound import check_certificate

# Fifty lies and more about one tight certificate with cuts.


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


def lower_penalty(rank: int, factor: float | None) -> Lie:
    def lie(values: np.ndarray, c: Certificate) -> None:
        heaviest = sorted(c["cuts"], key=lambda cut: -cut["penalty"])[rank]
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
    *(
        (f"pi {record} and claim raised", raise_pi(record, 1e-5, claim=True))
        for record in range(0, 11, 2)
    ),
    *((f"pi {a} and {b} swapped", swap_pi(a, b)) for a, b in ((0, 1), (2, 5), (3, 9), (4, 10))),
    *(
        (f"penalty {rank} x {factor}", lower_penalty(rank, factor))
        for rank in (0, 1)
        for factor in (0.999, 0.5, 0.0)
    ),
    *((f"penalty {rank} dropped", lower_penalty(rank, None)) for rank in (0, 1, 2)),
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
    *(
        put("cuts", 0, "penalty", value=value)
        for value in (-1e-9, math.nan, math.inf, True, "1", None)
    ),
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
    *(
        put("data", "columns", value=value)
        for value in ([], ["a"], ["a", "a"], ["a", 1], "ab", 3, True)
    ),
    *(
        put("data", "centre", value=value)
        for value in ([], [1.0], None, [math.nan, 0.0], [True, 0.0])
    ),
    *(
        put("data", "width", value=value)
        for value in ([], [1.0], None, [math.inf, 1.0], [0.0, 1.0])
    ),
    *(put("data", "digest", value=value) for value in ("", None, 3, b"x")),
    *(put("data", "scale", value=value) for value in ("", None, 3, [])),
    put("format", value="microagg-bound/3"),
    *(put("cuts", 0, "p", value=value) for value in (1, 0, -2, 2.0, True, "2", None, 12)),
]


@pytest.mark.parametrize("weights", [[0.0, 1.0], [1.0, 0.0], [-1.0, 1.0], [0.0, 0.0]])
def test_an_importance_must_be_above_0(weights: list[float]) -> None:
    values, certificate = tight_with_cuts()
    certificate["data"]["importance"] = weights
    assert check_certificate(certificate, values).reason == "an importance is not above 0."


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
        *((records, 0.0) for records in ([], [0], [0, 0, 1], [0, 1, -1], [0, 1, 11])),
        *(
            (records, 0.0)
            for records in ([0, 1, 2.0], [0, 2, True], [0, 1, "2"], [0, 1, None], "012", 3)
        ),
    ],
)
def test_a_malformed_cut_spoils_a_certificate_that_does_not_need_it(records: Any, penalty: Any):
    values, certificate = tight_with_cuts()
    certificate["cuts"].append({"records": [0, 1, 2], "p": 2, "penalty": 0.0})
    assert check_certificate(certificate, values).holds
    certificate["cuts"][-1] = {"records": records, "p": 2, "penalty": penalty}
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
    """Enormous pi under enormous penalties: differences that matter would be lost in rounding."""
    values, certificate = tight_with_cuts()
    certificate["pi"] = [number + 1e12 for number in certificate["pi"]]
    certificate["cuts"] += [
        {"records": list(s), "p": 2, "penalty": 1e13} for s in itertools.combinations(range(11), 3)
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

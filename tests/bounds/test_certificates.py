"""The solver's own certificates: all accepted as they are, none after a change that makes the claim
unproven.
"""

from __future__ import annotations

import copy
import hashlib
import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mixed
from made_certificates import largest_violation
from microagg.bounds.bound import check_inexact
from microagg.bounds.lower import lower_bound
from microagg.errors import InputError
from microagg.table.encoder import Space
from microagg.table.scales import SCALES
from microagg.table.schema import Kind
from microagg.table.variable import Cells, Variable
from microagg.verify_bound import check_certificate, verify

pytestmark = pytest.mark.slow  # all of them wait for the proofs that they share

INSTANCES = [(seed, 20 + 4 * seed + seed % 2, 2 + seed % 4, 1 + seed % 5) for seed in range(10)]
Certificate = dict[str, Any]


def points_of(seed: int, n: int, d: int) -> np.ndarray:
    """Normal, clustered, heavy-tailed, rounded (ties) and repeated records in turn."""
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(n, d))
    if seed % 5 == 1:
        points += 8.0 * rng.integers(0, 4, (n, 1))
    elif seed % 5 == 2:
        points = rng.lognormal(0.0, 1.0, (n, d))
    elif seed % 5 == 3:
        points = np.round(points, 1)
    elif seed % 5 == 4:
        points = points[rng.integers(0, n // 2, n)]
    return np.ascontiguousarray(points)


def total_squares(points: np.ndarray) -> float:
    return float(((points - points.mean(axis=0)) ** 2).sum())


def digest_of(values: np.ndarray) -> str:
    return hashlib.sha256(
        f"{len(values)} {values.shape[1]}\n".encode() + values.astype("<f8").tobytes()
    ).hexdigest()


@pytest.fixture(scope="module")
def solved(
    tmp_path_factory: pytest.TempPathFactory,
) -> dict[int, tuple[np.ndarray, Certificate, Path]]:
    folder = tmp_path_factory.mktemp("certificates")
    results = {}
    for seed, n, k, d in INSTANCES:
        points = points_of(seed, n, d)
        path = folder / f"{seed}.json"
        lower_bound(points, k, time_limit=None).save(path)
        np.save(folder / f"{seed}.npy", points)
        results[seed] = (points, json.loads(path.read_text()), path)
    return results


@pytest.mark.parametrize("seed", [instance[0] for instance in INSTANCES])
def test_the_solvers_certificate_is_accepted(solved, seed: int):
    points, certificate, path = solved[seed]
    verdict = verify(path, path.with_suffix(".npy"))
    assert verdict.holds, verdict.reason
    assert verdict.sse > 0.0
    assert verdict.sse == certificate["claim"]["sse"]
    assert certificate["data"]["digest"] == digest_of(points)


def with_claim(certificate: Certificate, points: np.ndarray, sse: float) -> Certificate:
    certificate["claim"] = {"sse": sse, "il": 100.0 * sse / total_squares(points)}
    return certificate


def lies(points: np.ndarray, honest: Certificate) -> Iterator[tuple[str, Certificate, np.ndarray]]:
    """Each with the claim left as it was or raised, never lowered; `unit` is what a record costs on
    average.
    """
    n, sse, rng = len(points), honest["claim"]["sse"], np.random.default_rng(len(points))
    unit = sse / n
    proven = sum(honest["pi"]) - sum(
        cut["penalty"] * (len(cut["records"]) // cut["p"]) for cut in honest["cuts"]
    )
    room = 2e-9 * total_squares(points)

    def fresh() -> Certificate:
        return copy.deepcopy(honest)

    for factor in (1.001, 1.01, 1.1, 2.0, 10.0):
        yield f"bound x {factor}", with_claim(fresh(), points, max(sse, proven) * factor), points
    yield "bound just above", with_claim(fresh(), points, max(sse, proven) + room), points
    for factor in (1.0 + 1e-6, 1.1, 100.0):
        changed = fresh()
        changed["claim"]["il"] *= factor
        yield f"il x {factor}", changed, points
    for record in rng.choice(n, 12, replace=False).tolist():
        changed = fresh()
        changed["pi"][record] += 2.0 * unit
        yield f"pi {record} raised", with_claim(changed, points, sse + 2.0 * unit), points
    for factor in (1.05, 1.2, 2.0):
        changed = fresh()
        changed["pi"] = [number * factor for number in changed["pi"]]
        changed["cuts"] = [{**cut, "penalty": cut["penalty"] * factor} for cut in changed["cuts"]]
        yield f"all numbers x {factor}", with_claim(changed, points, sse * factor), points
    for seed in range(4):
        changed = fresh()
        changed["pi"] = np.random.default_rng(seed).permutation(changed["pi"]).tolist()
        yield f"pi shuffled {seed}", with_claim(changed, points, sse + 0.01 * unit), points
    for seed in range(6):
        other = points.copy()
        row = seed * (n // 6)
        other[row, 0] += 1e-9 * (1.0 + abs(other[row, 0]))
        yield f"a cell of row {row} changed", fresh(), other
    for factor in (0.9, 0.99):
        other = points * factor
        changed = with_claim(fresh(), other, sse)
        changed["data"]["digest"] = digest_of(other)
        yield f"data x {factor}, forged", changed, other
    yield "rows reversed", fresh(), points[::-1].copy()
    yield "a row missing", fresh(), points[1:].copy()
    yield "a row twice", fresh(), np.vstack([points, points[:1]])
    yield "a column twice", fresh(), np.hstack([points, points[:, :1]])
    for name, value in (
        ("records", n - 1),
        ("records", n + 1),
        ("k", 1),
        ("k", n + 1),
        ("k", True),
        ("format", "microagg-bound/3"),
    ):
        changed = fresh()
        changed[name] = value
        yield f"{name} = {value}", changed, points
    for name, value in (
        ("scale", "zscore"),
        ("scale", "minmax"),
        ("width", [0.5] * points.shape[1]),
        ("centre", [1.0] * points.shape[1]),
    ):
        changed = fresh()
        changed["data"][name] = value
        scaled = (points - np.array(changed["data"]["centre"])) / np.array(changed["data"]["width"])
        yield f"{name} = {value}", with_claim(changed, scaled, sse), points


@pytest.mark.parametrize("seed", [instance[0] for instance in INSTANCES])
def test_fifty_lies_about_it_are_rejected(solved, seed: int):
    points, honest, _ = solved[seed]
    altered = list(lies(points, honest))
    assert len(altered) >= 50
    accepted = [
        name
        for name, certificate, values in altered
        if check_certificate(certificate, values).holds
    ]
    assert accepted == []


def test_penalties_that_matter_cannot_be_dropped(solved):
    """Without a penalty the sum grows; claiming the larger sum must fail for every cut that carries
    weight.
    """
    tried = 0
    for points, honest, _ in solved.values():
        heaviest = sorted(honest["cuts"], key=lambda cut: -cut["penalty"])[:5]
        for cut in heaviest:
            if cut["penalty"] < 1e-3 * honest["claim"]["sse"] / len(points):
                continue
            changed = copy.deepcopy(honest)
            changed["cuts"].remove(cut)
            gain = cut["penalty"] * (len(cut["records"]) // cut["p"])
            with_claim(changed, points, honest["claim"]["sse"] + gain)
            assert not check_certificate(changed, points).holds
            tried += 1
    assert tried > 0


@pytest.mark.parametrize("seed", [instance[0] for instance in INSTANCES])
def test_a_smaller_k_is_another_claim(solved, seed: int):
    points, honest, _ = solved[seed]
    if honest["k"] > 2:
        changed = copy.deepcopy(honest)
        changed["k"] -= 1
        assert not check_certificate(changed, points).holds


def test_importance_is_told_and_checked() -> None:
    values = np.column_stack([points_of(1, 24, 2), np.full(24, 5.0)])
    cells = Cells.plain(values, ["x", "y", "z"])
    for scale in SCALES:
        space = Space.fit(cells, scale, {"y": 4.0, "z": 2.0})
        proven = lower_bound(space.points(cells), 3).about(cells, cells.names, space)
        certificate = json.loads(json.dumps(proven.certificate()))
        assert certificate["data"]["importance"] == [1.0, 4.0, 2.0]
        verdict = check_certificate(certificate, values)
        assert verdict.holds, verdict.reason
        assert "squares counted 1, 4, 2 times" in str(verdict)
        assert verdict.sse > 0.0
        certificate["data"]["importance"] = [1.0, 2.0, 2.0]
        assert not check_certificate(certificate, values).holds
        for wrong in ([1.0, 0.0, 1.0], [1.0, -4.0, 1.0], [1.0, 4.0], "4", None):
            certificate["data"]["importance"] = wrong
            assert not check_certificate(certificate, values).holds


def test_without_importance_nothing_is_told_of_it() -> None:
    values = points_of(0, 12, 2)
    space = Space.fit(values)
    assert set(space.as_data()) == {"scale", "centre", "width"}


def test_mixed_tables_have_a_bound_and_no_certificate() -> None:
    cells = mixed.mixed_cells(1, 9, 5)
    assert not cells.is_plain
    space = Space.fit(cells)
    proven = lower_bound(space.points(cells), 3).about(cells, cells.names, space)
    assert proven.mixed
    with pytest.raises(InputError, match="plain numbers without gaps"):
        proven.certificate()
    dates = Cells((Variable("when", unit="D"),), np.arange(9.0).reshape(-1, 1))
    space = Space.fit(dates)
    assert lower_bound(space.points(dates), 3).about(dates, dates.names, space).mixed


def test_many_valued_columns_have_no_bound() -> None:
    levels = tuple(f"{level:03d}" for level in range(70))
    variables = (Variable("age"), Variable("town", Kind.NOMINAL, levels))
    cells = Cells(variables, np.column_stack([np.arange(70.0), np.arange(70.0)]))
    space = Space.fit(cells)
    with pytest.raises(InputError, match="column 'town' is nominal with so many values"):
        check_inexact(space, cells.names)
    check_inexact(Space.fit(cells.values), cells.names)


def test_a_column_that_counts_nothing_is_no_column() -> None:
    """With an importance of 0 a certificate would prove something about fewer columns than it
    names.
    """
    rng = np.random.default_rng(4)
    values = rng.normal(size=(9, 2))
    certificate = lower_bound(values, 3).certificate()
    for importance, holds in (([1.0, 1.0], True), ([1.0, 0.0], False), ([-1.0, 1.0], False)):
        changed = {**certificate, "claim": {"sse": 0.0, "il": 0.0}}
        changed["data"] = {**certificate["data"], "importance": importance}
        verdict = check_certificate(changed, values)
        assert verdict.holds == holds
        assert holds or "importance" in verdict.reason


@pytest.mark.parametrize("k", [2, 3])
def test_a_claim_leaves_room_for_rounding(k: int) -> None:
    """The sum of the prices is proven but for what rounding may hide: n / k groups, each off by one
    and a half eps.
    """
    values = np.random.default_rng(k).normal(size=(12, 2))
    certificate = lower_bound(values, k, time_limit=None).certificate()
    sst = float(((values - values.mean(axis=0)) ** 2).sum())
    penalties = sum(
        cut["penalty"] * (len(cut["records"]) // cut["p"]) for cut in certificate["cuts"]
    )
    whole, room = math.fsum(certificate["pi"]) - penalties, 12 / k * 1.5 * 1e-9 * sst / 12
    for part, holds in ((1.05, True), (0.9, False), (0.0, False)):
        sse = whole - part * room
        changed = {**certificate, "claim": {"sse": sse, "il": 100.0 * sse / sst}}
        assert check_certificate(changed, values).holds == holds


@pytest.mark.parametrize("seed", range(6))
def test_no_set_of_records_costs_less_than_its_prices(seed: int) -> None:
    """Every set of k to 2k - 1 records, one by one: the search finds prices up to a tolerance,
    which is taken off them.
    """
    points, k = np.random.default_rng(seed).normal(size=(14, 2)), 2 + seed % 2
    bound = lower_bound(points, k, time_limit=None)
    assert largest_violation(points, k, bound.pi, list(bound.cuts)) < 0.0


@pytest.mark.parametrize("seed", range(6))
def test_the_bound_that_is_there_at_once_is_proven_too(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tables that are too large for any linear program get no other."""
    monkeypatch.setattr("microagg.bounds.lower.LARGE", 1)
    monkeypatch.setattr("microagg.bounds.lower.LARGEST", 1)
    points, k = np.random.default_rng(seed).normal(size=(14, 2)), 2 + seed % 3
    bound = lower_bound(points, k, time_limit=None)
    assert bound.method == "instant"
    assert bound.sse > 0.0
    assert largest_violation(points, k, bound.pi, []) <= 1e-12
    assert check_certificate(bound.certificate(), points).holds


@pytest.mark.parametrize(
    "variable", [Variable("a", unit="D"), Variable("a", origin=1900)], ids=["dates", "an origin"]
)
def test_columns_that_are_no_plain_numbers_have_no_certificate(variable: Variable) -> None:
    values = np.random.default_rng(1).normal(size=(9, 1))
    cells = Cells((variable,), values)
    space = Space.fit(cells)
    bound = lower_bound(space.points(cells), 3).about(cells, ["a"], space)
    assert bound.mixed
    with pytest.raises(InputError, match="columns of plain numbers without gaps only"):
        bound.certificate()
    plain = Cells.plain(values, ["a"])
    assert not lower_bound(space.points(plain), 3).about(plain, ["a"], Space.fit(plain)).mixed

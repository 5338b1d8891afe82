"""The way of a table in memory: what its search gets, and where it can be ended before it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import microagg as ma
from microagg.pipeline import in_memory
from microagg.pipeline.in_memory import protect
from microagg.pipeline.preparation import Prepared
from microagg.release.manifest import FORMAT
from microagg.release.settings import Settings
from microagg.table.encoder import Space

RECORDS = 60
POINTS = np.random.default_rng(8).normal(size=(RECORDS, 2)) * [3.0, 50.0]
TABLE = pa.table(
    {"age": POINTS[:, 0], "rent": POINTS[:, 1], "region": [f"r{i % 2}" for i in range(RECORDS)]}
)
SCALED = Space.fit(POINTS).points(POINTS)


def settings(**more: Any) -> Settings:
    options = {
        "k": 4,
        "quasi": ["age", "rent"],
        "rest": "drop",
        "method": "mdav",
        "seed": 3,
        **more,
    }
    return Settings.of(**options).resolved()


def groups_of(release: ma.Release) -> list[frozenset[int]]:
    labels = np.asarray(release.anonymity.labels)
    return sorted(
        (frozenset(np.flatnonzero(labels == label).tolist()) for label in set(labels.tolist())),
        key=min,
    )


def expected(**more: Any) -> list[frozenset[int]]:
    labels = ma.partition(SCALED, 4, **more)
    return sorted(
        (frozenset(np.flatnonzero(labels == label).tolist()) for label in set(labels.tolist())),
        key=min,
    )


@pytest.mark.parametrize("refine", [False, True])
def test_groups_are_those_of_the_method_with_its_seed_and_parameters(refine: bool) -> None:
    release = protect(TABLE, settings(refine=refine))
    assert groups_of(release) == expected(method="mdav", seed=3, refine=refine)
    other = protect(TABLE, settings(method="v-mdav", params={"gamma": 1.1}, refine=refine))
    assert groups_of(other) == expected(method="v-mdav", gamma=1.1, refine=refine)
    assert groups_of(release) != groups_of(other)


def test_refining_changes_these_groups() -> None:
    assert expected(method="mdav") != expected(method="mdav", refine=True)


def test_groups_stay_within_strata() -> None:
    release = protect(TABLE, settings(stratum=["region"]))
    for group in groups_of(release):
        assert len({record % 2 for record in group}) == 1


def test_a_run_may_be_ended_before_its_search() -> None:
    class EndedError(Exception):
        pass

    seen: list[Prepared] = []

    def end(prepared: Prepared) -> None:
        seen.append(prepared)
        raise EndedError

    with pytest.raises(EndedError):
        protect(TABLE, settings(), before_search=end)
    (prepared,) = seen
    assert prepared.problem.points.tolist() == SCALED.tolist()
    assert prepared.problem.k == 4


def test_kernels_are_expected_for_the_default_method_only(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[Any] = []
    monkeypatch.setattr(in_memory, "expect", lambda stages, threads: calls.append(threads))
    protect(TABLE, settings())
    assert calls == []
    protect(TABLE, settings(method="auto", effort="quick"), threads=1)
    assert calls == [1]


def test_progress_file_and_format_are_passed_on() -> None:
    calls: list[tuple[int, int]] = []
    release = protect(TABLE, settings(), file="in.csv", progress=lambda *call: calls.append(call))
    assert calls[-1] == (RECORDS, RECORDS)
    assert release.manifest["input"]["file"] == "in.csv"
    assert release.manifest["format"] == FORMAT
    assert protect(TABLE, settings(), format=FORMAT - 1).manifest["format"] == FORMAT - 1


def test_every_record_is_released_in_its_place_as_the_mean_of_its_group() -> None:
    release = protect(TABLE, settings(precision="full", accept_risk=["full-precision"]))
    released = np.column_stack([release.to_arrow()[name].to_numpy() for name in ("age", "rent")])
    for group in groups_of(release):
        rows = sorted(group)
        assert released[rows] == pytest.approx(
            np.tile(POINTS[rows].mean(axis=0), (len(rows), 1)), rel=1e-12
        )

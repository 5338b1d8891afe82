"""Dry runs: each column, the guarantee and the time, against the settings."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from microagg.errors import InputError
from microagg.pipeline import dry_run
from microagg.pipeline.dry_run import DryRun, dry_run_file
from microagg.pipeline.estimate import Estimate
from microagg.problem.problem import Problem
from microagg.release.settings import Settings

RECORDS = 20


@pytest.fixture
def source(tmp_path: Path) -> Path:
    rng = np.random.default_rng(1)
    path = tmp_path / "in.parquet"
    pa.parquet.write_table(
        pa.table(
            {
                "name": [f"n{i}" for i in range(RECORDS)],
                "age": pa.array(rng.normal(40, 9, RECORDS), mask=np.arange(RECORDS) < 2),
                "rent": rng.normal(900, 90, RECORDS),
                "town": [f"t{i % 2}" for i in range(RECORDS)],
                "region": [f"r{i % 2}" for i in range(RECORDS)],
                "home": list(range(RECORDS)),
                "ill": [f"i{i % 5}" for i in range(RECORDS)],
                "w": rng.uniform(1, 3, RECORDS).round(1),
                "code": list(range(RECORDS)),
            }
        ),
        path,
    )
    return path


def planned(source: Path, **more: Any) -> DryRun:
    settings = {
        "k": 3, "quasi": ["age", "rent"], "identifier": ["name"], "rest": "drop",
        "method": "mdav", "seed": 1, "missing": "drop", **more,
    }  # fmt: skip
    return dry_run_file(source, source.with_name("out.parquet"), Settings.of(**settings), threads=1)


def test_what_becomes_of_each_column(source: Path) -> None:
    plan = planned(
        source, quasi=["age", "rent", "town"], stratum=["region"], unit="home", weight="w",
        confidential=["ill"], keep=["code"], aggregate="rent=median", l=2, t=0.9,
        accept_risk=["true-values"],
    )  # fmt: skip
    assert {column["name"]: column["becomes"] for column in plan.columns} == {
        "name": "left out",
        "age": "its group's mean",
        "rent": "its group's median",
        "town": "its group's mode",
        "region": "released as it is; no group has records of two strata",
        "home": "left out; every class has k different ones",
        "ill": "released as it is",
        "w": "its group's mean",
        "code": "released as it is",
    }
    assert {column["name"]: (column["role"], column["kind"]) for column in plan.columns}[
        "town"
    ] == (
        "quasi",
        "nominal",
    )
    assert plan.guarantee == (
        "3 or more records share each combination of age, rent, town, region, w",
        "distinct l-diversity of 2 in every confidential column",
        "t-closeness of 0.9 in every confidential column",
        "3 or more different units in every class, none with more than half of its records",
    )
    assert (plan.records, plan.left_out, plan.strata, plan.blocks) == (RECORDS - 2, 2, 2, 0)
    assert plan.axes == 2 + 1  # two towns are one axis
    assert plan.exposure is not None
    assert plan.preview is not None
    folder = source.parent
    assert [path.relative_to(folder).as_posix() for path in plan.files] == [
        "out.parquet",
        "out.parquet.internal.json",
        "out.parquet.public.json",
    ]
    assert sorted(folder.iterdir()) == [source]


@pytest.mark.parametrize(("word", "becomes"), [("keep", "released as it is"), ("drop", "left out")])
def test_weights_that_are_no_means(source: Path, word: str, becomes: str) -> None:
    plan = planned(source, weight="w", aggregate=f"w={word}")
    assert [column["becomes"] for column in plan.columns if column["name"] == "w"] == [becomes]
    assert plan.guarantee == ("3 or more records share each combination of age, rent",)
    assert plan.strata == 0


def test_columns_by_themselves_are_guaranteed_by_themselves(source: Path) -> None:
    plan = planned(source, method="individual-ranking", accept_risk=["single-columns"])
    assert plan.guarantee == (
        "3 or more records share each value of every single column among age, rent",
    )


def test_a_risk_that_was_not_accepted_is_refused(source: Path) -> None:
    with pytest.raises(InputError, match="true values"):
        planned(source, aggregate="rent=medoid")


def test_the_whole_run_takes_twice_the_preparation_and_the_search(source: Path) -> None:
    plan = planned(source)
    search = plan.estimate.seconds
    assert search is not None
    assert plan.seconds_before > 0.0
    assert plan.seconds == 2.0 * plan.seconds_before + search
    data = plan.as_data()
    assert data["estimate"]["seconds"] == plan.seconds
    assert data["estimate"]["search_seconds"] == search
    assert data["dry_run"] is True
    assert data["params"] == {
        name: value for name, value in plan.params.items() if value is not None
    }


@pytest.mark.parametrize(("at_once", "shared"), [(0, 1), (1, 1), (4, 4)])
def test_time_beyond_memory_is_that_of_as_many_samples_as_the_table_has(
    monkeypatch: pytest.MonkeyPatch, at_once: int, shared: int
) -> None:
    seen: list[Problem] = []
    made = Estimate(3.0, 8, "", (("quick", 1.0), ("balanced", 2.0)))

    def search_estimate(method: Any, problem: Problem, params: Any, *, seed: int) -> Estimate:
        assert method.name == "auto"
        assert (params["effort"], seed) == ("quick", 5)
        seen.append(problem)
        return made

    monkeypatch.setattr(dry_run, "search_estimate", search_estimate)
    settings = Settings.of(k=4, quasi=["age"], seed=5, effort="quick")
    plan: Any = SimpleNamespace(
        cuts=SimpleNamespace(sample=np.arange(8.0).reshape(-1, 1)),
        layout=SimpleNamespace(k=4, records=800),
        budget=SimpleNamespace(at_once=at_once),
    )
    times = 100.0 / shared
    estimate = dry_run._estimate_beyond(plan, settings)
    assert estimate == Estimate(
        3.0 * times, 8, "", (("quick", 1.0 * times), ("balanced", 2.0 * times))
    )
    assert (seen[0].k, seen[0].of_records, len(seen[0].points)) == (4, 800, 8)
    made = Estimate(None, 8, "open", (("quick", 1.0),))
    assert dry_run._estimate_beyond(plan, settings) == Estimate(
        None, 8, "open", (("quick", times),)
    )
    plan.cuts.sample = plan.cuts.sample[:7]  # fewer than two groups say nothing
    assert dry_run._estimate_beyond(plan, settings) == Estimate(None, 0)

"""Strata: released as they are, crossed by no group, part of every class; what cannot be grouped is
refused before any work.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import microagg as ma
from microagg.guarantees.promise import Guarantees
from microagg.methods.lns.effort import work_of
from microagg.methods.registry import method_named, methods
from microagg.pipeline.files import anonymize_file
from microagg.pipeline.run_method import problem_with, run_method
from microagg.problem.problem import Problem
from microagg.problem.watch import StopSearch
from microagg.release.note_counts import strata_facts
from microagg.release.note_facts import NoteFacts
from microagg.release.note_rules import notes_from
from microagg.release.strata import strata_labels, wrong_strata
from microagg.studies.compare import compare
from microagg.studies.repeating import repeat_file
from microagg.table.confidential import Attribute
from microagg.table.schema import Kind

REGIONS = ["north", "south", None, "east"]


def survey(n: int = 120, seed: int = 3) -> pd.DataFrame:
    """Two numeric quasi-identifiers, two strata with gaps, a diagnosis that every stratum has in
    all its forms.
    """
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "age": rng.integers(18, 90, n),
            "income": np.round(rng.lognormal(7, 1, n), 2),
            "region": [REGIONS[i % 4] for i in range(n)],
            "ill": [("flu", "cold", "none")[(i // 4) % 3] for i in range(n)],
        }
    )


ROLES: dict[str, Any] = {
    "quasi": ["age", "income"],
    "stratum": "region",
    "confidential": "ill",
    "effort": "quick",
}


def classes_of(table: pd.DataFrame, names: list[str]) -> Counter[tuple[Any, ...]]:
    """Count the records of each combination of values; what is missing is a value of its own."""
    return Counter(
        tuple(None if pd.isna(value) else value for value in row)
        for row in table[names].itertuples(index=False)
    )


def assert_kept_apart(release: ma.Release, original: pd.DataFrame, strata: list[str]) -> None:
    """Every group has records of one stratum, and no stratum has changed."""
    values = original[strata].astype(object).where(original[strata].notna(), None).to_numpy()
    for group in range(int(release.labels.max()) + 1):
        assert len({tuple(row) for row in values[release.labels == group]}) == 1
    pd.testing.assert_frame_equal(release.table[strata], original[strata])


@pytest.mark.slow
@pytest.mark.parametrize(
    "method", [m.name for m in methods() if m.scope == "record" and m.columns is None]
)
def test_every_method_keeps_strata_apart(method: str) -> None:
    roles = {name: value for name, value in ROLES.items() if name != "effort"}
    params = {"effort": 5} if method in ("auto", "lns") else {}
    release = ma.anonymize(survey(), k=4, l=2, **roles, method=method, seed=1, **params)
    assert_kept_apart(release, survey(), ["region"])
    assert min(classes_of(release.table, ["age", "income", "region"]).values()) >= 4
    for _, part in release.table.groupby(["age", "income", "region"], dropna=False):
        assert part.ill.nunique() >= 2


def test_methods_of_columns_take_no_strata() -> None:
    with pytest.raises(ma.InputError, match="individual-ranking groups each column on its own"):
        ma.anonymize(
            survey(),
            k=3,
            quasi=["age"],
            stratum="region",
            rest="drop",
            method="individual-ranking",
            seed=1,
        )


def test_records_with_the_same_values_in_two_strata_are_two_classes() -> None:
    table: Any = pd.DataFrame({"age": [30] * 8, "region": ["a", "b"] * 4})
    release = ma.anonymize(table, k=4, quasi="age", stratum="region", seed=1)
    assert sorted(release.anonymity.sizes) == [4, 4]
    assert ma.check(release.table, "age", k=5).holds
    assert not ma.check(release.table, "age", k=5, stratum="region").holds
    assert ma.check(release.table, "age", k=4, stratum=["region"]).holds


def test_the_scale_and_t_are_those_of_the_whole_table() -> None:
    """One stratum alone has flu only: as a table of its own it is 0-close, against the whole it is
    far.
    """
    table: Any = pd.DataFrame(
        {
            "age": range(40),
            "region": ["a"] * 20 + ["b"] * 20,
            "ill": ["flu"] * 20 + ["flu", "cold"] * 10,
        }
    )
    roles: dict[str, Any] = {"quasi": "age", "confidential": "ill"}
    assert ma.anonymize(
        table[:20].drop(columns="region"), k=3, t=0.1, **roles, seed=1
    ).anonymity.holds
    with pytest.raises(
        ma.InputError,
        match=r"2 of 2 strata \(with 40 records\) have records that cannot keep 0.1-closeness",
    ):
        ma.anonymize(table, k=3, t=0.1, **roles, stratum="region", seed=1)
    release = ma.anonymize(table, k=3, t=0.26, **roles, stratum="region", seed=1)
    assert max(finding.worst for finding in release.anonymity.findings) == pytest.approx(0.25)
    ages = np.arange(40.0)
    assert release.manifest["scaling"]["age"]["centre"] == pytest.approx(ages.mean())


def test_strata_are_numbered_by_their_values_not_by_their_rows() -> None:
    rows = np.random.default_rng(1).permutation(120)
    table = survey()
    first = strata_labels(pa.Table.from_pandas(table), ["region"])
    again = strata_labels(pa.Table.from_pandas(table.iloc[rows], preserve_index=False), ["region"])
    assert np.array_equal(first[rows], again)
    assert [int(first[i]) for i in range(4)] == [1, 2, 3, 0]


@pytest.mark.parametrize(
    ("values", "numbers"),
    [
        ([2.5, None, -0.0, 0.0, float("nan")], [1, 2, 0, 0, 2]),
        ([True, False, None, True], [1, 0, 2, 1]),
        ([[1], [0], [1], None], [1, 0, 1, 2]),
        (pa.array(["b", "a", "b"]).dictionary_encode(), [1, 0, 1]),
        ([10, 9, 10], [1, 0, 1]),
    ],
)
def test_any_type_of_column_gives_strata(values: Any, numbers: list[int]) -> None:
    assert strata_labels(pa.table({"s": values}), ["s"]).tolist() == numbers


def test_several_columns_make_strata_together() -> None:
    rng = np.random.default_rng(5)
    table = pa.table({"a": rng.choice(["x", "y", None], 60).tolist(), "b": rng.integers(0, 3, 60)})
    rows = [tuple(row.values()) for row in table.to_pylist()]
    order = sorted(set(rows), key=lambda row: (row[0] is None, row[0] or "", row[1]))
    assert strata_labels(table, ["a", "b"]).tolist() == [order.index(row) for row in rows]


def test_small_strata_are_refused_with_counts_and_no_value() -> None:
    table = survey()
    table.loc[[3, 7, 11], "region"] = "Canaryville"
    with pytest.raises(ma.InputError) as refused:
        ma.anonymize(table, k=5, **ROLES, seed=1)
    message = str(refused.value)
    assert "1 of 5 strata (with 3 records) has fewer than k = 5 records" in message
    assert "small_strata='drop'" in message
    assert "Canaryville" not in message
    release = ma.anonymize(table, k=5, **ROLES, seed=1, small_strata="drop")
    assert release.manifest["records"] == len(release.table) == 117
    assert "Canaryville" not in set(release.table.region)
    assert any("3 records in 1 strata" in note for note in release.notes)
    assert release.manifest["strata"]["records_left_out"] == 3
    assert "strata" not in release.public_manifest
    assert "Canaryville" not in json.dumps(release.manifest)


def test_strata_that_cannot_keep_l_are_refused_or_dropped() -> None:
    table = survey()
    table.loc[table.region == "south", "ill"] = "flu"
    with pytest.raises(
        ma.InputError,
        match=r"1 of 4 strata \(with 30 records\) has records that cannot keep distinct 2-div",
    ):
        ma.anonymize(table, k=3, l=2, **ROLES, seed=1)
    release = ma.anonymize(table, k=3, l=2, **ROLES, seed=1, small_strata="drop")
    assert len(release.table) == 90
    table.loc[0, "region"] = "tiny"
    with pytest.raises(
        ma.InputError,
        match=r"1 of 5 strata \(with 1 records\) has fewer than k = 3 records and 1 of them",
    ):
        ma.anonymize(table, k=3, l=2, **ROLES, seed=1)


@pytest.mark.slow
def test_dropping_goes_on_until_the_rest_can_keep_t() -> None:
    """Without the stratum of one record the whole table is another, against which another stratum
    may be too far.
    """
    rng = np.random.default_rng(2)
    for seed in range(20):
        table = survey(160, seed)
        table["ill"] = [
            ("flu", "cold")[int(rng.random() < (0.1 if region == "south" else 0.6))]
            for region in table.region
        ]
        release = ma.anonymize(table, k=3, t=0.25, **ROLES, seed=1, small_strata="drop")
        assert release.anonymity.holds
        assert ma.check(release.table, ["age", "income"], 3, "ill", t=0.25, stratum="region").holds


def test_nothing_left_is_an_error_of_its_own() -> None:
    with pytest.raises(ma.InputError, match="small_strata='drop' would leave nothing"):
        ma.anonymize(survey(12), k=5, **ROLES, small_strata="drop")


@pytest.mark.parametrize(
    ("sizes", "lacking"), [([2, 4], [0.0, 0.0]), ([5, 9], [0.1, 1.0]), ([2, 9], [0.0, 1.0])]
)
def test_nothing_left_is_refused_whatever_strata_lack(
    sizes: list[int], lacking: list[float]
) -> None:
    """Records, the guarantees, or the one here and the other there."""
    settings = ma.Settings.of(k=5, l=2, **ROLES, small_strata="drop")
    with pytest.raises(ma.InputError, match="would leave nothing"):
        wrong_strata(np.array(sizes), np.array(lacking), settings)
    wrong = wrong_strata(np.array([*sizes, 5]), np.array([*lacking, 0.0]), settings)
    assert wrong.tolist() == [True, True, False]


def test_nothing_left_because_no_stratum_keeps_l() -> None:
    table = survey()
    table["ill"] = table.region.map({"north": "flu", "south": "cold", "east": "none"}).fillna("flu")
    with pytest.raises(ma.InputError, match="small_strata='drop' would leave nothing"):
        ma.anonymize(table, k=3, l=2, **ROLES, small_strata="drop", seed=1)


def test_impossible_for_the_whole_table_is_said_as_ever() -> None:
    with pytest.raises(
        ma.InputError, match="in the whole table, column 'ill' has only 3 different values"
    ):
        ma.anonymize(survey(), k=5, l=4, **ROLES, small_strata="drop")


def test_proving_is_refused_with_strata() -> None:
    with pytest.raises(ma.InputError, match="effort prove cannot be combined with strata"):
        ma.anonymize(survey(), k=5, **{**ROLES, "effort": "prove"})


def test_many_small_strata_are_told_about_with_their_median() -> None:
    release = ma.anonymize(survey(), k=5, **ROLES, seed=1)
    assert any("the 4 strata are small (median: 30 records)" in note for note in release.notes)
    assert not any(
        "in the median" in note for note in ma.anonymize(survey(), k=2, **ROLES, seed=1).notes
    )


@pytest.mark.parametrize("library", ["pandas", "polars", "arrow"])
def test_any_library(library: str) -> None:
    table = survey()
    source: Any = {
        "pandas": table,
        "polars": pl.from_pandas(table),
        "arrow": pa.Table.from_pandas(table),
    }[library]
    release = ma.anonymize(source, k=4, **ROLES, seed=1)
    plain = ma.anonymize(table, k=4, **ROLES, seed=1)
    assert np.array_equal(release.labels, plain.labels)
    assert type(release.table) is type(source)


@pytest.mark.slow
def test_threads_change_nothing() -> None:
    runs = [
        ma.anonymize(survey(), k=3, **{**ROLES, "effort": 20}, seed=4, threads=n).labels
        for n in (1, 2, 3)
    ]
    assert np.array_equal(runs[0], runs[1])
    assert np.array_equal(runs[0], runs[2])


def test_groups_merged_for_l_stay_within_their_stratum() -> None:
    """A method that does not heed l is repaired stratum by stratum, and refined there."""
    rng = np.random.default_rng(0)
    points, strata = rng.normal(size=(80, 2)), np.repeat([0, 1], 40)
    ill = (Attribute("ill", Kind.NOMINAL, (points[:, 0] > 0.0).astype(np.int64)),)
    method = method_named("mdav")
    problem = problem_with(Guarantees.of(l=2), method, points, 4, ill)
    assert problem.accept is not None
    for refine in (False, True):
        result = run_method(method, problem, {}, seed=1, refine=refine, strata=strata)
        for group in range(int(result.labels.max()) + 1):
            records = np.flatnonzero(result.labels == group)
            assert problem.accept(records)
            assert len(set(strata[records])) == 1
        assert result.chosen == ("2 strata of 40 to 40 records, mdav within each",)


class StopAt:
    """A progress that says enough the n-th time it is told something."""

    def __init__(self, times: int) -> None:
        self.left = times

    def __call__(self, done: int, total: int) -> None:
        self.left -= 1
        if self.left == 0:
            raise StopSearch("enough")


@pytest.mark.slow
@pytest.mark.parametrize("times", [2, 9, 25, 60])
@pytest.mark.parametrize("threads", [1, 2])
def test_a_search_that_was_stopped_is_repeated(tmp_path: Path, times: int, threads: int) -> None:
    source = tmp_path / "survey.csv"
    survey().to_csv(source, index=False)
    settings = {**ROLES, "effort": 300}
    first = anonymize_file(
        source,
        tmp_path / "first.csv",
        3,
        **settings,
        seed=1,
        progress=StopAt(times),
        threads=threads,
    )
    again = repeat_file(tmp_path / "first.csv.internal.json", source, tmp_path / "again.csv")
    assert np.array_equal(first.labels, again.labels)
    assert (tmp_path / "first.csv").read_bytes() == (tmp_path / "again.csv").read_bytes()
    if first.stopped is not None:
        assert first.manifest["settings"]["params"]["stop_after"] >= 0


@pytest.mark.slow
def test_a_limit_of_time_is_one_for_all_strata(tmp_path: Path) -> None:
    source = tmp_path / "survey.csv"
    survey(400).to_csv(source, index=False)
    settings = {**ROLES, "effort": 100_000}
    first = anonymize_file(source, tmp_path / "first.csv", 3, **settings, seed=1, time_limit=0.3)
    assert first.stopped == "time limit"
    again = repeat_file(tmp_path / "first.csv.internal.json", source, tmp_path / "again.csv")
    assert np.array_equal(first.labels, again.labels)


@pytest.mark.parametrize("method", ["mdav", "hybrid"])
def test_what_has_no_checkpoints_is_cancelled(method: str) -> None:
    roles = {name: value for name, value in ROLES.items() if name != "effort"}
    for refine in (False, True):
        with pytest.raises(ma.Cancelled):
            ma.anonymize(
                survey(),
                k=3,
                **roles,
                method=method,
                refine=refine,
                seed=1,
                progress=StopAt(2),
                threads=1,
            )


@pytest.mark.slow
def test_hybrid_with_a_search_inside_is_stopped_and_repeated(tmp_path: Path) -> None:
    source = tmp_path / "survey.csv"
    survey(200).to_csv(source, index=False)
    roles = {name: value for name, value in ROLES.items() if name != "effort"}
    for times in (5, 40):
        first = anonymize_file(
            source,
            tmp_path / "first.csv",
            3,
            **roles,
            method="hybrid",
            inside="lns",
            split="blocks",
            largest=25,
            seed=1,
            progress=StopAt(times),
            threads=1,
        )
        again = repeat_file(tmp_path / "first.csv.internal.json", source, tmp_path / "again.csv")
        assert first.stopped == "interrupted"
        assert np.array_equal(first.labels, again.labels)


def test_an_effort_is_meant_for_the_whole_table() -> None:
    """Strata of a large table get their share of its steps, not each what a small table would."""
    for n in (1_000, 60_000, 1_000_000):
        whole = work_of(n, "balanced").steps
        shares = [
            work_of(part, "balanced", n).steps for part in (n // 10, n // 5, n - n // 10 - n // 5)
        ]
        assert whole - 3 <= sum(shares) <= whole
    assert Problem.of(np.zeros((4, 1)), 2).of_records is None


@pytest.mark.slow
def test_comparisons_have_strata_and_weights_as_settings() -> None:
    table = survey()
    table["w"] = np.arange(1.0, 121.0)
    done = compare(
        table,
        ks=[3, 40],
        methods="mdav",
        quasi=["age", "income"],
        stratum="region",
        weight="w",
        small_strata="error",
    )
    release = ma.anonymize(
        table,
        k=3,
        quasi=["age", "income"],
        stratum="region",
        weight="w",
        method="mdav",
        rest="drop",
        seed=0,
    )
    figures = {measure.name: figure.value for measure, figure in release.figures}
    assert done.rows[0].classes == len(release.anonymity.sizes)
    assert done.rows[0].figures["il"] == figures["il"]
    assert "4 of 4 strata" in done.rows[1].error


def test_measures_take_strata_for_part_of_a_class() -> None:
    table: Any = pd.DataFrame({"age": [30] * 8 + [40] * 4, "region": ["a", "b"] * 4 + ["a"] * 4})
    release = ma.anonymize(table, k=4, quasi="age", stratum="region", seed=1)
    assert release.risk["prosecutor"] == 25.0
    assert len(release.pair.classes) == 3


@pytest.mark.reference
@pytest.mark.slow
def test_free1_by_region(tmp_path: Path, reference_data: Path) -> None:
    source = reference_data / "tables" / "free1.csv"
    table: Any = pd.read_csv(source)
    settings: dict[str, Any] = {
        "quasi": ["AGE", "INCOME", "SEX", "MARSTAT", "ETNI"],
        "nominal": ["SEX", "MARSTAT", "ETNI"],
        "weight": "WEIGHT",
        "stratum": "REGION",
        "confidential": ["ASSETS"],
        "rest": "drop",
        "effort": "quick",
        "seed": 1,
        "precision": "full",
        "accept_risk": "full-precision",
    }
    small = table.REGION.value_counts()
    message = f"{(small < 5).sum()} of {len(small)} strata (with {small[small < 5].sum()} records)"
    with pytest.raises(ma.InputError, match=message.replace("(", r"\(").replace(")", r"\)")):
        ma.anonymize(table, k=5, **settings)
    release = anonymize_file(source, tmp_path / "out.csv", 5, **settings, small_strata="drop")
    written: Any = pd.read_csv(tmp_path / "out.csv", dtype=str)
    kept = table[table.REGION.map(small) >= 5].reset_index(drop=True)
    assert len(written) == len(kept)
    names = [*settings["quasi"], "REGION", "WEIGHT"]
    assert written.groupby(names, dropna=False).size().min() >= 5
    assert kept.REGION.groupby(release.labels).nunique().max() == 1
    assert (
        written.REGION.astype(int)
        .value_counts()
        .sort_index()
        .equals(small[small >= 5].sort_index())
    )
    weights = written.WEIGHT.astype(float)
    assert weights.sum() == pytest.approx(kept.WEIGHT.sum(), rel=1e-12)
    for name in ("AGE", "INCOME"):
        total = (weights * written[name].astype(float)).sum()
        assert total == pytest.approx((kept.WEIGHT * kept[name]).sum(), rel=1e-12)


def test_one_stratum_is_no_reason_for_coarser_ones() -> None:
    def notes(sizes: list[int]) -> Any:
        return notes_from(NoteFacts(k=5, strata=strata_facts(np.array(sizes))))

    assert notes([20]) == ()
    (note,) = notes([20, 30, 900])
    assert note.startswith("the 3 strata are small (median: 30 records)")
    assert notes([20, 50, 900]) == ()

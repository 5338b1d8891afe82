"""Weights: what a release does with them, against slow sums record by record, and everything
promised on the written file.
"""

from __future__ import annotations

import math
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import microagg as ma
from microagg.measures.registry import measures
from microagg.pipeline.files import anonymize_file
from microagg.release.report.opening import roles
from microagg.release.report.subject import Subject
from microagg.studies.assess import assess
from microagg.studies.repeating import repeat_file
from microagg.table.aggregate import aggregated
from microagg.table.grouping import Groups
from microagg.table.variable import NO_ATOM, Cells, Variable


def survey(n: int = 90, seed: int = 3) -> pd.DataFrame:
    """Numbers, a category, a date and a weight with one decimal."""
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "age": rng.integers(18, 90, n),
            "income": np.round(rng.lognormal(7, 1, n), 2),
            "sex": rng.choice(["f", "m"], n),
            "born": pd.Timestamp("1960-01-01") + pd.to_timedelta(rng.integers(0, 20_000, n), "D"),
            "w": np.round(rng.lognormal(3, 1, n), 1),
            "wealth": np.round(rng.lognormal(9, 2, n)),
            "ill": rng.choice(["flu", "cold", "none"], n),
        }
    )


ROLES: dict[str, Any] = {
    "quasi": ["age", "income", "sex", "born"],
    "weight": "w",
    "confidential": ["wealth", "ill"],
    "effort": "quick",
    "seed": 1,
}


def weighted_mean(values: Any, weights: Any) -> float:
    """Σwx / Σw, added exactly."""
    return math.fsum(w * x for w, x in zip(weights, values, strict=True)) / math.fsum(weights)


@pytest.mark.slow
def test_means_are_weighted_and_modes_and_medians_are_not() -> None:
    table = survey()
    release = ma.anonymize(table, k=4, **ROLES, precision="full")
    median = ma.anonymize(table, k=4, **ROLES, aggregate={"income": "median"}, precision="full")
    assert np.array_equal(release.labels, median.labels)
    for group in range(int(release.labels.max()) + 1):
        before, after = table[release.labels == group], release.table[release.labels == group]
        for name in ("age", "income"):
            assert after[name].nunique() == 1
            assert after[name].iloc[0] == pytest.approx(
                weighted_mean(before[name], before.w), rel=1e-13
            )
        assert after.w.iloc[0] == pytest.approx(math.fsum(before.w) / len(before), rel=1e-15)
        counts = before.sex.value_counts()
        assert counts[after.sex.iloc[0]] == counts.max()
        lower = sorted(before.income)[(len(before) - 1) // 2]
        assert median.table.income[release.labels == group].iloc[0] == lower
        days = before.born.astype("datetime64[us]").astype("int64") / 86_400e6
        day = after.born.astype("datetime64[us]").astype("int64").iloc[0] / 86_400e6
        assert abs(day - weighted_mean(days, before.w)) <= 0.5 + 1e-6


def test_grouping_does_not_use_the_weight() -> None:
    table = survey()
    release = ma.anonymize(table, k=4, **ROLES)
    roles = {name: value for name, value in ROLES.items() if name != "weight"}
    assert np.array_equal(release.labels, ma.anonymize(table, k=4, **roles, identifier="w").labels)


@pytest.mark.slow
def test_weighted_totals_stay() -> None:
    for seed in range(5):
        table = survey(seed=seed)
        release = ma.anonymize(table, k=4, **ROLES, precision="full")
        assert math.fsum(release.table.w) == pytest.approx(math.fsum(table.w), rel=1e-12)
        for name in ("age", "income"):
            before, after = (math.fsum(data.w * data[name]) for data in (table, release.table))
            assert after == pytest.approx(before, rel=1e-12)


def test_means_with_weights_against_slow_ones_also_with_gaps_and_codes() -> None:
    for seed in range(40):
        rng = np.random.default_rng(seed)
        n, k = 60, 4
        labels = rng.permutation(np.arange(n) // 5).astype(np.int32)
        values = np.round(rng.lognormal(2, 3, n), 3)
        atoms = rng.choice([NO_ATOM, 0, 1], n, p=[0.7, 0.1, 0.2]).astype(np.int16)
        weights = rng.lognormal(0, 2, n)
        cells = Cells(
            (Variable("x", marks=(97.0, None)),),
            np.where(atoms == NO_ATOM, values, np.nan).reshape(-1, 1),
            atoms.reshape(-1, 1),
        )
        result = aggregated(cells, labels, precision="full", k=k, weights=weights)
        for group in range(n // 5):
            rows = np.flatnonzero(labels == group)
            known = [i for i in rows if atoms[i] == NO_ATOM]
            released = result.cells.values[rows, 0]
            if 2 * len(known) > len(rows) and len(known) >= 3:
                expected = weighted_mean(values[known], weights[known])
                assert released == pytest.approx([expected] * len(rows), rel=1e-13)
            else:
                assert np.isnan(released).all()


def test_equal_values_stay_what_they_are() -> None:
    """0.1 times weights divided by weights is not always 0.1."""
    rng = np.random.default_rng(1)
    column, labels = np.repeat([[0.1], [1 / 3], [1e15 + 1]], 7, axis=0), np.repeat([0, 1, 2], 7)
    for _ in range(50):
        means = Groups.of(labels).means(column, rng.lognormal(0, 5, 21))
        assert means[:, 0].tolist() == [0.1, 1 / 3, 1e15 + 1]


def test_the_weight_keeps_type_and_precision() -> None:
    table = survey()
    for weight, kind in (
        (table.w, float),
        (table.w.round().clip(lower=1).astype("int32"), np.int32),
    ):
        release = ma.anonymize(table.assign(w=weight), k=4, **ROLES)
        assert release.table.w.dtype == weight.dtype
        decimals = 1 if kind is float else 0
        for group in range(int(release.labels.max()) + 1):
            mean = math.fsum(weight[release.labels == group]) / int((release.labels == group).sum())
            assert release.table.w[release.labels == group].iloc[0] == pytest.approx(
                mean, abs=0.5001 * 10**-decimals
            )
    assert (ma.anonymize(table.assign(w=1), k=4, **ROLES).table.w == 1).all()


def test_what_rounding_does_to_the_sum_is_told() -> None:
    table = survey()
    rounded = ma.anonymize(table.assign(w=table.w.round().clip(lower=1).astype(int)), k=4, **ROLES)
    assert any("rounding changed the sum of the weights 'w'" in note for note in rounded.notes)
    full = ma.anonymize(table, k=4, **ROLES, precision="full")
    assert not any("changed their sum" in note for note in full.notes)


def test_totals_that_change_are_told_inside_by_column() -> None:
    table = survey()
    release = ma.anonymize(table, k=4, **ROLES, precision="full")
    before, after = (
        math.fsum(table.w * table.wealth),
        math.fsum(release.table.w * release.table.wealth),
    )
    change = 100.0 * (after - before) / before
    assert release.manifest["weighting"]["totals_changed_by_percent"]["wealth"] == pytest.approx(
        change, rel=1e-9
    )
    assert any(f"'wealth' {change:+.1f} %" in note for note in release.notes)
    assert "weighting" not in release.public_manifest
    assert not any("'income'" in note for note in release.notes if "weighted totals change" in note)


def test_groups_that_one_weight_decides_are_counted() -> None:
    table = survey()
    release = ma.anonymize(table, k=4, **ROLES)
    heavy = sum(
        2 * max(w) > math.fsum(w)
        for w in (
            table.w[release.labels == group].tolist()
            for group in range(int(release.labels.max()) + 1)
        )
    )
    groups = int(release.labels.max()) + 1
    assert heavy > 0
    assert any(
        "more than half of the weight" in note and f"in {heavy:,} of {groups:,} groups" in note
        for note in release.notes
    )
    figure = next(figure for measure, figure in release.figures if measure.name == "dominance")
    assert figure.details["classes in which one record has over half of the weight"] == heavy


def test_classes_share_the_released_weight() -> None:
    """Two groups of equal records with other weights are two classes, and both have k records."""
    table: Any = pd.DataFrame({"age": [30] * 8, "w": [1.0, 1.0, 1.0, 1.0, 9.0, 9.0, 9.0, 9.0]})
    release = ma.anonymize(table, k=4, quasi="age", weight="w", method="mdav", seed=1)
    assert release.table.groupby(["age", "w"]).size().min() >= 4
    assert release.anonymity.sizes.sum() == 8
    assert len(release.anonymity.sizes) == release.table.w.nunique()


def test_a_weight_is_kept_or_dropped_if_asked() -> None:
    table = survey()
    kept = ma.anonymize(table, k=4, **ROLES, aggregate={"w": "keep"})
    pd.testing.assert_series_equal(kept.table.w, table.w)
    names = ["age", "income", "sex", "born"]
    alone = int((kept.table.groupby([*names, "w"]).w.transform("size") == 1).sum())
    assert alone > 0
    assert any(f"with it {alone:,} of 90 records are unique" in note for note in kept.notes)
    assert "w" in kept.pair.kept
    dropped = ma.anonymize(table, k=4, **ROLES, aggregate={"w": "drop"})
    assert "w" not in dropped.table.columns
    averaged = ma.anonymize(table, k=4, **ROLES)
    for release in (kept, dropped):
        pd.testing.assert_frame_equal(release.table[names], averaged.table[names])
        assert len(release.anonymity.sizes) <= len(averaged.anonymity.sizes)


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (None, "the weight 'w' is missing in row 5"),
        (float("nan"), "the weight 'w' is missing in row 5"),
        (0.0, "the weight 'w' is not above 0 in row 5"),
        (-1.0, "the weight 'w' is not above 0 in row 5"),
        (float("inf"), "'w', row 5"),
    ],
)
def test_wrong_weights_are_refused_with_their_row(wrong: float | None, says: str) -> None:
    table = survey()
    table.loc[4, "w"] = wrong
    table.loc[0, "age"] = None
    for missing in ("group", "drop"):
        with pytest.raises(ma.InputError, match=says):
            ma.anonymize(table, k=4, **ROLES, missing=missing)


def test_what_is_no_number_is_no_weight() -> None:
    for name in ("sex", "born"):
        roles = {**ROLES, "quasi": ["age", "income"], "weight": name}
        with pytest.raises(ma.InputError, match=f"the weight '{name}' does not hold numbers"):
            ma.anonymize(survey(), k=4, **roles, rest="drop")
    with pytest.raises(ma.InputError, match="neither strata apart nor weighted totals"):
        ma.anonymize(
            survey(), k=4, quasi="age", weight="w", rest="drop", method="individual-ranking"
        )
    with pytest.raises(
        ma.InputError, match="there is no parameter 'weights'; it is called 'weight'"
    ):
        ma.anonymize(survey(), k=4, quasi="age", weights="w", rest="drop")


@pytest.mark.parametrize("library", ["pandas", "polars", "arrow", "numpy"])
def test_any_library(library: str) -> None:
    table = survey()[["age", "income", "w"]]
    source: Any = {
        "pandas": table,
        "polars": pl.from_pandas(table),
        "arrow": pa.Table.from_pandas(table),
        "numpy": table.to_numpy(),
    }[library]
    names: dict[str, Any] = (
        {"quasi": [0, 1], "weight": 2}
        if library == "numpy"
        else {"quasi": ["age", "income"], "weight": "w"}
    )
    release = ma.anonymize(source, k=4, **names, effort="quick", seed=1)
    expected = ma.anonymize(table, k=4, quasi=["age", "income"], weight="w", effort="quick", seed=1)
    values = np.asarray(
        release.table
        if library == "numpy"
        else pd.DataFrame(release.table.to_pandas() if library != "pandas" else release.table)
    )
    assert np.array_equal(values, expected.table.to_numpy())


@pytest.mark.slow
def test_public_figures_know_the_released_weights_only() -> None:
    """Swapping weights within groups changes nothing that is released, and nothing that everybody
    is told.
    """
    rng = np.random.default_rng(5)
    table: Any = pd.DataFrame(
        {
            "age": np.repeat(np.arange(20), 4),
            "w": rng.lognormal(3, 1, 80),
            "ill": rng.choice(["flu", "cold", "none"], 80),
        }
    )
    swapped = table.assign(w=table.w.to_numpy().reshape(-1, 4)[:, ::-1].ravel())
    roles: dict[str, Any] = {"quasi": "age", "confidential": "ill", "precision": "full", "seed": 1}
    weighted, unweighted = [], ma.anonymize(table.drop(columns="w"), k=4, **roles)
    for source in (table, swapped):
        release = ma.anonymize(source, k=4, weight="w", **roles)
        weighted.append({m.name: f.value for m, f in release.figures if m.of == "release"})
        dropped = ma.anonymize(source, k=4, weight="w", aggregate={"w": "drop"}, **roles)
        figures = {m.name: f.value for m, f in dropped.figures if m.of == "release"}
        assert figures == pytest.approx(
            {m.name: f.value for m, f in unweighted.figures if m.of == "release"}
        )
    assert weighted[0] == pytest.approx(weighted[1])
    inside = [
        {
            m.name: m.compute(ma.anonymize(source, k=4, weight="w", **roles).pair).value
            for m in measures()
            if m.name in weighted[0]
        }
        for source in (table, swapped)
    ]
    assert inside[0] != pytest.approx(inside[1])  # the weights of the original would tell


def test_reports_say_what_became_of_the_weight() -> None:
    phrases = {
        "mean": "replaced by the mean of its group",
        "keep": "released unchanged",
        "drop": "left out",
    }
    for how, happened in phrases.items():
        release = ma.anonymize(survey(), k=4, **ROLES, aggregate={"w": how})
        subject = Subject(
            release.manifest,
            False,
            release.pair.quasi,
            release.pair.after,
            release.anonymity.sizes,
            (),
        )
        rows = [row for block in roles(subject).blocks for row in getattr(block, "rows", ())]
        assert ("w", "weight", "how many units a record stands for", happened) in rows


def test_assess_takes_strata_for_part_of_a_class() -> None:
    table = survey()
    table["region"] = ["a", "b", "c"] * 30
    release = ma.anonymize(table, k=4, **ROLES, stratum="region")
    quasi = ["age", "income", "sex", "born"]
    assessment = assess(
        table, release.table, quasi=quasi, stratum="region", weight="w", confidential=["ill"], k=4
    )
    classes = release.table.groupby([*quasi, "region"]).size()
    assert (assessment.classes, assessment.smallest_class) == (len(classes), classes.min())
    assert assessment.as_data()["strata"] == ["region"]


def random_table(seed: int) -> tuple[pd.DataFrame, dict[str, Any]]:
    """Any mixture of kinds, gaps, strata, weights, l and t."""
    rng = np.random.default_rng([16, seed])
    n = int(rng.integers(40, 160))
    table: Any = pd.DataFrame(
        {
            "age": rng.integers(18, 90, n).astype(float),
            "income": np.round(rng.lognormal(7, 1, n), int(rng.integers(0, 3))),
            "job": rng.choice(["nurse", "cook", "clerk", "guard"], n),
            "w": np.round(rng.lognormal(3, 1, n), int(rng.integers(0, 3))) + 1.0,
            "region": rng.choice(["north", "south", "east"], n, p=[0.6, 0.3, 0.1]),
            "urban": rng.random(n) < 0.5,
            "ill": rng.choice(["flu", "cold", "none", "gout"], n, p=[0.4, 0.3, 0.2, 0.1]),
            "wage": rng.integers(0, 6, n) * 10.0,
        }
    )
    if seed % 2:
        table.loc[rng.random(n) < 0.1, "age"] = np.nan
        table.loc[rng.random(n) < 0.1, "region"] = None
    settings: dict[str, Any] = {
        "k": int(rng.integers(2, 6)),
        "quasi": ["age", "income", "job"],
        "weight": "w",
        "stratum": [["region"], ["region", "urban"], ["urban"]][seed % 3],
        "confidential": ["ill", "wage"],
        "rest": "drop",
        "small_strata": "drop",
        "method": ["auto", "mdav", "lns", "v-mdav"][seed % 4],
        "seed": seed,
        "precision": ["column", "full"][seed // 2 % 2],
        "accept_risk": "full-precision",
    }
    settings |= [{}, {"l": 2}, {"t": 0.5}, {"l": 2, "t": 0.5}][seed // 3 % 4]
    settings |= {"params": {"effort": "quick"}} if settings["method"] in ("auto", "lns") else {}
    return table, settings


def assert_promises(written: pd.DataFrame, settings: dict[str, Any]) -> None:
    """Every class of the written file has k records and keeps l and t: counted slowly, from
    texts.
    """
    names = [*settings["quasi"], *settings["stratum"], "w"]
    classes: dict[tuple[str, ...], list[int]] = defaultdict(list)
    for i, row in enumerate(written[names].itertuples(index=False)):
        classes[tuple(row)].append(i)
    for rows in classes.values():
        assert len(rows) >= settings["k"]
        for name in settings["confidential"]:
            values = written[name].iloc[rows]
            assert values.nunique() >= settings.get("l", 1)
            if "t" in settings:
                assert (
                    distance(values, written[name], ordered=name == "wage") <= settings["t"] + 1e-9
                )


def distance(values: Any, whole: Any, *, ordered: bool) -> float:
    """The earth mover's distance of a class from the whole table: total variation, or the ordered
    distance.
    """
    levels = sorted(set(whole), key=float if ordered else str)
    p = [(values == level).mean() - (whole == level).mean() for level in levels]
    if not ordered:
        return sum(map(abs, p)) / 2.0
    return sum(abs(sum(p[: i + 1])) for i in range(len(p))) / max(len(levels) - 1, 1)


def strata_of(table: pd.DataFrame, settings: dict[str, Any]) -> Any:
    """A name for the stratum of each record; what is missing is one of its own."""
    rows = table[settings["stratum"]].itertuples(index=False)
    named = ["|".join("?" if pd.isna(value) else str(value) for value in row) for row in rows]
    return pd.Series(named, index=table.index)


def able_records(table: pd.DataFrame, settings: dict[str, Any]) -> pd.DataFrame:
    """The records that are left when strata that are too small, or miss l or t as one class, are
    taken away again and again.
    """
    of, left = strata_of(table, settings), table
    while True:
        unable = []
        for stratum, part in left.groupby(of[left.index]):
            kept = all(
                part[name].nunique() >= settings.get("l", 1) for name in settings["confidential"]
            ) and all(
                distance(part[name], left[name], ordered=name == "wage") <= settings.get("t", 9.0)
                for name in settings["confidential"]
            )
            if len(part) < settings["k"] or not kept:
                unable.append(stratum)
        if not unable:
            return left
        left = left[~of[left.index].isin(unable)]


@pytest.mark.slow
@pytest.mark.parametrize("block", range(10))
def test_everything_promised_holds_on_the_written_file(tmp_path: Path, block: int) -> None:
    for seed in range(10 * block, 10 * block + 10):
        table, settings = random_table(seed)
        source, target = tmp_path / f"{seed}.csv", tmp_path / f"{seed}.out.csv"
        table.to_csv(source, index=False)
        kept = able_records(table, settings)
        if len(kept) < len(table):
            with pytest.raises(ma.InputError, match="strata"):
                anonymize_file(source, target, **{**settings, "small_strata": "error"})
            assert not target.exists()
        release = anonymize_file(source, target, **settings)
        written: Any = pd.read_csv(target, dtype=str, keep_default_na=False)
        assert len(written) == len(kept)
        assert release.manifest["strata"]["records_left_out"] == len(table) - len(kept)
        assert_promises(written, settings)
        assert strata_of(kept, settings).groupby(release.labels).nunique().max() == 1
        assert_totals(kept, written, settings)
        again = repeat_file(f"{target}.internal.json", source, tmp_path / f"{seed}.again.csv")
        assert np.array_equal(release.labels, again.labels)


def assert_totals(original: pd.DataFrame, written: pd.DataFrame, settings: dict[str, Any]) -> None:
    """With exact means, weights and weighted totals of columns without gaps stay."""
    if settings["precision"] != "full":
        return
    weights = written.w.astype(float)
    assert math.fsum(weights) == pytest.approx(math.fsum(original.w), rel=1e-12)
    total = math.fsum(weights * written.income.astype(float))
    assert total == pytest.approx(math.fsum(original.w * original.income), rel=1e-12)


@pytest.mark.reference
@pytest.mark.slow
@pytest.mark.parametrize("weight", ["sampling_weight", "household_weights"])
def test_testdata_by_urban_and_rural(tmp_path: Path, weight: str, reference_data: Path) -> None:
    source = reference_data / "tables" / "testdata.csv"
    table: Any = pd.read_csv(source)
    codes = ["roof", "walls", "water", "electcon", "relat", "sex", "hhcivil"]
    numbers = ["age", "expend", "income"]
    anonymize_file(
        source,
        tmp_path / "out.csv",
        5,
        quasi=[*codes, *numbers],
        nominal=codes,
        weight=weight,
        stratum="urbrur",
        confidential="savings",
        rest="drop",
        effort="quick",
        precision="full",
        accept_risk="full-precision",
        seed=1,
    )
    written: Any = pd.read_csv(tmp_path / "out.csv", dtype=str)
    assert len(written) == len(table)
    assert written.groupby([*codes, *numbers, "urbrur", weight], dropna=False).size().min() >= 5
    assert (
        written.urbrur.astype(int)
        .value_counts()
        .sort_index()
        .equals(table.urbrur.value_counts().sort_index())
    )
    weights = written[weight].astype(float)
    assert math.fsum(weights) == pytest.approx(math.fsum(table[weight]), rel=1e-12)
    for name in numbers:
        total = math.fsum(weights * written[name].astype(float))
        assert total == pytest.approx(math.fsum(table[weight] * table[name]), rel=1e-12)

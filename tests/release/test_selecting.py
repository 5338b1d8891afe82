"""Columns by pattern and by selector; settings and manifests hold their names."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import narwhals.selectors as ncs
import numpy as np
import polars as pl
import polars.selectors as cs
import pyarrow as pa
import pytest

import microagg as ma
import small_blocks
from beyond import in_passes
from microagg.files.commit.writing import write_table
from microagg.release.selecting import expand_patterns, is_selector
from microagg.release.settings import Settings
from microagg.studies.repeating import repeat_file
from microagg.table.patterns import expand_names

rng = np.random.default_rng(5)
TABLE = pa.table(
    {
        "q1": rng.integers(0, 50, 40),
        "q2": rng.integers(0, 50, 40),
        "q3": rng.integers(0, 5, 40),
        "town": [f"t{i % 4}" for i in range(40)],
        "q*": rng.integers(0, 9, 40),
    }
)
SAID: dict[str, Any] = {"k": 4, "seed": 1, "effort": "quick", "rest": "drop"}


@pytest.mark.parametrize(
    ("settings", "quasi"),
    [
        ({"quasi": "q[12]"}, ("q1", "q2")),
        ({"quasi": ["q?", "town"], "keep": ["q3"]}, ("q1", "q2", "q*", "town")),
        ({"quasi": "q*"}, ("q*",)),
        ({"quasi": "*", "identifier": "town"}, ("q1", "q2", "q3", "q*")),
        ({"quasi": "q[123]", "nominal": "q[3]"}, ("q1", "q2", "q3")),
    ],
)
def test_patterns(settings: dict[str, Any], quasi: tuple[str, ...]) -> None:
    release = ma.anonymize(TABLE, **SAID, **settings)
    assert release.settings.quasi == quasi
    named = ma.anonymize(TABLE, settings=release.settings)
    assert named.table.equals(release.table)


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        (
            {"quasi": "z*"},
            "quasi names 'z\\*', but no column fits that pattern; the table has 'q1'",
        ),
        ({"quasi": "q?", "keep": "q[3]"}, "column 'q3' was given two roles"),
    ],
)
def test_patterns_that_fit_nothing_or_twice(settings: dict[str, Any], says: str) -> None:
    with pytest.raises(ma.InputError, match=says):
        ma.anonymize(TABLE, **SAID, **settings)


@pytest.mark.parametrize("ending", [".csv", ".csv.gz", ".parquet", ".feather", ".xlsx", ".sav"])
def test_patterns_of_files(tmp_path: Path, ending: str) -> None:
    source, target = tmp_path / f"in{ending}", tmp_path / "out.csv"
    write_table(TABLE.drop_columns(["q*"]), source)
    release = ma.anonymize_file(source, target, **SAID, quasi="q*", keep="t*")
    assert release.manifest["settings"]["quasi"] == ["q1", "q2", "q3"]
    assert release.manifest["settings"]["keep"] == ["town"]
    repeat_file(tmp_path / "out.csv.internal.json", source, tmp_path / "again.csv")
    assert (tmp_path / "again.csv").read_bytes() == target.read_bytes()


def test_patterns_out_of_core(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small_blocks.make_small(monkeypatch.setattr)
    source = tmp_path / "in.csv"
    write_table(pa.concat_tables([TABLE.drop_columns(["q*"])] * 40), source)
    settings = {**SAID, "quasi": "q*", "keep": "t*", "date": "2026-01-01"}
    ma.anonymize_file(source, tmp_path / "memory.csv", **settings)
    assert in_passes(monkeypatch, source, tmp_path / "passes.csv", **settings).table is None
    assert (tmp_path / "memory.csv").read_bytes() == (tmp_path / "passes.csv").read_bytes()


@pytest.mark.parametrize(
    "selector", [ncs.numeric(), cs.numeric(), cs.starts_with("q"), pl.col("^q.*$")]
)
@pytest.mark.parametrize("library", ["arrow", "polars", "pandas"])
def test_selectors(selector: Any, library: str) -> None:
    table = {"arrow": TABLE, "polars": pl.from_arrow(TABLE), "pandas": TABLE.to_pandas()}[library]
    release = ma.anonymize(table, **SAID, quasi=selector, keep=[cs.by_name("town")])
    assert release.settings.quasi == ("q1", "q2", "q3", "q*")
    assert release.settings.keep == ("town",)


def test_selectors_that_fit_nothing() -> None:
    with pytest.raises(ma.InputError, match="a selector of columns does not fit the table"):
        ma.anonymize(TABLE, **SAID, quasi=cs.by_name("height"))


def test_other_commands_take_patterns(tmp_path: Path) -> None:
    release = ma.anonymize(TABLE, **SAID, quasi="q[123]", keep="town")
    assert (
        ma.check(release.table, "q?", k=4).holds
        == ma.check(release.table, ["q1", "q2", "q3"], k=4).holds
    )
    assessment = ma.assess(TABLE, release.table, quasi="q[12]", keep="t*", known="q1")
    assert assessment.pair.quasi == ("q1", "q2")
    assert ma.compare(TABLE, ks=[3], methods="mdav", quasi="q[12]").quasi == ("q1", "q2")


def test_names_are_taken_as_they_are_before_they_are_patterns() -> None:
    assert expand_names(["nothing"], ["age"], "quasi") == ("nothing",)
    assert expand_names(["q*"], ["q*", "q1"], "quasi") == ("q*",)
    assert expand_names(["q*"], ["q1", "q2", "age"], "quasi", among=["q2"]) == ("q2",)
    with pytest.raises(ma.InputError, match="quasi"):
        expand_names(["z*"], ["q1", "age"], "quasi")


def test_weight_and_unit_are_not_taken_by_a_pattern() -> None:
    settings = Settings.of(k=5, quasi="q*", weight="q_w", unit="q_u")
    assert expand_patterns(settings, ["q1", "q_w", "q_u"]).quasi == ("q1",)
    assert expand_patterns(Settings.of(k=5, quasi="q*"), ["q1", "q_w"]).quasi == ("q1", "q_w")


class Expr:
    """Named like the expressions of narwhals and polars, but of another library."""


def test_only_expressions_of_the_two_libraries_are_selectors() -> None:
    assert all(map(is_selector, (cs.numeric(), pl.col("q1"), ncs.numeric(), ncs.by_dtype())))
    assert not any(map(is_selector, (pl.Series(["q1"]), pl.Int64, Expr(), ["q1"], "q1", None)))

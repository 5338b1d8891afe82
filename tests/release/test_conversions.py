"""A release in other shapes, and what keywords and wide tables get for an answer."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import microagg as ma
import small_blocks
import tables
from beyond import in_passes, settings_for, table_of
from microagg.files.commit.writing import write_table
from microagg.release.report.viewing import ReportView

SAID: dict[str, Any] = {"k": 4, "quasi": tables.QUASI, "rest": "drop", "seed": 1, "method": "mdav"}


@pytest.fixture(scope="module")
def release() -> ma.Release:
    return ma.anonymize(tables.people(40), **SAID)


def test_tables_of_other_libraries(release: ma.Release) -> None:
    assert len(release) == 40
    columns = release.table.to_pydict()
    assert release.to_arrow() is release.table
    assert release.to_pandas().to_dict("list") == columns
    assert release.to_polars().to_dict(as_series=False) == columns
    frame = tables.people(40).to_pandas().set_index(pd.Index(range(7, 47)))
    of_pandas = ma.anonymize(frame, **SAID)
    assert of_pandas.to_pandas() is of_pandas.table
    assert of_pandas.to_arrow().to_pydict() == columns
    of_polars = ma.anonymize(pl.from_arrow(tables.people(40)), **SAID)
    assert of_polars.to_polars() is of_polars.table
    matrix = ma.anonymize(
        np.array(list(columns.values()), float).T, k=4, quasi=[0, 1], method="mdav", seed=1
    )
    assert matrix.to_pandas().columns.tolist() == ["0", "1"]


def test_summary_and_plot(release: ma.Release, tmp_path: Path) -> None:
    text = release.summary()
    assert text.splitlines()[0].startswith("40 records in ")
    assert "verdict      Guarantee met, nothing open" in text
    pictures = release.plot("income")
    assert [picture.caption for picture in pictures.pictures] == ["income"]
    assert pictures._repr_html_().count("<svg") == 1
    assert len(release.plot().pictures) == 2
    path = pictures.save(tmp_path / "p.html")
    assert path.stat().st_mode & 0o777 == 0o600
    assert "<svg" in path.read_text("utf-8")
    with pytest.raises(ma.InputError, match="no quasi-identifying column 'wealth' to plot"):
        release.plot("wealth")
    with pytest.raises(ma.InputError, match=r"ends in \.html"):
        pictures.save(tmp_path / "p.png")


def test_plots_need_no_other_package(release: ma.Release, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert all(picture.svg.startswith("<svg") for picture in release.plot().pictures)


def test_a_report_without_a_path(release: ma.Release) -> None:
    view = release.report()
    assert isinstance(view, ReportView)
    assert view._repr_html_().startswith('<iframe srcdoc="&lt;!DOCTYPE html&gt;')
    assert repr(view).startswith("Disclosure control report")
    assert "Smallest of " in repr(view)
    assert repr(view) == release.first_page()
    public = release.report(public=True)
    assert isinstance(public, ReportView)
    assert public.public
    assert not view.public


def test_a_public_report_is_refused_without_acceptance() -> None:
    risky = ma.anonymize(tables.people(40), **SAID, precision="full")
    with pytest.raises(ma.InputError, match="full-precision"):
        risky.report(public=True)


def test_a_release_on_disk_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small_blocks.make_small(monkeypatch.setattr)
    write_table(table_of(1500, kinds="plain"), tmp_path / "in.parquet")
    release = in_passes(
        monkeypatch,
        tmp_path / "in.parquet",
        tmp_path / "out.parquet",
        **settings_for("plain", rest="drop"),
    )
    assert len(release) == 1500
    with pytest.raises(ma.InputError, match="its table is in the file that was written"):
        release.to_pandas()


@pytest.mark.parametrize(
    ("keyword", "instead"),
    [
        ("random_state", "seed"),
        ("n_jobs", "threads"),
        ("quassi", "quasi"),
        ("sensitive", "confidential"),
        ("efort", "effort"),
    ],
)
def test_an_unknown_keyword_gets_the_nearest(keyword: str, instead: str) -> None:
    settings = {**SAID, "method": "auto", keyword: 1}
    with pytest.raises(
        ma.InputError, match=f"there is no parameter '{keyword}'; it is called '{instead}' here"
    ):
        ma.anonymize(tables.people(), **settings)


def test_parameters_of_other_methods_are_still_named_as_such() -> None:
    with pytest.raises(ma.InputError, match="method mdav has no parameter 'gamma'"):
        ma.anonymize(tables.people(), **SAID, gamma=0.2)


def test_a_wide_table_gets_a_short_answer() -> None:
    wide = pa.table({f"question_{number}": [1, 2, 3] for number in range(400)})
    for options in (
        {"quasi": "questoin_17"},
        {"quasi": "question_1"},
        {"quasi": "question_1", "rest": "drop", "kinds": {"age": "nominal"}},
    ):
        with pytest.raises(ma.InputError) as refusal:
            ma.anonymize(wide, k=3, **options)
        assert len(str(refusal.value)) < 500
    with pytest.raises(ma.InputError, match="nearest names are 'question_17'"):
        ma.anonymize(wide, k=3, quasi="questoin_17")
    with pytest.raises(ma.InputError, match="nearest names are 'question_17'"):
        ma.check(wide, "questoin_17", k=3)


def test_assess_takes_a_release_and_paths(release: ma.Release, tmp_path: Path) -> None:
    people = tables.people(40)
    assessment = ma.assess(people, release)
    assert assessment.figure("il").value == pytest.approx(release.loss["IL"])
    assert "information loss: " in repr(assessment)
    for name, table in (("in.csv", people), ("out.csv", release.table)):
        write_table(table, tmp_path / name)
    files = ma.assess(tmp_path / "in.csv", str(tmp_path / "out.csv"), quasi=tables.QUASI)
    assert files.figure("il").value == pytest.approx(release.loss["IL"])


def test_compare_takes_k_by_either_name() -> None:
    one = ma.compare(tables.people(40), k=[3, 4], methods="mdav", quasi=tables.QUASI)
    other = ma.compare(tables.people(40), ks=[3, 4], methods="mdav", quasi=tables.QUASI)
    assert one.rows == other.rows
    assert repr(one).startswith("|  | method | k |")
    with pytest.raises(ma.InputError, match="k is missing"):
        ma.compare(tables.people(40), methods="mdav")

"""Details of the first page that readers stumbled over."""

from __future__ import annotations

import re

import numpy as np
import pytest

import microagg as ma
from microagg.release.report.building import build_first_page
from microagg.release.report.front import _beside
from microagg.release.report.viewing import ReportView


@pytest.fixture(scope="module")
def households() -> ma.Release:
    return ma.anonymize(
        ma.datasets.households(300),
        k=5,
        quasi=["born", "sex", "education", "occupation", "income"],
        stratum="region",
        weight="weight",
        unit="household",
        confidential="health",
        keep="hours",
        kinds={"hours": "numeric"},
        rest="drop",
        effort="quick",
        seed=1,
    )


def page(release: ma.Release, *, public: bool = False) -> str:
    view = release.report(public=public)
    assert isinstance(view, ReportView)
    return view.html


def test_the_chance_holds_for_all_columns_that_a_class_shares(households: ma.Release) -> None:
    first = page(households)
    boxed = re.search(r"Protected: shared by groups \((\d+)\)", first)
    known = re.search(r"who knows only the (\d+) protected columns", first)
    assert boxed is not None
    assert known is not None
    assert boxed[1] == known[1] == "7"
    table = households.table.to_pandas()
    shared = table.groupby(
        ["born", "sex", "education", "occupation", "income", "region", "weight"], dropna=False
    )
    assert shared.size().min() >= 5


def test_what_a_public_report_does_not_list_is_said_in_full(households: ma.Release) -> None:
    assert "not listed in a public report" in page(households, public=True)


def test_open_points_come_first_among_other_notes(households: ma.Release) -> None:
    words = re.findall(r'<tr><th scope="row">(decide|check|for information)</th>', page(households))
    order = ["decide", "check", "for information"]
    assert "decide" in words
    assert words == sorted(words, key=order.index)


def test_a_mean_that_is_nothing_beside_its_spread_is_0() -> None:
    assert _beside(-1.118e-8, 1.0) == 0.0
    assert _beside(0.01, 1.0) == 0.01
    assert _beside(1e-9, 1e-9) == 1e-9
    assert _beside(5.0, 0.0) == 5.0


def test_one_class_is_called_so() -> None:
    manifest = {
        "settings": {"k": 3, "method": "mdav", "scale": "zscore"},
        "records": 3,
        "roles": {"age": "quasi"},
        "guarantee": {"of": "each combination"},
        "loss": {"IL": 100.0},
    }
    front = build_first_page(manifest=manifest, class_sizes=np.array([3])).front
    assert front is not None
    assert front.figures[0][:2] == ("Only class", "3 records")


def test_a_long_list_of_columns_is_cut_in_a_note_and_kept_in_its_data() -> None:
    rng = np.random.default_rng(1)
    table = {f"x{j}": np.exp(3 * rng.normal(size=200)) for j in range(8)}
    release = ma.anonymize(table, k=3, quasi=list(table), method="mdav", seed=0)
    (note,) = [note for note in release.notes if note.code == "dominated-groups"]
    assert len(note.columns) > 5
    assert f"and {len(note.columns) - 5} more" in note

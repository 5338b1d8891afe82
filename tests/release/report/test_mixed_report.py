"""Reports of mixed tables: what they say of categories, dates and gaps, inside and for
everybody.
"""

from __future__ import annotations

import json
import statistics
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from microagg.measures.columns import columns_of
from microagg.measures.measure import Pair
from microagg.measures.registry import assess_pair
from microagg.release.report.building import build_document
from microagg.release.report.document import Document, Grid, Paragraph, Picture
from microagg.release.report.html import to_html
from microagg.release.report.markdown import to_markdown
from microagg.release.report.plain import to_json
from microagg.release.settings import Settings
from microagg.table.schema import Kind
from microagg.table.variable import Cells, Variable
from mixed_tables import mixed_cells, mixed_groups, released_cells, words

HOSTILE = '<script>alert("x")</script> & | `a` *b* $y$\n<blink>'


def report(
    before: Cells,
    after: Cells,
    *,
    public: bool = False,
    left_out: tuple[str, ...] = (),
    bound: dict[str, Any] | None = None,
    **settings: Any,
) -> Document:
    pair = Pair.of_cells(before, after, k=4)
    manifest = {
        "settings": {"k": 4, "method": "mdav", "scale": "zscore", **settings},
        "records": len(before),
        "roles": {**dict.fromkeys(pair.quasi, "quasi"), **dict.fromkeys(left_out, "identifier")},
        "guarantee": {"of": "each combination"},
        "loss": {"IL": 9.5},
        "largest_share": 0.01,
    }
    return build_document(
        manifest=manifest,
        public=public,
        pair=pair,
        class_sizes=np.sort(pair.classes.sizes),
        figures=assess_pair(pair),
        bound=bound,
    )


def mixed_report(columns: list[int] | None = None, **more: Any) -> Document:
    before = columns_of(mixed_cells(5), columns or list(range(5)))
    return report(before, released_cells(before, mixed_groups(5)), **more)


def section(document: Document, title: str) -> tuple[Any, ...]:
    return next(part.blocks for part in document.sections if part.title.startswith(title))


def grid(blocks: tuple[Any, ...], column: str) -> Grid:
    return next(block for block in blocks if isinstance(block, Grid) and column in block.head)


@pytest.fixture
def told_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let everybody know the settings, as far as they are about columns."""
    known = {*Settings.public_names(), "aggregate", "missing"}
    monkeypatch.setattr(Settings, "public_names", staticmethod(lambda: tuple(known)))


@pytest.mark.usefixtures("told_settings")
@pytest.mark.parametrize("public", [False, True])
def test_what_took_the_place_of_values(public: bool) -> None:
    rows = {
        row[0]: row[3]
        for row in grid(section(mixed_report(public=public), "The columns"), "role").rows
    }
    assert "mean" in rows["income"]
    assert "median" in rows["school"]
    assert "most frequent" in rows["town"]
    document = mixed_report(public=public, aggregate={"town": "draw", "age": "median"})
    rows = {row[0]: row[3] for row in grid(section(document, "The columns"), "role").rows}
    assert "drawn by lot" in rows["town"]
    limits = {row[0]: row[1] for row in grid(section(document, "Limits"), "why").rows}
    assert limits["true values of single records"].startswith("Age and town: ")
    assert "true values" not in to_json(mixed_report(public=public)), (
        "medians of levels are of no single record"
    )


def test_dates_are_told_as_dates() -> None:
    rows = grid(section(mixed_report(), "What was lost"), "median").rows
    assert {row[0] for row in rows} == {"income", "age", "born"}, "no means of codes"
    born = next(row for row in rows if row[:2] == ("born", "before"))
    days = [row[2] for row in words(mixed_cells(5))]
    least, largest = (str(np.datetime64(int(day), "D")) for day in (min(days), max(days)))
    assert (born[4], born[8]) == (least, largest)
    assert born[2] == str(np.datetime64(round(statistics.fmean(days)), "D"))
    assert born[3].endswith(" days")
    income = next(row for row in rows if row[:2] == ("income", "before"))
    values = [row[0] for row in words(mixed_cells(5)) if not isinstance(row[0], tuple)]
    assert float(income[2].replace(",", "")) == pytest.approx(statistics.fmean(values), rel=1e-5)


def test_the_variation_lost_is_that_of_the_encoding() -> None:
    before = mixed_cells(5)
    after = released_cells(before, mixed_groups(5))
    ((_, il),) = assess_pair(Pair.of_cells(before, after), ["il"])
    shown = grid(section(report(before, after), "What was lost"), "variation lost, %").rows
    assert [row[0] for row in shown] == sorted(il.columns, key=lambda name: -il.columns[name])
    assert [float(row[1]) for row in shown] == pytest.approx(
        sorted(il.columns.values(), reverse=True), rel=1e-3
    )


@pytest.mark.parametrize("public", [False, True])
def test_correlations_are_of_numbers_alone(public: bool) -> None:
    blocks = section(mixed_report(public=public), "Correlations")
    names = [block.data.head[1:] for block in blocks if isinstance(block, Picture)]
    assert set(names) == {("income", "age", "born")}, "gaps are left out pair by pair"
    blocks = section(mixed_report([1, 3, 4], public=public), "Correlations")
    assert blocks == (
        Paragraph(
            "There are not two columns of numbers that vary, so there is nothing to correlate."
        ),
    )


def test_measures_of_numbers_say_of_which_columns() -> None:
    text = to_json(mixed_report())
    assert "Measures that need numbers cover age and born only" in text
    why = (
        "Measures that need numbers cover age and born only; left out: income "
        "(gaps or special codes); school and town "
        "(categories)."
    )
    assert Paragraph(why) in section(mixed_report(), "What was lost")
    assert Paragraph(why) not in section(mixed_report(), "What an intruder gains"), "said once"
    assert "left out:" not in to_json(mixed_report([1, 2])), "there is nothing to leave out"
    assert "Measures that need numbers" not in to_json(mixed_report(public=True)), (
        "gaps are the original's"
    )
    assert "cover no column; they leave out" in to_json(mixed_report([3, 4]))


def test_a_public_report_shows_what_the_release_has() -> None:
    """Gaps of the original that were filled are not seen; nor is a column's share of them."""
    variable = (Variable("age", marks=(None,)), Variable("sex", Kind.NOMINAL, ("F", "M", None)))
    values = np.array(
        [[30.0, 0.0], [32.0, 0.0], [np.nan, 2.0], [60.0, 1.0], [62.0, 1.0], [64.0, 1.0]]
    )
    atoms = np.where(np.isnan(values), 0, -1).astype(np.int16)
    before = Cells(variable, values, atoms)
    after = Cells(
        variable, np.repeat([[31.0, 0.0], [62.0, 1.0]], 3, axis=0), np.full((6, 2), -1, np.int16)
    )
    assert "missing" not in json.dumps(
        [str(block) for block in section(report(before, after, public=True), "The released")]
    ).replace("what is missing", "")
    assert "missing" in to_json(report(before, after))


@pytest.mark.slow
@pytest.mark.parametrize("public", [False, True])
def test_hostile_levels(public: bool) -> None:
    before = mixed_cells(5)
    town = replace(
        before.variables[4],
        levels=(HOSTILE, "a\ud800\x00b", "x" * 500, *before.variables[4].levels[3:]),
    )
    before = Cells((*before.variables[:4], town), before.values, before.atoms)
    document = report(before, released_cells(before, mixed_groups(5)), public=public)
    page = to_html(document)
    page.encode("utf-8")
    assert "<script" not in page
    assert "<blink" not in page
    assert page == to_html(
        report(before, released_cells(before, mixed_groups(5)), public=public)
    ), "the same bytes"
    for text in (to_markdown(document), to_json(document)):
        text.encode("utf-8")
    for line in to_markdown(document).splitlines():
        if line.startswith("| &lt;script") or ("script" in line and line.startswith("|")):
            assert line.endswith("|")


def test_what_nobody_gave_a_role_is_not_said_to_name_somebody() -> None:
    document = mixed_report(left_out=("person", "shoe_size"), identifier=["person"], rest="drop")
    rows = {row[0]: row[1:] for row in grid(section(document, "The columns"), "role").rows}
    assert rows["person"] == ("identifier", "names a person directly", "left out")
    assert rows["shoe_size"] == ("none", "not needed", "left out")


def test_a_bound_says_why_it_has_no_certificate() -> None:
    document = mixed_report(bound={"IL": 9.0, "optimal": False, "gap": 5.0})
    text = " ".join(x.text for x in section(document, "How close") if isinstance(x, Paragraph))
    assert "can lose less than 9 % of the variation" in text
    assert "It has no certificate: the checker" in text

"""The page of all published figures."""

from __future__ import annotations

import os
from collections import Counter
from csv import DictReader
from dataclasses import replace
from pathlib import Path

import pytest

from microagg.studies.published import all_published, omitted, published_figures
from microagg.studies.reproduce import Reproduced, reproduce
from microagg.studies.reproduce_page import bounds_for, problem_of, write_page
from microagg.studies.reproduce_runs import Least
from microagg.studies.verdicts import VERDICTS

PAGE = Path(__file__).parents[2] / "docs" / "reproduced.md"


def some(name: str, **fields: object) -> list:
    return [
        figure
        for figure in published_figures()
        if figure.name == name
        and all(getattr(figure, field) == value for field, value in fields.items())
    ]


def rows_of(text: str) -> list[list[str]]:
    """The rows of the figures."""
    return table_rows(
        text.partition("## At a glance")[2]
        .partition("\n## ")[2]
        .partition("## What is left out")[0]
    )


def glance_of(text: str) -> list[list[str]]:
    return table_rows(text.partition("## At a glance")[2].partition("\n## ")[0])


def table_rows(text: str) -> list[list[str]]:
    return [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in text.splitlines()
        if line.startswith("|") and not line.startswith(("|---", "| method |"))
    ]


def printed(figure) -> str:
    deviation = f" ± {figure.deviation:.{figure.decimals}f}" if figure.deviation else ""
    return f"{figure.value:.{figure.decimals}f}{deviation}"


def test_every_figure_has_its_row(tmp_path: Path) -> None:
    figures = all_published()
    cells = [Reproduced(figure, figure.value, "equal") for figure in figures]
    write_page(tmp_path / "page.md", cells, {}, 30.0)
    rows = rows_of((tmp_path / "page.md").read_text("utf-8"))
    assert len(rows) == len(figures) == 420 + 2 * 44 + 2 * 44 + 2
    assert all(len(row) == 9 for row in rows)
    assert sorted(row[4] for row in rows) == sorted(map(printed, figures))


def test_a_figure_below_what_is_proven_is_called_so(tmp_path: Path) -> None:
    figure = some("mdav", dataset="Census", k=3, measure="IL")[0]
    below, above = replace(figure, value=1.0), replace(figure, value=9.0, note="not explained")
    cells = [Reproduced(below, 5.69, "higher"), Reproduced(above, 5.69, "lower")]
    write_page(tmp_path / "page.md", cells, {problem_of(figure): Least(4.6, 600.0)}, 30.0)
    first, second = rows_of((tmp_path / "page.md").read_text("utf-8"))
    assert first[8] == "higher; printed below the proven bound"
    assert second[8] == "lower; not explained"
    assert float(first[7]) == pytest.approx(4.6)


def test_a_bound_of_our_data_says_nothing_of_other_data(tmp_path: Path) -> None:
    figure = replace(some("mdav", dataset="Sim-1", measure="IL")[0], value=1.0)
    write_page(
        tmp_path / "page.md",
        [Reproduced(figure, 5.0, "higher")],
        {problem_of(figure): Least(4.6, 600.0)},
        30.0,
    )
    (row,) = rows_of((tmp_path / "page.md").read_text("utf-8"))
    assert row[8].startswith("higher")
    assert "bound" not in row[8]


def test_the_page_counts_verdicts_by_method(tmp_path: Path) -> None:
    figures = some("mdav", dataset="Census", measure="IL")[:3]
    near, far, same = (replace(figure, value=10.0) for figure in figures)
    cells = [
        Reproduced(near, 9.9, "lower"),
        Reproduced(far, 10.3, "higher"),
        Reproduced(same, 10.0, "equal"),
    ]
    write_page(tmp_path / "page.md", cells, {}, 30.0)
    (row,) = glance_of((tmp_path / "page.md").read_text("utf-8"))
    assert row[2:] == ["3", "1", "1", "1", "+3 %"]


def test_bounds_of_several_data_sets_lie_below_the_losses(tmp_path: Path) -> None:
    figures = some("mdav", dataset="Sim-1", k=3)
    assert figures
    bounds = bounds_for(figures, seconds=1.0)
    for cell in reproduce(figures):
        least = bounds[problem_of(cell.published)]
        assert cell.obtained is not None
        assert 0.0 < getattr(least, cell.published.measure) < cell.obtained


@pytest.mark.reference
def test_bounds_of_reference_data(reference_data: Path) -> None:
    figures = some("mdav", dataset="Tarragona", k=5)
    least = bounds_for(figures, seconds=0.0, folder=reference_data)[problem_of(figures[0])]
    assert 10.0 < least.IL < 20.16


def totals_of(text: str) -> dict[str, int]:
    """The table of verdicts on top."""
    words = {meaning: verdict for verdict, meaning in VERDICTS.items()}
    top = text.partition("## At a glance")[0]
    return {words[row[0]]: int(row[1]) for row in table_rows(top) if row[0] in words}


def test_the_page_in_docs_leaves_nothing_out() -> None:
    text = PAGE.read_text("utf-8")
    rows = rows_of(text)
    figures = all_published()
    assert sorted((row[1], row[4]) for row in rows) == sorted(
        (str(f.k), printed(f)) for f in figures
    )
    assert all(row[5] for row in rows), "each has a figure of ours"
    assert sum(int(row[2]) for row in glance_of(text)) == len(figures)
    assert totals_of(text) == Counter(row[8].partition(";")[0] for row in rows)
    for left in omitted():
        assert f"| {left.source} | {left.where} | {left.what} | {left.why} |" in text


def test_rules_are_not_counted_as_runs() -> None:
    rows = rows_of(PAGE.read_text("utf-8"))
    counted = [row for row in rows if row[3] in ("groups", "smallest group")]
    assert len(counted) == 2 * 44 + 2 * 44 + 2
    assert not {"equal", "within error"} & {row[8].partition(";")[0] for row in counted}


@pytest.mark.reference
def test_the_page_has_every_row_of_the_published_files(reference_data: Path) -> None:
    """Against the files that the papers were copied into, which lie beside the reference data."""
    shared = Path(os.environ.get("MICROAGG_REFERENCE_DATA", reference_data)).parent
    files = shared / "published.csv", shared / "published_groups.csv"
    if not all(file.exists() for file in files):
        pytest.skip("the copied figures are not beside the reference data")
    losses, groups = (list(DictReader(file.read_text("utf-8").splitlines())) for file in files)
    rows = rows_of(PAGE.read_text("utf-8"))
    of_losses = [row for row in rows if row[3] in ("IL", "SSE")]
    of_groups = [row for row in rows if row[0].startswith("HM-PFSOM classes")]
    assert (len(of_losses), len(of_groups)) == (len(losses), 2 * len(groups))
    assert all(row[8].partition(";")[0] in VERDICTS for row in rows), "each has a verdict"

    def on_the_page(chosen: list[list[str]]) -> Counter:
        return Counter((row[1], row[3], float(row[4].partition(" ")[0])) for row in chosen)

    assert on_the_page(of_losses) == Counter(
        (r["k"], r["measure"], float(r["value"])) for r in losses
    )
    expected = Counter((r["k"], "groups", float(r["groups"])) for r in groups)
    expected += Counter((r["k"], "smallest group", float(r["minimal_group_size"])) for r in groups)
    assert on_the_page(of_groups) == expected


@pytest.mark.slow
@pytest.mark.reference
def test_the_page_in_docs_tells_what_comes_out_today(tmp_path: Path, reference_data: Path) -> None:
    names = (
        "mdav",
        "mdav2k",
        "v-mdav",
        "cbfs",
        "tfrp2",
        "dba2",
        "mdav2",
        "mst",
        "ps-meansort",
        "mhm-md",
    )
    figures = [figure for name in names for figure in some(name, dataset="Census")]
    write_page(tmp_path / "page.md", list(reproduce(figures, reference_data)), {}, 30.0)
    today = {tuple(row[:7]) for row in rows_of((tmp_path / "page.md").read_text("utf-8"))}
    assert len(today) > 50
    assert today <= {tuple(row[:7]) for row in rows_of(PAGE.read_text("utf-8"))}

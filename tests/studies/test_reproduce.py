"""The published figures that methods.md calls reproducible come out; the others are shown as different."""

from __future__ import annotations

from pathlib import Path

import pytest

from microagg.studies.reproduce import (
    Cell,
    Published,
    count_verdicts,
    published_figures,
    reproduce,
    reproducible_now,
    verdict,
)

CHETTRI = "Chettri and Borah 2012"
MORTAZAVI = "Mortazavi, Jalili and Gohargazi 2013"


@pytest.fixture(scope="module")
def cells(reference_data: Path) -> list[Cell]:
    return list(reproduce(reproducible_now(), reference_data))


def of_source(cells: list[Cell], source: str) -> list[Cell]:
    return [cell for cell in cells if cell.published.source == source and cell.obtained is not None]


@pytest.mark.slow
@pytest.mark.reference
def test_table_1_of_chettri_and_borah(cells: list[Cell]) -> None:
    table = of_source(cells, CHETTRI)
    assert len(table) == 144
    other = {
        (c.published.dataset, c.published.name, c.published.k, c.published.measure)
        for c in table
        if c.verdict != "match"
    }
    expected = {("Tarragona", "mdav", 4, "IL")}
    expected |= {("Tarragona", "v-mdav", k, m) for k in (3, 5, 10) for m in ("IL", "SSE")}
    expected |= {("EIA", "v-mdav", k, m) for k in (3, 4, 5, 10) for m in ("IL", "SSE")}
    assert other == expected
    for cell in table:
        if cell.published.name == "v-mdav" and cell.published.measure == "IL":
            assert cell.obtained is not None
            assert abs(cell.obtained - cell.published.value) < 0.02


@pytest.mark.slow
@pytest.mark.reference
def test_the_mdav_column_of_mortazavi(cells: list[Cell]) -> None:
    column = of_source(cells, MORTAZAVI)
    assert len(column) == 24
    assert count_verdicts(column) == {"match": 24}


@pytest.mark.slow
@pytest.mark.reference
def test_mdav_1_as_quoted_by_kabir(cells: list[Cell]) -> None:
    column = of_source(cells, "Kabir, Mahmood, Mustafa and Wang")
    assert len(column) == 12
    assert count_verdicts(column) == {"match": 12}


def test_every_published_row_is_shipped() -> None:
    figures = published_figures()
    assert len(figures) == 420
    assert not any(figure.source[:3].isdigit() for figure in figures)


def figure(value: float, measure: str = "IL", decimals: int = 4) -> Published:
    return Published("s", "d", "all", "zscore", "M", "m", "", 3, measure, "single", value, decimals, "")


@pytest.mark.parametrize(
    ("published", "obtained", "expected"),
    [
        (figure(16.9326), 16.93259, "match"),
        (figure(16.9326), 16.93267, "differs"),
        (figure(16.9326), 16.93253, "better"),
        (figure(1835.8318, "SSE"), 1835.8319, "match"),
        (figure(1835.8318, "SSE"), 1835.84, "differs"),
    ],
)
def test_a_verdict_can_fail(published: Published, obtained: float, expected: str) -> None:
    assert verdict(published, obtained) == expected

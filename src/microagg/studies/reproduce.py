"""Published figures against our own, cell by cell."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from microagg.datasets.reference import NAMES, load_reference
from microagg.engine.local import partition
from microagg.measures.loss.sse import loss_of_partition
from microagg.methods.registry import methods
from microagg.space import Space

SCALES = {"zscore": "zscore", "raw": "none", "minmax": "minmax", "none": "none"}


@dataclass(frozen=True)
class Published:
    """A figure as it stands in a paper."""

    source: str
    dataset: str
    columns: str
    scaling: str
    method: str
    name: str
    params: str
    k: int
    measure: str
    statistic: str
    value: float
    decimals: int
    note: str

    @property
    def run(self) -> tuple[str, str, str, str, str, int]:
        """What has to be run to compare; figures of one run share it."""
        return self.dataset, self.columns, self.scaling, self.name, self.params, self.k


@dataclass(frozen=True)
class Cell:
    """A published figure, what we obtained, and the verdict: match, better, differs, or no data."""

    published: Published
    obtained: float | None
    verdict: str


def published_figures() -> list[Published]:
    """All figures of the papers' tables, with the precision they were printed in."""
    rows = _rows("published.csv")
    notes = _rows("published_notes.csv")
    usual = _usual_decimals(rows)
    return [
        Published(
            **{
                name: row[name]
                for name in ("source", "dataset", "columns", "scaling", "method", "name", "params")
            },
            k=int(row["k"]),
            measure=row["measure"],
            statistic=row["statistic"],
            value=float(row["value"]),
            decimals=max(_places(row), usual[_table_column(row)]),
            note=next((note["note"] for note in notes if _concerns(note, row)), ""),
        )
        for row in rows
    ]


def _usual_decimals(rows: list[dict[str, str]]) -> dict[tuple[str, ...], int]:
    """Trailing zeros are lost in the file: a figure has at least the decimals that most of its table column have."""
    counts: dict[tuple[str, ...], Counter[int]] = {}
    for row in rows:
        counts.setdefault(_table_column(row), Counter())[_places(row)] += 1
    return {key: count.most_common(1)[0][0] for key, count in counts.items()}


def _places(row: dict[str, str]) -> int:
    return len(row["value"].partition(".")[2])


def _table_column(row: dict[str, str]) -> tuple[str, ...]:
    return row["source"], row["method"], row["measure"]


def _rows(name: str) -> list[dict[str, str]]:
    text = files("microagg.studies").joinpath(name).read_text("utf-8")
    return list(csv.DictReader(text.splitlines()))


def _concerns(note: dict[str, str], row: dict[str, str]) -> bool:
    return all(note[field] in ("", row[field]) for field in ("source", "dataset", "name", "k", "measure"))


def reproducible_now() -> list[Published]:
    """The figures whose method is in the registry."""
    known = {method.name for method in methods()}
    return [figure for figure in published_figures() if figure.name in known]


def reproduce(
    figures: Iterable[Published],
    folder: Path | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Iterator[Cell]:
    """Run what the figures need, each run once, and compare."""
    figures = list(figures)
    losses: dict[tuple[Any, ...], dict[str, float]] = {}
    for done, figure in enumerate(figures):
        if figure.dataset not in NAMES:
            yield Cell(figure, None, "no data")
        else:
            if figure.run not in losses:
                losses[figure.run] = _loss_of_run(figure, folder)
            obtained = losses[figure.run][figure.measure]
            yield Cell(figure, obtained, verdict(figure, obtained))
        if progress is not None:
            progress(done + 1, len(figures))


def _loss_of_run(figure: Published, folder: Path | None) -> dict[str, float]:
    values = load_reference(figure.dataset, figure.columns, folder)
    points = Space.fit(values, SCALES[figure.scaling]).points(values)
    params: dict[str, Any] = dict(part.split("=", 1) for part in figure.params.split(";") if part)
    labels: np.ndarray = partition(points, figure.k, figure.name, **params)
    return loss_of_partition(points, labels)


def verdict(figure: Published, obtained: float) -> str:
    """match: IL within 0.6 of the last printed digit, SSE within 1e-6 of itself; else better (lower) or differs."""
    difference = obtained - figure.value
    allowed = 1e-6 * figure.value if figure.measure == "SSE" else 0.6 * 10.0**-figure.decimals
    if abs(difference) <= allowed:
        return "match"
    return "better" if difference < 0 else "differs"


def count_verdicts(cells: Iterable[Cell]) -> dict[str, int]:
    """How many cells got each verdict."""
    return dict(Counter(cell.verdict for cell in cells))


def as_json(cells: Iterable[Cell]) -> list[dict[str, Any]]:
    """The cells as plain data."""
    return [{**asdict(cell.published), "obtained": cell.obtained, "verdict": cell.verdict} for cell in cells]

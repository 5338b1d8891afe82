"""Published figures against our own, cell by cell."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from microagg.datasets.reference import NAMES as REFERENCE
from microagg.datasets.reference import load_reference
from microagg.datasets.simulated import DATA_SETS, simulated
from microagg.engine.run import partition
from microagg.measures.loss.sse import loss_of_partition
from microagg.methods.hybrid.group_rule import plan_groups
from microagg.methods.registry import methods
from microagg.table.encoder import Space

COSTED = ("imhm", "rimhm")
FROM_RANDOM_STARTS = (
    "kc",
)  # what is printed is one local optimum among many: the question is whether ours is as low
LONG = 7  # decimals
RUNS = 10  # how often the papers ran what is random
GROUPS, SMALLEST_GROUP = "groups", "smallest group"
COMMON_COLUMNS = {"EIA": "UTILITYID+10"}  # what most papers take; of the other data sets all take all columns
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
    deviation: float
    note: str

    @property
    def run(self) -> tuple[str, str, str, str, str, int]:
        """What has to be run to compare; figures of one run share it."""
        return self.dataset, self.columns, self.scaling, self.name, self.params, self.k


@dataclass(frozen=True)
class Reproduced:
    """A published figure, what we obtained, and the verdict.

    match, better (lower), differs; not above: as low as printed or lower, where the figure hangs on a random start that is
    not printed, so that it says little either way; other data where the published data set is not known and ours is another one of its kind.
    """

    published: Published
    obtained: float | None
    verdict: str
    error: float = 0.0
    """The standard error of what we obtained, where it is a mean."""
    common: float | None = None
    """IL on z-scores of the columns that most take, for figures from raw data or other columns, which cannot be set beside the others."""
    squared: float | None = None
    """IL with squared distances as costs, for methods that have that option."""


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
            decimals=_decimals(row, usual),
            deviation=float(row["sd"] or 0.0),
            note=next((note["note"] for note in notes if _concerns(note, row)), ""),
        )
        for row in rows
    ]


def _decimals(row: dict[str, str], usual: dict[tuple[str, ...], int]) -> int:
    """Trailing zeros are lost in the file: a figure has at least the decimals that most of its table column have.

    Not so where a table prints about ten digits: it has more decimals for small figures than for large ones.
    """
    own = _places(row)
    return own if own >= LONG else max(own, usual[_table_column(row)])


def published_groups() -> list[Published]:
    """What Abidi, Ben Yahia and Perera 2020 print of the groups of HM-PFSOM: their number and the smallest size.

    Two figures a row of tables 10 and 12, for classes of the sizes in tables 9 and 11 and k records of the smallest.
    """
    notes = _rows("published_notes.csv")
    found = []
    for row in _rows("published_groups.csv"):
        row |= {"dataset": row["part"], "name": "hm-pfsom"}
        for measure, value in ((GROUPS, row["groups"]), (SMALLEST_GROUP, row["minimal_group_size"])):
            note = next((note["note"] for note in notes if _concerns(note, {**row, "measure": measure})), "")
            figure = Published(
                row["source"], row["part"], "", "none", "HM-PFSOM", "hm-pfsom", f"classes={row['class_sizes']}",
                int(row["k"]), measure, "single", float(value), 0, 0.0, note,
            )  # fmt: skip
            found.append(figure)
    return found


def _planned(figure: Published) -> float:
    """What the group rule gives for the classes of a published row."""
    sizes = [int(size) for size in figure.params.removeprefix("classes=").split()]
    plan = plan_groups(sizes, figure.k)
    return float(plan.groups if figure.measure == GROUPS else plan.smallest_group)


def _usual_decimals(rows: list[dict[str, str]]) -> dict[tuple[str, ...], int]:
    """How many decimals most figures of a table column have."""
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
    return [figure for figure in published_figures() + published_groups() if figure.name in known]


def reproduce(
    figures: Iterable[Published],
    folder: Path | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Iterator[Reproduced]:
    """Run what the figures need, each run once, and compare."""
    figures = list(figures)
    losses: dict[tuple[Any, ...], list[dict[str, float]]] = {}
    for done, figure in enumerate(figures):
        if figure.measure in (GROUPS, SMALLEST_GROUP):
            obtained = _planned(figure)
            yield Reproduced(figure, obtained, verdict(figure, obtained))
        else:
            if figure.run not in losses:
                losses[figure.run] = list(_losses_of_runs(figure, folder))
            yield _compared(figure, [loss[figure.measure] for loss in losses[figure.run]], folder)
        if progress is not None:
            progress(done + 1, len(figures))


def _compared(figure: Published, values: list[float], folder: Path | None) -> Reproduced:
    """A published loss beside those of our runs, and beside it in other settings."""
    error = float(np.std(values, ddof=1) / len(values) ** 0.5) if len(values) > 1 else 0.0
    obtained = float(np.mean(values))
    in_common = replace(figure, columns=COMMON_COLUMNS.get(figure.dataset, figure.columns), scaling="zscore")
    elsewhere = figure.dataset in REFERENCE and in_common != figure
    common = next(_losses_of_runs(in_common, folder))["IL"] if elsewhere else None
    squared = _mean_il(_losses_of_runs(figure, folder, cost="squared")) if figure.name in COSTED else None
    return Reproduced(figure, obtained, verdict(figure, obtained, error), error, common, squared)


def _mean_il(losses: Iterator[dict[str, float]]) -> float:
    return float(np.mean([loss["IL"] for loss in losses]))


def _losses_of_runs(figure: Published, folder: Path | None, **more: str) -> Iterator[dict[str, float]]:
    """SSE and IL of each run that a figure is the mean of: on 25 data sets, with 10 seeds, or the only one."""
    params: dict[str, Any] = dict(part.split("=", 1) for part in figure.params.split(";") if part)
    params |= more
    seeds = range(RUNS if figure.statistic.startswith("mean of 10 runs") else 1)
    for values in data_sets(figure, folder):
        points = Space.fit(values, SCALES[figure.scaling]).points(values)
        for seed in seeds:
            labels: np.ndarray = partition(points, figure.k, figure.name, seed=seed, **params)
            yield loss_of_partition(points, labels)


def data_sets(figure: Published, folder: Path | None) -> Iterator[np.ndarray]:
    """The data that a figure was measured on, or data sets of our own of the same kind."""
    if figure.dataset in REFERENCE:
        yield load_reference(figure.dataset, figure.columns, folder)
    else:
        count = DATA_SETS if figure.statistic.startswith("mean of 25") else 1
        yield from (simulated(figure.dataset, number) for number in range(count))


def verdict(figure: Published, obtained: float, error: float = 0.0) -> str:
    """match: IL within 0.6 of the last printed digit, SSE within 1e-6 of itself, a mean within two standard errors.

    The standard error is ours, or the published one where the paper prints a deviation.
    """
    if "not published" in figure.statistic:
        return "other data"
    difference = obtained - figure.value
    allowed = 1e-6 * figure.value if figure.measure == "SSE" else 0.6 * 10.0**-figure.decimals
    if figure.statistic.startswith("mean"):
        allowed += 2.0 * max(error, figure.deviation / RUNS**0.5)
    if abs(difference) <= allowed:
        return "match"
    if difference < 0 and figure.name in FROM_RANDOM_STARTS:
        return "not above"

    if figure.measure not in ("IL", "SSE"):
        return "differs"
    # lower is better only on the same data
    return "better" if difference < 0 and "data sets" not in figure.statistic else "differs"


def count_verdicts(cells: Iterable[Reproduced]) -> dict[str, int]:
    """How many cells got each verdict."""
    return dict(Counter(cell.verdict for cell in cells))


def as_json(cells: Iterable[Reproduced]) -> list[dict[str, Any]]:
    """The cells as plain data."""
    return [
        {**asdict(cell.published), **asdict(cell)} | {"published": cell.published.value} for cell in cells
    ]

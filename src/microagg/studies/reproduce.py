"""Published figures against our own, cell by cell."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from microagg.datasets.reference import NAMES as REFERENCE
from microagg.methods.hybrid.group_rule import plan_groups
from microagg.methods.registry import methods
from microagg.studies.published import COUNTS, GROUPS, Published, all_published
from microagg.studies.reproduce_runs import Losses, Runs, RunSpec
from microagg.studies.verdicts import VERDICTS, verdict

COSTED = ("imhm", "rimhm")
CLUSTERED = ("Sim-2", "Sim-3")  # whose text can be read in two ways
# what most papers take; of the other data sets all take all columns
COMMON_COLUMNS = {"EIA": "UTILITYID+10"}


@dataclass(frozen=True)
class Reproduced:
    """A published figure, what we obtained, and the verdict, one of `VERDICTS`."""

    published: Published
    obtained: float | None
    verdict: str
    error: float = 0.0
    """The standard error of what we obtained, where it is a mean."""
    common: float | None = None
    """IL on z-scores of the columns that most take, for figures from raw data or other columns,
    which cannot be set beside the others.
    """
    squared: float | None = None
    """IL with squared distances as costs, for methods that have that option."""
    other_reading: tuple[float, float] | None = None
    """IL and its standard error with the variance drawn in place of the deviation, for the
    simulated clusters.
    """


def reproducible_now() -> list[Published]:
    """The figures whose method is in the registry."""
    known = {method.name for method in methods()}
    return [figure for figure in all_published() if figure.name in known]


def reproduce(
    figures: Iterable[Published],
    folder: Path | None = None,
    progress: Callable[[int, int], None] | None = None,
    runs: Runs | None = None,
    engine: Any = None,
    spill: Path | None = None,
) -> Iterator[Reproduced]:
    """Run what the figures need, each run once, and compare; `runs` may hold what was run before.

    With an `engine` (a `distributed.Client`, an address or "local:4") the workers of a Dask cluster
    make the runs; they must see the reference data, and the folder `spill` (the current one, if
    nothing is said).
    """
    figures = list(figures)
    runs = Runs(folder) if runs is None else runs
    if engine is not None:
        runs.fetch(engine, spill or Path(), asked_by(figures), progress)
    for done, figure in enumerate(figures):
        if figure.measure in COUNTS:
            obtained = float(planned(figure))
            yield Reproduced(figure, obtained, verdict(figure, obtained))
        else:
            yield _compared(figure, runs)
        if progress is not None:
            progress(done + 1, len(figures))


def asked_by(figures: Iterable[Published]) -> list[RunSpec]:
    """The runs that figures are compared with."""
    noting = _Noting()
    for figure in figures:
        if figure.measure not in COUNTS:
            _compared(figure, noting)
    return noting.asked


class _Noting(Runs):
    """Makes no run, and remembers which ones were asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[RunSpec] = []

    def losses(self, figure: Published, *, spread: str = "deviation", **more: str) -> Losses:
        self.asked.append(RunSpec(figure, spread, tuple(sorted(more.items()))))
        return Losses((1.0, 0.0), (1.0, 0.0))


def planned(figure: Published) -> int:
    """What the rule of a method gives for the printed sizes: of classes for HM-PFSOM, of the whole
    part for MDAV.

    MDAV forms groups of k until fewer than k records are left over, which join one of them.
    """
    kind, _, sizes = figure.params.partition("=")
    if kind == "records":
        return int(sizes) // figure.k if figure.measure == GROUPS else figure.k
    plan = plan_groups([int(size) for size in sizes.split()], figure.k)
    return plan.groups if figure.measure == GROUPS else plan.smallest_group


def _compared(figure: Published, runs: Runs) -> Reproduced:
    """A published loss beside those of our runs, and beside it in other settings."""
    own = runs.losses(figure)
    obtained, error = own.mean(figure.measure), own.error(figure.measure)
    in_common = replace(
        figure, columns=COMMON_COLUMNS.get(figure.dataset, figure.columns), scaling="zscore"
    )
    elsewhere = figure.dataset in REFERENCE and in_common != figure
    other = runs.losses(figure, spread="variance") if figure.dataset in CLUSTERED else None
    return Reproduced(
        figure, obtained, verdict(figure, obtained, error), error,
        common=runs.losses(in_common).mean("IL") if elsewhere else None,
        squared=runs.losses(figure, cost="squared").mean("IL") if figure.name in COSTED else None,
        other_reading=None if other is None else (other.mean("IL"), other.error("IL")),
    )  # fmt: skip


def count_verdicts(cells: Iterable[Reproduced]) -> dict[str, int]:
    """How many cells got each verdict, in the order of `VERDICTS`."""
    counts = Counter(cell.verdict for cell in cells)
    return {name: counts[name] for name in VERDICTS if name in counts}


def as_json(cells: Iterable[Reproduced]) -> list[dict[str, Any]]:
    """The cells as plain data."""
    return [
        {**asdict(cell.published), **asdict(cell)} | {"published": cell.published.value}
        for cell in cells
    ]

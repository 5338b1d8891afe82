"""The runs behind the page of published figures: each is made once, and kept in a file if one is
named.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from microagg import __version__
from microagg.datasets.reference import NAMES as REFERENCE
from microagg.datasets.reference import load_reference, reference_folder
from microagg.datasets.simulated import DATA_SETS, simulated
from microagg.errors import InputError
from microagg.files.commit.writing import check_unwritable
from microagg.measures.loss.sse import loss_of_partition
from microagg.pipeline.run_method import partition
from microagg.runtime.dask_pool import shared_work
from microagg.studies.published import RUNS, Published
from microagg.table.encoder import Space

SCALES = {"zscore": "zscore", "raw": "none", "minmax": "minmax", "none": "none"}
HEADER = '{"microagg": "reproduce", "format": 1}'


@dataclass(frozen=True)
class Least:
    """Lower bound on the loss of any grouping, by either measure."""

    IL: float
    SSE: float


@dataclass(frozen=True)
class Losses:
    """The means of SSE and IL over some runs, and their standard errors (0 for a single run)."""

    SSE: tuple[float, float]
    IL: tuple[float, float]

    @classmethod
    def of(cls, runs: list[dict[str, float]]) -> Losses:
        """From the losses of each run.

        >>> Losses.of([{"SSE": 8.0, "IL": 1.0}, {"SSE": 10.0, "IL": 3.0}]).IL
        (2.0, 1.0)
        """
        summary = {}
        for measure in ("SSE", "IL"):
            values = [run[measure] for run in runs]
            error = float(np.std(values, ddof=1) / len(values) ** 0.5) if len(values) > 1 else 0.0
            summary[measure] = (float(np.mean(values)), error)
        return cls(**summary)

    def mean(self, measure: str) -> float:
        """The mean of one of the two measures."""
        return float(getattr(self, measure)[0])

    def error(self, measure: str) -> float:
        """Its standard error."""
        return float(getattr(self, measure)[1])


@dataclass(frozen=True)
class RunSpec:
    """Runs that a figure is the mean of: on 25 data sets, with 10 seeds, or the only one."""

    figure: Published
    spread: str
    more: tuple[tuple[str, str], ...]
    """Parameters beside those of the figure."""

    @property
    def params(self) -> dict[str, Any]:
        """The parameters of the method."""
        return dict(part.split("=", 1) for part in self.figure.params.split(";") if part) | dict(
            self.more
        )

    @property
    def seeds(self) -> int:
        """With how many seeds each data set is run."""
        return RUNS if self.figure.statistic.startswith("mean of 10 runs") else 1

    @property
    def key(self) -> str:
        """Return the key of the result in the state file."""
        figure = self.figure
        return _key(
            "losses",
            *figure.run[:4],
            figure.k,
            sorted(self.params.items()),
            self.spread,
            self.seeds,
            figure.statistic,
        )


def losses_of(run: RunSpec, folder: Path | None) -> dict[str, Any]:
    """SSE and IL of these runs: their means and standard errors."""
    figure, runs = run.figure, []
    for values in data_sets(figure, folder, run.spread):
        points = _scaled(figure, values)
        for seed in range(run.seeds):
            labels: np.ndarray = partition(points, figure.k, figure.name, seed=seed, **run.params)
            runs.append(loss_of_partition(points, labels))
    losses = Losses.of(runs)
    return {"SSE": losses.SSE, "IL": losses.IL}


def _key(*parts: Any) -> str:
    return json.dumps([__version__, *parts])


class Runs:
    """Results of runs that published figures are compared with; a state file lets a stopped study
    resume.

    The file has a line for each run, with losses only, under a key that names the version of
    microagg. It ignores changes of the code between two versions: after one, begin a new file.

    >>> from microagg.studies.published import published_figures
    >>> sim = next(
    ...     figure
    ...     for figure in published_figures()
    ...     if figure.dataset == "Sim-1" and figure.name == "mdav"
    ... )
    >>> 0.0 < Runs().losses(sim).error("IL") < 1.0
    True
    """

    def __init__(self, folder: Path | None = None, state: Path | None = None) -> None:
        self._folder, self._state = folder, state
        self._kept: dict[str, Any] = {}
        if state is not None:
            check_unwritable(state)
            self._read(state)

    def losses(self, figure: Published, *, spread: str = "deviation", **more: str) -> Losses:
        """SSE and IL of the runs that a figure is the mean of: on 25 data sets, with 10 seeds, or
        the only one.
        """
        run = RunSpec(figure, spread, tuple(sorted(more.items())))
        key = run.key
        if key not in self._kept:
            self._keep(key, losses_of(run, self._folder))
        kept = self._kept[key]
        return Losses(tuple(kept["SSE"]), tuple(kept["IL"]))

    def fetch(
        self,
        engine: Any,
        folder: Path,
        runs: Sequence[RunSpec],
        progress: Callable[[int, int], None] | None = None,
    ) -> None:
        """Let the workers of a cluster make the runs that are not there yet; `folder` is one that
        all of them see.
        """
        missing = list({run.key: run for run in runs if run.key not in self._kept}.values())
        if not missing:
            return
        data = self._folder or reference_folder()
        data = None if data is None else Path(os.path.abspath(data))
        with shared_work(engine, folder) as workers:
            arguments = ((run, data) for run in missing)
            for done, (index, losses) in enumerate(workers.as_they_come(losses_of, arguments)):
                self._keep(missing[index].key, losses)
                if progress is not None:
                    progress(done + 1, len(missing))

    def bound(self, figure: Published, seconds: float) -> Least:
        """A lower bound on the loss of any grouping, proven in so many seconds; over several data
        sets, their mean.
        """
        # and with it the solver, which few commands need
        from microagg.bounds.lower import lower_bound

        key = _key("bound", figure.dataset, figure.columns, figure.scaling, figure.k, seconds)
        if key not in self._kept:
            sets = list(data_sets(figure, self._folder))
            bounds = [
                lower_bound(_scaled(figure, values), figure.k, time_limit=seconds / len(sets))
                for values in sets
            ]
            il = float(np.mean([bound.certified_il for bound in bounds]))
            self._keep(
                key, {"IL": il, "SSE": float(np.mean([bound.certified_sse for bound in bounds]))}
            )
        return Least(**self._kept[key])

    def _keep(self, key: str, result: Any) -> None:
        self._kept[key] = result
        if self._state is not None:
            with self._state.open("a", encoding="utf-8") as file:
                file.write(json.dumps({"key": key, "found": result}) + "\n")
                file.flush()
                os.fsync(file.fileno())

    def _read(self, state: Path) -> None:
        text = state.read_text("utf-8", errors="replace") if state.exists() else ""
        if text and not text.startswith(HEADER):
            raise InputError(
                f"{str(state)!r} is not the state of a reproduction; name another file."
            )
        if not text.endswith("\n"):  # new, or a kill has torn the last line
            with state.open("a", encoding="utf-8") as file:
                file.write("\n" if text else HEADER + "\n")
        for line in text.splitlines()[1:]:
            try:
                entry = json.loads(line)
                self._kept[entry["key"]] = entry["found"]
            except (ValueError, KeyError, TypeError):
                continue


def data_sets(
    figure: Published, folder: Path | None, spread: str = "deviation"
) -> Iterator[np.ndarray]:
    """The data that a figure was measured on, or data sets of our own of the same kind."""
    if figure.dataset in REFERENCE:
        yield load_reference(figure.dataset, figure.columns, folder)
    else:
        count = DATA_SETS if figure.statistic.startswith("mean of 25") else 1
        yield from (simulated(figure.dataset, number, spread=spread) for number in range(count))


def _scaled(figure: Published, values: np.ndarray) -> np.ndarray:
    return Space.fit(values, SCALES[figure.scaling]).points(values)

"""A risk–utility map: every method and k on the same table, what each loses and what an intruder
gains.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypedDict, Unpack

from microagg.errors import InputError
from microagg.measures.registry import measure_named
from microagg.problem.problem import Progress, checked_k
from microagg.release.settings import Settings, SharedOptions
from microagg.runtime.dask_cluster import check_engine
from microagg.studies.column_roles import Names, names_of
from microagg.studies.compare_cells import Cell, Outcome, Study, plan
from microagg.studies.compare_state import State
from microagg.studies.compare_study import measure_of_side, read_source, study_of
from microagg.studies.compare_workers import outcomes, outcomes_on
from microagg.studies.comparison import Comparison, Row
from microagg.table.keyword_options import takes_options

MEASURES = ("il", "linkage")
"""What is measured unless something else is asked for."""


class RunningOptions(TypedDict, total=False):
    """Keywords of `compare` on how it is run."""

    jobs: int | None
    engine: Any
    spill: str | Path | None
    state: str | Path | None
    name: str | None
    reading: Mapping[str, Any] | None


class CompareOptions(SharedOptions, RunningOptions, total=False):
    """Keywords of `compare` on settings of all releases, and on how it is run."""

    k: Sequence[int] | int | None


RUNNING = tuple(inspect.get_annotations(RunningOptions))
_DECLARED = {name: item for name, item in Settings.parameters().items() if name != "k"}


@takes_options(CompareOptions, _DECLARED, also=Settings.parameters())
def compare(
    table: Any,
    *,
    ks: Sequence[int] | int | None = None,
    methods: Sequence[str] | str = "all",
    quasi: Names = (),
    confidential: Names = (),
    keep: Names = (),
    known: Names = (),
    loss: str = "il",
    risk: str = "linkage",
    measures: Sequence[str] = MEASURES,
    seeds: Sequence[int] = (0,),
    progress: Progress | None = None,
    **options: Unpack[CompareOptions],
) -> Comparison:
    """Anonymize a table by every method with every k, and measure all releases.

    A method that cannot process the table gets a row that says so.

    Parameters
    ----------
    table : pandas, polars, Arrow or NumPy table, or path
        Table to protect.
    ks : list of int
        Values of k.
    methods : list of str or "all"
        Names from the registry, with parameters where needed ("v-mdav:gamma=1.1").
    quasi : list of str
        Quasi-identifiers. By default all numeric columns without another role; others are ignored.
    confidential, keep : list of str
        Columns as in `anonymize`.
    known : list of str
        Columns that an intruder knows, by default all of `quasi`.
    loss, risk : str
        Measures of the map.
    measures : list of str
        Measures of the table.
    seeds : list of int
        Seeds of randomised methods.
    jobs : int, optional
        Number of processes, by default one. It does not change the rows.
    engine : distributed.Client or str, optional
        Dask cluster that runs the releases: a client, an address or "local:4".
    spill : str or Path, optional
        Folder in which the workers find the table, by default that of the state or of the file.
        Readable by the owner only, and removed in the end.
    state : str or Path, optional
        File to which each result is saved. A stopped or killed run resumes from it and ends with
        the same rows.
    progress : callable, optional
        Called as ``progress(done, total)``, counting releases. Its attribute `tell`, if any, is
        called with a line for each new one.
    name : str, optional
        Name of the table in the map, by default that of its file.
    reading : dict, optional
        Options on the file, such as ``{"header": False}``.
    k : list of int
        Alias of `ks`.
    weight, stratum, unit, l, t, diversity, c, exact, small_strata, refine, scale, kinds, nominal, \
ordinal, importance, aggregate, hierarchy, missing, special, na, precision, cap, rules : optional
        Settings of all releases, as in `anonymize`.
    identifier, rest : optional
        Accepted as in `anonymize`. Columns without another role are ignored.

    Returns
    -------
    Comparison
        A row for each release, and a map of loss and risk.

    Raises
    ------
    InputError
        If an argument is invalid, or the table cannot be read.

    Examples
    --------
    >>> import numpy as np
    >>> table = np.random.default_rng(1).normal(size=(40, 2))
    >>> comparison = compare(table, ks=[2, 4], methods=["mdav", "individual-ranking"])
    >>> [(row.method, row.k, row.k_anonymous) for row in comparison.rows][1:3]
    [('mdav', 4, True), ('individual-ranking', 2, False)]
    """
    settings: dict[str, Any] = dict(options)
    running = {name: settings.pop(name, None) for name in RUNNING}
    engine, state, name = running["engine"], running["state"], running["name"] or ""
    folder = _shared_folder(table, state, running["spill"])
    k = settings.pop("k", None)
    wanted_ks = _values_of_k(k if ks is None else ks)
    if isinstance(table, str | Path):
        name = name or Path(table).stem
        table, quasi = read_source(Path(table), quasi, settings, running["reading"] or {})
    roles = {
        "quasi": names_of(quasi),
        "confidential": names_of(confidential),
        "keep": names_of(keep),
    }
    wanted = tuple(dict.fromkeys([loss, risk, *measures]))
    study = study_of(table, roles, settings, known, wanted)
    sides = measure_of_side(loss, "loss", study), measure_of_side(risk, "risk", study)
    cells = _cells(methods, wanted_ks, seeds, study)
    jobs = 1 if running["jobs"] is None else _whole(running["jobs"], "jobs")
    if jobs < 1:
        raise InputError("jobs must be at least 1.")
    if engine is not None:
        check_engine(engine)

    def run(
        waiting: Sequence[Cell], check_cancelled: Callable[[], None]
    ) -> Iterator[tuple[Cell, Outcome]]:
        if engine is not None:
            return outcomes_on(engine, folder, study, waiting, check_cancelled)
        return outcomes(study, waiting, jobs, check_cancelled)

    outcome_of = _run(study, cells, run, None if state is None else Path(state), progress, name)
    return Comparison(
        rows=tuple(_row(cell, outcome_of[cell]) for cell in cells),
        loss=sides[0],
        risk=sides[1],
        name=name,
        records=study.table.num_rows,
        quasi=study.settings.quasi,
        known=study.known or study.settings.quasi,
        scale=study.settings.scale,
        precision=study.settings.precision,
    )


def _cells(
    methods: Sequence[str] | str, ks: Sequence[int], seeds: Sequence[int], study: Study
) -> list[Cell]:
    """Return the releases to make: every method with every k and seed."""
    cells = plan(
        [methods] if isinstance(methods, str) else methods,
        [checked_k(k, study.table.num_rows) for k in ks],
        [_whole(seed, "a seed") for seed in seeds],
    )
    if not cells:
        raise InputError(
            "there is nothing to compare; name at least one method, one k and one seed."
        )
    return list(cells)


def _values_of_k(ks: Any) -> list[int]:
    """Return the values of k as a list, from one or several."""
    if ks is None:
        raise InputError("k is missing; give one or several values of k, such as ks=[3, 5, 10].")
    return [ks] if isinstance(ks, int) else list(ks)


def _shared_folder(table: Any, state: str | Path | None, spill: str | Path | None) -> Path:
    """Return the folder in which the workers of a cluster find the table."""
    if spill is not None:
        return Path(spill)
    beside = state if state is not None else table if isinstance(table, str | Path) else None
    return Path() if beside is None else Path(beside).parent


def _run(
    study: Study,
    cells: Sequence[Cell],
    run: Callable[[Sequence[Cell], Callable[[], None]], Iterator[tuple[Cell, Outcome]]],
    path: Path | None,
    progress: Progress | None,
    name: str,
) -> dict[Cell, Outcome]:
    """Return the outcome of every cell: from the state where it is stored, else by running it."""
    state = None if path is None else State(path)
    fingerprint = study.fingerprint()
    keys = {cell: cell.key(fingerprint) for cell in cells}
    done = {
        cell: state.outcomes[keys[cell]]
        for cell in cells
        if state and keys[cell] in state.outcomes and _is_whole(state.outcomes[keys[cell]], study)
    }
    tell = getattr(progress, "tell", None)

    def check_cancelled() -> None:
        if progress is not None:
            progress(len(done), len(cells))

    check_cancelled()
    for cell, outcome in run([cell for cell in cells if cell not in done], check_cancelled):
        if state is not None and outcome.lasting:
            state.add(keys[cell], outcome)
        done[cell] = outcome
        if tell is not None:
            tell(_news(name, cell, outcome))
        check_cancelled()
    return done


def _is_whole(outcome: Outcome, study: Study) -> bool:
    """Return whether a stored outcome is complete; a line changed by hand is run again."""
    return bool(outcome.error) or set(study.measures) <= set(outcome.figures)


def _news(name: str, cell: Cell, outcome: Outcome) -> str:
    """One line on a cell, such as "census mdav k=5, IL 9.08 %"."""
    which = f"{name} {cell.label} k={cell.k}".strip()
    if outcome.error:
        return f"{which}: {outcome.error}"
    first, value = next(iter(outcome.figures.items()))
    measure = measure_named(first)
    unit = "%" if measure.unit.startswith("percent") else measure.unit
    return f"{which}, {'IL' if first == 'il' else measure.title} {value:.4g} {unit}"


def _whole(value: Any, what: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise InputError(f"{what} must be a whole number.")
    return value


def _row(cell: Cell, outcome: Outcome) -> Row:
    return Row(
        method=cell.label,
        k=cell.k,
        seed=cell.seed,
        figures=dict(outcome.figures),
        classes=outcome.classes,
        smallest_class=outcome.smallest_class,
        error=outcome.error,
        seconds=outcome.seconds,
    )

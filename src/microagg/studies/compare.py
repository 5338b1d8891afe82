"""A risk–utility map: every method and k on the same table, what each loses and what an intruder
gains.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from microagg.errors import InputError
from microagg.files.column_names import columns_of_file
from microagg.files.reading import read_as_numbers, read_table
from microagg.measures.measure import Measure
from microagg.measures.registry import measure_named
from microagg.problem.problem import Progress, checked_k
from microagg.release.cells import confidential_of, read_cells, without_gaps
from microagg.release.settings import OF_A_CELL, Settings
from microagg.release.weighting import weighting_of
from microagg.runtime.dask_cluster import check_engine
from microagg.studies.column_roles import Names, names_of
from microagg.studies.compare_cells import Cell, Outcome, Study, plan
from microagg.studies.compare_state import State
from microagg.studies.compare_workers import outcomes, outcomes_on
from microagg.studies.comparison import Comparison, Row
from microagg.table.columns.frames import column_facts, open_frame, to_arrow
from microagg.table.kind_parameters import OF_COLUMNS, column_settings
from microagg.table.patterns import expand_names, is_pattern
from microagg.table.schema import ColumnSettings, Kind, Role, assign_roles

MEASURES = ("il", "linkage")
"""What is measured unless something else is asked for."""


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
    jobs: int = 1,
    engine: Any = None,
    spill: str | Path | None = None,
    state: str | Path | None = None,
    progress: Progress | None = None,
    name: str = "",
    reading: Mapping[str, Any] | None = None,
    **settings: Any,
) -> Comparison:
    """Anonymize a table by every method with every k, and measure all releases.

    A method that cannot process the table gets a row that says so.

    Parameters
    ----------
    table : pandas, polars, Arrow or NumPy table, or path
        Table to protect.
    ks : list of int
        Values of k; `k` is an alias.
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
    jobs : int
        Number of processes. It does not change the rows.
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
    name : str
        Name of the table in the map.
    reading : dict, optional
        Options on the file, such as ``{"header": False}``.
    **settings
        Settings of all releases, such as `scale`, `precision`, `l`, `t`, `weight` and `stratum`.

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
    folder = _shared_folder(table, state, spill)
    wanted_ks = _values_of_k(settings.pop("k", None) if ks is None else ks)
    if isinstance(table, str | Path):
        name = name or Path(table).stem
        table, quasi = _read(Path(table), quasi, settings, reading or {})
    roles = {
        "quasi": names_of(quasi),
        "confidential": names_of(confidential),
        "keep": names_of(keep),
    }
    wanted = tuple(dict.fromkeys([loss, risk, *measures]))
    study = _study(table, roles, settings, known, wanted)
    sides = _side(loss, "loss", study), _side(risk, "risk", study)
    cells = _cells(methods, wanted_ks, seeds, study)
    if _whole(jobs, "jobs") < 1:
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


def _study(
    table: Any,
    named: dict[str, list[str]],
    options: dict[str, Any],
    known: Names,
    measures: tuple[str, ...],
) -> Study:
    """Everything that can be wrong with a comparison as a whole is found here, before any cell is
    run.
    """
    frame = open_frame(table)
    named = {role: list(expand_names(names, frame.columns, role)) for role, names in named.items()}
    _check_what_differs(options)
    roles = {
        **_roles_in(options),
        Role.CONFIDENTIAL: named["confidential"],
        Role.KEEP: named["keep"],
    }
    taken = {name for names in roles.values() for name in names}
    facts = column_facts(frame)
    numbers = [fact.name for fact in facts if fact.numeric and fact.name not in taken]
    column_options = _column_options_in(options)
    schema = assign_roles(
        facts, {Role.QUASI: named["quasi"] or numbers, **roles}, "drop", column_options
    )
    chosen = schema.names(Role.QUASI)
    for name in measures:
        measure_named(name)
    for name in names_of(known):
        if name not in chosen:
            raise InputError(f"an intruder cannot know {name!r}: it is not a quasi-identifier.")
    shared = Settings.of(
        **options,
        k=2,
        quasi=chosen,
        confidential=schema.names(Role.CONFIDENTIAL),
        keep=schema.names(Role.KEEP),
    )
    as_read = shared.of_table(frame.to_native())
    weighting_of(frame, schema, as_read)
    # raises where a value is wrong
    read_cells(without_gaps(frame, schema, as_read)[0], schema, as_read)
    return Study(
        table=to_arrow(
            frame.select(*(name for name in frame.columns if name in (*chosen, *taken)))
        ),
        settings=shared,
        known=tuple(names_of(known)),
        measures=measures,
    )


def _roles_in(options: dict[str, Any]) -> dict[Role, Sequence[str]]:
    """The columns of weights, strata and units among the settings."""
    declared = Settings.parameters()
    names_by_role = {
        name: declared[name].parse(options[name])
        for name in ("weight", "stratum", "unit")
        if name in options
    }
    return {
        Role(name): [names] if isinstance(names, str) else names or ()
        for name, names in names_by_role.items()
    }


def _column_options_in(options: dict[str, Any]) -> ColumnSettings:
    return column_settings(
        **{
            parameter.name: options[parameter.name]
            for parameter in OF_COLUMNS
            if parameter.name in options
        }
    )


def _check_what_differs(options: dict[str, Any]) -> None:
    """Raise if an option that differs between cells is set for all of them."""
    for name in options:
        if name in OF_A_CELL or name not in Settings.parameters():
            raise InputError(f"{name} cannot be set for all releases of a comparison.")


def _read(
    path: Path, quasi: Names, settings: dict[str, Any], reading: Mapping[str, Any]
) -> tuple[pa.Table, Names]:
    """Return the table of a file, and the quasi-identifiers with names in place of patterns."""
    if any(map(is_pattern, names_of(quasi))):
        quasi = expand_names(names_of(quasi), columns_of_file(path, **reading), "quasi")
    weight = _roles_in(settings).get(Role.WEIGHT, ())
    options = _column_options_in(settings)
    if names := names_of(quasi):
        return read_table(path, quasi=[*names, *weight], settings=options, **reading), quasi
    return read_as_numbers(path, settings=options, **reading), quasi


def _side(name: str, side: str, study: Study) -> Measure:
    """The measure of one axis of the map; the table must have what it needs."""
    measure = measure_named(name)
    if measure.side != side:
        raise InputError(
            f"{name!r} measures {measure.side}, but a measure of {side} is needed here."
        )
    attributes = confidential_of(study.table, study.settings.confidential, study.settings)
    has = {
        "confidential": bool(attributes),
        "categories": any(attribute.kind is not Kind.NUMERIC for attribute in attributes),
        "kept": bool(study.settings.keep),
    }
    if not has.get(measure.needs, True):
        needed = (
            "confidential columns of categories"
            if measure.needs == "categories"
            else f"{measure.needs} columns"
        )
        raise InputError(f"measure {name!r} needs {needed}; name some, or choose another measure.")
    return measure


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

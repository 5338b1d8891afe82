"""A risk–utility map: every method and k on the same table, what each loses and what an intruder
gains.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from microagg.drawing.maps import MapPoint, draw_map
from microagg.errors import InputError
from microagg.files.column_names import columns_of_file
from microagg.files.reading import read_as_numbers, read_table
from microagg.measures.measure import Measure
from microagg.measures.registry import measure_named
from microagg.methods.registry import method_named
from microagg.problem.problem import Progress, checked_k
from microagg.release.cells import confidential_of, read_cells, without_gaps
from microagg.release.settings import OF_A_CELL, Settings
from microagg.release.weighting import weighting_of
from microagg.runtime.dask import check_engine
from microagg.studies.assess import Names, finite, names_of
from microagg.studies.compare_cells import Cell, Outcome, Study, plan
from microagg.studies.compare_state import State
from microagg.studies.compare_workers import outcomes, outcomes_on
from microagg.table.columns.frames import column_facts, open_frame, to_arrow
from microagg.table.kind_parameters import OF_COLUMNS, column_settings
from microagg.table.patterns import expand_names, is_pattern
from microagg.table.schema import ColumnSettings, Kind, Role, assign_roles

MEASURES = ("il", "linkage")
"""What is measured unless something else is asked for."""


@dataclass(frozen=True)
class Row:
    """One release that could be made, and its figures; or why it cannot be made."""

    method: str
    """The method as a user would name it, such as "v-mdav:gamma=1.1"."""
    k: int
    seed: int
    figures: dict[str, float]
    classes: int
    smallest_class: int
    error: str = ""
    seconds: float = field(default=0.0, compare=False)

    @property
    def k_anonymous(self) -> bool:
        """Whether at least k records share every combination; methods for single columns do not
        give that.
        """
        return self.smallest_class >= self.k

    @property
    def family(self) -> str:
        """The family of its method, as in the registry."""
        return method_named(self.method.partition(":")[0]).family


@dataclass(frozen=True)
class Comparison:
    """All rows of a comparison in the order of methods and k's, and the two measures that make up
    its map.
    """

    rows: tuple[Row, ...]
    loss: Measure
    risk: Measure
    name: str
    records: int
    quasi: tuple[str, ...]
    known: tuple[str, ...]
    scale: str
    precision: str

    @property
    def front(self) -> tuple[Row, ...]:
        """The k-anonymous rows that no other such row beats: at least as good in loss and risk,
        better in one of them.
        """
        able = [row for row in self.rows if row.k_anonymous and not row.error]
        best = pareto_front(
            [(self._cost(row, self.loss), self._cost(row, self.risk)) for row in able]
        )
        return tuple(able[position] for position in best)

    def _cost(self, row: Row, measure: Measure) -> float:
        value = row.figures[measure.name]
        return value if measure.lower_is_better else -value

    def __repr__(self) -> str:
        return self.as_markdown()

    def as_data(self) -> dict[str, Any]:
        """The comparison as plain data: finite numbers or None."""
        front = self.front
        return {
            "name": self.name,
            "records": self.records,
            "quasi": list(self.quasi),
            "known_to_intruder": list(self.known),
            "scale": self.scale,
            "precision": self.precision,
            "measures": [_declared(measure) for measure in self._measures()],
            "map": {"loss": self.loss.name, "risk": self.risk.name},
            "rows": [
                {
                    **{name: value for name, value in vars(row).items() if name != "figures"},
                    "k_anonymous": None if row.error else row.k_anonymous,
                    "on_front": row in front,
                    "figures": {name: finite(value) for name, value in row.figures.items()},
                }
                for row in self.rows
            ],
        }

    def as_markdown(self) -> str:
        """The rows as a table in Markdown; a star marks the front, and rows that have failed say
        why below.
        """
        measures, front = self._measures(), self.front
        several = len({row.seed for row in self.rows}) > 1
        head = ["", "method", "k", *(["seed"] if several else []), "smallest class"]
        head += [f"{measure.title} ({measure.unit})" for measure in measures]
        lines = [_line(head), _line([":-:", ":--"] + ["--:"] * (len(head) - 2))]
        for row in self.rows:
            if not row.error:
                star = "★" if row in front else ""
                facts = [star, row.method, str(row.k), *([str(row.seed)] if several else [])]
                smallest = f"{row.smallest_class}{'' if row.k_anonymous else ' (not k-anonymous)'}"
                lines.append(
                    _line([*facts, smallest, *(_shown(row, measure) for measure in measures)])
                )
        failed = [f"- {row.method}, k = {row.k}: {row.error}" for row in self.rows if row.error]
        return "\n".join(lines + ([""] + failed if failed else [])) + "\n"

    def draw(self, path: str | Path | None = None) -> str:
        """Draw the map to a file, .png or .svg; returns its SVG text where no path is given. Needs
        matplotlib.
        """
        front = self.front
        points = [
            MapPoint(
                row.method, row.k, row.figures[self.loss.name], row.figures[self.risk.name],
                on_front=row in front, k_anonymous=row.k_anonymous, family=row.family,
            )
            for row in self.rows
            if not row.error
        ]  # fmt: skip
        return draw_map(
            points,
            path,
            loss=f"{self.loss.title} ({self.loss.unit})",
            risk=f"{self.risk.title} ({self.risk.unit})",
            title=f"{self.name}: {self.records:,} records, {len(self.quasi)} quasi-identifiers".lstrip(
                ": "
            ),
        )

    def _measures(self) -> list[Measure]:
        names = dict.fromkeys([self.loss.name, self.risk.name])
        for row in self.rows:
            names |= dict.fromkeys(row.figures)
        return [measure_named(name) for name in names]


def pareto_front(costs: Sequence[tuple[float, float]]) -> list[int]:
    """The positions of the pairs that no other pair beats: at least as low in both and lower in
    one.

    >>> pareto_front([(1.0, 5.0), (2.0, 5.0), (2.0, 3.0), (4.0, 1.0), (4.0, 1.0)])
    [0, 2, 3, 4]
    """
    lowest = math.inf  # the lowest second cost of all pairs with a lower first one
    front: list[int] = []
    firsts = sorted({first for first, _ in costs})
    for first in firsts:
        second = min(cost for other, cost in costs if other == first)
        if second < lowest:
            front += [position for position, cost in enumerate(costs) if cost == (first, second)]
            lowest = second
    return sorted(front)


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
    """Anonymize a table by every method with every k, and measure all the releases.

    `table` is a pandas, polars, Arrow or NumPy table, or the path of a file; `ks` are the values of
    k (`k` is another name for it). Without `quasi`, all numeric columns that have no other role are
    quasi-identifiers; other columns without a role are ignored. `methods` are names from the
    registry, with parameters where needed ("v-mdav:gamma=1.1"), or "all". `loss` and `risk` name
    the measures of the map, `measures` those of the table. With `state`, each result is saved to
    that file as it comes in; a run that was stopped or killed resumes from there and ends with the
    same rows. `jobs` is the number of processes; it does not change the rows. With an `engine` (a
    `distributed.Client`, an address or "local:4") the workers of a Dask cluster run the releases
    instead; the table lies for them in a folder below `spill` (that of the state, of the file, or
    the current one), for its owner's eyes only, until the end. A method that cannot work on the
    table gets a row that says so. `settings` are shared by all releases, such as `scale`,
    `precision`, `l`, `t`, `weight` and `stratum` of `anonymize`; `reading` says what is known about
    the file, such as {"header": False}. `progress` is called as progress(done, total), counting
    releases; if it has an attribute `tell`, that is called with a line for each new one.

    >>> import numpy as np
    >>> table = np.random.default_rng(1).normal(size=(40, 2))
    >>> comparison = compare(table, ks=[2, 4], methods=["mdav", "individual-ranking"])
    >>> [(row.method, row.k, row.k_anonymous) for row in comparison.rows]
    [('mdav', 2, True), ('mdav', 4, True), ('individual-ranking', 2, False), ('individual-ranking', 4, False)]
    """
    folder = _shared_folder(table, state, spill)
    wanted_ks = _values_of_k(settings.pop("k", None) if ks is None else ks)
    if isinstance(table, str | Path):
        name = name or Path(table).stem
        if any(map(is_pattern, names_of(quasi))):
            quasi = expand_names(
                names_of(quasi), columns_of_file(table, **(reading or {})), "quasi"
            )
        weight = _roles_in(settings).get(Role.WEIGHT, ())
        table = _read(
            Path(table), names_of(quasi), weight, _said_of_columns(settings), reading or {}
        )
    wanted = tuple(dict.fromkeys([loss, risk, *measures]))
    roles = {
        "quasi": names_of(quasi),
        "confidential": names_of(confidential),
        "keep": names_of(keep),
    }
    study = _study(table, roles, settings, known, wanted)
    sides = _side(loss, "loss", study), _side(risk, "risk", study)
    cells = plan(
        [methods] if isinstance(methods, str) else methods,
        [checked_k(k, study.table.num_rows) for k in wanted_ks],
        [_whole(seed, "a seed") for seed in seeds],
    )
    if not cells:
        raise InputError(
            "there is nothing to compare; name at least one method, one k and one seed."
        )
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


def _values_of_k(ks: Any) -> list[int]:
    """Return the values of k as a list, from one or several."""
    if ks is None:
        raise InputError("k is missing; give one or several values of k, such as ks=[3, 5, 10].")
    return [ks] if isinstance(ks, int) else list(ks)


def _shared_folder(table: Any, state: str | Path | None, spill: str | Path | None) -> Path:
    """Where the table lies for the workers of a cluster."""
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
    """What every cell gives, from the state where it is known and by running the others."""
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
    """Whether what a state holds for a cell is all that is asked for; a line that somebody changed
    is run again.
    """
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
    given: dict[str, Any],
    known: Names,
    measures: tuple[str, ...],
) -> Study:
    """Everything that can be wrong with a comparison as a whole is found here, before any cell is
    run.
    """
    frame = open_frame(table)
    named = {role: list(expand_names(names, frame.columns, role)) for role, names in named.items()}
    _check_what_differs(given)
    roles = {**_roles_in(given), Role.CONFIDENTIAL: named["confidential"], Role.KEEP: named["keep"]}
    taken = {name for names in roles.values() for name in names}
    facts = column_facts(frame)
    numbers = [fact.name for fact in facts if fact.numeric and fact.name not in taken]
    asked = _said_of_columns(given)
    schema = assign_roles(facts, {Role.QUASI: named["quasi"] or numbers, **roles}, "drop", asked)
    chosen = schema.names(Role.QUASI)
    for name in measures:
        measure_named(name)
    for name in names_of(known):
        if name not in chosen:
            raise InputError(f"an intruder cannot know {name!r}: it is not a quasi-identifier.")
    shared = Settings.of(
        **given,
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


def _roles_in(given: dict[str, Any]) -> dict[Role, Sequence[str]]:
    """The columns of weights, strata and units among the settings."""
    declared = Settings.parameters()
    told = {
        name: declared[name].parse(given[name])
        for name in ("weight", "stratum", "unit")
        if name in given
    }
    return {
        Role(name): [names] if isinstance(names, str) else names or ()
        for name, names in told.items()
    }


def _said_of_columns(given: dict[str, Any]) -> ColumnSettings:
    return column_settings(
        **{each.name: given[each.name] for each in OF_COLUMNS if each.name in given}
    )


def _check_what_differs(given: dict[str, Any]) -> None:
    """What each cell has for itself cannot be given for all."""
    for name in given:
        if name in OF_A_CELL or name not in Settings.parameters():
            raise InputError(f"{name} cannot be set for all releases of a comparison.")


def _read(
    path: Path,
    quasi: Sequence[str],
    weight: Sequence[str],
    asked: ColumnSettings,
    reading: Mapping[str, Any],
) -> pa.Table:
    if quasi:
        return read_table(path, quasi=[*quasi, *weight], asked=asked, **reading)
    return read_as_numbers(path, asked=asked, **reading)


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


def _declared(measure: Measure) -> dict[str, Any]:
    return {
        "name": measure.name,
        "title": measure.title,
        "side": measure.side,
        "unit": measure.unit,
        "lower_is_better": measure.lower_is_better,
        "zero_means": measure.zero_means,
        "highest_means": measure.highest_means,
    }


def _shown(row: Row, measure: Measure) -> str:
    return f"{row.figures[measure.name]:.4g}" if measure.name in row.figures else "–"


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"

"""Study of a comparison, made of its arguments: everything that can be wrong with a comparison as a
whole is noticed here, before any release is made.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from microagg.errors import InputError
from microagg.files.column_names import columns_of_file
from microagg.files.reading import read_as_numbers, read_table
from microagg.measures.measure import Measure
from microagg.measures.registry import measure_named
from microagg.release.cells import confidential_of, read_cells, without_gaps
from microagg.release.settings import OF_A_CELL, Settings
from microagg.release.weighting import weighting_of
from microagg.studies.column_roles import Names, names_of
from microagg.studies.compare_cells import Study
from microagg.table.columns.frames import column_facts, open_frame, to_arrow
from microagg.table.kind_parameters import OF_COLUMNS, column_settings
from microagg.table.patterns import expand_names, is_pattern
from microagg.table.schema import ColumnSettings, Kind, Role, assign_roles


def study_of(
    table: Any,
    named: dict[str, list[str]],
    options: dict[str, Any],
    known: Names,
    measures: tuple[str, ...],
) -> Study:
    """Return the study of a table: its checked settings, roles and measures."""
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
        if name in OF_A_CELL:
            raise InputError(f"{name} cannot be set for all releases of a comparison.")


def read_source(
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


def measure_of_side(name: str, side: str, study: Study) -> Measure:
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

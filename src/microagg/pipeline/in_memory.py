"""Pipeline for tables in memory: from a table and settings to a verified release."""

from __future__ import annotations

import functools
import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import narwhals as nw

from microagg.guarantees.k import verify
from microagg.pipeline.choose_groups import loses_less, quick_groups, with_groups_of
from microagg.pipeline.run_method import problem_with, run_method
from microagg.problem.problem import Problem, Progress, checked_k
from microagg.problem.watch import handle_interrupt
from microagg.release.cells import confidential_of, read_cells, units_in, without_gaps
from microagg.release.conversions import labelled_like
from microagg.release.exposure import exposure_of
from microagg.release.manifest import FORMAT, internal_manifest
from microagg.release.measuring import (
    can_be_read_again,
    check_unsearchable,
    is_table_of_numbers,
    loss_of,
)
from microagg.release.notes_on_columns import (
    notes_on_cells,
    notes_on_columns,
    notes_on_markers,
    notes_on_numbers_as_text,
    notes_on_precision,
    warning_of_single_columns,
)
from microagg.release.notes_on_gaps import notes_on_gaps
from microagg.release.notes_on_labels import notes_on_labels
from microagg.release.notes_on_names import note_on_index, notes_on_names
from microagg.release.notes_on_texts import notes_on_texts
from microagg.release.notes_on_units import notes_on_units
from microagg.release.publishing import check_publishing
from microagg.release.release import Release
from microagg.release.renaming import renamed_frame, with_new_names
from microagg.release.risks import notes_on_disclosure
from microagg.release.rules import (
    kept_rules,
    notes_on_rules,
    released_records,
    released_variables,
    rules_as_data,
)
from microagg.release.selecting import expand_patterns
from microagg.release.settings import Settings
from microagg.release.shared_values import notes_on_shared_values
from microagg.release.strata import (
    Strata,
    check_columnwise,
    class_columns,
    in_strata,
    notes_on_strata,
)
from microagg.release.true_values import (
    check_near_unique,
    frequencies_in,
    notes_on_true_values,
    risks_of_aggregates,
    risks_of_categories,
    single_categories,
)
from microagg.release.weighting import (
    Weighting,
    notes_on_weights,
    released_weight,
    weighted,
    weighting_of,
)
from microagg.table.aggregate import Aggregated, aggregated
from microagg.table.capping import cap_cells, note_on_capped
from microagg.table.columns.arrow import release_unused_memory
from microagg.table.columns.dtypes import ColumnContext, canonical_column, restore_column
from microagg.table.columns.field_metadata import notes_of, with_metadata_of
from microagg.table.columns.frames import (
    check_odd_types,
    column_facts,
    open_frame,
    same_type,
    to_arrow,
)
from microagg.table.columns.labels import with_labels_in_use
from microagg.table.columns.number_texts import texts_like
from microagg.table.columns.text_types import with_values
from microagg.table.encoder import Space
from microagg.table.relations import records_of
from microagg.table.schema import Role, Schema, assign_roles
from microagg.table.variable import Cells

_log = logging.getLogger(__name__)  # steps and numbers, never a value of the data


@dataclass(frozen=True)
class Prepared:
    """What a search is about to get."""

    frame: nw.DataFrame[Any]
    """The records that take part."""
    schema: Schema
    problem: Problem
    strata: Strata | None


@handle_interrupt()
def protect(
    table: Any,
    settings: Settings,
    *,
    file: str | None = None,
    threads: int | None = None,
    progress: Progress | bool | None = None,
    before_search: Callable[[Prepared], object] | None = None,
    format: int = FORMAT,
) -> Release:
    """The way of the data, from a table and settings to a release that holds its guarantee.

    `file` is the name of the file that the table was read from; the internal manifest keeps it.
    `before_search` gets what the search is about to get, and may raise: a dry run goes no further.
    `format` is that of the manifest: an older one is repeated by its own rules.
    """
    # what was asked for
    settings = settings.resolved()
    given = open_frame(table)
    names = list(given.columns)
    settings = with_new_names(expand_patterns(settings, names))
    given = renamed_frame(given, settings.rename)
    settings = settings.of_table(given.to_native())
    schema = assign_roles(
        column_facts(given), settings.roles, settings.rest, settings.column_options
    )
    method, promise = settings.chosen_method, settings.promise
    check_columnwise(schema, settings)
    # raises where a weight is wrong or a unit missing, with its row in the table that was given
    weighting_of(given, schema, settings)
    units_in(given, schema, settings)
    frame, dropped = without_gaps(given, schema, settings)
    frame, strata = in_strata(frame, schema, settings)
    k = checked_k(settings.k, len(frame))
    quasi, hidden = schema.names(Role.QUASI), schema.names(Role.CONFIDENTIAL)
    check_publishing(settings.publish, len(frame))

    # space and partition
    cells = read_cells(frame, schema, settings)
    check_near_unique(cells.variables, frequencies_in(cells), settings)
    rules = kept_rules(
        records_of(cells), cells.variables, settings, by_column=method.scope == "column"
    )
    grouped, capped = cap_cells(cells, settings.cap)
    space = Space.fit(grouped, settings.scale, settings.importance)
    check_unsearchable(space, settings)
    # a search needs the room; plain values can be read again
    points = space.points(grouped, out=grouped.values if cells.is_plain else None)
    used = {column.name for column in schema.columns if column.role is not Role.IDENTIFIER}
    withheld = [name for name in given.columns if name not in used]
    source = to_arrow(given, withheld)
    check_odd_types(frame, schema.released())
    attributes = confidential_of(
        source if frame is given else to_arrow(frame, withheld), hidden, settings
    )
    units = units_in(frame, schema, settings)
    release_unused_memory()
    columns = None if cells.is_plain else len(cells.variables)
    problem = problem_with(promise, method, points, k, attributes, threads, units, columns)
    if before_search is not None:
        before_search(Prepared(frame, schema, problem, strata))
    _log.info(
        "grouping %d records on %d axes, k = %d, method %s", *problem.points.shape, k, method.name
    )
    begun = time.perf_counter()
    found = run_method(
        method,
        problem,
        settings.params,
        seed=settings.seed or 0,
        refine=settings.refine,
        progress=progress,
        strata=None if strata is None else strata.labels,
    )
    quick = quick_groups(
        method, problem, settings, found, None if strata is None else strata.labels
    )
    _log.info("%d groups found in %.2f s", found.labels.max() + 1, time.perf_counter() - begun)
    settings = replace(settings, params={**settings.params, **found.params})
    plain = cells.is_plain
    del problem, points, grouped
    if plain:
        del cells
        cells = read_cells(frame, schema, settings)

    # aggregate and verify
    averaged, _ = cap_cells(cells, settings.cap)
    weighting = weighting_of(frame, schema, settings)
    weights = None if weighting is None else weighting.before

    release_of = functools.partial(
        aggregated,
        averaged,
        how=settings.aggregates,
        precision=settings.precision,
        k=k,
        seed=settings.seed or 0,
        space=space,
        exact=cells,
        texts=texts_like(frame),
        weights=weights,
        kept=rules.sums,
    )
    # loss is measured against what was there before any cap, on the scale that it has without one
    measured = Space.fit(cells, settings.scale, settings.importance) if capped else space
    made = release_of(found.labels)
    if quick is not None and loses_less(measured, cells, other := release_of(quick.labels), made):
        found, made = with_groups_of(found, quick), other
    labels = found.labels
    weighting = weighted(weighting, labels, settings)
    released = with_released(frame, schema, made, weighting, settings.precision)
    coarse = [variable.name for variable in made.cells.variables if variable.coarse]
    arrow = with_labels_in_use(with_metadata_of(to_arrow(released), source, coarse))
    release_unused_memory()
    anonymity = verify(arrow, class_columns(schema, settings), k, len(frame), method.scope)
    findings = promise.verify(
        anonymity.labels, len(anonymity.sizes), confidential_of(arrow, hidden, settings), units
    )
    anonymity = replace(anonymity, findings=findings)
    _log.info(
        "verified %d classes, the smallest of %d records",
        len(anonymity.sizes),
        anonymity.sizes.min(),
    )

    # measure and release
    notes = notes_on_disclosure(
        k, averaged, labels, anonymity.labels, made, weights
    ) + note_on_capped(capped)
    notes += notes_on_true_values(averaged, made)
    singles, _ = single_categories(made, frequencies_in(averaged))
    bound = found.bound and found.bound.about(averaged, quasi, space)
    del averaged, release_of
    groups = labels if labels.ndim == 2 else anonymity.labels
    loss, share, unrounded = loss_of(measured, cells, made, released, settings, labels, groups)
    weighting = weighting and weighting.with_totals(frame, schema, settings, made)
    manifest = internal_manifest(
        settings=settings,
        schema=schema,
        found=found,
        space=space,
        made=made,
        source=source.rename_columns(names),
        file=file,
        loss=loss,
        largest_share=share,
        anonymity=anonymity,
        capped=capped,
        dropped=dropped,
        exposure=exposure_of(with_values(arrow), schema, anonymity),
        rules=rules_as_data(
            settings, released_records(arrow, released_variables(cells.variables, settings))
        ),
        strata=None if strata is None else strata.as_data(),
        weighting=None if weighting is None else weighting.as_data(),
        format=format,
    )
    notes += notes_of(given.to_native()) + notes_on_labels(source, schema, settings)
    notes += notes_on_cells(cells, measured, settings, dropped) + notes_on_markers(source)
    notes += notes_on_numbers_as_text(cells.variables, settings)
    notes += notes_on_columns(schema, space, loss["IL"], unrounded)
    notes += notes_on_precision(quasi, made.decimals, made.reasons) + notes_on_rules(rules)
    notes += notes_on_shared_values(anonymity.labels, attributes) + notes_on_texts(
        attributes, arrow
    )
    notes += (
        notes_on_gaps(promise, attributes) + notes_on_units(units, k) + notes_on_strata(strata, k)
    )
    notes += notes_on_weights(weighting, labels, arrow, schema, settings)
    notes += notes_on_names(frame, schema) + note_on_index(table)
    if anonymity.scope == "column" and not anonymity.holds:
        notes = (warning_of_single_columns(anonymity), *notes)
    return Release(
        labelled_like(same_type(released, table), arrow),
        labels,
        loss,
        manifest,
        schema,
        anonymity,
        notes,
        bound,
        found.stopped,
        _arrow=arrow,
        _original=frame,
        _cells=None if _are_numbers(frame, cells, made) else (cells, made.cells),
        _risks=risks_of_aggregates(cells, settings.aggregates) + risks_of_categories(singles),
        _units=units,
    )


def _are_numbers(frame: nw.DataFrame[Any], cells: Cells, made: Aggregated) -> bool:
    """Whether the quasi-identifiers are plain numbers before and after, which can be read from the
    tables at any time.
    """
    return is_table_of_numbers(cells) and made.is_plain and can_be_read_again(frame, cells.names)


def with_released(
    frame: nw.DataFrame[Any],
    schema: Schema,
    made: Aggregated,
    weighting: Weighting | None,
    precision: str,
    known: Mapping[str, ColumnContext] = {},
) -> nw.DataFrame[Any]:
    """The table with every quasi-identifier replaced by its group's, in the types that came in;
    identifiers dropped.

    Strata are as they were, but with one zero and one missing value: some readers would see further
    classes.

    `known` is needed where the frame is a part of a table.
    """
    cells, whole = made.cells, precision == "column"
    columns = [
        restore_column(
            frame[variable.name],
            variable,
            cells.values[:, j],
            cells.atoms_of(j),
            whole=whole,
            known=known.get(variable.name),
        )
        for j, variable in enumerate(cells.variables)
    ]
    columns += released_weight(frame, weighting, whole=whole, known=known)
    columns += [canonical_column(frame[name]) for name in schema.names(Role.STRATUM)]
    return frame.with_columns(*columns).select(*schema.released())

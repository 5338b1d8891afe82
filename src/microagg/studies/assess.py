"""The loss and risk of any release, made by microagg or another tool: two tables, all measures."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Unpack

import narwhals as nw

from microagg.errors import InputError
from microagg.files.column_names import columns_of_file
from microagg.files.reading import read_as_numbers, read_table
from microagg.guarantees.k import anonymity
from microagg.guarantees.suppression import STAR, parse_markers
from microagg.measures.measure import Pair
from microagg.measures.pairing import pair_of
from microagg.measures.registry import assess_pair
from microagg.pipeline.sources import is_path
from microagg.problem.problem import Progress
from microagg.release.release import Release
from microagg.release.report.claims import on_numbers
from microagg.release.settings import Settings
from microagg.sentences import sentence
from microagg.studies.assess_notes import notes_on_classes, notes_on_nodes, notes_on_units
from microagg.studies.assessment import Assessment
from microagg.studies.column_roles import (
    Names,
    check_missing,
    check_two_parts,
    checked_k,
    expanded,
    name_of,
    names_of,
    shared_numbers,
)
from microagg.studies.matching import (
    RowOrder,
    in_another_order,
    in_order_of,
    order_by_witnesses,
    out_of_order,
)
from microagg.studies.other_tools import cells_of_release, read_release, with_types
from microagg.studies.suppressed import SuppressedRecords, find_suppressed_records
from microagg.table.columns.cells import cells_of
from microagg.table.columns.frames import column_facts, open_frame, to_arrow
from microagg.table.columns.labels import as_labels_say
from microagg.table.keyword_options import takes_options
from microagg.table.kind_parameters import ColumnOptions, column_settings
from microagg.table.patterns import expand_names, is_pattern
from microagg.table.schema import Column, ColumnSettings, Role, assign_roles
from microagg.table.variable import Cells


class AssessOptions(ColumnOptions, total=False):
    """Keywords of `assess` that `anonymize` has, too."""

    weight: str | int | None
    stratum: Names
    unit: str | int | None


@takes_options(AssessOptions, Settings.parameters())
def assess(
    original: Any,
    release: Any,
    *,
    quasi: Names = (),
    confidential: Names = (),
    keep: Names = (),
    key: str | int | None = None,
    known: Names = (),
    k: int | None = None,
    suppressed: Sequence[str] | str | None = None,
    measures: Sequence[str] | None = None,
    columns_as: ColumnSettings | None = None,
    progress: Progress | None = None,
    **options: Unpack[AssessOptions],
) -> Assessment:
    """Measure loss and risk of a release of any tool against its original.

    The row order is checked on columns that the release left unchanged, or else on the
    quasi-identifiers; a note says if only those were available. A release saved by microagg has
    shuffled rows unless `keep_order` was set, and needs a `key`. Releases of other tools may hold
    nodes of a hierarchy, or ranges in place of numbers; notes say how these count.

    Parameters
    ----------
    original, release : pandas, polars, Arrow or NumPy tables, or both paths
        Tables to compare. `release` may be the result of `anonymize`.
    quasi : list of str
        Quasi-identifiers. By default all numeric columns of both tables without another role.
    confidential, keep, stratum : list of str
        Columns of the release. Records of a class share their `stratum`.
    weight, unit : str, optional
        Columns of the original. A note counts classes with too few units.
    key : str, optional
        Column of both tables by which records are matched; by default by row order.
    known : list of str
        Columns that an intruder knows, by default all of `quasi`.
    k : int, optional
        The k of the release, if known.
    suppressed : list of str, optional
        Markers of suppressed cells ("*" by default; "" for blank cells). These are counted, and
        records with them are left out of every other figure.
    measures : list of str, optional
        Names of the measures, by default all.
    columns_as : ColumnSettings, optional
        Parsed options of columns, in place of those by keyword.
    progress : callable, optional
        Called as ``progress(done, total)``.
    kinds, nominal, ordinal, special, na, hierarchy : optional
        Options of columns as in `anonymize`, for both tables.
    importance, aggregate : optional
        Accepted as in `anonymize`. They change no measure.

    Returns
    -------
    Assessment
        Figures of the measures, classes and notes.

    Raises
    ------
    InputError
        If the tables cannot be matched, or a column or measure does not exist.

    Examples
    --------
    >>> import pyarrow as pa
    >>> before, after = pa.table({"age": [30, 32, 60, 64]}), pa.table({"age": [31, 31, 62, 62]})
    >>> assessment = assess(before, after, quasi=["age"], k=2)
    >>> round(assessment.figure("il").value, 3), assessment.smallest_class
    (1.03, 2)
    """
    roles: dict[str, Any] = {
        "weight": options.pop("weight", None),
        "stratum": options.pop("stratum", ()),
        "unit": options.pop("unit", None),
    }
    if columns_as is None:
        columns_as = column_settings(**options)
    if is_path(original) and is_path(release):
        return assess_files(
            original,
            release,
            quasi=quasi,
            confidential=confidential,
            keep=keep,
            **roles,
            key=key,
            known=known,
            k=k,
            measures=measures,
            suppressed=suppressed,
            progress=progress,
            columns_as=columns_as,
        )
    tables = _open_tables(
        original,
        release,
        quasi=quasi,
        confidential=confidential,
        keep=keep,
        **roles,
        key=key,
        known=known,
    )
    markers = parse_markers(suppressed)
    return _assess_tables(tables, columns_as, markers, k, measures, progress)


def _assess_tables(
    tables: _Tables,
    columns_as: ColumnSettings,
    markers: tuple[str, ...],
    k: int | None,
    measures: Sequence[str] | None,
    progress: Progress | None,
) -> Assessment:
    """Measure two matched tables, without the records that have suppressed cells."""
    columns, columns_as = _read_columns(tables, columns_as)
    hidden = find_suppressed_records(
        tables.before,
        tables.after,
        tables.quasi,
        tables.strata,
        _cells_of_original(tables.before, columns, columns_as),
        columns_as,
        markers,
        k or 2,
    )
    tables = _without_suppressed(tables, hidden, columns_as)
    pair, on_reading = _pair(tables, columns, columns_as, markers or (STAR,), checked_k(k))
    figures = assess_pair(pair, measures, progress, known=tables.known)
    shared = [*tables.quasi, *tables.strata]
    classes = anonymity(to_arrow(tables.after.select(*shared)), shared, k or 2)
    return Assessment(
        pair=pair,
        figures=figures,
        notes=hidden.notes
        + notes_on_classes(pair, classes.sizes, tables.order)
        + notes_on_units(tables.before, tables.unit, classes, columns_as)
        + on_reading
        + notes_on_nodes(pair)
        + tuple(filter(None, (on_numbers(pair),))),
        matched_by=tables.key or "row order",
        known=tuple(tables.known or tables.quasi),
        classes=len(classes.sizes),
        smallest_class=int(classes.sizes.min()),
        suppressed=hidden if hidden.is_some else None,
    )


@dataclass(frozen=True)
class _Tables:
    """Two matched tables, with the roles of their columns."""

    before: nw.DataFrame[Any]
    after: nw.DataFrame[Any]
    quasi: list[str]
    confidential: list[str]
    keep: list[str]
    strata: list[str]
    weight: str | None
    unit: str | None
    key: str | None
    known: list[str]
    order: RowOrder


def _open_tables(original: Any, release: Any, *, quasi: Names, **roles: Any) -> _Tables:
    """Open both tables, find their columns, and order the release as the original."""
    if isinstance(release, Release):
        quasi, release = names_of(quasi) or list(release.settings.quasi), release.to_arrow()
    before, after = _opened(original, "original"), _opened(release, "release")
    confidential, keep, strata = (
        expanded(roles[role], after.columns, role) for role in ("confidential", "keep", "stratum")
    )
    weight, key, unit = (name_of(roles[role]) for role in ("weight", "key", "unit"))
    of_original = [name for name in (weight, unit, key) if name]
    taken = [*confidential, *keep, *strata, *of_original]
    quasi = expanded(quasi, before.columns, "quasi") or shared_numbers(before, after, taken)
    known = expanded(roles["known"], quasi, "known")
    check_missing(before, "original", [*quasi, *of_original])
    of_release = [*quasi, *confidential, *keep, *strata, *([key] if key else [])]
    check_missing(after, "release", of_release)
    check_two_parts(quasi, taken)
    after = in_order_of(before, after, key)
    order = RowOrder.SAME if key else order_by_witnesses(before, after, quasi)
    return _Tables(
        before, after, quasi, confidential, keep, strata, weight, unit, key, known, order
    )


def _read_columns(tables: _Tables, options: ColumnSettings) -> tuple[list[Column], ColumnSettings]:
    """Return the quasi-identifying columns, and the options with those of the tables' labels."""
    before = tables.before
    hidden = [name for name in tables.confidential if name in before.columns]
    roles = {Role.QUASI: tables.quasi, Role.CONFIDENTIAL: hidden}
    schema = assign_roles(column_facts(before), roles, "drop", options)
    options = as_labels_say(as_labels_say(options, before.to_native()), tables.after.to_native())
    by_name = {column.name: column for column in schema.columns}
    return [by_name[name] for name in tables.quasi], options


def _without_suppressed(
    tables: _Tables, hidden: SuppressedRecords, options: ColumnSettings
) -> _Tables:
    """Return the tables without the records that have suppressed cells."""
    if not hidden.is_some:
        return tables
    rows = hidden.rest.tolist()
    after = _retyped(tables.after[rows, :], tables.quasi, options)
    return replace(tables, before=tables.before[rows, :], after=after)


def _pair(
    tables: _Tables,
    columns: Sequence[Column],
    options: ColumnSettings,
    markers: Sequence[str],
    k: int | None,
) -> tuple[Pair, tuple[str, ...]]:
    """Return both tables as measures take them, and notes on how they were read."""
    before, after = tables.before, tables.after
    cells, notes = _cells(before, after, columns, options, markers)
    pair = pair_of(
        before,
        after,
        quasi=tables.quasi,
        confidential=tables.confidential,
        keep=tables.keep,
        shared=tables.strata,
        weight=tables.weight,
        k=k,
        options=options,
        cells=cells,
    )
    unknown = tables.order is RowOrder.UNKNOWN
    if unknown and pair.names and out_of_order(pair.original, pair.released):
        raise in_another_order("the columns agree overall, but the records do not")
    return pair, notes


def _cells(
    before: nw.DataFrame[Any],
    after: nw.DataFrame[Any],
    columns: Sequence[Column],
    options: ColumnSettings,
    markers: Sequence[str],
) -> tuple[tuple[Cells, Cells] | None, tuple[str, ...]]:
    """The cells of both tables, read in the same way, and what to know about that; no cells where
    all of them are plain numbers.
    """
    old = _cells_of_original(before, columns, options)
    try:
        new, notes = cells_of_release(old, after, columns, options, markers)
    except InputError as error:
        raise InputError(sentence("in the release, ", error)) from None
    if all(
        cells.is_plain and not any(variable.unit or variable.origin for variable in cells.variables)
        for cells in (old, new)
    ):
        return None, notes
    return (old, new), notes


def _cells_of_original(
    before: nw.DataFrame[Any], columns: Sequence[Column], options: ColumnSettings
) -> Cells:
    try:
        return cells_of(
            before, columns, special=options.special, na=options.na, hierarchies=options.hierarchy
        )
    except InputError as error:
        raise InputError(sentence("in the original, ", error)) from None


def _retyped(
    after: nw.DataFrame[Any], quasi: Sequence[str], options: ColumnSettings
) -> nw.DataFrame[Any]:
    """Return a release with columns that suppressed cells made text as numbers."""
    return nw.from_native(with_types(to_arrow(after), quasi, options), eager_only=True)


def assess_files(
    original: str | Path,
    release: str | Path,
    *,
    reading: Mapping[str, Any] | None = None,
    columns_as: ColumnSettings | None = None,
    **options: Any,
) -> Assessment:
    """Run `assess` on two files of any supported format, with the same options.

    `reading` holds options on the files, such as {"header": False} for an original without a
    header; a release has one. `columns_as` holds options on single columns, such as their kinds.
    Texts that look like numbers ("007") stay texts in columns other than quasi-identifiers and
    weights.
    """
    quasi = names_of(options.get("quasi", ()))
    if any(map(is_pattern, quasi)):
        quasi = options["quasi"] = list(
            expand_names(quasi, columns_of_file(original, **(reading or {})), "quasi")
        )
    read_options = {**(reading or {}), "settings": columns_as}
    reading_of_release = {
        name: value for name, value in read_options.items() if name != "skip_rows"
    }
    if read_options.get("header") is False:
        reading_of_release["header"] = True
    if quasi:
        weight = names_of(options.get("weight") or ())
        before = _read(original, read_table, numeric=weight, quasi=quasi, **read_options)
        options_of_columns = reading_of_release.pop("settings")
        after = _read(release, read_release, quasi, options_of_columns, **reading_of_release)
    else:
        before = read_as_numbers(original, **read_options)
        after = read_as_numbers(release, **reading_of_release)
    return assess(before, after, columns_as=columns_as, **options)


def _read(path: str | Path, read: Callable[..., Any], *arguments: Any, **reading: Any) -> Any:
    """Return a table read from a file, which errors name."""
    try:
        return read(path, *arguments, **reading)
    except InputError as error:
        where = "" if repr(str(path)) in str(error) else f"{str(path)!r}: "
        raise InputError(sentence(where, error)) from None


def _opened(table: Any, which: str) -> nw.DataFrame[Any]:
    try:
        return open_frame(table)
    except InputError as error:
        raise InputError(sentence(f"in the {which}, ", error)) from None

"""The loss and risk of any release, made by microagg or another tool: two tables, all measures."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np

from microagg.errors import InputError
from microagg.files.column_names import columns_of_file
from microagg.files.reading import read_as_numbers, read_table
from microagg.formatting import listed
from microagg.guarantees.k import Anonymity, anonymity
from microagg.guarantees.promise import Guarantees
from microagg.guarantees.suppression import STAR, parse_markers
from microagg.measures.measure import Figure, Measure, Pair
from microagg.measures.pairing import pair_of
from microagg.measures.registry import assess_pair
from microagg.pipeline.sources import is_path
from microagg.problem.problem import Progress
from microagg.release.release import Release
from microagg.release.report.claims import on_numbers
from microagg.studies.matching import RowOrder, in_order_of, out_of_order, row_order
from microagg.studies.other_tools import cells_of_release, read_release, with_types
from microagg.studies.suppressed import SuppressedRecords, find_suppressed_records
from microagg.table.columns.cells import cells_of
from microagg.table.columns.frames import column_facts, open_frame, to_arrow
from microagg.table.columns.labels import as_labels_say
from microagg.table.confidential import units_of
from microagg.table.kind_parameters import column_settings
from microagg.table.patterns import expand_names, is_pattern
from microagg.table.schema import Column, ColumnSettings, Role, assign_roles
from microagg.table.suggestions import describe_columns
from microagg.table.variable import Cells

Names = Sequence[str | int] | str | int
IN_ANOTHER_ORDER = (
    "the records of the two tables are not in the same order ({why}), so nothing was "
    "measured; match them by a column that "
    "tells them apart (--key), or save the release with --keep-order."
)
UNCHECKED = (
    "records were matched by their order, which could not be checked: apart from the "
    "quasi-identifiers, the two tables share no "
    "column with the same values, or too few; match them by a key to be sure"
)


@dataclass(frozen=True)
class Assessment:
    """The figures of a release, what they were taken from, and what to know about them."""

    pair: Pair
    """What the figures were computed on: single records, for the data holder only."""
    figures: list[tuple[Measure, Figure]]
    notes: tuple[str, ...]
    matched_by: str
    """How records found each other: "row order", or the name of the key column."""
    known: tuple[str, ...]
    """What the intruder of record linkage knows."""
    classes: int
    smallest_class: int
    suppressed: SuppressedRecords | None = None
    """Counts of suppressed rows and cells; every other figure is of the records without."""

    def figure(self, name: str) -> Figure:
        """Return the figure of the measure of that name.

        >>> from microagg.datasets.persons import persons
        >>> assess(persons(), persons(), quasi=["age", "rent"]).figure("il").value
        0.0
        """
        for measure, figure in self.figures:
            if measure.name == name:
                return figure
        raise InputError(f"measure {name!r} is not part of this assessment.")

    def __repr__(self) -> str:
        lines = [
            f"{measure.title}: {figure.value:.4g} {measure.unit}"
            for measure, figure in self.figures
        ]
        heading = (
            f"{len(self.pair.original):,} records in {self.classes:,} classes, the smallest "
            f"of {self.smallest_class:,}"
        )
        return "\n".join([heading, *lines])

    def as_data(self) -> dict[str, Any]:
        """Everything but the records as plain data: finite numbers or None, with names, units and
        meanings.
        """
        return {
            "records": len(self.pair.original),
            "quasi": list(self.pair.quasi),
            "confidential": [*self.pair.confidential, *self.pair.ordered],
            "kept": list(self.pair.kept),
            "weighted": self.pair.weights is not None,
            "strata": list(self.pair.shared),
            "matched_by": self.matched_by,
            "known_to_intruder": list(self.known),
            "k": self.pair.k,
            "classes": self.classes,
            "smallest_class": self.smallest_class,
            "suppressed": None if self.suppressed is None else self.suppressed.as_data(),
            "notes": list(self.notes),
            "figures": [figure_as_data(measure, figure) for measure, figure in self.figures],
        }


def figure_as_data(measure: Measure, figure: Figure) -> dict[str, Any]:
    """A figure with everything that its measure declares; None stands for a range without end."""
    return {
        "name": measure.name,
        "title": measure.title,
        "side": measure.side,
        "value": finite(figure.value),
        "unit": measure.unit,
        "lower_is_better": measure.lower_is_better,
        "lowest": finite(measure.lowest),
        "highest": finite(measure.highest),
        "zero_means": measure.zero_means,
        "highest_means": measure.highest_means,
        "basis": str(measure.basis),
        "columns": {name: finite(value) for name, value in figure.columns.items()},
        "details": {name: finite(value) for name, value in figure.details.items()},
        "source": measure.source,
        **({} if figure.sample is None else {"sample": vars(figure.sample)}),
    }


def finite(value: float) -> float | None:
    """A number as JSON knows it: None where it has no end.

    >>> finite(2.0), finite(math.inf)
    (2.0, None)
    """
    return float(value) if math.isfinite(value) else None


def assess(
    original: Any,
    release: Any,
    *,
    quasi: Names = (),
    confidential: Names = (),
    keep: Names = (),
    weight: str | int | None = None,
    stratum: Names = (),
    unit: str | int | None = None,
    key: str | int | None = None,
    known: Names = (),
    k: int | None = None,
    suppressed: Sequence[str] | str | None = None,
    measures: Sequence[str] | None = None,
    columns_as: ColumnSettings | None = None,
    progress: Progress | None = None,
    **column_options: Any,
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
        Parsed options of columns, in place of `column_options`.
    progress : callable, optional
        Called as ``progress(done, total)``.
    **column_options
        Options of columns as in `anonymize`, for both tables: kinds, nominal, ordinal, hierarchy,
        special, na.

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
    if is_path(original) and is_path(release):
        return assess_files(
            original,
            release,
            quasi=quasi,
            confidential=confidential,
            keep=keep,
            weight=weight,
            stratum=stratum,
            unit=unit,
            key=key,
            known=known,
            k=k,
            measures=measures,
            suppressed=suppressed,
            progress=progress,
            columns_as=columns_as or column_settings(**column_options),
        )
    if isinstance(release, Release):
        quasi, release = names_of(quasi) or list(release.settings.quasi), release.to_arrow()
    before, after = _opened(original, "original"), _opened(release, "release")
    confidential = _expanded(confidential, after.columns, "confidential")
    keep = _expanded(keep, after.columns, "keep")
    strata = _expanded(stratum, after.columns, "stratum")
    weight, key, unit = _name(weight), _name(key), _name(unit)
    of_original = [name for name in (weight, unit, key) if name]
    taken = [*confidential, *keep, *strata, *of_original]
    quasi = _expanded(quasi, before.columns, "quasi") or _shared_numbers(before, after, taken)
    known = _expanded(known, quasi, "known")
    _check_missing(before, "original", [*quasi, *of_original])
    _check_missing(
        after, "release", [*quasi, *confidential, *keep, *strata, *([key] if key else [])]
    )
    _check_two_parts(quasi, taken)
    after = in_order_of(before, after, key)
    order = RowOrder.SAME if key else _order_by_witnesses(before, after, quasi)
    columns_as = column_settings(**column_options) if columns_as is None else columns_as
    schema = assign_roles(
        column_facts(before),
        {
            Role.QUASI: quasi,
            Role.CONFIDENTIAL: [name for name in confidential if name in before.columns],
        },
        "drop",
        columns_as,
    )
    columns_as = as_labels_say(as_labels_say(columns_as, before.to_native()), after.to_native())
    columns = [{column.name: column for column in schema.columns}[name] for name in quasi]
    markers = parse_markers(suppressed)
    hidden = find_suppressed_records(
        before,
        after,
        quasi,
        strata,
        _cells_of_original(before, columns, columns_as),
        columns_as,
        markers,
        k or 2,
    )
    if hidden.is_some:
        rows = hidden.rest.tolist()
        before, after = before[rows, :], _retyped(after[rows, :], quasi, columns_as)
    cells, on_reading = _cells(before, after, columns, columns_as, markers or (STAR,))
    pair = pair_of(
        before,
        after,
        quasi=quasi,
        confidential=confidential,
        keep=keep,
        shared=strata,
        weight=weight,
        k=_checked(k),
        kinds=columns_as.kinds,
        ordinal=columns_as.levels,
        special=columns_as.special,
        na=columns_as.na,
        cells=cells,
    )
    if order is RowOrder.UNKNOWN and pair.names and out_of_order(pair.original, pair.released):
        raise InputError(
            IN_ANOTHER_ORDER.format(why="the columns agree overall, but the records do not")
        )
    figures = assess_pair(pair, measures, progress, known=known)
    classes = anonymity(to_arrow(after.select(*quasi, *strata)), [*quasi, *strata], k or 2)
    sizes = classes.sizes
    return Assessment(
        pair=pair,
        figures=figures,
        notes=hidden.notes
        + _notes(pair, sizes, order)
        + _notes_on_units(before, unit, classes, columns_as)
        + on_reading
        + _notes_on_nodes(pair)
        + tuple(filter(None, (on_numbers(pair),))),
        matched_by=key or "row order",
        known=tuple(known or quasi),
        classes=len(sizes),
        smallest_class=int(sizes.min()),
        suppressed=hidden if hidden.is_some else None,
    )


def _notes_on_units(
    before: nw.DataFrame[Any], unit: str | None, classes: Anonymity, options: ColumnSettings
) -> tuple[str, ...]:
    """Count the classes with fewer than k different units, or with one that has more than half of
    the records.
    """
    if unit is None:
        return ()
    units = units_of(to_arrow(before.select(unit)), unit, na=options.na)
    findings = Guarantees.of(units=classes.k).evaluate(
        classes.labels, len(classes.sizes), (), units
    )
    misses = np.any([finding.failing for finding in findings], axis=0)
    failing = int(misses.sum())
    if failing == 0:
        return (
            f"every class has {classes.k} or more different units, none with more than "
            f"half of its records",
        )
    records = int(classes.sizes[misses].sum())
    return (
        f"{failing:,} of {len(classes.sizes):,} classes ({records:,} records) have fewer "
        f"than {classes.k} different units, or one with "
        "more than half of their records",
    )


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
        raise InputError(f"in the release, {error}") from None
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
        raise InputError(f"in the original, {error}") from None


def _retyped(
    after: nw.DataFrame[Any], quasi: Sequence[str], options: ColumnSettings
) -> nw.DataFrame[Any]:
    """Return a release with numbers that were text because of suppressed cells beside them as
    numbers.
    """
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
    said_of_release = {name: value for name, value in read_options.items() if name != "skip_rows"}
    if read_options.get("header") is False:
        said_of_release["header"] = True
    if quasi:
        weight = names_of(options.get("weight") or ())
        before = _table_of(original, weight, quasi=quasi, **read_options)
        after = _release_of(release, quasi, **said_of_release)
    else:
        before, after = (
            read_as_numbers(original, **read_options),
            read_as_numbers(release, **said_of_release),
        )
    return assess(before, after, columns_as=columns_as, **options)


def _release_of(path: str | Path, quasi: Sequence[str], **reading: Any) -> Any:
    try:
        return read_release(path, quasi, reading.pop("settings"), **reading)
    except InputError as error:
        message = str(error)
        raise InputError(
            message if repr(str(path)) in message else f"{str(path)!r}: {message}"
        ) from None


def _table_of(path: str | Path, numeric: Sequence[str], **reading: Any) -> Any:
    try:
        return read_table(path, numeric=numeric, **reading)
    except InputError as error:
        message = str(error)
        raise InputError(
            message if repr(str(path)) in message else f"{str(path)!r}: {message}"
        ) from None


def _opened(table: Any, which: str) -> nw.DataFrame[Any]:
    try:
        return open_frame(table)
    except InputError as error:
        raise InputError(f"in the {which}, {error}") from None


def names_of(names: Names) -> list[str]:
    """Column names as a list of texts without repetitions; a NumPy table's columns may be given by
    their numbers.

    >>> names_of("age"), names_of([0, 1])
    (['age'], ['0', '1'])
    """
    listed = [names] if isinstance(names, str | int) else list(names)
    return list(dict.fromkeys(str(name) for name in listed))


def _expanded(names: Names, columns: Sequence[str], what: str) -> list[str]:
    """Names of columns as a list of texts, with those that fit in place of a pattern."""
    return list(expand_names(names_of(names), columns, what))


def _name(name: str | int | None) -> str | None:
    return None if name is None else str(name)


def _shared_numbers(
    before: nw.DataFrame[Any], after: nw.DataFrame[Any], taken: Sequence[str]
) -> list[str]:
    """The numeric columns that both tables have, in the order of the original."""
    released = {fact.name for fact in column_facts(after) if fact.numeric}
    shared = [
        fact.name
        for fact in column_facts(before)
        if fact.numeric and fact.name in released and fact.name not in taken
    ]
    if not shared:
        raise InputError(
            "the two tables share no numeric column; name the quasi-identifiers with quasi."
        )
    return shared


def _check_missing(frame: nw.DataFrame[Any], which: str, names: Sequence[str]) -> None:
    for name in names:
        if name not in frame.columns:
            instead = describe_columns(name, frame.columns, "it has")
            raise InputError(f"there is no column {name!r} in the {which}; {instead}.")


def _check_two_parts(quasi: Sequence[str], others: Sequence[str]) -> None:
    parts = [*quasi, *others]
    twice = next((name for name in parts if parts.count(name) > 1), None)
    if twice is not None:
        raise InputError(f"column {twice!r} was given two roles; choose one.")


def _checked(k: Any) -> int | None:
    if k is None:
        return None
    if isinstance(k, bool) or not isinstance(k, int | np.integer) or k < 2:
        raise InputError("k must be a whole number, at least 2.")
    return int(k)


def _order_by_witnesses(
    before: nw.DataFrame[Any], after: nw.DataFrame[Any], quasi: Sequence[str]
) -> RowOrder:
    """Check the row order by the columns that both tables have besides the quasi-identifiers; raise
    if it differs.
    """
    shared = [name for name in before.columns if name in after.columns and name not in quasi]
    order, column = row_order(before, after, shared)
    if order is RowOrder.OTHER:
        why = f"column {column!r} has the same values in both, but in other rows"
        raise InputError(IN_ANOTHER_ORDER.format(why=why))
    return order


def _notes(pair: Pair, sizes: np.ndarray, order: RowOrder) -> tuple[str, ...]:
    notes = []
    if order is RowOrder.UNKNOWN:
        notes.append(UNCHECKED)
    if pair.k is not None and sizes.min() < pair.k:
        records = int(sizes[sizes < pair.k].sum())
        notes.append(
            f"NOT {pair.k}-anonymous: {records} of {int(sizes.sum())} records have a "
            f"combination of values that fewer "
            f"than {pair.k} records share"
        )
    return tuple(notes)


def _notes_on_nodes(pair: Pair) -> tuple[str, ...]:
    """Return notes on columns that hold nodes of their hierarchy in place of values."""
    names = [
        variable.name
        for variable in pair.after.variables
        if variable.hierarchy is not None and variable.hierarchy.inner
    ]
    if not names:
        return ()
    return (
        f"nodes of a hierarchy in place of values count as the centroid of their values: "
        f"{listed(names)}",
    )

"""Labels of columns as statistical packages have them.

They are the label of the column, labels of its values, its measure level, and codes declared
missing. Labels are metadata of an Arrow field (see `field_metadata.py`). They determine kinds and
special codes unless the user declares others. A release keeps the labels of values that occur in
it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa

from microagg.errors import InputError
from microagg.table.columns.arrow import OURS, is_text, means_numbers
from microagg.table.columns.arrow import compute as pc
from microagg.table.schema import ColumnSettings, Kind

LABELS = OURS + b"-labels"
MEASURES = ("nominal", "ordinal", "scale")
Code = int | float | str
Missing = Code | tuple[float, float]
"""A code that is declared missing, or the ends of a range of them."""

TAGS = "abcdefghijklmnopqrstuvwxyz_"
_BEFORE_TAGS = -1_000_000_000_000


@dataclass(frozen=True)
class Labels:
    """Labels of one column.

    >>> sex = Labels("Sex of the person", {1: "female", 2: "male", -9: "refused"}, "nominal", (-9,))
    >>> Labels.from_data(sex.as_data()) == sex
    True
    """

    label: str = ""
    values: Mapping[Code, str] = field(default_factory=dict)
    """The labels of values, by value."""
    measure: str = ""
    """One of `MEASURES`, or "" where that is not known."""
    missing: tuple[Missing, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.label or self.values or self.measure or self.missing)

    def as_data(self) -> dict[str, Any]:
        """Return plain data, as a sidecar file holds it."""
        data = {
            "label": self.label,
            "values": [[code, label] for code, label in self.values.items()],
            "measure": self.measure,
            "missing": [
                list(entry) if isinstance(entry, tuple) else entry for entry in self.missing
            ],
        }
        return {name: value for name, value in data.items() if value}

    @staticmethod
    def from_data(data: Any) -> Labels:
        """Return labels from the data of `as_data`; raises ValueError for anything else."""
        if not isinstance(data, Mapping) or not set(data) <= {
            "label",
            "values",
            "measure",
            "missing",
        }:
            raise ValueError("no labels")
        label, measure = data.get("label", ""), data.get("measure", "")
        values, missing = data.get("values", []), data.get("missing", [])
        if not isinstance(label, str) or measure not in ("", *MEASURES):
            raise ValueError("no labels")
        if not isinstance(values, list) or not isinstance(missing, list):
            raise ValueError("no labels")
        named = {}
        for pair in values:
            if not isinstance(pair, list) or len(pair) != 2 or not isinstance(pair[1], str):
                raise ValueError("no labels")
            named[plain_code(pair[0])] = pair[1]
        declared = tuple(
            tuple(float(plain_code(end)) for end in entry)
            if isinstance(entry, list) and len(entry) == 2
            else plain_code(entry)
            for entry in missing
        )
        return Labels(label, named, measure, declared)  # type: ignore[arg-type]

    def is_missing(self, code: Any) -> bool:
        """Check if a value is declared missing."""
        return any(
            entry[0] <= code <= entry[1]
            if isinstance(entry, tuple) and not isinstance(code, str)
            else entry == code
            for entry in self.missing
        )

    def recoded(self, codes: Mapping[Any, Code]) -> Labels:
        """Return the labels of a column in which some codes have been replaced."""
        values = {codes.get(code, code): label for code, label in self.values.items()}
        missing = tuple(
            entry if isinstance(entry, tuple) else codes.get(entry, entry) for entry in self.missing
        )
        return replace(self, values=values, missing=missing)


def plain_code(code: Any) -> Code:
    """Return a code as a Python value, with whole numbers as int, so that it is found by value.

    >>> plain_code(3.0), plain_code("3")
    (3, '3')
    """
    if isinstance(code, str):
        return code
    if isinstance(code, bool) or not isinstance(code, int | float) or math.isnan(code):
        raise ValueError("no code")
    return (
        int(code)
        if math.isfinite(code) and float(code).is_integer() and abs(code) < 2.0**53
        else code
    )


def code_of_tag(tag: str) -> int:
    """Return the fixed number of a tag .a to .z of Stata and SAS, or ._ of SAS, in a numeric
    column.

    >>> code_of_tag("a"), code_of_tag("B"), tag_of_code(-1000000000002)
    (-1000000000001, -1000000000002, 'b')
    """
    return _BEFORE_TAGS - 1 - TAGS.index(tag.lower())


def tag_of_code(code: Any) -> str | None:
    """Return the tag of a number; None for all others."""
    index = None if isinstance(code, str) else _BEFORE_TAGS - 1 - code
    return (
        TAGS[int(index)]
        if index is not None and 0 <= index < len(TAGS) and index == int(index)
        else None
    )


def labels_of(field: pa.Field) -> Labels:
    """Return the labels of a column; empty ones if it has none.

    >>> labels_of(labelled(pa.field("sex", pa.int64()), Labels("Sex"))).label
    'Sex'
    """
    mark = (field.metadata or {}).get(LABELS)
    return Labels() if mark is None else Labels.from_data(json.loads(mark))


def labelled(field: pa.Field, labels: Labels) -> pa.Field:
    """Return a field with these labels and no others."""
    marks = {name: mark for name, mark in (field.metadata or {}).items() if name != LABELS}
    if labels:
        marks[LABELS] = json.dumps(labels.as_data()).encode()
    return field.with_metadata(marks or None)


def with_labels(table: pa.Table, labels: Mapping[str, Labels]) -> pa.Table:
    """Set the labels of columns by name; the others keep theirs."""
    fields = [
        labelled(field, labels[field.name]) if field.name in labels else field
        for field in table.schema
    ]
    return pa.Table.from_arrays(table.columns, schema=pa.schema(fields, table.schema.metadata))


def labels_in(table: Any) -> dict[str, Labels]:
    """Return the labels of all columns that have any, by name.

    >>> labels_in(with_labels(pa.table({"sex": [1], "age": [31]}), {"sex": Labels("Sex")}))
    {'sex': Labels(label='Sex', values={}, measure='', missing=())}
    """
    if not isinstance(table, pa.Table):
        return {}
    labels_by_name = {field.name: labels_of(field) for field in table.schema}
    return {name: labels for name, labels in labels_by_name.items() if labels}


def in_use(labels: Labels, column: pa.ChunkedArray) -> Labels:
    """Return the labels and missing codes of values that occur in the column, which may be
    released.

    >>> towns = Labels("Town", {1: "Ulm", 2: "Bonn", -9: "refused"}, missing=((-99.0, -1.0),))
    >>> in_use(towns, pa.chunked_array([[1, 1, -9]]))
    Labels(label='Town', values={-9: 'refused', 1: 'Ulm'}, measure='', missing=(-9,))
    """
    if not labels.values and not labels.missing:
        return labels
    present = occurring(column)
    codes = [code for code in labels.values if code in present]
    if labels.measure != "ordinal" or not any(isinstance(code, str) for code in codes):
        codes.sort(key=_order)  # that of texts with an order is all that tells it
    values = {code: labels.values[code] for code in codes}
    missing = sorted((code for code in present if labels.is_missing(code)), key=_order)
    return replace(labels, values=values, missing=tuple(missing))


def _order(code: Code) -> tuple[bool, Any]:
    return isinstance(code, str), code


def occurring(column: pa.ChunkedArray) -> set[Code]:
    """Return the values of a column of numbers or texts, which can have labels; none of other
    types.
    """
    kind = column.type
    if pa.types.is_dictionary(kind):
        return occurring(pc.cast(column, kind.value_type))
    if not (is_text(kind) or pa.types.is_integer(kind) or pa.types.is_floating(kind)):
        return set()
    unique = pc.drop_null(pc.unique(column)).to_pylist()
    return {plain_code(value) for value in unique if value == value}


def with_labels_in_use(table: pa.Table) -> pa.Table:
    """Remove the labels of values that a table does not hold."""
    used = {
        field.name: in_use(labels_of(field), column)
        for field, column in zip(table.schema, table.columns, strict=True)
        if LABELS in (field.metadata or {})
    }
    return with_labels(table, used) if used else table


@dataclass(frozen=True)
class Understood:
    """Meaning of a column by its labels, unless the user declares another."""

    kind: Kind | None = None
    special: tuple[Code, ...] = ()
    codes: bool = False
    """True if it is a column of codes: all of its values are labelled."""
    partly: bool = False
    """True if it holds numbers of which some are labelled."""
    levels: tuple[Code, ...] | None = None
    """The order of an ordinal column of texts, where that of the labels is all there is."""


def understood(labels: Labels, column: pa.ChunkedArray) -> Understood:
    """Return the meaning of a column by its labels.

    A nominal or ordinal measure is a kind. Numbers that are all labelled are nominal unless the
    measure is ordinal. Codes that are declared missing, and occur, are special ones.

    >>> understood(Labels("", {1: "yes", 2: "no"}), pa.chunked_array([[1, 2, None]])).kind.value
    'nominal'
    >>> understood(Labels(missing=(-9,)), pa.chunked_array([[31, -9]])).special
    (-9,)
    """
    if not labels:
        return Understood()
    present = occurring(column)
    special = tuple(sorted((code for code in present if labels.is_missing(code)), key=_order))
    values = present - set(special)
    named = values & set(labels.values)
    codes = bool(values) and named == values
    if is_text(_value_type(column.type)):
        if labels.measure == "ordinal" and codes:
            levels = tuple(code for code in labels.values if code in values)
            return Understood(Kind.ORDINAL, special, True, levels=levels)
        return Understood(None, special, codes)
    if not present:  # dates and the like
        return Understood(_kind(labels.measure))
    if labels.measure in ("nominal", "ordinal"):
        return Understood(_kind(labels.measure), special, codes)
    if codes:
        return Understood(Kind.NOMINAL, special, True)
    return Understood(None, special, False, bool(named))


def _value_type(kind: Any) -> pa.DataType:
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def _kind(measure: str) -> Kind | None:
    return Kind(measure) if measure in ("nominal", "ordinal") else None


def understood_in(table: Any, names: Iterable[str] | None = None) -> dict[str, Understood]:
    """Return the meanings of a table's columns by their labels, by name, in table order."""
    if names is not None and isinstance(table, pa.Table):
        indices = {table.schema.get_field_index(name) for name in names}
        table = table.select(sorted(indices - {-1}))
    return {
        name: understood(labels, _as_meant(table.schema.field(name), table.column(name)))
        for name, labels in labels_in(table).items()
    }


def _as_meant(field: pa.Field, column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Convert text that is marked as numbers; other text becomes missing."""
    if not (is_text(field.type) and means_numbers(field)):
        return column
    number = pc.match_substring_regex(column, r"^\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*$")
    numbers = pc.if_else(
        pc.fill_null(number, False), pc.utf8_trim_whitespace(column), pa.scalar(None, column.type)
    )
    return pc.cast(pc.utf8_ltrim(numbers, "+"), pa.float64())


def as_labels_say(settings: ColumnSettings, table: Any) -> ColumnSettings:
    """Complete the settings of columns from the labels of a table; the user's settings take
    precedence.

    A code that is declared missing is special besides those of the user, unless the user names it
    as a level or in na. Only here labels become kinds and special codes. Labelled codes declared as
    numbers are aggregated by the median, which is one of them.

    >>> table = with_labels(pa.table({"age": [31, -9]}), {"age": Labels(missing=(-9,))})
    >>> (
    ...     dict(as_labels_say(ColumnSettings(), table).special),
    ...     dict(as_labels_say(ColumnSettings(na=("-9",)), table).special),
    ... )
    ({'age': (-9,)}, {})
    """
    understood_columns = understood_in(table)
    if not understood_columns:
        return settings
    from microagg.table.code_parameters import as_number

    kinds, levels, special = dict(settings.kinds), dict(settings.levels), dict(settings.special)
    aggregate = dict(settings.aggregate)
    markers = {as_number(marker) for marker in settings.na} | set(settings.na)
    for name, column in understood_columns.items():
        if column.kind is not None and name not in kinds:
            kinds[name] = column.kind
            if column.levels is not None and name not in levels:
                levels[name] = column.levels
        kind = kinds.get(name, _kind_by_type(table.schema.field(name).type))
        if column.codes and kind is Kind.NUMERIC:
            _check_codes_stay(name, aggregate.setdefault(name, "median"))
        if kind is Kind.NOMINAL:  # where every code is a category
            continue
        taken = markers | {
            as_number(level) if isinstance(level, str) else level for level in levels.get(name, ())
        }
        codes = [code for code in column.special if code not in taken]
        if codes:
            special[name] = tuple(dict.fromkeys((*special.get(name, ()), *codes)))
    return replace(settings, kinds=kinds, levels=levels, special=special, aggregate=aggregate)


def _check_codes_stay(column: str, name: str) -> None:
    """Raise if a group of a labelled column might release a number that is none of its codes."""
    from microagg.table.aggregates import AGGREGATES

    if AGGREGATES[name].rounds:
        fitting = (entry for entry in AGGREGATES.values() if Kind.NUMERIC in entry.kinds)
        *first, last = (
            entry.name for entry in fitting if not (entry.rounds or entry.needs_hierarchy)
        )
        raise InputError(
            f"all values of column {column!r} have labels, and their {name} may have "
            f"none; choose {', '.join(first)} or {last}."
        )


def _kind_by_type(kind: pa.DataType) -> Kind:
    return (
        Kind.NOMINAL if is_text(_value_type(kind)) or pa.types.is_dictionary(kind) else Kind.NUMERIC
    )

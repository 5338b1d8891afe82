"""Sidecar file `NAME.labels.json` of the labels that a table's format cannot hold.

It is part of a release: its labels are those of values in the released table. Reading the table
takes the labels from it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from microagg.errors import InputError
from microagg.files.format import Format
from microagg.files.stores.locations import AnyPlace
from microagg.table.columns.field_metadata import with_file_fact
from microagg.table.columns.labels import Labels, labels_in, occurring, with_labels
from microagg.table.columns.text_types import with_values

ENDING = ".labels.json"
HEADER = {"microagg": "labels", "format": 1}
LARGEST = 1 << 27


def sidecar_of(path: AnyPlace) -> AnyPlace:
    """Return the path of a table's sidecar file.

    >>> sidecar_of(Path("out.csv")).name
    'out.csv.labels.json'
    """
    return path.with_name(path.name + ENDING)


def sidecar_text(labels: Mapping[str, Labels]) -> str:
    """Return the content of a sidecar file.

    >>> is_sidecar(sidecar_text({"sex": Labels("Sex")}).encode())
    True
    """
    columns = {name: column_labels.as_data() for name, column_labels in labels.items()}
    return json.dumps({**HEADER, "columns": columns}, indent=1, ensure_ascii=False) + "\n"


def is_sidecar(beginning: bytes) -> bool:
    """Check if a file begins as sidecar files do."""
    return beginning.replace(b" ", b"").startswith(b'{\n"microagg":"labels",')


def as_read_back(labels: Labels, column: pa.ChunkedArray, format: Format) -> Labels:
    """Labels in the codes that a column has when it is read from a file of a format."""
    codes = format.codes(labels, column) if format.codes else {}
    return labels.recoded(codes) if codes else labels


def labels_beside(table: pa.Table, format: Format) -> dict[str, Labels]:
    """Return all labels of a table if its format cannot hold some of them; none otherwise."""
    whole, lost = {}, False
    table = with_values(table) if format.typed else table
    for name, labels in labels_in(table).items():
        column = table.column(name)
        whole[name] = as_read_back(labels, column, format)
        held = format.holds(labels, column) if format.holds else Labels()
        lost = lost or _loses(labels, held, column, format)
    return whole if lost else {}


def _loses(labels: Labels, held: Labels, column: pa.ChunkedArray, format: Format) -> bool:
    whole = as_read_back(labels, column, format)
    codes = format.codes(labels, column) if format.codes else {}
    codes_present = [codes.get(value, value) for value in occurring(column)]
    return (
        whole.label != held.label
        or whole.measure != held.measure
        or not whole.values.items() <= held.values.items()
        or any(whole.is_missing(value) != held.is_missing(value) for value in codes_present)
    )


def with_sidecar(table: pa.Table, path: Path) -> pa.Table:
    """Add the labels of the sidecar file to a table, if there is one."""
    sidecar = sidecar_of(path)
    try:
        with sidecar.open("rb") as file:
            content = file.read(LARGEST)
    except (FileNotFoundError, NotADirectoryError):
        return table
    except OSError:
        raise InputError(
            f"{str(sidecar)!r} cannot be read; check its permissions, or remove it."
        ) from None
    labels = _read(sidecar, content)
    matching = {
        name: column_labels for name, column_labels in labels.items() if name in table.column_names
    }
    if not matching:
        return table
    table = with_labels(table, matching)
    return with_file_fact(table, "labels-from-file", labelled=len(matching), file=sidecar.name)


def _read(path: Path, content: bytes) -> dict[str, Labels]:
    try:
        data: Any = json.loads(content.decode("utf-8"))
        if {name: data[name] for name in HEADER} != HEADER:
            raise ValueError("no labels")
        return {str(name): Labels.from_data(entry) for name, entry in data["columns"].items()}
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError, OverflowError):
        raise InputError(
            f"{str(path)!r} does not hold labels as microagg writes them; correct it, or remove it."
        ) from None

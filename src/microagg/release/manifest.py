"""What was done, twice: in full for the data holder, and what may be published."""

from __future__ import annotations

import hashlib
import importlib.metadata
import itertools
import json
import math
import platform
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import microagg
from microagg.bounds.bound import Bound
from microagg.errors import InputError
from microagg.guarantees.k import Anonymity
from microagg.methods.method import Found
from microagg.methods.registry import method_named
from microagg.release.publishing import is_published, steady, told_loss
from microagg.release.settings import Settings
from microagg.table.aggregate import Aggregated
from microagg.table.capping import Capped
from microagg.table.encoder import Space
from microagg.table.io.arrow import compute as pc
from microagg.table.schema import WITHHELD, Role, Schema

LIBRARIES = ("numpy", "numba", "pyarrow", "narwhals", "highspy")
FORMAT = 2

# What a manifest says besides the settings (whose own declarations tell which of them are public), and whether everybody may
# know it: what is public follows from the released table and the settings. What is not listed here stays inside. Of the loss,
# `publishing.py` says how much is told.
RESULTS = {
    "format": True,
    "microagg": True,
    "release": True,
    "records": True,
    "roles": True,
    "guarantee": True,
    "all_columns": True,
    "may_identify": True,
    "loss": True,
    "largest_share": False,
    "bound": False,
    "chosen": False,
    "stopped_early": False,
    "rows": True,
    "input": False,
    "output": True,
    "scaling": False,
    "cells": False,
    "strata": False,
    "weighting": False,
    "capped": False,
    "versions": False,
    "dialect": False,
}
BY_NAME = ("bound",)  # results that the data holder may publish all the same
OF_UNITS = {
    "units": "fewest",
    "share": "largest_share",
}  # findings on units, and what manifests call the worst


def internal_manifest(
    *,
    settings: Settings,
    schema: Schema,
    found: Found,
    space: Space,
    made: Aggregated,
    source: pa.Table,
    file: str | None,
    loss: dict[str, float],
    largest_share: float,
    anonymity: Anonymity,
    exposure: Mapping[str, Any],
    capped: Mapping[str, Capped],
    dropped: int = 0,
    strata: dict[str, Any] | None = None,
    weighting: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """Everything that is needed to repeat a run to the byte."""
    quasi = schema.names(Role.QUASI)
    return {
        "format": FORMAT,
        "microagg": microagg.__version__,
        "settings": settings.as_data(),
        "records": len(made.cells),
        "roles": {column.name: column.role.value for column in schema.columns},
        "guarantee": {
            "k": settings.k,
            "of": "each combination" if anonymity.scope == "record" else "each column alone",
            "holds": True,  # a release that misses its guarantee does not come to be
            "k_anonymous": anonymity.holds,
            "classes": len(anonymity.sizes),
            "smallest_class": int(anonymity.sizes.min()),
            **_found(anonymity),
        },
        **exposure,
        "loss": loss,
        "largest_share": largest_share,
        "bound": None if found.bound is None else _bound(found.bound, found.labels),
        "chosen": list(found.chosen),
        "stopped_early": found.stopped is not None,
        "input": {"file": file, "digest": digest_of(source)},
        "scaling": {
            name: {**space.about_column(j), "decimals": made.decimals[j]} for j, name in enumerate(quasi)
        },
        "cells": _cells(schema, made, dropped),
        "strata": strata,
        "weighting": weighting,
        "capped": {name: each.as_data() for name, each in capped.items()},
        "versions": {
            "python": platform.python_version(),
            "machine": platform.machine(),
            **{name: importlib.metadata.version(name) for name in LIBRARIES},
        },
    }


def _cells(schema: Schema, made: Aggregated, dropped: int) -> dict[str, Any]:
    """What the columns were taken for, and how many cells were filled and blanked; all of it stays inside."""
    kinds = {column.name: column.kind for column in schema.columns if column.role is Role.QUASI}
    columns = {
        name: {
            "kind": kinds[name].value,
            "aggregate": made.how[j],
            "filled": made.filled[j],
            "blanked": made.blanked[j],
        }
        for j, name in enumerate(made.cells.names)
    }
    return {"columns": columns, "records_left_out": dropped}


def _bound(bound: Bound, labels: np.ndarray) -> dict[str, Any]:
    """The proven limit, and how far this grouping is above it, in percent of the limit (None for a limit of 0)."""
    gap = bound.gap(labels)
    return {"IL": bound.il, "optimal": bound.optimal, "gap": gap if math.isfinite(gap) else None}


def _found(anonymity: Anonymity) -> dict[str, Any]:
    """What l and t come to in the worst class, for each confidential column: anybody can count it on the released table.

    Of units, which nobody can count, everybody is told what every class has, and the rest stays inside.
    """
    told: dict[str, dict[str, Any]] = {}
    units = {finding.guarantee: finding for finding in anonymity.findings if finding.guarantee in OF_UNITS}
    if units:
        told["units"] = {"every_class": " and ".join(finding.words for finding in units.values())}
        told["units"] |= {OF_UNITS[name]: finding.worst for name, finding in units.items()}
    for finding in anonymity.findings:
        if finding.guarantee in OF_UNITS:
            continue
        told.setdefault(finding.guarantee, {"every_class": finding.words, "worst": {}})
        told[finding.guarantee]["worst"][finding.column] = finding.worst
    return told


def public_manifest(internal: Mapping[str, Any]) -> dict[str, Any]:
    """What may be published: what follows from the released table and the settings, the loss in whole percent, and what is
    published by name. No seed, no digest of the input, no scaling, no dropped columns, nothing on how the search went.

    Of a public manifest, nothing is taken away.

    >>> public_manifest({"settings": {"k": 5, "seed": 7}, "roles": {"name": "identifier", "age": "quasi"}})
    {'settings': {'k': 5}, 'roles': {'age': 'quasi'}}
    """
    public = {name: value for name, value in internal.items() if RESULTS.get(name) or name == "settings"}
    public["settings"] = _public_settings(internal["settings"])
    if "loss" in public:
        public["loss"] = told_loss(internal)
    if "guarantee" in public:
        public["guarantee"] = _whatever_the_order(public["guarantee"])
    for name in BY_NAME:
        if internal.get(name) is not None and is_published(name, internal):
            public[name] = {key: _in_two_digits(value) for key, value in internal[name].items()}
    if public.get("output"):
        public["output"] = {"file": public["output"]["file"]}
    public["roles"] = {name: role for name, role in internal["roles"].items() if role not in WITHHELD}
    return public


def _public_settings(settings: Mapping[str, Any]) -> dict[str, Any]:
    """What was asked for, as far as everybody may know it; of the method's parameters, not where it was stopped."""
    told = Settings.public_part(settings)
    if "params" in told:
        try:
            known = method_named(str(told["method"])).public_parameters
        except InputError:  # a manifest may be newer than this registry
            known = ()
        told["params"] = {name: value for name, value in told["params"].items() if name in known}
    return told


def _whatever_the_order(guarantee: Mapping[str, Any]) -> dict[str, Any]:
    """The guarantee without the last digits of l and t, which depend on the order of the rows, and without counts of units."""
    told = dict(guarantee)
    for name in ("l", "t"):
        if told.get(name):
            worst = {column: steady(value, 6) for column, value in told[name]["worst"].items()}
            told[name] = {**told[name], "worst": worst}
    if told.get("units"):  # what follows from the settings
        told["units"] = {"every_class": told["units"]["every_class"]}
    return told


def _in_two_digits(value: Any) -> Any:
    return steady(value, 2) if isinstance(value, float) else value


def digest_of(table: pa.Table) -> str:
    """SHA-256 over the names and values of a table, whatever file or library it came from.

    >>> digest_of(pa.table({"a": [1, 2]})) == digest_of(pa.table({"a": pa.chunked_array([[1], [2]])}))
    True
    """
    digest = hashlib.sha256()
    for name, column in zip(table.column_names, table.columns, strict=True):
        kind, parts = _parts_of(column)
        digest.update(f"{name}\0{kind}\0{len(column)}\0".encode())
        digest.update(np.packbits(column.is_valid().to_numpy()).tobytes())
        for part in parts:
            digest.update(part)
    return digest.hexdigest()


def name_of_release(written: pa.Table, settings: Settings) -> str:
    """What all files of a release call it: a digest of the rows as they are in the file, in whatever order, and of the public settings.

    Nothing of it is random and nothing comes from the original, so that everybody who has the file can work it out.

    >>> table = pa.table({"age": [31, 62]})
    >>> name_of_release(table, Settings.of(k=2)) == name_of_release(table.take([1, 0]), Settings.of(k=2))
    True
    """
    asked = json.dumps(_public_settings(settings.as_data()), sort_keys=True)
    return hashlib.sha256(f"{asked}\0{digest_of_rows(written)}".encode()).hexdigest()


def digest_of_rows(table: pa.Table) -> str:
    """SHA-256 over the names and rows of a table, whatever their order: each column's values in ascending order, then all rows
    as the positions of their values among these, in ascending order too.
    """
    digest = hashlib.sha256(f"{table.num_rows}\0".encode())
    positions: list[np.ndarray] = []
    for name, column in zip(table.column_names, table.columns, strict=True):
        values, where = _positions(column)
        kind = "float" if pa.types.is_floating(column.type) else ""
        digest.update(f"{name}\0{kind}\0{digest_of(pa.table({name: values}))}\0".encode())
        positions.append(where)
    rows = _in_ascending_order(positions)
    for where in positions:
        digest.update(where[rows].astype("<i4").tobytes())
    return digest.hexdigest()


def _in_ascending_order(positions: Sequence[np.ndarray]) -> np.ndarray:
    """The numbers of rows in ascending order of their positions, the first column before the others."""
    if not positions:
        return np.empty(0, np.int64)
    table = pa.table({str(j): where for j, where in enumerate(positions)})
    return pc.sort_indices(table, sort_keys=[(name, "ascending") for name in table.column_names]).to_numpy()


def _positions(column: pa.ChunkedArray) -> tuple[pa.Array, np.ndarray]:
    """The different values of a column in ascending order, and the position of every record's among them, -1 for what is missing."""
    encoded = _comparable(column).combine_chunks().dictionary_encode()
    if isinstance(encoded, pa.ChunkedArray):
        encoded = encoded.combine_chunks()
    ascending = pc.sort_indices(encoded.dictionary).to_numpy()
    rank = np.empty(len(ascending) + 1, np.int32)
    rank[ascending] = np.arange(len(ascending), dtype=np.int32)
    rank[-1] = -1
    return encoded.dictionary.take(pa.array(ascending)), rank[
        encoded.indices.fill_null(len(ascending)).to_numpy()
    ]


def _comparable(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Values that are equal only if all their bytes are: 0.0 and -0.0 are not."""
    if pa.types.is_integer(column.type):
        return pc.cast(column, pa.int64(), safe=False)
    if pa.types.is_floating(column.type):
        wide = pc.cast(column, pa.float64())
        bits = wide.fill_null(0.0).to_numpy().view(np.int64)
        return pa.chunked_array([pa.array(bits, mask=wide.is_null().to_numpy())])
    try:
        return pc.cast(column, pa.large_string())
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid):
        told = [None if value is None else repr(value) for value in column.to_pylist()]
        return pa.chunked_array([pa.array(told, pa.large_string())])


def _parts_of(column: pa.ChunkedArray) -> tuple[str, Iterable[Any]]:
    """What kind of values a column has, and their bytes, piece by piece and without a copy where Arrow has them."""
    if pa.types.is_integer(column.type) or pa.types.is_floating(column.type):
        kind = "whole" if pa.types.is_integer(column.type) else "float"
        target = pa.int64() if kind == "whole" else pa.float64()
        numbers = pc.cast(column, target, safe=False).fill_null(0)
        return kind, (np.ascontiguousarray(chunk.to_numpy()) for chunk in numbers.chunks)
    try:
        texts = pc.cast(column, pa.large_string()).fill_null("")
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid):  # lists and the like, bytes that are no text
        return "other", ("\0".join(repr(value) for value in column.to_pylist()).encode(),)
    lengths = (np.ascontiguousarray(chunk.to_numpy()) for chunk in pc.binary_length(texts).chunks)
    return "text", itertools.chain(lengths, map(_letters_of, texts.chunks))


def _letters_of(texts: pa.LargeStringArray) -> memoryview:
    """The bytes of all texts, one after another."""
    if len(texts) == 0:
        return memoryview(b"")
    _, offsets, letters = texts.buffers()
    places = np.frombuffer(offsets, np.int64)[[texts.offset, texts.offset + len(texts)]]
    return memoryview(letters or b"")[places[0] : places[1]]


def manifest_paths(table: Path) -> tuple[Path, Path]:
    """Where the internal and the public manifest of a released file lie: one pair for each file, whatever its format."""
    return table.with_name(f"{table.name}.internal.json"), table.with_name(f"{table.name}.public.json")


def manifest_text(content: Mapping[str, Any]) -> str:
    """A manifest as it is written.

    >>> print(manifest_text({"format": 2}), end="")
    {
      "format": 2
    }
    """
    return json.dumps(content, indent=2, ensure_ascii=False) + "\n"


def is_manifest(beginning: bytes) -> bool:
    """Whether a file that begins so is a manifest.

    >>> is_manifest(manifest_text({"format": 2, "microagg": "0.1.0"}).encode()), is_manifest(b'{"title": "Report"}')
    (True, False)
    """
    return re.match(rb'\{\s*"format": \d+,\s*"microagg": "', beginning) is not None

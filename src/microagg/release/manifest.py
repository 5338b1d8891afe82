"""What was done, twice: in full for the data holder, and what may be published."""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import math
import platform
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

import microagg
from microagg.bounds.bound import Bound
from microagg.errors import InputError
from microagg.files.stores.locations import AnyPlace
from microagg.guarantees.k import Anonymity
from microagg.methods.method import Grouping
from microagg.methods.registry import method_named
from microagg.release.publishing import is_published, published_loss, steady
from microagg.release.settings import Settings
from microagg.table.aggregate import Aggregated
from microagg.table.capping import Capped
from microagg.table.columns.digests import digest_of, digest_of_rows, digest_of_whole_columns
from microagg.table.columns.row_sketch import sketch_of_table
from microagg.table.encoder import Space
from microagg.table.schema import WITHHELD, Role, Schema

LIBRARIES = ("numpy", "numba", "pyarrow", "narwhals", "highspy")
FORMAT = 3
OF_WHOLE_COLUMNS = (
    # manifests up to this format have digests of whole columns, and rows shuffled by a permutation
    2
)

# What a manifest says besides the settings (whose own declarations tell which of them are public),
# and whether everybody may
# know it: what is public follows from the released table and the settings. What is not listed here
# stays inside. Of the loss,
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
    "sums": True,
    "loss": True,
    "largest_share": False,
    "bound": False,
    "chosen": False,
    "stopped_early": False,
    "rows": True,
    "input": False,
    "sketch": False,
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
    found: Grouping,
    space: Space,
    made: Aggregated,
    source: pa.Table | str,
    file: str | None,
    loss: dict[str, float],
    largest_share: float,
    anonymity: Anonymity,
    exposure: Mapping[str, Any],
    capped: Mapping[str, Capped],
    rules: Sequence[Mapping[str, Any]] = (),
    dropped: int = 0,
    strata: dict[str, Any] | None = None,
    weighting: dict[str, Any] | None = None,
    sketch: dict[str, Any] | None = None,
    format: int = FORMAT,
) -> dict[str, Any]:
    """Everything that is needed to repeat a run to the byte. `source` is the table that was given,
    or its digest, with its `sketch` then.
    """
    quasi = schema.names(Role.QUASI)
    if isinstance(source, pa.Table):
        sketch = sketch_of_table(source) if format > OF_WHOLE_COLUMNS else None
    return {
        "format": format,
        "microagg": microagg.__version__,
        "settings": settings.as_data(),
        "records": len(made),
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
        "sums": list(rules),
        "loss": loss,
        "largest_share": largest_share,
        "bound": None if found.bound is None else _bound(found.bound, found.labels),
        "chosen": list(found.chosen),
        "stopped_early": found.stopped is not None,
        "input": {
            "file": file,
            "digest": source if isinstance(source, str) else digest_in(format)(source),
        },
        "sketch": sketch,
        "scaling": {
            name: {**space.about_column(j), "decimals": made.decimals[j]}
            for j, name in enumerate(quasi)
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
    """What the columns were taken for, and how many cells were filled and blanked; all of it stays
    inside.
    """
    kinds = {column.name: column.kind for column in schema.columns if column.role is Role.QUASI}
    columns = {
        name: {
            "kind": kinds[name].value,
            "aggregate": made.how[j],
            "filled": made.filled[j],
            "blanked": made.blanked[j],
        }
        for j, name in enumerate(variable.name for variable in made.variables)
    }
    return {"columns": columns, "records_left_out": dropped}


def _bound(bound: Bound, labels: np.ndarray) -> dict[str, Any]:
    """The proven limit, and how far this grouping is above it, in percent of the limit (None for a
    limit of 0).
    """
    gap = bound.gap(labels)
    return {"IL": bound.il, "optimal": bound.optimal, "gap": gap if math.isfinite(gap) else None}


def _found(anonymity: Anonymity) -> dict[str, Any]:
    """What l and t come to in the worst class, for each confidential column: anybody can count it
    on the released table.

    Of units, which nobody can count, everybody is told what every class has, and the rest stays
    inside.
    """
    told: dict[str, dict[str, Any]] = {}
    units = {
        finding.guarantee: finding
        for finding in anonymity.findings
        if finding.guarantee in OF_UNITS
    }
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
    """What may be published: what follows from the released table and the settings, the loss in
    whole percent, and what is published by name. No seed, no digest of the input, no scaling, no
    dropped columns, nothing on how the search went.

    Of a public manifest, nothing is taken away.

    >>> public_manifest({"settings": {"k": 5, "seed": 7}, "roles": {"name": "identifier", "age": "quasi"}})
    {'settings': {'k': 5}, 'roles': {'age': 'quasi'}}
    """
    public = {
        name: value for name, value in internal.items() if RESULTS.get(name) or name == "settings"
    }
    public["settings"] = _public_settings(internal["settings"])
    if "loss" in public:
        public["loss"] = published_loss(internal)
    if "guarantee" in public:
        public["guarantee"] = _whatever_the_order(public["guarantee"])
    for name in BY_NAME:
        if internal.get(name) is not None and is_published(name, internal):
            public[name] = {key: _in_two_digits(value) for key, value in internal[name].items()}
    if public.get("output"):
        public["output"] = {"file": public["output"]["file"]}
    public["roles"] = {
        name: role for name, role in internal["roles"].items() if role not in WITHHELD
    }
    return public


def _public_settings(settings: Mapping[str, Any]) -> dict[str, Any]:
    """What was asked for, as far as everybody may know it; of the method's parameters, not where it
    was stopped.
    """
    told = Settings.public_part(settings)
    if "params" in told:
        try:
            known = method_named(str(told["method"])).public_parameters
        except InputError:  # a manifest may be newer than this registry
            known = ()
        told["params"] = {name: value for name, value in told["params"].items() if name in known}
    return told


def _whatever_the_order(guarantee: Mapping[str, Any]) -> dict[str, Any]:
    """The guarantee without the last digits of l and t, which depend on the order of the rows, and
    without counts of units.
    """
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


def digest_in(format: int) -> Callable[[pa.Table], str]:
    """What makes the digests of tables in manifests of this format.

    >>> digest_in(FORMAT) is digest_of
    True
    """
    return digest_of if format > OF_WHOLE_COLUMNS else digest_of_whole_columns


def name_of_release(written: pa.Table, settings: Settings) -> str:
    """What all files of a release call it: a digest of the rows as they are in the file, in
    whatever order, and of the public settings.

    Nothing of it is random and nothing comes from the original, so that everybody who has the file
    can work it out.

    >>> table = pa.table({"age": [31, 62]})
    >>> name_of_release(table, Settings.of(k=2)) == name_of_release(table.take([1, 0]), Settings.of(k=2))
    True
    """
    return name_by(digest_of_rows(written), settings)


def name_by(digest_of_rows: str, settings: Settings) -> str:
    """The same from the digest of the rows."""
    asked = json.dumps(_public_settings(settings.as_data()), sort_keys=True)
    return hashlib.sha256(f"{asked}\0{digest_of_rows}".encode()).hexdigest()


def manifest_paths(table: AnyPlace) -> tuple[AnyPlace, AnyPlace]:
    """Where the internal and the public manifest of a released file lie: one pair for each file,
    whatever its format.
    """
    return table.with_name(f"{table.name}.internal.json"), table.with_name(
        f"{table.name}.public.json"
    )


def manifest_text(content: Mapping[str, Any]) -> str:
    """A manifest as it is written.

    >>> print(manifest_text({"format": 3}), end="")
    {
      "format": 3
    }
    """
    return json.dumps(content, indent=2, ensure_ascii=False) + "\n"


def is_manifest(beginning: bytes) -> bool:
    """Whether a file that begins so is a manifest.

    >>> is_manifest(manifest_text({"format": 2, "microagg": "0.1.0"}).encode()), is_manifest(b'{"title": "Report"}')
    (True, False)
    """
    return re.match(rb'\{\s*"format": \d+,\s*"microagg": "', beginning) is not None

"""Manifests of a release: one with everything for the data holder, one that may be published."""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import math
import platform
import re
from collections.abc import Callable, Mapping
from typing import Any

import pyarrow as pa

import microagg
from microagg.errors import InputError
from microagg.files.stores.locations import AnyPlace
from microagg.guarantees.k import Anonymity
from microagg.methods.registry import method_named
from microagg.release.facts import InputFacts, ReleaseFacts, SearchOutcome
from microagg.release.publishing import is_published, published_loss, steady
from microagg.release.settings import Settings
from microagg.table.columns.digests import digest_of, digest_of_rows, digest_of_whole_columns
from microagg.table.columns.row_sketch import sketch_of_table
from microagg.table.schema import WITHHELD

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
    "effects": False,
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


def internal_manifest(facts: ReleaseFacts, format: int = FORMAT) -> dict[str, Any]:
    """Return everything that is needed to repeat a run to the byte."""
    settings, anonymity, search = facts.settings, facts.anonymity, facts.search
    return {
        "format": format,
        "microagg": microagg.__version__,
        "settings": settings.as_data(),
        "records": facts.records,
        "roles": {column.name: column.role.value for column in facts.schema.columns},
        "guarantee": {
            "k": settings.k,
            "of": "each combination" if anonymity.scope == "record" else "each column alone",
            "holds": True,  # a release that misses its guarantee does not come to be
            "k_anonymous": anonymity.holds,
            "classes": len(anonymity.sizes),
            "smallest_class": int(anonymity.sizes.min()),
            **_findings(anonymity),
        },
        **facts.exposure,
        "sums": list(facts.rules),
        "loss": facts.loss,
        "largest_share": facts.largest_share,
        "bound": _bound(search),
        "chosen": list(search.chosen),
        "stopped_early": search.stopped_early,
        "input": {"file": facts.input.file, "digest": facts.input.digest},
        "sketch": facts.input.sketch,
        "scaling": {
            column.name: {**facts.space.about_column(j), "decimals": column.decimals}
            for j, column in enumerate(facts.columns)
        },
        "cells": _cells(facts),
        "effects": {effect.name: effect.as_data() for effect in facts.effects},
        "strata": facts.strata,
        "weighting": facts.weighting,
        "capped": {name: capped.as_data() for name, capped in facts.capped.items()},
        "versions": {
            "python": platform.python_version(),
            "machine": platform.machine(),
            **{name: importlib.metadata.version(name) for name in LIBRARIES},
        },
    }


def input_facts(source: pa.Table, file: str | None, format: int = FORMAT) -> InputFacts:
    """Return the identity of a table in memory, as manifests of a format state it."""
    sketch = sketch_of_table(source) if format > OF_WHOLE_COLUMNS else None
    return InputFacts(file, digest_in(format)(source), sketch)


def _cells(facts: ReleaseFacts) -> dict[str, Any]:
    """Return kinds and aggregates of columns and counts of changed cells; all of it is internal."""
    kinds = {column.name: column.kind.value for column in facts.schema.columns}
    columns = {
        column.name: {
            "kind": kinds[column.name],
            "aggregate": column.aggregate,
            "filled": column.filled,
            "blanked": column.blanked,
        }
        for column in facts.columns
    }
    return {"columns": columns, "records_left_out": facts.dropped}


def _bound(search: SearchOutcome) -> dict[str, Any] | None:
    """Return the proven bound and the gap of the groups in percent; None for a bound of 0."""
    bound, gap = search.bound, search.gap
    if bound is None or gap is None:
        return None
    known = {"IL": bound.il, "optimal": bound.optimal, "gap": gap if math.isfinite(gap) else None}
    if bound.solver_optimal:
        known |= {"optimal_by_solver": True, "certified_IL": bound.certified_il}
    return known


def _findings(anonymity: Anonymity) -> dict[str, Any]:
    """Return the worst class of each guarantee and confidential column; anybody can count it on the
    released table.

    Of units, which nobody can count, everybody is told what every class has, and the rest stays
    inside.
    """
    by_guarantee: dict[str, dict[str, Any]] = {}
    units = {
        finding.guarantee: finding
        for finding in anonymity.findings
        if finding.guarantee in OF_UNITS
    }
    if units:
        by_guarantee["units"] = {
            "every_class": " and ".join(finding.words for finding in units.values())
        }
        by_guarantee["units"] |= {OF_UNITS[name]: finding.worst for name, finding in units.items()}
    for finding in anonymity.findings:
        if finding.guarantee in OF_UNITS:
            continue
        by_guarantee.setdefault(finding.guarantee, {"every_class": finding.words, "worst": {}})
        by_guarantee[finding.guarantee]["worst"][finding.column] = finding.worst
    return by_guarantee


def public_manifest(internal: Mapping[str, Any]) -> dict[str, Any]:
    """Return the part of a manifest that may be published: facts that follow from the released
    table and the settings, the loss in whole percent, and measures published by name. It has no
    seed, digest of the input, scaling, dropped columns, or course of the search.

    Of a public manifest, nothing is taken away.

    >>> roles = {"name": "identifier", "age": "quasi"}
    >>> public_manifest({"settings": {"k": 5, "seed": 7}, "roles": roles})
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
    """Return the public settings, and the public parameters of the method."""
    public = Settings.public_part(settings)
    if "params" in public:
        try:
            known = method_named(str(public["method"])).public_parameters
        except InputError:  # a manifest may be newer than this registry
            known = ()
        public["params"] = {
            name: value for name, value in public["params"].items() if name in known
        }
    return public


def _whatever_the_order(guarantee: Mapping[str, Any]) -> dict[str, Any]:
    """Return the guarantee without the last digits of l and t, which depend on the order of rows,
    and without counts of units.
    """
    public = dict(guarantee)
    for name in ("l", "t"):
        if public.get(name):
            worst = {column: steady(value, 6) for column, value in public[name]["worst"].items()}
            public[name] = {**public[name], "worst": worst}
    if public.get("units"):  # what follows from the settings
        public["units"] = {"every_class": public["units"]["every_class"]}
    return public


def _in_two_digits(value: Any) -> Any:
    return steady(value, 2) if isinstance(value, float) else value


def digest_in(format: int) -> Callable[[pa.Table], str]:
    """Return the function that digests tables in manifests of a format.

    >>> digest_in(FORMAT) is digest_of
    True
    """
    return digest_of if format > OF_WHOLE_COLUMNS else digest_of_whole_columns


def name_of_release(written: pa.Table, settings: Settings) -> str:
    """Return the name of a release in all its files: a digest of the written rows, in whatever
    order, and of the public settings.

    Nothing of it is random and nothing comes from the original, so that everybody who has the file
    can work it out.

    >>> table = pa.table({"age": [31, 62]})
    >>> settings, reversed_table = Settings.of(k=2), table.take([1, 0])
    >>> name_of_release(table, settings) == name_of_release(reversed_table, settings)
    True
    """
    return name_by(digest_of_rows(written), settings)


def name_by(digest_of_rows: str, settings: Settings) -> str:
    """Return the name of a release from the digest of its rows."""
    settings_json = json.dumps(_public_settings(settings.as_data()), sort_keys=True)
    return hashlib.sha256(f"{settings_json}\0{digest_of_rows}".encode()).hexdigest()


def manifest_paths(table: AnyPlace) -> tuple[AnyPlace, AnyPlace]:
    """Return the paths of the internal and the public manifest of a released file: one pair for
    each file, whatever its format.
    """
    return table.with_name(f"{table.name}.internal.json"), table.with_name(
        f"{table.name}.public.json"
    )


def manifest_text(content: Mapping[str, Any]) -> str:
    """Return a manifest as it is written.

    >>> print(manifest_text({"format": 3}), end="")
    {
      "format": 3
    }
    """
    return json.dumps(content, indent=2, ensure_ascii=False) + "\n"


def is_manifest(beginning: bytes) -> bool:
    """Return True if a file that begins like this is a manifest.

    >>> is_manifest(manifest_text({"format": 2, "microagg": "0.1.0"}).encode())
    True
    >>> is_manifest(b'{"title": "Report"}')
    False
    """
    return re.match(rb'\{\s*"format": \d+,\s*"microagg": "', beginning) is not None

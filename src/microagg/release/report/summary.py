"""A release in a few lines: what a notebook and a terminal show of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from microagg.formatting import counted, number, promised, promised_units
from microagg.release.report.claims import on_all_columns, on_naming


def headline_of(manifest: Mapping[str, Any], class_sizes: np.ndarray) -> str:
    """The release in one line.

    >>> headline_of({"records": 4}, np.array([2, 2]))
    '4 records in 2 classes of 2'
    """
    low, high = int(class_sizes.min()), int(class_sizes.max())
    span = f"{low:,}" if low == high else f"{low:,} to {high:,}"
    return (
        f"{counted(int(manifest['records']), 'record')} in "
        f"{counted(len(class_sizes), 'class', 'classes')} of {span}"
    )


def summary_of(
    manifest: Mapping[str, Any], class_sizes: np.ndarray, notes: Sequence[str] = ()
) -> list[tuple[str, str]]:
    """What matters of a release: (name, sentence) for each line."""
    rows = [
        ("guarantee", _guarantee(manifest, int(class_sizes.min()))),
        *(("", told) for told in [*promised(manifest), *promised_units(manifest)]),
        *(("", told) for told in (on_all_columns(manifest),) if told),
        ("loss", _loss(manifest)),
    ]
    if manifest.get("may_identify"):
        rows.append(("names", on_naming(manifest)))
    if manifest.get("bound"):
        rows.append(("bound", _bound(manifest["bound"])))
    return [*rows, ("method", _method(manifest)), *(("note", note) for note in notes)]


def _guarantee(manifest: Mapping[str, Any], smallest: int) -> str:
    k = int(manifest["settings"]["k"])
    if smallest >= k:
        return f"k = {k}: {k} or more records share each combination of quasi-identifying values"
    return (
        f"k = {k} in each column alone; NOT {k}-anonymous: the smallest class has "
        f"{counted(smallest, 'record')}"
    )


def _loss(manifest: Mapping[str, Any]) -> str:
    told = f"IL = {number(manifest['loss']['IL'])} % of the variation"
    if "IL_zscore" not in manifest["loss"]:
        return told
    usual = number(manifest["loss"]["IL_zscore"])
    return f"{told} (scale {manifest['settings']['scale']}; {usual} % in z-scores)"


def _method(manifest: Mapping[str, Any]) -> str:
    asked = manifest["settings"]
    given = {name: value for name, value in asked["params"].items() if value is not None}
    params = ", ".join(f"{name}={value}" for name, value in given.items())
    return f"{asked['method']} ({params})" if params else str(asked["method"])


def _bound(bound: Mapping[str, Any]) -> str:
    least = f"no grouping can lose less than {number(bound['IL'])} % (proven)"
    return f"{least}: this one is optimal" if bound["optimal"] else least

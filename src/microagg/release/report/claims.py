"""Sentences that hold for some releases only: on unique records, names, sums and numbers.

In a public report all of them follow from the released table and the settings.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from microagg.formatting import counted, listed
from microagg.measures.columns import not_numbers
from microagg.measures.measure import Pair
from microagg.table.schema import WITHHELD, Role

NAMED = 12  # columns by name in a sentence


def others_released(manifest: Mapping[str, Any]) -> list[str]:
    """The released columns that the guarantee does not count.

    >>> others_released({"roles": {"age": "quasi", "town": "keep", "name": "identifier"}})
    ['town']
    """
    without = {role.value for role in (*WITHHELD, Role.QUASI, Role.STRATUM)}
    aggregates = manifest.get("settings", {}).get("aggregate") or {}
    return [
        name
        for name, role in manifest["roles"].items()
        if role not in without and (role != Role.WEIGHT.value or aggregates.get(name) == "keep")
    ]


def on_all_columns(manifest: Mapping[str, Any]) -> str:
    """Return the claim on attackers who know all released columns; empty if not counted (older
    manifests).

    >>> roles = {"age": "quasi", "town": "keep"}
    >>> counts = {"columns": 2, "classes": 3, "smallest_class": 1, "unique_records": 2}
    >>> on_all_columns({"records": 4, "roles": roles, "all_columns": counts})
    'If someone knows every published column, 2 of 4 records can be singled out.'
    """
    counts = manifest.get("all_columns")
    if not counts:
        return ""
    unique, records = int(counts["unique_records"]), int(manifest["records"])
    if unique:
        return (
            f"If someone knows every published column, {unique:,} of {records:,} records can be "
            "singled out."
        )
    smallest = counted(int(counts["smallest_class"]), "record")
    return (
        "If someone knows every published column, no record can be singled out; the smallest class "
        f"then has {smallest}."
    )


def on_naming(manifest: Mapping[str, Any]) -> str:
    """Return whether the table has columns that may name people; empty if not checked (older
    manifests).

    >>> on_naming({"may_identify": ["surname"]})
    'May name people, and is released unchanged: surname.'
    """
    columns = manifest.get("may_identify")
    if columns is None:
        return ""
    if not columns:
        return (
            "No released column has a name or pattern that suggests people, and no text column is "
            "unique to nearly everyone."
        )
    several = len(columns) > 1
    return (
        f"May name people, and {'are' if several else 'is'} released unchanged: {listed(columns)}."
    )


def on_numbers(pair: Pair) -> str:
    """Return the columns that measures of numbers cover, the others and why; empty if they cover
    all.

    >>> import numpy as np
    >>> on_numbers(Pair(np.array([[1.0]]), np.array([[1.0]]), ("age",)))
    ''
    """
    left = not_numbers(pair)
    if not left:
        return ""
    whys = "; ".join(f"{listed(names, NAMED)} ({why})" for why, names in left.items())
    if not pair.names:
        return f"measures that need numbers cover no column; they leave out {whys}"
    return f"measures that need numbers cover {listed(pair.names, NAMED)} only; left out: {whys}"


def sentences_on_rules(rules: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return what a report says of the sums of a release, from its manifest.

    >>> sentences_on_rules(
    ...     [{"rule": "total = wage + other", "declared": True, "records": 300, "missed": 0}]
    ... )
    ['In every released record that has these values: total = wage + other.']
    """
    holding = [rule["rule"] for rule in rules if rule["missed"] == 0]
    sentences = []
    if holding:
        sentences.append(f"In every released record that has these values: {'; '.join(holding)}.")
    return sentences + [
        f"Declared, but not so in {rule['missed']:,} of {rule['records']:,} released "
        f"records: {rule['rule']}."
        for rule in rules
        if rule["missed"]
    ]

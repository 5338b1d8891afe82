"""Shortfalls of groups by their records and by their counts, against a slow transcription."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

import numpy as np
import pytest

from microagg.guarantees.promise import AcceptanceTest, Guarantees
from microagg.guarantees.units import LARGEST_SHARE
from microagg.kernels.guarantee_tables import shortfall_of_counts
from microagg.table.confidential import Attribute
from microagg.table.schema import Kind

PROMISES = [
    {"l": 4}, {"l": 3.5, "diversity": "entropy"}, {"l": 3, "diversity": "recursive", "c": 0.7},
    {"t": 0.05},
    {"l": 5, "t": 0.12}, {"units": 6},
]  # fmt: skip


def distance(group: Sequence[int], table: Sequence[int], *, ordered: bool) -> float:
    """The distance between the distributions of two lists of codes over the codes of the table."""
    values = range(max(table) + 1)
    gaps = [group.count(v) / len(group) - table.count(v) / len(table) for v in values]
    if not ordered:
        return sum(max(gap, 0.0) for gap in gaps)
    return sum(abs(sum(gaps[: v + 1])) for v in values) / max(len(values) - 1, 1)


def closeness(group: list[int], table: list[int], known: int, *, ordered: bool) -> float:
    special = max(table) + 1 - known
    if not ordered or special == 0:
        return distance(group, table, ordered=ordered)
    # special codes are compared as such, values together, and values by their order
    valid, valid_table = [v for v in group if v < known], [v for v in table if v < known]
    together = [max(v, known - 1) for v in group], [max(v, known - 1) for v in table]
    apart = distance(*together, ordered=False)
    if not valid:
        return apart
    share, overall = len(valid) / len(group), len(valid_table) / len(table)
    weight = min(share, overall) if special == 1 else share
    return apart + weight * distance(valid, valid_table, ordered=True)


def shortfall(promise: dict, group: list[int], table: list[int], known: int, kind: Kind) -> float:
    """The sum of what a group lacks, written down from the definitions."""
    counts = sorted(Counter(v for v in group if v < known).values(), reverse=True)
    count, wanted, lacking = sum(counts), promise.get("l", 0), 0.0
    if promise.get("diversity") == "entropy":
        entropy = -sum(c / count * math.log(c / count) for c in counts)
        lacking += max(0.0, 1.0 - entropy / math.log(wanted))
    elif promise.get("diversity") == "recursive":
        rare = promise["c"] * sum(counts[wanted - 1 :])
        lacking += max(0.0, (counts[0] - rare) / counts[0]) if counts else 1.0
    elif wanted:
        lacking += max(0.0, 1.0 - len(counts) / wanted)
    if "units" in promise:
        lacking += max(0.0, 1.0 - len(counts) / promise["units"])
        lacking += max(0.0, counts[0] / count - LARGEST_SHARE) if counts else 0.0
    if "t" in promise:
        apart = closeness(group, table, known, ordered=kind is not Kind.NOMINAL)
        lacking += max(0.0, apart - promise["t"])
    return lacking


def column_and_test(
    settings: dict, kind: Kind, special: int, rng: np.random.Generator
) -> tuple[Attribute, AcceptanceTest]:
    values = rng.geometric(0.2, 400).astype(np.float64)
    atoms = np.full(400, -1, np.int16)
    for code in range(special):
        atoms[rng.random(400) < 0.2] = code
    column = Attribute(
        "x", kind, values, atoms=atoms if special else None, marks=tuple(range(special))
    )
    accept = Guarantees.of(**settings).accept((column,), column)
    assert accept is not None
    return column, accept


@pytest.mark.parametrize("settings", PROMISES, ids=str)
@pytest.mark.parametrize("kind", list(Kind))
@pytest.mark.parametrize("special", [0, 1, 2])
def test_shortfalls_by_records_and_by_counts(settings: dict, kind: Kind, special: int) -> None:
    rng = np.random.default_rng(special)
    short = 0
    for size in (1, 4, 30, 200):
        column, accept = column_and_test(settings, kind, special, rng)
        records = rng.permutation(400)[:size]
        codes, amounts = np.unique(column.codes[records], return_counts=True)
        lacking = accept.shortfall(records)
        assert shortfall_of_counts(codes, amounts, 0, *accept.tables[1:]) == lacking
        slow = shortfall(
            settings, column.codes[records].tolist(), column.codes.tolist(), column.known, kind
        )
        assert lacking == pytest.approx(slow, abs=1e-9)
        short += lacking > 0.0
    assert short, "some groups miss the requirements"

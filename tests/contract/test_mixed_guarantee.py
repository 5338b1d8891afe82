"""Random releases of mixed tables by every method in every format: counted without microagg, and
each group held to the rule for atoms.
"""

from __future__ import annotations

import datetime as dt
import math
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import microagg as ma
import promised
from contract.test_guarantee import FORMATS, readers_of, rows_of, smallest
from microagg.files.format import Format
from microagg.methods.method import Effort, Method
from microagg.methods.registry import methods

METHODS = [method for method in methods() if method.scope == "record" and method.columns is None]
RELEASES, SOME_RELEASES = len(METHODS) * len(FORMATS), 2 * len(METHODS)
GRADES = ["none", "low", "mid", "high"]
CODES = [97, 98]
FEWEST = 3
Cells = dict[str, list[Any]]


def chosen(seed: int) -> tuple[Method, Format]:
    """Each method in turn, and with it each format."""
    turn, index = divmod(seed, len(METHODS))
    return METHODS[index], FORMATS[(index + turn) % len(FORMATS)]


def random_cells(rng: np.random.Generator) -> Cells:
    """A number with codes and gaps, a date with gaps, an order, a category, a truth, and what is
    confidential.
    """
    n = int(rng.integers(15, 70))

    def gaps(cells: list[Any], share: float) -> list[Any]:
        return [None if rng.random() < share else cell for cell in cells]

    share = float(rng.choice([0.0, 0.1, 0.4]))
    first = dt.date(2020, 1, 1)
    made: Cells = {
        "q_income": gaps(rng.choice([*range(10, 90, 7), *CODES], n).tolist(), share),
        "q_born": gaps(
            [first + dt.timedelta(days=int(day)) for day in rng.integers(0, 999, n)], share
        ),
        "q_grade": gaps(rng.choice(GRADES[1:], n).tolist(), share),
        "q_town": gaps(
            rng.choice([f"town {code}" for code in range(int(rng.integers(2, 70)))], n).tolist(),
            share,
        ),
        "q_member": gaps(rng.choice([True, False], n).tolist(), share),
    }
    kept = rng.choice(list(made), int(rng.integers(1, 6)), replace=False).tolist()
    confidential = gaps(rng.choice(list("aabbcd"), n).tolist(), 0.1)
    confidential[:4] = list("abcd")
    return {**{name: made[name] for name in kept}, "c": confidential}


def arrow_of(cells: Cells) -> pa.Table:
    columns: dict[str, Any] = {}
    for name, column in cells.items():
        if name == "q_grade":
            codes = [None if cell is None else GRADES.index(cell) for cell in column]
            columns[name] = pa.DictionaryArray.from_arrays(
                pa.array(codes, pa.int8()), pa.array(GRADES), ordered=True
            )
        else:
            kinds = {"q_income": pa.int64(), "q_born": pa.date32(), "q_member": pa.bool_()}
            columns[name] = pa.array(column, kinds.get(name, pa.string()))
    return pa.table(columns)


def is_atom(cell: Any, name: str) -> bool:
    return cell is None or (name == "q_income" and cell in CODES)


def settled(column: list[Any], name: str, k: int) -> list[Any]:
    """Return the cells that a group may release of a column, the slow way: tables.md as it is
    written.
    """
    if name in ("q_town", "q_member"):
        counts = Counter(column)
        return [cell for cell, count in counts.items() if count == max(counts.values())]
    known = [cell for cell in column if not is_atom(cell, name)]
    if len(known) < len(column) and not (
        2 * len(known) > len(column) and len(known) >= min(k, FEWEST)
    ):
        counts = Counter(cell for cell in column if is_atom(cell, name))
        return [cell for cell, count in counts.items() if count == max(counts.values())]
    if name == "q_grade":
        return [sorted(known, key=GRADES.index)[(len(known) - 1) // 2]]
    if name == "q_born":
        days = [cell.toordinal() for cell in known]
        mean = math.fsum(days) / len(days)
        return [
            dt.date.fromordinal(day)
            for day in {math.floor(mean), math.ceil(mean)}
            if abs(day - mean) <= 0.5
        ]
    mean = math.fsum(known) / len(known)
    return [whole for whole in {math.floor(mean), math.ceil(mean)} if abs(whole - mean) <= 0.5]


def holds(seed: int, folder: Path) -> None:
    """Make a release, look at each group, and count with three readers what was promised."""
    method, format = chosen(seed)
    rng = np.random.default_rng([23, seed])
    cells = random_cells(rng)
    quasi = [name for name in cells if name.startswith("q")]
    k = int(rng.integers(2, 7))
    guarantee = {"l": 2} if rng.random() < 0.5 else {}
    release = ma.anonymize(
        arrow_of(cells),
        k,
        quasi,
        confidential=["c"],
        method=method.name,
        seed=seed,
        **guarantee,
        special={"q_income": CODES} if "q_income" in cells else None,
        refine=bool(rng.random() < 0.3),
        scale=str(rng.choice(["zscore", "minmax", "robust", "rank", "none"])),
        importance={quasi[0]: float(rng.choice([0.5, 1.0, 4.0]))},
        accept_risk="true-values",
        **{p.name: 3 for p in method.parameters if isinstance(p, Effort)},
    )
    released = release.table.to_pydict()
    for group in range(int(release.labels.max()) + 1):
        rows = np.flatnonzero(release.labels == group)
        assert len(rows) >= k
        for name in quasi:
            shared = {released[name][i] for i in rows}
            assert len(shared) == 1
            assert shared <= set(settled([cells[name][i] for i in rows], name, k)), (name, group)
    path = folder / f"out{format.suffixes[0]}"
    release.save(path, keep_order=bool(rng.random() < 0.5))
    for reader, table in readers_of(path, format).items():
        rows = rows_of(table)
        assert len(rows) == len(release.labels), reader
        assert smallest(table, quasi) >= k, reader
        for name in quasi:
            if name in ("q_town", "q_grade"):
                values = {str(row[name]) for row in rows if not is_missing(row[name])}
                assert values <= {str(cell) for cell in cells[name]}, (reader, name)
        groups = promised.classes(
            [tuple(None if is_missing(row[name]) else row[name] for name in quasi) for row in rows]
        )
        values = [None if is_missing(row["c"]) else row["c"] for row in rows]
        assert sorted(map(str, values)) == sorted(map(str, cells["c"])), reader
        for members in groups if guarantee else ():
            assert promised.is_kept(values, members, nominal=True, **guarantee), reader


def is_missing(cell: Any) -> bool:
    return cell is None or cell == "" or bool(pd.isna(cell))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(SOME_RELEASES))
def test_mixed_releases_keep_what_was_promised(seed: int, tmp_path: Path) -> None:
    holds(seed, tmp_path)


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(SOME_RELEASES, RELEASES))
def test_many_mixed_releases_keep_what_was_promised(seed: int, tmp_path: Path) -> None:
    holds(seed, tmp_path)


def test_every_method_meets_every_format() -> None:
    assert {chosen(seed)[0].name for seed in range(SOME_RELEASES)} == {
        method.name for method in METHODS
    }
    pairs = {(method.name, format.suffixes) for method, format in map(chosen, range(RELEASES))}
    assert len(pairs) == len(METHODS) * len(FORMATS)


@pytest.mark.parametrize(
    ("column", "name", "k", "expected"),
    [
        ([10, 20, None], "q_income", 2, [15]),
        ([10, 20, None], "q_income", 3, [None]),
        ([10, 97, 97, None], "q_income", 3, [97]),
        ([10, 20, 30, 97, None], "q_income", 5, [20]),
        (["low", "high", "mid", None], "q_grade", 3, ["mid"]),
        (["a", "b", "b"], "q_town", 3, ["b"]),
    ],
)
def test_the_rule_by_hand(column: list[Any], name: str, k: int, expected: list[Any]) -> None:
    assert settled(column, name, k) == expected

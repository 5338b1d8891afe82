"""Every method keeps l and t when they are asked for: counted on the output by a checker that
shares nothing with ours.
"""

from __future__ import annotations

import json
import math
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as arrow_csv
import pytest

import microagg as ma
import promised
from bounded import release_never_below_bound
from measures.risk import compare_with_pycanon
from microagg.methods.method import Effort, Method
from microagg.methods.registry import methods

METHODS = [method for method in methods() if method.scope == "record"]
TABLES, SOME_TABLES = 200, 80
LEVELS = ["low", "middle", "high", "very high"]


def random_table(
    rng: np.random.Generator, quasi: int
) -> tuple[pa.Table, dict[str, tuple[list[Any], bool]]]:
    """A table, and its confidential columns: their values in an order that can be sorted, and
    whether they are nominal.
    """
    n = int(rng.integers(12, 90))
    points = np.round(rng.lognormal(3.0, 1.0, (n, quasi)), int(rng.integers(0, 3)))
    columns: dict[str, Any] = {f"q{j}": points[:, j] for j in range(quasi)}
    confidential: dict[str, tuple[list[Any], bool]] = {}
    for j in range(int(rng.integers(1, 4))):
        follows = np.argsort(
            np.argsort(points[:, 0] + rng.normal(0.0, float(rng.choice([1.0, 20.0, 500.0])), n))
        )
        kind, name = int(rng.integers(4)), f"c{j}"
        if kind == 0:
            values = (follows + 0.5).tolist()
            columns[name] = values
        elif kind == 1:
            values = (follows * 6 // n).tolist()
            columns[name] = values
        elif kind == 2:
            values = (follows * len(LEVELS) // n).tolist()
            columns[name] = pa.DictionaryArray.from_arrays(
                pa.array(values, pa.int8()), pa.array(LEVELS), ordered=True
            )
        else:
            values = rng.choice(list("aaaabbbccd"), n).tolist()
            values[: min(3, n)] = list("abc")
            if rng.random() < 0.3:
                values[5] = None
            columns[name] = values
        if kind < 3:
            columns[name], values = with_gaps(columns[name], values, np.random.default_rng([n, j]))
        confidential[name] = (values, kind == 3)
    return pa.table(columns), confidential


def with_gaps(
    column: Any, values: list[Any], rng: np.random.Generator
) -> tuple[pa.Array, list[Any]]:
    """A column that lacks a tenth of its values, or none; and the values."""
    gaps = rng.random(len(values)) < rng.choice([0.0, 0.1])
    array = pa.array(column) if isinstance(column, list) else column
    holed = array.take(pa.array(np.arange(len(values)), mask=gaps))
    return holed, [None if gap else value for gap, value in zip(gaps, values, strict=True)]


def random_asked(
    rng: np.random.Generator, confidential: dict[str, tuple[list[Any], bool]]
) -> dict[str, Any]:
    """Something that can be kept."""
    everybody = list(range(len(next(iter(confidential.values()))[0])))
    guarantee: dict[str, Any] = {}
    if rng.random() < 0.7:
        guarantee["t"] = float(rng.choice([0.05, 0.1, 0.2, 0.35]))
    if "t" in guarantee and rng.random() < 0.3:
        return guarantee
    kind = str(rng.choice(["distinct", "entropy", "recursive"]))
    if kind == "distinct":
        most = min(promised.distinct(values, everybody) for values, _ in confidential.values())
        return guarantee | {"l": int(rng.integers(2, min(most, 6) + 1))}
    if kind == "entropy":
        most = min(
            math.exp(promised.entropy(values, everybody)) for values, _ in confidential.values()
        )
        return guarantee | {
            "l": 1.0 + float(rng.uniform(0.2, 0.95)) * (most - 1.0),
            "diversity": kind,
        }
    c = 1.5
    while not all(
        promised.is_recursive(values, everybody, 2, c) for values, _ in confidential.values()
    ):
        c *= 1.5
    return guarantee | {"l": 2, "diversity": kind, "c": c}


def anonymized(
    method: Method, seed: int
) -> tuple[Any, dict[str, Any], dict[str, tuple[list[Any], bool]], int]:
    rng = np.random.default_rng([11, seed])
    table, confidential = random_table(rng, method.columns or int(rng.integers(1, 4)))
    guarantee = random_asked(rng, confidential)
    k = int(rng.integers(2, 6))
    effort = {p.name: 3 for p in method.parameters if isinstance(p, Effort)}
    quasi = [name for name in table.column_names if name.startswith("q")]
    release = ma.anonymize(
        table,
        k=k,
        quasi=quasi,
        confidential=list(confidential),
        method=method.name,
        seed=seed,
        refine=bool(rng.random() < 0.5),
        precision=str(rng.choice(["column", "full"])),
        **guarantee,
        **effort,
    )
    release_never_below_bound(np.column_stack([table.column(name) for name in quasi]), release, k)
    return release, guarantee, confidential, k


@pytest.mark.parametrize(
    "seed",
    [
        *range(SOME_TABLES),
        *(pytest.param(s, marks=pytest.mark.nightly) for s in range(SOME_TABLES, TABLES)),
    ],
)
def test_random_tables_keep_what_was_asked_for(seed: int) -> None:
    for turn in (0, 1):
        method = METHODS[(seed + turn * (seed // len(METHODS) + 5)) % len(METHODS)]
        release, guarantee, confidential, k = anonymized(method, seed)
        quasi = [name for name in release.table.column_names if name.startswith("q")]
        rows = list(zip(*(release.table.column(name).to_pylist() for name in quasi), strict=True))
        for members in promised.classes(rows):
            assert len(members) >= k
            for name, (values, nominal) in confidential.items():
                assert promised.is_kept(values, members, nominal=nominal, **guarantee), (
                    method.name,
                    name,
                    guarantee,
                )
        result = ma.check(release.table, quasi, k, list(confidential), **guarantee)
        assert result.holds


@pytest.mark.parametrize(("tables", "share"), [(SOME_TABLES, 2), (TABLES, 5)])
def test_every_method_has_its_share_of_the_tables(tables: int, share: int) -> None:
    used = [
        METHODS[(s + turn * (s // len(METHODS) + 5)) % len(METHODS)].name
        for s in range(tables)
        for turn in (0, 1)
    ]
    assert min(used.count(method.name) for method in METHODS) >= share


@pytest.mark.slow
def test_pycanon_agrees(pycanon: str, tmp_path: Path) -> None:
    for seed in range(20):
        rng = np.random.default_rng([13, seed])
        _, released, sensitive = compare_with_pycanon.random_release(rng, 5 * seed)
        table = pa.table({f"q{j}": column for j, column in enumerate(released.T)} | sensitive)
        quasi = [f"q{j}" for j in range(released.shape[1])]
        method = METHODS[seed % len(METHODS)]
        chosen = method.name if method.columns in (None, len(quasi)) else "auto"
        release = ma.anonymize(
            table,
            k=3,
            quasi=quasi,
            confidential=list(sensitive),
            l=2,
            t=0.3,
            method=chosen,
            seed=seed,
            **({"effort": 3} if chosen in ("auto", "lns") else {}),
        )
        arrow_csv.write_csv(release.table, tmp_path / f"{seed:02d}.csv")
    command = [pycanon, compare_with_pycanon.__file__, "--answer", str(tmp_path)]
    answer = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    assert len(answer) == 20
    for figures in answer.values():
        assert figures["k"] >= 3
        assert min(figures["distinct l"].values()) >= 2
        assert max(figures["t"].values()) <= 0.3 + 1e-9

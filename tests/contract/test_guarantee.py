"""Random releases by every method in every format: the files keep what was promised, counted
without microagg.
"""

from __future__ import annotations

import csv
import io
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import microagg as ma
import promised
import tables
from contract.test_promises import random_asked
from microagg.files.format import Format
from microagg.files.formats import formats
from microagg.methods.method import Effort, Method
from microagg.methods.registry import methods

METHODS = methods()
FORMATS = [file_format for file_format in formats() if not file_format.read_only]
RELEASES, SOME_RELEASES = len(METHODS) * len(FORMATS), 60
Confidential = dict[str, tuple[list[Any], bool]]


def chosen(seed: int) -> tuple[Method, Format]:
    """Each method in turn, and with it each format."""
    turn, index = divmod(seed, len(METHODS))
    return METHODS[index], FORMATS[(index + turn) % len(FORMATS)]


def random_table(rng: np.random.Generator, quasi: int) -> tuple[pa.Table, Confidential]:
    """Whole numbers, decimals, ties and single values far out; confidential columns as promised.py
    takes them.
    """
    n = int(rng.integers(14, 80))
    columns: dict[str, Any] = {}
    for j in range(quasi):
        kind = int(rng.integers(4))
        values = np.round(rng.lognormal(4.0, 1.0, n), (0, 2, 0, 1)[kind])
        if kind == 2:
            values = np.round(rng.normal(0.0, 3.0, n))
        if rng.random() < 0.3:
            values[int(rng.integers(n))] *= 1000.0
        columns[f"q_{j}"] = values.astype(np.int64) if kind in (0, 2) else values
    confidential: Confidential = {}
    for j in range(int(rng.integers(1, 3))):
        nominal = bool(rng.random() < 0.5)
        values = rng.choice(list("aabbcd"), n) if nominal else rng.integers(0, 7, n) + 0.5
        values[:4] = list("abcd") if nominal else [0.5, 1.5, 2.5, 3.5]
        confidential[f"c{j}"] = (values.tolist(), nominal)
        columns[f"c{j}"] = values.tolist()
    return pa.table(columns), confidential


def random_release(seed: int, folder: Path) -> tuple[Path, int, dict[str, Any], Confidential, bool]:
    """A file, and what was promised of it."""
    method, format = chosen(seed)
    rng = np.random.default_rng([17, seed])
    table, confidential = random_table(rng, method.columns or int(rng.integers(1, 4)))
    together = method.scope == "record"
    promise = random_asked(rng, confidential) if together and rng.random() < 0.7 else {}
    k, quasi = (
        int(rng.integers(2, 7)),
        [name for name in table.column_names if name.startswith("q")],
    )
    release = ma.anonymize(
        table, k, quasi, confidential=list(confidential), method=method.name, seed=seed, **promise,
        refine=together and bool(rng.random() < 0.3), precision=str(rng.choice(["column", "full"])),
        scale=str(rng.choice(["zscore", "minmax", "robust", "rank", "none"])),
        cap={quasi[0]: ("2%", "97.5%")} if rng.random() < 0.3 else None,
        accept_risk=["full-precision", "single-columns"],
        **{p.name: 3 for p in method.parameters if isinstance(p, Effort)},
    )  # fmt: skip
    path = folder / f"out{format.suffixes[0]}"
    release.save(path, keep_order=bool(rng.random() < 0.5))
    return path, k, promise, confidential, together


def readers_of(path: Path, format: Format) -> dict[str, Any]:
    """The file as others read it: pandas, polars and, as rows of text, the csv module."""
    if not format.typed:
        text = tables.unpacked(path).decode()
        sign = "\t" if "\t" in text.partition("\n")[0] else ","
        rows = list(csv.DictReader(io.StringIO(text, newline=""), delimiter=sign))
        polars = pl.read_csv(io.StringIO(text), separator=sign)
        return {"pandas": pd.read_csv(io.StringIO(text), sep=sign), "polars": polars, "csv": rows}
    if format.name == "parquet":
        frame, polars = pd.read_parquet(path), pl.read_parquet(path)
    # a format that neither reads by itself: its own way to Arrow, and from there on without us
    else:
        arrow = format.read(path)
        frame, polars = arrow.to_pandas(), pl.DataFrame(arrow)
    text = path.with_name("as.csv")
    frame.to_csv(text, index=False)
    with text.open(encoding="utf-8", newline="") as file:
        return {"pandas": frame, "polars": polars, "csv": list(csv.DictReader(file))}


def smallest(table: Any, columns: list[str]) -> int:
    """The size of the smallest class, counted as its reader counts."""
    if isinstance(table, pd.DataFrame):
        return int(table.groupby(columns, dropna=False).size().min())
    if isinstance(table, pl.DataFrame):
        return int(table.group_by(columns).len()["len"].min())  # pyright: ignore
    return min(Counter(tuple(row[name] for name in columns) for row in table).values())


def rows_of(table: Any) -> list[dict[str, Any]]:
    if isinstance(table, pd.DataFrame):
        return table.to_dict("records")  # pyright: ignore
    return table.to_dicts() if isinstance(table, pl.DataFrame) else table


def holds(seed: int, folder: Path) -> None:
    """Make a release and count, with three readers, what was promised of it."""
    path, k, guarantee, confidential, together = random_release(seed, folder)
    for reader, table in readers_of(path, chosen(seed)[1]).items():
        rows = rows_of(table)
        quasi = [name for name in rows[0] if name.startswith("q")]
        assert set(rows[0]) == {*quasi, *confidential}
        for columns in [quasi] if together else [[name] for name in quasi]:
            assert smallest(table, columns) >= k, reader
        groups = promised.classes([tuple(row[name] for name in quasi) for row in rows])
        for name, (before, nominal) in confidential.items():
            values = [row[name] if nominal else float(row[name]) for row in rows]
            assert sorted(values) == sorted(before), f"{reader}: {name} is released as it was"
            for members in groups if guarantee else ():
                assert promised.is_kept(values, members, nominal=nominal, **guarantee), (
                    reader,
                    name,
                    guarantee,
                )


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(SOME_RELEASES))
def test_releases_keep_what_was_promised(seed: int, tmp_path: Path) -> None:
    holds(seed, tmp_path)


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(SOME_RELEASES, RELEASES))
def test_many_releases_keep_what_was_promised(seed: int, tmp_path: Path) -> None:
    holds(seed, tmp_path)


def test_every_method_meets_every_format() -> None:
    assert {chosen(seed)[0].name for seed in range(SOME_RELEASES)} == {
        method.name for method in METHODS
    }
    pairs = {(method.name, format.suffixes) for method, format in map(chosen, range(RELEASES))}
    assert len(pairs) == len(METHODS) * len(FORMATS)


def test_the_count_sees_what_breaks_a_promise() -> None:
    rows = [{"q": "1", "c": "a"}, {"q": "1", "c": "a"}, {"q": "2", "c": "b"}]
    frame = pd.DataFrame(rows)
    assert [smallest(table, ["q"]) for table in (rows, frame, pl.DataFrame(rows))] == [1, 1, 1]
    assert not promised.is_kept(["a", "a", "b"], [0, 1], nominal=True, l=2)

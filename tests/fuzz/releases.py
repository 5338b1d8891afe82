"""Random releases over methods, kinds, roles, aggregates and formats; in memory, in passes and on
Dask.

`make_case(seed)` says what is released and how, `play(case, folder)` releases it and lets every
reader of the file count what it keeps. Tables are small, and have what readers differ about: NaN
beside null, -0 beside 0, categories in any order, values that occur once.
"""

from __future__ import annotations

import contextlib
import importlib
import logging
import random
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq

import microagg as ma
import small_blocks
from fuzz.judging_files import Confidential, Promise, broken_promises
from microagg.errors import InputError
from microagg.pipeline.files import anonymize_file
from microagg.pipeline.memory_budget import MemoryBudget

WAYS = ("memory", "beyond", "dask")
IN_PASSES = (".csv", ".parquet", ".feather", "parts")
FORMATS = (*IN_PASSES, ".csv.gz", ".arrow", ".xlsx", ".sav", ".zsav", ".dta", ".xpt")
TREES = ("Ulm", "Kiel", "Bonn", "Rom", "Aken", "Zug", "Ghent", "Nice")
SCHOOL = ("none", "primary", "secondary", "university")
METHODS = tuple(method.name for method in ma.methods())
NAN = float("nan")


class Broken(AssertionError):
    """A release that somebody sees broken, or that failed in another way than by a sentence about
    the input.
    """


@dataclass
class Case:
    """Release to make, and the guarantees that it must keep."""

    seed: int
    way: str
    table: pa.Table
    source: str
    """arrow, pandas, polars, or the format of a file"""
    target: str
    settings: dict[str, Any]
    promise: Promise
    keep_order: bool = False
    compared: bool = False
    """Whether the same is done in memory, and must give the same bytes."""


@dataclass
class _Making:
    """A case while it is made."""

    rng: np.random.Generator
    dice: random.Random
    records: int
    columns: dict[str, Any] = field(default_factory=dict)
    settings: dict[str, Any] = field(default_factory=dict)
    accepted: set[str] = field(default_factory=set)

    def say(self, name: str, column: str, value: Any) -> None:
        """Set what is given by column."""
        self.settings.setdefault(name, {})[column] = value

    def gaps(self, most: float = 0.25) -> np.ndarray | None:
        """Draw the cells that are missing: none in most columns."""
        share = self.dice.choice([0.0, 0.0, 0.0, 0.05, most])
        return self.rng.random(self.records) < share if share else None


def make_case(seed: int, way: str | None = None) -> Case:
    """The case of a number."""
    dice = random.Random(seed)
    rng = np.random.default_rng([31, seed])
    way = way or dice.choices(WAYS, [60, 25, 15])[0]
    making = _Making(
        rng, dice, dice.randint(50, 150) if way == "memory" else dice.randint(150, 400)
    )
    k = dice.choice([2, 3, 3, 4, 5, 6])
    quasi = _quasi(making)
    unit = dice.random() < 0.12
    method = "auto" if way != "memory" or dice.random() < 0.5 else dice.choice(METHODS)
    by_column = method == "individual-ranking"
    strata = [] if unit or by_column else _strata(making)
    weight = None if by_column else _weight(making)
    if unit:
        making.columns["home"] = rng.permutation(np.arange(making.records) // 2)
        making.settings["unit"] = "home"
    confidential, promised = _confidential(making, k)
    making.columns["name"] = [f"n{row}" for row in range(making.records)]
    making.columns["note"] = pa.array(rng.choice(["x", "y"], making.records)).dictionary_encode()
    settings = making.settings | {
        "k": k,
        "quasi": quasi,
        "stratum": strata,
        "confidential": [column.name for column in confidential],
        "identifier": ["name"],
        "rest": dice.choice(["drop", "keep"]),
        "seed": seed,
        "date": "2026-01-01",
        "small_strata": "drop",
        "scale": dice.choice(["zscore", "zscore", "minmax", "rank"]),
        "method": method,
    }
    if method == "auto":
        settings["effort"] = "quick"
    elif by_column:
        making.accepted.add("single-columns")
    if dice.random() < 0.1 and not unit:
        settings["missing"] = "drop"
    if dice.random() < 0.05:
        settings["precision"] = "full"
        making.accepted.add("full-precision")
    settings["accept_risk"] = sorted(making.accepted)
    target = dice.choice(FORMATS if way == "memory" else IN_PASSES)
    source = dice.choice(["arrow", "pandas", "polars", ".parquet", ".csv", ".feather"])
    if way != "memory":
        source = dice.choice([".parquet", ".csv", ".feather"])
    dropping = "missing" in settings or strata
    promise = Promise(
        k, (*quasi, *strata, *([weight] if weight else [])), None if dropping else making.records,
        each_column=by_column, confidential=confidential, absent=("name", "home"), **promised,
        units=tuple(making.columns["home"].tolist()) if unit else None,
    )  # fmt: skip
    keep_order = unit or dice.random() < 0.1
    compared = way != "memory" and dice.random() < 0.34
    return Case(
        seed, way, pa.table(making.columns), source, target, settings, promise, keep_order, compared
    )


def _quasi(making: _Making) -> list[str]:
    names = []
    for number in range(making.dice.choice([1, 2, 2, 3, 4])):
        sort = making.dice.choice(list(SORTS))
        name = f"q{number}"
        making.columns[name] = SORTS[sort](making, name)
        names.append(name)
    return names


def _choose(making: _Making, name: str, aggregates: list[str | None]) -> None:
    """An aggregate for a column, with the risk that it takes."""
    chosen = making.dice.choice(aggregates)
    if chosen is not None:
        making.say("aggregate", name, chosen)
    if chosen not in (None, "mean", "mode", "generalise") and making.dice.random() < 0.9:
        making.accepted.add("true-values")


OF_NUMBERS = [None, None, None, None, "mean", "median", "draw", "medoid", "range"]
OF_LEVELS = [None, None, None, "median", "mode", "draw", "medoid", "range"]
OF_CATEGORIES = [None, None, None, "mode", "draw", "medoid"]


def _whole(making: _Making, name: str) -> Any:
    _choose(making, name, OF_NUMBERS)
    numbers = making.rng.integers(18, 60, making.records)
    if making.dice.random() < 0.3:
        numbers[making.rng.random(making.records) < 0.2] = 97
        making.say("special", name, [97])
    return pa.array(numbers, mask=making.gaps())


def _real(making: _Making, name: str) -> Any:
    """Few numbers around 0, with both zeros, NaN and null."""
    _choose(making, name, OF_NUMBERS)
    numbers = np.round(making.rng.standard_normal(making.records), making.dice.choice([0, 1, 2]))
    if making.dice.random() < 0.5:
        numbers[making.rng.random(making.records) < 0.2] = NAN
    kind = making.dice.choice([pa.float64(), pa.float64(), pa.float32()])
    return pa.array(numbers, kind, mask=making.gaps(), from_pandas=False)


def _money(making: _Making, name: str) -> Any:
    _choose(making, name, OF_NUMBERS)
    if making.dice.random() < 0.15:
        making.say("cap", name, "95%")
    return pa.array(np.round(making.rng.lognormal(7.0, 1.0, making.records), 2), mask=making.gaps())


def _day(making: _Making, name: str) -> Any:
    _choose(making, name, OF_NUMBERS)
    days = making.rng.integers(0, 9000, making.records).astype(np.int32)
    return pa.array(days, mask=making.gaps()).cast(pa.date32())


def _town(making: _Making, name: str) -> Any:
    shares = making.rng.dirichlet(np.ones(len(TREES)))
    towns = making.rng.choice(TREES, making.records, p=shares)
    if making.dice.random() < 0.2:
        tree = pd.DataFrame(
            {"value": TREES, "half": [town < "M" for town in TREES], "top": "*"}
        ).astype(str)
        making.say("hierarchy", name, tree)
        _choose(making, name, [*OF_CATEGORIES, "generalise", "generalise"])
    else:
        _choose(making, name, OF_CATEGORIES)
    return pa.array(towns, mask=making.gaps())


def _rare(making: _Making, name: str) -> Any:
    """Towns of which a third are those of one record alone."""
    towns = making.rng.choice(TREES[:3], making.records).astype(object)
    alone = np.flatnonzero(making.rng.random(making.records) < 0.3)
    towns[alone] = [f"hamlet {row}" for row in alone]
    if making.dice.random() < 0.8:
        making.accepted.add("true-values")
    return pa.array(towns, mask=making.gaps())


def _category(making: _Making, name: str) -> Any:
    """Categories in the order in which they appear, or any other."""
    _choose(making, name, OF_CATEGORIES)
    towns = pa.array(making.rng.choice(TREES[:5], making.records), mask=making.gaps())
    return towns.dictionary_encode()


def _ordered(making: _Making, name: str) -> Any:
    _choose(making, name, OF_LEVELS)
    making.say("ordinal", name, list(SCHOOL))  # which a csv file does not tell
    places = pa.array(making.rng.integers(0, 4, making.records).astype(np.int8), mask=making.gaps())
    return pa.DictionaryArray.from_arrays(places, pa.array(SCHOOL), ordered=True)


def _school(making: _Making, name: str) -> Any:
    _choose(making, name, OF_LEVELS)
    making.say("ordinal", name, list(SCHOOL))
    return pa.array(making.rng.choice(SCHOOL, making.records), mask=making.gaps())


def _code(making: _Making, name: str) -> Any:
    """Numbers that are categories, of which some are one for some readers and two for others."""
    _choose(making, name, OF_CATEGORIES)
    making.say("kinds", name, "nominal")
    codes = making.dice.choice([[0.0, -0.0, 1.0, NAN], [1.0, 2.5, 7.0], [3.0, -0.0]])
    return pa.array(making.rng.choice(codes, making.records), mask=making.gaps(), from_pandas=False)


def _truth(making: _Making, name: str) -> Any:
    _choose(making, name, OF_CATEGORIES)
    return pa.array(making.rng.random(making.records) < 0.6, mask=making.gaps())


def _text(making: _Making, name: str) -> Any:
    """Numbers that are held as text."""
    making.say("kinds", name, "numeric")
    _choose(making, name, OF_NUMBERS)
    numbers = np.round(making.rng.lognormal(4.0, 0.5, making.records), 1)
    return pa.array([str(number) for number in numbers], mask=making.gaps())


SORTS: dict[str, Callable[[_Making, str], Any]] = {
    "whole": _whole,
    "real": _real,
    "money": _money,
    "day": _day,
    "town": _town,
    "rare": _rare,
    "category": _category,
    "ordered": _ordered,
    "school": _school,
    "code": _code,
    "truth": _truth,
    "text": _text,
}


def _strata(making: _Making) -> list[str]:
    sort = making.dice.choice(["", "", "region", "share", "share", "category", "flag", "both"])
    records, rng = making.records, making.rng
    gaps = making.gaps()
    shares = pa.array(
        rng.choice([0.0, 0.0, 0.0, -0.0, 1.0, 1.0, NAN], records),
        mask=rng.random(records) < 0.1,
        from_pandas=False,
    )
    if sort in ("region", "both"):
        making.columns["region"] = pa.array(rng.choice(["north", "south"], records), mask=gaps)
    if sort in ("share", "both"):
        making.columns["share"] = shares
    if sort == "category":
        making.columns["area"] = shares.dictionary_encode()
    if sort == "flag":
        making.columns["flag"] = pa.array(rng.random(records) < 0.5, mask=gaps)
    return [name for name in ("region", "share", "area", "flag") if name in making.columns]


def _weight(making: _Making) -> str | None:
    """The weight, if there is one that makes classes."""
    if making.dice.random() < 0.75:
        return None
    making.columns["w"] = np.round(making.rng.lognormal(2.0, 0.7, making.records) + 0.01, 2)
    making.settings["weight"] = "w"
    becomes = making.dice.choice(["mean", "mean", "keep", "drop"])
    making.say("aggregate", "w", becomes)
    return "w" if becomes == "mean" else None


def _confidential(making: _Making, k: int) -> tuple[tuple[Confidential, ...], dict[str, Any]]:
    """Some confidential columns, and what is promised of them."""
    rng, records, dice = making.rng, making.records, making.dice
    columns = []
    guarantee = dice.choice(["", "", "l", "entropy", "recursive", "t", "both"])
    if dice.random() < 0.7:
        gaps = rng.random(records) < 0.1 if dice.random() < 0.3 else None
        making.columns["ill"] = pa.array(
            rng.choice(["flu", "gout", "asthma", "none known", "cold"], records), mask=gaps
        )
        columns.append(Confidential("ill"))
    if dice.random() < 0.5:
        making.columns["wage"] = rng.integers(1, 9, records) * 100
        columns.append(Confidential("wage", ordered=True))
    if dice.random() < 0.3:
        making.columns["grade"] = rng.choice(SCHOOL, records)
        making.say("ordinal", "grade", list(SCHOOL))
        columns.append(Confidential("grade", ordered=True, order=SCHOOL))
    if not columns:
        return (), {}
    promised: dict[str, Any] = {}
    if guarantee in ("l", "both"):
        promised |= {"l": dice.choice([2, 3])}
    if guarantee == "entropy":
        promised |= {"l": dice.choice([1.5, 2.0]), "diversity": "entropy"}
    if guarantee == "recursive":
        promised |= {"l": 2, "diversity": "recursive", "c": dice.choice([2.0, 3.0])}
    if guarantee in ("t", "both"):
        promised |= {"t": dice.choice([0.3, 0.4, 0.6])}
    making.settings |= promised
    return tuple(columns), promised


def play(case: Case, folder: Path, engine: Any = None) -> str | None:
    """Release a case and let everybody read it. Returns the sentence with which it was refused, or
    None; raises `Broken`.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of what was found out about a file
            target = _released(case, folder, engine)
    except InputError as refusal:
        return str(refusal)
    except Exception as error:
        raise Broken(f"{type(error).__name__}: {error}") from error
    if broken := broken_promises(target, case.promise):
        raise Broken("; ".join(broken[:3]))
    return None


def _released(case: Case, folder: Path, engine: Any) -> Path:
    target = _place(folder, "out", case.target)
    if case.way == "memory":
        if case.source.startswith("."):
            source = _written(case.table, folder / f"in{case.source}")
            anonymize_file(
                source, _typed(target), keep_order=case.keep_order, threads=1, **case.settings
            )
        else:
            release = ma.anonymize(_table_of(case), threads=1, **case.settings)
            release.save(_typed(target), keep_order=case.keep_order)
        return target
    source = _written(case.table, folder / f"in{case.source}")
    how = {"memory": 1} if case.way == "beyond" else {"engine": engine}
    with small_tables():
        anonymize_file(
            source, _typed(target), keep_order=case.keep_order, threads=1, **how, **case.settings
        )
        if case.compared:
            again = _place(folder / "again", "out", case.target)
            anonymize_file(
                source, _typed(again), keep_order=case.keep_order, threads=1, **case.settings
            )
            if _bytes_of(again) != _bytes_of(target):
                raise Broken("in memory other bytes")
    return target


def _place(folder: Path, name: str, kind: str) -> Path:
    folder.mkdir(exist_ok=True)
    return folder / (name if kind == "parts" else f"{name}{kind}")


def _typed(target: Path) -> str:
    """The target as it is typed: a folder ends with a separator."""
    return str(target) if target.suffix else f"{target}/"


def _bytes_of(target: Path) -> dict[str, bytes]:
    files = sorted(target.iterdir()) if target.is_dir() else [target]
    return {file.name: file.read_bytes() for file in files}


def _table_of(case: Case) -> Any:
    if case.source == "pandas":
        return _of_texts(case.table).to_pandas()
    if case.source == "polars":
        return pl.from_arrow(_of_texts(case.table))
    return case.table


def _of_texts(table: pa.Table) -> pa.Table:
    """Without categories of numbers, which polars and csv files do not have, and pandas not with
    NaN.
    """
    for index, column in enumerate(table.columns):
        kind = column.type
        if pa.types.is_dictionary(kind) and not pa.types.is_string(kind.value_type):
            table = table.set_column(index, table.column_names[index], column.cast(kind.value_type))
    return table


def _written(table: pa.Table, path: Path) -> Path:
    if path.suffix == ".parquet":
        pq.write_table(table, path, row_group_size=70)
    elif path.suffix == ".feather":
        feather.write_feather(table, str(path), chunksize=70)
    else:
        _of_texts(table).to_pandas().to_csv(path, index=False)
    return path


@contextlib.contextmanager
def small_tables() -> Iterator[None]:
    """Blocks, runs, chunks and buckets so small that tables of some hundred records have several of
    each.
    """
    sizes = small_blocks.SIZES | {
        ("microagg.methods.search.blockwise", "MOST_AS_ONE"): 60,
        ("microagg.problem.blocks", "LARGEST"): 60,
        ("microagg.problem.blocks", "SAMPLE"): 64,
        ("microagg.files.columnar.parquet_folder", "RECORDS_IN_A_PART"): 128,
    }

    def checked(self: MemoryBudget, *_: Any) -> MemoryBudget:
        return MemoryBudget(10**8, self.threads, 64, 1, 1, 1, 100, 1000, 100_000)

    with contextlib.ExitStack() as stack:
        for (module, name), size in sizes.items():
            stack.enter_context(mock.patch.object(importlib.import_module(module), name, size))
        stack.enter_context(mock.patch.object(MemoryBudget, "checked", checked))
        yield


@contextlib.contextmanager
def engine_here() -> Iterator[Any]:
    """A Dask cluster within this process, so that sizes which are set here are set there."""
    from distributed import Client, LocalCluster

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of what Dask leaves to the collector
        with (
            LocalCluster(
                processes=False,
                n_workers=1,
                threads_per_worker=1,
                dashboard_address=None,
                silence_logs=logging.CRITICAL + 1,
                scheduler_kwargs={"dashboard_address": "127.0.0.1:0"},
            ) as cluster,
            Client(cluster, set_as_default=False) as client,
        ):
            yield client

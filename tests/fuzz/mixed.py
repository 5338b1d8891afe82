"""Mixed tables for the fuzz: categories, orders, dates, truths, gaps, special codes; what is said
of such columns, and files that go with it.
"""

from __future__ import annotations

import datetime
import decimal
import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa

from fuzz import hostile

KINDS = ("numeric", "ordinal", "nominal")
AGGREGATES = ("mean", "median", "mode", "draw", "medoid", "range", "generalise")
MARKERS = ["", "", "", "NA", "N/A", "nan", "null", ".", " ", "-9"]
PATTERNS = ["%Y-%m-%d", "%d.%m.%Y", "%Y-%m-%dT%H:%M:%S", "%Y%m%d"]
ODD_LEVELS = [
    "",
    "<",
    "=",
    "@",
    ",",
    ";",
    "NA",
    "7",
    "-0",
    "a<b",
    'a"b',
    "x" * 300,
    "a\x1b[31mb",
    "é",
    "\u202e",
]
ODD_WORDS = [
    "",
    "0",
    "-1",
    "nan",
    "inf",
    "1e400",
    "x",
    "numeric",
    "mean",
    "97",
    "@",
    "@none.txt",
    "none.csv",
    "a<a",
    "<",
    ",",
    "9" * 30,
    "asked",
    "é",
]


@dataclass
class Column:
    """One column: what sort it is, and its cells as objects of Python, None where one is
    missing.
    """

    name: str
    sort: str
    cells: list[Any]
    levels: list[str]
    """Of texts: all values that were thought of, in an order."""

    @property
    def known(self) -> list[Any]:
        return [cell for cell in self.cells if cell is not None]


def table(rng: random.Random) -> list[Column]:
    """Some columns of all sorts, n records each; gaps and special codes in some."""
    n = rng.choice([3, 6, 9, 12, 24, 40])
    sorts = [rng.choice(list(SORTS)) for _ in range(rng.randint(1, 5))]
    names = (
        hostile.names(rng, len(sorts))
        if rng.random() < 0.2
        else [f"q{j}" for j in range(len(sorts))]
    )
    return [
        _column(rng, name, sort, n) for name, sort in zip(dict.fromkeys(names), sorts, strict=False)
    ]


def _column(rng: random.Random, name: str, sort: str, n: int) -> Column:
    cells, levels = SORTS[sort](rng, n)
    gaps = rng.choice([0.0, 0.0, 0.1, 0.5, 1.0 if rng.random() < 0.2 else 0.2])
    return Column(name, sort, [None if rng.random() < gaps else cell for cell in cells], levels)


def _some(rng: random.Random, values: list[Any], n: int) -> list[Any]:
    return [rng.choice(values) for _ in range(n)]


def _numbers(rng: random.Random, n: int) -> tuple[list[Any], list[str]]:
    few = [hostile.number(rng) for _ in range(rng.choice([1, 3, n]))]
    return [97 if rng.random() < 0.1 else number for number in _some(rng, few, n)], []


def _decimals(rng: random.Random, n: int) -> tuple[list[Any], list[str]]:
    return [hostile.number(rng) / 100 for _ in range(n)], []


def _codes(rng: random.Random, n: int) -> tuple[list[Any], list[str]]:
    return _some(rng, [1, 2, 3, 7, 97, 98], n), []


def _texts(rng: random.Random, n: int) -> tuple[list[Any], list[str]]:
    levels = [hostile.canary(rng) for _ in range(rng.choice([1, 2, 4, 70]))]
    if rng.random() < 0.15:
        levels += rng.sample(ODD_LEVELS, 2)
    return _some(rng, levels[: rng.randint(1, len(levels))], n), levels


def _truths(rng: random.Random, n: int) -> tuple[list[Any], list[str]]:
    return _some(rng, [True, False], n), []


def _dates(rng: random.Random, n: int) -> tuple[list[Any], list[str]]:
    first = datetime.date(rng.choice([1, 1600, 1969, 2024, 9990]), 1, 1)
    return [
        first + datetime.timedelta(days=rng.randrange(rng.choice([1, 30, 3000]))) for _ in range(n)
    ], []


def _stamps(rng: random.Random, n: int) -> tuple[list[Any], list[str]]:
    first, step = (
        datetime.datetime(rng.choice([1700, 2024, 2200]), 3, 30),
        rng.choice([86_400, 3600, 60, 1]),
    )
    return [first + datetime.timedelta(seconds=step * rng.randrange(400)) for _ in range(n)], []


def _times(rng: random.Random, n: int) -> tuple[list[Any], list[str]]:
    return [datetime.time(rng.randrange(24), rng.choice([0, 30, 59])) for _ in range(n)], []


def _spans(rng: random.Random, n: int) -> tuple[list[Any], list[str]]:
    return [datetime.timedelta(hours=rng.randrange(-50, 50)) for _ in range(n)], []


def _amounts(rng: random.Random, n: int) -> tuple[list[Any], list[str]]:
    return [decimal.Decimal(hostile.number(rng)) / 100 for _ in range(n)], []


SORTS: dict[str, Callable[[random.Random, int], tuple[list[Any], list[str]]]] = {
    "numbers": _numbers,
    "decimals": _decimals,
    "codes": _codes,
    "texts": _texts,
    "order": _texts,
    "truths": _truths,
    "dates": _dates,
    "stamps": _stamps,
    "times": _times,
    "spans": _spans,
    "amounts": _amounts,
}


def csv_text(rng: random.Random, columns: list[Column]) -> str:
    """The table as a csv file, each column with a marker and a pattern of its own, now and then an
    odd cell.
    """
    odd = rng.choice([0.0, 0.0, 0.0, 0.02])
    markers = [rng.choice(MARKERS) for _ in columns]
    patterns = [rng.choice(PATTERNS) for _ in columns]
    lines = [[column.name for column in columns]]
    for row in zip(*(column.cells for column in columns), strict=True):
        lines.append(
            [
                rng.choice(hostile.CELLS) if rng.random() < odd else _typed(cell, marker, pattern)
                for cell, marker, pattern in zip(row, markers, patterns, strict=True)
            ]
        )
    delimiter = rng.choice(",,;\t")
    return "".join(
        delimiter.join(hostile.quoted(cell, delimiter) for cell in line) + "\n" for line in lines
    )


def _typed(cell: Any, marker: str, pattern: str) -> str:
    if cell is None:
        return marker
    if isinstance(cell, datetime.date | datetime.datetime):
        return cell.strftime(pattern)
    return str(cell)


def arrow(rng: random.Random, columns: list[Column]) -> pa.Table:
    """The table of Arrow, of types that hold its cells."""
    made = {column.name: _arrow_column(rng, column) for column in columns}
    whole = pa.table(made)
    return pa.concat_tables([whole.slice(0, 2), whole.slice(2)]) if rng.random() < 0.3 else whole


def _arrow_column(rng: random.Random, column: Column) -> pa.Array:
    zone = rng.choice([None, "UTC", "Europe/Vienna", "Asia/Kolkata"])
    kinds: dict[str, list[Any]] = {
        "numbers": [pa.int64(), pa.uint64(), pa.float64()],
        "decimals": [pa.float64()],
        "codes": [pa.int8(), pa.int64(), pa.float32()],
        "texts": [pa.string(), pa.large_string(), pa.string_view()],
        "order": [pa.string()],
        "truths": [pa.bool_()],
        "dates": [pa.date32(), pa.date64()],
        "stamps": [pa.timestamp(unit, zone) for unit in ("s", "ms", "us")],
        "times": [pa.time32("s"), pa.time64("ns")],
        "spans": [pa.duration("s"), pa.duration("ns")],
        "amounts": [pa.decimal128(30, 2), pa.decimal256(60, 4)],
    }
    if column.sort == "order" or (column.sort == "texts" and rng.random() < 0.3):
        levels = list(dict.fromkeys(column.levels))
        codes = pa.array(
            [None if cell is None else levels.index(cell) for cell in column.cells], pa.int16()
        )
        return pa.DictionaryArray.from_arrays(
            codes, pa.array(levels, pa.string()), ordered=column.sort == "order"
        )
    return pa.array(column.cells, rng.choice(kinds[column.sort]))


def frame(rng: random.Random, columns: list[Column]) -> Any:
    """The table of some library."""
    made = arrow(rng, columns)
    which = rng.randrange(4)
    if which == 0:
        return made
    if which == 1:  # which panics at the longest Decimals
        short = [
            pa.decimal128(30, 2) if pa.types.is_decimal256(f.type) else f.type for f in made.schema
        ]
        return pl.DataFrame(made.cast(pa.schema(zip(made.column_names, short, strict=True))))
    if which == 2:
        plain = made.cast(pa.schema([pa.field(f.name, _for_pandas(f.type)) for f in made.schema]))
        return plain.to_pandas(types_mapper=pd.ArrowDtype if rng.random() < 0.3 else None)
    return pd.DataFrame({column.name: pd.Series(column.cells, dtype=object) for column in columns})


def _for_pandas(kind: pa.DataType) -> pa.DataType:
    return pa.large_string() if kind == pa.string_view() else kind


def random_settings(rng: random.Random, columns: list[Column], folder: Path) -> dict[str, Any]:
    """Return options of the columns, as Python takes them: fitting, or not quite, or not at all."""
    ways = {
        "kinds": lambda column: {column.name: rng.choice(KINDS)},
        "nominal": lambda column: [column.name],
        "ordinal": lambda column: rng.choice(
            [[column.name], {column.name: _order(rng, column)}, {column.name: None}]
        ),
        "importance": lambda column: {column.name: rng.choice([2, 0.01, 1e6, 1e-300, 1e300])},
        "aggregate": lambda column: {column.name: rng.choice(AGGREGATES)},
        "hierarchy": lambda column: {column.name: _tree(rng, column, folder)},
        "special": lambda column: {
            column.name: rng.choice(
                [[97], 97, [97, 98], ["97", "refused"], list(range(200)), ["2024-01-01"]]
            )
        },
        "na": lambda column: rng.choice(["NA", "-9", ["-9", "."], 97, ["2024-01-01"], "97"]),
        "missing": lambda column: rng.choice(["group", "error", "drop"]),
        "scale": lambda column: rng.choice(["zscore", "minmax", "robust", "rank", "none"]),
        "precision": lambda column: rng.choice(["column", "full"]),
        "cap": lambda column: {column.name: rng.choice(["90%", ("10%", "90%"), 50])},
    }
    settings: dict[str, Any] = {}
    for name in rng.sample(list(ways), rng.choice([0, 1, 2, 3])):
        settings[name] = ways[name](rng.choice(columns))
    if settings.get("hierarchy") and rng.random() < 0.7:
        settings["aggregate"] = dict.fromkeys(settings["hierarchy"], "generalise")
    if rng.random() < 0.15:
        settings[rng.choice(list(ways))] = rng.choice(hostile.ODD)
    return settings


def _order(rng: random.Random, column: Column) -> list[Any]:
    levels: list[Any] = list(dict.fromkeys(column.levels or column.known))
    rng.shuffle(levels)
    return levels[1:] if rng.random() < 0.1 else levels


def _tree(rng: random.Random, column: Column, folder: Path) -> Any:
    """A tree over the values of a column, as a file or as a dictionary; now and then it lacks one,
    or has two parents.
    """
    values = list(dict.fromkeys(str(cell) for cell in (*column.levels, *column.known)))
    if rng.random() < 0.1:
        values = values[1:]
    inner = [hostile.canary(rng) for _ in range(2)]
    paths = [[value, rng.choice(inner), "*"] for value in values]
    if rng.random() < 0.05 and paths:
        paths.append([paths[0][0], "two parents", "*"])
    if rng.random() < 0.3:
        return {path[0]: path[1:] for path in paths}
    text = "".join(";".join(hostile.quoted(part, ";") for part in path) + "\n" for path in paths)
    content = hostile.changed(rng, text.encode("utf-8", "replace"), chance=0.1)
    return str(hostile.write(folder / "tree.csv", content))


def options(rng: random.Random, columns: list[Column], folder: Path) -> list[str]:
    """The same on the command line, now and then an odd word."""
    words: list[str] = []
    for name, value in random_settings(rng, columns, folder).items():
        option = f"--{ {'kinds': 'kind'}.get(name, name) }"
        for word in _words(rng, name, value, folder):
            words += [option, rng.choice(ODD_WORDS) if rng.random() < 0.03 else word]
    return [word for word in words if "\0" not in word and word.isprintable()]


def _words(rng: random.Random, name: str, value: Any, folder: Path) -> list[str]:
    if not isinstance(value, dict):
        return [str(item) for item in (value if isinstance(value, list | tuple) else [value])]
    words = []
    for column, option in value.items():
        if name == "ordinal" and option is not None:
            levels = (
                [str(level) for level in option]
                if isinstance(option, list | tuple)
                else [str(option)]
            )
            if rng.random() < 0.5:
                hostile.write(
                    folder / "levels.txt", hostile.changed(rng, "\n".join(levels).encode(), 0.1)
                )
                words.append(f"{column}=@levels.txt")
            else:
                words.append(f"{column}={'<'.join(levels)}")
        elif isinstance(option, dict):
            words.append(f"{column}=tree.csv")  # which may not be there
        elif isinstance(option, list | tuple):
            words.append(f"{column}={(':' if name == 'cap' else ',').join(map(str, option))}")
        else:
            words.append(f"{column}={option}" if option is not None else str(column))
    return words


def smallest(rows: list[tuple[Any, ...]]) -> int:
    """The size of the smallest class, what is missing equal to what is missing alone."""
    counts: dict[tuple[Any, ...], int] = {}
    for row in rows:
        key = tuple(None if cell is None or _is_nan(cell) else cell for cell in row)
        counts[key] = counts.get(key, 0) + 1
    return min(counts.values())


def _is_nan(cell: Any) -> bool:
    return isinstance(cell, float | np.floating) and cell != cell

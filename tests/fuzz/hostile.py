"""Hostile things: names, cells, columns, values of parameters, files with some bytes changed. All
from one seeded source of chance.
"""

from __future__ import annotations

import copy
import datetime
import decimal
import json
import math
import random
import re
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa

from fuzz.judging import CANARY, CANARY_NUMBER

NAMES = [
    "age",
    "wage",
    "ill",
    "town",
    "Größe",
    "a b",
    "a,b",
    'a"b',
    "a;b",
    "a\x1b[31mb",
    "a\x9bb",
    "a\nb",
    "a\r\nb",
    "\u202eevil",
    "=1+1",
    "-x",
    "@x",
    "'",
    "",
    " ",
    "age ",
    "é" * 40,
    "x" * 300,
    "None",
    "nan",
    "0",
    "k",
    "__index_level_0__",
    "\U0001f600",
    "a\tb",
    "a\0b",
    "%s",
    "{x}",
    "\\",
]
CELLS = [
    "",
    " ",
    "NA",
    "nan",
    "inf",
    "-inf",
    "1e400",
    "-0",
    "007",
    "1,5",
    "1e5",
    "0x10",
    "+3",
    ".5",
    "5.",
    "٣",
    "１２",
    "true",
    "=1+1",
    "@x",
    "-",
    '"',
    '""',
    "'",
    "a\nb",
    "\r",
    "\0",
    "\x1b[2J",
    "9" * 400,
    "1" + "0" * 30,
    "2024-01-01",
    "\ufeff",
    "\u2028",
    "é",
    "e\u0301",
]
ODD: list[Any] = [
    None,
    True,
    False,
    0,
    1,
    2,
    3,
    -1,
    2.5,
    1e308,
    math.inf,
    -math.inf,
    math.nan,
    10**30,
    -(10**30),
    "",
    "3",
    "x",
    "no",
    b"x",
    [],
    {},
    (),
    [1],
    ["age"],
    ["age", "age"],
    {"age": 1},
    object(),
    1j,
    np.int64(3),
    np.float32(2.0),
    np.array([1, 2]),
    np.nan,
    decimal.Decimal("3"),
    set(),
    print,
    int,
    datetime.date(2020, 1, 1),
    "\x1b[31m",
    "x" * 1000,
    ["\0"],
    [None],
    [[1]],
    float,
    "2020-13-45",
    pd.NA,
    pd.NaT,
    range(3),
    "auto",
    "mdav",
    "zscore",
]
JSON: list[Any] = [
    None,
    True,
    False,
    0,
    1,
    -1,
    2.5,
    1e308,
    10**30,
    "",
    "x",
    "\x1b[31m",
    [],
    {},
    [1],
    {"a": 1},
    [[[]]],
    "9" * 50,
    ["age"],
    -0.0,
    "mdav",
    [None],
    1e-320,
]


def canary(rng: random.Random) -> str:
    """A confidential text."""
    return f"{CANARY}-{rng.randrange(10**6)}"


def number(rng: random.Random) -> int:
    """A confidential number."""
    return int(f"{CANARY_NUMBER}{rng.randrange(1000):03d}")


def names(rng: random.Random, count: int) -> list[str]:
    """Names of columns, now and then odd or twice the same."""
    plain = [f"q{j}" for j in range(count)]
    for j in range(count):
        if rng.random() < 0.25:
            plain[j] = rng.choice(NAMES)
    return plain


def csv_bytes(rng: random.Random) -> tuple[bytes, list[str], list[str]]:
    """A csv file with something wrong, or not, the names of its columns, and those names that a
    lost end of line has made.
    """
    rows, columns = rng.choice([0, 1, 2, 5, 12, 12, 40, 40]), rng.randint(1, 5)
    header = names(rng, columns)
    delimiter = rng.choice(",,,;\t|")
    kinds = [rng.choice(["number", "number", "text", "odd"]) for _ in range(columns)]
    kinds[0] = rng.choice(["clean", "clean", kinds[0]])
    lines = [header] if rng.random() < 0.9 else [[str(number(rng)) for _ in range(columns)]]
    for _ in range(rows):
        lines.append([_cell(rng, kind) for kind in kinds])
    if rng.random() < 0.1 and len(lines) > 1:
        rng.choice(lines[1:]).append(canary(rng))
    end = rng.choice(["\n", "\n", "\r\n", "\r"])
    quote = rng.random() < 0.8
    text = end.join(
        delimiter.join(quoted(cell, delimiter) if quote else cell for cell in line)
        for line in lines
    )
    text += end if rng.random() < 0.8 else ""
    encoding = rng.choice(["utf-8"] * 8 + ["utf-8-sig", "utf-16", "latin-1"])
    whole = text.encode(encoding, "replace")
    content = changed(rng, whole, chance=0.1)
    return content, header, [] if content == whole else fused_names(content, header)


def fused_names(content: bytes, header: list[str]) -> list[str]:
    """Return the names that the first line of a damaged file has where an end of line was lost: a
    name, and a value of the first record.

    These are names now, and whoever reads the file is told them; values by themselves, and those of
    other places, are not among them.

    >>> fused_names(b"age,q048151623062,48151623911\\n", ["age", "q0"])
    ['q048151623062']
    """
    line = re.split(rb"[\r\n]", content, maxsplit=1)[0].decode("utf-8", "replace")
    cells = re.split(r"[,;\t|]", line)
    last = header[-1]
    return [
        cell
        for cell in cells
        if last and cell.startswith(last) and cell[len(last) :].startswith((CANARY, CANARY_NUMBER))
    ]


def _cell(rng: random.Random, kind: str) -> str:
    if kind == "odd" and rng.random() < 0.5:
        return rng.choice(CELLS)
    if kind == "text":
        return canary(rng)
    return str(number(rng)) if kind == "clean" or rng.random() < 0.98 else rng.choice(CELLS)


def quoted(cell: str, delimiter: str) -> str:
    """A cell as it is written, in quotes where it needs them."""
    return '"' + cell.replace('"', '""') + '"' if set(cell) & {delimiter, '"', "\n", "\r"} else cell


def changed(rng: random.Random, content: bytes, chance: float) -> bytes:
    """The same bytes, or with some of them changed, lost or doubled."""
    if rng.random() >= chance or not content:
        return content
    data = bytearray(content)
    for _ in range(rng.choice([1, 1, 3, 20])):
        if not data:
            break
        offset = rng.randrange(len(data))
        what = rng.randrange(4)
        if what == 0:
            data[offset] = rng.randrange(256)
        elif what == 1:
            del data[offset : offset + rng.choice([1, 4, 100])]
        elif what == 2:
            data[offset:offset] = data[offset : offset + rng.choice([1, 4, 100])]
        else:
            del data[offset:]
    return bytes(data)


def arrow_column(rng: random.Random, n: int) -> pa.Array | pa.ChunkedArray:
    """A column of any type that Arrow has."""
    return rng.choice(ARROW)(rng, n)


def _texts(rng: random.Random, n: int) -> list[str | None]:
    values = [canary(rng) for _ in range(rng.randint(1, 4))]
    return [
        rng.choice([*values, None]) if rng.random() < 0.2 else rng.choice(values) for _ in range(n)
    ]


def _bad_utf8(rng: random.Random, n: int) -> pa.Array:
    offsets = pa.py_buffer(np.arange(n + 1, dtype=np.int32).tobytes())
    return pa.Array.from_buffers(pa.string(), n, [None, offsets, pa.py_buffer(b"\xff" * n)])


def _of(
    kind: pa.DataType, make: Callable[[random.Random], Any]
) -> Callable[[random.Random, int], pa.Array]:
    return lambda rng, n: pa.array(
        [make(rng) if rng.random() < 0.97 else None for _ in range(n)], kind
    )


def _coded(rng: random.Random, n: int) -> pa.Array:
    levels = [*{canary(rng) for _ in range(9)}, None][: rng.randint(1, 9)]
    codes = pa.array(
        [rng.randrange(len(levels)) if rng.random() < 0.9 else None for _ in range(n)], pa.int8()
    )
    return pa.DictionaryArray.from_arrays(
        codes, pa.array(levels, pa.string()), ordered=rng.random() < 0.5
    )


ARROW: list[Callable[[random.Random, int], Any]] = [
    lambda rng, n: pa.array([float(number(rng)) for _ in range(n)]),
    lambda rng, n: pa.array([number(rng) for _ in range(n)]),
    lambda rng, n: pa.array(_texts(rng, n), pa.string()),
    lambda rng, n: pa.array(_texts(rng, n), pa.large_string()),
    lambda rng, n: pa.array(_texts(rng, n), pa.string_view()),
    _coded,
    _coded,
    _bad_utf8,
    _of(pa.int8(), lambda rng: rng.randint(-128, 127)),
    _of(pa.uint64(), lambda rng: rng.choice([0, 2**64 - 1, 2**63])),
    _of(pa.int64(), lambda rng: rng.choice([-(2**63), 2**63 - 1, 0])),
    _of(pa.float16(), lambda rng: np.float16(rng.random())),
    _of(pa.float32(), lambda rng: rng.random()),
    _of(
        pa.float64(),
        lambda rng: rng.choice([math.nan, math.inf, -math.inf, 1e308, 5e-324, -0.0, 1.5]),
    ),
    _of(pa.decimal128(38, 5), lambda rng: decimal.Decimal(rng.randrange(10**9)) / 100),
    _of(pa.decimal256(60, 5), lambda rng: decimal.Decimal(rng.randrange(10**9)) / 100),
    _of(pa.bool_(), lambda rng: rng.random() < 0.5),
    _of(pa.date32(), lambda rng: datetime.date(2000, 1, rng.randint(1, 28))),
    _of(pa.timestamp("ns", "UTC"), lambda rng: rng.randrange(10**15)),
    _of(pa.duration("s"), lambda rng: rng.randrange(1000)),
    _of(pa.time64("ns"), lambda rng: rng.randrange(10**9)),
    _of(pa.binary(), lambda rng: canary(rng).encode() + b"\xff"),
    _of(pa.binary(4), lambda rng: b"abcd"),
    _of(pa.list_(pa.string()), lambda rng: [canary(rng)]),
    _of(pa.list_(pa.dictionary(pa.int8(), pa.string())), lambda rng: [canary(rng)]),
    _of(pa.struct([("a", pa.string())]), lambda rng: {"a": canary(rng)}),
    _of(pa.map_(pa.string(), pa.int64()), lambda rng: [(canary(rng), 1)]),
    _of(pa.month_day_nano_interval(), lambda rng: (1, 2, 3)),
    _of(pa.uuid(), lambda rng: uuid.UUID(int=rng.getrandbits(128)).bytes),
    _of(pa.json_(), lambda rng: json.dumps({"a": canary(rng)})),
    lambda rng, n: pa.nulls(n),
    lambda rng, n: pa.nulls(n, pa.string()),
    lambda rng, n: pa.ExtensionArray.from_storage(
        pa.opaque(pa.int64(), "x", "y"), pa.array(range(n), pa.int64())
    ),
]

PANDAS: list[Callable[[random.Random, int], Any]] = [
    lambda rng, n: [float(number(rng)) for _ in range(n)],
    lambda rng, n: _texts(rng, n),
    lambda rng, n: pd.Categorical(_texts(rng, n)),
    lambda rng, n: pd.Categorical([1] * n, categories=[3, 1, 2], ordered=True),
    lambda rng, n: pd.arrays.SparseArray([0, 1] * n)[:n],
    lambda rng, n: [complex(number(rng), 1)] * n,
    lambda rng, n: [2**70 + i for i in range(n)],
    lambda rng, n: pd.period_range("2020", periods=n, freq="M"),
    lambda rng, n: pd.interval_range(0, n) if n else [],
    lambda rng, n: pd.array([rng.choice([1, None]) for _ in range(n)], dtype="Int64"),
    lambda rng, n: pd.array([1.5] * n, dtype="float64[pyarrow]"),
    lambda rng, n: pd.array(_texts(rng, n), dtype="string"),
    lambda rng, n: [rng.choice(ODD) for _ in range(n)],
    lambda rng, n: [{"a": canary(rng)}] * n,
    lambda rng, n: pd.to_timedelta(range(n), unit="D"),
    lambda rng, n: pd.date_range("2020", periods=n, tz="Europe/Vienna"),
    lambda rng, n: np.array([b"x"] * n, "S3"),
    lambda rng, n: np.arange(n, dtype=np.float16),
    lambda rng, n: np.arange(n, dtype=">i4"),
    lambda rng, n: [decimal.Decimal("1.5")] * n,
    lambda rng, n: [decimal.Decimal("NaN")] * n,
    lambda rng, n: [uuid.UUID(int=i) for i in range(n)],
    lambda rng, n: [datetime.time(1)] * n,
]  # fmt: skip

POLARS: list[Callable[[random.Random, int], Any]] = [
    lambda rng, n: pl.Series([float(number(rng)) for _ in range(n)]),
    lambda rng, n: pl.Series(_texts(rng, n), dtype=pl.String),
    lambda rng, n: pl.Series(_texts(rng, n), dtype=pl.Categorical),
    lambda rng, n: pl.Series(["x"] * n, dtype=pl.Enum(["y", canary(rng), "x"])),
    lambda rng, n: pl.Series([2**100] * n, dtype=pl.Int128),
    lambda rng, n: pl.Series([3] * n, dtype=pl.Int128),
    lambda rng, n: pl.Series([object()] * n, dtype=pl.Object),
    lambda rng, n: pl.Series([decimal.Decimal("1.5")] * n),
    lambda rng, n: pl.Series([None] * n, dtype=pl.Null),
    lambda rng, n: pl.Series([[canary(rng)]] * n, dtype=pl.List(pl.String)),
    lambda rng, n: pl.Series([[1.0, 2.0]] * n, dtype=pl.Array(pl.Float64, 2)),
    lambda rng, n: pl.Series([{"a": canary(rng)}] * n, dtype=pl.Struct({"a": pl.String})),
    lambda rng, n: pl.Series([b"\xff"] * n, dtype=pl.Binary),
    lambda rng, n: pl.Series([datetime.timedelta(days=1)] * n, dtype=pl.Duration),
    lambda rng, n: pl.Series([True] * n, dtype=pl.Boolean),
    lambda rng, n: pl.Series([1, 2**64 - 1] * n, dtype=pl.UInt64)[:n],
]  # fmt: skip


def frame(rng: random.Random) -> Any:
    """A table of some library with odd columns, or no table at all."""
    n, columns = rng.choice([0, 1, 6, 12]), rng.randint(1, 3)
    quasi = [float(number(rng)) for _ in range(n)]
    which = rng.randrange(10)
    labels = [f"x{j}" if rng.random() < 0.8 else rng.choice(NAMES) for j in range(columns)]
    if which < 4:
        made = {"age": quasi, **{name: rng.choice(PANDAS)(rng, n) for name in labels}}
        table = pd.DataFrame(made)
        if rng.random() < 0.1:
            table.index = pd.MultiIndex.from_product([[canary(rng)], range(n)])
        if rng.random() < 0.05:
            table.columns = pd.MultiIndex.from_product([["a"], range(len(table.columns))])
        return table
    if which < 6:
        return pl.DataFrame({"age": quasi, **{name: rng.choice(POLARS)(rng, n) for name in labels}})
    if which < 8:
        return arrow_table(rng)
    if which == 8:
        shapes = [(n, 2), (n,), (n, 0), (2, 2, 2)]
        matrix = np.full(rng.choice(shapes), float(number(rng)))
        return matrix.astype(
            rng.choice(["f8", "f4", "f2", "i4", "u8", "c16", "O", "U8", "M8[s]", ">f8", "?", "g"])
        )
    return rng.choice([*ODD, pd.Series(quasi), {"age": quasi}, [quasi]])


def arrow_table(rng: random.Random) -> pa.Table:
    """An Arrow table with odd columns, perhaps sliced or in chunks, perhaps with names that are the
    same.
    """
    n, columns = rng.choice([0, 1, 6, 12, 30]), rng.randint(0, 3)
    made = [
        pa.array([float(number(rng) + i) for i in range(n)]),
        *(arrow_column(rng, n) for _ in range(columns)),
    ]
    table = pa.table(made, names=["age", *names(rng, columns)])
    if rng.random() < 0.2 and n > 1:
        table = pa.concat_tables([table.slice(0, 1), table.slice(1)])
    return table.slice(rng.randrange(3)) if rng.random() < 0.3 else table


def mutated(rng: random.Random, content: Any) -> Any:
    """Plain data with one of its parts replaced, removed or put deep inside lists."""
    changed = copy.deepcopy(content)
    for _ in range(rng.choice([1, 1, 2, 4])):
        node, parent, key = changed, None, None
        while isinstance(node, dict | list) and node and (parent is None or rng.random() < 0.75):
            parent = node
            key = rng.choice(list(node)) if isinstance(node, dict) else rng.randrange(len(node))
            node = node[key]
        if parent is None:
            return copy.deepcopy(rng.choice(JSON))
        what = rng.random()
        if what < 0.2:
            del parent[key]
        elif what < 0.3 and isinstance(parent, dict):
            parent[rng.choice(NAMES)] = copy.deepcopy(rng.choice(JSON))
        else:
            parent[key] = copy.deepcopy(rng.choice(JSON))
    return changed


def json_bytes(rng: random.Random, content: Any) -> bytes:
    """A JSON file that was tampered with."""
    if rng.random() < 0.03:
        depth = rng.choice([1000, 200_000])
        return b"[" * depth + b"]" * depth
    return changed(rng, json.dumps(mutated(rng, content)).encode(), chance=0.15)


def write(path: Path, content: bytes) -> Path:
    """Write a file."""
    path.write_bytes(content)
    return path

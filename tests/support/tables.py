"""Small tables that many tests start from, and ways to look at what a run left behind.

Every value is a canary: odd enough that it cannot turn up in a message, a manifest or a summary by
chance.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as parquet

from microagg.files.commit.writing import write_table
from microagg.files.formats import formats

ENDINGS = tuple(
    suffix for format in formats() if not format.read_only for suffix in format.suffixes
)
"""Of all formats that are written: what every format must keep is asked of these."""
PACKED = {".gz": "gzip", ".zst": "zstd"}
QUASI = ["income", "debt"]
ROLES = [
    "--quasi",
    "income,debt",
    "--identifier",
    "name",
    "--confidential",
    "disease",
    "--keep",
    "code",
]
"""The roles of `people`, as a user would type them."""


def unpacked(path: Path) -> bytes:
    """Return the content of a text file, packed or not, read without microagg."""
    if path.suffix not in PACKED:
        return path.read_bytes()
    with pa.CompressedInputStream(pa.OSFile(str(path)), PACKED[path.suffix]) as stream:
        return stream.read()


def people(n: int = 12) -> pa.Table:
    """Made-up persons: two numeric quasi-identifiers (whole, two decimals) and three texts."""
    rng = np.random.default_rng(n)
    return pa.table(
        {
            "name": [f"canary-{i:04d}x" for i in range(n)],
            "income": 4_815_162 + 1009 * rng.permutation(n),
            "debt": np.round(90_210.25 + 733.31 * rng.permutation(n), 2),
            "disease": [f"secret-{'abc'[i % 3]}" for i in range(n)],
            "code": [f"00{7000 + i}" for i in range(n)],
        }
    )


def csv_text(table: pa.Table, delimiter: str = ",") -> str:
    """A csv file as somebody would have typed it: nothing quoted, a gap for what is missing."""
    rows = [
        table.column_names,
        *([_cell(value) for value in row.values()] for row in table.to_pylist()),
    ]
    return "".join(delimiter.join(row) + "\n" for row in rows)


def _cell(value: object) -> str:
    return "" if value is None else str(value)


def write(table: pa.Table, path: Path) -> Path:
    """Write a table, without help from microagg if it is a csv, parquet or Arrow file."""
    if path.suffix == ".csv":
        path.write_text(csv_text(table), "utf-8")
    elif path.suffix in (".arrow", ".feather"):
        feather.write_feather(table, path)
    elif path.suffix != ".parquet":
        write_table(table, path)
    else:
        parquet.write_table(table, path)
    return path


def cells(table: pa.Table) -> set[str]:
    """Every value of a table as text."""
    return {_cell(value) for row in table.to_pylist() for value in row.values()}


def cells_of_text(path: Path) -> set[str]:
    """Every value of a csv file but those too short to be told from a figure."""
    lines = path.read_text("utf-8").splitlines()[1:]
    return {value for line in lines for value in line.split(",") if len(value) > 4}


def snapshot(folder: Path) -> dict[str, bytes | str]:
    """Everything below a folder, hidden files too: contents of files, targets of links."""
    contents: dict[str, bytes | str] = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if path.is_symlink():
            contents[name] = f"link to {os.readlink(path)}"
        else:
            contents[name] = path.read_bytes() if path.is_file() else "folder"
    return contents


def class_sizes(rows: list[tuple[object, ...]]) -> dict[tuple[object, ...], int]:
    """Count how many rows are equal, one by one."""
    sizes: dict[tuple[object, ...], int] = {}
    for row in rows:
        sizes[row] = sizes.get(row, 0) + 1
    return sizes

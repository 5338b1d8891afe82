"""A made-up file format, as somebody would add it: this module, and one line in the list of
formats.

A ribbon holds a record a line: a mark of its own choice, then a JSON list of texts, null for what
is missing.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from microagg.errors import InputError
from microagg.files.format import Format

if TYPE_CHECKING:
    import pyarrow as pa

FIRST = ("microagg.files.text.csv_format:CSV", "microagg.files.columnar.parquet_format:PARQUET")
"""The list that tests add a format to, whatever else microagg has by then."""

READS: list[str] = []
"""The suffix of every file that was read; tests clear it."""


def read(path: Path, mark: str | None = None) -> pa.Table:
    import pyarrow as pa

    READS.append(path.suffix)
    mark = mark or detect(path)["mark"]
    try:
        rows = [
            json.loads(line.removeprefix(mark)) for line in path.read_text("utf-8").splitlines()
        ]
    except ValueError:
        raise InputError(f"{str(path)!r} is not a ribbon; write it anew.") from None
    names, *records = rows
    return pa.table(
        {
            name: pa.array([record[j] for record in records], pa.string())
            for j, name in enumerate(names)
        }
    )


def write(table: pa.Table, path: Path, mark: str) -> None:
    rows = [table.column_names, *texts_of(table)]
    path.write_text("".join(f"{mark}{json.dumps(row)}\n" for row in rows), "utf-8")


def read_pieces(path: Path, mark: str | None = None) -> Iterator[pa.Table]:
    import pyarrow as pa

    mark = mark or detect(path)["mark"]
    with path.open(encoding="utf-8") as lines:
        names = json.loads(next(lines).removeprefix(mark))
        while rows := [json.loads(line.removeprefix(mark)) for line in islice(lines, 1000)]:
            columns = (pa.array([row[j] for row in rows], pa.string()) for j in range(len(names)))
            yield pa.table(dict(zip(names, columns, strict=True)))


@contextlib.contextmanager
def in_pieces(path: Path, schema: pa.Schema, mark: str) -> Iterator[Callable[[pa.Table], None]]:
    with path.open("w", encoding="utf-8") as file:
        file.write(f"{mark}{json.dumps(schema.names)}\n")
        yield lambda table: file.writelines(f"{mark}{json.dumps(row)}\n" for row in texts_of(table))


def texts_of(table: pa.Table) -> list[tuple[str | None, ...]]:
    import pyarrow as pa

    columns = [column.cast(pa.string()).to_pylist() for column in table.columns]
    return list(zip(*columns, strict=True))


def register() -> None:
    """Add the format to the list, as its line there would, in this process."""
    from microagg.files import formats

    formats.FORMATS = (*formats.FORMATS, "made_up_format:RIBBON")


def detect(path: Path) -> dict[str, Any]:
    return {"mark": path.read_text("utf-8")[:1]}


RIBBON = Format(
    name="ribbon",
    suffixes=(".ribbon", ".rib"),
    read=read,
    write=write,
    typed=False,
    nested=False,
    options={"mark": "@"},
    detect=detect,
    read_pieces=read_pieces,
    in_pieces=in_pieces,
)

LOSING = replace(RIBBON, write=lambda table, path, mark: write(table.slice(1), path, mark))
"""One whose files lack the first record."""

LACKING = replace(RIBBON, needs=("json", "no_such_package"), extra="ribbons")
"""One that needs what is not installed."""

CARD = replace(
    RIBBON,
    name="card",
    suffixes=(".card",),
    options={},
    detect=lambda path: {},
    read=lambda path: read(path, "!"),
    write=lambda table, path: write(table, path, "!"),
    read_pieces=None,
    in_pieces=None,
)
"""One without options."""

TYPED_CARD = replace(CARD, typed=True)
"""One whose texts are meant as texts."""

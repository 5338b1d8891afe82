"""Who reads a released file, and what each of them sees: classes as that reader groups rows, and
the confidential values of each row.

Nothing here is of microagg: a file is read by pandas, polars, DuckDB, Arrow, openpyxl and
pyreadstat, whichever know its format.
"""

from __future__ import annotations

import io
import struct
from collections import defaultdict
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import openpyxl
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv as arrow_csv
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pyreadstat

Classes = list[list[int]]
"""The rows of each class."""
ROW = "row of the file"


@dataclass(frozen=True)
class View:
    """One file as one reader sees it."""

    reader: str
    records: int
    columns: list[str]
    classes: Callable[[Sequence[str]], Classes]
    """The classes that the rows fall into by some columns."""
    values: Callable[[str], list[Any]]
    """A column as objects of Python; None where a cell is missing."""
    typed: bool = True
    """Whether numbers are numbers; False where all cells are text to the letter."""


def readers_of(path: Path) -> list[Callable[[Path], View]]:
    """All who know the format of a file."""
    if path.is_dir():
        return READERS["parts"]
    return READERS["".join(path.suffixes[-2:] if path.suffix == ".gz" else path.suffixes[-1:])]


def _frame_view(reader: str, frame: pd.DataFrame, *, typed: bool = True) -> View:
    """Return what pandas sees: NaN and missing values are alike, 0 and -0 too."""

    def classes(names: Sequence[str]) -> Classes:
        labels = frame.groupby(list(names), dropna=False, observed=True, sort=False).ngroup()
        return _by_key(labels.tolist())

    def values(name: str) -> list[Any]:
        return [None if pd.isna(cell) else cell for cell in frame[name].tolist()]

    return View(reader, len(frame), list(frame.columns), classes, values, typed)


def _polars_view(reader: str, frame: pl.DataFrame, *, typed: bool = True) -> View:
    def classes(names: Sequence[str]) -> Classes:
        numbered = frame.with_row_index(ROW)
        return numbered.group_by(list(names)).agg(pl.col(ROW))[ROW].to_list()

    def values(name: str) -> list[Any]:
        return [_without_nan(cell) for cell in frame[name].to_list()]

    return View(reader, frame.height, list(frame.columns), classes, values, typed)


def _duckdb_view(reader: str, query: str, *, typed: bool = True) -> View:
    connection = duckdb.connect()
    connection.execute("set threads to 1")
    connection.execute(
        f'create table released as select row_number() over () - 1 as "{ROW}", * from {query}'
    )
    (records,) = connection.execute("select count(*) from released").fetchone() or (0,)
    names = [row[0] for row in connection.execute("describe released").fetchall()][1:]

    def classes(columns: Sequence[str]) -> Classes:
        listed = ", ".join(_quoted(name) for name in columns)
        rows = connection.execute(
            f'select list("{ROW}") from released group by {listed}'
        ).fetchall()
        return [rows_of_class for (rows_of_class,) in rows]

    def values(name: str) -> list[Any]:
        rows = connection.execute(
            f'select {_quoted(name)} from released order by "{ROW}"'
        ).fetchall()
        return [_without_nan(cell) for (cell,) in rows]

    return View(reader, int(records), names, classes, values, typed)


def _arrow_view(reader: str, table: pa.Table, *, typed: bool = True) -> View:
    table = pa.table({name: _decoded(table.column(name)) for name in table.column_names})

    def classes(names: Sequence[str]) -> Classes:
        numbered = table.append_column(ROW, pa.array(range(table.num_rows)))
        return (
            numbered.group_by(list(names), use_threads=False)
            .aggregate([(ROW, "list")])[f"{ROW}_list"]
            .to_pylist()
        )

    def values(name: str) -> list[Any]:
        return [_without_nan(cell) for cell in table.column(name).to_pylist()]

    return View(reader, table.num_rows, table.column_names, classes, values, typed)


def _bits_view(reader: str, table: pa.Table) -> View:
    """Rows told apart by the bits of their cells, and by the indices of their categories: the
    strictest reader there can be.
    """

    def classes(names: Sequence[str]) -> Classes:
        return _by_key(list(zip(*(_bits(table.column(name)) for name in names), strict=True)))

    def values(name: str) -> list[Any]:
        return [_without_nan(cell) for cell in _decoded(table.column(name)).to_pylist()]

    return View(reader, table.num_rows, table.column_names, classes, values)


def _rows_view(reader: str, names: list[str], rows: list[tuple[Any, ...]]) -> View:
    """Cells as objects of Python, told apart by type and text."""

    def classes(columns: Sequence[str]) -> Classes:
        places = [names.index(name) for name in columns]
        return _by_key(
            [
                tuple((type(row[index]).__name__, repr(row[index])) for index in places)
                for row in rows
            ]
        )

    def values(name: str) -> list[Any]:
        index = names.index(name)
        return [_without_nan(row[index]) for row in rows]

    return View(reader, len(rows), names, classes, values)


def _by_key(keys: Sequence[Hashable]) -> Classes:
    groups: dict[Hashable, list[int]] = defaultdict(list)
    for row, key in enumerate(keys):
        groups[key].append(row)
    return list(groups.values())


def _bits(column: pa.ChunkedArray) -> list[Hashable]:
    kind = column.type
    if pa.types.is_dictionary(kind):
        whole = (
            column.combine_chunks()
            if column.num_chunks == 1
            else column.unify_dictionaries().combine_chunks()
        )
        whole = whole.chunk(0) if isinstance(whole, pa.ChunkedArray) else whole
        return whole.indices.to_pylist()
    cells = column.to_pylist()
    if pa.types.is_floating(kind):
        return [None if cell is None else struct.pack("<d", cell) for cell in cells]
    return [None if cell is None else repr(cell) for cell in cells]


def _decoded(column: pa.ChunkedArray) -> pa.ChunkedArray:
    return column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column


def _without_nan(cell: Any) -> Any:
    return None if isinstance(cell, float) and cell != cell else cell


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _workbook(path: Path) -> View:
    workbook = openpyxl.load_workbook(path, read_only=True)
    try:
        first, *rows = workbook.worksheets[0].iter_rows(values_only=True)
    finally:
        workbook.close()  # it keeps the file open otherwise, and a later test is blamed for it
    return _rows_view("openpyxl", [str(name) for name in first], rows)


def _packaged(path: Path, read: Callable[..., Any]) -> View:
    frame, _ = (
        read(str(path), user_missing=True) if read is not pyreadstat.read_xport else read(str(path))
    )
    return _rows_view(
        "pyreadstat", list(frame.columns), list(frame.itertuples(index=False, name=None))
    )


def _spss(path: Path) -> View:
    return _packaged(path, pyreadstat.read_sav)


CSV: list[Callable[[Path], View]] = [
    lambda path: _frame_view("pandas", pd.read_csv(path)),
    lambda path: _frame_view(
        "pandas, to the letter", pd.read_csv(path, dtype=str, keep_default_na=False), typed=False
    ),
    lambda path: _polars_view("polars", pl.read_csv(path, infer_schema_length=None)),
    lambda path: _polars_view(
        "polars, to the letter", pl.read_csv(path, infer_schema=False), typed=False
    ),
    lambda path: _duckdb_view("DuckDB", f"read_csv('{path}', header=true, sample_size=-1)"),
    lambda path: _duckdb_view(
        "DuckDB, to the letter", f"read_csv('{path}', header=true, all_varchar=true)", typed=False
    ),
    lambda path: _arrow_view("Arrow", arrow_csv.read_csv(path)),
]
PARQUET: list[Callable[[Path], View]] = [
    lambda path: _frame_view("pandas", pd.read_parquet(path)),
    lambda path: _polars_view("polars", pl.read_parquet(path)),
    lambda path: _duckdb_view("DuckDB", f"read_parquet('{path}')"),
    lambda path: _arrow_view("Arrow", pq.read_table(path)),
    lambda path: _bits_view("Arrow, by bits", pq.read_table(path)),
]
PARTS: list[Callable[[Path], View]] = [
    lambda path: _frame_view("pandas", pd.read_parquet(path)),
    lambda path: _polars_view("polars", pl.read_parquet(path / "*.parquet")),
    lambda path: _duckdb_view("DuckDB", f"read_parquet('{path}/*.parquet')"),
    lambda path: _bits_view("Arrow, by bits", pq.read_table(path)),
]
FEATHER: list[Callable[[Path], View]] = [
    lambda path: _frame_view("pandas", pd.read_feather(path)),
    lambda path: _polars_view("polars", pl.read_ipc(io.BytesIO(path.read_bytes()))),
    lambda path: _arrow_view("Arrow", feather.read_table(path)),
    lambda path: _bits_view("Arrow, by bits", feather.read_table(path)),
]
READERS: dict[str, list[Callable[[Path], View]]] = {
    ".csv": CSV,
    ".csv.gz": CSV,
    ".parquet": PARQUET,
    "parts": PARTS,
    ".feather": FEATHER,
    ".arrow": FEATHER,
    ".xlsx": [_workbook, lambda path: _frame_view("pandas", pd.read_excel(path))],
    ".sav": [
        _spss,
        lambda path: _frame_view("pandas", pd.read_spss(path, convert_categoricals=False)),
    ],
    ".zsav": [_spss],
    ".dta": [
        lambda path: _packaged(path, pyreadstat.read_dta),
        lambda path: _frame_view(
            "pandas", pd.read_stata(path, convert_categoricals=False, convert_missing=False)
        ),
    ],
    # pandas does not know this version
    ".xpt": [lambda path: _packaged(path, pyreadstat.read_xport)],
}

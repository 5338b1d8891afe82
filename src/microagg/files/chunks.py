"""Tables that are read in chunks by record number: one file, a folder of parts, or a pattern."""

from __future__ import annotations

import glob
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from microagg.errors import InputError
from microagg.files.columnar.arrow_blocks import DamagedError
from microagg.files.columnar.arrow_format import check_broken, check_claims
from microagg.files.columnar.parquet_folder import parts_in
from microagg.files.commit.journal import settle
from microagg.files.formats import format_of
from microagg.files.stores.locations import Url, parse_location, to_read
from microagg.table.columns.arrow import names_within, without_runs

NO_PART = "{!r} is no parquet file; parts of a table are parquet files."
AT_ONCE = 1 << 16  # records that are unpacked at a time
READ_IN_PIECES = ("parquet", "Arrow")


@dataclass(frozen=True)
class Source:
    """Table in files: their paths, and the number of records in each of their pieces.

    `pieces` are the row groups of parquet files and the batches of Arrow files: the units that can
    be read independently.
    """

    files: tuple[str, ...]
    format: str
    pieces: tuple[tuple[int, ...], ...]
    """Numbers of records of the pieces of each file."""
    schema: pa.Schema
    """Columns, without any other metadata of the files."""

    @staticmethod
    def of(path: str | Path | Url) -> Source:
        """Open a table, local or in a store: a file, a folder of parquet parts, or a pattern."""
        files = files_of(path)
        format = format_of(files[0]).name
        if format not in READ_IN_PIECES:
            raise InputError(
                f"{files[0].name!r} does not fit into memory, and "
                f"{format_of(files[0]).one_file} is not read piece by piece; "
                "write it as a parquet file first, or give it more memory."
            )
        return Source.of_files(files, format)

    @staticmethod
    def of_files(files: Sequence[Path], format: str) -> Source:
        """Open the table whose parts these files are, in their order."""
        pieces, schema = (
            tuple(_pieces(file_path, format) for file_path in files),
            _schema(files[0], format),
        )
        for file in files[1:]:
            if not _schema(file, format).equals(schema):
                raise InputError(
                    f"{str(file)!r} does not have the columns and types of "
                    f"{str(files[0])!r}; write the parts alike."
                )
        return Source(tuple(map(_address, files)), format, pieces, schema)

    @staticmethod
    def of_part(path: Path, format: str) -> Source:
        """Open a staged file, or a staged folder of parts, that was just written."""
        if path.is_dir():
            return Source.of_files(parts_in(path), format)
        return Source((str(path),), format, (_pieces(path, format),), _schema(path, format))

    @property
    def records(self) -> int:
        """Number of records."""
        return sum(map(sum, self.pieces))

    @property
    def original_names(self) -> list[str]:
        """Names of the columns in the files."""
        return list(self.schema.names)

    def read(self, first: int, count: int, names: Sequence[str] | None = None) -> pa.Table:
        """Read the records first .. first + count - 1, of these columns or of all."""
        wanted = self.schema.names if names is None else list(names)
        parts, before = [], 0
        for file, pieces in zip(self.files, self.pieces, strict=True):
            start, stop = max(first - before, 0), min(first + count - before, sum(pieces))
            if start < stop:
                parts.append(_read(parse_location(file), self.format, pieces, start, stop, wanted))
            before += sum(pieces)
        kinds = pa.schema([self.schema.field(name) for name in wanted])
        if not parts:
            return kinds.empty_table()
        whole = pa.concat_tables(parts)
        marked = any(field.metadata for field in kinds)
        return pa.Table.from_arrays(whole.columns, schema=kinds) if marked else whole

    def as_written(self, first: int, count: int) -> pa.Table:
        """Return some records as the files hold them: the same as `read` for formats with types."""
        return self.read(first, count)

    def typed(self, written: pa.Table) -> pa.Table:
        """Convert records of `as_written` to the types of the table."""
        return written

    def chunks(self, size: int) -> list[tuple[int, int]]:
        """Return (first, count) of chunks of at most `size` records.

        >>> Source((), "parquet", ((5,),), pa.schema([])).chunks(2)
        [(0, 2), (2, 2), (4, 1)]
        """
        return [(first, min(size, self.records - first)) for first in range(0, self.records, size)]


def is_in_parts(path: str | Path | Url) -> bool:
    """Check if a path names a folder or a pattern instead of one file.

    >>> is_in_parts("survey.parquet"), is_in_parts("parts/*.parquet")
    (False, True)
    """
    path = parse_location(path)
    if isinstance(path, Url):
        return path.is_pattern or path.is_folder()
    if not path.exists():
        settle(path)  # a run that was stopped while it replaced a folder
    return path.is_dir() or (not path.exists() and glob.has_magic(str(path)))


def files_of(path: str | Path | Url) -> list[Any]:
    """Return the files of a table, sorted by name: one file, those of a folder, or those of a
    pattern.

    Hidden files of a folder are skipped.
    """
    path = parse_location(path)
    if isinstance(path, Url):
        return _files_in_store(path)
    if not is_in_parts(path):
        if not path.is_file():
            raise InputError(f"there is no file {str(path)!r}; check the path.")
        return [path]
    if path.is_dir():
        settle(path)
        files = [file for file in _names_in(path) if not file.name.startswith((".", "_"))]
        files = [file for file in files if file.name.lower().endswith(".parquet")]
        if not files:
            raise InputError(
                f"{str(path)!r} is not a file, and as a folder it has no parquet files "
                f"in it; name a file, or a folder of them."
            )
    else:
        files = [Path(file) for file in glob.glob(str(path))]
        if not files:
            raise InputError(f"there is no file {str(path)!r}; check the path.")
    for file in files:
        if not file.is_file() or format_of(file).name != "parquet":
            raise InputError(NO_PART.format(str(file)))
    return sorted(files)


def _files_in_store(url: Url) -> list[Url]:
    if not is_in_parts(url):
        files = [url] if url.size() is not None else []
    else:
        files = [file for file in url.files() if not file.name.startswith((".", "_"))]
        if not url.is_pattern:
            files = [file for file in files if file.name.lower().endswith(".parquet")]
        for file in files:
            if format_of(file).name != "parquet":
                raise InputError(NO_PART.format(str(file)))
    if not files:
        raise InputError(f"there is no file {str(url)!r}; check the address.")
    return files


def _address(file: Path | Url) -> str:
    """Return the address by which a worker opens a file, with its credentials."""
    return file.address if isinstance(file, Url) else str(file)


def _names_in(folder: Path) -> list[Path]:
    try:
        return list(folder.iterdir())
    except OSError:
        raise InputError(
            f"the folder {str(folder)!r} cannot be looked into; check its permissions."
        ) from None


def read_whole(path: str | Path | Url) -> pa.Table:
    """Read all records of a table in parts."""
    source = Source.of(path)
    if source.records == 0:
        raise InputError(f"{str(path)!r} has no records; there is nothing to protect.")
    return source.read(0, source.records)


def _pieces(file: Path | Url, format: str) -> tuple[int, ...]:
    from pyarrow import parquet

    try:
        if format == "parquet":
            with to_read(file) as input_file, parquet.ParquetFile(input_file) as opened:
                metadata = opened.metadata
                return tuple(
                    metadata.row_group(index).num_rows for index in range(metadata.num_row_groups)
                )
        if isinstance(file, Path):
            return check_claims(file, max)
        with to_read(file) as input_file, pa.ipc.open_file(input_file) as reader:
            return tuple(
                reader.get_batch(index).num_rows for index in range(reader.num_record_batches)
            )
    except MemoryError:
        raise
    except (pa.ArrowException, OSError, UnicodeDecodeError, DamagedError):
        raise _unreadable(file, format) from None


def _mapped(input_file: Any) -> Any:
    """Map a local file into memory; return a file of a store unchanged."""
    return pa.memory_map(input_file) if isinstance(input_file, str) else input_file


def _unreadable(file: Path | Url, format: str) -> InputError:
    return InputError(f"{str(file)!r} is not a readable {format} file; write it anew.")


def _schema(file: Path | Url, format: str) -> pa.Schema:
    from pyarrow import parquet

    try:
        if format == "parquet":
            with to_read(file) as input_file:
                schema = parquet.read_schema(input_file)
        else:
            with (
                to_read(file) as input_file,
                _mapped(input_file) as mapped,
                pa.ipc.open_file(mapped) as reader,
            ):
                schema = reader.schema
        names_within(schema)  # which may not be in UTF-8
        return pa.schema([pa.field(field.name, _without_runs(field.type)) for field in schema])
    except (pa.ArrowException, OSError, UnicodeDecodeError):
        raise _unreadable(file, format) from None


def _without_runs(kind: Any) -> Any:
    return kind.value_type if pa.types.is_run_end_encoded(kind) else kind


def _read(
    file: Path | Url,
    format: str,
    pieces: Sequence[int],
    start: int,
    stop: int,
    names: Sequence[str],
) -> pa.Table:
    """Read the records start .. stop - 1 of one file, unpacking only the pieces that hold them."""
    ends = np.cumsum(pieces)
    chosen = [
        index
        for index in range(len(pieces))
        if ends[index] > start and ends[index] - pieces[index] < stop
    ]
    skipped = start - (int(ends[chosen[0]]) - pieces[chosen[0]])
    try:
        table = (_parquet if format == "parquet" else _arrow)(
            file, chosen, skipped, stop - start, names
        )
    except MemoryError:
        raise
    except (pa.ArrowException, OSError, UnicodeDecodeError):
        raise _unreadable(file, format) from None
    check_broken(table, file)
    if table.num_rows != stop - start:
        raise InputError(f"{str(file)!r} was changed while it was read; start again.")
    return table


def _parquet(
    file: Path | Url, chosen: list[int], skipped: int, count: int, names: Sequence[str]
) -> pa.Table:
    from pyarrow import parquet

    batches: list[pa.RecordBatch] = []
    far = isinstance(file, Url)  # where many small questions take long
    with to_read(file) as input_file, parquet.ParquetFile(input_file, pre_buffer=far) as opened:
        seen = 0
        for batch in opened.iter_batches(
            AT_ONCE, row_groups=chosen, columns=list(names), use_threads=False
        ):
            here = batch.slice(max(skipped - seen, 0), max(0, skipped + count - max(seen, skipped)))
            seen += batch.num_rows
            if here.num_rows:
                batches.append(here)
            if seen >= skipped + count:
                break
        schema = opened.schema_arrow
    table = pa.Table.from_batches(batches, None if batches else schema)
    return _plainly(table, names)


def _arrow(
    file: Path | Url, chosen: list[int], skipped: int, count: int, names: Sequence[str]
) -> pa.Table:
    with (
        to_read(file) as input_file,
        _opened(input_file) as opened,
        pa.ipc.open_file(opened) as reader,
    ):
        table = pa.Table.from_batches([reader.get_batch(index) for index in chosen], reader.schema)
    return _plainly(table.slice(skipped, count), names)


def _opened(input_file: Any) -> Any:
    return pa.OSFile(input_file) if isinstance(input_file, str) else input_file


def _plainly(table: pa.Table, names: Sequence[str]) -> pa.Table:
    columns = [without_runs(table.column(name)) for name in names]
    kinds = [pa.field(name, column.type) for name, column in zip(names, columns, strict=True)]
    return pa.Table.from_arrays(columns, schema=pa.schema(kinds))

"""Tables that are read piece by piece: one file, or the parts of one in a folder or by a pattern,
by record number.
"""

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

AT_ONCE = 1 << 16  # records that are unpacked at a time
READ_IN_PIECES = ("parquet", "Arrow")


@dataclass(frozen=True)
class Source:
    """A table in files; holds no more than where they lie and how many records they have.

    `pieces` are the row groups of parquet files and the batches of Arrow files: what can be read
    alone.
    """

    files: tuple[str, ...]
    format: str
    pieces: tuple[tuple[int, ...], ...]
    """Of each file how many records each of its pieces has."""
    schema: pa.Schema
    """The columns, and nothing else that the files carry."""

    @staticmethod
    def of(path: str | Path | Url) -> Source:
        """The table that lies there, here or in a store: a file, a folder of parquet parts, or a
        pattern such as parts/*.parquet.
        """
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
        """The table whose parts these files are, in their order."""
        pieces, schema = tuple(_pieces(each, format) for each in files), _schema(files[0], format)
        for file in files[1:]:
            if not _schema(file, format).equals(schema):
                raise InputError(
                    f"{str(file)!r} does not have the columns and types of "
                    f"{str(files[0])!r}; write the parts alike."
                )
        return Source(tuple(map(_address, files)), format, pieces, schema)

    @staticmethod
    def of_part(path: Path, format: str) -> Source:
        """A file, or a folder of them, that was just written, and still lies beside its place."""
        if path.is_dir():
            return Source.of_files(parts_in(path), format)
        return Source((str(path),), format, (_pieces(path, format),), _schema(path, format))

    @property
    def records(self) -> int:
        """How many records there are."""
        return sum(map(sum, self.pieces))

    @property
    def original_names(self) -> list[str]:
        """The names that the columns have in the files."""
        return list(self.schema.names)

    def read(self, first: int, count: int, names: Sequence[str] | None = None) -> pa.Table:
        """The records first .. first + count - 1, of these columns or of all."""
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
        """Some records as the files hold them: of files with types the same as `read`."""
        return self.read(first, count)

    def typed(self, written: pa.Table) -> pa.Table:
        """Such records in the types that they were written from."""
        return written

    def chunks(self, size: int) -> list[tuple[int, int]]:
        """(first, count) of chunks of so many records.

        >>> Source((), "parquet", ((5,),), pa.schema([])).chunks(2)
        [(0, 2), (2, 2), (4, 1)]
        """
        return [(first, min(size, self.records - first)) for first in range(0, self.records, size)]


def is_in_parts(path: str | Path | Url) -> bool:
    """Whether this names a folder or a pattern, not one file.

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
    """The files of a table, in the order of their names: one, those of a folder that are no hidden
    ones, or those of a pattern.
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
        found = [each for each in _names_in(path) if not each.name.startswith((".", "_"))]
        found = [each for each in found if each.name.lower().endswith(".parquet")]
        if not found:
            raise InputError(
                f"{str(path)!r} is not a file, and as a folder it has no parquet files "
                f"in it; name a file, or a folder of them."
            )
    else:
        found = [Path(each) for each in glob.glob(str(path))]
        if not found:
            raise InputError(f"there is no file {str(path)!r}; check the path.")
    for each in found:
        if not each.is_file() or format_of(each).name != "parquet":
            raise InputError(
                f"{str(each)!r} is no parquet file; parts of a table are parquet files."
            )
    return sorted(found)


def _files_in_store(url: Url) -> list[Url]:
    if not is_in_parts(url):
        found = [url] if url.size() is not None else []
    else:
        found = [each for each in url.files() if not each.name.startswith((".", "_"))]
        if not url.is_pattern:
            found = [each for each in found if each.name.lower().endswith(".parquet")]
        for each in found:
            if format_of(each).name != "parquet":
                raise InputError(
                    f"{str(each)!r} is no parquet file; parts of a table are parquet files."
                )
    if not found:
        raise InputError(f"there is no file {str(url)!r}; check the address.")
    return found


def _address(file: Path | Url) -> str:
    """What a worker needs to get there."""
    return file.address if isinstance(file, Url) else str(file)


def _names_in(folder: Path) -> list[Path]:
    try:
        return list(folder.iterdir())
    except OSError:
        raise InputError(
            f"the folder {str(folder)!r} cannot be looked into; check its permissions."
        ) from None


def read_whole(path: str | Path | Url) -> pa.Table:
    """All records of a table in parts."""
    source = Source.of(path)
    if source.records == 0:
        raise InputError(f"{str(path)!r} has no records; there is nothing to protect.")
    return source.read(0, source.records)


def _pieces(file: Path | Url, format: str) -> tuple[int, ...]:
    from pyarrow import parquet

    try:
        if format == "parquet":
            with to_read(file) as there, parquet.ParquetFile(there) as opened:
                found = opened.metadata
                return tuple(
                    found.row_group(place).num_rows for place in range(found.num_row_groups)
                )
        if isinstance(file, Path):
            return check_claims(file, max)
        with to_read(file) as there, pa.ipc.open_file(there) as reader:
            return tuple(
                reader.get_batch(place).num_rows for place in range(reader.num_record_batches)
            )
    except MemoryError:
        raise
    except (pa.ArrowException, OSError, UnicodeDecodeError, DamagedError):
        raise _unreadable(file, format) from None


def _mapped(there: Any) -> Any:
    """A file of this machine as a part of memory; one of a store as it is."""
    return pa.memory_map(there) if isinstance(there, str) else there


def _unreadable(file: Path | Url, format: str) -> InputError:
    return InputError(f"{str(file)!r} is not a readable {format} file; write it anew.")


def _schema(file: Path | Url, format: str) -> pa.Schema:
    from pyarrow import parquet

    try:
        if format == "parquet":
            with to_read(file) as there:
                found = parquet.read_schema(there)
        else:
            with (
                to_read(file) as there,
                _mapped(there) as mapped,
                pa.ipc.open_file(mapped) as reader,
            ):
                found = reader.schema
        names_within(found)  # which may not be in UTF-8
        return pa.schema([pa.field(field.name, _without_runs(field.type)) for field in found])
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
    """The records start .. stop - 1 of one file: only the pieces that hold them are unpacked."""
    ends = np.cumsum(pieces)
    chosen = [
        place
        for place in range(len(pieces))
        if ends[place] > start and ends[place] - pieces[place] < stop
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
    with to_read(file) as there, parquet.ParquetFile(there, pre_buffer=far) as opened:
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
    with to_read(file) as there, _opened(there) as opened, pa.ipc.open_file(opened) as reader:
        table = pa.Table.from_batches([reader.get_batch(place) for place in chosen], reader.schema)
    return _plainly(table.slice(skipped, count), names)


def _opened(there: Any) -> Any:
    return pa.OSFile(there) if isinstance(there, str) else there


def _plainly(table: pa.Table, names: Sequence[str]) -> pa.Table:
    columns = [without_runs(table.column(name)) for name in names]
    kinds = [pa.field(name, column.type) for name, column in zip(names, columns, strict=True)]
    return pa.Table.from_arrays(columns, schema=pa.schema(kinds))

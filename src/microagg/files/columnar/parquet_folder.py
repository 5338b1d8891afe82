"""Tables as folders of parquet parts (part-00000.parquet, ...) of a fixed number of records.

A target whose name has no dot is such a folder. The rows of a part follow from their order alone,
so parts have the same bytes whether they are written one by one or concurrently.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from microagg.errors import InputError
from microagg.files.columnar import parquet_format
from microagg.files.commit import system
from microagg.files.format import RECORDS_IN_A_PIECE, Format
from microagg.files.formats import LEFT, PART, format_of, known_suffixes

if TYPE_CHECKING:
    import pyarrow as pa

RECORDS_IN_A_PART = 16 * RECORDS_IN_A_PIECE
"""Records of every part but the last: some 60 MB of eight columns of numbers."""


def part_name(number: int) -> str:
    """Return the name of a part; parts sorted by name are the table.

    >>> part_name(7)
    'part-00007.parquet'
    """
    return f"part-{number:05}.parquet"


def as_target(path: str | Path) -> Path:
    """Return the target of a table: a file whose name determines a format, or a folder of parts.

    A folder is a path that ends in a separator, or an existing folder. Its name has no dot, so that
    it is recognised by its name.

    >>> (
    ...     as_target("survey/").name,
    ...     is_folder(as_target("survey/")),
    ...     is_folder(as_target("survey.csv")),
    ... )
    ('survey', True, False)
    """
    target, typed = Path(path), os.fspath(path)
    ended = typed.endswith(("/", os.sep))
    if "." in target.name or not target.name:
        if ended:
            raise InputError(
                f"a folder of parts has a name without a dot, and {typed!r} has one; "
                f"name another, such as out/."
            )
        format_of(target)
        return target
    if not ended and not target.is_dir():
        raise InputError(
            f"cannot tell the format of {target.name!r}; name a file that ends in "
            f"{known_suffixes()}, or {target.name + '/'!r} for a "
            "folder of parquet parts."
        )
    return target


def is_folder(target: Path) -> bool:
    """Check if a target of `as_target` is a folder of parts."""
    return "." not in target.name


def format_to_write(target: Path) -> Format:
    """Return the format of a target of `as_target`.

    >>> format_to_write(Path("survey")).one_file, format_to_write(Path("survey.csv")).one_file
    ('a folder of parquet parts', 'a csv file')
    """
    return PARTS if is_folder(target) else format_of(target)


def format_of_part(path: Path) -> Format:
    """Return the format of a staged file or folder.

    >>> (
    ...     format_of_part(Path(".4711.survey.csv.part")).name,
    ...     format_of_part(Path(".4711.survey.part")).in_parts,
    ... )
    ('csv', True)
    """
    match = LEFT.fullmatch(path.name)
    return (
        format_to_write(path.with_name(match[1]))
        if match
        else format_of(Path(path.name.removesuffix(PART)))
    )


def parts_in(folder: Path) -> list[Path]:
    """Return the parts of a folder, in their order; raises if one is missing or there are other
    files.
    """
    names = sorted(os.listdir(folder))
    if names != [part_name(number) for number in range(len(names))]:
        raise InputError(f"{str(folder)!r} does not hold the parts of a table and nothing else.")
    return [folder / name for name in names]


def read(path: Path) -> pa.Table:
    """Read all records of a folder of parts."""
    from microagg.files.chunks import Source

    source = Source.of_files(parts_in(path), "parquet")
    return source.read(0, source.records)


def write(table: pa.Table, path: Path) -> None:
    """Write a table as parts into an existing, empty folder."""
    for number, first in enumerate(range(0, table.num_rows, RECORDS_IN_A_PART)):
        write_part(
            path / part_name(number),
            lambda part, start=first: parquet_format.write(
                table.slice(start, RECORDS_IN_A_PART), part
            ),
        )


def write_part(path: Path, fill: Callable[[Path], object]) -> None:
    """Write one part to the disk, for its owner's eyes only until all are inspected."""
    descriptor = system.create(path)
    try:
        fill(path)
        system.flush(descriptor)
    finally:
        os.close(descriptor)


def check_other_folder(folder: Path, *, has_manifest: bool) -> None:
    """Refuse a folder unless it is missing, empty, or holds parts of a release with a manifest."""
    try:
        is_one = stat.S_ISDIR(os.lstat(folder).st_mode)
        ours = is_one and (not os.listdir(folder) or (has_manifest and _holds_parts(folder)))
    except FileNotFoundError:
        return
    except OSError:
        raise InputError(
            f"{str(folder)!r} is there and cannot be read; name another folder."
        ) from None
    if not is_one:
        raise InputError(
            f"{str(folder)!r} is there and is no folder, so it is not replaced; name another."
        )
    if not ours:
        raise InputError(
            f"{str(folder)!r} is there and is not empty, nor the folder of a release, so "
            f"it is not replaced; name another, or remove it "
            "first."
        )


def _holds_parts(folder: Path) -> bool:
    try:
        return all(map(_begins_as_parquet, parts_in(folder)))
    except InputError:
        return False


def _begins_as_parquet(path: Path) -> bool:
    if not stat.S_ISREG(os.lstat(path).st_mode):
        return False
    with path.open("rb") as file:
        return parquet_format.recognise(file.read(8))


PARTS = Format(
    name="parquet",
    suffixes=(),
    read=read,
    write=write,
    typed=True,
    nested=True,
    in_parts=True,
)

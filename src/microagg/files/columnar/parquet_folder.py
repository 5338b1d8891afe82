"""Tables written as a folder of parquet parts: part-00000.parquet and so on, each of a fixed number
of records but the last.

A target whose name has no dot stands for such a folder. Which rows lie in which part follows from
their order alone, so that parts can be written by whoever has room, one after the other or many at
once, to the same bytes.
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
"""Of every part but the last, however large the table: some 60 MB of eight columns of numbers."""


def part_name(number: int) -> str:
    """What a part is called: in the order of their names parts are the table.

    >>> part_name(7)
    'part-00007.parquet'
    """
    return f"part-{number:05}.parquet"


def as_target(path: str | Path) -> Path:
    """Where a table is to be written: a file whose name tells a format, or a folder of parts.

    That is a path with a separator at its end, or a folder that is there. Its name has no dot, so
    that it is known by its name from here on.

    >>> as_target("survey/").name, is_folder(as_target("survey/")), is_folder(as_target("survey.csv"))
    ('survey', True, False)
    """
    place, typed = Path(path), os.fspath(path)
    ended = typed.endswith(("/", os.sep))
    if "." in place.name or not place.name:
        if ended:
            raise InputError(
                f"a folder of parts has a name without a dot, and {typed!r} has one; "
                f"name another, such as out/."
            )
        format_of(place)
        return place
    if not ended and not place.is_dir():
        raise InputError(
            f"cannot tell the format of {place.name!r}; name a file that ends in "
            f"{known_suffixes()}, or {place.name + '/'!r} for a "
            "folder of parquet parts."
        )
    return place


def is_folder(target: Path) -> bool:
    """Whether a target, as `as_target` gives it, is a folder of parts."""
    return "." not in target.name


def format_to_write(target: Path) -> Format:
    """The format of a target, as `as_target` gives it.

    >>> format_to_write(Path("survey")).one_file, format_to_write(Path("survey.csv")).one_file
    ('a folder of parquet parts', 'a csv file')
    """
    return PARTS if is_folder(target) else format_of(target)


def format_of_part(path: Path) -> Format:
    """The format of a file, or a folder, that is being written beside its place.

    >>> format_of_part(Path(".4711.survey.csv.part")).name, format_of_part(Path(".4711.survey.part")).in_parts
    ('csv', True)
    """
    found = LEFT.fullmatch(path.name)
    return (
        format_to_write(path.with_name(found[1]))
        if found
        else format_of(Path(path.name.removesuffix(PART)))
    )


def parts_in(folder: Path) -> list[Path]:
    """The parts in a folder, in their order; raises where there is something else, or one is not
    there.
    """
    names = sorted(os.listdir(folder))
    if names != [part_name(number) for number in range(len(names))]:
        raise InputError(f"{str(folder)!r} does not hold the parts of a table and nothing else.")
    return [folder / name for name in names]


def read(path: Path) -> pa.Table:
    """All records of such a folder."""
    from microagg.files.chunks import Source

    source = Source.of_files(parts_in(path), "parquet")
    return source.read(0, source.records)


def write(table: pa.Table, path: Path) -> None:
    """Write a table as parts into a folder that is there and empty."""
    for number, first in enumerate(range(0, table.num_rows, RECORDS_IN_A_PART)):
        write_part(
            path / part_name(number),
            lambda part, at=first: parquet_format.write(table.slice(at, RECORDS_IN_A_PART), part),
        )


def write_part(path: Path, fill: Callable[[Path], object]) -> None:
    """Write one part to the disk, for its owner's eyes only until all are inspected."""
    descriptor = system.create(path)
    try:
        fill(path)
        system.flush(descriptor)
    finally:
        os.close(descriptor)


def check_other_folder(folder: Path, *, known: bool) -> None:
    """Refuse a place that holds anything but nothing, an empty folder, or a folder of parts whose
    manifest is `known`.
    """
    try:
        is_one = stat.S_ISDIR(os.lstat(folder).st_mode)
        ours = is_one and (not os.listdir(folder) or (known and _holds_parts(folder)))
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

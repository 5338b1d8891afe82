"""Declaration of a file format: the type of the entries in the list of formats."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from microagg.table.parameters import Parameter

if TYPE_CHECKING:
    import pyarrow as pa

    from microagg.table.columns.labels import Labels


RECORDS_IN_A_PIECE = 1 << 18
EMPTY = "{!r} is empty; it needs columns and at least one record."
"""Records in each piece of a file that is written in pieces: what a reader of pieces keeps in
memory.
"""


def no_options(path: Path) -> dict[str, Any]:
    """Detect the options of a file of a format without options: none."""
    return {}


@dataclass(frozen=True)
class Format:
    """Declaration of one file format: its functions for reading and writing, and what it can hold.

    `read` and `write` never depend on the path's name, because a file has another name until it is
    verified. Suffixes that behave differently are separate entries.

    >>> from microagg.files.text.csv_format import CSV
    >>> CSV.suffixes, CSV.typed, CSV.options["delimiter"]
    (('.csv',), False, ',')
    """

    name: str
    """Name in sentences: "csv" of "a csv file"."""
    suffixes: tuple[str, ...]
    """Endings of file names, in lower case and with all dots, such as ".csv"."""
    read: Callable[..., pa.Table]
    """`read(path, **options)` returns the whole table. Options not given are detected from the
    file. A file that cannot be read raises InputError, which names the row and never quotes a
    value.
    """
    write: Callable[..., None]
    """`write(table, path, **options)`, with all options. A table that such a file cannot hold
    raises one of Arrow's errors (ArrowInvalid, ArrowNotImplementedError).
    """
    typed: bool
    """True if columns keep their types. Otherwise all columns are read as text, and their types are
    inferred.
    """
    nested: bool
    """True if the format holds lists, structs and bytes."""
    mixed: bool = False
    """True if each cell has a type of its own, so that texts in a column may mean numbers or dates.
    Such columns are typed by the rules for text files if they are quasi-identifying or mix types.
    """
    check_names: Callable[[Sequence[str]], None] | None = None
    """`check_names(names)` raises InputError if a file cannot have columns of these names. Called
    before any other work.
    """
    empties: bool = True
    """True if empty text differs from a missing cell; otherwise both are read as missing."""
    read_only: str = ""
    """Reason why such files are not written, and what to write instead; "" if they are written."""
    holds: Callable[[Labels, pa.ChunkedArray], Labels] | None = None
    """`holds(labels, column)` returns the labels that a file can hold, as they are read back. None
    if the format holds no labels. The others are written to a sidecar file (see `sidecar.py`).
    """
    codes: Callable[[Labels, pa.ChunkedArray], Mapping[Any, Any]] | None = None
    """`codes(labels, column)` maps codes to those that are read back: numbers declared missing
    become the codes of .a to .z.
    """
    options: Mapping[str, Any] = field(default_factory=dict)
    """Options of writing, with their defaults."""
    detect: Callable[[Path], Mapping[str, Any]] = no_options
    """`detect(path)` returns the options with which an existing file was written."""
    recognise: Callable[[bytes], bool] = bool
    """`recognise(beginning)` checks if a file with these first bytes may be of this format, and so
    may be replaced by one.
    """
    in_pieces: Callable[..., Any] | None = None
    """`in_pieces(path, schema)` is a context that yields a function for writing pieces. Each piece
    has `RECORDS_IN_A_PIECE` records but the last; the bytes are those of `write`. None if tables
    are written only as a whole.
    """
    read_pieces: Callable[..., Iterator[pa.Table]] | None = None
    """`read_pieces(path, **options)` yields the table of `read` piece by piece, so that such files
    are read and verified out of core. None if files are read only as a whole; parquet, Arrow and
    text files have readers of their own.
    """
    reading: tuple[Parameter, ...] = ()
    """Options of reading for users. Their names are arguments of `read`; every command and function
    that reads a file accepts them.
    """
    writing: tuple[Parameter, ...] = ()
    """Options of writing for users, by the names in `options`. Commands that write a file accept
    them.
    """
    fixed_options: tuple[str, ...] = ()
    """Options that the suffix determines, so that those of the input are not taken over."""
    read_back: Mapping[str, Any] = field(default_factory=dict)
    """Further arguments of `read` for a file that `write` has written."""
    unquoted_gaps: bool = False
    """True if `read` accepts `unquoted_gaps`: indices of columns in which markers without quotes
    mean missing.
    """
    needs: tuple[str, ...] = ()
    """Packages to import beyond those that microagg always has, and the extra of microagg that
    installs them.
    """
    extra: str = ""
    packing: str = ""
    """Compression of text files: "gzip" or "zstd"."""
    in_parts: bool = False
    """True if a table is a folder of such files instead of one."""
    article: str = "a"
    """Article before the name: "an Arrow file"."""

    @property
    def one_file(self) -> str:
        """Name of one such file in a sentence: "a csv file"."""
        return (
            f"a folder of {self.name} parts"
            if self.in_parts
            else f"{self.article} {self.name} file"
        )

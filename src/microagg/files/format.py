"""What a file format is: the one kind of entry in the list of formats."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from microagg.table.parameters import Parameter

if TYPE_CHECKING:
    import pyarrow as pa

    from microagg.table.columns.labels import Labels


RECORDS_IN_A_PIECE = 1 << 18
"""Of every file that is written in pieces, however large: whoever reads it piece by piece needs
room for so many.
"""


def no_options(path: Path) -> dict[str, Any]:
    """What a format without options finds out about a file: nothing."""
    return {}


@dataclass(frozen=True)
class Format:
    """How tables are read from files of one format and written to them, and what these can hold.

    `read` and `write` never go by the path's name, for a file that is being written has another
    until it is verified: what two suffixes do differently makes two entries.

    >>> from microagg.files.text.csv_format import CSV
    >>> CSV.suffixes, CSV.typed, CSV.options
    (('.csv',), False, {'delimiter': ',', 'encoding': 'utf-8', 'decimal': '.', 'thousands': '', 'dates': None, 'line_end': 'lf', 'escape_formulas': False})
    """

    name: str
    """What a sentence calls such a file: "a csv file"."""
    suffixes: tuple[str, ...]
    """How the names of such files end, in small letters and with all dots, such as ".csv"."""
    read: Callable[..., pa.Table]
    """`read(path, **options)`: the whole table as the file holds it. Without options they are found
    out from the file. A file that cannot be read raises InputError, which names the place and never
    quotes a value.
    """
    write: Callable[..., None]
    """`write(table, path, **options)`, with all options. A table that such a file cannot hold
    raises one of Arrow's errors (ArrowInvalid, ArrowNotImplementedError).
    """
    typed: bool
    """Whether columns come back with their types. If not, all of them come back as text, and
    reading tells which are numbers.
    """
    nested: bool
    """Whether lists, structs and bytes can be held too."""
    mixed: bool = False
    """Of a format with types: whether each cell has one of its own, so that the texts of a column
    may mean numbers or dates. Such columns are typed by the rules for text files where they are
    quasi-identifying, or mix types.
    """
    check_names: Callable[[Sequence[str]], None] | None = None
    """`check_names(names)`: raises InputError where such a file cannot have columns of these names;
    asked before any work is done.
    """
    empties: bool = True
    """Whether empty text and a missing cell are told apart; if not, both come back as missing."""
    read_only: str = ""
    """Why such files are read and not written, and what to write instead; "" where both can be
    done.
    """
    holds: Callable[[Labels, pa.ChunkedArray], Labels] | None = None
    """`holds(labels, column)`: what of a column's labels such a file can hold, as they come back;
    None where it holds no labels. What it cannot hold goes into a file beside (see `sidecar.py`).
    """
    codes: Callable[[Labels, pa.ChunkedArray], Mapping[Any, Any]] | None = None
    """`codes(labels, column)`: codes that come back as others: those for .a to .z in the place of
    numbers that are declared missing.
    """
    options: Mapping[str, Any] = field(default_factory=dict)
    """What can be said about how a file is written, with the value it has if nobody says so."""
    detect: Callable[[Path], Mapping[str, Any]] = no_options
    """`detect(path)`: the options with which an existing file was written."""
    recognise: Callable[[bytes], bool] = bool
    """`recognise(beginning)`: whether a file that begins so may be one of this format, and so be
    replaced by one.
    """
    in_pieces: Callable[..., Any] | None = None
    """`in_pieces(path, schema)`: a context in which a function writes a table piece by piece, each
    of `RECORDS_IN_A_PIECE` records but the last, to the very bytes that `write` would. None where
    tables are written as a whole only.
    """
    reading: tuple[Parameter, ...] = ()
    """What a user can say about a file to be read. Every command that reads a file has options for
    these, and so has every function: their names are those of `read`'s arguments.
    """
    writing: tuple[Parameter, ...] = ()
    """What a user can say about how a file is written: options of these names. Commands that write
    a file have options for these.
    """
    own: tuple[str, ...] = ()
    """Options that the ending of the file's name answers by itself: the input's do not count for
    them.
    """
    read_back: Mapping[str, Any] = field(default_factory=dict)
    """What `read` is told besides the options about a file that `write` has written."""
    unquoted_gaps: bool = False
    """Whether `read` takes the places of columns in which markers without quotes mean missing, as
    `unquoted_gaps`.
    """
    needs: tuple[str, ...] = ()
    """Packages to import beyond those that microagg always has, and the extra of microagg that
    installs them.
    """
    extra: str = ""
    packing: str = ""
    """How such files are packed, text files only: "gzip" or "zstd"."""
    in_parts: bool = False
    """Whether a table is a folder of such files, not one."""
    article: str = "a"
    """What goes before the name in a sentence: "an Arrow file"."""

    @property
    def one_file(self) -> str:
        """What a sentence calls one such file: "a csv file"."""
        return (
            f"a folder of {self.name} parts"
            if self.in_parts
            else f"{self.article} {self.name} file"
        )

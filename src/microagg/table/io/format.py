"""What a file format is: the one kind of entry in the list of formats."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from microagg.table.parameters import Declared

if TYPE_CHECKING:
    import pyarrow as pa


RECORDS_IN_A_PIECE = 1 << 18
"""Of every file that is written in pieces, however large: whoever reads it piece by piece needs room for so many."""


def no_options(path: Path) -> dict[str, Any]:
    """What a format without options finds out about a file: nothing."""
    return {}


@dataclass(frozen=True)
class Format:
    """How tables are read from files of one format and written to them, and what these can hold.

    `read` and `write` never go by the path's name, for a file that is being written has another until it is verified:
    what two suffixes do differently makes two entries.

    >>> from microagg.table.io.csv_format import CSV
    >>> CSV.suffixes, CSV.typed, CSV.options
    (('.csv',), False, {'delimiter': ',', 'escape_formulas': False})
    """

    name: str
    """What a sentence calls such a file: "a csv file"."""
    suffixes: tuple[str, ...]
    """How the names of such files end, in small letters and with all dots, such as ".csv"."""
    read: Callable[..., pa.Table]
    """`read(path, **options)`: the whole table as the file holds it. Without options they are found out from the file.
    A file that cannot be read raises InputError, which names the place and never quotes a value."""
    write: Callable[..., None]
    """`write(table, path, **options)`, with all options. A table that such a file cannot hold raises one of Arrow's errors
    (ArrowInvalid, ArrowNotImplementedError)."""
    typed: bool
    """Whether columns come back with their types. If not, all of them come back as text, and reading tells which are numbers."""
    nested: bool
    """Whether lists, structs and bytes can be held too."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """What can be said about how a file is written, with the value it has if nobody says so."""
    detect: Callable[[Path], Mapping[str, Any]] = no_options
    """`detect(path)`: the options with which an existing file was written."""
    recognise: Callable[[bytes], bool] = bool
    """`recognise(beginning)`: whether a file that begins so may be one of this format, and so be replaced by one."""
    in_pieces: Callable[..., Any] | None = None
    """`in_pieces(path, schema)`: a context in which a function writes a table piece by piece, each of `RECORDS_IN_A_PIECE`
    records but the last, to the very bytes that `write` would. None where tables are written as a whole only."""
    reading: tuple[Declared, ...] = ()
    """What a user can say about a file to be read. Every command that reads a file has options for these, and so has every
    function: their names are those of `read`'s arguments."""
    read_back: Mapping[str, Any] = field(default_factory=dict)
    """What `read` is told besides the options about a file that `write` has written."""
    needs: tuple[str, ...] = ()
    """Packages to import beyond those that microagg always has, and the extra of microagg that installs them."""
    extra: str = ""
    article: str = "a"
    """What goes before the name in a sentence: "an Arrow file"."""

    @property
    def one_file(self) -> str:
        """What a sentence calls one such file: "a csv file"."""
        return f"{self.article} {self.name} file"

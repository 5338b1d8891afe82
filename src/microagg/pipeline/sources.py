"""Tables by path or as open files, for functions that take tables."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from microagg.errors import InputError, MicroaggError, reword
from microagg.release.renaming import with_old_names
from microagg.release.selecting import expand_patterns

if TYPE_CHECKING:
    import pyarrow as pa

    from microagg.files.stores.locations import Url
    from microagg.release.settings import Settings

BEGINNING = 4096  # bytes, by which the format of a file without a name is recognised


def is_path(value: Any) -> bool:
    """Return whether this is a path, as text or as an object.

    >>> is_path("survey.csv"), is_path({"age": [30]})
    (True, False)
    """
    return isinstance(value, str | os.PathLike)


def is_open_file(value: Any) -> bool:
    """Return whether this is a file that was opened, or an object that reads like one.

    >>> import io
    >>> is_open_file(io.StringIO("age")), is_open_file("survey.csv")
    (True, False)
    """
    return callable(getattr(value, "read", None)) and not is_path(value)


def read_source(source: Any, settings: Settings) -> tuple[pa.Table, str]:
    """Return the table of a path or an open file, and the name of the file; columns are typed as
    the settings say.
    """
    if is_path(source):
        path = Path(source)
        return read_for_settings(path, settings_for_file(settings, path)), path.name
    with _copied(source) as path:
        return read_for_settings(path, settings_for_file(settings, path)), path.name


def path_of(value: Any, what: str) -> Any:
    """Return a path as it is, and the path of an open file; `what` names the argument in an
    error.
    """
    from microagg.files.stores.locations import Url

    if is_path(value) or isinstance(value, Url):
        return value
    name = getattr(value, "name", None)
    if what == "source" and is_open_file(value) and isinstance(name, str) and os.path.isfile(name):
        return Path(name)
    if what == "source" and is_open_file(value):
        raise InputError(
            "source must be the path of a file; for an open file without a path, use "
            "ma.anonymize(file, …).save(target)."
        )
    raise InputError(f"{what} must be the path of a file, such as 'survey.csv'.")


def read_for_settings(path: str | Path, settings: Settings) -> pa.Table:
    """Return the table of a file or a folder of parts; columns of text files are typed as the
    settings say.
    """
    from microagg.files.chunks import is_in_parts, read_whole
    from microagg.files.reading import read_table

    if is_in_parts(path):
        return read_whole(path)
    settings = with_old_names(settings)
    return read_table(path, quasi=settings.numbers, settings=settings.columns, **settings.reading)


def settings_for_file(settings: Settings, path: str | Path | Url) -> Settings:
    """Return the same settings with names in place of patterns: those of the columns of the
    file.
    """
    from microagg.files.column_names import columns_of_file

    return expand_patterns(settings, lambda: columns_of_file(path, **settings.reading))


@contextlib.contextmanager
def _copied(file: Any) -> Iterator[Path]:
    """Yield the path of a private copy of what is left to be read of an open file; errors call it
    by the file's name.
    """
    with tempfile.TemporaryDirectory(prefix="microagg-") as folder:
        unnamed = Path(folder) / "unnamed"
        try:
            with open(unnamed, "wb") as copy:
                first = file.read(BEGINNING)
                copy.write(_as_bytes(first))
                if isinstance(first, str):
                    while text := file.read(1 << 20):
                        copy.write(_as_bytes(text))
                else:
                    shutil.copyfileobj(file, copy)
        except (OSError, ValueError, UnicodeError, TypeError):
            raise InputError(
                "the open file cannot be read; open it for reading, or give its path."
            ) from None
        path = unnamed.rename(Path(folder) / _name_for(file, _as_bytes(first)))
        try:
            yield path
        except MicroaggError as error:
            reword(error, lambda text: text.replace(str(path), path.name))
            raise


def _as_bytes(content: str | bytes) -> bytes:
    return content.encode("utf-8") if isinstance(content, str) else bytes(content)


def _name_for(file: Any, beginning: bytes) -> str:
    """Return a file name with the suffix of its format: its own name, or one by how the content
    begins.
    """
    from microagg.files.formats import formats

    name = getattr(file, "name", None)
    known = [suffix for format in formats() for suffix in format.suffixes]
    if isinstance(name, str) and any(name.lower().endswith(suffix) for suffix in known):
        return Path(name).name
    for format in formats():
        if (
            (format.typed or format.packing)
            and format.recognise is not bool
            and format.recognise(beginning)
        ):
            return f"open file{format.suffixes[0]}"
    return "open file.csv"

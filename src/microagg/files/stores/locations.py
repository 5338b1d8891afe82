"""Where tables lie: paths of this machine, which stay what they are, or addresses of object stores
(s3://, gs://, abfs://, …).

A store has no modes, no locks and no renaming; a file there is put whole or not at all. Credentials
come from the environment, as `pyarrow.fs` takes them, or from the address itself: so an address is
shown without its user and its query, everywhere.
"""

from __future__ import annotations

import contextlib
import fnmatch
import functools
import hashlib
import os
import re
import secrets
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, TypeVar
from urllib.parse import quote, unquote, urlsplit, urlunsplit

from microagg.errors import InputError, MicroaggError

if TYPE_CHECKING:
    from pyarrow.fs import FileSystem

STORES = ("s3", "gs", "gcs", "abfs", "abfss", "hdfs", "viewfs")
FILE = "file"
MORE: dict[str, Callable[[], FileSystem]] = {}
"""Stores by other schemes; paths in them are the host and what follows it."""
AT_ONCE = 1 << 23  # bytes
OLD = 86_400.0  # seconds
PART = ".part"
_ADDRESS = re.compile(r"([a-zA-Z][a-zA-Z0-9+.-]+):/{1,3}(.*)", re.DOTALL)


@dataclass(frozen=True, repr=False)
class Url:
    """A file, a folder or a pattern in an object store. As a string it has no credentials in it."""

    address: str
    """With whatever is needed to get there."""

    def __str__(self) -> str:
        return shown(self.address)

    def __repr__(self) -> str:
        return f"Url({str(self)!r})"

    @property
    def name(self) -> str:
        """The last part of it.

        >>> Url("s3://key:secret@bucket/survey/in%20put.parquet?region=eu-west-1").name
        'in put.parquet'
        """
        return unquote(urlsplit(self.address).path.rstrip("/").rpartition("/")[2])

    @property
    def is_pattern(self) -> bool:
        """Whether it stands for several files."""
        return "*" in self.name

    @property
    def address_is_folder(self) -> bool:
        """Whether it was said to be a folder, by a slash at its end.

        >>> Url("s3://bucket/out/?region=eu-west-1").address_is_folder
        True
        """
        return urlsplit(self.address).path.endswith("/")

    def with_name(self, name: str) -> Url:
        """Another file of the same folder.

        >>> str(Url("s3://bucket/survey/in.parquet").with_name("out.parquet"))
        's3://bucket/survey/out.parquet'
        """
        return self._at(urlsplit(self.address).path.rstrip("/").rpartition("/")[0], name)

    def below(self, name: str) -> Url:
        """A file in this folder."""
        return self._at(urlsplit(self.address).path.rstrip("/"), name)

    def _at(self, folder: str, name: str) -> Url:
        return Url(
            urlunsplit(urlsplit(self.address)._replace(path=f"{folder}/{quote(name, safe='*')}"))
        )

    # ---- what lies there

    def size(self) -> int | None:
        """How many bytes a file has; None where there is no file."""
        from pyarrow.fs import FileType

        found = self._info()
        return found.size if found.type == FileType.File else None

    def is_folder(self) -> bool:
        """Whether files lie below it."""
        from pyarrow.fs import FileType

        return not self.is_pattern and self._info().type == FileType.Directory

    def state(self) -> object:
        """Another one when somebody has put another file there; None where there is none."""
        found = self._info()
        return None if self.size() is None else (found.size, found.mtime_ns)

    def files(self) -> list[Url]:
        """The files in a folder, or those of a pattern, in the order of their names."""
        from pyarrow.fs import FileSelector, FileType

        folder = self.with_name("") if self.is_pattern else self
        system, path = folder.opened()
        with describe_location(self):
            inside = system.get_file_info(FileSelector(path.rstrip("/"), allow_not_found=True))
        names = sorted(each.base_name for each in inside if each.type == FileType.File)
        return [
            folder.below(name)
            for name in names
            if not self.is_pattern or fnmatch.fnmatchcase(name, self.name)
        ]

    def _info(self) -> Any:
        system, path = self.opened()
        with describe_location(self):
            return system.get_file_info(path.rstrip("/"))

    def opened(self) -> tuple[FileSystem, str]:
        """The store, and where in it this lies."""
        parts = urlsplit(self.address)
        with describe_location(self):
            if parts.scheme in MORE:
                return _other(parts.scheme), unquote(
                    f"{parts.netloc.rpartition('@')[2]}{parts.path}"
                )
            return _reached(urlunsplit(parts._replace(path=quote(parts.path, safe="/%*"))))

    # ---- bytes

    @contextlib.contextmanager
    def reading(self) -> Iterator[Any]:
        """A file of Arrow that reads what lies there."""
        system, path = self.opened()
        with describe_location(self):
            file = system.open_input_file(path)
        with file:
            yield file

    def fetch(self, place: Path, most: int | None = None) -> None:
        """Copy it, or its first bytes, to a file of this machine."""
        with describe_location(self), self.reading() as there, place.open("xb") as here:
            left = there.size() if most is None else min(most, there.size())
            while left > 0:
                block = there.read(min(AT_ONCE, left))
                here.write(block)
                left -= len(block)

    def send(self, place: Path) -> Url:
        """Copy a file to the folder of this one, under a name of its own, and make sure that it
        comes back to the byte.
        """
        part = self.with_name(f".{secrets.token_hex(8)}.{self.name}{PART}")
        part._fill(place)
        return part

    def _fill(self, place: Path) -> None:
        """Send a file there; raises unless it comes back to the byte, and leaves nothing then."""
        system, path = self.opened()
        sent = hashlib.sha256()
        with describe_location(self, "written"):
            try:
                out = system.open_output_stream(path)
            except FileNotFoundError:  # of a store that knows folders
                system.create_dir(path.rpartition("/")[0], recursive=True)
                out = system.open_output_stream(path)
            try:
                with place.open("rb") as here:
                    while block := here.read(AT_ONCE):
                        sent.update(block)
                        out.write(block)
                out.close()
            except BaseException:
                with contextlib.suppress(Exception):
                    # or it would be closed later, by nobody knows whom, and half a file appear
                    out.close()
                self.remove()
                raise
        with self.reading() as there, describe_location(self):
            if _digest(there) != sent.hexdigest():
                self.remove()
                raise InputError(
                    f"what was sent to {str(self.with_name(''))!r} does not come back; try again."
                )

    def take(self, part: Url, place: Path) -> None:
        """Let the store copy here, in one step, what was sent of a file; what is too large for that
        is sent once more.
        """
        (system, path), (_, there) = self.opened(), part.opened()
        with contextlib.suppress(OSError):
            system.copy_file(there, path)
            return
        self._fill(place)

    def remove_left(self) -> None:
        """Remove what killed runs have left of this file on their way here; nothing tells whether a
        young one is still at work.
        """
        for each in self.with_name("").files():
            if each.name.startswith(".") and each.name.endswith(f".{self.name}{PART}"):
                begun = each._info().mtime
                if begun is not None and time.time() - begun.timestamp() > OLD:
                    each.remove()

    def remove(self) -> None:
        """Remove a file, if it is there."""
        system, path = self.opened()
        with describe_location(self, "removed"), contextlib.suppress(FileNotFoundError):
            system.delete_file(path)


AnyPlace = TypeVar("AnyPlace", Path, Url, Path | Url)


def _digest(file: IO[bytes] | Any) -> str:
    digest = hashlib.sha256()
    while block := file.read(AT_ONCE):
        digest.update(block)
    return digest.hexdigest()


@functools.lru_cache(maxsize=256)
def _reached(address: str) -> tuple[FileSystem, str]:
    from pyarrow.fs import FileSystem

    return FileSystem.from_uri(address)


@functools.cache
def _other(scheme: str) -> FileSystem:
    return MORE[scheme]()


@contextlib.contextmanager
def describe_location(url: Url, what: str = "read") -> Iterator[None]:
    """One sentence in place of what a store or Arrow says, which may quote keys."""
    import pyarrow as pa

    try:
        yield
    except MicroaggError:
        raise
    except FileNotFoundError:
        raise InputError(f"there is no file {str(url)!r}; check the address.") from None
    except (pa.ArrowException, OSError, ValueError) as error:
        raise InputError(
            f"{str(url)!r} cannot be {what} ({type(error).__name__}); check the address, "
            f"the network and the credentials of the "
            "environment."
        ) from None


def shown(place: str | Path | Url) -> str:
    """A path as it is; an address without its user, password and query.

    >>> shown("s3://key:secret@bucket/in.parquet?region=eu-west-1"), shown("in.parquet")
    ('s3://bucket/in.parquet', 'in.parquet')
    """
    text = place.address if isinstance(place, Url) else str(place)
    if "://" not in text:
        return text
    parts = urlsplit(text)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


def parse_location(path: str | Path | Url) -> Path | Url:
    """A path of this machine (file:// is one, too), or an address of a store; a path that was an
    address has lost a slash.

    >>> parse_location("in.parquet").name, parse_location(Path("s3://bucket/in.parquet")), str(parse_location("file:///data/in%20put.parquet"))
    ('in.parquet', Url('s3://bucket/in.parquet'), '/data/in put.parquet')
    >>> parse_location(Path("ftp://me:secret@somewhere/in.parquet"))
    Traceback (most recent call last):
    ...
    microagg.errors.InputError: nothing is read from or written to ftp://; name a path, or an address of s3, gs, gcs, abfs, abfss, hdfs, viewfs, file.
    """
    if isinstance(path, Url):
        return path
    found = _ADDRESS.fullmatch(str(path))
    if found is None:
        return Path(path)
    scheme, rest = found[1].lower(), found[2]
    if scheme == FILE:
        return _local(rest)
    if scheme in STORES or scheme in MORE:
        return Url(f"{scheme}://{rest.lstrip('/')}")
    if (isinstance(path, str) and "://" in path) or not os.path.lexists(f"{found[1]}:"):
        raise InputError(
            f"nothing is read from or written to {scheme}://; name a path, or an address "
            f"of {', '.join((*STORES, FILE))}."
        )
    return Path(path)


def _local(rest: str) -> Path:
    """The path of file:///data/in.parquet, or of file://localhost/data/in.parquet."""
    return Path("/" + unquote(rest.removeprefix("localhost/").lstrip("/")))


@contextlib.contextmanager
def to_read(place: Path | Url) -> Iterator[Any]:
    """What Arrow's readers take: a path as it is, or a file of a store."""
    if isinstance(place, Path):
        yield str(place)
        return
    with place.reading() as file:
        yield file

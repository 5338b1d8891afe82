"""Local paths, and addresses of object stores (s3://, gs://, abfs://, …).

A store has no modes, no locks and no renaming; a file is stored whole or not at all. Credentials
come from the environment, as `pyarrow.fs` takes them, or from the address itself. So addresses are
always shown without user and query.
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
    """File, folder or pattern in an object store. Its string form has no credentials."""

    address: str
    """Full address, with credentials."""

    def __str__(self) -> str:
        return shown(self.address)

    def __repr__(self) -> str:
        return f"Url({str(self)!r})"

    @property
    def name(self) -> str:
        """Last part of the path.

        >>> Url("s3://key:secret@bucket/survey/in%20put.parquet?region=eu-west-1").name
        'in put.parquet'
        """
        return unquote(urlsplit(self.address).path.rstrip("/").rpartition("/")[2])

    @property
    def is_pattern(self) -> bool:
        """True if it is a pattern of several files."""
        return "*" in self.name

    @property
    def address_is_folder(self) -> bool:
        """True if the address ends in a slash, which declares a folder.

        >>> Url("s3://bucket/out/?region=eu-west-1").address_is_folder
        True
        """
        return urlsplit(self.address).path.endswith("/")

    def with_name(self, name: str) -> Url:
        """Return another file of the same folder.

        >>> str(Url("s3://bucket/survey/in.parquet").with_name("out.parquet"))
        's3://bucket/survey/out.parquet'
        """
        return self._at(urlsplit(self.address).path.rstrip("/").rpartition("/")[0], name)

    def below(self, name: str) -> Url:
        """Return a file in this folder."""
        return self._at(urlsplit(self.address).path.rstrip("/"), name)

    def _at(self, folder: str, name: str) -> Url:
        return Url(
            urlunsplit(urlsplit(self.address)._replace(path=f"{folder}/{quote(name, safe='*')}"))
        )

    # ---- what lies there

    def size(self) -> int | None:
        """Return the size of a file in bytes; None if there is no file."""
        from pyarrow.fs import FileType

        info = self._info()
        return info.size if info.type == FileType.File else None

    def is_folder(self) -> bool:
        """Check if it is a folder."""
        from pyarrow.fs import FileType

        return not self.is_pattern and self._info().type == FileType.Directory

    def state(self) -> object:
        """Return a value that changes when the file is replaced; None if there is no file."""
        info = self._info()
        return None if self.size() is None else (info.size, info.mtime_ns)

    def files(self) -> list[Url]:
        """Return the files of a folder or of a pattern, sorted by name."""
        from pyarrow.fs import FileSelector, FileType

        folder = self.with_name("") if self.is_pattern else self
        system, path = folder.opened()
        with describe_location(self):
            inside = system.get_file_info(FileSelector(path.rstrip("/"), allow_not_found=True))
        names = sorted(info.base_name for info in inside if info.type == FileType.File)
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
        """Return the file system of the store, and the path in it."""
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
        """Open the file for reading by Arrow."""
        system, path = self.opened()
        with describe_location(self):
            file = system.open_input_file(path)
        with file:
            yield file

    def fetch(self, path: Path, most: int | None = None) -> None:
        """Copy it, or its first bytes, to a local file."""
        with describe_location(self), self.reading() as remote, path.open("xb") as here:
            left = remote.size() if most is None else min(most, remote.size())
            while left > 0:
                block = remote.read(min(AT_ONCE, left))
                here.write(block)
                left -= len(block)

    def send(self, path: Path) -> Url:
        """Upload a file beside this one under a temporary name, and verify its bytes."""
        part = self.with_name(f".{secrets.token_hex(8)}.{self.name}{PART}")
        part._fill(path)
        return part

    def _fill(self, source: Path) -> None:
        """Upload a file and verify its bytes; removes it and raises if they differ."""
        system, path = self.opened()
        sent = hashlib.sha256()
        with describe_location(self, "written"):
            try:
                out = system.open_output_stream(path)
            except FileNotFoundError:  # of a store that knows folders
                system.create_dir(path.rpartition("/")[0], recursive=True)
                out = system.open_output_stream(path)
            try:
                with source.open("rb") as here:
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
        with self.reading() as remote, describe_location(self):
            if _digest(remote) != sent.hexdigest():
                self.remove()
                raise InputError(
                    f"the copy in {str(self.with_name(''))!r} differs from what was sent; try "
                    f"again."
                )

    def take(self, part: Url, source: Path) -> None:
        """Copy an uploaded part here within the store; if it cannot, upload the file again."""
        (system, path), (_, part_path) = self.opened(), part.opened()
        with contextlib.suppress(OSError):
            system.copy_file(part_path, path)
            return
        self._fill(source)

    def remove_left(self) -> None:
        """Remove parts that killed runs have left, if they are old; a recent one may still be in
        use.
        """
        for url in self.with_name("").files():
            if url.name.startswith(".") and url.name.endswith(f".{self.name}{PART}"):
                begun = url._info().mtime
                if begun is not None and time.time() - begun.timestamp() > OLD:
                    url.remove()

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
    """Replace errors of a store or Arrow, which may quote keys, by one sentence."""
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


def shown(location: str | Path | Url) -> str:
    """Return a path unchanged, and an address without user, password and query.

    >>> shown("s3://key:secret@bucket/in.parquet?region=eu-west-1"), shown("in.parquet")
    ('s3://bucket/in.parquet', 'in.parquet')
    """
    text = location.address if isinstance(location, Url) else str(location)
    if "://" not in text:
        return text
    parts = urlsplit(text)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


def parse_location(path: str | Path | Url) -> Path | Url:
    """Return a local path (also of file://), or the address of a store.

    A `Path` made from an address has lost a slash, which is restored.

    >>> (
    ...     parse_location("in.parquet").name,
    ...     parse_location(Path("s3://bucket/in.parquet")),
    ...     str(parse_location("file:///data/in%20put.parquet")),
    ... )
    ('in.parquet', Url('s3://bucket/in.parquet'), '/data/in put.parquet')
    >>> parse_location(Path("ftp://me:secret@somewhere/in.parquet"))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    microagg.errors.InputError: nothing is read from or written to ftp://; name a path, or ...
    """
    if isinstance(path, Url):
        return path
    match = _ADDRESS.fullmatch(str(path))
    if match is None:
        return Path(path)
    scheme, rest = match[1].lower(), match[2]
    if scheme == FILE:
        return _local(rest)
    if scheme in STORES or scheme in MORE:
        return Url(f"{scheme}://{rest.lstrip('/')}")
    if (isinstance(path, str) and "://" in path) or not os.path.lexists(f"{match[1]}:"):
        raise InputError(
            f"nothing is read from or written to {scheme}://; name a path, or an address "
            f"of {', '.join((*STORES, FILE))}."
        )
    return Path(path)


def _local(rest: str) -> Path:
    """Return the path of file:///data/in.parquet, or of file://localhost/data/in.parquet."""
    return Path("/" + unquote(rest.removeprefix("localhost/").lstrip("/")))


@contextlib.contextmanager
def to_read(location: Path | Url) -> Iterator[Any]:
    """Yield an argument for Arrow's readers: a local path, or an open file of a store."""
    if isinstance(location, Path):
        yield str(location)
        return
    with location.reading() as file:
        yield file

"""Zip files whose bytes follow from their content, and strict reading of them."""

from __future__ import annotations

import io
import stat
import zipfile
from collections.abc import Mapping
from pathlib import Path

from microagg.errors import InputError

MOST_BYTES = 2_000_000_000
MOST_FILES = 32
_TIME = (1980, 1, 1, 0, 0, 0)


def zip_bytes(files: Mapping[str, bytes]) -> bytes:
    """Return a zip file with these files: sorted, stored, without times.

    >>> zip_bytes({"b": b"2", "a": b"1"}) == zip_bytes({"a": b"1", "b": b"2"})
    True
    """
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        for name in sorted(files):
            entry = zipfile.ZipInfo(name, _TIME)
            entry.create_system = 3
            entry.external_attr = (stat.S_IFREG | 0o644) << 16
            archive.writestr(entry, files[name])
    return buffer.getvalue()


def read_zip(path: Path) -> dict[str, bytes]:
    """Return the files of a pack.

    Raises
    ------
    InputError
        If it is not, to the byte, a zip file that `zip_bytes` makes.
    """
    try:
        if path.stat().st_size > MOST_BYTES:
            raise InputError(f"{path.name} is larger than 2 GB; a pack is smaller.")
        content = path.read_bytes()
    except OSError:
        raise InputError(f"{path.name} cannot be opened; check the path.") from None
    try:
        files = _files_in(content)
    except (zipfile.BadZipFile, ValueError, NotImplementedError, RuntimeError, EOFError, OSError):
        raise InputError(f"{path.name} is damaged or not a pack.") from None
    if zip_bytes(files) != content:
        raise InputError(f"{path.name} was changed, or another program has packed it.")
    return files


def _files_in(content: bytes) -> dict[str, bytes]:
    files: dict[str, bytes] = {}
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        entries = archive.infolist()
        if len(entries) > MOST_FILES:
            raise ValueError("too many files")
        for entry in entries:
            plain = "/" not in entry.filename and "\\" not in entry.filename
            stored = entry.compress_type == zipfile.ZIP_STORED and not entry.flag_bits & 1
            if not plain or not stored or entry.filename in files or entry.filename in ("", ".."):
                raise ValueError("an entry that no pack has")
            if entry.file_size > len(content):
                raise ValueError("an impossible size")
            files[entry.filename] = archive.read(entry)
    return files

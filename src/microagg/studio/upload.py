"""Uploads: a body that streams into the session's folder, and forms of limited size."""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any
from urllib.parse import parse_qsl, unquote

from microagg.studio.worker import TaskError

LARGEST = 200 * 1000 * 1000
LARGEST_FORM = 4 * 1000 * 1000
MOST_FIELDS = 50_000
LONGEST_NAME = 150


class TooLargeError(TaskError):
    """A body is larger than what is accepted."""


def file_name(header: str) -> str:
    """Return the safe name of an uploaded file.

    >>> file_name("C:%5Cdata%5Csurvey.csv"), file_name("../x.csv")
    ('survey.csv', 'x.csv')
    """
    name = PureWindowsPath(PurePosixPath(unquote(header, errors="replace")).name).name
    name = "".join(letter for letter in name if letter.isprintable()).strip()
    if name in ("", ".", "..") or "." not in name:
        raise TaskError("The file has no name with an ending such as .csv; rename it.")
    if len(name.encode("utf-8", "replace")) > LONGEST_NAME:
        raise TaskError(f"The file name is longer than {LONGEST_NAME} bytes; rename the file.")
    return name


async def receive_file(request: Any, folder: Path, largest: int = LARGEST) -> Path:
    """Write the body of a request to a new file in a folder; remove it if it does not arrive."""
    name = file_name(request.headers.get("x-file-name", ""))
    too_large = TooLargeError(
        f"The file is larger than {largest:,} bytes; start the studio with --limit, or name the "
        "file on the command line, where it is read without a copy."
    )
    if _length(request) > largest:
        raise too_large
    path = Path(tempfile.mkdtemp(prefix="upload-", dir=folder)) / name
    received = 0
    try:
        with open(path, "xb", opener=lambda file, flags: os.open(file, flags, 0o600)) as file:
            async for chunk in request.stream():
                received += len(chunk)
                if received > largest:
                    raise too_large
                file.write(chunk)
        if received == 0:
            raise TaskError("The file is empty; choose another one.")
    except OSError:
        remove_upload(path)
        raise TaskError("The disk is too full for this file; free some space.") from None
    except BaseException:  # also a connection that breaks off
        remove_upload(path)
        raise
    return path


def remove_upload(path: Path) -> None:
    """Remove an uploaded file and its folder."""
    with contextlib.suppress(OSError):
        path.unlink(missing_ok=True)
        path.parent.rmdir()


async def receive_form(request: Any) -> dict[str, str]:
    """Return the fields of a form; fields that occur several times are joined by line ends."""
    if _length(request) > LARGEST_FORM:
        raise TooLargeError("The form is too large; shorten its texts.")
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > LARGEST_FORM:
            raise TooLargeError("The form is too large; shorten its texts.")
    fields: dict[str, str] = {}
    try:
        pairs = parse_qsl(
            body.decode("utf-8", "replace"), keep_blank_values=True, max_num_fields=MOST_FIELDS
        )
    except ValueError:
        raise TaskError("The form cannot be read; reload the page.") from None
    for name, value in pairs:
        fields[name] = f"{fields[name]}\n{value}" if name in fields else value
    return fields


def _length(request: Any) -> int:
    text = request.headers.get("content-length", "0")
    return int(text) if text.isdecimal() else 0

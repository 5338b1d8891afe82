"""What a comparison has found so far, in a file that a kill at any moment leaves readable."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

from microagg.errors import InputError
from microagg.files.commit import system
from microagg.files.commit.writing import check_unwritable
from microagg.studies.compare_cells import Outcome

HEADER = b'{"microagg": "compare", "format": 1}\n'
# no link is followed; Windows would change the ends of lines
PLAIN = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
KEPT = [entry.name for entry in fields(Outcome) if entry.name != "lasting"]


class State:
    """A file of outcomes, one JSON line each under the key of its cell: figures only, nothing of
    single records.

    A line is written at once and flushed to disk. A line that a kill has torn is passed over when
    the file is read.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "state.jsonl"
    >>> State(path).add("key of a cell", Outcome({"il": 5.0}, 9, 3))
    >>> State(path).outcomes["key of a cell"].figures
    {'il': 5.0}
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        check_unwritable(path)
        if path.is_symlink():  # where it leads, others may have decided
            raise InputError(f"{str(path)!r} is a link; name the file itself.")
        content = self._content()
        if content != HEADER and HEADER.startswith(content):  # killed while it began
            content = b""
        if content and not content.startswith(HEADER):
            raise InputError(f"{str(path)!r} is not the state of a comparison; name another file.")
        if not content:
            self._begin()
        elif not content.endswith(b"\n"):
            self._append(b"\n")  # so that the next line does not continue a torn one
        self.outcomes: dict[str, Outcome] = {}
        for line in content.splitlines()[1:]:
            self._take(line)

    def add(self, key: str, outcome: Outcome) -> None:
        """Keep what a cell gave."""
        kept = {name: value for name, value in asdict(outcome).items() if name in KEPT}
        self._append(json.dumps({"key": key, **kept}, ensure_ascii=False).encode() + b"\n")
        self.outcomes[key] = outcome

    def _content(self) -> bytes:
        try:
            return self._path.read_bytes() if self._path.exists() else b""
        except OSError:
            raise InputError(
                f"{str(self._path)!r} cannot be read; check its permissions."
            ) from None

    def _begin(self) -> None:
        self._path.unlink(missing_ok=True)
        self._append(HEADER)

    def _append(self, line: bytes) -> None:
        # for the owner's eyes: the keys depend on the table, and the figures on what has not been
        # released
        descriptor = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | PLAIN, 0o600)
        try:
            system.set_mode(descriptor, 0o600)
            system.append(descriptor, line)
            system.flush(descriptor)
        finally:
            os.close(descriptor)

    def _take(self, line: bytes) -> None:
        try:
            entry: Any = json.loads(line)
        except (ValueError, RecursionError):
            return
        if isinstance(entry, dict) and entry.keys() == {"key", *KEPT} and _is_outcome(entry):
            key = entry.pop("key")
            self.outcomes[key] = Outcome(**entry)


def _is_outcome(entry: dict[str, Any]) -> bool:
    """Whether every part of an entry is of the type it should be; what is not ours is passed over,
    and run again.
    """
    figures = entry["figures"]
    return (
        isinstance(entry["key"], str)
        and isinstance(figures, dict)
        and all(_is_number(figure) for figure in figures.values())
        and all(type(entry[name]) is int for name in ("classes", "smallest_class"))
        and isinstance(entry["error"], str)
        and (bool(figures) or bool(entry["error"]))
        and _is_number(entry["seconds"])
    )


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)

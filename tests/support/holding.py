"""Content as text files are read from: a file, or a buffer in memory."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa

Hold = Callable[[bytes], Path | pa.Buffer]


def holding(where: str, folder: Path) -> Hold:
    """Return a function that puts content into a file of a folder, or ("memory") into a buffer."""

    def hold(content: bytes) -> Path | pa.Buffer:
        if where == "memory":
            return pa.py_buffer(content)
        (folder / "in.csv").write_bytes(content)
        return folder / "in.csv"

    return hold

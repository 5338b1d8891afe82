"""A table worked on twice, in memory and in passes with very small chunks: both must release the
same to the byte.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet

from microagg.pipeline.files import anonymize_file
from microagg.pipeline.memory_budget import MemoryBudget
from microagg.pipeline.on_disk import OnDiskRelease


def both_ways(
    tmp_path: Path,
    monkeypatch: Any,
    table: pa.Table,
    chunk: int = 64,
    memory: int = 10**8,
    **settings: Any,
) -> tuple[dict[str, bytes], dict[str, bytes], dict[str, Any]]:
    """The files of a release in memory, those of one in passes, and the internal manifest of the
    latter.
    """
    source = tmp_path / "in.parquet"
    pa.parquet.write_table(table, source, row_group_size=100 if chunk == 64 else 5000)

    def checked(self: MemoryBudget, *_: Any) -> MemoryBudget:
        return MemoryBudget(memory, self.threads, chunk, self.threads, 2, 2)

    monkeypatch.setattr(MemoryBudget, "checked", checked)
    contents = []
    for name, more in (("memory", {}), ("beyond", {"memory": 1})):
        folder = tmp_path / name
        folder.mkdir(exist_ok=True)
        release = anonymize_file(source, folder / "out.parquet", threads=2, **more, **settings)
        assert isinstance(release, OnDiskRelease) == (name == "beyond")
        contents.append({path.name: path.read_bytes() for path in sorted(folder.iterdir())})
    return contents[0], contents[1], json.loads(contents[1]["out.parquet.internal.json"])

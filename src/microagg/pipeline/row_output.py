"""Writing of an out-of-core release: the rows of all blocks, in order, as one file or as parts."""

from __future__ import annotations

import functools
import itertools
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from microagg.files.columnar.parquet_folder import format_to_write, is_folder
from microagg.files.commit import system
from microagg.pipeline.block_output import BlockOutputConfig
from microagg.pipeline.block_plan import GroupingResult
from microagg.pipeline.parquet_parts import PartsWriting, write_part_of
from microagg.pipeline.row_order import schema_in, values_in_piece, write_rows, write_rows_aside
from microagg.pipeline.spill_index import SpillFile, SpillIndex
from microagg.runtime.executor import ThreadExecutor
from microagg.table.aggregates import coarse_columns
from microagg.table.columns.arrow import INDEX_TYPE
from microagg.table.columns.categories import joined, used_among, with_kinds
from microagg.table.columns.digests import digest_of_runs
from microagg.table.columns.field_metadata import with_metadata_of
from microagg.table.columns.text_types import TextType, text_types_in

if TYPE_CHECKING:
    from microagg.pipeline.run import OutOfCoreRun


@dataclass(frozen=True)
class WrittenTable:
    """Digests of a table that was written, before it is in place."""

    digest: str
    """Of its rows."""
    digest_of_files: str = ""
    """Of the files of a folder of parts."""


@dataclass
class RowOutput:
    """Released rows of all blocks."""

    run: OutOfCoreRun
    config: BlockOutputConfig
    grouped: GroupingResult
    work_dir: Path
    options: dict[str, Any]

    @property
    def records(self) -> int:
        """Number of released records."""
        return self.run.source.records

    def write(self, part: Path) -> WrittenTable:
        """Write all rows in the order of their keys, in batches of a fixed size."""
        blocks = (SpillFile.of(block["path"], block) for block in self.grouped.pieces)
        index = SpillIndex(list(blocks))
        if is_folder(self.run.target):
            return self._write_parts(part, index)
        return self._write_file(part, index)

    def _write_file(self, part: Path, index: SpillIndex) -> WrittenTable:
        """Write one file, which is the work of one task."""
        run = self.run
        buckets = tuple(index.holding([bucket]) for bucket in range(1 << self.config.row_bits))
        types, categories = self.categories
        args = (
            str(run.target), with_kinds(self.schema, types), buckets, self.options,
            run.budget.at_once, types, categories, self._text_types(),
        )  # fmt: skip
        if isinstance(run.executor, ThreadExecutor):
            return WrittenTable(
                run.executor.run_exclusive(write_rows, str(part), *args, tell=self._count)
            )
        path, digest = run.executor.run_exclusive(
            write_rows_aside,
            str(self.work_dir),
            *args,
            tell=self._count,
            needs=run.budget.a_bucket * run.budget.threads,
        )
        shutil.copyfile(path, part)
        self._count(self.records)
        return WrittenTable(digest)

    def _write_parts(self, folder: Path, index: SpillIndex) -> WrittenTable:
        """Write a folder of parts, one task each, which reads the buckets of its rows."""
        run, records = self.run, self.records
        plan = PartsWriting.of(index, 1 << self.config.row_bits, records)
        runs: list[bytes] = []
        digests: dict[str, str] = {}
        with plan.work_folder(folder) as work_dir:
            shared = *self.categories, self._text_types()
            tasks = ((*args, str(work_dir), *shared) for args in plan.tasks())
            needs = itertools.repeat(2 * run.budget.a_bucket)
            results = run.executor.map_ordered(write_part_of, tasks, run.budget.at_once, needs)
            for result in results:
                runs += result.runs
                digests[result.name] = result.digest
                self._count(result.records)
            plan.take_over(work_dir, folder, list(digests))
        return WrittenTable(
            digest_of_runs(run.schema.released(), records, runs), system.digest_of_files(digests)
        )

    @functools.cached_property
    def schema(self) -> pa.Schema:
        """Columns of the file; with the metadata of the input's where the format has no types."""
        if format_to_write(self.run.target).typed:
            return self._block_schema()
        return self._schema_with_metadata()

    @functools.cached_property
    def categories(self) -> tuple[dict[str, Any], dict[str, pa.Array]]:
        """Types of the columns of categories, and the categories that are released, in order."""
        schema, types = self._block_schema(), {}
        for name, values in self.config.categories.items():
            original: Any = self.run.source.schema.field(name).type
            same = name in schema.names and schema.field(name).type == values.type
            if same and not self._is_coarse(name):
                types[name] = pa.dictionary(INDEX_TYPE, values.type, original.ordered)
        if not types:
            return types, {}
        used: dict[str, pa.Array] = {}
        tasks = ((block["path"], tuple(types)) for block in self.grouped.pieces)
        executor, at_once = self.run.executor, self.run.budget.at_once
        for columns in executor.map_ordered(values_in_piece, tasks, at_once):
            for name, values in columns.items():
                used[name] = joined(used[name], values) if name in used else values
        whole = self.config.categories
        return types, {
            name: used_among(whole[name], used[name], ordered=kind.ordered)
            for name, kind in types.items()
        }

    def _block_schema(self) -> pa.Schema:
        return schema_in(self.grouped.pieces[0]["path"])

    def _schema_with_metadata(self) -> pa.Schema:
        schema = self._block_schema()
        coarse = filter(self._is_coarse, schema.names)
        source = self.run.source.schema.empty_table()
        return with_metadata_of(schema.empty_table(), source, coarse).schema

    def _text_types(self) -> dict[str, TextType]:
        """Return the texts that are values in a file with types; none where it has no types."""
        typed = format_to_write(self.run.target).typed
        return text_types_in(self._schema_with_metadata()) if typed else {}

    def _is_coarse(self, name: str) -> bool:
        return name in coarse_columns(self.run.settings.aggregates)

    def _count(self, records: int) -> None:
        self.run.telling("writing", records)

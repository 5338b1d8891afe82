"""The last passes: rows are written in order, what was written is verified, and takes its place
with its manifests.
"""

from __future__ import annotations

import itertools
import math
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import narwhals as nw
import numpy as np
import pyarrow as pa

from microagg.errors import GuaranteeError
from microagg.files.chunks import Source
from microagg.files.columnar.parquet_folder import format_to_write, is_folder
from microagg.files.commit import system, writing
from microagg.guarantees.k import Anonymity
from microagg.kernels import partial_sums, sums
from microagg.methods.method import Grouping
from microagg.pipeline.block_output import BlockOutputConfig
from microagg.pipeline.block_plan import GroupingResult, SpillFile, SpillIndex, TaskContext
from microagg.pipeline.loss import SpaceLoss, summed
from microagg.pipeline.merge_stats import merge_block_stats
from microagg.pipeline.notes import different_values, out_of_core_notes
from microagg.pipeline.on_disk import NOTE, OnDiskRelease, ReleaseInput
from microagg.pipeline.parquet_parts import PartsWriting, write_part_of
from microagg.pipeline.read_back import read_back
from microagg.pipeline.row_order import schema_in, values_in_piece, write_rows, write_rows_aside
from microagg.pipeline.selection import RecordSelection
from microagg.pipeline.sum_rules import records_in_pieces
from microagg.pipeline.verification import (
    ClassCounts,
    GuaranteeRecount,
    count_bucket,
    count_values,
    hash_chunk,
    units_in_order,
    units_source,
    values_chunk,
)
from microagg.proposal import rules
from microagg.proposal.rules import names_somebody
from microagg.release.manifest import internal_manifest, name_by
from microagg.release.notes_on_names import AS_THEY_ARE
from microagg.release.release import Release
from microagg.release.risks import notes_on_earlier_releases
from microagg.release.rules import released_variables, rules_as_data
from microagg.release.saving import manifest_pieces, table_piece
from microagg.release.weighting import change_of_weights, percents_of
from microagg.runtime.chunk_map import ChunkMap
from microagg.runtime.executor import ThreadExecutor
from microagg.runtime.spill import read_result
from microagg.table.aggregate import Aggregated
from microagg.table.aggregates import aggregate_of
from microagg.table.capping import Capped
from microagg.table.columns.arrow import INDEX_TYPE, release_unused_memory
from microagg.table.columns.categories import joined, used_among, with_kinds
from microagg.table.columns.digests import RowSums, digest_of_runs
from microagg.table.columns.field_metadata import with_metadata_of
from microagg.table.columns.profile import ColumnProfile, ProfileStats
from microagg.table.columns.text_types import TextType, text_types_in
from microagg.table.schema import Role
from microagg.table.variable import Cells

if TYPE_CHECKING:
    from microagg.pipeline.out_of_core import OutOfCoreRun


@dataclass
class ReleaseWriter:
    """The last passes: write in order, verify what was written, put it in place."""

    run: OutOfCoreRun
    layout: TaskContext
    finishing: BlockOutputConfig
    grouped: GroupingResult
    room: Path
    digest: str
    options: dict[str, Any]
    expected: Callable[[dict[str, Any], str], object] | None
    taking: RecordSelection
    capped: dict[str, Capped]

    def saved(self) -> Release:
        """Write the table and its manifests, and put them in place as one."""
        self._added: dict[str, Any] = {
            "rows": "kept" if self.run.keep_order else "shuffled", "dialect": self.options,
        }  # fmt: skip
        target = self.run.target
        content: dict[str, Any] = {}
        found: list[OnDiskRelease] = []

        def inspect(part: Path) -> None:
            content.update(self._verified(part))
            found.append(
                self._release(content)
            )  # before anything is in place, so that all of it is or nothing
            self.run.identity.check_last()

        pieces = [
            table_piece(target, self._write, inspect, lambda part: self._digest_of_files),
            *manifest_pieces(target, lambda: {**content, **self._added}),
        ]
        writing.put_in_place(pieces)
        facts = self.run, self.layout, self.finishing, self.grouped, content
        notes = out_of_core_notes(
            *facts, found[0].measured, self.capped, self.taking.sizes, self._looks
        )
        notes = (*self.taking.notes, *notes, *notes_on_earlier_releases(target, content), NOTE)
        return replace(found[0], notes=notes)

    def _release(self, content: dict[str, Any]) -> OnDiskRelease:
        """The release with what was set aside for its figures; if somebody waits for a report, with
        what it has to look up.
        """
        run = self.run
        measured = merge_block_stats(
            run, self.layout, self.finishing, self.grouped, self._anonymity.sizes
        )
        measured.kinds, measured.categories = self._kinds
        nothing = nw.from_native(pa.table({"": [0]}), eager_only=True)
        release = OnDiskRelease(
            None,
            np.empty(0, np.int32),
            content["loss"],
            content,
            run.schema,
            self._anonymity,
            _arrow=pa.table({}),
            _original=nothing,
            _written=self._added,
            _input=ReleaseInput.of(run.source, run.budget.chunk, run.budget.a_record),
        )
        release = OnDiskRelease.with_sample(measured, release)
        if run.reported:
            release.look_up(run.executor, run.telling)
        return release

    def _write(self, part: Path) -> None:
        """Rows in the order of their keys, bucket by bucket, in pieces of a fixed size: by one
        task, into a file of its own.
        """
        run, pieces = (
            self.run,
            SpillIndex([SpillFile.of(told["path"], told) for told in self.grouped.pieces]),
        )
        if is_folder(run.target):
            self._write_parts(part, pieces)
            return
        holdings = tuple(pieces.holding([bucket]) for bucket in range(1 << self.finishing.row_bits))
        schema = self._schema()
        kinds, categories = self._categories(schema)
        given = (
            str(run.target),
            with_kinds(schema, kinds),
            holdings,
            self.options,
            run.budget.at_once,
            kinds,
            categories,
            self._text_types(),
        )
        if isinstance(run.executor, ThreadExecutor):
            digest = run.executor.run_exclusive(write_rows, str(part), *given, tell=self._written)
        else:
            path, digest = run.executor.run_exclusive(
                write_rows_aside,
                str(self.room),
                *given,
                tell=self._written,
                needs=run.budget.a_bucket * run.budget.threads,
            )
            shutil.copyfile(path, part)
            run.telling("writing", self.layout.records)
        self._added["output"] = {"file": run.target.name, "digest": digest}

    def _schema(self) -> pa.Schema:
        """The columns that are written; with the marks of the input's in a file without types."""
        if format_to_write(self.run.target).typed:
            return schema_in(self.grouped.pieces[0]["path"])
        return self._marked_schema()

    def _marked_schema(self) -> pa.Schema:
        schema = schema_in(self.grouped.pieces[0]["path"])
        coarse = filter(self._is_coarse, schema.names)
        return with_metadata_of(
            schema.empty_table(), self.run.source.schema.empty_table(), coarse
        ).schema

    def _text_types(self) -> dict[str, TextType]:
        """The texts that are values in a file with types; none where the file has no types."""
        return (
            text_types_in(self._marked_schema()) if format_to_write(self.run.target).typed else {}
        )

    def _write_parts(self, folder: Path, pieces: SpillIndex) -> None:
        """The same into a folder of parts: each by a task of its own, which reads the buckets that
        hold its rows.
        """
        run = self.run
        plan = PartsWriting.of(pieces, 1 << self.finishing.row_bits, self.layout.records)
        names, runs, digests = run.schema.released(), [], {}
        with plan.work_folder(folder) as room:
            more = *self._categories(schema_in(self.grouped.pieces[0]["path"])), self._text_types()
            tasks = ((*each, str(room), *more) for each in plan.tasks())
            needs = itertools.repeat(2 * run.budget.a_bucket)
            for told in run.executor.map_ordered(write_part_of, tasks, run.budget.at_once, needs):
                runs += told.runs
                digests[told.name] = told.digest
                self._written(told.records)
            plan.take_over(room, folder, list(digests))
        self._digest_of_files = system.digest_of_files(digests)
        self._added["output"] = {
            "file": run.target.name,
            "digest": digest_of_runs(names, self.layout.records, runs),
        }

    def _categories(self, schema: pa.Schema) -> tuple[dict[str, Any], dict[str, pa.Array]]:
        """The types of columns of categories, and those categories that are released, in their
        order.
        """
        kinds = {}
        for name, own in self.finishing.categories.items():
            given: Any = self.run.source.schema.field(name).type
            if (
                name in schema.names
                and schema.field(name).type == own.type
                and not self._is_coarse(name)
            ):
                kinds[name] = pa.dictionary(INDEX_TYPE, own.type, given.ordered)
        self._kinds: tuple[dict[str, Any], dict[str, pa.Array]] = kinds, {}
        if not kinds:
            return self._kinds
        used: dict[str, pa.Array] = {}
        tasks = ((told["path"], tuple(kinds)) for told in self.grouped.pieces)
        for found in self.run.executor.map_ordered(values_in_piece, tasks, self.run.budget.at_once):
            for name, values in found.items():
                used[name] = joined(used[name], values) if name in used else values
        whole = self.finishing.categories
        self._kinds = (
            kinds,
            {
                name: used_among(whole[name], used[name], ordered=kind.ordered)
                for name, kind in kinds.items()
            },
        )
        return self._kinds

    def _is_coarse(self, name: str) -> bool:
        return self.run.settings.aggregates.get(name) in ("range", "generalise")

    def _written(self, records: int) -> None:
        self.run.telling("writing", records)

    def _verified(self, part: Path) -> dict[str, Any]:
        """The internal manifest of a file that holds its guarantee; an error where it does not."""
        run = self.run
        release_unused_memory()
        written = read_back(
            part,
            format_to_write(run.target),
            self._schema(),
            self.options,
            run.executor,
            self.room,
            lambda records: None,
        )
        if written.schema.names != run.schema.released():
            raise GuaranteeError(
                "the file does not have the columns it should; nothing was written."
            )
        if written.records != self.layout.records:
            raise GuaranteeError(
                "the output has lost or gained records; nothing was written. This is a "
                "bug: report it."
            )
        others = tuple(
            name for name in run.schema.released() if name not in run.schema.names(Role.QUASI)
        )
        passes = ChunkMap(
            written,
            written.chunks(run.budget.chunk),
            run.executor,
            run.telling,
            run.budget.a_record,
        )
        rows, looks, pieces = RowSums(), {}, []
        self._different: dict[str, tuple[int, int]] = {}
        for told in passes.map_chunks(
            "verifying",
            hash_chunk,
            self.finishing.class_columns,
            others,
            self.finishing.class_bits,
            str(self.room),
            self.layout.promised,
            self._units(),
        ):
            rows = rows.combine(RowSums(told["records"], (told["rows"][0], told["rows"][1])))
            pieces.append(SpillFile.of(told["path"], told))
            for name, data in told["looks"].items():
                more = ProfileStats.from_data(data)
                if name in looks:
                    looks[name].combine(more)
                else:
                    looks[name] = more
        counted = self._counted(pieces)
        self._added["release"] = name_by(rows.digest(written.schema), run.settings)
        exposure = {
            "all_columns": {
                "columns": len(run.schema.released()),
                "classes": sum(counted.all_sizes.values()),
                "smallest_class": min(counted.all_sizes),
                "unique_records": counted.all_sizes.get(1, 0),
            },
            "may_identify": [name for name in others if self._may_name(passes, looks[name])],
        }
        self._looks = [
            self._look_for_notes(passes, looks[column.name])
            for column in run.schema.columns
            if column.role in AS_THEY_ARE
        ]
        manifest = self._manifest(counted, exposure)
        if self.expected is not None:
            self.expected(manifest, self._added["output"]["digest"])
        return manifest

    def _units(self) -> Source | None:
        """The units of the rows in the order of the file, as they were set aside."""
        if self.run.settings.unit is None:
            return None
        pieces = []
        for told in self.grouped.pieces:
            path = f"{told['path']}.units"
            pieces.append(SpillFile.of(path, read_result(path) or {"index": []}))
        of_units = SpillIndex(pieces)
        counts = of_units.counts(1 << self.finishing.row_bits)
        given = (
            (int(bucket), of_units.holding([int(bucket)]), str(self.room))
            for bucket in np.flatnonzero(counts)
        )
        needs = itertools.repeat(self.run.budget.a_bucket)
        done = self.run.executor.map_ordered(units_in_order, given, self.run.budget.at_once, needs)
        return units_source(list(done))

    def _counted(self, pieces: Sequence[SpillFile]) -> ClassCounts:
        """The classes of the file, bucket by bucket; raises unless each has k records."""
        errors = []
        for told in self.grouped.pieces:
            path = f"{told['path']}.classes"
            errors.append(SpillFile.of(path, read_result(path) or {"index": []}))
        hashes, of_groups = SpillIndex(pieces), SpillIndex(errors)
        promised = self.layout.promised
        given = (
            (hashes.holding([bucket]), of_groups.holding([bucket]), promised)
            for bucket in range(1 << self.finishing.class_bits)
        )
        counted, recount = (
            ClassCounts(),
            GuaranteeRecount(() if promised is None else promised.columns),
        )
        promise = self.run.settings.promise
        needs = itertools.repeat(self.run.budget.a_bucket)
        for more in self.run.executor.map_ordered(
            count_bucket, given, self.run.budget.at_once, needs
        ):
            counted.combine(more, promise)
            recount.combine(more)
        k = self.run.settings.k
        failing = sum(count for size, count in counted.sizes.items() if size < k)
        if failing or counted.records != self.layout.records:
            raise GuaranteeError(
                f"the output is not {k}-anonymous: {failing} of its "
                f"{sum(counted.sizes.values())} classes are too "
                "small; nothing was written."
            )
        if counted.met != counted.released:
            raise GuaranteeError(
                "the file does not have its rows in the order it should, so that their "
                "units are not known; nothing was written."
            )
        recount.check_others()
        promise.check_failing(counted.findings, sum(counted.sizes.values()))
        if promise and not counted.findings:
            raise GuaranteeError(
                "what is promised was not looked at, so nothing was written; report it."
            )
        return counted

    def _may_name(self, passes: ChunkMap, facts: ProfileStats) -> bool:
        """Whether a column may name people; values are counted only where their number decides
        it.
        """
        return rules.may_name(self._look(passes, facts, rules.may_name))

    def _look(
        self, passes: ChunkMap, facts: ProfileStats, decide: Callable[[ColumnProfile], object]
    ) -> ColumnProfile:
        """What a column looks like, as far as that decides something; more different values make it
        more likely, never less.
        """
        least, most = (facts.look(each, each) for each in (min(1, facts.values), facts.values))
        if facts.texts is not None or decide(least) == decide(most):
            return most
        if facts.name not in self._different:
            self._different[facts.name] = self._counted_values(passes, facts.name)
        return facts.look(*self._different[facts.name])

    def _look_for_notes(self, passes: ChunkMap, facts: ProfileStats) -> ColumnProfile:
        """What a column looks like to `notes_on_looks`: whether nearly every record has its own
        value, a sample of the values tells.
        """
        found = self._look(passes, facts, names_somebody)
        if facts.texts is not None:
            return found
        if facts.name in self._different:
            return facts.look(*self._different[facts.name])
        different = different_values([each["measured"] for each in self.grouped.pieces], facts)
        return facts.look(different, 0)

    def _counted_values(self, passes: ChunkMap, name: str) -> tuple[int, int]:
        """How many different values a column has, and how many of them occur once."""
        bits, place = self.finishing.class_bits, self.run.schema.released().index(name)
        pieces = SpillIndex(
            [
                SpillFile.of(told["path"], told)
                for told in passes.map_chunks(
                    "verifying", values_chunk, name, bits, str(self.room), place
                )
            ]
        )
        different, single = 0, 0
        for more in self.run.executor.map_ordered(
            count_values, ((pieces.holding([bucket]),) for bucket in range(1 << bits))
        ):
            different, single = different + more[0], single + more[1]
        return different, single

    def _manifest(self, counted: ClassCounts, exposure: dict[str, Any]) -> dict[str, Any]:
        run, layout, told = self.run, self.layout, self.grouped.pieces
        sizes = counted.class_sizes()
        none = np.zeros(1, bool)  # or it would have been refused
        self._anonymity = Anonymity(
            run.settings.k, sizes, np.empty(0, np.int64), np.empty(0, np.int32),
            findings=tuple(replace(each, failing=none) for each in counted.findings),
        )  # fmt: skip
        width = len(layout.variables)
        filled, blanked = (
            tuple(sum(each[name][j] for each in told) for j in range(width))
            for name in ("filled", "blanked")
        )
        how = tuple(
            aggregate_of(variable, run.settings.aggregates).name for variable in layout.variables
        )
        cells = Cells(layout.variables, np.broadcast_to(0.0, (layout.records, width)))
        rounds = [name == "mean" and run.settings.precision == "column" for name in how]
        decimals = [
            each.decimals if rounded else None
            for each, rounded in zip(self.finishing.precisions, rounds, strict=True)
        ]
        nothing = np.empty(0, np.int32)
        made = Aggregated(
            cells, how, decimals, np.zeros((0, width), bool), filled, blanked, nothing, None
        )
        loss, share = self._loss(counted)
        return internal_manifest(
            settings=run.settings,
            schema=run.schema,
            found=Grouping(nothing, self.grouped.chosen),
            space=layout.space,
            made=made,
            source=self.digest,
            file=run.path.name,
            loss=loss,
            largest_share=share,
            anonymity=self._anonymity,
            capped=self.capped,
            exposure=exposure,
            weighting=self._weighting(),
            strata=self.taking.strata_as_data(),
            dropped=self.taking.dropped,
            sketch=self.taking.found.sketch,
            rules=self._rules(),
        )

    def _rules(self) -> list[dict[str, Any]]:
        """The sums that hold in the released rows."""
        run, paths = self.run, [told["path"] for told in self.grouped.pieces]
        variables = released_variables(self.layout.variables, run.settings)
        return rules_as_data(
            run.settings, records_in_pieces(run.executor, paths, variables, run.budget.at_once)
        )

    def _loss(self, counted: ClassCounts) -> tuple[dict[str, float], float]:
        """What was lost, by the sums of all blocks; and the share of one class."""
        told, numbers = self.grouped.pieces, self.grouped.pieces[0]["numbers"]
        by_space = self.grouped.totals.by_space(self.layout.spaces)
        lost = [
            SpaceLoss.of(space, totals, [each["lost"][place] for each in told])
            for place, (space, totals) in enumerate(zip(self.layout.spaces, by_space, strict=True))
        ]
        loss = {"IL": lost[0].il, "SSE": lost[0].sse}
        scores = {"IL_zscore": lost[-1].il} if len(lost) > 1 else {}
        within = {"IL_within": lost[0].il_within}
        if not numbers:
            loss |= within | scores
        else:  # the mean of plain numbers is the middle of their group, but for a weighted one
            loss |= scores | (within if self.run.settings.weight is not None else {})
        everything = sums.rounded(summed([[each["errors"]] for each in told])[0], 0)
        if not math.isfinite(everything):
            return loss, 1.0
        return loss, counted.largest_error / everything if everything > 0.0 else 0.0

    def _weighting(self) -> dict[str, Any] | None:
        if self.run.settings.weight is None:
            return None
        totals: dict[str, list[np.ndarray]] = {}
        for told in self.grouped.pieces:
            for name, pair in told["totals"].items():
                own = totals.setdefault(name, [np.zeros((3, 1)), np.zeros((3, 1))])
                for place in (0, 1):
                    partial_sums.add_sums(own[place], np.array(pair[place]).reshape(3, 1))
        parts = {name: [each[:, 0].tolist() for each in pair] for name, pair in totals.items()}
        return {
            "aggregate": self.run.settings.weight_becomes,
            "sum_changed_by": change_of_weights(parts),
            "totals_changed_by_percent": percents_of(parts),
        }

"""From file to file beyond memory: what `protect` and `save` do, in passes over chunks and blocks, with the same release to the byte."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import itertools
import json
import math
import os
import secrets
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa

from microagg.engine.dask import Crew
from microagg.engine.executor import Executor, Tell, Threads, asked_to_stop
from microagg.engine.fitting import Passes, fit
from microagg.engine.plan import Grouped, Holding, Layout, Piece, Pieces, Plan, batches_in
from microagg.engine.scanning import (
    Facts,
    LevelFacts,
    NumberFacts,
    merged,
    refuse_type,
    scan_chunk,
    variable_of,
)
from microagg.engine.spill import Spill, told_if_full, told_in
from microagg.engine.territories import StrataCodes
from microagg.engine.verifying import Counted, count_bucket, count_values, hash_chunk, values_chunk
from microagg.engine.workers import Place
from microagg.errors import Cancelled, GuaranteeError, InputError, OnlyInMemory
from microagg.guarantees.k import Anonymity
from microagg.kernels import partial_sums, sums
from microagg.measures.measure import Pair
from microagg.methods.method import Found
from microagg.problem.problem import Progress, checked_k, checked_threads
from microagg.release.beyond_limits import Budget, bytes_of_block, refuse_beyond, refuse_labels
from microagg.release.finishing import KEY, Finishing, finish_block
from microagg.release.manifest import internal_manifest, name_by
from microagg.release.publishing import refuse_publishing
from microagg.release.release import Release
from microagg.release.risks import notes_on_earlier_releases, refuse_unaccepted
from microagg.release.saving import manifest_pieces, refuse_places
from microagg.release.settings import Settings
from microagg.release.shuffling import key_of_order
from microagg.release.strata import class_columns, refuse_small, strata_as_data
from microagg.release.weighting import change_of_weights, percents_of
from microagg.table import proposing
from microagg.table.aggregate import Aggregated, WholeTable
from microagg.table.aggregates import aggregate_of
from microagg.table.io import system, writing
from microagg.table.io.arrow import give_back
from microagg.table.io.chunks import Source
from microagg.table.io.digests import RowSums, digest_of_runs, digests_of_runs
from microagg.table.io.format import RECORDS_IN_A_PIECE
from microagg.table.io.formats import format_of, options_for
from microagg.table.io.frames import column_facts
from microagg.table.io.looks import LookFacts
from microagg.table.schema import Column, Kind, Role, Schema, assign_roles
from microagg.table.variable import Cells, Variable

NOTE = "worked on beyond memory: notes on dominance, shared values and the like, and reports, are made for tables in memory only"


class FiledRelease(Release):
    """A release that lies in its file alone: what needs the whole table in memory is not there."""

    @property
    def is_mixed(self) -> bool:
        """Not asked of a table that was never in memory."""
        return False

    @functools.cached_property
    def pair(self) -> Pair:
        """Both tables at once: that is what there was no memory for."""
        raise InputError(
            "this release was made beyond memory, so that measures of single records and reports are not there; use "
            "`microagg assess` on a part of it, or give it more memory."
        )


COSTS = {
    "scanning": 2, "measuring": 1, "turning": 1, "sampling": 1, "routing": 3, "grouping": 60, "mending borders": 20, "writing": 4,
    "verifying": 4,
}  # fmt: skip
"""What a record costs in each pass, about, as a progress bar sees it."""


@dataclass
class Telling:
    """How far the passes are: told to a progress bar by records, the passes weighted by what they cost."""

    progress: Progress | None
    records: int
    done: int = 0
    of_pass: int = 0
    what: str = ""
    begun: float = 0.0

    def __call__(self, what: str, records: int) -> None:
        """One more chunk or block of a pass is done."""
        now = time.monotonic()
        if what != self.what:
            self.what, self.of_pass, self.begun = what, 0, now
        else:  # the first of a pass began before anybody looked at the clock
            self.of_pass += records
        self.done += records * COSTS[what]
        if self.progress is None:
            return
        tell = getattr(self.progress, "tell", None)
        if tell is not None:
            seconds = now - self.begun
            tell(
                f"{what}, {self.of_pass / seconds:,.0f} rows a second"
                if self.of_pass and seconds >= 1.0
                else what
            )
        whole = sum(COSTS.values()) * self.records
        self.progress(min(self.done, whole - 1), whole)


def protect_beyond(
    path: str | Path,
    target: Path,
    settings: Settings,
    budget: Budget,
    *,
    keep_order: bool = False,
    expected: Callable[[dict[str, Any], str], object] | None = None,
    expected_input: Callable[[str], object] | None = None,
    spill: str | Path | None = None,
    resume: bool = False,
    threads: int | None = None,
    crew: Crew | None = None,
    progress: Progress | None = None,
) -> Release:
    """Make and save a release of a table that does not fit into memory. Nothing is in place unless it holds its guarantee.

    With a `crew`, the workers of a cluster do the work; memory and threads are those of one of them then.
    `expected` gets the manifest and the digest of what was written, `expected_input` the digest of what was read; both raise if
    they are not what they should be.
    """
    settings = settings.settled()
    source = Source.of(path)
    schema = _schema_of(source, settings)
    refuse_beyond(settings, schema)
    refuse_labels(path)
    refuse_labels(target)  # those of what was there before must not be read with the new table
    format = format_of(target)
    if format.in_pieces is None:
        raise OnlyInMemory(
            f"{format.one_file} is not written beyond memory; name a parquet file, or give it more memory."
        )
    options = options_for(format, settings.writing)
    refuse_unaccepted(settings)
    refuse_places(target)
    k = checked_k(settings.k, source.records)
    refuse_publishing(settings.publish, source.records)
    if crew is not None:
        crew.refuse_small(bytes_of_block(source, schema, k))
    budget = budget.checked(source, schema, k)
    telling = Telling(progress, source.records)
    parent = Path(spill) if spill is not None else target.parent
    with contextlib.ExitStack() as stack:
        kept = stack.enter_context(Spill(parent, target, resume=resume))
        kept.refuse_full(budget.disk(source, schema))
        executor: Executor = Threads(checked_threads(threads))
        if crew is not None:
            beside = stack.enter_context(Spill(target.parent))  # of no use but to show that it is seen
            places = [Place("the input", file, os.stat(file).st_size) for file in source.files]
            places.append(Place("the output", str(beside.folder)))
            warm = k, len(schema.names(Role.QUASI))
            executor = stack.enter_context(crew.at_work(kept.folder, places, budget.memory, warm))
        run = _Run(
            source,
            Path(path),
            target,
            settings,
            schema,
            budget,
            executor,
            telling,
            kept,
            keep_order,
            expected_input,
        )
        with told_if_full("in the folder of the release"):
            return run.release(options, expected)


def _schema_of(source: Source, settings: Settings) -> Schema:
    if source.records == 0:
        raise InputError("the table has no records; there is nothing to protect.")
    head = nw.from_native(source.read(0, 1), eager_only=True)
    schema = assign_roles(column_facts(head), settings.roles, settings.rest, settings.columns)
    kinds = source.schema
    for column in schema.columns:
        if column.role in (Role.QUASI, Role.WEIGHT):
            refuse_type(column, kinds.field(column.name).type)
        elif column.role in (Role.CONFIDENTIAL, Role.KEEP, Role.STRATUM):
            refuse_type(
                replace(column, kind=_kind_of(kinds.field(column.name).type)), kinds.field(column.name).type
            )
    return schema


def _kind_of(kind: pa.DataType) -> Kind:
    return Kind.NUMERIC if pa.types.is_integer(kind) or pa.types.is_floating(kind) else Kind.NOMINAL


@dataclass
class _Run:
    """One table on its way."""

    source: Source
    path: Path
    target: Path
    settings: Settings
    schema: Schema
    budget: Budget
    executor: Executor
    telling: Telling
    spill: Spill
    keep_order: bool
    expected_input: Callable[[str], object] | None

    def release(
        self,
        options: dict[str, Any],
        expected: Callable[[dict[str, Any], str], object] | None,
    ) -> Release:
        """All passes, up to the files in their places."""
        passes = Passes(
            self.source,
            self.source.chunks(self.budget.chunk),
            self.executor,
            self.telling,
            self.budget.a_record,
        )
        digest, facts = self._scanned(passes)
        if self.expected_input is not None:
            self.expected_input(digest)
        quasi = [column for column in self.schema.columns if column.role is Role.QUASI]
        own = [facts[column.name] for column in quasi]
        variables = [variable_of(column, each) for column, each in zip(quasi, own, strict=True)]
        fitted = fit(passes, variables, own, self.settings.scale)
        strata, counts = self._strata(passes, facts)
        layout = self._layout(variables, fitted.space, strata)
        seed, budget = self.settings.seed or 0, self.budget
        plan = Plan(passes, layout, own, seed, budget.at_once, counts, budget.a_block_record)
        cuts = plan.cuts()
        finishing = self._finishing(layout, digest, facts, own, fitted.decimals)
        room = self.spill.room(self._key(digest, cuts.digest, finishing))
        grouped = plan.grouped(cuts, room, finish_block, (finishing, layout.records))
        give_back()
        sizes = None if counts is None else counts.sum(axis=0)
        last = _Last(self, layout, finishing, grouped, room, digest, options, expected, sizes)
        return last.saved()

    def _scanned(self, passes: Passes) -> tuple[str, dict[str, Facts]]:
        asked = [column for column in self.schema.columns if column.role in (Role.QUASI, Role.WEIGHT)]
        asked += [
            replace(column, kind=Kind.NOMINAL)
            for column in self.schema.columns
            if column.role is Role.STRATUM
        ]
        found: dict[str, Facts] = {}
        runs: list[bytes] = []
        for chunk in passes.over("scanning", scan_chunk, asked):
            runs += chunk.runs
            merged(found, chunk.columns)
        for name in self.schema.names(Role.WEIGHT):
            _refuse_weights(found[name])
        if self.settings.missing == "error":
            _refuse_gaps({name: found[name] for name in self.schema.names(Role.QUASI)})
        return digest_of_runs(self.source.schema.names, self.source.records, runs), found

    def _strata(
        self, passes: Passes, facts: Mapping[str, Facts]
    ) -> tuple[StrataCodes | None, np.ndarray | None]:
        """Which strata there are, and how many records of each are in every chunk; refused where one has fewer than k."""
        own = [facts[name] for name in self.schema.names(Role.STRATUM)]
        if not own:
            return None, None
        strata, counts = StrataCodes.counted(passes, [each for each in own if isinstance(each, LevelFacts)])
        refuse_small(counts.sum(axis=0), self.settings)
        return strata, counts

    def _layout(self, variables: Sequence[Variable], space: Any, strata: StrataCodes | None) -> Layout:
        weight = self.schema.names(Role.WEIGHT)
        released = self.schema.released()
        carried = (*released, *(name for name in weight if name not in released))
        plain = all(each.kind is Kind.NUMERIC and not each.marks for each in variables)
        effort = self.settings.params.get("effort") or "balanced"
        return Layout(
            tuple(variables), space, carried, self.source.records, self.settings.k, effort,
            None if plain else len(variables), strata,
        )  # fmt: skip

    def _finishing(
        self,
        layout: Layout,
        digest: str,
        facts: dict[str, Facts],
        own: Sequence[Facts],
        decimals: tuple[int | None, ...],
    ) -> Finishing:
        weight, of_weight, heaviest = self.schema.one(Role.WEIGHT), None, None
        kinds = self.source.schema
        if weight is not None:
            about = facts[weight]
            assert isinstance(about, NumberFacts)
            heaviest = about.most
            variable = variable_of(Column(weight, Role.WEIGHT, Kind.NUMERIC), about)
            of_weight = variable, WholeTable((about.decimals(),), (None,), (None,))
        levels = tuple(each.frequency() if isinstance(each, LevelFacts) else None for each in own)
        atoms = tuple(
            np.array([each.missing]) if isinstance(each, NumberFacts) and variable.marks else None
            for each, variable in zip(own, layout.variables, strict=True)
        )
        with_nulls = tuple(
            variable.name
            for variable, each in zip(layout.variables, own, strict=True)
            if isinstance(each, NumberFacts)
            and each.nulls
            and pa.types.is_floating(kinds.field(variable.name).type)
        )
        key = None
        if not self.keep_order:
            first, second = key_of_order(self.settings.seed or 0, digest).tolist()
            key = int(first), int(second)
        return Finishing(
            self.schema, self.settings, layout.space, WholeTable(decimals, levels, atoms, heaviest),
            tuple(class_columns(self.schema, self.settings)), with_nulls, key,
            self.budget.row_bits, self.budget.class_bits, of_weight,
        )  # fmt: skip

    def _key(self, digest: str, cuts: str, finishing: Finishing) -> str:
        """What blocks that are done must have in common with this run: settings, cuts and input."""
        asked = json.dumps(self.settings.as_data(), sort_keys=True, default=str)
        bits = f"{finishing.row_bits} {finishing.class_bits} {self.keep_order}"
        return hashlib.sha256("\0".join([asked, digest, cuts, bits]).encode()).hexdigest()


def _refuse_weights(facts: Facts) -> None:
    assert isinstance(facts, NumberFacts)
    what = "is missing" if facts.missing else "is not above 0" if facts.least <= 0.0 else ""
    if what:
        raise InputError(
            f"the weight {facts.name!r} {what} in some row; weights are numbers above 0: leave such records out, or mend them."
        )
    if facts.asks_for_usual:
        raise InputError(
            f"the precision of the weight {facts.name!r} is not told beyond memory, for its values are of very different sizes; round "
            "them first, or give it more memory."
        )


def _refuse_gaps(facts: Mapping[str, Facts]) -> None:
    counts = {
        name: each.missing if isinstance(each, NumberFacts) else each.counts.get(None, 0)
        for name, each in facts.items()
    }
    told = ", ".join(f"{count:,} in {name!r}" for name, count in counts.items() if count)
    if told:
        raise InputError(
            f"quasi-identifiers are missing: {told}; fill them in, or say missing='group' to group such records with their "
            "like or missing='drop' to leave them out."
        )


@dataclass
class _Last:
    """The last passes: write in order, verify what was written, put it in place."""

    run: _Run
    layout: Layout
    finishing: Finishing
    grouped: Grouped
    room: Path
    digest: str
    options: dict[str, Any]
    expected: Callable[[dict[str, Any], str], object] | None
    strata: np.ndarray | None
    """How many records each stratum has."""

    def saved(self) -> Release:
        """Write the table and its manifests, and put them in place as one."""
        self._added: dict[str, Any] = {
            "rows": "kept" if self.run.keep_order else "shuffled", "dialect": self.options,
        }  # fmt: skip
        target = self.run.target
        content: dict[str, Any] = {}

        def inspect(part: Path) -> None:
            content.update(self._verified(part))

        pieces = [
            writing.Piece(target, self._write, inspect),
            *manifest_pieces(target, lambda: {**content, **self._added}),
        ]
        writing.put_in_place(pieces)
        notes = (*notes_on_earlier_releases(target, content), NOTE)
        return FiledRelease(
            None, np.empty(0, np.int32), content["loss"], content, self.run.schema, self._anonymity, notes,
            _arrow=pa.table({}), _original=nw.from_native(pa.table({"": [0]}), eager_only=True), _written=self._added,
        )  # fmt: skip

    def _write(self, part: Path) -> None:
        """Rows in the order of their keys, bucket by bucket, in pieces of a fixed size: by one task, into a file of its own."""
        run, pieces = self.run, Pieces([Piece.of(told["path"], told) for told in self.grouped.pieces])
        holdings = tuple(pieces.holding([bucket]) for bucket in range(1 << self.finishing.row_bits))
        schema = _schema_in(self.grouped.pieces[0]["path"])
        given = str(run.target), schema, holdings, self.options, run.budget.at_once
        if isinstance(run.executor, Threads):
            digest = run.executor.alone(write_rows, str(part), *given, tell=self._written)
        else:
            path, digest = run.executor.alone(
                write_rows_aside,
                str(self.room),
                *given,
                tell=self._written,
                needs=run.budget.a_bucket * run.budget.threads,
            )
            shutil.copyfile(path, part)
            run.telling("writing", self.layout.records)
        self._added["output"] = {"file": run.target.name, "digest": digest}

    def _written(self, records: int) -> None:
        self.run.telling("writing", records)

    def _verified(self, part: Path) -> dict[str, Any]:
        """The internal manifest of a file that holds its guarantee; an error where it does not."""
        run = self.run
        give_back()
        written = Source.of_part(part, format_of(run.target).name)
        if written.schema.names != run.schema.released():
            raise GuaranteeError("the file does not have the columns it should; nothing was written.")
        if written.records != self.layout.records:
            raise GuaranteeError(
                "the output has lost or gained records; nothing was written. This is a bug: report it."
            )
        others = tuple(name for name in run.schema.released() if name not in run.schema.names(Role.QUASI))
        passes = Passes(
            written, written.chunks(run.budget.chunk), run.executor, run.telling, run.budget.a_record
        )
        rows, looks, pieces = RowSums(), {}, []
        for told in passes.over(
            "verifying",
            hash_chunk,
            self.finishing.class_columns,
            others,
            self.finishing.class_bits,
            str(self.room),
        ):
            rows = rows.plus(RowSums(told["records"], (told["rows"][0], told["rows"][1])))
            pieces.append(Piece.of(told["path"], told))
            for name, data in told["looks"].items():
                more = LookFacts.from_data(data)
                if name in looks:
                    looks[name].plus(more)
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
        manifest = self._manifest(counted, exposure)
        if self.expected is not None:
            self.expected(manifest, self._added["output"]["digest"])
        return manifest

    def _counted(self, pieces: Sequence[Piece]) -> Counted:
        """The classes of the file, bucket by bucket; raises unless each has k records."""
        errors = []
        for told in self.grouped.pieces:
            path = f"{told['path']}.classes"
            errors.append(Piece.of(path, told_in(path) or {"index": []}))
        hashes, of_groups = Pieces(pieces), Pieces(errors)
        given = (
            (hashes.holding([bucket]), of_groups.holding([bucket]))
            for bucket in range(1 << self.finishing.class_bits)
        )
        counted = Counted()
        needs = itertools.repeat(self.run.budget.a_bucket)
        for more in self.run.executor.in_order(count_bucket, given, self.run.budget.at_once, needs):
            counted.plus(more)
        k = self.run.settings.k
        failing = sum(count for size, count in counted.sizes.items() if size < k)
        if failing or counted.records != self.layout.records:
            raise GuaranteeError(
                f"the output is not {k}-anonymous: {failing} of its {sum(counted.sizes.values())} classes are too "
                "small; nothing was written."
            )
        return counted

    def _may_name(self, passes: Passes, facts: LookFacts) -> bool:
        """Whether a column may name people; values are counted only where their number decides it."""
        least, most = (
            proposing.may_name(facts.look(each, each)) for each in (min(1, facts.values), facts.values)
        )
        if facts.texts is not None or least == most:
            return most
        bits, place = self.finishing.class_bits, self.run.schema.released().index(facts.name)
        pieces = Pieces(
            [
                Piece.of(told["path"], told)
                for told in passes.over("verifying", values_chunk, facts.name, bits, str(self.room), place)
            ]
        )
        different, single = 0, 0
        for more in self.run.executor.in_order(
            count_values, ((pieces.holding([bucket]),) for bucket in range(1 << bits))
        ):
            different, single = different + more[0], single + more[1]
        return proposing.may_name(facts.look(different, single))

    def _manifest(self, counted: Counted, exposure: dict[str, Any]) -> dict[str, Any]:
        run, layout, told = self.run, self.layout, self.grouped.pieces
        sizes = counted.class_sizes()
        self._anonymity = Anonymity(run.settings.k, sizes, np.empty(0, np.int64), np.empty(0, np.int32))
        width = len(layout.variables)
        filled, blanked = (
            tuple(sum(each[name][j] for each in told) for j in range(width)) for name in ("filled", "blanked")
        )
        how = tuple(aggregate_of(variable, run.settings.aggregates).name for variable in layout.variables)
        cells = Cells(layout.variables, np.broadcast_to(0.0, (layout.records, width)))
        decimals = [
            each if name == "mean" and run.settings.precision == "column" else None
            for each, name in zip(self.finishing.whole.decimals, how, strict=True)
        ]
        nothing = np.empty(0, np.int32)
        made = Aggregated(cells, how, decimals, np.zeros((0, width), bool), filled, blanked, nothing, None)
        loss, share = self._loss(counted)
        return internal_manifest(
            settings=run.settings, schema=run.schema, found=Found(nothing, self.grouped.chosen), space=layout.space,
            made=made, source=self.digest, file=run.path.name, loss=loss, largest_share=share,
            anonymity=self._anonymity, capped={}, exposure=exposure, weighting=self._weighting(),
            strata=None if self.strata is None else strata_as_data(self.strata),
        )  # fmt: skip

    def _loss(self, counted: Counted) -> tuple[dict[str, float], float]:
        """What was lost, by the sums of all blocks; and the share of one class."""
        told, space = self.grouped.pieces, self.layout.space
        sse = _summed([each["sse"] for each in told])
        within = _summed([each["within"] for each in told])
        plain = space.is_plain
        by_column = [sums.rounded(each, 0) for each in self.grouped.totals.columns]
        total = _all_of(self.grouped.totals.columns) if plain else sum(by_column)
        lost = _all_of(sse) if plain else _rounded_sum([sums.rounded(each, 0) for each in sse])
        loss = {"IL": _percent(lost, total), "SSE": lost}
        if sum(counted.sizes.values()) == 1:
            loss["IL"] = min(loss["IL"], 100.0)
        if not plain or self.run.settings.weight is not None:
            inside = _all_of(within) if plain else sum(sums.rounded(each, 0) for each in within)
            loss["IL_within"] = _percent(inside, total)
        everything = _all_of(sse)
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


def write_rows(
    threads: Executor,
    tell: Tell,
    part: str,
    target: str,
    schema: pa.Schema,
    holdings: Sequence[Holding],
    options: dict[str, Any],
    at_once: int,
) -> str:
    """A task: write the rows that lie there to a file, in the order of their keys; returns the digest of what was written."""
    runs: list[bytes] = []
    records = 0
    in_pieces = format_of(Path(target)).in_pieces
    assert in_pieces is not None
    with in_pieces(Path(part), schema, **options) as write_piece:
        for rows in _in_pieces(threads.in_order(sorted_bucket, ((each,) for each in holdings), at_once)):
            if asked_to_stop():
                raise Cancelled("stopped; nothing was written.")
            write_piece(rows)
            tell(rows.num_rows)
            runs += digests_of_runs(rows)
            records += rows.num_rows
    return digest_of_runs(schema.names, records, runs)


def write_rows_aside(threads: Executor, tell: Tell, room: str, *given: Any) -> tuple[str, str]:
    """A task: the same into the spill, under a name of its own until it is whole; returns where it lies, and its digest."""
    path = Path(room, f"rows-{secrets.token_hex(8)}.whole")
    part = Path(f"{path}.part")
    with told_if_full("while the rows were written"):
        try:
            os.close(system.create(part))
            digest = write_rows(threads, tell, str(part), *given)
            system.rename(part, path)
        except BaseException:
            part.unlink(missing_ok=True)
            raise
    return str(path), digest


def _in_pieces(buckets: Iterator[pa.Table | None]) -> Iterator[pa.Table]:
    """All rows in order, in tables of the size that files have their pieces in."""
    held: list[pa.Table] = []
    size = 0
    for rows in buckets:
        if rows is None:
            continue
        held.append(rows)
        size += rows.num_rows
        while size >= RECORDS_IN_A_PIECE:
            whole = pa.concat_tables(held)
            yield whole.slice(0, RECORDS_IN_A_PIECE).combine_chunks()
            rest = whole.slice(RECORDS_IN_A_PIECE)
            held, size = ([rest.combine_chunks()] if rest.num_rows else []), rest.num_rows
    if size:
        yield pa.concat_tables(held).combine_chunks()


def sorted_bucket(holding: Holding) -> pa.Table | None:
    """A task: the rows of one bucket, in the order of their keys."""
    batches = batches_in(holding)
    if not batches:
        return None
    rows = pa.Table.from_batches(batches).replace_schema_metadata(None)
    order = np.argsort(rows.column(KEY).to_numpy(), kind="stable")
    return rows.drop_columns([KEY]).take(pa.array(order)).combine_chunks()


def _schema_in(path: str) -> pa.Schema:
    with pa.OSFile(path) as file, pa.ipc.open_file(file) as reader:
        schema = reader.schema.remove_metadata()
    return schema.remove(schema.get_field_index(KEY))


def _summed(parts: Sequence[Sequence[Any]]) -> list[np.ndarray]:
    """Partial sums of all blocks put together, column by column."""
    total = [np.zeros((3, 1)) for _ in parts[0]]
    for part in parts:
        for own, more in zip(total, part, strict=True):
            partial_sums.add_sums(own, np.array(more))
    return total


def _all_of(parts: Sequence[np.ndarray]) -> float:
    total = np.zeros((3, 1))
    for each in parts:
        partial_sums.add_sums(total, each)
    return sums.rounded(total, 0)


def _rounded_sum(numbers: Sequence[float]) -> float:
    return sums.rounded(sums.column_sums(np.array(numbers).reshape(-1, 1)), 0)


def _percent(sse: float, sst: float) -> float:
    return 100.0 * sse / sst if sst > 0.0 else 0.0

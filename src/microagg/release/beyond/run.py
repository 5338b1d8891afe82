"""All passes from a file to a release in place: what `protect` and `save` do in memory."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa

from microagg.engine.dask import Crew
from microagg.engine.executor import Executor, Threads
from microagg.engine.fitting import Asked, Fitted, fit
from microagg.engine.passing import Passes
from microagg.engine.plan import Layout, Plan
from microagg.engine.scanning import (
    Facts,
    LevelFacts,
    NumberFacts,
    merged,
    refuse_type,
    scan_chunk,
    variable_of,
)
from microagg.engine.spill import Spill, told_if_full
from microagg.engine.territories import StrataCodes
from microagg.engine.workers import Place
from microagg.errors import InputError, OnlyInMemory
from microagg.problem.problem import Progress, checked_k, checked_threads
from microagg.release.beyond.closing import Closing
from microagg.release.beyond.finishing import Finishing, finish_block
from microagg.release.beyond.limits import Budget, bytes_of_block, refuse_beyond, refuse_labels
from microagg.release.beyond.promising import promised_in, refuse_strata_in
from microagg.release.beyond.telling import Telling
from microagg.release.publishing import refuse_publishing
from microagg.release.release import Release
from microagg.release.risks import refuse_unaccepted
from microagg.release.saving import refuse_places
from microagg.release.settings import Settings
from microagg.release.shuffling import key_of_order
from microagg.release.strata import class_columns
from microagg.table.aggregate import WholeTable
from microagg.table.io.arrow import give_back
from microagg.table.io.chunks import Source
from microagg.table.io.digests import digest_of_runs
from microagg.table.io.formats import options_for
from microagg.table.io.frames import column_facts
from microagg.table.io.parts import format_to_write
from microagg.table.schema import Column, Kind, Role, Schema, assign_roles
from microagg.table.variable import Variable


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
    format = format_to_write(target)
    if format.in_pieces is None and not format.in_parts:
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
        run = Run(
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
class Run:
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
        strata, counts = self._strata(passes, facts)
        promised = promised_in(passes, self.schema, self.settings, self.budget.memory)
        sizes = None if counts is None else counts.sum(axis=0)
        if strata is not None and sizes is not None:
            refuse_strata_in(passes, strata, sizes, promised, self.settings, self.budget.memory)
        said = self.settings
        asked = Asked(said.scale, said.importance, said.cap, self.budget.for_values)
        fitted = fit(passes, variables, own, asked)
        layout = replace(self._layout(variables, fitted, strata), promised=promised)
        seed, budget = self.settings.seed or 0, self.budget
        plan = Plan(passes, layout, own, seed, budget.at_once, counts, budget.a_block_record, budget.memory)
        cuts = plan.cuts()
        finishing = self._finishing(layout, digest, facts, own, fitted)
        room = self.spill.room(self._key(digest, cuts.digest, finishing))
        grouped = plan.grouped(cuts, room, finish_block, (finishing, layout.records))
        give_back()
        last = Closing(
            self, layout, finishing, grouped, room, digest, options, expected, sizes, fitted.capped
        )
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
        """Which strata there are, and how many records of each are in every chunk."""
        own = [facts[name] for name in self.schema.names(Role.STRATUM)]
        if not own:
            return None, None
        return StrataCodes.counted(passes, [each for each in own if isinstance(each, LevelFacts)])

    def _layout(self, variables: Sequence[Variable], fitted: Fitted, strata: StrataCodes | None) -> Layout:
        weight = self.schema.names(Role.WEIGHT)
        released = self.schema.released()
        carried = (*released, *(name for name in weight if name not in released))
        plain = all(each.kind is Kind.NUMERIC and not each.marks for each in variables)
        effort = self.settings.params.get("effort") or "balanced"
        return Layout(
            tuple(variables), fitted.space, carried, self.source.records, self.settings.k, effort,
            None if plain else len(variables), strata, measured=fitted.measured, limits=fitted.limits,
        )  # fmt: skip

    def _finishing(
        self,
        layout: Layout,
        digest: str,
        facts: dict[str, Facts],
        own: Sequence[Facts],
        fitted: Fitted,
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
            self.schema, self.settings, layout.space, WholeTable(fitted.decimals, levels, atoms, heaviest),
            tuple(class_columns(self.schema, self.settings)), with_nulls, key,
            self.budget.row_bits, self.budget.class_bits, of_weight, layout.spaces, fitted.limits,
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

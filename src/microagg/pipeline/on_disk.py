"""A release that lies in its file alone."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa

from microagg.errors import InputError
from microagg.files.chunks import Source
from microagg.measures.measure import Figure, Measure, Pair, Sample
from microagg.pipeline.block_plan import SearchEnd
from microagg.pipeline.figures import FigureInputs
from microagg.problem.problem import checked_threads
from microagg.proposal.codes import averaged_codes
from microagg.release.changes import Change
from microagg.release.facts import ReleaseFacts
from microagg.release.release import Release
from microagg.release.report.building import build_document
from microagg.release.report.document import Document
from microagg.runtime.chunk_map import ChunkMap
from microagg.runtime.executor import Executor, ThreadExecutor
from microagg.table.columns.column_encoding import cells_in
from microagg.table.schema import ColumnSettings, Kind
from microagg.table.variable import Variable


@dataclass(frozen=True)
class ReleaseInput:
    """The original table, and what tells whether it is still what it was."""

    source: Source
    chunk: int
    states: tuple[tuple[int, int], ...]
    a_record: int = 0

    @staticmethod
    def of(source: Source, chunk: int, a_record: int = 0) -> ReleaseInput:
        """As it is now."""
        return ReleaseInput(source, chunk, _states(source), a_record)

    def passes(
        self, executor: Executor, tell: Callable[[str, int], None] | None = None
    ) -> ChunkMap:
        """ChunkMap over it; refused where it is another one by now."""
        if self.states != _states(self.source):
            raise InputError(
                "the original table has been changed or moved since the release was "
                "made, so that nothing can be looked up in it; make "
                "the release again, with a report."
            )
        more: dict[str, Any] = {} if tell is None else {"tell": tell}
        return ChunkMap(
            self.source, self.source.chunks(self.chunk), executor, a_record=self.a_record, **more
        )


def _states(source: Source) -> tuple[tuple[int, int], ...]:
    states = []
    for file in source.files:
        try:
            state = os.stat(file)
        except OSError:
            return ()
        states.append((state.st_size, state.st_mtime_ns))
    return tuple(states)


@dataclass(frozen=True, repr=False)
class OnDiskRelease(Release):
    """A release that lies in its file alone: `pair` is of a sample of its records, figures say
    where they are from one.
    """

    _measured: FigureInputs | None = field(default=None, repr=False, kw_only=True)
    _input: ReleaseInput | None = field(default=None, repr=False, kw_only=True)

    @staticmethod
    def of(
        measured: FigureInputs,
        facts: ReleaseFacts,
        manifest: dict[str, Any],
        *,
        written: dict[str, Any],
        input: ReleaseInput,
        search: SearchEnd,
    ) -> OnDiskRelease:
        """Return the release of a file, whose tables here are a sample of its records."""
        return OnDiskRelease(
            None, np.empty(0, np.int32), facts.loss, manifest, facts.schema, facts.anonymity,
            bound=search.bound, stopped=search.stopped, _written=written, _input=input,
            _averaged_codes=_averaged_codes_in(measured, facts.settings.columns),
            **tables_of(measured, measured.sample),
        )  # fmt: skip

    @property
    def measured(self) -> FigureInputs:
        """Return the inputs of figures."""
        assert self._measured is not None
        return self._measured

    @functools.cached_property
    def pair(self) -> Pair:
        """A sample of the table before and after, as numbers that measures work on; the data
        holder's side only.
        """
        return replace(Release.pair.func(self), labels=None)

    @property
    def changes(self) -> dict[str, Change]:
        """Return the changes of the cells of all records, by column; internal: do not publish."""
        return self.measured.changes(self.pair)

    @functools.cached_property
    def of_classes(self) -> OnDiskRelease:
        """The same with a sample of whole classes, which follows from the released table alone."""
        return replace(self, **tables_of(self.measured, self.measured.of_classes))

    def look_up(self, executor: Executor, tell: Callable[[str, int], None] | None = None) -> None:
        """Look a sample of released records up among all originals, which is done once."""
        if self.measured.looked is None and self._input is not None:
            self.measured.look_up(self._input.passes(executor, tell), self.pair)

    @functools.cached_property
    def figures(self) -> tuple[tuple[Measure, Figure], ...]:
        """Every measure of loss and of risk that fits the release, with what it found: exact, or
        from a sample, which it tells then.

        Measures that no sample tells are left out: see `Basis.WHOLE_TABLE`.
        """
        self.look_up(ThreadExecutor(checked_threads(None)))
        return self.measured.figures(self.pair, self.of_classes.pair)

    def _document(self, *, public: bool) -> Document:
        """As of a table in memory, with pictures from samples: a public one from whole classes,
        which follow from what is released.
        """
        shown_of = self.of_classes if public else self
        sample = None
        if not self.measured.aside.everything:
            sample = Sample(shown_of._arrow.num_rows, of="classes" if public else "records")
        return build_document(
            manifest={**self.manifest, **self._written},
            public=public,
            pair=shown_of.pair,
            class_sizes=self.anonymity.sizes,
            figures=self.figures,
            notes=() if public else self.notes,
            shown=shown_of._shown(),
            sample=sample,
            changed=None if public else self.changes,
            lost=None if public else self.lost_categories,
        )

    @property
    def _variables(self) -> tuple[Variable, ...]:
        """Quasi-identifiers before."""
        return self.measured.variables


def _averaged_codes_in(measured: FigureInputs, declared: ColumnSettings) -> tuple[str, ...]:
    """Return the averaged columns that look like codes, judged by a sample of the records."""
    numbers = [variable for variable in measured.variables if variable.kind is Kind.NUMERIC]
    original = measured.original_of(measured.sample)
    cells = cells_in(original.select([variable.name for variable in numbers]), numbers)
    return tuple(averaged_codes(cells, declared))


def tables_of(measured: FigureInputs, sample: pa.Table) -> dict[str, Any]:
    """Return the fields of a release that are tables, as a sample of its records has them."""
    return {
        "_arrow": measured.released_of(sample),
        "_original": nw.from_native(measured.original_of(sample), eager_only=True),
        "_cells": measured.cells_of(sample),
        "_measured": measured,
    }

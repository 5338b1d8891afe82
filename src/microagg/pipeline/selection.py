"""Which records take part: those without gaps, where others are to be left out, and those of strata
that can be grouped.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from microagg.files.commit import system
from microagg.pipeline.column_scan import ColumnScanResult, compared_columns, gaps_in, scan_columns
from microagg.pipeline.confidential_codes import GuaranteeContext
from microagg.pipeline.drop_records import complete_chunk, kept_records, of_strata_chunk
from microagg.pipeline.guarantee_facts import count_confidential, units_of_records
from microagg.pipeline.strata_plan import StrataCodes
from microagg.problem.problem import checked_k
from microagg.release.cells import check_few
from microagg.release.strata import notes_on_left_out, strata_as_data, wrong_strata
from microagg.runtime.chunk_map import ChunkMap
from microagg.runtime.workers import versions_here
from microagg.table.schema import Role

if TYPE_CHECKING:
    from microagg.pipeline.out_of_core import OutOfCoreRun
    from microagg.release.settings import Settings


def key_of_run(settings: Settings, *more: str) -> str:
    """The same for runs that set the same aside: by their settings, by the versions of this program
    and its libraries, and by more.
    """
    asked = json.dumps([settings.as_data(), versions_here()], sort_keys=True, default=str)
    return hashlib.sha256("\0".join([asked, *more]).encode()).hexdigest()


@dataclass
class RecordSelection:
    """The records that take part in a release, and what is known of them; those left out are
    counted.
    """

    run: OutOfCoreRun
    passes: ChunkMap
    found: ColumnScanResult
    dropped: int = 0
    """Records that miss a quasi-identifier."""
    strata_left_out: int = 0
    records_left_out: int = 0
    """Records of these strata."""
    strata: StrataCodes | None = None
    counts: np.ndarray | None = None
    """(chunks, strata): how many records of each stratum each chunk has."""
    promised: GuaranteeContext | None = None
    _tables: int = 0

    @staticmethod
    def of(run: OutOfCoreRun, passes: ChunkMap, found: ColumnScanResult) -> RecordSelection:
        """Those of a table that was scanned."""
        taking = RecordSelection(run, passes, found)
        if run.settings.missing == "drop":
            taking._leave_gaps_out()
        taking._leave_strata_out()
        checked_k(run.settings.k, taking.passes.source.records)
        return taking

    @property
    def sizes(self) -> np.ndarray | None:
        """How many records each stratum has."""
        return None if self.counts is None else self.counts.sum(axis=0)

    def strata_as_data(self) -> dict[str, Any] | None:
        """What the internal manifest keeps of the strata."""
        if self.sizes is None:
            return None
        return strata_as_data(self.sizes, self.strata_left_out, self.records_left_out)

    @property
    def notes(self) -> tuple[str, ...]:
        """What the data holder should know of all this."""
        notes: tuple[str, ...] = ()
        if self.dropped:
            notes = (f"left out, because a quasi-identifier was missing: {self.dropped:,} records",)
        return notes + notes_on_left_out(
            self.strata_left_out, self.records_left_out, self.run.settings.k
        )

    def _leave_gaps_out(self) -> None:
        found, passes, settings = self.found, self.passes, self.run.settings
        gaps = [
            gaps_in(column, facts)
            for column, facts in zip(found.variables, found.facts, strict=True)
        ]
        if not any(gaps):
            return
        units_of_records(
            passes, self.run.schema, settings
        )  # refused by their rows in the table that was given
        records = passes.source.records
        self._keep(complete_chunk, tuple(found.variables))
        self.dropped = records - self.passes.source.records
        check_few(self.dropped, records, settings.k)
        self._scan()

    def _leave_strata_out(self) -> None:
        """What t compares with changes with the records that are left out, so that it is asked
        again.
        """
        run, first = self.run, True
        while True:
            of_strata = self.found.strata
            self.strata, self.counts = (
                StrataCodes.counted(self.passes, of_strata) if of_strata else (None, None)
            )
            self.promised, lacking = count_confidential(
                self.passes,
                run.schema,
                run.settings,
                self.strata,
                run.budget.memory,
                self.found.categories,
                may_be_impossible=not first,
            )
            sizes = self.sizes
            if self.strata is None or sizes is None:
                return
            wrong = wrong_strata(sizes, lacking, run.settings)
            if not wrong.any():
                return
            self.strata_left_out += int(wrong.sum())
            self.records_left_out += int(sizes[wrong].sum())
            self._keep(of_strata_chunk, self.strata, wrong.astype(np.int8))
            self._scan()
            first = False

    def _keep(self, task: Any, *given: Any) -> None:
        """Go on with the records that a task sets aside; what identifies people does not come
        along.
        """
        run, before = self.run, self.passes.source
        kept = {column.name for column in run.schema.columns if column.role is not Role.IDENTIFIER}
        names = tuple(name for name in before.schema.names if name in kept)
        compared = compared_columns(run.schema), self.found.chunk_digests
        key = key_of_run(run.settings, self.found.digest)[:16]
        path = f"{run.spill.folder}/left-{key}-{self._tables}"
        self.passes = run.passes_over(
            kept_records(self.passes, task, names, *compared, *given, path)
        )
        if self._tables:
            for file in before.files:
                system.remove(Path(file))
        self._tables += 1

    def _scan(self) -> None:
        """Find out about these records; digest and sketch stay those of the table that was
        given.
        """
        run = self.run
        found = scan_columns(self.passes, run.schema, run.settings)
        self.found = replace(found, digest=self.found.digest, sketch=self.found.sketch)

"""Selection of the records that take part: without gaps where these are dropped, in strata that can
be grouped.
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
from microagg.release.strata import drop_wrong_strata, strata_as_data
from microagg.runtime.chunk_map import ChunkMap
from microagg.runtime.workers import versions_here
from microagg.table.schema import Role

if TYPE_CHECKING:
    from microagg.pipeline.run import OutOfCoreRun
    from microagg.release.settings import Settings


def key_of_run(settings: Settings, *more: str) -> str:
    """The same for runs that set the same aside: by their settings, by the versions of this program
    and its libraries, and by more.
    """
    content = json.dumps([settings.as_data(), versions_here()], sort_keys=True, default=str)
    return hashlib.sha256("\0".join([content, *more]).encode()).hexdigest()


@dataclass
class RecordSelection:
    """The records that take part in a release, and what is known of them; those left out are
    counted.
    """

    run: OutOfCoreRun
    passes: ChunkMap
    scan: ColumnScanResult
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
    _strata_were_left_out: bool = False

    @staticmethod
    def of(run: OutOfCoreRun, passes: ChunkMap, scan: ColumnScanResult) -> RecordSelection:
        """Those of a table that was scanned."""
        taking = RecordSelection(run, passes, scan)
        if run.settings.missing == "drop":
            taking._leave_gaps_out()
        if scan.strata:
            left_out = drop_wrong_strata(taking, run.settings)
            taking.strata_left_out, taking.records_left_out = left_out
        else:
            taking.measure()
        checked_k(run.settings.k, taking.passes.source.records)
        return taking

    @property
    def sizes(self) -> np.ndarray | None:
        """Return the number of records of each stratum."""
        return None if self.counts is None else self.counts.sum(axis=0)

    def strata_as_data(self) -> dict[str, Any] | None:
        """Return what the internal manifest states of the strata."""
        if self.sizes is None:
            return None
        return strata_as_data(self.sizes, self.strata_left_out, self.records_left_out)

    def _leave_gaps_out(self) -> None:
        scan, passes, settings = self.scan, self.passes, self.run.settings
        gaps = [
            gaps_in(column, facts) for column, facts in zip(scan.variables, scan.facts, strict=True)
        ]
        if not any(gaps):
            return
        units_of_records(
            passes, self.run.schema, settings
        )  # refused by their rows in the table that was given
        records = passes.source.records
        self._keep(complete_chunk, tuple(scan.variables))
        self.dropped = records - self.passes.source.records
        check_few(self.dropped, records, settings.k)
        self._scan()

    def measure(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the size of each stratum, and its distance from its guarantees as one group."""
        run, of_strata = self.run, self.scan.strata
        self.strata, self.counts = (
            StrataCodes.counted(self.passes, of_strata) if of_strata else (None, None)
        )
        self.promised, lacking = count_confidential(
            self.passes, run.schema, run.settings, self.strata, run.budget.memory,
            self.scan.categories, may_be_impossible=self._strata_were_left_out,
        )  # fmt: skip
        return np.zeros(0, np.int64) if self.sizes is None else self.sizes, lacking

    def leave_out(self, wrong: np.ndarray) -> None:
        """Leave out the records of these strata."""
        assert self.strata is not None
        self._strata_were_left_out = True
        self._keep(of_strata_chunk, self.strata, wrong.astype(np.int8))
        self._scan()

    def _keep(self, task: Any, *arguments: Any) -> None:
        """Go on with the records that a task sets aside; what identifies people does not come
        along.
        """
        run, before = self.run, self.passes.source
        kept = {column.name for column in run.schema.columns if column.role is not Role.IDENTIFIER}
        names = tuple(name for name in before.schema.names if name in kept)
        compared = compared_columns(run.schema), self.scan.chunk_digests
        key = key_of_run(run.settings, self.scan.digest)[:16]
        path = f"{run.spill.folder}/left-{key}-{self._tables}"
        self.passes = run.passes_over(
            kept_records(self.passes, task, names, *compared, *arguments, path)
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
        scan = scan_columns(self.passes, run.schema, run.settings)
        self.scan = replace(scan, digest=self.scan.digest, sketch=self.scan.sketch)

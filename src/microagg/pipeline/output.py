"""Last steps of an out-of-core release: write, verify, and commit with its manifests."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from microagg.files.commit import writing
from microagg.pipeline.merge_stats import merge_block_stats
from microagg.pipeline.notes import OutOfCoreFacts, left_out_first
from microagg.pipeline.on_disk import OnDiskRelease, ReleaseInput
from microagg.pipeline.output_check import OutputCheck, VerifiedOutput
from microagg.pipeline.output_facts import BlockResults
from microagg.pipeline.row_output import RowOutput, WrittenTable
from microagg.release.facts import ReleaseFacts
from microagg.release.manifest import internal_manifest
from microagg.release.note import Note
from microagg.release.note_catalogue import make_note
from microagg.release.note_columns import naming_columns
from microagg.release.note_rules import notes_from
from microagg.release.release import Release
from microagg.release.risks import NAMED_COLUMNS, check_unaccepted, notes_on_earlier_releases
from microagg.release.saving import manifest_pieces, table_piece


@dataclass
class ReleaseWriter:
    """Writer of a release whose blocks are done; nothing is in place unless it is verified."""

    results: BlockResults
    work_dir: Path
    options: dict[str, Any]
    """How the format is written."""
    expected: Callable[[dict[str, Any], str], object] | None = None

    def save(self) -> Release:
        """Write the table and its manifests, and commit them as one."""
        results, run = self.results, self.results.run
        rows = RowOutput(run, results.config, results.grouped, self.work_dir, self.options)
        check = OutputCheck(rows, results.layout)
        added: dict[str, Any] = {
            "rows": "kept" if run.keep_order else "shuffled",
            "dialect": self.options,
        }
        content: dict[str, Any] = {}
        written: list[WrittenTable] = []
        done: list[tuple[OnDiskRelease, VerifiedOutput]] = []

        def write(part: Path) -> None:
            written.append(rows.write(part))
            added["output"] = {"file": run.target.name, "digest": written[-1].digest}

        def inspect(part: Path) -> None:
            verified = check.verify(part)
            if naming_columns(verified.profiles)[0]:
                check_unaccepted(run.settings, [NAMED_COLUMNS])
            added["release"] = verified.name
            facts = results.facts(verified)
            content.update(internal_manifest(facts))
            if self.expected is not None:
                self.expected(content, added["output"]["digest"])
            # before anything is in place, so that all of it is or nothing
            done.append((self._release(rows, facts, content, added), verified))
            run.identity.check_last()

        files = [
            table_piece(run.target, write, inspect, lambda part: written[-1].digest_of_files),
            *manifest_pieces(run.target, lambda: {**content, **added}),
        ]
        writing.put_in_place(files)
        release, verified = done[-1]
        return replace(release, notes=self._notes(release, content, verified))

    def _notes(
        self, release: OnDiskRelease, content: dict[str, Any], verified: VerifiedOutput
    ) -> tuple[Note, ...]:
        results = self.results
        counts = OutOfCoreFacts(
            results.run, results.layout, results.config, results.grouped, content,
            release.measured, results.capped, results.selection, verified.profiles,
        )  # fmt: skip
        notes = left_out_first(notes_from(counts.facts()))
        earlier = notes_on_earlier_releases(results.run.target, content)
        return (*notes, *earlier, make_note("out-of-core"))

    def _release(
        self,
        rows: RowOutput,
        facts: ReleaseFacts,
        content: dict[str, Any],
        added: dict[str, Any],
    ) -> OnDiskRelease:
        """Return the release with its statistics; with the linkage that a report needs, if any."""
        results, run = self.results, self.results.run
        sizes = facts.anonymity.sizes
        measured = merge_block_stats(run, results.layout, results.config, results.grouped, sizes)
        measured.kinds, measured.categories = rows.categories
        source = ReleaseInput.of(run.source, run.budget.chunk, run.budget.a_record)
        release = OnDiskRelease.of(
            measured, facts, content, written=added, input=source, search=results.grouped.search
        )
        if run.reported:
            release.look_up(run.executor, run.telling)
        return release

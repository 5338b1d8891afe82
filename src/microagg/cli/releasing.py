"""From what was typed to a release and what is shown of it: files or pipes, a terminal or a JSON
document.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

from microagg.cli import documents, show, terminal
from microagg.cli.app import answer, is_output_closed
from microagg.errors import InputError, MicroaggError
from microagg.files.stores.locations import Url, parse_location
from microagg.pipeline.files import anonymize_file
from microagg.pipeline.pipes import check_manifest_places, hand_over, is_pipe
from microagg.release.manifest import manifest_paths
from microagg.release.release import Release
from microagg.release.saving import report_paths, report_places
from microagg.release.settings import Settings
from microagg.sentences import sentence

STOPPED = 130
LOST = "without --manifest the internal manifest is lost, and this release cannot be repeated"


@dataclass(frozen=True)
class AnonymizeOptions:
    """Options of the command `anonymize` that are not settings."""

    target: Path
    """As it was typed."""
    threads: int | None = None
    keep_order: bool = False
    report: Path | None = None
    manifest: Path | None = None
    public_manifest: Path | None = None
    as_json: bool = False
    memory: str | None = None
    spill: Path | None = None
    resume: bool = False
    dask: str | None = None

    @property
    def piped(self) -> bool:
        """Return whether the table is written to standard output."""
        return is_pipe(self.target)

    def check_contradictions(self) -> None:
        """Raise if options contradict each other."""
        if self.piped and is_output_closed():
            raise InputError("there is no standard output to write to; name a file.")
        if self.piped and self.as_json:
            raise InputError(
                "standard output cannot hold both the table and JSON; name a file for "
                "the table, or leave out --json."
            )
        if not self.piped and (self.manifest or self.public_manifest):
            raise InputError(
                "the manifests of a file are written beside it; --manifest and "
                "--public-manifest are for standard output."
            )


def release_of(
    source: Path, local_target: str | Path, settings: Settings, options: AnonymizeOptions
) -> None:
    """Make a release, write it or give it out, and show what was done."""
    _check_places(source, options)
    with terminal.progress("grouping records") as progress:
        release = anonymize_file(
            source,
            local_target,
            settings=settings,
            keep_order=options.keep_order,
            report=None if options.piped else options.report,
            memory=options.memory,
            spill=options.spill,
            resume=options.resume,
            threads=options.threads,
            engine=options.dask,
            progress=progress,
        )
    if options.piped:
        _give_out(release, Path(local_target), options)
    elif options.as_json:
        reports = (
            dict(
                zip(("internal_report", "public_report"), report_paths(options.report), strict=True)
            )
            if options.report
            else {}
        )
        answer(documents.release(release, {**places_of_release(options.target), **reports}))
    else:
        show.release(release, parse_location(options.target))
        show.reports(options.report)
    end_of(release)


def dry_run_of(
    source: Path, local_target: str | Path, settings: Settings, options: AnonymizeOptions
) -> None:
    """Show what a release would be, without making it."""
    from microagg.cli import show_plans
    from microagg.pipeline.dry_run import dry_run_file

    _check_places(source, options)
    plan = dry_run_file(
        source,
        local_target,
        settings,
        report=options.report,
        threads=options.threads,
        memory=options.memory,
        spill=options.spill,
    )
    files: tuple[Path | None, ...] = plan.files
    if options.piped:
        reports = report_paths(options.report) if options.report else ()
        files = (options.target, options.manifest, options.public_manifest, *reports)
    show_plans.show_or_answer(
        plan, [path for path in files if path is not None], as_json=options.as_json
    )


def places_of_release(target: Path) -> dict[str, Path | Url | None]:
    """The files of a release by what they are."""
    location = parse_location(target)
    internal, public = manifest_paths(location)
    return {"table": location, "public_manifest": public, "internal_manifest": internal}


def end_of(release: Release) -> None:
    """A search that was stopped by hand still ends with the code of Ctrl-C."""
    if release.stopped == "interrupted":
        sys.exit(STOPPED)


def _check_places(source: Path, options: AnonymizeOptions) -> None:
    check_manifest_places(options.manifest, options.public_manifest)
    wanted = [path for path in (options.manifest, options.public_manifest) if path is not None]
    if options.piped:  # else those of the files are made sure of with them
        report_places(options.report, taken=[source, *wanted])


def _give_out(release: Release, path: Path, options: AnonymizeOptions) -> None:
    """Reports and manifests first, then the table: what fails before leaves standard output
    empty.
    """
    if options.report is not None:
        for report, public in zip(report_paths(options.report), (False, True), strict=True):
            try:
                release.report(report, public=public)
            except MicroaggError as error:
                message = error.sentence.without_period()
                raise type(error)(sentence(message, "; the table was not given out.")) from None
    hand_over(path, sys.stdout.buffer, manifest=options.manifest, public=options.public_manifest)
    with terminal.on_standard_error():
        show.release(release, None)
        show.reports(options.report)
        for what, written in (("internal", options.manifest), ("public", options.public_manifest)):
            if written is not None:
                terminal.out.print(
                    f"{what:<12}{written}{' (do not publish)' if what == 'internal' else ''}"
                )
    if options.manifest is None:
        print(f"note: {LOST}.", file=sys.stderr)

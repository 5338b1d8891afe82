"""From what was typed to a release and what is shown of it: files or pipes, a terminal or a JSON
document.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

from microagg.cli import documents, show
from microagg.cli.app import answer, is_output_closed
from microagg.errors import InputError, MicroaggError
from microagg.files.stores.locations import Url, parse_location
from microagg.pipeline.files import anonymize_file
from microagg.pipeline.pipes import check_manifest_places, hand_over, is_pipe
from microagg.release.manifest import manifest_paths
from microagg.release.release import Release
from microagg.release.saving import report_paths, report_places
from microagg.release.settings import Settings

STOPPED = 130
LOST = "without --manifest the internal manifest is lost, so that nobody can repeat this release"


@dataclass(frozen=True)
class AnonymizeOptions:
    """What `anonymize` is asked for besides settings."""

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
        """Whether the table goes to standard output."""
        return is_pipe(self.target)

    def check_contradictions(self) -> None:
        """Raise where what is asked for cannot be had together."""
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
    source: Path, place: str | Path, settings: Settings, asked: AnonymizeOptions
) -> None:
    """Make a release, write it or give it out, and show what was done."""
    _check_places(source, asked)
    with show.progress("grouping records") as progress:
        release = anonymize_file(
            source,
            place,
            settings=settings,
            keep_order=asked.keep_order,
            report=None if asked.piped else asked.report,
            memory=asked.memory,
            spill=asked.spill,
            resume=asked.resume,
            threads=asked.threads,
            engine=asked.dask,
            progress=progress,
        )
    if asked.piped:
        _give_out(release, Path(place), asked)
    elif asked.as_json:
        reports = (
            dict(zip(("internal_report", "public_report"), report_paths(asked.report), strict=True))
            if asked.report
            else {}
        )
        answer(documents.release(release, {**places_of_release(asked.target), **reports}))
    else:
        show.release(release, parse_location(asked.target))
        show.reports(asked.report)
    end_of(release)


def dry_run_of(
    source: Path, place: str | Path, settings: Settings, asked: AnonymizeOptions
) -> None:
    """Show what a release would be, without making it."""
    from microagg.cli import show_plans
    from microagg.pipeline.dry_run import dry_run_file

    _check_places(source, asked)
    plan = dry_run_file(
        source,
        place,
        settings,
        report=asked.report,
        threads=asked.threads,
        memory=asked.memory,
        spill=asked.spill,
    )
    files: tuple[Path | None, ...] = plan.files
    if asked.piped:
        reports = report_paths(asked.report) if asked.report else ()
        files = (asked.target, asked.manifest, asked.public_manifest, *reports)
    show_plans.show_or_answer(
        plan, [place for place in files if place is not None], as_json=asked.as_json
    )


def places_of_release(target: Path) -> dict[str, Path | Url | None]:
    """The files of a release by what they are."""
    place = parse_location(target)
    internal, public = manifest_paths(place)
    return {"table": place, "public_manifest": public, "internal_manifest": internal}


def end_of(release: Release) -> None:
    """A search that was stopped by hand still ends with the code of Ctrl-C."""
    if release.stopped == "interrupted":
        sys.exit(STOPPED)


def _check_places(source: Path, asked: AnonymizeOptions) -> None:
    check_manifest_places(asked.manifest, asked.public_manifest)
    wanted = [each for each in (asked.manifest, asked.public_manifest) if each is not None]
    if asked.piped:  # else those of the files are made sure of with them
        report_places(asked.report, taken=[source, *wanted])


def _give_out(release: Release, place: Path, asked: AnonymizeOptions) -> None:
    """Reports and manifests first, then the table: what fails before leaves standard output
    empty.
    """
    if asked.report is not None:
        for report, public in zip(report_paths(asked.report), (False, True), strict=True):
            try:
                release.report(report, public=public)
            except MicroaggError as error:
                raise type(error)(
                    f"{str(error).rstrip('.')}; the table was not given out."
                ) from None
    hand_over(place, sys.stdout.buffer, manifest=asked.manifest, public=asked.public_manifest)
    with show.on_standard_error():
        show.release(release, None)
        show.reports(asked.report)
        for what, written in (("internal", asked.manifest), ("public", asked.public_manifest)):
            if written is not None:
                show.out.print(
                    f"{what:<12}{written}{' (do not publish)' if what == 'internal' else ''}"
                )
    if asked.manifest is None:
        print(f"note: {LOST}.", file=sys.stderr)

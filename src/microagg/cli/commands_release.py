"""Commands that make releases: a proposal, the release itself, the same again, a demonstration, and
cleaning up after kills.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from microagg.cli.app import AsJson, CommandWithPanels, Dask, answer, app, print_text
from microagg.cli.option_types import (
    DryRun,
    KeepOrder,
    ManifestPath,
    Memory,
    PublicManifestPath,
    ReportPath,
    Resume,
    Source,
    SpillFolder,
    Target,
    Threads,
)
from microagg.cli.options import names_in, reading_options_in, takes_settings
from microagg.cli.watching import watch
from microagg.errors import InputError
from microagg.files.formats import known_suffixes
from microagg.files.stores.locations import parse_location
from microagg.proposal.open_codes import check_codes, settled
from microagg.release.settings import Settings
from microagg.table.parameters import K

if TYPE_CHECKING:
    from microagg.release.release import Release

STOPPED = 130


@app.command(cls=CommandWithPanels)
@takes_settings()
def anonymize(
    source: Source,
    written: Target,
    typed_options: dict[str, Any],
    threads: Threads = None,
    keep_order: KeepOrder = False,
    report: ReportPath = None,
    manifest: ManifestPath = None,
    public_manifest: PublicManifestPath = None,
    dry_run: DryRun = False,
    memory: Memory = None,
    spill: SpillFolder = None,
    resume: Resume = False,
    dask: Dask = None,
    as_json: AsJson = False,
) -> None:
    """Write a verified k-anonymous version of a table. Its manifests are written beside it."""
    from microagg.cli.releasing import AnonymizeOptions, dry_run_of, release_of
    from microagg.pipeline.pipes import is_pipe, private_files
    from microagg.release.saving import report_paths

    target = Path(written)
    watch(None if is_pipe(target) else target, verified=True)
    watch(
        manifest,
        public_manifest,
        *(report_paths(report) if report is not None and report.name else ()),
    )
    options = AnonymizeOptions(
        target,
        threads=threads,
        keep_order=keep_order,
        report=report,
        manifest=manifest,
        public_manifest=public_manifest,
        as_json=as_json,
        memory=memory,
        spill=spill,
        resume=resume,
        dask=dask,
    )
    options.check_contradictions()
    reading = reading_options_in(typed_options)
    with private_files(source, target, getattr(sys.stdin, "buffer", None)) as (
        local_source,
        local_target,
    ):
        if "quasi" not in typed_options:
            _propose_instead(local_source, source, target, typed_options, reading, as_json=as_json)
        chosen = settled(typed_options, local_source, reading)
        settings = Settings.of(**chosen)
        check_codes(chosen, local_source, reading)
        make = dry_run_of if dry_run else release_of
        make(local_source, local_target if options.piped else written, settings, options)


def _propose_instead(
    local_source: Path,
    source: Path,
    target: Path,
    typed_options: dict[str, Any],
    reading: dict[str, Any],
    *,
    as_json: bool,
) -> None:
    """Show a proposal of roles and stop, as no column has one."""
    from microagg.cli import show
    from microagg.proposal.proposal import propose_for_file

    k, proposed = (
        K.parse(typed_options["k"]),
        propose_for_file(local_source, na=typed_options.get("na", ()), **reading),
    )
    if as_json:
        error = InputError(show.why_stopped(proposed))
        # answered beside the sentence with --json
        error.document = {"proposal": proposed.as_data(k)}
        raise error
    raise InputError(
        show.proposal(proposed, source, target, k, reading, typed_options.get("nominal", ()))
    )


@app.command(cls=CommandWithPanels)
@takes_settings("na", "reading")
def propose(
    source: Source,
    typed_options: dict[str, Any],
    k: Annotated[str, typer.Option("--k", "-k", help=K.help)] = "5",
    nominal: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMNS",
            help="Columns of categories that look like numbers; `asked` for all that are "
            "asked about.",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Propose settings for a table, as a file of TOML. It goes to standard output; correct it and
    name it with anonymize --config.
    """
    from microagg.pipeline.exposure import exposure_of_proposal
    from microagg.pipeline.pipes import private_files
    from microagg.proposal.proposal import propose_for_file
    from microagg.table.settings_text import comment

    least, reading = K.parse(k), reading_options_in(typed_options)
    with private_files(source, None, getattr(sys.stdin, "buffer", None)) as (local_source, _):
        proposed = propose_for_file(local_source, na=typed_options.get("na", ()), **reading)
        exposed = exposure_of_proposal(local_source, proposed, least, reading)
    if as_json:
        counts = None if exposed is None else exposed.as_data()
        answer({**proposed.as_data(least), "exposure": counts})
    else:
        sentences = () if exposed is None else exposed.sentences
        print_text(
            proposed.to_toml(least, nominal=names_in(nominal), **reading)
            + "".join(f"\n{comment(sentence)}" for sentence in sentences)
            + ("\n" if sentences else "")
        )


@app.command(cls=CommandWithPanels)
def schema(as_json: AsJson = False) -> None:
    """Print the JSON Schema of a file of settings."""
    from microagg.release.settings_schema import settings_schema

    answer(settings_schema())


@app.command(cls=CommandWithPanels)
def repeat(
    manifest: Annotated[Path, typer.Argument(help="The internal manifest of a release.")],
    source: Annotated[Path, typer.Argument(help="The table that the release was made from.")],
    written: Annotated[
        str,
        typer.Argument(
            metavar="TARGET",
            help=f"The table to write: {known_suffixes()}; NAME/ for a folder of parquet parts.",
        ),
    ],
    anyway: Annotated[
        bool,
        typer.Option("--anyway", help="Write the release even if it differs from the first one."),
    ] = False,
    threads: Threads = None,
    memory: Memory = None,
    spill: SpillFolder = None,
    resume: Resume = False,
    dask: Dask = None,
    as_json: AsJson = False,
) -> None:
    """Make a release again from its manifest and the original. Exit code 3 if it is not the same;
    nothing is written then.
    """
    from microagg.cli import terminal
    from microagg.studies.repeating import repeat_file

    target = Path(written)
    watch(target, verified=True)
    with terminal.progress("grouping records") as progress:
        release = repeat_file(
            manifest,
            source,
            written,
            progress=progress,
            anyway=anyway,
            memory=memory,
            spill=spill,
            resume=resume,
            threads=threads,
            engine=dask,
        )
    _end_with(release, target, as_json=as_json)


@app.command(cls=CommandWithPanels)
def demo(
    folder: Annotated[Path, typer.Option(help="Where to write the demo's files.")] = Path(
        "microagg-demo"
    ),
    k: Annotated[str, typer.Option("--k", "-k", help=K.help)] = "5",
    as_json: AsJson = False,
) -> None:
    """Anonymize a table of made-up people from start to finish."""
    from microagg.cli import show, terminal
    from microagg.pipeline.files import anonymize_file
    from microagg.problem.problem import checked_k
    from microagg.studies.demonstration import ASKED, RESIDENTS, prepare_demonstration

    least = checked_k(K.parse(k), RESIDENTS)
    source, target = prepare_demonstration(folder)
    watch(target, verified=True)
    if not as_json:
        show.demo_intro(source, target, least, ASKED)
    with terminal.progress("grouping records") as progress:
        release = anonymize_file(source, target, least, seed=1, progress=progress, **ASKED)

    def show_more() -> None:
        show.before_and_after(source, target, release)
        show.first_page(release)

    _end_with(release, target, show_more, as_json=as_json)


@app.command(cls=CommandWithPanels)
def clean(
    folder: Annotated[Path, typer.Argument(help="A folder that releases were saved to.")],
    as_json: AsJson = False,
) -> None:
    """Clean up after interrupted runs in a folder. Each release is then whole, old or new."""
    from microagg.cli import show
    from microagg.files.commit.writing import clean_folder
    from microagg.runtime.spill import remove_left_spill

    done = [*clean_folder(folder), *remove_left_spill(folder)]
    if as_json:
        answer({"done": done})
    else:
        show.cleaned(done)


def _end_with(
    release: Release,
    target: Path,
    more: Callable[[], None] = lambda: None,
    *,
    as_json: bool = False,
) -> None:
    """Show what was written; a search that was stopped by hand still ends with the code of
    Ctrl-C.
    """
    from microagg.cli import documents, show
    from microagg.cli.releasing import end_of, places_of_release

    if as_json:
        from microagg.cli import documents, show

        answer(documents.release(release, places_of_release(target)))
    else:
        show.release(release, parse_location(target))
        more()
    end_of(release)

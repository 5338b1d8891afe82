"""The command line. No logic: every command calls one function of the package and shows what it returns."""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from microagg.cli.options import as_typed, names_in, reads_files, takes_settings
from microagg.cli.watching import forget, warnings_as_notes, watch, what_was_written
from microagg.errors import InputError, MicroaggError
from microagg.release.settings import OF_A_CELL, Settings
from microagg.table.io.formats import known_suffixes
from microagg.table.kind_parameters import column_settings
from microagg.table.parameters import K
from microagg.table.proposal import settled

if TYPE_CHECKING:
    from microagg.release.release import Release

app = typer.Typer(
    name="microagg",
    help="Make confidential microdata publishable: k-anonymous groups with as little information loss as possible.",
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

# typer brings its own copy of click or uses the installed one: its usage errors are found through their child
WrongUse: Any = typer.BadParameter.__mro__[2]

STOPPED = 130
MEANINGS = ("kinds", "nominal", "ordinal", "special", "na")
"""The settings that say what the values of a column mean, whoever made the table."""
NOT_SHARED = (
    *OF_A_CELL,
    "identifier",
    "rest",
)  # by the releases of a comparison, which drops what has no role

Memory = Annotated[
    str | None,
    typer.Option(
        metavar="SIZE",
        help="How much memory to use, such as 4GB; by default half of what is free. Larger tables are worked on in passes, with "
        "the same release.",
    ),
]
SpillFolder = Annotated[
    Path | None,
    typer.Option(
        help="The folder for what such passes set aside, for your eyes only until it goes; by default that of the output."
    ),
]
Dask = Annotated[
    str | None,
    typer.Option(
        metavar="ADDRESS",
        help="Let the workers of a Dask cluster do the work: its scheduler, such as tcp://10.0.0.1:8786, or local:4 for four "
        "processes of this machine. Nothing but the time depends on it.",
    ),
]
Columns = Annotated[list[str] | None, typer.Option(help="Columns, comma-separated; may be repeated.")]


def main() -> None:
    """Run a command and turn every error into one sentence and an exit code."""
    forget()
    with warnings_as_notes():
        _run_command()


def _run_command() -> None:
    # a terminal that lacks a letter must not make a finished run fail
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    try:
        code = app(standalone_mode=False)
        if code == STOPPED:  # what typer makes of Ctrl-C, without a word
            raise KeyboardInterrupt
        sys.stdout.flush()  # a full disk is met here, not after the last word
        sys.exit(code if isinstance(code, int) else 0)
    except MicroaggError as error:
        _fail(as_typed(str(error)), error.exit_code)
    except WrongUse as error:
        _fail(" ".join(error.format_message().split()).rstrip(".") + ".", 2)
    except (KeyboardInterrupt, typer.Abort) as error:
        if isinstance(error.__cause__, EOFError):  # nothing is asked here: a file of ours ended too early
            _fail_by_bug(error.__cause__)
        _fail(f"stopped; {what_was_written()}.", STOPPED)
    except BrokenPipeError:
        sys.exit(0)
    except OSError as error:
        if os.environ.get("MICROAGG_DEBUG"):
            raise
        _give_up_output()
        why = os.strerror(error.errno) if error.errno else type(error).__name__
        _fail(f"a file or the output cannot be used ({why}); {what_was_written()}.", 2)
    except MemoryError:
        _fail(f"there is not enough memory for this table; {what_was_written()}.", 1)
    except Exception as error:
        _fail_by_bug(error)


def _give_up_output() -> None:
    """Python would try to flush what is left once more, and say so in a traceback."""
    with contextlib.suppress(OSError, ValueError):
        sys.stdout.flush()
        return
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


def _fail_by_bug(error: BaseException) -> NoReturn:
    if os.environ.get("MICROAGG_DEBUG"):
        raise error
    # the message of an unforeseen error may quote the data: only its kind is told
    kind = type(error).__name__
    _fail(
        f"a bug in microagg ({kind}); {what_was_written()}. Set MICROAGG_DEBUG=1 to see where, and report it.",
        1,
    )


def _printable(text: str) -> str:
    """What a name may do on a terminal: be read."""
    from microagg.drawing.wording import printable

    return printable(text)


def _as_json(data: Any) -> str:
    text = json.dumps(data, indent=2, ensure_ascii=False)
    return re.sub("[\x7f-\x9f]", lambda mark: f"\\u{ord(mark[0]):04x}", text)


def _fail(sentence: str, code: int) -> NoReturn:
    print(f"error: {_printable(' '.join(sentence.split()))}", file=sys.stderr)
    sys.exit(code)


@app.callback(invoke_without_command=True)
def _global_options(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version and stop.")] = False,
) -> None:
    if version:
        from microagg import __version__

        print(__version__)
        raise typer.Exit
    if context.invoked_subcommand is None:
        print(context.get_help())


@app.command()
@reads_files
@takes_settings()
def anonymize(
    source: Annotated[Path, typer.Argument(help=f"The confidential table: {known_suffixes()}.")],
    target: Annotated[Path, typer.Argument(help=f"The table to write: {known_suffixes()}.")],
    given: dict[str, Any],
    reading: dict[str, Any],
    threads: Annotated[
        int | None, typer.Option(help="Number of threads; by default one per processor.")
    ] = None,
    keep_order: Annotated[bool, typer.Option("--keep-order", help="Do not shuffle the rows.")] = False,
    escape_formulas: Annotated[
        bool,
        typer.Option(
            "--escape-formulas",
            help="For a csv file that goes to a spreadsheet: put an apostrophe before texts such as =A1.",
        ),
    ] = False,
    report: Annotated[
        Path | None,
        typer.Option(
            help="Write two reports (.html, .md or .json): NAME.internal.html to keep, NAME.public.html to publish."
        ),
    ] = None,
    memory: Memory = None,
    spill: SpillFolder = None,
    resume: Annotated[
        bool,
        typer.Option("--resume", help="Go on from the blocks that a killed run had done, beyond memory."),
    ] = False,
    dask: Dask = None,
) -> None:
    """Write a verified k-anonymous version of a table, with its manifests."""
    from microagg.cli import show
    from microagg.release.files import anonymize_file
    from microagg.release.saving import report_paths

    watch(target, verified=True)
    watch(*(report_paths(report) if report is not None and report.name else ()))
    if "quasi" not in given:
        nominal = given.get("nominal", ())
        raise InputError(show.proposal(source, target, K.parse(given["k"]), reading, nominal))
    settings = Settings.of(**settled(given, source, reading))
    with show.progress("grouping records") as progress:
        release = anonymize_file(
            source, target, settings=settings, keep_order=keep_order, report=report, reading=reading,
            writing={"escape_formulas": escape_formulas}, memory=memory, spill=spill, resume=resume, threads=threads,
            engine=dask, progress=progress,
        )  # fmt: skip
    _end_with(release, target, lambda: show.reports(report))


@app.command()
def repeat(
    manifest: Annotated[Path, typer.Argument(help="The internal manifest of a release.")],
    source: Annotated[Path, typer.Argument(help="The table that the release was made from.")],
    target: Annotated[Path, typer.Argument(help=f"The table to write: {known_suffixes()}.")],
    anyway: Annotated[
        bool, typer.Option("--anyway", help="Write it although other versions make another release of it.")
    ] = False,
    memory: Memory = None,
    spill: SpillFolder = None,
) -> None:
    """Make a release again from its internal manifest and the original table. Exit code 3 if it is not the same; nothing is written then."""
    from microagg.cli import show
    from microagg.studies.repeating import repeat_file

    watch(target, verified=True)
    with show.progress("grouping records") as progress:
        release = repeat_file(
            manifest, source, target, progress=progress, anyway=anyway, memory=memory, spill=spill
        )
    _end_with(release, target)


@app.command()
@reads_files
@takes_settings(
    "k", "quasi", "stratum", "confidential", "unit", "l", "t", "diversity", "c", "exact", *MEANINGS
)
def check(
    source: Annotated[Path, typer.Argument(help=f"Any table: {known_suffixes()}.")],
    given: dict[str, Any],
    reading: dict[str, Any],
) -> None:
    """Check whether a table is k-anonymous, l-diverse and t-close, and list the classes that are not. Exit code 3 if it is not."""
    from microagg.cli import show
    from microagg.guarantees.check import check as check_table
    from microagg.table.io.reading import read_table

    given = settled(given, source, reading)
    quasi = given.pop("quasi", [])
    asked = column_settings(**{name: given[name] for name in MEANINGS if name in given})
    found = check_table(read_table(source, asked=asked, **reading), quasi, **given)
    show.anonymity(found, [*quasi, *given.get("stratum", ())])
    raise typer.Exit(0 if found.holds else 3)


@app.command()
@reads_files
@takes_settings("stratum", "unit", *MEANINGS, "hierarchy")
def assess(
    original: Annotated[Path, typer.Argument(help=f"The original table: {known_suffixes()}.")],
    release: Annotated[Path, typer.Argument(help="The released table, made by microagg or by another tool.")],
    given: dict[str, Any],
    reading: dict[str, Any],
    quasi: Columns = None,
    confidential: Columns = None,
    keep: Columns = None,
    weight: Annotated[
        str | None, typer.Option(help="Column with the number of units that each record represents.")
    ] = None,
    key: Annotated[
        str | None,
        typer.Option(help="Match records by this column of both tables; by row order if not given."),
    ] = None,
    known: Annotated[
        list[str] | None, typer.Option(help="Columns that an intruder knows; all of --quasi if not given.")
    ] = None,
    k: Annotated[str | None, typer.Option("--k", help="The k that the release is expected to have.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Measure the information loss and the disclosure risk of a release. microagg shuffles the rows it saves: use --key, or anonymize with --keep-order."""
    from microagg.cli import show
    from microagg.studies.assess import assess_files

    with show.progress("measuring") as progress:
        found = assess_files(
            original, release, quasi=names_in(quasi), confidential=names_in(confidential), keep=names_in(keep),
            weight=weight, key=key, known=names_in(known), k=None if k is None else K.parse(k), reading=reading,
            stratum=given.pop("stratum", ()), unit=given.pop("unit", None), asked=column_settings(**given), progress=progress,
        )  # fmt: skip
    if as_json:
        print(_as_json(found.as_data()))
    else:
        show.assessment(found)


@app.command()
@reads_files
@takes_settings(*(name for name in Settings.parameters() if name not in NOT_SHARED))
def compare(
    source: Annotated[Path, typer.Argument(help=f"The confidential table: {known_suffixes()}.")],
    given: dict[str, Any],
    reading: dict[str, Any],
    k: Annotated[list[str], typer.Option("--k", help="One or more values of k, comma-separated.")],
    methods: Annotated[
        list[str] | None,
        typer.Option(help="Method names, with parameters as in v-mdav:gamma=0.2; all methods if not given."),
    ] = None,
    known: Annotated[
        list[str] | None, typer.Option(help="Columns that an intruder knows; all of --quasi if not given.")
    ] = None,
    loss: Annotated[str, typer.Option(help="Loss measure for the map.")] = "il",
    risk: Annotated[str, typer.Option(help="Risk measure for the map.")] = "linkage",
    seeds: Annotated[int, typer.Option(help="How many times to run each randomised method.")] = 1,
    jobs: Annotated[int, typer.Option(help="Number of processes to run at once.")] = 1,
    state: Annotated[
        Path | None, typer.Option(help="Save finished results to this file, and resume from it after a stop.")
    ] = None,
    plot: Annotated[Path | None, typer.Option(help="Draw the map to this file: .png or .svg.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Anonymize a table with many methods and values of k, and show which lose least at which risk."""
    from microagg.cli import show
    from microagg.drawing.canvas import refuse_picture_place
    from microagg.studies.compare import compare as compare_methods

    watch(plot)
    if plot is not None:
        refuse_picture_place(plot)
    with show.progress("comparing") as progress:
        done = compare_methods(
            source, ks=[K.parse(each) for each in names_in(k)], methods="all" if methods is None else names_in(methods),
            known=names_in(known), loss=loss, risk=risk, measures=(loss, risk), seeds=tuple(range(seeds)), jobs=jobs,
            state=state, reading=reading, progress=progress, **settled(given, source, reading),
        )  # fmt: skip
    if plot is not None:
        done.draw(plot)
    if as_json:
        print(_as_json(done.as_data()))
    else:
        show.comparison(done, plot)


@app.command()
@reads_files
@takes_settings("k", "quasi", "scale", *MEANINGS, "importance", "hierarchy", "missing")
def bound(
    source: Annotated[Path, typer.Argument(help=f"The confidential table: {known_suffixes()}.")],
    given: dict[str, Any],
    reading: dict[str, Any],
    time_limit: Annotated[str, typer.Option(help="Stop after this many seconds.")] = "60",
    seed: Annotated[int, typer.Option(help="Seed of the search for a grouping to compare with.")] = 0,
    save: Annotated[
        Path | None,
        typer.Option(
            help="Write the certificate to this file. Do not publish it: it holds a number for each record."
        ),
    ] = None,
) -> None:
    """Prove a lower bound on the loss of any k-anonymous grouping of a table, and show how close the best grouping found comes to it."""
    from microagg.cli import show
    from microagg.studies.bounding import bound_file

    watch(save)
    settings = Settings.of(
        **settled(given, source, reading), effort="prove", time_limit=time_limit, seed=seed
    )
    with show.progress("proving") as progress:
        found = bound_file(source, settings, certificate=save, reading=reading, progress=progress)
    show.bounded(found, save)
    if found.stopped == "interrupted":
        sys.exit(STOPPED)


@app.command("verify-bound")
def verify_bound(
    certificate: Annotated[Path, typer.Argument(help="A certificate written by `microagg bound --save`.")],
    data: Annotated[Path, typer.Argument(help="The table that it was made for.")],
) -> None:
    """Check a certificate with a program that shares no code with the one that made it. Exit code 3 if it does not hold."""
    from microagg.verify_bound import Unreadable, verify

    try:
        verdict = verify(certificate, data)
    except Unreadable as error:  # the checker runs alone, so it has no errors of ours
        raise InputError(str(error)) from None
    print(_printable(str(verdict)))
    raise typer.Exit(0 if verdict.holds else 3)


@app.command()
def methods(
    name: Annotated[str | None, typer.Argument(help="Show this method with its parameters.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """List the methods, or show one of them."""
    from microagg.cli import show
    from microagg.methods.registry import method_named
    from microagg.methods.registry import methods as all_methods

    chosen = (method_named(name),) if name else all_methods()
    if as_json:
        print(_as_json([show.method_as_data(method) for method in chosen]))
    elif name:
        show.method(chosen[0])
    else:
        show.methods(chosen)


@app.command()
def demo(
    folder: Annotated[Path, typer.Option(help="Where to write the demo's files.")] = Path("microagg-demo"),
    k: Annotated[str, typer.Option("--k", help=K.help)] = "5",
) -> None:
    """Anonymize a table of made-up people from start to finish."""
    from microagg.cli import show
    from microagg.problem.problem import checked_k
    from microagg.release.files import anonymize_file
    from microagg.studies.demonstration import ASKED, RESIDENTS, prepare_demonstration

    least = checked_k(K.parse(k), RESIDENTS)
    source, target = prepare_demonstration(folder)
    watch(target, verified=True)
    show.demo_intro(source, target, least, ASKED)
    with show.progress("grouping records") as progress:
        release = anonymize_file(source, target, least, seed=1, progress=progress, **ASKED)
    _end_with(release, target, lambda: show.before_and_after(source, target, release))


@app.command()
def clean(
    folder: Annotated[Path, typer.Argument(help="A folder that releases were saved to.")],
) -> None:
    """End what runs that were killed began in a folder: whole releases, old or new, and nothing left over."""
    from microagg.cli import show
    from microagg.engine.spill import remove_left_spill
    from microagg.table.io.writing import clean_folder

    show.cleaned([*clean_folder(folder), *remove_left_spill(folder)])


@app.command()
def reproduce(
    data: Annotated[Path | None, typer.Option(help="Folder with the reference data.")] = None,
    method: Annotated[list[str] | None, typer.Option(help="Only these methods.")] = None,
    page: Annotated[
        Path | None, typer.Option(help="Write all results to this page, with proven bounds.")
    ] = None,
    bound_seconds: Annotated[
        float, typer.Option(min=0.0, help="Seconds for each proven bound on the page.")
    ] = 30.0,
    state: Annotated[
        Path | None, typer.Option(help="Save finished runs to this file, and resume from it after a stop.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Compare published figures with our own, cell by cell."""
    from microagg.cli import show
    from microagg.methods.registry import method_named
    from microagg.studies import reproduce as study
    from microagg.studies.reproduce_page import bounds_for, refuse_page_place, write_page
    from microagg.studies.reproduce_runs import Runs

    watch(page)
    if page is not None:
        refuse_page_place(page)
    chosen = [method_named(name).name for name in names_in(method)]
    figures = [figure for figure in study.reproducible_now() if not chosen or figure.name in chosen]
    runs = Runs(data, state)
    with show.progress("reproducing") as progress:
        cells = list(study.reproduce(figures, progress=progress, runs=runs))
    if page is not None:
        with show.progress("proving bounds") as progress:
            bounds = bounds_for(figures, bound_seconds, progress=progress, runs=runs)
        write_page(page, cells, bounds, bound_seconds)
    if as_json:
        print(_as_json(study.as_json(cells)))
    else:
        show.reproduction(cells)


def _end_with(release: Release, target: Path, more: Callable[[], None] = lambda: None) -> None:
    """Show what was written; a search that was stopped by hand still ends with the code of Ctrl-C."""
    from microagg.cli import show

    show.release(release, target)
    more()
    if release.stopped == "interrupted":
        sys.exit(STOPPED)

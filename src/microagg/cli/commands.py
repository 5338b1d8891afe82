"""The command line. No logic: every command calls one function of the package and shows what it returns."""

from __future__ import annotations

import io
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from microagg.cli.options import as_typed, names_in, takes_settings
from microagg.errors import InputError, MicroaggError
from microagg.release.settings import Settings
from microagg.table.io.formats import known_suffixes
from microagg.table.parameters import K

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
NOT_SHARED = (
    "k",
    "identifier",
    "rest",
    "method",
    "params",
    "publish",
    "seed",
    "date",
)  # by the releases of a comparison

_saved: list[Path] = []  # what a command has written by the time it stops

Columns = Annotated[list[str] | None, typer.Option(help="Columns, comma-separated; may be repeated.")]


def main() -> None:
    """Run a command and turn every error into one sentence and an exit code."""
    _saved.clear()
    # a terminal that lacks a letter must not make a finished run fail
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    try:
        code = app(standalone_mode=False)
        if code == STOPPED:  # what typer makes of Ctrl-C, without a word
            raise KeyboardInterrupt
        sys.exit(code if isinstance(code, int) else 0)
    except MicroaggError as error:
        _fail(as_typed(str(error)), error.exit_code)
    except WrongUse as error:
        _fail(" ".join(error.format_message().split()).rstrip(".") + ".", 2)
    except (KeyboardInterrupt, typer.Abort) as error:
        if isinstance(error.__cause__, EOFError):  # nothing is asked here: a file of ours ended too early
            _fail_by_bug(error.__cause__)
        _fail(f"stopped; {_what_was_written()}.", STOPPED)
    except BrokenPipeError:
        sys.exit(0)
    except MemoryError:
        _fail(f"there is not enough memory for this table; {_what_was_written()}.", 1)
    except Exception as error:
        _fail_by_bug(error)


def _fail_by_bug(error: BaseException) -> NoReturn:
    if os.environ.get("MICROAGG_DEBUG"):
        raise error
    # the message of an unforeseen error may quote the data: only its kind is told
    kind = type(error).__name__
    _fail(
        f"a bug in microagg ({kind}); {_what_was_written()}. Set MICROAGG_DEBUG=1 to see where, and report it.",
        1,
    )


def _what_was_written() -> str:
    if not _saved:
        return "nothing was written"
    return f"{', '.join(map(str, _saved))} had been verified and written before"


def _fail(sentence: str, code: int) -> NoReturn:
    print(f"error: {sentence}", file=sys.stderr)
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
@takes_settings()
def anonymize(
    source: Annotated[Path, typer.Argument(help=f"The confidential table: {known_suffixes()}.")],
    target: Annotated[Path, typer.Argument(help=f"The table to write: {known_suffixes()}.")],
    given: dict[str, Any],
    threads: Annotated[int | None, typer.Option(help="By default one for each processor.")] = None,
    keep_order: Annotated[bool, typer.Option("--keep-order", help="Do not shuffle the rows.")] = False,
    report: Annotated[
        Path | None,
        typer.Option(
            help="A report, .html, .md or .json: NAME.internal.html for you, NAME.public.html for all."
        ),
    ] = None,
) -> None:
    """Write a k-anonymous version of a table, verified, with its manifests."""
    from microagg.cli import show
    from microagg.release.release import anonymize_file

    if "quasi" not in given:
        raise InputError(show.proposal(source, target, K.parse(given["k"])))
    settings = Settings.of(**given)
    with show.progress("grouping records") as progress:
        release = anonymize_file(
            source, target, settings=settings, keep_order=keep_order, report=report, threads=threads,
            progress=progress,
        )  # fmt: skip
    _end_with(release, target, lambda: show.reports(report))


@app.command()
def repeat(
    manifest: Annotated[Path, typer.Argument(help="The internal manifest of a release.")],
    source: Annotated[Path, typer.Argument(help="The table that the release was made from.")],
    target: Annotated[Path, typer.Argument(help=f"The table to write: {known_suffixes()}.")],
) -> None:
    """Make a release again from its internal manifest and the original table."""
    from microagg.cli import show
    from microagg.studies.repeating import repeat_file

    with show.progress("grouping records") as progress:
        release = repeat_file(manifest, source, target, progress=progress)
    _end_with(release, target)


@app.command()
@takes_settings("k", "quasi", "confidential", "l", "t", "diversity", "c")
def check(
    source: Annotated[Path, typer.Argument(help=f"Any table: {known_suffixes()}.")], given: dict[str, Any]
) -> None:
    """Tell whether a table is k-anonymous, l-diverse and t-close, and which classes are not. Exit code 3 if it is not."""
    from microagg.cli import show
    from microagg.guarantees.check import check as check_table
    from microagg.table.io.reading import read_table

    quasi = given.pop("quasi", [])
    found = check_table(read_table(source), quasi, **given)
    show.anonymity(found, quasi)
    raise typer.Exit(0 if found.holds else 3)


@app.command()
def assess(
    original: Annotated[Path, typer.Argument(help=f"The table before: {known_suffixes()}.")],
    release: Annotated[Path, typer.Argument(help="The table after, ours or another tool's.")],
    quasi: Columns = None,
    confidential: Columns = None,
    keep: Columns = None,
    weight: Annotated[
        str | None, typer.Option(help="A column that tells how many a record stands for.")
    ] = None,
    key: Annotated[
        str | None, typer.Option(help="Match records by this column of both; by row order if not given.")
    ] = None,
    known: Annotated[list[str] | None, typer.Option(help="The columns that an intruder knows.")] = None,
    k: Annotated[str | None, typer.Option("--k", help="The k that the release should have.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="For machines.")] = False,
) -> None:
    """Measure what a release has lost and what an intruder gains. Saved releases have shuffled rows: use --key, or --keep-order."""
    from microagg.cli import show
    from microagg.studies.assess import assess_files

    with show.progress("measuring") as progress:
        found = assess_files(
            original, release, quasi=names_in(quasi), confidential=names_in(confidential), keep=names_in(keep),
            weight=weight, key=key, known=names_in(known), k=None if k is None else K.parse(k), progress=progress,
        )  # fmt: skip
    if as_json:
        print(json.dumps(found.as_data(), indent=2, ensure_ascii=False))
    else:
        show.assessment(found)


@app.command()
@takes_settings(*(name for name in Settings.parameters() if name not in NOT_SHARED))
def compare(
    source: Annotated[Path, typer.Argument(help=f"The confidential table: {known_suffixes()}.")],
    given: dict[str, Any],
    k: Annotated[list[str], typer.Option("--k", help="One or several, comma-separated.")],
    methods: Annotated[
        list[str] | None, typer.Option(help="Names, with parameters as v-mdav:gamma=0.2; all if not given.")
    ] = None,
    known: Annotated[list[str] | None, typer.Option(help="The columns that an intruder knows.")] = None,
    loss: Annotated[str, typer.Option(help="The measure of loss on the map.")] = "il",
    risk: Annotated[str, typer.Option(help="The measure of risk on the map.")] = "linkage",
    seeds: Annotated[int, typer.Option(help="How often to run a method that is random.")] = 1,
    jobs: Annotated[int, typer.Option(help="How many processes work at once.")] = 1,
    state: Annotated[
        Path | None, typer.Option(help="Keep finished cells there, and go on from it after a stop.")
    ] = None,
    plot: Annotated[Path | None, typer.Option(help="Draw the map there: .png or .svg.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="For machines.")] = False,
) -> None:
    """Protect one table by many methods and k's, and show which lose least at which risk."""
    from microagg.cli import show
    from microagg.studies.compare import compare as compare_methods

    with show.progress("comparing") as progress:
        done = compare_methods(
            source, ks=[K.parse(each) for each in names_in(k)], methods=names_in(methods) or "all",
            known=names_in(known), loss=loss, risk=risk, measures=(loss, risk), seeds=tuple(range(seeds)), jobs=jobs,
            state=state, progress=progress, **given,
        )  # fmt: skip
    if plot is not None:
        done.draw(plot)
    if as_json:
        print(json.dumps(done.as_data(), indent=2, ensure_ascii=False))
    else:
        show.comparison(done, plot)


@app.command()
@takes_settings("k", "quasi", "scale")
def bound(
    source: Annotated[Path, typer.Argument(help=f"The confidential table: {known_suffixes()}.")],
    given: dict[str, Any],
    time_limit: Annotated[str, typer.Option(help="Seconds after which to end.")] = "60",
    seed: Annotated[int, typer.Option(help="For the search of a grouping to compare with.")] = 0,
    save: Annotated[
        Path | None,
        typer.Option(help="Write the certificate there; it stays inside, it holds a number per record."),
    ] = None,
) -> None:
    """Prove how little any k-anonymous grouping of a table can lose, and how near a grouping comes."""
    from microagg.cli import show
    from microagg.studies.bounding import bound_file

    settings = Settings.of(**given, effort="prove", time_limit=time_limit, seed=seed)
    with show.progress("proving") as progress:
        found = bound_file(source, settings, certificate=save, progress=progress)
    if save:
        _saved.append(save)
    show.bounded(found, save)
    if found.stopped == "interrupted":
        sys.exit(STOPPED)


@app.command("verify-bound")
def verify_bound(
    certificate: Annotated[Path, typer.Argument(help="A certificate that `microagg bound --save` wrote.")],
    data: Annotated[Path, typer.Argument(help="The table that it is about.")],
) -> None:
    """Check a certificate with a program that shares nothing with the one that made it. Exit code 3 if it does not hold."""
    from microagg.verify_bound import Unreadable, verify

    try:
        verdict = verify(certificate, data)
    except Unreadable as error:  # the checker runs alone, so it has no errors of ours
        raise InputError(str(error)) from None
    print(verdict.reason)
    raise typer.Exit(0 if verdict.holds else 3)


@app.command()
def methods(
    name: Annotated[str | None, typer.Argument(help="Show this method with its parameters.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="For machines.")] = False,
) -> None:
    """List the methods, or show one of them."""
    from microagg.cli import show
    from microagg.methods.registry import method_named
    from microagg.methods.registry import methods as all_methods

    chosen = (method_named(name),) if name else all_methods()
    if as_json:
        print(json.dumps([show.method_as_data(method) for method in chosen], indent=2, ensure_ascii=False))
    elif name:
        show.method(chosen[0])
    else:
        show.methods(chosen)


@app.command()
def demo(
    folder: Annotated[Path, typer.Option(help="Where to write the demonstration's files.")] = Path(
        "microagg-demo"
    ),
    k: Annotated[str, typer.Option("--k", help=K.help)] = "5",
) -> None:
    """Protect a table of made-up persons from beginning to end."""
    from microagg.cli import show
    from microagg.datasets.persons import persons
    from microagg.problem.problem import checked_k
    from microagg.release.release import anonymize_file
    from microagg.table.io.writing import make_folder, write_table

    table = persons()
    least = checked_k(K.parse(k), table.num_rows)
    make_folder(folder)
    source, target = folder / "persons.csv", folder / "persons-protected.csv"
    write_table(table, source)
    show.demo_intro(source, target, least)
    with show.progress("grouping records") as progress:
        release = anonymize_file(
            source, target, least,
            quasi=["age", "income", "rent", "commute_km", "schooling"], identifier=["person"],
            confidential=["diagnosis"], seed=1, progress=progress,
        )  # fmt: skip
    _end_with(release, target, lambda: show.before_and_after(source, target, release))


@app.command()
def reproduce(
    data: Annotated[Path | None, typer.Option(help="The folder of the reference data.")] = None,
    method: Annotated[list[str] | None, typer.Option(help="Only these methods.")] = None,
    page: Annotated[
        Path | None, typer.Option(help="Write everything to this page, with proven bounds.")
    ] = None,
    bound_seconds: Annotated[float, typer.Option(min=0.0, help="For each proven bound on the page.")] = 30.0,
    state: Annotated[
        Path | None, typer.Option(help="Keep what was run in this file: a stopped study goes on there.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="For machines.")] = False,
) -> None:
    """Set published figures against our own, cell by cell."""
    from microagg.cli import show
    from microagg.methods.registry import method_named
    from microagg.studies import reproduce as study
    from microagg.studies.reproduce_page import bounds_for, write_page
    from microagg.studies.reproduce_runs import Runs
    from microagg.table.io.writing import refuse_unwritable

    if page is not None:
        refuse_unwritable(page)
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
        print(json.dumps(study.as_json(cells), indent=2, ensure_ascii=False))
    else:
        show.reproduction(cells)


def _end_with(release: Release, target: Path, more: Callable[[], None] = lambda: None) -> None:
    """Show what was written; a search that was stopped by hand still ends with the code of Ctrl-C."""
    from microagg.cli import show

    _saved.append(target)
    show.release(release, target)
    more()
    if release.stopped == "interrupted":
        sys.exit(STOPPED)

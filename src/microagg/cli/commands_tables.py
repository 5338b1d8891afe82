"""Commands that look at tables: whether they are k-anonymous, what was lost, which settings do
best, what no grouping can beat.
"""

from __future__ import annotations

import inspect
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from microagg.cli.app import AsJson, CommandWithPanels, Dask, answer, app
from microagg.cli.option_types import Known
from microagg.cli.options import NO_K, names_in, reading_options_in, takes_settings
from microagg.cli.watching import watch
from microagg.errors import InputError
from microagg.files.formats import known_suffixes
from microagg.proposal.open_codes import settled
from microagg.release.settings import OF_A_CELL, Settings
from microagg.table.kind_parameters import MeaningOptions, column_settings
from microagg.table.parameters import K

STOPPED = 130
MEANINGS = tuple(inspect.get_annotations(MeaningOptions))
NOT_SHARED = (
    *OF_A_CELL,
    "identifier",
    "rest",
)  # by the releases of a comparison, which drops what has no role

OF_A_RELEASE = ("quasi", "confidential", "keep", "weight", "k")
"""Settings that `assess` has options of its own for: a release of another tool has none of them, or
all.
"""

Suppressed = Annotated[
    list[str] | None,
    typer.Option(
        help="What stands for a suppressed value, such as '*'; '' for blank cells; may be "
        "repeated.",
        metavar="TEXT",
    ),
]
State = Annotated[
    Path | None,
    typer.Option(help="Save finished results to this file, and resume from it after a stop."),
]
Plot = Annotated[Path | None, typer.Option(help="Draw the map to this file: .png or .svg.")]
Columns = Annotated[
    list[str] | None, typer.Option(help="Columns, comma-separated; may be repeated.")
]


@app.command(cls=CommandWithPanels)
@takes_settings(
    "k",
    "quasi",
    "stratum",
    "confidential",
    "unit",
    "l",
    "t",
    "diversity",
    "c",
    "exact",
    *MEANINGS,
    "reading",
)
def check(
    source: Annotated[Path, typer.Argument(help=f"Any table: {known_suffixes()}.")],
    typed_options: dict[str, Any],
    suppressed: Suppressed = None,
    as_json: AsJson = False,
) -> None:
    """Check k-anonymity, l-diversity and t-closeness of a table. Classes that miss them are listed.
    Exit code 3 if there are some.
    """
    from microagg.cli import documents, show_studies
    from microagg.files.reading import read_table
    from microagg.guarantees.check import check as check_table
    from microagg.table.patterns import expand_names

    typed_options = settled(typed_options, source, reading_options_in(typed_options))
    reading = typed_options.pop("reading", {})
    column_options = column_settings(
        **{name: typed_options[name] for name in MEANINGS if name in typed_options}
    )
    table = read_table(source, settings=column_options, **reading)
    for role in ("quasi", "stratum", "confidential"):
        typed_options[role] = expand_names(typed_options.get(role, ()), table.column_names, role)
    quasi = typed_options.pop("quasi")
    classes = check_table(table, quasi, **typed_options, suppressed=suppressed or ())
    columns = [*quasi, *typed_options["stratum"]]
    if as_json:
        answer(documents.anonymity(classes, columns))
    else:
        show_studies.anonymity(classes, columns)
    raise typer.Exit(0 if classes.holds else 3)


@app.command(cls=CommandWithPanels)
@takes_settings("stratum", "unit", *MEANINGS, "hierarchy", "reading", beside=OF_A_RELEASE)
def assess(
    original: Annotated[Path, typer.Argument(help=f"The original table: {known_suffixes()}.")],
    release: Annotated[
        Path, typer.Argument(help="The released table, made by microagg or by another tool.")
    ],
    typed_options: dict[str, Any],
    quasi: Columns = None,
    confidential: Columns = None,
    keep: Columns = None,
    weight: Annotated[
        str | None,
        typer.Option(help="Column with the number of units that each record represents."),
    ] = None,
    key: Annotated[
        str | None,
        typer.Option(
            help="Match records by this column of both tables; by row order if not given."
        ),
    ] = None,
    known: Known = None,
    k: Annotated[
        str | None, typer.Option("--k", "-k", help="The k that the release is expected to have.")
    ] = None,
    suppressed: Suppressed = None,
    as_json: AsJson = False,
) -> None:
    """Measure the information loss and the risk of a release. microagg shuffles the rows it saves:
    use --key, or anonymize with --keep-order.
    """
    from microagg.cli import show_studies, terminal
    from microagg.studies.assess import assess_files

    of_file = {name: typed_options.pop(name, None) for name in OF_A_RELEASE}
    weight = of_file["weight"] if weight is None else weight
    k = of_file["k"] if k is None else k
    columns = {
        name: names_in(typed) if typed is not None else list(of_file[name] or ())
        for name, typed in (("quasi", quasi), ("confidential", confidential), ("keep", keep))
    }
    with terminal.progress("measuring") as progress:
        assessment = assess_files(
            original,
            release,
            **columns,
            weight=weight,
            key=key,
            known=names_in(known),
            suppressed=suppressed,
            k=None if k is None else K.parse(k),
            reading=typed_options.pop("reading", {}),
            stratum=typed_options.pop("stratum", ()),
            unit=typed_options.pop("unit", None),
            columns_as=column_settings(**typed_options),
            progress=progress,
        )
    if as_json:
        answer(assessment.as_data())
    else:
        show_studies.assessment(assessment)


@app.command(cls=CommandWithPanels)
@takes_settings(*(name for name in Settings.parameters() if name not in NOT_SHARED), beside=["k"])
def compare(
    source: Annotated[Path, typer.Argument(help=f"The confidential table: {known_suffixes()}.")],
    typed_options: dict[str, Any],
    k: Annotated[
        list[str] | None,
        typer.Option("--k", "-k", help="One or more values of k, comma-separated."),
    ] = None,
    methods: Annotated[
        list[str] | None,
        typer.Option(
            help="Method names, with parameters as in v-mdav:gamma=0.2; all methods if not given."
        ),
    ] = None,
    known: Known = None,
    loss: Annotated[str, typer.Option(help="Loss measure for the map.")] = "il",
    risk: Annotated[str, typer.Option(help="Risk measure for the map.")] = "linkage",
    seeds: Annotated[int, typer.Option(help="How many times to run each randomised method.")] = 1,
    jobs: Annotated[int, typer.Option(help="Number of processes to run at once.")] = 1,
    dask: Dask = None,
    state: State = None,
    plot: Plot = None,
    as_json: AsJson = False,
) -> None:
    """Compare methods and values of k on a table. Shows which lose least at which risk."""
    from microagg.cli import show_studies, terminal
    from microagg.drawing.canvas import check_picture_place
    from microagg.studies.compare import compare as compare_methods

    watch(plot)
    of_file = typed_options.pop("k", None)
    ks = [K.parse(value) for value in names_in(k)] or ([] if of_file is None else [of_file])
    if not ks:
        raise InputError(NO_K)
    if plot is not None:
        check_picture_place(plot)
    with terminal.progress("comparing") as progress:
        done = compare_methods(
            source,
            ks=ks,
            methods="all" if methods is None else names_in(methods),
            known=names_in(known),
            loss=loss,
            risk=risk,
            measures=(loss, risk),
            seeds=tuple(range(seeds)),
            jobs=jobs,
            engine=dask,
            state=state,
            progress=progress,
            **settled(typed_options, source, reading_options_in(typed_options)),
        )
    if plot is not None:
        done.draw(plot)
    if as_json:
        answer(done.as_data())
    else:
        show_studies.comparison(done, plot)


@app.command(cls=CommandWithPanels)
@takes_settings("k", "quasi", "scale", *MEANINGS, "importance", "hierarchy", "missing", "reading")
def bound(
    source: Annotated[Path, typer.Argument(help=f"The confidential table: {known_suffixes()}.")],
    typed_options: dict[str, Any],
    time_limit: Annotated[str, typer.Option(help="Stop after this many seconds.")] = "60",
    seed: Annotated[
        int, typer.Option(help="Seed of the search for a grouping to compare with.")
    ] = 0,
    save: Annotated[
        Path | None,
        typer.Option(
            help="Write the certificate to this file. Do not publish it: it holds a number "
            "for each record."
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Prove how little any k-anonymous grouping can lose.

    Shows how close the best grouping comes to that.
    """
    from microagg.cli import documents, show, terminal
    from microagg.studies.bounding import bound_file

    watch(save)
    settings = Settings.of(
        **settled(typed_options, source, reading_options_in(typed_options)),
        effort="prove",
        time_limit=time_limit,
        seed=seed,
    )
    with terminal.progress("proving") as progress:
        result = bound_file(source, settings, certificate=save, progress=progress)
    if as_json:
        answer(documents.bounded(result, save))
    else:
        show.bounded(result, save)
    if result.stopped == "interrupted":
        sys.exit(STOPPED)


@app.command("verify-bound", cls=CommandWithPanels)
def verify_bound(
    certificate: Annotated[
        Path, typer.Argument(help="A certificate written by `microagg bound --save`.")
    ],
    data: Annotated[Path, typer.Argument(help="The table that it was made for.")],
    as_json: AsJson = False,
) -> None:
    """Check a certificate of a bound with an independent program.

    Exit code 3 if it does not hold.
    """
    from microagg.cli import documents
    from microagg.formatting import printable
    from microagg.verify_bound import UnreadableError, verify

    try:
        verdict = verify(certificate, data)
    except UnreadableError as error:  # the checker runs alone, so it has no errors of ours
        raise InputError(str(error)) from None
    if as_json:
        answer(documents.verdict(verdict))
    else:
        print(printable(str(verdict)))
    raise typer.Exit(0 if verdict.holds else 3)

"""Commands that give evidence on a release: attacks, and packs that an auditor can verify."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from microagg.cli.app import AsJson, CommandWithPanels, answer, app
from microagg.cli.option_types import Known
from microagg.cli.options import names_in, reading_options_in, takes_settings
from microagg.cli.watching import watch
from microagg.files.formats import known_suffixes
from microagg.proposal.open_codes import settled
from microagg.release.settings import Settings


@app.command(cls=CommandWithPanels)
@takes_settings()
def attack(
    source: Annotated[Path, typer.Argument(help=f"The confidential table: {known_suffixes()}.")],
    typed_options: dict[str, Any],
    known: Known = None,
    control_share: Annotated[
        float, typer.Option(help="Share of the records left out as control group.")
    ] = 0.2,
    other: Annotated[
        Path | None,
        typer.Option("--with", help="Another release of the same people: what both give together."),
    ] = None,
    save: Annotated[
        Path | None, typer.Option(help="Write the results to this file (.json).")
    ] = None,
    report: Annotated[
        Path | None,
        typer.Option(
            help="Write the internal report of the release with a section on the attacks: "
            "NAME.internal.html (.html, .md or .json)."
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Attack a release, and compare with a control group. A rerun without the control group is
    attacked by singling out, linkability and inference.
    """
    from microagg.cli import terminal
    from microagg.release.saving import report_paths
    from microagg.studies.attacks.files import attack_file, check_results_place, save_results

    watch(save, *(report_paths(report)[:1] if report is not None and report.name else ()))
    if save is not None:
        check_results_place(save)
    settings = Settings.of(**settled(typed_options, source, reading_options_in(typed_options)))
    with terminal.progress("attacking") as progress:
        results = attack_file(
            source,
            settings,
            known=names_in(known),
            control_share=control_share,
            other=other,
            report=report,
            progress=progress,
        )
    if save is not None:
        save_results(save, results)
    if as_json:
        answer(results.as_data())
    else:
        for text in (results.attacks, *results.together):
            print(text)


@app.command(cls=CommandWithPanels)
def evidence(
    path: Annotated[
        Path, typer.Argument(help="The released table, or with --verify a pack (.zip).")
    ],
    verify: Annotated[
        bool, typer.Option("--verify", help="Check a pack. Exit code 3 if a check fails.")
    ] = False,
    original: Annotated[
        Path | None,
        typer.Option(help="With --verify of an internal pack: the original, to check it, too."),
    ] = None,
    attacks: Annotated[
        Path | None, typer.Option(help="Results written by `microagg attack --save`.")
    ] = None,
    certificate: Annotated[
        Path | None, typer.Option(help="A certificate written by `microagg bound --save`.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Pack what an auditor needs, or verify such a pack. Public and internal files are apart."""
    from microagg.studies.evidence.pack import pack_release
    from microagg.studies.evidence.verify import verify_pack

    if verify:
        verdict = verify_pack(path, original=original)
        if as_json:
            answer(verdict.as_data())
        else:
            print(verdict)
        raise typer.Exit(0 if verdict.holds else 3)
    packs = pack_release(path, attacks=attacks, certificate=certificate)
    if as_json:
        answer({"packs": [str(pack) for pack in packs]})
    else:
        print(f"for everybody: {packs[0]}\nfor you only:  {packs[1]}")

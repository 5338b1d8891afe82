"""Terminal output on releases: proposals, summaries, bounds and the demonstration."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from rich.table import Table

from microagg.bounds.bound import OF_MIXED, Bound
from microagg.cli import terminal
from microagg.cli.options import as_option
from microagg.files.stats.sidecar import sidecar_of
from microagg.files.stores.locations import Url
from microagg.formatting import chosen_text, number, printable, promised_beside
from microagg.proposal.codes import on_special
from microagg.proposal.column_text import shell_list
from microagg.proposal.proposal import Proposal
from microagg.release.changes import Change, rows_of_changes, sentence_on_changes
from microagg.release.manifest import manifest_paths
from microagg.release.release import Release
from microagg.release.report.claims import on_naming
from microagg.release.report.front_text import NARROW, WIDE, front_lines, shown_beside, wrapped
from microagg.release.report.summary import headline_of
from microagg.release.saving import report_paths
from microagg.release.settings import Settings
from microagg.release.strata import class_columns
from microagg.studies.bounding import Bounded
from microagg.table.schema import Role

UNWRAPPED = 1_000_000
CHANGED = 30  # columns of which is told what became of their cells


def proposal(
    proposed: Proposal,
    source: Path,
    target: Path,
    k: int,
    reading: Mapping[str, Any],
    nominal: Sequence[str] = (),
) -> str:
    """Print what is proposed for the columns of a file, and the command that confirms it; returns
    the sentence that ends the command.
    """
    terminal.out.print(proposed.as_rich_table())
    for question in proposed.questions:
        terminal.out.print(f"\n{question.render(as_option)}")
    for text in (*on_special(proposed.special), *proposed.on_rules):
        terminal.out.print(f"\n{text}")
    if not proposed.names(Role.QUASI):
        return why_stopped(proposed)
    terminal.out.print("\nRoles proposed from names, types and counts. If they are right, run:")
    # a shell reads it: rich would fold it or take brackets for its own
    print(printable(f"  {proposed.command(source, target, k, nominal=nominal, **reading)}\n"))
    terminal.out.print(
        "Or correct it as a file: `microagg propose` writes it as one, and --config takes it."
    )
    return why_stopped(proposed)


def why_stopped(proposed: Proposal) -> str:
    """Why a command ends with a proposal."""
    if not proposed.names(Role.QUASI):
        return "no column was named with --quasi, and none can be proposed, so nothing was written."
    return (
        "no quasi-identifying columns were named, so nothing was written; confirm or correct "
        "the proposal."
    )


def release(done: Release, target: Path | Url | None) -> None:
    """Show the first page of a release in a dozen lines, then how it was made and where it is.

    Without a target it was given out on standard output.
    """
    manifest, classes = done.manifest, done.anonymity
    settings = manifest["settings"]
    terminal.out.print(f"{headline_of(manifest, classes.sizes)}.")
    front = done.front_page(as_option)
    for line in front_lines(front, _width()):
        terminal.out.print(line)
    terminal.out.print()
    _method(done, settings)
    if "IL_within" in done.loss:
        row("grouping", f"Loss from grouping alone: {done.loss['IL_within']:.4f} %.")
    if done.is_mixed:
        changes(done.changes)
    if done.bound is not None:
        bound(done.bound, done.labels, done.settings)
    what = "combination of" if classes.scope == "record" else "value of every single column among"
    columns = ", ".join(class_columns(done.schema, done.settings))
    row(
        "guarantee",
        f"verified on the written file: {settings['k']} or more records share each {what} "
        f"{columns}",
    )
    for finding in classes.findings:
        row("", f"every class {finding.requirement} (worst class: {number(finding.worst)})")
    if done.settings.unit is not None:
        row("", "Households were counted before their number was removed.")
    if manifest.get("may_identify"):
        row("names", on_naming(manifest))
    if dropped := done.schema.names(Role.IDENTIFIER, Role.UNIT):
        row("dropped", ", ".join(dropped))
    for note in shown_beside(done.notes, front, as_option):
        row("note", note)
    if target is None:
        return
    internal, public = manifest_paths(target)
    beside = sidecar_of(target)  # there if the format cannot hold all labels
    labelled = beside.exists() if isinstance(beside, Path) else beside.size() is not None
    row("written", f"{target}, {public}{f', {beside}' if labelled else ''}")
    row("internal", f"{internal} (keep private: it could help undo the protection)")


def _method(done: Release, settings: Mapping[str, Any]) -> None:
    """Show how groups were formed, and the loss to four digits."""
    set_params = (
        f"{name}={value}" for name, value in settings["params"].items() if value is not None
    )
    params = ", ".join(set_params)
    refined = ", refined" if settings["refine"] else ""
    row(
        "method",
        f"{settings['method']}{f' ({params})' if params else ''}{refined}, scale "
        f"{settings['scale']}",
    )
    for sentence in done.manifest["chosen"]:
        row("", chosen_text(sentence))
    if done.stopped is not None:
        row("", f"stopped early ({done.stopped}); this is the best grouping until then")
    units = "standardised" if settings["scale"] == "zscore" else f"scale {settings['scale']}"
    row("IL", f"{done.loss['IL']:.4f} %, SSE = {done.loss['SSE']:.4f} ({units})")
    if "IL_zscore" in done.loss:
        row("", f"{done.loss['IL_zscore']:.4f} % on standardised columns (z-scores)")


def row(name: str, text: str) -> None:
    """Print a text under its name, wrapped by words with a hanging indent on a terminal."""
    for line in wrapped(name, text, _width()):
        terminal.out.print(line)


def _width() -> int:
    """Return the width to wrap to; what goes to a file or another program is not wrapped."""
    return min(max(terminal.out.width, NARROW), WIDE) if terminal.out.is_terminal else UNWRAPPED


def changes(columns: Mapping[str, Change]) -> None:
    """Show the changed cells of each column. Internal: do not publish."""
    row("cells", sentence_on_changes(columns))
    shown = Table(
        "",
        "column",
        "unchanged",
        "mean change",
        "gaps",
        box=None,
        pad_edge=False,
        padding=(0, 2, 0, 0),
    )
    for name, _, unchanged, moved, gaps in list(rows_of_changes(columns))[:CHANGED]:
        shown.add_row(" " * 10, name, f"{unchanged} %", moved, gaps)
    terminal.out.print(shown)
    if len(columns) > CHANGED:
        row("", f"... and {len(columns) - CHANGED:,} more columns.")


def bounded(result: Bounded, certificate: Path | None) -> None:
    """A bound and the grouping that was found while proving it."""
    row("loss", f"IL = {result.loss['IL']:.4f} % of the variation, for the best grouping found")
    bound(result.bound, result.labels)
    if result.stopped is not None:
        row("", f"stopped early ({result.stopped}); with more time the gap may shrink")
    if certificate is not None:
        row("internal", f"{certificate} (do not publish: it holds a number for each record)")
        row(
            "",
            f"it proves {result.bound.certified_il:.4f} %; check it with `microagg verify-bound`",
        )


def bound(proven: Bound, labels: np.ndarray, settings: Settings | None = None) -> None:
    """Show the lower bound on the loss of any grouping, and the gap of these groups."""
    row(
        "bound",
        f"no grouping into groups of {proven.k} or more can lose less than "
        f"{proven.il:.4f} % (proven)",
    )
    gap = proven.gap(labels)
    if proven.optimal and gap < 1e-6:
        row("", "optimal: this grouping reaches the bound, before values are rounded")
    elif proven.solver_optimal and gap < 1e-6:
        row(
            "", f"optimal according to the solver; a certificate proves {proven.certified_il:.4f} %"
        )
    else:
        row("", f"this grouping is within {number(gap)} % of the bound, before values are rounded")
    if proven.mixed:
        row("", f"{OF_MIXED}")
    if settings is not None and (beside := promised_beside(settings.as_data())):
        row("", f"the bound is for k alone: {beside}")
    if settings is not None and settings.cap:
        row("", "both refer to the capped values, and so does a certificate")


def reports(path: Path | None) -> None:
    """Where the reports were written."""
    if path is not None:
        internal, public = report_paths(path)
        row("report", f"{public}; do not publish {internal}")


def demo_intro(source: Path, target: Path, k: int, settings: Mapping[str, Any]) -> None:
    """Show the command of the demonstration as a user would type it."""
    terminal.out.print(
        f"{source} holds 1,000 made-up people: categories, levels with an order, dates, "
        f"numbers, and gaps in them. "
        "The demo runs this command:\n"
    )
    options = []
    for name, value in settings.items():
        if isinstance(value, Mapping):
            options += [
                f"--{name} {shlex.quote(column + '=' + '<'.join(order))}"
                for column, order in value.items()
            ]
        else:
            options.append(f"--{name} {value if isinstance(value, str) else shell_list(value)}")
    paths = f"{shlex.quote(str(source))} {shlex.quote(str(target))}"
    terminal.out.print(f"  microagg anonymize {paths} --k {k} {' '.join(options)}\n")


def before_and_after(source: Path, target: Path, done: Release) -> None:
    """The records of one group before and after; what is missing is shown as a dash."""
    from microagg.files.reading import read_table

    after = done._arrow
    # one identifier is enough to see that they are gone, and narrow enough for a terminal
    before = read_table(source).select([*done.settings.identifier[:1], *after.column_names])
    group = np.flatnonzero(done.labels == done.labels[0])[:5]
    terminal.out.print("\nOne group, before and after (in the written file the rows are shuffled):")
    for table in (before, after):
        terminal.out.print()
        shown = Table(*table.column_names, box=None)
        for row in table.take(group).to_pylist():
            shown.add_row(*("–" if value in (None, "") else str(value) for value in row.values()))
        terminal.out.print(shown)


def first_page(done: Release) -> None:
    """The first part of the internal report, as a data-protection officer reads it."""
    terminal.out.print(f"\n{'─' * 20} the first page of the report {'─' * 20}\n")
    terminal.out.print(done.first_page(as_option))
    terminal.out.print(
        "\nThe whole report as a page: add --report report.html to the command above."
    )


def cleaned(done: Sequence[str]) -> None:
    """Show the result of cleaning a folder in which runs had been killed."""
    for sentence in done:
        terminal.out.print(f"{sentence}.")
    if not done:
        terminal.out.print("No interrupted run left files behind.")

"""What the command line shows: plain sentences and small tables on a terminal."""

from __future__ import annotations

import contextlib
import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from microagg.bounds.bound import OF_MIXED, Bound
from microagg.cli.bar import Bar
from microagg.cli.options import as_typed
from microagg.files.stats.sidecar import sidecar_of
from microagg.files.stores.locations import Url
from microagg.formatting import counted, number, printable, promised_beside, with_unit
from microagg.guarantees.k import Anonymity
from microagg.guarantees.suppression import Suppression
from microagg.kernels.compiling import on_first_compile
from microagg.methods.families import by_family
from microagg.methods.method import Method
from microagg.proposal.proposal import Proposal, shell_list
from microagg.release.changes import Change, rows_of_changes, sentence_on_changes
from microagg.release.manifest import manifest_paths
from microagg.release.release import Release
from microagg.release.report.claims import on_all_columns, on_naming
from microagg.release.report.terminal import size_bars
from microagg.release.saving import report_paths
from microagg.release.settings import Settings
from microagg.release.strata import class_columns
from microagg.studies.assess import Assessment
from microagg.studies.bounding import Bounded
from microagg.studies.compare import Comparison
from microagg.studies.reproduce import Reproduced, count_verdicts
from microagg.studies.verdicts import AGREEING
from microagg.table.schema import Role

CHANGED = 30  # columns of which is told what became of their cells


class Terminal(Console):
    """A console that shows names of columns and files to the letter, but lets none of them steer
    the terminal.
    """

    def render_str(self, text: str, **options: Any) -> Any:
        return super().render_str(printable(text), **options)


out = Terminal(highlight=False, soft_wrap=True, markup=False, emoji=False)
err = Terminal(highlight=False, soft_wrap=True, markup=False, emoji=False, stderr=True)


def progress(what: str) -> Bar:
    """A progress bar on standard error while work goes on; nothing where nobody watches."""
    on_first_compile(
        lambda: err.print("compiling for this machine: this first run takes longer ...")
    )
    return Bar(what, err)


@contextlib.contextmanager
def on_standard_error() -> Iterator[None]:
    """Show on standard error what would be shown on standard output, which holds a table."""
    global out
    usual, out = out, err
    try:
        yield
    finally:
        out = usual


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
    out.print(proposed.as_rich_table())
    for question in (*proposed.questions, *proposed.on_rules):
        out.print(f"\n{as_typed(str(question))}")
    if not proposed.names(Role.QUASI):
        return why_stopped(proposed)
    out.print("\nRoles proposed from names, types and counts. If they are right, run:")
    # a shell reads it: rich would fold it or take brackets for its own
    print(printable(f"  {proposed.command(source, target, k, nominal=nominal, **reading)}\n"))
    out.print(
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
    """The honest summary of a release; without a target it was given out on standard output."""
    manifest, classes = done.manifest, done.anonymity
    asked = manifest["settings"]
    params = ", ".join(
        f"{name}={value}" for name, value in asked["params"].items() if value is not None
    )
    largest = int(classes.sizes.max())
    out.print(
        f"{manifest['records']:,} records in {len(classes.sizes):,} classes of "
        f"{classes.sizes.min():,} to {largest:,}."
    )
    for bar in size_bars(classes.sizes):
        out.print(bar)
    refined = ", refined" if asked["refine"] else ""
    out.print(
        f"method      {asked['method']}{f' ({params})' if params else ''}{refined}, "
        f"scale {asked['scale']}"
    )
    for sentence in manifest["chosen"]:
        out.print(f"            {sentence}")
    if done.stopped is not None:
        out.print(
            f"            stopped early ({done.stopped}) at a checkpoint; this is the "
            f"best grouping found until then"
        )
    units = "standardised" if asked["scale"] == "zscore" else f"scale {asked['scale']}"
    out.print(
        f"loss        IL = {done.loss['IL']:.4f} % of the variation, SSE = "
        f"{done.loss['SSE']:.4f} ({units})"
    )
    if "IL_within" in done.loss:
        out.print(
            f"            {done.loss['IL_within']:.4f} % within groups, which is what "
            f"groups are searched by; the rest is rounding, weights, "
            "modes, medians and gaps"
        )
    if "IL_zscore" in done.loss:
        out.print(f"            {done.loss['IL_zscore']:.4f} % on standardised columns (z-scores)")
    if done.is_mixed:
        changes(done.changes)
    if done.bound is not None:
        bound(done.bound, done.labels, done.settings)
    what = (
        "each combination of"
        if classes.scope == "record"
        else "each value of every single column among"
    )
    out.print(
        f"guarantee   verified on the written file: {asked['k']} or more records share {what}"
    )
    out.print(f"            {', '.join(class_columns(done.schema, done.settings))}")
    for finding in classes.findings:
        out.print(f"            every class {finding.told} (worst class: {number(finding.worst)})")
    if done.settings.unit is not None:
        out.print(
            "            (units were counted by the withheld column; it does not protect "
            "against somebody who knows a whole household)"
        )
    if told := on_all_columns(manifest):
        out.print(f"beyond it   {told}")
    dropped = done.schema.names(Role.IDENTIFIER, Role.UNIT)
    if manifest.get("may_identify"):
        out.print(f"names       {on_naming(manifest)}")
    if dropped:
        out.print(f"dropped     {', '.join(dropped)}")
    for note in done.notes:
        out.print(f"note        {as_typed(note)}")
    if target is None:
        return
    internal, public = manifest_paths(target)
    beside = sidecar_of(target)  # there if the format cannot hold all labels
    labelled = beside.exists() if isinstance(beside, Path) else beside.size() is not None
    out.print(f"written     {target}, {public}{f', {beside}' if labelled else ''}")
    out.print(f"internal    {internal} (do not publish: it holds the seed and the scaling)")


def changes(found: Mapping[str, Change]) -> None:
    """What became of the cells, column by column: for the data holder."""
    out.print(f"cells       {sentence_on_changes(found)}")
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
    for name, _, unchanged, moved, gaps in list(rows_of_changes(found))[:CHANGED]:
        shown.add_row(" " * 10, name, f"{unchanged} %", moved, gaps)
    out.print(shown)
    if len(found) > CHANGED:
        out.print(f"            ... and {len(found) - CHANGED:,} more columns.")


def bounded(found: Bounded, certificate: Path | None) -> None:
    """A bound and the grouping that was found while proving it."""
    out.print(
        f"loss        IL = {found.loss['IL']:.4f} % of the variation, for the best grouping found"
    )
    bound(found.bound, found.labels)
    if found.stopped is not None:
        out.print(f"            stopped early ({found.stopped}); with more time the gap may shrink")
    if certificate is not None:
        out.print(f"internal    {certificate} (do not publish: it holds a number for each record)")
        out.print(
            f"            it proves {found.bound.certified_il:.4f} %; check it with "
            f"`microagg verify-bound`"
        )


def bound(proven: Bound, labels: np.ndarray, settings: Settings | None = None) -> None:
    """What no grouping can lose less than, and how near these groups come."""
    out.print(
        f"bound       no grouping into groups of {proven.k} or more can lose less than "
        f"{proven.il:.4f} % (proven)"
    )
    gap = proven.gap(labels)
    if proven.optimal and gap < 1e-6:
        out.print("            optimal: this grouping reaches the bound, before values are rounded")
    else:
        out.print(
            f"            this grouping is within {number(gap)} % of the bound, before "
            f"values are rounded"
        )
    if proven.mixed:
        out.print(f"            {OF_MIXED}")
    if settings is not None and (beside := promised_beside(settings.as_data())):
        out.print(f"            the bound is for k alone: {beside}")
    if settings is not None and settings.cap:
        out.print("            both are of the capped values, and so is a certificate")


def reports(path: Path | None) -> None:
    """Where the reports were written."""
    if path is not None:
        internal, public = report_paths(path)
        out.print(f"report      {public}; do not publish {internal}")


def assessment(found: Assessment) -> None:
    """All figures of a release, loss first."""
    pair = found.pair
    out.print(
        f"{len(pair.original):,} records, matched by {found.matched_by}; "
        f"{found.classes:,} classes, "
        f"the smallest with {counted(found.smallest_class, 'record')}."
    )
    for side, title in (("loss", "What was lost"), ("risk", "What an intruder gains")):
        shown = Table(
            "measure",
            "figure",
            "better",
            "what 0 means",
            box=None,
            pad_edge=False,
            title_justify="left",
        )
        for measure, figure in found.figures:
            if measure.side == side:
                better = "lower" if measure.lower_is_better else "higher"
                shown.add_row(
                    measure.title, with_unit(figure.value, measure.unit), better, measure.zero_means
                )
        out.print(f"\n{title}")
        Terminal(highlight=False, markup=False, width=None if out.is_terminal else 160).print(shown)
    for note in found.notes:
        out.print(f"note        {note.replace('suppressed=', '--suppressed ')}")


def comparison(done: Comparison, plot: Path | None) -> None:
    """Every method and k, those that no other beats in both loss and risk marked."""
    front = set(map(id, done.front))
    shown = Table(
        "", "method", "k", done.loss.title, done.risk.title, "seconds", box=None, pad_edge=False
    )
    for row in done.rows:
        if row.error:
            shown.add_row("", row.method, str(row.k), row.error, "", "")
            continue
        figures = (
            with_unit(row.figures[measure.name], measure.unit) for measure in (done.loss, done.risk)
        )
        best = "*" if id(row) in front else ""
        method = row.method if row.k_anonymous else f"{row.method} (not k-anonymous)"
        shown.add_row(best, method, str(row.k), *figures, f"{row.seconds:.1f}")
    Terminal(highlight=False, markup=False, width=None if out.is_terminal else 160).print(shown)
    out.print(
        "\n* Pareto front: no other k-anonymous release is at least as good in both loss "
        "and risk and better in one"
    )
    if plot is not None:
        out.print(f"written     {plot}")


def anonymity(found: Anonymity, quasi: Sequence[str], rows: int = 20) -> None:
    """Whether a table is k-anonymous, l-diverse and t-close, and where it is not."""
    names = ", ".join(quasi)
    classes = f"{len(found.sizes):,} classes"
    if found.suppression is not None:
        _suppression(found.suppression)
    if not found.too_small.any():
        out.print(f"yes: {found.k} or more records share each combination of {names}.")
        if len(found.sizes):
            out.print(f"{classes}; the smallest has {found.sizes.min():,} records.")
    else:
        records = int(found.sizes[found.too_small].sum())
        out.print(
            f"no: {int(found.too_small.sum()):,} of {classes} in {names} have fewer than "
            f"{found.k} records "
            f"({records:,} records in total).",
        )
    if found.counted_by == "bits":
        out.print(
            "counted by bits: 0 and -0, and NaN and missing values, are in different "
            "classes, because some programs "
            "tell them apart."
        )
    for finding in found.findings:
        about = f"{finding.told} (worst class: {number(finding.worst)})"
        if finding.holds:
            out.print(f"yes: every class {about}.")
        else:
            out.print(
                f"no: {int(finding.failing.sum()):,} of {classes} fail the requirement "
                f"that every class {about}."
            )
    if not found.holds:
        _failing_classes(found, rows)
    for note in found.notes:
        out.print(f"note        {note.replace('suppressed=', '--suppressed ')}")


def _suppression(found: Suppression) -> None:
    """Counts of suppressed rows and cells, and whether k holds if a blank fits any value."""
    cells = ", ".join(f"{name} {count:,}" for name, count in found.columns.items())
    out.print(
        f"suppressed: {counted(found.rows, 'whole record')}, set aside; "
        f"{counted(found.cells, 'cell')} of other records{f' ({cells})' if cells else ''}."
    )
    if not found.cells:
        return
    smallest = found.smallest or 0
    if found.holds:
        out.print(
            f"yes, if a suppressed cell fits any value: {smallest:,} or more records fit "
            f"each record."
        )
    else:
        out.print(
            f"no, even if a suppressed cell fits any value: fewer than {found.k} records "
            f"fit those of {found.failing:,} classes."
        )
    out.print("If a suppressed cell is a value of its own:")


def _failing_classes(found: Anonymity, rows: int) -> None:
    """Where to look: sizes and row numbers, never values."""
    failing = found.failing
    shown = Table("class size", "one of its rows", *(["fails"] if found.findings else []), box=None)
    for position in failing[:rows]:
        cells = [str(found.sizes[position]), str(found.first_rows[position])]
        if found.findings:
            misses = ["k"] if found.too_small[position] else []
            misses += [
                f"{f.guarantee} of {f.column}" for f in found.findings if f.failing[position]
            ]
            cells.append(", ".join(misses))
        shown.add_row(*cells)
    out.print(shown)
    if len(failing) > rows:
        out.print(f"... and {len(failing) - rows:,} more.")


def methods(chosen: Sequence[Method]) -> None:
    """The registry as tables, family by family."""
    console = Console(highlight=False, width=None if out.is_terminal else 200)
    for title, members in by_family(chosen):
        shown = Table(
            "method",
            "year",
            "what it does",
            "good for",
            "complexity",
            "source",
            box=None,
            pad_edge=False,
        )
        shown.columns[0].no_wrap = True
        for method in members:
            year = "" if method.year is None else str(method.year)
            shown.add_row(
                method.name, year, method.summary, method.good_for, method.complexity, method.source
            )
        console.print(f"\n[bold]{title}[/bold]")
        console.print(shown)


def method(chosen: Method) -> None:
    """One method with all that the registry knows."""
    for field, value in method_as_data(chosen).items():
        if field != "parameters":
            out.print(f"{field:<13} {value}")
    for parameter in chosen.parameters:
        out.print(
            f"parameter     {parameter.name} = {parameter.default} "
            f"({parameter.describes}): {parameter.help}",
        )


def method_as_data(chosen: Method) -> dict[str, Any]:
    """What the registry knows of a method, as plain data."""
    largest = chosen.largest_group(10, 10_000)
    return {
        "name": chosen.name,
        "family": chosen.family,
        "source": chosen.source,
        "text": chosen.text,
        "year": chosen.year,
        "good for": chosen.good_for,
        "summary": chosen.summary,
        "complexity": chosen.complexity,
        "largest_group": f"{largest} for k = 10" if largest else "no bound",
        "seeded": chosen.seeded,
        "parameters": [
            {"name": p.name, "default": p.default, "takes": p.describes, "help": p.help}
            for p in chosen.parameters
        ],
    }


def demo_intro(source: Path, target: Path, k: int, asked: Mapping[str, Any]) -> None:
    """What the demonstration is about to do, as the command a user would type."""
    out.print(
        f"{source} holds 1,000 made-up people: categories, levels with an order, dates, "
        f"numbers, and gaps in them. "
        "The demo runs this command:\n"
    )
    options = []
    for name, given in asked.items():
        if isinstance(given, Mapping):
            options += [
                f"--{name} {shlex.quote(column + '=' + '<'.join(order))}"
                for column, order in given.items()
            ]
        else:
            options.append(f"--{name} {given if isinstance(given, str) else shell_list(given)}")
    paths = f"{shlex.quote(str(source))} {shlex.quote(str(target))}"
    out.print(f"  microagg anonymize {paths} --k {k} {' '.join(options)}\n")


def before_and_after(source: Path, target: Path, done: Release) -> None:
    """The records of one group before and after; what is missing is shown as a dash."""
    from microagg.files.reading import read_table

    after = done._arrow
    # one identifier is enough to see that they are gone, and narrow enough for a terminal
    before = read_table(source).select([*done.settings.identifier[:1], *after.column_names])
    group = np.flatnonzero(done.labels == done.labels[0])[:5]
    out.print("\nOne group, before and after (in the written file the rows are shuffled):")
    for table in (before, after):
        out.print()
        shown = Table(*table.column_names, box=None)
        for row in table.take(group).to_pylist():
            shown.add_row(*("–" if value in (None, "") else str(value) for value in row.values()))
        out.print(shown)


def first_page(done: Release) -> None:
    """The first part of the internal report, as a data-protection officer reads it."""
    out.print(f"\n{'─' * 20} the first page of the report {'─' * 20}\n")
    out.print(as_typed(done.first_page()))
    out.print("\nThe whole report as a page: add --report report.html to the command above.")


def cleaned(done: Sequence[str]) -> None:
    """What was done to a folder in which runs had been killed."""
    for sentence in done:
        out.print(f"{sentence}.")
    if not done:
        out.print("Nothing was left over by runs that were killed.")


def reproduction(cells: Sequence[Reproduced]) -> None:
    """Published against obtained."""
    shown = Table(
        "source",
        "data",
        "method",
        "k",
        "measure",
        "published",
        "obtained",
        "verdict",
        "note",
        box=None,
    )
    colours = dict.fromkeys(AGREEING, "green") | {
        "lower": "cyan",
        "higher": "yellow",
        "not at hand": "yellow",
    }
    for cell in cells:
        figure = cell.published
        obtained = "" if cell.obtained is None else f"{cell.obtained:.{figure.decimals + 1}f}"
        obtained += f" ± {cell.error:.2g}" if cell.error else ""
        label = f"{figure.method} {figure.params}".strip()
        verdict = (
            f"[{colours[cell.verdict]}]{cell.verdict}[/]"
            if cell.verdict in colours
            else cell.verdict
        )
        printed = f"{figure.value:.{figure.decimals}f}"
        note = figure.note if cell.verdict not in AGREEING else ""
        if cell.common is not None:
            note = f"on raw data; {cell.common:.4f} on z-scores. {note}"
        if cell.squared is not None:
            note = f"{cell.squared:.4f} with squared costs. {note}"
        shown.add_row(
            figure.source,
            figure.dataset,
            label,
            str(figure.k),
            figure.measure,
            printed,
            obtained,
            verdict,
            note,
        )
    Console(highlight=False, width=None if out.is_terminal else 200).print(shown)
    counts = count_verdicts(cells)
    out.print(
        "\n"
        + ", ".join(f"{number} {verdict}" for verdict, number in counts.items())
        + f" of {len(cells)} figures."
    )

"""Terminal output of studies: figures of a release, comparisons, checks, methods, reproductions."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from microagg.cli import terminal
from microagg.cli.terminal import Terminal
from microagg.formatting import counted, number, with_unit
from microagg.guarantees.k import Anonymity
from microagg.guarantees.suppression import Suppression
from microagg.methods.families import by_family
from microagg.methods.method import Method
from microagg.studies.assessment import Assessment
from microagg.studies.comparison import Comparison
from microagg.studies.reproduce import Reproduced, count_verdicts
from microagg.studies.verdicts import AGREEING


def assessment(result: Assessment) -> None:
    """All figures of a release, loss first."""
    pair = result.pair
    terminal.out.print(
        f"{len(pair.original):,} records, matched by {result.matched_by}; "
        f"{result.classes:,} classes, "
        f"the smallest with {counted(result.smallest_class, 'record')}."
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
        for measure, figure in result.figures:
            if measure.side == side:
                better = "lower" if measure.lower_is_better else "higher"
                shown.add_row(
                    measure.title, with_unit(figure.value, measure.unit), better, measure.zero_means
                )
        terminal.out.print(f"\n{title}")
        Terminal(
            highlight=False, markup=False, width=None if terminal.out.is_terminal else 160
        ).print(shown)
    for note in result.notes:
        terminal.out.print(f"note         {note.replace('suppressed=', '--suppressed ')}")


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
    Terminal(highlight=False, markup=False, width=None if terminal.out.is_terminal else 160).print(
        shown
    )
    terminal.out.print(
        "\n* Pareto front: no other k-anonymous release is at least as good in both loss "
        "and risk and better in one"
    )
    if plot is not None:
        terminal.out.print(f"written      {plot}")


def anonymity(result: Anonymity, quasi: Sequence[str], rows: int = 20) -> None:
    """Show whether a table is k-anonymous, l-diverse and t-close, and where it is not."""
    names = ", ".join(quasi)
    classes = f"{len(result.sizes):,} classes"
    if result.suppression is not None:
        _suppression(result.suppression)
    if not result.too_small.any():
        terminal.out.print(f"yes: {result.k} or more records share each combination of {names}.")
        if len(result.sizes):
            terminal.out.print(f"{classes}; the smallest has {result.sizes.min():,} records.")
    else:
        records = int(result.sizes[result.too_small].sum())
        small = int(result.too_small.sum())
        terminal.out.print(
            f"no: {small:,} of {classes} in {names} {'has' if small == 1 else 'have'} fewer than "
            f"{result.k} records ({counted(records, 'record')} in total).",
        )
    if result.counted_by == "bits":
        terminal.out.print(
            "counted by bits: 0 and -0, and NaN and missing values, are in different "
            "classes, because some programs "
            "tell them apart."
        )
    for finding in result.findings:
        about = f"{finding.requirement} (worst class: {number(finding.worst)})"
        if finding.holds:
            terminal.out.print(f"yes: every class {about}.")
        else:
            terminal.out.print(
                f"no: {int(finding.failing.sum()):,} of {classes} fail the requirement "
                f"that every class {about}."
            )
    if not result.holds:
        _failing_classes(result, rows)
    for note in result.notes:
        terminal.out.print(f"note         {note.replace('suppressed=', '--suppressed ')}")


def _suppression(counts: Suppression) -> None:
    """Counts of suppressed rows and cells, and whether k holds if a blank fits any value."""
    cells = ", ".join(f"{name} {count:,}" for name, count in counts.columns.items())
    terminal.out.print(
        f"suppressed: {counted(counts.rows, 'whole record')}, set aside; "
        f"{counted(counts.cells, 'cell')} of other records{f' ({cells})' if cells else ''}."
    )
    if not counts.cells:
        return
    smallest = counts.smallest or 0
    if counts.holds:
        terminal.out.print(
            f"yes, if a suppressed cell fits any value: {smallest:,} or more records fit "
            f"each record."
        )
    else:
        terminal.out.print(
            f"no, even if a suppressed cell fits any value: fewer than {counts.k} records "
            f"fit those of {counts.failing:,} classes."
        )
    terminal.out.print("If a suppressed cell is a value of its own:")


def _failing_classes(result: Anonymity, rows: int) -> None:
    """Where to look: sizes and row numbers, never values."""
    failing = result.failing
    shown = Table(
        "class size", "one of its rows", *(["fails"] if result.findings else []), box=None
    )
    for position in failing[:rows]:
        cells = [str(result.sizes[position]), str(result.first_rows[position])]
        if result.findings:
            misses = ["k"] if result.too_small[position] else []
            misses += [
                f"{f.guarantee} of {f.column}" for f in result.findings if f.failing[position]
            ]
            cells.append(", ".join(misses))
        shown.add_row(*cells)
    terminal.out.print(shown)
    if len(failing) > rows:
        terminal.out.print(f"... and {len(failing) - rows:,} more.")


def methods(chosen: Sequence[Method]) -> None:
    """The registry as tables, family by family."""
    console = Console(highlight=False, width=None if terminal.out.is_terminal else 200)
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
            terminal.out.print(f"{field:<13} {value}")
    for parameter in chosen.parameters:
        terminal.out.print(
            f"parameter     {parameter.name} = {parameter.default} "
            f"({parameter.describes}): {parameter.help}",
        )


def method_as_data(chosen: Method) -> dict[str, Any]:
    """Return the registry entry of a method as plain data."""
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
    Console(highlight=False, width=None if terminal.out.is_terminal else 200).print(shown)
    counts = count_verdicts(cells)
    terminal.out.print(
        "\n"
        + ", ".join(f"{number} {verdict}" for verdict, number in counts.items())
        + f" of {len(cells)} figures."
    )

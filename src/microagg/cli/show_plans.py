"""Terminal output of a dry run: columns and their treatment, guarantee, time, files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rich.table import Table

from microagg.cli import terminal
from microagg.cli.app import answer
from microagg.formatting import counted, duration
from microagg.pipeline.dry_run import DryRun


def show_or_answer(plan: DryRun, files: Sequence[Path], *, as_json: bool) -> None:
    """A dry run on a terminal or as a document; `files` as they were typed."""
    if as_json:
        answer({**plan.as_data(), "would_write": [str(path) for path in files]})
    else:
        rehearsal(plan, files)


def rehearsal(plan: DryRun, files: Sequence[Path]) -> None:
    """Show the planned steps and their cost."""
    left_out = f" ({counted(plan.left_out, 'record')} left out)" if plan.left_out else ""
    strata = f" in {plan.strata:,} strata" if plan.strata else ""
    terminal.out.print(
        "A dry run: nothing is written. "
        f"{counted(plan.records, 'record')}{strata}{left_out} would be grouped.\n"
    )
    columns = Table("column", "role", "kind", "becomes", box=None, pad_edge=False)
    for column in plan.columns:
        columns.add_row(column["name"], column["role"], column["kind"], column["becomes"])
    terminal.out.print(columns)
    params = ", ".join(
        f"{name}={value}" for name, value in plan.params.items() if value is not None
    )
    terminal.out.print(
        f"\nmethod       {plan.method}{f' ({params})' if params else ''} on {plan.axes:,} "
        f"axes, scale {plan.scale}"
    )
    if plan.blocks:
        terminal.out.print(
            f"memory       in parts, about {counted(plan.blocks, 'block')}: the whole table is "
            f"never in memory"
        )
    for number, sentence in enumerate(plan.guarantee):
        terminal.out.print(f"{'guarantee   ' if not number else ' ' * 12}{sentence}")
    for label, shown in (("exposed", plan.exposure), ("expected", plan.preview)):
        for number, sentence in enumerate(() if shown is None else shown.sentences):
            terminal.out.print(f"{(label if not number else ''):<12}{sentence}")
    for number, sentence in enumerate(times(plan)):
        terminal.out.print(f"{'time        ' if not number else ' ' * 12}{sentence}")
    terminal.out.print(f"files        {', '.join(map(str, files))}")


def times(plan: DryRun) -> list[str]:
    """Return sentences on the expected time."""
    estimate = plan.estimate
    sentences = (
        [] if plan.seconds is None else [f"about {duration(plan.seconds)} in all, an estimate"]
    )
    if estimate.sample:
        sentences[-1] += f" from runs of the method on {estimate.sample:,} of these records"
    sentences += [estimate.open_end] if estimate.open_end else []
    if estimate.efforts:
        words = (f"{word} {duration(seconds)}" for word, seconds in estimate.efforts)
        sentences.append(f"of the search alone, by effort: {', '.join(words)}")
    return sentences

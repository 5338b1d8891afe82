"""What a dry run shows: columns and what would become of them, the guarantee, the time, the
files.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rich.table import Table

from microagg.cli import show
from microagg.cli.app import answer
from microagg.formatting import counted
from microagg.pipeline.dry_run import DryRun

MINUTE, HOUR = 60.0, 3600.0


def show_or_answer(plan: DryRun, files: Sequence[Path], *, as_json: bool) -> None:
    """A dry run on a terminal or as a document; `files` as they were typed."""
    if as_json:
        answer({**plan.as_data(), "would_write": [str(place) for place in files]})
    else:
        rehearsal(plan, files)


def rehearsal(plan: DryRun, files: Sequence[Path]) -> None:
    """What would be done, and at which cost."""
    left_out = f" ({counted(plan.left_out, 'record')} left out)" if plan.left_out else ""
    strata = f" in {plan.strata:,} strata" if plan.strata else ""
    show.out.print(
        "A dry run: nothing is written. "
        f"{counted(plan.records, 'record')}{strata}{left_out} would be grouped.\n"
    )
    shown = Table("column", "role", "kind", "becomes", box=None, pad_edge=False)
    for column in plan.columns:
        shown.add_row(column["name"], column["role"], column["kind"], column["becomes"])
    show.out.print(shown)
    params = ", ".join(
        f"{name}={value}" for name, value in plan.params.items() if value is not None
    )
    show.out.print(
        f"\nmethod      {plan.method}{f' ({params})' if params else ''} on {plan.axes:,} "
        f"axes, scale {plan.scale}"
    )
    if plan.blocks:
        show.out.print(
            f"memory      in passes, about {counted(plan.blocks, 'block')}: it is never "
            "whole in memory"
        )
    for number, sentence in enumerate(plan.guarantee):
        show.out.print(f"{'guarantee   ' if not number else ' ' * 12}{sentence}")
    for number, sentence in enumerate(times(plan)):
        show.out.print(f"{'time        ' if not number else ' ' * 12}{sentence}")
    show.out.print(f"files       {', '.join(map(str, files))}")


def times(plan: DryRun) -> list[str]:
    """What is said of the time."""
    estimate = plan.estimate
    told = [] if plan.seconds is None else [f"about {duration(plan.seconds)} in all, an estimate"]
    if estimate.sample:
        told[-1] += f" from runs of the method on {estimate.sample:,} of these records"
    return [*told, *([estimate.open_end] if estimate.open_end else [])]


def duration(seconds: float) -> str:
    """A time as people say it.

    >>> duration(0.2), duration(48.2), duration(400), duration(9000)
    ('a second', '50 seconds', '7 minutes', '2.5 hours')
    """
    if seconds < 1.5:
        return "a second"
    if seconds < 1.5 * MINUTE:
        return f"{float(f'{seconds:.1g}' if seconds > 10 else f'{seconds:.0f}'):.0f} seconds"
    if seconds < 1.5 * HOUR:
        return f"{seconds / MINUTE:.0f} minutes"
    return f"{seconds / HOUR:.1f} hours"

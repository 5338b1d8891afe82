"""The published figures beside ours on one page: in the paper's setting, on z-scores, and what no
grouping can go below.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from microagg.datasets.reference import NAMES as REFERENCE
from microagg.files.commit.overwrite_guard import check_other_kind
from microagg.files.commit.writing import check_unwritable, write_text
from microagg.studies.published import COUNTS, Published, omitted
from microagg.studies.reproduce import Reproduced, count_verdicts
from microagg.studies.reproduce_runs import Least, Runs
from microagg.studies.verdicts import AGREEING, VERDICTS

Problem = tuple[str, str, str, int]
"""Data set, its columns, its scaling, and k: what a bound is about."""


TITLE = "# Published figures, and ours"


def problem_of(figure: Published) -> Problem:
    """What a figure is about, whatever the method."""
    return figure.dataset, figure.columns, figure.scaling, figure.k


def bounds_for(
    figures: Iterable[Published],
    seconds: float,
    folder: Path | None = None,
    progress: Callable[[int, int], None] | None = None,
    runs: Runs | None = None,
) -> dict[Problem, Least]:
    """A proven lower bound for each problem, in so many seconds each; over several data sets, the
    mean of their bounds.
    """
    runs = Runs(folder) if runs is None else runs
    problems = {problem_of(figure): figure for figure in figures if figure.measure not in COUNTS}
    found = {}
    for done, (problem, figure) in enumerate(problems.items()):
        found[problem] = runs.bound(figure, seconds)
        if progress is not None:
            progress(done + 1, len(problems))
    return found


def write_page(
    path: Path, cells: Sequence[Reproduced], bounds: Mapping[Problem, Least], seconds: float
) -> None:
    """Write all cells to a page in Markdown, paper by paper and data set by data set."""
    parts = [_opening(cells, seconds), _at_a_glance(cells)]
    of_source: dict[str, list[Reproduced]] = {}
    for cell in cells:
        of_source.setdefault(cell.published.source, []).append(cell)
    for source, own in of_source.items():
        parts.append(f"## {source}\n")
        own.sort(key=lambda cell: cell.published.dataset)  # stable: the paper's order within
        for dataset, of_dataset in itertools.groupby(own, lambda cell: cell.published.dataset):
            parts.append(_table(dataset, list(of_dataset), bounds))
    check_page_place(path)
    write_text(path, "\n".join([*parts, _left_out()]))


def check_page_place(path: Path) -> None:
    """Make sure that the page can be written there, and takes the place of such a page at most."""
    check_unwritable(path)
    check_other_kind(path, "such a page", lambda beginning: beginning.startswith(TITLE.encode()))


def _opening(cells: Sequence[Reproduced], seconds: float) -> str:
    found = count_verdicts(cells)
    counts = "\n".join(f"| {VERDICTS[verdict]} | {number} |" for verdict, number in found.items())
    return f"""{TITLE}

Made by `microagg reproduce --page`; nothing here is typed by hand. {len(cells)} figures of five papers have a row below. What else the
papers print is [listed at the end](#what-is-left-out-and-why), with the reason.

| verdict | figures |
|---|---|
{counts}

A figure is equal if ours rounds to it. Sums of squares are printed with eight or so digits, of which six agree. A mean is judged by its
standard error and theirs; where a paper prints no deviation (the simulated data), theirs is taken to be as large as ours. "Follows" means
that the numbers of groups and their sizes are what a rule gives for the sizes that the paper prints: neither the paper's parts nor the
columns they were made from are known, so that nothing could be run. "Not at hand" means that the method was built from what later papers
say of it, and that ours and the printed figure differ: it may be another method.

"obtained" is our figure in the setting of the row's own paper: its columns, its scaling. "on z-scores" is the same method grouped
and measured on z-scores of the columns that most papers take (EIA: UTILITYID and ten more). Only there rows can be set beside each other:
figures from raw data are not comparable with those from z-scores, though the papers print them in one table.
"no grouping below" is a lower bound, in the row's own setting, proven in {seconds:g} seconds for each problem: loose for large k, but no
partition of these data can lose less. Where a printed figure lies below it, it cannot have been measured on these data in this way.
"""


def _at_a_glance(cells: Sequence[Reproduced]) -> str:
    """How many figures of each method, paper by paper, came out how, and how far off the farthest
    is.
    """
    verdicts = list(count_verdicts(cells))
    header = ["method", "paper", "figures", *verdicts, "farthest off"]
    rows = ["## At a glance\n", "| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    by_method: dict[tuple[str, str], list[Reproduced]] = {}
    for cell in cells:
        by_method.setdefault((cell.published.method, cell.published.source), []).append(cell)
    for (method, source), own in by_method.items():
        counts = count_verdicts(own)
        numbers = [str(counts.get(verdict, "")) for verdict in verdicts]
        rows.append(
            f"| {method} | {source} | {len(own)} | "
            + " | ".join(numbers)
            + f" | {_farthest(own)} |"
        )
    return "\n".join(rows) + "\n"


def _farthest(cells: Sequence[Reproduced]) -> str:
    """The largest difference between printed and obtained, in percent of the printed figure, with
    its sign.
    """
    off = [
        100.0 * (cell.obtained - cell.published.value) / cell.published.value
        for cell in cells
        if cell.verdict not in (*AGREEING, "not comparable")
        and cell.obtained is not None
        and cell.published.value
    ]
    return f"{max(off, key=abs):+.2g} %" if off else ""


def _table(dataset: str, cells: Sequence[Reproduced], bounds: Mapping[Problem, Least]) -> str:
    header = (
        "| method | k | setting | measure | published | obtained | on z-scores | no grouping "
        "below | verdict |"
    )
    rows = [f"### {dataset}\n", header, "|" + "---|" * 9]
    for cell in cells:
        figure = cell.published
        least = bounds.get(problem_of(figure)) if figure.measure not in COUNTS else None
        bound = None if least is None else getattr(least, figure.measure)
        deviation = f" ± {figure.deviation:.{figure.decimals}f}" if figure.deviation else ""
        rows.append(
            f"| {' '.join(filter(None, (figure.method, figure.params)))} | {figure.k} | "
            f"{_setting(figure)} | {figure.measure} "
            f"| {figure.value:.{figure.decimals}f}{deviation} | {_obtained(cell)} | "
            f"{_common(cell)} "
            f"| {'' if bound is None else _digits(bound, figure.decimals)} | "
            f"{_verdict(cell, bound)} |"
        )
    return "\n".join(rows) + "\n"


def _setting(figure: Published) -> str:
    if figure.measure in COUNTS:
        return "printed sizes"
    columns = "" if figure.columns == "all" else f"{figure.columns}, "
    return columns + {"zscore": "z-scores", "none": "as they are"}.get(
        figure.scaling, figure.scaling
    )


def _obtained(cell: Reproduced) -> str:
    if cell.obtained is None:
        return ""
    error = f" ± {cell.error:.2g}" if cell.error else ""
    return _digits(cell.obtained, cell.published.decimals) + error


def _common(cell: Reproduced) -> str:
    own = cell.obtained if cell.published.scaling == "zscore" else None
    common = own if cell.common is None else cell.common
    return "" if common is None or cell.published.measure != "IL" else f"{common:.4f}"


def _digits(value: float, decimals: int) -> str:
    return f"{value:.{decimals}f}"


def _verdict(cell: Reproduced, bound: float | None) -> str:
    figure = cell.published
    words = [cell.verdict]
    if cell.verdict == "not at hand" and cell.obtained is not None:
        words.append("ours is lower" if cell.obtained < figure.value else "ours is higher")
    if figure.scaling == "raw":
        words.append("on raw data, not comparable with z-scores")
    # of other data, a bound says nothing here
    if bound is not None and figure.dataset in REFERENCE:
        half_a_digit = 0.6 * 10.0**-figure.decimals
        if figure.value < bound * (1.0 - 1e-9) - half_a_digit:
            words.append("printed below the proven bound")
    if cell.verdict not in AGREEING and figure.note:
        words.append(figure.note)
    if cell.other_reading is not None:
        mean, error = cell.other_reading
        words.append(
            f"{mean:.4f} ± {error:.2g} with the variance, not the deviation, drawn from [0.1, 0.3]"
        )
    if cell.squared is not None:
        words.append(f"{cell.squared:.4f} with squared costs")
    return "; ".join(words)


def _left_out() -> str:
    """What the papers print besides, and why it has no row."""
    rows = ["## What is left out, and why\n", "| paper | where | what | why |", "|---|---|---|---|"]
    rows += [f"| {left.source} | {left.where} | {left.what} | {left.why} |" for left in omitted()]
    return "\n".join(rows) + "\n"

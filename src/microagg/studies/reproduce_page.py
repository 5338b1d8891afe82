"""Every published figure beside ours on one page: in the paper's setting, on z-scores, and what no grouping can go below."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from microagg.bounds.lower import lower_bound
from microagg.studies.reproduce import REFERENCE, SCALES, Published, Reproduced, count_verdicts, data_sets
from microagg.table.encoder import Space
from microagg.table.io.kinds import refuse_other_kind
from microagg.table.io.writing import refuse_unwritable, write_text

Problem = tuple[str, str, str, int]
"""Data set, its columns, its scaling, and k: what a bound is about."""

TITLE = "# Published figures, and ours"

WORDS = {
    "match": "reproduced",
    "better": "ours is lower",
    "not above": "ours is as low or lower; the printed one hangs on a random start",
    "differs": "not reproduced",
    "other data": "other data: the paper's data set is not published",
}

SHORT = {
    "match": "reproduced",
    "better": "lower",
    "not above": "as low or lower (random start)",
    "differs": "not reproduced",
    "other data": "other data",
}


@dataclass(frozen=True)
class Least:
    """What no grouping can lose less than, by either measure."""

    IL: float
    SSE: float


def problem_of(figure: Published) -> Problem:
    """What a figure is about, whatever the method."""
    return figure.dataset, figure.columns, figure.scaling, figure.k


def bounds_for(
    figures: Iterable[Published],
    seconds: float,
    folder: Path | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> dict[Problem, Least]:
    """A proven lower bound for each problem, in so many seconds each; over several data sets, the mean of their bounds."""
    problems = {problem_of(figure): figure for figure in figures if figure.measure in ("IL", "SSE")}
    found = {}
    for done, (problem, figure) in enumerate(problems.items()):
        sets = list(data_sets(figure, folder))
        bounds = []
        for values in sets:
            points = Space.fit(values, SCALES[figure.scaling]).points(values)
            bounds.append(lower_bound(points, figure.k, time_limit=seconds / len(sets)))
        found[problem] = Least(
            float(np.mean([b.certified_il for b in bounds])),
            float(np.mean([b.certified_sse for b in bounds])),
        )
        if progress is not None:
            progress(done + 1, len(problems))
    return found


def write_page(
    path: Path, cells: Sequence[Reproduced], bounds: Mapping[Problem, Least], seconds: float
) -> None:
    """Write all cells to a page in Markdown, paper by paper and data set by data set."""
    parts = [_opening(cells, seconds), _at_a_glance(cells)]
    for source, of_source in itertools.groupby(cells, lambda cell: cell.published.source):
        parts.append(f"## {source}\n")
        own = sorted(of_source, key=lambda cell: cell.published.dataset)  # stable: the paper's order within
        for dataset, of_dataset in itertools.groupby(own, lambda cell: cell.published.dataset):
            parts.append(_table(dataset, list(of_dataset), bounds))
    refuse_page_place(path)
    write_text(path, "\n".join(parts))


def refuse_page_place(path: Path) -> None:
    """Make sure that the page can be written there, and takes the place of such a page at most."""
    refuse_unwritable(path)
    refuse_other_kind(path, "such a page", lambda beginning: beginning.startswith(TITLE.encode()))


def _opening(cells: Sequence[Reproduced], seconds: float) -> str:
    found = count_verdicts(cells)
    counts = ", ".join(f"{found[verdict]} {words}" for verdict, words in SHORT.items() if verdict in found)
    return f"""{TITLE}

Made by `microagg reproduce --page`; nothing here is typed by hand. {len(cells)} figures: {counts}.

"obtained" is our figure in the setting of the row's own paper: its columns, its scaling. "on z-scores" is the same method grouped
and measured on z-scores of the columns that most papers take (EIA: UTILITYID and ten more), so that rows can be set beside each other.
"no grouping below" is a lower bound, in the row's own setting, proven in {seconds:g} seconds for each problem: loose for large k, but no
partition of these data can lose less. Where a printed figure lies below it, it cannot have been measured on these data in this way.
"""


def _at_a_glance(cells: Sequence[Reproduced]) -> str:
    """How many figures of each method, paper by paper, came out how, and how far off the farthest is."""
    found = count_verdicts(cells)
    verdicts = [verdict for verdict in SHORT if verdict in found]
    header = ["method", "paper", "figures", *(SHORT[verdict] for verdict in verdicts), "farthest off"]
    rows = ["## At a glance\n", "| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    by_method: dict[tuple[str, str], list[Reproduced]] = {}
    for cell in cells:
        by_method.setdefault((cell.published.method, cell.published.source), []).append(cell)
    for (method, source), own in by_method.items():
        counts = count_verdicts(own)
        numbers = [str(counts.get(verdict, "")) for verdict in verdicts]
        rows.append(f"| {method} | {source} | {len(own)} | " + " | ".join(numbers) + f" | {_farthest(own)} |")
    return "\n".join(rows) + "\n"


def _farthest(cells: Sequence[Reproduced]) -> str:
    """The largest difference between printed and obtained, in percent of the printed figure, with its sign."""
    off = [
        100.0 * (cell.obtained - cell.published.value) / cell.published.value
        for cell in cells
        if cell.verdict not in ("match", "other data") and cell.obtained is not None and cell.published.value
    ]
    return f"{max(off, key=abs):+.2g} %" if off else ""


def _table(dataset: str, cells: Sequence[Reproduced], bounds: Mapping[Problem, Least]) -> str:
    header = "| method | k | setting | measure | published | obtained | on z-scores | no grouping below | verdict |"
    rows = [f"### {dataset}\n", header, "|" + "---|" * 9]
    for cell in cells:
        figure = cell.published
        least = bounds.get(problem_of(figure))
        bound = None if least is None else getattr(least, figure.measure)
        rows.append(
            f"| {' '.join(filter(None, (figure.method, figure.params)))} | {figure.k} | {_setting(figure)} | {figure.measure} "
            f"| {figure.value:.{figure.decimals}f} | {_obtained(cell)} | {_common(cell)} "
            f"| {'' if bound is None else _digits(bound, figure.decimals)} | {_verdict(cell, bound)} |"
        )
    return "\n".join(rows) + "\n"


def _setting(figure: Published) -> str:
    columns = "" if figure.columns == "all" else f"{figure.columns}, "
    return columns + {"zscore": "z-scores", "none": "as they are"}.get(figure.scaling, figure.scaling)


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
    words = [WORDS[cell.verdict]]
    if bound is not None and cell.published.dataset in REFERENCE:  # of other data, a bound says nothing here
        half_a_digit = 0.6 * 10.0**-cell.published.decimals
        if cell.published.value < bound * (1.0 - 1e-9) - half_a_digit:
            words.append("printed below the proven bound")
    if cell.verdict != "match" and cell.published.note:
        words.append(cell.published.note)
    if cell.squared is not None:
        words.append(f"{cell.squared:.4f} with squared costs")
    return "; ".join(words)

"""Data of the page that shows a release beside its original; for the data holder only."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from microagg.errors import InputError
from microagg.formatting import number, shortened
from microagg.release.changes import rows_of_changes
from microagg.release.release import Release
from microagg.release.report.front_html import first_page_html
from microagg.release.report.spread import spread_of
from microagg.studio.charts import bars, level_bar
from microagg.table.columns.arrow import compute as pc
from microagg.table.encoder import Space

LONGEST, BINS, LEVELS = 60, 12, 10
NO_CHART = {"svg": "", "first": "", "last": ""}
PAGE, MEMBERS, MOST_CHANGED = 12, 25, 10


def text_of(value: Any) -> str:
    """Return a cell as text for a page; a missing one is empty.

    >>> text_of(None), text_of(0.25), text_of("Rome")
    ('', '0.25', 'Rome')
    """
    if value is None:
        return ""
    return shortened(f"{value:.10g}" if isinstance(value, float) else str(value), LONGEST)


def texts_of(column: pa.ChunkedArray) -> list[str]:
    """Return the cells of a column as texts; those that Python cannot hold are named by their type.

    >>> texts_of(pa.chunked_array([[1.5, None]]))
    ['1.5', '']
    >>> texts_of(pa.chunked_array([pa.array([2**62], pa.timestamp("s"))]))
    ['(timestamp[s])']
    """
    try:
        return [text_of(value) for value in column.to_pylist()]
    except (pa.ArrowException, ValueError, OverflowError):  # a far date, a zone nobody knows
        return [text_of(f"({column.type})")] * len(column)


def small_chart(column: pa.ChunkedArray) -> dict[str, str]:
    """Return a histogram of numbers or dates, or counts of the most frequent values, and its ends.

    >>> chart = small_chart(pa.chunked_array([[3, 1, 1]]))
    >>> chart["first"], chart["last"], chart["svg"].count("<rect")
    ('1', '3', 12)
    """
    try:
        return _chart(column.drop_null())
    except (pa.ArrowException, ValueError, OverflowError):  # a type or values without a picture
        return dict(NO_CHART)


def _chart(column: pa.ChunkedArray) -> dict[str, str]:
    if len(column) == 0:
        return dict(NO_CHART)
    on_scale = _on_scale(column)
    if on_scale is not None:
        ends = pc.min_max(column)
        counts = np.histogram(on_scale, BINS)[0].tolist() if len(on_scale) else []
        first, last = text_of(ends["min"].as_py()), text_of(ends["max"].as_py())
        what = f"{len(counts)} bins"
    else:
        values, counts = _most_frequent(column)
        first, last = (text_of(values[0]), "") if values and counts[0] > 1 else ("", "")
        what = f"the {len(counts)} most frequent values"
    svg = bars([counts], ["before"], f"Bar chart of {what}") if counts else ""
    return {"svg": svg, "first": first, "last": last}


def _on_scale(column: pa.ChunkedArray) -> np.ndarray | None:
    """Return numbers and dates as finite float64; None for what has no scale."""
    kind = column.type
    if pa.types.is_temporal(kind):
        column = pc.cast(column, pa.int32() if kind.bit_width == 32 else pa.int64())
    elif not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)):
        return None
    values = pc.cast(column, pa.float64(), safe=False).to_numpy()
    return values[np.isfinite(values)]


def _most_frequent(column: pa.ChunkedArray) -> tuple[list[Any], list[float]]:
    """Return the most frequent values of a column and their counts."""
    try:
        counted = pc.value_counts(column.combine_chunks())
    except pa.ArrowNotImplementedError:
        return [], []
    counts = counted.field("counts").to_numpy()
    order = np.argsort(-counts, kind="stable")[:LEVELS]
    values = counted.field("values").take(pa.array(order)).to_pylist()
    return values, counts[order].astype(np.float64).tolist()


def strip(losses: Mapping[int, float]) -> list[dict[str, str]]:
    """Return the expected loss for several k, each with a bar on a scale of 0 to 100 percent.

    >>> [(entry["k"], entry["loss"]) for entry in strip({3: 21.84, 25: 60.0})]
    [('3', '21.8'), ('25', '60')]
    """
    return [
        {
            "k": f"{k}",
            "loss": number(loss, 3),
            "svg": level_bar(loss / 100, f"{number(loss, 3)} % for k = {k}"),
        }
        for k, loss in losses.items()
    ]


def page(release: Any, start: int, record: int | None) -> dict[str, Any]:
    """Return the first page of the report, the columns from `start` on, and one group."""
    if type(release) is not Release:
        return {"first_page": first_page(release), "columns": [], "total": 0, "group": None}
    pair = release.pair
    names = list(pair.before.names)
    return {
        "first_page": first_page(release),
        "columns": [_column(release, j) for j in range(start, min(start + PAGE, len(names)))],
        "total": len(names),
        "changes": [list(row) for row in rows_of_changes(release.changes)],
        "most": _most_changed(release),
        "group": _group(release, record),
    }


def first_page(release: Any) -> str:
    """Return the report's first page as HTML, without inline styles: the policy forbids them."""
    return re.sub(r' style="[^"]*"', "", first_page_html(release._first_page()))


def _column(release: Release, j: int) -> dict[str, Any]:
    """Return one column before and after, on one scale, with its numbers."""
    pair = release.pair
    spread = spread_of((pair.before, pair.after), j)
    if spread is None:
        return {"name": pair.before.names[j], "chart": "", "rows": [], "first": "", "last": ""}
    shares = [[100 * count / max(1, sum(counts)) for count in counts] for counts in spread.counts]
    classes = ["before", "after"] if len(shares) > 1 else ["after"]
    label = f"Bar chart of {len(spread.slots)} shares, {' and '.join(classes)}"
    rows = [
        [text_of(slot), *(f"{share[i]:.1f}" for share in shares)]
        for i, slot in enumerate(spread.slots)
    ]
    return {
        "name": spread.name,
        "chart": bars(shares, classes, label),
        "rows": rows,
        "first": text_of(spread.slots[0]),
        "last": text_of(spread.slots[-1]) if len(spread.slots) > 1 else "",
    }


def _errors(release: Release) -> np.ndarray:
    """Return the squared change of each record on the scale of the search."""
    settings, pair = release.settings, release.pair
    space = Space.fit(pair.before, settings.scale, settings.importance)
    return space.record_errors(pair.before, pair.after, release.labels)


def _most_changed(release: Release) -> list[list[str]]:
    """Return the records that changed most: their numbers, and how much."""
    errors = _errors(release)
    order = np.lexsort((np.arange(len(errors)), -errors))[:MOST_CHANGED]
    return [[f"{row + 1}", number(float(np.sqrt(errors[row])), 3)] for row in order]


def _group(release: Release, record: int | None) -> dict[str, Any] | None:
    """Return the members of the group of one record, before and after."""
    labels = release.labels
    if labels.ndim != 1:
        return None
    chosen = 1 if record is None else record
    if not 1 <= chosen <= len(labels):
        raise InputError(f"there is no record {chosen}; records are numbered 1 to {len(labels):,}.")
    label = int(labels[chosen - 1])
    rows = np.flatnonzero(labels == label)
    groups = int(labels.max()) + 1
    firsts = np.full(groups, len(labels), np.int64)
    np.minimum.at(firsts, labels, np.arange(len(labels)))
    names = list(release.pair.before.names)
    shown = rows[:MEMBERS].tolist()
    before = release._original[shown].select(names).to_arrow()
    cells = [texts_of(before[name]) for name in names]
    after = release._arrow.select(names).take(shown[:1])
    return {
        "number": label + 1,
        "groups": groups,
        "size": len(rows),
        "record": chosen,
        "names": names,
        "before": [[f"{row + 1}", *(texts[i] for texts in cells)] for i, row in enumerate(shown)],
        "after": [texts_of(after[name])[0] for name in names],
        "next": int(firsts[(label + 1) % groups]) + 1,
        "previous": int(firsts[(label - 1) % groups]) + 1,
    }

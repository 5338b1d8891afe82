"""What a terminal shows of a release, through rich."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from microagg.formatting import printable
from microagg.release.report.summary import headline_of, summary_of

if TYPE_CHECKING:
    from rich.console import Group

WIDEST = 40  # blocks of the longest bar
SHOWN = 8  # sizes


def summary_for_terminal(
    *, manifest: Mapping[str, Any], class_sizes: np.ndarray, notes: Sequence[str] = ()
) -> Group:
    """A release as something that rich prints: headline, class sizes as bars, then what matters
    line by line.
    """
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    sizes = np.asarray(class_sizes)
    lines = Table(box=None, show_header=False, pad_edge=False)
    lines.add_column(style="bold", no_wrap=True)
    lines.add_column(overflow="fold")
    for name, sentence in summary_of(manifest, sizes, notes):
        lines.add_row(Text(name), Text(printable(sentence)))
    bars = [Text(bar, style="dim") for bar in size_bars(sizes)]
    return Group(Text(headline_of(manifest, sizes), style="bold"), *bars, lines)


def size_bars(sizes: np.ndarray) -> list[str]:
    """How many classes have which size, as bars of text.

    >>> size_bars(np.array([3, 3, 4]))[1]
    '  size    4  ████████████████████ 1'
    """
    values, counts = np.unique(sizes, return_counts=True)
    bars = [
        f"  size {size:>4}  {'█' * max(1, round(WIDEST * count / counts.max()))} {count:,}"
        for size, count in list(zip(values, counts, strict=True))[:SHOWN]
    ]
    return bars if len(values) <= SHOWN else [*bars, f"  larger     {counts[SHOWN:].sum():,}"]

"""Tables of docs/evidence.md, between marks in that page."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "evidence.md"


def percents(value: float, low: float, high: float) -> str:
    """A share with its interval, in percent."""
    numbers = (f"{round(100 * part, 1) + 0.0:.1f}" for part in (value, low, high))
    return "{} ({} to {})".format(*numbers)


def write_table(name: str, head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Write a table into the page, between the marks of its name."""
    begin, end = f"<!-- {name} -->", f"<!-- end of {name} -->"
    text = PAGE.read_text("utf-8")
    before, rest = text.split(begin)
    _, after = rest.split(end)
    lines = [f"| {' | '.join(cells)} |" for cells in (head, ["---"] * len(head), *rows)]
    PAGE.write_text(f"{before}{begin}\n\n" + "\n".join(lines) + f"\n\n{end}{after}", "utf-8")

"""The result of a comparison: releases by method and k, their Pareto front, and its map."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from microagg.drawing.maps import MapPoint, draw_map
from microagg.measures.measure import Measure
from microagg.measures.registry import measure_named
from microagg.methods.registry import method_named
from microagg.studies.assessment import finite


@dataclass(frozen=True)
class Row:
    """One release that could be made, and its figures; or why it cannot be made."""

    method: str
    """The method as a user would name it, such as "v-mdav:gamma=1.1"."""
    k: int
    seed: int
    figures: dict[str, float]
    classes: int
    smallest_class: int
    error: str = ""
    seconds: float = field(default=0.0, compare=False)

    @property
    def k_anonymous(self) -> bool:
        """Return whether at least k records share every combination.

        Methods for single columns do not guarantee that.
        """
        return self.smallest_class >= self.k

    @property
    def family(self) -> str:
        """The family of its method, as in the registry."""
        return method_named(self.method.partition(":")[0]).family


@dataclass(frozen=True)
class Comparison:
    """All rows of a comparison in the order of methods and k's, and the two measures that make up
    its map.
    """

    rows: tuple[Row, ...]
    loss: Measure
    risk: Measure
    name: str
    records: int
    quasi: tuple[str, ...]
    known: tuple[str, ...]
    scale: str
    precision: str

    @property
    def front(self) -> tuple[Row, ...]:
        """The k-anonymous rows that no other such row beats: at least as good in loss and risk,
        better in one of them.
        """
        able = [row for row in self.rows if row.k_anonymous and not row.error]
        best = pareto_front(
            [(self._cost(row, self.loss), self._cost(row, self.risk)) for row in able]
        )
        return tuple(able[position] for position in best)

    def _cost(self, row: Row, measure: Measure) -> float:
        value = row.figures[measure.name]
        return value if measure.lower_is_better else -value

    def __repr__(self) -> str:
        return self.as_markdown()

    def as_data(self) -> dict[str, Any]:
        """The comparison as plain data: finite numbers or None."""
        front = self.front
        return {
            "name": self.name,
            "records": self.records,
            "quasi": list(self.quasi),
            "known_to_intruder": list(self.known),
            "scale": self.scale,
            "precision": self.precision,
            "measures": [_declared(measure) for measure in self._measures()],
            "map": {"loss": self.loss.name, "risk": self.risk.name},
            "rows": [
                {
                    **{name: value for name, value in vars(row).items() if name != "figures"},
                    "k_anonymous": None if row.error else row.k_anonymous,
                    "on_front": row in front,
                    "figures": {name: finite(value) for name, value in row.figures.items()},
                }
                for row in self.rows
            ],
        }

    def as_markdown(self) -> str:
        """The rows as a table in Markdown; a star marks the front, and rows that have failed say
        why below.
        """
        measures, front = self._measures(), self.front
        several = len({row.seed for row in self.rows}) > 1
        head = ["", "method", "k", *(["seed"] if several else []), "smallest class"]
        head += [f"{measure.title} ({measure.unit})" for measure in measures]
        lines = [_line(head), _line([":-:", ":--"] + ["--:"] * (len(head) - 2))]
        for row in self.rows:
            if not row.error:
                star = "★" if row in front else ""
                facts = [star, row.method, str(row.k), *([str(row.seed)] if several else [])]
                smallest = f"{row.smallest_class}{'' if row.k_anonymous else ' (not k-anonymous)'}"
                lines.append(
                    _line([*facts, smallest, *(_shown(row, measure) for measure in measures)])
                )
        failed = [f"- {row.method}, k = {row.k}: {row.error}" for row in self.rows if row.error]
        return "\n".join(lines + ([""] + failed if failed else [])) + "\n"

    def draw(self, path: str | Path | None = None) -> str:
        """Draw the map to a file, .png or .svg; returns its SVG text where no path is given. Needs
        matplotlib.
        """
        front = self.front
        points = [
            MapPoint(
                row.method, row.k, row.figures[self.loss.name], row.figures[self.risk.name],
                on_front=row in front, k_anonymous=row.k_anonymous, family=row.family,
            )
            for row in self.rows
            if not row.error
        ]  # fmt: skip
        title = f"{self.name}: {self.records:,} records, {len(self.quasi)} quasi-identifiers"
        return draw_map(
            points,
            path,
            loss=f"{self.loss.title} ({self.loss.unit})",
            risk=f"{self.risk.title} ({self.risk.unit})",
            title=title.lstrip(": "),
        )

    def _measures(self) -> list[Measure]:
        names = dict.fromkeys([self.loss.name, self.risk.name])
        for row in self.rows:
            names |= dict.fromkeys(row.figures)
        return [measure_named(name) for name in names]


def pareto_front(costs: Sequence[tuple[float, float]]) -> list[int]:
    """The positions of the pairs that no other pair beats: at least as low in both and lower in
    one.

    >>> pareto_front([(1.0, 5.0), (2.0, 5.0), (2.0, 3.0), (4.0, 1.0), (4.0, 1.0)])
    [0, 2, 3, 4]
    """
    lowest = math.inf  # the lowest second cost of all pairs with a lower first one
    front: list[int] = []
    firsts = sorted({first for first, _ in costs})
    for first in firsts:
        second = min(cost for other, cost in costs if other == first)
        if second < lowest:
            front += [position for position, cost in enumerate(costs) if cost == (first, second)]
            lowest = second
    return sorted(front)


def _declared(measure: Measure) -> dict[str, Any]:
    return {
        "name": measure.name,
        "title": measure.title,
        "side": measure.side,
        "unit": measure.unit,
        "lower_is_better": measure.lower_is_better,
        "zero_means": measure.zero_means,
        "highest_means": measure.highest_means,
    }


def _shown(row: Row, measure: Measure) -> str:
    return f"{row.figures[measure.name]:.4g}" if measure.name in row.figures else "–"


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"

"""Marks that can be told apart: a colour, a shape and a filling for each method of a map."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

# far apart from one another, also for those who see no red, no green or no blue
COLOURS = ("#2a4bff", "#d1380a", "#00a884", "#660099", "#f5a800", "#1a1a33", "#c48df5", "#730c00")
SHAPES = ("o", "s", "^", "D", "P", "v", "*", "X", "<", ">")
AREA = {
    "*": 2.0,
    "^": 1.3,
    "v": 1.3,
    "<": 1.3,
    ">": 1.3,
    "P": 1.3,
    "X": 1.3,
    "D": 0.8,
}  # so that none looks small
GREY = "#8a8a8a"
PALE = 0.68  # how far the second filling is from the colour, on its way to white
MOST = 2 * len(SHAPES)  # methods of one colour: each shape in both fillings
APART = 3  # shapes between the first of one colour and the first of the next


@dataclass(frozen=True)
class Mark:
    """How one method looks."""

    shape: str
    edge: str
    face: str

    @property
    def area(self) -> float:
        """What to multiply a size with for this shape to look as large as a circle."""
        return AREA.get(self.shape, 1.0)

    @property
    def edge_width(self) -> float:
        """White edges only keep marks apart; others are what is seen."""
        return 0.4 if self.edge == "white" else 1.1


def marks_of(families: Mapping[str, str]) -> dict[str, Mark]:
    """A mark for each method (the keys; the values are their families), no two alike while there
    are 160 or fewer.

    Up to eight methods differ in colour and in shape. Of more, those of a family share as few
    colours as there are enough of and differ in shape, and where a colour has more than ten of them
    in filling too.

    >>> marks_of({"mdav": "mdav", "v-mdav": "mdav"})["v-mdav"]
    Mark(shape='D', edge='white', face='#d1380a')
    """
    marks = {
        method: _mark(number, place)
        for number, methods in enumerate(_of_one_colour(families))
        for place, method in enumerate(methods)
    }
    return {method: marks[method] for method in families}


def hollow_marks(methods: Iterable[str]) -> dict[str, Mark]:
    """Grey outlines for what does not count: a shape for each method.

    >>> hollow_marks(["individual-ranking"])
    {'individual-ranking': Mark(shape='o', edge='#8a8a8a', face='none')}
    """
    return {
        method: Mark(SHAPES[i % len(SHAPES)], GREY, "none")
        for i, method in enumerate(dict.fromkeys(methods))
    }


def _of_one_colour(families: Mapping[str, str]) -> list[list[str]]:
    """The methods that share a colour: a family, a part of a large one, or several small ones."""
    members: dict[str, list[str]] = {}
    for method, family in families.items():
        members.setdefault(family, []).append(method)
    most = next(
        (most for most in range(1, MOST) if _colours_for(members, most) <= len(COLOURS)), MOST
    )
    pieces = [own[at : at + most] for own in members.values() for at in range(0, len(own), most)]
    shared: list[list[str]] = []
    for piece in sorted(pieces, key=len, reverse=True):
        if len(shared) < len(COLOURS):
            shared.append(piece)
        elif len(piece) + len(smallest := min(shared, key=len)) <= MOST:
            smallest += piece
        else:
            for method in piece:
                min(shared, key=len).append(method)
    return shared


def _colours_for(members: Mapping[str, list[str]], most: int) -> int:
    return sum(math.ceil(len(own) / most) for own in members.values())


def _mark(number: int, place: int) -> Mark:
    colour = COLOURS[number]
    shape = SHAPES[(APART * number + place) % len(SHAPES)]
    pale = place // len(SHAPES) % 2 == 1
    return Mark(shape, colour if pale else "white", _paler(colour) if pale else colour)


def _paler(colour: str) -> str:
    parts = (int(colour[at : at + 2], 16) for at in (1, 3, 5))
    return "#" + "".join(f"{round(part + PALE * (255 - part)):02x}" for part in parts)

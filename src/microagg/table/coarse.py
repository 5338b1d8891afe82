"""Aggregates that release texts coarser than the values: ranges and ancestors."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from typing import Any

import numpy as np

from microagg.table.aggregates import SortedMembers
from microagg.table.schema import Kind
from microagg.table.variable import Variable


def ranges(of: SortedMembers) -> tuple[np.ndarray, Variable]:
    """For each group its place among the ranges "a..b" (or "a" where both are equal), and the
    variable of these.

    >>> from microagg.table.grouping import Groups
    >>> column = np.array([1.0, 3.0, 7.0])
    >>> groups = Groups.of(np.array([0, 0, 1]))
    >>> places, variable = ranges(SortedMembers(Variable("age"), column, groups, column, 0, texts_of))
    >>> [variable.levels[int(place)] for place in places]
    ['1..3', '7']
    """
    least, largest = of.groups.least(of.values), of.groups.largest(of.values)
    ends, which = np.unique(np.concatenate([least, largest]), return_inverse=True)
    low, high = which.reshape(2, -1) if len(ends) else np.empty((2, 0), np.int64)
    pairs, places = np.unique(low * np.int64(max(len(ends), 1)) + high, return_inverse=True)
    texts = of.texts(of.variable, _tidy(ends, of))
    levels = [
        texts[a] if a == b else f"{texts[a]}..{texts[b]}"
        for a, b in zip(
            *(part.tolist() for part in np.divmod(pairs, max(len(ends), 1))), strict=True
        )
    ]
    return _coarsened(of.variable, levels, places)


def ancestors(of: SortedMembers) -> tuple[np.ndarray, Variable]:
    """For each group the place of its lowest common ancestor among those released, and the variable
    of these.
    """
    tree = of.variable.hierarchy
    assert tree is not None
    if of.variable.kind is Kind.NUMERIC:
        different, codes = np.unique(of.values, return_inverse=True)
        tidy = _tidy(different, of)
        levels = of.texts(of.variable, tidy) if of.variable.unit else _originals(of.variable, tidy)
    else:
        codes, levels = of.values.astype(np.int64), list(of.variable.levels)
    if of.variable.kind is Kind.ORDINAL:  # declared levels that no record has need no line
        used = np.unique(codes)
        codes, levels = np.searchsorted(used, codes), [levels[code] for code in used.tolist()]
    nodes = tree.ancestors(levels, of.variable.name)
    height, node = np.full(of.groups.count, -1), np.zeros(of.groups.count, np.int64)
    for level in range(tree.depth):
        column = nodes[codes, level]
        lowest = of.groups.least(column)
        found = (height < 0) & (lowest == of.groups.largest(column))
        height[found], node[found] = level, lowest[found]
    widest = max(len(names) for names in tree.nodes) + 1
    pairs, places = np.unique(height * np.int64(widest) + node, return_inverse=True)
    texts = [tree.name_of(*divmod(int(pair), widest)) for pair in pairs.tolist()]
    return _coarsened(of.variable, texts, places)


def _coarsened(
    variable: Variable, texts: list[str] | list[str | None], places: np.ndarray
) -> tuple[np.ndarray, Variable]:
    """The places of texts among the different ones, missing last."""
    levels = [text for text in dict.fromkeys(texts) if text is not None] + [None] * (None in texts)
    place = {text: at for at, text in enumerate(levels)}
    new = np.array([place[text] for text in texts], np.float64)
    coarse = replace(
        variable,
        kind=Kind.NOMINAL,
        levels=tuple(levels),
        origin=0,
        unit="",
        single=False,
        hierarchy=None,
        coarse=True,
    )
    return new[places.reshape(-1)], coarse


def _tidy(numbers: np.ndarray, of: SortedMembers) -> np.ndarray:
    """The numbers without what computing left behind the last decimal of their column."""
    return numbers if of.decimals is None else np.round(numbers, of.decimals) + 0.0


def texts_of(variable: Variable, numbers: np.ndarray) -> list[str]:
    """The values that numbers stand for as people write them: without an exponent. Times are taken
    for points in time.

    >>> texts_of(Variable("x"), np.array([30.0, 1.5, 1e21]))
    ['30', '1.5', '1000000000000000000000']
    >>> texts_of(Variable("education", Kind.ORDINAL, ("low", "high")), np.array([1.0]))
    ['high']
    """
    if variable.kind is not Kind.NUMERIC:
        return [_text(variable.levels[int(number)]) for number in numbers.tolist()]
    if variable.unit:
        whole = [int(variable.origin) + int(number) for number in numbers.tolist()]
        return [str(moment) for moment in np.array(whole, f"datetime64[{variable.unit}]")]
    return [_text(value) for value in _originals(variable, numbers)]


def _originals(variable: Variable, numbers: np.ndarray) -> list[Any]:
    """The numbers as they were: float, or Decimal where float64 would not hold them to the
    digit.
    """
    if variable.origin:
        return [variable.origin + Decimal(repr(number)) for number in numbers.tolist()]
    if variable.single:
        return [Decimal(str(number)) for number in numbers.astype(np.float32)]
    return numbers.tolist()


def _text(value: Any) -> str:
    """A value as people write it."""
    if isinstance(value, float | np.floating):
        text = repr(float(value))
        return text[:-2] if text.endswith(".0") else f"{Decimal(text):f}"
    if isinstance(value, Decimal):
        text = f"{value:f}"
        return text.rstrip("0").rstrip(".") if "." in text else text
    return str(value)

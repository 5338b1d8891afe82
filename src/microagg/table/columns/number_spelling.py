"""Numbers written as the texts of a column are written."""

from __future__ import annotations

from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa

from microagg.table.columns.arrow import compute as pc
from microagg.table.columns.distinct import Finder
from microagg.table.columns.levels import ValueCounts
from microagg.table.columns.numbers import spelled_numbers
from microagg.table.columns.series_like import series_like
from microagg.table.variable import NO_ATOM, Variable


def spelled(
    original: nw.Series[Any],
    column: pa.ChunkedArray,
    variable: Variable,
    values: np.ndarray,
    atoms: np.ndarray | None,
    spellings: ValueCounts,
    *,
    whole: bool,
) -> nw.Series[Any]:
    """Return numbers as text: as the column spells them, others with its number of decimals."""
    texts_of_column = spellings.values
    spelled = spelled_numbers(pa.array(texts_of_column, pa.large_string()))
    order = np.argsort(-spellings.all_counts[:-1], kind="stable")
    spelling = {float(spelled[index]): texts_of_column[index] for index in order[::-1]}
    tails = {
        decimals_in(text)
        for text, number in zip(texts_of_column, spelled, strict=True)
        if number == number
    }
    fixed = tails.pop() if len(tails) == 1 and whole else None
    numbers, inverse = np.unique(values, return_inverse=True)
    texts: list[str | None] = [
        None if np.isnan(value) else spelling.get(float(value), written(float(value), fixed))
        for value in numbers
    ]
    finder = Finder([text.strip() for text in texts_of_column])
    for mark in variable.marks:
        same = [] if mark is None else finder.places(mark)
        texts.append(
            variable.gap if mark is None else texts_of_column[same[0]] if same else str(mark)
        )
    places = inverse.reshape(-1)
    if atoms is not None:
        places = np.where(atoms == NO_ATOM, places, len(numbers) + atoms)
    text = pc.take(pa.array(texts, pa.large_string()), pa.array(places))
    kind = original.to_native().type if original.implementation.is_pyarrow() else column.type
    return series_like(original, pc.cast(text, kind))


def decimals_in(text: str) -> int | None:
    """Return the number of decimals of a spelled number; None with an exponent."""
    _, _, tail = text.strip().partition(".")
    return None if "e" in text.lower() else len(tail)


def written(number: float, fixed: int | None) -> str:
    """Return a number as text, with a fixed number of decimals if there is one."""
    if fixed is not None:
        return f"{number + 0.0:.{fixed}f}"
    return str(int(number)) if number.is_integer() and abs(number) < 1e15 else repr(number)

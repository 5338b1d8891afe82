"""Pairs of a table and its release, record by record, as the numbers that measures work on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa

from microagg.errors import InputError
from microagg.measures.measure import Pair
from microagg.sentences import sentence
from microagg.table.columns.distinct import number_of
from microagg.table.columns.frames import to_arrow
from microagg.table.columns.matrix_values import values_of
from microagg.table.confidential import attributes_of, codes_of
from microagg.table.schema import ColumnSettings, Kind
from microagg.table.variable import NO_ATOM, Cells, Variable

PER_DAY = {"D": 1, "s": 86_400, "ms": 86_400_000, "us": 86_400_000_000, "ns": 86_400_000_000_000}


def pair_of(
    original: nw.DataFrame[Any],
    release: nw.DataFrame[Any],
    *,
    quasi: Sequence[str],
    confidential: Sequence[str] = (),
    keep: Sequence[str] = (),
    shared: Sequence[str] = (),
    weight: str | None = None,
    k: int | None = None,
    exact: bool = False,
    options: ColumnSettings | None = None,
    cells: tuple[Cells, Cells] | None = None,
) -> Pair:
    """Return the pair of a table and its release, whose rows must match; weights are the
    original's, all else is the release's.

    The type of a confidential column decides whether it counts as numbers, ordered or plain
    categories, unless `options` do; missing values and special codes are treated as for l and t
    (see `attributes_of`). Spellings of one text are one category, as there, unless
    `exact`. `shared` names columns of the release that the records of a class share, too: strata.
    Quasi-identifiers of a mixed table are given as `cells`, before and after; the two may have been
    read each by itself.

    >>> before = nw.from_native(pa.table({"age": [30, 32]}))
    >>> after = nw.from_native(pa.table({"age": [31, 31], "ill": ["no", "yes"]}))
    >>> pair = pair_of(before, after, quasi=["age"], confidential=["ill"])
    >>> pair.released.tolist(), pair.confidential["ill"].tolist()
    ([[31.0], [31.0]], [0, 1])
    """
    others = [*confidential, *keep, *shared]
    columns = to_arrow(release.select(*others)) if others else pa.table({})
    options = options or ColumnSettings()
    attributes = attributes_of(
        columns,
        confidential,
        exact=exact,
        kinds=options.kinds,
        ordinal=options.levels,
        special=options.special,
        na=options.na,
    )
    kept = {name: codes_of(columns.column(name)) for name in keep}
    if cells is None:
        pair = Pair(
            _values(original, quasi, "original"), _values(release, quasi, "release"), tuple(quasi)
        )
    else:
        pair = Pair.of_cells(*in_the_same_terms(*cells))
    return replace(
        pair,
        confidential={a.name: a.values for a in attributes if a.kind is not Kind.ORDINAL},
        ordered={a.name: a.values for a in attributes if a.kind is Kind.ORDINAL},
        atoms={a.name: a.atoms for a in attributes if a.atoms is not None},
        kept=kept,
        shared={name: codes_of(columns.column(name)) for name in shared},
        weights=None if weight is None else weights_of(original, weight),
        k=k,
    )


def in_the_same_terms(before: Cells, after: Cells) -> tuple[Cells, Cells]:
    """Cells that were read each by themselves, with the same levels, marks, units and origins.

    What only the release has (values that another tool wrote, cells that it blanked) becomes a
    level or mark that no record had before; in a hierarchy it lies where `Hierarchy.with_nodes` has
    it. An ordered column with values that have no place in the order, or a column whose kind has
    changed, is taken for coarse.

    >>> towns = [Variable("town", Kind.NOMINAL, (name,)) for name in ("Rome", "*")]
    >>> before, after = (Cells((town,), np.array([[0.0]])) for town in towns)
    >>> before, after = in_the_same_terms(before, after)
    >>> before.variables[0].levels, after.values.tolist()
    (('Rome', '*'), [[1.0]])
    """
    olds, news = list(before.variables), list(after.variables)
    values, atoms = after.values.copy(), None if after.atoms is None else after.atoms.copy()
    for j, (old, new) in enumerate(zip(before.variables, after.variables, strict=True)):
        if old == new or new.coarse:
            continue
        marks = (*old.marks, *(mark for mark in new.marks if mark not in old.marks))
        if old.kind is not Kind.NOMINAL and atoms is not None and new.marks:
            places = np.array([*(marks.index(mark) for mark in new.marks), NO_ATOM], np.int16)
            atoms[:, j] = places[atoms[:, j]]
        if old.kind is not new.kind or (
            old.kind is Kind.ORDINAL and not set(_as_spelled_before(old, new)) <= set(old.levels)
        ):
            news[j] = replace(new, marks=marks, coarse=True)
            continue
        if old.kind is Kind.NUMERIC:
            values[:, j] = counted_like(old, new, values[:, j])
            news[j] = olds[j] = replace(old, marks=marks)
            continue
        same = _as_spelled_before(old, new)
        levels = (*old.levels, *(level for level in same if level not in old.levels))
        position = {level: rank for rank, level in enumerate(levels)}
        ranks = np.array([position[level] for level in same], np.float64)
        valid = ~np.isnan(values[:, j])
        values[valid, j] = ranks[values[valid, j].astype(np.int64)]
        news[j] = olds[j] = replace(
            old, levels=levels, marks=marks if old.kind is Kind.ORDINAL else (),
            hierarchy=None if old.hierarchy is None else old.hierarchy.with_nodes(levels),
        )  # fmt: skip
    return Cells(tuple(olds), before.values, before.atoms), Cells(tuple(news), values, atoms)


def _as_spelled_before(old: Variable, new: Variable) -> list[Any]:
    """The levels of a release; those that are text because of other text beside them as the numbers
    that they were.
    """
    known = set(old.levels)
    by_number = {number_of(level): level for level in old.levels if not isinstance(level, str)}
    by_number.pop(None, None)
    return [
        by_number.get(number_of(level), level)
        if isinstance(level, str) and level not in known
        else level
        for level in new.levels
    ]


def counted_like(old: Variable, new: Variable, values: np.ndarray) -> np.ndarray:
    """Numbers in the unit and from the origin of another column.

    >>> counted_like(Variable("born", unit="s"), Variable("born", unit="D", origin=1),
    ...     np.array([0.0, 1.0])).tolist()
    [86400.0, 172800.0]
    """
    size = Fraction(PER_DAY[old.unit], PER_DAY[new.unit]) if old.unit and new.unit else Fraction(1)
    return values * float(size) + float(Fraction(new.origin) * size - Fraction(old.origin))


def _values(frame: nw.DataFrame[Any], names: Sequence[str], which: str) -> np.ndarray:
    try:
        return values_of(frame, names)
    except InputError as error:
        raise InputError(sentence(f"in the {which}, ", error)) from None


def weights_of(frame: nw.DataFrame[Any], name: str) -> np.ndarray:
    """The weights of the records of the original: numbers above 0."""
    try:
        weights = values_of(frame, [name])[:, 0].copy()
    except InputError as error:
        problem = str(error).partition(";")[0]
        raise InputError(
            f"in the original, {problem}; weights must be numbers without gaps."
        ) from None
    if (weights <= 0.0).any():
        row = int(np.argmax(weights <= 0.0)) + 1
        raise InputError(
            f"the weight {name!r} is not greater than 0 in row {row} (header not "
            f"counted); leave such records out."
        )
    return weights

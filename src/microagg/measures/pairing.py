"""From two tables, record by record in the same order, to the numbers that measures work on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa

from microagg.errors import InputError
from microagg.measures.measure import Pair
from microagg.table.confidential import attributes_of, codes_of
from microagg.table.io.frames import to_arrow, values_of
from microagg.table.schema import Kind


def pair_of(
    original: nw.DataFrame[Any],
    release: nw.DataFrame[Any],
    *,
    quasi: Sequence[str],
    confidential: Sequence[str] = (),
    keep: Sequence[str] = (),
    weight: str | None = None,
    k: int | None = None,
    exact: bool = False,
    kinds: Mapping[str, Kind] = {},
    ordinal: Mapping[str, Sequence[Any]] = {},
    special: Mapping[str, Sequence[Any]] = {},
    na: Sequence[Any] = (),
) -> Pair:
    """The pair of a table and its release, whose rows must match; weights are the original's, all else is the release's.

    Of a confidential column the type says whether it counts as numbers, ordered or plain categories, unless `kinds` or `ordinal` do; what
    is missing, and `special` codes, are atoms as for l and t (see `attributes_of`). Spellings of one text are one category, as there,
    unless `exact`.

    >>> before, after = pa.table({"age": [30, 32]}), pa.table({"age": [31, 31], "ill": ["no", "yes"]})
    >>> pair = pair_of(nw.from_native(before), nw.from_native(after), quasi=["age"], confidential=["ill"])
    >>> pair.released.tolist(), pair.confidential["ill"].tolist()
    ([[31.0], [31.0]], [0, 1])
    """
    columns = to_arrow(release.select(*confidential, *keep)) if confidential or keep else pa.table({})
    attributes = attributes_of(
        columns, confidential, exact=exact, kinds=kinds, ordinal=ordinal, special=special, na=na
    )
    kept = {name: codes_of(columns.column(name)) for name in keep}
    return Pair(
        original=_values(original, quasi, "original"),
        released=_values(release, quasi, "release"),
        names=tuple(quasi),
        confidential={a.name: a.values for a in attributes if a.kind is not Kind.ORDINAL},
        ordered={a.name: a.values for a in attributes if a.kind is Kind.ORDINAL},
        atoms={a.name: a.atoms for a in attributes if a.atoms is not None},
        kept=kept,
        weights=None if weight is None else _weights(original, weight),
        k=k,
    )


def _values(frame: nw.DataFrame[Any], names: Sequence[str], which: str) -> np.ndarray:
    try:
        return values_of(frame, names)
    except InputError as error:
        raise InputError(f"in the {which}, {error}") from None


def _weights(frame: nw.DataFrame[Any], name: str) -> np.ndarray:
    try:
        weights = values_of(frame, [name])[:, 0].copy()
    except InputError as error:
        place = str(error).partition(";")[0]
        raise InputError(f"in the original, {place}; weights must be numbers without gaps.") from None
    if (weights <= 0.0).any():
        row = int(np.argmax(weights <= 0.0)) + 1
        raise InputError(
            f"the weight {name!r} is not greater than 0 in row {row} (header not counted); leave such records out."
        )
    return weights

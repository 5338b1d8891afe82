"""Strata: columns that are released as they are and that no group crosses; what makes a class, and
which strata are too small.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa

from microagg.errors import InputError
from microagg.guarantees.promise import AcceptanceTest
from microagg.release.cells import confidential_of, units_in
from microagg.release.settings import Settings
from microagg.table.columns.arrow import comparable, sorted_places
from microagg.table.columns.arrow import compute as pc
from microagg.table.columns.frames import to_arrow
from microagg.table.schema import Role, Schema

FEW_GROUPS = 10  # a median stratum in which no more than so many groups fit is told about


@dataclass(frozen=True)
class Strata:
    """The strata of a table that is released, and what was left out because its stratum was too
    small.
    """

    labels: np.ndarray
    """(n,): the stratum of each record; numbered by the ascending order of their values, so that
    the order of rows does not matter.
    """
    strata_left_out: int = 0
    records_left_out: int = 0

    @property
    def sizes(self) -> np.ndarray:
        """How many records each stratum has."""
        return np.bincount(self.labels)

    def as_data(self) -> dict[str, Any]:
        """What the internal manifest keeps."""
        return strata_as_data(self.sizes, self.strata_left_out, self.records_left_out)


def strata_as_data(
    sizes: np.ndarray, strata_left_out: int = 0, records_left_out: int = 0
) -> dict[str, Any]:
    """What the internal manifest keeps of strata with so many records each.

    >>> strata_as_data(np.array([5, 7]))["median_size"]
    6.0
    """
    return {
        "strata": len(sizes),
        "median_size": float(np.median(sizes)),
        "strata_left_out": strata_left_out,
        "records_left_out": records_left_out,
    }


def wrong_strata(sizes: np.ndarray, lacking: np.ndarray, settings: Settings) -> np.ndarray:
    """(strata,): which have fewer than k records, or lack something to keep what is promised;
    refused unless these are to be dropped.

    >>> wrong_strata(np.array([5, 4]), np.zeros(2), Settings.of(k=5, stratum="region", small_strata="drop")).tolist()
    [False, True]
    """
    small = sizes < settings.k
    unable = ~small & (lacking > 0.0)
    wrong = small | unable
    if wrong.any() and settings.small_strata == "error":
        raise InputError(_refusal(sizes, small, unable, settings))
    if wrong.all():
        raise InputError(
            f"no stratum has k = {settings.k} records and can keep what is promised, so "
            f"that small_strata='drop' would leave "
            "nothing; ask for less, or for coarser strata."
        )
    return wrong


def class_columns(schema: Schema, settings: Settings) -> list[str]:
    """The columns that the records of a class share: quasi-identifiers, strata, and the weight
    where it is its group's mean.

    >>> from microagg.table.schema import ColumnFacts, assign_roles
    >>> settings = Settings.of(k=2, quasi="age", stratum="region", weight="w")
    >>> facts = [ColumnFacts(name, True) for name in ("w", "age", "region")]
    >>> class_columns(assign_roles(facts, settings.roles), settings)
    ['age', 'region', 'w']
    """
    weight = schema.names(Role.WEIGHT) if settings.weight_becomes == "mean" else []
    return [*schema.names(Role.QUASI), *schema.names(Role.STRATUM), *weight]


def check_columnwise(schema: Schema, settings: Settings) -> None:
    """Refuse strata and weights where groups differ from column to column, and proofs within
    strata.
    """
    method = settings.chosen_method
    if method.scope != "record" and schema.names(Role.STRATUM, Role.WEIGHT):
        raise InputError(
            f"method {method.name} groups each column on its own, so it can keep neither "
            f"strata apart nor weighted totals; choose "
            "another method."
        )
    if schema.names(Role.STRATUM) and settings.params.get("effort") == "prove":
        raise InputError(
            "a bound is proven for all groupings of a table, not for those within "
            "strata; choose another effort than prove, or "
            "make each stratum a table of its own."
        )


def in_strata(
    frame: nw.DataFrame[Any], schema: Schema, settings: Settings
) -> tuple[nw.DataFrame[Any], Strata | None]:
    """The table and its strata, if it has any; without those that are too small, or unable to keep
    the promise, if these are to be dropped.

    A stratum that keeps l, t and units as one group is able to: groups that keep them keep them
    together. Leaving records out changes what t compares with, so that it is asked again.
    """
    names = schema.names(Role.STRATUM)
    if not names:
        return frame, None
    settings.promise.check_impossible(
        _confidential(frame, schema, settings), units_in(frame, schema, settings)
    )
    strata_left_out, records_left_out = 0, 0
    while True:
        labels = strata_labels(to_arrow(frame.select(*names)), names)
        sizes = np.bincount(labels)
        wrong = wrong_strata(sizes, _shortfalls(frame, schema, settings, labels), settings)
        if not wrong.any():
            return frame, Strata(labels, strata_left_out, records_left_out)
        strata_left_out += int(wrong.sum())
        records_left_out += int(sizes[wrong].sum())
        frame = frame.filter(list(map(bool, ~wrong[labels])))


def _confidential(frame: nw.DataFrame[Any], schema: Schema, settings: Settings) -> Any:
    hidden = schema.names(Role.CONFIDENTIAL)
    return (
        confidential_of(to_arrow(frame.select(*hidden)), hidden, settings)
        if settings.promise and hidden
        else ()
    )


def _acceptance(
    frame: nw.DataFrame[Any], schema: Schema, settings: Settings
) -> AcceptanceTest | None:
    """Whether records may form a group, for the promise that is asked for; None where any may."""
    return settings.promise.accept(
        _confidential(frame, schema, settings), units_in(frame, schema, settings)
    )


def _shortfalls(
    frame: nw.DataFrame[Any], schema: Schema, settings: Settings, labels: np.ndarray
) -> np.ndarray:
    """(strata,): how far each stratum, as one group, is from keeping the promise."""
    accept = _acceptance(frame, schema, settings)
    return np.zeros(int(labels.max()) + 1) if accept is None else accept.shortfalls(labels)


def _refusal(sizes: np.ndarray, small: np.ndarray, unable: np.ndarray, settings: Settings) -> str:
    """How many strata cannot be grouped, and how many records these have; never which."""
    told = []
    for which, why in (
        (small, f"fewer than k = {settings.k} records"),
        (unable, f"records that cannot keep {settings.promise.name}"),
    ):
        if which.any():
            count, records = int(which.sum()), int(sizes[which].sum())
            strata = f"{count:,} of {len(sizes):,} strata" if not told else f"{count:,} of them"
            told.append(
                f"{strata} (with {records:,} records) {'has' if count == 1 else 'have'} {why}"
            )
    return (
        f"{' and '.join(told)}; put strata together, or say small_strata='drop' to leave "
        f"these records out."
    )


def strata_labels(table: pa.Table, names: Sequence[str]) -> np.ndarray:
    """(n,): the stratum of each record, numbered in the ascending order of values, column by
    column; what is missing comes last.

    >>> strata_labels(pa.table({"region": ["S", "N", None, "S"]}), ["region"]).tolist()
    [1, 0, 2, 1]
    """
    labels = np.zeros(table.num_rows, np.int64)
    for name in names:
        codes = _ranks(comparable(table.column(name)))
        labels = np.unique(labels * (int(codes.max(initial=0)) + 1) + codes, return_inverse=True)[
            1
        ].reshape(-1)
    return labels


def _ranks(column: pa.ChunkedArray) -> np.ndarray:
    """(n,): the place of each value among the different ones, in ascending order; that of what is
    missing is the last.
    """
    encoded = pc.dictionary_encode(column).combine_chunks()
    encoded = encoded.chunk(0) if isinstance(encoded, pa.ChunkedArray) else encoded
    order = sorted_places(encoded.dictionary)
    ranks = np.empty(len(order) + 1, np.int64)
    ranks[order] = np.arange(len(order))
    ranks[-1] = len(order)
    return ranks[encoded.indices.fill_null(len(order)).to_numpy()]


def notes_on_strata(strata: Strata | None, k: int) -> tuple[str, ...]:
    """What the data holder should know of the strata. For inside eyes only."""
    if strata is None:
        return ()
    left_out = notes_on_left_out(strata.strata_left_out, strata.records_left_out, k)
    return (*left_out, *notes_on_sizes(strata.sizes, k))


def notes_on_left_out(strata_left_out: int, records_left_out: int, k: int) -> tuple[str, ...]:
    """What should be known of strata that were left out.

    >>> notes_on_left_out(0, 0, k=5)
    ()
    """
    notes = []
    if records_left_out:
        notes.append(
            f"left out, because their stratum has fewer than k = {k} records or cannot "
            f"keep what is promised: "
            f"{records_left_out:,} records in {strata_left_out:,} strata; totals are without them"
        )
    return tuple(notes)


def notes_on_sizes(sizes: np.ndarray, k: int) -> tuple[str, ...]:
    """What should be known of strata of these sizes.

    >>> notes_on_sizes(np.array([1000, 1000]), 5)
    ()
    """
    notes = []
    median = float(np.median(sizes))
    if len(sizes) > 1 and median < FEW_GROUPS * k:
        notes.append(
            f"{len(sizes):,} strata of {median:,.0f} records in the median: groups "
            f"within strata so small lose much; coarser strata, "
            "or fewer columns of them, lose less"
        )
    return tuple(notes)

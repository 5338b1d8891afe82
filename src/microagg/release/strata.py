"""Strata: columns that are released as they are and that no group crosses; what makes a class, and
which strata are too small.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import narwhals as nw
import numpy as np
import pyarrow as pa

from microagg.errors import InputError
from microagg.guarantees.promise import AcceptanceTest
from microagg.release.cells import confidential_of, units_in
from microagg.release.note_counts import strata_facts
from microagg.release.note_facts import StrataFacts
from microagg.release.settings import Settings
from microagg.sentences import Assignment, Sentence, sentence
from microagg.table.columns.arrow import comparable, sorted_places
from microagg.table.columns.arrow import compute as pc
from microagg.table.columns.frames import to_arrow
from microagg.table.schema import Role, Schema


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
        """The number of records of each stratum."""
        return np.bincount(self.labels)

    def facts(self) -> StrataFacts:
        """Return the counts that notes are made of."""
        return strata_facts(self.sizes, self.strata_left_out, self.records_left_out)

    def as_data(self) -> dict[str, Any]:
        """Return the entry of the internal manifest."""
        return strata_as_data(self.sizes, self.strata_left_out, self.records_left_out)


def strata_as_data(
    sizes: np.ndarray, strata_left_out: int = 0, records_left_out: int = 0
) -> dict[str, Any]:
    """Return the entry of the internal manifest on strata of these sizes.

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
    """Return a mask of the strata that have fewer than k records or cannot keep the guarantees;
    raise unless these are to be dropped.

    >>> settings = Settings.of(k=5, stratum="region", small_strata="drop")
    >>> wrong_strata(np.array([5, 4]), np.zeros(2), settings).tolist()
    [False, True]
    """
    small = sizes < settings.k
    unable = ~small & (lacking > 0.0)
    wrong = small | unable
    if wrong.any() and settings.small_strata == "error":
        raise InputError(_refusal(sizes, small, unable, settings))
    if wrong.all():
        raise InputError(
            sentence(
                f"no stratum has k = {settings.k} records and can keep the guarantees, so ",
                Assignment("small_strata", "drop"),
                " would leave nothing; lower k or l, raise t, or choose coarser strata.",
            )
        )
    return wrong


def class_columns(schema: Schema, settings: Settings) -> list[str]:
    """Return the columns that the records of a class share: quasi-identifiers, strata, and the
    weight where it is its group's mean.

    >>> from microagg.table.schema import ColumnFacts, assign_roles
    >>> settings = Settings.of(k=2, quasi="age", stratum="region", weight="w")
    >>> facts = [ColumnFacts(name, True) for name in ("w", "age", "region")]
    >>> class_columns(assign_roles(facts, settings.roles), settings)
    ['age', 'region', 'w']
    """
    weight = schema.names(Role.WEIGHT) if settings.weight_becomes == "mean" else []
    return [*schema.names(Role.QUASI), *schema.names(Role.STRATUM), *weight]


def check_columnwise(schema: Schema, settings: Settings) -> None:
    """Raise for strata and weights if groups differ from column to column, and for proofs within
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
            "effort prove cannot be combined with strata; choose another effort, or "
            "release each stratum as a separate table."
        )


def in_strata(
    frame: nw.DataFrame[Any], schema: Schema, settings: Settings
) -> tuple[nw.DataFrame[Any], Strata | None]:
    """Return the table and its strata, if it has any, without strata to drop: those that are too
    small or cannot keep the guarantees.

    A stratum that keeps l, t and units as one group is able to: groups that keep them keep them
    together.
    """
    names = schema.names(Role.STRATUM)
    if not names:
        return frame, None
    settings.promise.check_impossible(
        _confidential(frame, schema, settings), units_in(frame, schema, settings)
    )
    selected = _TableStrata(frame, schema, settings)
    strata_left_out, records_left_out = drop_wrong_strata(selected, settings)
    return selected.frame, Strata(selected.labels, strata_left_out, records_left_out)


class StrataSelection(Protocol):
    """Records by stratum, of which some strata may be left out."""

    def measure(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the size of each stratum, and its distance from its guarantees as one group."""
        ...

    def leave_out(self, wrong: np.ndarray) -> None:
        """Leave out the records of these strata."""
        ...


def drop_wrong_strata(selection: StrataSelection, settings: Settings) -> tuple[int, int]:
    """Leave out strata until all others can be grouped; return the numbers of strata and records.

    Leaving records out changes what t compares with, so that all is measured again.
    """
    strata, records = 0, 0
    while True:
        sizes, lacking = selection.measure()
        wrong = wrong_strata(sizes, lacking, settings)
        if not wrong.any():
            return strata, records
        strata += int(wrong.sum())
        records += int(sizes[wrong].sum())
        selection.leave_out(wrong)


@dataclass
class _TableStrata:
    """Strata of a table in memory."""

    frame: nw.DataFrame[Any]
    schema: Schema
    settings: Settings
    labels: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int64))

    def measure(self) -> tuple[np.ndarray, np.ndarray]:
        names = self.schema.names(Role.STRATUM)
        self.labels = strata_labels(to_arrow(self.frame.select(*names)), names)
        shortfalls = _shortfalls(self.frame, self.schema, self.settings, self.labels)
        return np.bincount(self.labels), shortfalls

    def leave_out(self, wrong: np.ndarray) -> None:
        self.frame = self.frame.filter(list(map(bool, ~wrong[self.labels])))


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
    """Return the test of whether records may form a group under the requested guarantees; None
    where any may.
    """
    return settings.promise.accept(
        _confidential(frame, schema, settings), units_in(frame, schema, settings)
    )


def _shortfalls(
    frame: nw.DataFrame[Any], schema: Schema, settings: Settings, labels: np.ndarray
) -> np.ndarray:
    """Return how far each stratum, as one group, is from keeping the guarantees, (strata,)."""
    accept = _acceptance(frame, schema, settings)
    return np.zeros(int(labels.max()) + 1) if accept is None else accept.shortfalls(labels)


def _refusal(
    sizes: np.ndarray, small: np.ndarray, unable: np.ndarray, settings: Settings
) -> Sentence:
    """Return the sentence on strata that cannot be grouped, with counts and without names."""
    reasons = []
    for which, why in (
        (small, f"fewer than k = {settings.k} records"),
        (unable, f"records that cannot keep {settings.promise.name}"),
    ):
        if which.any():
            count, records = int(which.sum()), int(sizes[which].sum())
            strata = f"{count:,} of {len(sizes):,} strata" if not reasons else f"{count:,} of them"
            reasons.append(
                f"{strata} (with {records:,} records) {'has' if count == 1 else 'have'} {why}"
            )
    return sentence(
        f"{' and '.join(reasons)}; merge strata, or say ",
        Assignment("small_strata", "drop"),
        " to leave these records out.",
    )


def strata_labels(table: pa.Table, names: Sequence[str]) -> np.ndarray:
    """Return the stratum of each record, (n,), numbered in the ascending order of values, column by
    column; missing values come last.

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
    """Return the rank of each value among the distinct ones, (n,), in ascending order; missing
    values come last.
    """
    encoded = pc.dictionary_encode(column).combine_chunks()
    encoded = encoded.chunk(0) if isinstance(encoded, pa.ChunkedArray) else encoded
    order = sorted_places(encoded.dictionary)
    ranks = np.empty(len(order) + 1, np.int64)
    ranks[order] = np.arange(len(order))
    ranks[-1] = len(order)
    return ranks[encoded.indices.fill_null(len(order)).to_numpy()]

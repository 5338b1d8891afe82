"""Facts that notes are made of: plain counts and names of columns, never a value of the data.

Both ways of running fill them in: in memory from arrays, out of core from merged statistics. What a
way does not count keeps its default, and no note is made of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from microagg.release.effects import ColumnEffect


@dataclass(frozen=True)
class DominatedColumn:
    """A column of means, and the number of its groups in which one record dominates."""

    column: str
    groups: int
    all_groups: int


@dataclass(frozen=True)
class TrueValueColumn:
    """A column that releases values of single records as they are."""

    column: str
    aggregate: str
    groups: int
    """Groups that show a value which one record alone has."""
    all_groups: int


@dataclass(frozen=True)
class SharedValueColumn:
    """A confidential column, and its groups in which all known values are the same."""

    column: str
    groups: int
    records: int
    all_groups: int
    records_of_only_value: int | None = None
    """Records with a value, where the whole table has one value only."""


@dataclass(frozen=True)
class RoundedColumn:
    """A column of means with the decimals they were rounded to, and what decided on these."""

    column: str
    decimals: int | None
    reason: str


@dataclass(frozen=True)
class LabelFacts:
    """Decisions taken from labels and measure levels of a file, with their columns."""

    kinds: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Columns by the kind that was taken from their labels."""
    declared_missing: Sequence[str] = ()
    medians: Sequence[str] = ()
    partly_labelled: Sequence[str] = ()


@dataclass(frozen=True)
class UnitFacts:
    """Units, such as households: their number, and how many have k records and more."""

    column: str
    units: int
    large_units: int


@dataclass(frozen=True)
class StrataFacts:
    """Strata that were released and strata that were left out."""

    strata: int
    median_size: float
    strata_left_out: int = 0
    records_left_out: int = 0


@dataclass(frozen=True)
class WeightFacts:
    """Weights of a release and the sums that changed with them."""

    column: str
    heavy_groups: int
    """Groups in which one record has more than half of the weight."""
    groups: int
    sum_change: float
    """Relative change of the sum of the weights."""
    total_changes: Mapping[str, float] = field(default_factory=dict)
    """Change of weighted totals in percent, by column."""
    unique_records: int | None = None
    """Records that stand alone with a kept weight; None if it is not kept or not counted."""


@dataclass(frozen=True)
class NoteFacts:
    """Facts of one release that notes may be due to."""

    k: int
    records: int = 0
    unprotected_records: int = 0
    """Records in classes of fewer than k, where a method protects each column alone."""
    dominated: Sequence[DominatedColumn] = ()
    capped: Mapping[str, int] | None = None
    """Number of values that were capped, by column; None where no cap was asked for."""
    true_values: Sequence[TrueValueColumn] = ()
    file: Mapping[str, Mapping[str, int | str]] = field(default_factory=dict)
    """Counts that the reader of a file left with its table, by the code of their note."""
    labels: LabelFacts = field(default_factory=LabelFacts)
    dropped_records: int = 0
    """Records left out because a quasi-identifier is missing."""
    scale: str = ""
    columns_with_gaps: Sequence[str] = ()
    """Numbers and ordered categories with missing values or special codes."""
    approximated: Sequence[str] = ()
    """Categories whose distances the search approximates."""
    equal_columns: Sequence[Sequence[str]] = ()
    """Sets of columns that hold the same cells in all records."""
    values_like_markers: Sequence[str] = ()
    numbers_as_text: Sequence[str] = ()
    constant: Sequence[str] = ()
    loss: float = 0.0
    loss_unrounded: float = 0.0
    kept: Sequence[str] = ()
    rounded: Sequence[RoundedColumn] = ()
    rules_found: Sequence[str] = ()
    rules_lost: Sequence[tuple[str, str]] = ()
    """Sums that hold in the table and are not kept, each with the reason."""
    shared_values: Sequence[SharedValueColumn] = ()
    spellings: Mapping[str, int] = field(default_factory=dict)
    """Texts that count as another one, by column."""
    similar_texts: Mapping[str, int] = field(default_factory=dict)
    formulas: Sequence[str] = ()
    records_without_value: Mapping[str, int] = field(default_factory=dict)
    """Records without a known value, by confidential column, where l was asked for."""
    units: UnitFacts | None = None
    strata: StrataFacts | None = None
    weight: WeightFacts | None = None
    effects: Sequence[ColumnEffect] = ()
    """Mean, total, spread and categories of quasi-identifiers before and after."""
    unique_records: int = 0
    """Records that are unique in all released columns together."""
    names_accepted: bool = False
    """True if the settings accept that columns name people."""
    naming: Mapping[str, str] = field(default_factory=dict)
    """Columns released as they are that could name somebody, each with the reason."""
    nearly_unique: Sequence[str] = ()
    index_may_name: bool = False
    """True if the index of a table of pandas could name people."""

"""Facts of a finished release: everything that its manifests state, whichever way it was made.

Both drivers fill in `ReleaseFacts` from what they have: tables in memory, or counts of blocks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from microagg.bounds.bound import Bound
from microagg.guarantees.k import Anonymity
from microagg.methods.method import Grouping
from microagg.release.effects import ColumnEffect
from microagg.release.settings import Settings
from microagg.table.aggregate import Aggregated
from microagg.table.capping import Capped
from microagg.table.encoder import Space
from microagg.table.schema import Schema


@dataclass(frozen=True)
class ColumnOutcome:
    """Result for one quasi-identifier: aggregate, rounding, and cells that changed kind."""

    name: str
    aggregate: str
    decimals: int | None
    """Decimals that means were rounded to; None where nothing was rounded."""
    filled: int
    """Missing cells and special codes that were replaced by a value."""
    blanked: int
    """Values that were replaced by a missing cell or a special code."""

    @staticmethod
    def of(made: Aggregated) -> tuple[ColumnOutcome, ...]:
        """Return the outcome of each column of an aggregated table."""
        names = (variable.name for variable in made.variables)
        parts = zip(names, made.how, made.decimals, made.filled, made.blanked, strict=True)
        return tuple(ColumnOutcome(*part) for part in parts)


@dataclass(frozen=True)
class SearchOutcome:
    """Result of the search for groups: decisions, end, and the proven bound if there is one."""

    chosen: tuple[str, ...] = ()
    """Decisions of the search with their reasons, as sentences."""
    stopped_early: bool = False
    bound: Bound | None = None
    gap: float | None = None
    """Distance of the loss from the bound, in percent of the bound."""

    @staticmethod
    def of(search: Grouping) -> SearchOutcome:
        """Return the facts of a search in memory."""
        bound = search.bound
        gap = None if bound is None else bound.gap(search.labels)
        return SearchOutcome(search.chosen, search.stopped is not None, bound, gap)


@dataclass(frozen=True)
class InputFacts:
    """Identity of the table that was read."""

    file: str | None
    digest: str
    sketch: Mapping[str, Any] | None
    """Hashes of some rows, by which another release of the same table is recognised."""


@dataclass(frozen=True)
class ReleaseFacts:
    """Facts of one release, from which manifests are written."""

    settings: Settings
    schema: Schema
    records: int
    space: Space
    """Scaling in which groups were formed."""
    columns: Sequence[ColumnOutcome]
    search: SearchOutcome
    input: InputFacts
    loss: dict[str, float]
    largest_share: float
    """Share of the loss that one class makes up."""
    anonymity: Anonymity
    exposure: Mapping[str, Any]
    capped: Mapping[str, Capped] = field(default_factory=dict)
    rules: Sequence[Mapping[str, Any]] = ()
    dropped: int = 0
    """Records that were left out because a quasi-identifier is missing."""
    strata: Mapping[str, Any] | None = None
    weighting: Mapping[str, Any] | None = None
    effects: Sequence[ColumnEffect] = ()
    """Mean, total, spread and categories of each quasi-identifier before and after."""

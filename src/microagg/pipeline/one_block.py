"""Searches that need all records of the table, or of a stratum, in the memory of one block.

`auto` with effort quick, balanced or a number works in blocks of any table. Other methods, thorough
and prove, refine, time_limit and stop_after do not: they are run by `run_method`, as in memory, in
one task that loads the whole table, or in one task for each stratum.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from microagg.errors import OnlyInMemoryError
from microagg.methods.method import Grouping, Method
from microagg.methods.registry import DEFAULT, method_named
from microagg.pipeline.run_method import STOPPING, method_within_strata, run_method
from microagg.problem.problem import Problem, Progress
from microagg.release.cells import confidential_of
from microagg.release.settings import Settings
from microagg.table.columns.categories import used_among, with_categories
from microagg.table.confidential import Attribute
from microagg.table.schema import Role, Schema

if TYPE_CHECKING:
    from microagg.pipeline.memory_budget import MemoryBudget


def needs_one_block(settings: Settings) -> str:
    """Return the setting that needs all records at once, as errors name it; "" if none does.

    >>> needs_one_block(Settings.of(k=3, quasi="age", method="mdav"))
    'method mdav'
    >>> needs_one_block(Settings.of(k=3, quasi="age"))
    ''
    """
    effort = settings.params.get("effort")
    if settings.method != DEFAULT:
        return f"method {settings.method}"
    if effort in ("thorough", "prove"):
        return f"effort {effort}"
    if settings.refine:
        return "refine"
    return next((name for name in STOPPING if settings.params.get(name) is not None), "")


@dataclass(frozen=True)
class OneBlockSearch:
    """Search of the whole table, or of each stratum, in one block."""

    settings: Settings
    of_table: bool
    """One block of all records; else one for each stratum."""
    confidential: tuple[str, ...] = ()
    """Confidential columns that methods see in blocks as the table has them: without l and t."""
    types: Mapping[str, Any] = field(default_factory=dict)
    """Types of those of them that have categories."""
    categories: Mapping[str, pa.Array] = field(default_factory=dict)

    @property
    def method(self) -> Method:
        """Return the method of the search."""
        return self.settings.chosen_method

    def attributes(self, rows: pa.Table) -> tuple[Attribute, ...]:
        """Return the confidential columns of the records of a block."""
        used = {
            name: used_among(self.categories[name], rows.column(name), ordered=kind.ordered)
            for name, kind in self.types.items()
        }
        cells = with_categories(rows.select(list(self.confidential)), self.types, used)
        return confidential_of(cells, self.confidential, self.settings)

    def run(
        self,
        problem: Problem,
        rows: pa.Table,
        *,
        rng: np.ndarray,
        strata: np.ndarray | None,
        progress: Progress,
    ) -> Grouping:
        """Return the groups of a block; `rng` and `strata` are those of one stratum, or of all."""
        if self.confidential:
            problem = replace(problem, confidential=self.attributes(rows))
        method, settings = self.method, self.settings
        if not self.of_table:
            inner, params = method_within_strata(method, settings.params, refine=settings.refine)
            result: Any = inner.run(problem, rng=rng, progress=progress, **inner.checked(params))
            return result
        return run_method(
            method, replace(problem, of_records=None), settings.params, seed=settings.seed or 0,
            refine=settings.refine, progress=progress, strata=strata,
        )  # fmt: skip


def one_block_search(
    settings: Settings,
    schema: Schema,
    budget: MemoryBudget,
    records: int,
    strata: np.ndarray | None,
    types: pa.Schema,
    categories: Mapping[str, pa.Array],
) -> OneBlockSearch | None:
    """Return the search in one block that settings need, if they do; raise where it does not fit.

    `strata` are the sizes of strata; `categories` those of all columns that have some, whose
    `types` are those of the input.
    """
    needed = needs_one_block(settings)
    if not needed:
        return None
    names = () if settings.promise.is_about_values else tuple(schema.names(Role.CONFIDENTIAL))
    coded = [name for name in names if name in categories]
    search = OneBlockSearch(
        settings, True, names, {name: types.field(name).type for name in coded},
        {name: categories[name] for name in coded},
    )  # fmt: skip
    if records * budget.a_block_record <= budget.memory:
        return search
    if strata is None:
        raise _too_large(needed, records, budget, "the table")
    if (largest := int(strata.max())) * budget.a_block_record > budget.memory:
        raise _too_large(needed, largest, budget, "the largest stratum")
    for name in STOPPING:
        if settings.params.get(name) is not None:
            raise _too_large(f"{name} with strata", records, budget, "the table")
    if names and _needs_confidential(settings):
        raise _too_large(f"{needed} without l or t", records, budget, "the table")
    return replace(search, of_table=False)


def _needs_confidential(settings: Settings) -> bool:
    inside = settings.params.get("inside")
    methods = [settings.chosen_method, *([] if inside is None else [method_named(str(inside))])]
    return any(method.needs_confidential for method in methods)


def _too_large(what: str, records: int, budget: MemoryBudget, of: str) -> OnlyInMemoryError:
    needed = records * budget.a_block_record
    return OnlyInMemoryError(
        f"{what} needs all {records:,} records of {of} in the memory of one block, about "
        f"{needed / 1e6:,.0f} MB, and there are {budget.memory / 1e6:,.0f} MB; give it more "
        "memory, or leave it out."
    )

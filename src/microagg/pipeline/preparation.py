"""Preparation of a table in memory: settings and roles, records that take part, space, problem."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import narwhals as nw
import pyarrow as pa

from microagg.methods.method import Grouping
from microagg.pipeline.aggregation import Aggregation
from microagg.pipeline.feasibility import check_columns, check_size
from microagg.pipeline.run_method import problem_with
from microagg.problem.problem import Problem
from microagg.release.cells import confidential_of, read_cells, units_in, without_gaps
from microagg.release.measuring import check_unsearchable
from microagg.release.renaming import renamed_frame, with_new_names
from microagg.release.rules import KeptRules, kept_rules
from microagg.release.selecting import expand_patterns
from microagg.release.settings import Settings
from microagg.release.strata import Strata, check_columnwise, in_strata
from microagg.release.true_values import frequencies_in
from microagg.release.weighting import weighting_of
from microagg.table.capping import Capped, Limits, find_limits
from microagg.table.columns.arrow import release_unused_memory
from microagg.table.columns.frames import check_odd_types, column_facts, open_frame, to_arrow
from microagg.table.confidential import Attribute
from microagg.table.encoder import Space
from microagg.table.relations import records_of
from microagg.table.schema import Role, Schema, assign_roles
from microagg.table.variable import Cells


@dataclass(frozen=True)
class TableInput:
    """Table as it was passed in, with resolved settings and the roles of its columns."""

    table: Any
    """The table itself; its type and its index are those of the release."""
    names: tuple[str, ...]
    """Names of its columns before any renaming; digests are of these."""
    frame: nw.DataFrame[Any]
    schema: Schema
    settings: Settings

    @property
    def withheld(self) -> list[str]:
        """Columns that nothing but the digest of the input is made from."""
        used = {column.name for column in self.schema.columns if column.role is not Role.IDENTIFIER}
        return [name for name in self.frame.columns if name not in used]


@dataclass(frozen=True)
class TablePlan:
    """Everything about a table in memory that does not depend on its groups."""

    input: TableInput
    source: pa.Table
    """The input as Arrow has it."""
    frame: nw.DataFrame[Any]
    """Records that take part."""
    schema: Schema
    settings: Settings
    dropped: int
    """Records left out because a quasi-identifier is missing."""
    strata: Strata | None
    cells: Cells | None
    """None where the search uses their memory: plain numbers, which are read again after it."""
    space: Space
    limits: Limits | None
    capped: dict[str, Capped]
    rules: KeptRules
    attributes: tuple[Attribute, ...]
    """Confidential columns."""
    units: Attribute | None

    def after_search(self, search: Grouping) -> TablePlan:
        """Return the plan with parameters that the search decided, and cells read again."""
        settings = replace(self.settings, params={**self.settings.params, **search.params})
        cells = read_cells(self.frame, self.schema, settings) if self.cells is None else self.cells
        return replace(self, settings=settings, cells=cells)

    @property
    def aggregation(self) -> Aggregation:
        """Specification of what groups release."""
        return Aggregation(self.schema, self.settings, self.space, self.limits, self.rules.sums)


@dataclass(frozen=True)
class Prepared:
    """Plan of a release in memory, and the problem that its search gets."""

    plan: TablePlan
    problem: Problem


def open_table(table: Any, settings: Settings) -> TableInput:
    """Resolve the settings for a table, rename its columns and give each its role."""
    settings = settings.resolved()
    frame = open_frame(table)
    names = tuple(frame.columns)
    settings = with_new_names(expand_patterns(settings, list(names)))
    frame = renamed_frame(frame, settings.rename)
    settings = settings.of_table(frame.to_native())
    schema = assign_roles(
        column_facts(frame), settings.roles, settings.rest, settings.column_options
    )
    check_columnwise(schema, settings)
    return TableInput(table, names, frame, schema, settings)


def select_records(opened: TableInput) -> tuple[nw.DataFrame[Any], int, Strata | None]:
    """Return the records that take part, how many lack a quasi-identifier, and the strata."""
    frame, schema, settings = opened.frame, opened.schema, opened.settings
    # raises where a weight is wrong or a unit missing, with its row in the table that was passed in
    weighting_of(frame, schema, settings)
    units_in(frame, schema, settings)
    frame, dropped = without_gaps(frame, schema, settings)
    frame, strata = in_strata(frame, schema, settings)
    return frame, dropped, strata


def prepare(opened: TableInput, threads: int | None = None) -> Prepared:
    """Select records, fit the space and check that a release is possible."""
    schema, settings, withheld = opened.schema, opened.settings, opened.withheld
    frame, dropped, strata = select_records(opened)
    k, method = check_size(settings, len(frame)), settings.chosen_method
    cells = read_cells(frame, schema, settings)
    check_columns(cells.variables, frequencies_in(cells), settings)
    by_column = method.scope == "column"
    rules = kept_rules(records_of(cells), cells.variables, settings, by_column=by_column)
    limits, capped = find_limits(cells, settings.cap)
    within = cells if limits is None else limits.cells(cells)
    space = Space.fit(within, settings.scale, settings.importance)
    check_unsearchable(space, settings)
    # a search needs the memory; plain values can be read again
    plain = cells.is_plain
    points = space.points(within, out=within.values if plain else None)
    source = to_arrow(opened.frame, withheld)
    check_odd_types(frame, schema.released())
    confidential = source if frame is opened.frame else to_arrow(frame, withheld)
    attributes = confidential_of(confidential, schema.names(Role.CONFIDENTIAL), settings)
    units = units_in(frame, schema, settings)
    release_unused_memory()
    columns = None if plain else len(cells.variables)
    problem = problem_with(settings.promise, method, points, k, attributes, threads, units, columns)
    plan = TablePlan(
        opened, source, frame, schema, settings, dropped, strata, None if plain else cells, space,
        limits, capped, rules, attributes, units,
    )  # fmt: skip
    return Prepared(plan, problem)

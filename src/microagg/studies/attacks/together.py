"""Two releases of the same people together: what they give an intruder who knows that a person is
in both.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np

from microagg.errors import InputError
from microagg.formatting import counted, listed
from microagg.pipeline.preparation import open_table, select_records
from microagg.release.cells import read_cells
from microagg.release.settings import Settings
from microagg.studies.attacks.people import MOST_TARGETS, People, names_known
from microagg.studies.attacks.rates import Rate
from microagg.studies.attacks.view import nearest_classes, shared_attribute, view_of
from microagg.table.aggregates import aggregate_of
from microagg.table.schema import Kind, Role


@dataclass(frozen=True)
class Composition:
    """Result that two releases give together about one confidential column.

    The value of a person is pinned down if only one remains possible, and it is the right one.
    """

    column: str
    first: Rate
    """People whose value the first release alone pins down."""
    second: Rate
    both: Rate
    """People whose value is pinned down by what the two classes share."""
    records: tuple[int, int]
    total_difference: float | None
    """Difference of the totals of a column of numbers, if fewer than k records were added or
    removed: then it is a sum over few people.
    """
    other_totals: tuple[str, ...] = ()
    """Quasi-identifiers whose totals, which means keep, give such a sum, too."""

    @property
    def on_totals(self) -> str:
        """Disclosure by the totals of both releases, in words."""
        few = counted(abs(self.records[0] - self.records[1]), "record")
        names = [*([self.column] if self.total_difference is not None else []), *self.other_totals]
        if not names:
            return "nothing: too many or no records differ"
        return f"the difference of totals is a sum over {few}: {listed(names)}"

    def as_data(self) -> dict[str, Any]:
        """Return plain data; the difference of totals is for the data holder only."""
        return {
            "column": self.column,
            "first": self.first.as_data(),
            "second": self.second.as_data(),
            "both": self.both.as_data(),
            "records": list(self.records),
            "totals_disclose": self.total_difference is not None,
            "other_totals": list(self.other_totals),
        }

    def __repr__(self) -> str:
        text = (
            f"{self.column}: known for {100 * self.first.value:.1f} % from the first release, "
            f"{100 * self.second.value:.1f} % from the second, {100 * self.both.value:.1f} % "
            "from both"
        )
        if self.total_difference is None and not self.other_totals:
            return text
        return f"{text}; {self.on_totals}"


def compose(
    table: Any,
    first: Any,
    second: Any,
    settings: Settings,
    *,
    known: Sequence[str] = (),
    most_targets: int = MOST_TARGETS,
) -> tuple[Composition, ...]:
    """Return what two releases give together about each confidential column.

    `table` is the original with the people who are in both; rows of the releases may be in any
    order.
    """
    if not settings.confidential:
        raise InputError("two releases are compared by a confidential column; name one.")
    opened = open_table(table, settings)
    frame, _, _ = select_records(opened)
    rows = np.arange(len(frame))
    rng = np.random.default_rng([settings.seed or 0, 41])
    targets = np.sort(rng.permutation(rows)[:most_targets])
    people = People(frame, opened.schema, opened.settings, rows, targets, rows[:0])
    names = names_known(opened.schema, tuple(known))
    tables = [nw.from_native(part, eager_only=True) for part in (first, second)]
    _check_columns(tables, [*opened.schema.names(Role.QUASI), *settings.confidential])
    classes = []
    for part in tables:
        view = view_of(people, part.to_native(), same_rows=False)
        usable = [name for name in names if name in view.columns]
        near = [nearest_classes(view.distances(b, usable), rng)[0] for b in view.blocks(targets)]
        classes.append((view.class_of, np.concatenate(near)[:, 0]))
    return tuple(
        _composition(name, frame, tables, people, classes, opened.settings)
        for name in settings.confidential
    )


def _check_columns(tables: list[nw.DataFrame[Any]], names: Sequence[str]) -> None:
    for which, table in zip(("first", "second"), tables, strict=True):
        missing = next((name for name in names if name not in table.columns), None)
        if missing is not None:
            raise InputError(f"the {which} release has no column {missing!r}; both need it.")


def _composition(
    name: str,
    frame: nw.DataFrame[Any],
    tables: list[nw.DataFrame[Any]],
    people: People,
    classes: list[tuple[np.ndarray, np.ndarray]],
    settings: Settings,
) -> Composition:
    attribute = shared_attribute(name, [frame, *tables], settings)
    codes = np.split(attribute.codes, np.cumsum([len(frame), len(tables[0])]))
    truth = codes[0][people.targets]
    pinned = np.zeros((3, len(truth)), bool)
    orders = [np.argsort(class_of, kind="stable") for class_of, _ in classes]
    starts = [
        np.searchsorted(class_of[order], np.arange(class_of.max() + 2))
        for (class_of, _), order in zip(classes, orders, strict=True)
    ]
    for i, value in enumerate(truth):
        sets = []
        for j, (_, nearest) in enumerate(classes):
            low, high = starts[j][nearest[i]], starts[j][nearest[i] + 1]
            sets.append(set(codes[j + 1][orders[j][low:high]].tolist()))
        for j, possible in enumerate((*sets, sets[0] & sets[1])):
            pinned[j, i] = possible == {int(value)}
    rates = [Rate.of(int(part.sum()), len(truth)) for part in pinned]
    records = (len(tables[0]), len(tables[1]))
    few = 0 < abs(records[0] - records[1]) < settings.k
    difference = None
    if few and attribute.kind is Kind.NUMERIC:
        sums = [float(np.nansum(attribute.values[part])) for part in _slices(frame, tables)]
        difference = sums[0] - sums[1]
    totals = _kept_totals(people, settings) if few else ()
    return Composition(name, rates[0], rates[1], rates[2], records, difference, totals)


def _kept_totals(people: People, settings: Settings) -> tuple[str, ...]:
    """Return quasi-identifiers of numbers that are released as means, which keep totals."""
    cells = read_cells(people.frame, people.schema, settings)
    return tuple(
        variable.name
        for variable in cells.variables
        if variable.kind is Kind.NUMERIC
        and aggregate_of(variable, settings.aggregates).name == "mean"
    )


def _slices(frame: nw.DataFrame[Any], tables: list[nw.DataFrame[Any]]) -> list[slice]:
    ends = np.cumsum([len(frame), *(len(table) for table in tables)])
    return [slice(int(ends[0]), int(ends[1])), slice(int(ends[1]), int(ends[2]))]

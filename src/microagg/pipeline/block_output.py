"""What the groups of one block release, beyond memory: their rows by the order they are written in,
their errors by class.

The very functions that work on whole tables work on the records of a block, with what they have to
know of the whole handed in.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa

from microagg.kernels import hashing, partial_sums, sums
from microagg.measures.loss.sse import error_sums
from microagg.pipeline.block_plan import NUMBER
from microagg.pipeline.block_stats import Block, BlockStatsSpec, collect_block_stats
from microagg.pipeline.in_memory import with_released
from microagg.pipeline.units import UNIT
from microagg.pipeline.verification import KEY, OF_CLASS
from microagg.release.measuring import is_released_as_numbers
from microagg.release.settings import Settings
from microagg.release.true_values import single_categories
from microagg.release.weighting import Weighting, summed_totals
from microagg.runtime.spill import write_spill_file
from microagg.table.aggregate import Aggregated, WholeTable, aggregated
from microagg.table.capping import Limits
from microagg.table.columns.arrow import strip_metadata
from microagg.table.columns.column_encoding import cells_in
from microagg.table.columns.dtypes import ColumnContext
from microagg.table.columns.frames import to_arrow, values_of
from microagg.table.columns.number_texts import texts_like
from microagg.table.columns.row_hashes import bucket_of, class_hashes
from microagg.table.encoder import Space
from microagg.table.linear import KeptSums
from microagg.table.precision import Precision
from microagg.table.schema import Schema
from microagg.table.variable import NO_ATOM, Cells, Variable


@dataclass(frozen=True)
class BlockOutputConfig:
    """What the last task of a block has to know."""

    schema: Schema
    settings: Settings
    space: Space
    whole: WholeTable
    class_columns: tuple[str, ...]
    known: dict[str, ColumnContext]
    """What has to be known of whole columns where cells are given back."""
    key: tuple[int, int] | None
    """Of the order in which rows are written; None where they keep their order."""
    row_bits: int
    """Rows are set aside by so many first bits of what orders them."""
    class_bits: int
    """Classes by so many of their hash."""
    weight: tuple[Variable, WholeTable] | None = None
    measured: tuple[Space, ...] = ()
    """The spaces in which loss is measured."""
    limits: Limits | None = None
    """What values beyond are set to before they are averaged; loss is measured against what they
    were.
    """
    categories: dict[str, Any] = field(default_factory=dict)
    """All categories of the columns that have some, in their order; in the spill lie values."""
    aside: BlockStatsSpec | None = None
    """What is set aside for measures."""
    kept: KeptSums | None = None
    """Sums between columns that are kept."""

    @property
    def precisions(self) -> list[Precision]:
        """What means of each column are rounded to."""
        own = list(self.whole.precisions)
        if self.kept is None or self.settings.precision != "column":
            return own
        return self.kept.precisions(own)

    def row_buckets(self, order: np.ndarray, records: int) -> np.ndarray:
        """(n,): which bucket each row is set aside in: all rows of one come before those of the
        next.
        """
        if self.key is None:
            return (order.astype(np.int64) << self.row_bits) // records
        return (
            (order >> np.uint64(64 - self.row_bits)).astype(np.int64)
            if self.row_bits
            else np.zeros(len(order), np.int64)
        )


def write_block_output(
    about: tuple[BlockOutputConfig, int],
    rows: pa.Table,
    cells: Cells,
    points: np.ndarray,
    labels: np.ndarray,
    path: str,
    numbers_of_groups: np.ndarray | None = None,
) -> dict[str, Any]:
    """Make what the groups of a block release, write it, and tell what it comes to; `about` has the
    number of all records, too.

    The numbers that groups have among all of the table are needed where something is drawn.
    """
    finishing, records = about
    settings, schema = finishing.settings, finishing.schema
    numbers = rows.column(NUMBER).to_numpy()
    rows = rows.drop_columns([NUMBER])
    frame = nw.from_native(rows, eager_only=True)
    weighting = _weighting(finishing, rows, labels)
    averaged = cells if finishing.limits is None else finishing.limits.cells(cells)
    made = aggregated(
        averaged,
        labels,
        how=settings.aggregates,
        precision=settings.precision,
        k=settings.k,
        seed=settings.seed or 0,
        space=finishing.space,
        exact=cells,
        texts=texts_like(frame),
        whole=finishing.whole,
        weights=None if weighting is None else weighting.before,
        numbers=numbers_of_groups,
        kept=finishing.kept,
    )
    released = with_released(frame, schema, made, weighting, settings.precision, finishing.known)
    told, errors = _loss(finishing, cells, made, released, labels)
    told |= {
        "filled": list(made.filled),
        "blanked": list(made.blanked),
        "groups": int(labels.max()) + 1,
    }
    told["singles"] = list(single_categories(made, finishing.whole.levels)[0])
    if weighting is not None:
        told["totals"] = summed_totals(frame, schema, settings, weighting, cells, made)
    arrow = strip_metadata(to_arrow(released))
    for place, variable in enumerate(arrow.schema.names):
        if variable in finishing.categories and _is_coarse(made, variable):
            arrow = arrow.set_column(place, variable, arrow.column(variable).cast(pa.string()))
    if finishing.aside is not None:
        block = Block(
            numbers,
            frame,
            cells,
            averaged,
            made,
            released,
            arrow,
            labels,
            weighting,
            settings,
            finishing.measured[0],
        )
        told["measured"] = collect_block_stats(finishing.aside, block, path)
    order = numbers.astype(np.uint64)
    if finishing.key is not None:
        order = hashing.order_keys_of(numbers, np.array(finishing.key, np.uint64))
    buckets = finishing.row_buckets(order, records)
    if settings.unit is not None:
        _write_units(f"{path}.units", finishing, rows, arrow, order, buckets)
    _write_classes(f"{path}.classes", finishing, arrow, labels, errors)
    keyed = arrow.append_column(KEY, pa.array(order))
    return write_spill_file(path, keyed, buckets, told)


def _write_units(
    path: str,
    finishing: BlockOutputConfig,
    rows: pa.Table,
    released: pa.Table,
    order: np.ndarray,
    buckets: np.ndarray,
) -> None:
    """Set aside which unit each row belongs to, and the hash of its class: what is written is
    verified by them.
    """
    hashes = class_hashes(released, finishing.class_columns)
    table = rows.select(UNIT).append_column(KEY, pa.array(order))
    for lane, name in enumerate(OF_CLASS):
        table = table.append_column(name, pa.array(hashes[:, lane]))
    write_spill_file(path, table, buckets, {})


def _is_coarse(made: Aggregated, name: str) -> bool:
    return any(variable.coarse for variable in made.variables if variable.name == name)


def _weighting(
    finishing: BlockOutputConfig, rows: pa.Table, labels: np.ndarray
) -> Weighting | None:
    if finishing.weight is None:
        return None
    variable, whole = finishing.weight
    settings = finishing.settings
    cells = cells_in(rows, [variable])
    becomes = settings.weight_becomes or "mean"
    made = None
    if becomes == "mean":
        made = aggregated(cells, labels, precision=settings.precision, k=settings.k, whole=whole)
    return Weighting(variable.name, becomes, cells, made)


def _loss(
    finishing: BlockOutputConfig,
    cells: Cells,
    made: Aggregated,
    released: nw.DataFrame[Any],
    labels: np.ndarray,
) -> tuple[dict[str, Any], np.ndarray]:
    """Partial sums of what is lost in each space in which that is measured; and (groups, 3) the
    errors of each group in the first.
    """
    numbers = is_released_as_numbers(cells, made, released)
    told, errors = [], np.zeros((0, 3))
    for space in finishing.measured:
        of_points = numbers or (space.is_plain and not any(each.coarse for each in made.variables))
        if of_points:
            after = values_of(released, cells.names) if numbers else made.cells.values
            inside = not told and not (numbers and finishing.weight is None)
            own, by_record = _lost_by_points(
                space.points(cells),
                space.points(after),
                labels if inside else None,
            )
        else:
            own, by_record = _lost_by_column(space, cells, made.cells, labels)
        told.append(own)
        if len(told) == 1:
            if (
                not numbers and of_points
            ):  # as the errors of mixed tables are: column by column, then record by record
                by_record = space.record_errors(cells, made.cells, labels).reshape(-1, 1)
            errors = error_sums(by_record, labels)
    everything = sums.column_sums(errors.reshape(-1, 1)).tolist()
    return {"numbers": numbers, "lost": told, "errors": everything}, errors


def _lost_by_points(
    points: np.ndarray, moved: np.ndarray, labels: np.ndarray | None
) -> tuple[dict[str, Any], np.ndarray]:
    """Sums over all columns at once, and (n, axes) squared errors; `one` is the point that all
    records have, if they have one.

    Without labels nothing is told of groups.
    """
    every = np.arange(len(points), dtype=np.int32)
    within = []
    if labels is not None:
        means = sums.group_means(points, labels, int(labels.max()) + 1)
        within.append(partial_sums.squared_error_sums(points, means, labels).tolist())
    with np.errstate(over="ignore", invalid="ignore"):
        errors = (points - moved) ** 2
    told = {
        "sse": [partial_sums.squared_error_sums(points, moved, every).tolist()],
        "within": within,
        "one": moved[0].tolist() if (moved == moved[:1]).all() else None,
    }
    return told, errors


def _lost_by_column(
    space: Space, before: Cells, after: Cells, labels: np.ndarray
) -> tuple[dict[str, Any], np.ndarray]:
    """Sums column by column on the exact encoding, and (n, 1) squared errors."""
    by_column = list(space.errors_by_column(before, after, labels))
    errors = np.zeros(len(before))
    for each in by_column:
        errors += each
    told = {
        "sse": [_summed(each) for each in by_column],
        "within": [_summed(each) for each in space.variation_by_column(before, labels)],
        "one": _one_record(after),
    }
    return told, errors.reshape(-1, 1)


def _summed(terms: np.ndarray) -> list[list[float]]:
    return sums.column_sums(np.ascontiguousarray(terms).reshape(-1, 1)).tolist()


def _one_record(cells: Cells) -> list[float | None] | None:
    """The cells that all records share, if they do: numbers, then atoms."""
    values = np.where(np.isnan(cells.values), 0.0, cells.values)
    atoms = np.full(values.shape, NO_ATOM) if cells.atoms is None else cells.atoms
    both = np.hstack([values, atoms])
    return both[0].tolist() if (both == both[:1]).all() else None


def _write_classes(
    path: str,
    finishing: BlockOutputConfig,
    released: pa.Table,
    labels: np.ndarray,
    errors: np.ndarray,
) -> None:
    """Set aside the error of each group by the hash of its class: groups of other blocks may be of
    the same class.
    """
    _, first = np.unique(labels, return_index=True)
    hashes = class_hashes(released.take(pa.array(first)), finishing.class_columns)
    table = pa.table(
        {"h0": hashes[:, 0], "h1": hashes[:, 1], **{f"e{row}": errors[:, row] for row in range(3)}}
    )
    write_spill_file(path, table, bucket_of(hashes, finishing.class_bits), {})

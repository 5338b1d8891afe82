"""Output of one block: its released rows in the order of the file, and its errors by class.

The functions that work on whole tables work on the records of a block, with facts of the whole.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa

from microagg.kernels import hashing
from microagg.pipeline.aggregation import Aggregation
from microagg.pipeline.block_stats import Block, BlockStatsSpec, collect_block_stats
from microagg.pipeline.loss import block_loss
from microagg.pipeline.spill_index import NUMBER
from microagg.pipeline.units import UNIT
from microagg.pipeline.verification import KEY, OF_CLASS
from microagg.release.effects import EffectSums
from microagg.release.settings import Settings
from microagg.release.true_values import single_categories
from microagg.release.weighting import weighted, weighting_in
from microagg.runtime.spill import write_spill_file
from microagg.table.capping import Limits
from microagg.table.column_aggregate import WholeTable
from microagg.table.columns.arrow import strip_metadata
from microagg.table.columns.column_encoding import cells_in
from microagg.table.columns.frames import to_arrow
from microagg.table.columns.row_hashes import bucket_of, class_hashes
from microagg.table.encoder import Space
from microagg.table.precision import Precision
from microagg.table.schema import Schema
from microagg.table.variable import Cells, Variable


@dataclass(frozen=True)
class BlockOutputConfig:
    """Specification of what a block writes when its groups are formed."""

    aggregation: Aggregation
    """What groups release; with facts of the whole table."""
    class_columns: tuple[str, ...]
    key: tuple[int, int] | None
    """Key of the order in which rows are written; None where they keep their order."""
    row_bits: int
    """Number of first bits of the order by which rows are spilled."""
    class_bits: int
    """Number of first bits of the hash by which classes are spilled."""
    weight: tuple[Variable, WholeTable] | None = None
    measured: tuple[Space, ...] = ()
    """Spaces in which loss is measured."""
    categories: dict[str, Any] = field(default_factory=dict)
    """Categories of the columns that have some, in their order; spill files have values."""
    aside: BlockStatsSpec | None = None
    """Statistics for measures."""

    @property
    def settings(self) -> Settings:
        """Settings of the release."""
        return self.aggregation.settings

    @property
    def schema(self) -> Schema:
        """Roles of the columns."""
        return self.aggregation.schema

    @property
    def whole(self) -> WholeTable:
        """Facts of the whole table."""
        assert self.aggregation.whole is not None
        return self.aggregation.whole

    @property
    def limits(self) -> Limits | None:
        """Caps."""
        return self.aggregation.limits

    @property
    def precisions(self) -> list[Precision]:
        """Precision that means of each column are rounded to."""
        precisions, kept = list(self.whole.precisions), self.aggregation.kept
        if kept is None or self.settings.precision != "column":
            return precisions
        return kept.precisions(precisions)

    def row_buckets(self, order: np.ndarray, records: int) -> np.ndarray:
        """(n,): bucket of each row; all rows of one come before those of the next."""
        if self.key is None:
            return (order.astype(np.int64) << self.row_bits) // records
        if not self.row_bits:
            return np.zeros(len(order), np.int64)
        return (order >> np.uint64(64 - self.row_bits)).astype(np.int64)


def write_block_output(
    task: tuple[BlockOutputConfig, int],
    rows: pa.Table,
    cells: Cells,
    points: np.ndarray,
    labels: np.ndarray,
    path: str,
    numbers_of_groups: np.ndarray | None = None,
) -> dict[str, Any]:
    """Aggregate the groups of a block, write what they release, and return statistics of it.

    `task` has the specification and the number of all records. Where values are drawn, the numbers
    that groups have in the whole table are needed.
    """
    config, records = task
    numbers = rows.column(NUMBER).to_numpy()
    rows = rows.drop_columns([NUMBER])
    block = _aggregate(config, rows, numbers, cells, labels, numbers_of_groups)
    stats, errors = block_loss(
        config.measured,
        cells,
        block.made,
        block.released,
        labels,
        weighted=config.weight is not None,
    )
    stats |= {
        "filled": list(block.made.filled),
        "blanked": list(block.made.blanked),
        "groups": int(labels.max()) + 1,
        "singles": list(single_categories(block.made, config.whole.levels)[0]),
    }
    if block.weighting is not None:
        stats["totals"] = block.weighting.sums.totals
    weights = block.weighting and (block.weighting.before, block.weighting.after)
    stats["effects"] = EffectSums.of_chunk(cells, block.made.cells, weights).columns
    if config.aside is not None:
        stats["measured"] = collect_block_stats(config.aside, block, path)
    order = numbers.astype(np.uint64)
    if config.key is not None:
        order = hashing.order_keys_of(numbers, np.array(config.key, np.uint64))
    buckets = config.row_buckets(order, records)
    if config.settings.unit is not None:
        _write_units(f"{path}.units", config, rows, block.arrow, order, buckets)
    _write_classes(f"{path}.classes", config, block.arrow, labels, errors)
    keyed = block.arrow.append_column(KEY, pa.array(order))
    return write_spill_file(path, keyed, buckets, stats)


def _aggregate(
    config: BlockOutputConfig,
    rows: pa.Table,
    numbers: np.ndarray,
    cells: Cells,
    labels: np.ndarray,
    numbers_of_groups: np.ndarray | None,
) -> Block:
    """Return the records of a block before and after."""
    aggregation, settings = config.aggregation, config.settings
    frame = nw.from_native(rows, eager_only=True)
    weighting = None
    if config.weight is not None:
        variable, whole = config.weight
        weighting = weighting_in(cells_in(rows, [variable]), settings)
        weighting = weighted(weighting, labels, settings, whole)
    capped = aggregation.capped(cells)
    made = aggregation.aggregate(
        frame, cells, labels, weighting, capped=capped, numbers=numbers_of_groups
    )
    released = aggregation.released(frame, made, weighting)
    if weighting is not None:
        weighting = weighting.with_totals(frame, config.schema, settings, cells, made)
    arrow = strip_metadata(to_arrow(released))
    coarse = {variable.name for variable in made.variables if variable.coarse}
    for number, name in enumerate(arrow.schema.names):
        if name in config.categories and name in coarse:
            arrow = arrow.set_column(number, name, arrow.column(name).cast(pa.string()))
    return Block(
        numbers, frame, cells, capped, made, released, arrow, labels, weighting, settings,
        config.measured[0],
    )  # fmt: skip


def _write_units(
    path: str,
    config: BlockOutputConfig,
    rows: pa.Table,
    released: pa.Table,
    order: np.ndarray,
    buckets: np.ndarray,
) -> None:
    """Spill the unit of each row and the hash of its class, by which the file is verified."""
    hashes = class_hashes(released, config.class_columns)
    table = rows.select(UNIT).append_column(KEY, pa.array(order))
    for lane, name in enumerate(OF_CLASS):
        table = table.append_column(name, pa.array(hashes[:, lane]))
    write_spill_file(path, table, buckets, {})


def _write_classes(
    path: str,
    config: BlockOutputConfig,
    released: pa.Table,
    labels: np.ndarray,
    errors: np.ndarray,
) -> None:
    """Spill the error of each group by the hash of its class; other blocks may share the class."""
    _, first = np.unique(labels, return_index=True)
    hashes = class_hashes(released.take(pa.array(first)), config.class_columns)
    table = pa.table(
        {
            "h0": hashes[:, 0],
            "h1": hashes[:, 1],
            **{f"e{row}": errors[:, row] for row in range(3)},
        }
    )
    write_spill_file(path, table, bucket_of(hashes, config.class_bits), {})

"""The people of an attack: who is in the rerun of a release, and who was left out as control."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import narwhals as nw
import numpy as np

from microagg.errors import InputError
from microagg.formatting import counted
from microagg.pipeline.preparation import open_table, select_records
from microagg.release.cells import units_in
from microagg.release.settings import Settings
from microagg.table.schema import Role, Schema

FEWEST = 50
"""Fewest records with which rates say anything."""
FEWEST_TARGETS = 10
MOST_TARGETS = 2_000
ROW = "microagg row of an attack"


@dataclass(frozen=True)
class People:
    """Records of the original, and the rows that play each part.

    `rest` is what the rerun protects, `targets` are some of it, `controls` were left out of it.
    There are as many targets as controls. Of a unit, such as a household, one record is attacked,
    so that outcomes are independent.
    """

    frame: nw.DataFrame[Any]
    schema: Schema
    settings: Settings
    rest: np.ndarray
    targets: np.ndarray
    controls: np.ndarray
    left_out: int = 0
    """Records left out of the rerun, of which controls are some."""

    def table_of(self, rows: np.ndarray) -> Any:
        """Return these rows as a table of the caller's type."""
        return self.frame[rows.tolist(), :].to_native()


def choose_people(
    table: Any, settings: Settings, *, control_share: float, most: int, rng: np.random.Generator
) -> People:
    """Open a table and choose targets and controls at random; whole units where there are units."""
    if isinstance(most, bool) or not isinstance(most, int) or most < FEWEST_TARGETS:
        raise InputError(f"most_targets must be a whole number from {FEWEST_TARGETS} on.")
    if not isinstance(control_share, int | float) or not 0.0 < control_share < 1.0:
        raise InputError(
            "the share of the control group must be more than 0 and less than 1, such as 0.2."
        )
    opened = open_table(table, settings)
    frame, _, _ = select_records(opened)
    if len(frame) < FEWEST:
        raise InputError(
            f"an attack needs {FEWEST} records or more to say anything; the table has "
            f"{counted(len(frame), 'record')}."
        )
    units = units_in(frame, opened.schema, opened.settings)
    codes = np.arange(len(frame)) if units is None else units.codes
    left_out = _chosen_units(codes, control_share, rng)
    is_control = np.isin(codes, left_out)
    rest, controls = np.flatnonzero(~is_control), np.flatnonzero(is_control)
    rest = rest[_rows_that_take_part(replace(opened, frame=frame[rest.tolist(), :]))]
    if len(rest) < 2 * opened.settings.k or len(controls) == 0:
        raise InputError(
            "too few records are left for the rerun or for the control group; choose another "
            "share of the control group or a smaller k."
        )
    drawn = [_one_of_each(rng.permutation(rows), codes) for rows in (rest, controls)]
    size = min(*map(len, drawn), most)
    targets, controls = (np.sort(rows[:size]) for rows in drawn)
    left_out = int(is_control.sum())
    return People(frame, opened.schema, opened.settings, rest, targets, controls, left_out)


def _one_of_each(rows: np.ndarray, units: np.ndarray) -> np.ndarray:
    """Return the first row of each unit, in the order of the rows.

    >>> _one_of_each(np.array([3, 0, 2, 1]), np.array([7, 8, 7, 8])).tolist()
    [3, 0]
    """
    return rows[np.sort(np.unique(units[rows], return_index=True)[1])]


def _chosen_units(codes: np.ndarray, share: float, rng: np.random.Generator) -> np.ndarray:
    """Return units, drawn at random, that have about this share of the records."""
    units, sizes = np.unique(codes, return_counts=True)
    order = rng.permutation(len(units))
    wanted = share * len(codes)
    count = int(np.searchsorted(np.cumsum(sizes[order]), wanted)) + 1
    return units[order[: min(count, len(units) - 1)]]


def _rows_that_take_part(opened: Any) -> np.ndarray:
    """Return which rows of the rest a rerun would protect: some strata may be too small now."""
    indexed = replace(opened, frame=opened.frame.with_row_index(ROW))
    settings = opened.settings
    if settings.stratum:
        indexed = replace(indexed, settings=settings.but(small_strata="drop"))
    frame, _, _ = select_records(indexed)
    return frame[ROW].to_numpy().astype(np.int64)


def names_known(schema: Schema, known: tuple[str, ...]) -> list[str]:
    """Return the quasi-identifiers an intruder knows, all of them by default.

    Raises
    ------
    InputError
        If a name is no quasi-identifier.
    """
    quasi = schema.names(Role.QUASI)
    wrong = next((name for name in known if name not in quasi), None)
    if wrong is not None:
        raise InputError(
            f"known: {wrong!r} is not a quasi-identifier; choose from {', '.join(quasi)}."
        )
    return [name for name in quasi if name in known] if known else quasi

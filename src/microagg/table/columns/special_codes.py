"""Special codes among whole numbers, such as 97 for "not applicable", found by counts alone."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from microagg.table.columns.arrow import compute as pc

CODES = (96, 97, 98, 99, 996, 997, 998, 999, 9996, 9997, 9998, 9999)
NEGATIVE_CODES = (-1, -2, -3, -4, -5, -6, -7, -8, -9, -97, -98, -99, -997, -998, -999)
"""Numbers that surveys use for answers that are no number."""
MOST_CODES = 4
FEWEST_VALUES = 13
"""Fewer different whole numbers may be codes themselves, which is asked about elsewhere."""
SHARE, RECORDS = 0.01, 5
"""Least share of the records with a code, and least number of them."""
GAP = 0.1
"""Least gap between the other values and the first code, as a share of the span of the others."""


def special_codes(entries: pa.StructArray) -> tuple[int, ...]:
    """Return the special codes among whole numbers, given their `value_counts`."""
    numbers = pc.cast(entries.field("values"), pa.float64(), safe=False)
    counts = entries.field("counts")
    return special_codes_among(numbers.to_numpy(zero_copy_only=False), counts.to_numpy())


def special_codes_among(
    values: Sequence[float] | np.ndarray, counts: Sequence[int] | np.ndarray
) -> tuple[int, ...]:
    """Return the conventional codes that stand apart from all other values and occur often.

    `values` are different whole numbers, `counts` their records.

    >>> hours = [*range(20, 45), 97, 98]
    >>> special_codes_among(hours, [4] * 25 + [30, 6])
    (97, 98)
    >>> special_codes_among(range(0, 100), [4] * 100)
    ()
    """
    numbers, records = np.asarray(values, np.float64), np.asarray(counts)
    for family in (_above(numbers), _below(numbers)):
        chosen = np.isin(numbers, family)
        others = numbers[~chosen]
        often = records[chosen].sum() >= max(RECORDS, SHARE * records.sum())
        if not family or not often or len(others) < FEWEST_VALUES:
            continue
        gap = family[0] - others.max() if family[0] > 0 else others.min() - family[-1]
        if gap > 1 and gap >= GAP * (others.max() - others.min()):
            return tuple(int(code) for code in family)
        if family[0] < 0 and others.min() >= 0:
            return tuple(int(code) for code in family)
    return ()


def _above(numbers: np.ndarray) -> list[float]:
    """Return the codes at the upper end, in order: all values from the first of them on."""
    ordered = np.sort(numbers)[::-1]
    taken = 0
    while taken < min(len(ordered), MOST_CODES) and ordered[taken] in CODES:
        taken += 1
    return sorted(ordered[:taken].tolist())


def _below(numbers: np.ndarray) -> list[float]:
    """Return the negative numbers, in order, if all of them are codes."""
    negative = sorted(numbers[numbers < 0].tolist())
    few = 0 < len(negative) <= MOST_CODES
    return negative if few and all(number in NEGATIVE_CODES for number in negative) else []

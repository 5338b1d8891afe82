"""Made-up companies: a business survey, where a few are larger than all others together. None of
them exists.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from microagg.datasets.runs import Draws, days, made_in_runs, rounded, table_of, texts

REGIONS = ("Centre", "East", "North", "South", "West")
SECTORS = (1071, 2511, 2562, 4120, 4321, 4511, 4711, 4941, 5610, 6201, 6820, 6920, 7022, 8121, 8690)
"""Codes of four digits, as in a classification of economic activities: numbers, but no quantities.
"""
_SHARES = (3, 4, 3, 6, 9, 4, 12, 6, 13, 8, 7, 6, 8, 5, 6)
_HEAVY = 1.1  # the exponent of the tail of sizes: near 1, as for real companies (Axtell 2001)
_LARGEST = 400_000.0  # employees
_FIRST_DAY, _LAST_DAY = -7_305, 20_088  # 1950 to 2024, counted from 1970


def companies(n: int = 1000, seed: int = 1) -> pa.Table:
    """Return a table of n made-up companies with heavy tails: turnover, assets and profit in
    thousands, employees.

    company names them; sector is a code, region a category, founded a date; assets and exports have
    gaps; profit can be negative and is confidential.

    >>> companies(2).column_names  # doctest: +NORMALIZE_WHITESPACE
    ['company', 'sector', 'region', 'founded', 'employees', 'turnover', 'assets', 'exports',
     'profit']
    >>> turnover = np.sort(companies(1000).column("turnover").to_numpy())
    >>> bool(turnover[-20:].sum() > 0.5 * turnover.sum())
    True
    """
    return table_of("companies", n, seed)


@made_in_runs
def _companies(draws: Draws) -> dict[str, pa.Array]:
    number = draws.run * draws.n + np.arange(1, draws.n + 1)
    sector = draws.chosen("sector", _SHARES)
    size = np.minimum((1.0 - draws.uniform("size")) ** (-1.0 / _HEAVY), _LARGEST)
    by_head = np.exp(4.6 + 0.08 * (sector % 5) + 0.6 * draws.normal("turnover"))
    turnover = np.maximum(rounded(size * by_head), 1)
    assets = rounded(turnover * np.exp(-0.3 + 0.8 * draws.normal("assets")))
    exporting = draws.happens("exports", 30)
    exports = np.where(exporting, rounded(turnover * draws.uniform("share") ** 2), 0)
    profit = rounded(turnover * (0.05 + 0.09 * draws.normal("profit")))
    founded = rounded(_LAST_DAY - (_LAST_DAY - _FIRST_DAY) * draws.uniform("founded") ** 1.6)
    return {
        "company": pa.array([f"Company {one}" for one in number]),
        "sector": pa.array(np.asarray(SECTORS)[sector]),
        "region": texts(draws.chosen("region", (29, 14, 18, 22, 17)), REGIONS),
        "founded": days(founded),
        "employees": pa.array(rounded(size)),
        "turnover": pa.array(turnover),
        "assets": pa.array(assets, mask=draws.happens("no assets", 6)),
        "exports": pa.array(exports, mask=draws.happens("no exports", 9)),
        "profit": pa.array(profit),
    }

"""Made-up residents of a town: a table with every kind of column, and gaps. Nobody in it exists."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pyarrow as pa

from microagg.datasets.persons import DISEASES, SHARES
from microagg.datasets.runs import Draws, days, levels, made_in_runs, rounded, table_of, texts

SEXES = ("female", "male", "diverse")
DISTRICTS = ("Harbour", "Mill", "North", "Old Town", "Park", "Station", "West")
MARITAL = ("single", "married", "divorced", "widowed")
EDUCATION = ("none", "primary", "secondary", "vocational", "bachelor", "master", "doctorate")
_TODAY = 20_454  # the first day of 2026, counted from 1970


def residents(n: int = 1000, seed: int = 1) -> pa.Table:
    """A table of n made-up residents with text, truth values, ordered levels, dates, decimals and
    gaps.

    person and e_mail name somebody; sex, district and marital are categories, education is ordered;
    born and moved_in are dates; income, rent (a decimal), commute_km and works have gaps; diagnosis
    is confidential.

    >>> residents(3).column_names[:5]
    ['person', 'e_mail', 'sex', 'born', 'district']
    >>> residents(1000).column("income").null_count > 0
    True
    """
    return table_of("residents", n, seed)


@made_in_runs
def _residents(draws: Draws) -> dict[str, pa.Array]:
    number = draws.run * draws.n + np.arange(1, draws.n + 1)
    age = np.clip(47.0 + 18.0 * draws.normal("age"), 18.0, 99.0)
    born = _TODAY - rounded(age * 365.25)
    education = np.clip(np.rint(2.6 + 1.3 * draws.normal("education")), 0, 6).astype(np.int64)
    works = (age < 66.0) & draws.happens("works", 82)
    logincome = 10.0 + 0.14 * (education - 2.6) - 0.35 * ~works + 0.4 * draws.normal("income")
    income = rounded(np.exp(logincome), 10)
    rent = rounded(100.0 * (0.18 * income / 12.0 + 240.0 + 130.0 * np.abs(draws.normal("rent"))))
    moved = np.maximum(born, _TODAY - rounded(3650.0 * draws.uniform("moved") ** 2))
    return {
        "person": pa.array([f"P{one:07d}" for one in number]),
        "e_mail": pa.array([f"resident{one}@example.org" for one in number]),
        "sex": texts(draws.chosen("sex", (509, 487, 4)), SEXES),
        "born": days(born),
        "district": texts(draws.chosen("district", (9, 14, 21, 6, 17, 11, 22)), DISTRICTS),
        "marital": texts(_marital(age, draws), MARITAL, draws.happens("no marital", 2)),
        "education": levels(education, EDUCATION, draws.happens("no education", 3)),
        "works": pa.array(works, mask=draws.happens("no works", 1)),
        "income": pa.array(income, mask=draws.happens("no income", 8)),
        "rent": pa.array([Decimal(int(cents)).scaleb(-2) for cents in rent], pa.decimal128(9, 2)),
        "commute_km": pa.array(
            rounded(10.0 * np.exp(1.9 + 0.9 * draws.normal("commute"))) / 10.0, mask=~works
        ),
        "moved_in": days(moved, draws.happens("no moved", 5)),
        "diagnosis": texts(draws.chosen("diagnosis", SHARES), DISEASES),
    }


def _marital(age: np.ndarray, draws: Draws) -> np.ndarray:
    """The young are mostly single, the old more often widowed."""
    ticket = draws.uniform("marital")
    single = np.clip(1.1 - age / 50.0, 0.15, 1.0)
    widowed = np.clip((age - 60.0) / 80.0, 0.0, 0.4)
    return np.select(
        [ticket < single, ticket >= 1.0 - widowed, ticket >= 0.9 - widowed], [0, 3, 2], 1
    )

"""Exposure of an original table, against an independent count in pandas."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import microagg as ma
from microagg.pipeline.exposure import ExposureCounter

ROUNDS, USUAL = 100, 20


def made_up_table(rng: np.random.Generator) -> pd.DataFrame:
    """A small table of numbers, texts and dates with gaps and many equal values."""
    records = int(rng.integers(2, 80))
    columns = {
        "age": pd.Series(rng.integers(20, 24, records), dtype="Int64"),
        "pay": pd.Series(rng.integers(0, 3, records) / 2.0),
        "town": pd.Series(rng.choice(["Rome", "rome", "Pisa", "30"], records), dtype=object),
        "born": pd.Series(
            pd.to_datetime("2001-01-01") + pd.to_timedelta(rng.integers(0, 3, records), "D")
        ),
        "flag": pd.Series(rng.integers(0, 2, records).astype(bool)).astype("boolean"),
    }
    table = pd.DataFrame(columns)
    for name in table.columns:
        table.loc[rng.random(records) < rng.choice([0.0, 0.3]), name] = None
    return table


def counts(table: pd.DataFrame, columns: list[str], k: int) -> tuple[int, int]:
    """Records alone and below k, counted by pandas."""
    if not columns:
        return (1, 1) if len(table) == 1 else (0, len(table) if len(table) < k else 0)
    sizes = table.groupby(columns, dropna=False, observed=True).size()
    return int((sizes == 1).sum()), int(sizes[sizes < k].sum())


@pytest.mark.parametrize(
    "seed",
    [
        *range(USUAL),
        *(pytest.param(seed, marks=pytest.mark.nightly) for seed in range(USUAL, ROUNDS)),
    ],
)
def test_it_counts_what_pandas_counts(seed: int) -> None:
    rng = np.random.default_rng(seed)
    table = made_up_table(rng)
    names = list(rng.permutation(table.columns))
    quasi, others = names[: int(rng.integers(1, 5))], names
    k = int(rng.integers(2, 6))
    rest = [name for name in names if name not in quasi]
    settings = ma.Settings.of(k=k, quasi=quasi, keep=rest[:1], confidential=rest[1:])
    result = ma.exposure(table, settings)
    assert (result.alone, result.below_k) == counts(table, quasi, k)
    assert result.alone_without == {
        name: counts(table, [other for other in quasi if other != name], k)[0]
        if result.alone
        else 0
        for name in quasi
    }
    assert (result.alone_if_all_known, result.below_k_if_all_known) == counts(table, others, k)


def test_strata_are_known_and_identifiers_are_not() -> None:
    table = pa.table(
        {
            "id": [1, 2, 3, 4],
            "age": [30, 30, 30, 30],
            "land": ["a", "a", "b", "b"],
            "pay": [1, 2, 1, 1],
        }
    )
    settings = ma.Settings.of(k=3, quasi="age", stratum="land", confidential="pay", identifier="id")
    result = ma.exposure(table, settings)
    assert result.columns == ("age", "land")
    assert (result.alone, result.below_k) == (0, 4)
    assert (result.alone_if_all_known, result.below_k_if_all_known) == (2, 4)


def test_equal_values_of_two_columns_are_not_mixed_up() -> None:
    """A sum of hashes must not take (30, 40) for (40, 30)."""
    counter = ExposureCounter(pa.table({"age": [30, 40], "hours": [40, 30]}))
    assert counter.count(["age", "hours"], k=2).alone == 2


def test_a_file_is_read_as_for_a_release(tmp_path) -> None:
    path = tmp_path / "in.csv"
    path.write_text("age,zip\n30,a\n30.0,a\nNA,b\n", "utf-8")
    result = ma.exposure(path, ma.Settings.of(k=2, quasi=["age", "zip"]))
    assert (result.records, result.alone) == (3, 1)


def test_a_missing_column_is_refused() -> None:
    with pytest.raises(ma.InputError, match="zip"):
        ma.exposure(pa.table({"age": [1, 2]}), ma.Settings.of(k=2, quasi=["age", "zip"]))

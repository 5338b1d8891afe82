"""Releases with l and t: every kind of column, the written file checked again, and nothing written
that misses it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import microagg as ma
from microagg.release import saving

RNG = np.random.default_rng(8)
N = 120
TABLE = pa.table(
    {
        "age": RNG.integers(18, 90, N),
        "income": np.round(RNG.lognormal(3, 1, N), 2),
        "ill": RNG.choice(["a", "b", "c", None], N, p=[0.5, 0.2, 0.2, 0.1]).tolist(),
        "grade": pa.DictionaryArray.from_arrays(
            pa.array(RNG.integers(0, 3, N), pa.int8()),
            pa.array(["low", "fair", "high"]),
            ordered=True,
        ),
        "wage": np.round(RNG.normal(50, 9, N), 3),
        "flag": RNG.random(N) < 0.4,
    }
)
ROLES: dict[str, Any] = {
    "quasi": ["age", "income"],
    "confidential": ["ill", "grade", "wage", "flag"],
}


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
@pytest.mark.parametrize("method", ["mdav", "t-first", "auto"])
def test_the_written_file_is_checked_again(tmp_path: Path, ending: str, method: str) -> None:
    effort = {"effort": "quick"} if method == "auto" else {}
    release = ma.anonymize(TABLE, k=4, l=2, t=0.35, method=method, seed=1, **ROLES, **effort)
    release.save(tmp_path / f"out{ending}")
    assert [f.column for f in release.anonymity.findings if f.guarantee == "t"] == ROLES[
        "confidential"
    ]
    assert ma.check(release.table, ROLES["quasi"], 4, ROLES["confidential"], l=2, t=0.35).holds


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
@pytest.mark.parametrize("column", ["ill", "grade", "wage"])
def test_a_file_that_misses_it_is_never_written(
    tmp_path: Path, ending: str, column: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    release = ma.anonymize(TABLE, k=4, t=0.3, method="mdav", seed=1, **ROLES)
    write = saving.write_table

    def write_sorted(table: pa.Table, path: Path, **options: Any) -> None:
        """A writer with a bug: it sorts one column by itself, so that like comes to like."""
        order = table.sort_by([("age", "ascending"), ("income", "ascending")])
        values = order.column(column).to_pandas().sort_values(na_position="first").to_numpy()
        if column == "grade":
            values = sorted(order.column(column).to_pylist())
        position = order.column_names.index(column)
        write(
            order.set_column(position, column, pa.array(values, from_pandas=True)), path, **options
        )

    monkeypatch.setattr(saving, "write_table", write_sorted)
    with pytest.raises(ma.GuaranteeError, match="misses its guarantee"):
        release.save(tmp_path / f"out{ending}")
    assert list(tmp_path.glob(f"out{ending}")) == []


def test_groups_that_miss_it_never_become_a_release(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("microagg.pipeline.run_method.repair", lambda problem, labels: labels)
    with pytest.raises(
        ma.GuaranteeError, match=r"misses its guarantee: .* do not keep 0.05-closeness in column"
    ):
        ma.anonymize(TABLE, k=4, t=0.05, method="mdav", seed=1, **ROLES)


def test_the_same_from_every_library() -> None:
    table = TABLE.select(["age", "income", "wage"])
    roles: dict[str, Any] = {"quasi": ["age", "income"], "confidential": ["wage"]}
    expected = ma.anonymize(table, k=4, l=3, t=0.2, method="t-first", seed=1, **roles).labels
    for source in (table.to_pandas(), pl.from_arrow(table)):
        assert np.array_equal(
            ma.anonymize(source, k=4, l=3, t=0.2, method="t-first", seed=1, **roles).labels,
            expected,
        )


def test_one_value_is_an_error_for_l_and_a_warning_for_k() -> None:
    frame = pd.DataFrame({"age": np.arange(20.0), "disease": "flu"})
    with pytest.raises(ma.InputError, match=r"column 'disease' has only 1 different value;"):
        ma.anonymize(frame, k=3, l=2, quasi="age", confidential="disease")
    release = ma.anonymize(frame, k=3, quasi="age", confidential="disease", effort="quick")
    assert any("reveal it" in note and "'disease'" in note for note in release.notes)
    assert "flu" not in str(release.notes)


def test_the_warning_is_in_the_report_and_the_notebook(tmp_path: Path) -> None:
    frame = pd.DataFrame({"age": np.arange(20.0), "disease": "flu"})
    release = ma.anonymize(frame, k=3, quasi="age", confidential="disease", effort="quick")
    for public in (True, False):
        text = release.report(tmp_path / "report.md", public=public).read_text()
        assert ("has one value in the whole table" in text) != public, "notes stay inside"
        assert "were not asked for here" in text
    assert "has one value in the whole table" in release._repr_html_()


@pytest.mark.slow
def test_the_report_says_what_was_promised(tmp_path: Path) -> None:
    guarantee: dict[str, Any] = {"l": 2, "diversity": "recursive", "c": 3.0, "t": 0.3}
    release = ma.anonymize(TABLE, k=4, method="mdav", seed=1, **ROLES, **guarantee)
    for public in (True, False):
        text = release.report(tmp_path / "report.md", public=public).read_text()
        assert "l-diversity (recursive)" in text
        assert "l = 2, c = 3" in text
        assert "t = 0.3" in text
        assert "were not asked for here" not in text
    assert (
        "Every class differs from the whole table by at most 0.3 (0 to 1)" in release._repr_html_()
    )
    assert any("groups became" in sentence for sentence in release.manifest["chosen"])

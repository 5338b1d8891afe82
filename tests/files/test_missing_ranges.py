"""Ranges of codes that a file declares missing: both ends belong to them, and no code of them
becomes a value.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyreadstat
import pytest

import microagg as ma
from microagg.files.reading import read_table
from microagg.table.columns.labels import Labels, in_use, understood, with_labels

RANGE = Labels(missing=((97.0, 99.0),))
OPEN = Labels(missing=((float("-inf"), -1.0), 7))


@pytest.mark.parametrize(
    ("labels", "missing", "values"),
    [
        (RANGE, [97, 98, 99, 97.0, 98.5, 99.0], [96, 100, 96.99, 99.01, -97]),
        (OPEN, [-1, -1e9, -1.0, 7, 7.0], [-0.99, 0, 6, 8]),
        (Labels(missing=("x", "y")), ["x", "y"], ["z", "X", ""]),
        (Labels(missing=(5, 6, (8.0, 9.0))), [5, 6, 8, 9], [4, 7, 10]),
    ],
)
def test_both_ends_of_a_range_are_missing(labels: Labels, missing: list, values: list) -> None:
    assert [code for code in missing if not labels.is_missing(code)] == []
    assert [code for code in values if labels.is_missing(code)] == []


def test_codes_of_a_range_are_special_as_far_as_they_occur() -> None:
    ages = pa.chunked_array([[31, 96, 97], [99, 100, 98, None]])
    assert understood(RANGE, ages).special == (97, 98, 99)
    assert in_use(RANGE, ages).missing == (97, 98, 99)
    assert in_use(RANGE, pa.chunked_array([[31, 99]])).missing == (99,)
    floats = pa.chunked_array([[31.5, 97.0, 99.0, 99.5]])
    assert understood(RANGE, floats).special == (97, 99)


def ages() -> np.ndarray:
    return np.array([20, 22, 40, 42, 60, 62, 97, 97, 98, 98, 99, 99, 96, 96, 100, 100], float)


def codes_set_apart(release: ma.Release) -> list[int]:
    """The records whose age is a special code and no value."""
    atoms = release.pair.before.atoms_of(0)
    assert atoms is not None
    return np.flatnonzero(atoms >= 0).tolist()


def test_no_code_of_a_range_is_averaged() -> None:
    table = with_labels(pa.table({"age": ages()}), {"age": RANGE})
    release = ma.anonymize(table, k=2, quasi=["age"], seed=1, method="mdav")
    after = release.table.column("age").to_pylist()
    assert after[6:12] == [97, 97, 98, 98, 99, 99], "each code stays with its like"
    assert after[:6] == [21, 21, 41, 41, 61, 61]
    assert codes_set_apart(release) == [6, 7, 8, 9, 10, 11]


def test_a_range_that_spss_declares_is_read_to_its_upper_end(tmp_path: Path) -> None:
    import pandas as pd

    frame = pd.DataFrame({"age": ages(), "sex": np.tile([1.0, 2.0], 8)})
    pyreadstat.write_sav(frame, tmp_path / "in.sav", missing_ranges={"age": [{"lo": 97, "hi": 99}]})
    table = read_table(tmp_path / "in.sav")
    assert understood(
        Labels.from_data({"missing": [[97.0, 99.0]]}), table.column("age")
    ).special == (
        97,
        98,
        99,
    )
    release = ma.anonymize(table, k=2, quasi=["age"], rest="drop", seed=1, method="mdav")
    assert codes_set_apart(release) == [6, 7, 8, 9, 10, 11]
    assert release.table.column("age").to_pylist()[6:12] == [97, 97, 98, 98, 99, 99]

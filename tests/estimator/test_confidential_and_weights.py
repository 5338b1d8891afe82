"""Microaggregator with confidential columns and weights by name."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone

import microagg as ma


def people(n: int = 60) -> pd.DataFrame:
    rng = np.random.default_rng(8)
    age = rng.integers(20, 25, n)  # equal rows, which must stay together
    ill = np.where(age < 22, "none", rng.choice(["none", "flu", "gout"], n))
    weight = np.round(rng.uniform(1, 9, n), 1)
    wage = (rng.integers(1, 6, n) * 100).astype(float)
    return pd.DataFrame(
        {"ill": ill, "age": age, "w": weight, "wage": wage}, index=range(100, 100 + n)
    )


@pytest.mark.parametrize("promised", [{"l": 2}, {"t": 0.3}, {"l": 1.5, "diversity": "entropy"}])
def test_groups_keep_l_and_t(promised: dict[str, Any]) -> None:
    frame = people()
    estimator = ma.Microaggregator(k=3, confidential="ill", weight="w", random_state=1, **promised)
    released = estimator.fit_transform(frame)
    assert list(released.columns) == list(frame.columns)
    assert released.index.equals(frame.index)
    assert (released["ill"] == frame["ill"]).all()
    checked = ma.check(released, ["age", "wage", "w"], k=3, confidential="ill", **promised)
    assert checked.holds
    plain = (
        ma.Microaggregator(k=3, random_state=1)
        .fit_transform(frame[["age", "wage"]])
        .assign(ill=frame["ill"])
    )
    assert not ma.check(plain, ["age", "wage"], k=3, confidential="ill", **promised).holds
    assert (estimator.transform(frame.iloc[::-1]).iloc[::-1] == released).all(axis=None)


def test_equal_rows_share_a_group_and_weighted_means() -> None:
    frame = people()
    estimator = ma.Microaggregator(
        k=3,
        weight="w",
        confidential=["ill"],
        random_state=1,
        precision="full",
        accept_risk="full-precision",
    ).fit(frame)
    groups = pd.Series(estimator.labels_, index=frame.index)
    assert (groups.groupby([frame["age"], frame["wage"]]).nunique() == 1).all()
    released = estimator.transform(frame)
    for _, rows in frame.groupby(groups):
        mean = np.average(rows["wage"], weights=rows["w"])
        np.testing.assert_allclose(released.loc[rows.index, "wage"], mean)
        np.testing.assert_allclose(released.loc[rows.index, "w"], rows["w"].mean())


def test_new_rows_keep_what_is_confidential() -> None:
    frame = people()
    estimator = ma.Microaggregator(k=3, confidential="i*", weight="w", l=2, random_state=1).fit(
        frame
    )
    new = pd.DataFrame({"ill": ["plague"], "age": [97], "w": [1.0], "wage": [555.5]})
    out = estimator.transform(new)
    assert out["ill"].tolist() == ["plague"]
    known = estimator.transform(frame)[["age", "wage", "w"]].drop_duplicates().to_numpy().tolist()
    assert out[["age", "wage", "w"]].to_numpy().tolist()[0] in known
    assert pickle.loads(pickle.dumps(estimator)).transform(new).equals(out)


@pytest.mark.parametrize("library", ["polars", "arrow", "matrix"])
def test_other_containers(library: str) -> None:
    frame = people().drop(columns="ill")
    table = {
        "polars": pl.from_pandas(frame),
        "arrow": pa.Table.from_pandas(frame, preserve_index=False),
        "matrix": frame.to_numpy(float),
    }[library]
    names: dict[str, Any] = (
        {"weight": 1, "confidential": 0}
        if library == "matrix"
        else {"weight": "w", "confidential": "age"}
    )
    released = ma.Microaggregator(k=3, random_state=1, **names).fit_transform(table)
    assert isinstance(released, type(table))
    assert np.array_equal(np.asarray(released)[:, 0], frame["age"])
    assert len(np.unique(np.asarray(released)[:, 2])) < frame["wage"].nunique() + 1


def test_what_cannot_be_promised_is_refused() -> None:
    with pytest.raises(ma.InputError, match="confidential"):
        ma.Microaggregator(k=3, l=2).fit(people().drop(columns="ill"))
    with pytest.raises(ma.InputError, match="there is no column 'illness'"):
        ma.Microaggregator(k=3, confidential="illness").fit(people())
    with pytest.raises(ma.InputError, match="gives back all columns"):
        ma.Microaggregator(k=3, confidential="ill", weight="w", aggregate={"w": "drop"}).fit(
            people()
        )
    estimator = ma.Microaggregator(k=3, confidential="ill", weight="w", l=2, t=0.4)
    assert clone(estimator).get_params() == estimator.get_params()


def test_as_many_rows_as_k_make_one_group() -> None:
    frame = people(7)[["age", "wage"]]
    estimator = ma.Microaggregator(k=7, random_state=1).fit(frame)
    assert estimator.labels_.tolist() == [0] * 7
    with pytest.raises(ma.InputError, match=r"n_samples = 7\) than k = 8"):
        ma.Microaggregator(k=8).fit(frame)


def test_what_is_released_is_verified_and_nothing_kept_that_fails(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Grouping goes wrong on its way: the classes of the release are counted, not the groups."""
    where = "microagg.estimator.microaggregator"
    frame = people()
    estimator = ma.Microaggregator(k=3, confidential="ill", l=2, random_state=1)
    with monkeypatch.context() as patch:
        patch.setattr(f"{where}.repair", lambda problem, labels: np.arange(60, dtype=np.int32) // 2)
        with pytest.raises(ma.GuaranteeError):
            estimator.fit(frame)
    with monkeypatch.context() as patch:
        by_illness = np.unique(frame["ill"], return_inverse=True)[1].astype(np.int32)
        patch.setattr(f"{where}.repair", lambda problem, labels: by_illness)
        with pytest.raises(ma.GuaranteeError):
            estimator.fit(frame)
    assert not hasattr(estimator, "labels_")
    assert estimator.fit(frame).labels_.max() > 0


def test_risks_must_be_accepted_as_in_a_release() -> None:
    frame = pd.DataFrame(
        {"age": np.arange(40), "name": [f"Person {row}" for row in range(40)], "x": [1.0] * 40}
    )
    with pytest.raises(ma.InputError, match="'name'"):
        ma.Microaggregator(k=3, random_state=1).fit(frame)
    gaps = frame[["age", "x"]].astype(float)
    gaps.loc[4, "age"] = np.nan
    with pytest.raises(ma.InputError, match="missing"):
        ma.Microaggregator(k=3, missing="error").fit(gaps)
    assert len(ma.Microaggregator(k=3, random_state=1).fit(gaps).labels_) == 40

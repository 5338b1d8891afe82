"""anonymize(): the same type out, the same values from every library, and nothing changed that
should not be.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import microagg as ma
import tables
from microagg.files.reading import read_table
from microagg.release.settings import Settings
from microagg.table.aggregate import Aggregated, aggregated
from microagg.table.encoder import Space
from microagg.table.scales import SCALES
from microagg.table.variable import Cells

ROLES: dict[str, Any] = {
    "quasi": tables.QUASI,
    "identifier": "name",
    "confidential": ["disease"],
    "keep": ["code"],
}
RELEASED = ["income", "debt", "disease", "code"]
LIBRARIES: dict[str, Callable[[pa.Table], Any]] = {
    "arrow": lambda table: table,
    "pandas": lambda table: table.to_pandas(),
    "pandas-arrow": lambda table: table.to_pandas(types_mapper=pd.ArrowDtype),
    "pandas-nullable": lambda table: table.to_pandas().convert_dtypes(),
    "polars": pl.from_arrow,
}


def as_columns(table: Any) -> dict[str, list[Any]]:
    """Any table as plain lists."""
    if isinstance(table, pa.Table):
        return table.to_pydict()
    return {name: table[name].to_list() for name in table.columns}


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("precision", ["column", "full"])
def test_every_library_gives_the_same(library: str, precision: str) -> None:
    expected = ma.anonymize(tables.people(30), 4, **ROLES, precision=precision, seed=5)
    table = LIBRARIES[library](tables.people(30))
    before = as_columns(table)
    release = ma.anonymize(table, 4, **ROLES, precision=precision, seed=5)
    assert type(release.table) is type(table)
    assert list(as_columns(release.table)) == RELEASED
    assert as_columns(release.table) == as_columns(expected.table)
    assert as_columns(table) == before, "the input was changed"
    assert np.array_equal(release.labels, expected.labels)
    assert release.loss == expected.loss
    assert release.manifest == expected.manifest, "the digest depends on the library"


@pytest.mark.parametrize("library", LIBRARIES)
def test_every_library_is_saved_to_the_same_bytes(tmp_path: Path, library: str) -> None:
    ma.anonymize(tables.people(30), 4, **ROLES, seed=5).save(tmp_path / "expected.csv")
    ma.anonymize(LIBRARIES[library](tables.people(30)), 4, **ROLES, seed=5).save(
        tmp_path / "found.csv"
    )
    assert (tmp_path / "found.csv").read_bytes() == (tmp_path / "expected.csv").read_bytes()


def test_values_are_the_means_of_groups_rounded() -> None:
    table = tables.people(30)
    release = ma.anonymize(table, 4, **ROLES, seed=5)
    for name, decimals in (("income", 0), ("debt", 2)):
        values = table.column(name).to_numpy()
        released = release.table.column(name).to_numpy()
        for label in set(release.labels.tolist()):
            members = release.labels == label
            assert set(released[members].tolist()) == {np.round(values[members].mean(), decimals)}
    for name in ("disease", "code"):
        assert release.table.column(name).equals(table.column(name))


def test_full_precision_gives_exact_means() -> None:
    table = tables.people(30)
    release = ma.anonymize(table, 4, **ROLES, precision="full", seed=5)
    assert release.table.schema.field("income").type == pa.float64()
    sizes = np.bincount(release.labels)
    means = np.bincount(release.labels, table.column("income").to_numpy()) / sizes
    np.testing.assert_allclose(
        release.table.column("income").to_numpy(), means[release.labels], rtol=1e-15
    )


@pytest.mark.parametrize(
    "kind",
    [
        "int8",
        "uint16",
        "int64",
        "Int64",
        "int32[pyarrow]",
        "float32",
        "Float32",
        "float64",
        "double[pyarrow]",
    ],
)
def test_pandas_types_are_kept(kind: str) -> None:
    frame = pd.DataFrame({"age": pd.Series([20, 21, 23, 60, 61, 65], dtype=kind)})
    release = ma.anonymize(frame, 3, quasi="age", seed=0)
    assert release.table["age"].dtype == frame["age"].dtype
    means = [21, 21, 21, 62, 62, 62]
    assert release.table["age"].tolist() == means
    exact = ma.anonymize(frame, 3, quasi="age", precision="full", seed=0).table["age"]
    assert exact.dtype.kind == "f"
    np.testing.assert_allclose(exact.to_numpy(), np.repeat([64 / 3, 62.0], 3), rtol=1e-7)


@pytest.mark.parametrize(
    "index",
    [
        pd.Index(list("uvwxyz"), name="who"),
        pd.Index([9, 9, 7, 7, 5, 5]),
        pd.MultiIndex.from_product([["a", "b"], [1, 2, 3]]),
        pd.date_range("2024-01-01", periods=6),
    ],
    ids=["texts", "duplicates", "levels", "dates"],
)
def test_the_index_is_kept_and_never_written(tmp_path: Path, index: pd.Index) -> None:
    frame = pd.DataFrame({"z": list("abcdef"), "age": [20, 21, 22, 60, 61, 62]}, index=index)
    release = ma.anonymize(frame, 3, quasi="age", keep="z", seed=0)
    pd.testing.assert_index_equal(release.table.index, index)
    assert release.table["age"].tolist() == [21, 21, 21, 61, 61, 61]
    assert release.table["z"].tolist() == list("abcdef")
    release.save(tmp_path / "out.parquet")
    assert read_table(tmp_path / "out.parquet").column_names == ["z", "age"]


def test_the_order_of_columns_is_the_tables() -> None:
    release = ma.anonymize(tables.people(), 3, quasi=["debt", "income"], rest="keep", seed=0)
    assert release.table.column_names == tables.people().column_names
    again = ma.anonymize(tables.people(), 3, quasi=["income", "debt"], rest="keep", seed=0)
    assert again.table.equals(release.table)


@pytest.mark.parametrize("kind", ["f8", "f4", "i4", ">f8", "f2", "g"])
def test_numpy(kind: str) -> None:
    matrix = np.array([[1, 20], [2, 22], [3, 21], [50, 90], [52, 91], [54, 95]], dtype=kind)
    before = matrix.copy()
    release = ma.anonymize(matrix, 3, quasi=[0, 1], seed=0)
    assert isinstance(release.table, np.ndarray)
    assert release.table.tolist() == [[2, 21]] * 3 + [[52, 92]] * 3
    assert np.array_equal(matrix, before)
    if kind in ("f8", "f4", "i4"):
        assert release.table.dtype == matrix.dtype
    dropped = ma.anonymize(matrix, 3, quasi=1, identifier=[0], seed=0).table
    assert dropped.shape == (6, 1)


@pytest.mark.slow
def test_numpy_layouts_give_the_same() -> None:
    matrix = np.random.default_rng(0).normal(size=(40, 3))
    frozen = matrix.copy()
    frozen.flags.writeable = False
    expected = ma.anonymize(matrix, 3, quasi=[0, 1, 2], seed=0).table
    for version in (np.asfortranarray(matrix), frozen, np.repeat(matrix, 2, axis=0)[::2]):
        assert np.array_equal(ma.anonymize(version, 3, quasi=[0, 1, 2], seed=0).table, expected)


@pytest.mark.parametrize(
    ("table", "says"),
    [
        (np.ma.masked_array([[1.0], [2.0]], [[False], [True]]), "column '0', row 2"),
        (np.zeros(4), "matrix of numbers"),
        (np.zeros((0, 2)), "matrix of numbers"),
        (np.array([["a"], ["b"]]), "matrix of numbers"),
        (np.array([[True], [False]]), "matrix of numbers"),
        ([[1.0], [2.0]], "pandas, polars or Arrow"),
        (None, "pandas, polars or Arrow"),
        (pd.DataFrame([[1, 2]], columns=["0", "0"]), "'0' occurs more than once"),
        (pa.table([[1], [2]], names=["0", "0"]), "'0' occurs more than once"),
        (pd.DataFrame({"0": []}), "no records"),
        (pl.DataFrame(), "no columns"),
        (pd.DataFrame({"0": [1, "canary"]}), "column '0'"),
        (pd.DataFrame({"0": [1.0, float("inf")]}), "row 2 (header not counted): infinite value"),
        (pl.DataFrame({"0": [2**60, 1]}), "more than 15 digits"),
        (pa.table({"0": pa.array([2**64 - 1, 1], pa.uint64())}), "more than 15 digits"),
        (pd.DataFrame({"0": [2**60, 1]}), "more than 15 digits"),
    ],
)
def test_tables_that_cannot_be_used(table: Any, says: str) -> None:
    with pytest.raises(ma.InputError) as refusal:
        ma.anonymize(table, 2, quasi="0")
    assert says in str(refusal.value)
    assert "canary" not in str(refusal.value)


def test_a_kept_column_of_mixed_types_is_named() -> None:
    frame = pd.DataFrame({"age": [1, 2], "note": pd.Series([1, "canary"], dtype=object)})
    with pytest.raises(ma.InputError, match="column 'note' mixes") as refusal:
        ma.anonymize(frame, 2, quasi="age", keep="note")
    assert "canary" not in str(refusal.value)


def test_columns_of_any_type_are_kept_as_they_are() -> None:
    others = {
        "list": pa.array([[1, 2], None, [], [3]]),
        "struct": pa.array([{"a": 1}, None, {"a": 2}, {"a": None}]),
        "bytes": pa.array([b"\xff", b"", None, b"a"]),
        "day": pa.array([1, 2, None, 4], pa.date32()),
        "level": pa.array(["x", "y", None, "x"]).dictionary_encode(),
        "flag": pa.array([True, None, False, True]),
        "nothing": pa.nulls(4),
        "gaps": pa.array([1.5, None, float("nan"), 2.0]),
    }
    table = pa.table({"age": [20, 21, 60, 61], **others})
    release = ma.anonymize(table, 2, quasi="age", rest="keep", seed=0)
    assert release.table.schema == table.schema
    for name in others:
        assert str(release.table.column(name)) == str(table.column(name))


@pytest.mark.parametrize("seed", ["seven", 1.5, True])
def test_a_seed_is_a_whole_number(seed: Any) -> None:
    with pytest.raises(ma.InputError, match="seed"):
        ma.anonymize(tables.people(), 3, **ROLES, seed=seed)


@pytest.mark.parametrize(("n", "k"), [(3, 3), (4, 3), (5, 3), (6, 3), (2, 2)])
def test_few_records(n: int, k: int) -> None:
    release = ma.anonymize(tables.people(n), k, **ROLES, seed=0)
    assert min(np.bincount(release.labels)) >= k
    assert len(set(release.table.column("income").to_pylist())) == n // k
    if n < 2 * k:
        # not 100: a group's value is rounded
        assert release.loss["IL"] == pytest.approx(100.0, abs=0.01)


def test_constant_columns_are_noted_and_cost_nothing() -> None:
    table = pa.table({"age": [20, 21, 60, 61], "year": [0.1] * 4, "share": [1 / 3] * 4})
    release = ma.anonymize(table, 2, quasi=["age", "year", "share"], precision="full", seed=0)
    assert "one value only, so ignored when groups were formed: 'year', 'share'" in release.notes
    alone = ma.anonymize(table.select(["age"]), 2, quasi="age", precision="full", seed=0)
    assert release.loss == pytest.approx(alone.loss)
    assert release.table.column("year").to_pylist() == [0.1] * 4


def test_only_constant_columns() -> None:
    for n in range(2, 30):
        release = ma.anonymize(pa.table({"a": [0.1] * n, "b": [1e9 / 7] * n}), 2, quasi=["a", "b"])
        assert release.loss["IL"] == 0.0
        assert release.loss["SSE"] < 1e-12, "rounding in the sixteenth digit is all there may be"


@pytest.mark.slow
@pytest.mark.parametrize("offset", [0.0, 1e6, 1e9, 1e12])
def test_an_offset_changes_no_group(offset: float) -> None:
    values = np.random.default_rng(2).integers(0, 4000, (60, 3)) / 4.0
    expected = ma.anonymize(values, 4, quasi=[0, 1, 2], seed=0)
    shifted = ma.anonymize(values + offset, 4, quasi=[0, 1, 2], seed=0)
    assert np.array_equal(shifted.labels, expected.labels)
    np.testing.assert_allclose(shifted.table - offset, expected.table, atol=0.005 + 1e-15 * offset)
    assert shifted.loss["IL"] == pytest.approx(expected.loss["IL"], rel=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("size", [1e-200, 1e-30, 1e-12, 1.0, 1e12, 1e90])
def test_very_small_and_very_large_numbers(size: float) -> None:
    values = size * np.random.default_rng(2).normal(size=(40, 2))
    release = ma.anonymize(values, 4, quasi=[0, 1], seed=0)
    expected = ma.anonymize(values / size, 4, quasi=[0, 1], seed=0)
    assert np.array_equal(release.labels, expected.labels)
    assert release.loss["IL"] == pytest.approx(expected.loss["IL"], rel=1e-4)


def test_loss_is_measured_on_the_released_values() -> None:
    table = pa.table({"a": [1.0, 2.0, 11.0, 12.0], "b": [0.4, 0.3, 0.1, 0.2]})
    release = ma.anonymize(table, 2, quasi=["a", "b"], seed=0)
    sse = sst = 0.0
    for name in ("a", "b"):
        values, released = table.column(name).to_numpy(), release.table.column(name).to_numpy()
        deviation = values.std()
        sse += (((values - released) / deviation) ** 2).sum()
        sst += (((values - values.mean()) / deviation) ** 2).sum()
    assert release.loss == pytest.approx({"IL": 100 * sse / sst, "SSE": sse})


@pytest.mark.parametrize("scale", SCALES)
def test_loss_is_measured_where_groups_were_searched_and_in_z_scores_beside(scale: str) -> None:
    values = np.random.default_rng(0).lognormal(size=(50, 2)) * [1.0, 1000.0]
    release = ma.anonymize(values, 5, quasi=[0, 1], scale=scale, precision="full", seed=0)
    standard = (values - values.mean(axis=0)) / values.std(axis=0)
    of_labels = pytest.approx(ma.information_loss(standard, release.labels))
    if scale == "zscore":
        assert release.loss["IL"] == of_labels
        assert "IL_zscore" not in release.loss
    else:
        assert release.loss["IL_zscore"] == of_labels
        searched = Space.fit(values, scale).points(values)
        at_least = ma.information_loss(searched, release.labels)
        assert release.loss["IL"] >= at_least * (1 - 1e-9)
        assert scale == "rank" or release.loss["IL"] == pytest.approx(at_least)


@pytest.mark.parametrize("scale", SCALES)
def test_loss_is_never_below_the_bound_beside_it(scale: str) -> None:
    values = np.random.default_rng(1).lognormal(size=(40, 2)) * [1.0, 1000.0]
    release = ma.anonymize(
        values, 4, quasi=[0, 1], scale=scale, effort="prove", precision="full", seed=0
    )
    assert release.bound is not None
    assert release.loss["IL"] >= release.bound.il * (1 - 1e-9)
    assert release.manifest["bound"]["IL"] == release.bound.il


def test_rounding_that_costs_is_noted() -> None:
    table = pa.table({"children": [0, 1, 1, 2, 2, 3]})
    release = ma.anonymize(table, 2, quasi="children", seed=0)
    assert any("rounding raised the loss" in note for note in release.notes)
    exact = ma.anonymize(table, 2, quasi="children", precision="full", seed=0)
    assert not any("rounding raised" in note for note in exact.notes)
    assert not any("precision=" in note for note in release.notes), "what would be refused"


def test_without_a_seed_one_is_drawn() -> None:
    seeds = {ma.anonymize(tables.people(), 3, **ROLES).settings.seed or 0 for _ in range(5)}
    assert len(seeds) == 5
    assert max(seeds) > 2**40


def test_save_returns_what_it_wrote(tmp_path: Path) -> None:
    paths = ma.anonymize(tables.people(), 3, **ROLES, seed=1).save(tmp_path / "out.csv")
    assert sorted(paths) == sorted(tmp_path.iterdir())


def test_the_release_can_be_repeated_from_the_internal_manifest(tmp_path: Path) -> None:
    table = tables.people(50)
    release = ma.anonymize(
        table,
        4,
        **ROLES,
        method="v-mdav",
        gamma=0.4,
        scale="robust",
        precision="full",
        accept_risk="full-precision",
    )
    release.save(tmp_path / "a.csv")
    manifest = json.loads((tmp_path / "a.csv.internal.json").read_text())
    again = ma.anonymize(table, settings=Settings.from_data(manifest["settings"]))
    again.save(tmp_path / "b.csv", keep_order=manifest["rows"] == "kept", **manifest["dialect"])
    assert (tmp_path / "a.csv").read_bytes() == (tmp_path / "b.csv").read_bytes()
    manifest["output"]["file"] = "b.csv"
    assert json.loads((tmp_path / "b.csv.internal.json").read_text()) == manifest


def test_no_release_comes_out_of_a_broken_aggregation(monkeypatch: pytest.MonkeyPatch) -> None:
    def nothing_done(cells: Cells, labels: np.ndarray, **options: Any) -> Aggregated:
        return dataclasses.replace(
            aggregated(cells, labels, **options), _cells=cells, by_group=False
        )

    monkeypatch.setattr("microagg.pipeline.aggregation.aggregated", nothing_done)
    with pytest.raises(ma.GuaranteeError, match="not 4-anonymous"):
        ma.anonymize(tables.people(), 4, **ROLES)


class TestVerifyingWhatIsWritten:
    """save() trusts nothing in memory: it looks at the file."""

    def test_a_table_tampered_with_is_refused(self, tmp_path: Path) -> None:
        release = ma.anonymize(tables.people(), 4, **ROLES, seed=1)
        values = release.table.column("debt").to_numpy().copy()
        values[3] += 0.5
        tampered = dataclasses.replace(
            release, _arrow=release._arrow.set_column(1, "debt", [values])
        )
        with pytest.raises(ma.GuaranteeError, match="not 4-anonymous"):
            tampered.save(tmp_path / "out.csv")
        assert list(tmp_path.iterdir()) == []

    def test_records_left_out_are_still_k_anonymous_or_refused(self, tmp_path: Path) -> None:
        release = ma.anonymize(tables.people(), 4, **ROLES, seed=1)
        fewer = dataclasses.replace(release, _arrow=release._arrow.slice(1))
        with pytest.raises(ma.MicroaggError):
            fewer.save(tmp_path / "out.csv", keep_order=True)
        assert list(tmp_path.iterdir()) == []

    def test_labels_do_not_count(self, tmp_path: Path) -> None:
        """Labels that claim large groups do not help a table, labels that claim small ones do not
        harm it.
        """
        release = ma.anonymize(tables.people(), 4, **ROLES, seed=1)
        release.labels[:] = np.arange(12)
        release.save(tmp_path / "out.csv")
        raw = dataclasses.replace(release, _arrow=tables.people().select(RELEASED))
        release.labels[:] = 0
        with pytest.raises(ma.GuaranteeError):
            raw.save(tmp_path / "raw.csv")

    def test_a_manifest_that_promises_more_is_refused(self, tmp_path: Path) -> None:
        release = ma.anonymize(tables.people(), 4, **ROLES, seed=1)
        bold = dataclasses.replace(
            release, manifest={**release.manifest, "settings": release.settings.but(k=7).as_data()}
        )
        with pytest.raises(ma.GuaranteeError):
            bold.save(tmp_path / "out.csv")


def test_each_file_has_manifests_of_its_own(tmp_path: Path) -> None:
    for k, name in ((3, "out.csv"), (4, "out.parquet")):
        ma.anonymize(tables.people(), k, **ROLES).save(tmp_path / name)
    ks = [
        json.loads((tmp_path / f"{name}.public.json").read_text())["settings"]["k"]
        for name in ("out.csv", "out.parquet")
    ]
    assert ks == [3, 4]


@pytest.mark.parametrize("name", ["out.xls", "out", "out.csv.bz2"])
def test_save_refuses_other_formats(tmp_path: Path, name: str) -> None:
    with pytest.raises(ma.InputError, match="cannot tell the format"):
        ma.anonymize(tables.people(), 3, **ROLES).save(tmp_path / name)
    assert list(tmp_path.iterdir()) == []


def test_cancelled_by_progress() -> None:
    def stop(done: int, total: int) -> None:
        raise ma.Cancelled("enough.")

    with pytest.raises(ma.Cancelled):
        ma.anonymize(tables.people(2000), 3, **ROLES, progress=stop)

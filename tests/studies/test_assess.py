"""Any two tables: matched by order or key, measured, and refused with a clear word where they do
not fit.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import microagg as ma
import tables
from microagg.measures.registry import measures
from microagg.studies.assess import assess, assess_files
from microagg.studies.matching import RowOrder, out_of_order, row_order

N = 60


def original(n: int = N) -> pa.Table:
    return tables.people(n)


def release(k: int = 5, n: int = N) -> pa.Table:
    return ma.anonymize(
        original(n), k, quasi=tables.QUASI, keep=["name", "code"], confidential=["disease"], seed=1
    ).table


def shuffled(table: pa.Table) -> pa.Table:
    return table.take(pa.array(np.random.default_rng(8).permutation(table.num_rows)))


def values(assessment: Any) -> dict[str, float]:
    return {measure.name: figure.value for measure, figure in assessment.figures}


@pytest.mark.slow
def test_all_measures_that_apply_and_the_facts() -> None:
    assessment = assess(
        original(), release(), quasi=tables.QUASI, confidential=["disease"], keep=["code"], k=5
    )
    assert [measure for measure, _ in assessment.figures] == list(measures())
    assert assessment.smallest_class == 5
    assert assessment.classes == 12
    assert assessment.matched_by == "row order"
    assert assessment.known == ("income", "debt")
    assert assessment.notes == ()
    done = ma.anonymize(original(), 5, quasi=tables.QUASI, rest="drop", seed=1)
    assert assessment.figure("il").value == pytest.approx(done.loss["IL"], rel=1e-9)
    with pytest.raises(ma.InputError, match="not part"):
        assess(original(), release(), quasi=tables.QUASI).figure("distinct-l")


def test_identical_tables_lose_nothing() -> None:
    assessment = assess(original(), original(), quasi=tables.QUASI)
    assert assessment.figure("il").value == 0.0
    assert assessment.figure("linkage").value == 100.0


@pytest.mark.parametrize("kind", ["pandas", "polars", "arrow", "mixed"])
def test_tables_of_every_library(kind: str) -> None:
    before, after = original(), release()
    convert = {"pandas": pa.Table.to_pandas, "polars": pl.from_arrow, "arrow": lambda table: table}
    if kind == "mixed":
        pair: tuple[Any, Any] = (before.to_pandas(), pl.from_arrow(after))
    else:
        pair = (convert[kind](before), convert[kind](after))
    assessment = assess(*pair, quasi=tables.QUASI, confidential=["disease"])
    assert values(assessment) == values(
        assess(before, after, quasi=tables.QUASI, confidential=["disease"])
    )


def test_matrices_and_columns_by_number() -> None:
    before = np.random.default_rng(0).normal(size=(N, 3))
    after = ma.anonymize(before, 4, quasi=[0, 1], keep=[2], precision="full", seed=0).table
    assessment = assess(before, after, quasi=[0, 1], confidential=2)
    assert assessment.pair.names == ("0", "1")
    assert list(assessment.pair.confidential) == ["2"]
    assert assessment.smallest_class == 4


@pytest.mark.slow
def test_a_key_finds_the_partner_of_every_record() -> None:
    ordered = assess(original(), release(), quasi=tables.QUASI, confidential=["disease"])
    by_key = assess(
        original(), shuffled(release()), quasi=tables.QUASI, confidential=["disease"], key="name"
    )
    assert by_key.matched_by == "name"
    assert values(by_key) == values(ordered)
    assert by_key.notes == ()
    unrelated = release().set_column(
        1,
        "income",
        original().column("income").take(pa.array(np.random.default_rng(8).permutation(N))),
    )
    assert assess(original(), unrelated, quasi=["income"]).notes == (), "names agree, row by row"
    no_names = [unrelated.drop_columns(["name", "code", "disease"]), original()]
    refused("columns agree overall", no_names[1], no_names[0], quasi=["income"])
    assert assess(original(), unrelated, quasi=["income"], key="name").notes == (), (
        "the key is to be believed"
    )


def test_keys_of_different_types_match_where_they_are_the_same() -> None:
    before = pa.table({"id": pa.array(range(30), pa.int32()), "x": np.arange(30.0)})
    for kind in (pa.int64(), pa.float64(), pa.uint8()):
        after = shuffled(before.set_column(0, "id", before.column("id").cast(kind)))
        assert assess(before, after, quasi=["x"], key="id").figure("il").value == 0.0
    text = before.set_column(0, "id", before.column("id").cast(pa.string()))
    assert assess(before, shuffled(text), quasi=["x"], key="id").figure("il").value == 0.0
    encoded = text.set_column(0, "id", text.column("id").dictionary_encode())
    assert assess(text, shuffled(encoded), quasi=["x"], key="id").figure("il").value == 0.0


def test_a_saved_release_without_a_key_is_refused_before_anything_is_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = tables.write(original(), tmp_path / "in.csv")
    roles: dict[str, Any] = {"quasi": tables.QUASI, "confidential": ["disease"]}
    done = ma.anonymize(original(), 5, **roles, keep=["code"], rest="drop", seed=1)
    for ending in ("csv", "parquet"):
        done.save(tmp_path / f"out.{ending}")
        done.save(tmp_path / f"ordered.{ending}", keep_order=True)
        ordered = assess_files(source, tmp_path / f"ordered.{ending}", **roles)
        assert ordered.notes == ()
        by_key = assess_files(source, tmp_path / f"out.{ending}", **roles, key="code")
        assert values(by_key) == values(ordered)
        with monkeypatch.context() as patch:
            patch.setattr(
                "microagg.studies.assess.assess_pair", lambda *_, **__: pytest.fail("measured")
            )
            for options in (roles, {}, {"quasi": ["debt"]}):
                with pytest.raises(
                    ma.InputError, match=r"'(disease|code)' has the same values.* other rows"
                ) as caught:
                    assess_files(source, tmp_path / f"out.{ending}", **options)
                assert "--key" in str(caught.value)
                assert "--keep-order" in str(caught.value)


def test_where_only_quasi_identifiers_are_shared_the_order_is_judged_by_them(
    tmp_path: Path,
) -> None:
    done = ma.anonymize(original(), 5, quasi=tables.QUASI, rest="drop", seed=1)
    done.save(tmp_path / "out.csv")
    done.save(tmp_path / "ordered.csv", keep_order=True)
    source = tables.write(original(), tmp_path / "in.csv")
    with pytest.raises(ma.InputError, match=r"columns agree overall.*--key.*--keep-order"):
        assess_files(source, tmp_path / "out.csv", quasi=tables.QUASI)
    (note,) = assess_files(source, tmp_path / "ordered.csv", quasi=tables.QUASI).notes
    assert "could not be checked" in note


def order(before: dict[str, Any], after: dict[str, Any]) -> RowOrder:
    frames = (nw.from_native(pa.table(columns), eager_only=True) for columns in (before, after))
    return row_order(*frames, list(before))[0]


def test_what_tells_the_order_of_rows() -> None:
    rng = np.random.default_rng(2)
    unique, moved = np.arange(30), np.arange(30)
    moved[[3, 4]] = moved[[4, 3]]
    sick = np.array(["no"] * 20 + ["yes"] * 10)
    rare = np.array(["no"] * 29 + ["yes"])
    assert order({"a": unique}, {"a": unique}) is RowOrder.SAME
    assert order({"a": unique}, {"a": moved}) is RowOrder.OTHER, "two rows that changed places"
    assert order({"a": unique}, {"a": unique + 1}) is RowOrder.UNKNOWN, "changed on purpose"
    assert order({"a": sick}, {"a": sick}) is RowOrder.SAME
    assert order({"a": sick}, {"a": rng.permutation(sick)}) is RowOrder.OTHER
    assert order({"a": rare}, {"a": rare}) is RowOrder.UNKNOWN, "one in thirty by chance"
    assert order({"a": rare}, {"a": rare[::-1].copy()}) is RowOrder.OTHER
    assert order({"a": ["x"] * 30}, {"a": ["x"] * 30}) is RowOrder.UNKNOWN, "a constant"
    assert (
        order({"a": unique, "b": sick}, {"a": unique, "b": sick[::-1].copy()}) is RowOrder.SAME
    ), "one column was swapped, another shows that records were not"
    assert order({"a": sick, "b": rare}, {"a": sick[::-1].copy(), "b": rare}) is RowOrder.OTHER
    assert order({"a": unique}, {"a": unique.astype(float)}) is RowOrder.SAME
    assert order({"a": unique}, {"a": [str(value) for value in unique]}) is RowOrder.SAME
    gaps = [None, float("nan"), *np.arange(28.0)]
    assert order({"a": gaps}, {"a": gaps}) is RowOrder.SAME
    assert order({"a": gaps}, {"a": gaps[::-1]}) is RowOrder.OTHER
    lists = [[number] for number in range(30)]
    assert order({"a": lists}, {"a": lists[::-1]}) is RowOrder.UNKNOWN, "cannot be compared"
    chunked = pa.chunked_array([pa.array(sick[:7]), pa.array(sick[7:])])
    assert order({"a": chunked.dictionary_encode()}, {"a": sick}) is RowOrder.SAME


def test_what_is_no_disorder() -> None:
    rng = np.random.default_rng(5)
    for n in (2, 19, 20, 300):
        for heavy in (False, True):
            before = np.exp(2.0 * rng.normal(size=(n, 3))) if heavy else rng.normal(size=(n, 3))
            spread = before.std(axis=0)
            for after in (
                before,
                np.tile(before.mean(axis=0), (n, 1)),
                before + spread * rng.normal(size=before.shape),
                1000.0 * before,
                np.zeros_like(before),
            ):
                assert not out_of_order(before, after)
    partly = rng.normal(size=(300, 3))
    swapped = partly.copy()
    swapped[:100] = rng.permutation(partly[:100])
    assert not out_of_order(partly, swapped), "a method may swap a third of the records"
    for n in (100, 300):
        for _ in range(20):
            before = rng.normal(size=(n, 3))
            assert out_of_order(before, rng.permutation(before))


def test_notes_on_missing_anonymity() -> None:
    (note,) = assess(original(), release(5), quasi=tables.QUASI, k=6).notes
    assert note.startswith("NOT 6-anonymous: 60 of 60 records")
    before = pa.table({"age": [30, 31, 32, 60, 61, 80]})
    after = pa.table({"age": [31, 31, 31, 60, 60, 80]})
    for k, records in ((2, 1), (3, 3)):
        notes = assess(before, after, quasi=["age"], k=k).notes
        assert any(f"NOT {k}-anonymous: {records} of 6 records" in note for note in notes)
    even = pa.table({"age": [31, 31, 31, 60, 60, 60]})
    assert not any("anonymous" in note for note in assess(before, even, quasi=["age"], k=3).notes)


def test_quasi_identifiers_are_shared_numbers_unless_named() -> None:
    before = original().append_column("w", pa.array(np.arange(1.0, N + 1)))
    after = release().append_column("w", pa.array(np.arange(1.0, N + 1)))
    assert assess(before, after).pair.names == ("income", "debt", "w")
    assessment = assess(before, after, weight="w")
    assert assessment.pair.names == ("income", "debt")
    assert assessment.pair.weights is not None
    assert assessment.pair.weights.tolist() == list(range(1, N + 1))
    assert (
        assessment.figure("il").value
        != assess(before, after, quasi=tables.QUASI).figure("il").value
    )
    with pytest.raises(ma.InputError, match="share no numeric column"):
        assess(before.select(["name"]), after.select(["name"]))


@pytest.mark.slow
def test_an_intruder_with_less_knowledge() -> None:
    assessment = assess(original(), release(), quasi=tables.QUASI, known=["debt"])
    alone = assess(original(), release(), quasi=["debt"])
    assert assessment.known == ("debt",)
    assert assessment.figure("linkage") == alone.figure("linkage")
    assert assessment.figure("il") != alone.figure("il")


def test_kinds_of_confidential_columns() -> None:
    grades = pd.Categorical(
        ["low", "high", "mid"] * 4, categories=["low", "mid", "high"], ordered=True
    )
    frame = pd.DataFrame(
        {
            "x": np.repeat([1.0, 2.0], 6),
            "grade": grades,
            "wage": np.arange(12),
            "gap": [None, 1.5, 2.5] * 4,
            "sick": [True, False] * 6,
            "note": [None, "a", "b"] * 4,
            "plain": pd.Categorical(["u", "v"] * 6),
        }
    )
    secret = ["grade", "wage", "gap", "sick", "note", "plain"]
    for table in (
        frame,
        pl.from_pandas(frame).with_columns(pl.col("grade").cast(pl.Enum(["low", "mid", "high"]))),
    ):
        pair = assess(table, table, quasi=["x"], confidential=secret).pair
        assert {name: column.tolist() for name, column in pair.ordered.items()} == {
            "grade": [0, 2, 1] * 4
        }
        assert pair.confidential["wage"].dtype == pair.confidential["gap"].dtype == np.float64
        gaps = {name: atoms.tolist() for name, atoms in pair.atoms.items()}
        assert gaps == {"gap": [0, -1, -1] * 4, "note": [0, -1, -1] * 4}
        for name, codes in {
            "sick": [0, 1] * 6,
            "note": [3, 1, 2] * 4,
            "plain": [0, 1] * 6,
        }.items():
            assert pair.confidential[name].dtype == np.int64
            assert pair.confidential[name].tolist() == codes, name


def test_chunked_columns_are_coded_as_a_whole() -> None:
    chunks = pa.chunked_array([["b", "a"], ["a", "c"], ["b", "b"]])
    table = pa.table(
        {"x": [1.0, 1.0, 1.0, 2.0, 2.0, 2.0], "ill": chunks, "town": chunks.dictionary_encode()}
    )
    pair = assess(table, table, quasi=["x"], confidential=["ill"], keep=["town"]).pair
    assert pair.confidential["ill"].tolist() == pair.kept["town"].tolist() == [0, 1, 1, 2, 0, 0]


def test_plain_data_is_finite_and_tells_no_record() -> None:
    assessment = assess(
        original(), release(), quasi=tables.QUASI, confidential=["disease"], keep=["code"], k=5
    )
    text = json.dumps(assessment.as_data(), allow_nan=False)
    data = json.loads(text)
    assert data["records"] == N
    assert {figure["name"] for figure in data["figures"]} == {
        measure.name for measure in measures()
    }
    for figure in data["figures"]:
        assert figure["value"] is not None
        assert figure["unit"]
        assert figure["zero_means"]
    for cell in tables.cells(original()):
        assert cell not in text


@pytest.mark.slow
def test_files(tmp_path: Path) -> None:
    before = tables.write(original(), tmp_path / "before.csv")
    after = tables.write(shuffled(release()), tmp_path / "after.parquet")
    assessment = assess_files(
        before, after, quasi=tables.QUASI, key="name", confidential=["disease"]
    )
    expected = assess(original(), release(), quasi=tables.QUASI, confidential=["disease"])
    assert values(assessment) == values(expected)
    unnamed = assess_files(before, after, key="name", keep=["code"])
    assert unnamed.pair.names == ("income", "debt")


def refused(says: str, before: pa.Table, after: pa.Table, **options: Any) -> None:
    options = {"quasi": tables.QUASI, **options}
    with pytest.raises(ma.InputError) as caught:
        assess(before, after, **options)
    message = str(caught.value)
    assert says in message
    assert message.endswith(".")
    for cell in tables.cells(before) | tables.cells(after):
        assert len(cell) < 4 or cell not in message


def test_tables_that_do_not_fit() -> None:
    before, after = original(), release()
    refused("60 records and the release 59", before, after.slice(1))
    refused("no column 'debt' in the release", before, after.drop_columns(["debt"]))
    refused("no column 'income' in the original", before.drop_columns(["income"]), after)
    refused("no column 'town' in the release", before, after, confidential=["town"])
    refused("no column 'w' in the original", before, after, weight="w")
    refused(
        "column 'code', row 1 (header not counted): text where a number is needed; weights",
        before,
        after,
        weight="code",
    )
    infinite = before.set_column(1, "income", pa.array([float("inf"), *range(1, N)]))
    refused("in the original, column 'income', row 1", infinite, after)
    refused("column 'debt' was given two roles", before, after, confidential=["debt"])
    refused("k must be a whole number", before, after, k=1)
    refused("cannot know 'code'", before, after, known=["code"])
    refused(
        "not greater than 0 in row 3",
        before.append_column("w", pa.array([1, 1, 0] + [2] * (N - 3))),
        after,
        weight="w",
    )
    with pytest.raises(ma.InputError, match="in the release, the table has no records"):
        assess(before, after.slice(0, 0), quasi=tables.QUASI)


def test_lists_are_told_apart_as_well() -> None:
    odd = original().append_column("odd", pa.array([[1], [2, 3]] * (N // 2) + [[1]] * (N % 2)))
    lists = release().append_column("odd", odd.column("odd"))
    figures = {
        m.name: f.value
        for m, f in assess(odd, lists, quasi=tables.QUASI, confidential=["odd"]).figures
    }
    assert 1.0 <= figures["distinct-l"] <= 2.0


def test_keys_that_do_not_fit() -> None:
    before, after = original(), release()
    names = after.column("name").to_pylist()
    position = after.column_names.index("name")

    def with_keys(keys: list[str | None]) -> pa.Table:
        return after.set_column(position, "name", pa.array(keys))

    refused(
        "not unique in the release: 2 of 60",
        before,
        with_keys([names[0], names[0], names[0], *names[3:]]),
        key="name",
    )
    refused("not unique in the original: 57 of 60", before, after, key="disease", confidential=[])
    refused(
        "1 records of the original have no match",
        before,
        with_keys(["somebody", *names[1:]]),
        key="name",
    )
    refused(
        "1 records of the release have no value", before, with_keys([None, *names[1:]]), key="name"
    )
    refused("no column 'id' in the original", before, after, key="id")


def test_files_that_do_not_fit(tmp_path: Path) -> None:
    before = tables.write(original(), tmp_path / "before.csv")
    with pytest.raises(ma.InputError, match=r"^there is no file"):
        assess_files(before, tmp_path / "none.csv", quasi=tables.QUASI)
    odd = release().set_column(1, "income", pa.array(["x", *map(str, range(1, N))]))
    mixed = tables.write(odd, tmp_path / "mixed.csv")
    with pytest.raises(ma.InputError, match=r"mixed.csv': column 'income', row 1"):
        assess_files(mixed, before, quasi=["income"])
    assessment = assess_files(before, mixed, quasi=["income"], measures=["k"])
    assert any("count as new categories: income" in note for note in assessment.notes), (
        "other tools write such"
    )


def test_units_are_counted_in_the_classes_of_a_release() -> None:
    before = pa.table({"age": [30, 31, 32, 60, 61, 62], "home": ["a", "a", "b", "c", "d", "e"]})
    after = pa.table({"age": [31, 31, 31, 61, 61, 61]})
    assessment = assess(before, after, quasi=["age"], unit="home", k=3)
    assert any(
        "1 of 2 classes (3 records) have fewer than 3 different units" in note
        for note in assessment.notes
    )
    few = before.set_column(1, "home", pa.array(list("aabccd")))
    assessment = assess(few, after, quasi=["age"], unit="home", k=3)
    assert any("2 of 2 classes (6 records) have fewer than 3" in note for note in assessment.notes)
    apart = before.set_column(1, "home", pa.array(list("abcdef")))
    assessment = assess(apart, after, quasi=["age"], unit="home", k=3)
    assert any(
        note.startswith("every class has 3 or more different units") for note in assessment.notes
    )
    refused(
        "no column 'home' in the original",
        before.drop_columns(["home"]),
        after,
        unit="home",
        quasi=["age"],
    )
    with pytest.raises(ma.InputError, match="two roles"):
        assess(before, after, quasi=["age"], unit="age")

"""Categories that one record alone has: a column of little else is refused, and a group that shows
one needs the acceptance.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import microagg as ma
import small_blocks
from microagg.pipeline.files import anonymize_file
from microagg.release.true_values import frequencies_in, single_categories
from microagg.table.aggregate import Aggregated
from microagg.table.schema import Kind
from microagg.table.variable import Cells, Variable
from passes import both_ways

N = 60
NAMES = [f"Person {number}" for number in range(N)]
AGES = np.random.default_rng(2).integers(18, 90, N).tolist()
ASKED: dict[str, Any] = {"k": 5, "seed": 1, "effort": "quick"}


def people(**columns: Any) -> pa.Table:
    return pa.table({"age": AGES, **columns})


def towns_of_few(times: int = 1) -> pa.Table:
    """The young have towns of their own, the old share two: groups of the young have nothing but
    values that occur once.
    """
    records = N * times
    young = np.arange(records) < 24 * times
    ages = np.where(young, 20, 80) + np.arange(records) % 3
    towns = [f"t{row}" if young[row] else ("Ulm", "Kiel")[row % 2] for row in range(records)]
    return pa.table({"age": ages, "town": towns})


@pytest.mark.parametrize("kind", ["text", "categories", "ordered"])
def test_names_are_no_quasi_identifier(kind: str) -> None:
    names: Any = pa.array(NAMES)
    if kind != "text":
        places = pa.array(range(N), pa.int32())
        names = pa.DictionaryArray.from_arrays(places, names, ordered=kind == "ordered")
    with pytest.raises(ma.InputError, match="60 of its 60 known values occur only once") as refusal:
        ma.anonymize(people(name=names), quasi=["age", "name"], **ASKED)
    for offer in (
        "an identifier",
        "aggregate={'name': 'generalise'}",
        "accept_risk=['true-values']",
    ):
        assert offer in str(refusal.value)
    assert "Person" not in str(refusal.value)


@pytest.mark.parametrize("aggregate", ["mode", "draw", "medoid"])
def test_whatever_chooses_the_value(aggregate: str) -> None:
    with pytest.raises(ma.InputError, match="occur only once"):
        ma.anonymize(
            people(name=NAMES), quasi=["age", "name"], aggregate={"name": aggregate}, **ASKED
        )


def test_a_hierarchy_or_the_acceptance_allows_it(tmp_path: Path) -> None:
    tree = pd.DataFrame(
        {"name": NAMES, "half": ["A" if row < 30 else "B" for row in range(N)], "top": "*"}
    )
    release = ma.anonymize(
        people(name=NAMES),
        quasi=["age", "name"],
        hierarchy={"name": tree},
        aggregate={"name": "generalise"},
        **ASKED,
    )
    assert not set(release.table.column("name").to_pylist()) & set(NAMES)
    accepted = ma.anonymize(
        people(name=NAMES), quasi=["age", "name"], accept_risk=["true-values"], **ASKED
    )
    accepted.save(tmp_path / "out.csv")


def test_half_of_the_values_is_not_most() -> None:
    towns = [f"t{row}" if row < 30 else "Ulm" for row in range(N)]
    ma.anonymize(people(town=towns), quasi=["age", "town"], **ASKED)
    towns[-1] = "t59"
    with pytest.raises(ma.InputError, match="31 of its 60 known values occur only once"):
        ma.anonymize(people(town=towns), quasi=["age", "town"], **ASKED)


def test_missing_values_are_no_values() -> None:
    towns = [None] * 40 + [f"t{row}" for row in range(12)] + ["Ulm"] * 8
    with pytest.raises(ma.InputError, match="12 of its 20 known values occur only once"):
        ma.anonymize(people(town=towns), quasi=["age", "town"], **ASKED)


def made_of(released: Variable, codes: list[float]) -> Aggregated:
    """Return released cells of one column, of two groups of two records."""
    return Aggregated(
        Cells((released,), np.array(codes)[:, None]),
        ("draw",), [None], np.ones((2, 1), bool), (0,), (0,), np.array([0, 0, 1, 1]), None,
    )  # fmt: skip


@pytest.mark.parametrize(("alone", "count"), [("Ulm", 1), (None, 0)])
def test_a_single_missing_value_is_no_true_value(alone: str | None, count: int) -> None:
    """A group shows what one record alone has: its town, or that the town is missing."""
    towns = Variable("town", Kind.NOMINAL, ("Kiel", "Ulm", None))
    code = float(towns.levels.index(alone))
    original = Cells((towns,), np.array([[0.0], [0.0], [code], [0.0]]))
    made = made_of(towns, [0.0, 0.0, code, code])
    assert single_categories(made, frequencies_in(original)) == ((count,), 2)


def test_a_common_ancestor_is_no_true_value() -> None:
    """Its code is one among ancestors, not that of the town which one record alone has."""
    towns = Variable("town", Kind.NOMINAL, ("Kiel", "Ulm"))
    original = Cells((towns,), np.array([[0.0], [0.0], [1.0], [0.0]]))
    regions = Variable("town", Kind.NOMINAL, ("north", "south"), coarse=True)
    made = made_of(regions, [0.0, 0.0, 1.0, 1.0])
    assert single_categories(made, frequencies_in(original)) == ((0,), 2)


def test_numbers_held_as_strings_are_recognised() -> None:
    table = pd.DataFrame(
        {"age": AGES, "income": [str(1000 + 7.5 * row) for row in range(N)]}, dtype=object
    )
    table["age"] = AGES
    with pytest.raises(
        ma.InputError, match=r"its values are numbers, so say kinds=\{'income': 'numeric'\}"
    ):
        ma.anonymize(table, quasi=["age", "income"], **ASKED)
    release = ma.anonymize(table, quasi=["age", "income"], kinds={"income": "numeric"}, **ASKED)
    assert release.loss["IL"] < 20.0


def test_a_file_is_refused_too(tmp_path: Path) -> None:
    source = tmp_path / "in.csv"
    source.write_text(
        "age,name\n" + "".join(f"{age},{name}\n" for age, name in zip(AGES, NAMES, strict=True))
    )
    with pytest.raises(ma.InputError, match="occur only once"):
        anonymize_file(source, tmp_path / "out.csv", quasi=["age", "name"], **ASKED)
    assert [path.name for path in tmp_path.iterdir()] == ["in.csv"]


def test_a_mode_that_one_record_alone_has_must_be_accepted(tmp_path: Path) -> None:
    release = ma.anonymize(towns_of_few(), quasi=["age", "town"], **ASKED)
    assert any("'town' by mode (in" in note for note in release.notes)
    with pytest.raises(ma.InputError, match="true-values"):
        release.save(tmp_path / "out.csv")
    assert not list(tmp_path.iterdir())
    accepted = ma.anonymize(
        towns_of_few(), quasi=["age", "town"], accept_risk=["true-values"], **ASKED
    )
    accepted.save(tmp_path / "out.csv")
    assert accepted.table.equals(release.table)


def test_a_mode_is_one_that_others_have_too_where_there_is_one(tmp_path: Path) -> None:
    """Where all values of a group differ, the one that most records of the table have is
    released.
    """
    towns = ["rare a", "rare b", "rare c", "rare d", *["Ulm"] * 6]
    table = pa.table({"age": [20] * 5 + [70] * 5, "town": towns})
    release = ma.anonymize(table, quasi=["age", "town"], k=5, method="mdav", seed=1)
    assert set(release.table.column("town").to_pylist()) == {"Ulm"}
    release.save(tmp_path / "out.csv")


@pytest.mark.slow
def test_beyond_memory_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small_blocks.make_small(monkeypatch.setattr)
    table, settings = towns_of_few(20), {**ASKED, "quasi": ["age", "town"], "date": "2026-01-01"}
    accepted = {**settings, "accept_risk": ["true-values"]}
    in_memory, out_of_core, _ = both_ways(tmp_path, monkeypatch, table, **accepted)
    assert in_memory["out.parquet"] == out_of_core["out.parquet"]
    target = tmp_path / "refused" / "out.parquet"
    target.parent.mkdir()
    with pytest.raises(ma.InputError, match="true-values"):
        anonymize_file(tmp_path / "in.parquet", target, memory=1, **settings)
    assert not list(target.parent.iterdir())
    names = table.set_column(1, "town", pa.array([f"t{row}" for row in range(len(table))]))
    pa.parquet.write_table(names, tmp_path / "names.parquet")
    with pytest.raises(ma.InputError, match=r"1,200 of its 1,200 known values occur only once"):
        anonymize_file(tmp_path / "names.parquet", target, memory=1, **settings)


def test_the_estimator_refuses_both() -> None:
    pytest.importorskip("sklearn")
    frame = pd.DataFrame({"age": AGES, "name": NAMES})
    with pytest.raises(ma.InputError, match="occur only once"):
        ma.Microaggregator(k=5, random_state=1).fit(frame)
    with pytest.raises(ma.InputError, match="true-values"):
        ma.Microaggregator(k=5, random_state=1).fit(towns_of_few().to_pandas())


def test_numbers_as_text_that_many_share_are_told_about() -> None:
    ages = [str(30 + row % 25) for row in range(N)]
    release = ma.anonymize(
        pa.table({"age": ages}), quasi=["age"], accept_risk=["true-values"], **ASKED
    )
    assert any("'age' holds numbers as text" in note for note in release.notes)
    declared = ma.anonymize(pa.table({"age": ages}), quasi=["age"], nominal=["age"], **ASKED)
    assert not any("holds numbers as text" in note for note in declared.notes)
    codes = ma.anonymize(
        pa.table({"code": [str(row % 5) for row in range(N)]}), quasi=["code"], **ASKED
    )
    assert not any("holds numbers as text" in note for note in codes.notes)

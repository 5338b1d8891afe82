"""l and t count values, not spellings."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import microagg as ma
from microagg.files.reading import read_table
from microagg.measures.measure import Pair
from microagg.pipeline.files import anonymize_file
from microagg.studies.assess import assess
from microagg.table.confidential import attributes_of
from microagg.table.normalise import normalise
from microagg.table.schema import Kind

SPELLINGS = [
    ("HIV", "hiv", "HIV ", " HIV", "ＨＩＶ"),
    ("100", "100.0", "1e2", "+100", "100.", " 100 ", "１００"),
    ("straße", "STRASSE", "Strasse"),
    ("type  2", "Type 2", "type\t2", "type\u00a02"),
    ("ﬁbrosis", "fibrosis"),
    ("0", "-0.0", "0.00"),
]


@pytest.mark.parametrize("same", SPELLINGS)
def test_spellings_are_one_value(same: tuple[str, ...]) -> None:
    assert len(set(map(normalise, same))) == 1
    table = pa.table({"age": [1] * len(same), "ill": list(same)})
    assert not ma.check(table, ["age"], 2, ["ill"], l=2).holds
    assert ma.check(table, ["age"], 2, ["ill"], l=2, exact=True).holds == (len(set(same)) > 1)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("HIV", "HIV-2"),
        ("007", "7"),
        ("1", "10"),
        ("a b", "ab"),
        ("résumé", "resume"),
        ("", "0"),
        ("9007199254740993", "9007199254740992"),
        ("9" * 400, "8" * 400),
    ],
)
def test_other_values_stay_apart(one: str, other: str) -> None:
    assert normalise(one) != normalise(other)
    assert ma.check(pa.table({"age": [1, 1], "ill": [one, other]}), ["age"], 2, ["ill"], l=2).holds


def test_a_gap_is_apart_from_all_values_and_none_itself() -> None:
    attribute = attributes_of(pa.table({"ill": ["", None, " ", "x"]}), ["ill"])[0]
    assert (attribute.distinct, attribute.known, attribute.spellings) == (3, 2, 1)
    assert attribute.codes[1] == 2


def test_categories_have_spellings_too() -> None:
    for ordered in (False, True):
        ills = pd.Categorical(
            ["hiv", "HIV", "flu"], categories=["hiv", "flu", "HIV"], ordered=ordered
        )
        attribute = attributes_of(pa.Table.from_pandas(pd.DataFrame({"ill": ills})), ["ill"])[0]
        assert attribute.kind is (Kind.ORDINAL if ordered else Kind.NOMINAL)
        assert (attribute.distinct, attribute.spellings) == (2, 1)


ILLS = ["HIV", "hiv", "HIV ", "flu", "cold", "Flu"] * 4


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_releases_checks_and_measures_agree(tmp_path: Path, suffix: str) -> None:
    table = pa.table({"age": [float(i) for i in range(24)], "ill": ILLS})
    release = ma.anonymize(table, 3, ["age"], confidential=["ill"], l=3, method="mdav", seed=1)
    release.save(tmp_path / f"out{suffix}", keep_order=True)
    written = read_table(tmp_path / f"out{suffix}")
    assert ma.check(written, ["age"], 3, ["ill"], l=3).holds
    ages, meanings = np.array(release.table["age"]), [normalise(text) for text in ILLS]
    least = min(len({meanings[i] for i in np.flatnonzero(ages == age)}) for age in set(ages))
    assert least >= 3
    assert release.risk["distinct-l"] == least
    assert (
        assess(table, written, quasi=["age"], confidential=["ill"]).figure("distinct-l").value
        == least
    )
    assert written.column("ill").to_pylist() == ILLS, "to the letter"
    notes = [note for note in release.notes if "several ways" in note]
    assert len(notes) == 1
    assert "'ill'" in notes[0]
    assert " 3 of its texts" in notes[0]
    assert not any(
        text.strip().lower() in notes[0].lower().replace("'ill'", "") for text in ("HIV", "flu")
    )


def test_to_the_letter_if_asked() -> None:
    table = pa.table({"age": [float(i) for i in range(24)], "ill": ILLS})
    exact = ma.anonymize(
        table, 3, ["age"], confidential=["ill"], l=3, exact=True, method="mdav", seed=1
    )
    assert len(exact.anonymity.sizes) == 8
    assert exact.risk["distinct-l"] >= 3
    assert exact.settings.exact is True
    assert exact.public_manifest["settings"]["exact"] is True
    assert any("nearly the same as another one" in note for note in exact.notes)


def test_texts_that_are_much_alike_are_told_of() -> None:
    table = pa.table({"age": [1.0, 2, 3, 4], "ill": ["Sjögren", "Sjogren", "flu.", "flu"]})
    release = ma.anonymize(table, 2, ["age"], confidential=["ill"], method="mdav", seed=1)
    assert any("2 texts that are nearly the same as another one" in note for note in release.notes)


def test_a_csv_column_is_what_it_means(tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text(
        "age,wage,code,odd\n1,2000.00,007,1\n2,0.0,012,2\n3,12.50,100,x\n4,+7,1,3\n"
    )
    table = read_table(tmp_path / "in.csv")
    assert table.column("wage").to_pylist() == ["2000.00", "0.0", "12.50", "+7"], "to the letter"
    kinds = [attribute.kind for attribute in attributes_of(table, ["age", "wage", "code", "odd"])]
    assert kinds == [Kind.NUMERIC, Kind.NUMERIC, Kind.NOMINAL, Kind.NOMINAL]
    typed = pa.table({"wage": ["2000.00", "0.0"]})
    assert attributes_of(typed, ["wage"])[0].kind is Kind.NOMINAL, (
        "a type that somebody chose counts"
    )


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_how_numbers_are_written_makes_no_difference_to_t(tmp_path: Path, suffix: str) -> None:
    rng = np.random.default_rng(5)
    ages, wages = np.arange(90), rng.permutation(90) * 25
    for name, form in (("plain", "{}"), ("money", "{:.2f}")):
        rows = "".join(
            f"{age},{form.format(wage)}\n" for age, wage in zip(ages, wages, strict=True)
        )
        (tmp_path / f"{name}.csv").write_text("age,wage\n" + rows)
    plain, money = (
        anonymize_file(
            tmp_path / f"{name}.csv",
            tmp_path / f"{name}-out{suffix}",
            3,
            quasi=["age"],
            confidential=["wage"],
            t=0.2,
            method="mdav",
            seed=1,
        )
        for name in ("plain", "money")
    )
    assert np.array_equal(plain.labels, money.labels)
    assert plain.manifest["guarantee"]["t"] == money.manifest["guarantee"]["t"]
    assert len(plain.anonymity.sizes) > 5
    assert plain.risk == money.risk
    assert isinstance(money.pair, Pair)
    written = read_table(tmp_path / f"money-out{suffix}").column("wage").to_pylist()
    letters, values = sorted(f"{wage:.2f}" for wage in wages), sorted(map(float, wages))
    assert sorted(written) == (letters if suffix == ".csv" else values)


def test_meanings_of_many_texts_are_those_of_each() -> None:
    """Texts put together of what is odd about texts, against one after another."""
    pieces = [
        "a",
        "B",
        " ",
        "  ",
        "\t",
        "\x0b",
        "\x1f",
        "\x00",
        "\x85",
        "\u00a0",
        "ß",
        "Ｂ",
        "1",
        "0",
        "１",
        ".",
        "e2",
        "+",
        "-",
        "\n",
    ]
    rng = np.random.default_rng(14)
    texts = ["".join(rng.choice(pieces, rng.integers(0, 5))) for _ in range(3000)] + [
        None,
        " 0",
        "0",
        "\x000",
    ]
    distinct = list(dict.fromkeys(texts))
    firsts: dict[object, int] = {}
    for text in distinct:
        firsts.setdefault(None if text is None else (normalise(text),), len(firsts))
    (attribute,) = attributes_of(pa.table({"ill": texts}), ["ill"])
    expected = [firsts[None if text is None else (normalise(text),)] for text in texts]
    # what is missing is no value
    known = [row for row, text in enumerate(texts) if text is not None]
    _, numbers = np.unique(
        attribute.values[known], return_inverse=True
    )  # places of firsts, which ascend with them
    assert numbers.tolist() == [expected[row] - (expected[row] > firsts[None]) for row in known]
    assert attribute.spellings == len(distinct) - len(firsts)

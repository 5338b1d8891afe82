"""Made-up tables: the same everywhere and in any chunks, with every kind of column, and
plausible.
"""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa
import pytest

import microagg as ma
from microagg.datasets import companies, households, in_chunks, residents
from microagg.datasets.runs import RUN, Draws, bits
from microagg.kernels import random
from microagg.release.manifest import digest_of

TABLES = {"residents": residents, "households": households, "companies": companies}


def test_the_numbers_are_those_of_the_kernel() -> None:
    one, other = random.seeded(3, "x"), random.seeded(3, "x")
    drawn = [*bits(one, 5).tolist(), *bits(one, 4).tolist()]
    assert drawn == [int(random.next_integer(other)) for _ in range(9)]
    assert one[0] == other[0]


def test_the_public_room() -> None:
    import microagg.datasets.persons as room  # importing the file must not hide the function

    assert callable(ma.datasets.persons)
    assert room is not None
    assert set(ma.datasets.__all__) == {
        "companies",
        "households",
        "in_chunks",
        "persons",
        "residents",
    }
    assert ma.datasets.persons(4).num_rows == 4


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("n", [0, 1, 2, 7, 999, 1000, 1001, 3456])
def test_sizes_and_prefixes(name: str, n: int) -> None:
    table = TABLES[name](n)
    assert table.num_rows == n
    assert table.schema == TABLES[name](1).schema
    assert table.equals(TABLES[name](5000).slice(0, n))


@pytest.mark.parametrize("name", TABLES)
def test_seeds(name: str) -> None:
    make = TABLES[name]
    assert digest_of(make(1500)) == digest_of(make(1500))
    assert digest_of(make(1500, seed=2)) != digest_of(make(1500))
    assert not make(2000).slice(0, RUN).equals(make(2000).slice(RUN)), "runs must differ"


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("chunk", [97, 1000, 1234, 10_000])
def test_chunks_of_any_size_make_the_same_table(name: str, chunk: int) -> None:
    pieces = list(in_chunks(name, 3100, seed=4, chunk=chunk))
    assert [piece.num_rows for piece in pieces[:-1]] == [chunk] * (math.ceil(3100 / chunk) - 1)
    assert pa.concat_tables(pieces).equals(TABLES[name](3100, seed=4))


@pytest.mark.parametrize("name", TABLES)
def test_large_ones(name: str) -> None:
    table = TABLES[name](10_000)
    assert table.num_rows == 10_000
    for column in table.columns:
        assert column.null_count < 6000


def test_what_cannot_be_made() -> None:
    with pytest.raises(
        ma.InputError, match="'persons' does not come in chunks; companies, households"
    ):
        in_chunks("persons", 10)
    with pytest.raises(ma.InputError, match="n must be a whole number from 0 on"):
        residents(-1)
    with pytest.raises(ma.InputError, match="n must be a whole number"):
        residents(2.5)  # type: ignore[arg-type]
    with pytest.raises(ma.InputError, match="chunk must be a whole number from 1 on"):
        in_chunks("companies", 10, chunk=0)


def test_draws_are_spread_as_they_say() -> None:
    draws = [Draws("test", 1, run) for run in range(50)]
    normal = np.concatenate([draw.normal("a") for draw in draws])
    assert abs(normal.mean()) < 0.02
    assert abs(normal.std() - 1.0) < 0.02
    whole = np.concatenate([draw.whole("b", 3, 7) for draw in draws])
    assert np.abs(np.bincount(whole, minlength=8)[3:] / len(whole) - 0.2).max() < 0.01
    chosen = np.concatenate([draw.chosen("c", (1, 0, 3)) for draw in draws])
    assert np.abs(np.bincount(chosen) / len(chosen) - [0.25, 0.0, 0.75]).max() < 0.01
    assert abs(np.mean([draw.happens("d", 12.5).mean() for draw in draws]) - 0.125) < 0.01
    assert abs(np.corrcoef(normal, whole)[0, 1]) < 0.02, "each purpose has its own numbers"


def test_residents_have_every_kind() -> None:
    table = residents(10_000)
    types = {table.schema.field(name).type.id for name in table.column_names}
    assert {pa.string().id, pa.date32().id, pa.bool_().id, pa.int64().id, pa.float64().id} <= types
    assert pa.types.is_decimal(table.schema.field("rent").type)
    education = table.schema.field("education").type
    assert pa.types.is_dictionary(education)
    assert education.ordered
    assert len(set(table.column("person").to_pylist())) == table.num_rows
    for name, low, high in (
        ("income", 0.07, 0.09),
        ("education", 0.02, 0.04),
        ("marital", 0.01, 0.03),
    ):
        assert low < table.column(name).null_count / table.num_rows < high, name
    works, commute = table.column("works"), table.column("commute_km")
    known = works.is_valid().to_numpy()
    assert (commute.is_valid().to_numpy() == works.to_numpy())[known].all(), "who works commutes"
    dates = table.to_pandas()
    assert ((dates["born"] <= dates["moved_in"]) | dates["moved_in"].isna()).all()
    married = np.array(table.column("marital").to_pylist()) == "married"
    assert 0.3 < married.mean() < 0.7


def test_households_are_a_survey() -> None:
    table = households(10_000)
    frame = table.to_pandas()
    by_home = frame.groupby("household")
    assert (by_home["region"].nunique() == 1).all()
    assert (by_home["weight"].nunique() == 1).all()
    assert (by_home["interviewed"].nunique() == 1).all()
    sizes = by_home.size()
    assert sizes.max() <= 6
    assert 0.3 < (sizes == 1).mean() < 0.46
    assert abs(frame["weight"].sum() / len(frame) - 400.0) < 20.0
    by_region = frame.groupby("region")["weight"].sum() / frame["weight"].sum()
    assert 0.26 < by_region["Capital"] < 0.36
    assert 0.06 < by_region["Hills"] < 0.12
    assert ((frame["hours"] == 97) == frame["occupation"].isna()).all(), "no work, no hours"
    for name in ("hours", "age_first_job"):
        answered = frame[name][~frame[name].isin([97, 98])]
        assert answered.max() < 97, "a code must not be an answer"
        assert 0.005 < (frame[name] == 98).mean() < 0.05
    assert 0.09 < frame["income"].isna().mean() < 0.13


def test_companies_have_heavy_tails() -> None:
    frame = companies(10_000).to_pandas()
    turnover = np.sort(frame["turnover"].to_numpy())
    assert turnover[-100:].sum() > 0.4 * turnover.sum(), "a hundredth has much of it all"
    assert (frame["employees"] >= 1).all()
    assert 1.5 < np.median(frame["employees"]) < 3.0
    assert (frame["exports"].dropna() >= 0).all()
    assert 0.1 < (frame["profit"] < 0).mean() < 0.45
    assert (frame["exports"].isna() | (frame["exports"] <= frame["turnover"])).all()
    assert frame["sector"].nunique() == 15
    assert frame["region"].nunique() == 5

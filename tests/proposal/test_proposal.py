"""Proposals: what is never published, what is asked about, and that spelling makes no
difference.
"""

from __future__ import annotations

import html
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import microagg as ma
from microagg.proposal.open_codes import settled
from microagg.proposal.proposal import Proposal, propose_for_file
from microagg.proposal.rules import proposal_from
from microagg.table.columns.profile import ColumnProfile
from microagg.table.schema import Kind

N = 240
RNG = np.random.default_rng(5)
LETTERS = np.array(list("abcdefghijklmnopqrstuvwxyz"))


def words(different: int) -> list[str]:
    """Made-up words, so many different ones; as names they repeat."""
    pool = ["".join(RNG.choice(LETTERS, 7)).title() for _ in range(different)]
    return [pool[i] for i in RNG.integers(0, different, N)]


def numbers(least: int, most: int) -> list[int]:
    return RNG.integers(least, most, N).tolist()


# what no proposal may publish, as tables hold it: with repetitions, as numbers, as text
PRIVATE: dict[str, Callable[[], list[Any]]] = {
    "person": lambda: words(30),
    "rare": lambda: words(2 * N),
    "e-mail": lambda: [f"{word}@example.org" for word in words(40)],
    "phone": lambda: [f"+49 170 {number}" for number in numbers(10**6, 10**7)],
    "digits": lambda: numbers(10**8, 10**9),
    "address": lambda: [
        f"{word} {number}" for word, number in zip(words(50), numbers(1, 99), strict=True)
    ],
    "account": lambda: [f"DE{number:020d}" for number in numbers(10**15, 10**16)],
    "panel": lambda: [i // 4 for i in range(N)],
}
HEADERS: dict[str, dict[str, str]] = {
    "English": {
        "surname": "person",
        "first name": "rare",
        "Email": "e-mail",
        "home address": "address",
        "ssn": "digits",
        "passport no": "digits",
    },
    "German": {
        "Nachname": "person",
        "Vorname": "rare",
        "E-Mail-Adresse": "e-mail",
        "Telefon": "phone",
        "Straße": "address",
        "Steuernummer": "digits",
    },
    "French": {
        "nom": "person",
        "prénom": "rare",
        "courriel": "e-mail",
        "téléphone": "phone",
        "adresse": "address",
        "n° de passeport": "digits",
    },
    "Spanish": {
        "apellidos": "person",
        "nombre": "rare",
        "correo": "e-mail",
        "móvil": "digits",
        "dirección": "address",
        "DNI": "digits",
    },
    "Italian": {
        "cognome": "person",
        "nome": "rare",
        "email": "e-mail",
        "telefono": "digits",
        "indirizzo": "address",
        "codice_fiscale": "rare",
    },
    "Portuguese": {
        "sobrenome": "person",
        "Nome": "rare",
        "telefone": "phone",
        "endereço": "address",
        "CPF": "digits",
        "NIF": "digits",
    },
    "Dutch": {
        "achternaam": "person",
        "voornaam": "rare",
        "telefoon": "digits",
        "adres": "address",
        "BSN": "digits",
        "iban": "account",
    },
    "Polish": {
        "nazwisko": "person",
        "imię": "rare",
        "telefon": "phone",
        "ulica": "address",
        "PESEL": "digits",
        "id": "panel",
    },
    "Russian": {
        "фамилия": "person",
        "имя": "rare",
        "телефон": "phone",
        "адрес": "address",
        "ИНН": "digits",
        "user_id": "panel",
    },
    "nothing said": {
        "V1": "rare",
        "V2": "e-mail",
        "V3": "phone",
        "V4": "account",
        "V5": "digits",
        "religion": "rare",
    },
}
OTHERS = {
    "age": lambda: numbers(18, 90),
    "Einkommen": lambda: numbers(10, 99),
    "sexe": lambda: words(2),
}


@pytest.mark.parametrize("language", HEADERS)
def test_what_names_somebody_is_never_published(language: str, tmp_path: Path) -> None:
    columns = {
        **{name: PRIVATE[what]() for name, what in HEADERS[language].items()},
        **{name: make() for name, make in OTHERS.items()},
    }
    table = pa.table(columns)
    pd.DataFrame(columns).to_csv(tmp_path / "in.csv", index=False)
    for proposal in (
        ma.propose(table),
        ma.propose(pd.DataFrame(columns)),
        propose_for_file(tmp_path / "in.csv"),
    ):
        for name, what in HEADERS[language].items():
            unclear = name == "V5"  # whole numbers that nearly all differ, and no name that says so
            assert proposal.roles[name] == ("quasi" if unclear else "identifier"), (
                name,
                what,
                proposal.reasons[name],
            )
            assert (name in asked_about(proposal, "amounts")) is unclear
        assert {name: proposal.roles[name] for name in OTHERS} == {
            "age": "quasi",
            "Einkommen": "confidential",
            "sexe": "quasi",
        }


def asked_about(proposal: Proposal, about: str) -> tuple[str, ...]:
    return tuple(
        name
        for question in proposal.questions
        if question.about == about
        for name in question.columns
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "roles"),
    [
        (
            "persons",
            {"person": "identifier", "income": "confidential", "diagnosis": "confidential"},
        ),
        (
            "residents",
            {
                "person": "identifier",
                "e_mail": "identifier",
                "income": "confidential",
                "diagnosis": "confidential",
            },
        ),
        ("households", {"household": "unit", "income": "confidential", "health": "confidential"}),
        ("companies", {"company": "identifier"}),
    ],
)
def test_made_up_tables(name: str, roles: dict[str, str]) -> None:
    proposal = ma.propose(getattr(ma.datasets, name)(1000))
    for column, role in proposal.roles.items():
        assert role == roles.get(column, "quasi"), (column, proposal.reasons[column])
    assert asked_about(proposal, "weight") == (("weight",) if name == "households" else ())
    assert asked_about(proposal, "codes") == (("sector",) if name == "companies" else ())


TABLES: dict[str, tuple[dict[str, str], set[str]]] = {
    "adult": ({"salary-class": "confidential"}, set()),
    "chile": ({"income": "confidential", "vote": "confidential"}, {"population", "income"}),
    "slid": ({"wages": "confidential"}, set()),
    "testdata": (
        {
            "income": "confidential",
            "ori_hid": "unit",
            "sampling_weight": "weight",
            "household_weights": "identifier",
        },
        {"urbrur", "roof", "walls", "water", "electcon", "relat", "sex", "hhcivil"},
    ),
    "free1": (
        {"INCOME": "confidential", "DEBTS": "confidential"},
        {"SEX", "REGION", "MARSTAT", "OCCUCODE", "ETNI"},
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", TABLES)
def test_tables_as_they_are(name: str, reference_data: Path) -> None:
    """No column of these names somebody; what is neither named nor a unit or weight can be found by
    others.
    """
    roles, codes = TABLES[name]
    path = reference_data / "tables" / f"{name}.csv"
    if not path.exists():
        pytest.skip(f"the reference data lack tables/{name}.csv")
    for proposal in (propose_for_file(path), ma.propose(pd.read_csv(path))):
        for column, role in proposal.roles.items():
            assert role == roles.get(column, "quasi"), (column, proposal.reasons[column])
        assert codes <= set(proposal.asked)
        assert name == "free1" or codes == set(proposal.asked)
        if name == "testdata":
            assert "expend" in asked_about(proposal, "money"), "unique amounts were not asked about"
            assert asked_about(proposal, "second weight") == ("household_weights",)
        if name == "free1":
            assert asked_about(proposal, "weight") == ("WEIGHT",)


# spellings

SPELLED = {
    "age": numbers(18, 90),
    "sex": numbers(1, 3),
    "tenure": [round(value / 7, 2) for value in numbers(0, 300)],
    "identity": (10**8 + RNG.permutation(N)).tolist(),
    "expend": (10**6 + 1009 * RNG.permutation(N)).tolist(),
    "salary": numbers(1000, 9000),
    "town": words(6),
}
HAS_GAP = {name: RNG.random(N) < 0.1 for name in SPELLED}


def spelled(write: Callable[[Any], str], gap: str | None) -> dict[str, list[str | None]]:
    """The same table as text, every value and every gap written in some way."""
    return {
        name: [
            gap if gone else write(value) for value, gone in zip(values, HAS_GAP[name], strict=True)
        ]
        for name, values in SPELLED.items()
    }


def same(proposal: Proposal) -> tuple[Any, ...]:
    return proposal.roles, proposal.kinds, proposal.reasons, proposal.questions, str(proposal)


WAYS: list[Callable[[Any], str]] = [
    str,
    lambda value: (
        f"{value:.2f}"
        if isinstance(value, float)
        else f"{value}.0"
        if isinstance(value, int)
        else value
    ),
    lambda value: f"{value} ",
    lambda value: value if isinstance(value, str) else f" +{value}",
    lambda value: value if isinstance(value, str) else repr(float(value)),
]


@pytest.mark.parametrize("gap", ["", "NA", ".", "NaN", "n/a"])
@pytest.mark.parametrize("way", range(len(WAYS)))
def test_spelling_makes_no_difference(gap: str, way: int, tmp_path: Path) -> None:
    cells = spelled(WAYS[way], gap)
    rows = zip(*cells.values(), strict=True)
    (tmp_path / "in.csv").write_text(
        "\n".join([",".join(cells), *(",".join(map(str, row)) for row in rows)]) + "\n"
    )
    expected = same(ma.propose(typed_table()))
    assert same(propose_for_file(tmp_path / "in.csv")) == expected
    assert same(ma.propose(pl.DataFrame(cells))) == expected
    assert same(ma.propose(pa.table(spelled(WAYS[way], None)))) == expected
    assert same(ma.propose(pd.read_csv(tmp_path / "in.csv"))) == expected


def typed_table() -> pa.Table:
    return pa.table(
        {name: pa.array(values, mask=HAS_GAP[name]) for name, values in SPELLED.items()}
    )


def test_what_the_spelled_table_is_proposed_to_be() -> None:
    proposal = ma.propose(typed_table())
    assert proposal.roles == {
        "age": "quasi",
        "sex": "quasi",
        "tenure": "quasi",
        "identity": "identifier",
        "expend": "quasi",
        "salary": "confidential",
        "town": "quasi",
    }
    assert proposal.asked == ("sex",)
    assert asked_about(proposal, "money") == ("expend",)
    assert proposal.kinds["tenure"] == "numeric"


# single rules


def one(name: str, **facts: Any) -> tuple[str, tuple[str, ...]]:
    """The role of one column, and what is asked about it."""
    look = ColumnProfile(
        name,
        **{
            "kind": Kind.NUMERIC,
            "records": 100,
            "values": 100,
            "distinct": 40,
            "whole": True,
            "span": 1e4,
            **facts,
        },
    )
    proposal = proposal_from([look])
    return proposal.roles[name], tuple(question.about for question in proposal.questions)


TEXT = {"kind": Kind.NOMINAL, "text": True, "whole": False}


@pytest.mark.parametrize(
    ("name", "facts", "role", "questions"),
    [
        ("x", {}, "quasi", ()),
        ("x", {"distinct": 12}, "quasi", ("codes",)),
        ("x", {"distinct": 13}, "quasi", ()),
        ("x", {"distinct": 12, "whole": False}, "quasi", ()),
        ("x", {"distinct": 1}, "quasi", ()),
        ("occupation", {}, "quasi", ("codes",)),
        ("x", {"distinct": 95}, "quasi", ("amounts",)),
        ("x", {"distinct": 94}, "quasi", ()),
        ("x", {"distinct": 95, "span": 200}, "identifier", ()),
        ("x", {"distinct": 95, "span": 201}, "quasi", ("amounts",)),
        ("age", {"distinct": 95, "span": 100}, "quasi", ("amounts",)),
        ("x", {"distinct": 95, "whole": False}, "quasi", ()),
        ("number", {"distinct": 95}, "identifier", ()),
        ("number", {}, "identifier", ("keys",)),
        ("tax", {"distinct": 95}, "identifier", ()),
        ("tax", {}, "quasi", ("money",)),
        ("rent", {}, "quasi", ("money",)),
        ("rent", {"distinct": 100}, "quasi", ("money",)),
        ("income", {"distinct": 100}, "confidential", ()),
        ("religion", {"distinct": 5}, "confidential", ("codes",)),
        ("x", {**TEXT, "single": 5}, "quasi", ()),
        ("x", {**TEXT, "single": 6}, "identifier", ()),
        ("disease", {**TEXT, "single": 5}, "confidential", ()),
        ("disease", {**TEXT, "single": 6}, "identifier", ()),
        ("x", {**TEXT, "distinct": 95, "single": 90}, "identifier", ()),
        ("x", {**TEXT, "like": "e-mail addresses"}, "identifier", ()),
        ("household", {}, "unit", ()),
        ("household", {"values": 99}, "unit", ("gaps in the unit",)),
        ("household", {"distinct": 100}, "identifier", ()),
        ("company", {**TEXT, "distinct": 100}, "identifier", ()),
        ("company", TEXT, "unit", ()),
        ("sampling_weight", {"positive": True}, "weight", ()),
        ("sampling_weight", {"positive": True, "values": 99}, "weight", ("gaps in the weight",)),
        ("sampling_weight", {"positive": False}, "quasi", ()),
        ("weight", {"positive": True}, "quasi", ("weight",)),
        ("stratum", {"distinct": 5}, "stratum", ()),
        ("stratum", {"distinct": 6}, "quasi", ("codes",)),
        ("has_phone", {**TEXT, "distinct": 2}, "quasi", ()),
        ("person", TEXT, "identifier", ("keys",)),
        ("person", {}, "identifier", ("keys",)),
        ("student", {**TEXT, "distinct": 2}, "quasi", ()),
        ("phones", {"distinct": 4}, "quasi", ("codes",)),
        ("phone", {}, "identifier", ()),
        ("x", {"values": 0, "distinct": 0}, "identifier", ()),
        ("x", {"readable": False}, "identifier", ()),
        ("passport_expiry", {"dates": True, "whole": False}, "quasi", ()),
    ],
)
def test_rules(name: str, facts: dict[str, Any], role: str, questions: tuple[str, ...]) -> None:
    assert one(name, **facts) == (role, questions)


def test_there_is_one_weight_and_one_unit() -> None:
    facts: dict[str, Any] = {
        "kind": Kind.NUMERIC,
        "records": 9,
        "values": 9,
        "distinct": 4,
        "whole": True,
        "positive": True,
    }
    looks = [
        ColumnProfile(name, **facts)
        for name in ("survey_weight", "household_weight", "hhid", "company")
    ]
    proposal = proposal_from(looks)
    assert list(proposal.roles.values()) == ["weight", "identifier", "unit", "identifier"]
    assert [question.about for question in proposal.questions] == ["second weight", "second unit"]


# what a proposal is


def test_it_is_confirmed_by_its_settings() -> None:
    table = ma.datasets.residents(60)
    proposal = ma.propose(table)
    release = ma.anonymize(table, **proposal.settings(3), method="mdav", seed=0)
    assert {column.name: column.role.value for column in release.schema.columns} == proposal.roles
    assert {
        column.name: column.kind.value
        for column in release.schema.columns
        if column.role != "identifier"
    } == {
        name: kind for name, kind in proposal.kinds.items() if proposal.roles[name] != "identifier"
    }


def test_text_that_spells_numbers_is_declared() -> None:
    table = pl.DataFrame(
        {"size": ["30.5 ", "NA", "31", "30"] * 5, "salary": ["5", "6.0", ".", "7"] * 5}
    )
    settings = ma.propose(table).settings(2)
    assert settings["kinds"] == {"size": "numeric", "salary": "numeric"}
    assert (
        ma.anonymize(table, **settings, method="mdav", seed=0).schema.columns[0].kind
        is Kind.NUMERIC
    )


def test_nominal_asked() -> None:
    proposal = ma.propose(
        pa.table({"sex": [1, 2] * 20, "kind": [1, 2, 3, 4] * 10, "size": np.linspace(0, 1, 40)})
    )
    assert "nominal" not in proposal.settings(3)
    assert proposal.settings(3, nominal="asked")["nominal"] == ["sex", "kind"]
    assert proposal.settings(3, nominal=["kind"])["nominal"] == ["kind"]
    assert shlex.split(proposal.command("a b.csv", "c.csv", 3, nominal="asked", header=False)) == [
        "microagg",
        "anonymize",
        "a b.csv",
        "c.csv",
        "--k",
        "3",
        "--quasi",
        "sex,kind,size",
        "--nominal",
        "sex,kind",
        "--no-header",
    ]


def test_what_is_asked_about_and_used_is_settled(tmp_path: Path) -> None:
    path = tmp_path / "in.csv"
    path.write_text(
        "sex,kind,wage,size\n" + "".join(f"{i % 2},{i % 4},{i % 3},{i / 7}\n" for i in range(40))
    )
    settings = {"nominal": ["asked"], "quasi": ["sex", "size"], "confidential": ["wage"]}
    assert settled(settings, path, {})["nominal"] == ["sex", "wage"]
    assert settled({**settings, "ordinal": ["sex"]}, path, {})["nominal"] == ["wage"]
    assert settled({**settings, "nominal": ["size"]}, path, {})["nominal"] == ["size"]


def test_it_prints_itself() -> None:
    from rich.console import Console

    table = pa.table(
        {
            "a\x1b[31mge <b>": [30, 30, 31, 31],
            "name": ["Canary1", "Canary2", "Canary1", "Canary2"],
            "[sex]": [1, 2, 1, 2],
        }
    )
    proposal = ma.propose(table)
    console = Console(width=200)
    with console.capture() as caught:
        console.print(proposal)
    for shown in (str(proposal), repr(proposal), caught.get(), proposal._repr_html_()):
        assert "called like a person's name" in html.unescape(shown)
        assert "[sex]" in shown
        assert "Numbers or codes" in shown
        assert "proposal.settings(k=5)" in shown
        assert "\x1b" not in shown.replace("\x1b[1m", "").replace("\x1b[0m", "")
        assert "Canary" not in shown
    assert "<b>" not in proposal._repr_html_()
    assert "No column can be proposed" in str(ma.propose(table.select(["name"])))


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_every_library(make: Callable[[Any], Any]) -> None:
    columns = {"age": [30, 30, 41, 41] * 5, "town": ["a", "b", "a", "b"] * 5}
    assert ma.propose(make(columns)).roles == {"age": "quasi", "town": "quasi"}


def test_a_matrix() -> None:
    assert ma.propose(np.linspace(0.0, 1.0, 40).reshape(20, 2)).roles == {
        "0": "quasi",
        "1": "quasi",
    }

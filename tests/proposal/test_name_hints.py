"""Hints that names of columns give, in several languages."""

from __future__ import annotations

import pytest

from microagg.proposal.name_hints import NameHint, hint_of_name, words_of


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("net income", ("net", "income")),
        ("HH-ID", ("hh", "id")),
        ("prénom", ("prenom",)),
        ("Straße", ("strasse",)),
        ("lastName", ("last", "name")),
        ("EDUC1", ("educ", "1")),
        ("", ()),
        ("__", ()),
    ],
)
def test_words(name: str, words: tuple[str, ...]) -> None:
    assert words_of(name) == words


@pytest.mark.parametrize(
    "name",
    [
        "name",
        "surname",
        "lastName",
        "first_name",
        "FULL-NAME",
        "nom",
        "Prénom",
        "apellido",
        "nombre",
        "Vorname",
        "Nachname",
        "Familienname",
        "cognome",
        "achternaam",
        "имя",
    ],
)
def test_names_of_persons(name: str) -> None:
    assert NameHint.PERSON in hint_of_name(name)


@pytest.mark.parametrize(
    "name",
    [
        "e-mail",
        "Email",
        "phone",
        "Telefon",
        "téléphone",
        "mobile",
        "address",
        "Adresse",
        "IP-Adresse",
        "Straße",
        "rue",
        "dirección",
        "indirizzo",
        "住所",
    ],
)
def test_ways_to_reach_somebody(name: str) -> None:
    assert NameHint.CONTACT in hint_of_name(name)


@pytest.mark.parametrize(
    "name",
    [
        *[
            "id",
            "person_id",
            "IBAN",
            "passport_no",
            "Passnummer",
            "tax_id",
            "Steuernummer",
            "ssn",
            "NIF",
            "DNI",
            "Personalausweis",
            "Sozialversicherungsnummer",
        ],
        *("insurance number", "codice fiscale", "customer no", "user id"),
    ],
)
def test_numbers_of_persons(name: str) -> None:
    assert NameHint.IDENTITY in hint_of_name(name)


@pytest.mark.parametrize(
    "name",
    [
        "age",
        "paid",
        "valid",
        "number_of_children",
        "region_id",
        "NUMYOUNG",
        "commute_km",
        "schooling",
        "Ort",
        "rating",
    ],
)
def test_what_names_nobody(name: str) -> None:
    hints = hint_of_name(name)
    assert not hints & {NameHint.CONTACT, NameHint.IDENTITY, NameHint.UNIT, NameHint.WEIGHT}


@pytest.mark.parametrize(
    "name",
    [
        "household",
        "HHID",
        "ori_hid",
        "Haushalts-ID",
        "ménage",
        "hogar",
        "company",
        "firm_id",
        "Unternehmen",
        "patient",
        "Patientennummer",
    ],
)
def test_units(name: str) -> None:
    assert NameHint.UNIT in hint_of_name(name)


@pytest.mark.parametrize(
    "name",
    [
        "household_size",
        "household_income",
        "company_type",
        "patient_age",
        "hhcivil",
        "company_name",
    ],
)
def test_what_is_said_about_units(name: str) -> None:
    assert NameHint.UNIT not in hint_of_name(name)


@pytest.mark.parametrize(
    ("name", "weight", "bare"),
    [
        ("sampling_weight", True, False),
        ("household_weights", True, False),
        ("fnlwgt", True, False),
        ("Hochrechnungsfaktor", True, False),
        ("weight", False, True),
        ("WEIGHT", False, True),
        ("Gewicht", False, True),
        ("birth_weight", False, False),
        ("weight_kg", False, False),
        ("height", False, False),
    ],
)
def test_weights(name: str, weight: bool, bare: bool) -> None:
    hints = hint_of_name(name)
    assert (NameHint.WEIGHT in hints, NameHint.BARE_WEIGHT in hints) == (weight, bare)


@pytest.mark.parametrize(
    "name",
    [
        "income",
        "Einkommen",
        "revenu",
        "salary",
        "Gehalt",
        "wages",
        "diagnosis",
        "Diagnose",
        "maladie",
        "religion",
        "Konfession",
        "debts",
    ],
)
def test_what_is_confidential(name: str) -> None:
    assert NameHint.CONFIDENTIAL in hint_of_name(name)


@pytest.mark.parametrize(
    "name",
    [
        "OCCUCODE",
        "type",
        "region_id",
        "sex",
        "Geschlecht",
        "sexe",
        "marital-status",
        "MARSTAT",
        "zip",
        "PLZ",
        "NACE",
        "Bundesland",
    ],
)
def test_codes(name: str) -> None:
    assert NameHint.CODE in hint_of_name(name)


@pytest.mark.parametrize(
    ("name", "somebody"),
    [
        ("person", True),
        ("Mitarbeiter", True),
        ("client no", True),
        ("persons", False),
        ("person_type", False),
        ("student hours", False),
    ],
)
def test_somebody(name: str, somebody: bool) -> None:
    assert (NameHint.SOMEBODY in hint_of_name(name)) is somebody

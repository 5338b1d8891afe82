"""What names of columns say, in several languages."""

from __future__ import annotations

import pytest

from microagg.table.naming import Says, what_it_says, words_of


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
    assert Says.PERSON in what_it_says(name)


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
    assert Says.CONTACT in what_it_says(name)


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
    assert Says.IDENTITY in what_it_says(name)


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
    said = what_it_says(name)
    assert not said & {Says.CONTACT, Says.IDENTITY, Says.UNIT, Says.WEIGHT}


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
    assert Says.UNIT in what_it_says(name)


@pytest.mark.parametrize(
    "name", ["household_size", "household_income", "company_type", "patient_age", "hhcivil", "company_name"]
)
def test_what_is_said_about_units(name: str) -> None:
    assert Says.UNIT not in what_it_says(name)


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
    said = what_it_says(name)
    assert (Says.WEIGHT in said, Says.BARE_WEIGHT in said) == (weight, bare)


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
    assert Says.CONFIDENTIAL in what_it_says(name)


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
    assert Says.CODE in what_it_says(name)

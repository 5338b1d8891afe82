"""Columns of real tables that were proposed wrongly, made again with their headers and values that
look like theirs.
"""

from __future__ import annotations

import tomllib
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import microagg as ma
from microagg.proposal.proposal import Proposal, propose_for_file
from microagg.proposal.question import MOST_COLUMNS
from microagg.table.columns.profile import profile_column
from microagg.table.settings_text import DECIDE

N = 240
RNG = np.random.default_rng(31)


def asked_about(proposal: Proposal, name: str) -> list[str]:
    return [question.about for question in proposal.questions if name in question.columns]


BODIES = {
    "nhefs": {"wt71": RNG.normal(70, 15, N).round(2), "ht": RNG.normal(168, 9, N).round(1)},
    "electric": {"WT58": RNG.integers(120, 240, N), "HT58": RNG.normal(68, 3, N).round(1)},
    "boys": {"wgt": RNG.normal(37, 26, N).clip(3).round(1), "bmi": RNG.normal(18, 3, N).round(2)},
    "cats": {"Hwt": RNG.normal(10, 2, N).clip(5).round(1), "Sex": RNG.integers(0, 2, N)},
    "Theoph": {
        "Wt": np.repeat(RNG.normal(70, 9, N // 10).round(1), 10),
        "Dose": RNG.random(N).round(2),
    },
}


@pytest.mark.parametrize("name", BODIES)
def test_the_weight_of_a_body_is_no_sampling_weight(name: str) -> None:
    proposal = ma.propose(pa.table(BODIES[name]))
    weight = next(iter(BODIES[name]))
    assert proposal.roles[weight] == "quasi"
    assert asked_about(proposal, weight) == ["weight"]


@pytest.mark.parametrize(
    "name",
    ["fnlwgt", "hhwt", "WTMEC2YR", "wtssall", "rb050", "sample wt", "SENWGT_STU", "finalweight"],
)
def test_sampling_weights_are_known_still(name: str) -> None:
    assert (
        ma.propose(pa.table({name: RNG.lognormal(7, 1, N), "age": RNG.integers(18, 90, N)})).roles[
            name
        ]
        == "weight"
    )


@pytest.mark.parametrize("name", ["bodywgt", "BrainWgt", "wt.loss", "birthwt"])
def test_other_weights_are_not_asked_about(name: str) -> None:
    proposal = ma.propose(pa.table({name: RNG.normal(70, 15, N).clip(1)}))
    assert proposal.roles[name] == "quasi"
    assert not asked_about(proposal, name)


HOUSEHOLDS = np.repeat(np.arange(1, N), RNG.integers(1, 5, N - 1))[:N]
PERSONS = np.repeat(RNG.permutation(12_000)[: N // 8], 8)
MEMBERS = [f"{'ABCM'[i % 4]}{i * 37:06d}" for i in range(60)]


@pytest.mark.parametrize(
    ("name", "values", "role", "questions"),
    [
        ("db030", HOUSEHOLDS, "unit", []),
        ("IDunit", HOUSEHOLDS, "unit", []),
        ("unitid", HOUSEHOLDS, "unit", []),
        ("unitid", 100_000 + RNG.permutation(10**5)[:N], "identifier", []),
        ("nr", PERSONS, "identifier", ["keys"]),
        ("nr", np.repeat(np.arange(20), 12), "identifier", ["keys"]),
        ("childid", RNG.permutation(PERSONS), "identifier", ["keys"]),
        ("SUBNUM", PERSONS, "identifier", ["keys"]),
        ("PTNUM", PERSONS, "unit", []),
        ("dnum", RNG.permutation(PERSONS), "identifier", ["keys"]),
        ("bioguide", [MEMBERS[i % 60] for i in range(N)], "identifier", ["keys"]),
        ("member_code", [MEMBERS[i % 60] for i in range(N)], "identifier", ["keys"]),
        ("V7", [MEMBERS[i % 60] for i in range(N)], "identifier", ["keys"]),
        ("mom", HOUSEHOLDS, "quasi", ["blocks"]),
        (
            "judge",
            [["Urie", "Stone", "Pratte", "Heald"][i % 4] for i in range(N)],
            "identifier",
            ["people"],
        ),
    ],
)
def test_numbers_of_persons_and_companies_that_repeat(
    name: str, values: object, role: str, questions: list[str]
) -> None:
    proposal = ma.propose(pa.table({name: values, "height": RNG.normal(170, 9, N).round(1)}))
    assert (proposal.roles[name], asked_about(proposal, name)) == (role, questions)


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("doctor", RNG.poisson(2.0, N) * (RNG.random(N) < 0.6) + 40 * (RNG.random(N) < 0.05)),
        ("number of rooms", RNG.integers(1, 30, N)),
        ("number", RNG.integers(1, 30, N)),
        ("number_vmail_messages", RNG.integers(0, 20, N) * 3),
        ("authors", np.minimum(RNG.geometric(0.5, N), 4)),
        ("15-24 (79)", RNG.permutation(10**5)[:N]),
        ("etime3", pa.array([*range(8), *[None] * (N - 8)])),
        ("time", np.sort(RNG.integers(0, 9 * N, N))),
        ("zip", [f"{i % 40:05d}" for i in range(N)]),
        ("diagnosis", [f"E{100 + i % 40}" for i in range(N)]),
        ("income", np.repeat(np.arange(1000, 1000 + N // 2), 2)),
        ("age", np.sort(RNG.integers(0, 90, N))),
    ],
)
def test_what_is_no_number_of_somebody(name: str, values: object) -> None:
    proposal = ma.propose(pa.table({name: values}))
    assert proposal.roles[name] in ("quasi", "confidential")
    assert not {"keys", "blocks"} & set(asked_about(proposal, name))


ANSWERS = ["very safe", "safe", "unsafe", "very unsafe", "do not know"]


@pytest.mark.parametrize(
    "name",
    [
        "How safe do you feel alone in the streets at night?",
        "Do you know the name of the mayor of your town",
        "streets",
    ],
)
def test_a_question_is_no_address(name: str) -> None:
    assert ma.propose(pa.table({name: [ANSWERS[i % 5] for i in range(N)]})).roles[name] == "quasi"


def test_a_question_that_is_answered_with_a_name() -> None:
    name = "What is the name of the person who answers these questions?"
    texts = [f"{'ABCDEFGHIJ'[i % 10]}ohn {'KLMNOPQRSTU'[i % 11]}iller" for i in range(N)]
    assert ma.propose(pa.table({name: texts})).roles[name] == "identifier"


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("Hauptstraße 5", True), ("Main Street 12b", True), ("12 Elm Street", True),
        ("221b Baker St.", True), ("5 rue de la Paix", True),
        ("Calle de Alcalá 48", True), ("Am Lindenweg 7", True), ("Elm Street No. 5", True),
        ("keep the streets clean 24 hours", False),
        ("more than 3 of the streets are unsafe", False), ("2 streets away", False),
        ("via e-mail within 3 days", False), ("on the road more than 10 hours", False),
        ("1 st class", False),
    ],
)  # fmt: skip
def test_texts_that_are_addresses(text: str, address: bool) -> None:
    import narwhals as nw

    look = profile_column(nw.from_native(pa.table({"V1": [text] * 5}), eager_only=True), "V1")
    assert (look.like == "street addresses") is address


@pytest.mark.parametrize("gap", ["-", "--", "?", "k.A.", "unknown", "n. a."])
def test_numbers_with_a_sign_for_missing_stay_numbers(gap: str, tmp_path: Path) -> None:
    incomes = [gap if i % 9 == 0 else str(1000.5 + 7 * i) for i in range(N)]
    table = pd.DataFrame({"rent": incomes, "age": RNG.integers(18, 90, N)})
    table.to_csv(tmp_path / "in.csv", index=False)
    of_file, of_table = propose_for_file(tmp_path / "in.csv"), ma.propose(table)
    for proposal in (of_file, of_table):
        assert (proposal.roles["rent"], proposal.kinds["rent"]) == ("quasi", "numeric")
        assert proposal.settings(k=3)["na"] == [gap]
    assert tomllib.loads(of_file.to_toml(k=3))["na"] == [gap]
    if gap == "-":  # what is proposed runs
        release = ma.anonymize(table, **of_table.settings(k=3), effort="quick")
        assert ma.check(release.table, ["rent", "age"], k=3)


def test_other_text_among_numbers_is_asked_about_and_not_quoted(tmp_path: Path) -> None:
    cells = ["Hugo" if i % 80 == 0 else str(1000.5 + 7 * i) for i in range(N)]
    pd.DataFrame({"rent": cells}).to_csv(tmp_path / "in.csv", index=False)
    proposal = propose_for_file(tmp_path / "in.csv")
    assert proposal.roles["rent"] == "identifier"
    assert asked_about(proposal, "rent") == ["other text"]
    assert "Hugo" not in str(proposal) + proposal.to_toml()


# many questions


def items(number: int) -> pa.Table:
    return pa.table({f"q{i}": RNG.integers(1, 6, N) for i in range(number)})


def test_up_to_thirty_columns_are_asked_about_one_by_one() -> None:
    codes = tomllib.loads(ma.propose(items(MOST_COLUMNS)).to_toml())[DECIDE]["codes"]
    assert codes == {f"q{i}": DECIDE for i in range(MOST_COLUMNS)}


def test_more_are_asked_about_once(tmp_path: Path) -> None:
    proposal = ma.propose(items(65))
    assert len(str(proposal.questions[0])) < 400
    text = proposal.to_toml(k=3)
    assert text.count(f'"{DECIDE}"  #') == 1
    path = tmp_path / "settings.toml"
    path.write_text(text)
    with pytest.raises(ma.InputError, match="65 columns"):
        ma.Settings.from_file(path)
    assert ma.Settings.from_file(path, as_proposed=True).nominal == ()
    path.write_text(text.replace(f'answer = "{DECIDE}"', 'answer = "codes"'))
    assert len(ma.Settings.from_file(path).nominal) == 65
    line = f'[{DECIDE}.codes]\nq7 = "numbers"\n\n[{DECIDE}.codes.'
    path.write_text(path.read_text().replace(f"[{DECIDE}.codes.", line))
    assert set(ma.Settings.from_file(path).nominal) == {f"q{i}" for i in range(65)} - {"q7"}


@pytest.mark.parametrize(
    "answer",
    [
        'columns = ["q1"]',
        'answer = "codes"',
        'answer = "codes"\ncolumns = "q1"',
        'answer = "perhaps"\ncolumns = ["q1"]',
    ],
)
def test_a_question_for_many_columns_that_is_incomplete(answer: str, tmp_path: Path) -> None:
    path = tmp_path / "settings.toml"
    path.write_text(
        f'microagg-settings = 1\nk = 3\nquasi = ["q1"]\n[{DECIDE}.codes."1 columns"]\n{answer}\n'
    )
    with pytest.raises(ma.InputError, match="line 4"):
        ma.Settings.from_file(path)

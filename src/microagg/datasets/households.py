"""A made-up household survey: persons in households, drawn by region, with weights, gaps and
special codes. Nobody in it exists.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from microagg.datasets.runs import Draws, days, levels, made_in_runs, rounded, table_of, texts

REGIONS = ("Coast", "Hills", "Lakes", "Plain", "Capital")
_POPULATION = (12, 9, 17, 31, 31)  # persons in each region, in hundredths
_SAMPLED = (20, 20, 20, 20, 20)  # and in the sample: small regions are drawn more often
EDUCATION = ("primary", "lower secondary", "upper secondary", "bachelor", "master or more")
OCCUPATIONS = (
    *("agriculture", "care", "clerical", "construction", "education", "hospitality", "industry"),
    *("IT", "management", "public service", "sales", "transport"),
)
_SIZES = (38, 33, 12, 11, 4, 2)  # households of one to six persons, in hundredths
NOT_APPLICABLE, REFUSED = 97, 98
PERSONS_PER_RECORD = 400  # in the population, on average
_INTERVIEWS_FROM = 20_332  # the first of September 2025, counted from 1970


def households(n: int = 1000, seed: int = 1) -> pa.Table:
    """A survey of n made-up persons in some n / 2 households.

    household is the unit, region the stratum, weight the sampling weight (persons that a record
    stands for); education is ordered, occupation nominal (null for those without one); hours and
    age_first_job hold 97 where the question does not apply and 98 where it was refused; income,
    rent and born have gaps; health is confidential. The last household may be incomplete.

    >>> households(2).column_names[:4]
    ['household', 'region', 'weight', 'born']
    >>> sorted(set(households(1000).column("health").to_pylist()))
    ['bad', 'fair', 'good', 'very bad', 'very good']
    """
    return table_of("households", n, seed)


@made_in_runs
def _households(draws: Draws) -> dict[str, pa.Array]:
    home, place = _homes(draws)
    region = draws.chosen("region", _SAMPLED)[
        home
    ]  # the numbers of a home are those in its place, one for all of it
    age = _ages(draws, home, place)
    interview = _INTERVIEWS_FROM + draws.whole("interview", 0, 90)[home]
    adult, working_age = age >= 18.0, (age >= 16.0) & (age < 67.0)
    education = np.clip(np.rint(1.9 + 1.1 * draws.normal("education")), 0, 4).astype(np.int64)
    education[age < 16.0] = 0
    works = working_age & draws.happens("works", 76)
    hours = np.clip(rounded(36.0 + 9.0 * draws.normal("hours")), 2, 80)
    first_job = np.clip(rounded(18.0 + 1.5 * education + 2.0 * draws.normal("first job")), 14, 40)
    worked = (works | (adult & draws.happens("worked", 80))) & (first_job <= age)
    logincome = (
        9.9 + 0.17 * (education - 1.9) + 0.12 * (region == 4) + 0.42 * draws.normal("income")
    )
    income = np.where(adult, rounded(np.exp(logincome) * (0.5 + 0.5 * works), 100), 0)
    rent = rounded(np.exp(6.3 + 0.25 * (region == 4) + 0.3 * draws.normal("rent")), 5)[home]
    return {
        "household": pa.array(draws.run * draws.n + home + 1),
        "region": texts(region, REGIONS),
        "weight": pa.array(_weights(region, draws.uniform("weight")[home])),
        "born": days(interview - rounded(age * 365.25), draws.happens("no born", 1)),
        "sex": texts(draws.chosen("sex", (51, 49)), ("f", "m")),
        "education": levels(education, EDUCATION, draws.happens("no education", 2)),
        "occupation": texts(
            draws.chosen("occupation", (3, 12, 11, 8, 9, 7, 14, 6, 8, 9, 9, 4)), OCCUPATIONS, ~works
        ),
        "hours": pa.array(_answers(hours, works, draws.happens("no hours", 3))),
        "age_first_job": pa.array(_answers(first_job, worked, draws.happens("no first job", 4))),
        "income": pa.array(income, mask=draws.happens("no income", 11)),
        "rent": pa.array(rent, mask=draws.happens("no rent", 6)[home]),
        "interviewed": days(interview),
        "health": _health(age, draws),
    }


def _homes(draws: Draws) -> tuple[np.ndarray, np.ndarray]:
    """The home of each record, counted from 0 within the run, and its place in there."""
    sizes = 1 + draws.chosen("size", _SIZES)
    home = np.repeat(np.arange(draws.n), sizes)[: draws.n]
    begins = np.append(0, np.cumsum(sizes)[:-1])
    return home, np.arange(draws.n) - begins[home]


def _ages(draws: Draws, home: np.ndarray, place: np.ndarray) -> np.ndarray:
    """The first of a home is grown up, the second about as old, the others mostly their
    children.
    """
    first = np.clip(49.0 + 16.0 * draws.normal("age"), 18.0, 97.0)[home]
    second = np.clip(first + 4.0 * draws.normal("difference"), 17.0, 97.0)
    others = np.clip(first - 31.0 + 5.0 * draws.normal("child"), 0.0, 60.0)
    return np.select([place == 0, place == 1], [first, second], others)


def _weights(region: np.ndarray, share: np.ndarray) -> np.ndarray:
    """Persons of the region over records of it, and up to a quarter more or less for those who
    answered less often.
    """
    drawn = np.asarray(_POPULATION)[region] / np.asarray(_SAMPLED)[region]
    return rounded(100.0 * PERSONS_PER_RECORD * drawn * (0.75 + 0.5 * share)) / 100.0


def _answers(values: np.ndarray, applies: np.ndarray, refused: np.ndarray) -> np.ndarray:
    return np.select([~applies, refused], [NOT_APPLICABLE, REFUSED], values)


def _health(age: np.ndarray, draws: Draws) -> pa.Array:
    words = ("very bad", "bad", "fair", "good", "very good")
    felt = np.clip(np.rint(3.4 - 0.02 * (age - 40.0) + 0.9 * draws.normal("health")), 0, 4)
    return levels(felt.astype(np.int64), words)

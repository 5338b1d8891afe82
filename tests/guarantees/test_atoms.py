"""l and t where values are missing or special codes, against fractions and against linear
programs.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import highspy
import numpy as np
import pyarrow as pa
import pytest

import microagg as ma
import promised
from guarantees.test_promise import ASKED, KINDS, random_column
from microagg.datasets.persons import persons
from microagg.guarantees.promise import Guarantees
from microagg.table.confidential import Attribute, attributes_of
from microagg.table.schema import Kind

CODES = (promised.Atom("refused"), promised.Atom("unknown"), None)


def random_atoms(rng: np.random.Generator, n: int, most: int = 3) -> np.ndarray:
    """Few gaps or many, of one sort or of several; sometimes nothing else."""
    sorts = rng.permutation(len(CODES))[: int(rng.integers(1, most + 1))]
    share = rng.choice([0.1, 0.5, 0.9, 1.0], p=[0.4, 0.4, 0.15, 0.05])
    atoms = np.where(rng.random(n) < share, rng.choice(sorts, n), -1).astype(np.int16)
    atoms[int(rng.integers(n))] = sorts[0]
    return atoms


def attribute_with(kind: Kind, values: np.ndarray, atoms: np.ndarray) -> Attribute:
    if kind is Kind.NUMERIC:
        column = np.where(atoms < 0, values.astype(np.float64), np.nan)
    else:
        column = np.where(atoms < 0, values, values.max() + 1 + atoms).astype(np.int64)
    return Attribute("x", kind, column, atoms=atoms, marks=CODES)


def as_values(values: np.ndarray, atoms: np.ndarray) -> list[Any]:
    """The column as the oracle takes it."""
    return [int(v) if a < 0 else CODES[a] for v, a in zip(values, atoms, strict=True)]


@pytest.mark.slow
@pytest.mark.parametrize("guarantee", ASKED, ids=str)
def test_groups_and_classes_with_atoms_are_judged_as_with_fractions(guarantee):
    rng = np.random.default_rng(sum(map(ord, str(guarantee))))
    seen = set()
    for _ in range(150):
        n = int(rng.integers(2, 60))
        values, atoms = random_column(rng, n), random_atoms(rng, n)
        plain = as_values(values, atoms)
        for kind in KINDS:
            nominal = kind is Kind.NOMINAL
            attribute, promise = attribute_with(kind, values, atoms), Guarantees.of(**guarantee)
            members = rng.permutation(n)[: int(rng.integers(1, n + 1))]
            expected = promised.is_kept(plain, members.tolist(), nominal=nominal, **guarantee)
            accept = promise.accept((attribute,))
            assert accept is not None
            assert accept(members) == accept(np.sort(members)) == expected
            part = np.sort(members)
            within = accept.of_part(part)
            assert within(np.arange(len(part))) == expected
            labels = np.ones(n, np.int64)
            labels[members] = 0
            rest = np.flatnonzero(labels == 1).tolist()
            kept = expected and (
                not rest or promised.is_kept(plain, rest, nominal=nominal, **guarantee)
            )
            findings = promise.evaluate(labels, 2 if rest else 1, (attribute,))
            assert all(finding.holds for finding in findings) == kept
            seen.add((expected, kept))
    assert (True, True) in seen
    assert (False, False) in seen


def test_the_check_finds_the_distances_of_the_oracle():
    rng = np.random.default_rng(2)
    for _ in range(60):
        n = int(rng.integers(2, 40))
        values, atoms = random_column(rng, n), random_atoms(rng, n)
        labels = np.unique(rng.integers(0, int(rng.integers(1, 6)), n), return_inverse=True)[1]
        for kind in KINDS:
            promise, attribute = Guarantees.of(l=2, t=0.5), attribute_with(kind, values, atoms)
            diverse, close = promise.evaluate(labels, int(labels.max()) + 1, (attribute,))
            groups = [np.flatnonzero(labels == g).tolist() for g in range(int(labels.max()) + 1)]
            plain, nominal = as_values(values, atoms), kind is Kind.NOMINAL
            assert diverse.worst == min(promised.distinct(plain, group) for group in groups)
            farthest = max(promised.distance(plain, group, nominal=nominal) for group in groups)
            assert close.worst == pytest.approx(min(float(farthest), 1.0), abs=1e-12)


def earth_movers(here: np.ndarray, overall: np.ndarray, atoms: int) -> float:
    """The cheapest way to turn one distribution into the other; the last `atoms` entries are 1 away
    from everything else.
    """
    m = len(here) - atoms
    solver = highspy.Highs()
    solver.setOptionValue("output_flag", False)
    away = np.ones((len(here), len(here)))
    away[:m, :m] = np.abs(np.subtract.outer(np.arange(m), np.arange(m))) / max(m - 1, 1)
    np.fill_diagonal(away, 0.0)
    flows = [[solver.addVariable(lb=0.0, obj=float(cost)) for cost in row] for row in away]
    for i in range(len(here)):
        solver.addConstr(sum(flows[i][1:], flows[i][0]) == float(here[i]))
        if i:  # the last condition follows from the others
            column = [row[i] for row in flows]
            solver.addConstr(sum(column[1:], column[0]) == float(overall[i]))
    solver.minimize()
    assert solver.getModelStatus() == highspy.HighsModelStatus.kOptimal
    return solver.getObjectiveValue()


@pytest.mark.slow
@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(s, marks=pytest.mark.nightly) for s in range(1, 10))]
)
def test_the_distance_bounds_the_earth_movers_with_atoms_one_away(seed):
    rng, equal = np.random.default_rng(seed), 0
    for _ in range(60):
        n = int(rng.integers(2, 25))
        values, atoms = np.minimum(random_column(rng, n), 6), random_atoms(rng, n)
        members = rng.permutation(n)[: int(rng.integers(1, n + 1))]
        codes, known = (
            (attribute := attribute_with(Kind.ORDINAL, values, atoms)).codes,
            attribute.known,
        )
        here, overall = (
            np.bincount(x, minlength=attribute.distinct) / len(x) for x in (codes[members], codes)
        )
        least = earth_movers(here, overall, attribute.distinct - known)
        bound = float(promised.distance(as_values(values, atoms), members.tolist(), nominal=False))
        assert bound >= least - 1e-7
        equal += bound <= least + 1e-7
    assert equal > 0, "it is no wild guess: sometimes it is the distance itself"


@pytest.mark.slow
@pytest.mark.parametrize("sorts", [1, 2, 3])
def test_two_classes_that_keep_t_keep_it_together(sorts):
    rng, checked = np.random.default_rng(sorts), 0
    for _ in range(1000):
        n = int(rng.integers(4, 30))
        values, atoms = np.minimum(random_column(rng, n), 6), random_atoms(rng, n, sorts)
        order, cut = rng.permutation(n), np.sort(rng.permutation(np.arange(1, n))[:2])
        one, other = order[: cut[0]].tolist(), order[cut[0] : cut[1]].tolist()
        plain = as_values(values, atoms)
        farthest = max(promised.distance(plain, part, nominal=False) for part in (one, other))
        accept = Guarantees.of(t=min(float(farthest), 1.0)).accept(
            (attribute_with(Kind.NUMERIC, values, atoms),)
        )
        assert accept is not None
        assert promised.distance(plain, one + other, nominal=False) <= farthest
        assert accept(np.array(one + other))
        checked += farthest < Fraction(1, 2)
    assert checked > 50


@pytest.mark.parametrize(
    "guarantee",
    [{"l": 2}, {"l": 1.5, "diversity": "entropy"}, {"l": 2, "diversity": "recursive", "c": 3.0}],
    ids=str,
)
@pytest.mark.parametrize("kind", KINDS)
def test_what_is_not_known_is_no_value(guarantee, kind):
    promise = Guarantees.of(**guarantee)
    #        A  A  missing | A  A  refused | missing refused | A B missing
    values = np.array([1, 1, 0, 1, 1, 0, 0, 0, 1, 2, 0])
    atoms = np.array([-1, -1, 2, -1, -1, 0, 2, 0, -1, -1, 2], np.int16)
    attribute = attribute_with(kind, values, atoms)
    (finding,) = promise.evaluate(np.array([0, 0, 0, 1, 1, 1, 2, 2, 3, 3, 3]), 4, (attribute,))
    assert finding.failing.tolist() == [True, True, True, False]
    assert finding.worst == (np.inf if guarantee.get("c") else 0.0), "where nothing is known l is 0"
    accept = promise.accept((attribute,))
    assert accept is not None
    groups = [[0, 1, 2], [3, 4, 5], [6, 7], [8, 9, 10]]
    assert [accept(np.array(group)) for group in groups] == [False, False, False, True]
    assert accept.shortfall(np.array([6, 7])) >= accept.shortfall(np.array([0, 1, 2]))


def test_what_cannot_be_reached_is_refused_by_what_is_known():
    gaps = attributes_of(
        pa.table({"ill": ["flu", None, "flu", "refused"]}), ["ill"], special={"ill": ["refused"]}
    )
    with pytest.raises(ma.InputError, match="'ill' has only 1 different value;"):
        Guarantees.of(l=2).check_impossible(gaps)
    nothing = attributes_of(pa.table({"ill": pa.array([None, None], pa.string())}), ["ill"])
    with pytest.raises(ma.InputError, match="'ill' has only 0 different values;"):
        Guarantees.of(l=2).check_impossible(nothing)
    Guarantees.of(t=0.0).check_impossible(nothing)


@pytest.mark.slow
@pytest.mark.parametrize("gaps", [1, 5])
def test_a_gap_in_a_numeric_column_changes_little(gaps):
    table = persons(1200, seed=4)
    quasi, wages = ["age", "rent", "schooling"], table.column("income").to_pylist()
    holed = [None if i % (1200 // gaps) == 7 else wage for i, wage in enumerate(wages)]
    counts = []
    for column in (wages, holed):
        chosen = pa.table({**{name: table.column(name) for name in quasi}, "income": column})
        release = ma.anonymize(
            chosen, 5, quasi, confidential=["income"], t=0.4, effort="quick", seed=1
        )
        assert release.anonymity.holds
        counts.append(len(release.anonymity.sizes))
    assert counts[0] > 20
    assert abs(counts[1] - counts[0]) < 0.05 * counts[0]


@pytest.mark.slow
@pytest.mark.parametrize("method", ["auto", "mdav", "t-first", "hm-pfsom", "hybrid"])
@pytest.mark.parametrize("guarantee", [{"l": 2}, {"t": 0.3}, {"l": 3, "t": 0.4}], ids=str)
def test_releases_with_gaps_keep_what_they_promise(method, guarantee):
    rng = np.random.default_rng(3)
    n = 90
    wages = np.where(rng.random(n) < 0.3, np.nan, rng.integers(0, 30, n).astype(np.float64))
    ills = [None if rng.random() < 0.4 else str(rng.choice(["a", "b", "c", "d"])) for _ in range(n)]
    table = pa.table(
        {"age": rng.normal(size=n), "size": rng.normal(size=n), "wage": wages, "ill": ills}
    )
    release = ma.anonymize(
        table,
        3,
        ["age", "size"],
        confidential=["wage", "ill"],
        method=method,
        precision="full",
        seed=1,
        **guarantee,
    )
    plain = [None if np.isnan(wage) else wage for wage in wages]
    rows = list(
        zip(*(release.table.column(name).to_pylist() for name in ("age", "size")), strict=True)
    )
    classes = promised.classes(rows)
    assert len(classes) > 1
    for members in classes:
        assert promised.is_kept(plain, members, nominal=False, **guarantee)
        assert promised.is_kept(ills, members, nominal=True, **guarantee)


def test_the_check_takes_kinds_and_codes():
    table = pa.table(
        {
            "age": [1, 1, 1, 2, 2, 2],
            "wage": [10, 97, 20, 30, 97, None],
            "ill": ["x", "-9", "y", "z", "z", "-9"],
        }
    )
    result = ma.check(table, ["age"], 3, ["wage", "ill"], l=2, special={"wage": ["97"]}, na=["-9"])
    assert [(f.column, f.worst) for f in result.findings] == [("wage", 1.0), ("ill", 1.0)]
    assert ma.check(table, ["age"], 3, ["wage", "ill"], l=2).holds

    def farthest(**options: Any) -> float:
        return ma.check(table, ["age"], 3, ["wage"], t=0.5, **options).findings[0].worst

    column = table.column("wage").to_pylist()
    for options, nominal in (
        ({}, False),
        ({"kinds": {"wage": "nominal"}}, True),
        ({"nominal": "wage"}, True),
    ):
        expected = max(
            promised.distance(column, part, nominal=nominal) for part in ([0, 1, 2], [3, 4, 5])
        )
        assert farthest(**options) == pytest.approx(float(expected))
    turned = farthest(ordinal={"wage": [97, 10, 30, 20]})
    places = [None if wage is None else [97, 10, 30, 20].index(wage) for wage in column]
    expected = max(
        promised.distance(places, part, nominal=False) for part in ([0, 1, 2], [3, 4, 5])
    )
    assert turned == pytest.approx(float(expected))


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"kinds": {"wage": "odd"}}, "one of numeric"),
        ({"kinds": {"wages": "nominal"}}, "no column 'wages'"),
        ({"special": {"wages": [97]}}, "no column 'wages'"),
        (
            {"kinds": {"wage": "numeric"}, "nominal": ["wage"]},
            "numeric by kinds and nominal by nominal",
        ),
        ({"ordinal": {"wage": [10, 20]}}, r"lacks a level that occurs in 2 records"),
        ({"special": ["97"]}, "special must give a value for each column"),
    ],
)
def test_wrong_words_about_columns_are_refused(options, says):
    table = pa.table({"age": [1, 1, 1, 1], "wage": [10, 20, 77777, 77777]})
    with pytest.raises(ma.InputError, match=says) as refused:
        ma.check(table, ["age"], 2, ["wage"], l=2, **options)
    assert "77777" not in str(refused.value)


def test_gaps_are_told_of_where_l_is_asked_for():
    ill = ["flu", None, "cold", "flu", "cold", "flu"]
    table = pa.table({"age": [31] * 6, "ill": ill, "wage": [1, 2, 3, 4, 5, 6]})
    roles = {"quasi": ["age"], "confidential": ["ill", "wage"], "seed": 1}

    def notes(**guarantee: float) -> list[str]:
        release = ma.anonymize(table, 3, **roles, **guarantee)
        return [note for note in release.notes if note.code == "unknown-confidential-values"]

    (note,) = notes(l=2)
    assert "1 of 6 records" in note
    assert "'ill'" in note
    assert "flu" not in note
    assert notes(t=0.9) == []

"""Risks of a release beyond its guarantee: dominant values, k = 2, exact means, two releases of one
table.
"""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import microagg as ma
import tables
from microagg.files.reading import read_table
from microagg.measures.loss.sse import loss_between
from microagg.measures.measure import Pair
from microagg.measures.risk.classes import classes_of, classes_of_released
from microagg.measures.risk.dominance import dominance, dominated_groups
from microagg.release.note import Note
from microagg.release.note_counts import dominated_columns
from microagg.release.note_facts import NoteFacts
from microagg.release.note_rules import notes_from
from microagg.release.risks import check_unaccepted, with_risks_accepted
from microagg.release.settings import Settings
from microagg.release.true_values import risks_of_aggregates, true_value_columns
from microagg.studies.compare import compare
from microagg.studies.repeating import repeat_file
from microagg.table.aggregate import Aggregated, aggregated
from microagg.table.encoder import Space
from microagg.table.schema import Kind
from microagg.table.variable import Cells, Variable

RICH = 10_000_000
ROLES: dict[str, Any] = {"quasi": tables.QUASI, "rest": "drop"}


def incomes(n: int = 60) -> pa.Table:
    """Incomes around 3,000, one of 10,000,000, and ages."""
    rng = np.random.default_rng(4)
    income = rng.integers(2500, 3500, n)
    income[17] = RICH
    return pa.table({"income": income, "age": rng.integers(30, 60, n)})


def released(**settings: Any) -> ma.Release:
    return ma.anonymize(incomes(), 5, ["income", "age"], method="mdav", seed=1, **settings)


def dominance_told(release: ma.Release) -> list[str]:
    return [note for note in release.notes if "one record is so large" in note]


class TestDominance:
    def test_it_is_told_without_the_value(self, tmp_path: Path) -> None:
        release = released()
        (note,) = dominance_told(release)
        assert "'income' in 1 of " in note
        assert "'age'" not in note
        release.report(tmp_path / "r.internal.md")
        release.report(tmp_path / "r.public.md", public=True)
        inside, outside = (
            (tmp_path / f"r.{name}.md").read_text() for name in ("internal", "public")
        )
        first_page = inside[: inside.index("What users of the data lose")]
        assert "'income' in 1 of" in " ".join(first_page.split())
        assert "so large" not in outside
        for text in (note, first_page):
            assert str(RICH) not in text.replace(",", "")

    @pytest.mark.parametrize("seed", range(30))
    def test_groups_are_counted_by_the_rules(self, seed: int) -> None:
        rng = np.random.default_rng(seed)
        groups = rng.integers(0, 8, 40)
        column = np.round(rng.lognormal(1.0, 2.0, 40)) * rng.choice([-1.0, 1.0], 40)
        members: dict[int, list[float]] = defaultdict(list)
        for group, value in zip(groups.tolist(), column.tolist(), strict=True):
            members[group].append(abs(value))
        count = 0
        for parts in members.values():
            largest, *others = sorted(parts, reverse=True)
            exceeds = largest > 0.75 * sum(parts)
            count += exceeds or (len(parts) > 2 and sum(others[1:]) < 0.1 * largest)
        assert dominated_groups(column, classes_of([groups])) == count

    def test_each_column_alone_has_groups_of_its_own(self) -> None:
        release = ma.anonymize(incomes(), 5, ["income", "age"], method="individual-ranking", seed=1)
        (note,) = dominance_told(release)
        assert "'income' in 1 of 12 groups" in note

    def test_nothing_is_told_where_nothing_dominates(self) -> None:
        assert not dominance_told(ma.anonymize(tables.people(40), 4, **ROLES, seed=1))

    @pytest.mark.parametrize(("largest", "expected"), [(1, 0), (9, 1)])
    def test_0_and_1_make_a_count_which_no_record_dominates(
        self, largest: int, expected: int
    ) -> None:
        column = np.where(np.arange(60) % 7 == 0, largest, 0)
        table = incomes().set_column(0, "income", pa.array(column))
        release = ma.anonymize(
            table, 5, ["income", "age"], method="mdav", seed=1, importance={"age": 50}
        )
        assert len(dominance_told(release)) == expected

    def test_two_in_a_group_know_each_other(self) -> None:
        noted = [ma.anonymize(tables.people(20), k, **ROLES, seed=1).notes for k in (2, 3)]
        assert [any("each of the two records" in note for note in notes) for notes in noted] == [
            True,
            False,
        ]


class TestDominanceOfMixedTables:
    """Only values that made a mean count."""

    def notes(
        self, variables: tuple[Variable, ...], values: list[list[float]], **options: Any
    ) -> list[str]:
        column = np.array(values)
        cells = Cells(variables, column, np.where(np.isnan(column), 0, -1).astype(np.int16))
        labels = np.repeat(np.arange(len(values) // 4), 4).astype(np.int32)
        result = aggregated(cells, labels, k=4, **options)
        dominated = dominated_columns(cells, labels, labels, result)
        return list(notes_from(NoteFacts(k=4, dominated=dominated)))

    GAP = float("nan")
    WAGE = (Variable("wage", marks=(None,)),)

    def test_values_beside_gaps(self) -> None:
        (note,) = self.notes(
            self.WAGE,
            [[9e6], [1.0], [1.0], [self.GAP], [5.0], [5.0], [5.0], [5.0], [self.GAP]]
            + [[self.GAP]] * 3,
        )
        assert "'wage' in 1 of 2 groups" in note, "the group of gaps releases no mean"

    def test_a_value_that_made_no_mean(self) -> None:
        assert not self.notes(self.WAGE, [[9e6], [1.0], [self.GAP], [self.GAP]])

    def test_a_column_of_gaps(self) -> None:
        assert not self.notes(self.WAGE, [[self.GAP]] * 4)

    def test_other_aggregates_and_kinds_have_no_total(self) -> None:
        values = [[9e6], [1.0], [1.0], [1.0]]
        assert self.notes(self.WAGE, values)
        assert not self.notes(self.WAGE, values, how={"wage": "median"})
        assert not self.notes((Variable("at", unit="D"),), values)
        levels = tuple("abcdefghij")
        assert not self.notes((Variable("o", Kind.ORDINAL, levels),), [[9.0], [0.0], [0.0], [0.0]])
        assert not self.notes((Variable("n", Kind.NOMINAL, levels),), [[9.0], [0.0], [0.0], [0.0]])

    def test_numbers_count_from_zero_not_from_their_origin(self) -> None:
        values = [[0.0], [0.0], [0.0], [9.0]]
        assert self.notes(self.WAGE, values)
        assert not self.notes((Variable("wage", origin=10**17),), values)

    @pytest.mark.parametrize(("origin", "dominates"), [(-100, True), (100, False), (0, False)])
    def test_notes_count_from_zero_on_either_side(self, origin: int, dominates: bool) -> None:
        wage = (Variable("wage", origin=origin),)
        assert bool(self.notes(wage, [[100.0], [100.0], [100.0], [0.0]])) is dominates

    @pytest.mark.parametrize(
        ("weights", "dominates"),
        [([1, 1, 1, 1], False), ([9, 9, 9, 1], False), ([1, 1, 1, 9], True)],
    )
    def test_a_record_makes_up_its_weighted_value(
        self, weights: list[int], dominates: bool
    ) -> None:
        cells = Cells.plain(np.array([[1.0], [1.0], [1.0], [2.0]]), ["wage"])
        labels = np.zeros(4, np.int32)
        columns = dominated_columns(cells, labels, labels, None, np.array(weights, float))
        assert bool(columns) is dominates

    @pytest.mark.parametrize("origin", [0, 6, 1000])
    def test_the_measure_counts_from_zero_too(self, origin: int) -> None:
        values = np.array([[0.0], [0.0], [0.0], [9.0]])
        wage = (Variable("wage", origin=origin),)
        pair = Pair.of_cells(Cells(wage, values), Cells(wage, np.full((4, 1), 2.25)))
        assert dominance(pair).value == pytest.approx(100.0 * (9 + origin) / (9 + 4 * origin))

    def test_the_measure_leaves_out_what_made_no_mean(self) -> None:
        gap = self.GAP
        before = np.array([[4.0], [6.0], [gap], [50.0], [gap], [gap]])
        after = np.array([[5.0], [5.0], [5.0], [gap], [gap], [gap]])
        pair = Pair(before, after, ("wage",))
        pair._known[(classes_of_released,)] = classes_of([np.array([0, 0, 0, 1, 1, 1])])
        figure = dominance(pair)
        assert figure.value == 60.0
        assert figure.details["classes over 50 %"] == 1.0


class TestTrueValues:
    """Median, draw, medoid and range release values of single records."""

    ONCE = Cells.plain(np.array([[1.0, 5.0], [1.0, 6.0], [2.0, 5.0], [2.0, 6.0]]), ["age", "wage"])
    UNIQUE = Cells.plain(np.arange(8.0).reshape(4, 2), ["age", "wage"])

    @pytest.mark.parametrize("how", ["median", "draw", "medoid", "range"])
    def test_values_that_occur_once_must_be_accepted(self, how: str) -> None:
        assert risks_of_aggregates(self.UNIQUE, {"wage": how}) == ("true-values",)
        assert not risks_of_aggregates(self.ONCE, {"wage": how})

    def test_others_need_not(self) -> None:
        assert not risks_of_aggregates(self.UNIQUE, {})
        ordinal = Cells((Variable("o", Kind.ORDINAL, (1, 2)),), np.array([[0.0], [1.0]]))
        assert not risks_of_aggregates(ordinal, {"o": "median"})
        assert not risks_of_aggregates(ordinal, {"o": "draw"})

    def test_atoms_are_no_values_that_occur_once(self) -> None:
        values = np.array([[3.0], [3.0], [np.nan]])
        cells = Cells(
            (Variable("wage", marks=(None,)),), values, np.array([[-1], [-1], [0]], np.int16)
        )
        assert not risks_of_aggregates(cells, {"wage": "median"})

    def test_they_are_refused_until_accepted(self) -> None:
        check_unaccepted(Settings.of(k=3))
        with pytest.raises(
            ma.InputError,
            match=r"true values of single records.*accept_risk='true-values' accepts that",
        ):
            check_unaccepted(Settings.of(k=3), ["true-values"])
        check_unaccepted(Settings.of(k=3, accept_risk=["true-values"]), ["true-values"])

    def test_what_was_accepted_then_is_accepted_again(self) -> None:
        then = Settings.of(k=3, precision="full", accept_risk=["true-values"])
        assert with_risks_accepted(then).accept_risk == ("full-precision", "true-values")
        assert with_risks_accepted(Settings.of(k=3)).accept_risk == ()

    def notes(self, cells: Cells, made: Aggregated) -> tuple[Note, ...]:
        return notes_from(NoteFacts(k=3, true_values=true_value_columns(cells, made)))

    def test_they_are_told_each_time(self) -> None:
        cells = Cells.plain(np.array([[1.0], [2.0], [7.0], [3.0], [3.0], [8.0]]), ["age"])
        labels = np.array([0, 0, 0, 1, 1, 1], np.int32)
        (note,) = self.notes(cells, aggregated(cells, labels, how={"age": "median"}, k=3))
        assert "'age' by median (in 1 of 2 groups a value that only one record has)" in note
        (note,) = self.notes(cells, aggregated(cells, labels, how={"age": "range"}, k=3))
        assert "'age' by range; accept it" in note
        assert not self.notes(cells, aggregated(cells, labels, k=3))

    def test_the_median_of_an_ordinal_column_is_told(self) -> None:
        cells = Cells((Variable("o", Kind.ORDINAL, (1, 2)),), np.array([[0.0], [1.0]]))
        (note,) = self.notes(cells, aggregated(cells, np.zeros(2, np.int32), k=2))
        assert "'o' by median (in 1 of 1 groups a value that only one record has); accept" in note


class TestCaps:
    def test_a_cap_takes_the_dominant_value_away(self) -> None:
        release = released(cap={"income": "99.5%"})
        assert not dominance_told(release)
        assert max(release.table.column("income").to_pylist()) <= 3500
        capped = release.manifest["capped"]["income"]
        over = sum(value > capped["high"] for value in incomes().column("income").to_pylist())
        assert capped["above"] == over >= 1
        assert any(f"{over} value" in note and "of 'income'" in note for note in release.notes)
        assert capped["high"] < 3500
        (figure,) = (f for m, f in release.figures if m.name == "dominance")
        assert figure.columns["income"] < 50.0, "of the values that were averaged"

    def test_loss_is_measured_against_what_was_there(self) -> None:
        release, table = released(cap={"income": 3000}), incomes()
        before, after = (
            np.column_stack([t.column(name).to_numpy().astype(float) for name in ("income", "age")])
            for t in (table, release.table)
        )
        space = Space.fit(before)
        expected = loss_between(space.points(before), space.points(after))["IL"]
        assert release.loss["IL"] == pytest.approx(expected)
        assert release.loss["IL"] > 30.0, "the one large income is half of all variation, and gone"

    def test_groups_are_those_of_the_capped_table(self) -> None:
        table = incomes()
        capped = np.minimum(table.column("income").to_numpy(), 3200)
        other = ma.anonymize(
            table.set_column(0, "income", [capped]), 5, ["income", "age"], method="mdav", seed=1
        )
        release = released(cap={"income": 3200})
        assert release.labels.tolist() == other.labels.tolist()
        assert release.table.equals(other.table)

    def test_the_given_cap_is_public_and_what_came_of_it_is_not(self, tmp_path: Path) -> None:
        release = released(cap={"income": ("1%", "99.5%")})
        _, inside, outside = release.save(tmp_path / "out.csv")
        public = json.loads(outside.read_text())
        assert public["settings"]["cap"] == {"income": ["1%", "99.5%"]}
        assert "capped" not in public
        assert set(json.loads(inside.read_text())["capped"]["income"]) == {
            "low",
            "high",
            "below",
            "above",
        }
        assert release.settings.cap == {"income": ("1%", "99.5%")}

    def test_whole_numbers_stay_whole(self) -> None:
        release = released(cap={"income": 3000.5})
        assert release.table.schema.field("income").type == pa.int64()

    def test_a_bound_is_that_of_the_capped_values(self) -> None:
        table = tables.people(24)
        high = float(np.median(table.column("income").to_numpy()))
        release = ma.anonymize(table, 3, **ROLES, effort="prove", seed=1, cap={"income": high})
        assert release.bound is not None
        assert release.bound.gap(release.labels) == release.manifest["bound"]["gap"]

    def test_a_cap_is_repeated_and_compared(self, tmp_path: Path) -> None:
        source = tables.write(incomes(), tmp_path / "in.csv")
        table = read_table(source, numeric=["income", "age"])
        release = ma.anonymize(
            table, 5, ["income", "age"], method="mdav", seed=1, cap="income=99.5%"
        )
        release.save(tmp_path / "out.csv")
        again = repeat_file(tmp_path / "out.csv.internal.json", source, tmp_path / "again.csv")
        assert any("the same release" in note for note in again.notes)
        row = compare(
            table,
            ks=[5],
            methods="mdav",
            quasi=["income", "age"],
            cap="income=99.5%",
            measures=["dominance"],
        ).rows[0]
        plain = compare(
            table, ks=[5], methods="mdav", quasi=["income", "age"], measures=["dominance"]
        ).rows[0]
        assert row.figures["dominance"] < 75.0 < plain.figures["dominance"]

    def test_a_cap_of_a_column_with_another_role(self) -> None:
        with pytest.raises(ma.InputError, match="is not quasi-identifying"):
            ma.anonymize(tables.people(), 3, **ROLES, cap={"code": 3})


RISKY = [
    ({"precision": "full"}, "full-precision", "value exactly"),
    ({"method": "individual-ranking"}, "single-columns", "each column alone"),
]


@pytest.mark.parametrize(("settings", "risk", "says"), RISKY, ids=["full", "ranking"])
class TestAcceptance:
    def test_nothing_is_written_without_it(
        self, settings: dict[str, Any], risk: str, says: str, tmp_path: Path
    ) -> None:
        release = ma.anonymize(tables.people(20), 3, **ROLES, seed=1, **settings)
        for write in (
            lambda: release.save(tmp_path / "out.csv"),
            lambda: release.report(tmp_path / "out.md", public=True),
        ):
            with pytest.raises(ma.InputError, match=risk) as refused:
                write()
            assert says in str(refused.value)
            assert refused.value.exit_code == 2
        assert not list(tmp_path.iterdir())
        release.report(tmp_path / "inside.md")

    def test_with_it_everything_is(
        self, settings: dict[str, Any], risk: str, says: str, tmp_path: Path
    ) -> None:
        release = ma.anonymize(tables.people(20), 3, **ROLES, seed=1, accept_risk=risk, **settings)
        assert all(path.exists() for path in release.save(tmp_path / "out.csv"))
        release.report(tmp_path / "out.md", public=True)

    def test_comparing_and_repeating_never_ask(
        self, settings: dict[str, Any], risk: str, says: str, tmp_path: Path
    ) -> None:
        source = tables.write(tables.people(20), tmp_path / "in.csv")
        table = read_table(source, numeric=tables.QUASI)
        method = settings.get("method", "mdav")
        shared = {name: value for name, value in settings.items() if name != "method"}
        assert (
            not compare(table, ks=[3], methods=method, quasi=tables.QUASI, **shared).rows[0].error
        )
        release = ma.anonymize(table, 3, **ROLES, seed=1, **settings)
        manifest = json.loads(json.dumps(release.manifest))
        del manifest["settings"]["accept_risk"]  # as in manifests of before
        (tmp_path / "m.json").write_text(json.dumps(manifest))
        repeat_file(tmp_path / "m.json", source, tmp_path / "again.csv")
        assert (tmp_path / "again.csv").exists()


def test_published_measures_are_asked_about_too(tmp_path: Path) -> None:
    publish = ["kolmogorov-smirnov"]
    release = ma.anonymize(tables.people(1200), 3, **ROLES, seed=1, method="mdav", publish=publish)
    with pytest.raises(ma.InputError, match="published-measures"):
        release.save(tmp_path / "out.csv")


def test_words_that_are_no_risk() -> None:
    with pytest.raises(
        ma.InputError, match="accept_risk must be any of full-precision, single-columns"
    ):
        Settings.of(k=3, accept_risk="everything")


class TestASecondRelease:
    def save(
        self, folder: Path, name: str, table: pa.Table | None = None, **settings: Any
    ) -> ma.Release:
        source = tables.people(40) if table is None else table
        release = ma.anonymize(source, **{"k": 4, "seed": 1, **ROLES, **settings})
        release.save(folder / name)
        return release

    def notes_of(self, release: ma.Release) -> list[str]:
        return [note for note in release.notes if "you released this table before" in note]

    def test_other_groups_of_the_same_table_are_told_about(self, tmp_path: Path) -> None:
        assert not self.notes_of(self.save(tmp_path, "a.csv"))
        (note,) = self.notes_of(self.save(tmp_path, "b.parquet", k=5))
        assert "'a.csv'" in note

    def test_the_same_groups_are_not(self, tmp_path: Path) -> None:
        self.save(tmp_path, "a.csv")
        assert not self.notes_of(self.save(tmp_path, "b.parquet")), (
            "the same groups in another format"
        )
        assert not self.notes_of(self.save(tmp_path, "a.csv")), "in the place of the other"
        assert not self.notes_of(self.save(tmp_path, "c.csv", table=tables.people(44))), (
            "another table"
        )

    def test_a_release_that_replaces_another_is_not_compared_with_it(self, tmp_path: Path) -> None:
        self.save(tmp_path, "a.csv")
        replacing = self.save(tmp_path, "a.csv", k=5)
        assert not [note for note in replacing.notes if "'a.csv'" in note], (
            "only one of the two is left"
        )

    def test_what_else_lies_there_does_no_harm(self, tmp_path: Path) -> None:
        for name, content in (
            ("x", b"\xff"),
            ("y", b"[" * 100_000),
            ("z", b'{"input": 5}'),
            ("u", b"[]"),
        ):
            (tmp_path / f"{name}.internal.json").write_bytes(content)
        (tmp_path / "folder.internal.json").mkdir()
        assert not self.notes_of(self.save(tmp_path, "a.csv"))


class TestBounds:
    def test_one_gap_whoever_tells_it(self, tmp_path: Path) -> None:
        """Rounding made the loss of the release, and with it the gap of the report, another than
        that of the groups.
        """
        table = pa.table({"a": [0, 1, 1, 2, 2, 3, 3, 4], "b": [5, 5, 6, 6, 7, 7, 9, 9]})
        release = ma.anonymize(table, 3, ["a", "b"], effort="prove", seed=1)
        assert release.bound is not None
        gap = release.bound.gap(release.labels)
        assert release.manifest["bound"]["gap"] == gap
        assert release.loss["IL"] > 1.01 * release.bound.il, "rounded, it is farther off"
        release.report(tmp_path / "r.md")
        assert gap < 1e-6
        assert "reaches that limit" in (tmp_path / "r.md").read_text()

    def test_a_bound_beside_l_says_that_it_ignores_it(self, tmp_path: Path) -> None:
        release = ma.anonymize(
            tables.people(24),
            3,
            **ROLES,
            confidential=["disease"],
            effort="prove",
            seed=1,
            l=3,
            t=0.4,
        )
        release.report(tmp_path / "r.md")
        assert "leaves l and t out, and with it" in (tmp_path / "r.md").read_text()
        plain = ma.anonymize(tables.people(24), 3, **ROLES, effort="prove", seed=1)
        plain.report(tmp_path / "plain.md")
        assert "and with it any grouping" not in (tmp_path / "plain.md").read_text()

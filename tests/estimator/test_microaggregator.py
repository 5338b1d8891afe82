"""The scikit-learn transformer: what scikit-learn asks of it, and what we promise beyond."""

from __future__ import annotations

import datetime
import pickle
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.utils import get_tags

import microagg as ma
from microagg.estimator.containers import open_input
from running import run

EVERY_CHECK = """
import collections, json, warnings
warnings.simplefilter("error")
import microagg as ma
from sklearn.utils.estimator_checks import check_estimator
done = check_estimator(ma.Microaggregator(), on_fail=None, on_skip=None)
print(json.dumps([(each["check_name"], each["status"], str(each["exception"])) for each in done]))
"""


def people(n: int, seed: int = 0) -> pd.DataFrame:
    """Every kind of column, gaps in most, and many equal rows."""
    dice = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "age": dice.integers(20, 30, n),
            "income": np.where(dice.random(n) < 0.1, np.nan, dice.integers(10, 14, n) * 100.0),
            "town": pd.Series(dice.choice(["Bonn", "Kiel", "Ulm"], n)).where(dice.random(n) > 0.1),
            "school": pd.Categorical(
                dice.choice(["P", "S", "U"], n), ["P", "S", "U", "X"], ordered=True
            ),
            "born": pd.Timestamp("1980-01-01") + pd.to_timedelta(dice.integers(0, 5, n) * 400, "D"),
        },
        index=[f"r{i}" for i in range(n)],
    )
    return pd.concat([frame, frame.iloc[: n // 3].rename("again {}".format)])


@pytest.mark.slow
def test_every_check_of_scikit_learn_passes(tmp_path: Path) -> None:
    """With no expected failure, and none skipped: one is skipped unless SciPy is told so."""
    import json

    done = run("-c", EVERY_CHECK, folder=tmp_path, environment={"SCIPY_ARRAY_API": "1"})
    assert done.code == 0, done.err
    checks = json.loads(done.out)
    assert len(checks) > 40
    assert [check for check in checks if check[1] != "passed"] == []


def test_the_tags_say_what_goes_in() -> None:
    tags = get_tags(ma.Microaggregator())
    assert tags.estimator_type is None, "groups of k are no clusters"
    assert tags.transformer_tags is not None
    assert tags.input_tags.allow_nan
    assert tags.input_tags.categorical
    assert tags.input_tags.string
    assert not get_tags(ma.Microaggregator(missing="error")).input_tags.allow_nan


@pytest.mark.parametrize("seed", range(8))
def test_fitted_rows_become_a_k_anonymous_table_and_equal_rows_stay_equal(seed: int) -> None:
    frame = people(60, seed)
    estimator = ma.Microaggregator(k=4, method="mdav", random_state=seed)
    released = estimator.fit_transform(frame)
    assert ma.check(released, list(frame.columns), k=4).holds
    assert released.dtypes.drop("school").to_dict() == frame.dtypes.drop("school").to_dict()
    assert released.index.equals(frame.index)
    assert np.bincount(estimator.labels_).min() >= 4
    by_row: dict[str, set[str]] = {}
    for (_, before), (_, after) in zip(frame.iterrows(), released.iterrows(), strict=True):
        by_row.setdefault(str(before.tolist()), set()).add(str(after.tolist()))
    assert max(Counter(str(row.tolist()) for _, row in frame.iterrows()).values()) > 1
    assert {len(values) for values in by_row.values()} == {1}
    pd.testing.assert_frame_equal(estimator.transform(frame.iloc[::-1]), released.iloc[::-1])
    assert set(released["school"].cat.categories) <= {"P", "S", "U"}
    assert estimator.n_features_in_ == 5
    assert (
        list(estimator.feature_names_in_)
        == list(frame.columns)
        == list(estimator.get_feature_names_out())
    )


def nearest_by_hand(released: np.ndarray, sizes: np.ndarray, rows: np.ndarray) -> list[int]:
    """The group with the nearest released row, in standard deviations of the released table; the
    lower number where two are.
    """
    records = [row for row, size in zip(released.tolist(), sizes, strict=True) for _ in range(size)]
    columns = list(zip(*records, strict=True))
    means = [sum(column) / len(column) for column in columns]
    spreads = [
        (sum((value - mean) ** 2 for value in column) / len(column)) ** 0.5 or 1.0
        for column, mean in zip(columns, means, strict=True)
    ]

    def distance(row: list[float], group: list[float]) -> float:
        return sum(((a - b) / s) ** 2 for a, b, s in zip(row, group, spreads, strict=True))

    groups = []
    for row in rows.tolist():
        distances = [distance(row, group) for group in released.tolist()]
        groups.append(
            next(g for g, value in enumerate(distances) if value <= min(distances) * (1 + 1e-12))
        )
    return groups


@pytest.mark.parametrize("seed", range(6))
def test_other_rows_get_the_values_of_the_nearest_group(seed: int) -> None:
    dice = np.random.default_rng(seed)
    fitted, others = dice.normal(size=(40, 3)).round(3), dice.normal(size=(50, 3)).round(3) * 2
    estimator = ma.Microaggregator(k=3, method="mdav", random_state=0).fit(fitted)
    released = estimator.transform(fitted)
    _, first = np.unique(estimator.labels_, return_index=True)
    expected = nearest_by_hand(released[first], np.bincount(estimator.labels_), others)
    assert estimator.transform(others).tolist() == released[first][expected].tolist()


def test_a_tree_finds_the_same_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    from microagg.estimator import groups

    dice = np.random.default_rng(3)
    estimator = ma.Microaggregator(k=3, method="mdav", random_state=0).fit(
        dice.normal(size=(60, 2)).round(1)
    )
    others = dice.normal(size=(200, 2)).round(1)
    all_computed = estimator.transform(others)
    monkeypatch.setattr(groups, "FEW", 0.0)
    assert estimator.transform(others).tolist() == all_computed.tolist()


def mixed_rows() -> pd.DataFrame:
    """Rows that were never seen: categories, levels, dates and gaps that the release does not
    have.
    """
    frame = people(12, 99).assign(age=[*range(19, 35)])
    frame["town"] = frame["town"].where(frame.index != "r1", "Rome")
    frame["school"] = pd.Categorical(
        ["X", *frame["school"].astype(str)[1:]], ["P", "S", "U", "X"], ordered=True
    )
    frame.loc[frame.index[2], "born"] = pd.NaT
    frame.loc[frame.index[3], "born"] = pd.Timestamp("2020-05-05")
    return frame


def test_each_row_is_transformed_as_if_it_were_alone() -> None:
    estimator = ma.Microaggregator(k=4, method="mdav", random_state=0).fit(people(60))
    rows = mixed_rows()
    together = estimator.transform(rows)
    alone = [estimator.transform(rows.iloc[[i]]) for i in range(len(rows))]
    assert [row.astype(str).iloc[0].tolist() for row in alone] == together.astype(
        str
    ).to_numpy().tolist()
    known = {str(row.tolist()) for row in estimator.transform(people(60)).astype(str).to_numpy()}
    assert {str(row.tolist()) for row in together.astype(str).to_numpy()} <= known


def test_what_the_release_does_not_have_is_equally_far_from_all_groups() -> None:
    frame = pd.DataFrame({"age": [20.0, 21.0, 60.0, 61.0] * 2, "town": ["Bonn"] * 4 + ["Kiel"] * 4})
    estimator = ma.Microaggregator(k=2, method="mdav", random_state=0).fit(frame)
    other = pd.DataFrame({"age": [22.0, 59.0], "town": ["Rome", "Rome"]})
    assert (np.abs(estimator.transform(other)["age"] - other["age"]) < 3).all()
    estimator = ma.Microaggregator(k=2, method="mdav", random_state=0).fit(
        frame.assign(age=[20.0, 21.0] * 4)
    )
    gap = pd.DataFrame({"age": [np.nan, np.nan], "town": ["Bonn", "Kiel"]})
    assert estimator.transform(gap)["town"].tolist() == ["Bonn", "Kiel"]


def as_libraries(frame: pd.DataFrame) -> dict[str, Any]:
    plain = frame.reset_index(drop=True)
    arrow = pa.Table.from_pandas(plain, preserve_index=False)
    return {
        "pandas": plain,
        "polars": pl.from_arrow(arrow),
        "arrow": arrow,
        "lazy": pl.from_arrow(arrow).lazy(),
    }


@pytest.mark.parametrize("library", ["pandas", "polars", "arrow", "lazy"])
def test_tables_of_all_libraries_keep_theirs(library: str) -> None:
    table, options = (
        as_libraries(people(30))[library],
        {"ordinal": {"school": ["P", "S", "U", "X"]}},
    )
    estimator = ma.Microaggregator(k=3, method="mdav", random_state=0, **options)
    released = estimator.fit_transform(table)
    if library == "lazy":
        table = table.collect()
    assert type(released) is type(table)
    names = list(getattr(table, "column_names", None) or table.columns)
    assert ma.check(released, names, k=3).holds
    same = clone(estimator).fit(as_libraries(people(30))["arrow"])
    assert same.labels_.tolist() == estimator.labels_.tolist()


@pytest.mark.parametrize("transformed", ["pandas", "polars", "arrow"])
@pytest.mark.parametrize("fitted", ["pandas", "polars", "arrow"])
def test_the_library_may_change_between_fit_and_transform(fitted: str, transformed: str) -> None:
    known, new = as_libraries(people(30)), as_libraries(people(30, 7))
    estimator = ma.Microaggregator(k=3, method="mdav", random_state=0).fit(known[fitted])
    for tables in (known, new):
        result = estimator.transform(tables[transformed])
        assert type(result) is type(tables[transformed])
        expected = estimator.transform(tables["arrow"])
        assert as_text(result) == as_text(expected)


def as_text(table: Any) -> list[list[str]]:
    """The cells of a table of any library, gaps in one word."""
    if isinstance(table, pd.DataFrame):
        table = pa.Table.from_pandas(table, preserve_index=False)
    rows = table.to_pylist() if isinstance(table, pa.Table) else table.to_dicts()
    return [[str(cell).replace("None", "nan") for cell in row.values()] for row in rows]


def test_matrices_of_objects_and_of_text() -> None:
    objects = np.array(
        [["a", 1.0, True], ["a", 2.0, True], ["b", np.nan, False], ["b", 9.0, None]] * 2, object
    )
    released = ma.Microaggregator(k=2, method="mdav", random_state=0).fit_transform(objects)
    assert released.dtype == object
    assert released[:, 0].tolist() == objects[:, 0].tolist()
    text = np.array([["a", "x"], ["a", "y"], ["b", "x"], ["b", "x"]])
    assert set(ma.Microaggregator(k=2, random_state=0).fit_transform(text)[:, 0].tolist()) == {
        "a",
        "b",
    }
    whole = np.array([[1, 7], [2, 7], [30, 8], [31, 8]])
    released = ma.Microaggregator(k=2, random_state=0).fit_transform(whole)
    assert released.dtype.kind == "i"
    numbered = pd.DataFrame([[1, 7], [2, 7], [30, 8], [31, 8]])
    assert ma.Microaggregator(k=2, random_state=0).fit_transform(numbered).columns.tolist() == [
        0,
        1,
    ]


def test_what_is_drawn_follows_from_random_state() -> None:
    frame = pd.DataFrame({"age": np.arange(40.0) ** 1.5, "rent": np.arange(40.0)[::-1]})

    def drawn(seed: int) -> tuple[float, ...]:
        estimator = ma.Microaggregator(
            k=10,
            method="mdav",
            aggregate={"age": "draw"},
            accept_risk=["true-values"],
            random_state=seed,
        )
        return tuple(estimator.fit_transform(frame)["age"])

    assert drawn(1) == drawn(1)
    assert len({drawn(seed) for seed in range(4)}) > 1


@pytest.mark.parametrize("type", ["int64", "uint64"])
def test_whole_numbers_that_float64_cannot_tell_apart(type: str) -> None:
    numbers = np.array([2**60, 2**60 + 1, 2**60 + 20, 2**60 + 21], type)
    frame = pd.DataFrame({"account": numbers, "age": [30, 30, 50, 50]})
    estimator = ma.Microaggregator(
        k=2, nominal=["account"], accept_risk=["true-values"], random_state=0
    )
    released = estimator.fit_transform(frame)
    assert set(released["account"]) <= set(frame["account"])
    assert (
        estimator.transform(frame.iloc[[1]])["account"].tolist()
        == released["account"].tolist()[1:2]
    )
    assert ma.Microaggregator(k=2, random_state=0).fit_transform(frame)["account"].nunique() == 2


@pytest.mark.parametrize("missing", [None, np.nan])
@pytest.mark.parametrize(
    "values", [["a", "b"], [1.5, 2.5], [1, "a"]], ids=["text", "numbers", "mixed"]
)
def test_missing_objects_are_no_values(missing: Any, values: list[Any]) -> None:
    column = open_input(np.array([[values[0]], [missing], [values[1]]], object))["0"]
    assert column.is_null().to_list() == [False, True, False]
    assert column.drop_nulls().n_unique() == 2


def test_objects_that_are_not_in_utf_8_are_refused() -> None:
    with pytest.raises(ma.InputError, match="text that is not in UTF-8"):
        open_input(np.array([["a"], ["\udcff"]], object))


def test_set_output() -> None:
    frame = people(20)
    estimator = ma.Microaggregator(k=3, method="mdav", random_state=0)
    assert isinstance(estimator.set_output(transform="pandas").fit_transform(frame), pd.DataFrame)
    assert isinstance(estimator.set_output(transform="polars").fit_transform(frame), pl.DataFrame)
    made = estimator.set_output(transform="pandas").fit_transform(frame[["age"]].to_numpy())
    assert list(made.columns) == ["x0"]


def test_in_pipelines_column_transformers_and_searches() -> None:
    frame, target = people(60), np.arange(80) % 2
    some = make_column_transformer(
        (ma.Microaggregator(k=3, method="mdav", random_state=0), ["age", "town"]), remainder="drop",
        verbose_feature_names_out=False,
    ).set_output(transform="pandas")  # fmt: skip
    assert ma.check(some.fit_transform(frame), ["age", "town"], k=3).holds
    encode = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), ["town"]), (StandardScaler(), ["age"])
    )
    pipeline = make_pipeline(
        ma.Microaggregator(method="mdav", random_state=0), encode, LogisticRegression()
    )
    search = GridSearchCV(pipeline, {"microaggregator__k": [2, 5]}, cv=2, error_score="raise")
    search.fit(frame[["age", "town"]], target)
    assert search.best_params_["microaggregator__k"] in (2, 5)


def test_clone_and_pickle() -> None:
    frame, rows = people(30), mixed_rows()
    estimator = ma.Microaggregator(
        k=3,
        method="mdav",
        random_state=0,
        ordinal={"town": ["Bonn", "Kiel", "Ulm"]},
        special={"age": [29]},
    ).fit(frame)
    copied = clone(estimator)
    assert copied.get_params() == estimator.get_params()
    with pytest.raises(NotFittedError):
        copied.transform(frame)
    loaded = pickle.loads(pickle.dumps(estimator))
    for table in (frame, rows):
        pd.testing.assert_frame_equal(loaded.transform(table), estimator.transform(table))


def canaries(n: int) -> pd.DataFrame:
    """A table in which no original value is released: means of numbers that no record has, towns
    and levels of one record each.
    """
    dice = np.random.default_rng(5)
    towns = ["Bonn", "Kiel"] * (n // 2)
    towns[3], towns[8] = "canary-town-Atlantis", "canary-town-Eldorado"
    levels = ["low", "mid", "high"] * (n // 3) + ["low"] * (n % 3)
    levels[5] = "canary-level"
    return pd.DataFrame(
        {
            "income": dice.normal(1000.0, 300.0, n),
            "rent": dice.normal(10.0, 3.0, n).astype(np.float32),
            "town": towns,
            "level": pd.Categorical(
                levels, ["low", "mid", "high", "canary-level", "canary-unused"], ordered=True
            ),
            "born": pd.Timestamp("1950-01-01")
            + pd.to_timedelta(dice.permutation(n) * 7919 + 13, "min"),
            "code": dice.permutation(n) * 1_000_003 + 77_777_777,
        }
    )


@pytest.mark.parametrize("scale", ["zscore", "minmax", "robust", "rank", "none"])
@pytest.mark.parametrize("library", ["pandas", "polars", "arrow", "matrix", "categorical"])
def test_a_pickle_holds_no_original_value(library: str, scale: str) -> None:
    frame = canaries(60)
    table: Any = {**as_libraries(frame), "matrix": frame[["income", "code"]].to_numpy()}.get(
        library
    )
    if library == "categorical":  # whose categories lie in polars
        table = as_libraries(frame)["polars"].with_columns(pl.col("town").cast(pl.Categorical))
    estimator = ma.Microaggregator(k=5, method="mdav", scale=scale, random_state=0).fit(table)
    content = pickle.dumps(estimator)
    released = estimator.transform(table)
    assert b"canary" not in content
    matrix = released if library == "matrix" else None
    for name in ("income",) if library == "matrix" else ("income", "born", "code"):
        column = np.asarray(released[name] if matrix is None else matrix[:, 0])
        kept = set(np.asarray(column).astype(np.float64 if name == "income" else np.int64).tolist())
        for value in frame[name].to_numpy():
            if name == "income":
                assert float(value) not in kept
                assert np.float64(value).tobytes() not in content
            elif (
                number := int(np.int64(value.astype(np.int64) if name == "born" else value))
            ) not in kept:
                forms = [np.int64(number).tobytes(), np.float64(number).tobytes()]
                if name == "born":
                    others = (number * 1000, number // 1000, number // 1_000_000)  # in other units
                    forms += [np.int64(other).tobytes() for other in others if abs(other) < 2**63]
                assert not any(form in content for form in forms), name
    for value in frame["rent"].to_numpy():
        assert np.float64(value).tobytes() not in content
    # what is sought would be found
    assert np.float64(frame["income"][0]).tobytes() in pickle.dumps(frame["income"].to_numpy())


def test_the_same_state_gives_the_same_groups_and_another_salt() -> None:
    frame = people(40)
    first, second = (
        ma.Microaggregator(k=3, random_state=4, threads=threads).fit(frame) for threads in (1, 2)
    )
    pd.testing.assert_frame_equal(first.transform(mixed_rows()), second.transform(mixed_rows()))
    assert first._rows.salt != second._rows.salt
    assert not set(first._rows.digests.tolist()) & set(second._rows.digests.tolist())
    state = ma.Microaggregator(k=3, random_state=np.random.RandomState(1)).fit(frame)
    assert np.bincount(state.labels_).min() >= 3


@pytest.mark.parametrize(
    ("parameters", "says"),
    [
        ({"missing": "drop"}, "would leave rows out"),
        ({"missing": "error"}, "missing value; fill it in"),
        ({"method": "individual-ranking"}, "rows have no group"),
        ({"aggregate": {"age": "range"}}, "ranges or ancestors"),
        ({"aggregate": {"born": "medoid"}, "k": 8}, "accept_risk='true-values'"),
        ({"precision": "full"}, "accept_risk='full-precision'"),
        ({"k": 1000}, r"fewer rows \(n_samples = 40\) than k = 1000"),
        ({"k": 1}, "at least 2"),
        ({"method": "mdav", "effort": "quick"}, "effort"),
        ({"nominal": "nowhere"}, "nowhere"),
    ],
)
def test_what_is_refused(parameters: dict[str, Any], says: str) -> None:
    frame = people(30).assign(born=pd.Timestamp("1980-01-01") + pd.to_timedelta(np.arange(40), "D"))
    with pytest.raises(ma.InputError, match=says):
        ma.Microaggregator(**parameters).fit(frame)


@pytest.mark.parametrize("make", [np.array, lambda rows: pd.DataFrame(rows, columns=["a"])])
def test_infinity_is_refused(make: Any) -> None:
    points = make([[1.0], [np.inf], [2.0]])
    with pytest.raises(ValueError, match="infin"):
        ma.Microaggregator(k=2).fit(points)
    fitted = ma.Microaggregator(k=2, random_state=0).fit(make([[1.0], [2.0]]))
    with pytest.raises(ValueError, match="infin"):
        fitted.transform(points)


def test_special_codes_and_dates_of_new_rows() -> None:
    frame = pd.DataFrame(
        {"age": [20, 21, 97, 97, 60, 61], "born": [datetime.date(2000 + i, 1, 1) for i in range(6)]}
    )
    estimator = ma.Microaggregator(
        k=2, method="mdav", special={"age": [97]}, importance={"age": 100.0}, random_state=0
    )
    released = estimator.fit_transform(frame)
    assert released["age"].tolist()[2:4] == [97, 97]
    other = pd.DataFrame(
        {"age": [97, 58], "born": [datetime.date(2005, 1, 1), datetime.date(2000, 1, 1)]}
    )
    assert estimator.transform(other)["age"].tolist()[0] == 97
    assert estimator.transform(other)["age"].tolist()[1] >= 60


@pytest.mark.slow
def test_without_scikit_learn_there_is_a_sentence(tmp_path: Path) -> None:
    code = (
        "import sys\nsys.modules['sklearn'] = None\nfrom microagg import *\nimport microagg as ma\n"
        "try:\n    ma.Microaggregator(k=5)\nexcept ma.InputError as error:\n    print(error)"
    )
    done = run("-c", code, folder=tmp_path)
    assert done.out.strip() == (
        "Microaggregator needs scikit-learn 1.6 or newer, which is not there; pip "
        "install 'microagg[sklearn]' installs it."
    ), done


@pytest.mark.reference
@pytest.mark.slow
def test_a_pipeline_with_categories_and_gaps_fits_on_adult(reference_data: Path) -> None:
    adult = pd.read_csv(reference_data / "tables" / "adult.csv")
    quasi = ["sex", "age", "race", "marital-status", "education", "native-country", "workclass"]
    dice = np.random.default_rng(1)
    table, rich = adult[quasi].copy(), adult["salary-class"] == ">50K"
    for name in ("workclass", "education"):
        table[name] = table[name].where(dice.random(len(table)) > 0.05)
    table["age"] = table["age"].astype("Int64").mask(dice.random(len(table)) < 0.05)
    ages = make_pipeline(
        make_column_transformer(
            (OneHotEncoder(handle_unknown="ignore"), [name for name in quasi if name != "age"]),
            remainder="drop",
        ),
        LogisticRegression(max_iter=500),
    )
    pipeline = make_pipeline(ma.Microaggregator(k=10, random_state=1), ages)
    fitted, rest = slice(0, 20_000), slice(20_000, None)
    pipeline.fit(table[fitted], rich[fitted])
    assert ma.check(pipeline[0].transform(table[fitted]), quasi, k=10).holds
    assert pipeline.score(table[rest], rich[rest]) > max(rich.mean(), 1 - rich.mean())
    assert (adult["native-country"] == "Holand-Netherlands").sum() == 1
    assert b"Holand-Netherlands" not in pickle.dumps(pipeline)

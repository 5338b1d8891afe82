"""Keyword options that several functions share: signature, types and unknown names."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import pytest

import microagg as ma
from microagg.guarantees.check import CheckOptions
from microagg.release.settings import OF_A_CELL, Settings, SharedOptions
from microagg.studies.assess import AssessOptions
from microagg.studies.compare import CompareOptions

TABLE = {"age": [30, 32, 60, 64], "ill": ["no", "yes", "no", "no"]}
SHARING = [(ma.check, CheckOptions), (ma.assess, AssessOptions), (ma.compare, CompareOptions)]
ARGUMENTS = {"check": (TABLE, ["age"], 2), "assess": (TABLE, TABLE), "compare": (TABLE,)}


def spelled_out(parameter: inspect.Parameter) -> str:
    return parameter.annotation.replace("Names", "Sequence[str | int] | str | int")


@pytest.mark.parametrize(("function", "options"), SHARING)
def test_the_signature_lists_the_options(function: Callable[..., Any], options: type) -> None:
    parameters = inspect.signature(function).parameters
    for name in inspect.get_annotations(options):
        assert parameters[name].kind is inspect.Parameter.KEYWORD_ONLY, name
    assert all(
        parameter.kind is not inspect.Parameter.VAR_KEYWORD for parameter in parameters.values()
    )


@pytest.mark.parametrize(("function", "options"), SHARING)
def test_options_have_the_types_and_defaults_of_settings(
    function: Callable[..., Any], options: type
) -> None:
    of_anonymize, declared = inspect.signature(ma.anonymize).parameters, Settings.parameters()
    shared = set(inspect.get_annotations(options)) & set(of_anonymize) - {"k", "reading"}
    assert len(shared) >= 10
    for name in shared:
        parameter = inspect.signature(function).parameters[name]
        assert spelled_out(parameter) == spelled_out(of_anonymize[name]), name
        assert parameter.default == declared[name].default, name


def test_releases_of_a_comparison_share_all_other_settings() -> None:
    shared = {name for name in Settings.parameters() if name not in OF_A_CELL}
    separate = {"quasi", "confidential", "keep", "reading"}
    assert set(inspect.get_annotations(SharedOptions)) == shared - separate
    assert {*separate, "k"} <= set(inspect.signature(ma.compare).parameters)


@pytest.mark.parametrize("function", [function for function, _ in SHARING])
@pytest.mark.parametrize(
    ("keyword", "instead"),
    [("nominals", "nominal"), ("specials", "special"), ("strata", "stratum")],
)
def test_an_unknown_keyword_is_refused_with_the_nearest_name(
    function: Callable[..., Any], keyword: str, instead: str
) -> None:
    message = f"there is no parameter '{keyword}'; it is called '{instead}' here"
    with pytest.raises(ma.InputError, match=message):
        function(*ARGUMENTS[function.__name__], **{keyword: "ill"})


@pytest.mark.parametrize("function", [function for function, _ in SHARING])
def test_a_keyword_like_none_is_refused_with_all_names(function: Callable[..., Any]) -> None:
    with pytest.raises(ma.InputError, match=r"no parameter 'xyz'; there are .*, nominal, "):
        function(*ARGUMENTS[function.__name__], xyz=1)


def test_settings_of_a_single_release_are_refused_by_compare() -> None:
    with pytest.raises(ma.InputError, match="seed cannot be set for all releases"):
        ma.compare(TABLE, ks=2, seed=1)  # pyright: ignore[reportCallIssue]  # refused, as it says


def test_calls_of_before_are_accepted() -> None:
    assert ma.check(TABLE, ["age"], 2, exact=True, kinds=None, special=None).holds is False
    swapped: Any = ma.check  # k and quasi in the order of anonymize, which types do not tell
    assert swapped(TABLE, 2, quasi="age", confidential="ill", diversity="distinct").k == 2
    done = ma.assess(TABLE, TABLE, quasi=["age"], importance={"age": 2}, stratum="ill")
    assert done.smallest_class == 1
    compared = ma.compare(TABLE, k=2, quasi="age", methods=["mdav"], jobs=1, name="x", rest="drop")
    assert (compared.name, len(compared.rows)) == ("x", 1)

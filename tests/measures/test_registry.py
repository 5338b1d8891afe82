"""The registry of measures: complete, in order, and honest about what a pair lacks."""

from __future__ import annotations

import importlib
import math
import pkgutil

import numpy as np
import pytest

import microagg as ma
import microagg.measures
from microagg.measures.measure import Measure, Pair
from microagg.measures.registry import MEASURES, assess_pair, measure_named, measures

TABLE = np.random.default_rng(3).normal(size=(30, 3))
RELEASED = np.repeat(TABLE[::5], 5, axis=0)
NAMES = ("a", "b", "c")
NEEDS = ("", "numbers", "amounts", "points", "confidential", "categories", "kept", "k")


def test_every_measure_of_the_package_is_registered() -> None:
    entries = set()
    for module in pkgutil.walk_packages(microagg.measures.__path__, "microagg.measures."):
        for name, thing in vars(importlib.import_module(module.name)).items():
            if isinstance(thing, Measure):
                entries.add(f"{thing.name} = {module.name}:{name}")
    assert entries == set(MEASURES)


def test_names_are_unique_and_declarations_complete() -> None:
    names = [measure.name for measure in measures()]
    assert len(set(names)) == len(names)
    for measure in measures():
        assert measure.side in ("loss", "risk")
        assert measure.needs in NEEDS
        assert measure.of in ("release", "pair", "record")
        assert measure.lowest < measure.highest
        assert measure_named(measure.name) is measure
        for words in (
            measure.title,
            measure.unit,
            measure.zero_means,
            measure.highest_means,
            measure.source,
        ):
            assert words.strip()


def test_sides_make_up_the_whole() -> None:
    assert measures("loss") + measures("risk") == measures()
    assert measures("loss")
    assert measures("risk")


def test_an_unknown_measure() -> None:
    with pytest.raises(ma.InputError, match="no measure 'ill'; there are il,"):
        measure_named("ill")


def test_what_a_pair_lacks_is_left_out() -> None:
    bare = {measure.name for measure, _ in assess_pair(Pair(TABLE, RELEASED, NAMES))}
    assert bare == {measure.name for measure in measures() if measure.needs in NEEDS[:4]}
    codes = np.arange(30) % 4
    full = Pair(TABLE, RELEASED, NAMES, confidential={"ill": codes}, kept={"town": codes}, k=5)
    figures = assess_pair(full)
    assert [measure for measure, _ in figures] == list(measures())
    for measure, figure in figures:
        assert math.isfinite(figure.value), measure.name
        assert measure.lowest <= figure.value <= measure.highest, measure.name
    ordered = Pair(TABLE, RELEASED, NAMES, ordered={"grade": codes})
    names = {measure.name for measure, _ in assess_pair(ordered)}
    about_people = {measure.name for measure in measures() if measure.needs == "confidential"}
    about_categories = {measure.name for measure in measures() if measure.needs == "categories"}
    assert names - bare == about_people | about_categories
    numbers = Pair(TABLE, RELEASED, NAMES, confidential={"wage": np.arange(30.0)})
    assert {measure.name for measure, _ in assess_pair(numbers)} - bare == about_people


def test_the_order_is_that_asked_for_and_progress_tells_it() -> None:
    seen: list[tuple[int, int]] = []
    figures = assess_pair(
        Pair(TABLE, RELEASED, NAMES), ["linkage", "il"], lambda *step: seen.append(step)
    )
    assert [measure.name for measure, _ in figures] == ["linkage", "il"]
    assert seen == [(1, 2), (2, 2)]


def test_an_intruder_who_knows_less() -> None:
    noisy = TABLE + 0.4 * np.random.default_rng(4).normal(size=TABLE.shape)
    pair, names = Pair(TABLE, noisy, NAMES), ["il", "linkage"]
    (_, loss), (_, linked) = assess_pair(pair, names, known=["c", "a"])
    chosen = Pair(TABLE[:, [0, 2]].copy(), noisy[:, [0, 2]].copy(), ("a", "c"))
    assert loss == assess_pair(pair, ["il"])[0][1]
    assert linked == assess_pair(chosen, ["linkage"])[0][1]
    assert linked.value < assess_pair(pair, ["linkage"])[0][1].value
    with pytest.raises(ma.InputError, match="cannot know 'd'"):
        assess_pair(pair, names, known=["d"])


def test_what_a_measure_is_computed_from() -> None:
    """A measure of the release gives the same figure whatever the original is; the others do
    not.
    """
    codes = np.arange(30) % 4
    others = {
        "confidential": {"ill": codes, "wage": np.arange(30.0)},
        "kept": {"town": codes},
        "k": 5,
    }
    one = assess_pair(Pair(TABLE, RELEASED, NAMES, **others))
    # values that repeat: a measure that only counts which values are equal sees the difference, too
    another = assess_pair(Pair(np.round(TABLE[::-1] * 3.0 + 7.0, 1), RELEASED, NAMES, **others))
    for (measure, before), (_, after) in zip(one, another, strict=True):
        assert (before == after) == (measure.of == "release"), measure.name

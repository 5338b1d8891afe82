"""Settings that look into registries, as a command line types them; seeds, dates and roles."""

from __future__ import annotations

import datetime
from typing import Any

import pytest

from microagg.errors import InputError
from microagg.release.renaming import with_new_names, with_old_names
from microagg.release.settings import Settings
from microagg.release.toml_lines import check_deep_keys, line_of
from microagg.table.schema import Role


def typed(name: str, **options: Any) -> Any:
    return Settings.parameters()[name].from_typed(options)


def test_options_of_files_are_those_that_were_typed() -> None:
    assert typed("writing") is None
    assert typed("writing", out_decimal=None, escape_formulas=False) is None
    assert typed("writing", out_decimal=",", escape_formulas=True) == {
        "decimal": ",",
        "escape_formulas": True,
    }
    assert typed("reading", delimiter=";", decimal=None) == {"delimiter": ";"}
    assert typed("reading", skip_rows=0) == {"skip_rows": 0}  # no switch: 0 says something


def test_parameters_of_a_method_are_names_and_values() -> None:
    assert typed("params") is None
    assert typed("params", param=[]) is None
    assert typed("params", effort="quick", time_limit=None) == {"effort": "quick"}
    assert typed("params", time_limit=3.0, param=["gamma = 0.2", "a==b"]) == {
        "time_limit": 3.0,
        "gamma": "0.2",
        "a": "=b",
    }
    with pytest.raises(InputError, match="name=value"):
        typed("params", param=["gamma"])
    with pytest.raises(InputError, match="must be a dictionary"):
        Settings.parameters()["params"].parse("gamma=1")
    with pytest.raises(InputError, match="must be a dictionary"):
        Settings.parameters()["reading"].parse("delimiter=;")


def test_a_seed_and_a_date_are_kept_or_made() -> None:
    settings = Settings.of(k=2, quasi=["age"])
    one, other = settings.resolved(), settings.resolved()
    assert one.seed is not None
    assert other.seed is not None
    assert one.seed != other.seed
    assert 0 <= one.seed < 2**63
    today = datetime.date.today()
    assert one.date in (today.isoformat(), (today - datetime.timedelta(days=1)).isoformat())
    kept = settings.but(seed=0, date="2001-02-03").resolved()
    assert (kept.seed, kept.date) == (0, "2001-02-03")


def test_roles_of_single_columns() -> None:
    bare = Settings.of(k=4, quasi=["age"])
    assert bare.roles[Role.WEIGHT] == bare.roles[Role.UNIT] == ()
    assert bare.weight_becomes is None
    assert bare.numbers == ("age",)
    assert not bare.promise
    full = Settings.of(
        k=4, quasi=["age"], identifier="name", confidential="ill", keep="code", weight="w",
        stratum="region", unit="home", aggregate={"w": "keep", "age": "median"},
    )  # fmt: skip
    assert full.roles == {
        Role.QUASI: ("age",),
        Role.IDENTIFIER: ("name",),
        Role.CONFIDENTIAL: ("ill",),
        Role.KEEP: ("code",),
        Role.WEIGHT: ("w",),
        Role.STRATUM: ("region",),
        Role.UNIT: ("home",),
    }
    assert full.aggregates == {"age": "median"}
    assert full.weight_becomes == "keep"
    assert full.but(aggregate=None).weight_becomes == "mean"
    assert full.numbers == ("age", "w")
    assert full.promise.units is not None
    assert full.promise.units.k == 4


def test_every_setting_that_names_columns_gets_new_names() -> None:
    old = Settings.of(
        k=2, quasi=["a", "b", "s"], identifier="n", confidential="i", keep="c", weight="w",
        stratum="r", unit="h", nominal=["c"], kinds={"i": "ordinal"}, importance={"a": 2.0},
        aggregate={"b": "median"}, special={"a": [97]}, cap={"b": 5.0}, rules=["s = a + b"],
        rename={name: f"new_{name}" for name in "abnicwrh"},
    )  # fmt: skip
    new = with_new_names(old)
    assert new.quasi == ("new_a", "new_b", "s")
    assert (new.identifier, new.confidential, new.keep) == (("new_n",), ("new_i",), ("new_c",))
    assert (new.weight, new.unit, new.stratum) == ("new_w", "new_h", ("new_r",))
    assert new.nominal == ("new_c",)
    for setting, name in (
        ("kinds", "new_i"), ("importance", "new_a"), ("aggregate", "new_b"), ("special", "new_a"),
        ("cap", "new_b"),
    ):  # fmt: skip
        assert list(getattr(new, setting)) == [name]
    assert new.rules == ("s = new_a + new_b",)
    assert with_old_names(new) == old
    plain = Settings.of(k=2, quasi=["a"], rules=["none"], rename={"a": "x"})
    assert with_new_names(plain).rules == ("none",)
    assert with_new_names(plain).weight is None


def test_keys_of_more_than_eight_dots_are_refused(tmp_path: Any) -> None:
    path = tmp_path / "settings.toml"
    check_deep_keys(path, ".".join("a" * 8) + " = 1")
    with pytest.raises(InputError, match=r"settings.toml, line 2: a key has more than 8 parts"):
        check_deep_keys(path, "k = 5\n" + ".".join("a" * 9) + " = 1")
    with pytest.raises(InputError, match="line 1"):
        check_deep_keys(path, "x = {" + ".".join("a" * 9) + " = 1}")
    for harmless in (
        '"a.b.c.d.e.f.g.h.i.j" = 1',
        "'a.b.c.d.e.f.g.h.i.j' = 1",
        "a = 1 # a.b.c.d.e.f.g.h.i.j",
        "a = [1.5, 2.5, 3.5, 4.5, 5.5, 6.5, 7.5, 8.5]",
    ):
        check_deep_keys(path, harmless)  # fmt: skip


TEXT = """k = 5
quasi = [
  "age",
]
params.effort = "quick"
[kinds]
age = "ordinal"
[special]
"""


@pytest.mark.parametrize(
    ("keys", "line"),
    [
        (("k",), 1), (("quasi",), 2), (("params", "effort"), 5), (("params",), 5), (("kinds",), 6),
        (("kinds", "age"), 7), (("special",), 8), (("age",), None), (("special", "age"), None),
    ],
)  # fmt: skip
def test_lines_of_keys(keys: tuple[str, ...], line: int | None) -> None:
    assert line_of(TEXT, keys) == line

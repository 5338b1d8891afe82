"""Settings: declared once, and everything that names a setting agrees with the declaration."""

from __future__ import annotations

import dataclasses
import inspect
import json
from pathlib import Path
from typing import Any

import click
import pytest
import typer.main

import microagg as ma
import tables
from microagg.cli.commands import NOT_SHARED, app
from microagg.cli.options import SEARCHING, flag_of
from microagg.files.formats import reading_options, writing_options
from microagg.files.reading import read_table
from microagg.pipeline.files import anonymize_file
from microagg.release.manifest import RESULTS, public_manifest
from microagg.release.settings import Settings
from microagg.studies.compare import compare
from microagg.studies.repeating import repeat_file
from microagg.table.columns.digests import digest_of_whole_columns

NOT_SETTINGS = {"table", "settings", "threads", "progress", "params"}
ROLES: dict[str, Any] = {"quasi": tables.QUASI, "rest": "keep", "identifier": ["name"]}


def defaults_of(function: Any) -> dict[str, Any]:
    """Parameters of a function and their defaults, as far as they are settings."""
    parameters = inspect.signature(function).parameters.values()
    return {
        parameter.name: parameter.default
        for parameter in parameters
        if parameter.name in Settings.parameters() and parameter.name != "params"
    }


def test_the_signature_of_anonymize_is_that_of_settings() -> None:
    names = set(inspect.signature(ma.anonymize).parameters)
    assert names - NOT_SETTINGS == set(Settings.parameters()) - {"params"}
    expected = {
        name: parameter.default
        for name, parameter in Settings.parameters().items()
        if name != "params"
    }
    assert defaults_of(ma.anonymize) == expected


@pytest.mark.parametrize("function", [ma.partition, ma.check], ids=["partition", "check"])
def test_other_functions_have_the_same_defaults(function: Any) -> None:
    declared = Settings.parameters()
    for name, default in defaults_of(function).items():
        needed = default is inspect.Parameter.empty
        plain = name in (
            "seed",
            "confidential",
        )  # a matrix has neither columns to name nor a release to protect
        assert needed or plain or default == declared[name].default, name


def options_of(command: str) -> set[str]:
    """The long options of a command, as a user types them."""
    group = typer.main.get_command(app)
    parameters = group.commands[command].params  # pyright: ignore
    return {
        option for parameter in parameters for option in parameter.opts if option.startswith("--")
    }


def test_the_command_line_has_an_option_for_each_setting() -> None:
    flags = {
        flag_of(name)
        for name in Settings.parameters()
        if name not in ("params", "reading", "writing")
    }
    searching = {f"--{name.replace('_', '-')}" for name in SEARCHING}
    extra = {
        "--threads",
        "--keep-order",
        "--report",
        "--config",
        "--as-proposed",
        "--memory",
        "--spill",
        "--resume",
        "--dask",
    }
    extra |= {"--manifest", "--public-manifest", "--dry-run", "--json", "--numeric"}
    extra |= {flag_of(name) for name in reading_options()} | {"--escape-formulas"}
    extra |= {flag_of(f"out_{name}") for name in writing_options() if name != "escape_formulas"}
    assert options_of("anonymize") - {"--help"} == flags | searching | {"--param"} | extra
    assert options_of("check") >= {
        "--k",
        "--quasi",
        "--confidential",
        "--l",
        "--t",
        "--diversity",
        "--c",
    }


def test_a_comparison_has_an_option_for_each_setting_that_releases_can_share() -> None:
    flags = {
        flag_of(name) for name in Settings.parameters() if name not in (*NOT_SHARED, "reading")
    }
    flags |= {flag_of(name) for name in reading_options()}
    assert {"--l", "--t", "--scale", "--precision", "--refine"} <= flags <= options_of("compare")


def test_cells_of_a_comparison_are_settings() -> None:
    table = tables.people(30)
    roles: dict[str, Any] = {"quasi": tables.QUASI, "confidential": ["disease"]}
    row = compare(table, ks=[3], methods="mdav", scale="minmax", l=2, **roles).rows[0]
    release = ma.anonymize(
        table, 3, **roles, rest="drop", l=2, scale="minmax", method="mdav", seed=0
    )
    assert row.classes == len(release.anonymity.sizes)
    for wrong in ({"scale": "log"}, {"seed": 3}, {"nonsense": "red"}, {"l": 1}, {"publish": "il"}):
        with pytest.raises(ma.InputError):
            compare(table, ks=[3], methods="mdav", **roles, **wrong)


def test_no_result_of_a_manifest_is_called_like_a_setting() -> None:
    release = ma.anonymize(tables.people(), 3, **ROLES, seed=1)
    assert not set(RESULTS) & set(Settings.parameters())
    assert set(release.manifest) <= set(RESULTS) | {"settings"}


def test_settings_survive_a_manifest() -> None:
    settings = Settings.of(
        k="4",
        quasi="age",
        confidential=["ill"],
        l="2",
        diversity="recursive",
        c=3,
        t=0.4,
        method="v-mdav",
        params={"gamma": "0.3"},
        refine=True,
        scale="rank",
        precision="full",
        publish=["il", "bound"],
        seed=5,
        date="2026-02-03",
        kinds={"zip": "nominal"},
        nominal=["sex"],
        ordinal={"education": ["P", "S", "PS"], "grade": None},
        importance={"age": 2},
        aggregate={"age": "median", "town": "generalise"},
        hierarchy={"town": {"Rome": ["Rome", "Italy", "*"], "Pisa": ["Pisa", "Italy", "*"]}},
        missing="drop",
        special={"age": [97, "refused"]},
        na=[-9, "x"],
        weight="w",
        stratum=["region", 3],
        unit="home",
        small_strata="drop",
        reading={"delimiter": "semicolon", "decimal": ",", "header": False},
        writing={"encoding": "latin1", "escape_formulas": True},
    )
    assert Settings.from_data(json.loads(json.dumps(settings.as_data()))) == settings
    assert (settings.k, settings.l, settings.c, settings.params) == (4, 2, 3.0, {"gamma": 0.3})
    assert list(settings.as_data()) == [
        field.name for field in dataclasses.fields(Settings) if field.metadata
    ]


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({}, "k must be a whole number"),
        ({"k": True}, "k must be a whole number"),
        ({"k": 1}, "k is 1"),
        ({"k": 3, "quasi": 3.5}, "quasi must be a name"),
        ({"k": 3, "quasi": None}, "quasi must be a name"),
        ({"k": 3, "rest": "forget"}, "rest must be one of error, drop, keep"),
        ({"k": 3, "refine": "no"}, "refine must be True or False"),
        ({"k": 3, "scale": ["zscore"]}, "scale must be one of"),
        ({"k": 3, "seed": 1.5}, "seed must be a whole number"),
        ({"k": 3, "date": "yesterday"}, "date must be a day"),
        ({"k": 3, "params": "effort"}, "params must be a dictionary"),
        ({"k": 3, "wait": "w"}, "no parameter 'wait'"),
        ({"k": 3, "weight": ["w", "v"]}, "weight takes one column, but 2 were named"),
        ({"k": 3, "unit": ["household", "person"]}, "unit takes one column, but 2 were named"),
        ({"k": 3, "small_strata": "merge"}, "small_strata must be one of error, drop"),
        ({"k": 3, "effort": "quick", "params": {"effort": "quick"}}, "given twice"),
        ({"k": 3, "c": 2}, "give l as well"),
    ],
)
def test_wrong_settings_get_a_sentence(settings: dict[str, Any], says: str) -> None:
    with pytest.raises(ma.InputError, match=says):
        Settings.of(**settings)


def test_changing_a_setting() -> None:
    settings = Settings.of(k=3, quasi="age", effort="quick")
    assert settings.but(k=5).params == settings.params
    assert settings.but(effort="balanced").params["effort"] == "balanced"
    assert settings.but(method="mdav").params == {"leftovers": "block"}
    with pytest.raises(ma.InputError, match="no setting 'nonsense'"):
        Settings.from_data({**settings.as_data(), "nonsense": "red"})


def test_settings_handed_over_whole() -> None:
    table = tables.people(30)
    settings = Settings.of(k=4, **ROLES, method="mdav", seed=3)
    release = ma.anonymize(table, settings=settings)
    assert release.settings == settings.resolved()
    assert (
        release.labels.tolist()
        == ma.anonymize(table, 4, **ROLES, method="mdav", seed=3).labels.tolist()
    )
    with pytest.raises(ma.InputError, match=r"settings\.but\(k="):
        ma.anonymize(table, 4, settings=settings)
    with pytest.raises(ma.InputError, match=r"Settings\.of"):
        ma.anonymize(table, settings={"k": 4})  # pyright: ignore


def test_nothing_beside_settings_is_passed_over_for_files(tmp_path: Path) -> None:
    source = tables.write(tables.people(30), tmp_path / "in.csv")
    settings = Settings.of(k=4, **ROLES, method="v-mdav", seed=3)
    for beside in ({"gamma": 0.5}, {"scale": "rank"}):
        with pytest.raises(ma.InputError, match="together with settings"):
            anonymize_file(source, tmp_path / "out.csv", settings=settings, **beside)
    release = anonymize_file(
        source, tmp_path / "out.csv", 4, **ROLES, method="v-mdav", gamma=0.5, seed=3
    )
    assert release.settings.params == {"gamma": 0.5}


def test_help_of_a_command_names_each_choice() -> None:
    group = typer.main.get_command(app)
    context = click.Context(group)  # pyright: ignore
    help_text = group.commands["anonymize"].get_help(context)  # pyright: ignore
    assert "zscore|minmax|robust|rank|none" in help_text
    assert "[default: zscore]" in " ".join(help_text.split())


class TestRepeatingOlderManifests:
    """Manifests of format 1 had settings and results side by side."""

    def old_manifest(self, release: ma.Release, table: Any, path: Path) -> None:
        manifest = dict(release.manifest)
        settings = dict(manifest.pop("settings"))
        for name in ("quasi", "identifier", "confidential", "keep", "date"):
            settings.pop(name)
        manifest |= settings | {
            "format": 1,
            "input": digest_of_whole_columns(table),
            "rows": "shuffled",
        }
        path.write_text(json.dumps(manifest))

    def test_they_still_repeat(self, tmp_path: Path) -> None:
        source = tables.write(tables.people(40), tmp_path / "in.csv")
        table = read_table(source, numeric=tables.QUASI)
        release = ma.anonymize(
            table, 4, **ROLES, method="v-mdav", gamma=0.4, scale="robust", seed=9
        )
        release.save(tmp_path / "out.csv")
        self.old_manifest(release, table, tmp_path / "old.json")
        again = repeat_file(tmp_path / "old.json", source, tmp_path / "again.csv")
        old, new = ((tmp_path / name).read_text("utf-8") for name in ("again.csv", "out.csv"))
        assert sorted(old.splitlines()) == sorted(new.splitlines())
        assert old != new, "shuffled by the rules of then"
        repeat_file(tmp_path / "again.csv.internal.json", source, tmp_path / "third.csv")
        assert (tmp_path / "third.csv").read_text("utf-8") == old
        for name in ("k", "quasi", "identifier", "rest", "method", "params", "scale", "seed"):
            assert getattr(again.settings, name) == getattr(release.settings, name)

    @pytest.mark.parametrize(
        ("changes", "says"),
        [
            ({"format": 4, "microagg": "2.5.0"}, "install microagg 2.5.0"),
            ({"format": 4, "microagg": "\x1b[31m"}, "install that version"),
            (
                {"microagg": "0.0.7", "settings": {"k": 3, "nonsense": "red"}},
                "install microagg 0.0.7",
            ),
            ({"settings": []}, "not an internal manifest"),
            ({"input": {"digest": 7}}, "not an internal manifest"),
            ({"format": "2"}, "not an internal manifest"),
        ],
    )
    def test_others_name_the_version_to_install(
        self, tmp_path: Path, changes: dict[str, Any], says: str
    ) -> None:
        source = tables.write(tables.people(), tmp_path / "in.csv")
        release = ma.anonymize(read_table(source, numeric=tables.QUASI), 3, **ROLES, seed=1)
        (tmp_path / "m.json").write_text(json.dumps({**release.manifest, **changes}))
        with pytest.raises(ma.InputError, match=says):
            repeat_file(tmp_path / "m.json", source, tmp_path / "again.csv")
        assert not (tmp_path / "again.csv").exists()


def test_settings_that_tell_of_the_original_table_alone_are_not_public() -> None:
    """Left-out columns, shuffling and files of the data holder; all else says what was done."""
    internal = set(Settings.parameters()) - set(Settings.public_names())
    assert internal == {
        "accept_risk",
        "date",
        "entity",
        "identifier",
        "reading",
        "rename",
        "rest",
        "seed",
        "title",
        "unit",
        "writing",
    }


def test_what_is_public_is_declared_with_each_setting() -> None:
    release = ma.anonymize(tables.people(), 3, **ROLES, seed=1)
    public = public_manifest(release.manifest)
    assert set(public["settings"]) == set(Settings.public_names())
    assert public_manifest(public) == public

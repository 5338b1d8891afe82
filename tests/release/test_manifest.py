"""Digests, and the two manifests."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pyarrow as pa
import pytest

import microagg as ma
import tables
from microagg.files.reading import read_written
from microagg.release.manifest import digest_of, manifest_paths, name_of_release, public_manifest
from microagg.release.settings import Settings

BASE = {"a": [1, 2, None], "b": ["x", "", None], "c": [0.5, None, float("nan")]}


def test_a_digest_depends_on_values_alone() -> None:
    table = pa.table(BASE)
    chunked = pa.concat_tables([table.slice(0, 1), table.slice(1)])
    large = table.cast(
        pa.schema([("a", pa.int16()), ("b", pa.large_string()), ("c", pa.float32())])
    )
    encoded = table.set_column(1, "b", table.column("b").dictionary_encode())
    described = table.replace_schema_metadata({"from": "elsewhere"})
    assert len({digest_of(version) for version in (table, chunked, large, encoded, described)}) == 1


@pytest.mark.parametrize(
    "other",
    [
        {**BASE, "a": [1, 2, 0]},
        {**BASE, "a": [2, 1, None]},
        {**BASE, "a": [1.0, 2.0, None]},
        {**BASE, "b": ["x", None, None]},
        {**BASE, "b": ["", "x", None]},
        {**BASE, "c": [0.5, 0.0, float("nan")]},
        {"a": BASE["a"], "B": BASE["b"], "c": BASE["c"]},
        {"b": BASE["b"], "a": BASE["a"], "c": BASE["c"]},
        {"a": BASE["a"], "b": BASE["b"]},
        {name: values[:2] for name, values in BASE.items()},
    ],
)
def test_a_digest_notices(other: dict[str, list[object]]) -> None:
    assert digest_of(pa.table(other)) != digest_of(pa.table(BASE))


def test_texts_do_not_run_into_each_other() -> None:
    assert digest_of(pa.table({"a": ["ab", "c"]})) != digest_of(pa.table({"a": ["a", "bc"]}))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ([[1, 2], [3]], [[1], [2, 3]]),
        ([{"x": 1}], [{"x": 2}]),
        ([b"\xff"], [b"\xfe"]),
        ([True, False], [False, True]),
    ],
)
def test_other_types_have_digests_too(one: list[object], other: list[object]) -> None:
    assert digest_of(pa.table({"a": one})) == digest_of(pa.table({"a": one}))
    assert digest_of(pa.table({"a": one})) != digest_of(pa.table({"a": other}))


def test_the_internal_manifest_has_all_that_a_run_needs() -> None:
    release = ma.anonymize(tables.people(), 3, tables.QUASI, rest="drop", seed=8)
    manifest = release.manifest
    assert json.loads(json.dumps(manifest)) == manifest, "not plain data"
    assert manifest["settings"]["seed"] == 8
    assert manifest["input"] == {"file": None, "digest": digest_of(tables.people())}
    assert set(manifest["scaling"]) == set(tables.QUASI)
    assert manifest["scaling"]["debt"]["decimals"] == 2
    assert manifest["guarantee"] == {
        "k": 3,
        "of": "each combination",
        "holds": True,
        "k_anonymous": True,
        "classes": 4,
        "smallest_class": 3,
    }
    assert set(manifest["versions"]) == {
        "python",
        "machine",
        "numpy",
        "numba",
        "pyarrow",
        "narwhals",
        "highspy",
    }


def test_the_public_manifest_hides_the_rest() -> None:
    release = ma.anonymize(tables.people(), 3, tables.QUASI, rest="drop", seed=8)
    public = public_manifest(release.manifest)
    assert public == release.public_manifest
    assert not {"input", "scaling", "versions", "dialect"} & set(public)
    assert not {"seed", "rest", "identifier", "date"} & set(public["settings"])
    assert set(public["roles"]) == set(tables.QUASI)
    assert release.manifest["roles"]["name"] == "identifier", "the internal one was changed"
    assert public["loss"]["IL"] == "not told", "of twelve records"
    assert "SSE" not in public["loss"]
    surprising = public_manifest({**release.manifest, "something_new": "secret"})
    assert "something_new" not in surprising, (
        "what is new is inside until somebody decides otherwise"
    )


@pytest.mark.parametrize("name", ["out.csv", "out.v2.parquet", "a.internal.csv"])
def test_places_and_permissions(tmp_path: Path, name: str) -> None:
    internal, public = manifest_paths(tmp_path / name)
    assert internal.name == f"{name}.internal.json"
    assert public.name == f"{name}.public.json"
    release = ma.anonymize(tables.people(), 3, tables.QUASI, rest="drop", seed=8)
    mask = os.umask(0o022)
    try:
        release.save(tmp_path / name)
    finally:
        os.umask(mask)
    assert internal.stat().st_mode & 0o777 == 0o600
    assert public.stat().st_mode & 0o777 == 0o644
    assert (tmp_path / name).stat().st_mode & 0o777 == 0o644
    assert json.loads(internal.read_text("utf-8"))["settings"]["seed"] == 8


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_all_files_name_the_release_and_everybody_can_work_the_name_out(
    tmp_path: Path, ending: str
) -> None:
    release = ma.anonymize(tables.people(), 3, tables.QUASI, rest="drop", seed=8)
    path, *manifests = release.save(tmp_path / f"out{ending}")
    names = {json.loads(manifest.read_text("utf-8"))["release"] for manifest in manifests}
    assert names == {name_of_release(read_written(path), release.settings)}
    release.save(path, keep_order=True)
    again = {json.loads(manifest.read_text("utf-8"))["release"] for manifest in manifests}
    assert again == names, "the order of rows has no part in it"
    ma.anonymize(tables.people(), 4, tables.QUASI, rest="drop", seed=8).save(path)
    assert json.loads(manifests[0].read_text("utf-8"))["release"] not in names


def test_a_name_depends_on_rows_and_public_settings_alone() -> None:
    settings = Settings.of(k=2, seed=1)
    table = pa.table(
        {
            "a": [0.0, -0.0, None, float("nan")],
            "b": ["x", None, "", "x"],
            "c": [[1], None, [2], [1]],
        }
    )
    name = name_of_release(table, settings)
    for order in ([3, 2, 1, 0], [1, 3, 0, 2]):
        assert name_of_release(table.take(order), settings) == name
    assert name_of_release(table, Settings.of(k=2, seed=2)) == name
    assert name_of_release(table, Settings.of(k=3, seed=1)) != name
    assert name_of_release(table.slice(1), settings) != name
    swapped = table.set_column(1, "b", [["x", "", None, "x"]])
    assert name_of_release(swapped, settings) != name
    assert name_of_release(table.rename_columns(["a", "b", "d"]), settings) != name

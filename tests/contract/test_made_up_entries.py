"""A made-up aggregate, measure, format and setting: added with one entry, and removed again.

Each works in memory, out of core and on Dask, and shows up in reports, on the command line, in JSON
and in the documents, without a change anywhere else.
"""

from __future__ import annotations

import importlib.util
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet
import pytest

import made_up_aggregate
import made_up_format
import made_up_measure
import microagg as ma
import small_blocks
from beyond import table_of
from dask_clusters import cluster, small_budget
from made_up_aggregate import TRIMMED_MEAN
from made_up_measure import HELLINGER
from microagg.files import formats
from microagg.files.formats import format_of
from microagg.measures import registry
from microagg.pipeline import block_stats
from microagg.pipeline.files import anonymize_file
from microagg.pipeline.memory_budget import MemoryBudget
from microagg.pipeline.on_disk import OnDiskRelease
from microagg.release.settings_schema import settings_schema
from microagg.table.aggregates import AGGREGATES
from running import Outcome, run

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
SUPPORT = ROOT / "tests" / "support"
SETTINGS: dict[str, Any] = {
    "k": 5, "quasi": ["age", "income", "rent"], "confidential": ["ill"], "rest": "drop", "seed": 7,
    "effort": "quick", "date": "2026-01-01",
}  # fmt: skip
HELP = """
import sys
{register}
from microagg.cli.commands import main
sys.argv = ["microagg", *sys.argv[1:]]
main()
"""


@pytest.fixture
def source(tmp_path: Path) -> Path:
    pyarrow.parquet.write_table(table_of(2000, kinds="plain"), tmp_path / "in.parquet")
    return tmp_path / "in.parquet"


@pytest.fixture
def trimmed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(AGGREGATES, TRIMMED_MEAN.name, TRIMMED_MEAN)


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "MEASURES", (*registry.MEASURES, made_up_measure.LINE))


@pytest.fixture
def in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    small_blocks.make_small(monkeypatch.setattr)
    monkeypatch.setattr(MemoryBudget, "checked", small_budget())


@pytest.fixture
def client() -> Iterator[Any]:
    with cluster(1, 2) as started:
        yield started


def released(source: Path, name: str, **more: Any) -> Any:
    folder = source.parent / name
    folder.mkdir()
    report = folder / "report.md"
    return anonymize_file(source, folder / "out.parquet", report=report, **SETTINGS, **more)


def files_in(source: Path, name: str) -> dict[str, bytes]:
    """The files that follow from the release: the same in all three ways of running."""
    folder = source.parent / name
    return {
        path.name: path.read_bytes()
        for path in folder.iterdir()
        if "internal" not in path.name or path.suffix == ".json"
    }


def page(part: str) -> str:
    """A generated part of the documents, as it would be now."""
    spec = importlib.util.spec_from_file_location("generate", ROOT / "docs" / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    generate = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(generate)
    return generate.PARTS[part]()


def command_line(folder: Path, register: str, *arguments: str) -> Outcome:
    path = os.pathsep.join([str(SUPPORT), *filter(None, [os.environ.get("PYTHONPATH")])])
    code = HELP.format(register=register)
    return run("-c", code, *arguments, folder=folder, environment={"PYTHONPATH": path})


def test_an_aggregate(source: Path, trimmed: None, in_blocks: None, client: Any) -> None:
    options = {"aggregate": {"income": TRIMMED_MEAN.name}}
    here = released(source, "memory", **options)
    released(source, "blocks", memory=1, threads=2, **options)
    client.run(made_up_aggregate.register)
    released(source, "dask", engine=client, **options)
    assert files_in(source, "memory") == files_in(source, "blocks") == files_in(source, "dask")
    released(source, "means")
    assert files_in(source, "memory") != files_in(source, "means")
    for kind in ("public", "internal"):
        text = (source.parent / "blocks" / f"report.{kind}.md").read_text("utf-8")
        assert f"replaced by {TRIMMED_MEAN.phrase}" in text
        manifest = json.loads((source.parent / "dask" / f"out.parquet.{kind}.json").read_text())
        assert manifest["settings"]["aggregate"] == options["aggregate"]
    assert here.manifest["scaling"]["income"]["decimals"] is not None
    assert f"| `{TRIMMED_MEAN.name}` | numeric | {TRIMMED_MEAN.help} |" in page("aggregates")
    assert TRIMMED_MEAN.name in str(settings_schema()["properties"]["aggregate"])


def test_dominated_groups_of_an_aggregate_are_noted(source: Path, trimmed: None) -> None:
    table = pyarrow.parquet.read_table(source)
    income = table.column("income").to_numpy().copy()
    income[np.random.default_rng(1).choice(2000, 12, replace=False)] *= 1e4
    index = table.column_names.index("income")
    pyarrow.parquet.write_table(table.set_column(index, "income", pyarrow.array(income)), source)
    release = released(source, "memory", aggregate={"income": TRIMMED_MEAN.name}, scale="rank")
    (note,) = [note for note in map(str, release.notes) if "one record is so large" in note]
    assert "'income'" in note


def test_an_aggregate_on_the_command_line(tmp_path: Path) -> None:
    register = "import made_up_aggregate; made_up_aggregate.register()"
    done = command_line(tmp_path, register, "anonymize", "--help")
    assert TRIMMED_MEAN.name in "".join(done.out.split()).replace("│", ""), done
    assert TRIMMED_MEAN.name not in AGGREGATES


def test_a_measure(
    source: Path, measured: None, in_blocks: None, client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(block_stats, "SAMPLE", 900)
    monkeypatch.setattr(block_stats, "CELLS", 10**9)
    here = released(source, "memory")
    figures = {
        "memory": here,
        "blocks": released(source, "blocks", memory=1, threads=2),
        "dask": released(source, "dask", engine=client),
    }
    values = {
        name: {m.name: figure for m, figure in release.figures}["hellinger"]
        for name, release in figures.items()
    }
    assert values["memory"].sample is None
    assert values["blocks"] == values["dask"]
    sample = values["blocks"].sample
    assert sample is not None
    assert sample.error is not None
    assert abs(values["blocks"].value - values["memory"].value) <= 6 * sample.error
    text = (source.parent / "blocks" / "report.internal.md").read_text("utf-8")
    (line,) = [line for line in text.splitlines() if HELLINGER.title in line and "±" in line]
    assert "(from a sample of" in line
    assert HELLINGER.title not in (source.parent / "blocks" / "report.public.md").read_text("utf-8")
    assert f"| `hellinger` | {HELLINGER.title} |" in page("measures")
    options: dict[str, Any] = {"publish": ["hellinger"], "accept_risk": ["published-measures"]}
    released(source, "published", **options)
    public = (source.parent / "published" / "report.public.md").read_text("utf-8")
    assert HELLINGER.title in public


def test_a_measure_on_the_command_line(source: Path, measured: None) -> None:
    released(source, "memory")
    register = (
        "from microagg.measures import registry\nimport made_up_measure\n"
        "registry.MEASURES = (*registry.MEASURES, made_up_measure.LINE)"
    )
    done = command_line(
        source.parent,
        register,
        "assess",
        str(source),
        str(source),
        "--quasi",
        "age,income",
        "--json",
    )
    assert done.code == 0, done
    (figure,) = [entry for entry in json.loads(done.out)["figures"] if entry["name"] == "hellinger"]
    assert (figure["value"], figure["basis"]) == (0.0, "a sample of records")


def test_a_format(
    source: Path, in_blocks: None, client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(formats, "FORMATS", (*formats.FORMATS, "made_up_format:RIBBON"))
    client.run(made_up_format.register)
    ribbon = source.parent / "in.ribbon"
    made_up_format.write(pyarrow.parquet.read_table(source), ribbon, "#")
    ways: dict[str, dict[str, Any]] = {
        "memory": {}, "blocks": {"memory": 1, "threads": 2}, "dask": {"engine": client},
    }  # fmt: skip
    for name, options in ways.items():
        (source.parent / name).mkdir()
        target = source.parent / name / "out.ribbon"
        report = target.with_name("report.md")
        release = anonymize_file(ribbon, target, report=report, **SETTINGS, **options)
        assert isinstance(release, OnDiskRelease) is (name != "memory")
        assert format_of(target).read(target).num_rows == 2000
        assert target.read_text("utf-8").startswith("#")
    assert files_in(source, "memory") == files_in(source, "blocks") == files_in(source, "dask")
    assert "| ribbon | .ribbon, .rib |" in page("formats")


def test_a_format_that_loses_records_is_refused_out_of_core(
    source: Path, in_blocks: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(made_up_format, "texts_of", lambda table: [("1",) * table.num_columns] * 5)
    monkeypatch.setattr(formats, "FORMATS", (*formats.FORMATS, "made_up_format:RIBBON"))
    with pytest.raises(ma.GuaranteeError, match="has lost or gained records"):
        anonymize_file(source, source.parent / "out.ribbon", memory=1, **SETTINGS)
    assert not list(source.parent.glob("out.ribbon*"))


def test_a_format_read_and_written_as_a_whole_is_refused_out_of_core(
    source: Path, in_blocks: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(formats, "FORMATS", (*formats.FORMATS, "made_up_format:CARD"))
    with pytest.raises(ma.InputError, match="a card file cannot be written in large-table mode"):
        anonymize_file(source, source.parent / "two.card", memory=1, **SETTINGS)


SETTING = """
import inspect, json, sys
from pathlib import Path
import made_up_setting
made_up_setting.install()
import microagg as ma
import small_blocks
from dask_clusters import cluster, small_budget
from microagg.pipeline.files import anonymize_file
from microagg.pipeline.memory_budget import MemoryBudget
from microagg.pipeline.on_disk import OnDiskRelease
from microagg.release.settings_schema import settings_schema

small_blocks.make_small()
MemoryBudget.checked = small_budget()
settings = json.loads(sys.argv[1])
found = {"schema": settings_schema()["properties"]["purpose"]}


def release_as(name, **more):
    target = Path(name).absolute() / "out.parquet"
    target.parent.mkdir()
    report = target.with_name("report.json")
    release = anonymize_file(
        "in.parquet", target, report=report, purpose="teaching", **more, **settings
    )
    assert isinstance(release, OnDiskRelease) is (name != "memory")
    for kind in ("public", "internal"):
        manifest = json.loads(Path(f"{target}.{kind}.json").read_text())
        found[f"{name} {kind}"] = manifest["settings"]["purpose"]
        text = report.with_suffix(f".{kind}.json").read_text()
        found[f"{name} {kind} report"] = "teaching" if "teaching" in text else "not there"


release_as("memory")
release_as("blocks", memory=1, threads=2)
with cluster(1, 2, preload=["made_up_setting_worker"]) as client:
    release_as("dask", engine=client)
table = {"age": [30, 31, 32, 33]}
found["python"] = ma.anonymize(table, 2, quasi="age", purpose="teaching").settings.purpose
compared = ma.compare(table, ks=2, methods=["mdav"], purpose="teaching")
found["compare"] = "teaching" if compared.rows[0].k_anonymous else compared.rows[0].error
found["signature"] = str(inspect.signature(ma.compare).parameters["purpose"].default)
print(json.dumps(found))
"""


def test_a_setting(source: Path) -> None:
    path = os.pathsep.join([str(SUPPORT), *filter(None, [os.environ.get("PYTHONPATH")])])
    done = run(
        "-c", SETTING, json.dumps(SETTINGS), folder=source.parent, environment={"PYTHONPATH": path}
    )
    assert done.code == 0, done
    content = json.loads(done.out)
    schema = content.pop("schema")
    assert schema["enum"] == ["research", "teaching"]
    assert schema["description"] == "What the release is for."
    assert content.pop("signature") == "research"
    assert set(content.values()) == {"teaching"}, content
    assert len(content) == 14
    register = "import made_up_setting; made_up_setting.install()"
    done = command_line(source.parent, register, "anonymize", "--help")
    assert "--purpose" in done.out, done
    assert "What the release is for." in " ".join(done.out.replace("│", " ").split())

"""The package: built, checked, installed into fresh environments, used there as a stranger
would.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

import fresh
from fresh import ROOT

PARTS = ("bin/python", "bin/microagg")
USED = """
import microagg as ma
import pyarrow as pa
import numpy as np

release = ma.anonymize(pa.table({"age": [30, 32, 60, 64]}), k=2, quasi=["age"], seed=0)
reveal_type(release)
reveal_type(release.loss)
reveal_type(release.labels)
reveal_type(ma.partition([[1.0], [2.0]], k=2))
reveal_type(ma.information_loss(np.zeros((2, 1)), np.zeros(2, np.int32)))
reveal_type(ma.check(release.table, ["age"], k=2).holds)
reveal_type(ma.propose(release.table))
reveal_type(ma.anonymize_file("in.csv", "out.csv", k=5, quasi=["age"]))
reveal_type(ma.Microaggregator(k=5).fit([[1.0]]))
reveal_type(ma.lower_bound(np.zeros((4, 1)), k=2))
reveal_type(ma.methods())
reveal_type(ma.datasets.persons(10))
"""
REVEALED = [
    "Release",
    "dict[str, float]",
    "ndarray",
    "ndarray",
    "float",
    "bool",
    "Proposal",
    "Release",
    "Microaggregator",
    "Bound",
    "Method",
    "Table",
]
WITHOUT_EXTRAS = """
import importlib.util
import microagg as ma
from microagg import *
from microagg.files.formats import formats
from microagg.files.reading import read_table
from microagg.drawing.groups import draw_groups
import numpy as np, pathlib
for library in ("matplotlib", "sklearn", "pandas", "polars", "openpyxl", "pyreadstat", "dask"):
    assert importlib.util.find_spec(library) is None, library
told = []
def ask(what, extra):
    try:
        what()
    except ma.InputError as error:
        told.append((extra, str(error)))
ask(lambda: ma.Microaggregator(k=5), "sklearn")
points, labels = np.zeros((4, 2)), np.zeros(4, np.int32)
ask(lambda: draw_groups(points, labels, pathlib.Path("groups.png"), "title"), "plots")
wanted = {"sklearn", "plots"}
for format in formats():
    if format.extra:
        wanted.add(format.extra)
        path = pathlib.Path(f"file{format.suffixes[0]}")
        path.write_bytes(b"anything")
        ask(lambda: read_table(path), format.extra)
assert {extra for extra, _ in told} == wanted, told
for extra, sentence in told:
    assert f"pip install 'microagg[{extra}]'" in sentence, sentence
release = ma.anonymize(
    ma.datasets.persons(60), k=3, rest="drop", quasi=["age", "income"], seed=1, method="mdav"
)
release.report("report.html")
print("all is well")
"""


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The wheel and the sdist, built as `python -m build` does."""
    folder = tmp_path_factory.mktemp("dist")
    _ran(sys.executable, "-m", "build", "--no-isolation", "--outdir", folder, ROOT)
    (wheel,), (sdist,) = folder.glob("*.whl"), folder.glob("*.tar.gz")
    return {"wheel": wheel, "sdist": sdist}


@pytest.fixture(scope="module")
def core(built: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The python of a fresh environment that has microagg and its core dependencies, and nothing
    else.
    """
    python = fresh.environment_of_core(tmp_path_factory.mktemp("core") / "venv", built["wheel"])
    fresh.keep_compiled(python)
    return python


def _ran(*command: str | Path, folder: Path | None = None) -> str:
    done = subprocess.run(
        [str(argument) for argument in command],
        cwd=folder,
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
        timeout=600,
        env={name: value for name, value in os.environ.items() if name != "PYTHONPATH"},
    )
    assert done.returncode == 0, f"{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
    return done.stdout


@pytest.mark.slow
def test_the_wheel_holds_the_package_and_nothing_else(built: dict[str, Path]) -> None:
    assert built["wheel"].name.endswith("-py3-none-any.whl"), "no compiler is needed"
    assert built["wheel"].stat().st_size < 1_400_000
    with zipfile.ZipFile(built["wheel"]) as wheel:
        names = wheel.namelist()
    assert "microagg/py.typed" in names
    assert {name.split("/")[0].split("-")[0] for name in names} == {"microagg"}
    others = [name for name in names if not name.endswith(".py") and ".dist-info/" not in name]
    assert {name.rpartition("/")[0] for name in others} == {
        "microagg",
        "microagg/kernels",
        "microagg/studies",
        "microagg/studies/evidence",
        "microagg/studio/static",
        "microagg/studio/templates",
    }
    endings = (".csv", "py.typed", "signatures.txt", "decision.md", ".css", ".js", ".html")
    assert all(name.endswith(endings) for name in others), others
    assert not [name for name in names if "test" in name.rpartition("/")[2].split("_")]
    shipped = {name for name in names if name.endswith(".py")}
    assert shipped == {str(path.relative_to(ROOT / "src")) for path in (ROOT / "src").rglob("*.py")}


@pytest.mark.slow
def test_the_sdist_can_be_built_and_tested_from(built: dict[str, Path]) -> None:
    with tarfile.open(built["sdist"]) as sdist:
        names = {name.partition("/")[2] for name in sdist.getnames()}
    for needed in (
        "pyproject.toml",
        "README.md",
        "LICENSE",
        "SECURITY.md",
        "CITATION.cff",
        "tests/conftest.py",
        "src/microagg/py.typed",
    ):
        assert needed in names, needed
    assert not [name for name in names if name.endswith((".nbc", ".nbi", ".pyc", ".internal.json"))]


@pytest.mark.slow
def test_twine_has_nothing_to_say(built: dict[str, Path]) -> None:
    output = _ran(sys.executable, "-m", "twine", "--no-color", "check", "--strict", *built.values())
    assert output.count("PASSED") == 2, output


@pytest.mark.slow
def test_the_core_alone_protects_csv_and_parquet(core: Path, tmp_path: Path) -> None:
    rows = "\n".join(f"{20 + i % 40},{1000 + 37 * i},{'ab'[i % 2]}" for i in range(60))
    (tmp_path / "survey.csv").write_text(f"age,income,town\n{rows}\n")
    microagg = core.parent / "microagg"
    arguments = ("--k", "3", "--quasi", "age,income,town", "--effort", "quick", "--seed", "1")
    _ran(microagg, "anonymize", "survey.csv", "out.csv", *arguments, folder=tmp_path)
    _ran(microagg, "anonymize", "survey.csv", "out.parquet", *arguments, folder=tmp_path)
    for name in ("out.csv", "out.parquet"):
        _ran(microagg, "check", name, "--k", "3", "--quasi", "age,income,town", folder=tmp_path)
    _ran(microagg, "anonymize", "out.parquet", "again.csv", *arguments, folder=tmp_path)
    output = _ran(
        core,
        "-c",
        "import microagg; print(microagg.__version__, microagg.__file__)",
        folder=tmp_path,
    )
    version, _, path = output.strip().partition(" ")
    assert path.startswith(str(core.parent.parent)), "not the one of this folder"
    assert f"-{version}-" in next(
        iter(core.parent.parent.glob("lib/*/site-packages/microagg-*"))
    ).name.replace(".dist", "-")


@pytest.mark.slow
def test_what_is_declared_is_enough(core: Path) -> None:
    output = _ran(
        sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", core, "check"
    )
    assert "No broken requirements found" in output


@pytest.mark.slow
def test_the_absence_of_every_extra_is_a_sentence(core: Path, tmp_path: Path) -> None:
    assert (
        _ran(core, "-W", "error", "-c", WITHOUT_EXTRAS, folder=tmp_path)
        .strip()
        .endswith("all is well")
    )


@pytest.mark.slow
def test_a_type_checker_knows_what_comes_out(core: Path, tmp_path: Path) -> None:
    (tmp_path / "used.py").write_text(USED)
    (tmp_path / "pyrightconfig.json").write_text('{"typeCheckingMode": "standard"}')
    report = json.loads(
        _ran(
            sys.executable,
            "-m",
            "pyright",
            "--outputjson",
            "--pythonpath",
            core,
            "used.py",
            folder=tmp_path,
        )
    )
    messages = [
        diagnostic["message"]
        for diagnostic in report["generalDiagnostics"]
        if diagnostic["severity"] == "information"
    ]
    assert len(messages) == len(REVEALED), report["generalDiagnostics"]
    for message, expected in zip(messages, REVEALED, strict=True):
        # of libraries that have no types, or are not there
        if expected in ("Table", "Microaggregator"):
            continue
        assert expected in message, message


@pytest.mark.slow
@pytest.mark.parametrize("version", sorted(fresh.interpreters()))
def test_every_interpreter_of_this_machine_imports_it(
    built: dict[str, Path], tmp_path: Path, version: str
) -> None:
    """Without dependencies: it is imported, and all of it is read without a warning."""
    subprocess.run(
        [fresh.interpreters()[version], "-m", "venv", "--without-pip", tmp_path / "venv"],
        check=True,
    )
    python = tmp_path / "venv" / "bin" / "python"
    fresh.install(python, built["wheel"])
    (package,) = (tmp_path / "venv").glob("lib/*/site-packages/microagg")
    _ran(python, "-W", "error", "-m", "compileall", "-q", "-f", package)
    code = "import sys, microagg; print(*sys.version_info[:2], sep='.'); dir(microagg)"
    assert _ran(python, "-W", "error", "-c", code, folder=tmp_path).strip() == version


@pytest.mark.nightly
@pytest.mark.parametrize("version", sorted(fresh.interpreters()))
def test_pip_install_microagg_and_nothing_else(
    built: dict[str, Path], tmp_path: Path, version: str
) -> None:
    """On every interpreter of this machine, with the dependencies that pip finds: wheels only, so
    without a compiler.
    """
    subprocess.run(
        [fresh.interpreters()[version], "-m", "venv", "--without-pip", tmp_path / "venv"],
        check=True,
    )
    python = tmp_path / "venv" / "bin" / "python"
    fresh.install(python, "--only-binary=:all:", built["wheel"], dependencies=True)
    test_the_core_alone_protects_csv_and_parquet(python, tmp_path)
    test_the_absence_of_every_extra_is_a_sentence(python, tmp_path)


def test_citation_and_changelog_name_this_version() -> None:
    import microagg as ma

    assert f"\nversion: {ma.__version__}\n" in (ROOT / "CITATION.cff").read_text("utf-8")
    assert f"## {ma.__version__}" in (ROOT / "CHANGELOG.md").read_text("utf-8")


def test_the_lowest_versions_are_those_declared() -> None:
    import tomllib

    from lowest import lowest

    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    requirements = lowest(project)
    assert all(requirement.count("==") == 1 for requirement in requirements)
    for requirement in project["dependencies"]:
        assert requirement.replace(">=", "==") in requirements
    assert not any(
        requirement.startswith(("pytest", "ruff", "microagg")) for requirement in requirements
    )

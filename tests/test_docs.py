"""The docs say what the code does: generated parts are current, examples run."""

from __future__ import annotations

import importlib.util
import re
import shlex
import sys
import types
from pathlib import Path
from typing import Any

import pytest

import microagg as ma
import plain
from microagg.datasets.reference import load_reference
from microagg.files.formats import formats
from microagg.methods import registry
from microagg.release.note_catalogue import CATALOGUE
from microagg.studies.published import published_figures
from microagg.table.encoder import Space
from running import run

ROOT = Path(__file__).parent.parent


def python_blocks(name: str) -> list[str]:
    return re.findall(r"```python\n(.*?)```", (ROOT / name).read_text("utf-8"), re.DOTALL)


def generator() -> Any:
    """docs/generate.py as a module."""
    spec = importlib.util.spec_from_file_location("generate", ROOT / "docs" / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    generate = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(generate)
    return generate


def generated(name: str) -> str:
    """A page as docs/generate.py writes it."""
    return generator().with_generated_parts((ROOT / name).read_text("utf-8"))


def test_the_schema_of_settings_is_current() -> None:
    assert (ROOT / "docs" / "settings.schema.json").read_text(
        "utf-8"
    ) == generator().schema_text(), "run `make docs`"


def test_the_settings_that_the_docs_show_are_read(tmp_path: Path) -> None:
    (example,) = re.findall(
        r"```toml\n(.*?)```", (ROOT / "docs" / "pipelines.md").read_text("utf-8"), re.DOTALL
    )
    (tmp_path / "survey.toml").write_text(example, "utf-8")
    with pytest.raises(ma.InputError, match=r"has open decisions: 'sex' \(numbers or codes\)"):
        ma.Settings.from_file(tmp_path / "survey.toml")
    settings = ma.Settings.from_file(tmp_path / "survey.toml", as_proposed=True)
    assert (settings.k, settings.quasi) == (5, ("age", "sex"))


def joined_lines(name: str) -> str:
    """A page whose commands are on one line each."""
    return re.sub(r"\\\n *", "", (ROOT / name).read_text("utf-8"))


def test_the_page_of_methods_has_the_registry_as_it_is() -> None:
    page = (ROOT / "docs" / "methods.md").read_text("utf-8")
    assert generated("docs/methods.md") == page, "run `make docs`"
    assert all(f"| `{method.name}` |" in page for method in ma.methods())
    assert "19 for k = 10" not in page


def test_the_page_of_notes_has_the_catalogue_as_it_is() -> None:
    page = (ROOT / "docs" / "notes.md").read_text("utf-8")
    assert generated("docs/notes.md") == page, "run `make docs`"
    assert all(f"| `{code}` | {entry.severity} |" in page for code, entry in CATALOGUE.items())


def test_the_index_of_modules_is_current() -> None:
    page = (ROOT / "docs" / "modules.md").read_text("utf-8")
    assert generated("docs/modules.md") == page, "run `make docs`"
    assert "`in_memory.py`" in page


def test_the_architecture_names_every_folder_and_no_other() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text("utf-8")
    assert len(page.splitlines()) <= 200
    folders = {path.parent.name for path in (ROOT / "src" / "microagg").glob("*/__init__.py")}
    assert set(re.findall(r"\*\*`(\w+)/`\*\*", page)) == folders
    for path in re.findall(r"`((?:\w+/)+\w+\.py)`", page):
        roots = (ROOT, ROOT / "src" / "microagg")
        assert any((root / path).exists() for root in roots), path


def test_the_readme_has_six_of_them() -> None:
    readme = (ROOT / "README.md").read_text("utf-8")
    assert generated("README.md") == readme, "run `make docs`"
    assert len(re.findall(r"^\| `[a-z0-9-]+` \|", readme, re.MULTILINE)) == 6
    assert len(ma.methods()) > 40


def test_the_first_screen_prints_what_stands_below_it(capsys: pytest.CaptureFixture[str]) -> None:
    readme = (ROOT / "README.md").read_text("utf-8")
    code, output = re.findall(r"```python\n(.*?)```\n\n```\n(.*?)```", readme, re.DOTALL)[0]
    scope: dict[str, Any] = {}
    exec(code, scope)
    assert capsys.readouterr().out == output
    assert ma.check(scope["release"].table, ["age", "town", "income"], k=3).holds
    assert len(readme.splitlines()) <= 140, "what does not fit goes to docs/guide.md"
    first_screen = readme.splitlines()[:70]
    for wanted in ("pip install microagg", "make demo", "make test", "before-and-after.png"):
        assert any(wanted in line for line in first_screen), wanted


def test_every_link_of_the_pages_leads_somewhere() -> None:
    pages = (
        "README.md",
        "docs/guide.md",
        "SECURITY.md",
        "CONTRIBUTING.md",
        "docs/methods.md",
        "docs/architecture.md",
    )
    decisions = [f"docs/decisions/{path.name}" for path in (ROOT / "docs/decisions").glob("*.md")]
    for name in (*pages, *decisions):
        page = ROOT / name
        for link in re.findall(r"\]\(([^)#:]+)\)", page.read_text("utf-8")):
            assert (page.parent / link).exists(), f"{name}: {link}"


@pytest.mark.slow
def test_the_docs_say_what_each_format_can_hold() -> None:
    page = (ROOT / "docs" / "formats.md").read_text("utf-8")
    assert generated("docs/formats.md") == page, "run `make docs`"
    assert generated("docs/files.md") == (ROOT / "docs" / "files.md").read_text("utf-8"), (
        "run `make docs`"
    )
    assert all(", ".join(format.suffixes) in page for format in formats())


@pytest.mark.slow
def test_the_readme_example_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    rows = "\n".join(
        f"N{i},{20 + i % 50},{1000 + 37 * i},{300 + i % 90},D{i % 3}" for i in range(60)
    )
    Path("survey.csv").write_text(f"name,age,income,rent,diagnosis\n{rows}\n")
    example, in_pipelines, of_mixed_tables = python_blocks("docs/guide.md")
    scope: dict[str, Any] = {}
    exec(example, scope)
    assert Path("survey-protected.csv").exists()
    assert list(scope["release"].table.columns) == ["age", "income", "rent", "diagnosis"]
    exec(in_pipelines, scope)
    assert ma.check(
        scope["pipeline"][0].transform(scope["table"][["age", "income"]]), ["age", "income"], k=5
    ).holds
    exec(of_mixed_tables, scope)
    release = scope["release"]
    assert release.table.schema.field("born").type == scope["survey"].schema.field("born").type
    assert ma.check(release.table, release.settings.quasi, k=5).holds


@pytest.mark.slow
def test_the_readme_command_for_mixed_tables_runs(tmp_path: Path) -> None:
    rows = "\n".join(
        f"{1 + i % 2},{20 + i % 50},{('primary', 'secondary', 'university')[i % 3]},"
        f"{1000 + 37 * i},{97 if i % 4 else i % 17},D{i % 3}"
        for i in range(60)
    )
    (tmp_path / "survey.csv").write_text(
        f"sex,age,education,income,children_age,diagnosis\n{rows}\n"
    )
    (command,) = re.findall(
        r"^microagg anonymize survey.csv .*--special.*?$",
        joined_lines("docs/guide.md"),
        re.MULTILINE,
    )
    done = run("-m", *shlex.split(command), "--effort", "quick", folder=tmp_path)
    assert done.code == 0, done
    assert (tmp_path / "protected.csv").exists()


def test_contributing_can_be_followed_to_the_letter(monkeypatch: pytest.MonkeyPatch) -> None:
    method_file, test_file, *_ = python_blocks("CONTRIBUTING.md")
    module = types.ModuleType("microagg.methods.mdav.outer_ring")
    exec(method_file.replace("from __future__ import annotations\n", ""), vars(module))
    monkeypatch.setitem(sys.modules, module.__name__, module)
    (line,) = re.findall(
        r'registry.py`:\s+`"(.*)",`', (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    )
    monkeypatch.setattr(registry, "ENTRIES", (*registry.ENTRIES, line))
    tests: dict[str, object] = {"__name__": "test_outer_ring"}
    exec(test_file, tests)
    for seed in range(60):
        points, k = plain.hard_problem(seed)
        expected = tests["oracle"](points, k)
        assert ma.partition(points, k=k, method="outer-ring").tolist() == expected.tolist()


def test_no_paper_is_cited_by_a_file_number() -> None:
    for path in [*ROOT.glob("src/**/*.py"), *ROOT.glob("*.md"), *ROOT.glob("docs/*.md")]:
        assert not re.search(r"\bpaper 00\d\b", path.read_text("utf-8")), path


@pytest.mark.reference
@pytest.mark.slow
@pytest.mark.usefixtures("reference_data")
def test_where_quick_is_above_the_papers_stands_in_the_readme() -> None:
    lowest: dict[tuple[str, int], tuple[float, str]] = {}
    for figure in published_figures():
        fits = (figure.scaling, figure.measure) == ("zscore", "IL") and figure.columns in (
            "all",
            "UTILITYID+10",
        )
        if fits and figure.dataset in ("Tarragona", "Census", "EIA") and not figure.misprint:
            cell = (figure.dataset, figure.k)
            lowest[cell] = min(
                lowest.get(cell, (figure.value, figure.columns)), (figure.value, figure.columns)
            )
    above: dict[str, list[int]] = {}
    for (name, k), (value, columns) in sorted(lowest.items()):
        values = load_reference(name, columns)
        points = Space.fit(values).points(values)
        if ma.information_loss(points, ma.partition(points, k, effort="quick", seed=0)) >= value:
            above.setdefault(name, []).append(k)
    readme = " ".join((ROOT / "README.md").read_text("utf-8").split())
    assert f"of the {len(lowest)} cells" in readme
    assert f"in {sum(map(len, above.values()))}, {next(iter(above))}" in readme
    for name, ks in above.items():
        first, last = ", ".join(map(str, ks[:-1])), str(ks[-1])
        assert f"{name} k = {first} and {last}" in readme or f"{name} k = {last}" in readme


def test_no_claim_beyond_what_was_measured() -> None:
    texts = [path.read_text("utf-8") for path in (ROOT / "src").rglob("*.py")]
    texts.append((ROOT / "README.md").read_text("utf-8"))
    for claim in ("any published", "anything published", "than any printed"):
        assert not any(claim in text for text in texts), claim

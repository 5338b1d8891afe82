"""Every entry of the catalogue of notes, and one that is made up: what is said comes from the
entry.
"""

from __future__ import annotations

import copy
import functools
import importlib.util
import json
import pickle
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest

import beyond
import small_blocks
import tables
from microagg.cli.documents import release as as_document
from microagg.cli.options import as_option
from microagg.pipeline.files import anonymize_file
from microagg.pipeline.memory_budget import MemoryBudget
from microagg.release import note_entries, note_rules
from microagg.release.effects import ColumnEffect
from microagg.release.note import Note, NoteEntry, Severity
from microagg.release.note_catalogue import CATALOGUE, make_note
from microagg.release.note_facts import (
    DominatedColumn,
    LabelFacts,
    NoteFacts,
    RoundedColumn,
    SharedValueColumn,
    StrataFacts,
    TrueValueColumn,
    UnitFacts,
    WeightFacts,
)
from microagg.release.note_rules import RULES, notes_from

ROOT = Path(__file__).parents[2]
EVERYTHING = NoteFacts(
    k=2,
    records=90,
    unprotected_records=7,
    dominated=[DominatedColumn("wage", 1, 30), DominatedColumn("rent", 2000, 3000)],
    capped={"wage": 1, "rent": 2},
    true_values=[TrueValueColumn("age", "median", 0, 30), TrueValueColumn("town", "mode", 3, 30)],
    file={"labels-from-file": {"labelled": 1, "file": "labels.json"}, "more-sheets": {"sheets": 2}},
    labels=LabelFacts({"nominal": ["sex"], "ordinal": ["school"]}, ["age"], ["sex"], ["rent"]),
    dropped_records=1200,
    scale="minmax",
    columns_with_gaps=["rent"],
    approximated=["town"],
    equal_columns=[["rent", "rent again"]],
    values_like_markers=["country"],
    numbers_as_text=["my zip"],
    constant=["year"],
    loss=3.0,
    loss_unrounded=2.0,
    kept=["town"],
    rounded=[RoundedColumn("age", 1, "most"), RoundedColumn("wage", -1, "spread")],
    rules_found=["total = a + b", "net = gross - tax"],
    rules_lost=[("all = one + two", "'one' is capped")],
    shared_values=[SharedValueColumn("ill", 9, 46, 193), SharedValueColumn("sick", 3, 9, 3, 9)],
    spellings={"ill": 4},
    similar_texts={"ill": 2},
    formulas=["remark"],
    records_without_value={"ill": 5},
    units=UnitFacts("home", 40, 8),
    strata=StrataFacts(4, 12.0, 2, 60),
    weight=WeightFacts("w", 3, 30, 0.002, {"wage": 1.5}, 12),
    naming={"phone": "called like a phone"},
    nearly_unique=["id"],
    index_may_name=True,
    effects=[
        ColumnEffect(
            "sex", "nominal", (90, 90), categories=(3, 2), lost_codes=(2,), lost_records=2
        ),
        ColumnEffect("wage", "numeric", (90, 80), blanked=10, total=(100.0, 60.0)),
        ColumnEffect("rent", "numeric", (90, 90), total=(100.0, 102.0)),
    ],
    unique_records=12,
)
"""Facts to which every rule is due at least once, but for those of `ACCEPTED`."""
ACCEPTED = replace(EVERYTHING, names_accepted=True, unprotected_records=0)
"""Facts of a release whose risks were accepted."""
MADE_ELSEWHERE: dict[str, dict[str, Any]] = {
    "other-groups": {"releases": ["a.csv", "b.csv"]},
    "shared-records": {"releases": [f"{number}.csv" for number in range(7)]},
    "out-of-core": {},
    "empty-texts": {"columns": ["town"], "format": "a csv file"},
    "memory-exceeded": {"megabytes": 2000.4, "records": 500_000},
    "one-process": {},
    "manifest-in-store": {},
    "release-unknown": {},
    "same-release": {},
    "another-release": {"reason": "there are other versions of numpy now"},
}


@functools.cache
def codes_in_source() -> list[str]:
    """Return the codes of notes that are made directly, once for each call."""
    paths = (ROOT / "src" / "microagg").rglob("*.py")
    source = "".join(path.read_text("utf-8") for path in paths)
    return re.findall(r"(?<!>>> )make_note\(\s*[\"']([a-z0-9-]+)", source)


def example(code: str) -> Note:
    """Return a note of this kind, from facts where there is a rule for it."""
    if code in MADE_ELSEWHERE:
        return make_note(code, **MADE_ELSEWHERE[code])
    every = (*notes_from(EVERYTHING), *notes_from(ACCEPTED))
    return next(note for note in every if note.code == code)


@pytest.mark.parametrize("code", CATALOGUE)
class TestEveryEntry:
    def test_is_complete(self, code: str) -> None:
        entry = CATALOGUE[code]
        assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", entry.code)
        assert isinstance(entry.severity, Severity)
        assert entry.description.endswith(".")
        assert "\n" not in entry.description
        assert not entry.sentence.endswith(".")
        assert ("{items" in entry.sentence) == bool(entry.item)

    def test_has_a_sentence_with_its_hint(self, code: str) -> None:
        note = example(code)
        assert isinstance(note, str)
        assert not re.search(r"\{(?!')|(?<!')\}", note), "a field was left in the text"
        assert note.hint in note
        assert bool(note.hint) == bool(note.entry.hint)
        assert ("{fix}" in note.entry.hint) == bool(note.fix), "a fix is named in the hint"

    def test_uses_what_is_counted(self, code: str) -> None:
        note = example(code)
        templates = f"{note.entry.sentence} {note.entry.item} {note.entry.hint}"
        assert all(f"{{{name}" in templates for name in note.counts)
        assert note.columns == () or re.search(r"\{(columns?|items)\b", templates)

    def test_names_settings_as_its_reader_types_them(self, code: str) -> None:
        note = example(code)
        for name in note.fix:
            assert f"{name}=" in note.hint
            assert f"{name}=" not in note.render(as_option)
            assert "--" in note.render(as_option)

    def test_is_plain_data(self, code: str) -> None:
        note = example(code)
        data = json.loads(json.dumps(note.as_data(as_option)))
        assert data["code"] == code
        assert data["severity"] == CATALOGUE[code].severity
        assert data["text"] == note.render(as_option)
        assert data["hint"] in data["text"]
        assert data["columns"] == list(note.columns)
        assert set(data["counts"]) == set(note.counts)
        for same in (pickle.loads(pickle.dumps(note)), copy.deepcopy(note)):
            assert (same, same.code, same.as_data()) == (note, code, note.as_data())

    def test_is_made_in_one_place(self, code: str) -> None:
        assert codes_in_source().count(code) + (code in RULES) == 1

    def test_stands_in_the_docs(self, code: str) -> None:
        assert f"| `{code}` |" in (ROOT / "docs" / "notes.md").read_text("utf-8")


def test_a_note_cannot_be_changed() -> None:
    with pytest.raises(AttributeError, match="cannot be changed"):
        make_note("same-release").code = "other"  # pyright: ignore


def test_a_rule_needs_an_entry_and_is_the_only_one() -> None:
    for code in ("no-such-entry", "k-is-2"):
        with pytest.raises(ValueError, match=code):
            note_rules.rule(code)


def test_a_template_with_an_unknown_way_to_list_is_refused() -> None:
    entry = NoteEntry("made-up", Severity.INFO, "{columns:shouted}", "Made up.")
    with pytest.raises(ValueError, match="shouted"):
        entry.note(["age"])


CODE = "few-records"
SENTENCE = "the table has 90 records only"


@pytest.fixture
def made_up(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Add the entry and the rule of the recipe in CONTRIBUTING, which is all that a note needs."""
    recipe = (ROOT / "CONTRIBUTING.md").read_text("utf-8").partition("## Add a note")[2]
    entry, rule = re.findall(r"```python\n(.*?)```", recipe, re.DOTALL)[:2]
    with monkeypatch.context() as patch:
        patch.setattr(note_rules, "RULES", dict(RULES))
        (added,) = eval(f"({entry})", vars(note_entries))
        patch.setitem(CATALOGUE, CODE, added)
        exec(rule, {**vars(note_rules), "__name__": "recipe"})
        yield


def release_of(way: str, folder: Path, patch: pytest.MonkeyPatch, client: Any = None) -> Any:
    source, target = folder / "in.parquet", folder / "out.parquet"
    pa.parquet.write_table(pa.table(tables.people(90)), source, row_group_size=30)
    roles = {"quasi": ["income", "debt"], "rest": "drop", "seed": 1, "effort": "quick"}
    if way != "dask":
        return beyond.run_in(way, patch, source, target, k=4, **roles)
    from dask_clusters import small_budget

    patch.setattr(MemoryBudget, "checked", small_budget())
    for module in (beyond.memory_budget, beyond.text_input):
        patch.setattr(module, "needs_plan", lambda *_: True)
    return anonymize_file(source, target, k=4, engine=client, **roles)


def check_shown_everywhere(release: Any, folder: Path) -> None:
    (note,) = [note for note in release.notes if note.code == CODE]
    assert note == f"{SENTENCE}; k=3 loses less"
    for name in ("report.html", "report.md", "report.json"):
        assert SENTENCE[1:] in release.report(folder / name).read_text("utf-8")
    assert SENTENCE[1:] in release._repr_html_()
    assert SENTENCE[1:] in release.first_page()
    assert SENTENCE[1:] in release.summary()
    assert SENTENCE[1:] not in release.report(folder / "public.md", public=True).read_text("utf-8")
    answer = json.loads(json.dumps(as_document(release, {})))
    assert f"{SENTENCE}; --k 3 loses less" in answer["notes"]
    (data,) = [data for data in answer["note_data"] if data["code"] == CODE]
    assert (data["severity"], data["counts"], data["fix"]) == ("decide", {"records": 90}, {"k": 3})


@pytest.mark.usefixtures("made_up")
class TestMadeUpNote:
    @pytest.mark.parametrize("way", beyond.WAYS)
    def test_is_shown_everywhere(
        self, way: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        small_blocks.make_small(monkeypatch.setattr)
        check_shown_everywhere(release_of(way, tmp_path, monkeypatch), tmp_path)

    @pytest.mark.slow
    def test_is_shown_everywhere_on_dask(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        from dask_clusters import cluster

        small_blocks.make_small(monkeypatch.setattr)
        with cluster(1) as client:
            release = release_of("dask", tmp_path, monkeypatch, client)
            check_shown_everywhere(release, tmp_path)

    def test_is_shown_in_the_terminal(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        from microagg.cli import show

        show.release(release_of("memory", tmp_path, monkeypatch), None)
        printed = " ".join(capsys.readouterr().out.split())
        assert f"{SENTENCE[1:]}. --k 3 loses less" in printed

    def test_is_put_into_the_docs(self) -> None:
        spec = importlib.util.spec_from_file_location("generate", ROOT / "docs" / "generate.py")
        assert spec is not None
        assert spec.loader is not None
        generate = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(generate)
        assert "| `few-records` | decide | The table is so small" in generate.notes_table()

"""From a file to a verified release, as a browser asks for it."""

from __future__ import annotations

import contextlib
import re
import shlex
import stat
from pathlib import Path
from typing import Any

import pytest

import microagg as ma
from microagg.cli.commands import main
from microagg.release.settings import Settings
from microagg.studio.fields import ON_OTHER_PAGES

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def released(studio: Any, people: Path) -> Any:
    """The studio after a whole release."""
    assert studio.upload(people).json() == {"next": "/file"}
    for path in ("/file", "/columns", "/protection"):
        assert studio.client.get(path).status_code == 200
    studio.release({"k": "4", "param.effort": "quick", "seed": "3"})
    return studio


def test_the_folder_is_private(released: Any) -> None:
    assert stat.S_IMODE(released.session.folder.stat().st_mode) == 0o700
    assert stat.S_IMODE(released.session.path.stat().st_mode) == 0o600


def test_pages_are_small_and_have_titles(released: Any) -> None:
    for path in ("/file", "/columns", "/protection", "/run", "/look", "/release"):
        page = released.client.get(path)
        assert page.status_code == 200
        assert len(page.content) < 60_000
        assert page.text.count("<h1>") == 1
        assert "style=" not in page.text
        assert "onclick" not in page.text


def test_downloads_do_not_mix(released: Any) -> None:
    public = released.download("public")
    internal = released.download("internal")
    assert sorted(public) == [
        "residents-protected.csv", "residents-protected.csv.public.json",
        "residents-protected.public.html",
    ]  # fmt: skip
    assert sorted(internal) == [
        "residents-protected.csv.internal.json", "residents-protected.internal.html"
    ]  # fmt: skip
    assert released.client.get("/release/other.zip").status_code == 404


@pytest.mark.parametrize("way", ["command", "python"])
def test_the_command_and_the_code_give_the_same_bytes(
    released: Any, people: Path, tmp_path: Path, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    public = released.download("public")
    internal = released.download("internal")
    files = released.session.files
    (tmp_path / people.name).write_bytes(people.read_bytes())
    for name, content in internal.items():
        if name.endswith(".json"):
            (tmp_path / name).write_bytes(content)
    monkeypatch.chdir(tmp_path)
    if way == "command":
        assert "--k 4" in files["command"]
        monkeypatch.setattr("sys.argv", shlex.split(files["command"]))
        with pytest.raises(SystemExit) as ending:
            main()
        assert not ending.value.code
    else:
        exec(files["python"], {})
    for name, content in {**public, **internal}.items():
        if name.endswith((".csv", ".json")):
            assert (tmp_path / name).read_bytes() == content, name


def test_the_table_passes_the_check_that_is_shown(
    released: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, content in released.download("public").items():
        (tmp_path / name).write_bytes(content)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.argv", shlex.split(released.session.files["check"]))
    with pytest.raises(SystemExit) as ending:
        main()
    assert not ending.value.code


def test_one_group_can_be_looked_up(released: Any) -> None:
    page = released.client.get("/look?record=7").text
    assert "released as" in page
    assert "Next group" in page
    assert "there is no record 999" in released.client.get("/look?record=999").text.lower()


def test_exposure_follows_the_roles(released: Any, people: Path) -> None:
    columns = [column["name"] for column in released.session.opened["columns"]]
    number = columns.index("income")
    before = dict(released.session.choices)
    with_income = released.client.post("/columns/exposure", data={f"role-{number}": "quasi"}).text
    without = released.client.post("/columns/exposure", data={f"role-{number}": "keep"}).text
    assert with_income != without
    roles = dict(zip(columns, released.session.choices["roles"], strict=True))
    settings = Settings.of(
        k=int(released.session.choices["settings"]["k"]), rest="drop",
        quasi=[name for name, role in roles.items() if role == "quasi"],
        confidential=[name for name, role in roles.items() if role == "confidential"],
        keep=[name for name, role in roles.items() if role == "keep"],
    )  # fmt: skip
    for sentence in ma.exposure(people, settings).sentences:
        assert sentence.replace("'", "&#39;") in without
    released.session.choices = before


def test_a_column_that_may_name_people_is_noted_when_it_is_kept(released: Any) -> None:
    columns = [column["name"] for column in released.session.opened["columns"]]
    before = dict(released.session.choices)
    mail = columns.index("e_mail")
    left_out = released.client.post("/columns/exposure", data={f"role-{mail}": "identifier"}).text
    kept = released.client.post("/columns/exposure", data={f"role-{mail}": "keep"}).text
    assert "e_mail" not in left_out
    assert "&#39;e_mail&#39; is released unchanged and may name people" in kept
    released.session.choices = before


def test_settings_are_explained_with_the_numbers_of_the_table(released: Any) -> None:
    page = released.client.get("/protection").text
    fragment = released.client.post("/protection/preview", data=released.fields({"k": "4"})).text
    facts = re.findall(r'<p data-fact="(\w+)">(.*?)</p>', fragment)
    assert {name for name, _ in facts} >= {"k", "l", "t", "method"}
    for name, sentence in facts:
        assert f'data-fact-of="{name}"' in page
        assert sentence.endswith(".")
    assert "of 200 records" in dict(facts)["k"]


def test_the_strip_shows_the_loss_for_other_k(released: Any) -> None:
    form = released.fields({"k": "4"})
    steps: list[str] = []
    addresses = ["/protection/preview"]
    while addresses:
        steps.append(released.client.post(addresses[0], data=form).text)
        addresses = re.findall(r'data-next="(.*?)"', steps[-1])
    assert len(steps) == 7
    fragment = steps[-1]
    assert "<caption>" not in steps[0]
    assert re.findall(r'<th scope="row">(\d+)</th>', fragment)[:4] == ["3", "5", "10", "25"]
    assert "Expected time for this table" in fragment


def test_every_setting_has_a_place(released: Any) -> None:
    fields = released.session.worker.submit("fields", answers={}).result()
    names = {field["name"] for field in fields}
    assert names >= {name for name in Settings.parameters() if name not in ON_OTHER_PAGES}
    assert "param.effort" in names


def test_a_method_brings_its_parameters(released: Any) -> None:
    fields = released.session.worker.submit("fields", answers={"method": "v-mdav"}).result()
    assert "param.gamma" in {field["name"] for field in fields}


def test_what_cannot_be_kept_is_refused_with_counts(released: Any) -> None:
    before = dict(released.session.choices)
    answer = released.client.post("/protection", data=released.fields({"k": "5000"}))
    assert answer.status_code == 422
    assert "there are only 200 records" in answer.text
    answer = released.client.post("/protection/preview", data=released.fields({"k": "abc"}))
    assert "k must be a whole number, at least 2" in answer.text
    released.session.choices = before


def test_back_to_a_step_works_at_any_time(released: Any) -> None:
    for path in ("/columns", "/file", "/protection", "/columns"):
        assert released.client.get(path).status_code == 200


def test_a_made_up_setting_appears_everywhere(people: Path, tmp_path: Path) -> None:
    """In form, command and release, without a line in studio/."""
    from running import run

    code = f"""
import made_up_setting; made_up_setting.install()
import threading
from pathlib import Path
from microagg.studio.tasks import Tasks
source = {{"path": {str(people)!r}, "reading": {{}}}}
tasks = Tasks(lambda **state: None, threading.Event())
opened = tasks.task_open(**source)
(field,) = [field for field in tasks.task_fields({{}}) if field["name"] == "purpose"]
assert (field["widget"], field["choices"]) == ("choice", ["research", "teaching"]), field
answers = {{"k": "4", "param.effort": "quick", "purpose": "teaching"}}
choices = {{
    "roles": [column["role"] for column in opened["columns"]],
    "kinds": [column["kind"] for column in opened["columns"]],
    "settings": answers,
}}
target = str(Path("out.csv"))
tasks.task_run(**source, choices=choices, target=target)
files = tasks.task_release(source["path"], target)
assert "--purpose teaching" in files["command"], files["command"]
assert '"purpose": "teaching"' in Path("out.csv.public.json").read_text()
"""
    environment = {"PYTHONPATH": str(Path(__file__).parents[1] / "support")}
    done = run("-c", code, folder=tmp_path, environment=environment)
    assert done.code == 0, done.err


def test_nothing_is_open_at_first() -> None:
    from microagg.studio.session import Session

    with contextlib.closing(Session(Path("nowhere"))) as session:
        assert session.run is None
        assert not session.is_running

"""Runs that are stopped, discarded or killed, and what a studio leaves behind."""

from __future__ import annotations

import os
import re
import signal
import time
from pathlib import Path
from typing import Any

import pytest

import microagg as ma
import running
from microagg.files.commit.writing import write_table
from microagg.studio import pages

pytestmark = pytest.mark.slow
ANSWERS = {"k": "4", "param.effort": "1000"}


@pytest.fixture(scope="module")
def larger(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table whose search takes long enough to be stopped."""
    path = tmp_path_factory.mktemp("larger") / "persons.csv"
    write_table(ma.datasets.persons(6000), path)
    return path


def begin(studio: Any, larger: Path, answers: dict[str, str] = ANSWERS) -> None:
    assert studio.upload(larger).status_code == 200
    answer = studio.client.post("/protection", data=studio.fields(answers))
    assert answer.headers.get("location") == "/run", answer.text


def wait_for(condition: Any, seconds: float = 120.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)


def test_discard_leaves_nothing_at_once(studio: Any, larger: Path) -> None:
    begin(studio, larger)
    time.sleep(1.0)
    begun = time.monotonic()
    assert studio.client.post("/run/discard").headers["location"] == "/protection"
    assert time.monotonic() - begun < 5.0  # one second on a machine with nothing else to do
    assert studio.session.run is None
    assert not (studio.session.folder / "release").exists()
    assert studio.client.get("/protection").status_code == 200


def test_a_form_is_answered_at_once_while_the_worker_is_busy(
    studio: Any, larger: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It says that the run starts; a refusal is shown where the settings are."""
    assert studio.upload(larger).status_code == 200
    form = studio.fields({"k": "5000000"})
    monkeypatch.setattr(pages, "AT_ONCE", 0.0)
    os.kill(studio.session.worker.pid, signal.SIGSTOP)  # as busy as it can be
    try:
        answer = studio.client.post("/protection", data=form)
        assert answer.headers.get("location") == "/run"
        state = studio.client.get("/run/state").json()
        assert (state["state"], state["starting"]) == ("running", True)
        page = studio.client.get("/run").text
        assert "Starting" in page
        assert 'id="stop" disabled' in page
        studio.client.post("/run/stop")
        assert not studio.session.run.stopping
    finally:
        os.kill(studio.session.worker.pid, signal.SIGCONT)
    assert studio.wait()["state"] == "refused"
    assert studio.client.get("/run").headers["location"] == "/protection"
    assert "there are only 6,000 records" in studio.client.get("/protection").text
    assert studio.session.choices["settings"]["k"] == "5000000"


def test_a_run_that_starts_can_be_discarded(
    studio: Any, larger: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert studio.upload(larger).status_code == 200
    form = studio.fields(ANSWERS)
    monkeypatch.setattr(pages, "AT_ONCE", 0.0)
    os.kill(studio.session.worker.pid, signal.SIGSTOP)
    assert studio.client.post("/protection", data=form).headers.get("location") == "/run"
    assert studio.client.post("/run/discard").headers["location"] == "/protection"
    assert studio.session.run is None
    assert studio.client.get("/protection").status_code == 200


def test_stop_keeps_the_best_so_far(studio: Any, larger: Path) -> None:
    begin(studio, larger)
    wait_for(lambda: "Loss from grouping" in studio.client.get("/run/state").json().get("text", ""))
    studio.client.post("/run/stop")
    assert studio.client.get("/run").status_code == 200
    assert studio.wait()["state"] == "done"
    assert studio.session.run.summary["stopped"] == "interrupted"
    assert "Stopped early" in studio.client.get("/run").text
    assert studio.client.post("/release").headers["location"] == "/release"


def test_pages_answer_during_a_run(studio: Any, larger: Path) -> None:
    begin(studio, larger)
    for path in ("/file", "/columns", "/run", "/run/state", "/protection"):
        begun = time.monotonic()
        assert studio.client.get(path).status_code in (200, 303)
        assert time.monotonic() - begun < 2.0  # 0.2 s on a machine with nothing else to do
    assert studio.client.post("/columns", data={"role-0": "quasi"}).status_code == 422
    assert studio.upload(larger).status_code == 422
    studio.client.post("/run/discard")


def test_a_killed_worker_gets_a_sentence_and_settings_stay(studio: Any, larger: Path) -> None:
    begin(studio, larger)
    time.sleep(0.5)
    os.kill(studio.session.worker.pid, signal.SIGKILL)
    state = studio.wait()
    assert state["state"] == "failed"
    assert "ended unexpectedly" in state["sentence"]
    assert "ended unexpectedly" in studio.client.get("/run").text
    assert studio.session.choices["settings"]["k"] == "4"
    assert not (studio.session.folder / "release").exists()
    studio.release({"param.effort": "quick"})


SERVE = "from microagg.cli.start import start; start()"


@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGTERM])
def test_the_folder_goes_with_the_studio(tmp_path: Path, people: Path, end: int) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    process = running.start(
        "-c", SERVE, "studio", people, folder=tmp_path, environment={"TMPDIR": str(temporary)}
    )
    assert process.stdout is not None
    line = ""
    while "http://" not in line:
        line = process.stdout.readline()
        assert line, process.stderr and process.stderr.read()
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+/\?token=[\w-]{40,}", line.strip())
    assert [path.name[:16] for path in temporary.iterdir()] == ["microagg-studio-"]
    time.sleep(2.0)
    process.send_signal(end)
    done = running.finish(process)
    assert done.code in (0, 130, -end, 128 + end), done
    assert "Traceback" not in done.err
    assert list(temporary.iterdir()) == []


def test_no_value_is_in_log_url_title_cookie_error_or_leftover(tmp_path: Path, studio: Any) -> None:
    """Canaries: values that occur nowhere else."""
    canaries = [f"canary{number}zz" for number in range(40)]
    path = tmp_path / "in.csv"
    rows = [f"{canary},{20 + i % 9},{i % 3}" for i, canary in enumerate(canaries)]
    path.write_text("\n".join(["town,age,flag", *rows]) + "\n", "utf-8")
    answers = []
    studio.client.event_hooks["response"].append(answers.append)
    try:
        assert studio.upload(path).status_code == 200
        for number in range(3):
            studio.client.post("/columns", data={f"role-{number}": "quasi"})
        for page in ("/columns", "/protection"):
            studio.client.get(page)
        studio.client.post("/protection", data=studio.fields({"k": "canary1zz"}))
        studio.client.post("/protection", data=studio.fields({"k": "50"}))
        studio.release({"k": "4", "param.effort": "quick", "accept_risk": "true-values"})
        for page in ("/look", "/look?record=3", "/look?record=999", "/release"):
            studio.client.get(page)
    finally:
        studio.client.event_hooks["response"].clear()
    for answer in answers:
        assert "canary" not in str(answer.url)
        assert "canary" not in str(answer.headers)
        for part in re.findall(r"<title>.*?</title>|class=\"error\".*?</p>", answer.text, re.S):
            assert "canary" not in part.replace("canary1zz", "") or "k must" in part

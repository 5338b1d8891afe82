"""Numbers that may be codes: what the page shows is what its command says."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import pytest

from microagg.cli.commands import main

pytestmark = pytest.mark.slow


def rooms_in(folder: Path) -> Path:
    """Write a table with a column of numbers that may be codes."""
    source = folder / "rooms.csv"
    rows = "".join(f"{i % 4},{20 + i % 37},{900 + 7 * i}\n" for i in range(120))
    source.write_text(f"rooms,age,income\n{rows}")
    return source


def test_all_columns_of_a_question_become_codes_at_once(studio: Any, tmp_path: Path) -> None:
    assert studio.upload(rooms_in(tmp_path)).status_code == 200
    page = studio.client.get("/columns").text
    assert "Numbers or codes: &#39;rooms&#39;" in page
    assert "Choose the kind nominal for those" in page
    assert "nominal=" not in page
    before = studio.session.choices["kinds"]
    assert studio.client.post("/columns", data={"codes": "0"}).headers["location"] == "/columns"
    assert studio.session.choices["kinds"] == ["nominal", *before[1:]]
    for wrong in ("9", "-1", "x"):
        assert studio.client.post("/columns", data={"codes": wrong}).status_code == 422


def test_numbers_that_may_be_codes_are_declared_as_the_page_shows_them(
    studio: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The command would refuse them otherwise."""
    assert studio.upload(rooms_in(tmp_path)).status_code == 200
    roles = {f"role-{number}": "quasi" for number in range(3)}
    assert studio.client.post("/columns", data=roles).status_code == 303
    answer = studio.client.post("/protection", data=studio.fields({"k": "4", "effort": "quick"}))
    assert answer.headers.get("location") in ("/run", "/look"), answer.text
    assert studio.wait()["state"] == "done"
    studio.client.post("/release")
    command = shlex.split(studio.session.files["command"])
    for name, content in studio.download("internal").items():
        (tmp_path / name).write_bytes(content)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.argv", command)
    with pytest.raises(SystemExit) as ending:
        main()
    assert not ending.value.code
    public = studio.download("public")["rooms-protected.csv"]
    assert (tmp_path / "rooms-protected.csv").read_bytes() == public

"""Numbers that may be codes: what the page shows is what its command says."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import pytest

from microagg.cli.commands import main

pytestmark = pytest.mark.slow


def test_numbers_that_may_be_codes_are_declared_as_the_page_shows_them(
    studio: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The command would refuse them otherwise."""
    source = tmp_path / "rooms.csv"
    rows = "".join(f"{i % 4},{20 + i % 37},{900 + 7 * i}\n" for i in range(120))
    source.write_text(f"rooms,age,income\n{rows}")
    assert studio.upload(source).status_code == 200
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

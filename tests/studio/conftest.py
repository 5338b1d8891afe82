"""A studio in this process, with its worker in another, and a client that has its cookie."""

from __future__ import annotations

import io
import tempfile
import time
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import microagg as ma
from microagg.files.commit.writing import write_table

for package in ("starlette", "jinja2", "uvicorn", "httpx2"):
    pytest.importorskip(package, reason=f"needs {package}, of the extras studio and test")

PORT = 8123
HOST = f"http://127.0.0.1:{PORT}"
PATIENCE = 300.0


@dataclass
class Studio:
    """A running studio and its one user."""

    client: Any
    session: Any
    access: Any
    app: Any

    def upload(self, path: Path, name: str | None = None) -> Any:
        """Send a file as the script of the page does."""
        return self.client.post(
            "/upload",
            content=path.read_bytes(),
            headers={"x-file-name": path.name if name is None else name},
        )

    def wait(self) -> dict[str, Any]:
        """Wait for the end of a run and return its state."""
        end = time.monotonic() + PATIENCE
        while (state := self.client.get("/run/state").json())["state"] == "running":
            assert time.monotonic() < end
            time.sleep(0.05)
        return state

    def release(self, answers: dict[str, str]) -> None:
        """Go from the protection page to the downloads."""
        answer = self.client.post("/protection", data=self.fields(answers))
        assert answer.headers.get("location") == "/run", answer.text
        assert self.wait()["state"] == "done", self.session.run
        assert self.client.post("/release").headers["location"] == "/release"

    def download(self, audience: str) -> dict[str, bytes]:
        """Return the files of a download by their names."""
        content = self.client.get(f"/release/{audience}.zip").content
        with zipfile.ZipFile(io.BytesIO(content)) as pack:
            return {name: pack.read(name) for name in pack.namelist()}

    def fields(self, answers: dict[str, str]) -> dict[str, str]:
        """Return the form of the protection page with some answers, by names of settings."""
        fields = self.session.worker.submit(
            "fields", answers={**self.session.choices["settings"], **answers}
        ).result()
        form = {}
        for number, field in enumerate(fields):
            if field["name"] in answers:
                form[f"present-{number}"] = field["name"]
                form[f"field-{number}"] = answers[field["name"]]
        return form


@pytest.fixture(scope="module")
def studio() -> Iterator[Studio]:
    """Start a studio for the tests of one module."""
    from starlette.testclient import TestClient

    from microagg.studio import pages
    from microagg.studio.security import Access
    from microagg.studio.server import make_app
    from microagg.studio.session import Session

    session, access = Session(Path(tempfile.mkdtemp(prefix="microagg-test-"))), Access(PORT)
    app = make_app(session, access, limit=5_000_000)
    client_of = TestClient(
        app, base_url=HOST, headers={"origin": HOST}, follow_redirects=False,
        raise_server_exceptions=False,
    )  # fmt: skip
    with pytest.MonkeyPatch.context() as patch, client_of as client:
        patch.setattr(pages, "AT_ONCE", PATIENCE)  # a refusal is the answer, on any machine
        assert client.get(f"/?token={access.token}").status_code == 303
        yield Studio(client, session, access, app)
    assert not session.folder.exists()


@pytest.fixture(scope="session")
def people(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of made-up residents."""
    path = tmp_path_factory.mktemp("people") / "residents.csv"
    write_table(ma.datasets.residents(200), path)
    return path

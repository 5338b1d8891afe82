"""Bad input: one sentence each, no traceback, no element made by data, a studio that goes on."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

import microagg.studio

pytestmark = pytest.mark.slow
STUDIO = Path(microagg.studio.__file__).parent


class Tags(HTMLParser):
    """Names of the elements and attributes of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.seen: set[str] = set()
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.update((tag, *(f"@{name}" for name, _ in attrs)))


def works(studio: Any, people: Path) -> None:
    """Assert that the studio still opens a file."""
    assert studio.upload(people).status_code == 200
    assert studio.client.get("/columns").status_code == 200


CONTENTS = {
    "empty.csv": b"",
    "header.csv": b"a,b\n",
    "ragged.csv": b"a,b\n1,2\n1,2,3\n",
    "twice.csv": b"a,a\n1,2\n3,4\n",
    "binary.csv": bytes(range(256)) * 20,
    "zeros.csv": b"\x00" * 500,
    "broken.parquet": b"PAR1 nothing PAR1",
    "broken.xlsx": b"PK\x03\x04 nothing",
    "broken.sav": b"$FL2 nothing",
    "what.exe": b"MZ",
    "quote.csv": b'a,b\n"1,2\n',
}


@pytest.mark.parametrize("name", CONTENTS)
def test_a_bad_file_gets_one_sentence(studio: Any, tmp_path: Path, people: Path, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(CONTENTS[name])
    answer = studio.upload(path)
    assert answer.status_code == 422
    sentence = answer.json()["error"]
    assert sentence.endswith(".")
    assert "Traceback" not in sentence
    assert "bug" not in sentence
    works(studio, people)
    left = [path.name for path in studio.session.folder.rglob("*") if path.is_file()]
    assert left == [people.name]


def test_one_byte_over_the_limit_is_refused_before_it_is_read(studio: Any, people: Path) -> None:
    limit = studio.app.state.limit
    read = []

    def body() -> Iterator[bytes]:
        for _ in range(10):
            read.append(1)
            yield b"x"

    answer = studio.client.post(
        "/upload", content=body(),
        headers={"x-file-name": "large.csv", "content-length": str(limit + 1)},
    )  # fmt: skip
    assert answer.status_code == 413
    assert "larger than 5,000,000 bytes" in answer.json()["error"]
    works(studio, people)


def test_a_body_without_a_length_is_counted(studio: Any, people: Path) -> None:
    chunk = b"a,b\n" * 100_000
    answer = studio.client.post(
        "/upload", content=(chunk for _ in range(20)), headers={"x-file-name": "large.csv"}
    )
    assert answer.status_code == 413
    works(studio, people)


@pytest.mark.parametrize("name", ["", "noending", "..", "a" * 400 + ".csv", "%2e%2e", "/"])
def test_a_bad_name_is_refused(studio: Any, people: Path, name: str) -> None:
    answer = studio.upload(people, name)
    assert answer.status_code == 422
    works(studio, people)


@pytest.mark.parametrize("name", ["../x.csv", "..%5C..%5Cx.csv", "/etc/x.csv", "C:%5Cx.csv"])
def test_a_path_is_cut_to_its_name(studio: Any, people: Path, name: str) -> None:
    assert studio.upload(people, name).status_code == 200
    assert studio.session.path.name == "x.csv"
    assert studio.session.folder in studio.session.path.parents


EVIL = [
    "<script>alert(1)</script>", "../x", "\u202eevil\u2066", "a" * 5000,
    "\"'><img src=x onerror=1>",
    "{{ 7*7 }}", "__proto__", "role-0", "  ", "ä%0d%0a",
]  # fmt: skip


def test_names_of_columns_make_no_element(studio: Any, people: Path, tmp_path: Path) -> None:
    works(studio, people)
    usual = set()
    for page in ("/file", "/columns", "/protection"):
        usual |= Tags(studio.client.get(page).text).seen
    names = [f'"{name.replace(chr(34), chr(34) * 2)}"' for name in EVIL]
    rows = [",".join(f"<b>{(i * j) % 7}</b>" for j in range(len(names))) for i in range(40)]
    path = tmp_path / "evil.csv"
    path.write_text("\n".join([",".join(names), *rows]) + "\n", "utf-8")
    answer = studio.upload(path)
    assert answer.status_code in (200, 422)
    if answer.status_code == 422:  # a name that no table may have
        assert "Traceback" not in answer.json()["error"]
    for page in ("/file", "/columns", "/protection"):
        text = studio.client.get(page).text
        assert Tags(text).seen <= usual | {"@hidden", "@selected", "@checked"}
        assert "<b>" not in text
        assert "\u202e" not in text
        assert "a" * 200 not in text
        for field in re.findall(r'(?:name|id)="([^"]*)"', text):
            assert re.fullmatch(r"[a-z-]+(-\d+)?", field), field
    works(studio, people)


@pytest.mark.parametrize("columns", [1_000, pytest.param(10_000, marks=pytest.mark.nightly)])
def test_very_many_columns(studio: Any, people: Path, tmp_path: Path, columns: int) -> None:
    path = tmp_path / "wide.csv"
    names = ",".join(f"c{j}" for j in range(columns))
    rows = "\n".join(",".join(str((i * j) % 5) for j in range(columns)) for i in range(12))
    path.write_text(f"{names}\n{rows}\n", "utf-8")
    assert studio.upload(path).status_code == 200
    page = studio.client.get(f"/columns?page={columns // 40}")
    assert page.status_code == 200
    assert len(re.sub(r"<svg.*?</svg>", "", page.text)) < 60_000  # without pictures
    assert f"c{columns - 1}" in page.text
    works(studio, people)


@pytest.mark.parametrize(
    "form",
    [
        {"role-0": "boss"}, {"role-99": "quasi"}, {"role-x": "quasi"}, {"role--1": "quasi"},
        {"kind-0": "<script>"}, {"role-" + "9" * 5000: "quasi"}, {"codes": "9" * 5000},
    ],
)  # fmt: skip
def test_a_form_by_hand_is_refused(studio: Any, people: Path, form: dict[str, str]) -> None:
    works(studio, people)
    before = studio.session.choices
    answer = studio.client.post("/columns", data=form)
    assert answer.status_code == 422
    assert "reload the page" in answer.text
    assert studio.session.choices == before


@pytest.mark.parametrize("k", ["abc", "1", "-3", "1e9", "5.5", "", "9" * 400, "<script>", "k=5"])
def test_a_bad_k_by_hand(studio: Any, people: Path, k: str) -> None:
    works(studio, people)
    answer = studio.client.post("/protection", data=studio.fields({"k": k}))
    assert answer.status_code == 422
    assert answer.text.count('class="error"') == 1
    assert "<script>alert" not in answer.text
    assert "bug" not in answer.text
    works(studio, people)


def test_a_form_that_is_too_large(studio: Any) -> None:
    assert studio.client.post("/columns", content=b"a=" + b"x" * 5_000_000).status_code == 413


def test_addresses_and_methods_that_do_not_exist(studio: Any) -> None:
    for method, path in (("GET", "/nowhere"), ("GET", "/static/../pages.py"), ("PUT", "/file")):
        answer = studio.client.request(method, path)
        assert answer.status_code in (404, 405)
        assert "Traceback" not in answer.text
    assert studio.client.get("/look?start=x&record=y").status_code == 303
    assert studio.client.get("/columns?page=99999999999999999999").status_code == 200


def test_an_upload_that_breaks_off_leaves_nothing(studio: Any, people: Path) -> None:
    """The server is driven as uvicorn does when the connection is lost."""
    import anyio

    messages = [
        {"type": "http.request", "body": b"a,b\n", "more_body": True},
        {"type": "http.disconnect"},
    ]
    scope = {
        "type": "http", "method": "POST", "path": "/upload", "raw_path": b"/upload",
        "query_string": b"", "root_path": "", "scheme": "http", "http_version": "1.1",
        "headers": [
            (b"host", b"127.0.0.1:8123"), (b"origin", b"http://127.0.0.1:8123"),
            (b"x-file-name", b"half.csv"),
            (b"cookie", f"{studio.access.cookie}={studio.access.secret}".encode()),
        ],
    }  # fmt: skip

    async def drive() -> None:
        async def receive() -> dict[str, Any]:
            return messages.pop(0) if messages else {"type": "http.disconnect"}

        async def send(message: Any) -> None:
            pass

        await studio.app(scope, receive, send)

    anyio.run(drive)
    time.sleep(0.1)
    assert not list(studio.session.folder.rglob("half.csv"))
    works(studio, people)


def test_what_was_read_is_said_in_words_and_can_be_read_otherwise(
    studio: Any, tmp_path: Path
) -> None:
    path = tmp_path / "german.csv"
    path.write_text("31;1.204,50\n44;900,00\n44;900,00\n31;80,25\n", "latin-1")
    refused = studio.upload(path)
    assert refused.status_code == 422
    assert "looks like a record" in refused.json()["error"]
    page = studio.client.get("/file").text  # offers to read it otherwise
    assert "looks like a record" in page
    assert 'value="header"' in page
    assert studio.client.get("/columns").headers["location"] == "/file"
    form = {"present-0": "header", "field-0": "no", "present-1": "role", "field-1": "x"}
    assert studio.client.post("/file", data=form).headers["location"] == "/file"
    page = studio.client.get("/file").text
    assert "<dd>semicolon</dd>" in page
    assert "<dd>values; columns are numbered</dd>" in page
    assert "4 records" in page
    wrong = studio.client.post("/file", data={"present-0": "encoding", "field-0": "morse"})
    assert wrong.status_code == 422
    assert studio.session.reading == {"header": False}
    assert studio.client.get("/columns").status_code == 200


def test_a_column_of_any_type_has_a_chart_or_none() -> None:
    import pyarrow as pa

    from fuzz.by_hand import odd_columns
    from microagg.studio.look import small_chart

    drawn = 0
    for column in odd_columns().values():
        whole = pa.table({"x": column}).column("x")
        drawn += bool(small_chart(whole)["svg"])
    assert drawn > 10


def malformed_files() -> Iterator[tuple[str, bytes]]:
    """Files of the fuzzer made by hand, and small tables of each format with bytes changed."""
    from fuzz.by_hand import files

    yield from (file for file in files() if not file[0].endswith((".toml", ".json")))


BARE_ATTRIBUTES = [
    "checked",
    "data-at-once",
    "data-form",
    "disabled",
    "download",
    "hidden",
    "open",
    "selected",
]
"""Attributes that templates write without a value."""
PIECES = 8
"""Of the malformed files, so that one piece does not take long."""


def elements_of_templates() -> set[str]:
    """Names of the elements and attributes that templates and charts write."""
    sources = [*STUDIO.glob("templates/*.html"), STUDIO / "charts.py"]
    text = "".join(path.read_text("utf-8") for path in sources)
    attributes = re.findall(r"([a-zA-Z-]+)=[\"']", text) + BARE_ATTRIBUTES
    return {*re.findall(r"<([a-z]\w*)", text), *(f"@{name.lower()}" for name in attributes)}


@pytest.mark.nightly
@pytest.mark.parametrize("piece", range(PIECES))
def test_malformed_files_get_a_sentence_or_are_read(
    studio: Any, tmp_path: Path, people: Path, piece: int
) -> None:
    """Each is read, or refused in one sentence that is no bug; the studio goes on."""
    count, allowed = 0, elements_of_templates()
    for number, (name, content) in enumerate(malformed_files()):
        if number % PIECES != piece:
            continue
        path = tmp_path / f"{number}-{name.replace('/', '-')}"
        path.write_bytes(content)
        answer = studio.upload(path)
        path.unlink()
        count += 1
        assert answer.status_code in (200, 413, 422), name
        if answer.status_code != 200:
            sentence = answer.json()["error"]
            assert sentence.endswith("."), (name, sentence)
            assert "\n" not in sentence, (name, sentence)
            assert "bug" not in sentence, (name, sentence)
            assert "Traceback" not in sentence, (name, sentence)
        for page in ("/file", "/columns", "/protection"):
            shown = studio.client.get(page)
            assert shown.status_code in (200, 303), (name, page)
            assert "bug in microagg" not in shown.text, (name, page)
            assert "Traceback" not in shown.text, (name, page)
            assert shown.text.count("<script") <= 1, (name, page)
            assert Tags(shown.text).seen <= allowed, (name, page)
    assert count >= 50
    works(studio, people)

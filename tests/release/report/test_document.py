"""The report: one document, three forms; complete, escaped, deterministic, small."""

from __future__ import annotations

import json
import re
import sys
import warnings
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pytest

from microagg.measures.measure import Basis, Figure, Measure, Pair
from microagg.release.note import Note
from microagg.release.note_catalogue import make_note
from microagg.release.report.building import build_document, build_first_page
from microagg.release.report.document import (
    Document,
    Facts,
    Grid,
    Listing,
    Picture,
    Section,
    Warn,
)
from microagg.release.report.front_text import first_page_text
from microagg.release.report.html import to_html
from microagg.release.report.markdown import to_markdown
from microagg.release.report.notebook import first_page_fragment
from microagg.release.report.plain import to_json
from microagg.release.report.subject import lost_of_columns

HOSTILE = '<script>alert("x")</script> & | `a` *b* $y$ <blink>'
FORMS = {"html": to_html, "markdown": to_markdown, "json": to_json}


def measure(name: str, side: str, unit: str = "percent", of: str = "pair") -> Measure:
    return Measure(
        name=name,
        title=f"the {name}",
        side=side,
        unit=unit,
        lower_is_better=True,
        lowest=0.0,
        highest=100.0,
        zero_means="nothing.",
        highest_means="everything",
        source=f"source of {name}",
        compute=lambda pair: Figure(0.0),
        basis=Basis.SAMPLE,
        of=of,
    )


def release(
    columns: int = 3, n: int = 60, k: int = 5, names: tuple[str, ...] = ()
) -> dict[str, Any]:
    """Return the arguments of build_document, of made-up numbers in groups of k neighbours."""
    rng = np.random.default_rng(columns)
    original = rng.normal(50, 12, size=(n, columns)).round(1)
    labels = np.argsort(np.argsort(original[:, 0])) // k
    released = np.array([original[labels == g].mean(axis=0) for g in labels])
    names = names or tuple(f"column_{j}" for j in range(columns))
    pair = Pair(original, released, names, k=k)
    manifest = {
        "format": 2,
        "settings": {"k": k, "method": "mdav", "params": {}, "scale": "zscore", "seed": 424242},
        "records": n,
        "roles": {
            "passport": "identifier",
            **dict.fromkeys(names, "quasi"),
            "ill": "confidential",
            "town": "keep",
        },
        "guarantee": {"k": k, "of": "each combination", "k_anonymous": True},
        "loss": {"IL": 12.345678, "SSE": 3.0},
        "largest_share": 0.05,
    }
    figures = [
        (measure("il", "loss"), Figure(12.345678, {name: 1.0 + j for j, name in enumerate(names)})),
        (
            measure("il1s", "loss", "records"),
            Figure(1.0, dict.fromkeys(names, 2.5), {"a_detail": 77.125}),
        ),
        (measure("linkage", "risk"), Figure(3.21987, {}, {"second": 88.25})),
        (measure("dominance", "risk", of="record"), Figure(99.875, dict.fromkeys(names, 66.625))),
        (measure("prosecutor", "risk", of="release"), Figure(20.0, {}, {"at this risk": 60.0})),
    ]
    return {
        "manifest": manifest,
        "pair": pair,
        "class_sizes": np.bincount(labels),
        "figures": figures,
        "notes": [make_note("kept-columns", ["town"])],
        "bound": {"IL": 11.0, "optimal": False},
    }


def texts(document: Document) -> str:
    return to_json(document)


INSIDE = (
    "What was lost",
    "Correlations before and after",
    "What an intruder gains",
    "How close to the best possible",
)
FOR_ALL = ("The released values", "Correlations of the released columns", "What an intruder gains")


@pytest.mark.parametrize("public", [False, True])
def test_the_parts_and_their_order(public: bool) -> None:
    document = build_document(public=public, **release())
    assert [section.title.split(",")[0].split(":")[0] for section in document.sections] == [
        "What was done",
        "The columns and their roles",
        "The guarantee",
        *(FOR_ALL if public else INSIDE),
        "Limits",
        "Definitions and sources",
        "The manifest",
    ]
    assert document.audience == ("public" if public else "internal")
    front = document.front
    assert front is not None
    assert front.signature is not None, "every report is signed"
    sentences = [decision.text for decision in front.decisions]
    assert any("town" in text for text in sentences), "the column kept is to be decided on"


def test_the_first_page_in_every_form() -> None:
    arguments = release()
    arguments["manifest"]["settings"] |= {"title": "Survey of 2026", "entity": "firm"}
    document = build_document(public=False, **arguments)
    for form in FORMS.values():
        text = form(document)
        for words in (
            "Survey of 2026",
            "Guarantee met, 1 point to decide",
            "Smallest of ",
            "Chance of finding a firm",
            "20 % at most",
            "records may be recognised by them",
            "12.3 %",
            "passport",
            "Approved for release by",
        ):
            assert words in text, words


@pytest.mark.parametrize(
    ("notes", "status", "sentence"),
    [
        ([], "met", "Guarantee met, nothing open"),
        ([make_note("dropped-records", records=3)], "met", "Guarantee met, nothing open"),
        ([make_note("k-is-2", fix={"k": 3})], "decide", "Guarantee met, 1 point to decide"),
        (
            [make_note("could-name-somebody", ["mail"], reason="an e-mail")],
            "stop",
            "Do not publish",
        ),
    ],
)
def test_the_verdict_follows_from_severities(notes: list[Note], status: str, sentence: str) -> None:
    document = build_document(public=False, **{**release(), "notes": notes})
    assert document.front is not None
    assert document.front.verdict == (status, sentence)


def test_points_beyond_five_are_among_the_notes() -> None:
    notes = [make_note("could-name-somebody", [f"c{j}"], reason="a name") for j in range(7)]
    document = build_document(public=False, **{**release(), "notes": notes})
    assert document.front is not None
    assert (len(document.front.decisions), document.front.more_decisions) == (5, 2)
    text = texts(Document("", "internal", document.sections))
    assert ("'c5'" in text, "'c6'" in text, "'c4'" in text) == (True, True, False)


def test_every_figure_has_a_unit_and_a_meaning() -> None:
    document = build_document(public=False, **release())
    for section in document.sections:
        for block in section.blocks:
            if isinstance(block, Facts):
                assert all(name and value and meaning for name, value, meaning in block.rows)
    text = texts(document)
    assert "3.22 %" in text
    assert "1 record" in text
    assert "0 means: nothing. 100 means: everything." in text
    assert "a detail 77.12" in text
    assert "99.88 %" in text
    assert "66.62" in text


def test_the_public_version_leaves_out_what_is_of_single_records() -> None:
    for form in FORMS.values():
        text = form(build_document(public=True, **release()))
        secrets = (
            "424242",
            "passport",
            "77.1",
            "88.2",
            "99.9",
            "66.6",
            "dominance)",
            "minimum",
            "linkage",
            "12.3",
        )
        for secret in (*secrets, "can lose less", "before and after"):
            assert secret not in text
        assert "withheld" in text, "of 60 records"
        assert "12 %" in form(build_document(public=True, **release(n=200)))


def test_a_release_that_is_not_k_anonymous_says_so_first() -> None:
    arguments = release()
    arguments["class_sizes"] = np.array([1, 2, 57])
    arguments["manifest"]["guarantee"]["of"] = "each column alone"
    document = build_document(public=True, **arguments)
    assert document.front is not None
    assert document.front.verdict == ("stop", "Do not publish")
    assert "100 % at most" in texts(document)
    first = document.sections[0]
    assert first.title == "What was done, and what it protects"
    assert isinstance(first.blocks[1], Warn)
    assert "not 5-anonymous. 3 records of 60 have" in first.blocks[1].text


def test_the_bound() -> None:
    def text_with(bound: dict[str, Any] | None) -> str:
        arguments = {**release(), "bound": bound}
        return texts(build_document(public=False, **arguments))

    assert (
        "can lose less than 11 % of the variation. This grouping loses 10.5 % more than "
        "that limit at most" in text_with({"IL": 11.0, "gap": 10.5})
    ), "not the 12.23 % that the released, rounded values are above it"
    assert "there is no better one" in text_with({"IL": 12.3, "optimal": True})
    assert "It is proven that no grouping" in text_with({"IL": 12.3, "optimal": True})
    by_solver = {"IL": 12.3, "optimal": False, "optimal_by_solver": True, "certified_IL": 12.25}
    assert "a certificate proves 12.25 %" in text_with(by_solver)
    assert "It is proven" not in text_with(by_solver)
    assert "no certificate" not in text_with(by_solver), "the table is plain"
    assert "says little" in text_with({"IL": 0.0, "optimal": False})
    assert "How close" not in text_with(None)
    arguments = {**release(), "bound": None}
    arguments["manifest"]["bound"] = {"IL": 10.0, "optimal": False}
    assert "less than 10 %" in texts(build_document(public=False, **arguments)), (
        "the manifest's own"
    )
    assert "How close" not in texts(build_document(public=True, **arguments))


def test_newer_fields_of_the_manifest() -> None:
    arguments = release()
    arguments["manifest"] |= {
        "chosen": ["quick: 3 candidates", "the best was kept."],
        "stopped_early": True,
    }
    text = texts(build_document(public=False, **arguments))
    assert "How groups were formed. Quick: 3 candidates. The best was kept." in text
    assert "stopped before its end" in text
    arguments["manifest"]["settings"]["method"] = "from-the-future"
    assert "from-the-future" in texts(build_document(public=False, **arguments))


class Reader(HTMLParser):
    """Collects tags and attributes, and checks that elements are closed in order."""

    VOID = ("meta", "wbr", "br", "path", "use")

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def read(page: str) -> list[tuple[str, dict[str, str | None]]]:
    reader = Reader()
    reader.feed(page)
    assert reader.open == []
    return reader.tags


@pytest.mark.slow
def test_the_page_needs_nothing_else() -> None:
    page = to_html(build_document(public=False, **release()))
    tags = read(page)
    assert not {"script", "link", "img", "image", "iframe", "object"} & {tag for tag, _ in tags}
    for _, attributes in tags:
        for name in ("href", "src", "xlink:href", "action"):
            assert (attributes.get(name) or "#").startswith("#")
    assert "url(http" not in page
    assert "@import" not in page
    assert "default-src 'none'" in page
    ids = [attributes["id"] for _, attributes in tags if "id" in attributes]
    assert len(ids) == len(set(ids)), "no id twice, whatever pictures bring along"
    assert set(re.findall(r"url\(#([^)]+)\)", page)) <= set(ids)


def test_the_page_can_be_read_without_eyes() -> None:
    tags = read(to_html(build_document(public=False, **release())))
    assert ("html", {"lang": "en"}) in tags
    assert [tag for tag, _ in tags if tag in ("h1", "h2")] == ["h1"] + ["h2"] * 13
    drawings = [attributes for tag, attributes in tags if tag == "svg"]
    pictures = [attributes for attributes in drawings if attributes.get("aria-hidden") != "true"]
    assert len(drawings) == 1 + len(pictures), "the scale of loss, whose figure is beside it"
    assert len(pictures) == 1 + 3 + 2
    assert all(attributes["role"] == "img" and attributes["aria-label"] for attributes in pictures)
    assert all("scope" in attributes for tag, attributes in tags if tag == "th")


@pytest.mark.parametrize("public", [False, True])
def test_hostile_names(public: bool) -> None:
    arguments = release(names=(HOSTILE, "b\x00\x1b\ud800\nb", "$a^$" + "列" * 40))
    arguments["notes"] = [make_note("kept-columns", [HOSTILE])]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        document = build_document(public=public, **arguments)
    page = to_html(document)
    assert not {"script", "blink"} & {tag for tag, _ in read(page)}
    assert "&lt;script&gt;" in page
    text = to_markdown(document)
    fenced = re.compile(r"^(```+)$.*?^\1$", re.DOTALL | re.MULTILINE)
    assert "<script" not in fenced.sub("", text)
    tables = [line for line in text.splitlines() if line.startswith("| &lt;script")]
    assert tables
    assert all("\\|" in line and "\\`" in line and "\\*" in line for line in tables)
    for form in FORMS.values():
        written = form(document).encode("utf-8")  # lone surrogates could not be written
        assert not re.search(rb"[\x00-\x08\x0b-\x1f]", written)
    assert json.loads(to_json(document))["title"] == document.title


def test_rows_of_markdown_tables_have_all_their_cells() -> None:
    for public in (False, True):
        lines = to_markdown(
            build_document(public=public, **release(names=(HOSTILE, "b", "c")))
        ).splitlines()
        runs: list[int] = []
        for line in lines:
            cells = len(re.findall(r"(?<!\\)\|", line)) if line.startswith("|") else 0
            assert not (cells and runs and runs[-1]) or cells == runs[-1]
            runs.append(cells)


def test_the_fence_of_a_listing_is_longer_than_what_it_holds() -> None:
    text = to_markdown(Document("r", "public", (Section("s", (Listing("a ```` b"),)),)))
    assert "\n`````\na ```` b\n`````\n" in text


@pytest.mark.slow
def test_many_columns_stay_small() -> None:
    names = tuple(f"a_rather_long_name_of_the_column_with_number_{j}" for j in range(30))
    for public in (False, True):
        document = build_document(public=public, **release(columns=30, n=200, names=names))
        page = to_html(document)
        assert len(page.encode()) < 1_000_000
        assert len(re.findall("<svg role", page)) == 1 + 12 + (1 if public else 2)
        assert not re.search(r"<[^>]* style=", page), "some pages allow no style of elements"
        assert ("the first 12 are shown" if public else "the 12 that lost most are shown") in page
        assert ("Of 30 columns, the 12 whose correlations changed most" in page) != public
        assert "and 18 more" in page


@pytest.mark.slow
@pytest.mark.parametrize("public", [False, True])
def test_tables_of_columns_have_an_end(public: bool) -> None:
    arguments = release(columns=120, n=1_000)
    arguments["manifest"]["settings"]["publish"] = ["il1s"]
    page = to_html(build_document(public=public, **arguments))
    if public:
        assert "Of 120 columns, the first 100." in page
        assert (
            ">column_100<"
            not in page.rpartition("What was published of the original")[2].partition(
                "The manifest is"
            )[0]
        )
    else:
        assert "Of 120 columns, the 100 that lost most are shown." in page
        assert "Of 120 columns, the first 100 are shown." in page


@pytest.mark.parametrize("public", [False, True])
def test_the_same_bytes_again_and_without_matplotlib(
    monkeypatch: pytest.MonkeyPatch, public: bool
) -> None:
    first = to_html(build_document(public=public, **release()))
    for name in [name for name in sys.modules if name.split(".")[0] == "matplotlib"]:
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    page = to_html(build_document(public=public, **release()))
    assert page == first
    assert page.count("<svg") > 2
    read(page)


def test_markdown_and_json_have_the_numbers_of_the_pictures() -> None:
    document = build_document(public=True, **release())
    grids = [b.data for s in document.sections for b in s.blocks if isinstance(b, Picture)]
    text, data = to_markdown(document), json.loads(to_json(document))
    for grid in grids:
        assert all(" | ".join(row) in text for row in grid.rows)
    kept = [
        b["data"]["rows"] for s in data["sections"] for b in s["blocks"] if b["kind"] == "picture"
    ]
    assert kept == [[list(row) for row in grid.rows] for grid in grids]
    assert "svg" not in to_json(document)


DEGENERATE = {
    "one column": (np.arange(10.0).reshape(-1, 1), np.repeat([2.0, 7.0], 5).reshape(-1, 1)),
    "constant": (np.full((10, 2), 7.0), np.full((10, 2), 7.0)),
    "nothing lost": (
        np.repeat(np.arange(4.0), 5).reshape(-1, 2),
        np.repeat(np.arange(4.0), 5).reshape(-1, 2),
    ),
    "collapsed": (np.arange(20.0).reshape(-1, 2), np.tile([9.0, 10.0], (10, 1))),
    "huge": (np.arange(20.0).reshape(-1, 2) * 1e305, np.tile([9e305, 1e306], (10, 1))),
    "tiny": (np.arange(20.0).reshape(-1, 2) * 1e-320, np.tile([9e-320, 10e-320], (10, 1))),
    "far away": (1e15 + np.arange(20.0).reshape(-1, 2), np.tile([1e15 + 9, 1e15 + 10], (10, 1))),
}


@pytest.mark.parametrize("public", [False, True])
@pytest.mark.parametrize("name", DEGENERATE)
def test_degenerate_tables(name: str, public: bool) -> None:
    original, released = DEGENERATE[name]
    arguments = release(columns=original.shape[1])
    arguments["pair"] = Pair(
        original, released, arguments["pair"].names, weights=np.ones(len(original)), k=5
    )
    arguments["class_sizes"] = np.array([5, 5])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        document = build_document(public=public, **arguments)
        for form in FORMS.values():
            assert "nan" not in form(document).lower().replace("dominance", "")


@pytest.mark.parametrize("largest", [1, 5, 24, 40, 1000, 123_456])
def test_class_sizes_are_counted(largest: int) -> None:
    arguments = release()
    sizes = np.unique(np.linspace(1, largest, 50).astype(int))
    arguments["class_sizes"] = sizes
    (guarantee,) = [
        section
        for section in build_document(public=False, **arguments).sections
        if section.title == "The guarantee"
    ]
    (picture,) = [block for block in guarantee.blocks if isinstance(block, Picture)]
    rows = [[cell.replace(",", "") for cell in row] for row in picture.data.rows]
    assert len(rows) <= 25
    for name, classes, records in rows:
        low, _, high = name.partition("–")
        inside = sizes[(sizes >= int(low)) & (sizes <= int(high or low))]
        assert (int(classes), int(records)) == (len(inside), inside.sum())
    assert sum(int(row[1]) for row in rows) == len(sizes)


@pytest.mark.parametrize("seed", range(20))
def test_loss_and_correlations_of_columns(seed: int) -> None:
    rng = np.random.default_rng(seed)
    before = rng.integers(0, 5, size=(int(rng.integers(2, 30)), 3)).astype(float)
    after = before + rng.normal(size=before.shape)
    after[:, 2] = before[:, 2] = 4.0
    for j, lost in enumerate(lost_of_columns(before, after)):
        mean = sum(before[:, j]) / len(before)
        total = sum((x - mean) ** 2 for x in before[:, j])
        error = sum((x - y) ** 2 for x, y in zip(before[:, j], after[:, j], strict=True))
        assert lost == pytest.approx(100 * error / total if total else 100 * (error > 0))


def test_the_first_page_for_notebooks() -> None:
    arguments = release()
    arguments["notes"] = [make_note("kept-columns", [HOSTILE])]
    document = build_first_page(
        manifest=arguments["manifest"], class_sizes=np.array([5, 6, 49]), notes=arguments["notes"]
    )
    text = first_page_fragment(document)
    read(text)
    for words in ("5 records", "3 classes", "12.3 %", "&lt;script&gt;", "1 point to decide"):
        assert words in text
    assert "<script" not in text


@pytest.mark.parametrize("width", [80, 120])
def test_the_first_page_for_terminals(width: int) -> None:
    arguments = release()
    document = build_first_page(
        manifest=arguments["manifest"], class_sizes=np.array([5, 6, 49]), notes=arguments["notes"]
    )
    text = first_page_text(document, width)
    lines = text.splitlines()
    assert max(map(len, lines)) <= width
    for words in ("verdict      Guarantee met, 1 point to decide", "IL = 12.3 %", "town"):
        assert words in text
    below = [line for line in lines if line.startswith(" ")]
    assert all(line.startswith(" " * 12) for line in below), "a hanging indent"


def test_numbers_stand_right() -> None:
    page = to_html(
        Document(
            "r", "public", (Section("s", (Grid(("a", "b", "c"), (("x", "−1,234.5", "y"),)),)),)
        )
    )
    assert '<td class="number" data-label="b">−1,234.5</td><td data-label="c">y</td>' in page

"""Sentences that users did not understand at first reading are nowhere in the source any more."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "microagg"
REPLACED = (
    "beyond it: whoever knows all",
    "values of single records are released as they are",
    "whoever is known to be in one of them",
    "so that the group's mean all but tells its value",
    "works it out to within",
    "was grouped otherwise",
    "is then among those only who are in both",
    "which is what groups are searched by",
    "the rest is rounding, weights",
    "axes that vary",
    "avoids it",
    "with distances equal within some percent",
    "has no unit with more than half of its records",
    "were counted by the withheld column",
    "told about in notes on tables in memory only",
    "constant, so without influence on the groups",
    "say kinds where that is wrong",
    "it holds the seed and the scaling",
    "as far as no values were missing",
    "none of texts or running numbers is different",
    "were asked for: ",
    "at least; 5 were asked for",
    "How much of the variation is gone is not told",
    "it is told for 100 records and more",
    "that is coarse beside how far they are spread",
    "what a group releases is no mean",
    "keep it inside, it tells of single records",
    "and the guarantee is worth no more than it",
    "0 records: k-anonymous",
    "share of the longest way",
    "values known within an interval of ranks",
    "by drawing one of its class for each",
    "information missing to get values back",
    "end what runs that were killed began",
    "of numbers or levels that are none",
    "how many times squared distances in a column count",
    "what is beyond becomes that before groups are formed",
    "everybody is told, as it is given",
    "for what such passes set aside",
    "take the careful answer to all that is marked",
    "called like what nobody should learn",
    "which is the better defence",
)
"""What stood in notes, reports, help and errors, and has a plainer sentence now."""
ARCHAIC = (
    "whoever",
    "beyond memory",
    "set aside",
    "for your eyes",
    "take their places",
    "taken their places",
    "nobody can repeat",
    "what it is told",
)
"""Words that made sentences hard to understand."""
ALLOWED = {
    "has no unit with more than half of its records",  # in manifests, which stay as they are
    "and has no unit with more than half of its records",  # where they are read
    "{} on {} axes that vary",  # in manifests
    "it is told for 100 records and more, where no group makes up more than a tenth of the squared "
    "error",  # in manifests
    r"\bon ([\d,]+) axes that vary",  # where they are read
    "suppressed: {}, set aside; {} of other records{}.",  # cells that another tool suppressed
}
"""Whole texts that may have these words."""


def texts() -> Iterator[tuple[str, str]]:
    """Every text of the source but docstrings and comments, with its place."""
    for path in sorted(SOURCE.rglob("*.py")):
        tree = ast.parse(path.read_text("utf-8"))
        docs = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        inner: set[int] = set()
        for node in ast.walk(tree):
            if id(node) in docs or id(node) in inner:
                continue
            if isinstance(node, ast.JoinedStr):
                inner |= {id(part) for part in ast.walk(node)}
                parts = [
                    part.value if isinstance(part, ast.Constant) else "{}" for part in node.values
                ]
                yield f"{path.name}:{node.lineno}", "".join(map(str, parts))
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield f"{path.name}:{node.lineno}", node.value


@pytest.fixture(scope="module")
def sentences() -> list[tuple[str, str]]:
    return [(line, " ".join(text.split()).lower()) for line, text in texts()]


def test_all_of_the_source_is_read(sentences: list[tuple[str, str]]) -> None:
    assert len(sentences) > 5_000
    together = " ".join(text for _, text in sentences)
    assert "so membership reveals it" in together
    assert "accept the safest default for every open question" in together


@pytest.mark.parametrize("words", [*REPLACED, *ARCHAIC])
def test_no_sentence_that_had_to_be_read_twice(
    words: str, sentences: list[tuple[str, str]]
) -> None:
    matches = [
        f"{line}: {text}"
        for line, text in sentences
        if re.search(rf"(?<!\w){re.escape(words.lower())}(?!\w)", text) and text not in ALLOWED
    ]
    assert not matches

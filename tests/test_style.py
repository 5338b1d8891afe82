"""Names and docstrings follow the rules of docs/architecture.md and CONTRIBUTING.md."""

from __future__ import annotations

import ast
import collections
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "microagg"
NO_NAMES = {"found", "told", "own", "each", "there", "at", "place", "asked", "given", "said"}
NO_OPENINGS = ("What", "Whether", "How", "Which")
PARTS = sorted(
    path.name for path in SOURCE.iterdir() if path.suffix == ".py" or any(path.rglob("*.py"))
)
"""Folders and modules of the source; all of them follow the rules."""
ROOT = SOURCE.parents[1]
OTHER_PARTS = sorted(
    {
        Path(*path.relative_to(ROOT).parts[:2]).as_posix()
        for folder in ("benchmarks", "docs", "tests")
        for path in (ROOT / folder).rglob("*.py")
    }
)
"""Folders and modules beside the source; their names and docstrings follow the same rules."""


def modules(name: str, root: Path = SOURCE) -> Iterator[tuple[Path, ast.Module]]:
    paths = [root / name] if name.endswith(".py") else sorted((root / name).rglob("*.py"))
    for path in paths:
        yield path, ast.parse(path.read_text("utf-8"))


def wrong_names(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node.id in NO_NAMES:
            yield f"{node.lineno}: variable {node.id}"
        if isinstance(node, ast.arg) and node.arg in NO_NAMES:
            yield f"{node.lineno}: parameter {node.arg}"
        if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.Module):
            words = (ast.get_docstring(node) or "").split(maxsplit=1)
            if words and words[0] in NO_OPENINGS:
                yield f"{getattr(node, 'lineno', 1)}: docstring opens with {words[0]}"


@pytest.mark.parametrize(
    ("root", "name"),
    [*((SOURCE, name) for name in PARTS), *((ROOT, name) for name in OTHER_PARTS)],
    ids=[*PARTS, *OTHER_PARTS],
)
def test_names_and_docstrings_are_conventional(root: Path, name: str) -> None:
    problems = [
        f"{path}:{text}" for path, tree in modules(name, root) for text in wrong_names(tree)
    ]
    assert not problems, "\n".join(problems)


def test_tests_mirror_the_folders_of_the_source() -> None:
    tests = Path(__file__).parent
    ours, theirs = (
        {path.name for path in folder.iterdir() if any(path.glob("*.py"))}
        for folder in (tests, SOURCE)
    )
    assert ours - theirs == {"contract", "fuzz", "golden", "support"}
    assert theirs <= ours


def test_tests_benchmarks_and_scripts_are_looked_at() -> None:
    assert {"benchmarks/scale", "docs/generate.py", "tests/release", "tests/test_style.py"} <= set(
        OTHER_PARTS
    )


def test_wrong_names_are_noticed() -> None:
    tree = ast.parse('"""What it is."""\ndef f(asked):\n    found = 1\n')
    assert [text.split(": ")[1] for text in wrong_names(tree)] == [
        "docstring opens with What", "parameter asked", "variable found",
    ]  # fmt: skip


MANY_PARAMETERS = {
    ("anonymize.py", "anonymize"): "public: the options of a release, in named groups",
    ("files.py", "anonymize_file"): "public: the options of a release, in named groups",
    ("microaggregator.py", "__init__"): "scikit-learn reads parameters from the constructor",
    ("commands_release.py", "anonymize"): "typer reads options from the signature",
    ("commands_tables.py", "compare"): "typer reads options from the signature",
}
"""Functions that may have more than 12 parameters, and why."""


LONG_FILES = {
    "verify_bound.py": 650,  # one file that imports nothing of ours, to be copied and run alone
}
"""Files that may have more than 400 lines, and how many."""


def wrong_sizes(path: Path, tree: ast.Module) -> Iterator[str]:
    """Yield files, lines, functions and signatures that are too long; docstrings do not count."""
    lines = path.read_text("utf-8").splitlines()
    if len(lines) > LONG_FILES.get(path.name, 400):
        yield f"1: {len(lines)} lines"
    yield from (f"{number}: long line" for number, line in enumerate(lines, 1) if len(line) > 100)
    if "kernels" in path.parts:  # numba takes arrays one by one
        return
    for node in ast.walk(tree):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        docstring = node.body[0] if ast.get_docstring(node) else None
        length = code_lines(node) - (0 if docstring is None else code_lines(docstring))
        parameters = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
        if length > 60:
            yield f"{node.lineno}: {node.name} has {length} lines of code"
        if len(parameters) > 12 and (path.name, node.name) not in MANY_PARAMETERS:
            yield f"{node.lineno}: {node.name} has {len(parameters)} parameters"


def code_lines(node: ast.stmt) -> int:
    return (node.end_lineno or node.lineno) - node.lineno + 1


@pytest.mark.parametrize("name", PARTS)
def test_files_functions_and_lines_are_short(name: str) -> None:
    problems = [
        f"{path}:{text}" for path, tree in modules(name) for text in wrong_sizes(path, tree)
    ]
    assert not problems, "\n".join(problems)


def test_wrong_sizes_are_noticed(tmp_path: Path) -> None:
    names = ", ".join(f"a{number}" for number in range(13))
    body = "    a0 = 1\n" * 60
    text = f'def f({names}):\n    """Do it.\n\n    At length.\n    """\n{body}x = "{"y" * 100}"\n'
    path = tmp_path / "long.py"
    path.write_text(text + "\n" * 400)
    assert [text.split(": ")[1] for text in wrong_sizes(path, ast.parse(text))] == [
        "466 lines", "long line", "f has 61 lines of code", "f has 13 parameters",
    ]  # fmt: skip


def long_prose(text: str) -> Iterator[int]:
    """Yield the numbers of lines of prose over 100 letters; code, tables and pictures may be."""
    code = False
    for number, line in enumerate(text.splitlines(), 1):
        code ^= line.lstrip().startswith("```")
        if (
            len(line) > 100
            and not code
            and not line.lstrip().startswith(("|", "![", "[![", "<!--"))
        ):
            yield number


def test_lines_of_prose_are_short() -> None:
    pages = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("benchmarks/**/*.md")]
    problems = [
        f"{page}:{number}" for page in pages for number in long_prose(page.read_text("utf-8"))
    ]
    assert not problems, "\n".join(problems)
    assert list(long_prose(f"{'x' * 101}\n| {'x' * 101}\n```\n{'x' * 101}\n```\n")) == [1]


DECLARATIONS = ("methods", "measures", "note_entries.py", "note_entries_files.py")
"""Modules of entries that say each for itself where it comes from and what it means."""


def texts_of(tree: ast.Module) -> Iterator[str]:
    """Yield the texts of a module that are no docstrings, without what f-strings put in."""
    skipped = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr):
            skipped.add(id(node.value))
        if isinstance(node, ast.JoinedStr):
            skipped.update(id(part) for part in node.values)
    for node in ast.walk(tree):
        if id(node) in skipped:
            continue
        if isinstance(node, ast.JoinedStr):
            parts = (part.value if isinstance(part, ast.Constant) else "{}" for part in node.values)
            yield "".join(map(str, parts))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def repeated_sentences(trees: list[ast.Module]) -> list[str]:
    texts = [text.strip() for tree in trees for text in texts_of(tree)]
    counts = collections.Counter(text for text in texts if len(text) >= 50 and " " in text)
    return [text for text, count in counts.items() if count > 1]


def test_no_sentence_stands_in_two_places() -> None:
    alone = ("verify_bound.py", "verify_release.py")  # copied alone, they share nothing
    trees = [
        tree
        for name in PARTS
        if name not in alone
        for path, tree in modules(name)
        if not set(DECLARATIONS) & {*path.parts}
    ]
    assert not repeated_sentences(trees)


def test_repeated_sentences_are_noticed() -> None:
    sentence = "the table has no records at all; there is nothing to protect."
    trees = [ast.parse(f'"""{sentence}"""\nA = "{sentence}"'), ast.parse(f"B = {sentence!r}")]
    assert repeated_sentences(trees[:1]) == []
    assert repeated_sentences(trees) == [sentence]

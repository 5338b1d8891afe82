"""The files of the demonstration: made-up residents of a town, and their release beside them; never
in the place of a user's own.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

from microagg.datasets.residents import EDUCATION, residents
from microagg.errors import InputError
from microagg.files.commit.writing import make_folder, replace_whole, write_table
from microagg.files.reading import read_table
from microagg.files.stores.locations import parse_location
from microagg.release.manifest import digest_of, manifest_paths
from microagg.release.settings import Settings

RESIDENTS = 1000
ASKED: dict[str, Any] = {
    "quasi": ["sex", "born", "marital", "education", "income"],
    "ordinal": {"education": list(EDUCATION)},
    "identifier": ["person", "e_mail"],
    "confidential": ["diagnosis"],
    "rest": "drop",
    "effort": "quick",
}
"""What the demonstration asks for, besides k: categories, a date, an order that a csv file cannot
carry, numbers with gaps.
"""
SOURCE, TARGET = "residents.csv", "residents-protected.csv"


def prepare_demonstration(folder: Path) -> tuple[Path, Path]:
    """Write the table of made-up residents to a folder; returns its place and the one for its
    release.

    Files of these names that a demonstration did not write are left alone: that is an error.
    """
    parse_location(folder)  # which refuses addresses
    make_folder(folder)
    source, target = folder / SOURCE, folder / TARGET
    with tempfile.TemporaryDirectory() as elsewhere:
        made = Path(elsewhere) / SOURCE
        write_table(residents(RESIDENTS), made)
        content = made.read_bytes()
        digest = digest_of(
            read_table(made, quasi=ASKED["quasi"], asked=Settings.of(k=2, **ASKED).columns)
        )
    if source.exists() and not _holds(source, content):
        raise _not_ours(source)
    if target.exists() and not _is_made_from(target, digest):
        raise _not_ours(target)
    replace_whole(source, lambda part: part.write_bytes(content))
    return source, target


def _holds(path: Path, content: bytes) -> bool:
    try:
        return path.stat().st_size == len(content) and path.read_bytes() == content
    except OSError:
        return False


def _is_made_from(target: Path, digest: str) -> bool:
    """Whether a release lies there that was made from the residents."""
    try:
        manifest = json.loads(manifest_paths(target)[0].read_text("utf-8"))
        return (manifest["input"]["file"], manifest["input"]["digest"]) == (SOURCE, digest)
    except (OSError, ValueError, RecursionError, TypeError, KeyError):
        return False


def _not_ours(path: Path) -> InputError:
    return InputError(
        f"{str(path)!r} is there, and no demonstration of this version wrote it; name "
        f"another folder with --folder."
    )

"""Packing of a release: the files beside it, with an index of their digests."""

from __future__ import annotations

import csv
import hashlib
import io
import json
from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from typing import Any

import pyarrow as pa

from microagg.errors import InputError
from microagg.files.commit.writing import check_unwritable, write_bytes
from microagg.files.formats import format_of
from microagg.files.reading import read_written
from microagg.release.manifest import manifest_paths
from microagg.release.settings import Settings
from microagg.studies.evidence.archive import zip_bytes
from microagg.table.columns.arrow import compute as pc

FORMAT = "microagg-evidence/1"
INDEX = "index.json"
FORM = "decision.md"
VERIFIER = "verify_release.py"
ATTACKS = "attacks.json"
CERTIFICATE = "certificate.json"
TEXT_COPY = "table-as-text.csv"
LARGEST_TABLE = 500_000_000
REPORTS = (".html", ".md", ".json")


def pack_release(
    table: str | Path,
    *,
    attacks: str | Path | None = None,
    certificate: str | Path | None = None,
) -> tuple[Path, Path]:
    """Write the public and the internal pack of a saved release beside it; return their paths.

    Reports in the same folder are packed if they name the release. Results of attacks and
    certificates go into the internal pack.
    """
    table = Path(table)
    internal_path, public_path = (Path(location) for location in manifest_paths(table))
    public = {table.name: _read(table), public_path.name: _read(public_path)}
    if len(public[table.name]) > LARGEST_TABLE:
        raise InputError("the table is larger than 500 MB; a pack cannot hold it.")
    internal = {public_path.name: public[public_path.name]}
    internal[internal_path.name] = _read(internal_path)
    release = release_named_in(public[public_path.name], public_path.name)
    copy = text_copy(table)
    if copy is not None:
        public[TEXT_COPY] = copy
    for name, content in _reports_of(table, release):
        (internal if ".internal." in name else public)[name] = content
    for packed, path, fits in (
        (ATTACKS, attacks, are_attacks_on), (CERTIFICATE, certificate, is_certificate_of)
    ):  # fmt: skip
        if path is not None:
            internal[packed] = _read(Path(path))
            if not fits(parsed(internal[packed]), parsed(internal[internal_path.name])):
                raise InputError(
                    f"{Path(path).name} is not of this release; make it from the same table with "
                    f"--config {internal_path.name}."
                )
    public |= {FORM: form().encode(), VERIFIER: verifier()}
    places = (table.with_name(f"{table.name}.evidence.public.zip"),
              table.with_name(f"{table.name}.evidence.internal.zip"))  # fmt: skip
    for location, files, kind in zip(
        places, (public, internal), ("public", "internal"), strict=True
    ):
        check_unwritable(location)
        content = with_index(files, kind, release)
        write_bytes(location, content, private=kind == "internal")
    return places


def with_index(files: Mapping[str, bytes], kind: str, release: str) -> bytes:
    """Return the bytes of a pack: the files and their index."""
    return zip_bytes({**files, INDEX: index_of(files, kind, release)})


def index_of(files: Mapping[str, bytes], kind: str, release: str) -> bytes:
    """Return the index of a pack: kind, release, and size and digest of each file.

    >>> json.loads(index_of({"a": b"1"}, "public", "3f"))["files"]["a"]["size"]
    1
    """
    content = {
        "format": FORMAT,
        "kind": kind,
        "release": release,
        "files": {
            name: {"size": len(files[name]), "sha256": hashlib.sha256(files[name]).hexdigest()}
            for name in sorted(files)
        },
    }
    return (json.dumps(content, indent=2) + "\n").encode()


def release_named_in(manifest: bytes, name: str) -> str:
    """Return the name of the release in a manifest."""
    try:
        release = json.loads(manifest)["release"]
    except (ValueError, KeyError, TypeError, RecursionError):
        release = None
    if not isinstance(release, str):
        raise InputError(f"{name} is not the manifest of a saved release.")
    return release


def text_copy(table: Path) -> bytes | None:
    """Return the table as text with commas, where its own file is not text."""
    if not format_of(table).typed:
        return None
    return csv_bytes(rows_of(read_written(table)))


def rows_of(table: pa.Table) -> list[list[str]]:
    """Return the names and the rows of a table as text; a missing value is an empty text."""
    columns = []
    for column in table.columns:
        if pa.types.is_dictionary(column.type):
            column = pc.cast(column, column.type.value_type)
        columns.append(pc.fill_null(pc.cast(column, pa.string()), "").to_pylist())
    return [list(table.column_names), *map(list, zip(*columns, strict=True))]


def csv_bytes(rows: list[list[str]]) -> bytes:
    """Return rows as text with commas in UTF-8."""
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="\n").writerows(rows)
    return buffer.getvalue().encode()


def form() -> str:
    """Return the form for the decision, to be filled in by people."""
    return (resources.files("microagg.studies.evidence") / "decision.md").read_text("utf-8")


def verifier() -> bytes:
    """Return the program that counts the guarantees again."""
    return (resources.files("microagg") / VERIFIER).read_bytes()


def _reports_of(table: Path, release: str) -> list[tuple[str, bytes]]:
    reports: list[tuple[str, bytes]] = []
    for path in sorted(table.parent.iterdir()):
        middle = path.suffixes[-2:-1]
        if path.suffix in REPORTS and middle in ([".public"], [".internal"]) and path.is_file():
            content = path.read_bytes()
            if path not in map(Path, manifest_paths(table)) and release.encode() in content:
                reports.append((path.name, content))
    return reports


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        raise InputError(
            f"{path.name} is needed for a pack and cannot be opened; a release is packed where "
            "it was saved, with both manifests beside it."
        ) from None


def parsed(content: bytes) -> dict[str, Any]:
    """Return a JSON object, or nothing where the bytes are none."""
    try:
        value = json.loads(content)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def is_certificate_of(certificate: dict[str, Any], manifest: dict[str, Any]) -> bool:
    """Return whether a certificate can be of a release, as far as that shows without the data."""
    try:
        data, settings = certificate["data"], manifest["settings"]
        return (
            certificate["k"] == settings["k"]
            and certificate["records"] == manifest["records"]
            and data["columns"] in (None, settings["quasi"])
            and certificate["claim"]["il"] <= manifest["loss"]["IL"] * (1 + 1e-9) + 1e-9
        )
    except (KeyError, TypeError):
        return False


def are_attacks_on(results: dict[str, Any], manifest: dict[str, Any]) -> bool:
    """Return whether attacks are on the input and the public settings of a release."""
    try:
        of, settings = results["of"], Settings.public_part(manifest["settings"])
        return of["input"] == manifest["input"]["digest"] and of["settings"] == settings
    except (KeyError, TypeError, AttributeError):
        return False

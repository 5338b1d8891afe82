"""Verification of evidence packs, without the original and with it."""

from __future__ import annotations

import hashlib
import json
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from microagg import verify_bound, verify_release
from microagg.errors import InputError
from microagg.files.reading import read_written
from microagg.pipeline.sources import read_for_settings
from microagg.release.manifest import digest_in, public_manifest
from microagg.release.settings import Settings
from microagg.studies.attacks.rates import Rate, excess_of
from microagg.studies.evidence.archive import read_zip
from microagg.studies.evidence.pack import (
    ATTACKS,
    CERTIFICATE,
    FORM,
    INDEX,
    TEXT_COPY,
    VERIFIER,
    are_attacks_on,
    csv_bytes,
    form,
    index_of,
    is_certificate_of,
    parsed,
    rows_of,
    verifier,
)
from microagg.table.columns.digests import digest_of_rows


@dataclass
class PackVerdict:
    """Checks of a pack: each with its outcome, and what could not be checked."""

    kind: str
    release: str
    confirmed: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    unchecked: list[str] = field(default_factory=list)

    @property
    def holds(self) -> bool:
        """True if nothing failed."""
        return bool(self.confirmed) and not self.failed

    def add(self, passed: bool, text: str) -> None:
        """Add a check and its outcome."""
        (self.confirmed if passed else self.failed).append(text)

    def as_data(self) -> dict[str, Any]:
        """Return plain data."""
        return {"holds": self.holds, **vars(self)}

    def __str__(self) -> str:
        head = "The pack holds." if self.holds else "The pack is NOT valid."
        parts = (("holds", self.confirmed), ("FAILS", self.failed), ("not checked", self.unchecked))
        lines = [f"{word}: {text}" for word, texts in parts for text in texts]
        return "\n".join([f"{head} Release {self.release}", *lines])


def verify_pack(path: str | Path, *, original: str | Path | None = None) -> PackVerdict:
    """Check a pack again: its index, release name, guarantees, manifests, attacks and certificate.

    Without the original, a public pack is checked whole. With it, the internal pack's digest of
    the input and certificate are checked as well.

    Raises
    ------
    InputError
        If the file is no pack, or was changed in a way that no pack can have.
    """
    path = Path(path)
    files = read_zip(path)
    raw = files.pop(INDEX, b"")
    index = parsed(raw)
    kind, release = index.get("kind"), index.get("release")
    if kind not in ("public", "internal") or not isinstance(release, str):
        raise InputError(f"{path.name} is a zip file, but not a pack of a release.")
    verdict = PackVerdict(str(kind), release)
    agrees = raw == index_of(files, str(kind), release)
    verdict.add(agrees, f"index: {len(files)} files with their digests")
    if verdict.failed:
        return verdict
    if kind == "public":
        _check_public(verdict, files)
    else:
        _check_internal(verdict, files, None if original is None else Path(original))
    return verdict


def _check_public(verdict: PackVerdict, files: dict[str, bytes]) -> None:
    name, manifest = _manifest(files, ".public.json")
    table_name = name.removesuffix(".public.json")
    if not manifest or table_name not in files:
        verdict.add(False, "the pack has a table and its public manifest")
        return
    verdict.add(manifest.get("release") == verdict.release, "the manifest names this release")
    verdict.add(_public_part(manifest) == manifest, "the manifest holds public facts only")
    with tempfile.TemporaryDirectory() as folder:
        location = Path(folder, table_name)
        location.write_bytes(files[table_name])
        try:
            table = read_written(location)
        except InputError:
            verdict.add(False, "the table can be read")
            return
    settings = json.dumps(manifest.get("settings"), sort_keys=True)
    release = hashlib.sha256(f"{settings}\0{digest_of_rows(table)}".encode()).hexdigest()
    verdict.add(release == verdict.release, "rows and settings give the name of the release")
    rows = rows_of(table)
    if TEXT_COPY in files:
        verdict.add(files[TEXT_COPY] == csv_bytes(rows), "the copy as text has the same rows")
    try:
        counted = verify_release.recount(rows, manifest)
    except verify_release.UnreadableError as error:
        verdict.add(False, str(error))
        return
    verdict.confirmed += counted.confirmed
    verdict.failed += counted.failed
    verdict.unchecked += counted.unchecked
    _check_reports(verdict, files, {name, table_name, TEXT_COPY, FORM, VERIFIER})
    verdict.add(files.get(VERIFIER) == verifier(), "the verifier is that of this version")
    if files.get(FORM) != form().encode():
        verdict.unchecked.append("the form: it was filled in, or is of another version")


def _check_internal(verdict: PackVerdict, files: dict[str, bytes], original: Path | None) -> None:
    name, manifest = _manifest(files, ".internal.json")
    public_name, public = _manifest(files, ".public.json")
    if not manifest or not public:
        verdict.add(False, "the pack has both manifests")
        return
    verdict.add(manifest.get("release") == verdict.release, "the manifest names this release")
    verdict.add(_public_part(manifest) == public, "the public manifest follows from it")
    _check_reports(verdict, files, {name, public_name, ATTACKS, CERTIFICATE})
    if ATTACKS in files:
        results = parsed(files[ATTACKS])
        verdict.add(_attacks_agree(results), "attacks: intervals follow from rates")
        verdict.add(are_attacks_on(results, manifest), "attacks: on this table and settings")
    if CERTIFICATE in files:
        fits = is_certificate_of(parsed(files[CERTIFICATE]), manifest)
        verdict.add(fits, "certificate: for this k, these columns and this many records")
    if original is None:
        proof_left = ", and proof of the certificate" if CERTIFICATE in files else ""
        verdict.unchecked.append(f"digest of the input{proof_left}: needs the original")
        return
    try:
        settings = Settings.from_data(manifest["settings"])
        digest = digest_in(manifest["format"])(read_for_settings(original, settings))
        verdict.add(digest == manifest["input"]["digest"], "the original is that of the release")
    except (InputError, KeyError, TypeError):
        verdict.add(False, "the original can be read by the settings of the release")
    if CERTIFICATE in files:
        with tempfile.TemporaryDirectory() as folder:
            location = Path(folder, CERTIFICATE)
            location.write_bytes(files[CERTIFICATE])
            try:
                proof = verify_bound.verify(location, original)
                verdict.add(proof.holds, f"certificate: {proof}")
            except verify_bound.UnreadableError as error:
                verdict.add(False, f"certificate: {error}")


def _check_reports(verdict: PackVerdict, files: dict[str, bytes], others: set[str]) -> None:
    reports = [name for name in files if name not in others]
    for name in reports:
        verdict.add(verdict.release.encode() in files[name], f"{name} is of this release")
    if not reports:
        verdict.unchecked.append("report: the pack has none")


def _manifest(files: dict[str, bytes], ending: str) -> tuple[str, dict[str, Any]]:
    for name in sorted(files):
        if name.endswith(ending):
            content = parsed(files[name])
            if isinstance(content.get("settings"), dict) and isinstance(content.get("format"), int):
                return name, content
    return "", {}


def _public_part(manifest: dict[str, Any]) -> dict[str, Any] | None:
    """Return the public part of a manifest; None if it is not one that microagg writes."""
    try:
        return public_manifest(manifest)
    except (KeyError, TypeError, AttributeError, ValueError):
        return None


def _attacks_agree(results: dict[str, Any]) -> bool:
    """Return whether every interval and excess follows from the counts it states."""
    try:
        for result in results["results"]:
            others = result.get("from_other_records")
            for success in (result, *([] if others is None else [others])):
                attack, control = (_rate_stated(success[part]) for part in ("attack", "control"))
                if attack is None or control is None:
                    return False
                if not _close(excess_of(attack, control).as_data(), success["excess"]):
                    return False
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError):
        return False
    return True


def _rate_stated(stated: dict[str, Any]) -> Rate | None:
    rate = Rate.of(round(stated["value"] * stated["trials"]), stated["trials"])
    return rate if _close(rate.as_data(), stated) else None


def _close(expected: dict[str, Any], stated: dict[str, Any]) -> bool:
    return all(abs(value - stated[name]) < 1e-9 for name, value in expected.items())

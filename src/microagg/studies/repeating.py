"""Making a release again, a year later, from its internal manifest."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from microagg.errors import DifferentRelease, InputError
from microagg.problem.problem import Progress
from microagg.release.files import anonymize_table
from microagg.release.manifest import digest_of
from microagg.release.manifest_reading import read_manifest, settings_of, version_of
from microagg.release.release import Release
from microagg.release.risks import with_risks_accepted
from microagg.table.io.reading import read_table


def repeat_file(
    manifest: str | Path,
    source: str | Path,
    target: str | Path,
    progress: Progress | None = None,
    *,
    anyway: bool = False,
) -> Release:
    """Make a release again from its internal manifest and the original table; another release is not written.

    A search that was stopped early, by a time limit or by hand, is stopped at the same checkpoint. With `anyway`, what other
    versions of microagg or its libraries make of the manifest is written although it is another release.
    """
    then = read_manifest(Path(manifest))
    settings = with_risks_accepted(settings_of(then, Path(manifest)))
    table = read_table(source, quasi=settings.numbers, asked=settings.columns, **settings.reading)
    if digest_of(table) != then["input"]["digest"]:
        raise InputError("this is not the table that the release was made from: its digest differs.")
    notes: list[str] = []

    def expect_the_same(release: Release, rows: pa.Table) -> None:
        notes.extend(_comparison(then, release.manifest, digest_of(rows), anyway=anyway))

    release = anonymize_table(
        table, source, target, settings, keep_order=then.get("rows") == "kept", expected=expect_the_same, progress=progress
    )  # fmt: skip
    return replace(release, notes=(*notes, *release.notes))


def _comparison(then: dict[str, Any], now: dict[str, Any], digest: str, *, anyway: bool) -> list[str]:
    """What to note of a release that was made again; one that is another is refused, unless its user said otherwise."""
    if not isinstance(then.get("output"), dict):
        return [
            "the manifest does not say what the release was like, so that nothing tells whether this is the same"
        ]
    if then["output"].get("digest") == digest:
        return ["the same release as the manifest describes, to the digit"]
    changed = [name for name, version in now["versions"].items() if then["versions"].get(name) != version]
    if then.get("microagg") != now["microagg"]:
        reason = f"that was made by {version_of(then)}; install it to get the same"
    elif changed:
        reason = f"there are other versions of {', '.join(changed)} now"
    else:
        raise DifferentRelease(
            "this is NOT the release that the manifest describes; nothing was written. If nobody has changed the manifest, this is a "
            "bug: report it."
        )
    if not anyway:
        raise DifferentRelease(
            f"this is NOT the release that the manifest describes: {reason}; nothing was written. To write it, add --anyway."
        )
    return [f"NOT the release that the manifest describes: {reason}"]

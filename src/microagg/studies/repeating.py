"""Making a release again, a year later, from its internal manifest."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa

import microagg
from microagg.errors import DifferentRelease, InputError
from microagg.problem.problem import Progress
from microagg.release.beyond_limits import goes_beyond
from microagg.release.files import anonymize_beyond, anonymize_table
from microagg.release.manifest import FORMAT, OF_WHOLE_COLUMNS, digest_in
from microagg.release.release import Release
from microagg.release.risks import with_risks_accepted
from microagg.release.settings import Settings
from microagg.table.io.chunks import is_in_parts, read_whole
from microagg.table.io.journal import settle
from microagg.table.io.reading import read_table
from microagg.table.schema import Role

ANOTHER_TABLE = "this is not the table that the release was made from: its digest differs."
LIKE_ONE = "its name ends in .internal.json, and it is written beside the output"


def repeat_file(
    manifest: str | Path,
    source: str | Path,
    target: str | Path,
    progress: Progress | None = None,
    *,
    anyway: bool = False,
    memory: str | float | None = None,
    spill: str | Path | None = None,
) -> Release:
    """Make a release again from its internal manifest and the original table; another release is not written.

    A search that was stopped early, by a time limit or by hand, is stopped at the same checkpoint. With `anyway`, what other
    versions of microagg or its libraries make of the manifest is written although it is another release. `memory` and `spill` are
    as in `anonymize_file`: they make no difference to the release.
    """
    then = _read(Path(manifest))
    settings = with_risks_accepted(_settings_of(then, Path(manifest)))
    reading = _options_in(then["input"], "reading")
    if then["format"] > OF_WHOLE_COLUMNS and goes_beyond(source, settings, memory):
        return _repeated_beyond(
            then,
            source,
            Path(target),
            settings,
            reading,
            memory,
            progress=progress,
            anyway=anyway,
            spill=spill,
        )
    if is_in_parts(source):
        table = read_whole(source)
    else:
        table = read_table(source, quasi=settings.numbers, asked=settings.columns, **reading)
    digest_of = digest_in(then["format"])
    if digest_of(table) != then["input"]["digest"]:
        raise InputError(ANOTHER_TABLE)
    writing = {
        name: value for name, value in _options_in(then, "dialect").items() if name == "escape_formulas"
    }  # all others follow the table, as then
    notes: list[str] = []

    def expect_the_same(release: Release, rows: pa.Table) -> None:
        notes.extend(_comparison(then, release.manifest, digest_of(rows), anyway=anyway))

    release = anonymize_table(
        table, source, target, settings, keep_order=then.get("rows") == "kept", expected=expect_the_same,
        reading=reading, writing=writing, progress=progress, format=then["format"],
    )  # fmt: skip
    return replace(release, notes=(*notes, *release.notes))


def _repeated_beyond(
    then: dict[str, Any],
    source: str | Path,
    target: Path,
    settings: Settings,
    reading: dict[str, Any],
    memory: str | float | None,
    *,
    anyway: bool,
    **asked: Any,
) -> Release:
    """The same for a table that does not fit into memory."""
    notes: list[str] = []

    def expect_the_same(manifest: dict[str, Any], digest: str) -> None:
        notes.extend(_comparison(then, manifest, digest, anyway=anyway))

    def expect_input(digest: str) -> None:
        if digest != then["input"]["digest"]:
            raise InputError(ANOTHER_TABLE)

    release = anonymize_beyond(
        source, target, settings, memory, keep_order=then.get("rows") == "kept", reading=reading,
        expected=expect_the_same, expected_input=expect_input, **asked,
    )  # fmt: skip
    return replace(release, notes=(*notes, *release.notes))


def _read(path: Path) -> dict[str, Any]:
    """An internal manifest as those of today are; older ones are rewritten as such."""
    settle(path)
    try:
        content = json.loads(path.read_text("utf-8"))
    except OSError:
        raise InputError(f"the manifest {path} cannot be opened.") from None
    except (ValueError, RecursionError):
        content = None
    if not isinstance(content, dict) or not isinstance(content.get("format"), int):
        raise InputError(f"{path.name} is not an internal manifest of a release; {LIKE_ONE}.")
    if content["format"] > FORMAT:
        raise InputError(f"{path.name} was written by a later version; install {_version_of(content)}.")
    if content["format"] == 1:
        content = _as_of_today(content)
    of_today = all(isinstance(content.get(name), dict) for name in ("settings", "input", "versions"))
    if not of_today or not isinstance(content["input"].get("digest"), str):
        raise InputError(f"{path.name} is not an internal manifest of a release; {LIKE_ONE}.")
    return content


def _settings_of(manifest: dict[str, Any], path: Path) -> Settings:
    try:
        return Settings.from_data(manifest["settings"])
    except InputError as error:
        if manifest.get("microagg") == microagg.__version__:
            raise
        raise InputError(
            f"{path.name} has settings that this version does not know ({str(error).rstrip('.')}); "
            f"install {_version_of(manifest)}."
        ) from None


def _options_in(content: dict[str, Any], name: str) -> dict[str, Any]:
    """What a manifest says of how a file is read or written; older ones say nothing."""
    options = content.get(name)
    return (
        {key: value for key, value in options.items() if isinstance(key, str)}
        if isinstance(options, dict)
        else {}
    )


def _version_of(manifest: dict[str, Any]) -> str:
    version = str(manifest.get("microagg", ""))
    return f"microagg {version}" if re.fullmatch(r"[0-9A-Za-z.+-]{1,40}", version) else "that version"


def _as_of_today(old: dict[str, Any]) -> dict[str, Any]:
    """A manifest of format 1, which had settings and results side by side and columns by their roles."""
    roles = old.get("roles")
    if not isinstance(roles, dict):
        return {}
    settings = {name: old[name] for name in Settings.parameters() if name in old}
    for role in (Role.QUASI, Role.IDENTIFIER, Role.CONFIDENTIAL, Role.KEEP):
        settings[role.value] = [name for name, given in roles.items() if given == role.value]
    today = {name: value for name, value in old.items() if name not in settings}
    return {
        **today,
        "format": OF_WHOLE_COLUMNS,
        "settings": settings,
        "input": {"file": None, "digest": old.get("input")},
        "output": {"file": None, "digest": old["output"]} if "output" in old else None,
    }


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
        reason = f"that was made by {_version_of(then)}; install it to get the same"
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

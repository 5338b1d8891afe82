"""Making a release again, a year later, from its internal manifest."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import microagg
from microagg.errors import InputError
from microagg.problem.problem import Progress
from microagg.release.manifest import FORMAT, digest_of, manifest_paths
from microagg.release.release import Release, anonymize_table
from microagg.release.settings import Settings
from microagg.table.io.reading import read_table
from microagg.table.schema import Role

LIKE_ONE = "its name ends in .internal.json, and it is written beside the output"


def repeat_file(
    manifest: str | Path, source: str | Path, target: str | Path, progress: Progress | None = None
) -> Release:
    """Make a release again from its internal manifest and the original table, and note whether it is the same.

    A search that was stopped early, by a time limit or by hand, is stopped at the same checkpoint.
    """
    then = _read(Path(manifest))
    settings = _settings_of(then, Path(manifest))
    table = read_table(source, numeric=settings.quasi)
    if digest_of(table) != then["input"]["digest"]:
        raise InputError("this is not the table that the release was made from: its digest differs.")
    release = anonymize_table(
        table, source, target, settings, keep_order=then.get("rows") == "kept", progress=progress
    )
    return replace(
        release, notes=(*_comparison(then, _read(manifest_paths(Path(target))[0])), *release.notes)
    )


def _read(path: Path) -> dict[str, Any]:
    """An internal manifest as those of today are; older ones are rewritten as such."""
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
        "settings": settings,
        "input": {"file": None, "digest": old.get("input")},
        "output": {"file": None, "digest": old["output"]} if "output" in old else None,
    }


def _comparison(then: dict[str, Any], now: dict[str, Any]) -> list[str]:
    if not isinstance(then.get("output"), dict):
        return []
    if then["output"].get("digest") == now["output"]["digest"]:
        return ["the same release as the manifest describes, to the digit"]
    if then.get("microagg") != now["microagg"]:
        return [
            f"NOT the release that the manifest describes: that was made by {_version_of(then)}; install it to get the same"
        ]
    changed = [name for name, version in now["versions"].items() if then["versions"].get(name) != version]
    reason = f"other versions of {', '.join(changed)}" if changed else "reason unknown: report it as a bug"
    return [f"NOT the release that the manifest describes ({reason})"]

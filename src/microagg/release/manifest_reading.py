"""Internal manifests read back, older ones as those of today are."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import microagg
from microagg.errors import InputError
from microagg.files.commit.journal import settle
from microagg.release.manifest import FORMAT, OF_WHOLE_COLUMNS
from microagg.release.settings import Settings
from microagg.sentences import sentence
from microagg.table.schema import Role

LIKE_ONE = "its name ends in .internal.json, and it is written beside the output"


def read_manifest(path: Path) -> dict[str, Any]:
    """Return an internal manifest in the current format; older ones are converted."""
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
        raise InputError(
            f"{path.name} was written by a later version; install {version_of(content)}."
        )
    if content["format"] == 1:
        content = _as_of_today(content)
    of_today = all(
        isinstance(content.get(name), dict) for name in ("settings", "input", "versions")
    )
    if not of_today or not isinstance(content["input"].get("digest"), str):
        raise InputError(f"{path.name} is not an internal manifest of a release; {LIKE_ONE}.")
    return content


def settings_of(manifest: dict[str, Any], path: Path) -> Settings:
    """Return the settings of a manifest, checked anew."""
    try:
        return Settings.from_data({**_said_of_files(manifest), **manifest["settings"]})
    except InputError as error:
        if manifest.get("microagg") == microagg.__version__:
            raise
        raise InputError(
            sentence(
                f"{path.name} has settings that this version does not know (",
                error.sentence.without_period(),
                f"); install {version_of(manifest)}.",
            )
        ) from None


def _said_of_files(manifest: dict[str, Any]) -> dict[str, Any]:
    """Return the file options that older manifests keep beside the settings.

    Other options for writing follow the table.
    """
    escaped = {
        name: value
        for name, value in _options_in(manifest, "dialect").items()
        if name == "escape_formulas"
    }
    return {"reading": _options_in(manifest["input"], "reading"), "writing": escaped}


def _options_in(content: dict[str, Any], name: str) -> dict[str, Any]:
    """Return the options of a part of a manifest; older manifests have none."""
    options = content.get(name)
    return (
        {key: value for key, value in options.items() if isinstance(key, str)}
        if isinstance(options, dict)
        else {}
    )


def version_of(manifest: dict[str, Any]) -> str:
    """Return the version that wrote a manifest, for a sentence."""
    version = str(manifest.get("microagg", ""))
    return (
        f"microagg {version}" if re.fullmatch(r"[0-9A-Za-z.+-]{1,40}", version) else "that version"
    )


def _as_of_today(old: dict[str, Any]) -> dict[str, Any]:
    """Convert a manifest of format 1, which had settings and results side by side and columns by
    their roles.
    """
    roles = old.get("roles")
    if not isinstance(roles, dict):
        return {}
    settings = {name: old[name] for name in Settings.parameters() if name in old}
    for role in (Role.QUASI, Role.IDENTIFIER, Role.CONFIDENTIAL, Role.KEEP):
        settings[role.value] = [
            name for name, column_role in roles.items() if column_role == role.value
        ]
    today = {name: value for name, value in old.items() if name not in settings}
    return {
        **today,
        "format": OF_WHOLE_COLUMNS,
        "settings": settings,
        "input": {"file": None, "digest": old.get("input")},
        "output": {"file": None, "digest": old["output"]} if "output" in old else None,
    }

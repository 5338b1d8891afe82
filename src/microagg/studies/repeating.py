"""Making a release again, a year later, from its internal manifest."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from microagg.errors import InputError
from microagg.problem.problem import Progress
from microagg.release.manifest import digest_of, manifest_paths
from microagg.release.release import Release, anonymize_table
from microagg.table.io.reading import read_table
from microagg.table.schema import Role

ASKED = (
    "k",
    "method",
    "params",
    "refine",
    "scale",
    "precision",
    "rest",
    "seed",
    "roles",
    "input",
    "versions",
)


def repeat_file(
    manifest: str | Path, source: str | Path, target: str | Path, progress: Progress | None = None
) -> Release:
    """Make a release again from its internal manifest and the original table, and note whether it is the same.

    A search that was stopped early, by a time limit or by hand, is stopped at the same checkpoint.
    """
    then = _read(Path(manifest))
    quasi = _named(then, Role.QUASI)
    table = read_table(source, numeric=quasi)
    if digest_of(table) != then["input"]:
        raise InputError("this is not the table that the release was made from: its digest differs.")
    release = anonymize_table(
        table, source, target, then["k"], keep_order=then.get("rows") == "kept",
        **{name: then[name] for name in ("l", "t", "diversity", "c") if name in then},
        quasi=quasi, identifier=_named(then, Role.IDENTIFIER), confidential=_named(then, Role.CONFIDENTIAL),
        keep=_named(then, Role.KEEP), rest=then["rest"], method=then["method"], refine=then["refine"],
        scale=then["scale"], precision=then["precision"], seed=then["seed"], progress=progress, **then["params"],
    )  # fmt: skip
    return replace(
        release, notes=(*_comparison(then, _read(manifest_paths(Path(target))[0])), *release.notes)
    )


def _read(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text("utf-8"))
    except OSError:
        raise InputError(f"the manifest {path} cannot be opened.") from None
    except ValueError:
        content = None
    if not isinstance(content, dict) or any(name not in content for name in ASKED):
        raise InputError(
            f"{path.name} is not an internal manifest of a release; it ends with .internal.json and lies with the output."
        )
    return content


def _named(manifest: dict[str, Any], role: Role) -> list[str]:
    return [name for name, given in manifest["roles"].items() if given == role.value]


def _comparison(then: dict[str, Any], now: dict[str, Any]) -> list[str]:
    if "output" not in then:
        return []
    if then["output"] == now["output"]:
        return ["the same release as the manifest tells of, to the digit"]
    changed = [name for name, version in now["versions"].items() if then["versions"].get(name) != version]
    reason = (
        f"other versions of {', '.join(changed)}" if changed else "for a reason unknown: report it as a bug"
    )
    return [f"NOT the release that the manifest tells of ({reason})"]

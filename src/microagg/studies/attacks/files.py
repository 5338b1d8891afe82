"""Attacks on the release of a file."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from microagg.errors import InputError
from microagg.files.commit.writing import write_text
from microagg.pipeline.anonymize import anonymize
from microagg.pipeline.sources import read_for_settings
from microagg.problem.problem import Progress
from microagg.release.settings import Settings
from microagg.studies.attacks.attack import Attacks, attack
from microagg.studies.attacks.together import Composition, compose
from microagg.studies.other_tools import read_release


def attack_file(
    source: str | Path,
    settings: Settings,
    *,
    known: Sequence[str] = (),
    control_share: float = 0.2,
    other: str | Path | None = None,
    progress: Progress | None = None,
) -> tuple[Attacks, tuple[Composition, ...]]:
    """Return the attacks on a rerun, and what the release gives together with another one."""
    settings = settings.resolved()
    table = read_for_settings(source, settings)
    attacks = attack(
        table, known=tuple(known), control_share=control_share, settings=settings, progress=progress
    )
    if other is None:
        return attacks, ()
    release = anonymize(table, settings=settings)
    second = read_release(other, settings.quasi, settings.columns, **settings.reading)
    return attacks, compose(table, release.to_arrow(), second, settings, known=known)


def save_results(path: Path, attacks: Attacks, together: Sequence[Composition]) -> None:
    """Write the results as JSON, readable by the owner only."""
    if path.suffix != ".json":
        raise InputError(f"results of attacks are written to a .json file; {path.name} is none.")
    content = attacks.as_data() | {"together": [part.as_data() for part in together]}
    write_text(path, json.dumps(content, indent=2, ensure_ascii=False) + "\n", private=True)

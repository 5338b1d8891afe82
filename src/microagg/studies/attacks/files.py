"""Attacks on the release of a file."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from microagg.errors import InputError
from microagg.files.commit.writing import check_unwritable, write_text
from microagg.pipeline.anonymize import anonymize
from microagg.pipeline.sources import read_for_settings
from microagg.problem.problem import Progress
from microagg.release.manifest import FORMAT, digest_in
from microagg.release.saving import check_report_place, renderer, report_paths
from microagg.release.settings import Settings
from microagg.studies.attacks.attack import attack
from microagg.studies.attacks.reporting import write_report
from microagg.studies.attacks.results import Attacks
from microagg.studies.attacks.together import Composition, compose
from microagg.studies.other_tools import read_release


@dataclass(frozen=True)
class FileAttacks:
    """Attacks on the release of a file, what two releases give together, and what was attacked."""

    attacks: Attacks
    together: tuple[Composition, ...]
    of: dict[str, Any]
    """Digest of the file and public settings, by which a release knows its attacks."""

    def as_data(self) -> dict[str, Any]:
        """Return plain data; no value of the table is in it."""
        together = [part.as_data() for part in self.together]
        return self.attacks.as_data() | {"of": self.of, "together": together}


def attack_file(
    source: str | Path,
    settings: Settings,
    *,
    known: Sequence[str] = (),
    control_share: float = 0.2,
    other: str | Path | None = None,
    report: Path | None = None,
    progress: Progress | None = None,
) -> FileAttacks:
    """Attack a rerun of the release of a file; say what the release gives together with another
    one.

    With `report`, the internal report of the release is written with a section on the attacks.
    """
    settings = settings.resolved()
    second = (
        None
        if other is None
        else read_release(other, settings.quasi, settings.columns, **settings.reading)
    )
    location = None if report is None else report_paths(report)[0]
    if location is not None:
        renderer(location)
        check_report_place(location)
    table = read_for_settings(source, settings)
    attacks = attack(
        table, known=tuple(known), control_share=control_share, settings=settings, progress=progress
    )
    of = {"input": digest_in(FORMAT)(table), "settings": settings.as_data(public=True)}
    if second is None and location is None:
        return FileAttacks(attacks, (), of)
    release = anonymize(table, settings=settings, progress=progress)
    together: tuple[Composition, ...] = ()
    if second is not None:
        together = compose(table, release.to_arrow(), second, settings, known=known)
    if location is not None:
        write_report(release, location, attacks, together)
    return FileAttacks(attacks, together, of)


def check_results_place(path: Path) -> None:
    """Raise if results cannot be written to this path."""
    if path.suffix != ".json":
        raise InputError(f"results of attacks are written as .json; '{path.name}' ends otherwise.")
    check_unwritable(path)


def save_results(path: Path, results: FileAttacks) -> None:
    """Write the results as JSON, readable by the owner only."""
    check_results_place(path)
    content = json.dumps(results.as_data(), indent=2, ensure_ascii=False)
    write_text(path, f"{content}\n", private=True)

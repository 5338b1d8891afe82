"""Attacks on a rerun of a release, with a control group that was left out of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from microagg.errors import InputError
from microagg.estimator.boosted import has_boosted
from microagg.formatting import listed
from microagg.pipeline.anonymize import anonymize
from microagg.pipeline.sources import is_path, read_source
from microagg.problem.problem import Progress
from microagg.release.setting_arguments import settings_from
from microagg.release.settings import Settings
from microagg.studies.attacks.people import MOST_TARGETS, People, choose_people, names_known
from microagg.studies.attacks.results import INFERENCE, KINDS, LINKABILITY, Attacks
from microagg.studies.attacks.study import Study
from microagg.studies.attacks.view import view_of
from microagg.table.schema import Role

KEPT = (
    "Kept columns are released unchanged ({}); who knows them needs no attack, and attacks leave "
    "them out."
)
NO_LINKS = "Linkability was not played, because it needs two known columns."
NO_INFERENCE = "Inference was not played, because no column is confidential; name one."


def attack(
    table: Any,
    k: int | None = None,
    quasi: Sequence[str] | str = (),
    *,
    kinds_of_attack: Sequence[str] = KINDS,
    known: Sequence[str] | str = (),
    control_share: float = 0.2,
    most_targets: int = MOST_TARGETS,
    release_with: Callable[[Any], Any] | None = None,
    boosted: bool | None = None,
    leave_out: bool = True,
    settings: Settings | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> Attacks:
    """Attack a rerun of a release: singling out, linkability and inference.

    A control group is drawn at random and left out; the rest of the table is anonymized with the
    settings of the release. Success on the control group is knowledge about everybody. What targets
    suffer beyond it, ``(a - c) / (1 - c)``, is due to the release of their records.

    Parameters
    ----------
    table : pandas, polars or Arrow table, or path
        The original.
    k, quasi, settings, **options
        Settings of the release, as in `anonymize`.
    kinds_of_attack : list of {"singling out", "linkability", "inference"}
        Attacks to run.
    known : list of str
        Quasi-identifiers that the intruder knows; all by default.
    control_share : float
        Share of the records in the control group.
    most_targets : int
        Largest number of targets, and of controls.
    release_with : callable, optional
        Another way to protect a table. Gets the table without the control group and returns it
        with the same rows in the same order.
    boosted : bool, optional
        Also attack with boosted trees; by default if scikit-learn is installed.
    leave_out : bool
        Also play without each known column; False saves time.
    progress : callable, optional
        Called as ``progress(done, total)``.

    Returns
    -------
    Attacks
        Rates with intervals of 95 %, and the excess over the control group.

    Raises
    ------
    InputError
        If the table is too small, a column is unknown, or inference has no confidential column.

    Examples
    --------
    >>> from microagg.datasets.persons import persons
    >>> result = attack(
    ...     persons(200), k=5, quasi=["age", "rent"], rest="drop", seed=1, effort="quick",
    ...     kinds_of_attack=["linkability"],
    ... )
    >>> result.result("linkability").excess.low <= 0.2
    True
    """
    chosen = settings if settings is not None else settings_from(
        {"k": k, "quasi": quasi, "params": {}, "settings": None, **_split_params(options)}
    )  # fmt: skip
    chosen = chosen.resolved()
    if isinstance(kinds_of_attack, str):
        kinds_of_attack = (kinds_of_attack,)
    wrong = [kind for kind in kinds_of_attack if kind not in KINDS]
    if wrong:
        raise InputError(f"there is no attack {wrong[0]!r}; choose from {', '.join(KINDS)}.")
    if is_path(table):
        table, _ = read_source(table, chosen)
    rng = np.random.default_rng([chosen.seed or 0, 31])
    people = choose_people(table, chosen, control_share=control_share, most=most_targets, rng=rng)
    names = names_known(people.schema, (known,) if isinstance(known, str) else tuple(known))
    notes: tuple[str, ...] = ()
    if INFERENCE in kinds_of_attack and not chosen.confidential:
        if tuple(kinds_of_attack) != KINDS:
            raise InputError("inference needs a confidential column; name one.")
        kinds_of_attack, notes = KINDS[:2], (NO_INFERENCE,)
    view = view_of(people, _rerun(people, chosen, release_with, progress))
    boosted = has_boosted() if boosted is None else boosted
    study = Study(view, names, chosen.seed or 0, boosted, leave_out)
    results = tuple(study.results(kinds_of_attack, progress))
    if LINKABILITY in kinds_of_attack and sum(name in view.columns for name in names) < 2:
        notes = (*notes, NO_LINKS)
    kept = people.schema.names(Role.KEEP)
    if kept:
        notes = (*notes, KEPT.format(listed(kept)))
    return Attacks(
        results,
        records=len(people.rest),
        controls=people.left_out,
        known=tuple(names),
        seed=people.settings.seed or 0,
        notes=(*notes, *view.notes),
    )


def _split_params(options: dict[str, Any]) -> dict[str, Any]:
    """Return options as `anonymize` has them: names that are no settings are parameters."""
    names = Settings.parameters()
    params = {name: value for name, value in options.items() if name not in names}
    return {**{n: v for n, v in options.items() if n in names}, "params": params}


def _rerun(
    people: People,
    settings: Settings,
    release_with: Callable[[Any], Any] | None,
    progress: Progress | None,
) -> Any:
    rest = people.table_of(people.rest)
    if release_with is not None:
        return release_with(rest)

    def report(done: int, total: int) -> None:
        if progress is not None:
            progress(done, 3 * total)  # the rerun is about a third of the work

    return anonymize(rest, settings=settings, progress=report).to_arrow()

"""Attacks on a rerun of a release, with a control group that was left out of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from microagg.errors import InputError
from microagg.estimator.boosted import has_boosted
from microagg.pipeline.anonymize import anonymize
from microagg.pipeline.sources import is_path, read_source
from microagg.problem.problem import Progress
from microagg.release.setting_arguments import settings_from
from microagg.release.settings import Settings
from microagg.studies.attacks.inference import infer_values
from microagg.studies.attacks.linkability import link_sources
from microagg.studies.attacks.people import MOST_TARGETS, People, choose_people, names_known
from microagg.studies.attacks.rates import Excess, Rate, excess_of
from microagg.studies.attacks.singling_out import single_out
from microagg.studies.attacks.view import ReleaseView, view_of

KINDS = ("singling out", "linkability", "inference")
CHOOSING = 1 / 3
"""Share of the people by whom the best attacker is chosen; the others measure it."""
MOST_LEFT_OUT = 12
"""Most columns of the strip that leaves out one known column after the other."""

Outcomes = dict[str, tuple[np.ndarray, np.ndarray]]


@dataclass(frozen=True)
class AttackResult:
    """Success of one attack on the people in the rerun and on the control group."""

    kind: str
    column: str | None
    """Confidential column that was inferred."""
    attacker: str
    """Attacker that was best on people who are not counted in the rates."""
    attack: Rate
    control: Rate
    excess: Excess
    without: dict[str, float] = field(default_factory=dict)
    """Excess of the same attacker if it does not know a column."""

    def as_data(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "kind": self.kind,
            "column": self.column,
            "attacker": self.attacker,
            "attack": self.attack.as_data(),
            "control": self.control.as_data(),
            "excess": self.excess.as_data(),
            "excess_without": self.without,
        }


@dataclass(frozen=True)
class Attacks:
    """Results of all attacks on a rerun of a release."""

    results: tuple[AttackResult, ...]
    records: int
    controls: int
    known: tuple[str, ...]
    seed: int
    notes: tuple[str, ...] = ()

    def result(self, kind: str, column: str | None = None) -> AttackResult:
        """Return the result of one kind of attack, for inference on one column.

        Raises
        ------
        InputError
            If there is no such result.
        """
        for result in self.results:
            if result.kind == kind and column in (None, result.column):
                return result
        raise InputError(f"there is no result of {kind}{f' on {column}' if column else ''}.")

    def as_data(self) -> dict[str, Any]:
        """Return plain data; no value of the table is in it."""
        return {
            "on": "a rerun without the control group",
            "records": self.records,
            "controls": self.controls,
            "known": list(self.known),
            "seed": self.seed,
            "results": [result.as_data() for result in self.results],
            "notes": list(self.notes),
        }

    def __repr__(self) -> str:
        lines = [
            f"Attacks on a rerun of {self.records:,} records; {self.controls:,} were left out "
            "as control group."
        ]
        for result in self.results:
            name = result.kind if result.column is None else f"{result.kind} of {result.column}"
            lines.append(
                f"{name}: {_percent(result.attack.value)} of targets, "
                f"{_percent(result.control.value)} of controls; excess "
                f"{_percent(result.excess.value)} ({_percent(result.excess.low)} to "
                f"{_percent(result.excess.high)})"
            )
        return "\n".join([*lines, *self.notes])


def _percent(share: float) -> str:
    return f"{100.0 * share:.1f} %"


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
    wrong = [kind for kind in kinds_of_attack if kind not in KINDS]
    if wrong:
        raise InputError(f"there is no attack {wrong[0]!r}; choose from {', '.join(KINDS)}.")
    if is_path(table):
        table, _ = read_source(table, chosen)
    rng = np.random.default_rng([chosen.seed or 0, 31])
    people = choose_people(table, chosen, control_share=control_share, most=most_targets, rng=rng)
    names = names_known(people.schema, (known,) if isinstance(known, str) else tuple(known))
    if "inference" in kinds_of_attack and not chosen.confidential:
        if tuple(kinds_of_attack) != KINDS:
            raise InputError("inference needs a confidential column; name one.")
        kinds_of_attack = KINDS[:2]
    view = view_of(people, _rerun(people, chosen, release_with, progress))
    boosted = has_boosted() if boosted is None else boosted
    study = _Study(view, names, people.settings.seed or 0, boosted)
    results = tuple(study.results(kinds_of_attack, progress))
    return Attacks(
        results,
        records=len(people.rest),
        controls=len(people.controls),
        known=tuple(names),
        seed=people.settings.seed or 0,
        notes=view.notes,
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
    return anonymize(rest, settings=settings, progress=progress).to_arrow()


@dataclass(frozen=True)
class _Study:
    """Attackers, and how the best of them is chosen and measured."""

    view: ReleaseView
    names: list[str]
    seed: int
    boosted: bool

    def results(self, kinds: Sequence[str], progress: Progress | None) -> list[AttackResult]:
        """Return the result of every attack; inference once for each confidential column."""
        plays: list[tuple[str, str | None, Callable[[Sequence[str]], Outcomes]]] = []
        if "singling out" in kinds:
            plays.append(
                ("singling out", None, lambda names: single_out(self.view, names, self._rng()))
            )
        if "linkability" in kinds and len(self._comparable()) > 1:
            plays.append(
                ("linkability", None, lambda names: link_sources(self.view, names, self._rng()))
            )
        if "inference" in kinds:
            plays += [
                ("inference", attribute.name, self._inference(attribute))
                for attribute in self.view.confidential
            ]
        results = []
        for done, (kind, column, play) in enumerate(plays):
            if progress is not None:
                progress(done, len(plays))
            results.append(self._result(kind, column, play))
        if progress is not None:
            progress(len(plays), len(plays))
        return results

    def _comparable(self) -> list[str]:
        return [name for name in self.names if name in self.view.columns]

    def _rng(self) -> np.random.Generator:
        return np.random.default_rng([self.seed, 37])

    def _inference(self, attribute: Any) -> Callable[[Sequence[str]], Outcomes]:
        return lambda names: infer_values(
            self.view,
            attribute,
            names,
            self._rng(),
            boosted=self.boosted and len(names) == len(self.names),
        )

    def _result(
        self, kind: str, column: str | None, play: Callable[[Sequence[str]], Outcomes]
    ) -> AttackResult:
        outcomes = play(self.names)
        attacker = max(outcomes, key=lambda name: _excess(outcomes[name], choosing=True))
        targets, controls = (_counted(part, choosing=False) for part in outcomes[attacker])
        attack = Rate.of(int(targets.sum()), len(targets))
        control = Rate.of(int(controls.sum()), len(controls))
        without = {}
        for name in self.names[:MOST_LEFT_OUT] if len(self.names) > 2 else ():
            fewer = play([other for other in self.names if other != name])
            if attacker in fewer:
                without[name] = _excess(fewer[attacker], choosing=False)
        return AttackResult(
            kind, column, attacker, attack, control, excess_of(attack, control), without
        )


def _counted(successes: np.ndarray, *, choosing: bool) -> np.ndarray:
    """Return the outcomes of those by whom attackers are chosen, or of the others.

    People are in order of their records, so every third one is as good as a draw.
    """
    every = round(1 / CHOOSING)
    chooses = np.arange(len(successes)) % every == 0
    return successes[chooses] if choosing else successes[~chooses]


def _excess(outcome: tuple[np.ndarray, np.ndarray], *, choosing: bool) -> float:
    targets, controls = (_counted(part, choosing=choosing) for part in outcome)
    return excess_of(
        Rate.of(int(targets.sum()), len(targets)), Rate.of(int(controls.sum()), len(controls))
    ).value

"""Play of all attacks on one rerun: the best attacker is chosen on some people and measured on
the others.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from microagg.problem.problem import Progress
from microagg.studies.attacks.inference import CLASS_ATTACKERS, infer_values
from microagg.studies.attacks.linkability import link_sources
from microagg.studies.attacks.rates import Rate, excess_of
from microagg.studies.attacks.results import (
    INFERENCE,
    LINKABILITY,
    SINGLING_OUT,
    AttackResult,
    Success,
)
from microagg.studies.attacks.singling_out import single_out
from microagg.studies.attacks.view import ReleaseView
from microagg.table.confidential import Attribute

CHOOSING = 1 / 3
"""Share of the people by whom the best attacker is chosen; the others measure it."""
MOST_LEFT_OUT = 12
"""Most columns of the strip that leaves out one known column after the other."""

Outcomes = dict[str, tuple[np.ndarray, np.ndarray]]
"""For each attacker, on which targets and on which controls it succeeds."""


class Play(NamedTuple):
    """One attack: `run` gets what is known, and the attackers if not all of them play."""

    kind: str
    column: str | None
    run: Callable[..., Outcomes]
    run_without_own: Callable[..., Outcomes] | None = None


@dataclass(frozen=True)
class Study:
    """All attacks on a rerun by an intruder who knows some columns."""

    view: ReleaseView
    known: list[str]
    seed: int
    boosted: bool
    leave_out: bool = True
    """True to play without each known column, too."""

    def results(self, kinds: Sequence[str], progress: Progress | None) -> list[AttackResult]:
        """Return the result of every attack; inference once for each confidential column."""
        plays, left_out = self._plays(kinds), self._left_out()
        steps = len(plays) * (1 + len(left_out))
        results: list[AttackResult] = []

        def report(done: int) -> None:
            if progress is not None:  # the first third was the rerun
                progress(steps + 2 * done, 3 * steps)

        for i, play in enumerate(plays):
            done = i * (1 + len(left_out))
            report(done)
            outcomes = play.run(self.known)
            success = best_of(outcomes, self.seed)
            others = None
            if play.run_without_own is not None:
                others = best_of(play.run_without_own(self.known), self.seed)
            without = {}
            for j, name in enumerate(left_out):
                report(done + 1 + j)
                fewer = play.run([n for n in self.known if n != name], [success.attacker])
                without[name] = measured(success.attacker, fewer, self.seed).excess.value
            results.append(
                AttackResult(
                    **vars(success), kind=play.kind, column=play.column, others=others,
                    without=without,
                )
            )  # fmt: skip
        report(steps)
        return results

    def _plays(self, kinds: Sequence[str]) -> list[Play]:
        plays = []
        if SINGLING_OUT in kinds:
            plays.append(Play(SINGLING_OUT, None, self._without_attribute(single_out)))
        if LINKABILITY in kinds and sum(name in self.view.columns for name in self.known) > 1:
            plays.append(Play(LINKABILITY, None, self._without_attribute(link_sources)))
        if INFERENCE in kinds:
            plays += [
                Play(
                    INFERENCE,
                    attribute.name,
                    self._inference(attribute),
                    self._inference(attribute, use_target=False),
                )
                for attribute in self.view.confidential
            ]
        return plays

    def _left_out(self) -> list[str]:
        return self.known[:MOST_LEFT_OUT] if self.leave_out and len(self.known) > 2 else []

    def _rng(self) -> np.random.Generator:
        return np.random.default_rng([self.seed, 37])

    def _without_attribute(self, attack: Callable[..., Outcomes]) -> Callable[..., Outcomes]:
        return lambda names, *attackers: attack(self.view, names, self._rng(), *attackers)

    def _inference(
        self, attribute: Attribute, *, use_target: bool = True
    ) -> Callable[..., Outcomes]:
        def run(names: Sequence[str], attackers: Sequence[str] | None = None) -> Outcomes:
            if attackers is None and not use_target:
                attackers = CLASS_ATTACKERS
            return infer_values(
                self.view,
                attribute,
                names,
                self._rng(),
                attackers=attackers,
                boosted=self.boosted,
                use_target=use_target,
            )

        return run


def best_of(outcomes: Outcomes, seed: int) -> Success:
    """Return the success of the attacker that is best on the people who choose, measured on the
    others.
    """
    best = max(outcomes, key=lambda name: measured(name, outcomes, seed, chooses=True).excess.value)
    return measured(best, outcomes, seed)


def measured(attacker: str, outcomes: Outcomes, seed: int, *, chooses: bool = False) -> Success:
    """Return the success of an attacker on the people who do not choose, or on those who do."""
    attack, control = (_rate(part, seed, chooses=chooses) for part in outcomes[attacker])
    return Success(attacker, attack, control, excess_of(attack, control))


def _rate(successes: np.ndarray, seed: int, *, chooses: bool) -> Rate:
    order = np.random.default_rng([seed, 43]).permutation(len(successes))
    count = round(CHOOSING * len(successes))
    part = successes[order[:count] if chooses else order[count:]]
    return Rate.of(int(part.sum()), len(part))

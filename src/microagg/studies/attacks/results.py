"""Results of attacks: success on targets and on the control group, and the excess."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from microagg.errors import InputError
from microagg.studies.attacks.rates import Excess, Rate

if TYPE_CHECKING:
    from microagg.release.release import Release

SINGLING_OUT, LINKABILITY, INFERENCE = "singling out", "linkability", "inference"
KINDS = (SINGLING_OUT, LINKABILITY, INFERENCE)


@dataclass(frozen=True)
class Success:
    """Success of the best attacker on targets and on the control group."""

    attacker: str
    """Attacker that was best on people who are not counted in the rates."""
    attack: Rate
    control: Rate
    excess: Excess

    def as_data(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "attacker": self.attacker,
            "attack": self.attack.as_data(),
            "control": self.control.as_data(),
            "excess": self.excess.as_data(),
        }


@dataclass(frozen=True)
class AttackResult(Success):
    """Success of one attack."""

    kind: str = SINGLING_OUT
    column: str | None = None
    """Confidential column that was inferred."""
    others: Success | None = None
    """Inference from the other records alone: the target's own is left out of its class."""
    without: dict[str, float] = field(default_factory=dict)
    """Excess of the same attacker if it does not know a column."""

    @property
    def name(self) -> str:
        """The attack in words."""
        return self.kind if self.column is None else f"{self.kind} of {self.column}"

    @property
    def most_telling(self) -> str | None:
        """The known column without which the excess falls most; None if there is no excess."""
        if self.excess.low <= 0.0 or not self.without:
            return None
        name = min(self.without, key=lambda known: self.without[known])
        return name if self.without[name] < self.excess.value else None

    def as_data(self) -> dict[str, Any]:
        """Return plain data."""
        others = None if self.others is None else self.others.as_data()
        return {
            "kind": self.kind,
            "column": self.column,
            **super().as_data(),
            "from_other_records": others,
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

    def report(self, release: Release, path: str | Path) -> Path:
        """Write the internal report of the release with a section on these attacks.

        Returns
        -------
        Path
            The path, a .html, .md or .json file that only its owner can read.

        Raises
        ------
        InputError
            If the file cannot be written.
        """
        from microagg.studies.attacks.reporting import write_report

        return write_report(release, path, self)

    def __repr__(self) -> str:
        lines = [
            f"Attacks on a rerun of {self.records:,} records; {self.controls:,} were left out "
            "as control group."
        ]
        for result in self.results:
            lines.append(f"{result.name}: {_line(result)}")
            if result.others is not None:
                lines.append(f"  from other records alone: {_line(result.others)}")
            column = result.most_telling
            if column is not None:
                lines.append(
                    f"  {column!r} tells most: without it the excess is "
                    f"{percent(result.without[column])}"
                )
        return "\n".join([*lines, *self.notes])


def _line(success: Success) -> str:
    excess = success.excess
    return (
        f"{percent(success.attack.value)} of {success.attack.trials:,} targets, "
        f"{percent(success.control.value)} of {success.control.trials:,} controls; excess "
        f"{percent(excess.value)} ({percent(excess.low)} to {percent(excess.high)})"
    )


def percent(share: float) -> str:
    """Return a share in percent.

    >>> percent(-0.0004), percent(-0.256)
    ('0.0 %', '−25.6 %')
    """
    return f"{in_percent(share)} %"


def in_percent(share: float) -> str:
    """Return a share in percent without its unit, for tables that say it.

    >>> in_percent(0.256)
    '25.6'
    """
    return f"{round(100.0 * share, 1) + 0.0:.1f}".replace("-", "\u2212")

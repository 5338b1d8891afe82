"""Propose roles for the tables that fetch.py fetched, and judge them by `expectations.toml`.

    python benchmarks/real_tables/judge.py FOLDER [TABLE ...]

Each table is judged as a file and as a pandas table. Exit code 1 if any column has a role that it
must not have.
"""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

from microagg.proposal.proposal import Proposal, propose, propose_for_file
from microagg.proposal.question import MOST_COLUMNS

HERE = Path(__file__).parent
OTHERS = ("quasi", "confidential")
"""Acceptable roles of columns that the list does not name."""


@dataclass
class Verdict:
    """The columns of one table with a role that they must not have."""

    columns: int = 0
    questions: int = 0
    """What a settings file asks: a line for each column, or one for more than 30."""
    named: list[str] = field(default_factory=list)
    """Columns that name people and would be published."""
    weighed: list[str] = field(default_factory=list)
    """Weights of bodies that are anything but quasi-identifiers."""
    wrong: list[str] = field(default_factory=list)
    """Other columns with a wrong role, or not asked about."""

    @property
    def failures(self) -> int:
        """Return the number of wrong columns."""
        return len(self.named) + len(self.weighed) + len(self.wrong)


def judge(proposal: Proposal, table: Mapping[str, Any]) -> Verdict:
    """Compare a proposal with what is acceptable for each column of a table."""
    questioned = {name for question in proposal.questions for name in question.columns}
    verdict = Verdict(len(proposal.columns))
    for question in proposal.questions:
        verdict.questions += 1 if len(question.columns) > MOST_COLUMNS else len(question.columns)
    for column, role in proposal.roles.items():
        if column in table.get("people", ()):
            if role != "identifier":
                verdict.named.append(f"{column}: {role}")
        elif column in table.get("bodies", ()):
            if role != "quasi":
                verdict.weighed.append(f"{column}: {role}")
        elif not _is_acceptable(
            role, table.get("roles", {}).get(column, OTHERS), column in questioned
        ):
            verdict.wrong.append(f"{column}: {role}{' (asked)' if column in questioned else ''}")
    missing = {*table.get("people", ()), *table.get("bodies", ()), *table.get("roles", {})} - {
        *proposal.roles
    }
    verdict.wrong += [f"{column}: not in the table" for column in sorted(missing)]
    return verdict


def _is_acceptable(role: str, acceptable: Sequence[str], questioned: bool) -> bool:
    return role in acceptable or (questioned and f"{role}?" in acceptable)


def main(folder: Path, chosen: Sequence[str]) -> int:
    """Judge all tables, or those that are named, and print what is wrong; returns the number of
    failures.
    """
    tables = tomllib.loads((HERE / "expectations.toml").read_text("utf-8"))
    total = Verdict()
    for name, table in tables.items():
        if chosen and name not in chosen:
            continue
        path = next((folder / "tables").glob(f"{name}.*"))
        header = {"header": True} if path.suffix == ".csv" else {}
        ways = {"file": propose_for_file(path, **header)}
        if path.suffix == ".csv":
            ways["pandas"] = propose(_frame(path))
        for way, proposal in ways.items():
            verdict = judge(proposal, table)
            for what in ("named", "weighed", "wrong"):
                getattr(total, what).extend(getattr(verdict, what))
                for problem in getattr(verdict, what):
                    print(f"{name} ({way}), {what}: {problem}")
            if way == "file":
                total.columns, total.questions = (
                    total.columns + verdict.columns,
                    total.questions + verdict.questions,
                )
    print(
        f"{len(chosen) or len(tables)} tables, {total.columns} columns, "
        f"{total.questions} questions; published though they name people: "
        f"{len(total.named)}; body weights taken for something else: "
        f"{len(total.weighed)}; other wrong roles: {len(total.wrong)}"
    )
    return total.failures


def _frame(path: Path) -> pd.DataFrame:
    frame = pd.read_csv(path, keep_default_na=True)
    return frame.rename(columns={"Unnamed: 0": ""})


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    sys.exit(1 if main(Path(sys.argv[1]), sys.argv[2:]) else 0)

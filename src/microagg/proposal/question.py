"""Questions that names, types and counts cannot decide."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from microagg.proposal.column_text import printable
from microagg.sentences import FormatSetting, as_argument, rendered

if TYPE_CHECKING:
    pass

ASKED = "asked"
"""Name for all columns of the question if they hold numbers or codes."""


MOST_COLUMNS = 30
"""Columns of one kind that are asked about one by one; of more it is asked once."""


SHOWN_OF_MANY = 3


@dataclass(frozen=True)
class Question:
    """Question that names, types and counts cannot decide.

    >>> print(Question("codes", ("sex", "region"), "Are {} numbers or codes?"))
    Are 'sex' and 'region' numbers or codes?
    """

    about: str
    """codes, money, weight, unit or amounts."""
    columns: tuple[str, ...]
    text: str
    """The question, with {} for the columns."""
    answers: tuple[str, ...] = ()
    """Answers that a settings file may give for a column: a role, numbers or codes; the first is
    the proposed one. Empty if the answer is in the table itself.
    """
    advice: str = ""
    """Advice on how to answer it in a call of `anonymize`."""

    def __str__(self) -> str:
        return self.render(as_argument)

    def render(self, format_setting: FormatSetting) -> str:
        """Return the question and its advice, with settings in a notation."""
        return f"{self.asks} {rendered(self.advice, format_setting)}".rstrip()

    @property
    def is_one(self) -> bool:
        """True if one question covers all of its columns, because they are too many.

        >>> Question("codes", tuple(f"q{i}" for i in range(31)), "Are {} numbers or codes?").asks
        "Are 'q0', 'q1', 'q2' and 28 others numbers or codes?"
        """
        return len(self.columns) > MOST_COLUMNS

    @property
    def asks(self) -> str:
        """The question without its advice, for display beside the answers."""
        names = [f"'{printable(name)}'" for name in self.columns]
        if self.is_one:
            names = [*names[:SHOWN_OF_MANY], f"{len(names) - SHOWN_OF_MANY:,} others"]
        together = f"{', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else names[0]
        return self.text.replace("{}", together)

"""Amounts of work of a search that is in turns with a proof."""

from __future__ import annotations

from typing import NamedTuple

from microagg.bounds.columns import Budget

DIVES = 3  # at most, in one proof; each knows the groups that those before it came to know


class SearchBudget(NamedTuple):
    """Amounts of work before something else is tried."""

    proof: Budget  # for pricing, and rounds of cuts
    patience: int  # programs in a row that took their time and found nothing better
    patience_again: int  # the same once such a program has helped, or another search has been made
    narrow: float  # a gap, as a share of the bound, that is not worth another search
    dives: int  # at most


TO_THE_END = SearchBudget(Budget(), patience=2, patience_again=2, narrow=1e-3, dives=DIVES)
# where no proof is wanted in the end: more of it took half as long again or twice as long on
# Census, for 0 to 4 thousandths of the loss
IN_SHORT = SearchBudget(
    Budget(4_000_000_000, 4), patience=2, patience_again=1, narrow=2e-3, dives=0
)

"""A release that lies in its file alone."""

from __future__ import annotations

import functools

from microagg.errors import InputError
from microagg.measures.measure import Pair
from microagg.release.release import Release

NOTE = "worked on beyond memory: notes on dominance, shared values and the like, and reports, are made for tables in memory only"


class FiledRelease(Release):
    """A release that lies in its file alone: what needs the whole table in memory is not there."""

    @property
    def is_mixed(self) -> bool:
        """Not asked of a table that was never in memory."""
        return False

    @functools.cached_property
    def pair(self) -> Pair:
        """Both tables at once: that is what there was no memory for."""
        raise InputError(
            "this release was made beyond memory, so that measures of single records and reports are not there; use "
            "`microagg assess` on a part of it, or give it more memory."
        )

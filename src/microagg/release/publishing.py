"""Rules on which figures of the original table may be published.

Those two are public, and nothing can be computed back from them but the release. Whatever else is
told comes from the original table, and each such figure is an equation that the original values
must fulfil: ten of them to three digits give six records back. So there is one, the information
loss, in whole percent, from 100 records on, and only where no single group decides it; and what the
data holder publishes by name, from 1,000 records on, to two digits. What is which, the declarations
say: `public` of a setting, `RESULTS` of a manifest, `of` of a measure.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from microagg.errors import InputError

LEAST_FOR_LOSS = 100  # records
LEAST_TO_PUBLISH = 1_000
LARGEST_SHARE = 0.1  # of the squared error that one group may make up
DIGITS = 2  # of what is published by name
NOT_TOLD = "not told"
# one sentence for both reasons: which of them it was tells something
WHY_NOT = (
    "it is told for 100 records and more, where no group makes up more than a tenth of the "
    "squared error"
)


def published_loss(manifest: Mapping[str, Any]) -> dict[str, str]:
    """Return the loss as the public may know it: IL in whole percent, or that it is not told.

    >>> published_loss({"records": 100, "loss": {"IL": 5.432, "SSE": 54.3}, "largest_share": 0.02})
    {'IL': '5 %'}
    >>> published_loss({"records": 100, "loss": {"IL": 0.432}, "largest_share": 0.02})
    {'IL': 'below 1 %'}
    >>> published_loss({"records": 99, "loss": {"IL": 5.432}, "largest_share": 0.02})["IL"]
    'not told'
    """
    loss = manifest["loss"]
    if isinstance(loss["IL"], str):  # a public manifest's
        return dict(loss)
    share = manifest.get("largest_share")
    if int(manifest["records"]) < LEAST_FOR_LOSS or share is None or not share <= LARGEST_SHARE:
        return {"IL": NOT_TOLD, "why": WHY_NOT}
    return {"IL": "below 1 %" if loss["IL"] < 1.0 else f"{loss['IL']:.0f} %"}


def is_published(name: str, manifest: Mapping[str, Any]) -> bool:
    """Return True if the data holder published this by name, and there are enough records.

    >>> is_published("bound", {"records": 1000, "settings": {"publish": ["bound"]}})
    True
    """
    named = manifest["settings"].get("publish") or ()
    return name in named and int(manifest["records"]) >= LEAST_TO_PUBLISH


def check_publishing(names: Sequence[str], records: int) -> None:
    """Raise if something is to be published by name and the table has too few records.

    >>> check_publishing(["il"], 1000)
    """
    if names and records < LEAST_TO_PUBLISH:
        raise InputError(
            f"publish is for tables of {LEAST_TO_PUBLISH:,} records and more, and this "
            f"one has {records:,}: figures of fewer records could reveal single values. Leave "
            f"publish out; the internal report "
            "has all figures."
        )


def steady(value: float, digits: int) -> float:
    """Return a figure rounded to so many digits, the same in whatever order its sum was added up.

    The last digits of a sum depend on that order, and so does the way a figure just between two
    others is rounded: it is cut to twelve digits first.

    >>> steady(0.12350000000000003, 3) == steady(0.12349999999999997, 3)
    True
    """
    if not math.isfinite(value):
        return value
    return float(f"{float(f'{value:.12g}'):.{digits}g}")

"""Sentences on k, l, t, method and effort with the figures of one table, for whoever sets them."""

from __future__ import annotations

from microagg.formatting import counted, number
from microagg.guarantees.l import DIVERSITY
from microagg.pipeline.preview import Preview
from microagg.release.settings import Settings


def choice_sentences(
    preview: Preview, settings: Settings, below_k: int | None = None
) -> dict[str, str]:
    """Return a sentence for each of k, l, t, method and effort.

    `below_k` is the number of records in classes of fewer than k now, where that is known.

    >>> shown = Preview(5, 900, 900, 0, 10.0, 0.0, fewest_values={"illness": 1})
    >>> sentences = choice_sentences(shown, Settings.of(k=5, quasi=["age"]), below_k=12)
    >>> sentences["k"].partition(";")[0]
    '12 of 900 records have fewer than 4 others like them now'
    >>> sentences["l"].partition(", so")[0]
    "In the preview, everybody in some group has the same 'illness'"
    """
    sentences = {"k": _on_k(preview, below_k), "method": f"{settings.chosen_method.summary}."}
    sentences["l"], sentences["t"] = _on_l(preview, settings), _on_t(preview)
    if preview.seconds is not None:
        sentences["method"] = (
            f"{settings.chosen_method.summary}; expected time: {_time(preview.seconds)}."
        )
    if preview.efforts:
        times = [f"{word} {_time(seconds)}" for word, seconds in preview.efforts.items()]
        sentences["effort"] = f"Expected time for this table: {', '.join(times)}."
    return {name: text[:1].upper() + text[1:] for name, text in sentences.items() if text}


def _on_k(preview: Preview, below_k: int | None) -> str:
    """Return how many records need protection, and what k gives them."""
    records, k = preview.records, preview.k
    now = f"{counted(records, 'record')}"
    if below_k is not None:
        now = f"{below_k:,} of {now} have fewer than {k - 1} others like them now"
    return (
        f"{now}; k = {k} makes at most {records // k:,} groups, so the chance of picking the right "
        f"person of a group is {number(100 / k, 2)} % at most."
    )


def _on_l(preview: Preview, settings: Settings) -> str:
    """Return how many confidential values groups have."""
    if not preview.fewest_values:
        return "No column is confidential, so l protects nothing here."
    name, fewest = min(preview.fewest_values.items(), key=lambda item: item[1])
    if fewest == 1:
        advice = "" if settings.l is not None else "; l = 2 prevents that"
        return (
            f"In the preview, everybody in some group has the same '{name}', so membership reveals "
            f"it{advice}."
        )
    kind = "" if settings.diversity == DIVERSITY.default else " different"
    return f"In the preview, each group has at least {fewest}{kind} values of '{name}'."


def _on_t(preview: Preview) -> str:
    """Return how far groups are from the table."""
    if not preview.largest_distance:
        return "No column is confidential, so t protects nothing here."
    name, largest = max(preview.largest_distance.items(), key=lambda item: item[1])
    return (
        f"In the preview, a group differs from the whole table by up to {number(largest, 2)} in "
        f"'{name}'; a smaller t forbids that and costs detail."
    )


def _time(seconds: float) -> str:
    """Return a time as people say it.

    >>> _time(0.3), _time(7.2), _time(400.0)
    ('under a second', 'about 7 seconds', 'about 7 minutes')
    """
    if seconds < 1:
        return "under a second"
    if seconds < 100:
        return f"about {counted(round(seconds), 'second')}"
    if seconds < 6000:
        return f"about {counted(round(seconds / 60), 'minute')}"
    return f"about {counted(round(seconds / 3600), 'hour')}"

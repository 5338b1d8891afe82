"""What a text means: spellings of one value, and of one number, are told to be the same here."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

import numpy as np

# "007" is a code, no number
_NUMBER = re.compile(r"[+-]?((0|[1-9]\d*)(\.\d*)?|\.\d+)([eE][+-]?\d{1,4})?", re.ASCII)


def meaning_of(text: str) -> str | Decimal:
    """What a text is compared by: its value where it is a number, else what case, width and blanks leave of it.

    >>> meaning_of("100.0") == meaning_of("1e2"), meaning_of("  H I V"), meaning_of("007")
    (True, 'h i v', '007')
    """
    if not text.isascii():
        text = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    plain = " ".join(text.lower().split())
    return Decimal(plain) if _NUMBER.fullmatch(plain) else plain


def outline_of(text: str) -> str | Decimal:
    """What is left of a text without accents, marks and blanks; the meaning where that is nothing.

    >>> outline_of("Sjögren "), outline_of("flu."), outline_of("?")
    ('sjogren', 'flu', '?')
    """
    meaning = meaning_of(text)
    if not isinstance(meaning, str):
        return meaning
    return (
        "".join(mark for mark in unicodedata.normalize("NFKD", meaning) if mark.isalnum() or mark in "+-<=>%")
        or meaning
    )


def merged(texts: Sequence[str | None], key: Callable[[str], Any]) -> tuple[np.ndarray, int]:
    """For each text the place of the first one with the same key, and how many are not the first; gaps stay by themselves.

    >>> merged(["flu", "Flu", None], meaning_of)[0].tolist()
    [0, 0, 2]
    """
    places: dict[Any, int] = {}
    first = [
        places.setdefault(None if text is None else (key(text),), place) for place, text in enumerate(texts)
    ]
    return np.array(first, np.int64), len(first) - len(places)

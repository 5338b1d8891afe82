"""What a text means: spellings of one value, and of one number, are told to be the same here."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa

from microagg.table.columns.arrow import compute as pc

# "007" is a code, no number
_NUMBER = re.compile(r"[+-]?((0|[1-9]\d*)(\.\d*)?|\.\d+)([eE][+-]?\d{1,4})?", re.ASCII)
# ASCII that may be a number, or has blanks (as Python takes them) that a meaning does not have; all
# else means its small letters
_ODD = r"^[+-]?\.?[0-9]|^ | $|  |[\t-\r\x1c-\x1f]"


def normalise(text: str) -> str | Decimal:
    """What a text is compared by: its value where it is a number, else what case, width and blanks
    leave of it.

    >>> normalise("100.0") == normalise("1e2"), normalise("  H I V"), normalise("007")
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
    meaning = normalise(text)
    if not isinstance(meaning, str):
        return meaning
    return (
        "".join(
            mark
            for mark in unicodedata.normalize("NFKD", meaning)
            if mark.isalnum() or mark in "+-<=>%"
        )
        or meaning
    )


def merged(texts: Sequence[str | None], key: Callable[[str], Any]) -> tuple[np.ndarray, int]:
    """For each text the place of the first one with the same key, and how many are not the first;
    gaps stay by themselves.

    >>> merged(["flu", "Flu", None], normalise)[0].tolist()
    [0, 0, 2]
    """
    places: dict[Any, int] = {}
    first = [
        places.setdefault(None if text is None else (key(text),), place)
        for place, text in enumerate(texts)
    ]
    return np.array(first, np.int64), len(first) - len(places)


def merged_by_spelling(texts: pa.Array) -> tuple[np.ndarray, int]:
    """What `merged` gives for `normalise`."""
    encoded = pc.dictionary_encode(keys_of(texts), null_encoding="encode")
    codes = np.asarray(encoded.indices)
    places = np.empty(len(encoded.dictionary), np.int64)
    places[codes[::-1]] = np.arange(len(codes) - 1, -1, -1)  # what is written last stays: the first
    return places[codes], len(codes) - len(places)


def keys_of(texts: pa.Array) -> pa.Array:
    """Texts that are equal where `normalise` is, with Python called for odd ones only: a column may
    hold a million of them.

    >>> keys_of(pa.array(["HIV", "hiv ", "1e2", "100.0", None])).to_pylist()
    ['hiv', 'hiv', ' 1e2', ' 1e2', None]
    """
    odd = pc.or_(pc.invert(pc.string_is_ascii(texts)), pc.match_substring_regex(texts, _ODD))
    odd = pc.fill_null(odd, False)
    keys = pc.ascii_lower(texts)
    meanings = map(normalise, pc.filter(texts, odd).to_pylist())
    own = [meaning if isinstance(meaning, str) else _spelled(meaning) for meaning in meanings]
    return pc.replace_with_mask(keys, odd, pa.array(own, keys.type))


def _spelled(number: Decimal) -> str:
    """One spelling for equal numbers; no other key begins with a blank.

    >>> _spelled(Decimal("-0.50")), _spelled(Decimal("0e7"))
    (' -5e-1', ' 0')
    """
    sign, digits, exponent = number.as_tuple()
    told = "".join(map(str, digits)).lstrip("0")
    least = told.rstrip("0")
    return f" {'-' * sign}{least}e{int(exponent) + len(told) - len(least)}" if least else " 0"

"""Patterns of texts that identify or hide a value: e-mail, phone, account, date, address, key."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from microagg.table.columns.arrow import compute as pc
from microagg.table.columns.text_masks import DAY, MOMENT

SHARE = 0.05
"""From this share of values that look like an e-mail address or the like, a column is taken for one
of those.
"""


_E_MAIL = r"[^\s@]@[^\s@]+\.[^\s@]"


_ACCOUNT = r"(?i)^[a-z]{2}\d{2} ?([a-z0-9]{4} ?){2,7}[a-z0-9]{0,4}$"


_PHONE = (
    r"^\+\d[\d ()/.\-]{6,}$|^\(?0\d{1,5}\)?[ /\-][\d /.\-]{4,}$|^\(?\d{3}\)?[ .\-]\d{3}[ "
    r".\-]\d{4}$|^\d{3}-\d{2}-\d{4}$"
)


_DATE = r"^\d{1,2}[./\-]\d{1,2}[./\-](\d{2}|\d{4})$|^\d{4}[./\-]\d{1,2}[./\-]\d{1,2}$"


_WORDS = r"(\s+[^\s?]+){1,5}"


_STREET = (
    # Hauptstraße 5, Elm Street no. 5
    r"(?i)(stra(ß|ss)e|str\.|street|\bst\.?|avenue|\bave\.?|\broad|\brd\.?|\blane|\bdrive"
    r"|straat|gatan|platz|weg|gasse|allee)"
    r"\s*,?\s*(n[or°º]\.?\s*)?\d+\s*[a-z]?\b"
    # rue de la Paix 5, 5 rue de la Paix, 5 Elm Street
    rf"|\b(rue|calle|via|rua|avenue|avenida){_WORDS}\s*,?\s*\d+\s*[a-z]?(,|$)"
    rf"|^\d+\s*[a-z]?,?\s+(rue|calle|via|rua|avenue|avenida)\s"
    rf"|^\d+\s*[a-z]?,?{_WORDS}\s+(street|st|avenue|ave|road|rd|lane|ln|drive|boulevard"
    r"|blvd)\.?(,|$)"
)


_KEY = r"^[A-Za-z]{0,4}[-_/]?\d{3,}[A-Za-z]?$"
"""A letter or two and a number, as registers number people and companies."""


LIKE = {
    "e-mail addresses": _E_MAIL,
    "bank accounts": _ACCOUNT,
    "phone or identity numbers": _PHONE,
    "street addresses": _STREET,
}


def pattern_of(text: pa.ChunkedArray, counts: pa.Array | None = None) -> str:
    """Return the pattern that a share of the texts matches, or ""; `counts` are weights."""
    often = pa.scalar(1) if counts is None else counts
    present = len(text) - text.null_count
    if counts is not None:
        present = int(pc.sum(counts.filter(pc.is_valid(text).combine_chunks())).as_py() or 0)
    dates = pc.match_substring_regex(text, f"{_DATE}|{DAY}|{MOMENT}")
    shares = {
        what: counted(pc.and_not(pc.match_substring_regex(text, pattern), dates), often)
        for what, pattern in LIKE.items()
    }
    most = max(shares, key=lambda what: shares[what])
    return most if present and shares[most] >= SHARE * present else ""


def counted(hits: pa.ChunkedArray, often: Any) -> int:
    """Return the number of hits, each counted as often as its value occurs."""
    return pc.sum(pc.multiply(pc.cast(hits, pa.int64()), often)).as_py() or 0

"""Formatting of numbers, lists and names for people."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

_UNPRINTABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]")
_RAISED = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")
_AXES = re.compile(r"\bon ([\d,]+) axes that vary")  # as the search says it in manifests
ONE = {"records": "record", "classes": "class", "values": "value"}
LISTED = 12  # a sentence with more names than this is not read


def number(value: float, digits: int = 4) -> str:
    """Format a number to so many significant digits, with thousands separators.

    >>> number(12345.678), number(0.061234), number(20.0), number(4.815e12), number(float("nan"))
    ('12,350', '0.06123', '20', '4.815·10¹²', '–')
    """
    value = float(value)
    if math.isnan(value):
        return "–"
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    if value == 0:
        return "0"
    rounded = float(f"{value:.{digits - 1}e}")
    power = math.floor(math.log10(abs(rounded)) + 1e-12)
    if not -5 < power < 9:
        mantissa, _, exponent = f"{rounded:.{digits - 1}e}".partition("e")
        text = f"{_without_zeros(mantissa)}·10{str(int(exponent)).translate(_RAISED)}"
    else:
        text = _without_zeros(f"{rounded:,.{max(0, digits - 1 - power)}f}")
    return text.replace("-", "−")


def with_unit(value: float, unit: str, digits: int = 4) -> str:
    """Format a number and its unit.

    >>> (
    ...     with_unit(6.1234, "percent", 3),
    ...     with_unit(12, "records"),
    ...     with_unit(1, "records"),
    ...     with_unit(0.5, ""),
    ... )
    ('6.12 %', '12 records', '1 record', '0.5')
    """
    text = number(value, digits)
    if text == "–":
        return "not defined"
    if text == "1":
        unit = ONE.get(unit, unit)
    return f"{text} {short_unit(unit)}".strip()


def short_unit(unit: str) -> str:
    """Return a unit as it is written after a number.

    >>> short_unit("percent"), short_unit("percent of the records"), short_unit("records")
    ('%', '% of the records', 'records')
    """
    return "%" + unit.removeprefix("percent") if unit.startswith("percent") else unit


def listed(names: Sequence[str], most: int = LISTED) -> str:
    """Join names for a sentence; of very many, the first ones and the number of the others.

    >>> listed(["age", "income", "rent"]), listed(["a", "b", "c", "d"], most=2)
    ('age, income and rent', 'a, b and 2 more')
    """
    if len(names) > most:
        return f"{', '.join(names[:most])} and {len(names) - most} more"
    if len(names) < 2:
        return "".join(names)
    return f"{', '.join(names[:-1])} and {names[-1]}"


def counted(count: int, one: str, many: str = "") -> str:
    """Format a count with its noun.

    >>> counted(1, "class", "classes"), counted(1200, "record")
    ('1 class', '1,200 records')
    """
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def promised(manifest: Mapping[str, Any], digits: int = 4) -> list[str]:
    """Return sentences on the guaranteed l and t, with the worst class of each confidential column.

    >>> promised(
    ...     {
    ...         "guarantee": {
    ...             "l": {"every_class": "has 3 or more different values", "worst": {"ill": 4.0}}
    ...         }
    ...     }
    ... )
    ['Every class has 3 or more different values of ill (worst class: 4).']
    """
    sentences = []
    for name in ("l", "t"):
        guarantee = manifest["guarantee"].get(name)
        if guarantee:
            worst = listed(
                [
                    f"{column} (worst class: {number(x, digits)})"
                    for column, x in guarantee["worst"].items()
                ]
            )
            sentences.append(f"Every class {guarantee['every_class']} of {worst}.")
    return sentences


OF_SHARES = " and has no unit with more than half of its records"
"""How manifests say it, which stay as they are; people read it in other words."""


def promised_units(manifest: Mapping[str, Any], digits: int = 4) -> list[str]:
    """Return sentences on the guaranteed units of each class, with the worst class if it is public.

    >>> manifest = {"guarantee": {"units": {"every_class": "has 5 or more different units"}}}
    >>> promised_units(manifest)  # doctest: +NORMALIZE_WHITESPACE
    ['Every class has 5 or more different units (households, companies, patients:
     what was named as such).']
    """
    guarantee = manifest["guarantee"].get("units")
    if not guarantee:
        return []
    what = "households, companies, patients: what was named as such"
    if "fewest" in guarantee:
        what += (
            f"; fewest in a class: {number(guarantee['fewest'])}, largest share: "
            f"{number(100 * guarantee['largest_share'], digits)} %"
        )
    kept = guarantee["every_class"].replace(OF_SHARES, "; none makes up more than half of a class")
    return [f"Every class {kept} ({what})."]


def promised_beside(settings: Mapping[str, Any]) -> str:
    """Return the guarantees that a lower bound ignores: it is proven for k alone. Empty if only k
    is required.

    >>> promised_beside({"k": 5, "l": 3, "t": None})
    'it leaves l out, and with it any grouping may have to lose more'
    """
    named = {"l": "l", "t": "t", "unit": "units"}
    ignored = [sentence for name, sentence in named.items() if settings.get(name) is not None]
    sentence = f"it leaves {listed(ignored)} out, and with it any grouping may have to lose more"
    return sentence if ignored else ""


def printable(text: str) -> str:
    """Replace characters that no page, file or reader can show.

    >>> printable("a\\x00b")
    'a�b'
    """
    return _UNPRINTABLE.sub("�", text)


def shortened(text: str, most: int) -> str:
    """Shorten a name to fit into a picture.

    >>> shortened("household income before tax", 16)
    'household incom…'
    """
    one_line = " ".join(printable(text).split())
    return one_line if len(one_line) <= most else one_line[: most - 1] + "…"


def _without_zeros(text: str) -> str:
    return text.rstrip("0").rstrip(".") if "." in text else text


MINUTE, HOUR = 60.0, 3600.0


def duration(seconds: float) -> str:
    """Write a time as people say it.

    >>> duration(0.2), duration(48.2), duration(400), duration(9000)
    ('a second', '50 seconds', '7 minutes', '2.5 hours')
    """
    if seconds < 1.5:
        return "a second"
    if seconds < 1.5 * MINUTE:
        return f"{float(f'{seconds:.1g}' if seconds > 10 else f'{seconds:.0f}'):.0f} seconds"
    if seconds < 1.5 * HOUR:
        return f"{seconds / MINUTE:.0f} minutes"
    return f"{seconds / HOUR:.1f} hours"


def chosen_text(sentence: str) -> str:
    """Return a sentence of a manifest on how groups were formed, as people read it.

    >>> chosen_text("900 records, 2 columns on 7 axes that vary, k = 5")
    '900 records, 2 columns (7 after coding categories and gaps), k = 5'
    """
    return _AXES.sub(r"(\1 after coding categories and gaps)", sentence)


def html_table(head: Sequence[str], rows: Iterable[Sequence[object]], caption: str = "") -> str:
    """Return a plain table in HTML, as notebooks show it.

    >>> html_table(["k"], [["<5"]])
    '<table><thead><tr><th>k</th></tr></thead><tbody><tr><td>&lt;5</td></tr></tbody></table>'
    """

    def row(cells: Iterable[object], mark: str) -> str:
        texts = (escape(printable(str(cell))) for cell in cells)
        return f"<tr>{''.join(f'<{mark}>{text}</{mark}>' for text in texts)}</tr>"

    title = f"<caption>{escape(printable(caption))}</caption>" if caption else ""
    body = "".join(row(cells, "td") for cells in rows)
    return f"<table>{title}<thead>{row(head, 'th')}</thead><tbody>{body}</tbody></table>"

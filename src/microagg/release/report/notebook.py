"""What a notebook shows of a release."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

import numpy as np

from microagg.formatting import printable
from microagg.release.report.summary import headline_of, summary_of

# colours come from the notebook, so that a dark one stays readable
_BOX = (
    "font-family:system-ui,sans-serif;line-height:1.5;border-left:4px solid "
    "#16557f;padding:.3em 0 .3em .9em;max-width:52em"
)
_NAME = (
    "text-align:left;font-weight:600;padding:.05em 1.2em .05em "
    "0;vertical-align:top;background:none;border:0"
)
_VALUE = "text-align:left;padding:.05em 0;vertical-align:top;background:none;border:0"


def summary_html(
    *, manifest: Mapping[str, Any], class_sizes: np.ndarray, notes: Sequence[str] = ()
) -> str:
    """A release in a few lines, as a fragment of HTML: for `_repr_html_`.

    >>> told = {"settings": {"k": 2, "method": "mdav", "params": {}}, "records": 4, "loss": {"IL": 1.234},
    ...         "guarantee": {"of": "each combination"}}
    >>> "4 records in 2 classes of 2" in summary_html(manifest=told, class_sizes=np.array([2, 2]))
    True
    """
    sizes = np.asarray(class_sizes)
    headline, rows = headline_of(manifest, sizes), summary_of(manifest, sizes, notes)
    body = "".join(
        f'<tr style="background:none"><th scope="row" style="{_NAME}">{_text(name)}</th>'
        f'<td style="{_VALUE}">{_text(value)}</td></tr>'
        for name, value in rows
    )
    return (
        f'<div style="{_BOX}"><div style="font-size:1.1em;font-weight:600">{_text(headline)}</div>'
        f'<table style="border-collapse:collapse;margin:.2em '
        f'0;border:0"><tbody>{body}</tbody></table></div>'
    )


def _text(text: str) -> str:
    return escape(printable(text), quote=True)

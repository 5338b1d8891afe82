"""Keywords that are no settings: names of other libraries, and misspelt ones."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from microagg.table.keyword_options import meant_name, unknown_parameter

OF_A_CALL = ("settings", "threads", "progress")
"""Parameters of `anonymize` that are no settings."""


def check_unknown(
    keywords: Mapping[str, Any], settings: Collection[str], of_method: Collection[str]
) -> None:
    """Raise if a keyword is no parameter and another one is probably meant.

    The method refuses all other keywords that it does not know.

    >>> check_unknown({"effort": "quick"}, ["k", "quasi"], ["effort"])
    """
    for name in keywords:
        if name in of_method or name in settings:
            continue
        instead = meant_name(name, [*settings, *of_method, *OF_A_CALL])
        if instead is not None and not _is_of_another_method(name):
            raise unknown_parameter(name, instead)


def _is_of_another_method(name: str) -> bool:
    from microagg.methods.registry import methods

    return any(name == parameter.name for method in methods() for parameter in method.parameters)

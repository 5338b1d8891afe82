"""Keywords that are no settings: names of other libraries, and misspelt ones."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from microagg.errors import InputError
from microagg.table.suggestions import nearest_names

CALLED_OTHERWISE = {
    "random_state": "seed",
    "n_jobs": "threads",
    "id": "identifier",
    "ids": "identifier",
    "qi": "quasi",
    "qids": "quasi",
    "sensitive": "confidential",
    "sensitive_columns": "confidential",
    "strata": "stratum",
    "sample_weight": "weight",
    "verbose": "progress",
}
"""What other libraries call a parameter, and its name here."""
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
        known = [*settings, *of_method, *OF_A_CALL]
        instead = CALLED_OTHERWISE.get(name) or next(iter(nearest_names(name, known, most=1)), None)
        if instead is not None and not _is_of_another_method(name):
            raise InputError(f"there is no parameter {name!r}; it is called {instead!r} here.")


def _is_of_another_method(name: str) -> bool:
    from microagg.methods.registry import methods

    return any(name == parameter.name for method in methods() for parameter in method.parameters)

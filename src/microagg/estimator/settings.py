"""Settings of a release, from the parameters of an estimator."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils import check_random_state

from microagg.errors import InputError
from microagg.release.settings import Settings
from microagg.sentences import Assignment, sentence
from microagg.table.aggregates import coarse_columns
from microagg.table.patterns import expand_names

if TYPE_CHECKING:
    from microagg.estimator.microaggregator import Microaggregator


def settings_of(
    estimator: Microaggregator, parameters: Iterable[str], names: Sequence[str]
) -> Settings:
    """Return the settings among the parameters of an estimator, for columns of these names.

    They are checked as in `anonymize`.
    """
    if estimator.missing == "drop":
        raise InputError(
            "missing='drop' would leave rows out, which a transformer cannot; say "
            "'group' or 'error'."
        )
    arguments = {
        name: getattr(estimator, name)
        for name in parameters
        if name in Settings.parameters() and getattr(estimator, name) is not None
    }
    params = arguments["params"] = dict(estimator.params or {})
    settings = Settings.of(**arguments, seed=_seed_of(estimator.random_state))
    hidden = expand_names(settings.confidential, names, "confidential")
    quasi = [name for name in names if name not in (*hidden, settings.weight)]
    settings = settings.but(quasi=quasi, confidential=hidden)
    if settings.weight_becomes == "drop":
        raise InputError(
            "a transformer gives back all columns; let the weight become its mean, or keep it."
        )
    if (
        "effort" in {parameter.name for parameter in settings.chosen_method.parameters}
        and "effort" not in params
    ):
        settings = settings.but(effort="quick" if estimator.effort is None else estimator.effort)
    elif estimator.effort is not None:
        settings = settings.but(effort=estimator.effort)  # which says why not
    if settings.chosen_method.scope != "record":
        raise InputError(
            f"method {settings.method} groups each column on its own, so rows have no "
            f"group; choose another method."
        )
    if coarse := coarse_columns(settings.aggregates):
        raise InputError(
            f"column {coarse[0]!r} would become ranges or ancestors, which are no "
            f"values; choose another aggregate."
        )
    return settings.resolved()


def check_gaps(settings: Settings, gaps: np.ndarray, names: Sequence[str]) -> None:
    """Refuse missing cells where the settings do.

    >>> check_gaps(Settings.of(k=2), np.array([[True]]), ["age"])
    """
    if settings.missing == "error" and gaps.any():
        row, column = np.argwhere(gaps)[0]
        raise InputError(
            sentence(
                f"column {names[column]!r}, row {row + 1}: missing value; fill it in, or say ",
                Assignment("missing", "group"),
                ".",
            )
        )


def _seed_of(random_state: Any) -> int | None:
    if random_state is None:
        return None
    if isinstance(random_state, int | np.integer):
        return int(random_state)
    return int(check_random_state(random_state).randint(np.iinfo(np.int32).max))

"""The way in: the transformer, or, without scikit-learn, a class that says what to install."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from microagg.errors import InputError, needs_extra

NEEDED = needs_extra("Microaggregator needs", "scikit-learn 1.6 or newer", "sklearn")

if TYPE_CHECKING:
    from microagg.estimator.microaggregator import Microaggregator
else:
    try:
        from microagg.estimator.microaggregator import Microaggregator
    except ImportError as error:
        if (error.name or "").partition(".")[0] != "sklearn":
            raise

        class Microaggregator:
            """Needs scikit-learn, which is not installed: pip install 'microagg[sklearn]'."""

            def __init__(self, *_: Any, **__: Any) -> None:
                raise InputError(NEEDED)


__all__ = ["NEEDED", "Microaggregator"]

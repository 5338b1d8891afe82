"""microagg: confidential microdata made publishable, with k-anonymous groups and as little loss as possible.

>>> import microagg as ma
>>> labels = ma.partition([[1.0], [1.1], [9.0], [9.2]], k=2)
>>> labels.tolist()
[0, 0, 1, 1]
"""

from __future__ import annotations

import importlib
import logging
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

logging.getLogger("microagg").addHandler(logging.NullHandler())  # steps and numbers, for those who listen

if TYPE_CHECKING:
    from microagg import datasets
    from microagg.bounds.lower import lower_bound
    from microagg.engine.run import partition
    from microagg.errors import Cancelled, GuaranteeError, InputError, MicroaggError
    from microagg.estimator.microaggregator import Microaggregator
    from microagg.guarantees.check import check
    from microagg.measures.loss.sse import information_loss
    from microagg.methods.registry import methods
    from microagg.release.files import anonymize_file
    from microagg.release.release import Release, anonymize
    from microagg.release.settings import Settings
    from microagg.studies.assess import assess
    from microagg.studies.compare import compare
    from microagg.table.proposal import propose

# Every public name and its room. Nothing is imported before it is used: `import microagg` stays quick.
_HOMES = {
    "anonymize": "microagg.release.release",
    "anonymize_file": "microagg.release.files",
    "Release": "microagg.release.release",
    "Microaggregator": "microagg.estimator.door",
    "Settings": "microagg.release.settings",
    "propose": "microagg.table.proposal",
    "partition": "microagg.engine.run",
    "information_loss": "microagg.measures.loss.sse",
    "lower_bound": "microagg.bounds.lower",
    "check": "microagg.guarantees.check",
    "assess": "microagg.studies.assess",
    "compare": "microagg.studies.compare",
    "methods": "microagg.methods",  # the package itself can be called
    "datasets": "microagg.datasets",
    "MicroaggError": "microagg.errors",
    "InputError": "microagg.errors",
    "GuaranteeError": "microagg.errors",
    "Cancelled": "microagg.errors",
}

__all__ = [
    "Cancelled",
    "GuaranteeError",
    "InputError",
    "MicroaggError",
    "Microaggregator",
    "Release",
    "Settings",
    "__version__",
    "anonymize",
    "anonymize_file",
    "assess",
    "check",
    "compare",
    "datasets",
    "information_loss",
    "lower_bound",
    "methods",
    "partition",
    "propose",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'microagg' has no attribute {name!r}")
    home = importlib.import_module(_HOMES[name])
    return home if name in ("methods", "datasets") else getattr(home, name)


def __dir__() -> list[str]:
    return sorted(__all__)

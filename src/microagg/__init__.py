"""microagg: publishable versions of confidential microdata, k-anonymous with little loss.

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

# logs steps and counts, silent unless the application configures logging
logging.getLogger("microagg").addHandler(logging.NullHandler())

if TYPE_CHECKING:
    from microagg import datasets
    from microagg.bounds.lower import lower_bound
    from microagg.errors import Cancelled, CancelledError, GuaranteeError, InputError, MicroaggError
    from microagg.estimator.microaggregator import Microaggregator
    from microagg.guarantees.check import check
    from microagg.measures.loss.sse import information_loss
    from microagg.methods.registry import methods
    from microagg.pipeline.anonymize import anonymize
    from microagg.pipeline.exposure import exposure
    from microagg.pipeline.files import anonymize_file
    from microagg.pipeline.preview import preview
    from microagg.pipeline.run_method import partition
    from microagg.proposal.proposal import propose
    from microagg.release.release import Release
    from microagg.release.settings import Settings
    from microagg.studies.assess import assess
    from microagg.studies.attacks.attack import attack
    from microagg.studies.compare import compare

# The module of every public name. Names are imported on first use, so that `import microagg` is
# fast.
_HOMES = {
    "anonymize": "microagg.pipeline.anonymize",
    "anonymize_file": "microagg.pipeline.files",
    "Release": "microagg.release.release",
    "Microaggregator": "microagg.estimator.lazy_import",
    "Settings": "microagg.release.settings",
    "propose": "microagg.proposal.proposal",
    "exposure": "microagg.pipeline.exposure",
    "preview": "microagg.pipeline.preview",
    "partition": "microagg.pipeline.run_method",
    "information_loss": "microagg.measures.loss.sse",
    "lower_bound": "microagg.bounds.lower",
    "attack": "microagg.studies.attacks.attack",
    "check": "microagg.guarantees.check",
    "assess": "microagg.studies.assess",
    "compare": "microagg.studies.compare",
    "methods": "microagg.methods",  # the package itself can be called
    "datasets": "microagg.datasets",
    "MicroaggError": "microagg.errors",
    "InputError": "microagg.errors",
    "GuaranteeError": "microagg.errors",
    "Cancelled": "microagg.errors",  # alias of CancelledError
    "CancelledError": "microagg.errors",
}

__all__ = [
    "Cancelled",
    "CancelledError",
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
    "attack",
    "check",
    "compare",
    "datasets",
    "exposure",
    "information_loss",
    "lower_bound",
    "methods",
    "partition",
    "preview",
    "propose",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'microagg' has no attribute {name!r}")
    home = importlib.import_module(_HOMES[name])
    return home if name in ("methods", "datasets") else getattr(home, name)


def __dir__() -> list[str]:
    return sorted(__all__)

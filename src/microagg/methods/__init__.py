"""Every published method, one file each. Calling the package lists them: `microagg.methods()`."""

from __future__ import annotations

import sys
import types
from typing import Any


class _CallableModule(types.ModuleType):
    """The public name `microagg.methods` is both this package and the function that lists the
    registry.
    """

    def __call__(self) -> Any:
        from microagg.methods.registry import methods

        return methods()


sys.modules[__name__].__class__ = _CallableModule

"""A made-up setting, as a contributor would add it: one field, one line in two signatures.

`install` changes the source of these two modules while they are imported, in a process of its own.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import sys
from typing import Any

FIELD = """    purpose: str = declared(
        Choice("purpose", ("research", "teaching"), "research", "What the release is for."),
        Group.METHOD,
        public=True,
    )
    rest: str = declared(REST, Group.ROLES, public=False)
"""
EDITS = {
    "microagg.release.settings": (
        ("    rest: str = declared(REST, Group.ROLES, public=False)\n", FIELD),
        ("    rest: str\n", "    purpose: str\n    rest: str\n"),
    ),
    "microagg.pipeline.anonymize": (
        (
            '    rest: str = "error",\n',
            '    purpose: str = "research",\n    rest: str = "error",\n',
        ),
    ),
}


class EditedLoader(importlib.machinery.SourceFileLoader):
    """Loader of a module whose source has one more setting."""

    def get_code(self, fullname: str) -> Any:
        """Return the code of the edited source, never what was compiled before."""
        path = self.get_filename(fullname)
        source = self.get_data(path).decode("utf-8")
        for before, after in EDITS[fullname]:
            if source.count(before) != 1:
                raise AssertionError(f"{fullname} no longer has the line that the recipe names")
            source = source.replace(before, after)
        return self.source_to_code(source.encode("utf-8"), path)


class EditedModules(importlib.abc.MetaPathFinder):
    """Finder of the two modules."""

    def find_spec(self, fullname: str, path: Any, target: Any = None) -> Any:
        """Return the usual specification with the loader that edits."""
        if fullname not in EDITS:
            return None
        spec = importlib.machinery.PathFinder.find_spec(fullname, path)
        if spec is not None and spec.origin is not None:
            spec.loader = EditedLoader(fullname, spec.origin)
        return spec


def install() -> None:
    """Edit the modules; before anything of microagg is imported."""
    if any(name in sys.modules for name in EDITS):
        raise AssertionError("too late")
    sys.meta_path.insert(0, EditedModules())

"""An empty figure to draw on, in matplotlib's own defaults: the user's settings and backend stay as
they are.

Figures are made without pyplot, which would choose a backend for the whole process.
"""

from __future__ import annotations

import contextlib
import logging
import threading
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from microagg.errors import InputError, needs_extra
from microagg.files.commit.overwrite_guard import check_other_kind, is_png, is_svg
from microagg.files.commit.writing import check_unwritable, replace_whole

NEEDED = needs_extra("pictures need", "matplotlib", "plots")
SETTINGS = {
    "svg.fonttype": "none",  # text stays text: small, sharp, found by a search
    "text.parse_math": False,  # a name with two $ is no formula
}
_one_at_a_time = threading.Lock()  # matplotlib takes settings from one place for all threads


def can_draw() -> bool:
    """Whether matplotlib is there."""
    with _one_at_a_time, _without_log():
        try:
            import matplotlib.figure  # noqa: F401  to see whether it can be imported
        except ImportError:
            return False
    return True


@contextlib.contextmanager
def _without_log() -> Iterator[None]:
    """Within, matplotlib logs no warnings: of a home folder that cannot be written to, or fonts
    that it looks for.
    """
    logger = logging.getLogger("matplotlib")
    before = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(before)


@contextlib.contextmanager
def blank_figure(
    inches: tuple[float, float], settings: Mapping[str, Any] | None = None
) -> Iterator[Any]:
    """A figure to be drawn on and saved within the `with`; `settings` (rcParams) hold for this
    figure only.

    >>> with blank_figure((4.0, 3.0), {"font.size": 9.0}) as figure:
    ...     axes = figure.add_subplot()
    """
    if not can_draw():
        raise InputError(NEEDED)
    import matplotlib
    from matplotlib.figure import Figure

    with _one_at_a_time, _without_log(), matplotlib.rc_context(), warnings.catch_warnings():
        # letters that the font of the layout lacks: the reader's page has others
        warnings.simplefilter("ignore")
        matplotlib.rcdefaults()
        known: Any = matplotlib.rcParams  # its types list every name
        known.update({**SETTINGS, **(settings or {})})
        yield Figure(figsize=inches, layout="constrained")


def check_picture_place(path: Path) -> None:
    """Make sure that a picture can be written there, and takes the place of a picture at most."""
    check_unwritable(path)
    recognise = {".svg": is_svg, ".png": is_png}.get(path.suffix.lower(), bool)
    check_other_kind(path, f"a picture ({path.suffix})", recognise)


def write_picture(path: Path, content: bytes, *, private: bool = False) -> None:
    """Put a picture in place, whole or not at all."""
    check_picture_place(path)
    replace_whole(path, lambda part: part.write_bytes(content), private=private)

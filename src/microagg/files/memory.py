"""How much memory is free for this process: on the machine, in its container, and within its own
limits.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

UNKNOWN = 1 << 30
"""Bytes that are taken for free where nobody tells."""
MACHINE = Path("/proc/meminfo")
GROUPS = Path("/sys/fs/cgroup")


def available_memory() -> int:
    """Return how many bytes this process can still take: the least of all limits that are known.

    >>> available_memory() > 0
    True
    """
    left = [*_left_on_machine(), *_left_in_groups(), *_left_of_addresses()]
    return max(0, min(left, default=UNKNOWN))


def _left_on_machine() -> Iterator[int]:
    with contextlib.suppress(OSError, ValueError, IndexError):
        for line in MACHINE.read_text("ascii").splitlines():
            if line.startswith("MemAvailable:"):
                yield int(line.split()[1]) * 1024
                return
    with contextlib.suppress(OSError, ValueError, AttributeError):
        yield os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2


def _left_in_groups() -> Iterator[int]:
    """What control groups leave, as containers and batch systems set them: this process's own, and
    those around it.
    """
    with contextlib.suppress(OSError, ValueError):
        for line in Path("/proc/self/cgroup").read_text("utf-8").splitlines():
            _, controllers, inside = line.split(":", 2)
            if not controllers:
                yield from _left_in(GROUPS, inside, "memory.max", "memory.current")
            elif "memory" in controllers.split(","):
                root = GROUPS / "memory"
                yield from _left_in(root, inside, "memory.limit_in_bytes", "memory.usage_in_bytes")


def _left_in(root: Path, inside: str, limit: str, usage: str) -> Iterator[int]:
    folder = root / inside.strip("/")
    for place in (folder, *folder.parents):
        with contextlib.suppress(OSError, ValueError):  # "max" is no number
            most, held = (int((place / name).read_text("ascii")) for name in (limit, usage))
            yield most - held + _reclaimable(place)
        if place == root:
            return


def _reclaimable(group: Path) -> int:
    """Bytes of files that the system keeps in memory and gives up when somebody needs room."""
    with contextlib.suppress(OSError, ValueError):
        for line in (group / "memory.stat").read_text("ascii").splitlines():
            name, _, value = line.partition(" ")
            if name in ("inactive_file", "total_inactive_file"):
                return int(value)
    return 0


def _left_of_addresses() -> Iterator[int]:
    """What `ulimit -v` leaves."""
    with contextlib.suppress(ImportError, OSError, ValueError):
        import resource

        most = resource.getrlimit(resource.RLIMIT_AS)[0]
        if most != resource.RLIM_INFINITY:
            pages = int(Path("/proc/self/statm").read_text("ascii").split()[0])
            yield most - pages * resource.getpagesize()

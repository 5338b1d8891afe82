"""Free memory by what the system says of it: the machine, its control groups, the process."""

from __future__ import annotations

import resource
from pathlib import Path

import pytest

from microagg.files import memory


@pytest.fixture
def system(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the files that the system would have."""
    real = Path

    def mapped(path: str) -> Path:
        return (
            tmp_path / path.strip("/").replace("/", "-") if path.startswith("/proc") else real(path)
        )

    monkeypatch.setattr(memory, "Path", mapped)
    monkeypatch.setattr(memory, "MACHINE", tmp_path / "meminfo")
    monkeypatch.setattr(memory, "GROUPS", tmp_path / "groups")
    return tmp_path


def group(folder: Path, names: tuple[str, str], most: str, used: int, cached: str = "") -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, value in zip(names, (most, used), strict=True):
        (folder / name).write_text(f"{value}\n")
    if cached:
        (folder / "memory.stat").write_text(f"anon 7\n{cached}\nother 9\n")


NEW = ("memory.max", "memory.current")
OLD = ("memory.limit_in_bytes", "memory.usage_in_bytes")


def test_groups_of_the_process_and_their_parents_count(system: Path) -> None:
    (system / "proc-self-cgroup").write_text("0::/jobs:1/one\n7:cpu,memory:/old\n3:cpu:/none\n")
    group(system / "groups" / "jobs:1" / "one", NEW, "max", 10)
    group(system / "groups" / "jobs:1", NEW, "5000", 3000, "inactive_file 500")
    group(system / "groups", NEW, "9000", 3000)
    group(system / "groups" / "memory" / "old", OLD, "8000", 1000, "total_inactive_file 30")
    assert list(memory._left_in_groups()) == [2500, 6000, 7030]


@pytest.mark.parametrize("text", ["", "nonsense", "0:/jobs"])
def test_without_groups_nothing_limits(system: Path, text: str) -> None:
    assert list(memory._left_in_groups()) == []
    (system / "proc-self-cgroup").write_text(text)
    assert list(memory._left_in_groups()) == []


def test_memory_of_the_machine(system: Path) -> None:
    (system / "meminfo").write_text("MemTotal: 9 kB\nMemAvailable:  20 kB\nMemFree: 1 kB\n")
    assert list(memory._left_on_machine()) == [20 * 1024]
    half = memory.os.sysconf("SC_PAGE_SIZE") * memory.os.sysconf("SC_PHYS_PAGES") // 2
    for text in ("MemTotal: 9 kB\n", "MemAvailable:\n", "MemAvailable: x kB\n"):
        (system / "meminfo").write_text(text)
        assert list(memory._left_on_machine()) == [half]
    (system / "meminfo").unlink()
    assert list(memory._left_on_machine()) == [half]


def test_address_space_that_is_left(system: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (system / "proc-self-statm").write_text("100 50 3\n")
    limits = {"most": resource.RLIM_INFINITY}
    monkeypatch.setattr(resource, "getrlimit", lambda kind: (limits["most"], -1))
    assert list(memory._left_of_addresses()) == []
    limits["most"] = 10**9
    assert list(memory._left_of_addresses()) == [10**9 - 100 * resource.getpagesize()]


def test_the_least_counts_and_is_never_negative(monkeypatch: pytest.MonkeyPatch) -> None:
    parts = {"_left_on_machine": [7], "_left_in_groups": [5, 9], "_left_of_addresses": [6]}
    for name, values in parts.items():
        monkeypatch.setattr(memory, name, lambda values=values: iter(values))
    assert memory.available_memory() == 5
    parts["_left_in_groups"][0] = -3
    assert memory.available_memory() == 0
    for values in parts.values():
        values.clear()
    assert memory.available_memory() == memory.UNKNOWN

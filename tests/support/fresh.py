"""Fresh environments for the tests of the package: with the core dependencies alone, and of other
interpreters.
"""

from __future__ import annotations

import importlib.metadata
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
OLDEST = (3, 11)


def core_distributions() -> list[importlib.metadata.Distribution]:
    """Return the distributions that `pip install microagg` brings along, and those that they bring
    along: no extra.
    """
    distributions: dict[str, importlib.metadata.Distribution] = {}
    waiting = [
        requirement
        for requirement in importlib.metadata.requires("microagg") or []
        if "extra ==" not in requirement
    ]
    while waiting:
        wanted = waiting.pop()
        if (
            "extra ==" in wanted
            or ("python_version" in wanted and "<" in wanted)
            or "win32" in wanted
            or "Windows" in wanted
        ):
            continue
        name = re.sub(r"[-_.]+", "-", re.split(r"[\s<>=!~;\[(]", wanted)[0]).lower()
        if name not in distributions:
            distributions[name] = importlib.metadata.distribution(name)
            waiting += distributions[name].requires or []
    return list(distributions.values())


def environment_of_core(folder: Path, wheel: Path) -> Path:
    """A fresh environment with the wheel, and links to the core dependencies of this one; returns
    its python.

    Installing them again would take a minute, and they would be the same files.
    """
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    python = folder / "bin" / "python"
    (site,) = folder.glob("lib/python3.*/site-packages")
    for distribution in core_distributions():
        base = Path(str(distribution.locate_file("")))
        for top in {Path(str(file)).parts[0] for file in distribution.files or []} - {".."}:
            if not (site / top).exists() and (base / top).exists() and top != "__pycache__":
                (site / top).symlink_to(base / top)
    install(python, wheel)
    return python


def install(python: Path, *what: Path | str, dependencies: bool = False) -> None:
    """Install with this environment's pip and the machine's own configuration; a wheel alone needs
    no index.
    """
    alone = [] if dependencies else ["--no-deps", "--no-index"]
    subprocess.run(
        [
            sys.executable,
            "-m",
            "pip",
            "--python",
            python,
            "install",
            "--quiet",
            "--disable-pip-version-check",
            *alone,
            *what,
        ],
        check=True,
        env={**os.environ, "PYTHONWARNINGS": "ignore"},
    )


def keep_compiled(python: Path) -> None:
    """Let an environment of this very interpreter have the kernels that are compiled here
    already.
    """
    (site,) = python.parent.parent.glob("lib/python3.*/site-packages/microagg")
    for compiled in (ROOT / "src" / "microagg").rglob("*.nb[ci]"):
        target = site / compiled.relative_to(ROOT / "src" / "microagg")
        target.parent.mkdir(exist_ok=True)
        shutil.copy2(compiled, target)


def interpreters() -> dict[str, Path]:
    """Every Python of this machine that microagg is for, by its version; those of pyenv
    included.
    """
    homes = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    candidates = [shutil.which(f"python3.{minor}") for minor in range(OLDEST[1], 30)]
    candidates += [str(path) for path in sorted(homes.glob("*/bin/python3"))]
    paths: dict[str, Path] = {}
    for candidate in [sys.executable, *candidates]:
        if candidate is None:
            continue
        completed = subprocess.run(
            [candidate, "-c", "import sys, venv; print(*sys.version_info[:2])"],
            capture_output=True,
            text=True,
            check=False,
        )
        if (
            completed.returncode == 0
            and (version := tuple(map(int, completed.stdout.split()))) >= OLDEST
        ):
            paths.setdefault(".".join(map(str, version)), Path(candidate))
    return paths

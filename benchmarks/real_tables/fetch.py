"""Fetch the tables of `expectations.toml` from R packages of Debian and from Python packages.

    python benchmarks/real_tables/fetch.py FOLDER

Packages are named, never hosts: `apt-get download` and `pip install` take them from whatever
registries the machine is set up for. Needs `apt-get` and `dpkg-deb`; R itself is not needed.
Everything, a virtual environment for the readers included, stays in FOLDER. Each table becomes
FOLDER/tables/NAME.csv, written as R's write.csv writes it: row names that are text come first,
missing values are NA. Files of other programs (SPSS) are copied as they are.
"""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

HERE = Path(__file__).parent
READERS = ("rdata", "statsmodels", "scikit-learn", "pandas")


def main(folder: Path) -> None:
    """Download what is not there yet, unpack it, and write the tables."""
    folder.mkdir(parents=True, exist_ok=True)
    tables = tomllib.loads((HERE / "expectations.toml").read_text("utf-8"))
    for package in sorted({table["package"] for table in tables.values()}):
        if package.startswith("r-"):
            _unpack(package, folder)
    python = _environment(folder / "environment")
    subprocess.run([python, str(HERE / "convert.py"), str(folder)], check=True)


def _unpack(package: str, folder: Path) -> None:
    """Download a Debian package and unpack it, without installing anything."""
    target = folder / "packages" / package
    if target.exists():
        return
    downloads = folder / "downloads"
    downloads.mkdir(exist_ok=True)
    subprocess.run(["apt-get", "download", "-q", package], cwd=downloads, check=True)
    archive = next(downloads.glob(f"{package}_*.deb"))
    target.mkdir(parents=True)
    subprocess.run(["dpkg-deb", "-x", str(archive), str(target)], check=True)


def _environment(folder: Path) -> str:
    """Return the interpreter of an environment that can read R's formats."""
    python = folder / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
        subprocess.run([str(python), "-m", "pip", "install", "-q", *READERS], check=True)
    return str(python)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(Path(sys.argv[1]).resolve())

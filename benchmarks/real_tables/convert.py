"""Write tables of unpacked R packages and of Python packages as csv; run by fetch.py in its
environment.
"""

from __future__ import annotations

import bz2
import gzip
import importlib
import lzma
import shutil
import sys
import tomllib
import warnings
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd
import rdata

HERE = Path(__file__).parent
LENGTH = 4  # bytes before a compressed object that give its size


def main(folder: Path) -> None:
    """Write every table of the list that is not there yet."""
    warnings.simplefilter("ignore")
    target = folder / "tables"
    target.mkdir(exist_ok=True)
    tables = tomllib.loads((HERE / "expectations.toml").read_text("utf-8"))
    for name, table in tables.items():
        _write(name, table, folder, target)


def _write(name: str, table: Mapping[str, Any], folder: Path, target: Path) -> None:
    if "file" in table:
        source = next((folder / "packages" / table["package"]).rglob(table["file"]))
        shutil.copy(source, target / f"{name}{source.suffix}")
        return
    path = target / f"{name}.csv"
    if path.exists():
        return
    if table["package"].startswith("r-"):
        frame = _of_r(folder / "packages" / table["package"], table["object"])
        texts = not all(str(label).isdigit() for label in frame.index)
    else:
        frame, texts = _of_python(table["package"], table["object"]), False
    frame = frame.iloc[: table.get("records", len(frame))]
    frame.to_csv(path, index=texts, index_label="" if texts else None, na_rep="NA")


def _of_r(package: Path, name: str) -> pd.DataFrame:
    """Return a data frame of an R package, from its lazy-load database or from a file of its
    own.
    """
    for index in package.rglob("data/Rdata.rdx"):
        variables = _parsed(_unpacked(index.read_bytes()))["variables"]
        if name in variables:
            start, length = map(int, variables[name])
            stored = index.with_suffix(".rdb").read_bytes()[start : start + length]
            return _parsed(_object(stored))
    files = sorted(
        package.rglob("data/*"), key=lambda path: (path.name.split(".")[0] != name, path)
    )
    for path in files:
        if path.suffix.lower() in (".rda", ".rdata"):
            objects = rdata.conversion.convert(rdata.parser.parse_file(str(path)))
            if name in objects:
                return objects[name]
        elif path.name.split(".")[0] == name:
            return pd.read_csv(path, sep=None, engine="python")
    raise SystemExit(f"{package.name} has no table {name}")


def _parsed(data: bytes) -> Any:
    return rdata.conversion.convert(rdata.parser.parse_data(data))


def _unpacked(data: bytes) -> bytes:
    return gzip.decompress(data) if data[:2] == b"\x1f\x8b" else zlib.decompress(data)


def _object(stored: bytes) -> bytes:
    """Return the serialised bytes of an object: a size, a letter where it is no zlib, the
    stream.
    """
    kind, body = stored[LENGTH : LENGTH + 1], stored[LENGTH + 1 :]
    if kind == b"2":
        return bz2.decompress(body)
    if kind == b"Z":
        filters = [{"id": lzma.FILTER_LZMA2, "preset": 6}]
        return lzma.decompress(body, format=lzma.FORMAT_RAW, filters=filters)
    return zlib.decompress(stored[LENGTH:])


def _of_python(package: str, name: str) -> pd.DataFrame:
    """Return a table that statsmodels or scikit-learn ship with themselves."""
    if package == "statsmodels":
        module = importlib.import_module(f"statsmodels.datasets.{name}")
        return module.load_pandas().data
    return getattr(importlib.import_module("sklearn.datasets"), f"load_{name}")(as_frame=True).frame


if __name__ == "__main__":
    main(Path(sys.argv[1]))

"""Cases of the fuzzer. Each kind is a function of a source of chance and an empty folder; it raises
a `Finding` or returns.
"""

from __future__ import annotations

import functools
import json
import random
import shutil
import tempfile
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet

import microagg as ma
import tables
from fuzz import hostile, mixed_cases
from fuzz.judging import call, command, judged
from microagg.release.settings import Settings
from microagg.studies.assess import assess

METHODS = ["mdav", "mdav", "mdav", "v-mdav", "max-distance", "individual-ranking", "auto"]
FLAGS = ["--refine", "--keep-order", "--exact", "--escape-formulas", "--no-header"]
WORDS = [
    "",
    "0",
    "1",
    "2",
    "3",
    "-1",
    "2.5",
    "1e9",
    "nan",
    "inf",
    "x",
    "age",
    "q0",
    "q1",
    "q0,q1",
    '"',
    "a\x1b[31mb",
    "9" * 30,
    "mdav",
    "zscore",
    "rank",
    "full",
    "distinct",
    "entropy",
    "recursive",
    "0.5",
    "2024-01-01",
    "gamma=1",
    "=",
    "keep",
    "drop",
    "--",
    "-",
    "..",
    "/",
    "x" * 300,
    "é",
    "\udcff",
    "--header",
]


def play(seed: int, folder: Path) -> str:
    """Run the case of this number in an empty folder; returns what kind it was."""
    kind = KINDS[seed % len(KINDS)]
    with judged():
        kind(random.Random(seed), folder)
    return kind.__name__


def csv(rng: random.Random, folder: Path) -> None:
    """A csv file, and any command."""
    content, names, fused = hostile.csv_bytes(rng)
    hostile.write(folder / "in.csv", content)
    _any_command(rng, folder, "in.csv", names, fused=fused)


def parquet_file(rng: random.Random, folder: Path) -> None:
    """A parquet file of any types, perhaps damaged, and any command."""
    table = hostile.arrow_table(rng)
    path = folder / "in.parquet"
    try:
        parquet.write_table(table, path)
    except Exception:  # a table that cannot be such a file: what is left of it is a damaged one
        path.write_bytes(b"PAR1" + rng.randbytes(50))
    hostile.write(path, hostile.changed(rng, path.read_bytes(), chance=0.2))
    _any_command(rng, folder, "in.parquet", list(dict.fromkeys(table.column_names)))


def frame(rng: random.Random, folder: Path) -> None:
    """A table of some library, released, checked and assessed."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of those who make it, not of ours
        table = hostile.frame(rng)
    role = rng.choice(["keep", "confidential", "identifier"])
    named = {"l": 2} if role == "confidential" and rng.random() < 0.3 else {}
    names = table.column_names if isinstance(table, pa.Table) else getattr(table, "columns", [])
    others = [name for name in names if isinstance(name, str) and name != "age"]
    quasi = ["age"] if rng.random() < 0.8 else ["age", *others[:1]]
    rest = [name for name in others if name not in quasi]
    release = call(
        ma.anonymize,
        table,
        3,
        quasi,
        **{role: rest},
        method=rng.choice(METHODS[:4]),
        seed=1,
        **named,
    )
    if release is not None:
        call(release.save, folder / rng.choice(TARGETS))
        call(assess, table, release.table, quasi=quasi)
        repr(release)
    call(ma.check, table, quasi, 3, rest, **({"l": 2, "t": 0.5} if rest else {}))


def parameters(rng: random.Random, folder: Path) -> None:
    """Odd values for any parameter of a function."""
    table, points = _people(), np.random.default_rng(1).normal(size=(12, 2))
    usual: dict[str, Any] = {
        "k": 3,
        "quasi": ["age", "wage"],
        "confidential": ["ill"],
        "method": "mdav",
        "seed": 1,
    }
    names = [
        *Settings.parameters(),
        "threads",
        "progress",
        "settings",
        "effort",
        "gamma",
        "nonsense",
    ]
    for name in rng.sample(names, rng.choice([1, 1, 2])):
        usual[name] = rng.choice(hostile.ODD)
    if callable(usual.get("progress")):
        # what a function of the user raises is the user's
        usual["progress"] = lambda done, total: None
    which = rng.randrange(4)
    if which == 0:
        call(ma.anonymize, table, **usual)
    elif which == 1:
        call(
            ma.partition,
            points if rng.random() < 0.8 else rng.choice(hostile.ODD),
            **{
                name: value
                for name, value in usual.items()
                if name not in ("quasi", "confidential", "settings")
            },
        )
    elif which == 2:
        taken = ("k", "quasi", "confidential", "l", "t", "diversity", "c", "exact")
        call(ma.check, table, **{name: value for name, value in usual.items() if name in taken})
    else:
        call(Settings.of, **usual)


def words(rng: random.Random, folder: Path) -> None:
    """Odd words on the command line."""
    _write_people(folder / "in.csv")
    _any_command(rng, folder, "in.csv", ["age", "wage", "ill"], odd=rng.choice([1, 2, 4]))


def manifest(rng: random.Random, folder: Path) -> None:
    """An internal manifest that was tampered with, and `repeat`."""
    _copy_prepared(folder)
    content = json.loads((folder / "out.csv.internal.json").read_text("utf-8"))
    hostile.write(folder / "m.internal.json", hostile.json_bytes(rng, content))
    command(folder, "repeat", "m.internal.json", "in.csv", "again.csv")


def state(rng: random.Random, folder: Path) -> None:
    """The state of a comparison that was tampered with, and `compare`."""
    _copy_prepared(folder)
    lines = (folder / "state").read_bytes().splitlines(keepends=True)
    for index in range(1, len(lines)):
        if rng.random() < 0.7:
            lines[index] = hostile.json_bytes(rng, json.loads(lines[index])) + b"\n"
    hostile.write(folder / "state", hostile.changed(rng, b"".join(lines), chance=0.2))
    command(folder, *COMPARED)


def certificate(rng: random.Random, folder: Path) -> None:
    """A certificate that was tampered with, and `verify-bound`."""
    _copy_prepared(folder)
    content = json.loads((folder / "proof.json").read_text("utf-8"))
    hostile.write(folder / "proof.json", hostile.json_bytes(rng, content))
    if rng.random() < 0.2:
        hostile.write(
            folder / "in.csv", hostile.changed(rng, (folder / "in.csv").read_bytes(), chance=1.0)
        )
    command(folder, "verify-bound", "proof.json", "in.csv")


KINDS: list[Callable[[random.Random, Path], None]] = [
    csv,
    csv,
    parquet_file,
    parquet_file,
    frame,
    frame,
    parameters,
    parameters,
    words,
    manifest,
    state,
    certificate,
    mixed_cases.mixed_csv,
    mixed_cases.mixed_csv,
    mixed_cases.mixed_parquet,
    mixed_cases.mixed_frame,
    mixed_cases.mixed_frame,
    mixed_cases.mixed_manifest,
]

TARGETS = [f"out{ending}" for ending in tables.ENDINGS]
COMPARED = (
    "compare",
    "in.csv",
    "--k",
    "3",
    "--methods",
    "mdav",
    "--quasi",
    "age,wage",
    "--state",
    "state",
)


def _any_command(
    rng: random.Random,
    folder: Path,
    source: str,
    names: list[str],
    odd: int = 0,
    fused: Sequence[str] = (),
) -> None:
    quasi = _typed(names[:1] if rng.random() < 0.75 else rng.sample(names, min(len(names), 2)))
    target = rng.choice(["out.csv", *TARGETS])
    method = rng.choice(METHODS)
    by = ["--method", method, *(["--effort", "quick"] if method == "auto" else [])]
    many = [
        [
            "anonymize",
            source,
            target,
            "--k",
            "3",
            "--quasi",
            quasi,
            "--rest",
            rng.choice(["keep", "drop", "keep"]),
            *by,
        ],
        [
            "anonymize",
            source,
            target,
            "--k",
            "2",
            "--quasi",
            quasi,
            "--confidential",
            _typed(names[-1:]),
            "--rest",
            "drop",
            "--l",
            "2",
            *by,
        ],
        ["anonymize", source, target, "--k", "3"],
        ["check", source, "--k", "3", "--quasi", quasi],
        [
            "check",
            source,
            "--k",
            "2",
            "--quasi",
            quasi,
            "--confidential",
            _typed(names[-1:]),
            "--l",
            "2",
            "--t",
            "0.5",
        ],
        ["assess", source, source, "--quasi", quasi],
        ["assess", source, source],
        ["compare", source, "--k", "3", "--methods", "mdav", "--quasi", quasi],
    ]
    arguments = rng.choice(many)
    if rng.random() < 0.2:
        arguments = [*arguments, rng.choice(FLAGS)]
    if arguments[0] == "anonymize" and rng.random() < 0.3:
        arguments = [*arguments, "--report", rng.choice(["r.json", "r.md"])]
    for _ in range(odd):
        index = rng.randint(1, len(arguments))
        arguments[index : index + rng.choice([0, 1])] = [rng.choice(WORDS)]
    if not any("\0" in word for word in arguments):  # no shell can type it
        command(folder, *arguments, fused=fused)


def _typed(names: list[str]) -> str:
    return ",".join('"' + name.replace('"', '""') + '"' for name in names)


def _people() -> pa.Table:
    rng = random.Random(0)
    return pa.table(
        {
            "age": [hostile.number(rng) for _ in range(12)],
            "wage": [float(hostile.number(rng)) for _ in range(12)],
            "ill": [f"canary-{i % 4}" for i in range(12)],
        }
    )


def _write_people(path: Path) -> None:
    table = _people()
    rows = [
        table.column_names,
        *([str(value) for value in row.values()] for row in table.to_pylist()),
    ]
    path.write_text("".join(",".join(row) + "\n" for row in rows), "utf-8")


@functools.cache
def _prepared() -> Path:
    """A folder with a table, its release, the state of a comparison and a certificate."""
    folder = Path(tempfile.mkdtemp(prefix="microagg-fuzz-"))
    _write_people(folder / "in.csv")
    roles = ["--k", "3", "--quasi", "age,wage"]
    command(
        folder,
        "anonymize",
        "in.csv",
        "out.csv",
        *roles,
        "--confidential",
        "ill",
        "--method",
        "mdav",
        "--seed",
        "1",
    )
    command(folder, *COMPARED)
    command(folder, "bound", "in.csv", *roles, "--time-limit", "2", "--save", "proof.json")
    return folder


def _copy_prepared(folder: Path) -> None:
    for path in _prepared().iterdir():
        shutil.copy(path, folder / path.name)


def warm() -> None:
    """Compile, and write what others are made from, before any clock runs."""
    for method in dict.fromkeys(METHODS):
        for more in ({}, {"refine": True}) if method != "individual-ranking" else ({},):
            params = {"effort": "quick"} if method == "auto" else {}
            ma.anonymize(
                _people(), 3, ["age", "wage"], rest="drop", method=method, seed=1, **more, **params
            )
    ma.anonymize(
        _people(), 3, ["age", "wage"], confidential=["ill"], l=2, t=0.9, method="mdav", seed=1
    )
    assess(_people(), _people(), quasi=["age", "wage"], confidential=["ill"])
    mixed_cases.warm()
    _prepared()

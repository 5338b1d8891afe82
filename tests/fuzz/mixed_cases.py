"""Cases of mixed tables: commands and calls with hostile settings; whatever comes out is counted
without microagg, and repeated.
"""

from __future__ import annotations

import json
import random
import shutil
import tempfile
import warnings
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as parquet

import microagg as ma
from fuzz import hostile, mixed
from fuzz.judging import Finding, call, columns_of, command
from microagg.release.settings import Settings
from microagg.studies.assess import assess

METHODS = ["mdav", "mdav", "mdav", "v-mdav", "auto"]
RISKS = "true-values,full-precision"


def mixed_csv(rng: random.Random, folder: Path) -> None:
    """A csv file of a mixed table, and a command with settings of all sorts."""
    columns = mixed.table(rng)
    text = mixed.csv_text(rng, columns)
    hostile.write(folder / "in.csv", text.encode("utf-8", "replace"))
    _commands(rng, folder, "in.csv", columns)


def mixed_parquet(rng: random.Random, folder: Path) -> None:
    """The same as a parquet file."""
    columns = mixed.table(rng)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            parquet.write_table(mixed.arrow(rng, columns), folder / "in.parquet")
        except (pa.ArrowException, OverflowError, ValueError, TypeError):
            return  # no table to begin with
    _commands(rng, folder, "in.parquet", columns)


def _commands(rng: random.Random, folder: Path, source: str, columns: list[mixed.Column]) -> None:
    names = [column.name for column in columns]
    quasi = names if rng.random() < 0.5 else names[: rng.randint(1, len(names))]
    k, target = rng.choice([2, 3, 3, 7]), rng.choice(["out.csv", "out.csv", "out.parquet"])
    method, more = rng.choice(METHODS), mixed.options(rng, columns, folder)
    roles = [word for name in quasi for word in ("--quasi", _in_quotes(name))]
    what = rng.random()
    if what < 0.1:
        return _study(rng, folder, source, roles, more, k)
    by = ["--method", method, *(["--effort", "quick"] if method == "auto" else [])]
    others = names[len(quasi) :]
    rest = (
        ["--confidential", _in_quotes(others[-1]), "--l", "2"]
        if others and rng.random() < 0.4
        else []
    )
    arguments = [
        "anonymize",
        source,
        target,
        "--k",
        str(k),
        *roles,
        *rest,
        "--rest",
        rng.choice(["keep", "drop"]),
        "--accept-risk",
        RISKS,
        *by,
        *more,
    ]
    if rng.random() < 0.3:
        arguments += ["--report", rng.choice(["r.json", "r.md"])]
    if command(folder, *arguments) != 0:
        return None
    _count(folder, source, target, columns, quasi, k, arguments)
    again = f"again{Path(target).suffix}"
    if command(folder, "repeat", f"{target}.internal.json", source, again) != 0:
        raise Finding(f"cannot be repeated: {arguments}")
    if (folder / again).read_bytes() != (folder / target).read_bytes():
        raise Finding(f"repeated otherwise: {arguments}")
    return None


def _in_quotes(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _study(
    rng: random.Random, folder: Path, source: str, roles: list[str], more: list[str], k: int
) -> None:
    """Commands that look at a table and release nothing."""
    kept, skipped = (
        [],
        (
            "--aggregate",
            "--missing",
            "--precision",
            "--cap",
            "--hierarchy",
            "--scale",
            "--importance",
        ),
    )
    for option, word in zip(more[::2], more[1::2], strict=False):
        kept += [] if option in skipped else [option, word]
    which = rng.randrange(3)
    if which == 0:
        command(folder, "check", source, "--k", str(k), *roles, *kept)
    elif which == 1:
        command(folder, "assess", source, source, *roles, *kept)
    else:
        command(folder, "compare", source, "--k", str(k), "--methods", "mdav", *roles, *kept)


def _count(
    folder: Path,
    source: str,
    target: str,
    columns: list[mixed.Column],
    quasi: list[str],
    k: int,
    arguments: list[str],
) -> None:
    """Classes of at least k, and no text that its column did not have, unless it was to be made
    coarser.
    """
    before, after = columns_of(folder / source), columns_of(folder / target)
    rows = list(zip(*(after[name] for name in quasi), strict=True))
    if mixed.smallest(rows) < k:
        raise Finding(f"a class below k: {arguments}")
    for column in columns:
        coarse = any(f"{column.name}={word}" in arguments for word in ("range", "generalise"))
        if column.name in quasi and column.sort in ("texts", "order") and not coarse:
            odd = (
                {str(cell or "") for cell in after[column.name]}
                - {str(cell or "") for cell in before[column.name]}
                - {""}
            )
            if odd:
                raise Finding(
                    f"a text that column {column.name!r} did not have: {sorted(odd)}, {arguments}"
                )


def mixed_frame(rng: random.Random, folder: Path) -> None:
    """A mixed table of some library, released with settings as Python takes them."""
    columns = mixed.table(rng)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of those who make it, not of ours
        try:
            table = mixed.frame(rng, columns)
        except (pa.ArrowException, OverflowError, ValueError, TypeError):
            return
    names = [column.name for column in columns]
    quasi = names[: rng.randint(1, len(names))]
    k, settings = rng.choice([2, 3, 7]), mixed.random_settings(rng, columns, folder)
    method = rng.choice(METHODS)
    params = {"effort": "quick"} if method == "auto" else {}
    named = {
        "quasi": quasi,
        "rest": "keep",
        "method": method,
        "seed": 1,
        "accept_risk": RISKS.split(","),
    }
    if len(names) > len(quasi) and rng.random() < 0.3:
        named |= {"confidential": names[-1:], "l": 2}
    release = call(ma.anonymize, table, k, **{**named, **settings}, **params)
    if release is None:
        return
    _judge_frame(table, release, quasi, k, settings)
    call(release.save, folder / rng.choice(["out.csv", "out.parquet"]))
    call(release.report, folder / "r.public.md", public=True)
    call(release.report, folder / "r.internal.json")
    call(assess, table, release.table, quasi=quasi)
    repr(release)


def _judge_frame(
    table: Any, release: Any, quasi: list[str], k: int, options: dict[str, Any]
) -> None:
    """Classes of at least k; types as they were; the same again from settings that went through
    JSON.
    """
    released = release._arrow.select(quasi).to_pydict()
    if mixed.smallest(list(zip(*released.values(), strict=True))) < k:
        raise Finding(f"a class below k: {options}")
    if type(release.table) is not type(table):
        raise Finding("a table of another library")
    settings = Settings.from_data(json.loads(json.dumps(release.settings.as_data())))
    again = ma.anonymize(table, settings=settings)
    if not again._arrow.equals(release._arrow):
        raise Finding(f"settings that were written and read again give another release: {options}")


def mixed_manifest(rng: random.Random, folder: Path) -> None:
    """The internal manifest of a mixed release that was tampered with, and `repeat`."""
    for path in _prepared().iterdir():
        shutil.copy(path, folder / path.name)
    content = json.loads((folder / "out.csv.internal.json").read_text("utf-8"))
    if rng.random() < 0.7:  # what is said of columns, not the whole
        part = rng.choice(
            [
                "kinds",
                "nominal",
                "ordinal",
                "importance",
                "aggregate",
                "hierarchy",
                "missing",
                "special",
                "na",
            ]
        )
        content["settings"][part] = rng.choice(
            [*hostile.JSON, {"town": ["x"]}, {"age": [[]]}, {"nobody": "numeric"}, ["town"]]
        )
        hostile.write(folder / "m.internal.json", json.dumps(content).encode())
    else:
        hostile.write(folder / "m.internal.json", hostile.json_bytes(rng, content))
    command(folder, "repeat", "m.internal.json", "in.csv", "again.csv")


_FOLDER: list[Path] = []


def _prepared() -> Path:
    """A folder with a mixed table and its release."""
    if not _FOLDER:
        rng, folder = random.Random(5), Path(tempfile.mkdtemp(prefix="microagg-fuzz-mixed-"))
        towns, schools = ([hostile.canary(rng) for _ in range(4)] for _ in range(2))
        lines = ["age,town,school,born"]
        for i in range(24):
            age = "" if i % 7 == 0 else "97" if i % 11 == 0 else str(hostile.number(rng))
            lines.append(
                f"{age},{rng.choice(towns)},{rng.choice([*schools, ''])},2001-02-{1 + i:02d}"
            )
        hostile.write(folder / "in.csv", "\n".join([*lines, ""]).encode())
        tree = "".join(f"{town};{schools[index % 2]};*\n" for index, town in enumerate(towns))
        hostile.write(folder / "tree.csv", tree.encode())
        command(
            folder,
            "anonymize",
            "in.csv",
            "out.csv",
            "--k",
            "3",
            "--quasi",
            "age,town,school,born",
            "--method",
            "mdav",
            "--seed",
            "1",
            "--special",
            "age=97",
            "--ordinal",
            f"school={'<'.join(schools)}",
            "--hierarchy",
            "town=tree.csv",
            "--aggregate",
            "town=generalise",
        )
        _FOLDER.append(folder)
    return _FOLDER[0]


def warm() -> None:
    """Compile before any clock runs."""
    table = pa.table({"age": [1, 2, None, 4] * 4, "town": list("abcd") * 4, "ill": list("ab") * 8})
    for method in dict.fromkeys(METHODS):
        params = {"effort": "quick"} if method == "auto" else {}
        for aggregate in ({}, {"age": "medoid"}):
            release = ma.anonymize(
                table,
                3,
                ["age", "town"],
                confidential=["ill"],
                l=2,
                method=method,
                seed=1,
                aggregate=aggregate,
                **params,
            )
    assess(table, release.table, quasi=["age", "town"])
    _prepared()

"""Beyond memory: the same release to the byte, whatever the memory, the chunks and the threads."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

import microagg as ma
import small_blocks
from beyond import files, in_passes, settings_for, table_of
from failing import Failing
from microagg.pipeline import block_output, block_stats, block_tasks, verification
from microagg.pipeline.files import anonymize_file
from microagg.pipeline.memory_budget import MemoryBudget, bytes_in
from microagg.runtime import spill
from microagg.runtime.spill import SpillFolder, remove_left_spill
from microagg.studies.repeating import repeat_file

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    small_blocks.make_small(monkeypatch.setattr)


@pytest.mark.parametrize("weight", [None, "w"])
@pytest.mark.parametrize("kinds", ["plain", "mixed"])
@pytest.mark.parametrize(
    ("chunk", "bits", "threads", "groups"), [(64, 3, 2, 100), (1280, 0, 1, 5000)]
)
def test_the_same_release_as_in_memory(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    kinds: str,
    weight: str | None,
    chunk: int,
    bits: int,
    threads: int,
    groups: int,
) -> None:
    source = tmp_path / "in.parquet"
    pa.parquet.write_table(table_of(kinds=kinds), source, row_group_size=groups)
    settings = (
        settings_for(kinds, weight=weight) if weight else settings_for(kinds, keep=["id", "w"])
    )
    for folder in ("memory", "beyond"):
        (tmp_path / folder).mkdir()
    anonymize_file(source, tmp_path / "memory" / "out.parquet", **settings)
    in_passes(
        monkeypatch, source, tmp_path / "beyond" / "out.parquet", chunk, bits, threads, **settings
    )
    in_memory, out_of_core = (
        tmp_path / folder / "out.parquet.internal.json" for folder in ("memory", "beyond")
    )
    assert json.loads(out_of_core.read_text("utf-8")) == json.loads(in_memory.read_text("utf-8"))
    assert files(tmp_path / "beyond") == files(tmp_path / "memory")


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "in.parquet"
    pa.parquet.write_table(table_of(2000, kinds="plain"), path, row_group_size=300)
    return path


SETTINGS = settings_for("plain", keep=["id", "w"])


def writing() -> list[Any]:
    """All modules that set pieces aside."""
    ours = [module for name, module in sys.modules.items() if name.startswith("microagg.")]
    writers = [
        module for module in ours if hasattr(module, "write_spill_file") and module is not spill
    ]
    assert {
        module.__name__ for module in (block_tasks, block_output, block_stats, verification)
    } <= {module.__name__ for module in writers}
    return writers


def contents(path: Path) -> dict[str, bytes]:
    """A release and its manifests, whatever its name."""
    return {
        name: path.with_name(f"{path.name}{name}").read_bytes().replace(path.name.encode(), b"OUT")
        for name in ("", ".internal.json", ".public.json")
    }


def left_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if path.name.startswith("."))


def test_parts_and_arrow_files_are_the_same_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: Path
) -> None:
    table = pa.parquet.read_table(source)
    (tmp_path / "parts").mkdir()
    for number, first in enumerate(range(0, 2000, 700)):
        pa.parquet.write_table(
            table.slice(first, 700), tmp_path / "parts" / f"part-{number}.parquet"
        )
    with pa.ipc.new_file(tmp_path / "in.arrow", table.schema) as file:
        for batch in table.to_batches(max_chunksize=170):
            file.write_batch(batch)
    digests = []
    for input_path in (
        source,
        tmp_path / "parts",
        tmp_path / "parts" / "*.parquet",
        tmp_path / "in.arrow",
    ):
        for memory in (True, False):
            if memory:
                release = anonymize_file(input_path, tmp_path / "out.arrow", **SETTINGS)
            else:
                release = in_passes(monkeypatch, input_path, tmp_path / "out.arrow", **SETTINGS)
            digests.append(
                (release._written["output"]["digest"], (tmp_path / "out.arrow").read_bytes())
            )
    assert len(set(digests)) == 1


def test_rows_can_keep_their_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: Path
) -> None:
    for name, run in (
        ("a", anonymize_file),
        ("b", lambda *args, **more: in_passes(monkeypatch, *args, **more)),
    ):
        run(source, tmp_path / f"{name}.parquet", keep_order=True, **SETTINGS)
    assert contents(tmp_path / "a.parquet") == contents(tmp_path / "b.parquet")
    released = pa.parquet.read_table(tmp_path / "b.parquet")
    assert released.column("id").to_pylist() == list(range(2000))


def test_repeating_beyond_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: Path
) -> None:
    anonymize_file(source, tmp_path / "out.parquet", **SETTINGS)
    in_passes(monkeypatch, source, tmp_path / "other.parquet", **SETTINGS)
    manifest = tmp_path / "out.parquet.internal.json"
    again = repeat_file(manifest, source, tmp_path / "again.parquet", memory=1)
    assert again.notes[0].startswith("the same release")
    assert (tmp_path / "again.parquet").read_bytes() == (tmp_path / "out.parquet").read_bytes()
    pa.parquet.write_table(table_of(2000, seed=4, kinds="plain"), source)
    with pytest.raises(ma.InputError, match="not the table"):
        repeat_file(manifest, source, tmp_path / "third.parquet", memory=1)
    assert not (tmp_path / "third.parquet").exists()
    assert left_in(tmp_path) == []


@pytest.mark.parametrize(
    ("more", "says"),
    [
        (
            {"publish": "kolmogorov-smirnov", "accept_risk": "published-measures"},
            "publish=kolmogorov-smirnov is not",
        ),
    ],
)
def test_what_is_not_done_beyond_memory_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: Path, more: dict[str, Any], says: str
) -> None:
    settings = {name: value for name, value in {**SETTINGS, **more}.items() if value is not None}
    with pytest.raises(ma.InputError, match=says) as error:
        in_passes(monkeypatch, source, tmp_path / "out.parquet", **settings)
    assert str(error.value).count(". ") == 0
    assert files(tmp_path) == {"in.parquet": source.read_bytes()}


def test_odd_types_texts_and_targets_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: Path
) -> None:
    table = pa.parquet.read_table(source)
    many = pa.array([[number] for number in range(2000)])
    pa.parquet.write_table(table.append_column("many", many), source)
    with pytest.raises(ma.InputError, match="'many' is of a type that cannot be released"):
        in_passes(
            monkeypatch,
            source,
            tmp_path / "o.parquet",
            **{**SETTINGS, "quasi": ["age", "many"], "rest": "drop"},
        )
    with pytest.raises(ma.InputError, match="Excel file cannot be written in large-table mode"):
        in_passes(monkeypatch, source, tmp_path / "out.xlsx", **SETTINGS, rest="drop")
    with pytest.raises(ma.InputError, match="same file"):
        in_passes(monkeypatch, source, source, **SETTINGS, rest="drop")


@pytest.mark.parametrize(
    ("more", "target", "named"),
    [
        (
            {
                "method": "individual-ranking",
                "accept_risk": ["named-columns", "single-columns"],
            },
            "out.parquet",
            "groups each column on its own",
        ),
        (
            {"publish": ["eigenvalues"], "accept_risk": ["named-columns", "published-measures"]},
            "out.parquet",
            "publish=eigenvalues is not supported",
        ),
        ({}, "out.xlsx", "an Excel file cannot be written in large-table mode"),
    ],
)  # fmt: skip
def test_what_is_not_done_beyond_memory_is_done_in_memory_unless_that_is_said(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    source: Path,
    more: dict[str, Any],
    target: str,
    named: str,
) -> None:
    settings = {**SETTINGS, **more}
    if "method" in more:
        del settings["effort"]
    with pytest.raises(ma.InputError, match=named):
        in_passes(monkeypatch, source, tmp_path / target, **settings)
    assert not (tmp_path / target).exists()
    monkeypatch.setattr("microagg.pipeline.memory_budget.free_memory", lambda: 1)
    anonymize_file(source, tmp_path / target, **settings)
    assert (tmp_path / target).exists()
    assert left_in(tmp_path) == []


def test_less_memory_than_a_block_needs_is_refused_with_the_figure(
    tmp_path: Path, source: Path
) -> None:
    with pytest.raises(
        ma.InputError,
        match=r"one block of this table needs about \d+ MB of memory, and 0 MB may be used",
    ):
        anonymize_file(source, tmp_path / "out.parquet", memory="1KB", **SETTINGS)
    assert not (tmp_path / "out.parquet").exists()


@pytest.mark.parametrize(
    ("value", "size"), [("4GB", 4 * 10**9), ("1.5 gb", 15 * 10**8), ("300M", 3 * 10**8), (7, 7)]
)
def test_sizes(value: Any, size: int) -> None:
    assert bytes_in(value) == size


@pytest.mark.parametrize("value", ["", "much", "-1GB", 0, True, "1PB"])
def test_wrong_sizes(value: Any) -> None:
    with pytest.raises(ma.InputError, match="memory must be"):
        bytes_in(value)


def test_spill_is_for_nobody_else_and_goes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: Path
) -> None:
    seen: dict[str, int] = {}
    before = spill.write_spill_file

    def looking(path: str, *more: Any) -> Any:
        result = before(path, *more)
        folder = Path(path).parent
        for entry in (folder.parent, folder, *folder.parent.iterdir(), *folder.iterdir()):
            seen[entry.name] = entry.stat().st_mode & 0o077
        return result

    for module in writing():
        monkeypatch.setattr(module, "write_spill_file", looking)
    (tmp_path / "elsewhere").mkdir()
    mask = os.umask(0)
    try:
        in_passes(
            monkeypatch,
            source,
            tmp_path / "out.parquet",
            threads=1,
            spill=tmp_path / "elsewhere",
            **SETTINGS,
        )
    finally:
        os.umask(mask)
    assert len(seen) > 10
    assert set(seen.values()) == {0}
    assert left_in(tmp_path / "elsewhere") == []


def test_what_a_kill_left_goes_with_the_next_run_or_clean(tmp_path: Path) -> None:
    left = tmp_path / ".microagg-00c0ffee00c0ffee.spill"
    for _ in range(2):
        left.mkdir(mode=0o700)
        (left / "block-0.arrow").write_bytes(b"secret")
        assert len(remove_left_spill(tmp_path)) == 1
        assert not left.exists()
    with SpillFolder(tmp_path, tmp_path / "out.parquet") as goes_on:
        assert remove_left_spill(tmp_path) == [], "one whose run still goes"
        with (
            pytest.raises(ma.InputError, match="another run works on the same target"),
            SpillFolder(tmp_path, tmp_path / "out.parquet"),
        ):
            pass
        assert goes_on.folder.exists()
    assert left_in(tmp_path) == []


def test_a_disk_too_full_is_told_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: Path
) -> None:
    monkeypatch.setattr(MemoryBudget, "disk", lambda *_: 10**18)
    with pytest.raises(ma.InputError, match=r"needs about 1e\+09 GB of disk"):
        in_passes(monkeypatch, source, tmp_path / "out.parquet", **SETTINGS)
    assert left_in(tmp_path) == []


@pytest.mark.parametrize("kind", ["disk full", "Ctrl-C"])
def test_whatever_call_fails_nothing_is_in_place_and_no_spill_is_left(
    tmp_path: Path, source: Path, kind: str
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        made = Failing(patch).made
        in_passes(patch, source, tmp_path / "out.parquet", threads=1, **SETTINGS)
    whole = contents(tmp_path / "out.parquet")
    calls = [index for index, name in enumerate(made) if name == "fill"]
    assert len(calls) > 20, "of every pass"
    for call in calls[:: max(1, len(calls) // 12)] + calls[-3:]:
        for name in ("out.parquet", "out.parquet.internal.json", "out.parquet.public.json"):
            (tmp_path / name).unlink(missing_ok=True)
        with pytest.MonkeyPatch.context() as patch:
            Failing(patch, kind, call)
            error = ma.InputError if kind == "disk full" else KeyboardInterrupt
            with pytest.raises(
                error, match="full|could not be written" if kind == "disk full" else None
            ):
                in_passes(patch, source, tmp_path / "out.parquet", threads=1, **SETTINGS)
        assert files(tmp_path) == {"in.parquet": source.read_bytes()}, call
    in_passes(pytest.MonkeyPatch(), source, tmp_path / "out.parquet", **SETTINGS)
    assert contents(tmp_path / "out.parquet") == whole


def whole_pieces(names: list[str]) -> set[str]:
    """Those that tell that a task is done; what a task sets aside before that lies beside them
    (x.arrow.classes).
    """
    return {name for name in names if name.endswith(".arrow")}


def test_resuming_does_only_what_was_not_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: Path
) -> None:
    target = tmp_path / "out.parquet"
    in_passes(monkeypatch, source, target, threads=1, **SETTINGS)
    whole = contents(target)
    worked: list[str] = []
    before = block_tasks.write_spill_file

    def counting(path: str, *more: Any) -> Any:
        worked.append(Path(path).name)
        return before(path, *more)

    for module in writing():
        monkeypatch.setattr(module, "write_spill_file", counting)
    in_passes(monkeypatch, source, target, threads=1, **SETTINGS)
    pieces = len(worked)
    assert pieces > 60, "of every pass"
    for stop in [int(share * pieces) for share in (0.1, 0.4, 0.55, 0.7, 0.95)]:
        for name in ("", ".internal.json", ".public.json"):
            target.with_name(f"{target.name}{name}").unlink()

        def killed(*arguments: Any, stop: int = stop) -> Any:
            if len(worked) >= stop:
                raise SystemExit
            return counting(*arguments)

        worked.clear()
        with pytest.MonkeyPatch.context() as patch:
            for module in writing():
                patch.setattr(module, "write_spill_file", killed)
            patch.setattr(spill, "_remove", lambda _: None)  # as if killed
            with pytest.raises(SystemExit):
                in_passes(patch, source, target, threads=1, **SETTINGS)
        done = whole_pieces(worked)
        assert done
        worked.clear()
        in_passes(monkeypatch, source, target, threads=1, resume=True, **SETTINGS)
        assert not done & whole_pieces(worked)
        assert contents(target) == whole
        assert left_in(tmp_path) == []


@pytest.mark.parametrize("stratum", [["region"], ["region", "urban"]])
def test_strata_are_those_in_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stratum: list[str]
) -> None:
    rng = np.random.default_rng(8)
    table = table_of(4000)
    # one region is worked on in blocks, the others as a whole
    region = pa.array(
        rng.choice(["N", "S", "W"], 4000, p=[0.7, 0.2, 0.1]), mask=rng.random(4000) < 0.05
    )
    table = table.append_column("region", region).append_column(
        "urban", pa.array(rng.random(4000) < 0.5)
    )
    source = tmp_path / "in.parquet"
    pa.parquet.write_table(table, source)
    kept = ["id"] if len(stratum) == 2 else ["id", "urban"]
    settings = settings_for("mixed", weight="w", stratum=stratum, keep=kept)
    anonymize_file(source, tmp_path / "memory.parquet", **settings)
    in_passes(monkeypatch, source, tmp_path / "beyond.parquet", 192, **settings)
    assert contents(tmp_path / "beyond.parquet") == contents(tmp_path / "memory.parquet")
    with pytest.raises(ma.InputError, match="fewer than k = 3000 records"):
        in_passes(monkeypatch, source, tmp_path / "other.parquet", **{**settings, "k": 3000})

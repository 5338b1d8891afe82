"""Work that another version of the program has set aside is not gone on with."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest

import microagg as ma
import small_blocks
from beyond import in_passes, settings_for, table_of
from microagg.pipeline import block_tasks
from microagg.pipeline.selection import key_of_run
from microagg.release.settings import Settings
from microagg.runtime import spill

SETTINGS = settings_for("plain", rest="drop")


def test_the_key_of_a_run_names_versions(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = Settings.of(k=3, quasi=["age"])
    before = key_of_run(settings, "digest")
    assert key_of_run(settings, "digest") == before
    assert key_of_run(settings, "other") != before
    monkeypatch.setattr(ma, "__version__", "0.0.1")
    assert key_of_run(settings, "digest") != before


@pytest.mark.slow
@pytest.mark.parametrize("version", [None, "0.0.1"])
def test_blocks_of_another_version_are_done_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str | None
) -> None:
    small_blocks.make_small(monkeypatch.setattr)
    pyarrow.parquet.write_table(table_of(1500, kinds="plain"), tmp_path / "in.parquet")
    args: Any = monkeypatch, tmp_path / "in.parquet", tmp_path / "out.parquet"
    routed: list[str] = []
    is_killed = [True]
    usual = block_tasks.write_spill_file

    def counted(path: str, *more: Any) -> Any:
        if Path(path).name.startswith("block-") and is_killed[0]:
            raise SystemExit
        if Path(path).name.startswith("route-"):
            routed.append(Path(path).name)
        return usual(path, *more)

    monkeypatch.setattr(block_tasks, "write_spill_file", counted)
    with monkeypatch.context() as patch:
        patch.setattr(spill, "_remove", lambda _: None)
        with pytest.raises(SystemExit):
            in_passes(*args, threads=1, **SETTINGS)
    done = len(routed)
    assert done
    is_killed[0] = False
    if version is not None:
        monkeypatch.setattr(ma, "__version__", version)
    in_passes(*args, threads=1, resume=True, **SETTINGS)
    assert len(routed) == (done if version is None else 2 * done)
    assert (tmp_path / "out.parquet").exists()

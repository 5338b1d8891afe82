"""The judge of hostile inputs tells apart what may be told: names that a lost end of line made, and
levels that are released.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fuzz import hostile, judging


def test_a_name_that_was_fused_with_a_value_is_a_name() -> None:
    content = b"q048151623062\r48151623911\r"
    assert hostile.fused_names(content, ["q0"]) == ["q048151623062"]
    assert hostile.fused_names(b"48151623062\r48151623911\r", ["q0"]) == [], (
        "a value by itself is none"
    )
    assert hostile.fused_names(b"q0\r48151623062\r", ["q0"]) == []


def test_levels_that_are_released_may_be_shown_and_no_others(tmp_path: Path) -> None:
    (tmp_path / "out.csv").write_text("town,ill\ncanary-1,canary-7\ncanary-1,canary-7\n")
    (tmp_path / "out.csv.public.json").write_text(
        json.dumps({"roles": {"town": "quasi", "ill": "confidential"}})
    )
    report = tmp_path / "r.public.md"
    report.write_text("canary-1: 100 %")
    judging.check_leftovers(tmp_path)
    for text in ("canary-7", "canary-12", "canary-2"):
        report.write_text(text)
        with pytest.raises(judging.Finding, match="a confidential value"):
            judging.check_leftovers(tmp_path)

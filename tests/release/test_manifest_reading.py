"""Version that a manifest names, and settings that this one does not know; it may come from
anybody.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import microagg as ma
from microagg.release.manifest_reading import settings_of, version_of


@pytest.mark.parametrize("version", ["1.2.3", "0.9.0rc1", "1.0+local-2", "9" * 40])
def test_a_version_is_named(version: str) -> None:
    assert version_of({"microagg": version}) == f"microagg {version}"


@pytest.mark.parametrize(
    "version", ["", "9" * 41, "1.0\x1b[31m", "1.0; run this", ["1.0"], "1.0\n"]
)
def test_what_is_no_version_is_not_repeated(version: Any) -> None:
    assert version_of({"microagg": version}) == "that version"
    assert version_of({}) == "that version"


def test_settings_of_another_version_are_refused_with_that_version() -> None:
    manifest: dict[str, Any] = {
        "microagg": "9.9.9", "settings": {"k": 3, "quasi": ["age"]}, "input": {}, "output": None,
    }  # fmt: skip
    path = Path("out.csv.internal.json")
    assert settings_of(manifest, path).k == 3
    manifest["settings"]["swaps"] = 2
    with pytest.raises(
        ma.InputError,
        match=r"^out\.csv\.internal\.json has settings that this version does not know "
        r"\(.*swaps.*\); install microagg 9\.9\.9\.$",
    ):
        settings_of(manifest, path)
    manifest["microagg"] = ma.__version__
    with pytest.raises(ma.InputError, match="swaps") as refused:
        settings_of(manifest, path)
    assert "install" not in str(refused.value)

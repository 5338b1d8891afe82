"""How a manifest names the version that wrote it; it may come from anybody."""

from __future__ import annotations

from typing import Any

import pytest

from microagg.release.manifest_reading import version_of


@pytest.mark.parametrize("version", ["1.2.3", "0.9.0rc1", "1.0+local-2", "9" * 40])
def test_a_version_is_named(version: str) -> None:
    assert version_of({"microagg": version}) == f"microagg {version}"


@pytest.mark.parametrize(
    "version", ["", "9" * 41, "1.0\x1b[31m", "1.0; run this", ["1.0"], "1.0\n"]
)
def test_what_is_no_version_is_not_repeated(version: Any) -> None:
    assert version_of({"microagg": version}) == "that version"
    assert version_of({}) == "that version"

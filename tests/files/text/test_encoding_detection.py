"""Where a text file stops being UTF-8."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import microagg as ma
from microagg.files.reading import read_table


@pytest.mark.parametrize("wrong", [0x80, 0x81, 0xBF, 0xC3, 0xFE, 0xFF])
def test_the_first_wrong_byte_is_named(tmp_path: Path, wrong: int) -> None:
    before = b"name\n" + "Zürich\n".encode() * 30 + b"Bern "
    (tmp_path / "in.csv").write_bytes(before + bytes([wrong]) + b"\nGenf\n\xff\n")
    line, byte = 32, len(before) + 1
    with pytest.raises(ma.InputError, match=re.escape(f"line {line}, byte {byte} of the file")):
        read_table(tmp_path / "in.csv")

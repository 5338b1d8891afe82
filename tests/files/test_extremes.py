"""The largest and smallest numbers that files of statistics packages hold."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

import microagg as ma
from microagg.files.commit.writing import write_table
from microagg.files.reading import read_table


@pytest.mark.parametrize(
    ("ending", "held", "refused"),
    [
        (".sav", 1.7e308, 1.75e308),
        (".dta", 8.9e307, 9e307),  # from 8.99e307 on Stata has its missing values
        (".xpt", 8.9e74, 9e74),  # which pyreadstat reads as infinite
        (".xpt", 5.5e-79, 5.3e-79),
    ],
)
@pytest.mark.parametrize("sign", [1, -1])
def test_numbers_at_the_ends(
    tmp_path: Path, ending: str, held: float, refused: float, sign: int
) -> None:
    path = tmp_path / f"out{ending}"
    write_table(pa.table({"x": [1.5, sign * held, 0.0]}), path)
    assert read_table(path).column("x").to_pylist() == pytest.approx([1.5, sign * held, 0.0])
    path.unlink()
    with pytest.raises(ma.InputError, match="'x' holds numbers larger or smaller than"):
        write_table(pa.table({"x": [1.5, sign * refused, 0.0]}), path)
    assert not path.exists()

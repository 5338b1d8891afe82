"""The CASC reference data (Tarragona, Census, EIA). They are not part of microagg: a folder is
named instead.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from microagg.errors import InputError
from microagg.files.reading import read_table

VARIABLE = "MICROAGG_REFERENCE_DATA"
REVENUE_AND_SALES = [
    *("RESREVENUE", "RESSALES", "COMREVENUE", "COMSALES", "INDREVENUE", "INDSALES"),
    *("OTHREVENUE", "OTHRSALES", "TOTREVENUE", "TOTSALES"),
]
EIA_COLUMNS = {
    "10": REVENUE_AND_SALES,
    "UTILITYID+10": ["UTILITYID", *REVENUE_AND_SALES],
    "MONTH+10": ["MONTH", *REVENUE_AND_SALES],
}
NAMES = ("Tarragona", "Census", "EIA")


def reference_folder() -> Path | None:
    """The folder that MICROAGG_REFERENCE_DATA names, if it is set."""
    folder = os.environ.get(VARIABLE)
    return Path(folder) if folder else None


def load_reference(name: str, columns: str = "all", folder: Path | None = None) -> np.ndarray:
    """The values of a reference data set in the columns that the literature uses, as a float64
    matrix.
    """
    folder = folder or reference_folder()
    if folder is None:
        raise InputError(
            f"the reference data are not part of microagg; set {VARIABLE} to the folder "
            f"that holds them."
        )
    table = read_table(folder / f"{name.lower()}.csv")
    if name == "EIA":
        table = table.select(EIA_COLUMNS["UTILITYID+10" if columns == "all" else columns])
    return np.column_stack([column.to_numpy().astype(np.float64) for column in table.columns])

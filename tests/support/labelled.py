"""Made tables of every kind of column that files can hold, with labels; and files read by other
libraries than ours.
"""

from __future__ import annotations

import datetime
import random
from pathlib import Path
from typing import Any

import pyarrow as pa

from microagg.table.columns.labels import Labels, labels_of, with_labels

WORDS = [
    "Ärzte",
    "東京",
    "O'Neil",
    "=A1",
    "a,b;c",
    'say "yes"',
    "😀 smile",
    "tab\there",
    "-",
    "+49 30 1",
    "x" * 300,
]
MISSING = (-9, -8)
QUASI = ["age", "sex", "education", "wage"]


def made_table(seed: int, records: int = 24) -> pa.Table:
    """One of the made tables: all kinds of columns, labels, codes that are declared missing, gaps,
    unicode, leading zeros, long text.
    """
    rng = random.Random(seed)
    day, moment = datetime.date(1950, 1, 1), datetime.datetime(1990, 1, 1)

    def column(make: Any, gaps: float = 0.1) -> list[Any]:
        return [None if rng.random() < gaps else make() for _ in range(records)]

    table = pa.table(
        {
            "age": pa.array(column(lambda: rng.randint(18, 90), 0.05)),
            "sex": pa.array(column(lambda: rng.choice([1, 2]), 0.0)),
            "education": pa.array(column(lambda: rng.choice([1, 2, 3, 4, 5]), 0.05)),
            "wage": pa.array(column(lambda: rng.choice([-9, -8, *range(1000, 1012)]), 0.1)),
            "height": pa.array(column(lambda: round(rng.uniform(1.5, 2.0), 2))),
            "ratio": pa.array(column(lambda: rng.choice([0.1, 1e-7, -2.5e11, 1 / 3]))),
            "large": pa.array(column(lambda: rng.choice([2**40 + 1, -(2**45)]))),
            "born": pa.array(
                column(lambda: day + datetime.timedelta(rng.randint(0, 20_000))), pa.date32()
            ),
            "seen": pa.array(
                column(
                    lambda: (
                        moment
                        + datetime.timedelta(
                            seconds=rng.randint(0, 10**9), milliseconds=rng.randint(0, 999)
                        )
                    )
                ),
                pa.timestamp("ms"),
            ),
            "member": pa.array(column(lambda: rng.random() < 0.5)),
            "zip": pa.array(column(lambda: f"{rng.randint(0, 99999):05d}")),
            "town": pa.array(column(lambda: rng.choice(WORDS))),
            "remark": pa.array(column(lambda: rng.choice(["", "short", "long " * 800 + "end"]))),
            "region": pa.array(column(lambda: rng.choice(["N", "S"]))),
            "nothing": pa.array([None] * records, pa.string()),
        }
    )
    return with_labels(
        table,
        {
            "age": Labels("Age in years"),
            "sex": Labels("Sex – 性別", {1: "female", 2: "male", 3: "nobody has this"}, "nominal"),
            "education": Labels("Education", {n: f"level {n}" for n in range(1, 6)}, "ordinal"),
            "wage": Labels(
                "Wage", {-9: "refused", -8: "not known", -7: "nobody"}, "scale", (*MISSING, -7)
            ),
            "region": Labels(
                "Region", {"N": "North", "S": "South"}, "nominal", ("S",) if seed % 2 else ()
            ),
            "town": Labels("Town"),
        },
    )


def plainly(value: Any) -> Any:
    """A cell as all libraries have it: numbers as floats, dates as moments, nothing for what is
    missing.
    """
    if value is None or value == "" or value != value:
        return None
    if isinstance(value, bool | int | float):
        return float(value)
    if isinstance(value, datetime.datetime):
        value = value.replace(
            tzinfo=None
        )  # SPSS counts seconds since 1582, in float64: a millionth more or less
        whole = datetime.timedelta(
            microseconds=-(-value.microsecond // 1000) * 1000
            if value.microsecond % 1000 > 500
            else value.microsecond // 1000 * 1000
        )
        return value.replace(microsecond=0) + whole
    if isinstance(value, datetime.date):
        return datetime.datetime.combine(value, datetime.time())
    return value


def expected(table: pa.Table, ending: str, *, tags: bool = True) -> dict[str, list[Any]]:
    """Return what another library should find in a file of this ending: Stata has letters for codes
    that are declared missing, or nothing.
    """
    columns = {}
    for field, column in zip(table.schema, table.columns, strict=True):
        cells = [plainly(value) for value in column.to_pylist()]
        labels = labels_of(field)
        if ending == ".dta" and labels.missing and not pa.types.is_string(field.type):
            codes = sorted({cell for cell in cells if cell is not None and labels.is_missing(cell)})
            letters = dict(zip(codes, "abcdefgh", strict=False))
            cells = [
                (letters[cell] if tags else None) if cell in letters else cell for cell in cells
            ]
        columns[field.name] = cells
    return columns


def read_by_others(path: Path) -> dict[str, dict[str, list[Any]]]:
    """The cells of a file as other libraries find them, by the name of the library."""
    reader = {
        ".parquet": _parquet,
        ".arrow": _arrow,
        ".feather": _arrow,
        ".xlsx": _excel,
        ".sav": _stat,
        ".zsav": _stat,
        ".dta": _stata,
        ".xpt": _stat,
    }[path.suffix]
    return {
        library: {name: [plainly(cell) for cell in cells] for name, cells in columns.items()}
        for library, columns in reader(path).items()
    }


def _parquet(path: Path) -> dict[str, Any]:
    import pandas as pd

    return {"pandas": _of_pandas(pd.read_parquet(path, dtype_backend="pyarrow"))}


def _arrow(path: Path) -> dict[str, Any]:
    import pandas as pd
    import polars as pl

    frame = pl.read_ipc(path)
    return {
        "pandas": _of_pandas(pd.read_feather(path, dtype_backend="pyarrow")),
        "polars": frame.to_dict(as_series=False),
    }


def _of_pandas(frame: Any) -> dict[str, list[Any]]:
    import pandas as pd

    def cell(value: Any) -> Any:
        if value is None or value is pd.NaT or value is pd.NA:
            return None
        return (
            value.to_pydatetime()
            if hasattr(value, "to_pydatetime")
            else value.item()
            if hasattr(value, "item")
            else value
        )

    return {name: [cell(value) for value in frame[name].tolist()] for name in frame.columns}


def _excel(path: Path) -> dict[str, Any]:
    import openpyxl
    import pandas as pd

    names, *rows = openpyxl.load_workbook(path).worksheets[0].iter_rows(values_only=True)
    frame = pd.read_excel(path, engine="calamine", keep_default_na=False, dtype=object)
    cells = dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))
    return {"openpyxl": cells, "pandas": _of_pandas(frame)}


def _stat(path: Path) -> dict[str, Any]:
    return {"pyreadstat": dict(with_pyreadstat(path)[0])}


def _stata(path: Path) -> dict[str, Any]:
    import pandas as pd

    frame = pd.read_stata(path, convert_categoricals=False)
    return {"pyreadstat": dict(with_pyreadstat(path)[0]), "pandas": _of_pandas(frame)}


def with_pyreadstat(path: Path) -> tuple[dict[str, list[Any]], Any]:
    """The cells and what is said of them, by pyreadstat."""
    import pyreadstat

    reader: Any = {
        ".sav": pyreadstat.read_sav,
        ".zsav": pyreadstat.read_sav,
        ".dta": pyreadstat.read_dta,
        ".xpt": pyreadstat.read_xport,
    }[path.suffix]
    options = {} if path.suffix == ".xpt" else {"user_missing": True}
    # pyreadstat before 1.3.5 knows a format with the width that it has, not by its name alone
    formats = {
        ".sav": {"extra_datetime_formats": ["DATETIME23.3"]},
        ".zsav": {"extra_datetime_formats": ["DATETIME23.3"]},
        ".dta": {},
        ".xpt": {
            "extra_date_formats": ["E8601DA", "E8601DA10"],
            "extra_datetime_formats": ["E8601DT", "E8601DT23.3"],
        },
    }[path.suffix]
    cells, about = reader(str(path), output_format="dict", **options, **formats)
    if path.suffix != ".dta":
        _to_the_millisecond(
            cells,
            reader(str(path), output_format="dict", disable_datetime_conversion=True, **options)[0],
            path.suffix,
        )
    return cells, about


def _to_the_millisecond(
    cells: dict[str, list[Any]], counts: dict[str, list[Any]], suffix: str
) -> None:
    """Moments as the seconds that are stored: pyreadstat before 1.3.5 makes them whole."""
    origin = datetime.datetime(1960, 1, 1) if suffix == ".xpt" else datetime.datetime(1582, 10, 14)
    for name, column in cells.items():
        for row, cell in enumerate(column):
            if isinstance(cell, datetime.datetime):
                cells[name][row] = origin + datetime.timedelta(seconds=counts[name][row])

"""DataFrames of any library, through narwhals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

import narwhals as nw
import numpy as np
import pyarrow as pa

from microagg.errors import InputError
from microagg.table.io.arrow import bare, means_numbers
from microagg.table.io.arrow import compute as pc
from microagg.table.io.reading import NUMBER, refuse_value
from microagg.table.schema import ColumnFacts, Kind, refuse_duplicates

UNKNOWN_TYPE = "is of a type that cannot be released; make it numbers or text, or leave it out."
LARGEST = 1e100
LARGEST_WHOLE = 2.0**53  # from here on float64 skips whole numbers


def open_frame(table: Any) -> nw.DataFrame[Any]:
    """A narwhals frame over a pandas, polars or Arrow table, or a NumPy matrix with columns named "0", "1", ..."""
    if isinstance(table, np.ndarray):
        return _open_matrix(table)
    try:
        frame = nw.from_native(table, eager_only=True)
    except TypeError:
        raise InputError("the table must be a pandas, polars or Arrow table, or a NumPy matrix.") from None
    except nw.exceptions.DuplicateError:
        refuse_duplicates(list(getattr(table, "column_names", table.columns)))
        raise
    if not isinstance(frame, nw.DataFrame) or not frame.columns:
        raise InputError("the table has no columns.")
    if not all(map(_is_name, frame.columns)):
        raise InputError(
            "column names must be text that a file can hold; rename the columns whose names are not."
        )
    if len(frame) == 0:
        raise InputError("the table has no records; there is nothing to protect.")
    if isinstance(native := frame.to_native(), pa.Table):
        _refuse_broken(native)
    return frame


def _is_name(name: Any) -> bool:
    """Whether Arrow takes it for a name: text in UTF-8 without an end in the middle (polars would panic there)."""
    return isinstance(name, str) and "\0" not in name and name.encode("utf-8", "ignore").decode() == name


def _refuse_broken(table: pa.Table) -> None:
    """Arrow takes any bytes for text; what is no UTF-8 would fail later, elsewhere, and with its bytes in the message."""
    for name, column in zip(table.column_names, table.columns, strict=True):
        try:
            column.validate(full=True)
        except pa.ArrowException:
            raise InputError(
                f"column {name!r} is damaged, or holds text that is not in UTF-8; mend it."
            ) from None


def _open_matrix(matrix: np.ndarray) -> nw.DataFrame[Any]:
    if matrix.ndim != 2 or matrix.dtype.kind not in "iuf" or 0 in matrix.shape:
        raise InputError("a NumPy table must be a matrix of numbers with records in rows.")
    if np.ma.is_masked(matrix):
        row, column = np.argwhere(np.ma.getmaskarray(matrix))[0]
        refuse_value(str(column), int(row), "missing value")
    plain = np.asarray(matrix)
    if plain.dtype.kind == "f" and plain.dtype.itemsize not in (4, 8):
        plain = plain.astype(np.float64)  # half and long double are no types of tables
    plain = plain.astype(plain.dtype.newbyteorder("="), copy=False)
    columns = {str(j): pa.array(np.ascontiguousarray(plain[:, j])) for j in range(plain.shape[1])}
    return nw.from_native(pa.table(columns), eager_only=True)


def same_type(frame: nw.DataFrame[Any], given: Any) -> Any:
    """The frame as the type that was given, without categories that no record has."""
    if isinstance(given, np.ndarray):
        return np.column_stack([frame[name].to_numpy() for name in frame.columns])
    native = frame.to_native()
    if isinstance(native, pa.Table):
        return bare(native, marked=True).replace_schema_metadata(native.schema.metadata)
    for name in frame.columns:
        frame = frame.with_columns(_of_used_values(frame[name]))
    return frame.to_native()


def _of_used_values(series: nw.Series[Any]) -> nw.Series[Any]:
    """A column of pandas or polars without the categories that do not occur; the others in their order."""
    if series.dtype not in (nw.Categorical, nw.Enum):
        return series
    if series.implementation.is_pandas_like():
        native = series.to_native()
        if not hasattr(native, "cat"):  # pandas over Arrow has no way to leave some out
            return series
        return nw.from_native(native.cat.remove_unused_categories(), series_only=True)
    kind: Any = series.dtype
    if isinstance(kind, nw.Enum):
        used = set(series.drop_nulls().unique().to_list())
        return series.cast(nw.String).cast(nw.Enum([name for name in kind.categories if name in used]))
    return series  # what a Categorical of polars could hold lies in polars, not in the table


def column_like(given: nw.Series[Any], values: np.ndarray, *, whole: bool) -> nw.Series[Any]:
    """A column of these values under the name of a given one, and of its type where that can hold them."""
    series = nw.new_series(given.name, values, backend=given.implementation)
    fits = (given.dtype.is_integer() and whole) or given.dtype in (nw.Float32, nw.Float64)
    if fits and given.implementation.is_pandas_like():
        # in pandas a number has several homes (int64, Int64, int64[pyarrow]) that narwhals does not tell apart
        return nw.from_native(series.to_native().astype(given.to_native().dtype), series_only=True)
    return series.cast(given.dtype) if fits else series


def to_arrow(frame: nw.DataFrame[Any]) -> pa.Table:
    """The frame's columns, and nothing else (no index, no unused categories), as an Arrow table."""
    try:
        return _as_arrow(frame)
    except MemoryError:
        raise
    except Exception:  # of pandas, polars or Arrow, whose messages would quote a value
        name, why = _odd_column(frame)
        raise InputError(f"column {name!r} {why}") from None


def _as_arrow(frame: nw.DataFrame[Any]) -> pa.Table:
    return bare(frame.to_arrow().select(list(frame.columns)), marked=True)


def _odd_column(frame: nw.DataFrame[Any]) -> tuple[str, str]:
    """The first column that no Arrow table can hold, and why."""
    for name in frame.columns:
        try:
            _as_arrow(frame.select(name))
        except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
            if isinstance(error, UnicodeError) or "UTF8" in str(error):
                return name, "holds text that is not in UTF-8; mend it."
            return name, "mixes values of several types; make them one."
        except OverflowError:
            return name, "holds whole numbers of more than 64 bits; make them text or floats."
        except Exception:
            return name, UNKNOWN_TYPE
    return frame.columns[0], UNKNOWN_TYPE


def refuse_odd_types(frame: nw.DataFrame[Any], names: Sequence[str]) -> None:
    """Refuse columns that a release could not hold as what they are."""
    for field in frame.select(*names).head(1).to_arrow().schema:
        # polars would write where in memory an object of Python lies
        pointer = frame.implementation.is_polars() and frame[field.name].dtype == nw.Object
        if pointer or isinstance(field.type, pa.BaseExtensionType):
            raise InputError(f"column {field.name!r} {UNKNOWN_TYPE}")


def column_facts(frame: nw.DataFrame[Any], *, count: bool = False) -> list[ColumnFacts]:
    """What a look at each column tells; its distinct values are counted only when asked, for that takes time."""
    return [
        ColumnFacts(
            name,
            _is_numeric(frame[name].dtype),
            _distinct(frame, name) if count else None,
            len(frame),
            _suggested_kind(frame, name),
            frame[name].dtype == nw.String,
        )
        for name in frame.columns
    ]


def _distinct(frame: nw.DataFrame[Any], name: str) -> int | None:
    try:
        return pc.count_distinct(to_arrow(frame.select(name)).column(0), mode="all").as_py()
    except pa.ArrowNotImplementedError:  # lists and the like
        return None


def _suggested_kind(frame: nw.DataFrame[Any], name: str) -> Kind:
    """What the type of a column says: numbers and times are numeric, ordered categories ordinal, all else is nominal."""
    dtype, native = frame[name].dtype, frame.to_native()
    if _is_numeric(dtype) or isinstance(dtype, nw.Date | nw.Datetime | nw.Duration | nw.Time):
        return Kind.NUMERIC
    if isinstance(native, pa.Table):
        field = native.schema.field(name)
        if means_numbers(field):
            return Kind.NUMERIC
        if pa.types.is_dictionary(field.type):
            return Kind.ORDINAL if field.type.ordered else Kind.NOMINAL
    try:
        return Kind.ORDINAL if nw.is_ordered_categorical(frame[name]) else Kind.NOMINAL
    except AttributeError:  # of pandas over Arrow, where categories are no categories of pandas
        kind = frame.select(name).head(1).to_arrow().schema.field(0).type
        return Kind.ORDINAL if pa.types.is_dictionary(kind) and kind.ordered else Kind.NOMINAL


def _is_numeric(dtype: Any) -> bool:
    return dtype.is_integer() or dtype.is_float() or isinstance(dtype, nw.Decimal)


def values_of(frame: nw.DataFrame[Any], names: Sequence[str]) -> np.ndarray:
    """(n, d) float64: the values of numeric columns; anything else is an error that names column and row."""
    values = np.empty((len(frame), len(names)))
    for j, name in enumerate(names):
        values[:, j] = _numeric_values(frame, name)
    return values


def _numeric_values(frame: nw.DataFrame[Any], name: str) -> np.ndarray:
    series = frame[name]
    if not _is_numeric(series.dtype):
        _refuse_type(frame, name)
    _refuse_where(name, series.is_null().to_numpy(), "missing value")
    whole = series.dtype.is_integer()
    try:
        values = (series if whole else series.cast(nw.Float64)).to_numpy().astype(np.float64)
    except MemoryError:
        raise
    except Exception:  # of pandas or polars, for numbers that no array can hold
        raise InputError(f"column {name!r} {UNKNOWN_TYPE}") from None
    _refuse_where(name, np.isnan(values), "missing value")
    _refuse_where(name, np.isinf(values), "infinite value")
    if whole:
        _refuse_where(name, np.abs(values) >= LARGEST_WHOLE, "a whole number of more than 15 digits")
    _refuse_where(name, np.abs(values) > LARGEST, f"a number beyond {LARGEST:g}")
    return values


def _refuse_where(name: str, wrong: np.ndarray, what: str) -> None:
    if wrong.any():
        refuse_value(name, int(np.argmax(wrong)), what)


def _refuse_type(frame: nw.DataFrame[Any], name: str) -> NoReturn:
    column = to_arrow(frame.select(name)).column(0)
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        number = pc.match_substring_regex(column, NUMBER)
        first = pc.index(pc.fill_null(number, False), False).as_py()
        refuse_value(name, max(first, 0), "text where a number is needed")
    raise InputError(
        f"column {name!r} does not hold numbers; convert it, or give it another role than quasi."
    )

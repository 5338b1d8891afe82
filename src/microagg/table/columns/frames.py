"""Data frames of any library, through narwhals."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa

from microagg.errors import InputError
from microagg.table.columns.arrow import (
    is_text,
    means_numbers,
    of_plain_type,
    strip_metadata,
    without_runs,
)
from microagg.table.columns.cell_errors import check_value
from microagg.table.columns.containers import as_container, as_table
from microagg.table.columns.labels import understood_in
from microagg.table.columns.used_categories import without_unused
from microagg.table.schema import ColumnFacts, Kind, check_duplicates

SPELLED = (
    bool,
    int,
    float,
    complex,
    str,
    bytes,
    Decimal,
    datetime.date,
    datetime.time,
    datetime.timedelta,
)
"""Python types whose text identifies their value."""
UNKNOWN_TYPE = "is of a type that cannot be released; make it numbers or text, or leave it out."
KNOWN_TABLES = (
    "the table must be a pandas, polars or Arrow table, a LazyFrame of polars, a relation of "
    "DuckDB, a dict of lists, or a NumPy matrix."
)
LARGEST = 1e100
LARGEST_WHOLE = 2.0**53  # from here on float64 skips whole numbers

NO_RECORDS = "the table has no records; there is nothing to protect."


def open_frame(table: Any) -> nw.DataFrame[Any]:
    """Return a narwhals frame of a pandas, polars or Arrow table, or of a NumPy matrix.

    Columns of a matrix are named "0", "1", ... A LazyFrame of polars is collected, and a relation
    of DuckDB fetched as an Arrow table. A dict of lists, a record batch or a Series becomes a table
    (see `containers.py`).
    """
    table = as_table(table)
    if isinstance(table, np.ndarray):
        return _open_matrix(table)
    try:
        frame = nw.from_native(table)
        if isinstance(frame, nw.LazyFrame):
            frame = _collected(frame)
    except TypeError:
        raise InputError(KNOWN_TABLES) from None
    except nw.exceptions.DuplicateError:
        check_duplicates(list(getattr(table, "column_names", table.columns)))
        raise
    if not isinstance(frame, nw.DataFrame) or not frame.columns:
        raise InputError("the table has no columns.")
    if not all(map(_is_name, frame.columns)):
        raise InputError(
            "column names must be text that a file can hold; rename the columns whose "
            "names are not."
        )
    if len(frame) == 0:
        raise InputError(NO_RECORDS)
    if isinstance(native := frame.to_native(), pa.Table):
        _check_broken(native)
        if any(pa.types.is_run_end_encoded(kind) for kind in native.schema.types):
            columns = [without_runs(column) for column in native.columns]
            frame = nw.from_native(pa.table(columns, names=native.column_names), eager_only=True)
    return frame


def _collected(frame: nw.LazyFrame[Any]) -> nw.DataFrame[Any]:
    """Return the rows of a query; those of DuckDB as an Arrow table."""
    if frame.implementation not in (nw.Implementation.POLARS, nw.Implementation.DUCKDB):
        raise InputError(KNOWN_TABLES)
    try:
        return frame.collect()
    except (MemoryError, KeyboardInterrupt):
        raise
    except Exception:  # of polars or DuckDB, whose messages would quote a value
        raise InputError(
            "the query behind the table fails; collect it by itself to see why, and hand "
            "over its result."
        ) from None


def _is_name(name: Any) -> bool:
    """Check if Arrow accepts a name: text in UTF-8 without a zero byte, on which polars would
    panic.
    """
    return (
        isinstance(name, str)
        and "\0" not in name
        and name.encode("utf-8", "ignore").decode() == name
    )


def _check_broken(table: pa.Table) -> None:
    """Arrow takes any bytes for text; what is no UTF-8 would fail later, elsewhere, and with its
    bytes in the message.
    """
    for name, column in zip(table.column_names, table.columns, strict=True):
        try:
            column.validate(full=True)
        except pa.ArrowException:
            raise InputError(
                f"column {name!r} is damaged, or holds text that is not in UTF-8; correct it."
            ) from None


def _open_matrix(matrix: np.ndarray) -> nw.DataFrame[Any]:
    if matrix.ndim != 2 or matrix.dtype.kind not in "iuf" or 0 in matrix.shape:
        raise InputError("a NumPy table must be a matrix of numbers with records in rows.")
    if np.ma.is_masked(matrix):
        row, column = np.argwhere(np.ma.getmaskarray(matrix))[0]
        check_value(str(column), int(row), "missing value")
    plain = np.asarray(matrix)
    if plain.dtype.kind == "f" and plain.dtype.itemsize not in (4, 8):
        plain = plain.astype(np.float64)  # half and long double are no types of tables
    plain = plain.astype(plain.dtype.newbyteorder("="), copy=False)
    columns = {str(j): pa.array(np.ascontiguousarray(plain[:, j])) for j in range(plain.shape[1])}
    return nw.from_native(pa.table(columns), eager_only=True)


def same_type(frame: nw.DataFrame[Any], original: Any) -> Any:
    """Return the frame as the type of the original, without unused categories."""
    if isinstance(original, np.ndarray):
        return np.column_stack([frame[name].to_numpy() for name in frame.columns])
    return as_container(without_unused(frame), original)


def column_like(original: nw.Series[Any], values: np.ndarray, *, whole: bool) -> nw.Series[Any]:
    """Return values as a column with the name of the original, and with its type if that can hold
    them.
    """
    series = nw.new_series(original.name, values, backend=original.implementation)
    fits = (original.dtype.is_integer() and whole) or original.dtype in (nw.Float32, nw.Float64)
    if fits and original.implementation.is_pandas_like():
        # in pandas a number has several homes (int64, Int64, int64[pyarrow]) that narwhals does not
        # tell apart
        native, dtype = series.to_native(), original.to_native().dtype
        if native.dtype == dtype:
            return series
        return nw.from_native(native.astype(dtype), series_only=True)
    return series.cast(original.dtype) if fits else series


def to_arrow(frame: nw.DataFrame[Any], withheld: Sequence[str] = ()) -> pa.Table:
    """Return the frame's columns as an Arrow table, without index and unused categories.

    Columns that Arrow cannot hold are refused. Those in `withheld` become text, which only the
    digest of the table uses.
    """
    try:
        odd = [name for name in withheld if not _fits_arrow(frame, name)]
        if odd:
            table = _as_arrow(frame.drop(odd))
            for index, name in enumerate(frame.columns):
                if name in odd:
                    table = table.add_column(index, name, _texts_of_objects(frame[name]))
            return table
        return _as_arrow(frame)
    except MemoryError:
        raise
    except Exception:  # of pandas, polars or Arrow, whose messages would quote a value
        name, why = _odd_column(frame)
        raise InputError(f"column {name!r} {why}") from None


def _fits_arrow(frame: nw.DataFrame[Any], name: str) -> bool:
    """Return whether Arrow holds the values of a column: of objects of Python only some, of all
    others any.
    """
    if frame[name].dtype not in (nw.Object, nw.Unknown):
        return True
    if frame.implementation.is_polars():  # Arrow would get their addresses in memory
        return False
    try:
        _as_arrow(frame.select(name))
    except MemoryError:
        raise
    except Exception:  # of pandas or Arrow, whose messages would quote a value
        return False
    return True


def _texts_of_objects(series: nw.Series[Any]) -> pa.ChunkedArray:
    """Spell objects of Python by type and value; those of unknown types by their types alone, for
    their texts may have addresses in them.
    """
    texts = [
        None
        if value is None or (isinstance(value, float) and value != value)
        else f"{type(value).__name__} {value if isinstance(value, SPELLED) else ''}"
        for value in series.to_list()
    ]
    return pa.chunked_array([pa.array(texts, pa.large_string())])


def _as_arrow(frame: nw.DataFrame[Any]) -> pa.Table:
    return strip_metadata(
        _in_order(frame, frame.to_arrow().select(list(frame.columns))), marked=True
    )


def _in_order(frame: nw.DataFrame[Any], table: pa.Table) -> pa.Table:
    """Return the Arrow table of a frame with ordered categories marked so.

    Older polars loses the order of an Enum.
    """
    if not frame.implementation.is_polars():
        return table
    for index, field in enumerate(table.schema):
        kind: Any = field.type
        if (
            pa.types.is_dictionary(kind)
            and not kind.ordered
            and isinstance(frame[field.name].dtype, nw.Enum)
        ):
            kind = pa.dictionary(kind.index_type, kind.value_type, ordered=True)
            chunks = [
                pa.DictionaryArray.from_arrays(chunk.indices, chunk.dictionary, ordered=True)
                for chunk in table.column(index).chunks
            ]
            table = table.set_column(index, field.with_type(kind), pa.chunked_array(chunks, kind))
    return table


def arrow_column(frame: nw.DataFrame[Any], name: str) -> tuple[pa.Field, pa.ChunkedArray]:
    """Return one column as Arrow has it, with unused categories; refuse types that no release can
    hold.
    """
    if frame.implementation.is_polars() and frame[name].dtype == nw.Object:
        raise InputError(f"column {name!r} {UNKNOWN_TYPE}")
    if (numbers := _plain_numbers(frame, name)) is not None:
        return pa.field(name, numbers.type), numbers
    try:
        table = _in_order(frame, frame.select(name).to_arrow().select([name]))
        field = table.schema.field(0)
        odd = isinstance(field.type, pa.BaseExtensionType)
        column = of_plain_type(table.column(0))
    except MemoryError:
        raise
    except Exception:  # whose message would quote a value
        _, why = _odd_column(frame.select(name))
        raise InputError(f"column {name!r} {why}") from None
    if odd or is_odd(column.type):
        raise InputError(f"column {name!r} {UNKNOWN_TYPE}")
    return field, column


def _plain_numbers(frame: nw.DataFrame[Any], name: str) -> pa.ChunkedArray | None:
    """Return a pandas column of NumPy numbers as Arrow has it, None for any other column.

    A table of pandas with one column, converted as a whole, gives the same and takes ten times as
    long.
    """
    if not frame.implementation.is_pandas():
        return None
    series = frame.to_native()[name]
    dtype = series.dtype
    if not isinstance(dtype, np.dtype) or not dtype.isnative or dtype.kind not in "iuf":
        return None
    if dtype.kind == "f" and dtype.itemsize not in (4, 8):
        return None
    return pa.chunked_array([pa.array(series.to_numpy(), from_pandas=True)])


def is_odd(kind: pa.DataType) -> bool:
    """Check if a type is one of lists, bytes and the like, which no quasi-identifier can have."""
    if pa.types.is_dictionary(kind):
        return is_odd(kind.value_type)
    bytes_ = (
        pa.types.is_binary(kind)
        or pa.types.is_large_binary(kind)
        or pa.types.is_fixed_size_binary(kind)
    )
    return bool(pa.types.is_nested(kind) or bytes_ or pa.types.is_interval(kind))


def _odd_column(frame: nw.DataFrame[Any]) -> tuple[str, str]:
    """Return the first column that no Arrow table can hold, and the reason."""
    for name in frame.columns:
        try:
            _as_arrow(frame.select(name))
        except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
            if isinstance(error, UnicodeError) or "UTF8" in str(error):
                return name, "holds text that is not in UTF-8; correct it."
            return name, "mixes values of several types; make them one."
        except OverflowError:
            return name, "holds whole numbers of more than 64 bits; make them text or floats."
        except Exception:
            return name, UNKNOWN_TYPE
    return frame.columns[0], UNKNOWN_TYPE


def check_odd_types(frame: nw.DataFrame[Any], names: Sequence[str]) -> None:
    """Refuse columns that a release could not hold as what they are."""
    for field in (
        frame.select(*names).head(1).to_arrow().select(list(names)).schema
    ):  # without an index of pandas
        # polars would write where in memory an object of Python lies
        pointer = frame.implementation.is_polars() and frame[field.name].dtype == nw.Object
        if pointer or isinstance(field.type, pa.BaseExtensionType):
            raise InputError(f"column {field.name!r} {UNKNOWN_TYPE}")


def column_facts(frame: nw.DataFrame[Any]) -> list[ColumnFacts]:
    """Return the facts of each column by its type, and by its labels if it has any."""
    understood = understood_in(frame.to_native())
    return [
        ColumnFacts(
            name,
            _is_numeric(frame[name].dtype),
            (understood[name].kind if name in understood else None) or suggested_kind(frame, name),
            frame[name].dtype == nw.String,
            understood[name].levels if name in understood else None,
        )
        for name in frame.columns
    ]


def suggested_kind(frame: nw.DataFrame[Any], name: str) -> Kind:
    """Return the kind that a column's type suggests; text is numeric only if it is marked so.

    Categories are ordinal if their type has an order (ordered ones of pandas and Arrow, Enum of
    polars), else nominal.

    >>> suggested_kind(nw.from_native(pa.table({"born": pa.array([0], pa.date32())})), "born").value
    'numeric'
    """
    if _is_numeric(frame[name].dtype):
        return Kind.NUMERIC
    try:
        field, column = arrow_column(frame.head(1), name)
        # objects of Python tell their type by the first that is one
        if pa.types.is_null(column.type):
            field, column = arrow_column(frame, name)
    except InputError:
        return Kind.NOMINAL  # of a type that no release holds: refused if it is to be released
    kind: Any = column.type
    if pa.types.is_dictionary(kind):
        return Kind.ORDINAL if kind.ordered else Kind.NOMINAL
    numeric = (
        pa.types.is_integer(kind)
        or pa.types.is_floating(kind)
        or pa.types.is_decimal(kind)
        or (pa.types.is_temporal(kind) and not pa.types.is_interval(kind))
        or (is_text(kind) and means_numbers(field))
    )
    return Kind.NUMERIC if numeric else Kind.NOMINAL


def _is_numeric(dtype: Any) -> bool:
    return dtype.is_integer() or dtype.is_float() or isinstance(dtype, nw.Decimal)

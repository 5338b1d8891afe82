"""DataFrames of any library, through narwhals."""

from __future__ import annotations

import datetime
import re
from collections.abc import Sequence
from decimal import Decimal
from typing import Any, NoReturn

import narwhals as nw
import numpy as np
import pyarrow as pa

from microagg.errors import InputError
from microagg.table.columns.arrow import compute as pc
from microagg.table.columns.arrow import (
    is_text,
    means_numbers,
    of_plain_type,
    of_used_categories,
    strip_metadata,
    without_runs,
)
from microagg.table.columns.cell_errors import check_value
from microagg.table.columns.containers import as_container, as_table
from microagg.table.columns.labels import understood_in
from microagg.table.columns.text_inference import NUMBER
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
"""Types of Python whose text tells their value."""
UNKNOWN_TYPE = "is of a type that cannot be released; make it numbers or text, or leave it out."
KNOWN_TABLES = (
    "the table must be a pandas, polars or Arrow table, a LazyFrame of polars, a relation of "
    "DuckDB, a dict of lists, or a NumPy matrix."
)
POLARS_WITHOUT_TRAIL = (1, 35, 1)
"""From here on a pickled Categorical of polars holds the categories that occur, and no others."""
LARGEST = 1e100
LARGEST_WHOLE = 2.0**53  # from here on float64 skips whole numbers


def open_frame(table: Any) -> nw.DataFrame[Any]:
    """A narwhals frame over a pandas, polars or Arrow table, or a NumPy matrix with columns named
    "0", "1", ...

    A LazyFrame of polars is collected, a relation of DuckDB fetched as an Arrow table; a dict of
    lists, a record batch or a Series becomes a table (see `inputs.py`).
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
        raise InputError("the table has no records; there is nothing to protect.")
    if isinstance(native := frame.to_native(), pa.Table):
        _check_broken(native)
        if any(pa.types.is_run_end_encoded(kind) for kind in native.schema.types):
            columns = [without_runs(column) for column in native.columns]
            frame = nw.from_native(pa.table(columns, names=native.column_names), eager_only=True)
    return frame


def _collected(frame: nw.LazyFrame[Any]) -> nw.DataFrame[Any]:
    """The rows of a query; those of DuckDB come as an Arrow table."""
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
    """Whether Arrow takes it for a name: text in UTF-8 without an end in the middle (polars would
    panic there).
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
                f"column {name!r} is damaged, or holds text that is not in UTF-8; mend it."
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


def same_type(frame: nw.DataFrame[Any], given: Any) -> Any:
    """The frame as the type that was given, without categories that no record has."""
    if isinstance(given, np.ndarray):
        return np.column_stack([frame[name].to_numpy() for name in frame.columns])
    return as_container(_without_unused(frame), given)


def _without_unused(frame: nw.DataFrame[Any]) -> Any:
    """The native table of a frame, without categories that no record has."""
    native = frame.to_native()
    if isinstance(native, pa.Table):
        made = strip_metadata(native, marked=True).replace_schema_metadata(native.schema.metadata)
        for place, field in enumerate(native.schema):
            if field.type == pa.string_view():  # which files do not have, but tables do
                made = made.set_column(
                    place,
                    made.schema.field(place).with_type(field.type),
                    made.column(place).cast(field.type),
                )
        return made
    for name in frame.columns:
        frame = frame.with_columns(of_used_values(frame[name]))
    return frame.to_native()


def of_used_values(series: nw.Series[Any]) -> nw.Series[Any]:
    """A column without the categories that do not occur: in the order of an ordered type, else
    sorted.
    """
    if series.dtype not in (nw.Categorical, nw.Enum):
        return series
    native = series.to_native()
    if isinstance(native, pa.ChunkedArray):
        return nw.from_native(of_used_categories(native), series_only=True).alias(series.name)
    if series.implementation.is_pandas_like():
        return nw.from_native(_of_used_in_pandas(series), series_only=True)
    kind: Any = series.dtype
    if isinstance(kind, nw.Enum):
        used = set(series.drop_nulls().unique().to_list())
        return series.cast(nw.String).cast(
            nw.Enum([name for name in kind.categories if name in used])
        )
    return _of_used_in_polars(series)


def _of_used_in_polars(series: nw.Series[Any]) -> nw.Series[Any]:
    """A Categorical of polars as it is: what it could hold lies in polars, not in the table, unless
    polars is too old for that.
    """
    library: Any = series.__native_namespace__()
    version = tuple(int(part) for part in re.findall(r"\d+", library.__version__)[:3])
    if version < POLARS_WITHOUT_TRAIL:
        wanted = ".".join(map(str, POLARS_WITHOUT_TRAIL))
        raise InputError(
            f"column {series.name!r} is a Categorical of polars {library.__version__}, "
            f"which keeps categories that no released record has;"
            f" install polars {wanted} or newer, or make it text."
        )
    return series


def _of_used_in_pandas(series: nw.Series[Any]) -> Any:
    native = series.to_native()
    if hasattr(native, "cat"):
        used = native.cat.remove_unused_categories()
        return (
            used if used.cat.ordered else used.cat.reorder_categories(_sorted(used.cat.categories))
        )
    library: Any = series.__native_namespace__()  # over Arrow, it has no word for that
    column = native.array.__arrow_array__()
    column = column if isinstance(column, pa.ChunkedArray) else pa.chunked_array([column])
    kept = library.arrays.ArrowExtensionArray(of_used_categories(column))
    return library.Series(kept, index=native.index, name=native.name)


def _sorted(categories: Any) -> Any:
    """Categories of pandas in ascending order; that of their texts where they have none."""
    try:
        return categories.sort_values()
    except TypeError:
        return sorted(categories, key=repr)


def column_like(given: nw.Series[Any], values: np.ndarray, *, whole: bool) -> nw.Series[Any]:
    """A column of these values under the name of a given one, and of its type where that can hold
    them.
    """
    series = nw.new_series(given.name, values, backend=given.implementation)
    fits = (given.dtype.is_integer() and whole) or given.dtype in (nw.Float32, nw.Float64)
    if fits and given.implementation.is_pandas_like():
        # in pandas a number has several homes (int64, Int64, int64[pyarrow]) that narwhals does not
        # tell apart
        return nw.from_native(series.to_native().astype(given.to_native().dtype), series_only=True)
    return series.cast(given.dtype) if fits else series


def to_arrow(frame: nw.DataFrame[Any], withheld: Sequence[str] = ()) -> pa.Table:
    """The frame's columns, and nothing else (no index, no unused categories), as an Arrow table.

    Columns that Arrow cannot hold are refused. Those that are `withheld` become text, which nothing
    but the digest of the table sees.
    """
    try:
        odd = [name for name in withheld if not _fits_arrow(frame, name)]
        if odd:
            table = _as_arrow(frame.drop(odd))
            for place, name in enumerate(frame.columns):
                if name in odd:
                    table = table.add_column(place, name, _texts_of_objects(frame[name]))
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
    """The Arrow table of a frame, where categories that have an order say so: older polars forgets
    to tell it of an Enum.
    """
    if not frame.implementation.is_polars():
        return table
    for place, field in enumerate(table.schema):
        kind: Any = field.type
        if (
            pa.types.is_dictionary(kind)
            and not kind.ordered
            and isinstance(frame[field.name].dtype, nw.Enum)
        ):
            kind = pa.dictionary(kind.index_type, kind.value_type, ordered=True)
            chunks = [
                pa.DictionaryArray.from_arrays(each.indices, each.dictionary, ordered=True)
                for each in table.column(place).chunks
            ]
            table = table.set_column(place, field.with_type(kind), pa.chunked_array(chunks, kind))
    return table


def arrow_column(frame: nw.DataFrame[Any], name: str) -> tuple[pa.Field, pa.ChunkedArray]:
    """One column as Arrow has it, categories that no record has included; types that no release
    could hold are refused.
    """
    if frame.implementation.is_polars() and frame[name].dtype == nw.Object:
        raise InputError(f"column {name!r} {UNKNOWN_TYPE}")
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


def is_odd(kind: pa.DataType) -> bool:
    """Whether a type is one of lists, bytes and the like, of which no quasi-identifier can be."""
    if pa.types.is_dictionary(kind):
        return is_odd(kind.value_type)
    bytes_ = (
        pa.types.is_binary(kind)
        or pa.types.is_large_binary(kind)
        or pa.types.is_fixed_size_binary(kind)
    )
    return bool(pa.types.is_nested(kind) or bytes_ or pa.types.is_interval(kind))


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
    """What the type of each column tells, and its labels where it has any."""
    told = understood_in(frame.to_native())
    return [
        ColumnFacts(
            name,
            _is_numeric(frame[name].dtype),
            (told[name].kind if name in told else None) or suggested_kind(frame, name),
            frame[name].dtype == nw.String,
            told[name].levels if name in told else None,
        )
        for name in frame.columns
    ]


def suggested_kind(frame: nw.DataFrame[Any], name: str) -> Kind:
    """The kind that a column's type suggests: text is numeric only if it is marked as text that
    means numbers.

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


def values_of(frame: nw.DataFrame[Any], names: Sequence[str]) -> np.ndarray:
    """(n, d) float64: the values of numeric columns; anything else is an error that names column
    and row.
    """
    values = np.empty((len(frame), len(names)))
    native = frame.to_native()
    for j, name in enumerate(names):
        column = _sound_values(native.column(name)) if isinstance(native, pa.Table) else None
        values[:, j] = _numeric_values(frame, name) if column is None else column
    return values


def _sound_values(column: pa.ChunkedArray) -> np.ndarray | None:
    """The numbers of a plain Arrow column; None if there is anything to be said about them.

    Some twenty times as fast as the way through narwhals, which is felt where a table has thousands
    of columns.
    """
    if column.null_count or not (
        column.type in (pa.float32(), pa.float64()) or pa.types.is_integer(column.type)
    ):
        return None
    values = column.to_numpy().astype(np.float64)
    # NaN where there is one
    largest = max(abs(values.min(initial=0.0)), abs(values.max(initial=0.0)))
    sound = largest < LARGEST_WHOLE if pa.types.is_integer(column.type) else largest <= LARGEST
    return values if sound else None


def _numeric_values(frame: nw.DataFrame[Any], name: str) -> np.ndarray:
    series = frame[name]
    if not _is_numeric(series.dtype):
        _check_type(frame, name)
    _check_where(name, series.is_null().to_numpy(), "missing value")
    whole = series.dtype.is_integer()
    try:
        values = (series if whole else series.cast(nw.Float64)).to_numpy().astype(np.float64)
    except MemoryError:
        raise
    except Exception:  # of pandas or polars, for numbers that no array can hold
        raise InputError(f"column {name!r} {UNKNOWN_TYPE}") from None
    _check_where(name, np.isnan(values), "missing value")
    _check_where(name, np.isinf(values), "infinite value")
    if whole:
        _check_where(name, np.abs(values) >= LARGEST_WHOLE, "a whole number of more than 15 digits")
    _check_where(name, np.abs(values) > LARGEST, f"a number beyond {LARGEST:g}")
    return values


def _check_where(name: str, wrong: np.ndarray, what: str) -> None:
    if wrong.any():
        check_value(name, int(np.argmax(wrong)), what)


def _check_type(frame: nw.DataFrame[Any], name: str) -> NoReturn:
    column = to_arrow(frame.select(name)).column(0)
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        number = pc.match_substring_regex(column, NUMBER)
        first = pc.index(pc.fill_null(number, False), False).as_py()
        check_value(name, max(first, 0), "text where a number is needed")
    raise InputError(
        f"column {name!r} does not hold numbers; convert it, or give it another role than quasi."
    )

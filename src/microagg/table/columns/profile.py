"""Profile of a column by types, counts and patterns, without missing markers and single values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import narwhals as nw
import pyarrow as pa

from microagg.errors import InputError
from microagg.table.columns.arrow import comparable, is_text
from microagg.table.columns.arrow import compute as pc
from microagg.table.columns.field_metadata import MARKER
from microagg.table.columns.frames import arrow_column, is_odd
from microagg.table.columns.labels import Understood, understood_in
from microagg.table.columns.special_codes import special_codes
from microagg.table.columns.text_facts import without_markers
from microagg.table.columns.text_inference import quasi_column
from microagg.table.columns.text_masks import CODE
from microagg.table.columns.text_patterns import _KEY, counted, pattern_of
from microagg.table.reduction import Reduction
from microagg.table.schema import ColumnSettings, Kind

FEWEST_OF_BLOCKS = 30
FEWEST_IN_BLOCK, MOST_IN_BLOCK = 1.25, 50
"""How many records of one person, household or company stand together at least and at most, on
average.
"""
NEARLY = 0.95
"""From this share of different values on, a column is nearly unique."""
_MISSING_WORDS = (
    r"(?i)^(-+|\?+|–|—|none|#n/a|n\.?\s?a\.?|k\.?\s?a\.?|n\.?\s?d\.?|s/d|missing|unknown|"
    r"unbekannt|keine angabe|"
    r"inconnu|desconocido|"
    r"refused|no answer|not available|not applicable|don'?t know)$"
)
"""Texts that mean a missing value where all others are numbers or dates, and are known to from no
data.
"""


@dataclass(frozen=True)
class ColumnProfile:
    """Profile of a column. Counts are of cells with a value; numbers are counted by value."""

    name: str
    kind: Kind
    records: int
    values: int = 0
    """Cells that hold a value."""
    distinct: int = 0
    single: int = 0
    """Cells whose value no other cell has."""
    text: bool = False
    boolean: bool = False
    dates: bool = False
    whole: bool = False
    """True if it holds whole numbers only."""
    positive: bool = False
    span: float = 0.0
    """Difference of the largest and smallest number."""
    like: str = ""
    """Pattern of its texts, a key of `LIKE`."""
    runs: int = field(default=0, compare=False)
    """Number of runs of equal values in consecutive records; 0 if not counted. For proposals only:
    it depends on the order of rows, which no statement on a release may do.
    """
    coded: bool = False
    """True if nearly all of its texts are built like the number of a person or company: A000360."""
    na: tuple[str, ...] = ()
    """Texts among its numbers or dates that mean a missing value, and must be declared."""
    mixed: bool = False
    """True if it holds numbers or dates with other text among them."""
    declared_kind: Kind | None = None
    """Kind that must be declared, if the column's type suggests another."""
    readable: bool = True
    """True if a release can hold its type."""
    special: tuple[int, ...] = field(default=(), compare=False)
    """Special codes among its numbers, such as 97; for proposals only."""

    @property
    def nearly_unique(self) -> bool:
        """True if nearly every record has a value of its own."""
        return self.values > 1 and self.distinct >= NEARLY * self.values

    @property
    def stands_together(self) -> bool:
        """True if repeated values are in consecutive records, as persons of a panel or a household
        are.
        """
        several = FEWEST_IN_BLOCK * self.distinct <= self.values < MOST_IN_BLOCK * self.distinct
        return several and 0 < self.runs <= 1.05 * self.distinct

    @property
    def in_blocks(self) -> bool:
        """True if that holds for many values, which is rarely by chance."""
        return self.distinct > FEWEST_OF_BLOCKS and self.stands_together

    @property
    def mostly_repeated(self) -> bool:
        """True if at most one in twenty values occurs once."""
        return self.single <= (1.0 - NEARLY) * self.values


def profile_column(
    frame: nw.DataFrame[Any], name: str, *, typed: bool = True, na: Sequence[str] = ()
) -> ColumnProfile:
    """Return the profile of a column; `typed` is False for files in which all columns are text.

    `na` are further markers of missing values.

    >>> look = profile_column(
    ...     nw.from_native(pa.table({"age": ["30", "30.0", "NA"]}), eager_only=True), "age"
    ... )
    >>> look.kind.value, look.values, look.distinct, look.whole
    ('numeric', 2, 1, True)
    """
    try:
        _, column = arrow_column(frame, name)
    except InputError:
        return ColumnProfile(name, Kind.NOMINAL, len(frame), readable=False)
    column = without_markers(column, na) if na else column
    kind, declared_kind, like, coded, words, mixed = None, None, "", False, (), False
    labels = understood_in(frame.to_native(), [name]).get(name, Understood())
    if labels.kind is not None:
        kind = labels.kind
        if labels.special and kind is not Kind.NOMINAL:
            column = _without_codes(column, labels.special)
    elif labels.special and not is_text(column.type):  # codes that are no numbers
        column = _without_codes(column, labels.special)
    if pa.types.is_dictionary(column.type):  # categories of numbers are categories
        kind = kind or (Kind.ORDINAL if column.type.ordered else Kind.NOMINAL)
        column = pc.cast(column, column.type.value_type)
    elif is_text(column.type):
        column, declared_kind, words, mixed = _read_text(name, column, typed=typed)
    if is_text(column.type):
        column = _without_markers(pc.cast(column, pa.large_string()))
        like, coded = pattern_of(column), _coded(column)
    if kind is None:
        plain = (
            is_text(column.type)
            or pa.types.is_boolean(column.type)
            or pa.types.is_null(column.type)
        )
        kind = Kind.NOMINAL if plain else Kind.NUMERIC
    values = pc.drop_null(comparable(column))
    entries = pc.value_counts(values) if len(values) else None
    counts = pa.array([], pa.int64()) if entries is None else entries.field("counts")
    of_numbers = _of_numbers(values, kind)
    return ColumnProfile(
        name,
        kind,
        len(frame),
        len(values),
        len(counts),
        int(pc.sum(pc.equal(counts, 1)).as_py() or 0),
        like=like,
        runs=_runs(values),
        coded=coded,
        na=words,
        mixed=mixed,
        declared_kind=declared_kind,
        text=is_text(column.type),
        boolean=pa.types.is_boolean(column.type),
        dates=pa.types.is_temporal(column.type),
        special=special_codes(entries) if of_numbers.get("whole") else (),
        **of_numbers,
    )


MOST_TEXTS = 100_000
"""Different texts of a column that are counted chunk by chunk."""


@dataclass
class ProfileStats(Reduction):
    """Statistics of chunks of a released column, combined to the result of `profile_column`.

    For numbers two counts are not included.

    >>> facts = ProfileStats.of_chunk("age", pa.chunked_array([[30, 31]]))
    >>> facts = facts.combine(ProfileStats.of_chunk("age", pa.chunked_array([[31, None]])))
    >>> look = facts.look(2, 1)
    >>> look.values, look.whole, look.span
    (3, True, 1.0)
    """

    name: str
    records: int
    values: int = 0
    texts: dict[str | bool, int] | None = None
    """Counts of the values of text and booleans."""
    whole: bool = True
    least: float = float("inf")
    most: float = float("-inf")
    categories: str = ""
    """The kind of a column of categories: nominal or ordinal; "" for others."""
    dates: bool = False
    readable: bool = True
    """True if a quasi-identifier can have its type."""

    @classmethod
    def of_chunk(cls, name: str, column: pa.ChunkedArray) -> ProfileStats:
        """Return the statistics of a chunk."""
        if is_odd(column.type):
            return ProfileStats(name, len(column), readable=False)
        categories: Any = ""
        if pa.types.is_dictionary(column.type):
            categories = (Kind.ORDINAL if column.type.ordered else Kind.NOMINAL).value
        values = pc.drop_null(comparable(column))
        stats = ProfileStats(name, len(column), len(values), categories=categories)
        stats.dates = pa.types.is_temporal(values.type)
        if is_text(values.type) or pa.types.is_boolean(values.type):
            counts = pc.value_counts(values)
            facts = zip(
                counts.field("values").to_pylist(), counts.field("counts").to_pylist(), strict=True
            )
            stats.texts = dict(facts)
        elif len(values) and not stats.dates:
            facts = _of_numbers(values, Kind.NUMERIC)
            ends = pc.min_max(pc.cast(values, pa.float64(), safe=False)).as_py()
            stats.whole, stats.least, stats.most = facts["whole"], ends["min"], ends["max"]
        return stats

    def combine(self, more: ProfileStats) -> ProfileStats:
        """Take in another chunk."""
        self.records, self.values = self.records + more.records, self.values + more.values
        self.whole = self.whole and more.whole
        self.least, self.most = min(self.least, more.least), max(self.most, more.most)
        for text, count in (more.texts or {}).items():
            self.texts = self.texts or {}
            self.texts[text] = self.texts.get(text, 0) + count
        if len(self.texts or ()) > MOST_TEXTS:
            raise InputError(
                f"column {self.name!r} has more than {MOST_TEXTS:,} different texts, "
                f"which are not counted in large-table mode; name it "
                "as an identifier, or give it more memory."
            )
        return self

    def as_data(self) -> dict[str, Any]:
        """Return data for JSON, which has no booleans as keys."""
        texts = None if self.texts is None else list(self.texts.items())
        return {**self.__dict__, "texts": texts}

    @staticmethod
    def from_data(data: Mapping[str, Any]) -> ProfileStats:
        """Return statistics from the data of `as_data`."""
        texts = data["texts"]
        return ProfileStats(**{**data, "texts": None if texts is None else dict(texts)})

    def look(self, distinct: int, single: int) -> ColumnProfile:
        """Return the profile of the whole; `distinct` and `single` are the missing counts of
        numbers.
        """
        if self.texts is not None:
            return self._look_at_texts(self.texts)
        if not self.readable:
            return ColumnProfile(self.name, Kind.NOMINAL, self.records, readable=False)
        kind = Kind(self.categories) if self.categories else Kind.NUMERIC
        if self.values == 0 or kind is not Kind.NUMERIC or self.dates:
            return ColumnProfile(
                self.name, kind, self.records, self.values, distinct, single, dates=self.dates
            )
        return ColumnProfile(
            self.name, Kind.NUMERIC, self.records, self.values, distinct, single, whole=self.whole,
            positive=self.least > 0.0, span=self.most - self.least,
        )  # fmt: skip

    def _look_at_texts(self, texts: Mapping[str | bool, int]) -> ColumnProfile:
        """Return the profile from each distinct text, weighted by its count."""
        column = pa.chunked_array([pa.array(list(texts))])
        if self.categories:
            column = pc.cast(
                column,
                pa.dictionary(pa.int32(), column.type, self.categories == Kind.ORDINAL.value),
            )
        look = profile_column(
            nw.from_native(pa.table({self.name: column}), eager_only=True), self.name
        )
        counts = pa.array(list(texts.values()), pa.int64())
        like = ""
        if self.categories:
            column = pc.cast(column, column.type.value_type)
        elif is_text(column.type):
            column, *_ = _read_text(self.name, column, typed=True)
        if is_text(column.type):
            column = _without_markers(pc.cast(column, pa.large_string()))
            like = pattern_of(column, counts)
        values = comparable(column)
        summed = (
            pa.table({"value": values, "count": counts})
            .filter(pc.is_valid(values))
            .group_by("value")
            .aggregate([("count", "sum")])
        )
        often = summed.column("count_sum")
        return replace(
            look, records=self.records, values=int(pc.sum(often).as_py() or 0), distinct=len(often),
            single=int(pc.sum(pc.equal(often, 1)).as_py() or 0), like=like,
        )  # fmt: skip


def _without_codes(column: pa.ChunkedArray, codes: Sequence[Any]) -> pa.ChunkedArray:
    """Return a column without codes that its labels declare missing."""
    if is_text(column.type):
        gone = pc.is_in(column, value_set=pa.array(map(str, codes), column.type))
    else:
        gone = pc.is_in(
            pc.cast(column, pa.float64()), value_set=pa.array(map(float, codes), pa.float64())
        )
    return pc.if_else(gone, pa.scalar(None, column.type), column)


def _of_numbers(values: pa.ChunkedArray, kind: Kind) -> dict[str, Any]:
    """Return span, wholeness and sign of numbers; nothing for other types."""
    type = values.type
    plain = pa.types.is_integer(type) or pa.types.is_floating(type) or pa.types.is_decimal(type)
    if kind is not Kind.NUMERIC or not plain or len(values) == 0:
        return {}
    numbers = pc.cast(values, pa.float64(), safe=False)
    ends = pc.min_max(numbers).as_py()
    whole = pa.types.is_integer(values.type) or bool(
        pc.all(pc.equal(pc.floor(numbers), numbers)).as_py()
    )
    return {"whole": whole, "positive": ends["min"] > 0.0, "span": ends["max"] - ends["min"]}


def _read_text(
    name: str, column: pa.ChunkedArray, *, typed: bool
) -> tuple[pa.ChunkedArray, Kind | None, tuple[str, ...], bool]:
    """Convert text to the numbers or dates that it spells, if any.

    Returns the column, the kind and missing values to declare, and True if other text is mixed in.
    """
    text = pc.utf8_trim_whitespace(pc.cast(column, pa.string()))
    kind, na = None if typed else Kind.NOMINAL, ()
    read = _read_as(name, text)
    if read is None:
        na = _missing_words(text)
        read = _read_as(name, text, na) if na else None
        if read is None or is_text(read.type):
            return text, kind, (), True
    if is_text(read.type):
        return text, None, (), False
    if pa.types.is_temporal(read.type):  # in a table with types, text is never a date
        return (text, None, (), False) if typed else (read, None, na, False)
    if pc.any(pc.match_substring_regex(text, CODE)).as_py():  # "007" is a code
        return text, kind, (), False
    return read, Kind.NUMERIC if typed else None, na, False


def _read_as(name: str, text: pa.ChunkedArray, na: tuple[str, ...] = ()) -> pa.ChunkedArray | None:
    """Return a column as a release would read it; None if it would refuse text among numbers or
    dates.
    """
    try:
        return quasi_column(name, text, ColumnSettings(na=na))[1]
    except InputError:
        return None


def _missing_words(text: pa.ChunkedArray) -> tuple[str, ...]:
    """Return the texts of a column that mean missing in any language, in order."""
    words = pc.unique(pc.filter(text, pc.match_substring_regex(text, _MISSING_WORDS)))
    return tuple(sorted(word for word in words.to_pylist() if word is not None))


def _runs(values: pa.ChunkedArray) -> int:
    """Count the stretches of equal values that follow each other."""
    if len(values) < 2 or not (
        is_text(values.type)
        or pa.types.is_integer(values.type)
        or pa.types.is_floating(values.type)
    ):
        return 0
    changes = pc.not_equal(values.slice(1), values.slice(0, len(values) - 1))
    return 1 + int(pc.sum(changes).as_py() or 0)


def _coded(text: pa.ChunkedArray) -> bool:
    """Check if nearly all texts are built like numbers of persons or companies."""
    present = len(text) - text.null_count
    return (
        present > 0
        and counted(pc.match_substring_regex(text, _KEY), pa.scalar(1)) >= NEARLY * present
    )


def _without_markers(text: pa.ChunkedArray) -> pa.ChunkedArray:
    """Replace markers of missing values by null.

    This changes no release, but counting them as values would change proposals.
    """
    trimmed = pc.utf8_trim_whitespace(text)
    gone = pc.or_(pc.equal(trimmed, ""), pc.match_substring_regex(trimmed, MARKER))
    return pc.if_else(gone, pa.scalar(None, trimmed.type), trimmed)

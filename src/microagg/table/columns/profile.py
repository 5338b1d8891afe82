"""A look at a column: what it holds by type, counts and patterns, with missing markers set aside.
Nothing of single values.
"""

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
from microagg.table.columns.text_inference import CODE, DAY, MOMENT, quasi_column, without_markers
from microagg.table.schema import ColumnSettings, Kind

FEWEST_OF_BLOCKS = 30
FEWEST_IN_BLOCK, MOST_IN_BLOCK = 1.25, 50
"""How many records of one person, household or company stand together at least and at most, on
average.
"""
NEARLY = 0.95
"""From this share of different values on, a column is nearly unique."""
SHARE = 0.05
"""From this share of values that look like an e-mail address or the like, a column is taken for one
of those.
"""
_E_MAIL = r"[^\s@]@[^\s@]+\.[^\s@]"
_ACCOUNT = r"(?i)^[a-z]{2}\d{2} ?([a-z0-9]{4} ?){2,7}[a-z0-9]{0,4}$"
_PHONE = (
    r"^\+\d[\d ()/.\-]{6,}$|^\(?0\d{1,5}\)?[ /\-][\d /.\-]{4,}$|^\(?\d{3}\)?[ .\-]\d{3}[ "
    r".\-]\d{4}$|^\d{3}-\d{2}-\d{4}$"
)
_DATE = r"^\d{1,2}[./\-]\d{1,2}[./\-](\d{2}|\d{4})$|^\d{4}[./\-]\d{1,2}[./\-]\d{1,2}$"
_WORDS = r"(\s+[^\s?]+){1,5}"
_STREET = (
    # Hauptstraße 5, Elm Street no. 5
    r"(?i)(stra(ß|ss)e|str\.|street|\bst\.?|avenue|\bave\.?|\broad|\brd\.?|\blane|\bdrive|straat|gatan|platz|weg|gasse|allee)"
    r"\s*,?\s*(n[or°º]\.?\s*)?\d+\s*[a-z]?\b"
    # rue de la Paix 5, 5 rue de la Paix, 5 Elm Street
    rf"|\b(rue|calle|via|rua|avenue|avenida){_WORDS}\s*,?\s*\d+\s*[a-z]?(,|$)|^\d+\s*[a-z]?,?\s+(rue|calle|via|rua|avenue|avenida)\s"
    rf"|^\d+\s*[a-z]?,?{_WORDS}\s+(street|st|avenue|ave|road|rd|lane|ln|drive|boulevard|blvd)\.?(,|$)"
)
_KEY = r"^[A-Za-z]{0,4}[-_/]?\d{3,}[A-Za-z]?$"
"""A letter or two and a number, as registers number people and companies."""
_MISSING_WORDS = (
    r"(?i)^(-+|\?+|–|—|none|#n/a|n\.?\s?a\.?|k\.?\s?a\.?|n\.?\s?d\.?|s/d|missing|unknown|unbekannt|keine angabe|inconnu|desconocido|"
    r"refused|no answer|not available|not applicable|don'?t know)$"
)
"""Texts that mean a missing value where all others are numbers or dates, and are known to from no
data.
"""
LIKE = {
    "e-mail addresses": _E_MAIL,
    "bank accounts": _ACCOUNT,
    "phone or identity numbers": _PHONE,
    "street addresses": _STREET,
}


@dataclass(frozen=True)
class ColumnProfile:
    """What a look at a column tells. Counts are of cells that hold a value; numbers are counted by
    value, not by spelling.
    """

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
    """Whether it holds whole numbers only."""
    positive: bool = False
    span: float = 0.0
    """Of numbers: how far the largest is from the smallest."""
    like: str = ""
    """What its texts look like, of `LIKE`."""
    runs: int = field(default=0, compare=False)
    """Stretches of the same value, one record after the other; 0 if they were not counted. For
    proposals alone: it depends on the order of rows, which nothing that is said of a release may
    do.
    """
    coded: bool = False
    """Whether nearly all of its texts are built like the number of a person or company: A000360."""
    na: tuple[str, ...] = ()
    """Texts among its numbers or dates that mean a missing value, and have to be said."""
    mixed: bool = False
    """Whether it holds numbers or dates with other text among them."""
    said: Kind | None = None
    """The kind that must be said to make it so, where its type suggests another."""
    readable: bool = True
    """Whether it is of a type that a release can hold."""

    @property
    def nearly_unique(self) -> bool:
        """Whether nearly every record has a value of its own."""
        return self.values > 1 and self.distinct >= NEARLY * self.values

    @property
    def stands_together(self) -> bool:
        """Whether values occur several times each, always one record after the other, as persons of
        a panel or a household do.
        """
        several = FEWEST_IN_BLOCK * self.distinct <= self.values < MOST_IN_BLOCK * self.distinct
        return several and 0 < self.runs <= 1.05 * self.distinct

    @property
    def in_blocks(self) -> bool:
        """Whether that is so for many values, which is seldom chance."""
        return self.distinct > FEWEST_OF_BLOCKS and self.stands_together

    @property
    def mostly_repeated(self) -> bool:
        """Whether at most one in twenty values occurs once."""
        return self.single <= (1.0 - NEARLY) * self.values


def profile_column(
    frame: nw.DataFrame[Any], name: str, *, typed: bool = True, na: Sequence[str] = ()
) -> ColumnProfile:
    """A look at a column; `typed` is False for files in which everything is text, where numbers
    are found when they are read.

    `na` are further markers of missing values.

    >>> look = profile_column(nw.from_native(pa.table({"age": ["30", "30.0", "NA"]}), eager_only=True), "age")
    >>> look.kind.value, look.values, look.distinct, look.whole
    ('numeric', 2, 1, True)
    """
    try:
        _, column = arrow_column(frame, name)
    except InputError:
        return ColumnProfile(name, Kind.NOMINAL, len(frame), readable=False)
    column = without_markers(column, na) if na else column
    kind, said, like, coded, words, mixed = None, None, "", False, (), False
    told = understood_in(frame.to_native(), [name]).get(name, Understood())
    if told.kind is not None:
        kind = told.kind
        if told.special and kind is not Kind.NOMINAL:
            column = _without_codes(column, told.special)
    elif told.special and not is_text(column.type):  # codes that are no numbers
        column = _without_codes(column, told.special)
    if pa.types.is_dictionary(column.type):  # categories of numbers are categories
        kind = kind or (Kind.ORDINAL if column.type.ordered else Kind.NOMINAL)
        column = pc.cast(column, column.type.value_type)
    elif is_text(column.type):
        column, said, words, mixed = _read_text(name, column, typed=typed)
    if is_text(column.type):
        column = _without_markers(pc.cast(column, pa.large_string()))
        like, coded = _like(column), _coded(column)
    if kind is None:
        plain = (
            is_text(column.type)
            or pa.types.is_boolean(column.type)
            or pa.types.is_null(column.type)
        )
        kind = Kind.NOMINAL if plain else Kind.NUMERIC
    values = pc.drop_null(comparable(column))
    counts = pc.value_counts(values).field("counts") if len(values) else pa.array([], pa.int64())
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
        said=said,
        text=is_text(column.type),
        boolean=pa.types.is_boolean(column.type),
        dates=pa.types.is_temporal(column.type),
        **_of_numbers(values, kind),
    )


MOST_TEXTS = 100_000
"""Different texts of a column that are counted chunk by chunk."""


@dataclass
class ProfileStats:
    """What chunks of a released column tell, put together to what `profile_column` would find in
    the whole; for numbers but two counts.

    >>> facts = ProfileStats.of("age", pa.chunked_array([[30, 31]]))
    >>> facts.combine(ProfileStats.of("age", pa.chunked_array([[31, None]])))
    >>> look = facts.look(2, 1)
    >>> look.values, look.whole, look.span
    (3, True, 1.0)
    """

    name: str
    records: int
    values: int = 0
    texts: dict[str | bool, int] | None = None
    """Of text and of true and false: how often each value occurs."""
    whole: bool = True
    least: float = float("inf")
    most: float = float("-inf")
    categories: str = ""
    """The kind of a column of categories: nominal or ordinal; "" for others."""
    dates: bool = False
    readable: bool = True
    """Whether it is of a type that a quasi-identifier can be of."""

    @staticmethod
    def of(name: str, column: pa.ChunkedArray) -> ProfileStats:
        """What a chunk tells."""
        if is_odd(column.type):
            return ProfileStats(name, len(column), readable=False)
        categories: Any = ""
        if pa.types.is_dictionary(column.type):
            categories = (Kind.ORDINAL if column.type.ordered else Kind.NOMINAL).value
        values = pc.drop_null(comparable(column))
        found = ProfileStats(name, len(column), len(values), categories=categories)
        found.dates = pa.types.is_temporal(values.type)
        if is_text(values.type) or pa.types.is_boolean(values.type):
            counts = pc.value_counts(values)
            told = zip(
                counts.field("values").to_pylist(), counts.field("counts").to_pylist(), strict=True
            )
            found.texts = dict(told)
        elif len(values) and not found.dates:
            told = _of_numbers(values, Kind.NUMERIC)
            ends = pc.min_max(pc.cast(values, pa.float64(), safe=False)).as_py()
            found.whole, found.least, found.most = told["whole"], ends["min"], ends["max"]
        return found

    def combine(self, more: ProfileStats) -> None:
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
                f"which are not counted beyond memory; name it "
                "as an identifier, or give it more memory."
            )

    def as_data(self) -> dict[str, Any]:
        """What `ProfileStats(**data)` makes the same of; texts that are true and false aside, which
        JSON knows by other names.
        """
        texts = None if self.texts is None else list(self.texts.items())
        return {**self.__dict__, "texts": texts}

    @staticmethod
    def from_data(data: Mapping[str, Any]) -> ProfileStats:
        """The same from what `as_data` gave."""
        texts = data["texts"]
        return ProfileStats(**{**data, "texts": None if texts is None else dict(texts)})

    def look(self, distinct: int, single: int) -> ColumnProfile:
        """The look at the whole; of numbers it must be said how many `distinct` ones there are, and
        how many occur once.
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
        """A look at each different text once, with what depends on how often it occurs counted by
        that.
        """
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
            like = _like(column, counts)
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
    """A column without codes that its labels declare missing."""
    if is_text(column.type):
        gone = pc.is_in(column, value_set=pa.array(map(str, codes), column.type))
    else:
        gone = pc.is_in(
            pc.cast(column, pa.float64()), value_set=pa.array(map(float, codes), pa.float64())
        )
    return pc.if_else(gone, pa.scalar(None, column.type), column)


def _of_numbers(values: pa.ChunkedArray, kind: Kind) -> dict[str, Any]:
    """Whether numbers are whole and positive, and how far they reach; nothing for all else."""
    plain = (
        pa.types.is_integer(values.type)
        or pa.types.is_floating(values.type)
        or pa.types.is_decimal(values.type)
    )
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
    """Text as the numbers or dates that it spells, or as it is; the kind and the missing values
    that must be said to have it so.

    The last is whether there is other text among numbers or dates.
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
    """A column as a release would read it; None where it would be refused because of text among
    numbers or dates.
    """
    try:
        return quasi_column(name, text, ColumnSettings(na=na))[1]
    except InputError:
        return None


def _missing_words(text: pa.ChunkedArray) -> tuple[str, ...]:
    """The texts of a column that mean missing in any language of `_MISSING_WORDS`, in order."""
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
    """Whether nearly all texts are built like numbers of persons or companies."""
    there = len(text) - text.null_count
    return (
        there > 0 and _counted(pc.match_substring_regex(text, _KEY), pa.scalar(1)) >= NEARLY * there
    )


def _without_markers(text: pa.ChunkedArray) -> pa.ChunkedArray:
    """What means missing in columns of numbers is no value here either: that changes no release,
    but would change what is proposed.
    """
    trimmed = pc.utf8_trim_whitespace(text)
    gone = pc.or_(pc.equal(trimmed, ""), pc.match_substring_regex(trimmed, MARKER))
    return pc.if_else(gone, pa.scalar(None, trimmed.type), trimmed)


def _like(text: pa.ChunkedArray, counts: pa.Array | None = None) -> str:
    """What a share of the texts look like, if they do; `counts` says how often each occurs, where
    they are different ones.
    """
    often = pa.scalar(1) if counts is None else counts
    there = len(text) - text.null_count
    if counts is not None:
        there = int(pc.sum(counts.filter(pc.is_valid(text).combine_chunks())).as_py() or 0)
    dates = pc.match_substring_regex(text, f"{_DATE}|{DAY}|{MOMENT}")
    found = {
        what: _counted(pc.and_not(pc.match_substring_regex(text, pattern), dates), often)
        for what, pattern in LIKE.items()
    }
    most = max(found, key=lambda what: found[what])
    return most if there and found[most] >= SHARE * there else ""


def _counted(hits: pa.ChunkedArray, often: Any) -> int:
    return pc.sum(pc.multiply(pc.cast(hits, pa.int64()), often)).as_py() or 0

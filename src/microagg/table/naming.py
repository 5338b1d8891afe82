"""Columns that may name people: by what they are called, and by values that nearly everybody has alone."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from typing import Any

import narwhals as nw
import pyarrow as pa

from microagg.table.io.arrow import comparable, is_text
from microagg.table.io.arrow import compute as pc

NEARLY = 0.95  # of the known values are different: nearly everybody has one of their own

# parts of names that say so by themselves, without accents; in English, German, French, Spanish, Italian, Portuguese, Dutch, Polish
_NAMING = """
name names surname forename firstname lastname fullname nickname nachname vorname nom prenom nombre nombres apellido apellidos
nome cognome sobrenome apelido naam voornaam achternaam imie nazwisko
email mail phone telephone telefon telefono telefone tel mobile handy fax
address addr adresse anschrift direccion indirizzo endereco adres street strasse rue calle via rua straat ulica
iban ssn nin passport pass ausweis pasaporte passaporto dni nif curp cpf pesel bsn steuernummer sozialversicherungsnummer
signature photo url username login
"""
# parts of names that say so if nearly everybody has a value of their own
_NUMBERING = """
id ids nr no num number nummer numero key code uuid guid pid account konto card member patient client customer
"""
NAMING_WORDS, NUMBERING_WORDS = frozenset(_NAMING.split()), frozenset(_NUMBERING.split())


def may_name_people(table: pa.Table, names: Sequence[str]) -> list[str]:
    """Which of these columns may name people: their names say so, or nearly everybody has a value of their own in them.

    Values count where they are text, whole numbers that run through (at most twice as many as there are records), or in a column
    whose name speaks of numbers and codes. Amounts that differ from person to person name nobody.

    >>> table = pa.table({"Last name": ["A", "A"], "note": ["x", "y"], "rent": [700.5, 801.25], "case_no": [901, 7]})
    >>> may_name_people(table, table.column_names)
    ['Last name', 'note', 'case_no']
    """
    return [name for name in names if _may_name(name, table.column(name))]


def naming_in_index(table: Any) -> list[str]:
    """The levels of a pandas index that may name people: texts that nearly everybody has alone, or a name that says so.

    Numbers of rows, which every index has that nobody chose, do not count.

    >>> import pandas as pd
    >>> naming_in_index(pd.DataFrame({"age": [30, 40]}, index=pd.Index(["Ada", "Bob"], name="who")))
    ['who']
    """
    if not nw.dependencies.is_pandas_like_dataframe(table):
        return []
    index, found = table.index, []
    for level in range(index.nlevels):
        values = index.get_level_values(level)
        name = "" if values.name is None else str(values.name)
        if NAMING_WORDS.intersection(words_of(name)) or _nearly_unique(_texts_of(values)):
            found.append(name or "index")
    return found


def _texts_of(index: Any) -> pa.ChunkedArray:
    """The texts of one level of an index; nothing where its type has none, without a look at every row."""
    rows = () if getattr(index.dtype, "kind", "O") in "iufcbmM" else index
    return pa.chunked_array(
        [pa.array([each if isinstance(each, str) else None for each in rows], pa.string())]
    )


def words_of(name: str) -> list[str]:
    """The words of a column's name, in lower case and without accents.

    >>> words_of("lastName_2"), words_of("Prénom")
    (['last', 'name', '2'], ['prenom'])
    """
    split = re.sub(r"(?<=[a-zß-ÿ])(?=[A-Z])", " ", name)
    plain = unicodedata.normalize("NFKD", split.lower().replace("ß", "ss"))
    return re.findall(r"[^\W_]+", "".join(each for each in plain if not unicodedata.combining(each)))


def _may_name(name: str, column: pa.ChunkedArray) -> bool:
    words = words_of(name)
    if NAMING_WORDS.intersection(words):
        return True
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    if is_text(kind) or NUMBERING_WORDS.intersection(words):
        return _nearly_unique(column)
    return pa.types.is_integer(kind) and _runs_through(column) and _nearly_unique(column)


def _nearly_unique(column: pa.ChunkedArray) -> bool:
    known = len(column) - column.null_count
    return known > 1 and pc.count_distinct(comparable(column), mode="only_valid").as_py() >= NEARLY * known


def _runs_through(column: pa.ChunkedArray) -> bool:
    """Whether whole numbers lie as near together as numbers that were given out one after another."""
    ends = pc.min_max(column).as_py()
    return ends["min"] is not None and ends["max"] - ends["min"] <= 2 * len(column)

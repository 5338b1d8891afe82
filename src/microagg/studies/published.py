"""The figures of the five papers as they stand in print, with the precision they were printed
in.
"""

from __future__ import annotations

import csv
from collections import Counter
from dataclasses import dataclass
from importlib.resources import files

LONG = 7  # decimals
RUNS = 10  # how often the papers ran what is random
GROUPS, SMALLEST_GROUP = "groups", "smallest group"
COUNTS = (GROUPS, SMALLEST_GROUP)
HYBRID = "Abidi, Ben Yahia and Perera 2020"


@dataclass(frozen=True)
class Published:
    """A figure as it stands in a paper."""

    source: str
    dataset: str
    columns: str
    scaling: str
    method: str
    name: str
    params: str
    k: int
    measure: str
    statistic: str
    value: float
    decimals: int
    deviation: float
    note: str
    misprint: bool = False
    """Whether all evidence, which the note names, is that another figure was meant."""

    @property
    def run(self) -> tuple[str, str, str, str, str, int]:
        """What has to be run to compare; figures of one run share it."""
        return self.dataset, self.columns, self.scaling, self.name, self.params, self.k


@dataclass(frozen=True)
class Omitted:
    """Figures of a paper that are not compared one by one, and why."""

    source: str
    where: str
    what: str
    why: str


def published_figures() -> list[Published]:
    """The losses in the papers' tables."""
    rows = read_rows("published.csv")
    usual = _usual_decimals(rows)
    found = []
    for row in rows:
        note, misprint = _note_on(row)
        texts = (
            "source",
            "dataset",
            "columns",
            "scaling",
            "method",
            "name",
            "params",
            "measure",
            "statistic",
        )
        found.append(
            Published(
                **{name: row[name] for name in texts},
                k=int(row["k"]), value=float(row["value"]), decimals=_decimals(row, usual),
                deviation=float(row["sd"] or 0.0), note=note, misprint=misprint,
            )
        )  # fmt: skip
    return found


def published_groups() -> list[Published]:
    """What Abidi, Ben Yahia and Perera 2020 print of the groups of HM-PFSOM: their number and the
    smallest size.

    Two figures a row of tables 10 and 12, for classes of the sizes in tables 9 and 11 and k records
    of the smallest.
    """
    return [
        _count(
            row["part"],
            "HM-PFSOM",
            "hm-pfsom",
            f"classes={row['class_sizes']}",
            row["k"],
            measure,
            row[column],
        )
        for row in read_rows("published_groups.csv")
        for measure, column in ((GROUPS, "groups"), (SMALLEST_GROUP, "minimal_group_size"))
    ]


def published_groups_of_mdav() -> list[Published]:
    """The columns of MDAV beside them, and what the text (section 4.3.2) says of HM-PFSOM for k =
    2.
    """
    found = [
        _count(
            row["part"], "MDAV", "mdav", f"records={row['records']}", row["k"], measure, row[column]
        )
        for row in read_rows("published_hybrid.csv")
        for measure, column in ((GROUPS, "groups_mdav"), (SMALLEST_GROUP, "smallest_mdav"))
    ]
    text = ("sub-Census1", "HM-PFSOM (in the text)", "hm-pfsom", "classes=145 164 73", "2")
    return [*found, _count(*text, GROUPS, "36"), _count(*text, SMALLEST_GROUP, "8")]


def all_published() -> list[Published]:
    """Every figure that has a row of its own on the page."""
    return published_figures() + published_groups() + published_groups_of_mdav()


def omitted() -> list[Omitted]:
    """What else the papers print."""
    return [Omitted(**row) for row in read_rows("published_omitted.csv")]


def _count(
    part: str, method: str, name: str, params: str, k: str, measure: str, value: str
) -> Published:
    row = {"source": HYBRID, "dataset": part, "name": name, "k": k, "measure": measure}
    note, misprint = _note_on(row)
    return Published(
        HYBRID,
        part,
        "",
        "none",
        method,
        name,
        params,
        int(k),
        measure,
        "single",
        float(value),
        0,
        0.0,
        note,
        misprint,
    )


def _note_on(row: dict[str, str]) -> tuple[str, bool]:
    """The first note that concerns a figure, and whether it says that the figure is a misprint."""
    fields = ("source", "dataset", "name", "k", "measure")
    for note in read_rows("published_notes.csv"):
        if all(note[field] in ("", row[field]) for field in fields):
            return note["note"], note["misprint"] == "yes"
    return "", False


def _decimals(row: dict[str, str], usual: dict[tuple[str, ...], int]) -> int:
    """Trailing zeros are lost in the file: a figure has at least the decimals that most of its
    table column have.

    Not so where a table prints about ten digits: it has more decimals for small figures than for
    large ones.
    """
    own = _places(row)
    return own if own >= LONG else max(own, usual[_table_column(row)])


def _usual_decimals(rows: list[dict[str, str]]) -> dict[tuple[str, ...], int]:
    """How many decimals most figures of a table column have."""
    counts: dict[tuple[str, ...], Counter[int]] = {}
    for row in rows:
        counts.setdefault(_table_column(row), Counter())[_places(row)] += 1
    return {key: count.most_common(1)[0][0] for key, count in counts.items()}


def _places(row: dict[str, str]) -> int:
    return len(row["value"].partition(".")[2])


def _table_column(row: dict[str, str]) -> tuple[str, ...]:
    return row["source"], row["method"], row["measure"]


def read_rows(name: str) -> list[dict[str, str]]:
    """The rows of a file that lies beside this one."""
    text = files("microagg.studies").joinpath(name).read_text("utf-8")
    return list(csv.DictReader(text.splitlines()))

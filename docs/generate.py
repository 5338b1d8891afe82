"""Rewrites the parts of the docs that come from the registry: `make docs`. A test holds them to
it.
"""

from __future__ import annotations

import ast
import datetime
import json
import tempfile
import textwrap
from pathlib import Path
from typing import Any

import pyarrow as pa

from microagg.cli.options import flag_of, option_names
from microagg.errors import InputError
from microagg.files.commit.writing import write_table
from microagg.files.formats import format_of, formats, reading_options, writing_options
from microagg.files.reading import read_table
from microagg.files.stats.sidecar import labels_beside
from microagg.measures.measure import Basis
from microagg.measures.registry import measures
from microagg.methods.families import by_family
from microagg.methods.registry import method_named, methods
from microagg.release.note_catalogue import CATALOGUE
from microagg.release.risks import RISKS
from microagg.release.settings_schema import settings_schema
from microagg.table.aggregates import AGGREGATES
from microagg.table.columns.labels import Labels, labels_of, with_labels
from microagg.table.parameters import Choice
from microagg.table.schema import Kind

ROOT = Path(__file__).parent.parent
MOMENT = datetime.datetime(2024, 1, 31, 12, 30)
PROBES: dict[str, pa.Array] = {
    "whole numbers": pa.array([7, None, 2**40]),
    "numbers": pa.array([0.1, None, -1e-7]),
    "text": pa.array(["Ä – 東京", None, "x" * 30_000]),
    "text of 40,000 letters": pa.array(["x" * 40_000, None]),
    "007": pa.array(["007", None, "08"]),
    "empty text beside missing": pa.array(["x", None, ""]),
    "yes and no": pa.array([True, None, False]),
    "dates": pa.array([MOMENT.date(), None]),
    "moments": pa.array([MOMENT, None], pa.timestamp("s")),
    "categories": pa.array(["Ulm", None, "Bonn"]).dictionary_encode(),
    "lists": pa.array([[1], None]),
}
LABELS: dict[str, tuple[pa.Array, Labels]] = {
    "label of a column": (pa.array([1, 2]), Labels("Sex of the person")),
    "labels of codes": (pa.array([1, 2]), Labels("", {1: "female", 2: "male"})),
    "labels of texts": (pa.array(["f", "m"]), Labels("", {"f": "female", "m": "male"})),
    "measure level": (pa.array([1, 2]), Labels(measure="ordinal")),
    "missing codes": (pa.array([31, -9]), Labels("", {-9: "refused"}, "", (-9,))),
    "missing texts": (pa.array(["f", "?"]), Labels(missing=("?",))),
    "a label of 300 letters": (pa.array([1, 2]), Labels("long " * 60)),
}
ALIKE: dict[pa.DataType, tuple[pa.DataType, ...]] = {
    pa.timestamp("s"): tuple(map(pa.timestamp, ("ms", "us", "ns"))),
}
WORDS: list[tuple[Any, str]] = [
    (pa.types.is_string, "text"),
    (pa.types.is_integer, "whole numbers"),
    (pa.types.is_floating, "numbers"),
    (pa.types.is_timestamp, "moments"),
    (pa.types.is_date, "dates"),
]


def reading_back(path: Path) -> dict[str, Any]:
    """Return the options that read back a file that was just written."""
    return dict(format_of(path).read_back)


SIX = ("auto", "mdav", "v-mdav", "imhm", "hm", "t-first")
"""The methods that the README names: the default, and one of each idea."""


def methods_table() -> str:
    """The registry as a Markdown table, after a sentence on the groups of those that form larger
    ones than others.
    """
    listed = [method for _, members in by_family(methods()) for method in members]
    usual = {k: 2 * k - 1 for k in (3, 10)}
    others = [
        f"`{method.name}` ({largest} for k = 10)"
        if (largest := method.largest_group(10, 10_000))
        else f"`{method.name}` (no bound)"
        for method in listed
        if any(method.largest_group(k, 10_000) != most for k, most in usual.items())
    ]
    lines = [
        *textwrap.wrap(f"No group has more than 2k - 1 records, but for {', '.join(others)}.", 100),
        "",
        "| method | what it does | good for | parameters | source |",
        "|---|---|---|---|---|",
    ]
    for method in listed:
        parameters = "; ".join(
            f"`{p.name}={p.default}` ({p.describes.replace(' | ', ', ')})"
            for p in method.parameters
        )
        lines.append(
            f"| `{method.name}` | {method.summary} | {method.good_for} | {parameters} | "
            f"{method.source} |"
        )
    return "\n".join(lines)


def six_methods() -> str:
    """A few methods as a Markdown table."""
    lines = ["| method | what it does | good for |", "|---|---|---|"]
    for name in SIX:
        method = method_named(name)
        lines.append(f"| `{name}` | {method.summary} | {method.good_for} |")
    return "\n".join(lines)


def formats_table() -> str:
    """Return a Markdown table of what each format can hold, from writing and reading."""
    lines = [
        f"| format | endings | {' | '.join(PROBES)} |",
        f"|---|---|{'---|' * len(PROBES)}",
    ]
    with tempfile.TemporaryDirectory() as folder:
        for format in formats():
            path = Path(folder) / f"probe{format.suffixes[0]}"
            if format.read_only:
                cells = ["read only"] * len(PROBES)
            else:
                cells = [_comes_back(column, path) for column in PROBES.values()]
            endings = ", ".join(format.suffixes)
            name = f"{format.name} (`microagg[{format.extra}]`)" if format.extra else format.name
            lines.append(f"| {name} | {endings} | {' | '.join(cells)} |")
    return "\n".join(lines)


def labels_table() -> str:
    """Return a Markdown table of the labels that each format can hold, from writing and reading."""
    lines = [
        f"| format | endings | {' | '.join(LABELS)} |",
        f"|---|---|{'---|' * len(LABELS)}",
    ]
    with tempfile.TemporaryDirectory() as folder:
        for format in formats():
            if format.read_only:
                continue
            path = Path(folder) / f"probe{format.suffixes[0]}"
            cells = [
                _comes_back_labelled(column, labels, path) for column, labels in LABELS.values()
            ]
            lines.append(f"| {format.name} | {', '.join(format.suffixes)} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _comes_back_labelled(column: pa.Array, labels: Labels, path: Path) -> str:
    """Tell whether labels are in the file itself, in the same codes or in others, or in the file
    beside.
    """
    table = with_labels(
        pa.table({"number": range(len(column)), "probe": column}), {"probe": labels}
    )
    write_table(table, path)
    format = format_of(path)
    returned = labels_of(format.read(path, **reading_back(path)).schema.field("probe"))
    if labels_beside(table, format):
        return "beside"
    attributes = (
        returned.label,
        sorted(returned.values.values()),
        returned.measure,
        len(returned.missing),
    )
    if attributes != (
        labels.label,
        sorted(labels.values.values()),
        labels.measure,
        len(labels.missing),
    ):
        return "lost"
    return "yes" if returned.missing == labels.missing else "as .a to .z"


def _comes_back(column: pa.Array, path: Path) -> str:
    """Tell what becomes of a column in a file."""
    table = pa.table({"number": range(len(column)), "probe": column})
    try:
        write_table(table, path)
    except InputError:
        return "no"
    returned = read_table(path, **reading_back(path)).column("probe")
    if returned.type == column.type or returned.type in ALIKE.get(column.type, ()):
        return (
            "yes" if returned.to_pylist() == column.to_pylist() else _what_is_lost(returned, column)
        )
    return next(word for is_one, word in WORDS if is_one(returned.type))


def _what_is_lost(returned: pa.ChunkedArray, column: pa.Array) -> str:
    return "one becomes the other" if returned.null_count != column.null_count else "shortened"


def options_table() -> str:
    """Return a Markdown table of the options for reading and writing files."""
    lines = ["| command line | Python | what it says | |", "|---|---|---|---|"]
    for setting, names in option_names().items():
        options = reading_options() if setting == "reading" else writing_options()
        for option, name in names.items():
            declared = options[name]
            takes = getattr(declared, "describes", "").replace(" | ", ", ")
            takes = ", ".join(declared.choices) if isinstance(declared, Choice) else takes
            takes = takes.replace("|", "\\|")
            lines.append(
                f'| `{flag_of(option)}` | `{setting}={{"{name}": …}}` | {declared.help} | {takes} |'
            )
    return "\n".join(lines)


def with_generated_parts(text: str) -> str:
    """The text with the tables between their marks made anew."""
    for name, table in PARTS.items():
        start, end = f"<!-- {name}: generated by docs/generate.py -->", f"<!-- end of {name} -->"
        if start in text:
            before, _, rest = text.partition(start)
            _, _, after = rest.partition(end)
            text = f"{before}{start}\n{table()}\n{end}{after}"
    return text


def modules_table() -> str:
    """Return every module of the package with the first sentence of its docstring."""
    root = ROOT / "src" / "microagg"
    lines: list[str] = []
    for folder in sorted({path.parent for path in root.rglob("*.py")}):
        name = folder.relative_to(root.parent).as_posix()
        lines += ["", f"## {name}", ""]
        for path in sorted(folder.glob("*.py")):
            doc = ast.get_docstring(ast.parse(path.read_text("utf-8"))) or ""
            first = " ".join(doc.split("\n\n")[0].split())
            if path.name == "__init__.py":
                lines += [*textwrap.wrap(first, 100), ""]
            else:
                lines += textwrap.wrap(
                    f"- `{path.name}`: {first}", 100, subsequent_indent="  ", break_on_hyphens=False
                )
    return "\n".join(lines)


def notes_table() -> str:
    """Return the catalogue of notes as a Markdown table."""
    lines = ["| code | severity | when | text |", "|---|---|---|---|"]
    for entry in CATALOGUE.values():
        text = entry.outline().replace("|", "\\|")
        lines.append(f"| `{entry.code}` | {entry.severity} | {entry.description} | {text} |")
    return "\n".join(lines)


def aggregates_table() -> str:
    """Return the registry of aggregates as a Markdown table."""
    lines = ["| `--aggregate COLUMN=` | for | the group releases |", "|---|---|---|"]
    for entry in AGGREGATES.values():
        defaults = {kind: " (default)" if kind in entry.default_for else "" for kind in Kind}
        fits = ", ".join(f"{kind}{defaults[kind]}" for kind in Kind if kind in entry.kinds)
        if entry.needs_hierarchy:
            fits = "with a hierarchy"
        elif set(entry.kinds) == set(Kind) and not entry.default_for:
            fits = "all"
        lines.append(f"| `{entry.name}` | {fits} | {entry.help} |")
    return "\n".join(lines)


COMPUTED_FROM = {
    "release": "the release alone: public",
    "pair": "both tables: yours to publish",
    "record": "single records: never public",
}


def measures_table() -> str:
    """Return the registry of measures as a Markdown table."""
    lines = [
        "| measure | what it is | in | computed from | out of core |",
        "|---|---|---|---|---|",
    ]
    for measure in measures():
        basis = "left out" if measure.basis is Basis.WHOLE_TABLE else f"from {measure.basis}"
        lines.append(
            f"| `{measure.name}` | {measure.title} | {measure.unit} | "
            f"{COMPUTED_FROM[measure.of]} | {basis} |"
        )
    return "\n".join(lines)


def risks_table() -> str:
    """Return the risks that must be accepted by name as a Markdown table."""
    lines = ["| `--accept-risk` | what it risks |", "|---|---|"]
    lines += [f"| `{risk.name}` | {risk.meaning()} |" for risk in RISKS]
    return "\n".join(lines)


PARTS = {
    "notes": notes_table,
    "modules": modules_table,
    "aggregates": aggregates_table,
    "measures": measures_table,
    "accepted risks": risks_table,
    "methods": methods_table,
    "six methods": six_methods,
    "formats": formats_table,
    "labels": labels_table,
    "options": options_table,
}
PAGES = (
    "README.md",
    "docs/modules.md",
    "docs/methods.md",
    "docs/measures.md",
    "docs/tables.md",
    "docs/formats.md",
    "docs/files.md",
    "docs/notes.md",
)

SCHEMA = ROOT / "docs" / "settings.schema.json"


def schema_text() -> str:
    """The JSON Schema of a file of settings, as `microagg schema` prints it."""
    return json.dumps(settings_schema(), indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    SCHEMA.write_text(schema_text(), "utf-8")
    for page in (ROOT / name for name in PAGES):
        page.write_text(with_generated_parts(page.read_text("utf-8")), "utf-8")

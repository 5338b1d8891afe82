"""A comparison: every cell once, the same rows however it was run, stopped, killed and resumed; the
front; the map.
"""

from __future__ import annotations

import itertools
import json
import multiprocessing
import os
import signal
import time
from pathlib import Path
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pytest

import microagg as ma
import tables
from microagg.datasets.reference import load_reference
from microagg.drawing.maps import MapPoint, draw_map
from microagg.kernels import compiling
from microagg.kernels.compiling import kernel, seconds_compiling
from microagg.measures.measure import Pair
from microagg.measures.registry import assess_pair, measures
from microagg.studies import compare_cells, compare_workers
from microagg.studies.compare import Comparison, compare
from microagg.studies.compare_cells import Outcome
from microagg.studies.compare_state import HEADER, State
from microagg.studies.compare_workers import COMPILING
from microagg.studies.comparison import pareto_front
from running import finish, run, start

METHODS = ["mdav", "v-mdav:gamma=1.1", "axis-pca", "individual-ranking", "hm"]
KS = [2, 3, 7]
TABLE = np.random.default_rng(2).normal(size=(40, 3))


class Watch:
    """A progress callback that remembers, and stops a run where it is told to."""

    def __init__(
        self, stop_after: int | None = None, error: type[BaseException] = ma.Cancelled
    ) -> None:
        self.lines: list[str] = []
        self.places: list[tuple[int, int]] = []
        self._stop_after, self._error = stop_after, error

    def __call__(self, done: int, total: int) -> None:
        self.places.append((done, total))
        if self._stop_after is not None and done >= self._stop_after:
            raise self._error

    def tell(self, line: str) -> None:
        self.lines.append(line)


@pytest.fixture(scope="module")
def whole() -> Comparison:
    """An unbroken run."""
    return compare(TABLE, ks=KS, methods=METHODS)


def again(state: Path, **options: Any) -> tuple[Comparison, int]:
    """A run with a state, and how many cells it had to work on."""
    watch = Watch()
    options = {"ks": KS, "methods": METHODS, **options}
    return compare(options.pop("table", TABLE), state=state, progress=watch, **options), len(
        watch.lines
    )


def test_rows_are_what_anonymize_gives(whole: Comparison) -> None:
    assert [(row.method, row.k) for row in whole.rows] == list(itertools.product(METHODS, KS))
    for row in whole.rows:
        if row.method == "hm":
            assert row.error == "method hm works on 1 column only, but 3 were given."
            assert row.figures == {}
            continue
        name, _, gamma = row.method.partition(":gamma=")
        params = {"gamma": float(gamma)} if gamma else {}
        release = ma.anonymize(TABLE, row.k, quasi=[0, 1, 2], method=name, seed=0, **params)
        assert row.figures["il"] == pytest.approx(release.loss["IL"], rel=1e-9)
        ((_, linked),) = assess_pair(Pair(TABLE, release.table, ("0", "1", "2")), ["linkage"])
        assert row.figures["linkage"] == linked.value
        assert row.smallest_class == release.anonymity.sizes.min()
        assert row.classes == len(release.anonymity.sizes)
        assert row.k_anonymous == (name != "individual-ranking")
        assert row.seconds > 0


def test_compiling_does_not_count_in_the_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    def sixfold(x):
        return 6 * x

    def compile_and_end(*_: object) -> None:
        kernel(sixfold)(1.5)
        raise ma.InputError("as it must.")

    monkeypatch.setattr(compare_cells, "_figures", compile_and_end)
    before, start = seconds_compiling(), time.perf_counter()
    (row,) = compare(TABLE, ks=[3], methods="mdav").rows
    elapsed, compiled = time.perf_counter() - start, seconds_compiling() - before
    assert row.error == "as it must."
    assert 0.0 < compiled < elapsed
    assert 0.0 <= row.seconds <= elapsed - compiled


class Line:
    """The end of a pipe that a process of the team holds: what it was given, and what it has
    said.
    """

    def __init__(self, cells: list[Any]) -> None:
        self.answers: list[Any] = []
        self._cells = cells

    def recv(self) -> Any:
        if not self._cells:
            raise EOFError
        return self._cells.pop(0)

    def send(self, answer: Any) -> None:
        self.answers.append(answer)


@pytest.mark.parametrize("wanted", [True, False])
def test_a_process_tells_its_parent_that_it_compiles(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, wanted: bool
) -> None:
    def sevenfold(x):
        return 7 * x

    def run_cell(study: Any, cell: float) -> Outcome:
        return Outcome({"il": compiled(cell)})

    handler = signal.getsignal(signal.SIGINT)
    monkeypatch.setattr("numba.config.CACHE_DIR", str(tmp_path))
    for name, value in (("_announce", None), ("_announced", False)):
        monkeypatch.setattr(compiling, name, value)
    compiling._cache_folder.cache_clear()
    try:
        compiled = kernel(sevenfold)
        monkeypatch.setattr(compare_workers, "run_cell", run_cell)
        line: Any = Line([1.0, 2, True])  # three types, so it is compiled three times
        compare_workers._serve(line, cast("Any", None), wanted)
    finally:
        signal.signal(signal.SIGINT, handler)
        compiling._cache_folder.cache_clear()
    outcomes = [Outcome({"il": value}) for value in (7.0, 14, 7)]
    assert line.answers == ([COMPILING, *outcomes] if wanted else outcomes)
    assert (tmp_path / compiling.ANNOUNCED).exists() == wanted


def test_however_many_processes_compile_it_is_announced_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lines: list[str] = []
    monkeypatch.setattr(compiling, "_announce", lambda: lines.append("compiling"))
    monkeypatch.setattr(compiling, "_announced", False)
    team = compare_workers._Team(cast("Any", None), 0)
    cells = compare_cells.plan(["mdav"], [2, 3, 4], [0])
    pipes = [multiprocessing.Pipe() for _ in cells]
    for ours, theirs in pipes:
        team._members[ours] = None
        theirs.send(COMPILING)
        theirs.send(Outcome({"il": 1.0}))
    done = list(team.work(cells, lambda: None))
    assert sorted(cell.k for cell, _ in done) == [2, 3, 4]
    assert all(outcome == Outcome({"il": 1.0}) for _, outcome in done)
    assert lines == ["compiling"]
    for ours, theirs in pipes:
        ours.close()
        theirs.close()


@pytest.mark.slow
def test_the_same_rows_on_two_processes(whole: Comparison, tmp_path: Path) -> None:
    watch = Watch()
    shared = compare(TABLE, ks=KS, methods=METHODS, jobs=2, state=tmp_path / "s", progress=watch)
    assert shared == whole
    assert watch.places[0] == (0, 15)
    assert watch.places[-1] == (15, 15)
    assert multiprocessing.active_children() == []
    resumed, worked = again(tmp_path / "s")
    assert (resumed, worked) == (whole, 0)


def test_progress_and_news(whole: Comparison, tmp_path: Path) -> None:
    watch = Watch()
    compare(TABLE, ks=[3], methods=["mdav", "hm"], progress=watch, name="made up")
    il = next(row.figures["il"] for row in whole.rows if (row.method, row.k) == ("mdav", 3))
    assert watch.lines == [
        f"made up mdav k=3, IL {il:.4g} %",
        "made up hm k=3: method hm works on 1 column only, but 3 were given.",
    ]
    assert watch.places[-1] == (2, 2)
    assert compare(TABLE, ks=[3], methods="mdav", progress=lambda done, total: None).rows, (
        "no tell, no news"
    )


@pytest.mark.parametrize("error", [ma.Cancelled, KeyboardInterrupt])
@pytest.mark.parametrize("jobs", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_stopped_on_the_way(
    whole: Comparison, tmp_path: Path, jobs: int, error: type[BaseException]
) -> None:
    state = tmp_path / "state.jsonl"
    with pytest.raises(error):
        compare(TABLE, ks=KS, methods=METHODS, jobs=jobs, state=state, progress=Watch(4, error))
    assert multiprocessing.active_children() == []
    kept = len(State(state).outcomes)
    assert 4 <= kept < 15
    assert again(state) == (whole, 15 - kept)
    assert again(state) == (whole, 0)


def test_stopped_within_a_cell(tmp_path: Path) -> None:
    calls = itertools.count()

    def stop(done: int, total: int) -> None:
        assert done == 0
        if next(calls) == 1:  # the first call came before any cell
            raise ma.Cancelled

    with pytest.raises(ma.Cancelled):
        compare(TABLE, ks=KS, methods=METHODS, state=tmp_path / "state", progress=stop)
    assert State(tmp_path / "state").outcomes == {}


def test_an_intruder_who_knows_less_links_fewer(whole: Comparison) -> None:
    (alone,) = compare(TABLE, ks=[2], methods="individual-ranking", known=[1]).rows
    same = next(row for row in whole.rows if (row.method, row.k) == ("individual-ranking", 2))
    assert alone.figures["il"] == same.figures["il"]
    assert alone.figures["linkage"] < same.figures["linkage"]


SCRIPT = """
import sys
import numpy as np
from microagg.studies.compare import compare

class Watch:
    def __call__(self, done, total):
        pass
    def tell(self, line):
        print(line, flush=True)

if __name__ == "__main__":
    table = np.random.default_rng(2).normal(size=(40, 3))
    methods = sys.argv[2].split(",")
    state, jobs = sys.argv[1], int(sys.argv[3])
    compare(table, ks=[2, 3, 7], methods=methods, state=state, jobs=jobs, progress=Watch())
"""


@pytest.mark.parametrize("jobs", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_killed_on_the_way(whole: Comparison, tmp_path: Path, jobs: int) -> None:
    (tmp_path / "script.py").write_text(SCRIPT, "utf-8")
    state = tmp_path / "state.jsonl"
    process = start(
        "script.py", state, ",".join(METHODS), str(jobs), folder=tmp_path,
        environment={"PYTHONPATH": str(Path(ma.__file__).parents[1])},
    )  # fmt: skip
    assert process.stdout is not None
    for _ in range(5):
        assert process.stdout.readline()
    process.send_signal(signal.SIGKILL)
    # returns once the last process that could write has ended: none outlives the parent
    finish(process)
    kept = len(State(state).outcomes)
    assert 5 <= kept <= 15
    assert again(state) == (whole, 15 - kept)


def test_a_torn_state_loses_one_cell_at_most(whole: Comparison, tmp_path: Path) -> None:
    state = tmp_path / "state.jsonl"
    again(state)
    content = state.read_bytes()
    ends = [index for index, byte in enumerate(content) if byte == ord("\n")]
    everything = State(state).outcomes
    for length in sorted(
        {*range(0, len(content), 61), *(end + more for end in ends for more in (-1, 0, 1))}
    ):
        state.write_bytes(content[:length])
        left = State(state)
        # a line counts once its last brace is there, with or without its end
        assert len(left.outcomes) == sum(end <= length for end in ends[1:])
        assert left.outcomes.items() <= everything.items()
        left.add("one more", Outcome({"il": 1.0}, 4, 2))
        assert len(State(state).outcomes) == len(left.outcomes)
    for cut in (len(HEADER) - 3, len(content) // 2, len(content) - 1):
        state.write_bytes(content[:cut])
        assert again(state)[0] == whole
        assert again(state)[1] == 0


def test_lines_that_make_no_sense_are_passed_over(whole: Comparison, tmp_path: Path) -> None:
    state = tmp_path / "state.jsonl"
    again(state)
    lines = state.read_bytes().splitlines(keepends=True)
    state.write_bytes(
        b"".join([*lines[:3], b"[1]\n", b'{"key": "x"}\n', b"\xff\n", b"\n", *lines[3:]])
    )
    assert again(state) == (whole, 0)


def test_a_file_that_is_no_state_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "data.csv"
    path.write_text("a,b\n1,2\n", "utf-8")
    with pytest.raises(ma.InputError, match="not the state of a comparison"):
        again(path)
    assert path.read_text("utf-8") == "a,b\n1,2\n"
    with pytest.raises(ma.InputError, match="does not exist"):
        again(tmp_path / "nowhere" / "state")


def test_whatever_figures_depend_on_makes_another_cell(tmp_path: Path) -> None:
    state = tmp_path / "state.jsonl"
    usual = {"ks": [3], "methods": ["mdav"]}
    assert again(state, **usual)[1] == 1
    assert again(state, **usual)[1] == 0
    nudged = TABLE.copy()
    nudged[7, 1] += 1e-9
    for change in (
        {"ks": [4]},
        {"methods": ["mdav:leftovers=nearest"]},
        {"scale": "minmax"},
        {"precision": "full"},
        {"seeds": [1]},
        {"known": [1]},
        {"quasi": [0, 1]},
        {"quasi": [0, 1], "keep": [2]},
        {"measures": ["il1s"]},
        {"table": nudged},
    ):
        assert again(state, **{**usual, **change})[1] == 1, change
        assert again(state, **{**usual, **change})[1] == 0, change
    assert again(state, **usual)[1] == 0


def test_another_version_starts_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usual = {"ks": [3], "methods": ["mdav"]}
    again(tmp_path / "s", **usual)
    monkeypatch.setattr(compare_cells, "code_digest", lambda: "that of another version")
    assert again(tmp_path / "s", **usual)[1] == 1


def test_cells_are_run_once_and_seeds_where_they_matter() -> None:
    cells = compare_cells.plan(["mdav", "mdav:leftovers=block", "mdav", "all"], [3, 3], [5, 6, 5])
    assert len(cells) == len(set(cells))
    seeded = {method.name for method in ma.methods() if method.seeded}
    for name in {cell.method for cell in cells}:
        seeds = [cell.seed for cell in cells if cell.method == name]
        assert seeds == ([5, 6] if name in seeded else [5])
    assert {cell.method for cell in cells} == {method.name for method in ma.methods()}


def test_the_state_tells_nothing_of_records(tmp_path: Path) -> None:
    state = tmp_path / "state.jsonl"
    table = tables.people(40)
    names = [measure.name for measure in measures()]
    roles = {"quasi": tables.QUASI, "confidential": ["disease"], "keep": ["code"]}
    comparison = compare(
        table, ks=[3], methods=["mdav", "hm"], measures=names, state=state, **roles
    )
    assert set(comparison.rows[0].figures) == set(names)
    shown = [
        state.read_text("utf-8"),
        json.dumps(comparison.as_data(), allow_nan=False),
        comparison.as_markdown(),
    ]
    for text, cell in itertools.product(shown, tables.cells(table)):
        assert cell not in text
    if os.name == "posix":
        assert state.stat().st_mode & 0o777 == 0o600


def test_an_unforeseen_error_is_a_row_and_is_tried_again(
    whole: Comparison, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    state = tmp_path / "state.jsonl"
    for error, sentence in (
        (ValueError("4815162"), "a bug in microagg (ValueError)"),
        (MemoryError(), "memory"),
    ):

        def fail(table: Any, settings: Any, error: BaseException = error, **options: Any) -> Any:
            if settings.method == "mdav":
                raise error
            return ma.anonymize(table, settings=settings, **options)

        monkeypatch.setattr(compare_cells, "anonymize", fail)
        broken, _ = again(state)
        for row, usual in zip(broken.rows, whole.rows, strict=True):
            if row.method == "mdav":
                assert sentence in row.error
                assert "4815162" not in row.error
            else:
                assert row == usual
    monkeypatch.undo()
    assert again(state) == (whole, 3)


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="kills a process")
def test_a_process_that_dies_costs_one_cell(whole: Comparison, tmp_path: Path) -> None:
    class Killer(Watch):
        def tell(self, line: str) -> None:
            if not self.lines:
                os.kill(multiprocessing.active_children()[0].pid or 0, signal.SIGKILL)
            super().tell(line)

    state = tmp_path / "state.jsonl"
    comparison = compare(TABLE, ks=KS, methods=METHODS, jobs=2, state=state, progress=Killer())
    died = [row for row in comparison.rows if "died" in row.error]
    assert len(died) == 1
    assert [row for row in comparison.rows if row not in died] == [
        row for row in whole.rows if (row.method, row.k) != (died[0].method, died[0].k)
    ]
    assert again(state) == (whole, 1)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"methods": ["mdaw"]}, "no method 'mdaw'"),
        ({"methods": ["v-mdav:0.2"]}, "name:parameter=value"),
        ({"methods": ["v-mdav:delta=1"]}, "no parameter 'delta'"),
        ({"methods": ["v-mdav:gamma=-1"]}, "gamma must be"),
        ({"methods": []}, "nothing to compare"),
        ({"ks": []}, "nothing to compare"),
        ({"seeds": []}, "nothing to compare"),
        ({"ks": [1]}, "k is 1"),
        ({"ks": [3, 41]}, "only 40 records"),
        ({"measures": ["ill"]}, "no measure 'ill'"),
        ({"loss": "linkage"}, "'linkage' measures risk"),
        ({"risk": "il"}, "'il' measures loss"),
        ({"risk": "t"}, "needs confidential columns"),
        (
            {"loss": "classification-kept", "quasi": [0], "confidential": [1, 2]},
            "columns of categories",
        ),
        ({"quasi": [0, 9]}, "no column '9'"),
        ({"quasi": [0], "keep": [0]}, "two roles"),
        ({"quasi": [0], "known": [1]}, "cannot know '1'"),
        ({"scale": "log"}, "scale must be"),
        ({"precision": "none"}, "precision must be"),
        ({"jobs": 0}, "jobs must be"),
        ({"jobs": 1.5}, "jobs must be"),
        ({"seeds": ["a"]}, "seed must be"),
    ],
)
def test_what_cannot_be_compared_is_told_before_anything_is_run(
    tmp_path: Path, options: dict[str, Any], says: str
) -> None:
    options = {"ks": [3], "methods": ["mdav"], **options}
    if "risk" in options and options["risk"] == "t":
        options["risk"] = next(m.name for m in measures("risk") if m.needs == "confidential")
    with pytest.raises(ma.InputError, match=says):
        compare(TABLE, state=tmp_path / "state", **options)
    assert not (tmp_path / "state").exists()


def test_a_wrong_value_is_told_at_once() -> None:
    with pytest.raises(ma.InputError, match="column 'a', row 2"):
        compare(pa.table({"a": [1.0, float("inf"), 3.0, 4.0]}), ks=[2], methods="mdav")
    with pytest.raises(ma.InputError, match="missing: 1 in 'a'"):
        compare(pa.table({"a": [1.0, None, 3.0, 4.0]}), ks=[2], methods="mdav", missing="error")


def test_a_file_and_the_columns_that_take_part(tmp_path: Path) -> None:
    path = tables.write(tables.people(40), tmp_path / "people.csv")
    roles = {"confidential": ["disease"], "keep": ["code"]}
    comparison = compare(path, ks=[4], methods="mdav", **roles)
    assert (comparison.name, comparison.quasi, comparison.records) == (
        "people",
        ("income", "debt"),
        40,
    )
    named = compare(str(path), ks=[4], methods="mdav", quasi=["debt", "income"], **roles)
    assert named.rows == comparison.rows
    release = ma.anonymize(
        tables.people(40), 4, quasi=tables.QUASI, rest="drop", method="mdav", seed=0
    )
    assert comparison.rows[0].figures["il"] == pytest.approx(release.loss["IL"], rel=1e-9)


def test_weights_count_and_are_no_quasi_identifier() -> None:
    weights = np.where(np.arange(40) < 4, 50.0, 1.0)
    table = pa.table({"a": TABLE[:, 0], "b": TABLE[:, 1], "w": weights})
    plain = compare(table, ks=[3], methods="mdav", quasi=["a", "b"])
    weighted = compare(table, ks=[3], methods="mdav", weight="w")
    assert weighted.quasi == ("a", "b")
    assert weighted.rows[0].classes == plain.rows[0].classes
    assert weighted.rows[0].figures != plain.rows[0].figures


def test_the_front_is_that_of_the_definition(whole: Comparison) -> None:
    rng = np.random.default_rng(0)
    for _ in range(300):
        costs = [
            tuple(pair) for pair in rng.integers(0, 6, size=(int(rng.integers(0, 12)), 2)).tolist()
        ]
        expected = [
            i
            for i, mine in enumerate(costs)
            if not any(a <= mine[0] and b <= mine[1] and (a, b) != mine for a, b in costs)
        ]
        assert pareto_front(costs) == expected
    assert whole.front == tuple(row for row in whole.rows if row in whole.front)
    assert all(not row.error for row in whole.front)


def test_what_is_not_k_anonymous_is_never_on_the_front(whole: Comparison) -> None:
    able = [row for row in whole.rows if not row.error]
    least = min(able, key=lambda row: row.figures["il"])
    assert least.method == "individual-ranking", "it would be on the front"
    assert all(row.k_anonymous for row in whole.front)
    assert least not in whole.front
    others = [row for row in able if row.k_anonymous]
    assert min(others, key=lambda row: row.figures["il"]) in whole.front, (
        "and nothing is beaten by it"
    )
    assert not any(
        row["on_front"] for row in whole.as_data()["rows"] if row["k_anonymous"] is False
    )
    alone = compare(TABLE, ks=[2], methods="individual-ranking")
    assert alone.front == ()
    assert "not k-anonymous" in alone.draw()


def test_a_measure_that_is_better_when_higher() -> None:
    """Loss as what is kept, risk as the smallest class: the front must turn round with them."""
    related = np.column_stack([TABLE, TABLE.sum(axis=1), TABLE[:, 0] - TABLE[:, 1]])
    comparison = compare(
        related, ks=[2, 5, 9], methods=["mdav", "axis-column"], loss="regression-kept", risk="k"
    )
    gains = [(row.figures["regression-kept"], row.figures["k"]) for row in comparison.rows]
    expected = [
        row
        for row, mine in zip(comparison.rows, gains, strict=True)
        if not any(a >= mine[0] and b >= mine[1] and (a, b) != mine for a, b in gains)
    ]
    assert list(comparison.front) == expected
    assert 9 in {row.k for row in expected}, "nothing is safer"
    assert 0 < len(expected) < len(gains)


def test_plain_data_and_markdown(whole: Comparison) -> None:
    data = json.loads(json.dumps(whole.as_data(), allow_nan=False))
    assert [row["method"] for row in data["rows"]] == [row.method for row in whole.rows]
    assert {row["method"] for row in data["rows"] if row["k_anonymous"] is False} == {
        "individual-ranking"
    }
    assert sum(row["on_front"] for row in data["rows"]) == len(whole.front)
    assert [measure["name"] for measure in data["measures"]] == ["il", "linkage"]
    lines = whole.as_markdown().splitlines()
    assert len({line.count("|") for line in lines if line.startswith("|")}) == 1
    assert sum(line.startswith("| ★ |") for line in lines) == len(whole.front)
    assert sum("not k-anonymous" in line for line in lines) == 3
    assert sum(line.startswith("- hm, k = ") for line in lines) == 3
    seeded = next(method.name for method in ma.methods() if method.seeded)
    both = compare(TABLE, ks=[3], methods=[seeded], seeds=[0, 1])
    assert "| seed |" in both.as_markdown()
    assert "| seed |" not in whole.as_markdown()


def test_the_map_is_drawn_and_repeatable(whole: Comparison, tmp_path: Path) -> None:
    assert whole.draw(tmp_path / "map.png") == ""
    assert (tmp_path / "map.png").read_bytes().startswith(b"\x89PNG")
    text = whole.draw()
    assert text.startswith("<?xml")
    assert text == whole.draw()
    whole.draw(tmp_path / "map.SVG")
    assert (tmp_path / "map.SVG").read_text("utf-8") == text
    for row in whole.rows:
        assert row.error or row.method in text
    with pytest.raises(ma.InputError, match=r"ends in \.png or \.svg"):
        whole.draw(tmp_path / "map.gif")
    failed = compare(TABLE, ks=[3], methods="hm")
    with pytest.raises(ma.InputError, match="nothing to draw"):
        failed.draw()


def test_labels_of_the_map() -> None:
    def svg(count: int, on_front: bool = True) -> str:
        points = [
            MapPoint(f"method-{i}", 3 + i, 1.0 + i, 50.0 - i, on_front=on_front, k_anonymous=i != 1)
            for i in range(count)
        ]
        return draw_map(points)

    few, many = svg(5), svg(30)
    assert few.count(">method-2 5<") == 1
    assert ">method-1 4<" not in few, "not k-anonymous"
    assert "method-2 5<" not in svg(5, on_front=False)
    assert "method-2 5<" not in many
    assert many.count(">5<") >= 1
    assert "not k-anonymous" in few
    alike = [MapPoint(f"m{i}", 3, 1.0, 2.0, on_front=True) for i in range(5)]
    assert "m0 3, m1 3, m2 3 and 2 more" in draw_map(alike)
    assert "not k-anonymous" not in draw_map(alike)
    assert draw_map([MapPoint("m", 3, 0.0, 0.0, on_front=True), MapPoint("m", 4, 900.0, 0.0)])


def test_without_matplotlib_it_is_said_what_to_do(tmp_path: Path) -> None:
    code = (
        "import sys; sys.modules['matplotlib'] = None\n"
        "from microagg.drawing.maps import MapPoint, draw_map\n"
        "try:\n    draw_map([MapPoint('m', 3, 1.0, 1.0)])\n"
        "except Exception as error:\n    print(type(error).__name__, error)\n"
    )
    done = run("-c", code, folder=tmp_path)
    assert done.out.startswith("InputError pictures need matplotlib")


@pytest.mark.slow
@pytest.mark.reference
def test_census_killed_half_way_ends_with_the_same_table(
    reference_data: Path, tmp_path: Path
) -> None:
    methods = (
        "mdav,mdav2k,v-mdav,cbfs,max-distance,mhm-mdav,mhm-npn,axis-pca,individual-ranking,"
        "ps-meansort"
    )
    script = SCRIPT.replace("np.random.default_rng(2).normal(size=(40, 3))", "sys.argv[4]").replace(
        "ks=[2, 3, 7]", "ks=[3, 5, 10]"
    )
    dawdling = (
        "self.told = getattr(self, 'told', 0) + 1; import time; time.sleep(600 * (self.told == 15))"
    )
    script = script.replace("print(line, flush=True)", f"print(line, flush=True); {dawdling}")
    (tmp_path / "script.py").write_text(script, "utf-8")
    state, census = tmp_path / "state.jsonl", reference_data / "census.csv"
    process = start(
        "script.py", state, methods, "1", census, folder=tmp_path,
        environment={"PYTHONPATH": str(Path(ma.__file__).parents[1])},
    )  # fmt: skip
    assert process.stdout is not None
    for _ in range(15):
        assert process.stdout.readline()
    process.send_signal(signal.SIGKILL)
    finish(process)
    watch = Watch()
    resumed = compare(
        census, ks=[3, 5, 10], methods=methods.split(","), state=state, progress=watch
    )
    assert len(watch.lines) == 15, "half of it was there"
    unbroken = compare(census, ks=[3, 5, 10], methods=methods.split(","))
    assert resumed == unbroken
    assert resumed.as_markdown() == unbroken.as_markdown()
    mdav = {row.k: row.figures["il"] for row in resumed.rows if row.method == "mdav"}
    assert mdav == pytest.approx({3: 5.6922, 5: 9.0884, 10: 14.1557}, abs=2e-3), (
        "as published, but for rounding"
    )


@pytest.mark.slow
@pytest.mark.reference
@pytest.mark.parametrize(
    ("data", "columns", "count"),
    [("Census", "all", 5), ("EIA", "MONTH+10", 7), ("Tarragona", "all", 5)],
)
def test_directions_of_abidi_ben_yahia_and_perera(
    reference_data: Path, data: str, columns: str, count: int
) -> None:
    """Figures 1 to 6: loss rises and risk falls with k; individual ranking loses least and risks
    most.
    """
    table = load_reference(data, columns, reference_data)[:, :count]
    methods = ["individual-ranking", "axis-pca", "mdav"]
    comparison = compare(
        table,
        ks=[2, 5, 10, 30],
        methods=methods,
        measures=["il1s-percent", "linkage"],
        scale="minmax",
        precision="full",
    )
    loss, risk = (
        {
            name: [row.figures[measure] for row in comparison.rows if row.method == name]
            for name in methods
        }
        for measure in ("il1s-percent", "linkage")
    )
    for name in methods:
        assert loss[name] == sorted(loss[name])
        assert risk[name] == sorted(risk[name], reverse=True)
    for position in range(4):
        assert (
            loss["individual-ranking"][position]
            < loss["mdav"][position]
            < loss["axis-pca"][position]
        )
        assert (
            risk["individual-ranking"][position]
            > risk["mdav"][position]
            > risk["axis-pca"][position]
        )

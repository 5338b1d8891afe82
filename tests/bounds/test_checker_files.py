"""The checker on files: what it reads, what it says, and that it stands alone."""

from __future__ import annotations

import csv
import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import microagg.verify_bound as checker
from made_certificates import (
    claim_of,
    tight_with_cuts,
    values_scaled,
)
from microagg.verify_bound import UnreadableError, verify

# Files.


def write_csv(
    path: Path,
    values: np.ndarray,
    header: list[str] | None,
    delimiter: str = ",",
    bom: bool = False,
) -> None:
    with path.open("w", newline="", encoding="utf-8-sig" if bom else "utf-8") as file:
        writer = csv.writer(file, delimiter=delimiter)
        if header:
            writer.writerow(header)
        writer.writerows([[repr(float(cell)) for cell in row] for row in values])


@pytest.mark.parametrize(("delimiter", "bom"), [(",", False), (";", True), ("\t", False)])
def test_named_columns_of_a_csv_file(tmp_path: Path, delimiter: str, bom: bool):
    values, certificate = tight_with_cuts()
    certificate["data"]["columns"] = ["b b", "a"]
    (tmp_path / "cert.json").write_text(json.dumps(certificate))
    table = np.column_stack([values[:, 1], np.arange(11.0), values[:, 0]])
    write_csv(tmp_path / "data.csv", table, ["a", "other", "b b"], delimiter, bom)
    verdict = verify(tmp_path / "cert.json", tmp_path / "data.csv")
    assert verdict.holds, verdict.reason
    write_csv(tmp_path / "data.csv", table[:, :2], ["a", "b b"], delimiter, bom)
    assert not verify(tmp_path / "cert.json", tmp_path / "data.csv").holds
    for header in (["a", "other", "c"], ["b b", "a", "b b"]):
        write_csv(tmp_path / "data.csv", table, header, delimiter, bom)
        with pytest.raises(UnreadableError, match="column"):
            verify(tmp_path / "cert.json", tmp_path / "data.csv")


def test_parquet_and_npy_and_bare_csv(tmp_path: Path):
    import pyarrow as pa
    from pyarrow import parquet

    values, certificate = tight_with_cuts()
    (tmp_path / "bare.json").write_text(json.dumps(certificate))
    np.save(tmp_path / "data.npy", values)
    write_csv(tmp_path / "data.csv", values, None)
    assert verify(tmp_path / "bare.json", tmp_path / "data.npy").holds
    assert verify(tmp_path / "bare.json", tmp_path / "data.csv").holds
    certificate["data"]["columns"] = ["x", "y"]
    (tmp_path / "named.json").write_text(json.dumps(certificate))
    parquet.write_table(
        pa.table({"y": values[:, 1], "z": ["t"] * 11, "x": values[:, 0]}), tmp_path / "data.parquet"
    )
    assert verify(tmp_path / "named.json", tmp_path / "data.parquet").holds
    parquet.write_table(
        pa.table({"y": [None, *values[1:, 1]], "x": values[:, 0]}), tmp_path / "gap.parquet"
    )
    assert not verify(tmp_path / "named.json", tmp_path / "gap.parquet").holds
    parquet.write_table(pa.table({"y": values[:, 1]}), tmp_path / "less.parquet")
    with pytest.raises(UnreadableError):
        verify(tmp_path / "named.json", tmp_path / "less.parquet")


@pytest.mark.parametrize(
    "text",
    ["", "{", "[" * 200_000, '{"k": ' * 100_000, "\x00", '{"k": 1e', "9" * 5000, '{"a": "\\ud800"'],
    ids=range(8),
)
def test_a_file_that_is_no_certificate(tmp_path: Path, text: str):
    (tmp_path / "cert.json").write_text(text)
    np.save(tmp_path / "data.npy", np.zeros((4, 1)))
    with pytest.raises(UnreadableError):
        verify(tmp_path / "cert.json", tmp_path / "data.npy")


@pytest.mark.parametrize(
    "text", ["[]", "3", "null", '{"data": {"columns": 3}}', '{"data": {"columns": ["a", "a"]}}']
)
def test_a_certificate_without_content(tmp_path: Path, text: str):
    (tmp_path / "cert.json").write_text(text)
    assert not verify(tmp_path / "cert.json", tmp_path / "missing.npy").holds


@pytest.mark.parametrize(
    "content", [b"", b"a,b\n1,2\n", b"1,2\n3\n", b"1,\n2,3\n", b"\xff\xfe1,2", b"1;2\n3,5;4\n"]
)
def test_data_that_cannot_be_read(tmp_path: Path, content: bytes):
    _, certificate = tight_with_cuts()
    (tmp_path / "cert.json").write_text(json.dumps(certificate))
    for name in ("data.csv", "data.npy"):
        (tmp_path / name).write_bytes(content)
        try:
            assert not verify(tmp_path / "cert.json", tmp_path / name).holds
        except UnreadableError as error:
            assert name in str(error)  # noqa: PT017  raising is one of two right answers
    with pytest.raises(UnreadableError):
        verify(tmp_path / "cert.json", tmp_path / "missing.csv")


@pytest.mark.slow
def test_it_runs_alone_and_says_one_sentence(tmp_path: Path):
    values, certificate = tight_with_cuts()
    np.save(tmp_path / "data.npy", values)
    (tmp_path / "true.json").write_text(json.dumps(certificate))
    certificate["claim"] = claim_of(values_scaled(values), 1.1 * certificate["claim"]["sse"])
    (tmp_path / "false.json").write_text(json.dumps(certificate))

    copy = tmp_path / "elsewhere" / "verify_bound.py"
    copy.parent.mkdir()
    shutil.copy(str(checker.__file__), copy)
    alone = (
        "import runpy, sys; sys.modules['microagg'] = None; "
        f"runpy.run_path({str(copy)!r}, run_name='__main__')"
    )

    def run(*arguments: str) -> tuple[int, str, str]:
        command = [sys.executable, "-I", "-c", alone, *arguments]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout, done.stderr

    code, output, errors = run("true.json", "data.npy")
    assert (code, errors) == (0, "")
    assert output.startswith("Proven")
    assert len(output.splitlines()) == 1
    code, output, errors = run("false.json", "data.npy")
    assert (code, errors) == (3, "")
    assert output.startswith("NOT PROVEN")
    assert len(output.splitlines()) == 1
    for arguments in (("true.json", "none.npy"), ("none.json", "data.npy"), ("true.json",)):
        code, output, errors = run(*arguments)
        assert (code, output) == (2, "")
        assert len(errors.splitlines()) == 1


def test_it_shares_nothing_with_the_solver():
    script = (
        "import sys, microagg.verify_bound; "
        "print(*sorted(m for m in sys.modules if m.split('.')[0] in ('microagg', 'numba')))"
    )
    loaded = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    ).stdout.split()
    assert loaded == ["microagg", "microagg.verify_bound"]

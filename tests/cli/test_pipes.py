"""A table through pipes: csv in, verified csv out, and nothing else on standard output."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

import tables
from running import Outcome, finish, run, start

ROLES = ["--k", "4", *tables.ROLES, "--effort", "quick", "--seed", "1"]
pytestmark = pytest.mark.slow


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    tables.write(tables.people(60), tmp_path / "in.csv")
    (tmp_path / "tmp").mkdir()
    return tmp_path


def piped(folder: Path, *arguments: str, stdin: bytes | None = None) -> tuple[int, bytes, str]:
    """Run a command with a csv file on standard input; (exit code, what it gave out, what it
    said).
    """
    content = (folder / "in.csv").read_bytes() if stdin is None else stdin
    script = (
        "import subprocess, sys\n"
        "done = subprocess.run([sys.executable, '-m', 'microagg', *sys.argv[2:]], "
        "input=open(sys.argv[1], 'rb').read(), capture_output=True)\n"
        "open('given-out', 'wb').write(done.stdout); "
        "sys.stderr.buffer.write(done.stderr); sys.exit(done.returncode)\n"
    )
    (folder / "tmp-given").write_bytes(content)
    done = run(
        "-c",
        script,
        "tmp-given",
        *arguments,
        folder=folder,
        environment={"TMPDIR": str(folder / "tmp")},
    )
    assert list((folder / "tmp").iterdir()) == [], "private files were left"
    return done.code, (folder / "given-out").read_bytes(), done.err


def test_what_goes_through_is_what_a_file_would_hold(folder: Path) -> None:
    assert run("-m", "microagg", "anonymize", "in.csv", "out.csv", *ROLES, folder=folder).code == 0
    expected = (folder / "out.csv").read_bytes()
    code, out, errors = piped(
        folder, "anonymize", "-", "-", *ROLES, "--manifest", "m.json", "--public-manifest", "p.json"
    )
    assert (code, out) == (0, expected), errors
    assert "verified on the written file" in errors
    assert "cannot" not in errors
    assert "without --manifest" not in errors
    manifest = json.loads((folder / "m.json").read_text())
    public = json.loads((folder / "p.json").read_text())
    assert (manifest["input"]["file"], public["output"]["file"]) == (
        "standard-input.csv",
        "standard-output.csv",
    )
    assert public["release"] == json.loads((folder / "out.csv.public.json").read_text())["release"]
    assert "seed" not in public["settings"]
    assert (folder / "m.json").stat().st_mode & 0o077 == 0
    again = run("-m", "microagg", "repeat", "m.json", "in.csv", "again.csv", folder=folder)
    assert (again.code, (folder / "again.csv").read_bytes()) == (0, expected), again
    assert (
        run(
            "-m",
            "microagg",
            "check",
            "again.csv",
            "--quasi",
            "income,debt",
            "--k",
            "4",
            folder=folder,
        ).code
        == 0
    )


def test_either_side_alone(folder: Path) -> None:
    code, out, errors = piped(folder, "anonymize", "-", "out.csv", *ROLES)
    assert code == 0, errors
    assert b"out.csv.public.json" in out, "the summary, as for files"
    expected = (folder / "out.csv").read_bytes()
    code, out, errors = piped(folder, "anonymize", "in.csv", "-", *ROLES)
    assert (code, out) == (0, expected)
    assert errors.splitlines()[-1].startswith(
        "note: without --manifest the internal manifest is lost"
    )


@pytest.mark.parametrize(
    ("arguments", "stdin", "says"),
    [
        (["--l", "9"], None, "error: "),
        ([], b"", "standard input is empty"),
        ([], b"name,income\n", "standard input has a header but no records"),
        ([], b"name,income,debt,disease,code\n1,2\n", "standard input, row 1"),
        (["--manifest", "nowhere/m.json"], None, "the folder 'nowhere' does not exist"),
        (["--manifest", "in.csv"], None, "is not a manifest, so it is not replaced"),
        (["--manifest", "m.json", "--public-manifest", "m.json"], None, "cannot be the same file"),
        (["--report", "nowhere/r.html"], None, "the folder 'nowhere' does not exist"),
        (["--json"], None, "standard output cannot hold both"),
    ],
)
def test_what_fails_gives_nothing_out(
    folder: Path, arguments: list[str], stdin: bytes | None, says: str
) -> None:
    code, out, errors = piped(folder, "anonymize", "-", "-", *ROLES, *arguments, stdin=stdin)
    assert code in (2, 3)
    assert says in errors
    assert len(errors.splitlines()) == 1
    assert str(folder / "tmp") not in errors
    assert out == b"" or json.loads(out)["error"]["exit_code"] == code
    assert not (folder / "m.json").exists()


def test_manifests_of_files_lie_beside_them(folder: Path) -> None:
    done = run(
        "-m",
        "microagg",
        "anonymize",
        "in.csv",
        "out.csv",
        *ROLES,
        "--manifest",
        "m.json",
        folder=folder,
    )
    done.refused("are written beside it")


def test_reports_of_a_piped_release(folder: Path) -> None:
    code, out, _ = piped(folder, "anonymize", "-", "-", *ROLES, "--report", "r.md")
    assert code == 0
    assert out.startswith(b'"income"')
    assert (folder / "r.public.md").exists()
    assert (folder / "r.internal.md").stat().st_mode & 0o077 == 0


def test_a_reader_that_has_enough(folder: Path) -> None:
    script = (
        "import subprocess, sys\n"
        "left = subprocess.Popen([sys.executable, '-m', 'microagg', *sys.argv[1:]], "
        "stdout=subprocess.PIPE, stderr=subprocess.PIPE)\n"
        "left.stdout.close()\n"
        "said = left.stderr.read().decode()\n"
        "print(left.wait(), 'Traceback' in said, 'error' in said)\n"
    )
    done = run("-c", script, "anonymize", "in.csv", "-", *ROLES, folder=folder)
    assert done.out.split() == ["0", "False", "False"], done


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_a_full_disk_behind_standard_output(folder: Path) -> None:
    script = (
        "import subprocess, sys; sys.exit(subprocess.run([sys.executable, '-m', 'microagg', "
        "*sys.argv[1:]], stdout=open('/dev/full', 'wb')).returncode)"
    )
    done = run("-c", script, "anonymize", "in.csv", "-", *ROLES, folder=folder)
    assert done.code == 2
    assert "cannot be used" in done.err


def test_a_proposal_from_a_pipe(folder: Path) -> None:
    code, out, errors = piped(folder, "propose", "-")
    assert (code, errors) == (0, "")
    assert out.decode() == run("-m", "microagg", "propose", "in.csv", folder=folder).out


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_private_files_are_gone_when_it_is_asked_to_end(folder: Path, number: int) -> None:
    """Nothing comes through the pipe yet, so the private folder is there and the command waits."""
    environment = {"TMPDIR": str(folder / "tmp")}
    process = start(
        "-m",
        "microagg",
        "anonymize",
        "-",
        "-",
        *ROLES,
        folder=folder,
        environment=environment,
        input=subprocess.PIPE,
    )
    while not (files := list((folder / "tmp").glob("microagg-*/*"))):
        assert process.poll() is None
        time.sleep(0.02)
    assert files[0].stat().st_mode & 0o077 == 0
    assert files[0].parent.stat().st_mode & 0o077 == 0
    os.kill(process.pid, number)
    done: Outcome = finish(process)
    assert done.code == (143 if number == signal.SIGTERM else 130)
    assert done.out == ""
    assert list((folder / "tmp").iterdir()) == []

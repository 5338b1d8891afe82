"""Shells complete commands, options and the words that options take."""

from __future__ import annotations

from pathlib import Path

import pytest

from running import run

pytestmark = pytest.mark.slow


def completed(folder: Path, typed: str) -> list[str]:
    """Return what bash offers after the typed words."""
    words = typed.split(" ")
    environment = {
        "_MICROAGG_COMPLETE": "complete_bash",
        "COMP_WORDS": typed,
        "COMP_CWORD": str(len(words) - 1),
    }
    done = run("-c", PROGRAM, folder=folder, environment=environment)
    assert done.code == 0, done
    return done.out.split()


PROGRAM = "import sys; sys.argv = ['microagg']; from microagg.cli.start import start; start()"


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_gets_a_script(tmp_path: Path, shell: str) -> None:
    done = run(
        "-c", PROGRAM, folder=tmp_path, environment={"_MICROAGG_COMPLETE": f"source_{shell}"}
    )
    assert done.code == 0
    assert "_MICROAGG_COMPLETE=complete_" in done.out


def test_it_installs_itself(tmp_path: Path) -> None:
    program = PROGRAM.replace("['microagg']", "['microagg', '--install-completion', 'bash']")
    environment = {"HOME": str(tmp_path), "_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"}
    done = run("-c", program, folder=tmp_path, environment=environment)
    assert done.code == 0, done
    assert "complete_bash" in (tmp_path / ".bash_completions" / "microagg.sh").read_text()
    assert "microagg.sh" in (tmp_path / ".bashrc").read_text()


def test_commands_options_and_words(tmp_path: Path) -> None:
    assert completed(tmp_path, "microagg an") == ["anonymize"]
    assert "--scale" in completed(tmp_path, "microagg anonymize a b --sc")
    assert completed(tmp_path, "microagg anonymize a b --scale m") == ["minmax"]
    assert completed(tmp_path, "microagg anonymize a b --kind sex=nom") == ["sex=nominal"]
    assert completed(tmp_path, "microagg anonymize a b --method v-") == ["v-mdav"]
    assert completed(tmp_path, "microagg anonymize a b --effort th") == ["thorough"]
    assert completed(tmp_path, "microagg --log-level in") == ["info"]
    assert "--config" in completed(tmp_path, "microagg compare a --con")

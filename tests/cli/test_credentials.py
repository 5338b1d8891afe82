"""Users, passwords and keys in addresses are told to nobody: neither in errors nor in what is
written.
"""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import pytest

import microagg as ma
from microagg.errors import LostWorkersError, without_credentials
from microagg.files.formats import format_of
from microagg.pipeline.files import anonymize_file

SECRETS = ("hunter2", "hunter3")
ADDRESSES = (
    "https://anna:hunter2@example.org/in.csv?sig=hunter3",
    "https://anna:hunter2@example.org/in.csv?sig=hunter3&what=x",
    "postgresql://anna:hunter2@example.org/people",
    "https://anna:'hunter2@example.org/in.parquet",
    "https://anna:a/hunter2@example.org/in.parquet",
)
COMMANDS = (
    "anonymize ADDRESS out.csv --k 2 --quasi age",
    "anonymize ADDRESS out.csv --k 2 --quasi age --dry-run",
    "anonymize ADDRESS out.csv --k 2",
    "anonymize in.csv ADDRESS --k 2 --quasi age",
    "anonymize in.csv out.csv --k 2 --quasi age --report ADDRESS",
    "anonymize in.csv out.csv --k 2 --quasi age --spill ADDRESS",
    "anonymize in.csv out.csv --k 2 --quasi age --config ADDRESS",
    "anonymize in.csv out.csv --k 2 --quasi age --hierarchy age=ADDRESS",
    "anonymize in.csv - --k 2 --quasi age --manifest ADDRESS",
    "propose ADDRESS",
    "check ADDRESS --k 2 --quasi age",
    "assess ADDRESS in.csv --quasi age",
    "assess in.csv ADDRESS --quasi age",
    "bound ADDRESS --k 2 --quasi age",
    "repeat ADDRESS in.csv out.csv",
    "clean ADDRESS",
    "demo --folder ADDRESS",
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "in.csv").write_text("age\n1\n2\n3\n4\n")
    return tmp_path


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("more", [[], ["--json"]], ids=["plain", "json"])
def test_no_command_tells_them(microagg: Any, folder: Path, command: str, more: list[str]) -> None:
    for address in ADDRESSES[:1] if more else ADDRESSES:
        done = microagg(*(word.replace("ADDRESS", address) for word in command.split()), *more)
        assert done.code == 2, (address, done)
        assert done.err.startswith("error: ")
        done.silent_about(set(SECRETS))
    assert [path.name for path in folder.iterdir()] == ["in.csv"]


@pytest.mark.parametrize("address", ADDRESSES)
def test_errors_in_python(folder: Path, address: str) -> None:
    for source in (address, Path(address)):
        with pytest.raises(ma.InputError, match="nothing is read from or written to") as error:
            anonymize_file(source, folder / "out.csv", k=2, quasi=["age"])
        assert not any(secret in str(error.value) for secret in SECRETS)
    with pytest.raises(ma.InputError, match="nothing is read from or written to"):
        format_of(Path(address))


def test_whatever_an_error_says_of_an_address_is_bare() -> None:
    for address in ADDRESSES:
        for message in (
            f"{address!r} is wrong.",
            f"{Path(address)} is wrong.",
            f"no {address}; and 'a@b'.",
        ):
            for kind in (ma.InputError, ma.GuaranteeError, LostWorkersError):
                error = kind(message, 5)
                assert not any(
                    secret in str(argument) for secret in SECRETS for argument in error.args
                )
                assert pickle.loads(pickle.dumps(error)).args == error.args


@pytest.mark.parametrize(
    "text",
    [
        "out.csv",
        "C:/data/a@b.csv?",
        "a@b",
        "tcp://10.0.0.1:8786",
        "'file:///data/a@b.csv'",
        "say: /x@y",
        "k: 1 @ 2?",
    ],
)
def test_other_texts_stay_as_they_are(text: str) -> None:
    assert without_credentials(f"there is {text} and no more.") == f"there is {text} and no more."


def test_a_folder_that_looks_like_an_address(microagg: Any, folder: Path) -> None:
    """A path is a path where there is such a folder."""
    (folder / "data:").mkdir()
    (folder / "in.csv").rename(folder / "data:" / "in.csv")
    done = microagg(
        "anonymize", "data:/in.csv", "data:/out.csv", "--k", "2", "--quasi", "age", "--seed", "1"
    )
    assert done.code == 0, done
    manifest = json.loads((folder / "data:" / "out.csv.internal.json").read_text())
    assert manifest["input"]["file"] == "in.csv"

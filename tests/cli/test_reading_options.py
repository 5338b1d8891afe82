"""--skip-rows and --na on the command line: of propose, anonymize and check."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from running import Outcome

Microagg = Callable[..., Outcome]


def test_propose_and_anonymize_take_both(microagg: Microagg, tmp_path: Path) -> None:
    rows = [f"{20 + j},{'k.A.' if j == 3 else 160 + j}" for j in range(12)]
    (tmp_path / "in.csv").write_text("\n".join(["A survey", "age,height", *rows]) + "\n")
    arguments = ("in.csv", "--skip-rows", "1", "--na", "k.A.")
    proposed = microagg("propose", *arguments, "--json")
    assert proposed.code == 0, proposed.err
    content = json.loads(proposed.out)
    assert content["settings"]["na"] == ["k.A."]
    assert {column["kind"] for column in content["columns"]} == {"numeric"}
    done = microagg(
        "anonymize",
        "in.csv",
        "out.csv",
        *arguments[1:],
        "--k",
        "3",
        "--quasi",
        "age,height",
        "--effort",
        "quick",
    )
    assert done.code == 0, done.err
    assert microagg("check", "out.csv", "--k", "3", "--quasi", "age,height").code == 0
    stopped = microagg("anonymize", "in.csv", "other.csv", *arguments[1:], "--k", "3")
    assert stopped.code == 2
    assert "--na=k.A. --skip-rows 1" in stopped.out

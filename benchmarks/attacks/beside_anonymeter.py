"""Attacks of microagg beside those of anonymeter, on the same tables and the same questions.

python -m venv FOLDER && FOLDER/bin/pip install anonymeter
python benchmarks/attacks/beside_anonymeter.py FOLDER/bin/python [--one] [--page]

The table is made up (`persons(3000)`). Both programs get the same protected records, the same
people in the rerun and the same control group; each plays with its own attackers. Results are in
beside_anonymeter.json beside this file, and what is there is not run again; --one stops after
one more. With --page they are written to docs/evidence.md.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).with_name("beside_anonymeter.json")
QUASI = ["age", "income", "rent", "commute_km", "schooling"]
SECRET, SEED = "diagnosis", 1
SHARE = 0.2


def theirs(folder: Path) -> dict[str, Any]:
    """Rates of anonymeter, run by the python that has it."""
    from importlib.metadata import version

    import numpy as np
    import pandas as pd
    from anonymeter.evaluators import (
        InferenceEvaluator,
        LinkabilityEvaluator,
        SinglingOutEvaluator,
    )

    np.random.seed(SEED)
    original, protected, control = (
        pd.read_csv(folder / f"{name}.csv") for name in ("rest", "released", "control")
    )
    attacks = len(control)
    evaluators = {
        "singling out": SinglingOutEvaluator(
            original[QUASI], protected[QUASI], n_attacks=attacks, n_cols=len(QUASI),
            control=control[QUASI], seed=SEED, max_attempts=200_000,
        ),
        "linkability": LinkabilityEvaluator(
            original, protected, aux_cols=(QUASI[0::2], QUASI[1::2]), n_attacks=attacks,
            control=control,
        ),
        "inference": InferenceEvaluator(
            original, protected, aux_cols=QUASI, secret=SECRET, n_attacks=attacks, control=control
        ),
    }  # fmt: skip
    answer: dict[str, Any] = {"version": version("anonymeter")}
    for kind, evaluator in evaluators.items():
        evaluator.evaluate() if kind == "singling out" else evaluator.evaluate(n_jobs=1)
        results = evaluator.results()
        risk = evaluator.risk()
        answer[kind] = {
            "attack": _rate(results.attack_rate),
            "control": _rate(results.control_rate),
            "excess": [risk.value, *risk.ci],
        }
    return answer


def _rate(rate: Any) -> list[float]:
    return [rate.value, rate.value - rate.error, rate.value + rate.error]


def ours(release_with: Callable[[Any], Any] | None, k: int, folder: Path) -> dict[str, Any]:
    """Rates of microagg; writes the tables that anonymeter gets."""
    import numpy as np
    from pyarrow import csv

    import microagg as ma
    from microagg.datasets.persons import persons
    from microagg.studies.attacks.people import MOST_TARGETS, choose_people

    table = persons(3000).drop(["person"])
    settings = ma.Settings.of(k=k, quasi=QUASI, confidential=[SECRET], seed=SEED).resolved()
    people = choose_people(
        table, settings, control_share=SHARE, most=MOST_TARGETS,
        rng=np.random.default_rng([SEED, 31]),
    )  # fmt: skip
    rest = people.table_of(people.rest)
    released = (release_with or (lambda t: ma.anonymize(t, settings=settings).to_arrow()))(rest)
    for name, part in (
        ("rest", rest), ("released", released), ("control", people.table_of(people.controls))
    ):  # fmt: skip
        csv.write_csv(part, folder / f"{name}.csv")
    attacks = ma.attack(
        table, settings=settings, control_share=SHARE, release_with=lambda _: released,
        leave_out=False,
    )  # fmt: skip
    answer: dict[str, Any] = {"version": ma.__version__}
    for result in attacks.results:
        answer[result.kind] = {
            name: [part.value, part.low, part.high]
            for name, part in (
                ("attack", result.attack), ("control", result.control), ("excess", result.excess)
            )
        }  # fmt: skip
    return answer


def _shuffled(rest: Any) -> Any:
    """A release whose diagnoses are those of others, drawn at random: nothing to infer."""
    import numpy as np
    import pyarrow as pa

    import microagg as ma

    released = ma.anonymize(rest, k=5, quasi=QUASI, confidential=[SECRET], seed=SEED).to_arrow()
    order = pa.array(np.random.default_rng(SEED).permutation(len(released)))
    index = released.column_names.index(SECRET)
    return released.set_column(index, SECRET, released[SECRET].take(order))


CASES: dict[str, tuple[Callable[[Any], Any] | None, int]] = {
    "original as its own release": (lambda rest: rest, 2),
    "k = 5": (None, 5),
    "k = 5, diagnosis exchanged at random": (_shuffled, 5),
    "k = 25": (None, 25),
}


def write_page() -> None:
    """Write the table of docs/evidence.md."""
    from tables import percents, write_table

    rows = []
    for case, both in json.loads(RESULTS.read_text()).items():
        for kind in ("singling out", "linkability", "inference"):
            cells = [
                percents(*both[program][kind][part])
                for part in ("attack", "control", "excess")
                for program in ("microagg", "anonymeter")
            ]
            rows.append([case, kind, *cells])
    head = ["release", "attack"] + [
        f"{part}, {program}"
        for part in ("targets", "controls", "excess")
        for program in ("microagg", "anonymeter")
    ]
    write_table("anonymeter", head, rows)


def main(arguments: list[str]) -> None:
    """Run both on all cases, or one side in its process."""
    if arguments[0] == "--theirs":
        print(json.dumps(theirs(Path(arguments[1]))))
        return
    results = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    for case, (release_with, k) in CASES.items():
        if case in results:
            continue
        with tempfile.TemporaryDirectory() as folder:
            mine = ours(release_with, k, Path(folder))
            other = subprocess.run(
                [arguments[0], "-W", "ignore", __file__, "--theirs", folder],
                stdout=subprocess.PIPE, text=True, check=True,
            )  # fmt: skip
        results[case] = {"microagg": mine, "anonymeter": json.loads(other.stdout.splitlines()[-1])}
        RESULTS.write_text(json.dumps(results, indent=1) + "\n")
        print(case, json.dumps(results[case]), flush=True)
        if "--one" in arguments:
            return
    if "--page" in arguments:
        write_page()


if __name__ == "__main__":
    main(sys.argv[1:])

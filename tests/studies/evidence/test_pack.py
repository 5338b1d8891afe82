"""Evidence packs: the same bytes, everything checked again, nothing altered accepted."""

from __future__ import annotations

import io
import json
import shutil
import stat
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

import microagg as ma
from microagg import verify_release
from microagg.studies.attacks.files import attack_file, save_results
from microagg.studies.evidence.archive import read_zip, zip_bytes
from microagg.studies.evidence.pack import INDEX, index_of, pack_release
from microagg.studies.evidence.verify import verify_pack

CANARY = 7_131_317


def made_table(records: int = 120, seed: int = 0) -> pa.Table:
    rng = np.random.default_rng(seed)
    ages = rng.integers(18, 90, records)
    ages[0] = CANARY
    return pa.table(
        {
            "name": [f"Canary{i}" for i in range(records)],
            "age": ages,
            "rent": rng.lognormal(6.0, 0.5, records).round(2),
            "illness": rng.choice(["none", "flu", "gout"], records),
            "wage": rng.integers(1000, 9000, records),
        }
    )


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("release")
    return save(folder / "out.csv")


def save(path: Path, *, k: int = 4) -> Path:
    release = ma.anonymize(
        made_table(), k=k, quasi=["age", "rent"], confidential=["illness", "wage"],
        identifier=["name"], l=2, t=0.8, seed=1, effort="quick", date="2026-01-01",
    )  # fmt: skip
    release.save(path)
    release.report(path.with_suffix(".public.html"), public=True)
    release.report(path.with_suffix(".internal.html"))
    return path


def pack_with_evidence(table: Path, *, k: int = 4) -> tuple[Path, Path]:
    """Packs with results of attacks, and with what a certificate says of itself."""
    original = table.with_name("original.parquet")
    parquet.write_table(made_table(), original)
    settings = ma.Settings.from_data(
        json.loads(table.with_name("out.csv.internal.json").read_text())["settings"]
    )
    attacks, certificate = table.with_name("attacks.json"), table.with_name("certificate.json")
    save_results(attacks, attack_file(original, settings))
    claim = {"k": k, "records": 120, "data": {"columns": ["age", "rent"]}, "claim": {"il": 0.0}}
    certificate.write_text(json.dumps(claim))
    return pack_release(table, attacks=attacks, certificate=certificate)


@pytest.fixture(scope="module")
def packs(saved: Path) -> tuple[Path, Path]:
    return pack_with_evidence(saved)


def test_both_packs_hold(packs: tuple[Path, Path]) -> None:
    public, internal = map(verify_pack, packs)
    assert public.holds, public
    assert internal.holds, internal
    assert not public.unchecked
    assert any("l = 2" in text for text in public.confirmed)
    assert any("t = 0.8" in text for text in public.confirmed)
    assert "out.public.html is of this release" in public.confirmed
    assert internal.unchecked == [
        "digest of the input, and proof of the certificate: needs the original"
    ]
    for name in ("attacks: on this table and settings", "out.internal.html is of this release"):
        assert name in internal.confirmed
    assert stat.S_IMODE(packs[1].stat().st_mode) == 0o600


def test_same_input_same_bytes(packs: tuple[Path, Path], saved: Path) -> None:
    before = [pack.read_bytes() for pack in packs]
    again = pack_release(
        saved,
        attacks=saved.with_name("attacks.json"),
        certificate=saved.with_name("certificate.json"),
    )
    assert [pack.read_bytes() for pack in again] == before


def test_nothing_of_the_original_is_in_a_public_pack(packs: tuple[Path, Path]) -> None:
    content = packs[0].read_bytes()
    assert b"Canary" not in content
    assert str(CANARY).encode() not in content
    assert b"seed" not in content.replace(b"--seed", b"").split(b"verify_release.py")[0]


def test_an_internal_pack_is_checked_with_the_original(
    packs: tuple[Path, Path], saved: Path, tmp_path: Path
) -> None:
    without = pack_release(Path(shutil.copytree(saved.parent, tmp_path / "copy"), "out.csv"))[1]
    path = tmp_path / "original.parquet"
    parquet.write_table(made_table(), path)
    verdict = verify_pack(without, original=path)
    assert verdict.holds, verdict
    assert "the original is that of the release" in verdict.confirmed
    assert not verify_pack(packs[1], original=path).holds  # its certificate proves nothing
    parquet.write_table(made_table(seed=9), path)
    assert not verify_pack(without, original=path).holds


def is_accepted(path: Path) -> bool:
    """Return True if a pack holds; what is wrong is one sentence, or a list of what fails."""
    try:
        verdict = verify_pack(path)
    except ma.InputError as error:
        return _wrong(str(error).endswith(".") and "\n" not in str(error))
    assert verdict.holds or verdict.failed
    assert not any("\n" in text for text in verdict.failed)
    return verdict.holds


def _wrong(one_sentence: bool) -> bool:
    assert one_sentence
    return False


@pytest.mark.parametrize("which", [0, 1])
def test_one_changed_byte_is_noticed(packs: tuple[Path, Path], tmp_path: Path, which: int) -> None:
    content = packs[which].read_bytes()
    rng = np.random.default_rng(which)
    path = tmp_path / "changed.zip"
    for position in rng.integers(0, len(content), 75).tolist():
        changed = bytearray(content)
        changed[position] ^= 1 << int(rng.integers(8))
        path.write_bytes(bytes(changed))
        assert not is_accepted(path), position


def repacked(pack: Path, target: Path, change: object) -> Path:
    """Pack changed files again, with an index that fits them."""
    files = read_zip(pack)
    index = json.loads(files.pop(INDEX))
    change(files)
    target.write_bytes(
        zip_bytes({**files, INDEX: index_of(files, index["kind"], index["release"])})
    )
    return target


def test_changed_rows_are_noticed_even_with_a_new_index(
    packs: tuple[Path, Path], tmp_path: Path
) -> None:
    rng = np.random.default_rng(4)
    for i in range(40):

        def change(files: dict[str, bytes], i: int = i) -> None:
            rows = files["out.csv"].split(b"\n")
            j = int(rng.integers(1, len(rows) - 1))
            if i % 2:
                del rows[j]
            else:
                cells = rows[j].split(b",")
                cells[int(rng.integers(len(cells)))] += b"0"
                rows[j] = b",".join(cells)
            files["out.csv"] = b"\n".join(rows)

        assert not is_accepted(repacked(packs[0], tmp_path / "changed.zip", change)), i


def test_exchanged_files_are_noticed_even_with_a_new_index(
    packs: tuple[Path, Path], tmp_path: Path
) -> None:
    other = pack_with_evidence(save(tmp_path / "out.csv", k=6), k=6)
    for pack, strange in zip(packs, other, strict=True):
        foreign = read_zip(strange)
        for name in read_zip(pack):
            if name in (INDEX, "decision.md", "verify_release.py"):
                continue

            def change(files: dict[str, bytes], name: str = name, foreign: dict = foreign) -> None:
                files[name] = foreign[name]

            assert not is_accepted(repacked(pack, tmp_path / "changed.zip", change)), name


def test_changed_promises_are_noticed(packs: tuple[Path, Path], tmp_path: Path) -> None:
    changes = [
        ("k", lambda manifest: manifest["settings"].update(k=9)),
        ("l", lambda manifest: manifest["settings"].update(l=3)),
        ("classes", lambda manifest: manifest["guarantee"].update(classes=1)),
        ("records", lambda manifest: manifest.update(records=1)),
        ("roles", lambda manifest: manifest["roles"].pop("wage")),
        ("seed", lambda manifest: manifest["settings"].update(seed=1)),
        ("guarantee", lambda manifest: manifest.update(guarantee=None)),
    ]
    for what, change_manifest in changes:

        def change(files: dict[str, bytes], change_manifest: object = change_manifest) -> None:
            manifest = json.loads(files["out.csv.public.json"])
            change_manifest(manifest)
            files["out.csv.public.json"] = json.dumps(manifest).encode()

        assert not is_accepted(repacked(packs[0], tmp_path / "changed.zip", change)), what


def test_zip_tricks_are_refused(packs: tuple[Path, Path], tmp_path: Path) -> None:
    files = read_zip(packs[0])
    path = tmp_path / "trick.zip"

    def entry(name: str, mode: int = stat.S_IFREG | 0o644) -> zipfile.ZipInfo:
        info = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
        info.external_attr = mode << 16
        return info

    tricks = {
        "absolute": [(entry("/etc/passwd"), b"x")],
        "above": [(entry("../out.csv"), b"x")],
        "dots": [(entry(".."), b"x")],
        "backslash": [(entry("..\\out.csv"), b"x")],
        "link": [(entry("link", stat.S_IFLNK | 0o777), b"/etc/passwd")],
        "folder": [(entry("folder/"), b"")],
        "many": [(entry(f"file{i}"), b"x") for i in range(40)],
    }
    for what, extra in tricks.items():
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w") as archive:
            for name in sorted(files):
                archive.writestr(entry(name), files[name])
            for info, content in extra:
                archive.writestr(info, content)
        path.write_bytes(buffer.getvalue())
        assert not is_accepted(path), what


@pytest.mark.parametrize("name", ["/etc/passwd", "../a", "..", "a/b", "a\\b", "more.html", "a.csv"])
def test_strange_files_are_refused_even_if_packed_as_packs_are(
    packs: tuple[Path, Path], tmp_path: Path, name: str
) -> None:
    def change(files: dict[str, bytes]) -> None:
        files[name] = b"x"

    for path in packs:
        assert not is_accepted(repacked(path, tmp_path / "changed.zip", change))


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_twice_the_same_name_bombs_and_additions_are_refused(
    packs: tuple[Path, Path], tmp_path: Path
) -> None:
    files, path = read_zip(packs[0]), tmp_path / "trick.zip"
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name in [*sorted(files), "out.csv"]:
            archive.writestr(name, files[name])
    path.write_bytes(buffer.getvalue())
    assert not is_accepted(path)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("bomb", bytes(50_000_000))
    path.write_bytes(buffer.getvalue())
    assert not is_accepted(path)
    for content in (packs[0].read_bytes() + b"x", b"x" + packs[0].read_bytes(), b"", b"PK"):
        path.write_bytes(content)
        assert not is_accepted(path)
    assert not is_accepted(tmp_path / "nowhere.zip")


def test_a_typed_table_is_packed_with_its_text(tmp_path: Path) -> None:
    path = tmp_path / "out.parquet"
    release = ma.anonymize(
        made_table(), k=4, quasi=["age", "rent"], confidential=["illness"], rest="drop", l=2,
        seed=1, effort="quick",
    )  # fmt: skip
    release.save(path)
    verdict = verify_pack(pack_release(path)[0])
    assert verdict.holds, verdict
    assert "the copy as text has the same rows" in verdict.confirmed


def test_the_verifier_runs_alone(saved: Path) -> None:
    command = [sys.executable, "-I", verify_release.__file__, str(saved), f"{saved}.public.json"]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    assert "holds: 120 records" in ended.stdout


def test_l_and_t_are_counted_as_microagg_counts_them() -> None:
    rng = np.random.default_rng(0)
    for seed in range(12):
        table = made_table(60, seed).select(["age", "illness", "wage"])
        kinds = [{"diversity": "distinct", "l": 2}, {"diversity": "entropy", "l": 1.5},
                 {"diversity": "recursive", "l": 2, "c": 3.0}]  # fmt: skip
        options = kinds[seed % 3]
        ages = rng.integers(0, 6, 60) // 2
        table = table.set_column(0, "age", pa.array(ages))
        checked = ma.check(table, ["age"], 2, ["illness"], t=0.2, **options)
        settings = {"k": 2, "t": 0.2, "aggregate": {}, **options}
        manifest = {
            "settings": settings, "records": 60,
            "roles": {"age": "quasi", "illness": "confidential", "wage": "keep"},
            "guarantee": {
                "k": 2, "classes": len(checked.sizes), "smallest_class": int(checked.sizes.min())
            },
        }  # fmt: skip
        rows = [table.column_names, *[[str(v) for v in row.values()] for row in table.to_pylist()]]
        assert verify_release.recount(rows, manifest).holds == checked.holds, seed


def two_classes(**settings: object) -> tuple[list[list[str]], dict[str, object]]:
    """Rows of two classes of four, the first with one illness only, and a manifest of settings.

    The illnesses of the first class are 1/4 away from those of the table, so its t is 0.25.
    """
    illnesses = ["cold"] * 4 + ["cold", "cold", "flu", "flu"]
    ages = ["30"] * 4 + ["50"] * 4
    rows = [["age", "illness"], *map(list, zip(ages, illnesses, strict=True))]
    return rows, {
        "settings": {"k": 4, "aggregate": {}, **settings}, "records": 8,
        "roles": {"age": "quasi", "illness": "confidential"},
        "guarantee": {"k": 4, "classes": 2, "smallest_class": 4},
    }  # fmt: skip


@pytest.mark.parametrize(
    ("settings", "holds"),
    [
        ({}, True),
        ({"l": 2}, False),
        ({"t": 0.2}, False),
        ({"t": 0.3}, True),
        ({"l": 1, "t": 0.2}, False),
        ({"l": 2, "t": 0.3}, False),
        # a millionth more is forgiven, not two
        ({"t": 0.25 - 0.9e-6}, True),
        ({"t": 0.25 - 1.1e-6}, False),
    ],
)
def test_l_and_t_are_counted_one_without_the_other(settings: dict[str, float], holds: bool) -> None:
    assert verify_release.recount(*two_classes(**settings)).holds is holds


@pytest.mark.usefixtures("packs")
def test_results_of_another_release_are_not_packed(saved: Path, tmp_path: Path) -> None:
    other = save(tmp_path / "out.csv", k=6)
    for option in ("attacks", "certificate"):
        with pytest.raises(ma.InputError, match=rf"{option}\.json is not of this release"):
            pack_release(other, **{option: saved.with_name(f"{option}.json")})
    assert not list(tmp_path.glob("*.zip"))


def test_what_is_needed_is_named(tmp_path: Path) -> None:
    with pytest.raises(ma.InputError, match="a release is packed where it was saved"):
        pack_release(tmp_path / "out.csv")
    (tmp_path / "no.zip").write_bytes(zip_bytes({"a": b"1"}))
    with pytest.raises(ma.InputError, match="not a pack of a release"):
        verify_pack(tmp_path / "no.zip")

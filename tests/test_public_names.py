"""The public names: lazy, complete, documented."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from pathlib import Path

import pytest

import microagg as ma
from running import run

HEAVY = (
    "numpy",
    "numba",
    "llvmlite",
    "pandas",
    "polars",
    "pyarrow",
    "narwhals",
    "typer",
    "rich",
    "sklearn",
    "scipy",
)


def python(code: str, folder: Path) -> str:
    """Return what a fresh interpreter prints."""
    done = run("-c", code, folder=folder)
    assert done.code == 0, done.err
    return done.out.strip()


def test_importing_microagg_imports_nothing_else(tmp_path: Path) -> None:
    code = (
        f"import sys, microagg; dir(microagg); print([name for name in {HEAVY} if name in "
        f"sys.modules])"
    )
    assert python(code, tmp_path) == "[]"


def test_help_needs_no_arrays(tmp_path: Path) -> None:
    heavy = ("numpy", "numba", "pandas", "polars", "pyarrow", "narwhals")
    code = (
        "import sys\nsys.argv = ['microagg', '--help']\nfrom microagg.cli.commands import main\n"
        f"try:\n    main()\nexcept SystemExit:\n    print([name for name in {heavy} if "
        f"name in sys.modules])"
    )
    assert python(code, tmp_path).endswith("[]")


@pytest.mark.parametrize("name", ma.__all__)
def test_every_name_resolves(name: str) -> None:
    assert getattr(ma, name) is not None
    assert name in dir(ma)


def test_the_names_of_the_design_are_there() -> None:
    promised = {
        "anonymize",
        "anonymize_file",
        "Microaggregator",
        "Release",
        "Settings",
        "partition",
        "information_loss",
        "lower_bound",
        "methods",
        "check",
        "assess",
        "compare",
        "attack",
        "propose",
        "exposure",
        "preview",
        "datasets",
    }
    errors = {"MicroaggError", "InputError", "GuaranteeError", "CancelledError", "Cancelled"}
    assert promised | errors | {"__version__"} == set(ma.__all__)


def test_an_unknown_name() -> None:
    with pytest.raises(AttributeError, match="no attribute 'lower_bounds'"):
        ma.lower_bounds  # noqa: B018


@pytest.mark.parametrize(
    "first",
    [
        "",
        "import microagg.methods.registry",
        "import microagg.methods",
        "from microagg.methods.mdav import mdav",
        "from microagg import methods; methods()",
        "import microagg.cli.commands",
    ],
)
def test_methods_can_be_called_whatever_was_imported_before(tmp_path: Path, first: str) -> None:
    code = (
        f"{first}\nimport microagg as ma\nprint(ma.methods()[0].name, len(ma.methods()) == "
        f"len(list(ma.methods())))"
    )
    assert python(code, tmp_path) == "auto True"


def test_errors_have_their_exit_codes() -> None:
    assert {
        error: getattr(ma, error).exit_code
        for error in ma.__all__
        if inspect.isclass(getattr(ma, error))
        and error not in ("Release", "Settings", "Microaggregator")
    } == {
        "MicroaggError": 1,
        "InputError": 2,
        "GuaranteeError": 3,
        "Cancelled": 130,
        "CancelledError": 130,
    }
    assert ma.Cancelled is ma.CancelledError, "the name of earlier versions"
    assert issubclass(ma.InputError, ValueError), (
        "what a caller of a library expects of a wrong value"
    )


@pytest.mark.parametrize("name", ma.__all__)
def test_every_public_name_has_a_type(name: str) -> None:
    """A type checker knows the type of each parameter and what comes back, also of the public
    methods of classes.
    """
    thing = getattr(ma, name)
    if inspect.isclass(thing):
        members = [
            member
            for key, member in vars(thing).items()
            if not key.startswith("_") or key == "__init__"
        ]
        functions = [
            getattr(member, "fget", None) or getattr(member, "func", member) for member in members
        ]
        functions = [member for member in functions if inspect.isfunction(member)]
    else:
        functions = [thing] if inspect.isfunction(thing) else []
    for function in functions:
        signature = inspect.signature(function)
        assert signature.return_annotation is not inspect.Signature.empty, (
            f"{name}: {function.__qualname__}"
        )
        for parameter in signature.parameters.values():
            typed = parameter.annotation is not inspect.Parameter.empty or parameter.name == "self"
            assert typed, f"{name}: {parameter.name} of {function.__qualname__}"


@pytest.mark.parametrize(
    "name",
    [
        "anonymize",
        "anonymize_file",
        "partition",
        "information_loss",
        "check",
        "propose",
        "Microaggregator",
    ],
)
def test_every_public_function_has_an_example(name: str) -> None:
    text = inspect.getdoc(getattr(ma, name))
    assert text is not None
    assert ">>>" in text


def modules() -> list[str]:
    return [
        module.name
        for module in pkgutil.walk_packages(ma.__path__, "microagg.")
        if "__main__" not in module.name
    ]


@pytest.mark.parametrize("name", modules())
def test_everything_without_an_underscore_is_documented(name: str) -> None:
    module = importlib.import_module(name)
    assert module.__doc__
    for attribute, thing in vars(module).items():
        function = getattr(thing, "py_func", thing)  # what numba wraps
        if attribute.startswith("_") or getattr(function, "__module__", None) != name:
            continue
        if inspect.isfunction(function) or inspect.isclass(function):
            assert inspect.getdoc(function), f"{name}.{attribute}"

"""Extras: their names agree with the project, and a missing one is an error with its command."""

import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tracekit.base import ToolError
from tracekit.base.distribution import (
    EXTRAS,
    InstalledCopy,
    find_installation,
    install_command,
    install_packages_command,
    list_extras,
    require_extra,
)

PROJECT: dict[str, Any] = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())[
    "project"
]


def test_extras_are_those_of_the_project_and_all_is_their_union() -> None:
    declared_extras = PROJECT["optional-dependencies"]
    assert sorted(declared_extras) == sorted([*EXTRAS, "all"])
    (union,) = map(Requirement, declared_extras["all"])
    assert union.name == PROJECT["name"]
    assert union.extras == set(EXTRAS)


def test_modules_of_an_extra_are_those_of_its_packages() -> None:
    distributions = packages_distributions()
    for name, extra in EXTRAS.items():
        if name == "metal":  # a package of a Mac
            continue
        requirements = map(Requirement, PROJECT["optional-dependencies"][name])
        packages = sorted(canonicalize_name(requirement.name) for requirement in requirements)
        providers = [canonicalize_name(distributions[module][0]) for module in extra.modules]
        assert sorted(providers) == packages, name


def test_the_command_fits_the_way_of_installation() -> None:
    venv = Path("/home/ada/venv")
    clone = Path("/home/ada/tracekit")
    cases = {
        "uv sync --inexact --extra query --project /home/ada/tracekit": InstalledCopy(
            clone / ".venv", clone, is_editable=True
        ),
        "uv pip install --python /home/ada/venv 'metaltrace[query]'": InstalledCopy(venv),
        "uv pip install --python /home/ada/venv --editable '/home/ada/tracekit[query]'": (
            InstalledCopy(venv, clone, is_editable=True)
        ),
        "/home/ada/venv/bin/python -m pip install 'metaltrace[query]'": InstalledCopy(
            venv, has_pip=True
        ),
        "uv tool install 'metaltrace[batch,query]'": InstalledCopy(venv, is_tool=True),
        "uv tool install '/home/ada/tracekit[batch,query]'": InstalledCopy(
            venv, clone, is_tool=True
        ),
        "uv pip install --python '/home/ada b/venv' 'metaltrace[query]'": InstalledCopy(
            Path("/home/ada b/venv")
        ),
    }
    for command, installation in cases.items():
        assert install_command("query", installation, ["batch"]) == command


def test_packages_of_no_extra_are_installed_next_to_tracekit() -> None:
    venv = Path("/home/ada/venv")
    for command, installation in {
        "/home/ada/venv/bin/python -m pip install aiohttp requests": InstalledCopy(
            venv, has_pip=True
        ),
        "uv pip install --python /home/ada/venv aiohttp requests": InstalledCopy(venv),
    }.items():
        assert install_packages_command(["aiohttp", "requests"], installation) == command


def test_a_missing_module_is_an_error_with_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    require_extra("query")
    assert "query" in list_extras()
    monkeypatch.setitem(sys.modules, "duckdb", None)
    with pytest.raises(ToolError, match=r"A query in SQL needs duckdb, which is not inst") as info:
        require_extra("query")
    command = install_command("query", find_installation(), list_extras())
    assert info.value.hint == f"Install it: {command}"
    assert info.value.exit_code == 3
    assert "query" not in list_extras()


def test_a_capture_installs_no_package_of_the_tests() -> None:
    project_file = Path(__file__).parents[2] / "pyproject.toml"
    document = tomllib.loads(project_file.read_text())
    assert document["tool"]["uv"]["default-groups"] == []
    core_names = {Requirement(line).name for line in PROJECT["dependencies"]}
    group_names: set[str] = set()
    for lines in document["dependency-groups"].values():
        group_names |= {Requirement(line).name for line in lines if isinstance(line, str)}
    assert "playwright" in group_names
    assert core_names.isdisjoint(group_names)

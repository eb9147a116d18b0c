"""The pins of a fresh clone and of CI are the same, whole and within the bounds."""

import re
import tomllib
from importlib.metadata import PackageNotFoundError, requires
from itertools import chain
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())
PINS = [Requirement(line) for line in PROJECT["tool"]["uv"]["constraint-dependencies"]]
HASHED = (ROOT / ".ci" / "requirements.txt").read_text()


def asked_for() -> list[Requirement]:
    """All that pyproject.toml names: dependencies, extras, groups."""
    project = PROJECT["project"]
    groups = PROJECT["dependency-groups"]
    extras = project["optional-dependencies"]
    lists = [project["dependencies"], *extras.values(), *groups.values()]
    lines = [line for line in chain.from_iterable(lists) if isinstance(line, str)]
    requirements = [Requirement(line) for line in lines]  # a table stands for another group
    return [requirement for requirement in requirements if requirement.name != project["name"]]


def names_needed(start: list[Requirement]) -> set[str]:
    """Names of all packages that these need in this environment, by their metadata."""
    names: set[str] = set()
    waiting = [(requirement, "") for requirement in start]
    while waiting:
        requirement, extra = waiting.pop()
        if requirement.marker and not requirement.marker.evaluate({"extra": extra}):
            continue
        name = canonicalize_name(requirement.name)
        extras = requirement.extras or {""}
        try:
            lines = requires(name) or []
        except PackageNotFoundError:
            lines = []
        if name not in names or requirement.extras:
            waiting += [(Requirement(line), extra) for line in lines for extra in extras]
        names.add(name)
    return names


def test_pins_are_one_exact_version_each() -> None:
    loose = [str(pin) for pin in PINS if not re.fullmatch(r"==[\w.]+", str(pin.specifier))]
    assert PINS
    assert loose == []


def test_hashed_requirements_are_the_pins_of_pyproject() -> None:
    blocks = re.split(r"\n(?=\S)", HASHED.replace("\\\n", "").strip())
    lines = [block.split("--hash", 1)[0].strip() for block in blocks]
    assert lines == PROJECT["tool"]["uv"]["constraint-dependencies"], "run `just pin`"
    without_hash = [block for block in blocks if "--hash=sha256:" not in block]
    assert without_hash == []
    assert "://" not in HASHED
    assert "index" not in HASHED.replace("importlib", "")


def test_pins_cover_pyproject_and_are_within_its_bounds() -> None:
    versions = {(pin.name, str(pin.specifier).removeprefix("==")) for pin in PINS}
    outside = [
        str(requirement)
        for requirement in asked_for()
        if not any(
            canonicalize_name(requirement.name) == name and version in requirement.specifier
            for name, version in versions
        )
    ]
    assert outside == [], "run `just pin`"


def test_pins_cover_the_needs_of_the_dependencies() -> None:
    unpinned = names_needed(asked_for()) - {canonicalize_name(pin.name) for pin in PINS}
    assert unpinned == set(), "run `just pin`"


def test_uv_has_one_version_wherever_it_is_installed() -> None:
    places = ["README.md", "CONTRIBUTING.md", ".ci/run", "docs/tutorial/first-report.md"]
    versions = {
        place: re.findall(r"pip install (?:--\w+ )*uv(?:==([\d.]+))?", (ROOT / place).read_text())
        for place in places
    }
    assert all(versions.values()), versions
    assert len({version for pinned in versions.values() for version in pinned}) == 1, versions

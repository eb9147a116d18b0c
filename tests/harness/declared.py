"""The distributions that a wheel declares it needs, with what those need, as they are installed."""

from collections.abc import Iterable
from importlib.metadata import Distribution, distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name


def closure(requirements: Iterable[str]) -> list[Distribution]:
    """Return the distributions that are needed, each once, all that they need included."""
    wanted = [*map(Requirement, requirements)]
    found: dict[tuple[str, str], Distribution] = {}
    while wanted:
        requirement = wanted.pop()
        for extra in ("", *requirement.extras):
            key = (canonicalize_name(requirement.name), extra)
            if key not in found:
                found[key] = distribution(requirement.name)
                wanted += _holding(found[key].requires or (), extra)
    return list({name: package for (name, _), package in found.items()}.values())


def needed_here(requirements: Iterable[str]) -> list[str]:
    """Return those whose conditions hold on this machine, without any extra."""
    return [*map(str, _holding(requirements))]


def link(distributions: Iterable[Distribution], place: Path) -> None:
    for package in distributions:
        for name in {file.parts[0] for file in package.files or ()} - {"..", "__pycache__"}:
            target, new = Path(str(package.locate_file(name))), place / name
            if target.exists() and not new.exists():
                new.symlink_to(target)


def _holding(requirements: Iterable[str], extra: str = "") -> list[Requirement]:
    return [
        requirement
        for requirement in map(Requirement, requirements)
        if requirement.marker is None or requirement.marker.evaluate({"extra": extra})
    ]

"""The distributions that a wheel declares it needs, with what those need, as they are installed."""

from collections.abc import Iterable, Iterator
from importlib.metadata import Distribution, distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name


def closure(requirements: Iterable[str]) -> list[Distribution]:
    """Return the distributions that are needed, each once, all that they need included."""
    wanted = [Requirement(one) for one in requirements]
    found: dict[str, Distribution] = {}
    seen: set[tuple[str, str]] = set()
    while wanted:
        one = wanted.pop()
        for extra in ("", *one.extras):
            key = (canonicalize_name(one.name), extra)
            if key not in seen:
                seen.add(key)
                found[key[0]] = own = distribution(one.name)
                wanted += _needed(own, extra)
    return list(found.values())


def needed_here(requirements: Iterable[str]) -> list[str]:
    """Return those whose conditions hold on this machine, without any extra."""
    return [one for one in requirements if _holds(Requirement(one), "")]


def link(distributions: Iterable[Distribution], place: Path) -> None:
    for one in distributions:
        for name in _top_names(one):
            target, new = Path(str(one.locate_file(name))), place / name
            if target.exists() and not new.exists():
                new.symlink_to(target)


def _needed(one: Distribution, extra: str) -> Iterator[Requirement]:
    for text in one.requires or ():
        requirement = Requirement(text)
        if _holds(requirement, extra):
            yield requirement


def _holds(requirement: Requirement, extra: str) -> bool:
    return requirement.marker is None or requirement.marker.evaluate({"extra": extra})


def _top_names(one: Distribution) -> set[str]:
    names = {file.parts[0] for file in one.files or ()}
    return {name for name in names if name not in {"..", "__pycache__"}}

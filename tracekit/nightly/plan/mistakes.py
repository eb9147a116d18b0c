"""All mistakes of a plan, each with its line: who edits a plan wants to see them at once."""

import re
from dataclasses import dataclass, field

from tracekit.base import UsageError
from tracekit.nightly.plan.document import Places, Route

_BARE = re.compile(r"[A-Za-z0-9_-]+")


class UnfitError(Exception):
    """A value is not what its key takes; `at` is the route within it, as to an array's element."""

    def __init__(self, words: str, hint: str = "", at: Route = ()) -> None:
        super().__init__(words)
        self.words = words
        self.hint = hint
        self.at = at


@dataclass(frozen=True, order=True)
class Mistake:
    """One mistake: where it stands, what is wrong, and what to do."""

    line: int
    column: int
    words: str
    hint: str = field(default="", compare=False)


@dataclass
class Mistakes:
    """The mistakes found so far in a file."""

    file: str
    places: Places
    found: list[Mistake] = field(default_factory=list[Mistake])

    def add(self, route: Route, words: str, hint: str = "") -> None:
        """Add a mistake of what stands at `route`; `words` follow the key's name."""
        said = f"{dotted(route)} {words}" if route else words
        self.found.append(Mistake(*self.places.of(route), said, hint))

    def unfit(self, route: Route, error: UnfitError) -> None:
        """Add what a reader of values said."""
        self.add((*route, *error.at), error.words, error.hint)

    def end(self) -> None:
        """Raise UsageError that names all mistakes, one a line, or do nothing without one."""
        found = sorted(set(self.found))
        if len(found) == 1:
            raise UsageError(f"{self.file}:{_told(found[0])}", hint=found[0].hint)
        if found:
            lines = [f"  {self.file}:{_told(one)} {one.hint}".rstrip() for one in found]
            raise UsageError(
                "\n".join([f"{self.file} has {len(found)} mistakes:", *lines]),
                hint="`tracekit nightly --init` shows a plan with all that is usual.",
            )


def dotted(route: Route) -> str:
    """Write a route as TOML would; places in arrays are left out, for the line says which."""
    names = [one for one in route if isinstance(one, str)]
    return ".".join(name if _BARE.fullmatch(name) else repr(name) for name in names)


def _told(mistake: Mistake) -> str:
    return f"{mistake.line}:{mistake.column}: {mistake.words}"

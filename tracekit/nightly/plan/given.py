"""What a plan's table gives, key by key, with where each stands."""

from dataclasses import dataclass
from typing import Any

from tracekit.base.errors import nearest
from tracekit.nightly.plan.keys import Keys
from tracekit.nightly.plan.kind import as_table
from tracekit.nightly.plan.mistakes import Mistakes, UnfitError
from tracekit.nightly.plan.places import Route


@dataclass(frozen=True)
class Given:
    """A value as the file has it, and where it stands."""

    route: Route
    value: Any

    def at(self, *more: str | int) -> Route:
        """Return the route to something within it."""
        return (*self.route, *more)


Table = dict[str, Given]


def is_table(given: Given, mistakes: Mistakes) -> bool:
    """Tell whether it is a table; if not, that is a mistake."""
    try:
        as_table(given.value)
    except UnfitError as error:
        mistakes.unfit(given.route, error)
        return False
    return True


def entries(given: Given, mistakes: Mistakes) -> Table:
    """Return what a table gives by key; nothing where it is no table, which is a mistake."""
    if not is_table(given, mistakes):
        return {}
    return {key: Given(given.at(key), value) for key, value in given.value.items()}


def fields(given: Given, keys: Keys, mistakes: Mistakes) -> Table:
    """Return what a table gives by field; keys that it does not have are mistakes."""
    known = keys.fields
    found: Table = {}
    for key, one in entries(given, mistakes).items():
        if key in known:
            found[known[key]] = one
        else:
            mistakes.add(one.route, f"is no key of {keys.title}.", nearest(key, list(known)))
    return found


def read(table: Table, keys: Keys, mistakes: Mistakes) -> dict[str, Any]:
    """Read the values that are no tables; what is not fit is a mistake, and left out."""
    found: dict[str, Any] = {}
    for field, kind in keys.kinds.items():
        if field in table:
            try:
                found[field] = kind.read(table[field].value)
            except UnfitError as error:
                mistakes.unfit(table[field].route, error)
    return found

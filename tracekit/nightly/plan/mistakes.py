"""The mistakes of a plan's file: each with its line, all of them named at once."""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any, get_type_hints

from tracekit.base import UsageError, suggest_name
from tracekit.machine import StateLimits
from tracekit.nightly.plan.document import Document, Route
from tracekit.nightly.plan.plan import STATE, NightPlan, convert_value

# Keys that are not their field's name with dashes, and keys of earlier versions.
_NAMES = {"captures": "capture", "state": "machine-state", "templates": "template"}
_RENAMED = {"canary": "calibration"}
_MADE = {"file", "digest", "metric"}
_TABLES = {"captures", "state", "defaults", "reference", "metrics"}


def keys_of(noun: type[Any]) -> dict[str, str]:
    """Return the fields of a table by their keys."""
    names = [field.name for field in fields(noun) if field.name not in _MADE]
    if noun is NightPlan:
        names.append("defaults")
    keys: dict[str, str] = {}
    for name in names:
        key = _NAMES.get(name, name.replace("_", "-"))
        keys[key] = name
    return keys


class Mistakes:
    """The mistakes found so far in a file: the line, the words, and a hint."""

    def __init__(self, document: Document) -> None:
        self._document = document
        self._found: dict[tuple[int, str], str] = {}

    def add(self, route: Route, words: str, hint: str = "") -> None:
        """Add a mistake at `route`; `words` follow the key's name."""
        name = ".".join(key for key in route if isinstance(key, str))
        place = (self._document.line(route), f"{name} {words}".strip())
        self._found.setdefault(place, hint)

    def is_table(self, route: Route, value: Any) -> bool:
        """Tell whether a value is a table; add a mistake if it is not."""
        if isinstance(value, dict):
            return True
        self.add(route, f"must be a table, not {value!r}.")
        return False

    def read(self, noun: type[Any], table: Mapping[str, Any], route: Route) -> dict[str, Any]:
        """Return the right values of a table by field; those of inner tables are not read."""
        kinds = STATE if noun is StateLimits else get_type_hints(noun, include_extras=True)
        fields_by_key = keys_of(noun)
        values: dict[str, Any] = {}
        for written_key, value in table.items():
            field = fields_by_key.get(_RENAMED.get(written_key, written_key))
            if field is None:
                hint = suggest_name(written_key, list(fields_by_key))
                self.add((*route, written_key), "is not a key here.", hint)
            elif field in _TABLES:
                values[field] = value
            elif value is False and noun is StateLimits and kinds[field] is not bool:
                values[field] = None
            else:
                try:
                    values[field] = convert_value(value, kinds[field])
                except ValueError as error:
                    self.add((*route, written_key), f"is wrong: {error}")
        return values

    def end(self) -> None:
        """Raise UsageError that names all mistakes, one a line; do nothing without any."""
        file = self._document.display_name
        mistakes: list[tuple[str, str]] = []
        for (line, words), hint in sorted(self._found.items()):
            mistakes.append((f"{file}:{line}: {words}", hint))
        if not mistakes:
            return
        if len(mistakes) == 1:
            words, hint = mistakes[0]
            raise UsageError(words, hint=hint)
        lines = [f"{file} has {len(mistakes)} mistakes:"]
        for words, hint in mistakes:
            lines.append(f"  {words} {hint}".rstrip())
        raise UsageError(
            "\n".join(lines),
            hint="`tracekit nightly init` writes a plan with all usual keys.",
        )

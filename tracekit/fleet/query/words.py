"""What DuckDB refuses, in a sentence."""

import difflib
import re
from collections.abc import Collection

import duckdb

from tracekit.base.errors import InputError, TracekitError, UsageError

_KIND = re.compile(r"^[\w ]+ Error: ")
_TOO_MUCH = "Ask for less at once, with WHERE, LIMIT or fewer runs."
_FAILED = "If a run changed or went meanwhile, ask again."
_PLACE = "It reads the tables of the runs that were named, and nothing else."


_TABLE = re.compile(r'(?:Table|View) with name "?(.+?)"? does not exist')
_CANDIDATES = re.compile(r"Candidate bindings: (.+)")
_SUGGESTION = re.compile(r"Did you mean (.+?)\?")


def missing_table(error: duckdb.Error) -> str:
    """Return the name of the table that DuckDB misses; empty where something else is wrong."""
    found = _TABLE.search(str(error)) if isinstance(error, duckdb.CatalogException) else None
    return found[1] if found else ""


def refusal(error: duckdb.Error) -> TracekitError:
    """Put an error of DuckDB's into words."""
    message = _sentence(str(error))
    if isinstance(error, duckdb.PermissionException):
        return UsageError(f"The query is refused: {message}", hint=_PLACE)
    if isinstance(error, duckdb.OutOfMemoryException):
        return InputError(f"The query failed: {message}", hint=_TOO_MUCH)
    if isinstance(error, (duckdb.OperationalError, duckdb.InternalError)):
        return InputError(f"The query failed: {message}", hint=_FAILED)
    return UsageError(f"The query cannot be answered: {message}", hint=_near(str(error)))


def no_table(name: str, there: Collection[str]) -> UsageError:
    """Say that there is no table of that name, and which are near."""
    near = difflib.get_close_matches(name.lower(), there, cutoff=0.5)
    listed = "`tracekit query --list` lists all tables with their columns."
    hint = f"Near are {', '.join(near)}. {listed}" if near else listed
    return UsageError(f"There is no table {name!r}.", hint=hint)


def _near(message: str) -> str:
    if candidates := _CANDIDATES.search(message):
        return f"Columns of similar names: {candidates[1]}."
    if suggestion := _SUGGESTION.search(message):
        return f"Did you mean {suggestion[1]}?"
    return ""


def _sentence(message: str) -> str:
    """Return the first paragraph of a message, without its kind, as one line with a full stop."""
    text = _KIND.sub("", message)
    first = re.split(r"\n\s*(?:\n|Did you mean|Candidate bindings|LINE \d)", text)[0]
    line = " ".join(first.split())
    return line if line.endswith((".", "!", "?")) else f"{line}."

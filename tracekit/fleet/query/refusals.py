"""What an answer does not hold, and what DuckDB refuses, in sentences that name the runs."""

import difflib
import re
from collections import defaultdict
from collections.abc import Collection, Sequence

import duckdb

from tracekit.base import InputError, TracekitError, UsageError

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


_NAMED = 12  # runs of one sentence, and sentences


class LeftOut:
    """Runs that lack a table or cannot be read, and what readers said of the others."""

    def __init__(self) -> None:
        self._runs: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
        self._reasons: dict[str, str] = {}

    def lacks(self, table: str, run: str) -> None:
        """Note that a run does not have a table."""
        self._runs[table, " is left out: there is none."].append(run)

    def unreadable(self, table: str, run: str, reason: str) -> None:
        """Note that a run's table cannot be read."""
        self._reasons.setdefault(table, f"{run}: {reason.rstrip('.')}")
        self._runs[table, f" is left out: {reason}"].append(run)

    def said(self, table: str, run: str, words: Sequence[str]) -> None:
        """Note what the reader of a run's table had to say."""
        for remark in words:
            self._runs[table, f": {remark}"].append(run)

    def reason(self, table: str) -> str:
        """Name the first run whose table cannot be read, and why; empty where there is none."""
        return self._reasons.get(table, "")

    @property
    def warnings(self) -> tuple[str, ...]:
        """All of it in sentences."""
        first = sorted(self._runs.items(), key=lambda noted: noted[0][1].startswith(":"))
        sentences = [f"{table} of {_named(runs)}{words}" for (table, words), runs in first]
        left = len(sentences) - _NAMED
        more = [f"There are {left:,} more remarks; ask fewer runs to see them."] if left > 0 else []
        return (*sentences[:_NAMED], *more)


def _named(runs: list[str]) -> str:
    some = ", ".join(runs[:_NAMED])
    return some if len(runs) <= _NAMED else f"{some} and {len(runs) - _NAMED:,} more"

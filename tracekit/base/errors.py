"""Every error that a user can meet, and suggestions for names that do not exist.

    TracekitError                 3   something failed; the base of all
    ├── UsageError                2   the command line, a parameter or a configuration is wrong
    ├── ToolError                 3   a program that tracekit drives failed (xctrace, a worker)
    │   └── KernelError           3   a Metal kernel does not compile, or broke a rule while it ran
    ├── RecordingError            3   a run's folder lacks a stage's input, or cannot be written
    ├── InputError                3   a file to read is damaged, hostile or of an unknown kind
    ├── InconclusiveError         4   nothing failed, but the data do not allow an answer
    └── InterruptedRunError     130   a person or the system asked to stop; the folder says how far

A message states a fact, a hint is advice, the exit code is for scripts.
"""

import difflib
from collections.abc import Collection, Iterable
from typing import ClassVar


class TracekitError(Exception):
    """An error that a user can act on: shown as a sentence, never as a traceback."""

    exit_code: ClassVar[int] = 3

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class UsageError(TracekitError):
    """The command line, a parameter or a configuration is wrong."""

    exit_code = 2


class ToolError(TracekitError):
    """A program that tracekit drives failed; the message quotes its own words."""


class KernelError(ToolError):
    """A Metal kernel does not compile, or broke a rule while it ran."""


class RecordingError(TracekitError):
    """A run's folder lacks a stage's input, or cannot be written."""


class InputError(TracekitError):
    """A file to read is damaged, hostile or of an unknown kind."""


class InconclusiveError(TracekitError):
    """Nothing failed, but the data do not allow an answer."""

    exit_code = 4


class InterruptedRunError(TracekitError):
    """A person or the system asked to stop; the run's folder has the state of each stage."""

    exit_code = 130


def find_similar(
    name: str, names: Iterable[str], *, most: int = 3, likeness: float = 0.6
) -> list[str]:
    """Return up to `most` of the names that are similar to a name, the nearest first.

    `likeness` is the least one, from 0 to 1 for the same name, as the ratio of difflib.
    """
    return difflib.get_close_matches(name, list(names), n=most, cutoff=likeness)


def suggest_name(name: str, names: Collection[str], *, otherwise: str = "") -> str:
    """Return a hint: the nearest name, else `otherwise`, by default all names."""
    similar_names = find_similar(name, names, most=1)
    if similar_names:
        return f"Did you mean {similar_names[0]}?"
    return otherwise or f"There are: {', '.join(names) or 'none'}."


def require(name: str, names: Collection[str], kind: str, *, otherwise: str = "") -> None:
    """Raise UsageError, with the nearest name as a hint, unless the name is one of `names`."""
    if name not in names:
        hint = suggest_name(name, names, otherwise=otherwise)
        raise UsageError(f"There is no {kind} {name!r}.", hint=hint)

"""Facts: what the doctor finds, how it stands, and what to do about it."""

from dataclasses import dataclass
from enum import StrEnum


class Verdict(StrEnum):
    """How a fact stands."""

    OK = "ok"
    WARNING = "warning"
    FAILED = "failed"
    NOT_APPLICABLE = "not applicable"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Fact:
    """One row of the doctor's table."""

    name: str  # what was looked at
    verdict: Verdict  # how it stands
    words: str  # what it is, in words
    fix: str = ""  # what to do about it; empty where there is nothing to do
    # whether nothing can be recorded without it, so that not knowing it leaves the whole question
    # open
    needed: bool = False


def ok(words: str, *, name: str = "") -> Fact:
    """Return a fact that is as it should be; one without a name gets that of its check."""
    return Fact(name, Verdict.OK, words)


def warning(words: str, fix: str, *, name: str = "") -> Fact:
    """Return a fact that may spoil a recording, or part of it."""
    return Fact(name, Verdict.WARNING, words, fix)


def failed(words: str, fix: str, *, name: str = "") -> Fact:
    """Return a fact that makes a recording impossible; every one has its fix."""
    return Fact(name, Verdict.FAILED, words, fix, needed=True)


def not_applicable(why: str, *, name: str = "") -> Fact:
    """Return a fact that has no meaning on this machine."""
    return Fact(name, Verdict.NOT_APPLICABLE, why)


def unknown(why: str, fix: str = "", *, needed: bool = False, name: str = "") -> Fact:
    """Return a fact that could not be found out."""
    return Fact(name, Verdict.UNKNOWN, why, fix, needed)
